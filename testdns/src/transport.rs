//! Packets in, answers out, over UDP and TCP.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::sync::Mutex;
use tokio::time::sleep;

use crate::answer::Reply;
use crate::message::Asked;
use crate::server::{Arrival, Shared};
use crate::socket::Tasks;

/// How long to wait after an error that may last, such as too many open files.
const PAUSE: Duration = Duration::from_millis(10);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transport {
    Udp,
    Tcp,
}

/// Answers what comes in on a UDP socket.
pub(crate) async fn serve_udp(socket: Arc<UdpSocket>, shared: Arc<Shared>, tasks: Tasks) {
    let mut buffer = vec![0; usize::from(u16::MAX)];
    loop {
        let Ok((length, peer)) = socket.recv_from(&mut buffer).await else {
            sleep(PAUSE).await;
            continue;
        };
        let packet = buffer.get(..length).unwrap_or_default();
        match shared.arrive(packet, Transport::Udp) {
            Arrival::Nothing => {}
            Arrival::Reply(reply) if reply.after.is_zero() => {
                send_udp(&socket, peer, &reply).await;
            }
            Arrival::Reply(reply) => {
                let socket = Arc::clone(&socket);
                tasks.spawn(async move {
                    sleep(reply.after).await;
                    send_udp(&socket, peer, &reply).await;
                });
            }
            Arrival::Delayed(delay, asked) => {
                let (socket, shared) = (Arc::clone(&socket), Arc::clone(&shared));
                tasks.spawn(async move {
                    let reply = reply_after(delay, &asked, &shared).await;
                    send_udp(&socket, peer, &reply).await;
                });
            }
        }
    }
}

/// The answer that is due after this delay, from the zone of then.
async fn reply_after(delay: Duration, asked: &Asked, shared: &Shared) -> Reply {
    sleep(delay).await;
    let reply = shared.reply(asked);
    sleep(reply.after).await;
    reply
}

/// Sends as far as it can: a client that has gone, or a message longer than a datagram, is no
/// failure of the server.
async fn send_udp(socket: &UdpSocket, peer: SocketAddr, reply: &Reply) {
    let elsewhere = match (reply.elsewhere, socket.local_addr()) {
        (true, Ok(own)) => UdpSocket::bind((own.ip(), 0)).await.ok(),
        _ => None,
    };
    if reply.elsewhere && elsewhere.is_none() {
        return;
    }
    let socket = elsewhere.as_ref().unwrap_or(socket);
    for message in &reply.messages {
        let _ = socket.send_to(message, peer).await;
    }
}

/// Takes connections and answers what comes in on them.
pub(crate) async fn serve_tcp(listener: TcpListener, shared: Arc<Shared>, tasks: Tasks) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let connection = Connection::new(stream, Arc::clone(&shared), tasks.clone());
                tasks.spawn(connection.serve());
            }
            Err(_) => sleep(PAUSE).await,
        }
    }
}

struct Connection {
    read: OwnedReadHalf,
    write: Arc<Mutex<OwnedWriteHalf>>,
    shared: Arc<Shared>,
    tasks: Tasks,
}

impl Connection {
    fn new(stream: TcpStream, shared: Arc<Shared>, tasks: Tasks) -> Self {
        // Only a matter of speed.
        let _ = stream.set_nodelay(true);
        let (read, write) = stream.into_split();
        Self {
            read,
            write: Arc::new(Mutex::new(write)),
            shared,
            tasks,
        }
    }

    /// Until the client closes; answers under way are sent all the same.
    async fn serve(mut self) {
        while let Ok(length) = self.read.read_u16().await {
            let mut packet = vec![0; usize::from(length)];
            if self.read.read_exact(&mut packet).await.is_err() {
                return;
            }
            match self.shared.arrive(&packet, Transport::Tcp) {
                Arrival::Nothing => {}
                Arrival::Reply(reply) if reply.after.is_zero() => {
                    send_tcp(&self.write, &reply).await;
                    if reply.close {
                        return;
                    }
                }
                Arrival::Reply(reply) => {
                    let write = Arc::clone(&self.write);
                    self.tasks.spawn(async move {
                        sleep(reply.after).await;
                        send_tcp(&write, &reply).await;
                    });
                }
                Arrival::Delayed(delay, asked) => {
                    let (write, shared) = (Arc::clone(&self.write), Arc::clone(&self.shared));
                    self.tasks.spawn(async move {
                        let reply = reply_after(delay, &asked, &shared).await;
                        send_tcp(&write, &reply).await;
                    });
                }
            }
        }
    }
}

/// Sends as far as it can, each message after its length (RFC 1035, section 4.2.2).
async fn send_tcp(write: &Mutex<OwnedWriteHalf>, reply: &Reply) {
    let mut write = write.lock().await;
    for message in &reply.messages {
        let Ok(length) = u16::try_from(message.len()) else {
            continue;
        };
        let mut frame = length.to_be_bytes().to_vec();
        frame.extend(message);
        if write.write_all(&frame).await.is_err() {
            return;
        }
    }
    if reply.close {
        let _ = write.shutdown().await;
    }
}
