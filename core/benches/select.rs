//! What a choice costs, in nanoseconds, and what building a selector and its
//! tables costs, in microseconds: `cargo bench -p dynamic-core --bench select`.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::Instant;

use dynamic_core::select::{
    Algorithm, EndpointState, HashScope, Member, Request, Rules, Selector, key_hash,
};

/// Many short runs, of which the best counts: others use the machine too.
const RUNS: usize = 100;
const SIZES: [usize; 5] = [1, 3, 10, 100, 1000];

/// Endpoints in memory, asked through calls that are not inlined, as the
/// shell's callbacks are not.
struct World {
    healthy: Vec<bool>,
    in_flight: Vec<u32>,
    random: AtomicU64,
}

impl EndpointState for World {
    #[inline(never)]
    fn healthy(&self, i: usize) -> bool {
        black_box(self.healthy[i])
    }

    #[inline(never)]
    fn tried(&self, i: usize) -> bool {
        black_box(i) == 0
    }

    #[inline(never)]
    fn full(&self, i: usize) -> bool {
        black_box(self.in_flight[i]) > 99
    }

    #[inline(never)]
    fn in_flight(&self, i: usize) -> u32 {
        black_box(self.in_flight[i])
    }

    #[inline(never)]
    fn slow_start_factor(&self, _: usize) -> f64 {
        black_box(1.0)
    }

    fn random(&self) -> u64 {
        let state = self
            .random
            .load(Relaxed)
            .wrapping_mul(0x5851_f42d_4c95_7f2d)
            .wrapping_add(1);
        self.random.store(state, Relaxed);
        state
    }
}

fn world(n: usize, sick: usize, busy: u32) -> World {
    World {
        healthy: (0..n).map(|i| (i * 61 + 99) % 100 >= sick).collect(),
        in_flight: vec![busy; n],
        random: AtomicU64::new(1),
    }
}

