//! An instance: a server as a pin and the hash buckets name it.

use std::borrow::Cow;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr};

use crate::name::{self, EndpointId, Host, Written};

/// An address on any port, an address and port, or a host name with all of its
/// addresses.
///
/// IPv4-mapped IPv6 addresses (RFC 4291, section 2.5.5.2) count as the IPv4
/// address.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Instance<'b> {
    /// `192.0.2.1`, `2001:db8::1` or `[2001:db8::1]`
    Address(IpAddr),
    /// `192.0.2.1:80` or `[2001:db8::1]:80`
    Endpoint(EndpointId),
    /// A host name in its canonical form: lower case, ASCII, no dot at the end.
    Host(Cow<'b, str>),
}

impl<'b> Instance<'b> {
    /// Reads an instance, a host name as [`name::parse`] does. `None` for
    /// anything else: a host name with a port, a port that is not a number
    /// from 1 to 65535, an address with a zone id.
    ///
    /// Allocates nothing for ASCII; `buf` takes the host name.
    #[must_use]
    pub fn parse(text: &[u8], buf: &'b mut [u8; 256]) -> Option<Self> {
        let (written, port) = name::split(text).ok()?;
        let host = match written {
            Written::Address(address) => Instance::Address(address),
            Written::Name(host) if host.is_ascii() => {
                let host = std::str::from_utf8(name::canonical(host, buf)?).ok()?;
                // The canonical form has no other numbers than addresses.
                match host.parse::<Ipv4Addr>() {
                    Ok(address) => Instance::Address(address.into()),
                    Err(_) => Instance::Host(Cow::Borrowed(host)),
                }
            }
            Written::Name(host) => match name::parse(host).ok()?.host {
                Host::Ip(address) => Instance::Address(address),
                Host::Dns(host) => Instance::Host(Cow::Owned(host)),
            },
        };
        match (host, port) {
            (host, None) => Some(host),
            (Instance::Address(address), Some(port)) => {
                let port = number(port)?;
                Some(Instance::Endpoint(EndpointId { address, port }))
            }
            (Instance::Endpoint(_) | Instance::Host(_), Some(_)) => None,
        }
    }

    /// Whether an endpoint is one that this names. `host` is the name whose
    /// lookup gave the endpoint, in its canonical form.
    #[must_use]
    pub fn matches(&self, address: IpAddr, port: u16, host: &str) -> bool {
        let address = address.to_canonical();
        match self {
            Instance::Address(own) => *own == address,
            Instance::Endpoint(own) => *own == EndpointId { address, port },
            Instance::Host(own) => own == host,
        }
    }

    /// The same without a reference to the text.
    #[must_use]
    pub fn into_owned(self) -> Instance<'static> {
        match self {
            Instance::Address(address) => Instance::Address(address),
            Instance::Endpoint(endpoint) => Instance::Endpoint(endpoint),
            Instance::Host(host) => Instance::Host(Cow::Owned(host.into_owned())),
        }
    }
}

impl fmt::Display for Instance<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Instance::Address(address) => address.fmt(f),
            Instance::Endpoint(endpoint) => endpoint.fmt(f),
            Instance::Host(host) => f.write_str(host),
        }
    }
}

