//! Round robin.

use std::thread;

use dynamic_core::select::Rules;
use proptest::prelude::*;

use crate::world::{PLAIN, RETRY, World, choose, flat, ids, selector, tally, trace};

const RULES: Rules = Rules {
    algorithm: dynamic_core::select::Algorithm::RoundRobin,
    overprovisioning: 0.0,
    hash_balance: 0.0,
    hash_scope: dynamic_core::select::HashScope::Tier,
    slow_start: false,
};

#[test]
fn equal_endpoints_are_chosen_in_turn() {
    assert_eq!(
        trace(&flat(&[1, 1, 1]), &RULES, &World::new(3), 7),
        [0, 1, 2, 0, 1, 2, 0]
    );
}

#[test]
fn the_order_of_the_members_does_not_matter() {
    let forward: Vec<_> = ids(5).into_iter().map(|id| (id, 1, 0, 0)).collect();
    let mut backward = forward.clone();
    backward.reverse();
    let world = World::new(5);
    let there = trace(&selector(&forward), &RULES, &world, 20);
    let back = trace(&selector(&backward), &RULES, &world, 20);
    assert!(
        there
            .iter()
            .zip(&back)
            .all(|(there, back)| there + back == 4)
    );
}

#[test]
fn weights_are_spread_without_bursts() {
    let order = trace(&flat(&[5, 1, 1]), &RULES, &World::new(3), 14);
    assert_eq!(order, [0, 0, 0, 1, 0, 0, 2, 0, 0, 0, 1, 0, 0, 2]);
}

#[test]
fn a_whole_schedule_is_exactly_proportional() {
    let weights = [10, 20, 70, 1, 300];
    let counts = tally(&flat(&weights), &RULES, &World::new(5), &PLAIN, 401);
    assert_eq!(counts, [10, 20, 70, 1, 300]);
}

#[test]
fn the_sick_are_left_out_and_the_rest_keep_their_proportion() {
    let counts = tally(
        &flat(&[90, 10, 30]),
        &RULES,
        &World::without(3, &[0]),
        &PLAIN,
        40,
    );
    assert_eq!(counts, [0, 10, 30]);
}

#[test]
fn weight_0_serves_only_when_nothing_else_can() {
    let selector = flat(&[0, 3, 0]);
    assert_eq!(
        tally(&selector, &RULES, &World::new(3), &PLAIN, 30),
        [0, 30, 0]
    );
    assert_eq!(
        tally(&selector, &RULES, &World::without(3, &[1]), &PLAIN, 30),
        [15, 0, 15]
    );
}

#[test]
fn all_weights_0_are_equal() {
    assert_eq!(
        tally(&flat(&[0, 0]), &RULES, &World::new(2), &PLAIN, 30),
        [15, 15]
    );
}

#[test]
fn the_greatest_weights_work() {
    let counts = tally(
        &flat(&[u32::MAX, u32::MAX, 0]),
        &RULES,
        &World::new(3),
        &PLAIN,
        10,
    );
    assert_eq!(counts, [5, 5, 0]);
    let counts = tally(
        &flat(&[u32::MAX, u32::MAX / 3]),
        &RULES,
        &World::new(2),
        &PLAIN,
        400,
    );
    assert_eq!(counts, [300, 100]);
}

#[test]
fn one_healthy_among_a_thousand_is_always_found() {
    let sick: Vec<usize> = (0..1000).filter(|&i| i != 777).collect();
    let world = World::without(1000, &sick);
    for weights in [vec![1; 1000], (1..=1000).collect()] {
        assert_eq!(
            tally(&flat(&weights), &RULES, &world, &PLAIN, 100)[777],
            100
        );
    }
}

#[test]
fn a_schedule_too_long_to_walk_keeps_the_proportions() {
    // 65,536 slots, all but a few of them of a sick endpoint.
    let counts = tally(
        &flat(&[65_530, 2, 4]),
        &RULES,
        &World::without(3, &[0]),
        &PLAIN,
        6000,
    );
    assert_eq!(counts[0], 0);
    assert!((1950..=2050).contains(&counts[1]), "{counts:?}");
}

