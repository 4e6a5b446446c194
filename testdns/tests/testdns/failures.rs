//! Every way to fail, over UDP and TCP.

use hickory_proto::op::{Message, ResponseCode};

use crate::client::{A, AAAA, CONTROL, Tcp, Udp, code, data, give, query, show, start};

#[test]
fn response_codes() {
    let server = start(&["set a.test A 127.0.0.1"]);
    let udp = Udp::new(&server);
    for (mode, expected) in [
        ("servfail", ResponseCode::ServFail),
        ("refused", ResponseCode::Refused),
        ("formerr", ResponseCode::FormErr),
        ("notimp", ResponseCode::NotImp),
        ("nxdomain", ResponseCode::NXDomain),
        ("nodata", ResponseCode::NoError),
    ] {
        give(&server, &[&format!("fail a.test {mode}")]);
        for answer in [udp.ask("a.test", A), Tcp::new(&server).ask("a.test", A)] {
            assert_eq!(code(&answer), expected, "{mode}");
            assert!(answer.answers.is_empty(), "{mode}");
            assert!(!answer.metadata.truncation, "{mode}");
            let negative = ["nxdomain", "nodata"].contains(&mode);
            assert_eq!(answer.authorities.len(), usize::from(negative), "{mode}");
        }
    }
    give(&server, &["ok a.test"]);
    assert_eq!(data(&udp.ask("a.test", A)), ["127.0.0.1"]);
}

#[test]
fn negative_answers_without_soa() {
    let server = start(&[
        "set a.test A 127.0.0.1",
        "fail a.test A nxdomain no-soa",
        "fail a.test AAAA nodata no-soa",
        "fail unknown.test no-soa",
    ]);
    let udp = Udp::new(&server);
    for (name, record_type, expected) in [
        ("a.test", A, ResponseCode::NXDomain),
        ("a.test", AAAA, ResponseCode::NoError),
        ("unknown.test", A, ResponseCode::NXDomain),
    ] {
        let answer = udp.ask(name, record_type);
        assert_eq!(code(&answer), expected);
        assert!(answer.authorities.is_empty());
    }
}

#[test]
fn one_type_alone_and_one_name_alone() {
    let server = start(&[
        "set *.test A 127.0.0.1",
        "set *.test AAAA ::1",
        "fail a.test AAAA servfail",
        "fail b.test refused",
        "ok b.test A",
    ]);
    let udp = Udp::new(&server);
    assert_eq!(data(&udp.ask("a.test", A)), ["127.0.0.1"]);
    assert_eq!(code(&udp.ask("A.test", AAAA)), ResponseCode::ServFail);
    assert_eq!(data(&udp.ask("b.test", A)), ["127.0.0.1"]);
    assert_eq!(code(&udp.ask("b.test", AAAA)), ResponseCode::Refused);
    assert_eq!(data(&udp.ask("c.test", AAAA)), ["::1"]);

    give(&server, &["fail * nxdomain", "ok c.test"]);
    assert_eq!(code(&udp.ask("d.test", A)), ResponseCode::NXDomain);
    assert_eq!(code(&udp.ask("a.test", AAAA)), ResponseCode::ServFail);
    assert_eq!(data(&udp.ask("c.test", AAAA)), ["::1"]);
    give(&server, &["ok *"]);
    assert_eq!(data(&udp.ask("a.test", AAAA)), ["::1"]);
    assert_eq!(data(&udp.ask("d.test", A)), ["127.0.0.1"]);
}

#[test]
fn a_number_of_times() {
    let server = start(&["set a.test A 127.0.0.1", "fail a.test servfail times=2"]);
    let udp = Udp::new(&server);
    assert_eq!(code(&udp.ask("a.test", A)), ResponseCode::ServFail);
    assert_eq!(
        code(&Tcp::new(&server).ask("a.test", A)),
        ResponseCode::ServFail
    );
    assert_eq!(data(&udp.ask("a.test", A)), ["127.0.0.1"]);
}

#[test]
fn drop_answers_nothing_and_holds_up_nobody() {
    let server = start(&["set a.test A 127.0.0.1", "fail a.test drop"]);
    Udp::new(&server).ask_in_vain("a.test", A);
    Tcp::new(&server).ask_in_vain("a.test", A);
}

#[test]
fn close_ends_the_connection() {
    let server = start(&["set a.test A 127.0.0.1", "fail a.test close"]);
    Udp::new(&server).ask_in_vain("a.test", A);
    let mut tcp = Tcp::new(&server);
    tcp.send(&query(1, "a.test", A).to_vec().unwrap());
    assert_eq!(tcp.receive(), None);
    give(&server, &["delay a.test 1ms"]);
    let mut tcp = Tcp::new(&server);
    tcp.send(&query(1, "a.test", A).to_vec().unwrap());
    assert_eq!(tcp.receive(), None);
}

