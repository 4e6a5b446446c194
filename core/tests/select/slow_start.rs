//! Slow start with round robin.

use dynamic_core::select::{Rules, slow_start};

use crate::world::{PLAIN, World, flat, keyed, tally, trace};

fn rules() -> Rules {
    Rules {
        slow_start: true,
        ..Rules::default()
    }
}

#[test]
fn full_factors_change_nothing() {
    assert_eq!(
        trace(&flat(&[1; 3]), &rules(), &World::new(3), 6),
        [0, 1, 2, 0, 1, 2]
    );
}

#[test]
fn the_share_follows_the_factor_and_its_neighbour_gets_no_more_than_others() {
    for (factor, expected) in [(0.1, 1000), (0.5, 5000), (0.9, 9000)] {
        let mut world = World::new(3);
        world.factor[0] = factor;
        // As many requests as make 10,000 full shares.
        let times = 20_000 + expected;
        let counts = tally(&flat(&[1; 3]), &rules(), &world, &PLAIN, times);
        assert!(
            counts[0].abs_diff(expected as u64) <= expected as u64 / 8,
            "{counts:?}"
        );
        assert!(counts[1].abs_diff(counts[2]) <= 1, "{counts:?}");
    }
}

#[test]
fn the_share_follows_the_weight_too() {
    let mut world = World::new(2);
    world.factor[1] = 0.25;
    let counts = tally(&flat(&[1, 4]), &rules(), &world, &PLAIN, 20_000);
    assert!(counts[0].abs_diff(10_000) < 500, "{counts:?}");
}

#[test]
fn an_endpoint_that_is_alone_serves_at_once() {
    let mut world = World::without(3, &[0, 2]);
    world.factor = vec![slow_start::MIN_FACTOR; 3];
    assert_eq!(
        tally(&flat(&[1; 3]), &rules(), &world, &PLAIN, 100),
        [0, 100, 0]
    );
    assert_eq!(
        tally(&flat(&[1]), &rules(), &world_of_one(), &PLAIN, 100),
        [100]
    );
}

fn world_of_one() -> World {
    let mut world = World::new(1);
    world.factor[0] = slow_start::MIN_FACTOR;
    world
}

#[test]
fn all_ramping_alike_share_alike() {
    let mut world = World::new(4);
    world.factor = vec![slow_start::MIN_FACTOR; 4];
    let counts = tally(&flat(&[1; 4]), &rules(), &world, &PLAIN, 20_000);
    assert!(counts.iter().all(|c| c.abs_diff(5000) < 500), "{counts:?}");
}

#[test]
fn factors_out_of_range_do_no_harm() {
    for factor in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -1.0, 7.0] {
        let mut world = World::new(2);
        world.factor[0] = factor;
        let counts = tally(&flat(&[1, 1]), &rules(), &world, &PLAIN, 1000);
        assert!(counts.iter().all(|&c| c > 0), "{factor}: {counts:?}");
    }
}

#[test]
fn keys_ignore_it() {
    let selector = flat(&[1; 4]);
    let mut ramping = World::new(4);
    ramping.factor = vec![0.1, 0.2, 0.3, 0.4];
    for key in (0..64).map(|k| k << 58) {
        let steady = selector.choose(&Rules::default(), &World::new(4), &keyed(key));
        assert_eq!(selector.choose(&rules(), &ramping, &keyed(key)), steady);
    }
}
