//! Tiers, spill-over, retries across tiers, and groups.

use dynamic_core::select::{Algorithm, Member, Pass, Request, Rules, Selector, key_hash};

use crate::world::{PLAIN, RETRY, World, choose, flat, ids, keyed, selector, tally, trace};

fn spilling(factor: f64) -> Rules {
    Rules {
        overprovisioning: factor,
        ..Rules::default()
    }
}

/// Tiers of these sizes, weights 1.
fn tiers(sizes: &[u32]) -> Selector {
    let n = sizes.iter().sum::<u32>() as usize;
    let priorities = (0u32..)
        .zip(sizes)
        .flat_map(|(t, &size)| (0..size).map(move |_| t));
    selector(
        &ids(n)
            .into_iter()
            .zip(priorities)
            .map(|(id, p)| (id, 1, p, 0))
            .collect::<Vec<_>>(),
    )
}

#[test]
fn lower_priority_comes_first_then_higher_score() {
    let ids = ids(5);
    let ranks = [(1, 9), (0, -2), (0, 0), (0, i64::MAX), (u32::MAX, i64::MIN)];
    let members: Vec<_> = ids
        .into_iter()
        .zip(ranks)
        .map(|(id, (p, s))| (id, 1, p, s))
        .collect();
    let selector = selector(&members);
    assert_eq!(selector.len(), 5);
    let mut world = World::new(5);
    for (tier, best) in (0..).zip([3, 2, 1, 0, 4]) {
        let choice = choose(&selector, &Rules::default(), &world, &PLAIN);
        assert_eq!(
            (choice.index, choice.tier, choice.spilled),
            (best, tier, tier > 0)
        );
        world.healthy[best] = false;
    }
}

#[test]
fn nothing_is_an_ordinary_layout() {
    let selector = Selector::new(&[], 7);
    assert!(selector.is_empty());
    selector.prepare(&Rules::default());
    for rules in [Rules::default(), spilling(1.4)] {
        for request in [PLAIN, RETRY, keyed(1)] {
            assert_eq!(selector.choose(&rules, &World::new(0), &request), None);
        }
    }
}

#[test]
fn one_endpoint_always_serves() {
    let selector = flat(&[1]);
    for algorithm in [Algorithm::RoundRobin, Algorithm::Random, Algorithm::Least] {
        let rules = Rules {
            algorithm,
            ..Rules::default()
        };
        assert_eq!(tally(&selector, &rules, &World::new(1), &PLAIN, 10), [10]);
        let sick = choose(&selector, &rules, &World::without(1, &[0]), &PLAIN);
        assert_eq!((sick.index, sick.pass), (0, Pass::AnyHealth));
    }
}

#[test]
fn the_best_tier_takes_all_while_one_of_it_is_healthy() {
    let selector = tiers(&[2, 2, 2]);
    let rules = Rules::default();
    assert_eq!(
        tally(&selector, &rules, &World::new(6), &PLAIN, 10),
        [5, 5, 0, 0, 0, 0]
    );
    assert_eq!(
        tally(&selector, &rules, &World::without(6, &[0]), &PLAIN, 10),
        [0, 10, 0, 0, 0, 0]
    );
    assert_eq!(
        tally(&selector, &rules, &World::without(6, &[0, 1]), &PLAIN, 10),
        [0, 0, 5, 5, 0, 0]
    );
    let world = World::without(6, &[0, 1, 2, 3]);
    assert_eq!(
        tally(&selector, &rules, &world, &PLAIN, 10),
        [0, 0, 0, 0, 5, 5]
    );
}

#[test]
fn nothing_healthy_gives_all_of_the_best_tier_alike() {
    for n in 1..=9u32 {
        let selector = tiers(&[n, 3]);
        let sick: Vec<usize> = (0..n as usize + 3).collect();
        let world = World::without(sick.len(), &sick);
        for request in [PLAIN, keyed(3)] {
            for rules in [Rules::default(), spilling(1.4)] {
                let counts = tally(&selector, &rules, &world, &request, 100 * n as usize);
                let (best, other) = counts.split_at(n as usize);
                assert!(best.iter().all(|c| c.abs_diff(100) <= 3), "{counts:?}");
                assert_eq!(other, [0; 3]);
                let choice = choose(&selector, &rules, &world, &request);
                assert!(choice.pass == Pass::AnyHealth && !choice.spilled);
            }
        }
    }
}