#[test]
fn truncation_over_udp_or_over_both() {
    let server = start(&["set a.test A 127.0.0.1", "fail a.test tc"]);
    let udp = Udp::new(&server);
    let cut = udp.ask("a.test", A);
    assert!(cut.metadata.truncation);
    assert!(cut.answers.is_empty());
    assert_eq!(cut.queries.len(), 1);
    let whole = Tcp::new(&server).ask("a.test", A);
    assert!(!whole.metadata.truncation);
    assert_eq!(data(&whole), ["127.0.0.1"]);
    give(&server, &["fail a.test tc-always"]);
    assert!(udp.ask("a.test", A).metadata.truncation);
    assert!(Tcp::new(&server).ask("a.test", A).metadata.truncation);
}

#[test]
fn a_header_and_noise() {
    let server = start(&["set a.test A 127.0.0.1", "fail a.test garbage"]);
    let udp = Udp::new(&server);
    let first = udp.ask_raw("a.test", A);
    let second = udp.ask_raw("a.test", A);
    assert_ne!(first, second);
    for bytes in [first, second] {
        assert_eq!(bytes[..2], [0, 1]);
        assert!(Message::from_vec(&bytes).is_err());
    }
    let mut tcp = Tcp::new(&server);
    tcp.send(&query(1, "a.test", A).to_vec().unwrap());
    assert!(Message::from_vec(&tcp.receive().unwrap()).is_err());
}

#[test]
fn no_bytes() {
    let server = start(&["set a.test A 127.0.0.1", "fail a.test empty-packet"]);
    assert!(Udp::new(&server).ask_raw("a.test", A).is_empty());
    let mut tcp = Tcp::new(&server);
    tcp.send(&query(1, "a.test", A).to_vec().unwrap());
    assert_eq!(tcp.receive(), Some(Vec::new()));
    assert_eq!(code(&tcp.ask(CONTROL, A)), ResponseCode::NXDomain);
}

#[test]
fn cut_off() {
    let server = start(&["set a.test A 127.0.0.1"]);
    let udp = Udp::new(&server);
    let whole = udp.ask_raw("a.test", A);
    give(&server, &["fail a.test short"]);
    let short = udp.ask_raw("a.test", A);
    assert!(short.len() < whole.len());
    assert!(whole.starts_with(&short));
    assert!(Message::from_vec(&short).is_err());
}

#[test]
fn raw_bytes() {
    let server = start(&[
        "fail a.test raw ffffC0DE",
        "fail b.test raw ffffC0DE id=as-is",
        "fail c.test raw 07",
    ]);
    let udp = Udp::new(&server);
    assert_eq!(udp.ask_raw("a.test", A), [0, 1, 0xc0, 0xde]);
    assert_eq!(udp.ask_raw("b.test", A), [0xff, 0xff, 0xc0, 0xde]);
    assert_eq!(udp.ask_raw("c.test", A), [7]);
}

#[test]
fn another_id() {
    let server = start(&["set a.test A 127.0.0.1", "fail a.test wrong-id"]);
    let udp = Udp::new(&server);
    let answer = udp.ask("a.test", A);
    assert_eq!(answer.metadata.id, !1);
    assert_eq!(data(&answer), ["127.0.0.1"]);
    udp.nothing_is_pending();
}

#[test]
fn the_answer_of_another_question() {
    let server = start(&[
        "set a.test A 127.0.0.1",
        "set b.test A 127.0.0.2",
        "fail a.test wrong-question",
    ]);
    let udp = Udp::new(&server);
    let answer = udp.ask("a.test", A);
    assert_eq!(answer.queries[0].name.to_string(), "wrong.invalid.");
    assert_eq!(show(&answer.answers), ["wrong.invalid. 60 A 127.0.0.1"]);
    give(&server, &["fail a.test wrong-question b.test"]);
    let answer = udp.ask("a.test", A);
    assert_eq!(answer.metadata.id, 1);
    assert_eq!(answer.queries[0].name.to_string(), "b.test.");
    assert_eq!(show(&answer.answers), ["b.test. 60 A 127.0.0.2"]);
}

