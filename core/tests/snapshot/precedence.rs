//! Pin, session, buckets, hash, algorithm: which decides.

use dynamic_core::buckets::Buckets;
use dynamic_core::select::{Algorithm, HashScope, Pass};
use dynamic_core::session::{AffinityTo, FailurePolicy, Status};
use dynamic_core::snapshot::{Refusal, Snapshot};

use crate::world::{Ask, World, backend, keyed, pin, plain, scored, with_session};

/// Four endpoints, of which the last owns all buckets.
fn all_of_it() -> World {
    let mut buckets = Buckets::new(0.0, [0; 16]).unwrap();
    let assignment = buckets.assignment_mut();
    assignment.assign("192.0.2.3", "0-255").unwrap();
    let session = (AffinityTo::Endpoint, FailurePolicy::Return503);
    World::prepared(plain(4), Some(session), Some(buckets))
}

#[test]
fn the_pin_comes_before_the_session_and_the_session_before_the_bucket() {
    let world = all_of_it();
    let session_key = world.session_key(2);
    let mut request = Ask {
        pin: Some(b"192.0.2.1"),
        session_key: Some(session_key.as_bytes()),
        key: Some(b"client"),
        ..Ask::default()
    };
    let outcome = world.outcome(&request);
    assert_eq!(outcome.choice.unwrap().index, 1);
    assert_eq!((outcome.session, outcome.service), (None, None));
    request.pin = None;
    let outcome = world.outcome(&request);
    assert_eq!(outcome.choice.unwrap().index, 2);
    assert_eq!((outcome.session, outcome.service), (Some(Status::Ok), None));
    request.session_key = None;
    assert_eq!(world.trace(&request, 4), [3, 3, 3, 3]);
    request.key = None;
    assert_eq!(world.tally(&request, 40), [10, 10, 10, 10]);
}

#[test]
fn the_bucket_comes_before_the_hash_and_the_hash_before_the_algorithm() {
    let world = World::new(plain(4));
    for algorithm in [Algorithm::RoundRobin, Algorithm::Random, Algorithm::Least] {
        let world = World {
            rules: dynamic_core::select::Rules {
                algorithm,
                ..Default::default()
            },
            ..World::new(plain(4))
        };
        for key in ["a", "b", "c", "d", "e"] {
            let first = world.index(&keyed(key)).unwrap();
            assert_eq!(world.trace(&keyed(key), 5), [first; 5]);
        }
    }
    let homes: std::collections::BTreeSet<usize> = (0..100)
        .map(|i| world.index(&keyed(&format!("key {i}"))).unwrap())
        .collect();
    assert_eq!(homes.len(), 4, "keys spread");
    assert_eq!(all_of_it().trace(&keyed("a"), 3), [3, 3, 3]);
}

#[test]
fn an_empty_key_is_none() {
    let world = World::new(plain(4));
    assert_eq!(world.tally(&keyed(""), 8), [2, 2, 2, 2]);
    let world = all_of_it();
    assert_eq!(world.tally(&keyed(""), 8), [2, 2, 2, 2]);
}

#[test]
fn a_pin_reaches_what_is_sick_and_nothing_else() {
    let world = World::new(vec![
        backend("192.0.2.1", "a", 0, 1),
        backend("192.0.2.2", "a", 0, 1),
        backend("192.0.2.3", "b", 1, 1),
        backend("2001:db8::1", "b", 1, 1),
    ])
    .sick(&[1]);
    for (text, index) in [
        ("192.0.2.2", 1),
        ("192.0.2.2:80", 1),
        ("192.0.2.3", 2),
        ("2001:db8::1", 3),
        ("[2001:db8::1]:80", 3),
        ("::ffff:192.0.2.1", 0),
    ] {
        assert_eq!(world.trace(&pin(text), 3), [index; 3], "{text}");
    }
    let choice = world.outcome(&pin("192.0.2.2")).choice.unwrap();
    assert_eq!(choice.pass, Pass::AnyHealth);
}

#[test]
fn a_pinned_host_balances_among_its_own_and_prefers_the_healthy() {
    let backends = || {
        vec![
            backend("192.0.2.1", "a", 0, 1),
            backend("192.0.2.2", "b", 0, 1),
            backend("192.0.2.3", "b", 0, 1),
        ]
    };
    let world = World::new(backends());
    assert_eq!(world.tally(&pin("B."), 10), [0, 5, 5]);
    let world = World::new(backends()).sick(&[2]);
    assert_eq!(world.tally(&pin("b"), 10), [0, 10, 0]);
    let world = World::new(backends()).sick(&[1, 2]);
    assert_eq!(world.tally(&pin("b"), 10)[0], 0, "sick, but pinned");
}

