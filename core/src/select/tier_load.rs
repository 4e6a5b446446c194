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
//! The healthy weights are counted at most once in [`COUNT_PERIOD`] seconds, by the request
//! that finds them old: O(n) then, O(1) otherwise. A group of endpoints is counted
//! afresh each time.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::eligibility::Eligibility;
use super::tier::Tier;
use super::{EndpointState, Request};
use crate::random::{splitmix64, unit_f64};

/// How long a count of healthy weight serves, in seconds.
const COUNT_PERIOD: f64 = 0.010;
/// The output of `SplitMix64` that places a key in a tier.
const TIER_OUTPUT: u64 = 1 << 32;

/// When the healthy weights were last counted: the bits of a time in seconds.
#[derive(Debug)]
pub(super) struct LastCounted(AtomicU64);

impl LastCounted {
    pub(super) fn never() -> Self {
        LastCounted(AtomicU64::new(f64::NAN.to_bits()))
    }

    /// True for one caller per period.
    fn is_due(&self, now: f64) -> bool {
        let seen = self.0.load(Relaxed);
        let recent = (now - f64::from_bits(seen)).abs() < COUNT_PERIOD;
        let exchange = |new| self.0.compare_exchange(seen, new, Relaxed, Relaxed);
        !recent && exchange(now.to_bits()).is_ok()
    }
}

/// The tier of `tiers`, at least one, for a request.
pub(super) fn tier<'t, S: EndpointState, E: Fn(usize) -> bool>(
    tiers: &'t [Tier],
    last_counted: &LastCounted,
    eligibility: &Eligibility<'_, S, E>,
    overprovisioning: f64,
    request: &Request,
) -> &'t Tier {
    if !eligibility.subset && last_counted.is_due(request.now) {
        for set in tiers.iter().map(|tier| &tier.primary) {
            let healthy = set
                .endpoints
                .iter()
                .filter(|e| eligibility.state.healthy(e.index))
                .map(|e| u64::from(e.share()))
                .sum();
            set.healthy.store(healthy, Relaxed);
        }
    }
    let capacity = |tier| capacity(tier, eligibility, overprovisioning);
    let best = &tiers[0];
    if capacity(best) >= 1.0 {
        return best;
    }
    let point = match request.key {
        Some(key) => unit_f64(splitmix64(key, TIER_OUTPUT)),
        None => unit_f64(eligibility.state.random()),
    };
    let sum: f64 = tiers.iter().map(capacity).sum();
    let mut left = point * sum.min(1.0);
    let mut chosen = best;
    for tier in tiers {
        let capacity = capacity(tier);
        if capacity > 0.0 {
            chosen = tier;
            left -= capacity;
            if left < 0.0 {
                break;
            }
        }
    }
    chosen
}

/// What part of all traffic a tier can serve, 0 to 1.
fn capacity<S: EndpointState, E: Fn(usize) -> bool>(
    tier: &Tier,
    eligibility: &Eligibility<'_, S, E>,
    overprovisioning: f64,
) -> f64 {
    let set = &tier.primary;
    let (healthy, total) = if eligibility.subset {
        let mut sums = (0u64, 0u64);
        for endpoint in &set.endpoints {
            if (eligibility.eligible)(endpoint.index) {
                let weight = u64::from(endpoint.share());
                sums.1 += weight;
                if eligibility.state.healthy(endpoint.index) {
                    sums.0 += weight;
                }
            }
        }
        sums
    } else {
        (set.healthy.load(Relaxed), set.total)
    };
    #[allow(
        clippy::cast_precision_loss,
        reason = "weights need more than 53 bits only when there are millions of endpoints"
    )]
    let part = healthy as f64 / total.max(1) as f64;
    (overprovisioning * part).min(1.0)
}
