//! Host names: what is read, what is refused, and that the fast path agrees.
#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use dynamic_core::name::{EndpointId, Excerpt, Flaw, Host, Target, canonical, parse};
use proptest::prelude::*;

fn flaw(input: &[u8]) -> Flaw {
    parse(input).unwrap_err().flaw
}

fn dns(name: &str) -> Host {
    Host::Dns(name.to_owned())
}

fn ip(text: &str) -> Host {
    Host::Ip(text.parse().unwrap())
}

fn target(host: Host, absolute: bool, port: Option<&str>) -> Target {
    Target {
        host,
        absolute,
        port: port.map(str::to_owned),
    }
}

#[test]
fn names_addresses_and_ports_are_told_apart() {
    let cases: &[(&str, Host, bool, Option<&str>)] = &[
        ("a.test", dns("a.test"), false, None),
        ("A.TeSt.", dns("a.test"), true, None),
        ("a.test:8080", dns("a.test"), false, Some("8080")),
        ("a.test.:http", dns("a.test"), true, Some("http")),
        ("a.test:", dns("a.test"), false, None),
        ("_http._tcp.a.test", dns("_http._tcp.a.test"), false, None),
        ("svc", dns("svc"), false, None),
        ("a-b--c-.test", dns("a-b--c-.test"), false, None),
        ("1.2.3.a", dns("1.2.3.a"), false, None),
        ("4.test", dns("4.test"), false, None),
        ("0xfg", dns("0xfg"), false, None),
        ("192.0.2.1", ip("192.0.2.1"), false, None),
        ("192.0.2.1.", ip("192.0.2.1"), false, None),
        ("192.0.2.1:80", ip("192.0.2.1"), false, Some("80")),
        ("::1", ip("::1"), false, None),
        ("::", ip("::"), false, None),
        ("2001:DB8:0::1", ip("2001:db8::1"), false, None),
        ("::1:8080", ip("::1:8080"), false, None),
        ("[::1]", ip("::1"), false, None),
        ("[::1]:", ip("::1"), false, None),
        ("[::1]:8080", ip("::1"), false, Some("8080")),
        ("::ffff:192.0.2.1", ip("192.0.2.1"), false, None),
        ("[::ffff:c000:201]:80", ip("192.0.2.1"), false, Some("80")),
    ];
    for (input, host, absolute, port) in cases {
        assert_eq!(
            parse(input.as_bytes()),
            Ok(target(host.clone(), *absolute, *port)),
            "{input}"
        );
    }
}

#[test]
fn other_scripts_become_ascii() {
    for (input, host, absolute) in [
        ("bücher.test", dns("xn--bcher-kva.test"), false),
        ("BÜCHER.TEST.", dns("xn--bcher-kva.test"), true),
        ("XN--BCHER-KVA.test", dns("xn--bcher-kva.test"), false),
        ("例え.テスト", dns("xn--r8jz45g.xn--zckzah"), false),
        ("例え。テスト。", dns("xn--r8jz45g.xn--zckzah"), true),
        ("straße.test", dns("xn--strae-oqa.test"), false),
        ("１２７.0.0.１", ip("127.0.0.1"), false),
    ] {
        assert_eq!(
            parse(input.as_bytes()),
            Ok(target(host, absolute, None)),
            "{input}"
        );
    }
}

#[test]
fn long_names_and_ports_are_accepted_up_to_their_limits() {
    // 483 octets of UTF-8, 4 labels of 46 octets in ASCII.
    let wide = ["例".repeat(40).as_str(); 4].join(".");
    let target = parse(wide.as_bytes()).unwrap();
    assert_eq!(target.host.to_string().len(), 4 * 46 + 3);
    assert_ne!(flaw(&"ü".repeat(506).into_bytes()), Flaw::TooLong(1012));
    assert_eq!(flaw(&"ü".repeat(507).into_bytes()), Flaw::TooLong(1014));

    let port = "1".repeat(32);
    let target = parse(format!("a:{port}").as_bytes()).unwrap();
    assert_eq!(target.port, Some(port));
}

