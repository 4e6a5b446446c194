//! Keys with a bound on load.

use dynamic_core::select::{Rules, Selector, key_hash};

use crate::world::{RETRY, World, choose, flat, keyed};

fn rules(balance: f64) -> Rules {
    Rules {
        hash_balance: balance,
        ..Rules::default()
    }
}

/// `ceil(balance × (total + 1) × weight / sum)`, balance in hundredths.
fn capacity(balance: u64, total: u64, weight: u64, sum: u64) -> u64 {
    (balance * (total + 1) * weight).div_ceil(100 * sum)
}

/// Opens and holds `n` connections for `key`, and checks that each went to an
/// endpoint with room.
fn hold(selector: &Selector, weights: &[u32], world: &mut World, key: u64, balance: u64, n: usize) {
    let rules = rules(f64::from(u32::try_from(balance).unwrap()) / 100.0);
    let sum = weights
        .iter()
        .zip(&world.healthy)
        .filter(|(_, h)| **h)
        .map(|(w, _)| u64::from(*w))
        .sum();
    for _ in 0..n {
        let total = world.in_flight.iter().map(|&f| u64::from(f)).sum();
        let i = choose(selector, &rules, world, &keyed(key)).index;
        let room = capacity(balance, total, u64::from(weights[i]), sum);
        assert!(
            u64::from(world.in_flight[i]) < room,
            "{i} of {:?}",
            world.in_flight
        );
        world.in_flight[i] += 1;
    }
}

#[test]
fn a_hot_key_never_exceeds_the_capacity_of_an_endpoint() {
    let selector = flat(&[1; 5]);
    let mut world = World::new(5);
    hold(&selector, &[1; 5], &mut world, key_hash(b"hot"), 125, 50);
    // ceil(1.25 × 50 / 5)
    assert!(
        world.in_flight.iter().all(|&held| held <= 13),
        "{:?}",
        world.in_flight
    );
    // The key fills its first endpoints and leaves the last nearly alone.
    assert_eq!(world.in_flight.iter().sum::<u32>(), 50);
    assert_eq!(*world.in_flight.iter().max().unwrap(), 13);
}

#[test]
fn capacity_follows_the_weights_and_the_healthy() {
    let weights = [1, 2, 7];
    let mut world = World::new(3);
    hold(
        &flat(&weights),
        &weights,
        &mut world,
        key_hash(b"hot"),
        110,
        100,
    );
    assert!(world.in_flight[0] <= 11 && world.in_flight[1] <= 22 && world.in_flight[2] <= 77);
    let mut world = World::without(3, &[2]);
    hold(
        &flat(&weights),
        &weights,
        &mut world,
        key_hash(b"hot"),
        110,
        90,
    );
    assert!(world.in_flight[0] <= 33 && world.in_flight[1] <= 66);
}

#[test]
fn one_request_at_a_time_stays_on_its_endpoint() {
    let selector = flat(&[1; 5]);
    for name in 0..200 {
        let key = key_hash(format!("user-{name}").as_bytes());
        let mut world = World::new(5);
        let home = choose(&selector, &rules(0.0), &world, &keyed(key)).index;
        let choice = choose(&selector, &rules(1.1), &world, &keyed(key));
        assert_eq!((choice.index, choice.bound_exceeded), (home, false));
        // Its own connection, still open: ceil(1.25 × 2 / 5) = 1 is full.
        world.in_flight[home] = 1;
        let choice = choose(&selector, &rules(1.25), &world, &keyed(key));
        assert!(choice.bound_exceeded && choice.index != home);
        // But with the greatest balance ceil(10 × 2 / 5) = 4 is not.
        assert_eq!(
            choose(&selector, &rules(10.0), &world, &keyed(key)).index,
            home
        );
    }
}

