//! A pool: the endpoints that one run of a policy chooses among, with
//! their weights, all above 0, and the state that goes with them.
//!
//! A tier is one pool, or two where some of its endpoints have weight 0 and
//! others do not: the second holds those, and is asked when the first has
//! none to offer. So no policy has to know about weight 0.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::hash::GOLDEN;
use super::maglev::Table;
use super::slots::Slots;
use super::wheel;

/// A place in a pool.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seat {
    /// The endpoint's index in the slice of members.
    pub(super) index: u32,
    /// The weight as given.
    pub(super) weight: u32,
    /// The tier, 0 = best.
    pub(super) tier: u32,
    /// The place among all members, in order of identity.
    pub(super) rank: u32,
    /// XXH64, seed 0, of the identity.
    pub(super) identity: u64,
}

impl Seat {
    /// The index in the slice of members.
    pub(super) fn index(self) -> usize {
        self.index as usize
    }

    /// The weight within a pool: where it is 0, all of the pool are.
    pub(super) fn share(self) -> u32 {
        self.weight.max(1)
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
    pub(super) fn claim(&self, at: u64) -> bool {
        self.0.fetch_max(at.wrapping_add(1), Relaxed) <= at
    }

    /// The next of an evenly spread sequence over all 64-bit numbers: the
    /// multiples of the golden ratio (Weyl's sequence). Every n-th element of
    /// it is evenly spread too, whatever n is.
    pub(super) fn spread(&self) -> u64 {
        self.take().wrapping_add(1).wrapping_mul(GOLDEN)
    }
}

/// Endpoints to choose among; never empty.
#[derive(Debug)]
pub(super) struct Pool {
    /// The tier, 0 = best.
    pub(super) tier: u32,
    /// Whether these are the endpoints of weight 0, beside others of the tier.
    pub(super) reserve: bool,
    /// In order of identity.
    pub(super) seats: Box<[Seat]>,
    /// Whether all weights are equal.
    pub(super) even: bool,
    /// The sum of the weights.
    pub(super) total: u64,
    /// The greatest weight.
    pub(super) heaviest: u32,
    /// The sum of the weights of the healthy, as last counted.
    pub(super) healthy: AtomicU64,
    /// The turns of requests that choose among all.
    pub(super) turn: Cursor,
    /// The turns of retries and of requests that choose among some.
    pub(super) detour: Cursor,
    wheel: OnceLock<Slots>,
    bounds: OnceLock<Box<[u64]>>,
    table: OnceLock<Table>,
}

impl Pool {
    /// A pool of `seats`, given in order of identity; its first turn is that
    /// of seat `seed` modulo their number.
    pub(super) fn new(tier: u32, reserve: bool, seats: Vec<Seat>, seed: u64) -> Self {
        let total = seats.iter().map(|s| u64::from(s.share())).sum();
        let heaviest = seats.iter().map(|s| s.share()).max().unwrap_or(1);
        let lightest = seats.iter().map(|s| s.share()).min().unwrap_or(1);
        let start = seed % (seats.len() as u64).max(1);
        Pool {
            tier,
            reserve,
            seats: seats.into_boxed_slice(),
            even: heaviest == lightest,
            total,
            heaviest,
            healthy: AtomicU64::new(total),
            turn: Cursor(AtomicU64::new(start)),
            detour: Cursor(AtomicU64::new(start)),
            wheel: OnceLock::new(),
            bounds: OnceLock::new(),
            table: OnceLock::new(),
        }
    }

    /// The number of seats, at least 1.
    pub(super) fn len(&self) -> u64 {
        (self.seats.len() as u64).max(1)
    }

    /// The weights, by position.
    pub(super) fn weights(&self) -> Vec<u32> {
        self.seats.iter().map(|s| s.share()).collect()
    }

    /// The wheel of round robin; none where the weights are equal and it would
    /// only say 0, 1, 2 and so on.
    pub(super) fn wheel(&self) -> Option<&Slots> {
        (!self.even).then(|| built(&self.wheel, || Slots::new(wheel::schedule(&self.weights()))))
    }

    /// For each position the sum of the weights up to and with it.
    pub(super) fn bounds(&self) -> &[u64] {
        built::<Box<[u64]>>(&self.bounds, || {
            let weights = self.seats.iter().map(|s| u64::from(s.share()));
            weights
                .scan(0, |sum, weight| {
                    *sum += weight;
                    Some(*sum)
                })
                .collect()
        })
    }

    /// The table of keys.
    pub(super) fn table(&self) -> &Table {
        built(&self.table, || Table::new(&self.seats))
    }
}

/// What `cell` holds, built first if need be. No thread waits for another:
/// several may build, and one of the equal results stays.
pub(super) fn built<T>(cell: &OnceLock<T>, build: impl Fn() -> T) -> &T {
    if cell.get().is_none() {
        let _ = cell.set(build());
    }
    // Always there by now: either ours or another's.
    cell.get_or_init(build)
}
