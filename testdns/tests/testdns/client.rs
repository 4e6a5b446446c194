//! A client that asks and shows all that comes back.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::time::Duration;

use hickory_proto::op::{Edns, Message, MessageType, OpCode, Query, ResponseCode};
use hickory_proto::rr::{Name, RData, Record, RecordType};
use testdns::Server;

pub(crate) use RecordType::{A, AAAA, ANY, CNAME, SRV, TXT};

/// Ends a test that would otherwise hang; nothing waits that long when all is well.
const HANG: Duration = Duration::from_secs(20);

pub(crate) const CONTROL: &str = "control.test";

pub(crate) fn start(commands: &[&str]) -> Server {
    let server = Server::start(&["127.0.0.1:0".parse().unwrap()]).unwrap();
    give(&server, commands);
    server
}

pub(crate) fn give(server: &Server, commands: &[&str]) {
    for command in commands {
        let done = server.command(command);
        assert!(done.is_ok(), "{command}: {done:?}");
    }
}

pub(crate) fn name(text: &str) -> Name {
    let mut name = Name::from_ascii(text).unwrap();
    name.set_fqdn(true);
    name
}

pub(crate) fn query(id: u16, owner: &str, record_type: RecordType) -> Message {
    let mut message = Message::new(id, MessageType::Query, OpCode::Query);
    message.metadata.recursion_desired = true;
    message.add_query(Query::query(name(owner), record_type));
    message
}

/// Records as `OWNER TTL TYPE DATA`, in order.
pub(crate) fn show(records: &[Record]) -> Vec<String> {
    let line = |record: &Record| {
        let data = match &record.data {
            RData::Unknown { rdata, .. } => format!("{:02x?}", rdata.anything),
            data => data.to_string(),
        };
        format!(
            "{} {} {} {data}",
            record.name,
            record.ttl,
            record.record_type()
        )
    };
    records.iter().map(line).collect()
}

/// The data of the answer, in order.
pub(crate) fn data(message: &Message) -> Vec<String> {
    let records = message.answers.iter();
    records.map(|record| record.data.to_string()).collect()
}

pub(crate) fn code(message: &Message) -> ResponseCode {
    message.metadata.response_code
}

/// A UDP socket for one server, which takes answers from any source.
pub(crate) struct Udp {
    socket: UdpSocket,
    server: SocketAddr,
}

impl Udp {
    pub(crate) fn new(server: &Server) -> Self {
        Self::to(server.addr())
    }

    pub(crate) fn to(server: SocketAddr) -> Self {
        let socket = UdpSocket::bind((server.ip(), 0)).unwrap();
        socket.set_read_timeout(Some(HANG)).unwrap();
        Self { socket, server }
    }

    pub(crate) fn send(&self, bytes: &[u8]) {
        self.socket.send_to(bytes, self.server).unwrap();
    }

    /// The next datagram and its source.
    pub(crate) fn receive(&self) -> (Vec<u8>, SocketAddr) {
        let mut buffer = vec![0; 65_535];
        let (length, source) = self.socket.recv_from(&mut buffer).unwrap();
        buffer.truncate(length);
        (buffer, source)
    }

    pub(crate) fn message(&self) -> Message {
        Message::from_vec(&self.receive().0).unwrap()
    }

    pub(crate) fn ask(&self, owner: &str, record_type: RecordType) -> Message {
        self.send(&query(1, owner, record_type).to_vec().unwrap());
        self.message()
    }

    /// Asks and gets the bytes.
    pub(crate) fn ask_raw(&self, owner: &str, record_type: RecordType) -> Vec<u8> {
        self.send(&query(1, owner, record_type).to_vec().unwrap());
        self.receive().0
    }

    pub(crate) fn ask_edns(&self, owner: &str, record_type: RecordType, payload: u16) -> Message {
        let mut message = query(1, owner, record_type);
        let mut edns = Edns::new();
        edns.set_max_payload(payload);
        message.set_edns(edns);
        self.send(&message.to_vec().unwrap());
        self.message()
    }

    /// Asks and checks that nothing comes back.
    pub(crate) fn ask_in_vain(&self, owner: &str, record_type: RecordType) {
        self.send(&query(1, owner, record_type).to_vec().unwrap());
        self.nothing_is_pending();
    }

    /// Checks that the answer to another question is the next datagram.
    pub(crate) fn nothing_is_pending(&self) {
        self.send(&query(0xffff, CONTROL, A).to_vec().unwrap());
        assert_eq!(self.message().metadata.id, 0xffff);
    }
}

/// A TCP connection to one server.
pub(crate) struct Tcp(TcpStream);

impl Tcp {
    pub(crate) fn new(server: &Server) -> Self {
        let stream = TcpStream::connect(server.addr()).unwrap();
        stream.set_read_timeout(Some(HANG)).unwrap();
        Self(stream)
    }

    pub(crate) fn send(&mut self, message: &[u8]) {
        let mut frame = u16::try_from(message.len()).unwrap().to_be_bytes().to_vec();
        frame.extend(message);
        self.0.write_all(&frame).unwrap();
    }

    pub(crate) fn send_unframed(&mut self, bytes: &[u8]) {
        self.0.write_all(bytes).unwrap();
    }

    pub(crate) fn finish(&mut self) {
        self.0.shutdown(std::net::Shutdown::Write).unwrap();
    }

    /// The next message; none at the end of the connection.
    pub(crate) fn receive(&mut self) -> Option<Vec<u8>> {
        let mut length = [0; 2];
        match self.0.read_exact(&mut length) {
            Ok(()) => {}
            Err(error) => {
                let end = [ErrorKind::UnexpectedEof, ErrorKind::ConnectionReset];
                assert!(end.contains(&error.kind()), "{error}");
                return None;
            }
        }
        let mut message = vec![0; usize::from(u16::from_be_bytes(length))];
        self.0.read_exact(&mut message).unwrap();
        Some(message)
    }

    pub(crate) fn message(&mut self) -> Message {
        Message::from_vec(&self.receive().unwrap()).unwrap()
    }

    pub(crate) fn ask(&mut self, owner: &str, record_type: RecordType) -> Message {
        self.send(&query(1, owner, record_type).to_vec().unwrap());
        self.message()
    }

    pub(crate) fn ask_in_vain(&mut self, owner: &str, record_type: RecordType) {
        self.send(&query(1, owner, record_type).to_vec().unwrap());
        self.send(&query(0xffff, CONTROL, A).to_vec().unwrap());
        assert_eq!(self.message().metadata.id, 0xffff);
    }
}
