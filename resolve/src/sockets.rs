//! The sockets that hickory uses: tokio's, with UDP sockets connected.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hickory_net::runtime::{
    DnsUdpSocket, RuntimeProvider, TokioHandle, TokioRuntimeProvider, TokioTime,
};
use tokio::io::ReadBuf;
use tokio::net::UdpSocket;

type Opening<S> = Pin<Box<dyn Send + Future<Output = io::Result<S>>>>;

/// Opens sockets on the runtime that polls.
#[derive(Clone, Default)]
pub(crate) struct Sockets(TokioRuntimeProvider);

/// A UDP socket that hears of its peer alone, and of the errors (a closed
/// port, no route) that the system otherwise keeps to itself.
pub(crate) struct Connected(UdpSocket);

impl DnsUdpSocket for Connected {
    type Time = TokioTime;

    fn poll_recv_from(
        &self,
        context: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<(usize, SocketAddr)>> {
        let mut buffer = ReadBuf::new(buffer);
        let from = ready!(self.0.poll_recv_from(context, &mut buffer))?;
        Poll::Ready(Ok((buffer.filled().len(), from)))
    }

    /// Some systems refuse an address on a connected socket, even its own.
    fn poll_send_to(
        &self,
        context: &mut Context<'_>,
        buffer: &[u8],
        _target: SocketAddr,
    ) -> Poll<io::Result<usize>> {
        self.0.poll_send(context, buffer)
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