#[test]
fn each_flaw_is_named() {
    let label = "a".repeat(64);
    let long = "a.".repeat(127);
    let huge = "ü".repeat(600);
    let port = format!("a:{}", "1".repeat(33));
    let cases: &[(&[u8], Flaw)] = &[
        (b"", Flaw::Empty),
        (b".", Flaw::Empty),
        (b":80", Flaw::Empty),
        (b"..", Flaw::EmptyLabel),
        (b"a..b", Flaw::EmptyLabel),
        (b".a", Flaw::EmptyLabel),
        (b"a..", Flaw::EmptyLabel),
        ("\u{ad}.a".as_bytes(), Flaw::EmptyLabel),
        (label.as_bytes(), Flaw::LongLabel(64)),
        (b"a b", Flaw::Octet(b' ')),
        (b"a\0", Flaw::Octet(0)),
        (b"a/b", Flaw::Octet(b'/')),
        (b"user@a", Flaw::Octet(b'@')),
        (b"a%2e", Flaw::Octet(b'%')),
        ("a：b".as_bytes(), Flaw::Octet(b':')),
        (b"*.test", Flaw::Octet(b'*')),
        (b"-a.test", Flaw::Hyphen),
        (b"a.-b", Flaw::Hyphen),
        (b"1.2.3.4.5", Flaw::Ipv4),
        (b"300.1.1.1", Flaw::Ipv4),
        (b"127.1", Flaw::Ipv4),
        (b"2130706433", Flaw::Ipv4),
        (b"0x7f000001", Flaw::Ipv4),
        (b"127.0.0.0X1", Flaw::Ipv4),
        (b"127.0.0.01", Flaw::Ipv4),
        (b"a.test.1", Flaw::Ipv4),
        (b"a:b:c", Flaw::Ipv6),
        (b"1::2::3", Flaw::Ipv6),
        (b"[]", Flaw::Ipv6),
        (b"[a.test]:80", Flaw::Ipv6),
        (b"[192.0.2.1]", Flaw::Ipv6),
        (b"[::1\xff]", Flaw::Ipv6),
        (b"fe80::1%eth0", Flaw::Zone),
        (b"[fe80::1%25eth0]:80", Flaw::Zone),
        (b"[::1", Flaw::Brackets),
        (b"[", Flaw::Brackets),
        (b"[::1]80", Flaw::Brackets),
        (b"[[::1]]", Flaw::Brackets),
        (b"::1]", Flaw::Ipv6),
        (b"a]", Flaw::Octet(b']')),
        (b"\xff\xfe", Flaw::Utf8),
        (b"a\xc3", Flaw::Utf8),
        ("xn--a-ä.test".as_bytes(), Flaw::Idn),
        (b"a:8 0", Flaw::Port),
        (b"a:\xc3\xbc", Flaw::Port),
        (port.as_bytes(), Flaw::Port),
        (huge.as_bytes(), Flaw::TooLong(1200)),
    ];
    for (input, expected) in cases {
        assert_eq!(flaw(input), *expected, "{}", input.escape_ascii());
    }
    assert!(parse(long.strip_suffix('.').unwrap().as_bytes()).is_ok());
    assert_eq!(flaw(format!("{long}b").as_bytes()), Flaw::TooLong(255));
    assert_eq!(flaw(&vec![b'a'; 65536]), Flaw::TooLong(65536));
    assert_eq!(flaw(&vec![b':'; 65536]), Flaw::Ipv6);
}

