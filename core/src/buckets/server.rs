//! Servers that own buckets, as the configuration names them.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

/// Longest host name in bytes (RFC 1035 section 2.3.4, as text).
const MAX_HOST_LENGTH: usize = 253;

/// A server id: an address on any port, an address and port, or a host name
/// with all of its addresses.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Server {
    /// `192.0.2.1`, `2001:db8::1` or `[2001:db8::1]`
    Address(IpAddr),
    /// `192.0.2.1:80` or `[2001:db8::1]:80`
    Socket(IpAddr, u16),
    /// A host name in lower case, without a dot at the end.
    Host(String),
}

/// A text that is no server id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "server {text:?}, accepted is an address, an address:port, or a host name in its ASCII form"
)]
pub struct ServerError {
    /// What was given.
    pub text: String,
}

impl Server {
    /// Reads a server id.
    ///
    /// # Errors
    /// [`ServerError`]
    pub fn parse(text: &str) -> Result<Self, ServerError> {
        match Named::read(text) {
            Some(Named::Address(address)) => Ok(Server::Address(address)),
            Some(Named::Socket(address, port)) => Ok(Server::Socket(address, port)),
            Some(Named::Host(host)) => Ok(Server::Host(host.as_str().to_owned())),
            None => Err(ServerError {
                text: text.to_owned(),
            }),
        }
    }

    /// Whether an endpoint belongs to this server. `host` is the name whose
    /// lookup gave the endpoint; its letter case and one dot at its end do not
    /// matter. Allocates nothing.
    #[must_use]
    pub fn matches(&self, address: IpAddr, port: u16, host: &str) -> bool {
        match self {
            Server::Address(own) => *own == address,
            Server::Socket(own, own_port) => *own == address && *own_port == port,
            Server::Host(own) => own.eq_ignore_ascii_case(without_dot(host)),
        }
    }
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Server::Address(address) => address.fmt(f),
            Server::Socket(address, port) => SocketAddr::new(*address, *port).fmt(f),
            Server::Host(host) => f.write_str(host),
        }
    }
}

/// A [`Server`] on the stack.
#[allow(
    clippy::large_enum_variant,
    reason = "it lives for one look-up, and a box would allocate in a request"
)]
pub(super) enum Named {
    Address(IpAddr),
    Socket(IpAddr, u16),
    Host(Host),
}

impl Named {
    /// Reads a server id without allocating.
    pub(super) fn read(text: &str) -> Option<Self> {
        let bracketed = text
            .strip_prefix('[')
            .and_then(|text| text.strip_suffix(']'));
        if let Some(inner) = bracketed {
            return inner.parse().ok().map(|v6| Named::Address(IpAddr::V6(v6)));
        }
        if let Ok(address) = text.parse() {
            return Some(Named::Address(address));
        }
        if let Ok(socket) = text.parse::<SocketAddr>() {
            let whole = match socket {
                SocketAddr::V4(_) => true,
                SocketAddr::V6(v6) => v6.scope_id() == 0 && !text.contains('%'),
            };
            return (whole && socket.port() != 0)
                .then(|| Named::Socket(socket.ip(), socket.port()));
        }
        Host::read(text).map(Named::Host)
    }
}

/// A host name in lower case, on the stack.
pub(super) struct Host {
    text: [u8; MAX_HOST_LENGTH],
    length: usize,
}

impl Host {
    /// Reads a host name. One that ends in a number is a mistyped address
    /// (WHATWG URL, "ends in a number").
    pub(super) fn read(text: &str) -> Option<Self> {
        let name = without_dot(text).as_bytes();
        let mut host = Host {
            text: [0; MAX_HOST_LENGTH],
            length: name.len(),
        };
        let space = host.text.get_mut(..name.len())?;
        space.copy_from_slice(name);
        space.make_ascii_lowercase();
        let label = |label: &[u8]| {
            (1..=63).contains(&label.len())
                && label
                    .iter()
                    .all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(byte))
        };
        let mut labels = name.split(|byte| *byte == b'.');
        let all = labels.clone().all(label);
        let number = labels
            .next_back()
            .is_some_and(|last| last.iter().all(u8::is_ascii_digit));
        (all && !(number && name.contains(&b'.'))).then_some(host)
    }

    pub(super) fn as_str(&self) -> &str {
        self.text
            .get(..self.length)
            .and_then(|text| std::str::from_utf8(text).ok())
            .unwrap_or_default()
    }
}

fn without_dot(host: &str) -> &str {
    host.strip_suffix('.').unwrap_or(host)
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
        assert_eq!(shown("1"), "1");
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
            "192.0.2.1:",
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
            "[2001:db8::1]:",
            "[fe80::1%2]:80",
            "fe80::1%eth0",
            "b\u{fc}cher.example",
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
