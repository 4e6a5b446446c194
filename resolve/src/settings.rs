//! What a `resolver` object says.

use std::time::Duration;

use crate::name_server::NameServer;

/// How to ask a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Transport {
    /// Datagrams; an answer that did not fit is asked for again over TCP.
    Udp,
    /// A connection for all questions.
    Tcp,
    /// A connection for all questions, encrypted (RFC 7858). The certificate
    /// must have the server's `#name`, else its address.
    Tls,
}

/// Where to look for a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Namespace {
    /// The servers.
    Dns,
    /// The hosts file.
    LocalNames,
}

/// What a `resolver` object says. Lookups with equal settings are
/// interchangeable.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Settings {
    /// Take what is not set here from `resolv.conf`: servers, search list,
    /// ndots, timeout, attempts, `rotate` and `use-vc`. Without it there are
    /// no servers but [`nameservers`](Self::nameservers), no search list, and
    /// ndots is 1, the timeout 5 s and attempts 2.
    pub from_os: bool,
    /// The servers, asked in this order; take the place of the system's.
    pub nameservers: Vec<NameServer>,
    /// The search list in canonical form
    /// ([`search_domain`](crate::search_domain)); takes the
    /// place of the system's.
    pub search: Vec<String>,
    /// The transports, the first one first; the next one is used where a
    /// server does not answer over the one before. TCP right behind UDP is
    /// the TCP that UDP uses anyway. None: UDP and TCP, or TCP alone where
    /// [`from_os`](Self::from_os) and the system's `use-vc` say so.
    ///
    /// A server with a `#name` is asked over TLS alone where TLS is not in
    /// the list.
    pub transports: Vec<Transport>,
    /// Where to look, the first one first; the next one is used where the one
    /// before does not have the name. None: as `nsswitch.conf` says with
    /// [`from_os`](Self::from_os), else the hosts file and then the servers.
    pub namespaces: Vec<Namespace>,
    /// How long a lookup may take in all. None: attempts × timeout for each
    /// name that is tried.
    pub timeout: Option<Duration>,
    /// How long a connection without questions stays open; 0: not at all.
    /// Default 30 s.
    pub idle_timeout: Option<Duration>,
    /// How many questions may be under way; further ones wait. 0: 256.
    pub outstanding: usize,
    /// How many lookups may be under way; further ones wait. 0: no limit.
    pub parallel: usize,
    /// Follow aliases (CNAME). Otherwise a name that is one has no data.
    pub follow_redirects: bool,
}

/// The system's resolver.
impl Default for Settings {
    fn default() -> Self {
        Self {
            from_os: true,
            nameservers: Vec::new(),
            search: Vec::new(),
            transports: Vec::new(),
            namespaces: Vec::new(),
            timeout: None,
            idle_timeout: None,
            outstanding: 0,
            parallel: 0,
            follow_redirects: true,
        }
    }
}
