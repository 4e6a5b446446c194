//! The sockets, opened and closed together.

use std::net::{Shutdown, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use std::{io, thread};

use rustix::net::connect_unspec;
use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use tokio::net::{TcpListener, UdpSocket};
use tokio::task::JoinSet;

use crate::error::StartError;
use crate::server::Shared;
use crate::transport::{serve_tcp, serve_udp};

/// How often to try again when a port is in use, and after which time. Port 0 may be free for one
/// protocol only; and a server that has just ended may leave a copy of its socket to a process
/// that is being started, until that runs its program.
const TRIES: usize = 40;
const PAUSE: Duration = Duration::from_millis(5);

/// The connections that may wait to be accepted.
const BACKLOG: i32 = 1024;

/// Receive buffer asked for, in bytes; the system may give less. It holds a burst of queries.
const RECEIVE_BUFFER: usize = 4 << 20;

/// What runs on the sockets and ends with them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tasks(Arc<Mutex<JoinSet<()>>>);

impl Tasks {
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut set = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        while set.try_join_next().is_some() {}
        set.spawn(task);
    }

    async fn end(&self) {
        let mut set = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        set.shutdown().await;
    }
}

/// One address. Its sockets exist all the time, so that nobody else can take the port, even where
/// they are shut.
#[derive(Debug)]
struct Port {
    addr: SocketAddr,
    /// Open, it is not connected. Shut, it is connected to itself: then it gets nothing from others,
    /// and they are told so by ICMP.
    udp: std::net::UdpSocket,
    /// Never listens: it is what keeps the port. A port where nothing listens refuses connections.
    _tcp: Socket,
    /// Listens; only while the port is open.
    listener: Option<Socket>,
}

/// All the addresses.
#[derive(Debug)]
pub(crate) struct Ports {
    ports: Vec<Port>,
    tasks: Tasks,
}

impl Ports {
    /// Takes the ports without serving them. Port 0 is any that is free for both protocols.
    pub(crate) fn take(addrs: &[SocketAddr]) -> Result<Self, StartError> {
        if addrs.is_empty() {
            return Err(StartError::NoAddress);
        }
        Ok(Self {
            ports: addrs
                .iter()
                .copied()
                .map(Port::take)
                .collect::<Result<_, _>>()?,
            tasks: Tasks::default(),
        })
    }

    pub(crate) fn addrs(&self) -> Vec<SocketAddr> {
        self.ports.iter().map(|port| port.addr).collect()
    }

    /// Opens what is not open.
    pub(crate) fn open(&mut self, shared: &Arc<Shared>) -> Result<(), StartError> {
        let Self { ports, tasks } = self;
        let shut = ports.iter_mut().filter(|port| port.listener.is_none());
        for port in shut {
            let opened = port.open(shared, tasks);
            opened.map_err(|source| port.error(source))?;
        }
        Ok(())
    }

    /// Shuts all, and drops what is under way, connections included.
    pub(crate) async fn close(&mut self) -> Result<(), StartError> {
        let shut = self.ports.iter_mut().map(|port| {
            let shut = port.shut();
            shut.map_err(|source| port.error(source))
        });
        let result = shut.fold(Ok(()), Result::and);
        self.tasks.end().await;
        result
    }

    /// Gives the ports up.
    pub(crate) async fn end(&mut self) {
        // There is nobody to be told what could not be shut; what is dropped is.
        let _ = self.close().await;
        self.ports.clear();
    }
}

impl Port {
    fn take(addr: SocketAddr) -> Result<Self, StartError> {
        let mut result = Self::try_take(addr);
        for _ in 0..TRIES {
            match &result {
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                    thread::sleep(PAUSE);
                    result = Self::try_take(addr);
                }
                _ => break,
            }
        }
        result.map_err(|source| StartError::Listen { addr, source })
    }

    fn try_take(addr: SocketAddr) -> io::Result<Self> {
        let tcp = bind(addr, Type::STREAM, Protocol::TCP)?;
        let addr = tcp.local_addr()?.as_socket().unwrap_or(addr);
        Ok(Self {
            addr,
            udp: bind(addr, Type::DGRAM, Protocol::UDP)?.into(),
            _tcp: tcp,
            listener: None,
        })
    }

    fn open(&mut self, shared: &Arc<Shared>, tasks: &Tasks) -> io::Result<()> {
        let listener = bind(self.addr, Type::STREAM, Protocol::TCP)?;
        listener.listen(BACKLOG)?;
        let tcp = TcpListener::from_std(listener.try_clone()?.into())?;
        connect_unspec(&self.udp)?;
        let udp = UdpSocket::from_std(self.udp.try_clone()?)?;
        tasks.spawn(serve_udp(Arc::new(udp), Arc::clone(shared), tasks.clone()));
        tasks.spawn(serve_tcp(tcp, Arc::clone(shared), tasks.clone()));
        self.listener = Some(listener);
        Ok(())
    }

    fn shut(&mut self) -> io::Result<()> {
        if let Some(listener) = self.listener.take() {
            // A process that is being started may have a copy for a moment: it must not listen
            // either. Where the system cannot do this, dropping the socket has to do.
            let _ = listener.shutdown(Shutdown::Both);
        }
        self.udp.connect(self.addr)?;
        // What came before is not to be answered after.
        while self.udp.recv(&mut [0]).is_ok() {}
        Ok(())
    }

    fn error(&self, source: io::Error) -> StartError {
        StartError::Listen {
            addr: self.addr,
            source,
        }
    }
}

fn bind(addr: SocketAddr, kind: Type, protocol: Protocol) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(addr), kind, Some(protocol))?;
    socket.set_nonblocking(true)?;
    if addr.is_ipv6() {
        // So that [::] and 0.0.0.0 can be given side by side.
        socket.set_only_v6(true)?;
    }
    if kind == Type::STREAM {
        // For the second socket on the port, and for connections of an earlier server that are still
        // closing.
        socket.set_reuse_address(true)?;
    } else {
        // Only a matter of speed.
        let _ = socket.set_recv_buffer_size(RECEIVE_BUFFER);
    }
    socket.bind(&SockAddr::from(addr))?;
    Ok(socket)
}
