//! Connections: shared, replaced when dead, closed when idle.

use std::time::Duration;

use dynamic_core::answer::Failure;
use dynamic_resolve::{Resolver, Settings, Transport};

use crate::proxy::{Mode, Proxy, udp_only};
use crate::support::{
    Dns, ENDLESS, LONG, SHORT, family, name_server, one, over, resolver, settings, soon,
};

const ZONE: &str = "set a.test A 192.0.2.1\nset *.many.test A 192.0.2.2\n";

fn through(proxy: &Proxy, timeout: Duration) -> Settings {
    let servers = Settings {
        nameservers: vec![name_server(proxy.address)],
        ..settings(&[], timeout)
    };
    over(&[Transport::Tcp], servers)
}

async fn good(resolver: &Resolver) {
    let lookup = resolver.host("a.test", false, None).await;
    assert_eq!(family(&lookup.answer.v4), one("192.0.2.1"));
    assert_eq!(lookup.answer.v6, Err(Failure::NoData));
}

#[tokio::test]
async fn all_questions_share_a_connection() {
    let dns = Dns::new(ZONE);
    let proxy = Proxy::tcp(dns.address()).await;
    let resolver = resolver(through(&proxy, LONG));
    let lookups: Vec<_> = (0..300)
        .map(|n| {
            let resolver = resolver.clone();
            tokio::spawn(
                async move { resolver.host(&format!("n{n}.many.test"), false, None).await },
            )
        })
        .collect();
    for lookup in lookups {
        let answer = lookup.await.unwrap().answer;
        assert_eq!(family(&answer.v4), one("192.0.2.2"));
    }
    good(&resolver).await;
    assert_eq!(proxy.opened(), 1);
    assert_eq!(dns.count("* udp"), 0);
}

#[tokio::test]
async fn a_connection_that_the_server_closed_is_replaced() {
    let dns = Dns::new(ZONE);
    let proxy = Proxy::tcp(dns.address()).await;
    let resolver = resolver(through(&proxy, LONG));
    for round in 1..=3 {
        good(&resolver).await;
        assert_eq!(proxy.opened(), round);
        proxy.set(Mode::Close);
        proxy.closed(round).await;
        proxy.set(Mode::Pass);
    }
}

/// As when the server is restarted.
#[tokio::test]
async fn questions_on_a_connection_that_breaks_are_asked_on_one_other() {
    let dns = Dns::new(ZONE);
    dns.tell("fail *.many.test drop");
    let proxy = Proxy::tcp(dns.address()).await;
    let resolver = resolver(through(&proxy, LONG));
    let lookups: Vec<_> = (0..50)
        .map(|n| {
            let resolver = resolver.clone();
            tokio::spawn(
                async move { resolver.host(&format!("n{n}.many.test"), false, None).await },
            )
        })
        .collect();
    dns.wait("*.many.test 100").await;
    dns.tell("ok *.many.test");
    proxy.cut();
    for lookup in lookups {
        let answer = lookup.await.unwrap().answer;
        assert_eq!(family(&answer.v4), one("192.0.2.2"));
        assert_eq!(answer.v6, Err(Failure::NoData));
    }
    assert_eq!(proxy.opened(), 2);
}

#[tokio::test]
async fn a_server_that_closes_every_connection_is_a_failure() {
    let dns = Dns::new(ZONE);
    let proxy = Proxy::tcp(dns.address()).await;
    let resolver = resolver(through(&proxy, LONG));
    proxy.set(Mode::Close);
    let lookup = resolver.host("a.test", false, None).await;
    assert_eq!(lookup.answer.v4, Err(Failure::Unreachable));
    assert!(proxy.opened() < 10);
    proxy.set(Mode::Pass);
    good(&resolver).await;
}

/// The peer is gone without a word, as after a firewall forgot the connection.
#[tokio::test]
async fn a_connection_that_went_silent_is_replaced_within_the_same_lookup() {
    let dns = Dns::new(ZONE);
    let proxy = Proxy::tcp(dns.address()).await;
    let resolver = resolver(through(&proxy, SHORT * 2));
    good(&resolver).await;
    proxy.set(Mode::Hang);
    let lookup = resolver.host("a.test", false, None).await;
    assert_eq!(lookup.answer.v4, Err(Failure::Timeout));
    // Another one was tried, and is not trusted either.
    assert_eq!(proxy.opened(), 2);
    proxy.set(Mode::Pass);
    good(&resolver).await;
    assert_eq!(proxy.opened(), 3);
}

#[tokio::test]
async fn an_idle_connection_is_closed() {
    let dns = Dns::new(ZONE);
    let proxy = Proxy::tcp(dns.address()).await;
    for idle in [Duration::ZERO, Duration::from_millis(50)] {
        let before = proxy.opened();
        let resolver = resolver(Settings {
            idle_timeout: Some(idle),
            ..through(&proxy, LONG)
        });
        good(&resolver).await;
        proxy.closed(before + 1).await;
        good(&resolver).await;
        assert_eq!(proxy.opened(), before + 2);
        proxy.closed(before + 2).await;
    }
}

#[tokio::test]
async fn a_connection_in_use_is_not_idle() {
    let dns = Dns::new("set slow.test A 192.0.2.1\ndelay slow.test 400ms");
    let proxy = Proxy::tcp(dns.address()).await;
    let resolver = resolver(Settings {
        idle_timeout: Some(Duration::ZERO),
        ..through(&proxy, LONG)
    });
    let lookup = resolver.host("slow.test", false, None).await;
    assert_eq!(family(&lookup.answer.v4), one("192.0.2.1"));
    assert_eq!(proxy.opened(), 1);
}

#[tokio::test]
async fn the_connection_goes_with_the_resolver() {
    let dns = Dns::new(ZONE);
    let proxy = Proxy::tcp(dns.address()).await;
    let resolver = resolver(through(&proxy, LONG));
    good(&resolver).await;
    drop(resolver);
    proxy.closed(1).await;
}

/// As when the last VCL goes cold and another one gets warm later.
#[test]
fn a_resolver_outlives_its_runtime() {
    let runtime = || {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap()
    };
    let dns = Dns::new(ZONE);
    for transports in [vec![Transport::Udp, Transport::Tcp], vec![Transport::Tcp]] {
        let resolver = resolver(over(&transports, settings(&[&dns], LONG)));
        for _ in 0..3 {
            runtime().block_on(good(&resolver));
        }
    }
}

#[tokio::test]
async fn the_next_transport_is_used_where_the_first_does_not_work() {
    let dns = Dns::new(ZONE);
    let settings = Settings {
        nameservers: vec![name_server(udp_only(dns.address()).await)],
        ..settings(&[], ENDLESS)
    };
    let tcp_first = resolver(over(&[Transport::Tcp, Transport::Udp], settings.clone()));
    soon(good(&tcp_first)).await;
    let tcp_only = resolver(over(&[Transport::Tcp], settings));
    let lookup = soon(tcp_only.host("a.test", false, None)).await;
    assert_eq!(lookup.answer.v4, Err(Failure::Unreachable));
}

#[tokio::test]
async fn the_first_transport_that_works_is_the_only_one() {
    let dns = Dns::new(ZONE);
    let transports = [Transport::Tcp, Transport::Udp];
    let resolver = resolver(over(&transports, settings(&[&dns], LONG)));
    good(&resolver).await;
    assert_eq!((dns.count("* tcp"), dns.count("* udp")), (2, 0));
}
