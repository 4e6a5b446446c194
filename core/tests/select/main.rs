//! Choosing an endpoint, seen from outside.

mod balance;
mod hash;
mod least;
mod random;
mod round_robin;
mod slow_start;
mod sound;
mod tiers;
mod world;
