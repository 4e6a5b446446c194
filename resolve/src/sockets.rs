//! The sockets that hickory uses: tokio's, with UDP sockets connected.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use async_trait::async_trait;
use hickory_net::runtime::{
    DnsUdpSocket, RuntimeProvider, TokioHandle, TokioRuntimeProvider, TokioTime,
};
use tokio::io::ReadBuf;
use tokio::net::UdpSocket;

type Opening<S> = Pin<Box<dyn Send + Future<Output = io::Result<S>>>>;

/// The flag TC in the third octet of a message.
const TRUNCATED: u8 = 0b10;

/// Opens sockets on the runtime that polls.
#[derive(Clone, Default)]
pub(crate) struct Sockets(TokioRuntimeProvider);

/// A UDP socket that hears of its peer alone, and of the errors (a closed
/// port, no route) that the system otherwise keeps to itself.
pub(crate) struct Connected(UdpSocket);

/// The asynchronous methods are overridden because tokio wakes only those for
/// a socket's error; hickory's own are made of the polling ones.
#[async_trait]
impl DnsUdpSocket for Connected {
    type Time = TokioTime;

    async fn recv_from(&self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        let (length, from) = self.0.recv_from(buffer).await?;
        shorten(buffer, length);
        Ok((length, from))
    }

    /// Some systems refuse an address on a connected socket, even its own.
    async fn send_to(&self, buffer: &[u8], _target: SocketAddr) -> io::Result<usize> {
        self.0.send(buffer).await
    }

    fn poll_recv_from(
        &self,
        context: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<(usize, SocketAddr)>> {
        let mut read = ReadBuf::new(buffer);
        let from = ready!(self.0.poll_recv_from(context, &mut read))?;
        let length = read.filled().len();
        shorten(buffer, length);
        Poll::Ready(Ok((length, from)))
    }

    fn poll_send_to(
        &self,
        context: &mut Context<'_>,
        buffer: &[u8],
        _target: SocketAddr,
    ) -> Poll<io::Result<usize>> {
        self.0.poll_send(context, buffer)
    }
}

/// Makes a truncated message one without records: it is not used, and a record
/// that is cut in the middle would make it unreadable. A message that fills the
/// buffer counts as truncated, since the rest of it may be lost.
fn shorten(buffer: &mut [u8], length: usize) {
    let full = length >= buffer.len();
    // RFC 1035, section 4.1.1: id, flags, and the numbers of questions and of
    // records in three sections.
    let Some((header, _)) = buffer
        .get_mut(..length)
        .and_then(|message| message.split_first_chunk_mut::<12>())
    else {
        return;
    };
    let [_, _, flags, _, _, _, counts @ ..] = header;
    if full {
        *flags |= TRUNCATED;
    }
    if *flags & TRUNCATED != 0 {
        *counts = [0; 6];
    }
}

impl RuntimeProvider for Sockets {
    type Handle = TokioHandle;
    type Timer = TokioTime;
    type Udp = Connected;
    type Tcp = <TokioRuntimeProvider as RuntimeProvider>::Tcp;

    fn create_handle(&self) -> Self::Handle {
        self.0.create_handle()
    }

    fn connect_tcp(
        &self,
        server: SocketAddr,
        bind: Option<SocketAddr>,
        timeout: Option<Duration>,
    ) -> Opening<Self::Tcp> {
        self.0.connect_tcp(server, bind, timeout)
    }

    fn bind_udp(&self, local: SocketAddr, server: SocketAddr) -> Opening<Self::Udp> {
        Box::pin(async move {
            let socket = UdpSocket::bind(local).await?;
            socket.connect(server).await?;
            Ok(Connected(socket))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: [u8; 12] = [1, 2, 0x80, 4, 0, 1, 7, 8, 9, 10, 11, 12];

    #[test]
    fn a_truncated_message_loses_its_records() {
        let mut buffer = [HEADER.as_slice(), &[13; 20]].concat();
        buffer[2] |= TRUNCATED;
        shorten(&mut buffer, 20);
        assert_eq!(buffer[..12], [1, 2, 0x82, 4, 0, 1, 0, 0, 0, 0, 0, 0]);
        assert_eq!(buffer[12..], [13; 20]);
    }

    #[test]
    fn a_whole_message_stays_as_it_is() {
        let mut buffer = [HEADER.as_slice(), &[13; 20]].concat();
        let before = buffer.clone();
        shorten(&mut buffer, 20);
        assert_eq!(buffer, before);
    }

    #[test]
    fn a_full_buffer_is_a_truncated_message() {
        let mut buffer = [HEADER.as_slice(), &[13; 20]].concat();
        shorten(&mut buffer, 32);
        assert_eq!(buffer[..12], [1, 2, 0x82, 4, 0, 1, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn what_is_no_message_does_no_harm() {
        for length in 0..12 {
            let mut buffer = vec![0xff; 32];
            shorten(&mut buffer, length);
            assert_eq!(buffer, [0xff; 32]);
            shorten(&mut vec![0xff; length], length);
        }
        shorten(&mut [], 0);
    }
}