#[test]
fn the_bound_is_exact() {
    // 1.1 × (9 + 1) / 11 = 1, a product that floating point may put above 1.
    let selector = flat(&[1; 11]);
    let key = key_hash(b"hot");
    let mut world = World::new(11);
    let home = choose(&selector, &rules(1.1), &world, &keyed(key)).index;
    let other = (home + 1) % 11;
    world.in_flight[home] = 1;
    world.in_flight[other] = 8;
    assert!(choose(&selector, &rules(1.1), &world, &keyed(key)).bound_exceeded);
    world.in_flight[other] = 9;
    assert!(!choose(&selector, &rules(1.1), &world, &keyed(key)).bound_exceeded);
}

#[test]
fn overflow_goes_to_the_next_endpoint_of_the_key() {
    let selector = flat(&[1; 5]);
    for name in 0..200 {
        let key = key_hash(format!("user-{name}").as_bytes());
        let mut world = World::new(5);
        let home = choose(&selector, &rules(1.25), &world, &keyed(key)).index;
        world.healthy[home] = false;
        let next = choose(&selector, &rules(1.25), &world, &keyed(key));
        assert!(!next.bound_exceeded);
        world.healthy[home] = true;
        world.in_flight[home] = 10;
        let choice = choose(&selector, &rules(1.25), &world, &keyed(key));
        assert_eq!((choice.index, choice.bound_exceeded), (next.index, true));
    }
}

#[test]
fn the_last_one_that_is_neither_full_nor_sick_is_found() {
    let selector = flat(&[1; 200]);
    for last in (0..200).step_by(20) {
        // Ten are healthy, nine of them hold 1000: ceil(1.1 × 9002 / 10) = 991.
        let mut world = World::new(200);
        for i in 0..200 {
            world.healthy[i] = i % 20 == 0;
            world.in_flight[i] = 1000;
        }
        world.in_flight[last] = 1;
        for name in 0..50 {
            let key = key_hash(format!("user-{name}").as_bytes());
            let choice = choose(&selector, &rules(1.1), &world, &keyed(key));
            assert_eq!(choice.index, last);
        }
    }
}

#[test]
fn what_the_tried_hold_counts() {
    // ceil(1.1 × (95 + 1) / 3) = 36: neither of the others is full. Without what
    // the tried one holds it would be ceil(1.1 × (35 + 1) / 2) = 20.
    let selector = flat(&[1; 3]);
    let mut world = World::new(3);
    world.tried[0] = true;
    world.in_flight = vec![60, 5, 30];
    let mut seen = [0; 3];
    for name in 0..50 {
        let mut request = keyed(key_hash(format!("user-{name}").as_bytes()));
        request.retry = true;
        let choice = choose(&selector, &rules(1.1), &world, &request);
        assert!(!choice.bound_exceeded);
        seen[choice.index] += 1;
    }
    assert!(seen[0] == 0 && seen[1] > 10 && seen[2] > 10, "{seen:?}");
}

#[test]
fn if_all_are_full_the_least_loaded_serves() {
    // Two of three were tried and hold nothing, so the third has no room left.
    let selector = flat(&[1, 1, 1, 2]);
    let mut world = World::new(4);
    world.tried = vec![true, true, false, false];
    world.in_flight = vec![0, 0, 40, 60];
    for name in 0..50 {
        let mut request = keyed(key_hash(format!("user-{name}").as_bytes()));
        request.retry = true;
        // Capacities at 1.1: ceil(1.1 × 101 / 5) = 23 and ceil(44.44) = 45.
        let choice = choose(&selector, &rules(1.1), &world, &request);
        assert_eq!(choice.index, 3, "30 per weight is less than 40");
        assert!(choice.retried_elsewhere);
    }
    let choice = choose(&selector, &rules(1.1), &world, &RETRY);
    assert!(!choice.bound_exceeded, "without a key there is no overflow");
}

#[test]
fn the_greatest_numbers_do_not_overflow() {
    let selector = flat(&[u32::MAX; 3]);
    let mut world = World::new(3);
    world.in_flight = vec![u32::MAX; 3];
    world.in_flight[1] -= 1;
    for balance in [1.1, 10.0, 1e300, f64::INFINITY, f64::NAN, -5.0] {
        for key in 0..50 {
            choose(&selector, &rules(balance), &world, &keyed(key << 58));
        }
    }
}
