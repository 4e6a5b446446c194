//! A world of endpoints that a test sets by hand.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use dynamic_core::select::{Ask, Choice, Layout, Live, Member, Rules, Standing};

/// The state of some endpoints, and a seeded generator of random numbers.
pub(crate) struct World {
    pub(crate) healthy: Vec<bool>,
    pub(crate) tried: Vec<bool>,
    pub(crate) in_flight: Vec<u32>,
    pub(crate) ramp: Vec<f64>,
    random: AtomicU64,
}

impl World {
    /// `n` healthy and idle endpoints.
    pub(crate) fn new(n: usize) -> Self {
        World {
            healthy: vec![true; n],
            tried: vec![false; n],
            in_flight: vec![0; n],
            ramp: vec![1.0; n],
            random: AtomicU64::new(1),
        }
    }

    /// All healthy but `sick`.
    pub(crate) fn without(n: usize, sick: &[usize]) -> Self {
        let mut world = World::new(n);
        for &i in sick {
            world.healthy[i] = false;
        }
        world
    }
}

impl Live for World {
    fn healthy(&self, i: usize) -> bool {
        self.healthy[i]
    }

    fn tried(&self, i: usize) -> bool {
        self.tried[i]
    }

    fn in_flight(&self, i: usize) -> u32 {
        self.in_flight[i]
    }

    fn ramp(&self, i: usize) -> f64 {
        self.ramp[i]
    }

    fn random(&self) -> u64 {
        mixed(self.random.fetch_add(1, Relaxed))
    }
}

/// The 64-bit finalizer of `MurmurHash3`: random numbers from a count.
pub(crate) fn mixed(count: u64) -> u64 {
    let mut z = count ^ (count >> 33);
    z = z.wrapping_mul(0xff51_afd7_ed55_8ccd);
    z = (z ^ (z >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    z ^ (z >> 33)
}

/// Identities in the order of their numbers.
pub(crate) fn ids(n: usize) -> Vec<String> {
    let id = |i| format!("10.0.{:03}.{:03}:80", i / 250, i % 250);
    (0..n).map(id).collect()
}

/// A layout of one tier.
pub(crate) fn flat(weights: &[u32]) -> Layout {
    let ids = ids(weights.len());
    let member = |(id, &weight): (&'_ String, _)| (id.clone(), weight, 0, 0);
    layout(&ids.iter().zip(weights).map(member).collect::<Vec<_>>())
}

/// A layout of `(id, weight, priority, score)`.
pub(crate) fn layout(members: &[(String, u32, u32, i64)]) -> Layout {
    let member = |(id, weight, priority, score): &'_ (String, u32, u32, i64)| {
        (id.clone(), *weight, *priority, *score)
    };
    let owned: Vec<_> = members.iter().map(member).collect();
    let members: Vec<Member<'_>> = owned
        .iter()
        .map(|(id, weight, priority, score)| Member {
            id,
            weight: *weight,
            priority: *priority,
            score: *score,
        })
        .collect();
    Layout::new(&members, 0)
}

/// What a first attempt without a key asks.
pub(crate) const PLAIN: Ask = Ask {
    key: None,
    retry: false,
    now: 0.0,
};

/// What a retry without a key asks.
pub(crate) const RETRY: Ask = Ask {
    retry: true,
    ..PLAIN
};

/// What a request with a key asks.
pub(crate) fn keyed(key: u64) -> Ask {
    Ask {
        key: Some(key),
        ..PLAIN
    }
}

/// Chooses, and checks what holds for every choice of a healthy endpoint.
pub(crate) fn choose(layout: &Layout, rules: &Rules, world: &World, ask: &Ask) -> Choice {
    let choice = layout.choose(rules, world, ask).unwrap();
    assert!(world.healthy[choice.index] || choice.standing == Standing::Sick);
    choice
}

/// How often each of `n` endpoints is chosen in `times` requests.
pub(crate) fn tally(
    layout: &Layout,
    rules: &Rules,
    world: &World,
    ask: &Ask,
    times: usize,
) -> Vec<u64> {
    let mut counts = vec![0; world.healthy.len()];
    for _ in 0..times {
        counts[choose(layout, rules, world, ask).index] += 1;
    }
    counts
}

/// The indices chosen in `times` requests.
pub(crate) fn trace(layout: &Layout, rules: &Rules, world: &World, times: usize) -> Vec<usize> {
    let one = |_| choose(layout, rules, world, &PLAIN).index;
    (0..times).map(one).collect()
}
