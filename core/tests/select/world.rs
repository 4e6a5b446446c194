//! A world of endpoints that a test sets by hand.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use dynamic_core::select::{Choice, EndpointState, Member, Pass, Request, Rules, Selector};

/// The state of some endpoints, and a seeded generator of random numbers.
pub(crate) struct World {
    pub(crate) healthy: Vec<bool>,
    pub(crate) tried: Vec<bool>,
    pub(crate) full: Vec<bool>,
    pub(crate) in_flight: Vec<u32>,
    pub(crate) factor: Vec<f64>,
    random: AtomicU64,
}

impl World {
    /// `n` healthy and idle endpoints.
    pub(crate) fn new(n: usize) -> Self {
        World {
            healthy: vec![true; n],
            tried: vec![false; n],
            full: vec![false; n],
            in_flight: vec![0; n],
            factor: vec![1.0; n],
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

impl EndpointState for World {
    fn healthy(&self, i: usize) -> bool {
        self.healthy[i]
    }

    fn tried(&self, i: usize) -> bool {
        self.tried[i]
    }

    fn full(&self, i: usize) -> bool {
        self.full[i]
    }

    fn in_flight(&self, i: usize) -> u32 {
        self.in_flight[i]
    }

    fn slow_start_factor(&self, i: usize) -> f64 {
        self.factor[i]
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

/// A selector of one tier.
pub(crate) fn flat(weights: &[u32]) -> Selector {
    let ids = ids(weights.len());
    let member = |(id, &weight): (&'_ String, _)| (id.clone(), weight, 0, 0);
    selector(&ids.iter().zip(weights).map(member).collect::<Vec<_>>())
}

/// A selector of `(id, weight, priority, score)`.
pub(crate) fn selector(members: &[(String, u32, u32, i64)]) -> Selector {
    let member = |(id, weight, priority, score): &'_ (String, u32, u32, i64)| {
        (id.clone(), *weight, *priority, *score)
    };
    let owned: Vec<_> = members.iter().map(member).collect();
    let members: Vec<Member<'_>> = owned
        .iter()
        .map(|(id, weight, priority, score)| Member {
            id,
            host: None,
            weight: *weight,
            priority: *priority,
            score: *score,
        })
        .collect();
    Selector::new(&members, 0)
}

/// What a first attempt without a key requests.
pub(crate) const PLAIN: Request = Request {
    key: None,
    retry: false,
    now: 0.0,
};

/// What a retry without a key requests.
pub(crate) const RETRY: Request = Request {
    retry: true,
    ..PLAIN
};

/// What a request with a key requests.
pub(crate) fn keyed(key: u64) -> Request {
    Request {
        key: Some(key),
        ..PLAIN
    }
}

/// Chooses, and checks what holds for every choice of a healthy endpoint.
pub(crate) fn choose(
    selector: &Selector,
    rules: &Rules,
    world: &World,
    request: &Request,
) -> Choice {
    let choice = selector.choose(rules, world, request).unwrap();
    assert!(world.healthy[choice.index] || choice.pass == Pass::AnyHealth);
    choice
}

/// How often each of `n` endpoints is chosen in `times` requests.
pub(crate) fn tally(
    selector: &Selector,
    rules: &Rules,
    world: &World,
    request: &Request,
    times: usize,
) -> Vec<u64> {
    let mut counts = vec![0; world.healthy.len()];
    for _ in 0..times {
        counts[choose(selector, rules, world, request).index] += 1;
    }
    counts
}

/// The indices chosen in `times` requests.
pub(crate) fn trace(selector: &Selector, rules: &Rules, world: &World, times: usize) -> Vec<usize> {
    let one = |_| choose(selector, rules, world, &PLAIN).index;
    (0..times).map(one).collect()
}
