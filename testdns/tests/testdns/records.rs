//! What a zone answers when nothing goes wrong.

use hickory_proto::op::{MessageType, ResponseCode};
use hickory_proto::rr::RecordType;

use crate::client::{A, AAAA, ANY, CNAME, SRV, TXT, Tcp, Udp, code, data, give, show, start};

#[test]
fn addresses_of_both_families_with_their_ttl() {
    let server = start(&[
        "set a.test A 127.0.0.1 127.0.0.2 ttl=5",
        "add a.test A 127.0.0.2 ttl=0",
        "set a.test AAAA ::1",
        "ttl 7",
    ]);
    let udp = Udp::new(&server);
    let answer = udp.ask("a.test", A);
    assert_eq!(answer.metadata.id, 1);
    assert_eq!(answer.metadata.message_type, MessageType::Response);
    assert!(answer.metadata.authoritative);
    assert!(answer.metadata.recursion_desired);
    assert!(answer.metadata.recursion_available);
    assert!(!answer.metadata.truncation);
    assert_eq!(
        show(&answer.answers),
        [
            "a.test. 5 A 127.0.0.1",
            "a.test. 5 A 127.0.0.2",
            "a.test. 0 A 127.0.0.2"
        ]
    );
    let answer = udp.ask("a.test", AAAA);
    assert_eq!(show(&answer.answers), ["a.test. 7 AAAA ::1"]);
    assert_eq!(Tcp::new(&server).ask("a.test", AAAA), answer);
}

#[test]
fn the_question_comes_back_in_the_letters_it_was_asked_in() {
    let server = start(&["set a.test A 127.0.0.1"]);
    let answer = Udp::new(&server).ask("A.tEsT", A);
    assert_eq!(answer.queries[0].name.to_string(), "A.tEsT.");
    assert_eq!(show(&answer.answers), ["A.tEsT. 60 A 127.0.0.1"]);
}

#[test]
fn a_known_name_without_the_type_is_nodata_an_unknown_one_nxdomain() {
    let server = start(&["set a.test A 127.0.0.1", "soa on ttl=3"]);
    let udp = Udp::new(&server);
    let soa = ["test. 3 SOA ns.test. hostmaster.test. 1 3600 600 86400 3"];
    let nodata = udp.ask("a.test", AAAA);
    assert_eq!(code(&nodata), ResponseCode::NoError);
    assert!(nodata.answers.is_empty());
    assert_eq!(show(&nodata.authorities), soa);
    let unknown = udp.ask("b.a.test", A);
    assert_eq!(code(&unknown), ResponseCode::NXDomain);
    assert!(unknown.answers.is_empty());
    assert_eq!(show(&unknown.authorities), soa);
    assert_eq!(code(&udp.ask(".", A)), ResponseCode::NXDomain);

    give(&server, &["soa off"]);
    let unknown = udp.ask("b.a.test", A);
    assert_eq!(code(&unknown), ResponseCode::NXDomain);
    assert!(unknown.authorities.is_empty());
    assert!(udp.ask("a.test", AAAA).authorities.is_empty());
}

#[test]
fn changes_are_in_force_at_once() {
    let server = start(&["set a.test A 127.0.0.1"]);
    let udp = Udp::new(&server);
    assert_eq!(data(&udp.ask("a.test", A)), ["127.0.0.1"]);
    give(&server, &["set a.test A 127.0.0.2"]);
    assert_eq!(data(&udp.ask("a.test", A)), ["127.0.0.2"]);
    give(
        &server,
        &["add a.test A 127.0.0.3", "remove a.test A 127.0.0.2"],
    );
    assert_eq!(data(&udp.ask("a.test", A)), ["127.0.0.3"]);
    give(&server, &["add a.test AAAA ::1", "remove a.test A"]);
    assert_eq!(code(&udp.ask("a.test", A)), ResponseCode::NoError);
    give(&server, &["remove a.test"]);
    assert_eq!(code(&udp.ask("a.test", A)), ResponseCode::NXDomain);
    give(&server, &["set a.test A 127.0.0.4", "clear"]);
    assert_eq!(code(&udp.ask("a.test", A)), ResponseCode::NXDomain);
}

