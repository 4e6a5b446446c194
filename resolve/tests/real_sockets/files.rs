//! The system's files, and that they may change.

use std::path::PathBuf;
use std::time::Duration;

use dynamic_core::answer::Failure;
use dynamic_resolve::{Environment, Resolver, Settings, SystemFiles};

use crate::support::{Dns, LONG, family, name_server, one};

struct System {
    dir: tempfile::TempDir,
}

impl System {
    fn new() -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    fn files(&self) -> SystemFiles {
        SystemFiles::new(
            self.path("resolv.conf"),
            self.path("hosts"),
            self.path("nsswitch.conf"),
        )
        .recheck(Duration::ZERO)
    }
}

/// A configuration with one server. Its port is no part of what the C library
/// reads; the bracketed form with a port is BSD's.
fn conf(dns: &Dns, more: &str) -> String {
    let address = dns.address();
    format!("nameserver [{}]:{}\n{more}\n", address.ip(), address.port())
}

#[tokio::test]
async fn the_systems_servers_and_search_list_are_used() {
    let dns = Dns::new("set web.one.test A 192.0.2.1");
    let system = System::new();
    system.write(
        "resolv.conf",
        &conf(&dns, "search one.test\noptions timeout:30"),
    );
    let resolver = Resolver::new(Settings::default(), system.files());
    let lookup = resolver.host("web", false, None).await;
    assert_eq!(family(&lookup.answer.v4), one("192.0.2.1"));
    assert_eq!(lookup.report.name, "web.one.test");
}

#[tokio::test]
async fn ndots_says_what_is_tried_first() {
    let dns = Dns::new("set a.b A 192.0.2.1\nset a.b.one.test A 192.0.2.2");
    let system = System::new();
    for (ndots, address) in [(1, "192.0.2.1"), (2, "192.0.2.2")] {
        let more = format!("search one.test\noptions timeout:30 ndots:{ndots}");
        system.write("resolv.conf", &conf(&dns, &more));
        let resolver = Resolver::new(Settings::default(), system.files());
        let lookup = resolver.host("a.b", false, None).await;
        assert_eq!(family(&lookup.answer.v4), one(address));
    }
}

#[tokio::test]
async fn use_vc_asks_over_tcp() {
    let dns = Dns::new("set a.test A 192.0.2.1");
    let system = System::new();
    system.write("resolv.conf", &conf(&dns, "options timeout:30 use-vc"));
    let resolver = Resolver::new(Settings::default(), system.files());
    let lookup = resolver.host("a.test", false, None).await;
    assert_eq!(family(&lookup.answer.v4), one("192.0.2.1"));
    assert_eq!((dns.count("a.test udp"), dns.count("a.test tcp")), (0, 2));
}

#[tokio::test]
async fn a_change_of_the_configuration_is_seen() {
    let old = Dns::new("set a.test A 192.0.2.1");
    let new = Dns::new("set a.test A 192.0.2.2\nset web.two.test A 192.0.2.3");
    let system = System::new();
    system.write("resolv.conf", &conf(&old, "options timeout:30"));
    let resolver = Resolver::new(Settings::default(), system.files());
    let lookup = resolver.host("a.test", false, None).await;
    assert_eq!(family(&lookup.answer.v4), one("192.0.2.1"));

    system.write(
        "resolv.conf",
        &conf(&new, "search two.test\noptions timeout:30"),
    );
    let lookup = resolver.host("a.test", false, None).await;
    assert_eq!(family(&lookup.answer.v4), one("192.0.2.2"));
    let lookup = resolver.host("web", false, None).await;
    assert_eq!(family(&lookup.answer.v4), one("192.0.2.3"));
    assert_eq!(old.count("*"), 2);
}

/// What one resolver learned of the old servers is not lost when another line
/// changes: a TCP connection stays.
#[tokio::test]
async fn a_server_that_stays_keeps_its_connection() {
    let dns = Dns::new("set a.test A 192.0.2.1");
    let proxy = crate::proxy::Proxy::tcp(dns.address()).await;
    let system = System::new();
    let (ip, port) = (proxy.address.ip(), proxy.address.port());
    let text = format!("nameserver [{ip}]:{port}\noptions timeout:30 use-vc\n");
    system.write("resolv.conf", &text);
    let resolver = Resolver::new(Settings::default(), system.files());
    resolver.host("a.test", false, None).await;
    system.write("resolv.conf", &format!("{text}search one.test\n"));
    let lookup = resolver.host("a.test", false, None).await;
    assert_eq!(family(&lookup.answer.v4), one("192.0.2.1"));
    assert_eq!(proxy.opened(), 1);
}

#[tokio::test]
async fn a_change_of_the_hosts_file_is_seen() {
    let dns = Dns::new("set a.test A 192.0.2.1");
    let system = System::new();
    system.write("resolv.conf", &conf(&dns, "options timeout:30"));
    let resolver = Resolver::new(Settings::default(), system.files());
    let lookup = resolver.host("a.test", false, None).await;
    assert_eq!(family(&lookup.answer.v4), one("192.0.2.1"));
    for address in ["192.0.2.8", "192.0.2.9"] {
        system.write("hosts", &format!("{address} a.test\n"));
        let lookup = resolver.host("a.test", false, None).await;
        assert_eq!(family(&lookup.answer.v4), one(address));
        assert_eq!(lookup.answer.v6, Err(Failure::NoData));
    }
    std::fs::remove_file(system.path("hosts")).unwrap();
    let lookup = resolver.host("a.test", false, None).await;
    assert_eq!(family(&lookup.answer.v4), one("192.0.2.1"));
}

