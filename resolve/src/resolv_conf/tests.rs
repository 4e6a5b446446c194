//! Resolver configuration files.

use proptest::prelude::*;

use super::*;

fn server(address: &str, zone: Option<&str>, port: Option<u16>, tls: Option<&str>) -> NameServer {
    NameServer {
        address: address.parse().unwrap(),
        zone: zone.map(str::to_owned),
        port,
        tls_name: tls.map(str::to_owned),
    }
}

fn plain(address: &str) -> NameServer {
    server(address, None, None, None)
}

#[test]
fn a_full_file_is_read() {
    let conf = ResolvConf::parse(
        "\
# Generated
; by hand
domain old.test
nameserver 192.0.2.1
nameserver\t::1   # the second
nameserver fe80::1%eth0
search Ns.svc.Cluster.test. svc.cluster.test  cluster.test # the list
options ndots:5 timeout:3 attempts:4 rotate edns0
options use-vc trust-ad no-aaaa single-request
sortlist 192.0.2.0/24
",
    );
    assert_eq!(
        conf,
        ResolvConf {
            servers: vec![
                plain("192.0.2.1"),
                plain("::1"),
                server("fe80::1", Some("eth0"), None, None),
            ],
            search: ["ns.svc.cluster.test", "svc.cluster.test", "cluster.test"]
                .map(str::to_owned)
                .to_vec(),
            ndots: 5,
            timeout: Duration::from_secs(3),
            attempts: 4,
            rotate: true,
            use_vc: true,
            no_aaaa: true,
        }
    );
}

#[test]
fn an_empty_file_means_a_server_on_this_machine() {
    for text in ["", "# nothing\n", "nameserver\n", "nameserver nonsense\n"] {
        let conf = ResolvConf::parse(text);
        assert_eq!(conf, ResolvConf::default(), "{text}");
        assert_eq!(conf.servers, [plain("127.0.0.1")]);
        assert_eq!(
            conf.servers[0].socket_address(53).to_string(),
            "127.0.0.1:53"
        );
        assert_eq!((conf.ndots, conf.attempts), (1, 2));
        assert_eq!(conf.timeout, Duration::from_secs(5));
        assert!(conf.search.is_empty() && !conf.rotate && !conf.use_vc && !conf.no_aaaa);
    }
}

#[test]
fn the_bsd_form_has_a_port() {
    let conf = ResolvConf::parse(
        "nameserver [192.0.2.1]:5353\nnameserver [::1]:54\nnameserver 192.0.2.3#c\n",
    );
    assert_eq!(
        conf.servers,
        [
            server("192.0.2.1", None, Some(5353), None),
            server("::1", None, Some(54), None),
            plain("192.0.2.3"),
        ]
    );
    assert_eq!(conf.servers[1].socket_address(53).to_string(), "[::1]:54");
}

#[test]
fn only_the_first_three_readable_servers_count() {
    let conf = ResolvConf::parse(
        "nameserver 300.1.1.1\nnameserver 192.0.2.1\nnameserver [192.0.2.9]:0\n\
         nameserver 192.0.2.2\nnameserver 192.0.2.3\nnameserver 192.0.2.4\n",
    );
    assert_eq!(
        conf.servers,
        [plain("192.0.2.1"), plain("192.0.2.2"), plain("192.0.2.3")]
    );
}

#[test]
fn the_last_of_search_and_domain_counts() {
    let search = |text: &str| ResolvConf::parse(text).search;
    assert_eq!(
        search("search a.test b.test\ndomain c.test d.test\n"),
        ["c.test"]
    );
    assert_eq!(
        search("domain c.test\nsearch a.test b.test\n"),
        ["a.test", "b.test"]
    );
    assert_eq!(search("search a.test\nsearch\n"), ["a.test"]);
    assert_eq!(search("search . a.test\n"), ["", "a.test"]);
    assert_eq!(
        search("search a..b 192.0.2.1 a:53 ok.test -x\n"),
        ["ok.test"]
    );
    assert_eq!(search("search b\u{fc}cher.test\n"), ["xn--bcher-kva.test"]);
}

#[test]
fn the_search_list_is_bounded() {
    let domains: Vec<String> = (0..40).map(|n| format!("d{n}.test")).collect();
    let conf = ResolvConf::parse(&format!("search {}\n", domains.join(" ")));
    assert_eq!(conf.search, domains[..MAX_SEARCH]);
}