#[test]
fn a_refused_command_changes_nothing() {
    let server = start(&["set a.test A 127.0.0.1"]);
    for wrong in [
        "set a.test A 127.0.0.2 127.0.0.256",
        "remove a.test A 127.0.0.9",
        "fail a.test no",
    ] {
        assert!(server.command(wrong).is_err(), "{wrong}");
    }
    assert_eq!(data(&Udp::new(&server).ask("a.test", A)), ["127.0.0.1"]);
}

#[test]
fn srv_with_the_addresses_of_its_targets() {
    let server = start(&[
        "set _http._tcp.a.test SRV 10 20 8080 b.test, 20 0 0 c.elsewhere ttl=9",
        "add _http._tcp.a.test SRV 10 30 8081 B.test",
        "set b.test A 127.0.0.1 127.0.0.2",
        "set b.test AAAA ::1",
    ]);
    let udp = Udp::new(&server);
    let answer = udp.ask("_http._tcp.a.test", SRV);
    assert_eq!(
        show(&answer.answers),
        [
            "_http._tcp.a.test. 9 SRV 10 20 8080 b.test.",
            "_http._tcp.a.test. 9 SRV 20 0 0 c.elsewhere.",
            "_http._tcp.a.test. 60 SRV 10 30 8081 B.test.",
        ]
    );
    assert_eq!(
        show(&answer.additionals),
        [
            "b.test. 60 A 127.0.0.1",
            "b.test. 60 A 127.0.0.2",
            "b.test. 60 AAAA ::1"
        ]
    );
    give(&server, &["additional off"]);
    let answer = udp.ask("_http._tcp.a.test", SRV);
    assert_eq!(answer.answers.len(), 3);
    assert!(answer.additionals.is_empty());
}

#[test]
fn the_root_as_target_of_srv() {
    let server = start(&["set _x._tcp.a.test SRV 0 0 0 ."]);
    let answer = Udp::new(&server).ask("_x._tcp.a.test", SRV);
    assert_eq!(data(&answer), ["0 0 0 ."]);
}

#[test]
fn a_cname_brings_its_chain() {
    let server = start(&[
        "set w.test CNAME v.test ttl=1",
        "set v.test CNAME a.test",
        "set a.test A 127.0.0.1",
        "set x.test CNAME nowhere.test",
    ]);
    let udp = Udp::new(&server);
    let chain = ["w.test. 1 CNAME v.test.", "v.test. 60 CNAME a.test."];
    let answer = udp.ask("w.test", A);
    assert_eq!(
        show(&answer.answers),
        [&chain[..], &["a.test. 60 A 127.0.0.1"]].concat()
    );
    assert!(answer.authorities.is_empty());

    let nodata = udp.ask("w.test", AAAA);
    assert_eq!(code(&nodata), ResponseCode::NoError);
    assert_eq!(show(&nodata.answers), chain);
    assert_eq!(nodata.authorities.len(), 1);

    let unknown = udp.ask("x.test", A);
    assert_eq!(code(&unknown), ResponseCode::NXDomain);
    assert_eq!(data(&unknown), ["nowhere.test."]);

    let asked_itself = udp.ask("w.test", CNAME);
    assert_eq!(show(&asked_itself.answers), &chain[..1]);

    give(&server, &["cname-only w.test on"]);
    let only = udp.ask("w.test", A);
    assert_eq!(code(&only), ResponseCode::NoError);
    assert_eq!(show(&only.answers), &chain[..1]);
    assert!(only.authorities.is_empty());
    give(&server, &["cname-only w.test off"]);
    assert_eq!(udp.ask("w.test", A).answers.len(), 3);
}

#[test]
fn a_circle_of_cnames_ends_where_it_closes() {
    let server = start(&[
        "set a.test CNAME b.test",
        "set b.test CNAME A.test",
        "set c.test CNAME c.test",
    ]);
    let udp = Udp::new(&server);
    assert_eq!(data(&udp.ask("a.test", A)), ["b.test.", "A.test."]);
    assert_eq!(data(&udp.ask("c.test", A)), ["c.test."]);
}