#[tokio::test]
async fn what_the_settings_say_takes_the_systems_place() {
    let system_dns = Dns::new("set a.test A 192.0.2.1");
    let own = Dns::new("set a.test A 192.0.2.2\nset web.own.test A 192.0.2.3");
    let system = System::new();
    system.write("resolv.conf", &conf(&system_dns, "search one.test"));
    let settings = Settings {
        nameservers: vec![name_server(own.address())],
        search: vec!["own.test".into()],
        timeout: Some(LONG),
        ..Settings::default()
    };
    let resolver = Resolver::new(settings, system.files());
    let lookup = resolver.host("a.test", false, None).await;
    assert_eq!(family(&lookup.answer.v4), one("192.0.2.2"));
    let lookup = resolver.host("web", false, None).await;
    assert_eq!(family(&lookup.answer.v4), one("192.0.2.3"));
    assert_eq!(system_dns.count("*"), 0);
}

#[tokio::test]
async fn the_system_is_left_alone_where_the_settings_say_so() {
    let dns = Dns::new("set a.test A 192.0.2.1");
    let system = System::new();
    system.write("resolv.conf", &conf(&dns, ""));
    let settings = Settings {
        from_os: false,
        ..Settings::default()
    };
    let lookup = Resolver::new(settings, system.files())
        .host("a.test", false, None)
        .await;
    assert_eq!(lookup.answer.v4, Err(Failure::NoServers));
}

#[tokio::test]
async fn nsswitch_conf_says_whether_the_hosts_file_or_dns_comes_first() {
    let dns = Dns::new("set a.test A 192.0.2.1");
    let system = System::new();
    system.write("resolv.conf", &conf(&dns, "options timeout:30"));
    system.write("hosts", "192.0.2.9 a.test b.test\n");
    let resolver = Resolver::new(Settings::default(), system.files());
    for (line, a, b) in [
        ("", one("192.0.2.9"), one("192.0.2.9")),
        ("hosts: dns files\n", one("192.0.2.1"), one("192.0.2.9")),
        ("hosts: dns\n", one("192.0.2.1"), Err(Failure::NxDomain)),
        ("hosts: files\n", one("192.0.2.9"), one("192.0.2.9")),
    ] {
        system.write("nsswitch.conf", line);
        let lookup = resolver.host("a.test", false, None).await;
        assert_eq!(family(&lookup.answer.v4), a, "{line}");
        let lookup = resolver.host("b.test", false, None).await;
        assert_eq!(family(&lookup.answer.v4), b, "{line}");
    }
}

#[tokio::test]
async fn no_aaaa_asks_for_a_alone_and_leaves_the_hosts_file() {
    let dns = Dns::new("set a.test A 192.0.2.1\nset a.test AAAA 2001:db8::1");
    let system = System::new();
    system.write("resolv.conf", &conf(&dns, "options timeout:30 no-aaaa"));
    system.write("hosts", "2001:db8::9 b.test\n");
    let resolver = Resolver::new(Settings::default(), system.files());
    let lookup = resolver.host("a.test", false, None).await;
    assert_eq!(family(&lookup.answer.v4), one("192.0.2.1"));
    assert_eq!(lookup.answer.v6, Err(Failure::NoData));
    assert_eq!((dns.count("a.test A"), dns.count("a.test AAAA")), (1, 0));
    let lookup = resolver.host("b.test", false, None).await;
    assert_eq!(family(&lookup.answer.v6), one("2001:db8::9"));
}

#[tokio::test]
async fn rotate_asks_the_servers_in_turn() {
    let (first, second) = (
        Dns::new("set a.test A 192.0.2.1"),
        Dns::new("set a.test A 192.0.2.1"),
    );
    let system = System::new();
    let both = format!(
        "{}{}",
        conf(&first, ""),
        conf(&second, "options timeout:30 rotate")
    );
    system.write("resolv.conf", &both);
    let resolver = Resolver::new(Settings::default(), system.files());
    for _ in 0..4 {
        resolver.host("a.test", false, None).await;
    }
    assert_eq!((first.count("*"), second.count("*")), (4, 4));
}

#[tokio::test]
async fn environment_variables_count_more_than_the_configuration() {
    let dns = Dns::new("set web.two.test A 192.0.2.2");
    let system = System::new();
    system.write(
        "resolv.conf",
        &conf(&dns, "search one.test\noptions timeout:30"),
    );
    let files = system.files().environment(Environment {
        local_domain: Some("two.test".into()),
        options: Some("use-vc".into()),
    });
    let lookup = Resolver::new(Settings::default(), files)
        .host("web", false, None)
        .await;
    assert_eq!(family(&lookup.answer.v4), one("192.0.2.2"));
    assert_eq!(
        (dns.count("web.two.test udp"), dns.count("web.one.test")),
        (0, 0)
    );
}
