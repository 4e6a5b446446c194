//! Several servers.

use std::time::Duration;

use dynamic_core::answer::Failure;
use dynamic_resolve::{Settings, Transport};

use crate::support::{
    Dns, ENDLESS, LONG, SHORT, both, family, one, over, resolver, settings, soon,
};

const ZONE: &str = "set a.test A 192.0.2.1\nset a.test AAAA 2001:db8::1\n";

#[tokio::test]
async fn the_first_server_is_asked_and_no_other() {
    let (first, second) = (Dns::new(ZONE), Dns::new(ZONE));
    let resolver = resolver(settings(&[&first, &second], LONG));
    for _ in 0..5 {
        assert_eq!(
            both(&resolver.host("a.test", false, None).await.answer).len(),
            2
        );
    }
    assert_eq!((first.count("a.test"), second.count("a.test")), (10, 0));
}

#[tokio::test]
async fn a_negative_answer_is_an_answer() {
    let (first, second) = (Dns::new("set b.test A 192.0.2.9"), Dns::new(ZONE));
    let resolver = resolver(settings(&[&first, &second], LONG));
    let lookup = resolver.host("a.test", false, None).await;
    assert_eq!(lookup.answer.v4, Err(Failure::NxDomain));
    let lookup = resolver.host("b.test", false, None).await;
    assert_eq!(lookup.answer.v6, Err(Failure::NoData));
    assert_eq!(second.count("*"), 0);
}

/// A failure that is told is followed at once by the next server.
#[tokio::test]
async fn the_next_server_is_asked_when_one_fails() {
    for (mode, failure) in [
        ("servfail", Failure::ServFail),
        ("refused", Failure::Refused),
        ("notimp", Failure::NotImp),
        ("tc-always", Failure::Truncated),
        ("garbage", Failure::Malformed),
    ] {
        let (first, second) = (Dns::new(ZONE), Dns::new(ZONE));
        first.tell(&format!("fail a.test A {mode}"));
        let resolver = resolver(settings(&[&first, &second], ENDLESS));
        let lookup = soon(resolver.host("a.test", false, None)).await;
        assert_eq!(family(&lookup.answer.v4), one("192.0.2.1"), "{mode}");
        let told: Vec<_> = lookup
            .report
            .faults
            .iter()
            .map(|it| (it.server, it.failure))
            .collect();
        assert_eq!(told, [(first.address(), failure)], "{mode}");
        assert_eq!(second.count("a.test AAAA"), 0, "{mode}");
    }
}

#[tokio::test]
async fn a_closed_port_is_passed_over_at_once() {
    for transports in [vec![Transport::Udp, Transport::Tcp], vec![Transport::Tcp]] {
        let (first, second) = (Dns::new(ZONE), Dns::new(ZONE));
        first.tell("down closed");
        let resolver = resolver(over(&transports, settings(&[&first, &second], ENDLESS)));
        let lookup = soon(resolver.host("a.test", false, None)).await;
        assert_eq!(both(&lookup.answer).len(), 2);
    }
}

#[tokio::test]
async fn all_failures_together_are_the_one_that_says_most() {
    let (first, second) = (Dns::new(ZONE), Dns::new(ZONE));
    first.tell("fail * drop");
    second.tell("fail * refused");
    let lookup = resolver(settings(&[&first, &second], SHORT))
        .host("a.test", false, None)
        .await;
    assert_eq!(lookup.answer.v4, Err(Failure::Refused));
    let mut told: Vec<_> = lookup
        .report
        .faults
        .iter()
        .filter(|it| it.record == "A")
        .map(|it| (it.server, it.failure))
        .collect();
    told.sort_by_key(|(server, _)| *server == second.address());
    assert_eq!(
        told,
        [
            (first.address(), Failure::Timeout),
            (second.address(), Failure::Refused)
        ]
    );
    // It is not asked again for what it refused.
    assert_eq!(second.count("a.test A"), 1);
}

#[tokio::test]
async fn of_three_servers_the_last_one_is_enough() {
    let servers = [Dns::new(ZONE), Dns::new(ZONE), Dns::new(ZONE)];
    servers[0].tell("down drop");
    servers[1].tell("down drop");
    let all: Vec<&Dns> = servers.iter().collect();
    let timeout = Duration::from_secs(1);
    let lookup = resolver(settings(&all, timeout))
        .host("a.test", false, None)
        .await;
    assert_eq!(both(&lookup.answer).len(), 2);
}

