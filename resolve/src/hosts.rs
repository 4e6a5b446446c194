//! The hosts file: names and addresses that need no query.

use std::collections::HashMap;
use std::net::IpAddr;

use dynamic_core::name::{self, Host};

/// What a hosts file says, by name.
///
/// A name has the addresses of all lines that it is on, and no others: a line
/// with aliases gives its address to each of them, and they share nothing
/// else.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Hosts {
    addresses: HashMap<String, Vec<IpAddr>>,
}

impl Hosts {
    /// Reads the text of a hosts file (hosts(5)).
    ///
    /// Nothing in it is an error: a line without a valid address is passed
    /// over, as is a name that is none. A line whose address has a zone id is
    /// one without a valid address, as for the C library: the address could
    /// not be reached without the zone.
    #[must_use]
    pub(crate) fn parse(text: &str) -> Self {
        let mut hosts = Self::default();
        for line in text.lines() {
            let entry = line.split('#').next().unwrap_or_default();
            let mut words = entry.split_whitespace();
            let Some(Ok(address)) = words.next().map(str::parse::<IpAddr>) else {
                continue;
            };
            for name in words.filter_map(canonical) {
                hosts.add(name, address.to_canonical());
            }
        }
        hosts
    }

    /// All addresses of a name, in the file's order, without duplicates.
    /// Letter case and one trailing dot do not matter. `None` where the file
    /// does not have the name.
    #[must_use]
    pub(crate) fn lookup(&self, name: &str) -> Option<Vec<IpAddr>> {
        self.addresses.get(&canonical(name)?).cloned()
    }

    fn add(&mut self, name: String, address: IpAddr) {
        let addresses = self.addresses.entry(name).or_default();
        if !addresses.contains(&address) {
            addresses.push(address);
        }
    }
}

fn canonical(name: &str) -> Option<String> {
    match name::parse(name.as_bytes()) {
        Ok(name::Target {
            host: Host::Dns(name),
            port: None,
            ..
        }) => Some(name),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "\
# comment
127.0.0.1\tlocalhost  # the loopback
::1       localhost ip6-localhost
  192.0.2.1   Web.Example.TEST. web   www
192.0.2.2 web
192.0.2.1 web
192.0.2.3 www # web
192.0.2.4
192.0.2.5#web
300.1.1.1 web
garbage
fe80::1%lo0 web
2001:db8::1 web 192.0.2.9 we:b we:80 -web w*b b\u{fc}cher
::ffff:192.0.2.7 mapped
";

    fn addresses(texts: &[&str]) -> Vec<IpAddr> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn a_name_has_the_addresses_of_all_its_lines() {
        let hosts = Hosts::parse(FILE);
        assert_eq!(
            hosts.lookup("localhost"),
            Some(addresses(&["127.0.0.1", "::1"]))
        );
        assert_eq!(
            hosts.lookup("web"),
            Some(addresses(&["192.0.2.1", "192.0.2.2", "2001:db8::1"]))
        );
        assert_eq!(hosts.lookup("mapped"), Some(addresses(&["192.0.2.7"])));
        assert_eq!(
            hosts.lookup("xn--bcher-kva"),
            Some(addresses(&["2001:db8::1"]))
        );
    }

    #[test]
    fn aliases_share_a_line_and_nothing_else() {
        let hosts = Hosts::parse(FILE);
        assert_eq!(hosts.lookup("ip6-localhost"), Some(addresses(&["::1"])));
        assert_eq!(
            hosts.lookup("web.example.test"),
            Some(addresses(&["192.0.2.1"]))
        );
        assert_eq!(
            hosts.lookup("www"),
            Some(addresses(&["192.0.2.1", "192.0.2.3"]))
        );
    }

    #[test]
    fn letter_case_and_a_trailing_dot_do_not_matter() {
        let hosts = Hosts::parse(FILE);
        for name in ["WEB.example.test", "web.example.test.", "web.example.test"] {
            assert_eq!(
                hosts.lookup(name),
                Some(addresses(&["192.0.2.1"])),
                "{name}"
            );
        }
    }

    #[test]
    fn what_is_not_there_is_not_found() {
        let hosts = Hosts::parse(FILE);
        for name in [
            "",
            ".",
            "example.test",
            "comment",
            "garbage",
            "the",
            "192.0.2.9",
            "192.0.2.4",
            "we",
            "-web",
            "w*b",
            "web..",
            "web:80",
        ] {
            assert_eq!(hosts.lookup(name), None, "{name}");
        }
        assert_eq!(Hosts::parse("").lookup("localhost"), None);
    }

    #[test]
    fn lines_may_end_as_on_other_systems() {
        let hosts = Hosts::parse("192.0.2.1 a\r\n192.0.2.2 b\r\n192.0.2.3 c");
        assert_eq!(hosts.lookup("a"), Some(addresses(&["192.0.2.1"])));
        assert_eq!(hosts.lookup("c"), Some(addresses(&["192.0.2.3"])));
    }
}
