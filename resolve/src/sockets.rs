//! The sockets that hickory uses: tokio's, with UDP sockets connected.

use std::fmt;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use async_trait::async_trait;
use hickory_net::runtime::{
    DnsUdpSocket, RuntimeProvider, TokioHandle, TokioRuntimeProvider, TokioTime,
};
use hickory_proto::op::ResponseCode;
use tokio::io::ReadBuf;
use tokio::net::UdpSocket;

type Opening<S> = Pin<Box<dyn Send + Future<Output = io::Result<S>>>>;

/// The length of a message's header (RFC 1035, section 4.1.1).
const HEADER: usize = 12;

/// The flags QR and TC in the third octet of a message.
const RESPONSE: u8 = 0x80;
const TRUNCATED: u8 = 0b10;

/// Opens sockets on the runtime that polls.
#[derive(Clone, Default)]
pub(crate) struct Sockets(TokioRuntimeProvider);

/// A UDP socket for one question. It hears of its peer alone, and of the errors
/// (a closed port, no route) that the system otherwise keeps to itself.
pub(crate) struct Connected {
    socket: UdpSocket,
    /// The id of the message that was sent, or [`NO_ID`].
    id: AtomicU32,
}

/// No message has this id.
const NO_ID: u32 = u32::MAX;

/// An error code in an answer that is a header and nothing else. Old servers
/// answer like this to what they do not understand; hickory passes over it, as
/// it does not repeat the question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BareError(pub(crate) ResponseCode);

impl BareError {
    /// The bare error that a socket reported, if it is one.
    pub(crate) fn of(error: &io::Error) -> Option<&Self> {
        error.get_ref()?.downcast_ref()
    }

    /// Looks for it in a message; `id` is the question's.
    fn find(message: &[u8], id: u32) -> Option<Self> {
        let [high, low, flags, code, 0, 0, ..] = message else {
            return None;
        };
        let answers = flags & RESPONSE != 0
            && message.len() == HEADER
            && u32::from(u16::from_be_bytes([*high, *low])) == id;
        match ResponseCode::from_low(code & 0x0f) {
            // Neither says anything without the name that it is about.
            ResponseCode::NoError | ResponseCode::NXDomain => None,
            code => answers.then_some(Self(code)),
        }
    }
}

impl fmt::Display for BareError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for BareError {}

/// The asynchronous methods are overridden because tokio wakes only those for
/// a socket's error; hickory's own are made of the polling ones.
#[async_trait]
impl DnsUdpSocket for Connected {
    type Time = TokioTime;

    async fn recv_from(&self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        let (length, from) = self.socket.recv_from(buffer).await?;
        self.check(buffer, length)?;
        shorten(buffer, length);
        Ok((length, from))
    }

    /// Some systems refuse an address on a connected socket, even its own.
    async fn send_to(&self, buffer: &[u8], _target: SocketAddr) -> io::Result<usize> {
        self.note_id(buffer);
        self.socket.send(buffer).await
    }

    fn poll_recv_from(
        &self,
        context: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<(usize, SocketAddr)>> {
        let mut read = ReadBuf::new(buffer);
        let from = ready!(self.socket.poll_recv_from(context, &mut read))?;
        let length = read.filled().len();
        self.check(buffer, length)?;
        shorten(buffer, length);
        Poll::Ready(Ok((length, from)))
    }

    fn poll_send_to(
        &self,
        context: &mut Context<'_>,
        buffer: &[u8],
        _target: SocketAddr,
    ) -> Poll<io::Result<usize>> {
        self.note_id(buffer);
        self.socket.poll_send(context, buffer)
    }
}

impl Connected {
    fn note_id(&self, message: &[u8]) {
        if let Some(id) = message.first_chunk() {
            self.id
                .store(u16::from_be_bytes(*id).into(), Ordering::Relaxed);
        }
    }

    fn check(&self, buffer: &[u8], length: usize) -> io::Result<()> {
        let message = buffer.get(..length).unwrap_or_default();
        match BareError::find(message, self.id.load(Ordering::Relaxed)) {
            Some(error) => Err(io::Error::other(error)),
            None => Ok(()),
        }
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
        .and_then(|message| message.split_first_chunk_mut::<HEADER>())
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
            Ok(Connected {
                socket,
                id: AtomicU32::new(NO_ID),
            })
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
    fn a_header_with_an_error_code_alone_is_a_bare_error() {
        let find = |message: &[u8]| BareError::find(message, 0x0102);
        for (code, expected) in [
            (0, None),
            (1, Some(ResponseCode::FormErr)),
            (2, Some(ResponseCode::ServFail)),
            (3, None),
            (4, Some(ResponseCode::NotImp)),
            (5, Some(ResponseCode::Refused)),
        ] {
            let header = [1, 2, 0x81, 0x80 | code, 0, 0, 0, 0, 0, 0, 0, 0];
            assert_eq!(find(&header), expected.map(BareError), "{code}");
            let question = [1, 2, 0x01, 0x80 | code, 0, 0, 0, 0, 0, 0, 0, 0];
            assert_eq!(find(&question), None, "{code}");
            assert_eq!(find(&[header.as_slice(), &[0]].concat()), None, "{code}");
            assert_eq!(find(&header[..11]), None, "{code}");
            assert_eq!(BareError::find(&header, 0x0103), None, "{code}");
            assert_eq!(BareError::find(&header, NO_ID), None, "{code}");
        }
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
