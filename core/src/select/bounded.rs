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
//! Cost: that of the plain choice where the key's endpoint is idle, else a walk
//! over the scope for `W` and `T`, and where the endpoint has its part another one
//! for the next, O(n).

use super::EndpointState;
use super::eligibility::Eligibility;
use super::placement;
use super::tier::{EndpointSet, WeightedEndpoint};

/// What a balance of 1.0 is here.
const ONE: f64 = 1e6;

/// The position for a key, and whether load moved it from the key's first
/// endpoint that could be chosen.
pub(super) fn pick<S: EndpointState, E: Fn(usize) -> bool>(
    set: &EndpointSet,
    eligibility: &Eligibility<'_, S, E>,
    key: u64,
    balance: f64,
) -> Option<(usize, bool)> {
    let in_flight = |position| eligibility.state.in_flight(set.index(position));
    let first = placement::pick(set, eligibility, key)?;
    if in_flight(first) == 0 {
        return Some((first, false));
    }
    let load = ScopeLoad::of(set, eligibility, balance);
    let accepts = |position: usize| {
        let in_flight = in_flight(position);
        in_flight == 0 || load.accepts(set.endpoints[position], in_flight.into())
    };
    if accepts(first) {
        return Some((first, false));
    }
    let open = |position| eligibility.accepts(set.index(position));
    let chosen = set
        .placement()
        .pick(key, |position| open(position) && accepts(position))
        .or_else(|| least_loaded(set, eligibility, key))
        .unwrap_or(first);
    Some((chosen, chosen != first))
}

/// The least loaded of those that can be chosen, of several the first in the
/// key's order.
fn least_loaded<S: EndpointState, E: Fn(usize) -> bool>(
    set: &EndpointSet,
    eligibility: &Eligibility<'_, S, E>,
    key: u64,
) -> Option<usize> {
    let mut least: Option<(u64, u64, usize)> = None;
    for (position, endpoint) in set.endpoints.iter().enumerate() {
        if !eligibility.accepts(endpoint.index) {
            continue;
        }
        let flight = u64::from(eligibility.state.in_flight(endpoint.index));
        let weight = u64::from(endpoint.share());
        // in_flight / weight, compared without a division: both are below 2^32.
        let less = least.is_none_or(|(least_flight, least_weight, other)| {
            let (one, two) = (flight * least_weight, least_flight * weight);
            one < two || one == two && set.placement().precedes(key, position, other)
        });
        if less {
            least = Some((flight, weight, position));
        }
    }
    least.map(|(_, _, position)| position)
}

/// The load of a scope.
struct ScopeLoad {
    /// `balance × (T + 1)`, in millionths.
    allowed: u128,
    /// `W`, in millionths.
    weight: u128,
}

impl ScopeLoad {
    fn of<S: EndpointState, E: Fn(usize) -> bool>(
        set: &EndpointSet,
        eligibility: &Eligibility<'_, S, E>,
        balance: f64,
    ) -> Self {
        let mut in_flight = 0u64;
        let mut weight = 0u64;
        for endpoint in &set.endpoints {
            if eligibility.healthy(endpoint.index) {
                in_flight += u64::from(eligibility.state.in_flight(endpoint.index));
                weight += u64::from(endpoint.share());
            }
        }
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "not negative, and a cast stops at the type's ends"
        )]
        let (balance, one) = ((balance * ONE).round() as u32, ONE as u32);
        ScopeLoad {
            allowed: u128::from(balance) * (u128::from(in_flight) + 1),
            weight: u128::from(weight) * u128::from(one),
        }
    }

    /// `in_flight < ceil(allowed × w / weight)`; for whole numbers this is the same
    /// without rounding up, hence without dividing.
    fn accepts(&self, endpoint: WeightedEndpoint, in_flight: u64) -> bool {
        u128::from(in_flight) * self.weight < self.allowed * u128::from(endpoint.share())
    }
}
