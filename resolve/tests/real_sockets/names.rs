//! Which name is asked for, and which is not.

use std::time::Duration;

use dynamic_core::answer::Failure;
use dynamic_resolve::{Namespace, Resolver, Settings, SystemFiles};

use crate::support::{Dns, LONG, both, family, one, resolver, settings};

fn searching(dns: &Dns, domains: &[&str]) -> Resolver {
    resolver(Settings {
        search: domains.iter().map(|it| (*it).to_owned()).collect(),
        ..settings(&[dns], LONG)
    })
}

#[tokio::test]
async fn a_short_name_is_tried_with_each_domain() {
    let dns = Dns::new("set web.two.test A 192.0.2.2\nset web.three.test A 192.0.2.3");
    let resolver = searching(&dns, &["one.test", "two.test", "three.test"]);
    let lookup = resolver.host("web", false, None).await;
    assert_eq!(family(&lookup.answer.v4), one("192.0.2.2"));
    assert_eq!(lookup.report.name, "web.two.test");
    assert_eq!(dns.count("web.one.test A"), 1);
    assert_eq!(dns.count("web.three.test"), 0);
    assert_eq!(dns.count("web"), 0);
}

#[tokio::test]
async fn a_rooted_name_is_tried_alone() {
    let dns = Dns::new("set web.one.test A 192.0.2.1");
    let lookup = searching(&dns, &["one.test"]).host("web", true, None).await;
    assert_eq!(lookup.answer.v4, Err(Failure::NxDomain));
    assert_eq!((dns.count("web A"), dns.count("web.one.test")), (1, 0));
}

#[tokio::test]
async fn services_are_searched_as_well() {
    let dns = Dns::new("set _x._tcp.web.one.test SRV 1 1 1 a.test");
    let resolver = searching(&dns, &["one.test"]);
    let lookup = resolver.srv("_x._tcp.web", false, None).await;
    assert_eq!(lookup.answer.unwrap().records.len(), 1);
    assert_eq!(lookup.report.name, "_x._tcp.web.one.test");
}

#[tokio::test]
async fn a_name_that_cannot_be_asked_for_does_not_exist() {
    let dns = Dns::new("");
    let resolver = resolver(settings(&[&dns], LONG));
    let label = "a".repeat(64);
    let long = vec!["a".repeat(60); 5].join(".");
    for name in [label.as_str(), long.as_str(), "", "a..test"] {
        let lookup = resolver.host(name, true, None).await;
        assert_eq!(lookup.answer.v4, Err(Failure::NxDomain), "{name}");
    }
    assert_eq!(dns.count("*"), 0);
}

/// RFC 6761, section 6.3.
#[tokio::test]
async fn localhost_is_never_asked_for() {
    let dns = Dns::new("");
    let resolver = resolver(settings(&[&dns], LONG));
    for name in ["localhost", "LocalHost", "a.localhost", "localhost."] {
        let lookup = resolver.host(name, false, None).await;
        assert_eq!(both(&lookup.answer), ["127.0.0.1", "::1"], "{name}");
        assert_eq!(lookup.answer.v4.unwrap().ttl, None);
    }
    let lookup = resolver.host("localhost.test", false, None).await;
    assert_eq!(lookup.answer.v4, Err(Failure::NxDomain));
    assert_eq!(dns.count("localhost.test A"), 1);
    assert_eq!(dns.count("*"), 2);
}

struct Hosts {
    _dir: tempfile::TempDir,
    files: SystemFiles,
}

fn hosts(text: &str) -> Hosts {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("hosts");
    std::fs::write(&path, text).unwrap();
    Hosts {
        files: SystemFiles::new(
            "/nonexistent/resolv.conf",
            path,
            "/nonexistent/nsswitch.conf",
        )
        .recheck(Duration::ZERO),
        _dir: dir,
    }
}

const HOSTS: &str = "192.0.2.1 a.test\n2001:db8::1 a.test six.test\n192.0.2.9 localhost\n";

