//! Any bytes and any commands: the server goes on.

use proptest::prelude::*;
use testdns::Server;

use crate::client::{A, Tcp, Udp, data, give, query, start};

/// One server for all cases of a property.
fn server() -> Server {
    start(&["set control.test A 127.0.0.1", "set *.test A 127.0.0.2"])
}

/// Bytes at random, and queries with some bytes changed.
fn packet() -> impl Strategy<Value = Vec<u8>> {
    let bytes = query(1, "a.test", A).to_vec().unwrap();
    let change = (any::<prop::sample::Index>(), any::<u8>());
    let damaged = prop::collection::vec(change, 1..5).prop_map(move |changes| {
        let mut bytes = bytes.clone();
        for (index, byte) in changes {
            let index = index.index(bytes.len());
            bytes[index] = byte;
        }
        bytes
    });
    prop_oneof![damaged, prop::collection::vec(any::<u8>(), 0..600)]
}

/// Words of commands, right and wrong ones, without those that end or stop the server.
fn line() -> impl Strategy<Value = String> {
    let words = [
        "set",
        "add",
        "remove",
        "fail",
        "ok",
        "swap",
        "delay",
        "rotate",
        "shuffle",
        "case",
        "soa",
        "ttl",
        "additional",
        "cname-only",
        "clear",
        "count",
        "reset-count",
        "dump",
        "help",
        "up",
        "a.test",
        "b.test.",
        "*.test",
        "*",
        ".",
        "A",
        "AAAA",
        "SRV",
        "CNAME",
        "TYPE1",
        "ANY",
        "127.0.0.1",
        "::1",
        "hex=00",
        "hex=",
        "ttl=0",
        "ttl=x",
        "10",
        "on",
        "off",
        "servfail",
        "nxdomain",
        "no-soa",
        "double",
        "loop",
        "raw",
        "garbage",
        "short",
        "tc",
        "late",
        "0",
        "1ms",
        "times=1",
        "udp",
        "tcp",
        "upper",
        "mixed",
        "wrong-question",
        "#",
    ];
    let known = prop::sample::select(words.to_vec()).prop_map(str::to_owned);
    let word = prop_oneof![9 => known, 1 => any::<String>()];
    prop::collection::vec(word, 0..8).prop_map(|words| words.join(" "))
}

#[test]
fn no_packet_stops_the_server() {
    let server = server();
    let udp = Udp::new(&server);
    proptest!(|(packets in prop::collection::vec(packet(), 1..20))| {
        let mut tcp = Tcp::new(&server);
        for packet in &packets {
            udp.send(packet);
            tcp.send(packet);
        }
        tcp.finish();
        while tcp.receive().is_some() {}
        // Answers to some of the packets come first.
        udp.send(&query(4711, "control.test", A).to_vec().unwrap());
        while !udp.receive().0.starts_with(&4711_u16.to_be_bytes()) {}
    });
    assert_eq!(
        data(&Tcp::new(&server).ask("control.test", A)),
        ["127.0.0.1"]
    );
}

#[test]
fn a_stream_that_ends_within_a_frame_is_closed() {
    let server = server();
    let mut tcp = Tcp::new(&server);
    tcp.send_unframed(&[0xff, 0xff, 1, 2, 3]);
    tcp.finish();
    assert_eq!(tcp.receive(), None);
}

#[test]
fn no_command_stops_the_server_whatever_is_asked_then() {
    let server = server();
    proptest!(|(lines in prop::collection::vec(line(), 1..20), packet in packet())| {
        for line in &lines {
            // Right or wrong, it returns.
            let _ = server.command(line);
        }
        let udp = Udp::new(&server);
        for name in ["a.test", "b.test", "."] {
            udp.send(&query(1, name, A).to_vec().unwrap());
        }
        udp.send(&packet);
        give(&server, &["clear", "set control.test A 127.0.0.1"]);
        prop_assert_eq!(data(&Tcp::new(&server).ask("control.test", A)), ["127.0.0.1"]);
    });
}
