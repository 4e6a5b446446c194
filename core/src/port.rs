//! Ports, as numbers or as names of services.

use thiserror::Error;

use crate::name::Excerpt;

/// The longest service name that is looked up, in octets: those of RFC 6335
/// have at most 15, some files have longer ones.
const MAX_SERVICE: usize = 32;

/// A port as it is shown and as it is connected to.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Port {
    /// As configured, in canonical form: a number without leading zeros or a
    /// service name in lower case. `http` stays `http`.
    pub text: String,
    /// The TCP port, 1 to 65535.
    pub number: u16,
}

/// A text that is no port. Its own text is one line that is safe to log.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PortError {
    /// No text.
    #[error("port \"\" is empty, 1 to 65535 or the name of a TCP service is accepted")]
    Empty,
    /// A number, but 0 or too large.
    #[error("port {0} is out of range, 1 to 65535 or the name of a TCP service is accepted")]
    Range(Excerpt),
    /// Neither a number nor a known service.
    #[error("port {0} is not known, 1 to 65535 or the name of a TCP service is accepted")]
    Unknown(Excerpt),
}

impl Port {
    /// Reads a port: decimal digits, `http` (80), `https` (443), or the name
    /// or an alias of a TCP service in `services`, the text of an
    /// `/etc/services` file, which may be empty. Letter case does not matter
    /// (RFC 6335, section 5.1).
    ///
    /// # Errors
    ///
    /// [`PortError`] for everything else: signs, spaces, 0, 65536.
    pub fn parse(text: &str, services: &str) -> Result<Self, PortError> {
        if text.is_empty() {
            return Err(PortError::Empty);
        }
        if text.bytes().all(|byte| byte.is_ascii_digit()) {
            return match text.parse() {
                Ok(number @ 1..) => Ok(Self {
                    text: number.to_string(),
                    number,
                }),
                _ => Err(PortError::Range(Excerpt::new(text.as_bytes()))),
            };
        }
        service_port(text, services).map_or_else(
            || Err(PortError::Unknown(Excerpt::new(text.as_bytes()))),
            |number| {
                Ok(Self {
                    text: text.to_ascii_lowercase(),
                    number,
                })
            },
        )
    }
}

/// The most parts that a [`PortSet`] may have.
const MAX_PARTS: usize = 64;

/// A part of the text of a [`PortSet`] that is no port and no range of ports.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0} is no port and no range of ports")]
pub struct PortSetError(Excerpt);

/// A set of ports, such as `80,443,8000-8999`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PortSet(Vec<(u16, u16)>);

impl PortSet {
    /// Reads ports and ranges of ports with commas between them. Spaces around
    /// a part do not count. A port may be the name of a service.
    ///
    /// # Errors
    ///
    /// The first part that is neither, or is empty, or is over the limit of 64.
    pub fn parse(text: &str, services: &str) -> Result<Self, PortSetError> {
        let mut ranges = Vec::new();
        for part in text.split(',').map(str::trim) {
            let error = || PortSetError(Excerpt::new(part.as_bytes()));
            let port = |text: &str| Port::parse(text, services).ok().map(|port| port.number);
            // The name of a service may have a hyphen.
            let range = match (port(part), part.split_once('-')) {
                (Some(port), _) => Some((port, port)),
                (None, Some((low, high))) => port(low.trim()).zip(port(high.trim())),
                (None, None) => None,
            };
            let (low, high) = range
                .filter(|(low, high)| low <= high && ranges.len() < MAX_PARTS)
                .ok_or_else(error)?;
            ranges.push((low, high));
        }
        Ok(PortSet(ranges))
    }

    /// Whether a port is in the set.
    #[must_use]
    pub fn contains(&self, port: u16) -> bool {
        self.0
            .iter()
            .any(|(low, high)| (*low..=*high).contains(&port))
    }
}

/// The port in force for a name.
///
/// A port in the text of a name may be a client's, as in a `Host` header: it
/// counts only where the call gives no port, and only if it is in `allowed`.
/// Else the call's is in force, or the director's `own`.
///
/// # Errors
///
/// [`PortError`] for a port that is none, where it would be looked at.
pub fn port_in_force(
    in_text: Option<&str>,
    of_call: Option<&str>,
    own: &Port,
    allowed: &PortSet,
    services: &str,
) -> Result<Port, PortError> {
    if let Some(call) = of_call {
        return Port::parse(call, services);
    }
    let client = in_text
        .map(|text| Port::parse(text, services))
        .transpose()?
        .filter(|port| allowed.contains(port.number));
    Ok(client.unwrap_or_else(|| own.clone()))
}

fn service_port(name: &str, services: &str) -> Option<u16> {
    if name.len() > MAX_SERVICE {
        return None;
    }
    // Minimal containers have no services file.
    if name.eq_ignore_ascii_case("http") {
        return Some(80);
    }
    if name.eq_ignore_ascii_case("https") {
        return Some(443);
    }
    services.lines().find_map(|line| line_port(name, line))
}

