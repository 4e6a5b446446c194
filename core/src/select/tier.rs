//! A tier, and the set of endpoints that one run of a policy chooses among.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::index_table::IndexTable;
use super::placement::Placement;
use super::wrr_schedule;
use crate::random;

/// An endpoint and what ranks it.
#[derive(Clone, Copy, Debug)]
pub(super) struct WeightedEndpoint {
    /// Its index in the slice of members.
    pub(super) index: usize,
    /// Its weight as given.
    pub(super) weight: u32,
    /// Its tier, 0 = best.
    pub(super) tier: u32,
    /// Its place among all members, in order of identity.
    pub(super) rank: usize,
    /// XXH64, seed 0, of its identity.
    pub(super) identity: u64,
    /// The same of what it is placed by: its host, or its identity.
    pub(super) placement: u64,
}

impl WeightedEndpoint {
    /// Its weight within a set: where one has 0, all of the set have, and are
    /// equal.
    pub(super) fn share(self) -> u32 {
        self.weight.max(1)
    }
}

/// Endpoints of equal rank. Those of weight 0 are set apart where others are
/// there: so no policy has to know about weight 0.
#[derive(Debug)]
pub(super) struct Tier {
    /// 0 = best.
    pub(super) number: u32,
    /// What serves; never empty.
    pub(super) primary: EndpointSet,
    /// What serves when nothing of `primary` can: the endpoints of weight 0,
    /// where `primary` has others.
    pub(super) reserve: Option<EndpointSet>,
}

impl Tier {
    /// The tier of `endpoints`, at least one, given in order of identity.
    pub(super) fn new(number: u32, endpoints: &[WeightedEndpoint], seed: u64) -> Self {
        let (reserve, primary): (Vec<_>, Vec<_>) = endpoints.iter().partition(|e| e.weight == 0);
        if primary.is_empty() {
            return Tier {
                number,
                primary: EndpointSet::new(reserve, seed),
                reserve: None,
            };
        }
        Tier {
            number,
            primary: EndpointSet::new(primary, seed),
            reserve: (!reserve.is_empty()).then(|| EndpointSet::new(reserve, seed)),
        }
    }

    /// The primary set, then the reserve.
    pub(super) fn sets(&self) -> impl Iterator<Item = &EndpointSet> {
        std::iter::once(&self.primary).chain(&self.reserve)
    }

    /// All its endpoints.
    pub(super) fn endpoints(&self) -> impl Iterator<Item = &WeightedEndpoint> {
        self.sets().flat_map(|set| &set.endpoints)
    }
}

/// A count of turns, alone in its cache line.
#[derive(Debug)]
#[repr(align(64))]
pub(super) struct Cursor(AtomicU64);

impl Cursor {
    /// Takes the next turn.
    pub(super) fn take(&self) -> u64 {
        self.0.fetch_add(1, Relaxed)
    }

    /// The next turn, not taken.
    pub(super) fn peek(&self) -> u64 {
        self.0.load(Relaxed)
    }

    /// Takes the turn `at` and leaves out those before it; false if another
    /// thread has taken it, or a later one.
    pub(super) fn advance_to(&self, at: u64) -> bool {
        self.0.fetch_max(at.wrapping_add(1), Relaxed) <= at
    }

    /// The next number of an evenly spread sequence.
    pub(super) fn weyl(&self) -> u64 {
        random::weyl(self.take())
    }
}

/// Endpoints to choose among, with their weights, all above 0, and the state
/// that goes with them; never empty.
#[derive(Debug)]
pub(super) struct EndpointSet {
    /// In order of identity.
    pub(super) endpoints: Box<[WeightedEndpoint]>,
    /// Whether all weights are equal.
    pub(super) even: bool,
    /// The sum of the weights.
    pub(super) total: u64,
    /// The greatest weight.
    pub(super) heaviest: u32,
    /// The sum of the weights of the healthy, as last counted.
    pub(super) healthy: AtomicU64,
    /// The turns of requests that choose among all.
    pub(super) cursor: Cursor,
    /// The turns of retries and of requests that choose among some.
    pub(super) subset_cursor: Cursor,
    wrr_schedule: OnceLock<IndexTable>,
    cumulative_weights: OnceLock<Box<[u64]>>,
    placement: OnceLock<Placement>,
}

impl EndpointSet {
    /// A set of `endpoints`, given in order of identity; its first turn is that
    /// of endpoint `seed` modulo their number.
    fn new(endpoints: Vec<WeightedEndpoint>, seed: u64) -> Self {
        debug_assert!(!endpoints.is_empty(), "a set has an endpoint");
        let weights = endpoints.iter().map(|e| e.share());
        let total = weights.clone().map(u64::from).sum();
        let (lightest, heaviest) = weights.fold((u32::MAX, 1), |(least, most), weight| {
            (least.min(weight), most.max(weight))
        });
        let start = seed % endpoints.len() as u64;
        EndpointSet {
            endpoints: endpoints.into_boxed_slice(),
            even: heaviest == lightest,
            total,
            heaviest,
            healthy: AtomicU64::new(total),
            cursor: Cursor(AtomicU64::new(start)),
            subset_cursor: Cursor(AtomicU64::new(start)),
            wrr_schedule: OnceLock::new(),
            cumulative_weights: OnceLock::new(),
            placement: OnceLock::new(),
        }
    }

    /// The number of endpoints, at least 1.
    pub(super) fn len(&self) -> usize {
        self.endpoints.len()
    }

    /// The index, in the slice of members, of the endpoint at a position.
    pub(super) fn index(&self, position: usize) -> usize {
        self.endpoints[position].index
    }

    /// The weights, by position.
    pub(super) fn weights(&self) -> Vec<u32> {
        self.endpoints.iter().map(|e| e.share()).collect()
    }

    /// The schedule of round robin; none where the weights are equal and it would
    /// only say 0, 1, 2 and so on.
    pub(super) fn wrr_schedule(&self) -> Option<&IndexTable> {
        (!self.even).then(|| {
            get_or_build(&self.wrr_schedule, || {
                IndexTable::new(wrr_schedule::schedule(&self.weights()))
            })
        })
    }

    /// For each position the sum of the weights up to and with it.
    pub(super) fn cumulative_weights(&self) -> &[u64] {
        get_or_build::<Box<[u64]>>(&self.cumulative_weights, || {
            let weights = self.endpoints.iter().map(|e| u64::from(e.share()));
            weights
                .scan(0, |sum, weight| {
                    *sum += weight;
                    Some(*sum)
                })
                .collect()
        })
    }

    /// What keys have their home by.
    pub(super) fn placement(&self) -> &Placement {
        get_or_build(&self.placement, || {
            Placement::new(
                self.endpoints
                    .iter()
                    .map(|e| (e.share(), e.placement, e.identity)),
            )
        })
    }
}

/// What `cell` holds, built first if need be. No thread waits for another:
/// several may build, and one of the equal results stays.
pub(super) fn get_or_build<T>(cell: &OnceLock<T>, build: impl Fn() -> T) -> &T {
    if cell.get().is_none() {
        let _ = cell.set(build());
    }
    // Always there by now: either ours or another's.
    cell.get_or_init(build)
}
