//! The rules of `vmod_dynamic`, as data in and data out.
//!
//! This crate opens no socket, reads no clock, draws no random number and
//! knows no engine: time, randomness and the health of an endpoint are
//! arguments. What it decides, the shell (the `vmod_dynamic` crate) performs.
#![forbid(unsafe_code)]

pub mod address;
pub mod agenda;
pub mod answer;
pub mod buckets;
pub mod domain;
pub mod event;
pub mod instance;
pub mod membership;
pub mod name;
pub mod port;
pub mod random;
pub mod schedule;
pub mod select;
pub mod session;
pub mod settings;
pub mod snapshot;
pub mod targets;
