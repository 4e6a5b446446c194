//! The server from outside: real sockets on loopback, and the program.
//!
//! That something is *not* answered shows by order, not by time: the next question's answer
//! comes on the same socket, and the answer in question has not come before it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "clippy.toml allows these in test functions; here the functions around them are meant too"
)]

mod client;

mod behaviours;
mod counts;
mod failures;
mod outages;
mod program;
mod records;
mod robustness;
