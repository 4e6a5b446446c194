//! The resolver's configuration (resolv.conf(5)), and name servers as VCL
//! writes them.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use thiserror::Error;

use crate::name::{self, Excerpt, Host, NameError};

/// How many name servers of a file count, as in the C library.
pub const MAX_SERVERS: usize = 3;

/// How many domains of a file's search list count.
pub const MAX_SEARCH: usize = 32;

/// The limits of the C library for `ndots`, `timeout` and `attempts`.
const MAX_NDOTS: u8 = 15;
const MAX_TIMEOUT: u8 = 30;
const MAX_ATTEMPTS: u8 = 5;

/// A server to ask.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NameServer {
    /// Its address.
    pub address: IpAddr,
    /// The zone of a link-local IPv6 address: the name or number of an
    /// interface, as written.
    pub zone: Option<String>,
    /// Its port, 1 to 65535. `None` is the transport's: 53, or 853 for TLS.
    pub port: Option<u16>,
    /// The name, or address, that the server's certificate must have.
    pub tls_name: Option<String>,
}

impl From<IpAddr> for NameServer {
    fn from(address: IpAddr) -> Self {
        Self {
            address,
            zone: None,
            port: None,
            tls_name: None,
        }
    }
}

/// A text that is no name server. Its own text is one line that is safe to
/// log.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NameServerError {
    /// Not an IP address.
    #[error(
        "name server {0} has no IP address: \"192.0.2.53\", \"192.0.2.53:5353\", \"::1\" and \
         \"[::1]:5353\" are accepted, each with \"#name\" for TLS"
    )]
    Address(Excerpt),
    /// A port that is no number from 1 to 65535.
    #[error("name server {0} has a bad port: 1 to 65535 is accepted")]
    Port(Excerpt),
    /// A zone id that is empty, or belongs to an IPv4 address.
    #[error("name server {0} has a bad zone id: \"fe80::1%eth0\" is accepted")]
    Zone(Excerpt),
    /// Not a host name behind the `#`.
    #[error("name server {0} has a bad name for TLS: {1}")]
    TlsName(Excerpt, NameError),
}

impl NameServer {
    /// Reads `address`, `v4:port` or `[v6]:port`, each with `#name` for TLS.
    /// IPv6 addresses may have a zone id, `%zone`.
    ///
    /// # Errors
    ///
    /// [`NameServerError`] names the text and its first bad part.
    pub fn parse(text: &str) -> Result<Self, NameServerError> {
        let excerpt = || Excerpt::new(text.as_bytes());
        let (endpoint, tls_name) = match text.split_once('#') {
            Some((endpoint, name)) => {
                let host =
                    tls_host(name).map_err(|error| NameServerError::TlsName(excerpt(), error))?;
                (endpoint, Some(host.to_string()))
            }
            None => (text, None),
        };
        let (address, port) =
            split_port(endpoint).ok_or_else(|| NameServerError::Address(excerpt()))?;
        let (address, zone) = match address.split_once('%') {
            Some((address, zone)) => (address, Some(zone)),
            None => (address, None),
        };
        let address: IpAddr = address
            .parse()
            .map_err(|_| NameServerError::Address(excerpt()))?;
        if zone.is_some_and(|zone| !is_zone(address, zone)) {
            return Err(NameServerError::Zone(excerpt()));
        }
        let port = match port {
            Some(port) => Some(port_number(port).ok_or_else(|| NameServerError::Port(excerpt()))?),
            None => None,
        };
        Ok(Self {
            address,
            zone: zone.map(str::to_owned),
            port,
            tls_name,
        })
    }

    /// Where to connect to, with the transport's port where there is none.
    /// The zone has yet to be applied.
    #[must_use]
    pub fn socket_address(&self, transport_port: u16) -> SocketAddr {
        SocketAddr::new(self.address, self.port.unwrap_or(transport_port))
    }
}

fn tls_host(name: &str) -> Result<Host, NameError> {
    let target = name::parse(name.as_bytes())?;
    if target.port.is_some() {
        return Err(NameError {
            input: Excerpt::new(name.as_bytes()),
            flaw: name::Flaw::Octet(b':'),
        });
    }
    Ok(target.host)
}

/// Splits `[address]:port`, `[address]`, `v4:port` and `address`.
fn split_port(endpoint: &str) -> Option<(&str, Option<&str>)> {
    if let Some(rest) = endpoint.strip_prefix('[') {
        let (address, rest) = rest.split_once(']')?;
        return match rest {
            "" => Some((address, None)),
            _ => Some((address, Some(rest.strip_prefix(':')?))),
        };
    }
    match endpoint.split_once(':') {
        Some((address, port)) if !port.contains(':') => Some((address, Some(port))),
        _ => Some((endpoint, None)),
    }
}

fn port_number(port: &str) -> Option<u16> {
    // The standard parser takes a plus sign too.
    if !port.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    port.parse().ok().filter(|number| *number != 0)
}

