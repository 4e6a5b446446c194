//! A weight is its target's, shared by the addresses of that target.

use crate::world::{Ask, World, backend, scored};

#[test]
fn the_addresses_of_a_target_share_its_weight() {
    let world = World::new(vec![
        backend("192.0.2.1", "a", 0, 1),
        backend("192.0.2.2", "b", 0, 1),
        backend("192.0.2.3", "b", 0, 1),
        backend("192.0.2.4", "b", 0, 1),
    ]);
    assert_eq!(world.tally(&Ask::default(), 60), [30, 10, 10, 10]);
}

#[test]
fn weights_of_targets_are_kept_in_proportion_whatever_their_addresses() {
    let world = World::new(vec![
        backend("192.0.2.1", "a", 0, 3),
        backend("192.0.2.2", "a", 0, 3),
        backend("192.0.2.3", "b", 0, 2),
        backend("192.0.2.4", "b", 0, 2),
        backend("192.0.2.5", "b", 0, 2),
        backend("192.0.2.6", "c", 0, 5),
    ]);
    let counts = world.tally(&Ask::default(), 600);
    assert_eq!(counts, [90, 90, 40, 40, 40, 300]);
}

#[test]
fn one_target_divides_evenly() {
    let world = World::new(vec![
        backend("192.0.2.1", "a", 0, 7),
        backend("192.0.2.2", "a", 0, 7),
    ]);
    assert_eq!(world.tally(&Ask::default(), 10), [5, 5]);
}

#[test]
fn addresses_in_another_tier_take_no_share() {
    let world = World::new(vec![
        scored("192.0.2.1", "a", 0, 1, 1),
        scored("192.0.2.2", "a", 0, 1, 0),
        scored("192.0.2.3", "b", 0, 1, 1),
    ]);
    assert_eq!(world.tally(&Ask::default(), 10), [5, 0, 5]);
}

#[test]
fn weight_0_is_chosen_only_when_nothing_else_can_be() {
    let backends = || {
        vec![
            backend("192.0.2.1", "a", 0, 0),
            backend("192.0.2.2", "b", 0, 1),
            backend("192.0.2.3", "c", 1, 1),
        ]
    };
    assert_eq!(World::new(backends()).tally(&Ask::default(), 9), [0, 9, 0]);
    let world = World::new(backends()).sick(&[1]);
    assert_eq!(
        world.tally(&Ask::default(), 9),
        [9, 0, 0],
        "before another tier"
    );
}

#[test]
fn all_weights_0_are_equal() {
    let world = World::new(vec![
        backend("192.0.2.1", "a", 0, 0),
        backend("192.0.2.2", "b", 0, 0),
    ]);
    assert_eq!(world.tally(&Ask::default(), 10), [5, 5]);
}

#[test]
fn a_weight_above_0_stays_above_0_however_many_share_it() {
    let address = |i: usize| format!("10.0.{}.{}", i / 256, i % 256);
    let mut backends: Vec<_> = (0..9973)
        .map(|i| backend(&address(i), "many", 0, 1))
        .collect();
    backends.push(backend("192.0.2.1", "one", 0, 0));
    let world = World::new(backends);
    let counts = world.tally(&Ask::default(), 20_000);
    assert_eq!(counts[9973], 0);
    assert!(counts[..9973].iter().all(|count| *count > 0));
}

#[test]
fn the_largest_weights_do_no_harm() {
    let world = World::new(vec![
        backend("192.0.2.1", "a", 0, u32::MAX),
        backend("192.0.2.2", "a", 0, u32::MAX),
        backend("192.0.2.3", "b", 0, u32::MAX),
    ]);
    let counts = world.tally(&Ask::default(), 100);
    assert!(counts.iter().all(|count| *count > 0), "{counts:?}");
}
