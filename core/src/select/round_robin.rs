//! Round robin: each endpoint in its turn.
//!
//! Method. A pool has a wheel of slots (0, 1, …, n − 1 where the weights
//! are equal, else that of `wheel`) and a count of turns. A request takes the
//! next turn `t` and looks at slot `t mod slots`; if the endpoint there cannot
//! be chosen the turn is used up and the next one is taken. So whatever
//! endpoints are sick, the others are chosen exactly as often as they have
//! slots, by any number of threads.
//!
//! With slow start, an endpoint with factor `f < 1` is passed over in its turn
//! unless `SplitMix64(t) < f × 2⁶⁴`; if all that could be chosen were passed over
//! the first of them is chosen.
//!
//! Requests that choose among some of the endpoints only (retries, groups) do
//! not touch the turns of the others; see [`random::draw`].
//!
//! Cost: O(1) while a good part of the endpoints is healthy, else one
//! walk over the pool.

use super::gate::Gate;
use super::pool::Pool;
use super::{Live, hash, random};

/// Turns taken one by one before a walk is made to find a healthy endpoint.
const STEPS: usize = 4;
/// Walks made again because another thread took the turn that one found.
const CLAIMS: usize = 4;
/// A walk covers the whole wheel, or as many slots as there are
/// endpoints, or this many if that is more.
const WALK: u64 = 1024;

/// The position of the endpoint whose turn it is.
pub(super) fn pick<L: Live, E: Fn(usize) -> bool>(
    pool: &Pool,
    gate: &Gate<'_, L, E>,
) -> Option<usize> {
    if gate.partial() {
        return random::draw(pool, gate, pool.detour.spread());
    }
    if let [only] = &*pool.seats {
        return gate.open(only.index()).then_some(0);
    }
    let wheel = pool.wheel();
    let slots = wheel.map_or(pool.len(), |w| w.len() as u64).max(1);
    let mut refused = None;
    let mut look = |turn: u64| {
        let slot = turn % slots;
        let position = match wheel {
            None => usize::try_from(slot).ok()?,
            Some(wheel) => wheel.at(slot),
        };
        let index = pool.seats.get(position)?.index();
        if !gate.open(index) {
            return None;
        }
        let ramp = gate.ramp(index);
        if ramp < 1.0 && hash::unit(hash::split(turn, 0)) >= ramp {
            refused.get_or_insert(position);
            return None;
        }
        Some(position)
    };
    for _ in 0..STEPS {
        if let Some(position) = look(pool.turn.take()) {
            return Some(position);
        }
    }
    let span = slots.min(pool.len().max(WALK));
    let mut found = None;
    for _ in 0..CLAIMS {
        let start = pool.turn.peek();
        let mut walk = (0..span).map(|step| start.wrapping_add(step));
        let Some((turn, position)) = walk.find_map(|turn| Some((turn, look(turn)?))) else {
            break;
        };
        found = Some(position);
        if pool.turn.claim(turn) {
            break;
        }
    }
    if found.is_none() && span < slots {
        found = random::draw(pool, gate, pool.detour.spread());
    }
    found.or(refused)
}
