//! What the log says of a domain. The texts are an interface: operators watch
//! for them.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use crate::name::EndpointId;

/// How much an event matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Something changed.
    Change,
    /// Something is wrong.
    Error,
    /// Of use to those who look closely.
    Debug,
}

/// An event in the life of a domain. Its text is one line that is safe to log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A lookup gave no usable answer.
    LookupFailed {
        /// The host, where the domain has several.
        host: Option<Arc<str>>,
        /// The record type that was asked for.
        record: &'static str,
        /// The failure, and which servers did what.
        why: String,
    },
    /// An answer had more addresses than are taken.
    ExcessAddresses(usize),
    /// Records of a service that are left out.
    UnusableTargets(usize),
    /// The records of a service say that there are no targets.
    NotAvailable,
    /// An address that the whitelist does not match.
    Whitelist(EndpointId),
    /// An address that reaches no single host.
    NotAnEndpoint(IpAddr),
    /// An endpoint that is chosen from now on.
    Added(EndpointId, i64),
    /// An endpoint that is no longer in the answer, and is kept.
    Absent(EndpointId, u32),
    /// An endpoint that is in the answer again.
    Returned(EndpointId),
    /// An endpoint that is gone.
    Deleted(EndpointId),
    /// An endpoint for which the engine makes no backend.
    Refused(EndpointId, String),
    /// An answer that changed nothing.
    Unchanged,
}

impl Event {
    /// How much it matters.
    #[must_use]
    pub fn level(&self) -> Level {
        match self {
            Event::LookupFailed { .. }
            | Event::ExcessAddresses(_)
            | Event::UnusableTargets(_)
            | Event::Whitelist(_)
            | Event::NotAnEndpoint(_)
            | Event::Refused(..) => Level::Error,
            Event::NotAvailable
            | Event::Added(..)
            | Event::Absent(..)
            | Event::Returned(_)
            | Event::Deleted(_) => Level::Change,
            Event::Unchanged => Level::Debug,
        }
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Event::LookupFailed { host, record, why } => {
                f.write_str("lookup ")?;
                if let Some(host) = host {
                    write!(f, "{host} ")?;
                }
                write!(f, "{record} failed: {why}")
            }
            Event::ExcessAddresses(count) => write!(
                f,
                "{} left out",
                counted(
                    *count,
                    "address over the limit is",
                    "addresses over the limit are"
                )
            ),
            Event::UnusableTargets(count) => write!(
                f,
                "{} left out",
                counted(
                    *count,
                    "target cannot be used and is",
                    "targets cannot be used and are"
                )
            ),
            Event::NotAvailable => f.write_str("service not available: no targets"),
            Event::Whitelist(id) => write!(f, "whitelist mismatch {}:{}", id.address, id.port),
            Event::NotAnEndpoint(address) => {
                write!(f, "address {address} reaches no single host: dropped")
            }
            Event::Added(id, score) => write!(f, "add {id} score {score}"),
            Event::Absent(id, keep) => write!(
                f,
                "absent {id}: no longer in the answer, kept for {}",
                counted(*keep as usize, "update", "updates")
            ),
            Event::Returned(id) => write!(f, "return {id}"),
            Event::Deleted(id) => write!(f, "delete {id}"),
            Event::Refused(id, reason) => {
                write!(f, "no backend for {id}: {reason}")
            }
            Event::Unchanged => f.write_str("unchanged"),
        }
    }
}

fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}
