//! Least: the endpoint with the fewest requests under way for its weight.
//!
//! Method. The load of an endpoint is `(in_flight + 1) / (weight × factor)`, where
//! the factor is that of slow start: what it would be with this request.
//! The endpoint with the least load is chosen; of several, the first one in
//! order of identity after the one that was chosen last, round the set.
//!
//! Cost: one walk over the set, O(n), which ends early at an endpoint that
//! cannot be beaten (an idle one of the greatest weight).

use super::EndpointState;
use super::eligibility::Eligibility;
use super::tier::EndpointSet;
use crate::random::reduce;

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

/// The least loaded, looked for from position `start` on, and how many steps
/// on from there it was.
fn from<S: EndpointState, E: Fn(usize) -> bool>(
    set: &EndpointSet,
    eligibility: &Eligibility<'_, S, E>,
    start: usize,
) -> Option<(u64, usize)> {
    let heaviest = f64::from(set.heaviest);
    let endpoints = set.endpoints.iter().enumerate();
    let round = endpoints.clone().skip(start).chain(endpoints.take(start));
    let mut least = None;
    let (mut least_flight, mut least_share) = (f64::INFINITY, 1.0);
    for (step, (position, endpoint)) in (0u64..).zip(round) {
        let index = endpoint.index;
        if !eligibility.accepts(index) {
            continue;
        }
        let flight = f64::from(eligibility.state.in_flight(index)) + 1.0;
        let share = f64::from(endpoint.share()) * eligibility.factor(index);
        // Products instead of quotients: these are exact up to 2^53.
        if least.is_none() || flight * least_share < least_flight * share {
            least = Some((step, position));
            (least_flight, least_share) = (flight, share);
        }
        if flight * heaviest <= share {
            break;
        }
    }
    least
}
