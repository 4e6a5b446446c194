//! What holds for any members, settings and states.

use dynamic_core::select::{Algorithm, HashScope, Pass, Request, Rules, Selector};
use proptest::prelude::*;

use crate::world::{World, ids, mixed, selector};

/// Weight, priority, score, healthy, tried, full, in flight, factor of slow start.
type Spec = (u32, u32, i64, bool, bool, bool, u32, f64);

const ALGORITHMS: [Algorithm; 4] = [
    Algorithm::RoundRobin,
    Algorithm::Random,
    Algorithm::Least,
    Algorithm::PowerOfTwo,
];

fn weight() -> impl Strategy<Value = u32> {
    prop_oneof![
        Just(0),
        Just(1),
        2u32..100,
        Just(65_535),
        Just(u32::MAX),
        any::<u32>()
    ]
}

fn member() -> impl Strategy<Value = Spec> {
    let flight = prop_oneof![Just(0), 0u32..20, Just(u32::MAX)];
    let ramp = prop_oneof![Just(1.0), 0.0..1.0, Just(f64::NAN)];
    (
        weight(),
        0u32..3,
        -1i64..2,
        any::<bool>(),
        any::<bool>(),
        any::<bool>(),
        flight,
        ramp,
    )
}

fn rules() -> impl Strategy<Value = Rules> {
    let algorithm = prop_oneof![
        Just(Algorithm::RoundRobin),
        Just(Algorithm::Random),
        Just(Algorithm::Least),
        Just(Algorithm::PowerOfTwo)
    ];
    let factor = prop_oneof![Just(0.0), 1.0..3.0];
    let balance = prop_oneof![Just(0.0), 1.1..10.0];
    let scope = prop_oneof![Just(HashScope::Tier), Just(HashScope::All)];
    let all = (algorithm, factor, balance, scope, any::<bool>());
    all.prop_map(
        |(algorithm, overprovisioning, hash_balance, hash_scope, slow_start)| Rules {
            algorithm,
            overprovisioning,
            hash_balance,
            hash_scope,
            slow_start,
        },
    )
}

fn request() -> impl Strategy<Value = Request> {
    let key = prop_oneof![Just(None), any::<u64>().prop_map(Some)];
    let now = prop_oneof![0.0..1e9, Just(f64::NAN), Just(f64::INFINITY)];
    (key, any::<bool>(), now).prop_map(|(key, retry, now)| Request { key, retry, now })
}

fn build(specs: &[Spec]) -> (Selector, World) {
    let ids = ids(specs.len());
    let members: Vec<_> = ids
        .into_iter()
        .zip(specs)
        .map(|(id, s)| (id, s.0, s.1, s.2))
        .collect();
    let mut world = World::new(specs.len());
    world.healthy = specs.iter().map(|s| s.3).collect();
    world.tried = specs.iter().map(|s| s.4).collect();
    world.full = specs.iter().map(|s| s.5).collect();
    world.in_flight = specs.iter().map(|s| s.6).collect();
    world.factor = specs.iter().map(|s| s.7).collect();
    (selector(&members), world)
}

