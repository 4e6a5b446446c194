//! Counting queries and waiting for them.

use std::thread;

use testdns::{CommandError, Server};

use crate::client::{A, AAAA, Tcp, Udp, give, query, start};

fn count(server: &Server, what: &str) -> String {
    server.command(&format!("count {what}")).unwrap()
}

#[test]
fn queries_are_counted_by_name_type_and_transport() {
    let server = start(&["set a.test A 127.0.0.1"]);
    let udp = Udp::new(&server);
    udp.ask("a.test", A);
    udp.ask("A.test", A);
    udp.ask("b.test", AAAA);
    Tcp::new(&server).ask("a.test", AAAA);
    for (what, expected) in [
        ("a.test", "3"),
        ("a.test.", "3"),
        ("a.test A", "2"),
        ("a.test AAAA", "1"),
        ("a.test udp", "2"),
        ("a.test AAAA tcp", "1"),
        ("a.test AAAA udp", "0"),
        ("*", "4"),
        ("* AAAA", "2"),
        ("* tcp", "1"),
        ("*.test", "4"),
        ("c.test", "0"),
    ] {
        assert_eq!(count(&server, what), expected, "{what}");
    }
    give(&server, &["reset-count"]);
    assert_eq!(count(&server, "*"), "0");
    assert_eq!(count(&server, "a.test"), "0");
}

#[test]
fn what_is_not_answered_counts_and_what_is_no_query_does_not() {
    let server = start(&["fail a.test drop"]);
    let udp = Udp::new(&server);
    udp.ask_in_vain("a.test", A);
    assert_eq!(count(&server, "a.test"), "1");
    udp.send(b"not a query");
    udp.nothing_is_pending();
    assert_eq!(count(&server, "*"), "3");
    give(&server, &["down drop"]);
    udp.send(&query(1, "a.test", A).to_vec().unwrap());
    give(&server, &["wait a.test 2"]);
    give(&server, &["up"]);
    udp.nothing_is_pending();
}

#[test]
fn a_wait_that_is_fulfilled_returns_at_once() {
    let server = start(&[]);
    give(&server, &["wait a.test 0", "wait-more a.test A tcp 0"]);
    Udp::new(&server).ask("a.test", A);
    give(
        &server,
        &["wait a.test 1", "wait a.test A udp 1", "wait * 1 timeout=0"],
    );
}

#[test]
fn a_wait_returns_with_the_query_it_needs() {
    let server = start(&[]);
    thread::scope(|scope| {
        let waits = ["wait a.test 3", "wait *.test A 3", "wait * 3"];
        let waits = waits.map(|wait| scope.spawn(|| server.command(wait)));
        let udp = Udp::new(&server);
        for _ in 0..3 {
            udp.ask("a.test", A);
        }
        for wait in waits {
            assert_eq!(wait.join().unwrap(), Ok(String::new()));
        }
    });
}

#[test]
fn a_wait_for_more_counts_from_now() {
    let server = start(&[]);
    let udp = Udp::new(&server);
    udp.ask("a.test", A);
    let timed_out = server.command("wait-more a.test 1 timeout=1ms");
    assert_eq!(
        timed_out.unwrap_err().to_string(),
        "only 0 of 1 queries for a.test within 0.001 s"
    );
    thread::scope(|scope| {
        let wait = scope.spawn(|| server.command("wait-more a.test A 2"));
        // From some query on, the wait has begun.
        while !wait.is_finished() {
            udp.ask("a.test", A);
        }
        assert_eq!(wait.join().unwrap(), Ok(String::new()));
    });
}

#[test]
fn a_wait_fails_after_its_timeout_and_says_how_far_it_came() {
    let server = start(&[]);
    Udp::new(&server).ask("a.test", A);
    let timed_out = server.command("wait a.test A udp 3 timeout=10ms");
    let expected = CommandError::TimedOut {
        what: "a.test A udp".to_owned(),
        seen: 1,
        wanted: 3,
        seconds: "0.01".to_owned(),
    };
    assert_eq!(timed_out, Err(expected));
}

#[test]
fn a_wait_ends_with_the_server() {
    let server = start(&[]);
    thread::scope(|scope| {
        let wait = scope.spawn(|| server.command("wait * 1 timeout=10m"));
        // Whichever comes first, the wait does not last its time.
        give(&server, &["quit"]);
        assert_eq!(wait.join().unwrap(), Err(CommandError::Stopped));
    });
}
