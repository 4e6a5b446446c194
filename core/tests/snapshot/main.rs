//! The choice of an endpoint of a snapshot, seen from outside.
#![allow(
    clippy::unwrap_used,
    reason = "the functions that tests share count as tests"
)]

mod buckets;
mod precedence;
mod session;
mod sound;
mod weights;
mod world;
