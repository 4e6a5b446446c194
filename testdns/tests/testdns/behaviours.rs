//! Delay, order and letters.

use std::collections::BTreeSet;

use hickory_proto::op::ResponseCode;

use crate::client::{A, AAAA, Tcp, Udp, code, data, give, query, show, start};

#[test]
fn a_delayed_answer_lets_others_pass() {
    let server = start(&[
        "set a.test A 127.0.0.1",
        "set b.test A 127.0.0.2",
        "delay a.test 100ms",
    ]);
    let udp = Udp::new(&server);
    udp.send(&query(1, "a.test", A).to_vec().unwrap());
    udp.send(&query(2, "b.test", A).to_vec().unwrap());
    assert_eq!(udp.message().metadata.id, 2);
    let delayed = udp.message();
    assert_eq!(delayed.metadata.id, 1);
    assert_eq!(data(&delayed), ["127.0.0.1"]);

    let mut tcp = Tcp::new(&server);
    tcp.send(&query(1, "a.test", A).to_vec().unwrap());
    tcp.send(&query(2, "b.test", A).to_vec().unwrap());
    assert_eq!(tcp.message().metadata.id, 2);
    assert_eq!(data(&tcp.message()), ["127.0.0.1"]);
}

#[test]
fn delays_by_name_and_type_and_for_all() {
    let server = start(&["delay * 100ms", "delay a.test AAAA 0", "delay b.test 0"]);
    let udp = Udp::new(&server);
    udp.send(&query(1, "a.test", A).to_vec().unwrap());
    udp.send(&query(2, "a.test", AAAA).to_vec().unwrap());
    udp.send(&query(3, "b.test", A).to_vec().unwrap());
    let order: Vec<u16> = (0..3).map(|_| udp.message().metadata.id).collect();
    assert_eq!(order, [2, 3, 1]);
    give(&server, &["delay * 0"]);
    udp.send(&query(1, "a.test", A).to_vec().unwrap());
    udp.send(&query(3, "b.test", A).to_vec().unwrap());
    let order: Vec<u16> = (0..2).map(|_| udp.message().metadata.id).collect();
    assert_eq!(order, [1, 3]);
}

#[test]
fn a_delayed_answer_is_that_of_the_time_it_is_sent() {
    let server = start(&["set a.test A 127.0.0.1", "delay a.test 100ms"]);
    let udp = Udp::new(&server);
    udp.send(&query(1, "a.test", A).to_vec().unwrap());
    udp.nothing_is_pending();
    give(&server, &["set a.test A 127.0.0.2"]);
    assert_eq!(data(&udp.message()), ["127.0.0.2"]);
}

#[test]
fn an_answer_under_way_survives_a_client_that_has_said_all() {
    let server = start(&["set a.test A 127.0.0.1", "delay a.test 50ms"]);
    let mut tcp = Tcp::new(&server);
    tcp.send(&query(1, "a.test", A).to_vec().unwrap());
    tcp.finish();
    assert_eq!(data(&tcp.message()), ["127.0.0.1"]);
    assert_eq!(tcp.receive(), None);
}

#[test]
fn rotation_puts_the_next_record_first() {
    let server = start(&[
        "set a.test A 127.0.0.1 127.0.0.2 127.0.0.3",
        "rotate a.test on",
    ]);
    let udp = Udp::new(&server);
    let first = |_| data(&udp.ask("a.test", A)).remove(0);
    let firsts: Vec<String> = (0..4).map(first).collect();
    assert_eq!(firsts, ["127.0.0.1", "127.0.0.2", "127.0.0.3", "127.0.0.1"]);
    assert_eq!(
        data(&udp.ask("a.test", A)),
        ["127.0.0.2", "127.0.0.3", "127.0.0.1"]
    );
    give(&server, &["rotate a.test off"]);
    for _ in 0..2 {
        assert_eq!(
            data(&udp.ask("a.test", A)),
            ["127.0.0.1", "127.0.0.2", "127.0.0.3"]
        );
    }
}

#[test]
fn shuffling_brings_every_order() {
    let server = start(&[
        "set a.test A 127.0.0.1 127.0.0.2 127.0.0.3",
        "shuffle *.test on",
    ]);
    let udp = Udp::new(&server);
    let orders: BTreeSet<Vec<String>> = (0..200).map(|_| data(&udp.ask("a.test", A))).collect();
    assert_eq!(orders.len(), 6);
}

#[test]
fn letters_of_owner_names() {
    let server = start(&[
        "set a.test A 127.0.0.1",
        "set w.test CNAME a.test",
        "case *.test upper",
    ]);
    let udp = Udp::new(&server);
    let answer = udp.ask("w.test", A);
    assert_eq!(answer.queries[0].name.to_string(), "w.test.");
    assert_eq!(
        show(&answer.answers),
        ["W.TEST. 60 CNAME a.test.", "A.TEST. 60 A 127.0.0.1"]
    );
    give(&server, &["case *.test mixed"]);
    assert_eq!(
        show(&udp.ask("a.test", A).answers),
        ["A.tEsT. 60 A 127.0.0.1"]
    );
    give(&server, &["case *.test lower"]);
    assert_eq!(
        show(&udp.ask("A.TEST", A).answers),
        ["a.test. 60 A 127.0.0.1"]
    );
    give(&server, &["case *.test as-asked"]);
    assert_eq!(
        show(&udp.ask("A.TEST", A).answers),
        ["A.TEST. 60 A 127.0.0.1"]
    );
}

#[test]
fn a_dump_is_a_zone() {
    let server = start(&[
        "set a.test A 127.0.0.1",
        "fail b.test servfail",
        "rotate a.test on",
    ]);
    let dump = server.command("dump").unwrap();
    let listen = ["127.0.0.1:0".parse().unwrap()];
    let other = testdns::Server::with_zone(&listen, &dump).unwrap();
    assert_eq!(other.command("dump").unwrap(), dump);
    let udp = Udp::new(&other);
    assert_eq!(data(&udp.ask("a.test", A)), ["127.0.0.1"]);
    assert_eq!(code(&udp.ask("b.test", A)), ResponseCode::ServFail);
}