#[test]
fn a_very_long_chain_is_cut() {
    let server = start(&[]);
    for link in 0..100 {
        give(
            &server,
            &[&format!("set c{link}.test CNAME c{}.test", link + 1)],
        );
    }
    assert_eq!(Tcp::new(&server).ask("c0.test", A).answers.len(), 64);
}

#[test]
fn wildcards_stand_for_names_that_are_not_named() {
    let server = start(&[
        "set *.many.test A 127.0.0.1",
        "set named.many.test A 127.0.0.2",
        "set *.deep.many.test CNAME named.many.test",
    ]);
    let udp = Udp::new(&server);
    assert_eq!(
        show(&udp.ask("n1.Many.test", A).answers),
        ["n1.Many.test. 60 A 127.0.0.1"]
    );
    assert_eq!(data(&udp.ask("x.y.many.test", A)), ["127.0.0.1"]);
    assert_eq!(data(&udp.ask("named.many.test", A)), ["127.0.0.2"]);
    assert_eq!(
        data(&udp.ask("x.deep.many.test", A)),
        ["named.many.test.", "127.0.0.2"]
    );
    assert_eq!(code(&udp.ask("many.test", A)), ResponseCode::NXDomain);
    give(&server, &["set * AAAA ::1", "remove *.many.test"]);
    assert_eq!(data(&udp.ask("n1.many.test", AAAA)), ["::1"]);
}

#[test]
fn any_type_and_any_bytes() {
    let server = start(&[
        "set a.test TYPE65280 hex=0A00ff",
        "set a.test TXT hex=0161",
        "set a.test A 127.0.0.1",
        "set bad.test A hex=7f0000",
        "set empty.test AAAA hex=",
    ]);
    let udp = Udp::new(&server);
    let odd = udp.ask("a.test", RecordType::from(65_280));
    assert_eq!(show(&odd.answers), ["a.test. 60 Unknown [0a, 00, ff]"]);
    assert_eq!(data(&udp.ask("a.test", TXT)), ["a"]);
    assert_eq!(udp.ask("a.test", ANY).answers.len(), 3);
    let bytes = udp.ask_raw("bad.test", A);
    let rdata = [0, 1, 0, 1, 0, 0, 0, 60, 0, 3, 127, 0, 0];
    assert!(bytes.ends_with(&rdata), "{bytes:02x?}");
    let bytes = udp.ask_raw("empty.test", AAAA);
    let rdata = [0, 28, 0, 1, 0, 0, 0, 60, 0, 0];
    assert!(bytes.ends_with(&rdata), "{bytes:02x?}");
}

#[test]
fn names_of_any_bytes_can_be_sent() {
    let server = start(&["set a.test SRV 0 0 80 two\\032words\\010.test"]);
    let bytes = Udp::new(&server).ask_raw("a.test", SRV);
    let target = b"\x0atwo words\n\x04test\0";
    assert!(bytes.ends_with(target), "{bytes:02x?}");
}

#[test]
fn an_answer_too_long_for_udp_is_truncated_and_comes_whole_over_tcp() {
    let addresses: Vec<String> = (1..=100).map(|last| format!("127.0.0.{last}")).collect();
    let server = start(&[&format!("set a.test A {}", addresses.join(" "))]);
    let udp = Udp::new(&server);
    let cut = udp.ask("a.test", A);
    assert!(cut.metadata.truncation);
    assert!(cut.answers.is_empty());
    assert!(udp.ask_edns("a.test", A, 1232).metadata.truncation);
    let whole = udp.ask_edns("a.test", A, 4096);
    assert!(!whole.metadata.truncation);
    assert_eq!(data(&whole), addresses);
    assert_eq!(data(&Tcp::new(&server).ask("a.test", A)), addresses);
}

#[test]
fn edns_is_answered_with_edns() {
    let server = start(&["set a.test A 127.0.0.1"]);
    let udp = Udp::new(&server);
    assert!(udp.ask_edns("a.test", A, 1232).edns.is_some());
    assert!(udp.ask("a.test", A).edns.is_none());
}
