//! Endpoints that have no room for another connection.

use dynamic_core::select::{Algorithm, Pass, Rules, key_hash};

use crate::world::{PLAIN, RETRY, World, choose, flat, ids, keyed, selector, tally};

const ALGORITHMS: [Algorithm; 4] = [
    Algorithm::RoundRobin,
    Algorithm::Random,
    Algorithm::Least,
    Algorithm::PowerOfTwo,
];

fn with(algorithm: Algorithm) -> Rules {
    Rules {
        algorithm,
        ..Rules::default()
    }
}

#[test]
fn others_are_chosen_first() {
    let selector = flat(&[1; 4]);
    let mut world = World::new(4);
    world.full[1] = true;
    for algorithm in ALGORITHMS {
        let counts = tally(&selector, &with(algorithm), &world, &PLAIN, 300);
        assert_eq!(counts[1], 0, "{algorithm:?}");
        assert!(
            counts.iter().filter(|c| **c > 60).count() == 3,
            "{counts:?}"
        );
    }
}

#[test]
fn a_key_whose_home_is_full_goes_to_its_next_endpoint_and_is_counted() {
    let selector = flat(&[1; 5]);
    for name in 0..100 {
        let request = keyed(key_hash(format!("user-{name}").as_bytes()));
        let mut world = World::new(5);
        let home = choose(&selector, &Rules::default(), &world, &request);
        assert!(!home.bound_exceeded);
        world.healthy[home.index] = false;
        let next = choose(&selector, &Rules::default(), &world, &request);
        world.healthy[home.index] = true;
        world.full[home.index] = true;
        for hash_balance in [0.0, 1.25] {
            let rules = Rules {
                hash_balance,
                ..Rules::default()
            };
            let choice = choose(&selector, &rules, &world, &request);
            assert_eq!((choice.index, choice.bound_exceeded), (next.index, true));
        }
        // Another one that is full does not concern it.
        world.full[home.index] = false;
        world.full[next.index] = true;
        let choice = choose(&selector, &Rules::default(), &world, &request);
        assert_eq!((choice.index, choice.bound_exceeded), (home.index, false));
    }
}

#[test]
fn a_worse_tier_with_room_comes_before_a_better_one_without() {
    let members = ids(3).into_iter().zip([0, 0, 1]);
    let members: Vec<_> = members.map(|(id, p)| (id, 1, p, 0)).collect();
    let selector = selector(&members);
    let mut world = World::new(3);
    world.full[0] = true;
    assert_eq!(
        choose(&selector, &Rules::default(), &world, &PLAIN).index,
        1
    );
    world.full[1] = true;
    let choice = choose(&selector, &Rules::default(), &world, &PLAIN);
    assert_eq!((choice.index, choice.spilled), (2, true));
}

#[test]
fn if_all_are_full_they_serve_as_if_none_were_and_the_sick_do_not() {
    for n in 2..=9 {
        let selector = flat(&vec![1; n]);
        for algorithm in ALGORITHMS {
            let mut world = World::without(n, &[0]);
            world.full = vec![true; n];
            let counts = tally(&selector, &with(algorithm), &world, &PLAIN, 200 * (n - 1));
            assert_eq!(counts[0], 0);
            assert!(
                counts[1..].iter().all(|c| c.abs_diff(200) < 70),
                "{counts:?}"
            );
            let choice = choose(&selector, &with(algorithm), &world, &PLAIN);
            assert_eq!((choice.pass, choice.bound_exceeded), (Pass::Untried, true));
        }
    }
}

#[test]
fn a_full_one_that_was_not_tried_comes_before_one_that_was() {
    let selector = flat(&[1; 3]);
    let mut world = World::new(3);
    world.tried = vec![true, false, true];
    world.full[1] = true;
    let choice = choose(&selector, &Rules::default(), &world, &RETRY);
    assert_eq!((choice.index, choice.pass), (1, Pass::Untried));
    // Of those that were tried, the ones with room come first.
    world.tried[1] = true;
    for _ in 0..9 {
        let choice = choose(&selector, &Rules::default(), &world, &RETRY);
        assert!(choice.index != 1 && choice.pass == Pass::Tried);
    }
}