#[test]
fn each_octet_is_accepted_or_named() {
    let mut buf = [0; 256];
    for octet in 0..=u8::MAX {
        let input = [b'a', octet, b'a'];
        let accepted = octet.is_ascii_alphanumeric() || b"-_.".contains(&octet);
        assert_eq!(canonical(&input, &mut buf).is_some(), accepted, "{octet}");
        match octet {
            b':' => assert!(parse(&input).is_ok()),
            0x80.. => assert_eq!(flaw(&input), Flaw::Utf8),
            _ if accepted => assert!(parse(&input).is_ok()),
            _ => assert_eq!(flaw(&input), Flaw::Octet(octet)),
        }
    }
}

#[test]
fn an_error_is_one_short_line() {
    assert_eq!(
        parse(b"a\r\nb \"c\"").unwrap_err().to_string(),
        "host \"a\\r\\nb \\\"c\\\"\" has the octet \"\\r\", letters, digits, hyphens, \
         underscores and dots are accepted"
    );
    let long = parse(&vec![0xff; 65536]).unwrap_err().to_string();
    assert!(long.starts_with("host \"\\xff\\xff"), "{long}");
    assert!(long.contains("\"..."), "{long}");
    assert!(long.len() < 200, "{long}");
}

#[test]
fn an_excerpt_is_cut_at_64_characters() {
    let whole = Excerpt::new(&[b'a'; 64]).to_string();
    assert_eq!(whole, format!("\"{}\"", "a".repeat(64)));
    let cut = Excerpt::new(&[b'a'; 65]).to_string();
    assert_eq!(cut, format!("\"{}\"...", "a".repeat(64)));
    let escaped = Excerpt::new(&[0; 17]).to_string();
    assert_eq!(escaped, format!("\"{}\"...", "\\x00".repeat(16)));
}

#[test]
fn the_plain_case_needs_no_allocation() {
    let mut buf = [0; 256];
    for (input, expected) in [
        ("WWW.Example.TEST.", "www.example.test"),
        ("a_b.test", "a_b.test"),
        ("192.0.2.1.", "192.0.2.1"),
    ] {
        assert_eq!(
            canonical(input.as_bytes(), &mut buf),
            Some(expected.as_bytes())
        );
    }
    for input in [
        "", ".", "a..", "a:80", "a:", "::1", "[::1]", "bücher", "1.2.3", "a b", "-a",
    ] {
        assert_eq!(canonical(input.as_bytes(), &mut buf), None, "{input}");
    }
    assert_eq!(canonical(&vec![b'a'; 65536], &mut buf), None);
    assert_eq!(canonical("ab.".repeat(85).as_bytes(), &mut buf), None);
}

#[test]
fn texts_have_brackets_where_a_port_may_follow() {
    assert_eq!(ip("::1").to_string(), "::1");
    assert_eq!(ip("::1").bracketed(), "[::1]");
    assert_eq!(ip("192.0.2.1").bracketed(), "192.0.2.1");
    assert_eq!(dns("a.test").bracketed(), "a.test");
    let id = |address: &str| EndpointId {
        address: address.parse().unwrap(),
        port: 8080,
    };
    assert_eq!(id("192.0.2.1").to_string(), "192.0.2.1:8080");
    assert_eq!(id("2001:db8::1").to_string(), "[2001:db8::1]:8080");
}

/// Texts that are nearly names: the interesting octets, often.
fn nearly_a_name() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..300),
        proptest::string::bytes_regex("[a-fA-F0-9x._:%\\[\\]-]{0,24}").unwrap(),
        proptest::string::bytes_regex("([a-zA-Z0-9_-]{0,65}\\.?){0,6}").unwrap(),
        proptest::string::bytes_regex("[0-9]{1,4}(\\.[0-9x]{0,4}){0,4}\\.?").unwrap(),
        proptest::string::bytes_regex("[a-c。．ａ１ßüÜ例\u{ad}\u{200d}.-]{0,12}").unwrap(),
        ".{0,40}".prop_map(String::into_bytes),
    ]
}

