//! Round robin: each endpoint in its turn.
//!
//! Method. A set has a schedule of slots (0, 1, …, n − 1 where the weights
//! are equal, else that of `wrr_schedule`) and a count of turns. A request takes the
//! next turn `t` and looks at slot `t mod slots`; if the endpoint there cannot
//! be chosen the turn is used up and the next one is taken. So whatever
//! endpoints are sick, the others are chosen exactly as often as they have
//! slots, by any number of threads.
//!
//! With slow start, an endpoint with factor `f < 1` is passed over in its turn
//! unless output 0 of `SplitMix64` seeded with `t` is below `f × 2⁶⁴`; if all that could be chosen were passed over
//! the first of them is chosen.
//!
//! Requests that choose among some of the endpoints only (retries, groups), or
//! found nothing healthy that has room and choose among what is left, do
//! not touch the turns of the others; see [`random::draw`].
//!
//! Cost: O(1) while a good part of the endpoints is healthy, else one
//! walk over the set.

use super::EndpointState;
use super::eligibility::Eligibility;
use super::index_table::IndexTable;
use super::random;
use super::tier::EndpointSet;
use crate::random::{splitmix64, unit_f64};

/// Turns taken one by one before a walk is made to find a healthy endpoint.
const MAX_STEPS: usize = 4;
/// Walks made, each again because another thread took the turn that one found.
const MAX_WALKS: usize = 4;
/// A walk covers the whole schedule, or as many slots as there are
/// endpoints, or this many if that is more.
const MAX_WALK: usize = 1024;

/// The position of the endpoint whose turn it is.
pub(super) fn pick<S: EndpointState, E: Fn(usize) -> bool>(
    set: &EndpointSet,
    eligibility: &Eligibility<'_, S, E>,
) -> Option<usize> {
    if eligibility.restricted() || eligibility.in_later_pass() {
        return random::draw(set, eligibility, set.subset_cursor.weyl());
    }
    if let [only] = &*set.endpoints {
        return eligibility.accepts(only.index).then_some(0);
    }
    let schedule = set.wrr_schedule();
    let slots = schedule.map_or(set.len(), IndexTable::len);
    let mut passed_over = None;
    let mut look = |turn: u64| {
        #[allow(
            clippy::cast_possible_truncation,
            reason = "the remainder is less than a usize"
        )]
        let slot = (turn % slots as u64) as usize;
        let position = schedule.map_or(slot, |schedule| schedule.at(slot));
        let index = set.index(position);
        if !eligibility.accepts(index) {
            return None;
        }
        let factor = eligibility.factor(index);
        if factor < 1.0 && unit_f64(splitmix64(turn, 0)) >= factor {
            passed_over.get_or_insert(position);
            return None;
        }
        Some(position)
    };
    for _ in 0..MAX_STEPS {
        if let Some(position) = look(set.cursor.take()) {
            return Some(position);
        }
    }
    let span = slots.min(set.len().max(MAX_WALK));
    let mut found = None;
    for _ in 0..MAX_WALKS {
        let start = set.cursor.peek();
        let mut walk = (0..span as u64).map(|step| start.wrapping_add(step));
        let Some((turn, position)) = walk.find_map(|turn| Some((turn, look(turn)?))) else {
            break;
        };
        found = Some(position);
        if set.cursor.advance_to(turn) {
            break;
        }
    }
    if found.is_none() && span < slots {
        found = random::draw(set, eligibility, set.subset_cursor.weyl());
    }
    found.or(passed_over)
}
