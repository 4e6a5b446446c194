//! A snapshot, the state of its endpoints and a request, set by hand.

use std::cell::Cell;
use std::net::IpAddr;

use dynamic_core::buckets::Buckets;
use dynamic_core::domain::{Backend, EndpointKey};
use dynamic_core::membership::Rank;
use dynamic_core::select::{EndpointState, Rules};
use dynamic_core::session::{AffinityTo, FailurePolicy, Found, KeyFormat};
use dynamic_core::snapshot::{ChoiceRules, Outcome, Preparation, Refusal, RequestView, Snapshot};

/// What a request brings; nothing by default.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ask<'a> {
    pub(crate) pin: Option<&'a [u8]>,
    pub(crate) session_key: Option<&'a [u8]>,
    pub(crate) repeated: bool,
    pub(crate) key: Option<&'a [u8]>,
    pub(crate) elapsed: f64,
    pub(crate) transaction: &'a [u8],
    pub(crate) retry: bool,
    pub(crate) now: f64,
}

impl RequestView for Ask<'_> {
    fn pin(&self) -> Option<&[u8]> {
        self.pin
    }

    fn session_key(&self) -> Found<'_> {
        match self.session_key {
            _ if self.repeated => Found::Repeated,
            Some(key) => Found::One(key),
            None => Found::Missing,
        }
    }

    fn key(&self) -> Option<&[u8]> {
        self.key
    }

    fn elapsed(&self) -> f64 {
        self.elapsed
    }

    fn transaction(&self) -> &[u8] {
        self.transaction
    }

    fn is_retry(&self) -> bool {
        self.retry
    }

    fn now(&self) -> f64 {
        self.now
    }
}

pub(crate) fn pin(text: &str) -> Ask<'_> {
    Ask {
        pin: Some(text.as_bytes()),
        ..Ask::default()
    }
}

pub(crate) fn keyed(key: &str) -> Ask<'_> {
    Ask {
        key: Some(key.as_bytes()),
        ..Ask::default()
    }
}

pub(crate) fn with_session(key: &str) -> Ask<'_> {
    Ask {
        session_key: Some(key.as_bytes()),
        ..Ask::default()
    }
}

/// A snapshot with all that decides about a choice.
pub(crate) struct World {
    pub(crate) snapshot: Snapshot<()>,
    pub(crate) rules: Rules,
    pub(crate) failure_policy: Option<FailurePolicy>,
    pub(crate) buckets: Option<Buckets>,
    pub(crate) healthy: Vec<bool>,
    pub(crate) tried: Vec<bool>,
    pub(crate) random: Cell<u64>,
}

impl EndpointState for World {
    fn full(&self, _: usize) -> bool {
        false
    }

    fn healthy(&self, i: usize) -> bool {
        self.healthy[i]
    }

    fn tried(&self, i: usize) -> bool {
        self.tried[i]
    }

    fn in_flight(&self, _: usize) -> u32 {
        0
    }

    fn slow_start_factor(&self, _: usize) -> f64 {
        1.0
    }

    fn random(&self) -> u64 {
        let next = self.random.get().wrapping_mul(0x5851_f42d_4c95_7f2d) + 1;
        self.random.set(next);
        next
    }
}

impl World {
    /// Endpoints without sessions or buckets.
    pub(crate) fn new(backends: Vec<Backend<()>>) -> Self {
        World::prepared(backends, None, None)
    }

    /// With sessions whose keys are hashes.
    pub(crate) fn with_sessions(
        backends: Vec<Backend<()>>,
        to: AffinityTo,
        policy: FailurePolicy,
    ) -> Self {
        World::prepared(backends, Some((to, policy)), None)
    }

    /// With hash buckets.
    pub(crate) fn with_buckets(backends: Vec<Backend<()>>, buckets: Buckets) -> Self {
        World::prepared(backends, None, Some(buckets))
    }

    pub(crate) fn prepared(
        backends: Vec<Backend<()>>,
        session: Option<(AffinityTo, FailurePolicy)>,
        buckets: Option<Buckets>,
    ) -> Self {
        let n = backends.len();
        let preparation = Preparation {
            hash_by_host: false,
            rules: Rules::default(),
            session: session.map(|(to, _)| (&KeyFormat::HashCookie, to)),
            buckets: buckets.as_ref().map(Buckets::assignment),
            seed: 0,
        };
        World {
            snapshot: Snapshot::new(backends, &preparation),
            rules: Rules::default(),
            failure_policy: session.map(|(_, policy)| policy),
            buckets,
            healthy: vec![true; n],
            tried: vec![false; n],
            random: Cell::new(1),
        }
    }

    /// Makes these endpoints sick.
    pub(crate) fn sick(mut self, sick: &[usize]) -> Self {
        for i in sick {
            self.healthy[*i] = false;
        }
        self
    }

    pub(crate) fn outcome(&self, request: &Ask<'_>) -> Outcome {
        let rules = ChoiceRules {
            rules: &self.rules,
            failure_policy: self.failure_policy,
            buckets: self.buckets.as_ref(),
        };
        self.snapshot.choose(&rules, request, self)
    }

    pub(crate) fn index(&self, request: &Ask<'_>) -> Result<usize, Refusal> {
        self.outcome(request).choice.map(|choice| choice.index)
    }

    /// The indices of so many choices.
    pub(crate) fn trace(&self, request: &Ask<'_>, times: usize) -> Vec<usize> {
        (0..times).map(|_| self.index(request).unwrap()).collect()
    }

    /// How often each is chosen in so many requests.
    pub(crate) fn tally(&self, request: &Ask<'_>, times: usize) -> Vec<usize> {
        let mut counts = vec![0; self.healthy.len()];
        for _ in 0..times {
            counts[self.index(request).unwrap()] += 1;
        }
        counts
    }

    /// The session key of an endpoint.
    pub(crate) fn session_key(&self, endpoint: usize) -> String {
        let table = self.snapshot.affinity().unwrap();
        table.key_of_endpoint(endpoint, &[0; 24]).unwrap()
    }
}

/// An endpoint on port 80.
pub(crate) fn backend(address: &str, host: &str, priority: u32, weight: u32) -> Backend<()> {
    scored(address, host, priority, weight, 0)
}

pub(crate) fn scored(
    address: &str,
    host: &str,
    priority: u32,
    weight: u32,
    score: i64,
) -> Backend<()> {
    Backend {
        key: EndpointKey {
            address: address.parse::<IpAddr>().unwrap(),
            port: 80,
            host: host.into(),
        },
        rank: Rank {
            priority,
            weight,
            score,
        },
        leaf: (),
    }
}

/// 192.0.2.0, 192.0.2.1 and so on, of one host.
pub(crate) fn plain(n: usize) -> Vec<Backend<()>> {
    let address = |i| format!("192.0.2.{i}");
    (0..n).map(|i| backend(&address(i), "a", 0, 1)).collect()
}