#[test]
fn two_names_with_their_answers_exchanged() {
    let server = start(&[
        "set a.test A 127.0.0.1",
        "set b.test A 127.0.0.2",
        "swap a.test b.test",
    ]);
    let udp = Udp::new(&server);
    for (asked, got, address) in [
        ("a.test", "b.test.", "127.0.0.2"),
        ("b.test", "a.test.", "127.0.0.1"),
    ] {
        let answer = udp.ask(asked, A);
        assert_eq!(answer.queries[0].name.to_string(), got);
        assert_eq!(show(&answer.answers), [format!("{got} 60 A {address}")]);
    }
    give(&server, &["ok a.test", "ok b.test"]);
    assert_eq!(data(&udp.ask("a.test", A)), ["127.0.0.1"]);
}

#[test]
fn the_records_of_another_owner() {
    let server = start(&["set a.test A 127.0.0.1", "fail a.test wrong-name"]);
    let udp = Udp::new(&server);
    let answer = udp.ask("a.test", A);
    assert_eq!(answer.queries[0].name.to_string(), "a.test.");
    assert_eq!(show(&answer.answers), ["wrong.invalid. 60 A 127.0.0.1"]);
    give(&server, &["fail a.test wrong-name b.test"]);
    assert_eq!(
        show(&udp.ask("a.test", A).answers),
        ["b.test. 60 A 127.0.0.1"]
    );
}

#[test]
fn the_right_answer_from_the_wrong_port() {
    let server = start(&["set a.test A 127.0.0.1", "fail a.test wrong-source"]);
    let udp = Udp::new(&server);
    udp.send(&query(1, "a.test", A).to_vec().unwrap());
    let (bytes, source) = udp.receive();
    assert_eq!(data(&Message::from_vec(&bytes).unwrap()), ["127.0.0.1"]);
    assert_eq!(source.ip(), server.addr().ip());
    assert_ne!(source.port(), server.addr().port());
    assert_eq!(data(&Tcp::new(&server).ask("a.test", A)), ["127.0.0.1"]);
}

#[test]
fn a_second_answer_after_the_right_one() {
    let server = start(&[
        "set a.test A 127.0.0.1",
        "set a.test AAAA ::1",
        "fail a.test double",
    ]);
    let udp = Udp::new(&server);
    assert_eq!(data(&udp.ask("a.test", A)), ["127.0.0.1"]);
    let second = udp.message();
    assert_eq!(second.metadata.id, 1);
    assert_eq!(data(&second), ["127.0.0.254"]);
    assert_eq!(data(&udp.ask("a.test", AAAA)), ["::1"]);
    assert_eq!(data(&udp.message()), ["2001:db8::254"]);

    give(&server, &["fail a.test double 127.0.0.3 127.0.0.4 ::3"]);
    let mut tcp = Tcp::new(&server);
    assert_eq!(data(&tcp.ask("a.test", A)), ["127.0.0.1"]);
    assert_eq!(data(&tcp.message()), ["127.0.0.3", "127.0.0.4"]);
    udp.nothing_is_pending();
}

#[test]
fn a_circle() {
    let server = start(&["set a.test A 127.0.0.1", "fail a.test loop"]);
    let answer = Udp::new(&server).ask("a.test", A);
    assert_eq!(
        show(&answer.answers),
        [
            "a.test. 0 CNAME loop.a.test.",
            "loop.a.test. 0 CNAME a.test."
        ]
    );
    let long = format!("{0}.{0}.{0}.{1}", "a".repeat(63), "b".repeat(60));
    give(&server, &[&format!("fail {long} loop")]);
    let answer = Udp::new(&server).ask(&long, A);
    assert_eq!(data(&answer), vec![format!("{long}."); 2]);
}

#[test]
fn a_late_answer_is_that_of_the_time_of_the_question() {
    let server = start(&["set a.test A 127.0.0.1", "fail a.test late 100ms times=1"]);
    let udp = Udp::new(&server);
    udp.send(&query(1, "a.test", A).to_vec().unwrap());
    // Its answer shows that the first question has been read.
    udp.nothing_is_pending();
    give(&server, &["set a.test A 127.0.0.2", "down drop"]);
    let late = udp.message();
    assert_eq!(late.metadata.id, 1);
    assert_eq!(data(&late), ["127.0.0.1"]);
    give(&server, &["up"]);
    assert_eq!(data(&udp.ask("a.test", A)), ["127.0.0.2"]);
}

#[test]
fn failures_follow_the_name_asked_for() {
    let server = start(&[
        "set w.test CNAME a.test",
        "set a.test A 127.0.0.1",
        "fail a.test servfail",
    ]);
    let udp = Udp::new(&server);
    assert_eq!(data(&udp.ask("w.test", A)), ["a.test.", "127.0.0.1"]);
    assert_eq!(code(&udp.ask("a.test", A)), ResponseCode::ServFail);
}
