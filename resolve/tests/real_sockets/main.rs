//! The resolver against real sockets and servers that fail on demand.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a step that fails fails its test"
)]

mod aliases;
mod datagrams;
mod failures;
mod families;
mod files;
mod limits;
mod names;
mod proxy;
mod search;
mod servers;
mod streams;
mod support;
#[cfg(feature = "tls")]
mod tls;
