//! Least: the endpoint with the fewest requests under way for its weight.
//!
//! Method. The load of an endpoint is `(in_flight + 1) / (weight × factor)`, where
//! the factor is that of slow start: what it would be with this request.
//! The endpoint with the least load is chosen; of several, the first one in
//! order of identity after the one that was chosen last, round the pool.
//!
//! Cost: one walk over the pool, O(n), which ends early at an endpoint than
//! which none can be less loaded (an idle one of the greatest weight).

use super::gate::Gate;
use super::pool::Pool;
use super::{Live, hash};

/// Walks made again because another thread took the turn that one found.
const CLAIMS: usize = 2;

/// The position of the least loaded endpoint.
pub(super) fn pick<L: Live, E: Fn(usize) -> bool>(
    pool: &Pool,
    gate: &Gate<'_, L, E>,
) -> Option<usize> {
    if gate.partial() {
        let start = hash::scale(pool.detour.spread(), pool.len());
        return from(pool, gate, start).map(|(_, position)| position);
    }
    let mut found = None;
    for _ in 0..CLAIMS {
        let turn = pool.turn.peek();
        let (steps, position) = from(pool, gate, turn % pool.len())?;
        found = Some(position);
        if pool.turn.claim(turn.wrapping_add(steps)) {
            break;
        }
    }
    found
}

/// The least loaded, looked for from position `start` on, and how many steps
/// on from there it was.
fn from<L: Live, E: Fn(usize) -> bool>(
    pool: &Pool,
    gate: &Gate<'_, L, E>,
    start: u64,
) -> Option<(u64, usize)> {
    let heaviest = f64::from(pool.heaviest);
    let start = usize::try_from(start).unwrap_or(0);
    let seats = pool.seats.iter().enumerate();
    let round = seats.clone().skip(start).chain(seats.take(start));
    let mut least = None;
    let (mut least_flight, mut least_share) = (f64::INFINITY, 1.0);
    for (step, (position, seat)) in (0u64..).zip(round) {
        let index = seat.index();
        if !gate.open(index) {
            continue;
        }
        let flight = f64::from(gate.live.in_flight(index)) + 1.0;
        let share = f64::from(seat.share()) * gate.ramp(index);
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
