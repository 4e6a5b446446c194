//! From answers to published endpoints, seen from outside.
#![allow(
    clippy::unwrap_used,
    reason = "the functions that tests share count as tests"
)]

mod agenda;
mod events;
mod gathering;
mod properties;
mod services;
mod targets;
mod update;
mod world;
