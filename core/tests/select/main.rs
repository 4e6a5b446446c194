//! Choosing an endpoint, seen from outside.
#![allow(
    clippy::unwrap_used,
    reason = "the functions that tests share count as tests"
)]

mod balance;
mod full;
mod hash;
mod host;
mod least;
mod power_of_two;
mod random;
mod round_robin;
mod slow_start;
mod sound;
mod tiers;
mod world;
