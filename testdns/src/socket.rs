//! The sockets, opened and closed together.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use tokio::net::{TcpListener, UdpSocket};
use tokio::task::JoinSet;

use crate::error::StartError;
use crate::server::Shared;
use crate::transport::{serve_tcp, serve_udp};

/// How many ports to try for one that is free for both protocols.
const TRIES: usize = 64;

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

/// One address, with a socket for each protocol.
#[derive(Debug)]
struct Port {
    addr: SocketAddr,
    state: PortState,
}

#[derive(Debug)]
enum PortState {
    /// Served by tasks.
    Open,
    /// Bound, so that nobody else takes it, but not open: a TCP socket that does not listen
    /// refuses connections, and a UDP socket that is connected (to itself) gets nothing from
    /// others, who are told so by ICMP.
    Held { tcp: Socket, udp: Socket },
    /// An attempt to hold or to open it failed.
    Lost,
}

/// All the addresses.
#[derive(Debug)]
pub(crate) struct Ports {
    ports: Vec<Port>,
    tasks: Tasks,
}

impl Ports {
    /// Takes the ports without opening them. Port 0 is any that is free for both protocols.
    pub(crate) fn hold(addrs: &[SocketAddr]) -> Result<Self, StartError> {
        if addrs.is_empty() {
            return Err(StartError::NoAddress);
        }
        Ok(Self {
            ports: addrs
                .iter()
                .copied()
                .map(Port::hold)
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
        ports
            .iter_mut()
            .try_for_each(|port| port.open(shared, tasks))
    }

    /// Shuts all, keeps the ports, and drops what is under way, connections included.
    pub(crate) async fn close(&mut self) -> Result<(), StartError> {
        self.end().await;
        for port in &mut self.ports {
            *port = Port::hold(port.addr)?;
        }
        Ok(())
    }

    /// Shuts all and gives the ports up.
    pub(crate) async fn end(&mut self) {
        self.tasks.end().await;
        for port in &mut self.ports {
            port.state = PortState::Lost;
        }
    }
}

impl Port {
    fn hold(addr: SocketAddr) -> Result<Self, StartError> {
        let tries = if addr.port() == 0 { TRIES } else { 1 };
        let mut result = Self::try_hold(addr);
        for _ in 1..tries {
            match &result {
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                    result = Self::try_hold(addr);
                }
                _ => break,
            }
        }
        result.map_err(|source| StartError::Listen { addr, source })
    }

    fn try_hold(addr: SocketAddr) -> io::Result<Self> {
        let tcp = bind(addr, Type::STREAM, Protocol::TCP)?;
        let addr = tcp.local_addr()?.as_socket().unwrap_or(addr);
        let udp = bind(addr, Type::DGRAM, Protocol::UDP)?;
        udp.connect(&SockAddr::from(addr))?;
        Ok(Self {
            addr,
            state: PortState::Held { tcp, udp },
        })
    }

    fn open(&mut self, shared: &Arc<Shared>, tasks: &Tasks) -> Result<(), StartError> {
        if let PortState::Lost = self.state {
            *self = Self::hold(self.addr)?;
        }
        let PortState::Held { tcp, udp } = std::mem::replace(&mut self.state, PortState::Lost)
        else {
            self.state = PortState::Open;
            return Ok(());
        };
        let opened = open(self.addr, tcp, udp);
        let (tcp, udp) = opened.map_err(|source| StartError::Listen {
            addr: self.addr,
            source,
        })?;
        self.state = PortState::Open;
        tasks.spawn(serve_udp(Arc::new(udp), Arc::clone(shared), tasks.clone()));
        tasks.spawn(serve_tcp(tcp, Arc::clone(shared), tasks.clone()));
        Ok(())
    }
}

fn open(addr: SocketAddr, tcp: Socket, udp: Socket) -> io::Result<(TcpListener, UdpSocket)> {
    // There is no portable way to disconnect a socket.
    drop(udp);
    let udp = bind(addr, Type::DGRAM, Protocol::UDP)?;
    tcp.listen(BACKLOG)?;
    Ok((
        TcpListener::from_std(tcp.into())?,
        UdpSocket::from_std(udp.into())?,
    ))
}

fn bind(addr: SocketAddr, kind: Type, protocol: Protocol) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(addr), kind, Some(protocol))?;
    socket.set_nonblocking(true)?;
    if addr.is_ipv6() {
        // So that [::] and 0.0.0.0 can be given side by side.
        socket.set_only_v6(true)?;
    }
    if kind == Type::STREAM {
        // Connections of an earlier server on this port may still be closing.
        socket.set_reuse_address(true)?;
    } else {
        // Only a matter of speed.
        let _ = socket.set_recv_buffer_size(RECEIVE_BUFFER);
    }
    socket.bind(&SockAddr::from(addr))?;
    Ok(socket)
}
