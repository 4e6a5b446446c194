//! A scripted DNS server for tests and demonstrations.
//!
//! It answers on UDP and TCP from a zone that commands change while it runs, fails on
//! demand in the ways that real servers fail, sends malformed messages on purpose, and
//! counts what it was asked. It is no server for production: no zone transfer, no DNSSEC, no
//! access control.
//!
//! ```
//! use testdns::Server;
//!
//! let server = Server::start(&["127.0.0.1:0".parse()?])?;
//! server.command("set a.test A 127.0.0.1 127.0.0.2 ttl=5")?;
//! server.command("fail b.test servfail")?;
//! println!("ask {}", server.addr());
//! assert_eq!(server.command("count a.test")?, "0");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Control socket
//!
//! [`Server::control`] takes commands on a Unix socket, [`control::Client`] gives them. A command
//! is one line; its reply is the line `ok N` or `error N` and then N lines of text.
//!
//! # Commands
//!
//! ```text
#![doc = include_str!("commands.txt")]
//! ```
#![forbid(unsafe_code)]

mod answer;
mod command;
pub mod control;
mod count;
mod dump;
mod error;
mod fault;
mod message;
mod name;
mod pattern;
mod record;
mod rule;
mod server;
mod socket;
mod transport;
mod word;
mod zone;

pub use error::{CommandError, StartError};
pub use server::Server;

/// The commands and their grammar, as text for a terminal.
pub const COMMANDS: &str = include_str!("commands.txt");