/// The port of `name  port/tcp  alias...  # comment`, if that is the service.
fn line_port(name: &str, line: &str) -> Option<u16> {
    let entry = line.split('#').next()?;
    let mut words = entry.split_whitespace();
    let official = words.next()?;
    let (number, protocol) = words.next()?.split_once('/')?;
    if protocol != "tcp" {
        return None;
    }
    let mut names = std::iter::once(official).chain(words);
    if !names.any(|known| known.eq_ignore_ascii_case(name)) {
        return None;
    }
    number.parse().ok().filter(|number| *number != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SERVICES: &str = "\
# Network services
ssh\t22/tcp\t\t\t# SSH Remote Login Protocol
domain\t\t53/udp
domain\t\t53/tcp
http\t\t8888/tcp\t\twww\t# WorldWideWeb HTTP
ntp 123/udp
imaps 993/tcp # alias in a comment
zero 0/tcp
broken tcp
huge 65536/tcp
http-alt 8080/tcp webcache
http-alt 8081/tcp
";

    fn port(text: &str) -> Result<(String, u16), PortError> {
        Port::parse(text, SERVICES).map(|port| (port.text, port.number))
    }

    #[test]
    fn numbers_and_services_are_ports() {
        for (input, text, number) in [
            ("1", "1", 1),
            ("8080", "8080", 8080),
            ("65535", "65535", 65535),
            ("0080", "80", 80),
            ("http", "http", 80),
            ("HTTPS", "https", 443),
            ("ssh", "ssh", 22),
            ("domain", "domain", 53),
            ("www", "www", 8888),
            ("WebCache", "webcache", 8080),
            ("http-alt", "http-alt", 8080),
        ] {
            assert_eq!(port(input), Ok((text.to_owned(), number)), "{input}");
        }
    }

    #[test]
    fn the_built_in_services_need_no_file() {
        assert_eq!(Port::parse("http", "").map(|port| port.number), Ok(80));
        assert_eq!(Port::parse("https", "").map(|port| port.number), Ok(443));
    }

    #[test]
    fn long_service_names_are_not_looked_up() {
        for (length, known) in [(32, true), (33, false)] {
            let name = "s".repeat(length);
            let services = format!("{name} 1234/tcp");
            assert_eq!(Port::parse(&name, &services).is_ok(), known, "{length}");
        }
    }

    #[test]
    fn everything_else_is_named_in_the_error() {
        assert_eq!(port(""), Err(PortError::Empty));
        for input in ["0", "000", "65536", "99999999999999999999"] {
            assert_eq!(
                port(input),
                Err(PortError::Range(Excerpt::new(input.as_bytes())))
            );
        }
        for input in [
            "-1", "+80", " 80", "80 ", "8 0", "80/tcp", "0x50", "ntp", "zero", "huge", "broken",
            "tcp", "#", "alias", "nosuch", "٨٠", "a\n", "http ",
        ] {
            assert_eq!(
                port(input),
                Err(PortError::Unknown(Excerpt::new(input.as_bytes()))),
                "{input}"
            );
        }
        assert_eq!(
            port("+80").unwrap_err().to_string(),
            "port \"+80\" is not known, 1 to 65535 or the name of a TCP service is accepted"
        );
    }

    #[test]
    fn sets_have_ports_ranges_and_services() {
        let set = PortSet::parse("80, 443,8000-8999 ,http-alt,ssh", SERVICES).unwrap();
        for (port, expected) in [
            (80, true),
            (81, false),
            (443, true),
            (7999, false),
            (8000, true),
            (8999, true),
            (9000, false),
            (22, true),
        ] {
            assert_eq!(set.contains(port), expected, "{port}");
        }
        assert!(!PortSet::default().contains(80));
    }

    #[test]
    fn a_part_that_is_no_port_is_named() {
        for (text, part) in [
            ("", "\"\""),
            ("80,", "\"\""),
            ("80,x", "\"x\""),
            ("0", "\"0\""),
            ("90-80", "\"90-80\""),
            ("1-65536", "\"1-65536\""),
            ("80 81", "\"80 81\""),
        ] {
            let error = PortSet::parse(text, SERVICES).unwrap_err().to_string();
            assert_eq!(error, format!("{part} is no port and no range of ports"));
        }
        let many = vec!["80"; 65].join(",");
        assert!(PortSet::parse(&many, SERVICES).is_err());
    }

    #[test]
    fn the_port_of_a_text_counts_only_where_it_is_allowed() {
        let own = Port::parse("8080", "").unwrap();
        let allowed = PortSet::parse("8000-8099", "").unwrap();
        let none = PortSet::default();
        for (in_text, of_call, allowed, expected) in [
            (None, None, &none, 8080),
            (Some("22"), None, &none, 8080),
            (Some("8080"), None, &none, 8080),
            (Some("8090"), None, &none, 8080),
            (Some("8090"), None, &allowed, 8090),
            (Some("22"), None, &allowed, 8080),
            (Some("8090"), Some("81"), &allowed, 81),
            (None, Some("81"), &none, 81),
        ] {
            let port = port_in_force(in_text, of_call, &own, allowed, "").map(|port| port.number);
            assert_eq!(port, Ok(expected), "{in_text:?} {of_call:?}");
        }
        for (in_text, of_call) in [(None, Some("x")), (Some("x"), None), (Some("0"), None)] {
            assert!(port_in_force(in_text, of_call, &own, &none, "").is_err());
        }
    }
}
