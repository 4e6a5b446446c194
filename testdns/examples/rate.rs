//! How many queries a second a server answers: `rate ADDR:PORT [NAMES]`.
//!
//! Asks for `n0.many.test` and so on, so the server wants `set *.many.test A 127.0.0.1`. The server's
//! own share is its processor time in this time, which the system's tools show.

use std::error::Error;
use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use hickory_proto::op::{Message, MessageType, OpCode, Query};
use hickory_proto::rr::{Name, RecordType};

/// Questions under way at a time: few enough for any receive buffer.
const WINDOW: usize = 64;

/// Questions in all.
const QUERIES: usize = 200_000;

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let addr = words.next().ok_or("ADDR:PORT is missing")?;
    let addr: SocketAddr = addr.parse()?;
    let names: usize = words.next().map_or(Ok(10_000), |word| word.parse())?;
    let questions = (0..names.max(1))
        .map(|number| {
            let name = Name::from_ascii(format!("n{number}.many.test."))?;
            let mut message = Message::new(1, MessageType::Query, OpCode::Query);
            message.add_query(Query::query(name, RecordType::A));
            message.to_vec()
        })
        .collect::<Result<Vec<_>, _>>()?;
    let socket = UdpSocket::bind((addr.ip(), 0))?;
    socket.connect(addr)?;
    socket.set_read_timeout(Some(Duration::from_secs(2)))?;
    let mut questions = questions.iter().cycle().take(QUERIES);
    let start = Instant::now();
    for question in questions.by_ref().take(WINDOW) {
        socket.send(question)?;
    }
    let mut buffer = [0; 512];
    for _ in 0..QUERIES {
        socket.recv(&mut buffer)?;
        if let Some(question) = questions.next() {
            socket.send(question)?;
        }
    }
    let seconds = start.elapsed().as_secs_f64();
    println!("{QUERIES} queries in {seconds:.2} s");
    Ok(())
}
