//! A pin: the one instance that a request asks for.

use std::net::{IpAddr, SocketAddr};

use crate::name;

/// What a request pins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pin<'p> {
    /// An address, on any port.
    Address(IpAddr),
    /// An address and port.
    Endpoint(SocketAddr),
    /// A host name in canonical form: any of its addresses.
    Host(&'p [u8]),
}

impl<'p> Pin<'p> {
    /// Reads a pin: `address`, `address:port`, IPv6 with a port in brackets, or
    /// a host name in ASCII. `None` for anything else. Allocates nothing;
    /// `room` takes the host name.
    #[must_use]
    pub fn parse(text: &[u8], room: &'p mut [u8; 256]) -> Option<Self> {
        if let Ok(text) = std::str::from_utf8(text) {
            let bare = text.strip_prefix('[').and_then(|t| t.strip_suffix(']'));
            if let Ok(address) = bare.unwrap_or(text).parse::<IpAddr>()
                && (bare.is_none() || address.is_ipv6())
            {
                return Some(Pin::Address(address.to_canonical()));
            }
            if let Ok(endpoint) = text.parse::<SocketAddr>() {
                let address = endpoint.ip().to_canonical();
                return Some(Pin::Endpoint(SocketAddr::new(address, endpoint.port())));
            }
        }
        name::canonical(text, room).map(Pin::Host)
    }

    /// Whether this endpoint is what the pin names.
    #[must_use]
    pub fn names(&self, address: IpAddr, port: u16, host: &str) -> bool {
        match self {
            Pin::Address(pinned) => *pinned == address,
            Pin::Endpoint(pinned) => pinned.ip() == address && pinned.port() == port,
            Pin::Host(pinned) => *pinned == host.as_bytes(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(pin: &str, endpoint: (&str, u16, &str)) -> Option<bool> {
        let mut room = [0; 256];
        let address = endpoint.0.parse().unwrap();
        Pin::parse(pin.as_bytes(), &mut room).map(|pin| pin.names(address, endpoint.1, endpoint.2))
    }

    #[test]
    fn address_endpoint_and_host_are_told_apart() {
        let one = ("192.0.2.1", 80, "a.example");
        assert_eq!(names("192.0.2.1", one), Some(true));
        assert_eq!(names("192.0.2.1:80", one), Some(true));
        assert_eq!(names("192.0.2.1:81", one), Some(false));
        assert_eq!(names("192.0.2.2", one), Some(false));
        assert_eq!(names("A.Example.", one), Some(true));
        assert_eq!(names("b.example", one), Some(false));
        let six = ("2001:db8::1", 80, "a.example");
        assert_eq!(names("2001:db8::1", six), Some(true));
        assert_eq!(names("[2001:db8:0::1]", six), Some(true));
        assert_eq!(names("[2001:db8::1]:80", six), Some(true));
        assert_eq!(names("[2001:db8::1]:8", six), Some(false));
    }

    #[test]
    fn what_is_no_instance_is_no_pin() {
        for junk in [
            "",
            " ",
            "a b",
            "[192.0.2.1]",
            "192.0.2.1:",
            "192.0.2.1:99999",
            "a.example:80",
            "[::1",
            "\u{e9}",
        ] {
            assert_eq!(
                names(junk, ("192.0.2.1", 80, "a.example")),
                None,
                "{junk:?}"
            );
        }
        let mut room = [0; 256];
        assert_eq!(Pin::parse(&[0xff, 0x80], &mut room), None);
        assert_eq!(Pin::parse(&vec![b'a'; 70_000], &mut room), None);
    }
}
