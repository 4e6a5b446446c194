//! Each family's answer when it comes.

use dynamic_core::answer::{Failure, Family};
use dynamic_resolve::{Families, HostQuery};

use crate::support::{Dns, ENDLESS, LONG, family, one, resolver, settings, soon};

const ZONE: &str = "\
set a.test A 192.0.2.1
set a.test AAAA 2001:db8::1
set four.test A 192.0.2.4
";

fn query(name: &str) -> HostQuery {
    HostQuery {
        name: name.to_owned(),
        ..HostQuery::default()
    }
}

#[tokio::test]
async fn the_first_family_with_addresses_does_not_wait_for_the_other() {
    for (silent, record) in [(Family::V6, "AAAA"), (Family::V4, "A")] {
        let dns = Dns::new(ZONE);
        dns.tell(&format!("fail a.test {record} drop times=1"));
        let mut lookup = resolver(settings(&[&dns], ENDLESS)).lookup_host(query("a.test"));
        let first = soon(lookup.next()).await.unwrap();
        let good = match silent {
            Family::V4 => Family::V6,
            Family::V6 => Family::V4,
        };
        assert!(first.answer.get(good).unwrap().is_ok());
        assert_eq!(first.answer.get(silent), None);
        assert!(!lookup.is_done());
        // The question is repeated, and answered then.
        let second = soon(lookup.next()).await.unwrap();
        assert!(second.answer.get(silent).unwrap().is_ok());
        assert_eq!(second.answer.get(good), None);
        assert!(lookup.is_done());
        assert!(lookup.next().await.is_none());
    }
}

#[tokio::test]
async fn families_that_answer_at_once_are_one_answer() {
    let dns = Dns::new(ZONE);
    let resolver = resolver(settings(&[&dns], LONG));
    let mut lookup = resolver.lookup_host(query("four.test"));
    let first = lookup.next().await.unwrap();
    assert_eq!(family(&first.answer.v4.unwrap()), one("192.0.2.4"));
    assert_eq!(first.answer.v6, Some(Err(Failure::NoData)));
    assert!(lookup.is_done());
}

/// Nothing can be done with a negative answer of one family alone.
#[tokio::test]
async fn a_family_without_addresses_waits_for_the_other() {
    let dns = Dns::new(ZONE);
    dns.tell("fail a.test A servfail");
    dns.tell("fail a.test AAAA drop times=1");
    let mut lookup = resolver(settings(&[&dns], ENDLESS)).lookup_host(query("a.test"));
    let first = soon(lookup.next()).await.unwrap();
    assert_eq!(first.answer.v4, Some(Err(Failure::ServFail)));
    assert_eq!(family(&first.answer.v6.unwrap()), one("2001:db8::1"));
    assert!(lookup.is_done());
}

#[tokio::test]
async fn a_wait_for_the_next_answer_can_be_given_up_and_taken_up_again() {
    let dns = Dns::new(ZONE);
    dns.tell("fail a.test drop times=2");
    let mut lookup = resolver(settings(&[&dns], ENDLESS)).lookup_host(query("a.test"));
    tokio::select! {
        biased;
        _ = lookup.next() => panic!("nothing was answered yet"),
        () = dns.wait("a.test 2") => {}
    }
    let first = soon(lookup.next()).await.unwrap();
    assert!(first.answer.v4.is_some() || first.answer.v6.is_some());
}

#[tokio::test]
async fn one_family_is_asked_for_alone() {
    let dns = Dns::new(ZONE);
    let resolver = resolver(settings(&[&dns], LONG));
    for (wanted, record) in [(Family::V4, "A"), (Family::V6, "AAAA")] {
        let mut lookup = resolver.lookup_host(HostQuery {
            families: Families::Only(wanted),
            ..query("a.test")
        });
        assert!(lookup.next().await.unwrap().answer.get(wanted).is_some());
        assert!(lookup.is_done());
        assert_eq!(dns.count(&format!("a.test {record}")), 1);
    }
    assert_eq!(dns.count("*"), 2);
}