#[test]
fn retries_do_not_disturb_the_turns() {
    let selector = flat(&[1, 1, 1]);
    let mut world = World::new(3);
    let mut second = vec![0; 3];
    for turn in 0..300 {
        world.tried = vec![false; 3];
        let first = choose(&selector, &RULES, &world, &PLAIN).index;
        assert_eq!(first, turn % 3);
        // Endpoint 0 refuses what it gets.
        if first == 0 {
            world.tried[0] = true;
            second[choose(&selector, &RULES, &world, &RETRY).index] += 1;
        }
    }
    // What it refused is spread over the others, not on its neighbour.
    assert_eq!(second[0], 0);
    assert!((49..=51).contains(&second[1]), "{second:?}");
}

#[test]
fn groups_and_all_in_any_rhythm_starve_nobody() {
    for rhythm in 1..12 {
        let selector = flat(&[1, 1, 1, 1]);
        let world = World::new(4);
        let mut counts = [0; 4];
        let mut grouped = [0; 4];
        for turn in 0..2400 {
            if turn % rhythm == 0 {
                counts[choose(&selector, &RULES, &world, &PLAIN).index] += 1;
            }
            let group = |i| i % 2 == turn % 2;
            let choice = selector
                .choose_where(&RULES, &world, &PLAIN, group)
                .unwrap();
            assert!(group(choice.index));
            grouped[choice.index] += 1;
        }
        let even = 2400 / rhythm / 4;
        assert!(
            counts.iter().all(|&c| (even..=even + 1).contains(&c)),
            "{rhythm}: {counts:?}"
        );
        assert!(
            grouped.iter().all(|&c| (580..=620).contains(&c)),
            "{rhythm}: {grouped:?}"
        );
    }
}

#[test]
fn four_threads_share_the_turns_evenly() {
    for weights in [vec![1; 7], vec![1, 2, 3, 4, 5, 6, 7]] {
        let selector = flat(&weights);
        let world = World::without(7, &[2, 3]);
        let rounds = 7000;
        let count = || tally(&selector, &RULES, &world, &PLAIN, rounds);
        let counts: Vec<Vec<u64>> = thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(count)).collect();
            threads.into_iter().map(|t| t.join().unwrap()).collect()
        });
        let healthy: u64 = [0, 1, 4, 5, 6].iter().map(|&i| u64::from(weights[i])).sum();
        let turns = 4 * rounds as u64 / healthy;
        for (i, &weight) in weights.iter().enumerate() {
            let sum: u64 = counts.iter().map(|c| c[i]).sum();
            let share = if [2, 3].contains(&i) {
                0
            } else {
                turns * u64::from(weight)
            };
            // A walk that lost its turn to other threads uses it nevertheless.
            assert!(
                sum.abs_diff(share) <= share / 100 + u64::from(weight),
                "{i}: {sum}, not {share}"
            );
        }
    }
}

proptest! {
    #[test]
    fn if_any_are_sick_the_others_have_exactly_equal_counts(
        healthy in prop::collection::vec(any::<bool>(), 1..60),
    ) {
        let up = healthy.iter().filter(|&&h| h).count();
        prop_assume!(up > 0);
        let mut world = World::new(healthy.len());
        world.healthy = healthy;
        let selector = flat(&vec![1; world.healthy.len()]);
        let counts = tally(&selector, &RULES, &world, &PLAIN, up * 5);
        for (&count, &healthy) in counts.iter().zip(&world.healthy) {
            prop_assert_eq!(count, if healthy { 5 } else { 0 });
        }
    }

    #[test]
    fn if_any_are_sick_a_schedule_stays_proportional(
        endpoints in prop::collection::vec((1u32..20, any::<bool>()), 1..20),
    ) {
        let weights: Vec<u32> = endpoints.iter().map(|s| s.0).collect();
        let sum: u32 = endpoints.iter().filter(|s| s.1).map(|s| s.0).sum();
        prop_assume!(sum > 0);
        let mut world = World::new(endpoints.len());
        world.healthy = endpoints.iter().map(|s| s.1).collect();
        let counts = tally(&flat(&weights), &RULES, &world, &PLAIN, sum as usize * 2);
        for (count, (weight, healthy)) in counts.into_iter().zip(endpoints) {
            prop_assert_eq!(count, if healthy { u64::from(weight) * 2 } else { 0 });
        }
    }
}
