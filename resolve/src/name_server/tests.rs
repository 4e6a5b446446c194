//! Name servers as text.

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
fn name_servers_are_read() {
    for (text, expected) in [
        ("192.0.2.53", plain("192.0.2.53")),
        (
            "127.0.0.1:5353",
            server("127.0.0.1", None, Some(5353), None),
        ),
        ("::1", plain("::1")),
        ("[::1]", plain("::1")),
        ("[::1]:53", server("::1", None, Some(53), None)),
        ("::1:53", plain("::1:53")),
        ("fe80::1%eth0", server("fe80::1", Some("eth0"), None, None)),
        (
            "[fe80::1%2]:53",
            server("fe80::1", Some("2"), Some(53), None),
        ),
        (
            "192.0.2.53#DNS.example.",
            server("192.0.2.53", None, None, Some("dns.example")),
        ),
        (
            "192.0.2.53:853#a.test",
            server("192.0.2.53", None, Some(853), Some("a.test")),
        ),
        (
            "[::1]:853#dns.example",
            server("::1", None, Some(853), Some("dns.example")),
        ),
        (
            "::1#dns.example",
            server("::1", None, None, Some("dns.example")),
        ),
        (
            "192.0.2.1#192.0.2.1",
            server("192.0.2.1", None, None, Some("192.0.2.1")),
        ),
    ] {
        assert_eq!(NameServer::parse(text), Ok(expected), "{text}");
    }
}

#[test]
fn a_bad_name_server_says_which_part_is_bad() {
    type Error = NameServerError;
    for text in [
        "",
        "#",
        "dns.example",
        "192.0.2",
        "300.1.1.1",
        "192.0.2.53 ",
        "[::1",
        "[::1]53",
        "[]",
        "[]:53",
        ":53",
        "[::1]x",
        "1::2::3",
        "udp:192.0.2.53",
        "%eth0",
        "192.0.2.53:53:53",
    ] {
        let error = NameServer::parse(text).unwrap_err();
        let about_the_name = text == "#" && matches!(error, Error::TlsName(..));
        assert!(
            matches!(error, Error::Address(_)) || about_the_name,
            "{text}: {error}"
        );
    }
    for text in [
        "192.0.2.53:",
        "192.0.2.53:0",
        "192.0.2.53:65536",
        "[::1]:+53",
        "[::1]:domain",
    ] {
        let error = NameServer::parse(text).unwrap_err();
        assert!(matches!(error, Error::Port(_)), "{text}: {error}");
    }
    for text in ["fe80::1%", "192.0.2.53%eth0", "[fe80::1%e th]:53"] {
        let error = NameServer::parse(text).unwrap_err();
        assert!(matches!(error, Error::Zone(_)), "{text}: {error}");
    }
    for text in ["192.0.2.53#", "::1#a b", "::1#a.test:853", "::1#a#b"] {
        let error = NameServer::parse(text).unwrap_err();
        assert!(matches!(error, Error::TlsName(..)), "{text}: {error}");
    }
    assert_eq!(
        NameServer::parse("::1#a b").unwrap_err().to_string(),
        "name server \"::1#a b\" has a bad name for TLS: host \"a b\" has the octet \" \", \
         letters, digits, hyphens, underscores and dots are accepted"
    );
}

proptest! {
    #[test]
    fn any_text_is_a_name_server_or_a_short_error(text in prop_oneof![
        ".{0,300}",
        "[0-9a-f:.%#\\[\\]]{0,30}",
    ]) {
        if let Err(error) = NameServer::parse(&text) {
            let line = error.to_string();
            prop_assert!(line.len() < 400, "{}", line);
            prop_assert!(line.bytes().all(|b| b == b' ' || b.is_ascii_graphic()), "{}", line);
        }
    }
}
