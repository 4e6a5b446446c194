//! Passes connections on to a name server, counts them, and breaks them.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::sync::watch;

/// What the proxy does with connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Pass,
    /// Takes all and gives nothing, also on connections that are open.
    Hang,
    /// Closes those that are open and all that come.
    Close,
}

#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    opened: usize,
    closed: usize,
}

pub(crate) struct Proxy {
    pub(crate) address: SocketAddr,
    mode: Arc<watch::Sender<Mode>>,
    cuts: Arc<watch::Sender<usize>>,
    seen: Arc<watch::Sender<Seen>>,
}

impl Proxy {
    pub(crate) async fn tcp(to: SocketAddr) -> Self {
        Self::new(to, |stream| async { Some(stream) }).await
    }

    /// `accept`: what is done to a new connection first.
    pub(crate) async fn new<S, F>(
        to: SocketAddr,
        accept: impl Fn(TcpStream) -> F + Send + Sync + 'static,
    ) -> Self
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
        F: Future<Output = Option<S>> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let mode = Arc::new(watch::Sender::new(Mode::Pass));
        let seen = Arc::new(watch::Sender::new(Seen::default()));
        let cuts = Arc::new(watch::Sender::new(0));
        let (modes, ends, counts) = (Arc::clone(&mode), Arc::clone(&cuts), Arc::clone(&seen));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                counts.send_modify(|seen| seen.opened += 1);
                let (accepted, mut mode) = (accept(stream), modes.subscribe());
                let (mut cut, counts) = (ends.subscribe(), Arc::clone(&counts));
                tokio::spawn(async move {
                    tokio::select! {
                        () = pass(accepted, to, &mut mode) => {}
                        _ = cut.changed() => {}
                    }
                    counts.send_modify(|seen| seen.closed += 1);
                });
            }
        });
        Self {
            address,
            mode,
            cuts,
            seen,
        }
    }

    pub(crate) fn set(&self, mode: Mode) {
        self.mode.send_replace(mode);
    }

    /// Closes those that are open, and none that come.
    pub(crate) fn cut(&self) {
        self.cuts.send_modify(|cuts| *cuts += 1);
    }

    /// How many connections came.
    pub(crate) fn opened(&self) -> usize {
        self.seen.borrow().opened
    }

    /// Awaits that so many have gone.
    pub(crate) async fn closed(&self, count: usize) {
        let mut seen = self.seen.subscribe();
        seen.wait_for(|seen| seen.closed >= count).await.unwrap();
    }
}

async fn pass<S: AsyncRead + AsyncWrite + Unpin>(
    accepted: impl Future<Output = Option<S>>,
    to: SocketAddr,
    mode: &mut watch::Receiver<Mode>,
) {
    if *mode.borrow() == Mode::Close {
        return;
    }
    let Some(mut inner) = accepted.await else {
        return;
    };
    let mut outer = TcpStream::connect(to).await.unwrap();
    let hung = tokio::select! {
        biased;
        changed = mode.wait_for(|mode| *mode != Mode::Pass) => {
            changed.is_ok_and(|mode| *mode == Mode::Hang)
        }
        _ = copy_bidirectional(&mut inner, &mut outer) => false,
    };
    if hung {
        // Until it is told otherwise; a connection that hung stays so.
        let _ = mode.wait_for(|mode| *mode == Mode::Close).await;
    }
}

/// Passes datagrams on; nothing listens on its port for TCP.
pub(crate) async fn udp_only(to: SocketAddr) -> SocketAddr {
    let outside = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let address = outside.local_addr().unwrap();
    tokio::spawn(async move {
        let mut buffer = [0; 2048];
        while let Ok((length, from)) = outside.recv_from(&mut buffer).await {
            let inside = UdpSocket::bind("127.0.0.1:0").await.unwrap();
            inside.send_to(&buffer[..length], to).await.unwrap();
            let length = inside.recv(&mut buffer).await.unwrap();
            outside.send_to(&buffer[..length], from).await.unwrap();
        }
    });
    address
}
