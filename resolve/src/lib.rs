//! A stub resolver: the hosts file, the search list, and DNS over UDP, TCP and
//! TLS.
//!
//! It keeps no answers and has no schedule: when to ask again is the caller's
//! decision. Its parts, from the top: [`Resolver`] takes a name through the
//! hosts file and the search list; the servers of a plan are asked in their
//! order; each server has its sockets and connections.
//!
//! It is built on hickory-proto (messages) and hickory-net (sockets), not on
//! hickory-resolver, whose lookups do not give what is needed here: an answer
//! for each address family with its own failure, the server that failed and
//! why, one deadline for all candidates of the search list, a plain question
//! for servers that reject EDNS, connected UDP sockets that see a closed port,
//! and servers with a zone id or a name for TLS.
#![forbid(unsafe_code)]

mod dns_lookup;
mod edns;
mod fault;
mod files;
mod host;
mod hosts;
mod message;
mod name_server;
mod nsswitch;
mod plan;
pub mod regular_file;
mod report;
mod resolv_conf;
mod resolver;
mod search;
mod server;
mod servers;
mod settings;
mod slots;
mod sockets;
mod stream;
#[cfg(feature = "tls")]
mod tls;

pub use fault::ServerFault;
pub use files::SystemFiles;
pub use host::{Families, HostAnswers, HostLookup, HostQuery};
pub use name_server::{NameServer, NameServerError};
pub use report::{Lookup, Report};
pub use resolv_conf::{Environment, search_domain};
pub use resolver::Resolver;
pub use settings::{Namespace, Settings, Transport};

/// Whether this build can do DNS over TLS ([`Transport::Tls`]).
pub const HAS_TLS: bool = cfg!(feature = "tls");
