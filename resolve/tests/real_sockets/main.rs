//! The resolver against real sockets and servers that fail on demand.

mod aliases;
mod failures;
mod files;
mod limits;
mod names;
mod proxy;
mod servers;
mod streams;
mod support;
#[cfg(feature = "tls")]
mod tls;
