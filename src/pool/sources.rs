//! Where a name's addresses come from.

use std::net::IpAddr;
use std::sync::Arc;

use dynamic_core::name::Host;
use dynamic_core::schedule::LastGood;

/// The identity of a source within its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct SourceId(pub(super) u64);

/// What has to be asked for a source.
#[derive(Clone, Debug)]
pub(crate) enum Ask {
    /// Nothing: the address is given.
    Address(IpAddr),
    /// The addresses of a host name.
    Host {
        /// Canonical form.
        name: String,
        /// Written with a trailing dot: no search list.
        rooted: bool,
    },
}

/// A host whose addresses become endpoints.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    /// As the lists show it.
    pub(super) host: Arc<str>,
    ask: Ask,
    /// The port of its endpoints.
    pub(super) port: u16,
    pub(super) priority: u32,
    pub(super) weight: u32,
    /// Its addresses, as last learned.
    pub(super) good: LastGood,
}

impl Source {
    /// A host by itself.
    pub(crate) fn new(host: &Host, rooted: bool, port: u16) -> Self {
        let ask = match host {
            Host::Ip(address) => Ask::Address(*address),
            Host::Dns(name) => Ask::Host { name: name.clone(), rooted },
        };
        Source {
            host: host.to_string().into(),
            ask,
            port,
            priority: 0,
            weight: 1,
            good: LastGood::default(),
        }
    }

    pub(crate) fn ask(&self) -> &Ask {
        &self.ask
    }
}
