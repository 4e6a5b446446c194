//! What goes into an update of a domain, and what comes out of it.

use std::collections::HashSet;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use crate::answer::Family;
use crate::event::Event;
use crate::membership::{Change, Rank};
use crate::name::EndpointId;
use crate::schedule::Timing;

/// What makes an endpoint of a domain this one and no other.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EndpointKey {
    /// The address.
    pub address: IpAddr,
    /// The port, 1 to 65535.
    pub port: u16,
    /// The host that it is an address of.
    pub host: Arc<str>,
}

impl EndpointKey {
    /// Its identity on all machines.
    #[must_use]
    pub fn id(&self) -> EndpointId {
        EndpointId {
            address: self.address,
            port: self.port,
        }
    }
}

/// An endpoint, with its rank and leaf.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Backend<L> {
    /// Which one it is.
    pub key: EndpointKey,
    /// Its place among the others.
    pub rank: Rank,
    /// The engine's backend for it.
    pub leaf: L,
}

/// What the shell knows of addresses.
pub trait AddressRules<A> {
    /// Whether an ACL matches an address.
    fn matches(&mut self, acl: &A, address: IpAddr) -> bool;
    /// Whether the whitelist lets an address pass.
    fn allows(&mut self, address: IpAddr) -> bool;
    /// The sum of the scores of all preferences that match an address.
    fn score(&mut self, address: IpAddr) -> i64;
}

/// The settings that decide about updates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UpdateRules {
    /// When a name is asked again.
    pub timing: Timing,
    /// Updates that an endpoint may miss before its leaf is deleted.
    pub keep: u32,
    /// The port of records that have none.
    pub port: u16,
    /// Whether requests name endpoints, by session keys or hash buckets.
    pub names_endpoints: bool,
}

/// When an answer came.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moment {
    /// Seconds since the epoch.
    pub now: f64,
    /// A number in 0 to 1 that spreads refreshes.
    pub jitter: f64,
}

/// What an answer says about which endpoints, for the question whether the
/// absence of one counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answered {
    /// Nothing: it failed.
    Nothing,
    /// The addresses of a host, in these families.
    Host {
        /// The host.
        host: Arc<str>,
        /// Whether the A query was answered.
        v4: bool,
        /// Whether the AAAA query was answered.
        v6: bool,
    },
    /// Which hosts and ports there are: all others are gone.
    Records(HashSet<(Arc<str>, u16)>),
}

impl Answered {
    pub(super) fn covers(&self, key: &EndpointKey) -> bool {
        match self {
            Answered::Nothing => false,
            Answered::Host { host, v4, v6 } => {
                key.host == *host
                    && match Family::of(key.address) {
                        Family::V4 => *v4,
                        Family::V6 => *v6,
                    }
            }
            Answered::Records(stand) => !stand.contains(&(Arc::clone(&key.host), key.port)),
        }
    }
}

/// What was learned from an answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Learned {
    /// When to ask the same again.
    pub after: Duration,
    /// Whether there are other sources to be asked than before.
    pub asks_others: bool,
    /// Whether something is known now that was not before.
    pub updated: bool,
    /// Whether a record type failed.
    pub failed: bool,
    /// For [`DomainState::update`].
    pub answered: Answered,
    /// What the log is to say at once.
    pub events: Vec<Event>,
}

/// What is to be done before an update can be published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Update {
    /// Endpoints that have no leaf yet.
    pub missing: Vec<EndpointKey>,
    /// What the log is to say at once.
    pub errors: Vec<Event>,
    pub(super) change: Change<EndpointKey>,
}

/// What [`DomainState::update`] comes to.
#[derive(Clone, Debug, PartialEq)]
pub enum Progress {
    /// Further answers are gathered first: call it again at this time.
    Gathering {
        /// Seconds since the epoch.
        until: f64,
    },
    /// Everything in force stays as it is.
    Unchanged {
        /// What the log is to say at once.
        errors: Vec<Event>,
    },
    /// Leaves are to be made; then call [`DomainState::publish`].
    Changed(Update),
}

/// What the shell has to do with an update.
#[derive(Clone, Debug, PartialEq)]
pub struct Step<L> {
    /// The endpoints that are to be in force, in the order of their
    /// identities. `None`: what is in force stays, and requests that wait go
    /// on waiting.
    pub publish: Option<Vec<Backend<L>>>,
    /// When to try again to make leaves that are missing.
    pub retry_at: Option<f64>,
    /// What the log is to say once it is in force.
    pub events: Vec<Event>,
}
