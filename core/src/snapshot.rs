//! The endpoints of one answer, and the choice of one of them for a request.
//!
//! A [`Snapshot`] does not change. Requests read one, all by the same order of
//! precedence: the pin, the session's key, the hash bucket, the hash of a key,
//! the algorithm. `L` stands for the engine's backend of an endpoint.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crate::buckets::{
    self, Assignment, Buckets, Client, OwnerTable, Owners as OwnersState, Service,
};
use crate::domain::Backend;
use crate::instance::Instance;
use crate::select::{Choice, EndpointState, Member, Request, Rules, Selector, key_hash};
use crate::session::cookie::Found;
use crate::session::{
    Action, AffinityTable, AffinityTo, Condition, Decision, FailurePolicy, Key, KeyFormat, Status,
    decide,
};

/// The buckets of RFC 3074.
const BUCKETS: usize = 256;

/// What a snapshot is prepared for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Preparation<'p> {
    /// The director's rules of selection.
    pub rules: Rules,
    /// How sessions write the id of what, where there are sessions.
    pub session: Option<(&'p KeyFormat, AffinityTo)>,
    /// Who owns which bucket, where there are buckets.
    pub buckets: Option<&'p Assignment>,
    /// Whether keys are placed by the host names of the endpoints rather than
    /// by their addresses.
    pub hash_by_host: bool,
    /// Whose turn it is first.
    pub seed: u64,
}

/// The rules of a choice.
#[derive(Clone, Copy, Debug)]
pub struct ChoiceRules<'r> {
    /// The director's rules of selection.
    pub rules: &'r Rules,
    /// What becomes of keys that cannot be followed, where there are sessions.
    pub failure_policy: Option<FailurePolicy>,
    /// The hash buckets, where there are some.
    pub buckets: Option<&'r Buckets>,
}

/// What a request brings. Each is asked for only where it can matter.
pub trait RequestView {
    /// The instance that it names.
    fn pin(&self) -> Option<&[u8]>;
    /// The session keys that its client sent.
    fn session_keys(&self) -> Found<impl Iterator<Item = &[u8]>>;
    /// Its key, for hash and buckets; an empty one is none.
    fn key(&self) -> Option<&[u8]>;
    /// For how many seconds it has waited, as the client says.
    fn elapsed(&self) -> f64;
    /// Names its client's attempt to be served; may be empty.
    fn transaction(&self) -> &[u8];
    /// Whether probes tell the health of endpoints: without them, all count as
    /// healthy.
    fn health_is_known(&self) -> bool;
    /// Whether an earlier attempt of its task has chosen an endpoint.
    fn is_retry(&self) -> bool;
    /// The time, in seconds since the epoch.
    fn now(&self) -> f64;
}

/// Why a request gets no endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// There was no answer yet.
    Pending,
    /// There is no endpoint.
    Empty,
    /// The pin names none.
    Pin,
    /// The session's failure policy.
    Session(Status),
    /// The owners of its bucket are down, and it has not waited long enough.
    Delayed,
}

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// The endpoint, or why there is none.
    pub choice: Result<Choice, Refusal>,
    /// What became of its session's key, where there are sessions.
    pub session: Option<Status>,
    /// Who serves its bucket, where buckets decided.
    pub service: Option<Service>,
}

impl Outcome {
    fn of(choice: Result<Choice, Refusal>) -> Self {
        Outcome {
            choice,
            session: None,
            service: None,
        }
    }
}

/// What session keys name.
#[derive(Debug)]
struct Affinity {
    table: Arc<AffinityTable>,
    /// A selector for each group of endpoints that a key names, built when it
    /// is first needed.
    groups: Box<[OnceLock<Selector>]>,
}

/// Who owns which hash bucket.
#[derive(Debug)]
struct Owners {
    table: OwnerTable,
    /// A selector for the owners of each bucket, likewise.
    selectors: Box<[OnceLock<Selector>]>,
}

/// The endpoints of one answer, in the order of their identities.
#[derive(Debug)]
pub struct Snapshot<L> {
    backends: Box<[Backend<L>]>,
    selector: Selector,
    affinity: Option<Affinity>,
    owners: Option<Owners>,
    pending: bool,
}

impl<L> Snapshot<L> {
    /// Before the first answer.
    #[must_use]
    pub fn pending() -> Self {
        Snapshot {
            pending: true,
            ..Snapshot::empty()
        }
    }

    /// No endpoints.
    #[must_use]
    pub fn empty() -> Self {
        Snapshot {
            backends: Box::default(),
            selector: Selector::new(&[], 0),
            affinity: None,
            owners: None,
            pending: false,
        }
    }

