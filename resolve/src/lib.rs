//! Answers one question at a time: the hosts file, the search list, and DNS
//! over UDP, TCP and TLS.
//!
//! It keeps no answers and has no schedule: when to ask again is the caller's.
//! The rules (what the files say, the search list, what a failure is) are
//! `dynamic_core`'s; the protocol and its sockets are hickory's; between them,
//! this crate decides which server is asked when, and for how long.
#![forbid(unsafe_code)]

mod fault;
mod files;
mod message;
mod plan;
pub mod regular_file;
mod resolver;
mod server;
mod servers;
mod settings;
mod slots;
mod sockets;
mod stream;
#[cfg(feature = "tls")]
mod tls;

pub use fault::Fault;
pub use files::SystemFiles;
pub use resolver::{Lookup, Resolver};
pub use settings::{Namespace, Settings, Transport};

/// Whether this build can do DNS over TLS ([`Transport::Tls`]).
pub const HAS_TLS: bool = cfg!(feature = "tls");