#[tokio::test]
async fn the_hosts_file_needs_no_query() {
    let dns = Dns::new("set a.test A 192.0.2.77\nset b.test A 192.0.2.2");
    let hosts = hosts(HOSTS);
    let settings = Settings {
        namespaces: vec![Namespace::LocalNames, Namespace::Dns],
        ..settings(&[&dns], LONG)
    };
    let resolver = Resolver::new(settings, hosts.files.clone());
    let lookup = resolver.host("A.test", false, None).await;
    assert_eq!(both(&lookup.answer), ["192.0.2.1", "2001:db8::1"]);
    assert_eq!(lookup.answer.v4.unwrap().ttl, None);
    let lookup = resolver.host("six.test", false, None).await;
    assert_eq!(lookup.answer.v4, Err(Failure::NoData));
    assert_eq!(family(&lookup.answer.v6), one("2001:db8::1"));
    let lookup = resolver.host("localhost", false, None).await;
    assert_eq!(family(&lookup.answer.v4), one("192.0.2.9"));
    assert_eq!(dns.count("*"), 0);
    let lookup = resolver.host("b.test", false, None).await;
    assert_eq!(family(&lookup.answer.v4), one("192.0.2.2"));
}

/// An entry that reaches nothing blocks a name: DNS is not asked for another
/// address.
#[tokio::test]
async fn a_name_that_the_hosts_file_blocks_has_no_addresses() {
    let dns = Dns::new("set a.test A 192.0.2.77");
    let hosts = hosts("0.0.0.0 a.test\n::ffff:0.0.0.0 a.test\n:: a.test\n");
    let settings = Settings {
        namespaces: vec![Namespace::LocalNames, Namespace::Dns],
        ..settings(&[&dns], LONG)
    };
    let lookup = Resolver::new(settings, hosts.files.clone())
        .host("a.test", false, None)
        .await;
    assert_eq!(lookup.answer.v4, Err(Failure::NoData));
    assert_eq!(lookup.answer.v6, Err(Failure::NoData));
    let dropped: Vec<String> = lookup
        .report
        .dropped
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(dropped, ["0.0.0.0", "::"]);
    assert_eq!(dns.count("*"), 0);
}

#[tokio::test]
async fn addresses_that_can_be_no_endpoint_are_dropped_from_answers() {
    let dns = Dns::new(
        "\
set some.test A 0.0.0.0 192.0.2.1 224.0.0.1 255.255.255.255
set some.test AAAA :: 2001:db8::1 ff02::1 ::ffff:0.0.0.1
set none.test A 0.0.0.0
set none.test AAAA ::
",
    );
    let resolver = resolver(settings(&[&dns], LONG));
    let lookup = resolver.host("some.test", false, None).await;
    assert_eq!(both(&lookup.answer), ["192.0.2.1", "2001:db8::1"]);
    assert_eq!(lookup.report.dropped.len(), 6);
    let lookup = resolver.host("none.test", false, None).await;
    assert_eq!(lookup.answer.v4, Err(Failure::NoData));
    assert_eq!(lookup.answer.v6, Err(Failure::NoData));
    assert_eq!(lookup.report.dropped.len(), 2);
}

#[tokio::test]
async fn namespaces_are_used_in_their_order() {
    let dns = Dns::new("set a.test A 192.0.2.77\nfail six.test servfail");
    let hosts = hosts(HOSTS);
    let settings = Settings {
        namespaces: vec![Namespace::Dns, Namespace::LocalNames],
        ..settings(&[&dns], LONG)
    };
    let resolver = Resolver::new(settings, hosts.files.clone());
    let lookup = resolver.host("a.test", false, None).await;
    assert_eq!(family(&lookup.answer.v4), one("192.0.2.77"));
    let lookup = resolver.host("six.test", false, None).await;
    assert_eq!(family(&lookup.answer.v6), one("2001:db8::1"));
    assert_eq!(lookup.report.passed_over.len(), 2);
    let lookup = resolver.host("gone.test", false, None).await;
    assert_eq!(lookup.answer.v4, Err(Failure::NxDomain));
}

#[tokio::test]
async fn a_namespace_that_is_not_listed_is_not_used() {
    let dns = Dns::new("set a.test A 192.0.2.77\nset b.test A 192.0.2.2");
    let hosts = hosts(HOSTS);
    for (namespaces, a, b) in [
        (
            vec![Namespace::LocalNames],
            one("192.0.2.1"),
            Err(Failure::NxDomain),
        ),
        (vec![Namespace::Dns], one("192.0.2.77"), one("192.0.2.2")),
        (vec![], one("192.0.2.1"), one("192.0.2.2")),
    ] {
        let settings = Settings {
            namespaces,
            ..settings(&[&dns], LONG)
        };
        let resolver = Resolver::new(settings, hosts.files.clone());
        let first = resolver.host("a.test", false, None).await;
        assert_eq!(family(&first.answer.v4), a);
        let second = resolver.host("b.test", false, None).await;
        assert_eq!(family(&second.answer.v4), b);
    }
}