    /// Prepares all that requests need.
    #[must_use]
    pub fn new(backends: Vec<Backend<L>>, preparation: &Preparation<'_>) -> Self {
        let ids: Vec<String> = backends.iter().map(|b| b.key.id().to_string()).collect();
        let weights = shared_weights(&backends);
        let members: Vec<Member<'_>> = backends
            .iter()
            .zip(&ids)
            .zip(&weights)
            .map(|((backend, id), weight)| Member {
                id,
                host: preparation.hash_by_host.then_some(&*backend.key.host),
                weight: *weight,
                priority: backend.rank.priority,
                score: backend.rank.score,
            })
            .collect();
        let selector = Selector::new(&members, preparation.seed);
        selector.prepare(&preparation.rules);
        let empty = |count: usize| (0..count).map(|_| OnceLock::new()).collect();
        let affinity = preparation.session.map(|(format, to)| {
            let table = match to {
                AffinityTo::Endpoint => AffinityTable::new(format, ids.iter().map(String::as_str)),
                AffinityTo::Host => {
                    AffinityTable::new(format, backends.iter().map(|b| &*b.key.host))
                }
            };
            Affinity {
                table: Arc::new(table),
                groups: empty(backends.len()),
            }
        });
        let owners = preparation.buckets.map(|assignment| {
            let endpoints = backends
                .iter()
                .map(|b| (b.key.address, b.key.port, &*b.key.host));
            Owners {
                table: OwnerTable::new(assignment, endpoints),
                selectors: empty(BUCKETS),
            }
        });
        Snapshot {
            backends: backends.into(),
            selector,
            affinity,
            owners,
            pending: false,
        }
    }

    /// Whether there was no answer yet.
    #[must_use]
    pub fn is_pending(&self) -> bool {
        self.pending
    }

    /// The endpoints; a [`Choice`] says which by its index.
    #[must_use]
    pub fn backends(&self) -> &[Backend<L>] {
        &self.backends
    }

    /// What session keys name, where there are sessions.
    #[must_use]
    pub fn affinity(&self) -> Option<&Arc<AffinityTable>> {
        self.affinity.as_ref().map(|affinity| &affinity.table)
    }

    /// Who owns which hash bucket, where there are buckets.
    #[must_use]
    pub fn owners(&self) -> Option<&OwnerTable> {
        self.owners.as_ref().map(|owners| &owners.table)
    }

    /// Chooses an endpoint for a request, in order of precedence.
    ///
    /// Allocates nothing, except that the first request that needs a table
    /// builds it.
    pub fn choose(
        &self,
        rules: &ChoiceRules<'_>,
        request: &impl RequestView,
        state: &impl EndpointState,
    ) -> Outcome {
        if self.pending {
            return Outcome::of(Err(Refusal::Pending));
        }
        let choice = Choosing {
            snapshot: self,
            rules,
            request,
            state,
        };
        choice.by_precedence()
    }

    fn subset(&self, some: &[usize]) -> Selector {
        self.selector.subset(|i| some.binary_search(&i).is_ok())
    }
}

/// One choice, with all that it looks at.
struct Choosing<'c, L, R, S> {
    snapshot: &'c Snapshot<L>,
    rules: &'c ChoiceRules<'c>,
    request: &'c R,
    state: &'c S,
}

