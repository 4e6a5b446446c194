//! What a server can do wrong, and what comes of it.

use std::time::Duration;

use dynamic_core::answer::Failure;
use dynamic_resolve::{Settings, Transport};

use crate::support::{
    Dns, ENDLESS, LONG, SHORT, both, family, name_server, one, over, resolver, settings, soon,
};

const ZONE: &str = "\
set a.test A 192.0.2.1 192.0.2.2 ttl=7
set a.test AAAA 2001:db8::1 ttl=9
set b.test A 192.0.2.9
";

#[tokio::test]
async fn both_families_are_asked_and_answered() {
    let dns = Dns::new(ZONE);
    let lookup = resolver(settings(&[&dns], LONG))
        .host("a.test", false, None)
        .await;
    assert_eq!(
        both(&lookup.answer),
        ["192.0.2.1", "192.0.2.2", "2001:db8::1"]
    );
    assert_eq!(lookup.answer.v4.unwrap().ttl, Some(Duration::from_secs(7)));
    assert_eq!(lookup.answer.v6.unwrap().ttl, Some(Duration::from_secs(9)));
    assert_eq!(lookup.report.name, "a.test");
    assert_eq!(lookup.report.faults, []);
    assert_eq!((dns.count("a.test A"), dns.count("a.test AAAA")), (1, 1));
}

#[tokio::test]
async fn a_ttl_of_zero_is_told() {
    let dns = Dns::new("set a.test A 192.0.2.1 ttl=0");
    let lookup = resolver(settings(&[&dns], LONG))
        .host("a.test", false, None)
        .await;
    assert_eq!(lookup.answer.v4.unwrap().ttl, Some(Duration::ZERO));
}

async fn fail_over(transports: &[Transport], mode: &str, timeout: Duration, failure: Failure) {
    let dns = Dns::new(ZONE);
    dns.tell(&format!("fail a.test A {mode}"));
    let settings = over(transports, settings(&[&dns], timeout));
    let lookup = soon(resolver(settings).host("a.test", false, None)).await;
    let (v4, v6) = (family(&lookup.answer.v4), family(&lookup.answer.v6));
    assert_eq!(v4, Err(failure), "{mode}");
    assert_eq!(v6, one("2001:db8::1"), "{mode}");
    let negative = matches!(failure, Failure::NxDomain | Failure::NoData);
    let own = matches!(mode, "loop" | "wrong-name");
    assert_eq!(lookup.report.faults.is_empty(), negative || own, "{mode}");
    for fault in lookup.report.faults {
        assert_eq!(fault.failure, failure, "{mode}");
        assert_eq!(fault.server, dns.address(), "{mode}");
        assert_eq!(
            (fault.name.as_str(), fault.record),
            ("a.test", "A"),
            "{mode}"
        );
    }
}

/// One family's failure is told as it is, and is none of the other's.
#[tokio::test]
async fn each_failure_over_udp_is_that_familys_alone() {
    const UDP: &[Transport] = &[Transport::Udp, Transport::Tcp];
    for (mode, failure) in [
        ("nxdomain", Failure::NxDomain),
        ("nxdomain no-soa", Failure::NxDomain),
        ("nodata", Failure::NoData),
        ("nodata no-soa", Failure::NoData),
        ("servfail", Failure::ServFail),
        ("refused", Failure::Refused),
        ("formerr", Failure::FormErr),
        ("notimp", Failure::NotImp),
        ("tc-always", Failure::Truncated),
        ("loop", Failure::Malformed),
        ("wrong-name b.test", Failure::NoData),
        ("garbage", Failure::Malformed),
        ("short", Failure::Malformed),
    ] {
        fail_over(UDP, mode, ENDLESS, failure).await;
    }
    let silent = [
        "drop",
        "close",
        "wrong-id",
        "wrong-question b.test",
        "wrong-source",
        "empty-packet",
    ];
    let silent = silent.map(|mode| fail_over(UDP, mode, SHORT, Failure::Timeout));
    futures_util::future::join_all(silent).await;
}

