//! The whole server down, up, started again.

use std::io::ErrorKind;
use std::net::{Ipv6Addr, SocketAddr, TcpStream, UdpSocket};
use std::time::Duration;

use hickory_proto::op::ResponseCode;
use testdns::{CommandError, Server};

use crate::client::{A, Tcp, Udp, code, data, give, query, start};

#[test]
fn down_drop_ignores_all_until_up() {
    let server = start(&["set a.test A 127.0.0.1"]);
    let udp = Udp::new(&server);
    for down in ["down", "down drop"] {
        give(&server, &[down]);
        udp.send(&query(1, "a.test", A).to_vec().unwrap());
        udp.send(b"no query, but with a header");
        give(&server, &["wait-more a.test 0", "up"]);
    }
    let server = start(&["set a.test A 127.0.0.1", "down drop"]);
    let (udp, mut tcp) = (Udp::new(&server), Tcp::new(&server));
    udp.send(&query(1, "a.test", A).to_vec().unwrap());
    tcp.send(&query(1, "a.test", A).to_vec().unwrap());
    give(&server, &["wait a.test udp 1", "wait a.test tcp 1", "up"]);
    udp.send(&query(2, "a.test", A).to_vec().unwrap());
    tcp.send(&query(2, "a.test", A).to_vec().unwrap());
    assert_eq!(udp.message().metadata.id, 2);
    assert_eq!(tcp.message().metadata.id, 2);
}

#[test]
fn down_servfail_says_so() {
    let server = start(&["set a.test A 127.0.0.1", "down servfail"]);
    let udp = Udp::new(&server);
    assert_eq!(code(&udp.ask("a.test", A)), ResponseCode::ServFail);
    assert_eq!(
        code(&Tcp::new(&server).ask("b.test", A)),
        ResponseCode::ServFail
    );
    give(&server, &["up"]);
    assert_eq!(data(&udp.ask("a.test", A)), ["127.0.0.1"]);
}

/// What a client sees of a shut port.
fn assert_refused(addr: SocketAddr) {
    let error = TcpStream::connect(addr).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
    let udp = UdpSocket::bind((addr.ip(), 0)).unwrap();
    udp.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    udp.connect(addr).unwrap();
    udp.send(b"anybody there?").unwrap();
    let error = udp.recv(&mut [0; 1]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
}

#[test]
fn down_closed_shuts_the_ports_and_up_opens_the_same() {
    let server = start(&["set a.test A 127.0.0.1", "delay slow.test 1m"]);
    let addr = server.addr();
    for _ in 0..3 {
        let mut open = Tcp::new(&server);
        open.ask("a.test", A);
        open.send(&query(1, "slow.test", A).to_vec().unwrap());
        give(&server, &["down closed"]);
        assert_refused(addr);
        assert_eq!(open.receive(), None);
        give(&server, &["down closed", "up", "up"]);
        assert_eq!(server.addr(), addr);
        assert_eq!(data(&Udp::new(&server).ask("a.test", A)), ["127.0.0.1"]);
        assert_eq!(data(&Tcp::new(&server).ask("a.test", A)), ["127.0.0.1"]);
    }
}

#[test]
fn a_shut_port_stays_ours() {
    let server = start(&["down closed"]);
    assert!(UdpSocket::bind(server.addr()).is_err());
    let other = Server::start(&[server.addr()]);
    assert_eq!(other.unwrap_err().kind(), ErrorKind::AddrInUse);
    give(&server, &["down servfail"]);
    assert_eq!(
        code(&Udp::new(&server).ask("a.test", A)),
        ResponseCode::ServFail
    );
}

#[test]
fn a_server_can_start_again_on_the_same_port() {
    let mut addr = "127.0.0.1:0".parse().unwrap();
    for round in 1..=5 {
        let zone = format!("set a.test A 127.0.0.{round}");
        let server = Server::with_zone(&[addr], &zone).unwrap();
        addr = server.addr();
        let expected = [format!("127.0.0.{round}")];
        assert_eq!(data(&Udp::new(&server).ask("a.test", A)), expected);
        // The client's end stays open, so that the server's end lingers.
        let mut tcp = Tcp::new(&server);
        assert_eq!(data(&tcp.ask("a.test", A)), expected);
        drop(server);
        assert_refused(addr);
        assert_eq!(tcp.receive(), None);
    }
}

#[test]
fn quit_frees_the_ports_and_ends_commands() {
    let server = start(&["quit"]);
    server.wait();
    assert_eq!(server.command("dump"), Err(CommandError::Stopped));
    let again = Server::start(&[server.addr()]).unwrap();
    assert_eq!(
        code(&Udp::new(&again).ask("a.test", A)),
        ResponseCode::NXDomain
    );
}

#[test]
fn several_addresses_of_both_families_serve_one_zone() {
    let listen = ["127.0.0.1:0", "[::1]:0", "127.0.0.2:0"].map(|addr| addr.parse().unwrap());
    let server = Server::start(&listen).unwrap();
    give(&server, &["set a.test A 127.0.0.1"]);
    assert_eq!(server.addr(), server.addrs()[0]);
    for (addr, asked) in server.addrs().iter().zip(listen) {
        assert_eq!(addr.ip(), asked.ip());
        assert_ne!(addr.port(), 0);
        assert_eq!(data(&Udp::to(*addr).ask("a.test", A)), ["127.0.0.1"]);
        assert!(TcpStream::connect(addr).is_ok());
    }
    let shown: Vec<String> = server.addrs().iter().map(ToString::to_string).collect();
    assert_eq!(server.command("addr").unwrap(), shown.join("\n"));
    give(&server, &["wait a.test 3", "down closed"]);
    for addr in server.addrs() {
        assert_refused(*addr);
    }
    give(&server, &["up"]);
    for addr in server.addrs() {
        assert_eq!(data(&Udp::to(*addr).ask("a.test", A)), ["127.0.0.1"]);
    }
}

#[test]
fn all_addresses_of_both_families_can_be_given_with_one_port() {
    let any4 = Server::start(&["0.0.0.0:0".parse().unwrap()]).unwrap();
    let port = any4.addr().port();
    give(&any4, &["down closed", "up"]);
    let any6 = Server::start(&[SocketAddr::from(([0; 16], port))]).unwrap();
    assert_eq!(any6.addr().port(), port);
    for local in [
        SocketAddr::from(([127, 0, 0, 1], port)),
        SocketAddr::from(([127, 0, 0, 2], port)),
        SocketAddr::from((Ipv6Addr::LOCALHOST, port)),
    ] {
        let answer = Udp::to(local).ask("a.test", A);
        assert_eq!(code(&answer), ResponseCode::NXDomain);
    }
}

#[test]
fn a_start_that_cannot_be_says_why() {
    let taken = start(&[]);
    let error = Server::start(&[taken.addr()]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AddrInUse);
    assert!(
        error.to_string().contains(&taken.addr().to_string()),
        "{error}"
    );
    let error = Server::start(&[]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    let error = Server::with_zone(&["127.0.0.1:0".parse().unwrap()], "ttl 5\nup\n").unwrap_err();
    assert_eq!(
        error.to_string(),
        "zone line 2: up: only in a running server, not in a zone file"
    );
}
