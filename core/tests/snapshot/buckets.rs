//! Hash buckets: the owner serves, and others only when they may.

use dynamic_core::buckets::{Buckets, Service, hash};
use dynamic_core::snapshot::Refusal;

use crate::world::{Ask, World, keyed, plain};

/// Two owners of the lower half, one of the upper, and one of nothing.
fn world(service_delay: f64) -> World {
    let mut buckets = Buckets::new(service_delay, [7; 16]).unwrap();
    let assignment = buckets.assignment_mut();
    assignment.assign("192.0.2.0", "0-127").unwrap();
    assignment.assign("192.0.2.1:80", "0-99").unwrap();
    assignment.assign("192.0.2.2", "128-199").unwrap();
    World::with_buckets(plain(4), buckets)
}

/// A key whose bucket is in this range.
fn key_in(buckets: std::ops::RangeInclusive<u8>) -> String {
    let mut keys = (0..).map(|i| format!("client {i}"));
    keys.find(|key| buckets.contains(&hash(key.as_bytes())))
        .unwrap()
}

#[test]
fn a_healthy_owner_serves_in_turn_with_the_other_owners() {
    let world = world(60.0);
    let shared = key_in(0..=99);
    assert_eq!(world.tally(&keyed(&shared), 10), [5, 5, 0, 0]);
    let own = key_in(100..=127);
    assert_eq!(world.tally(&keyed(&own), 10), [10, 0, 0, 0]);
    let upper = key_in(128..=199);
    assert_eq!(world.tally(&keyed(&upper), 10), [0, 0, 10, 0]);
    let service = world.outcome(&keyed(&upper)).service;
    assert_eq!(service, Some(Service::Owner));
}

#[test]
fn a_sick_owner_leaves_its_buckets_to_the_other_owners() {
    let world = world(60.0).sick(&[0]);
    assert_eq!(world.tally(&keyed(&key_in(0..=99)), 10), [0, 10, 0, 0]);
}

#[test]
fn a_bucket_without_an_owner_is_for_the_algorithm() {
    let world = world(60.0);
    let key = key_in(200..=255);
    assert_eq!(world.tally(&keyed(&key), 8), [2, 2, 2, 2]);
    assert_eq!(world.outcome(&keyed(&key)).service, Some(Service::Anyone));
}

#[test]
fn an_owner_that_is_not_among_the_endpoints_owns_nothing() {
    let mut buckets = Buckets::new(60.0, [7; 16]).unwrap();
    let assignment = buckets.assignment_mut();
    assignment.assign("192.0.2.77", "0-255").unwrap();
    let world = World::with_buckets(plain(2), buckets);
    assert_eq!(world.tally(&keyed("client"), 8), [4, 4]);
}

#[test]
fn without_a_delay_others_serve_at_once_while_the_owners_are_down() {
    let world = world(0.0).sick(&[2]);
    let key = key_in(128..=199);
    assert_eq!(
        world.outcome(&keyed(&key)).service,
        Some(Service::TakenOver)
    );
    assert_eq!(world.tally(&keyed(&key), 9), [3, 3, 0, 3]);
}

#[test]
fn the_owners_down_a_client_waits_for_the_service_delay() {
    let world = world(10.0).sick(&[2]);
    let key = key_in(128..=199);
    let after = |elapsed| {
        world.outcome(&Ask {
            elapsed,
            ..keyed(&key)
        })
    };
    for elapsed in [0.0, 9.9, -1.0, f64::NAN] {
        let outcome = after(elapsed);
        assert_eq!(outcome.choice, Err(Refusal::Delayed), "{elapsed}");
        assert_eq!(outcome.service, Some(Service::Delayed));
    }
    for elapsed in [10.0, 1e300, f64::INFINITY] {
        let outcome = after(elapsed);
        assert_eq!(outcome.service, Some(Service::TakenOver), "{elapsed}");
        assert_ne!(outcome.choice.unwrap().index, 2);
    }
}

#[test]
fn a_transaction_waits_from_its_first_request_on() {
    let world = world(10.0).sick(&[2]);
    let key = key_in(128..=199);
    let at = |now, transaction: &'static str| {
        world.index(&Ask {
            now,
            transaction: transaction.as_bytes(),
            ..keyed(&key)
        })
    };
    assert_eq!(at(1000.0, "x"), Err(Refusal::Delayed));
    assert_eq!(at(1009.0, "x"), Err(Refusal::Delayed));
    assert_eq!(at(1009.0, "y"), Err(Refusal::Delayed));
    assert!(at(1010.0, "x").is_ok());
    assert_eq!(at(1010.0, "y"), Err(Refusal::Delayed), "each its own");
    assert!(at(1019.0, "y").is_ok());
    assert_eq!(
        at(9999.0, ""),
        Err(Refusal::Delayed),
        "without a name it is new"
    );
}

#[test]
fn everything_down_and_the_delay_over_still_gives_an_endpoint() {
    let world = world(0.0).sick(&[0, 1, 2, 3]);
    assert!(world.index(&keyed(&key_in(128..=199))).is_ok());
    assert!(world.index(&Ask::default()).is_ok());
}

#[test]
fn a_retry_tries_the_owners_in_turn_and_does_not_leave_them() {
    let mut world = world(60.0);
    let retry = |key| Ask {
        retry: true,
        ..keyed(key)
    };
    let shared = key_in(0..=99);
    world.tried[0] = true;
    assert_eq!(world.trace(&retry(&shared), 4), [1; 4]);
    world.tried[1] = true;
    assert_eq!(world.tally(&retry(&shared), 10)[2..], [0, 0]);
}

#[test]
fn without_probes_another_serves_who_says_that_it_has_waited() {
    let world = world(10.0);
    let key = key_in(128..=199);
    let after = |elapsed| Ask {
        elapsed,
        unprobed: true,
        ..keyed(&key)
    };
    assert_eq!(world.tally(&after(9.9), 6), [0, 0, 6, 0]);
    assert_eq!(world.tally(&after(10.0), 6), [2, 2, 0, 2]);
    let service = world.outcome(&after(10.0)).service;
    assert_eq!(service, Some(Service::TakenOver));
    // Where nobody else is up, the owner may be.
    let alone = world.sick(&[0, 1, 3]);
    assert_eq!(alone.tally(&after(10.0), 6), [0, 0, 6, 0]);
}

#[test]
fn a_retry_leaves_owners_that_were_tried_for_who_has_waited() {
    for unprobed in [false, true] {
        let mut world = world(10.0);
        let shared = key_in(0..=99);
        let retry = |elapsed| Ask {
            elapsed,
            unprobed,
            retry: true,
            ..keyed(&shared)
        };
        world.tried[0] = true;
        if !unprobed {
            // The other owner first.
            assert_eq!(world.trace(&retry(10.0), 4), [1; 4]);
        }
        world.tried[1] = true;
        assert_eq!(world.tally(&retry(9.9), 10)[2..], [0, 0]);
        assert_eq!(world.tally(&retry(10.0), 10), [0, 0, 5, 5]);
        // All tried: it is the owners' again.
        world.tried = vec![true; 4];
        assert_eq!(world.tally(&retry(10.0), 10)[2..], [0, 0]);
    }
}
