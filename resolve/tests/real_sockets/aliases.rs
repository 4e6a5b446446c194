//! Aliases and services.

use std::time::Duration;

use dynamic_core::answer::{Failure, SrvRecord};
use dynamic_resolve::Settings;

use crate::support::{Dns, LONG, family, one, resolver, settings};

#[tokio::test]
async fn an_alias_leads_on_and_its_ttl_counts() {
    let dns = Dns::new(
        "set a.test CNAME b.test ttl=5
         set b.test CNAME c.test ttl=50
         set c.test A 192.0.2.1 ttl=500",
    );
    let lookup = resolver(settings(&[&dns], LONG))
        .host("a.test", false, None)
        .await;
    assert_eq!(family(&lookup.answer.v4), one("192.0.2.1"));
    assert_eq!(lookup.answer.v4.unwrap().ttl, Some(Duration::from_secs(5)));
    assert_eq!(lookup.answer.v6, Err(Failure::NoData));
    assert_eq!(lookup.report.name, "a.test");
    assert_eq!(dns.count("* A"), 1);
    assert_eq!(dns.count("* AAAA"), 1);
}

#[tokio::test]
async fn a_target_that_the_answer_does_not_tell_is_asked_for() {
    let dns = Dns::new(
        "set a.test CNAME b.test ttl=5
         set b.test A 192.0.2.1 ttl=500
         cname-only a.test on",
    );
    let lookup = resolver(settings(&[&dns], LONG))
        .host("a.test", false, None)
        .await;
    assert_eq!(family(&lookup.answer.v4), one("192.0.2.1"));
    assert_eq!(lookup.answer.v4.unwrap().ttl, Some(Duration::from_secs(5)));
    assert_eq!(lookup.answer.v6, Err(Failure::NoData));
    assert_eq!(dns.count("b.test A"), 1);
}

#[tokio::test]
async fn an_alias_of_nothing_is_no_name() {
    let dns = Dns::new(
        "set a.test CNAME gone.test
         set b.test CNAME gone.test
         cname-only b.test on",
    );
    let resolver = resolver(settings(&[&dns], LONG));
    for name in ["a.test", "b.test"] {
        let lookup = resolver.host(name, false, None).await;
        assert_eq!(lookup.answer.v4, Err(Failure::NxDomain), "{name}");
    }
}

#[tokio::test]
async fn circles_end() {
    let dns = Dns::new(
        "set a.test CNAME b.test
         set b.test CNAME a.test
         cname-only a.test on
         cname-only b.test on
         set c.test CNAME c.test",
    );
    let resolver = resolver(settings(&[&dns], LONG));
    for name in ["a.test", "c.test"] {
        let lookup = resolver.host(name, false, None).await;
        assert_eq!(lookup.answer.v4, Err(Failure::Malformed), "{name}");
        assert_eq!(lookup.answer.v6, Err(Failure::Malformed), "{name}");
    }
    assert!(dns.count("* A") < 40);
}

#[tokio::test]
async fn aliases_are_not_followed_where_the_settings_say_so() {
    let dns = Dns::new(
        "set a.test CNAME b.test
         set b.test A 192.0.2.1
         cname-only c.test on
         set c.test CNAME b.test",
    );
    let resolver = resolver(Settings {
        follow_redirects: false,
        ..settings(&[&dns], LONG)
    });
    for name in ["a.test", "c.test"] {
        let lookup = resolver.host(name, false, None).await;
        assert_eq!(lookup.answer.v4, Err(Failure::NoData), "{name}");
    }
    assert_eq!(dns.count("b.test"), 0);
    let lookup = resolver.host("b.test", false, None).await;
    assert_eq!(family(&lookup.answer.v4), one("192.0.2.1"));
}

fn record(priority: u16, weight: u16, port: u16, target: &str) -> SrvRecord {
    SrvRecord {
        priority,
        weight,
        port,
        target: target.into(),
    }
}

#[tokio::test]
async fn a_service_has_its_records() {
    let dns = Dns::new(
        "set _http._tcp.a.test SRV 10 5 8080 One.Test ttl=30
         add _http._tcp.a.test SRV 20 0 0 two.test ttl=30
         set _none._tcp.a.test SRV 0 0 0 .
         set _alias._tcp.a.test CNAME _http._tcp.a.test ttl=3",
    );
    let resolver = resolver(settings(&[&dns], LONG));
    let answer = resolver
        .srv("_http._tcp.a.test", false, None)
        .await
        .answer
        .unwrap();
    let mut records = answer.records;
    records.sort();
    assert_eq!(
        records,
        [
            record(10, 5, 8080, "one.test"),
            record(20, 0, 0, "two.test")
        ]
    );
    assert_eq!(answer.ttl, Some(Duration::from_secs(30)));

    let answer = resolver
        .srv("_none._tcp.a.test", false, None)
        .await
        .answer
        .unwrap();
    assert_eq!(answer.records, [record(0, 0, 0, "")]);

    let answer = resolver
        .srv("_alias._tcp.a.test", false, None)
        .await
        .answer
        .unwrap();
    assert_eq!(answer.records.len(), 2);
    assert_eq!(answer.ttl, Some(Duration::from_secs(3)));
    assert_eq!(dns.count("* A"), 0);
}

#[tokio::test]
async fn a_service_fails_as_a_host_does() {
    let dns = Dns::new(
        "set _x._tcp.a.test A 192.0.2.1
         fail _s._tcp.a.test servfail
         set _junk._tcp.a.test SRV hex=00",
    );
    let resolver = resolver(settings(&[&dns], LONG));
    for (name, failure) in [
        ("_gone._tcp.a.test", Failure::NxDomain),
        ("_x._tcp.a.test", Failure::NoData),
        ("_s._tcp.a.test", Failure::ServFail),
        ("_junk._tcp.a.test", Failure::Malformed),
        ("_x._tcp.localhost", Failure::NxDomain),
    ] {
        assert_eq!(
            resolver.srv(name, false, None).await.answer,
            Err(failure),
            "{name}"
        );
    }
    assert_eq!(dns.count("_x._tcp.localhost"), 0);
}

#[tokio::test]
async fn a_thousand_targets_are_told() {
    let dns = Dns::new("set _x._tcp.a.test SRV 0 0 0 t0.test");
    for n in 1..1000 {
        dns.tell(&format!("add _x._tcp.a.test SRV 0 0 {n} t{n}.test"));
    }
    let resolver = resolver(settings(&[&dns], LONG));
    let answer = resolver
        .srv("_x._tcp.a.test", false, None)
        .await
        .answer
        .unwrap();
    assert_eq!(answer.records.len(), 1000);
}