/// What a choice must satisfy, among those for which `group` holds.
fn check(
    specs: &[Spec],
    selector: &Selector,
    world: &World,
    rules: &Rules,
    request: &Request,
    group: Option<u64>,
) -> Result<(), TestCaseError> {
    let member = |i: &usize| group.is_none_or(|bits| bits >> (i % 64) & 1 == 1);
    let choice = match group {
        None => selector.choose(rules, world, request),
        Some(_) => selector.choose_where(rules, world, request, |i| member(&i)),
    };
    let present: Vec<usize> = (0..specs.len()).filter(member).collect();
    let Some(choice) = choice else {
        prop_assert!(present.is_empty());
        return Ok(());
    };
    prop_assert!(present.contains(&choice.index));
    let fresh = |i: &&usize| world.healthy[**i] && !(request.retry && world.tried[**i]);
    let fresh: Vec<&usize> = present.iter().filter(fresh).collect();
    let healthy: Vec<&usize> = present.iter().filter(|i| world.healthy[**i]).collect();
    let (pass, usable) = if !fresh.is_empty() {
        (Pass::Untried, fresh)
    } else if !healthy.is_empty() {
        (Pass::Tried, healthy)
    } else {
        (Pass::AnyHealth, present.iter().collect())
    };
    prop_assert_eq!(choice.pass, pass);
    // Those with room first, whatever their tier.
    let with_room: Vec<&usize> = usable
        .iter()
        .copied()
        .filter(|i| !world.full[**i])
        .collect();
    let usable = if pass == Pass::AnyHealth || with_room.is_empty() {
        if pass != Pass::AnyHealth {
            prop_assert!(choice.bound_exceeded);
        }
        usable
    } else {
        with_room
    };
    let bounded = request.key.is_some() && rules.hash_balance > 0.0;
    if !bounded && !present.iter().any(|i| world.full[*i]) {
        prop_assert!(!choice.bound_exceeded);
    }
    prop_assert!(usable.contains(&&choice.index));
    prop_assert_eq!(
        choice.retried_elsewhere,
        request.retry && pass == Pass::Untried
    );

    let level = |i: usize| (specs[i].1, -specs[i].2);
    let whole =
        rules.hash_scope == HashScope::All && request.key.is_some() && pass != Pass::AnyHealth;
    if !whole {
        if rules.overprovisioning == 0.0 || pass == Pass::AnyHealth {
            let best = usable.iter().map(|i| level(**i)).min();
            prop_assert_eq!(Some(level(choice.index)), best);
        }
        let better = present.iter().any(|&i| level(i) < level(choice.index));
        prop_assert_eq!(choice.spilled, better);
    }
    // Weight 0 serves only where nothing else of the tier (or of all) can.
    if specs[choice.index].0 == 0 {
        let same = |i: &&&usize| whole || level(***i) == level(choice.index);
        prop_assert!(usable.iter().filter(same).all(|i| specs[**i].0 == 0));
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn the_healthy_and_untried_come_first(
        specs in prop::collection::vec(member(), 0..24),
        rules in rules(),
        requests in prop::collection::vec(request(), 1..12),
        group in prop::option::of(any::<u64>()),
    ) {
        let (selector, world) = build(&specs);
        prop_assert_eq!(selector.len(), specs.len());
        for request in &requests {
            check(&specs, &selector, &world, &rules, request, None)?;
            check(&specs, &selector, &world, &rules, request, group)?;
        }
    }

    #[test]
    fn a_subset_chooses_as_the_group_alone_would(
        specs in prop::collection::vec(member(), 1..16),
        rules in rules(),
        request in request(),
        bits in any::<u64>(),
    ) {
        let (selector, world) = build(&specs);
        let keep = |i: usize| bits >> i & 1 == 1;
        let subset = selector.subset(keep);
        let choice = subset.choose(&rules, &world, &request);
        let among = selector.choose_where(&rules, &world, &request, keep);
        prop_assert_eq!(choice.is_some(), among.is_some());
        if let (Some(choice), Some(among)) = (choice, among) {
            prop_assert!(keep(choice.index) && keep(among.index));
            prop_assert_eq!(choice.pass, among.pass);
        }
    }
}

#[test]
fn a_hundred_thousand_choices_all_end() {
    let algorithms = ALGORITHMS;
    let mut count = 0;
    let mut next = |n: u64| {
        count += 1;
        mixed(count) % n
    };
    let mut chosen = 0;
    for _ in 0..100 {
        let n = next(12);
        let weights = [0, 1, 7, u32::MAX];
        let specs: Vec<Spec> = (0..n)
            .map(|_| {
                let weight = weights[usize::try_from(next(4)).unwrap()];
                let flight = u32::try_from(next(5)).unwrap();
                (
                    weight,
                    u32::try_from(next(2)).unwrap(),
                    0,
                    next(3) > 0,
                    next(3) > 1,
                    next(4) > 2,
                    flight,
                    0.5,
                )
            })
            .collect();
        let (selector, mut world) = build(&specs);
        for _ in 0..1000 {
            if n > 0 {
                let i = usize::try_from(next(n)).unwrap();
                world.healthy[i] = next(2) > 0;
                world.tried[i] = next(2) > 0;
            }
            let rules = Rules {
                algorithm: algorithms[usize::try_from(next(4)).unwrap()],
                overprovisioning: [0.0, 1.4][usize::try_from(next(2)).unwrap()],
                hash_balance: [0.0, 1.25][usize::try_from(next(2)).unwrap()],
                hash_scope: [HashScope::Tier, HashScope::All][usize::try_from(next(2)).unwrap()],
                slow_start: next(2) > 0,
            };
            let key = next(u64::MAX);
            let request = Request {
                key: (key % 2 == 0).then_some(key),
                retry: key % 3 == 0,
                now: f64::from(u32::try_from(next(1000)).unwrap()) / 100.0,
            };
            let choice = selector.choose(&rules, &world, &request);
            assert_eq!(choice.is_some(), n > 0);
            let Some(choice) = choice else { continue };
            let any_healthy = choice.pass != Pass::AnyHealth;
            assert_eq!(any_healthy, world.healthy.contains(&true));
            assert!(world.healthy[choice.index] || !any_healthy);
            chosen += 1;
        }
    }
    assert!(chosen > 80_000);
}

#[test]
fn a_choice_allocates_nothing_once_its_tables_are_there() {
    let specs: Vec<Spec> = (0..40)
        .map(|i| {
            (
                i % 5,
                i % 3,
                0,
                i % 4 > 0,
                i % 7 == 0,
                i % 9 == 0,
                i % 6,
                0.5,
            )
        })
        .collect();
    let (selector, world) = build(&specs);
    for algorithm in ALGORITHMS {
        for (overprovisioning, hash_balance) in [(0.0, 0.0), (1.4, 1.25)] {
            for hash_scope in [HashScope::Tier, HashScope::All] {
                let rules = Rules {
                    algorithm,
                    overprovisioning,
                    hash_balance,
                    hash_scope,
                    slow_start: true,
                };
                let all = || {
                    for i in 0..400u64 {
                        let request = Request {
                            key: (i % 2 == 0).then(|| mixed(i)),
                            retry: i % 3 == 0,
                            now: 1.0,
                        };
                        assert!(selector.choose(&rules, &world, &request).is_some());
                        assert!(
                            selector
                                .choose_where(&rules, &world, &request, |i| i % 2 == 0)
                                .is_some()
                        );
                    }
                };
                all();
                let seen = allocation_counter::measure(all);
                assert_eq!(seen.count_total, 0, "{rules:?}");
            }
        }
    }
}
