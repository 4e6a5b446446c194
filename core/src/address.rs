//! Which addresses can be an endpoint.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Whether a connection to this address can reach one other host.
///
/// The unspecified addresses, IPv4's 0.0.0.0/8 ("this network"), multicast and
/// the limited broadcast address cannot; a system may take some of them for
/// itself, so that a connection reaches its own loopback. An IPv4-mapped IPv6
/// address counts as the IPv4 address that it reaches.
#[must_use]
pub fn is_endpoint(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => is_v4_endpoint(address),
        IpAddr::V6(address) => is_v6_endpoint(address),
    }
}

fn is_v4_endpoint(address: Ipv4Addr) -> bool {
    let [first, ..] = address.octets();
    first != 0 && !address.is_multicast() && !address.is_broadcast()
}

fn is_v6_endpoint(address: Ipv6Addr) -> bool {
    !address.is_unspecified() && !address.is_multicast()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_that_reach_no_single_host_are_no_endpoints() {
        for (text, expected) in [
            ("0.0.0.0", false),
            ("0.0.0.1", false),
            ("0.255.255.255", false),
            ("1.0.0.0", true),
            ("10.0.0.1", true),
            ("127.0.0.1", true),
            ("169.254.1.1", true),
            ("192.0.2.255", true),
            ("223.255.255.255", true),
            ("224.0.0.0", false),
            ("239.255.255.255", false),
            ("240.0.0.1", true),
            ("255.255.255.254", true),
            ("255.255.255.255", false),
            ("::", false),
            ("::1", true),
            ("2001:db8::1", true),
            ("fe80::1", true),
            ("fd00::1", true),
            ("feff::1", true),
            ("ff00::", false),
            ("ff02::1", false),
            ("ffff:ffff::", false),
            ("::ffff:0.0.0.0", false),
            ("::ffff:0.0.0.1", false),
            ("::ffff:224.0.0.1", false),
            ("::ffff:255.255.255.255", false),
            ("::ffff:127.0.0.1", true),
            ("::ffff:192.0.2.1", true),
        ] {
            let address: IpAddr = text.parse().unwrap();
            assert_eq!(is_endpoint(address), expected, "{text}");
        }
    }
}
