//! The power of two choices.

use dynamic_core::select::{Algorithm, Rules};

use crate::world::{PLAIN, RETRY, World, choose, flat, tally};

fn rules() -> Rules {
    Rules {
        algorithm: Algorithm::PowerOfTwo,
        ..Rules::default()
    }
}

#[test]
fn of_two_the_less_loaded_per_weight_is_chosen() {
    let mut world = World::new(2);
    // (7 + 1) / 4 is less than (2 + 1) / 1, if both are drawn: all but 0.8^3 of the
    // times that the heavier one is drawn first.
    world.in_flight = vec![2, 7];
    let counts = tally(&flat(&[1, 4]), &rules(), &world, &PLAIN, 1000);
    assert!(counts[0] <= 20, "{counts:?}");
    world.in_flight = vec![9, 0];
    let counts = tally(&flat(&[1, 1]), &rules(), &world, &PLAIN, 1000);
    assert!(counts[0] < 120, "drawn four times in a row: {counts:?}");
}

#[test]
fn the_most_loaded_of_many_is_nearly_never_chosen() {
    let mut world = World::new(10);
    world.in_flight = vec![5; 10];
    world.in_flight[3] = 6;
    let counts = tally(&flat(&[1; 10]), &rules(), &world, &PLAIN, 10_000);
    assert!(counts[3] <= 5, "{counts:?}");
    let others = counts.iter().enumerate().filter(|(i, _)| *i != 3);
    assert!(
        others.clone().all(|(_, c)| c.abs_diff(1111) < 150),
        "{counts:?}"
    );
}

#[test]
fn equal_loads_give_the_shares_of_the_weights() {
    let mut world = World::new(3);
    world.in_flight = vec![0, 1, 6];
    // Loads of (0 + 1) / 1, (1 + 1) / 2 and (6 + 1) / 7.
    let counts = tally(&flat(&[1, 2, 7]), &rules(), &world, &PLAIN, 100_000);
    for (count, expected) in counts.iter().zip([10_000u64, 20_000, 70_000]) {
        assert!(count.abs_diff(expected) < 600, "{counts:?}");
    }
}

#[test]
fn held_requests_stay_even_without_looking_at_all() {
    let selector = flat(&[1; 50]);
    let mut world = World::new(50);
    for _ in 0..5000 {
        let i = choose(&selector, &rules(), &world, &PLAIN).index;
        world.in_flight[i] += 1;
    }
    // 100 each; at random the most loaded would have about 125.
    let most = world.in_flight.iter().max().unwrap();
    assert!(*most <= 104, "{:?}", world.in_flight);
}

#[test]
fn the_sick_and_the_tried_are_left_out_down_to_the_last_one() {
    let mut world = World::without(20, &[0, 1, 2]);
    world.tried = vec![true; 20];
    world.tried[7] = false;
    let selector = flat(&[1; 20]);
    for _ in 0..100 {
        assert_eq!(choose(&selector, &rules(), &world, &RETRY).index, 7);
        assert!(choose(&selector, &rules(), &world, &PLAIN).index > 2);
    }
}

#[test]
fn a_new_endpoint_gets_its_part() {
    let rules = Rules {
        slow_start: true,
        ..rules()
    };
    let mut world = World::new(5);
    world.factor[0] = 0.25;
    let counts = tally(&flat(&[1; 5]), &rules, &world, &PLAIN, 42_500);
    assert!(counts[0].abs_diff(2500) < 250, "{counts:?}");
}
