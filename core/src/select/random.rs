//! Random: each endpoint with a probability in proportion to its weight.
//!
//! Method. A random number `r` in `0..2⁶⁴` stands for the endpoint in which
//! `floor(r × total / 2⁶⁴)` falls when the weights are laid end to end in order of
//! identity. If it cannot be chosen (or, with slow start, a second number in
//! `[0, 1)` is not below its factor) another is drawn, at most [`TRIES`]
//! times; then [`draw`] settles it among those that can. Each step keeps the
//! proportions, so the whole does.
//!
//! Cost: O(log n) while a good part of the endpoints is healthy (O(1)
//! where the weights are equal), else two walks over the pool.

use super::gate::Gate;
use super::pool::Pool;
use super::{Live, hash};

/// Draws among all endpoints before the healthy ones are counted.
const TRIES: usize = 4;

/// The position of an endpoint drawn at random.
pub(super) fn pick<L: Live, E: Fn(usize) -> bool>(
    pool: &Pool,
    gate: &Gate<'_, L, E>,
) -> Option<usize> {
    for _ in 0..TRIES {
        let position = at(pool, gate.live.random());
        let Some(seat) = pool.seats.get(position) else {
            continue;
        };
        if !gate.open(seat.index()) {
            continue;
        }
        let ramp = gate.ramp(seat.index());
        if ramp >= 1.0 || hash::unit(gate.live.random()) < ramp {
            return Some(position);
        }
    }
    draw(pool, gate, gate.live.random())
}

/// The position that a random number stands for.
fn at(pool: &Pool, random: u64) -> usize {
    let point = hash::scale(random, if pool.even { pool.len() } else { pool.total });
    if pool.even {
        usize::try_from(point).unwrap_or(0)
    } else {
        pool.bounds().partition_point(|&bound| bound <= point)
    }
}

/// The position of the endpoint in which `point`, of 2⁶⁴, falls when the
/// weights of those that can be chosen, times their factors, are laid end to
/// end in order of identity. Random points give random choices; the evenly
/// spread ones of [`Cursor::spread`](super::pool::Cursor::spread) give turns.
pub(super) fn draw<L: Live, E: Fn(usize) -> bool>(
    pool: &Pool,
    gate: &Gate<'_, L, E>,
    point: u64,
) -> Option<usize> {
    let open = || {
        let seats = pool.seats.iter().enumerate();
        seats.filter(|(_, seat)| gate.open(seat.index()))
    };
    let mut last = None;
    let mut total = 0.0;
    for (position, seat) in open() {
        total += f64::from(seat.share()) * gate.ramp(seat.index());
        last = Some(position);
    }
    // Health may change between the two walks: then the last one seen serves.
    last?;
    let mut left = total * hash::unit(point);
    for (position, seat) in open() {
        left -= f64::from(seat.share()) * gate.ramp(seat.index());
        if left < 0.0 {
            return Some(position);
        }
        last = Some(position);
    }
    last
}
