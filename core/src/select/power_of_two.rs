//! The power of two choices: of two endpoints drawn at random, the less loaded.
//!
//! Source: Mitzenmacher, "The power of two choices in randomized load balancing",
//! IEEE Transactions on Parallel and Distributed Systems 12 (2001).
//!
//! Method. Two endpoints are drawn as `random` draws them, so in proportion to the
//! weights and with slow start; the second is drawn again up to
//! [`MAX_TRIES`] times while it is the first. The second is chosen if its load, as
//! `least` defines it, is less than that of the first. When loads are equal, shares
//! are those of the weights.
//!
//! Cost: that of two to four random draws, O(1) while a good part of the endpoints is
//! healthy.

use super::eligibility::Eligibility;
use super::least::Load;
use super::tier::EndpointSet;
use super::{EndpointState, random};

/// Draws of the second endpoint.
const MAX_TRIES: usize = 3;

/// The position of the less loaded of two.
pub(super) fn pick<S: EndpointState, E: Fn(usize) -> bool>(
    set: &EndpointSet,
    eligibility: &Eligibility<'_, S, E>,
) -> Option<usize> {
    let first = random::pick(set, eligibility)?;
    if set.len() == 1 {
        return Some(first);
    }
    let second = (0..MAX_TRIES)
        .filter_map(|_| random::pick(set, eligibility))
        .find(|second| *second != first);
    let load = |position: usize| {
        let endpoint = set.endpoints[position];
        Load::of(
            endpoint.share(),
            eligibility.state.in_flight(endpoint.index),
            eligibility.factor(endpoint.index),
        )
    };
    Some(match second {
        Some(second) if load(second).is_less_than(load(first)) => second,
        _ => first,
    })
}
