//! What holds for every choice, whatever the snapshot, request and state.

use dynamic_core::buckets::Buckets;
use dynamic_core::domain::Backend;
use dynamic_core::select::{Algorithm, HashScope, Rules};
use dynamic_core::session::{AffinityTo, FailurePolicy};
use dynamic_core::snapshot::Refusal;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use crate::world::{Ask, World, keyed, scored};

/// Endpoints with different addresses, in the order of their identities.
fn backends() -> impl Strategy<Value = Vec<Backend<()>>> {
    let one = (
        0..40_u8,
        select(vec!["a", "b", "c"]),
        0..3_u32,
        0..4_u32,
        -1..2_i64,
    );
    prop::collection::vec(one, 1..12).prop_map(|all| {
        let mut backends: Vec<_> = all
            .into_iter()
            .map(|(i, host, priority, weight, score)| {
                scored(&format!("192.0.2.{i}"), host, priority, weight, score)
            })
            .collect();
        backends.sort_by(|a, b| a.key.cmp(&b.key));
        backends.dedup_by(|a, b| a.key.address == b.key.address);
        backends
    })
}

fn rules() -> impl Strategy<Value = Rules> {
    (
        select(vec![
            Algorithm::RoundRobin,
            Algorithm::Random,
            Algorithm::Least,
        ]),
        select(vec![0.0, 1.0, 1.4]),
        select(vec![0.0, 1.25]),
        select(vec![HashScope::Tier, HashScope::All]),
    )
        .prop_map(
            |(algorithm, overprovisioning, hash_balance, hash_scope)| Rules {
                algorithm,
                overprovisioning,
                hash_balance,
                hash_scope,
                ..Rules::default()
            },
        )
}

fn session() -> impl Strategy<Value = Option<(AffinityTo, FailurePolicy)>> {
    prop::option::of((select(AffinityTo::ALL), select(FailurePolicy::ALL)))
}

fn buckets(service_delay: f64) -> Buckets {
    let mut buckets = Buckets::new(service_delay, [0; 16]).unwrap();
    let assignment = buckets.assignment_mut();
    assignment.assign("192.0.2.7", "0-99").unwrap();
    assignment.assign("a", "50-199").unwrap();
    buckets
}

proptest! {
    /// A choice is one of the endpoints. It is healthy while one is, but for
    /// pins; it is refused only where the pin, the session's failure policy or
    /// the service delay says so.
    #[test]
    fn a_choice_is_an_endpoint_and_refused_only_where_something_demands_it(
        backends in backends(),
        rules in rules(),
        session in session(),
        delay in prop::option::of(select(vec![0.0, 60.0])),
        states in prop::collection::vec(any::<(bool, bool)>(), 12),
        pin in prop::option::weighted(0.2, select(vec!["192.0.2.7", "a", "nothing", "?"])),
        session_key in prop::option::of(prop_oneof![
            any::<Index>().prop_map(Ok),
            select(vec!["", "junk", "0123456789abcdef"]).prop_map(Err),
        ]),
        key in prop::option::of("[a-z]{0,3}"),
        retry in any::<bool>(),
    ) {
        let n = backends.len();
        let mut world = World::prepared(backends, session, delay.map(buckets));
        world.rules = rules;
        world.healthy = states[..n].iter().map(|(healthy, _)| *healthy).collect();
        world.tried = states[..n].iter().map(|(_, tried)| *tried).collect();
        let session_key = session_key.map(|key| match key {
            Ok(index) if session.is_some() => world.session_key(index.index(n)),
            Ok(_) => String::new(),
            Err(text) => text.to_owned(),
        });
        let request = Ask {
            pin: pin.map(str::as_bytes),
            session_key: session_key.as_deref().map(str::as_bytes),
            key: key.as_deref().map(str::as_bytes),
            retry,
            ..Ask::default()
        };
        let outcome = world.outcome(&request);
        let any_healthy = world.healthy.contains(&true);
        match outcome.choice {
            Ok(choice) => {
                prop_assert!(choice.index < n);
                let healthy = world.healthy[choice.index];
                prop_assert!(healthy || pin.is_some() || !any_healthy);
                let backend = &world.snapshot.backends()[choice.index].key;
                match pin {
                    Some("a") => prop_assert_eq!(&*backend.host, "a"),
                    Some(text) => prop_assert_eq!(backend.address.to_string(), text),
                    None => {}
                }
            }
            Err(Refusal::Pin) => prop_assert!(pin.is_some()),
            Err(Refusal::Session(status)) => {
                prop_assert!(session_key.is_some());
                prop_assert_eq!(session.map(|(_, p)| p), Some(FailurePolicy::Return503));
                prop_assert_eq!(outcome.session, Some(status));
            }
            Err(Refusal::Delayed) => {
                prop_assert_eq!(delay, Some(60.0));
                prop_assert!(key.is_some_and(|key| !key.is_empty()));
            }
            Err(refusal) => prop_assert!(false, "{:?} with endpoints", refusal),
        }
        prop_assert_eq!(outcome.session.is_some(), session.is_some() && pin.is_none());
    }

    /// Servers that have the endpoints in another order choose alike for keys.
    #[test]
    fn the_order_of_the_endpoints_decides_nothing_for_keys(
        (backends, other) in backends().prop_flat_map(|all| {
            (Just(all.clone()), Just(all).prop_shuffle())
        }),
        hash_scope in select(vec![HashScope::Tier, HashScope::All]),
        sick in prop::collection::btree_set(0..40_u8, 0..6),
        keys in prop::collection::vec("[a-z]{1,8}", 1..20),
    ) {
        let world = |backends: Vec<Backend<()>>| {
            let mut world = World::with_sessions(
                backends,
                AffinityTo::Endpoint,
                FailurePolicy::Redistribute,
            );
            world.rules.hash_scope = hash_scope;
            let all = world.snapshot.backends();
            world.healthy = all
                .iter()
                .map(|b| !sick.iter().any(|i| b.key.address.to_string() == format!("192.0.2.{i}")))
                .collect();
            world
        };
        let (one, other) = (world(backends), world(other));
        prop_assume!(one.healthy.contains(&true));
        for key in &keys {
            let chosen = |world: &World| {
                let index = world.index(&keyed(key)).unwrap();
                world.snapshot.backends()[index].key.clone()
            };
            prop_assert_eq!(chosen(&one), chosen(&other));
        }
        for (index, backend) in one.snapshot.backends().iter().enumerate() {
            let mut all = other.snapshot.backends().iter();
            let place = all.position(|b| b.key == backend.key).unwrap();
            prop_assert_eq!(one.session_key(index), other.session_key(place));
        }
    }
}