/// The rules for an ASCII name, once more and in another way.
fn is_plain_name(name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name);
    let labels: Vec<&str> = name.split('.').collect();
    let numeric = labels.last().is_some_and(|last| {
        let hex = last.strip_prefix("0x").or(last.strip_prefix("0X"));
        last.chars().all(|c| c.is_ascii_digit())
            || hex.is_some_and(|hex| hex.chars().all(|c| c.is_ascii_hexdigit()))
    });
    let sound = labels.iter().all(|label| {
        !label.starts_with('-')
            && (1..=63).contains(&label.len())
            && label
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
    });
    name.len() <= 253 && sound && (!numeric || name.parse::<Ipv4Addr>().is_ok())
}

proptest! {
    #[test]
    fn the_fast_path_agrees(input in nearly_a_name()) {
        let mut buf = [0; 256];
        let plain = canonical(&input, &mut buf);
        let parsed = parse(&input);
        if let Some(plain) = plain {
            let target = parsed.clone().unwrap();
            let text = target.host.to_string();
            prop_assert_eq!(plain, text.as_bytes());
            prop_assert_eq!(&target.port, &None);
        }
        // And it takes all plain ones.
        if let Ok(target) = parsed
            && input.is_ascii()
            && !input.contains(&b':')
        {
            let text = target.host.to_string();
            prop_assert_eq!(plain, Some(text.as_bytes()));
        }
    }

    #[test]
    fn plain_names_are_exactly_those_of_the_rules(input in nearly_a_name()) {
        if let Ok(text) = str::from_utf8(&input)
            && text.is_ascii()
            && !text.contains([':', '['])
        {
            prop_assert_eq!(parse(&input).is_ok(), is_plain_name(text));
        }
    }

    #[test]
    fn canonical_texts_stay(input in nearly_a_name()) {
        if let Ok(target) = parse(&input) {
            let text = target.host.to_string();
            let again = parse(text.as_bytes()).unwrap();
            prop_assert_eq!(&again.host, &target.host);
            prop_assert_eq!(again.absolute, false);
            prop_assert_eq!(again.port, None);
            let bracketed = format!("{}:{}", target.host.bracketed(), 80);
            let again = parse(bracketed.as_bytes()).unwrap();
            prop_assert_eq!(again.host, target.host);
            prop_assert_eq!(again.port.as_deref(), Some("80"));
            prop_assert!(text.len() <= 253 && text.is_ascii() && !text.ends_with('.'));
            prop_assert_eq!(text.to_ascii_lowercase(), text);
        }
    }

    #[test]
    fn letter_case_does_not_matter(input in "[a-zA-Z0-9._-]{0,40}") {
        let upper = parse(input.to_ascii_uppercase().as_bytes()).map_err(|error| error.flaw);
        let lower = parse(input.to_ascii_lowercase().as_bytes()).map_err(|error| error.flaw);
        match (upper, lower) {
            (Ok(upper), Ok(lower)) => prop_assert_eq!(upper, lower),
            (upper, lower) => prop_assert_eq!(upper.is_err(), lower.is_err()),
        }
    }

    #[test]
    fn addresses_are_read_back(bits in any::<u128>(), v4 in any::<u32>(), port in 1_u16..) {
        let v4 = IpAddr::from(Ipv4Addr::from_bits(v4));
        let v6 = IpAddr::from(Ipv6Addr::from_bits(bits)).to_canonical();
        for address in [v4, v6] {
            let id = EndpointId { address, port };
            let target = parse(id.to_string().as_bytes()).unwrap();
            prop_assert_eq!(target.host, Host::Ip(address));
            prop_assert_eq!(target.port, Some(port.to_string()));
        }
    }

    #[test]
    fn errors_are_short_and_printable(input in nearly_a_name()) {
        if let Err(error) = parse(&input) {
            let text = error.to_string();
            prop_assert!(text.len() < 220, "{}", text);
            prop_assert!(text.bytes().all(|b| b == b' ' || b.is_ascii_graphic()), "{}", text);
        }
    }
}