/// A silent server costs the first questions some time, then none; after half
/// a minute one question tries it again.
#[tokio::test]
async fn a_silent_server_comes_last_until_it_answers_again() {
    let (first, second) = (Dns::new(ZONE), Dns::new(ZONE));
    first.tell("down drop");
    let resolver = resolver(settings(&[&first, &second], Duration::from_secs(2)));
    let ask = async || {
        assert_eq!(
            both(&resolver.host("a.test", false, None).await.answer).len(),
            2
        );
    };
    ask().await;
    first.tell("reset-count");
    for _ in 0..20 {
        ask().await;
    }
    assert_eq!(first.count("a.test"), 0);

    pass(Duration::from_secs(31)).await;
    ask().await;
    // One question, sent again perhaps; the other family's went elsewhere.
    let tried = (first.count("a.test A") > 0, first.count("a.test AAAA") > 0);
    assert!(matches!(tried, (true, false) | (false, true)), "{tried:?}");
    first.tell("reset-count");
    ask().await;
    assert_eq!(first.count("a.test"), 0);

    first.tell("up");
    pass(Duration::from_secs(31)).await;
    ask().await;
    first.tell("reset-count");
    second.tell("reset-count");
    ask().await;
    assert_eq!((first.count("a.test"), second.count("a.test")), (2, 0));
}

/// Moves the resolver's clock.
async fn pass(time: Duration) {
    tokio::time::pause();
    tokio::time::advance(time).await;
    tokio::time::resume();
}

/// One name that a server does not answer says nothing about the server.
#[tokio::test]
async fn a_silent_name_is_not_a_silent_server() {
    let (first, second) = (Dns::new(ZONE), Dns::new(ZONE));
    first.tell("fail hole.test drop");
    second.tell("fail hole.test drop");
    let resolver = resolver(settings(&[&first, &second], Duration::from_secs(1)));
    let hole = tokio::spawn({
        let resolver = resolver.clone();
        async move { resolver.host("hole.test", false, None).await }
    });
    first.wait("hole.test A 1").await;
    let mut asked = 0;
    while !hole.is_finished() {
        assert_eq!(
            both(&resolver.host("a.test", false, None).await.answer).len(),
            2
        );
        asked += 2;
    }
    assert!(first.count("a.test") >= asked);
    assert_eq!(hole.await.unwrap().answer.v4, Err(Failure::Timeout));
}

#[tokio::test]
async fn servers_take_turns_where_the_system_says_so() {
    let (first, second) = (Dns::new(ZONE), Dns::new(ZONE));
    let dir = tempfile::tempdir().unwrap();
    let conf = dir.path().join("resolv.conf");
    let line = |dns: &Dns| {
        let address = dns.address();
        format!("nameserver [{}]:{}\n", address.ip(), address.port())
    };
    let text = format!(
        "{}{}options rotate timeout:30\n",
        line(&first),
        line(&second)
    );
    std::fs::write(&conf, text).unwrap();
    let files =
        dynamic_resolve::SystemFiles::new(conf, "/nonexistent/hosts", "/nonexistent/nsswitch.conf");
    let resolver = dynamic_resolve::Resolver::new(Settings::default(), files);
    for _ in 0..6 {
        assert_eq!(
            both(&resolver.host("a.test", false, None).await.answer).len(),
            2
        );
    }
    assert_eq!((first.count("a.test"), second.count("a.test")), (6, 6));
}

/// The line for the log blames nobody for another one's answer.
#[tokio::test]
async fn a_failure_names_the_server_that_decided_and_apart_the_one_that_could_not() {
    let first = Dns::new("");
    first.tell("down closed");
    let second = Dns::new("");
    let resolver = resolver(settings(&[&first, &second], LONG));
    let lookup = resolver.host("a.test", false, None).await;
    assert_eq!(lookup.answer.v4, Err(Failure::NxDomain));
    let text = lookup.report.failure("A", Failure::NxDomain);
    let decided = format!(
        "NXDOMAIN from {}; UNREACHABLE from {} (",
        second.address(),
        first.address()
    );
    assert!(text.starts_with(&decided), "{text}");
    // A server that says nothing is named as well.
    let silent = Dns::new("");
    silent.tell("down drop");
    let resolver = self::resolver(settings(&[&silent, &second], SHORT * 4));
    let lookup = resolver.host("a.test", false, None).await;
    assert_eq!(
        lookup.report.failure("A", Failure::NxDomain),
        format!(
            "NXDOMAIN from {}; TIMEOUT from {}",
            second.address(),
            silent.address()
        )
    );
}