#[test]
fn a_retry_leaves_the_tier_when_all_of_it_were_tried_and_starts_over_at_the_end() {
    let selector = tiers(&[2, 1]);
    for algorithm in [Algorithm::RoundRobin, Algorithm::Random, Algorithm::Least] {
        let rules = Rules {
            algorithm,
            ..Rules::default()
        };
        let mut world = World::new(3);
        let mut order = Vec::new();
        for attempt in 0..3 {
            let choice = choose(
                &selector,
                &rules,
                &world,
                &if attempt > 0 { RETRY } else { PLAIN },
            );
            assert_eq!(choice.pass, Pass::Untried);
            assert_eq!(choice.retried_elsewhere, attempt > 0);
            world.tried[choice.index] = true;
            order.push(choice.index);
        }
        assert_eq!(order[2], 2, "the other tier last");
        let again = choose(&selector, &rules, &world, &RETRY);
        assert_eq!(
            (again.pass, again.tier, again.retried_elsewhere),
            (Pass::Tried, 0, false)
        );
    }
}

#[test]
fn sick_endpoints_do_not_count_as_untried() {
    let mut world = World::without(3, &[1, 2]);
    world.tried[0] = true;
    let choice = choose(&tiers(&[2, 1]), &Rules::default(), &world, &RETRY);
    assert_eq!((choice.index, choice.pass), (0, Pass::Tried));
}

/// The part of 100,000 requests that each tier of 10 endpoints gets.
fn parts(factor: f64, sick: &[usize], n: usize) -> Vec<f64> {
    let selector = tiers(&vec![10; n]);
    let counts = tally(
        &selector,
        &spilling(factor),
        &World::without(10 * n, sick),
        &PLAIN,
        100_000,
    );
    let part = |tier: &[u64]| f64::from(u32::try_from(tier.iter().sum::<u64>()).unwrap()) / 1e5;
    counts.chunks(10).map(part).collect()
}

fn close(parts: &[f64], expected: &[f64]) {
    let off = parts
        .iter()
        .zip(expected)
        .map(|(a, b)| (a - b).abs())
        .fold(0.0, f64::max);
    assert!(off < 0.01, "{parts:?}, not {expected:?}");
}

#[test]
fn half_the_tier_sick_serves_70_percent_at_1_4() {
    close(&parts(1.4, &[0, 1, 2, 3, 4], 2), &[0.7, 0.3]);
}

#[test]
fn loads_follow_the_capacities() {
    // 1.4 × 80 % is more than all.
    close(&parts(1.4, &[0, 1], 2), &[1.0, 0.0]);
    close(&parts(1.0, &[0, 1], 2), &[0.8, 0.2]);
    // A rest of 0.3, of which the second tier can serve 0.14.
    let second: Vec<usize> = (0..5).chain(10..19).collect();
    close(&parts(1.4, &second, 3), &[0.7, 0.14, 0.16]);
    // A tier without anything healthy is left out.
    let second: Vec<usize> = (0..5).chain(10..20).collect();
    close(&parts(1.4, &second, 3), &[0.7, 0.0, 0.3]);
    // Not enough in all tiers: 0.28 and 0.14 are scaled up.
    let both: Vec<usize> = (0..8).chain(10..19).collect();
    close(&parts(1.4, &both, 2), &[2.0 / 3.0, 1.0 / 3.0]);
}

#[test]
fn weight_0_adds_no_capacity() {
    let weights = [1, 1, 0, 0, 1].into_iter().zip([0, 0, 0, 0, 1]);
    let members = ids(5).into_iter().zip(weights);
    let members: Vec<_> = members.map(|(id, (w, p))| (id, w, p, 0)).collect();
    let selector = selector(&members);
    let counts = tally(
        &selector,
        &spilling(1.4),
        &World::without(5, &[0]),
        &PLAIN,
        10_000,
    );
    assert!((6800..7200).contains(&counts[1]), "{counts:?}");
    assert_eq!(counts[1] + counts[4], 10_000);
    // With nothing of weight in any tier, what has none serves.
    let world = World::without(5, &[0, 1, 4]);
    let counts = tally(
        &Selector::subset(&selector, |_| true),
        &spilling(1.4),
        &world,
        &PLAIN,
        10,
    );
    assert_eq!(counts, [0, 0, 5, 5, 0]);
}