#[tokio::test]
async fn each_failure_over_tcp_is_that_familys_alone() {
    const TCP: &[Transport] = &[Transport::Tcp];
    for (mode, failure) in [
        ("nxdomain", Failure::NxDomain),
        ("nodata", Failure::NoData),
        ("servfail", Failure::ServFail),
        ("refused", Failure::Refused),
        ("notimp", Failure::NotImp),
        ("tc-always", Failure::Truncated),
        ("loop", Failure::Malformed),
        ("wrong-question b.test", Failure::Malformed),
        ("close", Failure::Unreachable),
    ] {
        fail_over(TCP, mode, ENDLESS, failure).await;
    }
    let silent = ["drop", "wrong-id", "garbage", "short"];
    let silent = silent.map(|mode| fail_over(TCP, mode, SHORT, Failure::Timeout));
    futures_util::future::join_all(silent).await;
}

/// An empty message breaks the connection, or leaves it silent; either way the
/// other family gets its answer.
#[tokio::test]
async fn an_empty_message_over_tcp_is_that_familys_alone() {
    let dns = Dns::new(ZONE);
    dns.tell("fail a.test A empty-packet");
    let settings = over(&[Transport::Tcp], settings(&[&dns], SHORT));
    let lookup = resolver(settings).host("a.test", false, None).await;
    assert!(
        matches!(
            lookup.answer.v4,
            Err(Failure::Timeout | Failure::Unreachable)
        ),
        "{:?}",
        lookup.answer.v4
    );
    assert_eq!(family(&lookup.answer.v6), one("2001:db8::1"));
}

/// What is not the answer is passed over, and the question asked again.
#[tokio::test]
async fn a_single_fault_does_no_harm() {
    let modes = [
        "drop",
        "wrong-id",
        "wrong-question b.test",
        "wrong-source",
        "empty-packet",
        "garbage",
        "short",
    ];
    let lookups = modes.map(async |mode| {
        let dns = Dns::new(ZONE);
        dns.tell(&format!("fail a.test A {mode} times=1"));
        let lookup = resolver(settings(&[&dns], LONG))
            .host("a.test", false, None)
            .await;
        assert_eq!(
            both(&lookup.answer),
            ["192.0.2.1", "192.0.2.2", "2001:db8::1"],
            "{mode}"
        );
        assert_eq!(dns.count("a.test A"), 2, "{mode}");
    });
    futures_util::future::join_all(lookups).await;
}

#[tokio::test]
async fn addresses_of_another_name_are_never_taken() {
    let dns = Dns::new(ZONE);
    dns.tell("swap a.test b.test");
    let resolver = resolver(settings(&[&dns], SHORT));
    let (a, b) = tokio::join!(
        resolver.host("a.test", false, None),
        resolver.host("b.test", false, None)
    );
    assert_eq!(family(&a.answer.v4), Err(Failure::Timeout));
    assert_eq!(family(&b.answer.v4), Err(Failure::Timeout));
}

#[tokio::test]
async fn a_second_answer_is_not_heard() {
    let dns = Dns::new(ZONE);
    dns.tell("fail a.test double");
    let resolver = resolver(settings(&[&dns], LONG));
    for _ in 0..5 {
        let (a, b) = tokio::join!(
            resolver.host("a.test", false, None),
            resolver.host("b.test", false, None)
        );
        assert_eq!(both(&a.answer), ["192.0.2.1", "192.0.2.2", "2001:db8::1"]);
        assert_eq!(family(&b.answer.v4), one("192.0.2.9"));
    }
}

#[tokio::test]
async fn a_truncated_answer_is_asked_for_over_tcp() {
    let dns = Dns::new(ZONE);
    dns.tell("fail a.test tc");
    let transports = [vec![Transport::Udp, Transport::Tcp], vec![Transport::Udp]];
    for (round, transports) in transports.into_iter().enumerate() {
        let settings = over(&transports, settings(&[&dns], LONG));
        let lookup = resolver(settings).host("a.test", false, None).await;
        assert_eq!(
            both(&lookup.answer),
            ["192.0.2.1", "192.0.2.2", "2001:db8::1"]
        );
        assert_eq!(lookup.report.faults, []);
        assert_eq!(dns.count("a.test A tcp"), u32::try_from(round + 1).unwrap());
    }
}

/// 200 addresses do not fit into a datagram.
#[tokio::test]
async fn a_large_answer_arrives_whole() {
    let many: Vec<String> = (0..200).map(|n| format!("192.0.2.{n}")).collect();
    let dns = Dns::new(&format!("set big.test A {}", many.join(" ")));
    let lookup = resolver(settings(&[&dns], LONG))
        .host("big.test", false, None)
        .await;
    assert_eq!(family(&lookup.answer.v4).unwrap().len(), 200);
    assert_eq!(dns.count("big.test A tcp"), 1);
}