#[test]
fn options_out_of_range_are_brought_into_it() {
    let conf = |text: &str| {
        let conf = ResolvConf::parse(&format!("options {text}\n"));
        (conf.ndots, conf.timeout.as_secs(), conf.attempts)
    };
    assert_eq!(conf("ndots:0 timeout:0 attempts:0"), (0, 1, 1));
    assert_eq!(conf("ndots:15 timeout:30 attempts:5"), (15, 30, 5));
    assert_eq!(conf("ndots:16 timeout:31 attempts:6"), (15, 30, 5));
    assert_eq!(conf("ndots:999999 timeout:256 attempts:1000"), (15, 30, 5));
    for nonsense in [
        "ndots: timeout: attempts:",
        "ndots:-1 timeout:-1 attempts:-1",
        "ndots:+3 timeout:x attempts:3x",
        "ndots timeout attempts",
        "unknown:7 rotate:1",
    ] {
        assert_eq!(conf(nonsense), (1, 5, 2), "{nonsense}");
    }
    assert!(!ResolvConf::parse("options rotate:1").rotate);
}

#[test]
fn a_keyword_starts_its_line() {
    let conf = ResolvConf::parse(
        " nameserver 192.0.2.1\nnameservers 192.0.2.2\nNAMESERVER 192.0.2.3\n;search a.test\n",
    );
    assert_eq!(conf, ResolvConf::default());
    let conf = ResolvConf::parse("nameserver 192.0.2.1\r\nsearch a.test\r\n");
    assert_eq!(conf.servers, [plain("192.0.2.1")]);
    assert_eq!(conf.search, ["a.test"]);
}

#[test]
fn the_environment_counts_more_than_the_file() {
    let file = "search a.test\noptions ndots:2 timeout:3\n";
    let conf = |local_domain: Option<&str>, options: Option<&str>| {
        ResolvConf::parse(file).with_environment(&Environment {
            local_domain: local_domain.map(str::to_owned),
            options: options.map(str::to_owned),
        })
    };
    assert_eq!(conf(None, None), ResolvConf::parse(file));
    assert_eq!(
        conf(Some("b.test  c.test"), None).search,
        ["b.test", "c.test"]
    );
    assert_eq!(conf(Some(" "), None).search, ["a.test"]);
    let conf = conf(None, Some("ndots:5 no-aaaa nonsense rotate"));
    assert_eq!((conf.ndots, conf.timeout.as_secs()), (5, 3));
    assert!(conf.no_aaaa && conf.rotate);
}

#[test]
fn a_search_domain_is_a_name() {
    assert_eq!(search_domain("A.Test.").as_deref(), Ok("a.test"));
    assert_eq!(search_domain(".").as_deref(), Ok(""));
    for text in ["", "192.0.2.1", "::1", "a:53", "a b", ".."] {
        assert!(search_domain(text).is_err(), "{text}");
    }
    assert_eq!(
        search_domain("192.0.2.1").unwrap_err().to_string(),
        "host \"192.0.2.1\" is an IP address, a name is accepted"
    );
}

proptest! {
    #[test]
    fn any_file_gives_a_configuration_within_limits(
        lines in proptest::collection::vec(
            prop_oneof![
                "(nameserver|search|domain|options) .{0,60}",
                "options (ndots|timeout|attempts):[0-9]{0,12}",
                "nameserver \\[?[0-9a-f:.]{1,20}\\]?(:[0-9]{1,6})?",
                "search( [a-z0-9.-]{1,20}){0,50}",
                ".{0,40}",
            ],
            0..12,
        )
    ) {
        let conf = ResolvConf::parse(&lines.join("\n"));
        prop_assert!((1..=3).contains(&conf.servers.len()));
        prop_assert!(conf.servers.iter().all(|s| s.port != Some(0) && s.tls_name.is_none()));
        prop_assert!(conf.search.len() <= 32);
        prop_assert!(conf.search.iter().all(|d| d.len() <= 253 && d.is_ascii()));
        prop_assert!(conf.ndots <= 15);
        prop_assert!((1..=30).contains(&conf.timeout.as_secs()));
        prop_assert!((1..=5).contains(&conf.attempts));
    }
}
