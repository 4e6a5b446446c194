//! Least.

use dynamic_core::select::{Algorithm, Rules};

use crate::world::{PLAIN, RETRY, World, choose, flat, tally, trace};

fn rules() -> Rules {
    Rules {
        algorithm: Algorithm::Least,
        ..Rules::default()
    }
}

#[test]
fn the_least_loaded_is_chosen() {
    let mut world = World::new(4);
    world.in_flight = vec![3, 2, 5, 4];
    assert_eq!(
        tally(&flat(&[1; 4]), &rules(), &world, &PLAIN, 10),
        [0, 10, 0, 0]
    );
}

#[test]
fn an_idle_one_is_found_behind_one_that_is_nearly_idle() {
    for idle in 0..3 {
        let mut world = World::new(3);
        world.in_flight = vec![1; 3];
        world.in_flight[idle] = 0;
        assert_eq!(choose(&flat(&[1; 3]), &rules(), &world, &PLAIN).index, idle);
        assert_eq!(choose(&flat(&[3; 3]), &rules(), &world, &PLAIN).index, idle);
    }
}

#[test]
fn load_counts_per_weight() {
    let mut world = World::new(2);
    // (7 + 1) / 4 is less than (2 + 1) / 1.
    world.in_flight = vec![2, 7];
    assert_eq!(choose(&flat(&[1, 4]), &rules(), &world, &PLAIN).index, 1);
    // And (11 + 1) / 4 is equal, so they take turns.
    world.in_flight = vec![2, 11];
    assert_eq!(trace(&flat(&[1, 4]), &rules(), &world, 4), [0, 1, 0, 1]);
}

#[test]
fn ties_are_taken_in_turn_wherever_they_are() {
    let world = World::new(3);
    assert_eq!(
        trace(&flat(&[1; 3]), &rules(), &world, 6),
        [0, 1, 2, 0, 1, 2]
    );
    let mut world = World::new(10);
    world.in_flight = vec![9; 10];
    world.in_flight[0] = 1;
    world.in_flight[1] = 1;
    assert_eq!(
        trace(&flat(&[1; 10]), &rules(), &world, 6),
        [0, 1, 0, 1, 0, 1]
    );
}

#[test]
fn the_sick_and_the_tried_are_left_out() {
    let mut world = World::without(3, &[0]);
    world.in_flight = vec![0, 5, 9];
    assert_eq!(choose(&flat(&[1; 3]), &rules(), &world, &PLAIN).index, 1);
    world.tried[1] = true;
    let choice = choose(&flat(&[1; 3]), &rules(), &world, &RETRY);
    assert_eq!((choice.index, choice.retried_elsewhere), (2, true));
}

#[test]
fn a_new_endpoint_gets_its_part_of_light_traffic() {
    // One request after the other: all are idle each time.
    let rules = Rules {
        slow_start: true,
        ..rules()
    };
    for (factor, expected) in [(0.1, 1000), (0.5, 5000), (0.9, 9000)] {
        let mut world = World::new(3);
        world.factor[0] = factor;
        // As many requests as make 10,000 full shares.
        let counts = tally(&flat(&[1; 3]), &rules, &world, &PLAIN, 20_000 + expected);
        assert!(
            counts[0].abs_diff(expected as u64) <= expected as u64 / 8,
            "{factor}: {counts:?}"
        );
    }
}

#[test]
fn a_new_endpoint_holds_its_part_of_heavy_traffic() {
    let rules = Rules {
        slow_start: true,
        ..rules()
    };
    let selector = flat(&[1; 3]);
    for (factor, expected) in [(0.1, 100), (0.5, 500), (0.9, 900)] {
        let mut world = World::new(3);
        world.factor[0] = factor;
        for _ in 0..2000 + expected {
            let i = choose(&selector, &rules, &world, &PLAIN).index;
            world.in_flight[i] += 1;
        }
        let held = world.in_flight[0];
        assert!(held.abs_diff(expected) <= expected / 10, "{factor}: {held}");
        assert!(world.in_flight[1].abs_diff(world.in_flight[2]) <= 1);
    }
}

#[test]
fn new_endpoints_serve_all_the_same_where_there_are_no_others() {
    let rules = Rules {
        slow_start: true,
        ..rules()
    };
    let mut world = World::new(4);
    world.factor = vec![0.1; 4];
    let counts = tally(&flat(&[1; 4]), &rules, &world, &PLAIN, 8000);
    assert!(counts.iter().all(|c| c.abs_diff(2000) < 200), "{counts:?}");
}

#[test]
fn a_slow_endpoint_holds_few() {
    // Each request holds a connection for 4 ticks, to endpoint 0 for 100.
    let selector = flat(&[1; 3]);
    let mut world = World::new(3);
    let mut held: Vec<(u32, usize)> = Vec::new();
    let mut counts = [0u32; 3];
    for tick in 0..3000 {
        held.retain(|&(end, i)| {
            let open = end > tick;
            world.in_flight[i] -= u32::from(!open);
            open
        });
        let i = choose(&selector, &rules(), &world, &PLAIN).index;
        held.push((tick + if i == 0 { 100 } else { 4 }, i));
        world.in_flight[i] += 1;
        counts[i] += 1;
        assert!(world.in_flight[0] <= 3);
    }
    assert!(counts[0] < 150, "{counts:?}");
    assert!(counts[1].abs_diff(counts[2]) < 300, "{counts:?}");
}

#[test]
fn the_greatest_counts_and_weights_work() {
    let mut world = World::new(2);
    world.in_flight = vec![u32::MAX, u32::MAX - 1];
    assert_eq!(
        choose(&flat(&[u32::MAX; 2]), &rules(), &world, &PLAIN).index,
        1
    );
}