#[test]
fn a_pin_that_names_nothing_is_refused() {
    let world = all_of_it();
    for text in [
        "192.0.2.9",
        "192.0.2.1:81",
        "b",
        "",
        " ",
        "a:80",
        "192.0.2.1:",
        "[192.0.2.1]",
        "\u{e9}",
    ] {
        let outcome = world.outcome(&pin(text));
        assert_eq!(outcome.choice, Err(Refusal::Pin), "{text:?}");
        assert_eq!(outcome.session, None);
    }
    let junk = Ask {
        pin: Some(&[0xff, 0]),
        ..Ask::default()
    };
    assert_eq!(world.index(&junk), Err(Refusal::Pin));
}

#[test]
fn before_the_first_answer_and_without_endpoints_the_reason_is_said() {
    let pending = World {
        snapshot: Snapshot::pending(),
        ..all_of_it()
    };
    assert!(pending.snapshot.is_pending());
    for request in [
        Ask::default(),
        pin("192.0.2.1"),
        keyed("a"),
        with_session("x"),
    ] {
        assert_eq!(pending.index(&request), Err(Refusal::Pending));
    }
    for snapshot in [Snapshot::empty(), World::new(Vec::new()).snapshot] {
        assert!(!snapshot.is_pending());
        let empty = World {
            snapshot,
            ..all_of_it()
        };
        assert_eq!(empty.index(&Ask::default()), Err(Refusal::Empty));
        assert_eq!(empty.index(&keyed("a")), Err(Refusal::Empty));
        assert_eq!(empty.index(&pin("192.0.2.1")), Err(Refusal::Pin));
    }
}

#[test]
fn the_lower_priority_is_first_then_the_higher_score() {
    let backends = || {
        vec![
            scored("192.0.2.1", "a", 1, 1, 9),
            scored("192.0.2.2", "a", 0, 1, -1),
            scored("192.0.2.3", "a", 0, 1, 0),
            scored("192.0.2.4", "a", 0, 1, 2),
        ]
    };
    let mut world = World::new(backends());
    for best in [3, 2, 1, 0] {
        assert_eq!(world.trace(&Ask::default(), 3), [best; 3]);
        assert_eq!(world.trace(&keyed("k"), 3), [best; 3], "keys too");
        world.healthy[best] = false;
    }
    let choice = world.outcome(&Ask::default()).choice.unwrap();
    assert_eq!((choice.index, choice.pass), (3, Pass::AnyHealth));
}

#[test]
fn a_key_may_ignore_the_preference() {
    let backends = (0..10_u8)
        .map(|i| scored(&format!("192.0.2.{i}"), "a", 0, 1, i64::from(i)))
        .collect();
    let mut world = World::new(backends);
    world.rules.hash_scope = HashScope::All;
    let homes: std::collections::BTreeSet<usize> = (0..300)
        .map(|i| world.index(&keyed(&format!("key {i}"))).unwrap())
        .collect();
    assert_eq!(homes.len(), 10);
    assert_eq!(
        world.index(&Ask::default()),
        Ok(9),
        "requests without one do not"
    );
}

#[test]
fn half_a_tier_healthy_serves_70_percent_at_1_4() {
    let backends = (0..20_u8)
        .map(|i| backend(&format!("192.0.2.{i}"), "a", u32::from(i / 10), 1))
        .collect();
    let mut world = World::new(backends).sick(&[0, 1, 2, 3, 4]);
    world.rules.overprovisioning = 1.4;
    let counts = world.tally(&Ask::default(), 10_000);
    let first: usize = counts[..10].iter().sum();
    assert!((6900..=7100).contains(&first), "{counts:?}");
}

#[test]
fn a_retry_avoids_what_was_tried_until_all_were() {
    for key in [None, Some(&b"client"[..])] {
        let mut world = World::new(plain(4)).sick(&[2]);
        let mut seen = Vec::new();
        for attempt in 0..3 {
            let retry = attempt > 0;
            let request = Ask {
                key,
                retry,
                ..Ask::default()
            };
            let choice = world.outcome(&request).choice.unwrap();
            assert_eq!(choice.retried_elsewhere, retry);
            world.tried[choice.index] = true;
            seen.push(choice.index);
        }
        seen.sort_unstable();
        assert_eq!(seen, [0, 1, 3]);
        let retry = Ask {
            key,
            retry: true,
            ..Ask::default()
        };
        assert_ne!(
            world.index(&retry),
            Ok(2),
            "it starts over, not with the sick"
        );
    }
}
