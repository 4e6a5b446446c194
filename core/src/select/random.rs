//! Random: each endpoint with a probability in proportion to its weight.
//!
//! Method. A random number `r` in `0..2⁶⁴` stands for the endpoint in which
//! `floor(r × total / 2⁶⁴)` falls when the weights are laid end to end in order of
//! identity. If it cannot be chosen (or, with slow start, a second number in
//! `[0, 1)` is not below its factor) another is drawn, at most [`MAX_TRIES`]
//! times; then [`draw`] decides among those that can. Each step keeps the
//! proportions, so the whole does.
//!
//! Cost: O(log n) while a good part of the endpoints is healthy (O(1)
//! where the weights are equal), else two walks over the set.

use super::EndpointState;
use super::eligibility::Eligibility;
use super::tier::EndpointSet;
use crate::random::{reduce, unit_f64};

/// Draws among all endpoints before the healthy ones are counted.
const MAX_TRIES: usize = 4;

/// The position of an endpoint drawn at random.
pub(super) fn pick<S: EndpointState, E: Fn(usize) -> bool>(
    set: &EndpointSet,
    eligibility: &Eligibility<'_, S, E>,
) -> Option<usize> {
    for _ in 0..MAX_TRIES {
        let position = at(set, eligibility.state.random());
        let index = set.index(position);
        if !eligibility.accepts(index) {
            continue;
        }
        let factor = eligibility.factor(index);
        if factor >= 1.0 || unit_f64(eligibility.state.random()) < factor {
            return Some(position);
        }
    }
    draw(set, eligibility, eligibility.state.random())
}

/// The position that a random number stands for.
fn at(set: &EndpointSet, random: u64) -> usize {
    if set.even {
        #[allow(
            clippy::cast_possible_truncation,
            reason = "the number is less than a usize"
        )]
        let position = reduce(random, set.len() as u64) as usize;
        return position;
    }
    let point = reduce(random, set.total);
    set.cumulative_weights()
        .partition_point(|&sum| sum <= point)
}

/// The position of the endpoint in which `point`, of 2⁶⁴, falls when the
/// weights of those that can be chosen, times their factors, are laid end to
/// end in order of identity. Random points give random choices; the evenly
/// spread ones of [`Cursor::weyl`](super::tier::Cursor::weyl) give turns.
pub(super) fn draw<S: EndpointState, E: Fn(usize) -> bool>(
    set: &EndpointSet,
    eligibility: &Eligibility<'_, S, E>,
    point: u64,
) -> Option<usize> {
    let accepted = || {
        let endpoints = set.endpoints.iter().enumerate();
        endpoints.filter(|(_, endpoint)| eligibility.accepts(endpoint.index))
    };
    let mut last = None;
    let mut total = 0.0;
    for (position, endpoint) in accepted() {
        total += f64::from(endpoint.share()) * eligibility.factor(endpoint.index);
        last = Some(position);
    }
    // Health may change between the two walks: then the last one seen serves.
    last?;
    let mut left = total * unit_f64(point);
    for (position, endpoint) in accepted() {
        left -= f64::from(endpoint.share()) * eligibility.factor(endpoint.index);
        if left < 0.0 {
            return Some(position);
        }
        last = Some(position);
    }
    last
}
