//! Keys.

use dynamic_core::select::{Algorithm, HashScope, Rules, Selector, key_hash};

use crate::world::{World, choose, flat, ids, keyed, selector};

fn rules() -> Rules {
    Rules::default()
}

fn keys(n: usize) -> Vec<u64> {
    (0..n)
        .map(|i| key_hash(format!("user-{i}").as_bytes()))
        .collect()
}

/// Where each key goes.
fn homes(selector: &Selector, rules: &Rules, world: &World, keys: &[u64]) -> Vec<usize> {
    let home = |&key| choose(selector, rules, world, &keyed(key)).index;
    keys.iter().map(home).collect()
}

/// Members of one tier, with `without` left out; and what they are.
fn some(n: usize, without: Option<usize>) -> (Vec<usize>, Selector) {
    let kept: Vec<usize> = (0..n).filter(|&i| Some(i) != without).collect();
    let ids = ids(n);
    let members: Vec<_> = kept.iter().map(|&i| (ids[i].clone(), 1, 0, 0)).collect();
    (kept, selector(&members))
}

#[test]
fn golden_homes() {
    let ids = ["192.0.2.1:80", "192.0.2.2:80", "[2001:db8::1]:80"];
    let names = [
        "alice", "bob", "carol", "dave", "erin", "frank", "grace", "heidi", "ivan", "judy",
    ];
    let keys: Vec<u64> = names.iter().map(|name| key_hash(name.as_bytes())).collect();
    // Where they are at home, and where they go without the second endpoint.
    for (weights, home, without_1) in [
        ([1, 1, 1], "0000221122", "0000220022"),
        ([1, 2, 4], "2012222122", "2002222222"),
    ] {
        let members = (0..3).map(|i| (ids[i].to_owned(), weights[i], 0, 0));
        let selector = selector(&members.collect::<Vec<_>>());
        for (world, expected) in [(World::new(3), home), (World::without(3, &[1]), without_1)] {
            let homes = homes(&selector, &rules(), &world, &keys);
            let homes: String = homes.iter().map(ToString::to_string).collect();
            assert_eq!(homes, expected);
        }
    }
}

#[test]
fn the_order_of_the_members_does_not_matter() {
    let forward: Vec<_> = ids(7)
        .into_iter()
        .zip(1..)
        .map(|(id, w)| (id, w, 0, 0))
        .collect();
    let mut other = forward.clone();
    other.reverse();
    other.swap(1, 4);
    let keys = keys(1000);
    let world = World::new(7);
    let there = homes(&selector(&forward), &rules(), &world, &keys);
    let back = homes(&selector(&other), &rules(), &world, &keys);
    assert!(
        there
            .iter()
            .zip(&back)
            .all(|(&there, &back)| forward[there] == other[back])
    );
}

#[test]
fn one_endpoint_leaves_and_only_its_keys_move_from_any_number_that_there_are() {
    let keys = keys(60);
    // Sizes at which a table that grows by steps would grow are among them.
    let sizes = (1..=30).chain([80, 81, 82, 254, 255, 256, 327, 328, 999, 1310, 1311, 1999]);
    for n in sizes {
        let before = homes(&some(n + 1, None).1, &rules(), &World::new(n + 1), &keys);
        for gone in [0, n / 2, n] {
            let (kept, selector) = some(n + 1, Some(gone));
            let after = homes(&selector, &rules(), &World::new(n), &keys);
            for (&before, after) in before.iter().zip(after) {
                assert!(
                    before == gone || before == kept[after],
                    "{n} without {gone}"
                );
            }
        }
    }
}

#[test]
fn an_endpoint_that_is_sick_and_then_leaves_moves_its_keys_once() {
    let keys = keys(2000);
    for n in [3, 10, 40] {
        let sick = homes(&some(n, None).1, &rules(), &World::without(n, &[1]), &keys);
        let (kept, selector) = some(n, Some(1));
        let gone = homes(&selector, &rules(), &World::new(n - 1), &keys);
        assert!(
            sick.iter()
                .zip(gone)
                .all(|(&sick, gone)| sick == kept[gone])
        );
    }
}

