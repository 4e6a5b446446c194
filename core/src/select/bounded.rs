//! Hashing with bounded loads: a key goes to its endpoint unless that one has
//! more than its part of the load.
//!
//! Source: Mirrokni, Thorup, Zadimoghaddam, "Consistent hashing with bounded
//! loads", 2016.
//!
//! Method. Of the healthy endpoints of the scope, let `W` be the sum of the weights
//! and `T` that of the requests under way. An endpoint of weight `w` accepts a
//! request while `in_flight < ceil(balance × (T + 1) × w / W)`, so always when it is
//! idle. The first of the key's order that accepts is chosen. If none does, which takes
//! a retry or counts that change meanwhile, it is the one with the least
//! `in_flight / w`, of several the first in the key's order.
//!
//! Computed in integers, with `balance` in millionths.
//!
//! Cost: that of the plain choice where the key's endpoint is idle, else one walk
//! over the scope for `W` and `T`, O(n).

use super::Live;
use super::gate::Gate;
use super::maglev;
use super::pool::{Pool, Seat};

/// What a balance of 1.0 is here.
const ONE: f64 = 1e6;

/// The position for a key, and whether load moved it from the key's first
/// endpoint that could be chosen.
pub(super) fn pick<L: Live, E: Fn(usize) -> bool>(
    pool: &Pool,
    gate: &Gate<'_, L, E>,
    key: u64,
    balance: f64,
) -> Option<(usize, bool)> {
    let mut load = None;
    let mut first = None;
    let mut least: Option<(u64, u64, usize)> = None;
    let accepted = maglev::walk(pool, key, |position| {
        let Some(&seat) = pool.seats.get(position) else {
            return false;
        };
        if !gate.open(seat.index()) {
            return false;
        }
        first.get_or_insert(position);
        let in_flight = u64::from(gate.live.in_flight(seat.index()));
        if in_flight == 0 {
            return true;
        }
        let load = load.get_or_insert_with(|| Load::of(pool, gate, balance));
        if load.accepts(seat, in_flight) {
            return true;
        }
        let weight = u64::from(seat.share());
        // in_flight / weight, compared without a division: both are below 2^32.
        if least.is_none_or(|(flight, share, _)| in_flight * share < flight * weight) {
            least = Some((in_flight, weight, position));
        }
        false
    });
    let position = accepted.or(least.map(|(_, _, position)| position))?;
    Some((position, first != Some(position)))
}

/// The load of a scope.
struct Load {
    /// `balance × (T + 1)`, in millionths.
    allowed: u128,
    /// `W`, in millionths.
    weight: u128,
}

impl Load {
    fn of<L: Live, E: Fn(usize) -> bool>(pool: &Pool, gate: &Gate<'_, L, E>, balance: f64) -> Self {
        let mut in_flight = 0u64;
        let mut weight = 0u64;
        for seat in &pool.seats {
            if gate.healthy(seat.index()) {
                in_flight += u64::from(gate.live.in_flight(seat.index()));
                weight += u64::from(seat.share());
            }
        }
        // Not negative and cut off at the type's ends, as casts are.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let (balance, one) = ((balance * ONE).round() as u32, ONE as u32);
        Load {
            allowed: u128::from(balance) * (u128::from(in_flight) + 1),
            weight: u128::from(weight) * u128::from(one),
        }
    }

    /// `in_flight < ceil(allowed × w / weight)`; for whole numbers this is the same
    /// without rounding up, hence without dividing.
    fn accepts(&self, seat: Seat, in_flight: u64) -> bool {
        u128::from(in_flight) * self.weight < self.allowed * u128::from(seat.share())
    }
}