fn selector(n: usize, weights: impl Fn(u32) -> u32, tiers: u32) -> Selector {
    let ids: Vec<String> = (0..n)
        .map(|i| format!("10.0.{}.{}:8080", i / 250, i % 250))
        .collect();
    let member = |(i, id): (u32, &'_ String)| (id.clone(), weights(i), i % tiers);
    let owned: Vec<_> = (0u32..).zip(&ids).map(member).collect();
    let members: Vec<Member<'_>> = owned
        .iter()
        .map(|(id, weight, priority)| Member {
            id,
            host: None,
            weight: *weight,
            priority: *priority,
            score: 0,
        })
        .collect();
    Selector::new(&members, 0)
}

/// The least time of several runs, in nanoseconds per call.
fn time(calls: u32, mut call: impl FnMut(u32)) -> f64 {
    let run = |call: &mut dyn FnMut(u32)| {
        let start = Instant::now();
        for i in 0..calls {
            call(i);
        }
        start.elapsed().as_secs_f64() * 1e9 / f64::from(calls)
    };
    (0..RUNS)
        .map(|_| run(&mut call))
        .fold(f64::INFINITY, f64::min)
}

fn row(name: &str, cell: impl Fn(usize) -> f64) {
    print!("{name:<44}");
    for n in SIZES {
        print!("{:>10.1}", cell(n));
    }
    println!();
}

fn choices(
    name: &str,
    rules: Rules,
    keyed: bool,
    weights: fn(u32) -> u32,
    tiers: u32,
    sick: usize,
    busy: u32,
) {
    row(name, |n| {
        let selector = selector(n, weights, tiers);
        let world = world(n, sick, busy);
        let calls = if n < 100 { 20_000 } else { 1_000 };
        let mut request = Request::default();
        time(calls, |i| {
            if keyed {
                request.key = Some(u64::from(i).wrapping_mul(0x9e37_79b9_7f4a_7c15));
            }
            request.now = f64::from(i) * 1e-7;
            black_box(selector.choose(black_box(&rules), &world, &request));
        })
    });
}

fn two_threads(rules: Rules) {
    row("  the same, two threads", |n| {
        let selector = selector(n, |_| 1, 1);
        let run = || {
            let world = world(n, 0, 0);
            time(20_000, |_| {
                black_box(selector.choose(&rules, &world, &Request::default()));
            })
        };
        thread::scope(|scope| {
            let other = scope.spawn(run);
            f64::midpoint(run(), other.join().unwrap_or(f64::NAN))
        })
    });
}

fn main() {
    let equal = |_| 1;
    let mixed = |i| i % 7 + 1;
    let rr = Rules::default();
    let random = Rules {
        algorithm: Algorithm::Random,
        ..rr
    };
    let least = Rules {
        algorithm: Algorithm::Least,
        ..rr
    };
    let balance = Rules {
        hash_balance: 1.25,
        ..rr
    };
    let spill = Rules {
        overprovisioning: 1.4,
        ..rr
    };
    let all = Rules {
        hash_scope: HashScope::All,
        ..rr
    };

    print!("{:<44}", "nanoseconds per choice, endpoints:");
    for n in SIZES {
        print!("{n:>10}");
    }
    println!();
    choices("round robin", rr, false, equal, 1, 0, 0);
    two_threads(rr);
    choices("round robin, weights 1 to 7", rr, false, mixed, 1, 0, 0);
    choices("round robin, half sick", rr, false, equal, 1, 50, 0);
    choices("random", random, false, equal, 1, 0, 0);
    two_threads(random);
    choices("random, weights 1 to 7", random, false, mixed, 1, 0, 0);
    choices("least, idle", least, false, equal, 1, 0, 0);
    choices("least, busy", least, false, equal, 1, 0, 9);
    let two = Rules {
        algorithm: Algorithm::PowerOfTwo,
        ..rr
    };
    choices("power of two, busy", two, false, equal, 1, 0, 9);
    choices("power of two, weights 1 to 7", two, false, mixed, 1, 0, 9);
    choices("two tiers, the first sick", rr, false, equal, 2, 100, 0);
    choices(
        "overprovisioning, two tiers, 30 % sick",
        spill,
        false,
        equal,
        2,
        30,
        0,
    );
    choices("key", rr, true, equal, 1, 0, 0);
    choices("key, weights 1 to 7", rr, true, mixed, 1, 0, 0);
    choices("key, half sick", rr, true, equal, 1, 50, 0);
    choices("key, two tiers as one", all, true, equal, 2, 0, 0);
    choices("key, balance 1.25, idle", balance, true, equal, 1, 0, 0);
    choices("key, balance 1.25, busy", balance, true, equal, 1, 0, 9);
    row("hash of a key of 16 bytes", |_| {
        time(20_000, |_| {
            black_box(key_hash(black_box(b"user-0123456789a")));
        })
    });

    println!("\nmicroseconds to build");
    row("selector", |n| {
        time(20, |_| {
            black_box(selector(n, equal, 1));
        }) / 1e3
    });
    for (name, weights) in [
        ("weights 1", equal as fn(u32) -> u32),
        ("weights 1 to 7", mixed),
    ] {
        row(&format!("first key, {name}"), |n| {
            let world = world(n, 0, 0);
            first(
                || selector(n, weights, 1),
                |l| {
                    black_box(l.choose(&rr, &world, &KEYED));
                },
            )
        });
    }
    let odd = |i: u32| i.wrapping_mul(2_654_435_761).max(1);
    row("schedule of 65,536 slots", |n| {
        first(|| selector(n, odd, 1), |l| l.prepare(&rr))
    });
}

const KEYED: Request = Request {
    key: Some(1),
    retry: false,
    now: 0.0,
};

/// The least time of a first call on a new selector, in microseconds.
fn first(build: impl Fn() -> Selector, call: impl Fn(&Selector)) -> f64 {
    let run = |_| {
        let selector = build();
        let start = Instant::now();
        call(&selector);
        start.elapsed().as_secs_f64() * 1e6
    };
    (0..RUNS).map(run).fold(f64::INFINITY, f64::min)
}