impl<L, R: RequestView, S: EndpointState> Choosing<'_, L, R, S> {
    fn by_precedence(&self) -> Outcome {
        if let Some(pin) = self.request.pin() {
            return Outcome::of(self.by_pin(pin));
        }
        let (Some(policy), Some(affinity)) = (self.rules.failure_policy, &self.snapshot.affinity)
        else {
            return self.balance();
        };
        let (key, state) = affinity.table.read(self.request.session_keys(), |group| {
            self.condition(affinity.table.members(group))
        });
        let Decision { action, status } = decide(state, policy);
        let outcome = match (action, key) {
            (Action::Refuse, _) => Outcome::of(Err(Refusal::Session(status))),
            (Action::Follow, Key::Group(group)) => {
                let selector = affinity.groups.get(group).map(|cell| {
                    cell.get_or_init(|| self.snapshot.subset(affinity.table.members(group)))
                });
                Outcome::of(self.within(selector))
            }
            _ => self.balance(),
        };
        Outcome {
            session: Some(status),
            ..outcome
        }
    }

    /// The instance that the request names, whatever its health.
    fn by_pin(&self, pin: &[u8]) -> Result<Choice, Refusal> {
        let mut buf = [0; 256];
        let pin = Instance::parse(pin, &mut buf).ok_or(Refusal::Pin)?;
        let named = |i: usize| {
            self.snapshot.backends.get(i).is_some_and(|backend| {
                let key = &backend.key;
                pin.matches(key.address, key.port, &key.host)
            })
        };
        self.snapshot
            .selector
            .choose_where(self.rules.rules, self.state, &self.ask(None), named)
            .ok_or(Refusal::Pin)
    }

    /// By the bucket of the key or its hash, if there is a key, else by the
    /// algorithm.
    fn balance(&self) -> Outcome {
        let key = self.request.key().filter(|key| !key.is_empty());
        match (key, &self.snapshot.owners, self.rules.buckets) {
            (Some(key), Some(owners), Some(buckets)) => self.by_bucket(key, owners, buckets),
            (key, _, _) => Outcome::of(self.by_rules(key.map(key_hash))),
        }
    }

    /// By the hash bucket of the key (RFC 3074).
    fn by_bucket(&self, key: &[u8], owners: &Owners, buckets: &Buckets) -> Outcome {
        let bucket = buckets::bucket(key);
        let members = owners.table.owners(bucket);
        let state = self.owners_state(members);
        let client = Client {
            key,
            elapsed: self.request.elapsed(),
            transaction: self.request.transaction(),
        };
        let now = Duration::try_from_secs_f64(self.request.now()).unwrap_or_default();
        let service = buckets.service(state, &client, now);
        let choice = match service {
            Service::Owner => {
                let selector = owners
                    .selectors
                    .get(usize::from(bucket))
                    .map(|cell| cell.get_or_init(|| self.snapshot.subset(members)));
                self.within(selector)
            }
            Service::TakenOver if state == OwnersState::Unknown => self
                .snapshot
                .selector
                .choose_where(self.rules.rules, self.state, &self.ask(None), |i| {
                    members.binary_search(&i).is_err()
                })
                .ok_or(Refusal::Empty),
            Service::Anyone | Service::TakenOver => self.by_rules(None),
            Service::Delayed => Err(Refusal::Delayed),
        };
        Outcome {
            choice,
            session: None,
            service: Some(service),
        }
    }

    /// How the owners of a bucket are.
    fn owners_state(&self, members: &[usize]) -> OwnersState {
        let healthy = |i: usize| self.state.healthy(i);
        if members.is_empty() {
            return OwnersState::None;
        }
        if !members.iter().any(|i| healthy(*i)) {
            return OwnersState::Down;
        }
        let untried = |i: usize| healthy(i) && !self.state.tried(i);
        let is_spent = self.request.is_retry() && !members.iter().any(|i| untried(*i));
        if !is_spent && self.request.health_is_known() {
            return OwnersState::Healthy;
        }
        let other = (0..self.snapshot.backends.len())
            .any(|i| untried(i) && members.binary_search(&i).is_err());
        match (other, is_spent) {
            (true, true) => OwnersState::Tried,
            (true, false) => OwnersState::Unknown,
            (false, _) => OwnersState::Healthy,
        }
    }

    /// Among all, by the director's rules.
    fn by_rules(&self, key: Option<u64>) -> Result<Choice, Refusal> {
        self.within_asked(Some(&self.snapshot.selector), key)
    }

    /// Among those of a group, by the algorithm.
    fn within(&self, group: Option<&Selector>) -> Result<Choice, Refusal> {
        self.within_asked(group, None)
    }

    fn within_asked(&self, group: Option<&Selector>, key: Option<u64>) -> Result<Choice, Refusal> {
        group
            .and_then(|group| group.choose(self.rules.rules, self.state, &self.ask(key)))
            .ok_or(Refusal::Empty)
    }

    fn ask(&self, key: Option<u64>) -> Request {
        Request {
            key,
            retry: self.request.is_retry(),
            now: self.request.now(),
        }
    }

    /// How the endpoints that a session's key names are.
    fn condition(&self, group: &[usize]) -> Condition {
        if !group.iter().any(|i| self.state.healthy(*i)) {
            return Condition::Sick;
        }
        let fresh = |i: usize| self.state.healthy(i) && !self.state.tried(i);
        let spent = self.request.is_retry()
            && !group.iter().any(|i| fresh(*i))
            && (0..self.snapshot.backends.len()).any(fresh);
        if spent {
            Condition::Tried
        } else {
            Condition::Healthy
        }
    }
}

/// The most that weights are multiplied by so that they can be divided among
/// the addresses of a target.
const MAX_SCALE: u64 = 5040;

/// The weight of each endpoint. A weight is a target's, and those of its
/// addresses that are in one tier share it: all weights are multiplied by one
/// number, so that the shares are whole.
fn shared_weights<L>(backends: &[Backend<L>]) -> Vec<u32> {
    let target = |backend: &Backend<L>| {
        let (key, rank) = (&backend.key, backend.rank);
        let tier = (rank.priority, rank.score);
        (Arc::clone(&key.host), key.port, tier, rank.weight)
    };
    let mut counts = HashMap::new();
    for backend in backends {
        *counts.entry(target(backend)).or_insert(0_u64) += 1;
    }
    let scale = counts
        .values()
        .fold(1, |scale, count| lcm(scale, *count).min(MAX_SCALE));
    if counts.len() == 1 || scale == 1 {
        return backends.iter().map(|b| b.rank.weight).collect();
    }
    backends
        .iter()
        .map(|backend| {
            let count = counts.get(&target(backend)).copied().unwrap_or(1);
            let weight = u64::from(backend.rank.weight);
            // A weight above 0 stays above 0.
            let share = (weight * scale / count).max(u64::from(weight > 0));
            u32::try_from(share).unwrap_or(u32::MAX)
        })
        .collect()
}

fn lcm(a: u64, b: u64) -> u64 {
    let (mut x, mut y) = (a, b);
    while y != 0 {
        (x, y) = (y, x % y);
    }
    (a / x.max(1)).saturating_mul(b)
}
