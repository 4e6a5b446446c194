//! Choosing an endpoint.
//!
//! A [`Selector`] is built from the endpoints of an answer and shared by all
//! threads; [`Selector::choose`] chooses one of them for a request, by the
//! director's [`Rules`], the endpoints' state at that moment ([`EndpointState`]),
//! and what the request itself brings ([`Request`]).
//!
//! # Order of a choice
//!
//! 1. Endpoints are in tiers: lower [`Member::priority`] first, then higher
//!    [`Member::score`].
//! 2. A tier comes first: the best, or with `overprovisioning` the one that
//!    the request's number falls in (`tier_load`); the others follow, best first.
//! 3. In each tier, endpoints of weight 0 are left out unless nothing else in the
//!    tier can be chosen (RFC 2782); if all have weight 0 they are equal.
//! 4. Among the rest, the policy chooses one that is healthy and was not tried
//!    by an earlier attempt of the task: by the key if there is one (`rendezvous`, `placement`,
//!    with `hash_balance` also `bounded`), else by the algorithm (`round_robin`,
//!    `random`, `least`, `power_of_two`). With `hash_scope = All` a key chooses among all
//!    tiers as if they were one.
//! 5. Those that are full are left out at first. If no tier has such an endpoint, 3
//!    and 4 again with the full ones, then with those that were tried; if none is
//!    healthy, once more with all, evenly spread: the best tier's
//!    endpoints serve, whatever their health.
//!
//! Each policy's method, exact enough to be repeated by another program, is in
//! its module. All of them are deterministic but for [`EndpointState::random`]. Their order
//! is that of the identities, compared as bytes.
//!
//! # Groups
//!
//! An affinity group, the owners of a hash bucket or the addresses of one host
//! are chosen among in the same way: [`Selector::subset`] makes a selector
//! of a group, [`Selector::choose_where`] takes a predicate.

mod bounded;
mod eligibility;
mod hash;
mod index_table;
mod least;
mod placement;
mod power_of_two;
mod random;
mod rendezvous;
mod round_robin;
mod rules;
mod selector;
pub mod slow_start;
mod tier;
mod tier_load;
mod wrr_schedule;

use std::cmp::Reverse;

pub use hash::key_hash;
pub use rules::{Algorithm, HashScope, Rules, RulesError};
pub use selector::Selector;

/// An endpoint of a selector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member<'a> {
    /// What it is, the same on every machine: `address:port` in canonical form,
    /// with the host where that is part of the identity.
    pub id: &'a str,
    /// What keys are placed by, instead of `id`: the name of a host, the same when
    /// its address is another one. Members of one host are placed as one, and the
    /// key chooses among them.
    pub host: Option<&'a str>,
    /// Its weight relative to others of the tier; 0 = only when nothing else.
    pub weight: u32,
    /// Lower is better.
    pub priority: u32,
    /// Higher is better, among equal priorities.
    pub score: i64,
}

impl Member<'_> {
    /// What orders tiers, the best first.
    fn level(&self) -> (u32, Reverse<i64>) {
        (self.priority, Reverse(self.score))
    }
}

/// The live state of the endpoints, asked during a choice.
///
/// `i` is the endpoint's index in the slice of members. Answers may change from
/// one call to the next; a choice always ends.
pub trait EndpointState {
    /// Whether endpoint `i` is healthy.
    fn healthy(&self, i: usize) -> bool;
    /// Whether an earlier attempt of this task chose endpoint `i`. Only asked
    /// where [`Request::retry`] is set.
    fn tried(&self, i: usize) -> bool;
    /// Whether endpoint `i` has as many connections as it may have, and does not let
    /// requests wait for one. Only asked about healthy ones.
    fn full(&self, i: usize) -> bool;
    /// Requests under way to endpoint `i`.
    fn in_flight(&self, i: usize) -> u32;
    /// The factor for the weight of endpoint `i`, above 0 and up to 1 (see
    /// [`slow_start::factor`]). Only asked where [`Rules::slow_start`] is set.
    fn slow_start_factor(&self, i: usize) -> f64;
    /// The next random number, uniform over all 64-bit numbers.
    fn random(&self) -> u64;
}

/// What one request brings.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Request {
    /// The hash of its key, from [`key_hash`]; none: no key.
    pub key: Option<u64>,
    /// Whether an earlier attempt of its task has chosen an endpoint.
    pub retry: bool,
    /// The time in seconds, of any clock. Only used with
    /// [`Rules::overprovisioning`].
    pub now: f64,
}

/// The pass in which an endpoint was chosen, in the order of the passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pass {
    /// Healthy, and not chosen by an earlier attempt.
    Untried,
    /// Healthy; every healthy endpoint had been tried, so it starts over.
    Tried,
    /// Nothing was healthy.
    AnyHealth,
}

/// The endpoint chosen for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Its index in the slice of members.
    pub index: usize,
    /// Its tier, 0 = best.
    pub tier: u32,
    /// What else there was to choose.
    pub pass: Pass,
    /// Whether there is a better tier that it is not of, except where a key
    /// chose among all tiers.
    pub spilled: bool,
    /// Whether `hash_balance` moved a key to another endpoint, or one was passed
    /// over because it is full, even if all are.
    pub bound_exceeded: bool,
    /// Whether this is a retry and went to an endpoint that was not tried.
    pub retried_elsewhere: bool,
}