#[tokio::test]
async fn a_closed_port_is_told_at_once_and_its_return_is_seen() {
    let dns = Dns::new(ZONE);
    for transports in [vec![Transport::Udp, Transport::Tcp], vec![Transport::Tcp]] {
        let resolver = resolver(over(&transports, settings(&[&dns], ENDLESS)));
        dns.tell("down closed");
        for _ in 0..3 {
            let lookup = soon(resolver.host("a.test", false, None)).await;
            assert_eq!(family(&lookup.answer.v4), Err(Failure::Unreachable));
            assert_eq!(family(&lookup.answer.v6), Err(Failure::Unreachable));
            assert!(!lookup.report.faults.is_empty());
        }
        dns.tell("up");
        let lookup = soon(resolver.host("a.test", false, None)).await;
        assert_eq!(both(&lookup.answer).len(), 3);
    }
}

#[tokio::test]
async fn a_server_that_was_away_is_used_at_once_when_it_is_back() {
    let transports = [vec![Transport::Udp, Transport::Tcp], vec![Transport::Tcp]];
    let both_transports = transports.map(async |transports| {
        let dns = Dns::new(ZONE);
        let resolver = resolver(over(&transports, settings(&[&dns], SHORT * 2)));
        assert_eq!(
            both(&resolver.host("a.test", false, None).await.answer).len(),
            3
        );
        for (outage, failure) in [
            ("closed", Failure::Unreachable),
            ("drop", Failure::Timeout),
            ("servfail", Failure::ServFail),
        ] {
            dns.tell(&format!("down {outage}"));
            for _ in 0..2 {
                let lookup = resolver.host("a.test", false, None).await;
                assert_eq!(family(&lookup.answer.v4), Err(failure), "{outage}");
            }
            dns.tell("up");
            let lookup = resolver.host("a.test", false, None).await;
            assert_eq!(both(&lookup.answer).len(), 3, "after {outage}");
        }
    });
    futures_util::future::join_all(both_transports).await;
}

#[tokio::test]
async fn a_late_answer_to_the_first_try_counts() {
    let dns = Dns::new(ZONE);
    let timeout = Duration::from_millis(1600);
    dns.tell("delay a.test 900ms");
    let lookup = resolver(settings(&[&dns], timeout))
        .host("a.test", false, None)
        .await;
    assert_eq!(both(&lookup.answer).len(), 3);
}

#[tokio::test]
async fn no_servers_is_a_failure_of_its_own_and_no_transports_are_the_usual_ones() {
    let lookup = resolver(settings(&[], LONG))
        .host("a.test", false, None)
        .await;
    assert_eq!(lookup.answer.v4, Err(Failure::NoServers));
    assert_eq!(lookup.answer.v6, Err(Failure::NoServers));
    let dns = Dns::new(ZONE);
    let usual = over(&[], settings(&[&dns], LONG));
    let lookup = resolver(usual).host("a.test", false, None).await;
    assert_eq!(both(&lookup.answer).len(), 3);
}

#[tokio::test]
async fn a_server_on_ipv6_is_asked_too() {
    let dns = Dns::on("[::1]:0", ZONE);
    let lookup = resolver(settings(&[&dns], LONG))
        .host("a.test", false, None)
        .await;
    assert_eq!(both(&lookup.answer).len(), 3);
}

#[tokio::test]
async fn a_zone_that_is_no_interface_is_told() {
    let mut server = name_server("[fe80::1]:53".parse().unwrap());
    server.zone = Some("no-such-interface".into());
    let settings = Settings {
        nameservers: vec![server],
        ..settings(&[], LONG)
    };
    let lookup = resolver(settings).host("a.test", false, None).await;
    assert_eq!(lookup.answer.v4, Err(Failure::Unreachable));
    assert!(
        lookup.report.faults[0].detail.contains("no-such-interface"),
        "{}",
        lookup.report.faults[0]
    );
}

#[tokio::test]
async fn a_fault_says_who_did_what() {
    let dns = Dns::new(ZONE);
    dns.tell("fail a.test A refused");
    let lookup = resolver(settings(&[&dns], LONG))
        .host("a.test", false, None)
        .await;
    let texts: Vec<String> = lookup
        .report
        .faults
        .iter()
        .map(ToString::to_string)
        .collect();
    let expected = format!("REFUSED from {} for a.test A", dns.address());
    assert_eq!(texts, [expected]);
}