/// A port from 1 to 65535 in decimal digits.
fn number(port: &[u8]) -> Option<u16> {
    let text = std::str::from_utf8(port).ok()?;
    // A sign would be read as well.
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|port| digits && *port != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Option<String> {
        let mut buf = [0; 256];
        Instance::parse(text.as_bytes(), &mut buf).map(|instance| instance.to_string())
    }

    #[test]
    fn an_instance_has_one_canonical_form() {
        let long = "a".repeat(63);
        for (text, form) in [
            ("192.0.2.1", "192.0.2.1"),
            ("192.0.2.1.", "192.0.2.1"),
            ("192.0.2.1:80", "192.0.2.1:80"),
            ("192.0.2.1:080", "192.0.2.1:80"),
            ("192.0.2.1.:80", "192.0.2.1:80"),
            ("2001:DB8::0:1", "2001:db8::1"),
            ("[2001:db8:0::1]", "2001:db8::1"),
            ("[2001:DB8::1]:8080", "[2001:db8::1]:8080"),
            ("::ffff:192.0.2.1", "192.0.2.1"),
            ("[::ffff:192.0.2.1]:080", "192.0.2.1:80"),
            ("Web-1.Example.COM.", "web-1.example.com"),
            ("cache_1", "cache_1"),
            ("B\u{fc}cher.example", "xn--bcher-kva.example"),
            ("B\u{fc}cher.example.", "xn--bcher-kva.example"),
            ("XN--bcher-kva.example", "xn--bcher-kva.example"),
            ("\u{ff11}92.0.2.1", "192.0.2.1"),
            (&long, &long),
        ] {
            assert_eq!(shown(text).as_deref(), Some(form), "{text:?}");
        }
    }

    #[test]
    fn what_is_no_instance_is_refused() {
        let long = "abc.".repeat(64);
        for text in [
            "",
            " ",
            ".",
            "..",
            "a..b",
            ".a",
            "a b",
            "a/b",
            "a:80",
            "a:b",
            "a:",
            "B\u{fc}cher.example:80",
            "\u{ad}",
            "192.0.2.1:",
            "192.0.2.1:0",
            "192.0.2.1:00",
            "192.0.2.1:65536",
            "192.0.2.1:99999999999",
            "192.0.2.1:+80",
            "192.0.2.1: 80",
            "192.0.2.1:http",
            "192.0.2.1:80:80",
            "192.0.2.256",
            "192.0.2",
            "192.0.2.1.5",
            "192.0.2.1..",
            "a.1",
            "1",
            "[192.0.2.1]",
            "[192.0.2.1]:80",
            "[a.example]",
            "[2001:db8::1",
            "2001:db8::1]",
            "[2001:db8::1].",
            "[2001:db8::1]:",
            "[2001:db8::1]:0",
            "[2001:db8::1]80",
            "[fe80::1%2]",
            "[fe80::1%2]:80",
            "fe80::1%2",
            "fe80::1%eth0",
            "a\n",
            "a\0",
            &"a".repeat(64),
            &"a".repeat(70_000),
            &long,
        ] {
            assert_eq!(shown(text), None, "{text:?}");
        }
        let mut buf = [0; 256];
        assert_eq!(Instance::parse(&[0xff, 0x80], &mut buf), None);
    }

    #[test]
    fn endpoints_belong_to_their_instance() {
        let v4: IpAddr = "192.0.2.1".parse().unwrap();
        let mapped: IpAddr = "::ffff:192.0.2.1".parse().unwrap();
        let v6: IpAddr = "2001:db8::1".parse().unwrap();
        for (text, address, port, host, expected) in [
            ("192.0.2.1", v4, 80, "a.example", true),
            ("192.0.2.1", mapped, 80, "a.example", true),
            ("192.0.2.1", v4, 81, "", true),
            ("192.0.2.1", v6, 80, "192.0.2.1", false),
            ("192.0.2.1:80", v4, 80, "a.example", true),
            ("192.0.2.1:80", mapped, 80, "a.example", true),
            ("192.0.2.1:80", v4, 81, "a.example", false),
            ("[2001:db8::1]:80", v6, 80, "a.example", true),
            ("[2001:db8::1]:8", v6, 80, "a.example", false),
            ("2001:db8:0::1", v6, 80, "a.example", true),
            ("A.example.", v6, 80, "a.example", true),
            ("a.example", v4, 80, "b.a.example", false),
            ("a.example", v4, 80, "", false),
            ("B\u{fc}cher.example", v4, 80, "xn--bcher-kva.example", true),
        ] {
            let mut buf = [0; 256];
            let instance = Instance::parse(text.as_bytes(), &mut buf).unwrap();
            assert_eq!(
                instance.matches(address, port, host),
                expected,
                "{instance} {host}"
            );
            assert_eq!(instance.clone().into_owned(), instance);
        }
    }
}
