//! The resolver's configuration (resolv.conf(5)).

use std::net::IpAddr;
use std::time::Duration;

use dynamic_core::name::{self, Excerpt, Host, NameError};

use crate::name_server::NameServer;

/// How many name servers of a file count, as in the C library.
pub(crate) const MAX_SERVERS: usize = 3;

/// How many domains of a file's search list count.
pub(crate) const MAX_SEARCH: usize = 32;

/// The limits of the C library for `ndots`, `timeout` and `attempts`.
const MAX_NDOTS: u8 = 15;
const MAX_TIMEOUT: u8 = 30;
const MAX_ATTEMPTS: u8 = 5;

/// What a resolver configuration says, within the C library's limits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ResolvConf {
    /// The servers, in the order in which they are asked: one to
    /// [`MAX_SERVERS`].
    pub(crate) servers: Vec<NameServer>,
    /// The search list, in canonical form, at most [`MAX_SEARCH`] domains. The
    /// root is an empty string.
    pub(crate) search: Vec<String>,
    /// A name with at least this many dots is first tried as it is; 0 to 15,
    /// default 1.
    pub(crate) ndots: u8,
    /// How long to wait for one server, 1 to 30 s, default 5 s.
    pub(crate) timeout: Duration,
    /// How often to ask all servers, 1 to 5, default 2.
    pub(crate) attempts: u8,
    /// Ask the servers in turn instead of always the first one first.
    pub(crate) rotate: bool,
    /// Ask over TCP only.
    pub(crate) use_vc: bool,
    /// Do not ask for IPv6 addresses.
    pub(crate) no_aaaa: bool,
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
            no_aaaa: false,
        }
    }
}

/// What environment variables say about the resolver.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment {
    /// `LOCALDOMAIN`: domains of the search list, with blanks between them.
    pub local_domain: Option<String>,
    /// `RES_OPTIONS`: options as in `resolv.conf`, with blanks between them.
    pub options: Option<String>,
}

impl Environment {
    /// The variables of this process.
    #[must_use]
    pub fn of_process() -> Self {
        Self {
            local_domain: std::env::var("LOCALDOMAIN").ok(),
            options: std::env::var("RES_OPTIONS").ok(),
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
    pub(crate) fn parse(text: &str) -> Self {
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

    /// Applies the environment variables of the C library: a search list
    /// (`LOCALDOMAIN`) that takes the place of the file's, and options
    /// (`RES_OPTIONS`) on top of the file's.
    #[must_use]
    pub(crate) fn with_environment(mut self, environment: &Environment) -> Self {
        if let Some(domains) = &environment.local_domain {
            self.set_search(domains.split_ascii_whitespace());
        }
        if let Some(options) = &environment.options {
            for option in options.split_ascii_whitespace() {
                self.set_option(option);
            }
        }
        self
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
            ("no-aaaa", None) => self.no_aaaa = true,
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

#[cfg(test)]
mod tests;