fn is_zone(address: IpAddr, zone: &str) -> bool {
    address.is_ipv6() && !zone.is_empty() && zone.bytes().all(|byte| byte.is_ascii_graphic())
}

/// What a resolver configuration says, within the C library's limits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvConf {
    /// The servers, in the order in which they are asked: one to
    /// [`MAX_SERVERS`].
    pub servers: Vec<NameServer>,
    /// The search list, in canonical form, at most [`MAX_SEARCH`] domains. The
    /// root is an empty string.
    pub search: Vec<String>,
    /// A name with at least this many dots is first tried as it is; 0 to 15,
    /// default 1.
    pub ndots: u8,
    /// How long to wait for one server, 1 to 30 s, default 5 s.
    pub timeout: Duration,
    /// How often to ask all servers, 1 to 5, default 2.
    pub attempts: u8,
    /// Ask the servers in turn instead of always the first one first.
    pub rotate: bool,
    /// Ask over TCP only.
    pub use_vc: bool,
}

/// The configuration of a machine without a file: a server on the machine
/// itself.
impl Default for ResolvConf {
    fn default() -> Self {
        Self {
            servers: vec![local_server()],
            search: Vec::new(),
            ndots: 1,
            timeout: Duration::from_secs(5),
            attempts: 2,
            rotate: false,
            use_vc: false,
        }
    }
}

fn local_server() -> NameServer {
    IpAddr::V4(std::net::Ipv4Addr::LOCALHOST).into()
}

impl ResolvConf {
    /// Reads the text of a `resolv.conf` file.
    ///
    /// Nothing in it is an error: what cannot be read is passed over, and a
    /// number out of range becomes the nearest that is in range. As in the C
    /// library, a keyword starts its line, the last of `search` and `domain`
    /// counts, and no `nameserver` means a server at 127.0.0.1. Without
    /// `search` and `domain` the list is empty; the machine's own domain is
    /// not looked for.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let mut conf = Self {
            servers: Vec::new(),
            ..Self::default()
        };
        for line in text.lines() {
            if line.starts_with([' ', '\t', '#', ';']) {
                continue;
            }
            let mut words = line
                .split_ascii_whitespace()
                .take_while(|word| !word.starts_with(['#', ';']));
            match words.next() {
                Some("nameserver") => conf.add_server(words.next()),
                Some("domain") => conf.set_search(words.take(1)),
                Some("search") => conf.set_search(words),
                Some("options") => words.for_each(|option| conf.set_option(option)),
                _ => {}
            }
        }
        if conf.servers.is_empty() {
            conf.servers.push(local_server());
        }
        conf
    }

    fn add_server(&mut self, word: Option<&str>) {
        // A comment may follow at once, and is no name for TLS here.
        let server = word
            .and_then(|word| word.split(['#', ';']).next())
            .map(NameServer::parse);
        if let Some(Ok(server)) = server
            && self.servers.len() < MAX_SERVERS
        {
            self.servers.push(server);
        }
    }

    fn set_search<'a>(&mut self, words: impl Iterator<Item = &'a str>) {
        let mut words = words.peekable();
        if words.peek().is_some() {
            self.search = words
                .filter_map(|word| search_domain(word).ok())
                .take(MAX_SEARCH)
                .collect();
        }
    }

    fn set_option(&mut self, option: &str) {
        let (keyword, value) = match option.split_once(':') {
            Some((keyword, value)) => (keyword, bounded(value)),
            None => (option, None),
        };
        match (keyword, value) {
            ("ndots", Some(value)) => self.ndots = value.min(MAX_NDOTS),
            ("timeout", Some(value)) => {
                self.timeout = Duration::from_secs(value.clamp(1, MAX_TIMEOUT).into());
            }
            ("attempts", Some(value)) => self.attempts = value.clamp(1, MAX_ATTEMPTS),
            ("rotate", None) => self.rotate = true,
            ("use-vc", None) => self.use_vc = true,
            // `edns0`, `trust-ad` and the like say nothing about names.
            _ => {}
        }
    }
}

/// The number, or 255 for a larger one; all limits are below.
fn bounded(value: &str) -> Option<u8> {
    let digits = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| value.parse().unwrap_or(u8::MAX))
}

/// Reads one domain of a search list into its canonical form; `.` is the root,
/// an empty string.
///
/// # Errors
///
/// [`NameError`] where it is no name.
pub fn search_domain(text: &str) -> Result<String, NameError> {
    if text == "." {
        return Ok(String::new());
    }
    let error = |flaw| NameError {
        input: Excerpt::new(text.as_bytes()),
        flaw,
    };
    match name::parse(text.as_bytes())? {
        name::Target { port: Some(_), .. } => Err(error(name::Flaw::Octet(b':'))),
        name::Target {
            host: Host::Ip(_), ..
        } => Err(error(name::Flaw::Address)),
        name::Target {
            host: Host::Dns(domain),
            ..
        } => Ok(domain),
    }
}
