//! Least: the endpoint with the fewest requests under way for its weight.
//!
//! Method. The load of an endpoint is `(in_flight / factor + 1) / weight`, where
//! the factor is that of slow start: what it would be with this request, those under
//! way counting more while the endpoint is new. The endpoint with the least
//! load is chosen; of several, the first one in order of identity after the one that
//! was chosen last, round the set.
//!
//! An endpoint with a factor below 1 is passed over with the rest of the
//! probability, by a random number. So with light traffic, when most are idle and loads
//! say little, it gets a part of its turns too. If all that could be chosen are
//! passed over, the least loaded of them is chosen.
//!
//! Cost: one walk over the set, O(n), which ends early at an endpoint that
//! cannot be beaten (an idle one of the greatest weight).

use super::EndpointState;
use super::eligibility::Eligibility;
use super::tier::EndpointSet;
use crate::random::{reduce, unit_f64};

/// Walks made, the last one because another thread took the turn that one found.
const MAX_WALKS: usize = 2;

/// The position of the least loaded endpoint.
#[allow(
    clippy::cast_possible_truncation,
    reason = "starts are less than the number of endpoints"
)]
pub(super) fn pick<S: EndpointState, E: Fn(usize) -> bool>(
    set: &EndpointSet,
    eligibility: &Eligibility<'_, S, E>,
) -> Option<usize> {
    let n = set.len() as u64;
    if eligibility.restricted() {
        let start = reduce(set.subset_cursor.weyl(), n) as usize;
        return from(set, eligibility, start).map(|(_, position)| position);
    }
    let mut found = None;
    for _ in 0..MAX_WALKS {
        let turn = set.cursor.peek();
        let (steps, position) = from(set, eligibility, (turn % n) as usize)?;
        found = Some(position);
        if set.cursor.advance_to(turn.wrapping_add(steps)) {
            break;
        }
    }
    found
}

/// The load of an endpoint with one more request: a quotient.
#[derive(Clone, Copy, Debug)]
pub(super) struct Load {
    flight: f64,
    weight: f64,
}

impl Load {
    pub(super) fn of(weight: u32, in_flight: u32, factor: f64) -> Self {
        Load {
            flight: f64::from(in_flight) / factor + 1.0,
            weight: f64::from(weight),
        }
    }

    /// By products instead of quotients: these are exact up to 2^53.
    pub(super) fn is_less_than(self, other: Load) -> bool {
        self.flight * other.weight < other.flight * self.weight
    }

    /// Whether no endpoint up to the weight `heaviest` can have less.
    fn is_least(self, heaviest: f64) -> bool {
        self.flight * heaviest <= self.weight
    }
}

/// The least loaded, looked for from position `start` on, and how many steps
/// on from there it was.
fn from<S: EndpointState, E: Fn(usize) -> bool>(
    set: &EndpointSet,
    eligibility: &Eligibility<'_, S, E>,
    start: usize,
) -> Option<(u64, usize)> {
    type Found = Option<(Load, u64, usize)>;
    let less = |load: Load, than: &Found| than.is_none_or(|(least, ..)| load.is_less_than(least));
    let heaviest = f64::from(set.heaviest);
    let endpoints = set.endpoints.iter().enumerate();
    let round = endpoints.clone().skip(start).chain(endpoints.take(start));
    let (mut least, mut passed_over): (Found, Found) = (None, None);
    for (step, (position, endpoint)) in (0u64..).zip(round) {
        let index = endpoint.index;
        if !eligibility.accepts(index) {
            continue;
        }
        let factor = eligibility.factor(index);
        let load = Load::of(endpoint.share(), eligibility.state.in_flight(index), factor);
        if factor < 1.0 && unit_f64(eligibility.state.random()) >= factor {
            if less(load, &passed_over) {
                passed_over = Some((load, step, position));
            }
            continue;
        }
        if less(load, &least) {
            least = Some((load, step, position));
        }
        if load.is_least(heaviest) {
            break;
        }
    }
    least
        .or(passed_over)
        .map(|(_, step, position)| (step, position))
}