#[test]
fn the_keys_of_a_sick_endpoint_alone_move_and_spread_and_return() {
    let keys = keys(10_000);
    let selector = flat(&[1; 10]);
    let before = homes(&selector, &rules(), &World::new(10), &keys);
    let during = homes(&selector, &rules(), &World::without(10, &[4]), &keys);
    let mut spread = [0; 10];
    for (&before, &during) in before.iter().zip(&during) {
        if before == 4 {
            spread[during] += 1;
        } else {
            assert_eq!(before, during);
        }
    }
    let lost: u32 = spread.iter().sum();
    for (i, &share) in spread.iter().enumerate() {
        let even = if i == 4 { 0 } else { lost / 9 };
        assert!(share.abs_diff(even) <= even / 3, "{spread:?}");
    }
    assert_eq!(homes(&selector, &rules(), &World::new(10), &keys), before);
}

#[test]
fn each_healthy_endpoint_is_reached_even_if_it_is_the_only_one() {
    let keys = keys(100);
    for n in [1, 2, 3, 50] {
        let selector = flat(&vec![1; n]);
        for up in 0..n {
            let sick: Vec<usize> = (0..n).filter(|&i| i != up).collect();
            let homes = homes(&selector, &rules(), &World::without(n, &sick), &keys);
            assert!(homes.iter().all(|&home| home == up));
        }
    }
}

#[test]
fn weights_decide_how_many_keys_an_endpoint_has() {
    let keys = keys(10_000);
    let homes = homes(&flat(&[1, 2, 7, 0]), &rules(), &World::new(4), &keys);
    let mut counts = [0u32; 4];
    for home in homes {
        counts[home] += 1;
    }
    for (count, expected) in counts.into_iter().zip([1000u32, 2000, 7000, 0]) {
        assert!(count.abs_diff(expected) <= expected / 10, "{counts:?}");
    }
}

#[test]
fn the_algorithm_does_not_matter_with_a_key() {
    let keys = keys(200);
    let selector = flat(&[1, 2, 3]);
    let world = World::new(3);
    let [a, b, c] = [Algorithm::RoundRobin, Algorithm::Random, Algorithm::Least].map(|algorithm| {
        let rules = Rules {
            algorithm,
            ..rules()
        };
        homes(&selector, &rules, &world, &keys)
    });
    assert!(a == b && b == c);
}

#[test]
fn a_retry_goes_to_the_next_endpoint_of_the_key() {
    let selector = flat(&[1; 5]);
    for key in keys(100) {
        let mut world = World::new(5);
        for attempt in 0..5 {
            let mut request = keyed(key);
            request.retry = attempt > 0;
            let choice = choose(&selector, &rules(), &world, &request);
            assert!(!world.tried[choice.index]);
            assert_eq!(choice.retried_elsewhere, attempt > 0);
            world.tried[choice.index] = true;
        }
        let mut request = keyed(key);
        request.retry = true;
        let again = choose(&selector, &rules(), &world, &request);
        assert_eq!(
            again.index,
            choose(&selector, &rules(), &world, &keyed(key)).index
        );
        assert!(!again.retried_elsewhere);
    }
}

#[test]
fn scope_tier_stays_in_the_tier_and_scope_all_ignores_it() {
    let members: Vec<_> = ids(6)
        .into_iter()
        .zip(0..)
        .map(|(id, i)| (id, 1, i / 3, 0))
        .collect();
    let tiered = selector(&members);
    let keys = keys(3000);
    let tier = homes(&tiered, &rules(), &World::new(6), &keys);
    assert!(tier.iter().all(|&home| home < 3));
    let all = Rules {
        hash_scope: HashScope::All,
        ..rules()
    };
    let ignored = homes(&tiered, &all, &World::new(6), &keys);
    assert_eq!(ignored, homes(&flat(&[1; 6]), &all, &World::new(6), &keys));
    assert!((0..6).all(|i| ignored.iter().filter(|&&home| home == i).count() > 400));
    let far = |&key: &u64| choose(&tiered, &all, &World::new(6), &keyed(key));
    let far = keys
        .iter()
        .map(far)
        .find(|choice| choice.tier == 1)
        .unwrap();
    assert!(!far.spilled, "no preference, no spill");
    // Without a key the preference holds.
    assert!(choose(&tiered, &all, &World::new(6), &crate::world::PLAIN).index < 3);
}

#[test]
fn a_group_is_chosen_among_by_key_too() {
    let selector = flat(&[1; 9]);
    let group = selector.subset(|i| i % 3 == 0);
    for key in keys(300) {
        let one = selector
            .choose_where(&rules(), &World::new(9), &keyed(key), |i| i % 3 == 0)
            .unwrap();
        let other = choose(&group, &rules(), &World::new(9), &keyed(key));
        assert!(one.index.is_multiple_of(3) && other.index.is_multiple_of(3));
    }
}