#[test]
fn keys_keep_their_tier_and_spill_in_the_same_parts() {
    let selector = tiers(&[10, 10]);
    let world = World::without(20, &[0, 1, 2, 3, 4]);
    let rules = spilling(1.4);
    let mut spilled = 0;
    for name in 0..10_000 {
        let request = keyed(key_hash(format!("user-{name}").as_bytes()));
        let choice = choose(&selector, &rules, &world, &request);
        assert_eq!(choice, choose(&selector, &rules, &world, &request));
        spilled += u32::from(choice.spilled);
    }
    assert!((2800..=3200).contains(&spilled), "{spilled}");
}

#[test]
fn healthy_weights_are_counted_again_after_10_milliseconds() {
    let selector = tiers(&[2, 2]);
    let rules = spilling(1.0);
    let mut world = World::new(4);
    let spilled = |world: &World, now: f64| {
        let request = Request { now, ..PLAIN };
        let picks = (0..1000).map(|_| choose(&selector, &rules, world, &request).spilled);
        picks.filter(|&spilled| spilled).count()
    };
    assert_eq!(spilled(&world, 50.0), 0);
    world.healthy[0] = false;
    assert_eq!(spilled(&world, 50.009), 0, "the old count serves");
    assert!((400..600).contains(&spilled(&world, 50.011)));
    world.healthy[0] = true;
    // Also if the clock goes back, or fails.
    assert_eq!(spilled(&world, 20.0), 0);
    world.healthy[0] = false;
    assert!(spilled(&world, f64::NAN) > 0);
}

#[test]
fn a_group_has_its_own_tiers_and_turns() {
    let selector = tiers(&[2, 4]);
    let group = selector.subset(|i| [3, 5].contains(&i));
    assert_eq!(group.len(), 2);
    assert_eq!(
        trace(&group, &Rules::default(), &World::new(6), 4),
        [3, 5, 3, 5]
    );
    let choice = choose(&group, &Rules::default(), &World::new(6), &PLAIN);
    assert_eq!((choice.tier, choice.spilled), (1, false));
    assert!(selector.subset(|_| false).is_empty());
    assert_eq!(
        trace(&selector, &Rules::default(), &World::new(6), 2),
        [0, 1]
    );
}

#[test]
fn a_group_by_predicate_is_chosen_among_as_if_there_were_no_others() {
    let selector = tiers(&[2, 4]);
    let rules = spilling(1.4);
    let group = |i: usize| [1, 3, 5].contains(&i);
    let choice = |world: &World, request: &Request| {
        selector
            .choose_where(&rules, world, request, group)
            .unwrap()
    };
    let first = choice(&World::without(6, &[0]), &PLAIN);
    assert_eq!((first.index, first.spilled), (1, false));
    let other = choice(&World::without(6, &[1]), &PLAIN);
    assert!([3, 5].contains(&other.index) && other.spilled);
    let sick = choice(&World::without(6, &[1, 3, 5]), &PLAIN);
    assert_eq!((sick.index, sick.pass), (1, Pass::AnyHealth));
    let mut world = World::new(6);
    world.tried = vec![false, true, false, true, false, false];
    assert_eq!(choice(&world, &RETRY).index, 5);
    let nobody = selector.choose_where(&rules, &world, &PLAIN, |_| false);
    assert_eq!(nobody, None);
    let only_worse = selector
        .choose_where(&rules, &world, &PLAIN, |i| i == 3)
        .unwrap();
    assert!(!only_worse.spilled, "the group has no better tier");
}

#[test]
fn the_seed_says_where_turns_begin() {
    let ids = ids(3);
    let member = |id| Member {
        id,
        host: None,
        weight: 1,
        priority: 0,
        score: 0,
    };
    let members: Vec<Member<'_>> = ids.iter().map(|id| member(id)).collect();
    for (seed, first) in [(0, 0), (4, 1), (u64::MAX, 0)] {
        let selector = Selector::new(&members, seed);
        assert_eq!(
            choose(&selector, &Rules::default(), &World::new(3), &PLAIN).index,
            first
        );
    }
}
