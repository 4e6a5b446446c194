//! Sessions: where a key leads, and what becomes of one that leads nowhere.

use dynamic_core::session::{AffinityTo, FailurePolicy, Status};
use dynamic_core::snapshot::Refusal;

use crate::world::{Ask, World, backend, plain, with_session};

const POLICIES: [FailurePolicy; 2] = [FailurePolicy::Redistribute, FailurePolicy::Return503];

fn endpoints(policy: FailurePolicy) -> World {
    World::with_sessions(plain(3), AffinityTo::Endpoint, policy)
}

#[test]
fn without_a_key_a_request_is_balanced_and_gets_one() {
    for policy in POLICIES {
        let world = endpoints(policy);
        assert_eq!(world.outcome(&Ask::default()).session, Some(Status::New));
        assert_eq!(world.tally(&Ask::default(), 9), [3, 3, 3]);
    }
}

#[test]
fn a_key_leads_to_its_endpoint_while_that_is_healthy() {
    for policy in POLICIES {
        let world = endpoints(policy).sick(&[0]);
        for endpoint in [1, 2] {
            let key = world.session_key(endpoint);
            let outcome = world.outcome(&with_session(&key));
            assert_eq!(outcome.session, Some(Status::Ok));
            assert_eq!(world.trace(&with_session(&key), 5), [endpoint; 5]);
        }
    }
}

#[test]
fn a_key_counts_also_against_the_preference_and_for_weight_0() {
    let world = World::with_sessions(
        vec![
            backend("192.0.2.1", "a", 0, 1),
            backend("192.0.2.2", "a", 7, 0),
        ],
        AffinityTo::Endpoint,
        FailurePolicy::Redistribute,
    );
    let key = world.session_key(1);
    assert_eq!(world.index(&with_session(&key)), Ok(1));
}

#[test]
fn what_cannot_be_followed_is_redistributed_or_refused() {
    let unknown = "0123456789abcdef";
    let sick = endpoints(FailurePolicy::Redistribute).session_key(0);
    let one = |key| with_session(key);
    let cases = [
        (one(unknown), Status::NotFound),
        (one(&sick), Status::NotFound),
        (one("junk"), Status::BadKey),
        (one("0123456789ABCDEF"), Status::BadKey),
        (
            Ask {
                repeated: true,
                ..with_session("junk")
            },
            Status::BadKey,
        ),
    ];
    for (request, status) in cases {
        let world = endpoints(FailurePolicy::Redistribute).sick(&[0]);
        assert_eq!(world.outcome(&request).session, Some(Status::Recovered));
        assert_eq!(world.tally(&request, 10), [0, 5, 5]);

        let outcome = endpoints(FailurePolicy::Return503)
            .sick(&[0])
            .outcome(&request);
        assert_eq!(outcome.choice, Err(Refusal::Session(status)));
        assert_eq!(outcome.session, Some(status));
    }
}

#[test]
fn a_host_is_a_group_that_the_balancer_chooses_among() {
    let world = || {
        World::with_sessions(
            vec![
                backend("192.0.2.1", "a", 0, 1),
                backend("192.0.2.2", "a", 0, 1),
                backend("192.0.2.3", "b", 0, 1),
            ],
            AffinityTo::Host,
            FailurePolicy::Return503,
        )
    };
    let key = world().session_key(0);
    assert_eq!(world().session_key(1), key);
    assert_ne!(world().session_key(2), key);
    assert_eq!(world().tally(&with_session(&key), 10), [5, 5, 0]);
    let one_sick = world().sick(&[0]);
    assert_eq!(one_sick.tally(&with_session(&key), 10), [0, 10, 0]);
    let all_sick = world().sick(&[0, 1]);
    let refused = Err(Refusal::Session(Status::NotFound));
    assert_eq!(all_sick.index(&with_session(&key)), refused);
}

#[test]
fn a_retry_leaves_the_endpoint_of_the_key_and_takes_the_session_along() {
    for policy in POLICIES {
        let mut world = endpoints(policy);
        let key = world.session_key(1);
        world.tried[1] = true;
        let retry = Ask {
            retry: true,
            ..with_session(&key)
        };
        for _ in 0..4 {
            let outcome = world.outcome(&retry);
            assert_ne!(outcome.choice.unwrap().index, 1);
            assert_eq!(outcome.session, Some(Status::Recovered));
        }
        // Where nothing else is left, the key counts again.
        world.healthy = vec![false, true, false];
        let outcome = world.outcome(&retry);
        assert_eq!(outcome.choice.unwrap().index, 1);
        assert_eq!(outcome.session, Some(Status::Ok));
    }
}

#[test]
fn a_retry_stays_in_the_host_of_the_key_while_one_of_it_is_untried() {
    let mut world = World::with_sessions(
        vec![
            backend("192.0.2.1", "a", 0, 1),
            backend("192.0.2.2", "a", 0, 1),
            backend("192.0.2.3", "b", 0, 1),
        ],
        AffinityTo::Host,
        FailurePolicy::Return503,
    );
    let key = world.session_key(0);
    let retry = Ask {
        retry: true,
        ..with_session(&key)
    };
    world.tried[0] = true;
    assert_eq!(world.trace(&retry, 4), [1; 4]);
    world.tried[1] = true;
    assert_eq!(world.trace(&retry, 4), [2; 4]);
}
