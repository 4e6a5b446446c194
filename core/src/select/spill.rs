//! Which tier a request goes to.
//!
//! Method, for `overprovisioning = f ≥ 1`. The capacity of a tier is
//! `min(1, f × healthy weight / weight)`, counted without endpoints of weight 0
//! unless all of the tier's are 0. Going from the best tier on, each takes
//! its capacity of the traffic until all of it is taken. If the capacities add
//! up to less than 1, all of them are scaled up to 1. (The load of priorities in
//! Envoy is defined like this.) A number in `[0, 1)` then decides: a random one, or
//! for a request with a key one made of the key, so that a key stays in
//! its tier: the upper 53 bits of output 2³² of `SplitMix64` seeded with the
//! key's hash.
//!
//! The healthy weights are counted at most once in [`PERIOD`] seconds, by the request
//! that finds them old: O(n) then, O(1) otherwise. A group of endpoints is counted
//! afresh each time.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::gate::Gate;
use super::pool::Pool;
use super::{Live, hash};

/// How long a count of healthy weight serves, in seconds.
const PERIOD: f64 = 0.010;
/// The output of `SplitMix64` that places a key in a tier.
const PLACE: u64 = 1 << 32;

/// When the healthy weights were last counted: the bits of a time in seconds.
#[derive(Debug)]
pub(super) struct Stamp(AtomicU64);

impl Stamp {
    /// Never counted.
    pub(super) fn new() -> Self {
        Stamp(AtomicU64::new(f64::NAN.to_bits()))
    }

    /// True for one caller per period.
    fn due(&self, now: f64) -> bool {
        let seen = self.0.load(Relaxed);
        let fresh = (now - f64::from_bits(seen)).abs() < PERIOD;
        let exchange = |new| self.0.compare_exchange(seen, new, Relaxed, Relaxed);
        !fresh && exchange(now.to_bits()).is_ok()
    }
}

/// The tier for a request.
pub(super) fn tier<L: Live, E: Fn(usize) -> bool>(
    pools: &[Pool],
    stamp: &Stamp,
    gate: &Gate<'_, L, E>,
    overprovisioning: f64,
    key: Option<u64>,
    now: f64,
) -> u32 {
    if !gate.subset && stamp.due(now) {
        for pool in pools {
            let seats = pool.seats.iter().filter(|s| gate.live.healthy(s.index()));
            let healthy = seats.map(|s| u64::from(s.share())).sum();
            pool.healthy.store(healthy, Relaxed);
        }
    }
    let capacities = || {
        let tiers = pools.iter().filter(|pool| !pool.reserve);
        tiers.map(|pool| (pool.tier, capacity(pool, gate, overprovisioning)))
    };
    let best = pools.first().map_or(0, |pool| pool.tier);
    if capacities()
        .next()
        .is_none_or(|(_, capacity)| capacity >= 1.0)
    {
        return best;
    }
    let part = match key {
        Some(key) => hash::unit(hash::split(key, PLACE)),
        None => hash::unit(gate.live.random()),
    };
    let sum: f64 = capacities().map(|(_, capacity)| capacity).sum();
    let mut left = part * sum.min(1.0);
    let mut chosen = best;
    for (tier, capacity) in capacities().filter(|&(_, capacity)| capacity > 0.0) {
        chosen = tier;
        left -= capacity;
        if left < 0.0 {
            break;
        }
    }
    chosen
}

/// What part of all traffic a tier can serve, 0 to 1.
fn capacity<L: Live, E: Fn(usize) -> bool>(
    pool: &Pool,
    gate: &Gate<'_, L, E>,
    overprovisioning: f64,
) -> f64 {
    let (healthy, total) = if gate.subset {
        let mut sums = (0u64, 0u64);
        for seat in &pool.seats {
            if (gate.eligible)(seat.index()) {
                let weight = u64::from(seat.share());
                sums.1 += weight;
                if gate.live.healthy(seat.index()) {
                    sums.0 += weight;
                }
            }
        }
        sums
    } else {
        (pool.healthy.load(Relaxed), pool.total)
    };
    // Weights need more than 53 bits only when there are millions of endpoints.
    #[allow(clippy::cast_precision_loss)]
    let part = healthy as f64 / total.max(1) as f64;
    (overprovisioning * part).min(1.0)
}
