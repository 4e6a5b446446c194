//! Servers that own buckets, as the configuration names them.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use crate::name::{self, EndpointId};

/// A server id: an address on any port, an address and port, or a host name
/// with all of its addresses.
///
/// IPv4-mapped IPv6 addresses (RFC 4291, section 2.5.5.2) count as the IPv4
/// address.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Server {
    /// `192.0.2.1`, `2001:db8::1` or `[2001:db8::1]`
    Address(IpAddr),
    /// `192.0.2.1:80` or `[2001:db8::1]:80`
    Endpoint(EndpointId),
    /// A host name in its canonical form: lower case, ASCII, no dot at the end.
    Host(String),
}

/// A text that is no server id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "server {text:?}, accepted is an address, an address:port with a number from 1 to 65535, or a host name"
)]
pub struct ServerError {
    /// What was given.
    pub text: String,
}

impl Server {
    /// Reads a server id, a host name as [`name::parse`] does.
    ///
    /// # Errors
    /// [`ServerError`]
    pub fn parse(text: &str) -> Result<Self, ServerError> {
        read(text).ok_or_else(|| ServerError {
            text: text.to_owned(),
        })
    }

    /// Whether an endpoint belongs to this server. `host` is the name whose
    /// lookup gave the endpoint; its letter case and one dot at its end do not
    /// matter. Allocates nothing.
    #[must_use]
    pub fn matches(&self, address: IpAddr, port: u16, host: &str) -> bool {
        let address = address.to_canonical();
        match self {
            Server::Address(own) => *own == address,
            Server::Endpoint(own) => *own == EndpointId { address, port },
            Server::Host(own) => own.eq_ignore_ascii_case(host.strip_suffix('.').unwrap_or(host)),
        }
    }
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Server::Address(address) => address.fmt(f),
            Server::Endpoint(endpoint) => endpoint.fmt(f),
            Server::Host(host) => f.write_str(host),
        }
    }
}

fn read(text: &str) -> Option<Server> {
    let target = name::parse(text.as_bytes()).ok()?;
    match (target.host, target.port) {
        (name::Host::Ip(address), None) => Some(Server::Address(address)),
        (name::Host::Ip(address), Some(port)) => {
            let digits = port.bytes().all(|byte| byte.is_ascii_digit());
            let port = port.parse().ok().filter(|port| digits && *port != 0)?;
            Some(Server::Endpoint(EndpointId { address, port }))
        }
        (name::Host::Dns(host), None) => Some(Server::Host(host)),
        (name::Host::Dns(_), Some(_)) => None,
    }
}

/// An address with or without a port as it is mostly written, read without
/// allocating. `None` says nothing about other spellings.
pub(super) fn plain_address(text: &str) -> Option<(IpAddr, Option<u16>)> {
    // A zone would be dropped.
    if text.contains('%') {
        return None;
    }
    if let Ok(address) = text.parse::<IpAddr>() {
        return Some((address.to_canonical(), None));
    }
    let socket: SocketAddr = text.parse().ok()?;
    Some((socket.ip().to_canonical(), Some(socket.port())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        Server::parse(text).unwrap().to_string()
    }

    #[test]
    fn a_server_has_one_canonical_form() {
        assert_eq!(shown("192.0.2.1"), "192.0.2.1");
        assert_eq!(shown("192.0.2.1:80"), "192.0.2.1:80");
        assert_eq!(shown("2001:DB8::0:1"), "2001:db8::1");
        assert_eq!(shown("[2001:db8:0::1]"), "2001:db8::1");
        assert_eq!(shown("[2001:DB8::1]:8080"), "[2001:db8::1]:8080");
        assert_eq!(shown("Web-1.Example.COM."), "web-1.example.com");
        assert_eq!(shown("cache_1"), "cache_1");
        assert_eq!(shown("B\u{fc}cher.example"), "xn--bcher-kva.example");
        assert_eq!(shown("::ffff:192.0.2.1"), "192.0.2.1");
        assert_eq!(shown("[::ffff:192.0.2.1]:080"), "192.0.2.1:80");
        assert_eq!(shown(&"a".repeat(63)), "a".repeat(63));
    }

    #[test]
    fn junk_is_refused_and_named() {
        let long = "abc.".repeat(64);
        for text in [
            "",
            ".",
            "..",
            "a..b",
            ".a",
            "a b",
            "a/b",
            "a:80",
            "a:b",
            "192.0.2.1:0",
            "192.0.2.1:65536",
            "192.0.2.256",
            "192.0.2",
            "192.0.2.1.5",
            "a.1",
            "192.0.2.1:80:80",
            "[192.0.2.1]",
            "[2001:db8::1",
            "2001:db8::1]",
            "[2001:db8::1]:0",
            "[fe80::1%2]:80",
            "fe80::1%eth0",
            "192.0.2.1:http",
            "192.0.2.1:+80",
            "1",
            "a\n",
            "a\0",
            &"a".repeat(64),
            &long,
        ] {
            let error = Server::parse(text).unwrap_err();
            assert!(
                error
                    .to_string()
                    .starts_with(&format!("server {text:?}, accepted"))
            );
        }
    }

    #[test]
    fn endpoints_belong_to_their_server() {
        let v4: IpAddr = "192.0.2.1".parse().unwrap();
        let v6: IpAddr = "2001:db8::1".parse().unwrap();
        let cases = [
            ("192.0.2.1", v4, 80, "a.example", true),
            ("192.0.2.1", v4, 81, "", true),
            ("192.0.2.1", v6, 80, "192.0.2.1", false),
            ("192.0.2.1:80", v4, 80, "a.example", true),
            ("192.0.2.1:80", v4, 81, "a.example", false),
            ("[2001:db8::1]:80", v6, 80, "a.example", true),
            ("2001:db8:0::1", v6, 80, "a.example", true),
            ("A.example.", v6, 80, "a.example", true),
            ("a.example", v4, 80, "A.EXAMPLE.", true),
            ("a.example", v4, 80, "b.a.example", false),
            ("a.example", v4, 80, "", false),
        ];
        for (server, address, port, host, expected) in cases {
            let server = Server::parse(server).unwrap();
            assert_eq!(
                server.matches(address, port, host),
                expected,
                "{server} {host}"
            );
        }
    }
}
