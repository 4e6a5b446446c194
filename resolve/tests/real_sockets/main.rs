//! The resolver against real sockets and servers that fail on demand.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a step that fails fails its test"
)]

mod aliases;
mod datagrams;
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
