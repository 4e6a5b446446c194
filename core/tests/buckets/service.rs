//! Who serves a client, for a forwarder and for a member of a group.
#![allow(
    clippy::expect_used,
    reason = "a test may fail where it prepares itself"
)]

use std::time::Duration;

use dynamic_core::buckets::{Buckets, Client, Owners, Service};

fn client(key: &[u8]) -> Client<'_> {
    Client {
        key,
        elapsed: 0.0,
        transaction: b"",
    }
}

#[test]
fn a_delay_is_not_negative_and_finite() {
    assert!(Buckets::new(0.0, [0; 16]).is_ok());
    assert!(Buckets::new(0.25, [0; 16]).is_ok());
    for delay in [-1.0, f64::NAN, f64::INFINITY, 1e300] {
        let error = Buckets::new(delay, [0; 16]).expect_err("refused");
        assert!(
            error
                .to_string()
                .starts_with(&format!("service_delay {delay}, accepted"))
        );
    }
}

fn delayed() -> Buckets {
    let mut buckets = Buckets::new(5.0, [7; 16]).expect("a good delay");
    buckets
        .assignment_mut()
        .assign("a", "0-127")
        .expect("good buckets");
    buckets
        .assignment_mut()
        .assign("b", "128-254")
        .expect("good buckets");
    buckets
}

fn at(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[test]
fn a_client_that_says_how_long_it_waited_is_believed() {
    let buckets = delayed();
    for (elapsed, service) in [
        (0.0, Service::Delayed),
        (4.999, Service::Delayed),
        (5.0, Service::TakenOver),
        (6.0, Service::TakenOver),
        (f64::INFINITY, Service::TakenOver),
        (f64::MAX, Service::TakenOver),
        (-6.0, Service::Delayed),
        (f64::NAN, Service::Delayed),
    ] {
        let client = Client {
            elapsed,
            ..client(b"k")
        };
        assert_eq!(
            buckets.service(Owners::Down, &client, at(100)),
            service,
            "{elapsed}"
        );
        assert_eq!(
            buckets.service(Owners::Healthy, &client, at(100)),
            Service::Owner
        );
        assert_eq!(
            buckets.service(Owners::None, &client, at(100)),
            Service::Anyone
        );
    }
    assert!(buckets.first_seen().is_empty());
}

#[test]
fn a_client_with_a_transaction_is_timed() {
    let buckets = delayed();
    let first = Client {
        transaction: b"t1",
        ..client(b"k")
    };
    let second = Client {
        transaction: b"t2",
        ..client(b"k")
    };
    let untimed = client(b"k");
    let service = |client: &Client<'_>, second| buckets.service(Owners::Down, client, at(second));
    assert_eq!(service(&first, 100), Service::Delayed);
    assert_eq!(service(&first, 104), Service::Delayed);
    assert_eq!(service(&second, 104), Service::Delayed);
    assert_eq!(service(&first, 105), Service::TakenOver);
    assert_eq!(service(&second, 105), Service::Delayed);
    assert_eq!(service(&untimed, 105), Service::Delayed);
    // What the client says counts before what is remembered.
    assert_eq!(
        service(
            &Client {
                elapsed: 1.0,
                ..first
            },
            105
        ),
        Service::Delayed
    );
    // Its owner is back, and it stays there.
    assert_eq!(
        buckets.service(Owners::Healthy, &first, at(106)),
        Service::Owner
    );
    // Then it does not wait any more.
    assert_eq!(buckets.first_seen().len(), 1);
    assert_eq!(service(&first, 107), Service::Delayed);
}

#[test]
fn only_clients_that_wait_are_remembered() {
    let buckets = delayed();
    let timed = Client {
        transaction: b"t",
        ..client(b"k")
    };
    let _ = buckets.service(Owners::Healthy, &timed, at(1));
    let _ = buckets.service(Owners::None, &timed, at(1));
    assert!(buckets.first_seen().is_empty());
    assert_eq!(
        buckets.service(Owners::Down, &timed, at(50)),
        Service::Delayed
    );
    assert_eq!(buckets.first_seen().len(), 1);
}

#[test]
fn without_a_delay_another_serves_at_once_and_nothing_is_remembered() {
    let buckets = Buckets::new(0.0, [7; 16]).expect("a good delay");
    let timed = Client {
        transaction: b"t",
        ..client(b"k")
    };
    assert_eq!(
        buckets.service(Owners::Down, &timed, at(1)),
        Service::TakenOver
    );
    assert!(buckets.first_seen().is_empty());
}

/// A key in the bucket.
fn key_in(bucket: u8) -> Vec<u8> {
    (0..=u16::MAX)
        .map(|number| number.to_string().into_bytes())
        .find(|key| dynamic_core::buckets::hash(key) == bucket)
        .expect("a key for every bucket")
}

#[test]
fn a_member_serves_its_own_clients_and_those_that_waited() {
    let buckets = delayed();
    let (own, other, nobodys) = (key_in(7), key_in(200), key_in(255));
    assert_eq!(buckets.serves("a", &client(&own), at(1)), Ok(true));
    assert_eq!(buckets.serves("A.", &client(&own), at(1)), Ok(true));
    assert_eq!(buckets.serves("b", &client(&own), at(1)), Ok(false));
    assert_eq!(buckets.serves("a", &client(&other), at(1)), Ok(false));
    assert_eq!(buckets.serves("b", &client(&other), at(1)), Ok(true));
    assert_eq!(buckets.serves("a", &client(&nobodys), at(1)), Ok(false));
    assert!(buckets.serves("c", &client(&own), at(1)).is_err());
    let waited = Client {
        elapsed: 5.0,
        ..client(&other)
    };
    assert_eq!(buckets.serves("a", &waited, at(1)), Ok(true));
    assert!(buckets.serves("c", &waited, at(1)).is_err());
    let timed = Client {
        transaction: b"t",
        ..client(&other)
    };
    assert_eq!(buckets.serves("a", &timed, at(100)), Ok(false));
    assert_eq!(buckets.serves("a", &timed, at(104)), Ok(false));
    assert_eq!(buckets.serves("a", &timed, at(105)), Ok(true));
}

#[test]
fn without_a_delay_a_member_leaves_other_clients_alone() {
    let mut buckets = Buckets::new(0.0, [7; 16]).expect("a good delay");
    buckets
        .assignment_mut()
        .assign("a", "0-127")
        .expect("good buckets");
    let other = key_in(200);
    let waited = Client {
        elapsed: 3600.0,
        transaction: b"t",
        key: &other,
    };
    assert_eq!(buckets.serves("a", &waited, at(1)), Ok(false));
    assert!(buckets.first_seen().is_empty());
}

#[test]
fn a_client_that_does_not_come_again_is_forgotten() {
    let buckets = delayed();
    let timed = Client {
        transaction: b"t",
        ..client(b"k")
    };
    let service = |second| buckets.service(Owners::Down, &timed, at(second));
    assert_eq!(service(100), Service::Delayed);
    // While it comes now and then, it waits.
    assert_eq!(service(150), Service::TakenOver);
    assert_eq!(service(200), Service::TakenOver);
    // Ten times the delay later this is another time that its owners are down.
    assert_eq!(service(251), Service::Delayed);
    assert_eq!(service(256), Service::TakenOver);
    assert_eq!(buckets.first_seen().len(), 1);
}

#[test]
fn clients_are_tracked_by_key_where_that_is_asked_for() {
    let buckets = delayed().track_keys(true).expect("there is a delay");
    let service = |key, second| buckets.service(Owners::Down, &client(key), at(second));
    assert_eq!(service(b"k", 100), Service::Delayed);
    assert_eq!(service(b"j", 104), Service::Delayed);
    assert_eq!(service(b"k", 105), Service::TakenOver);
    assert_eq!(service(b"j", 105), Service::Delayed);
    // Clients without a key are not one client.
    assert_eq!(service(b"", 105), Service::Delayed);
    assert_eq!(service(b"", 200), Service::Delayed);
    let at_once = Buckets::new(0.0, [7; 16]).expect("a good delay");
    let error = at_once.track_keys(true).expect_err("refused");
    assert!(error.to_string().starts_with("track_keys"), "{error}");
}

#[test]
fn owners_that_were_tried_in_vain_begin_the_wait() {
    let buckets = delayed();
    let timed = Client {
        transaction: b"t",
        ..client(b"k")
    };
    let service = |owners, second| buckets.service(owners, &timed, at(second));
    // The first attempt goes to the owner, however often it did before.
    assert_eq!(service(Owners::Unknown, 100), Service::Owner);
    assert_eq!(service(Owners::Tried, 100), Service::Owner);
    assert_eq!(service(Owners::Unknown, 106), Service::Owner);
    assert_eq!(service(Owners::Tried, 106), Service::TakenOver);
    // What the client says counts at once.
    let waited = Client {
        elapsed: 5.0,
        ..client(b"k")
    };
    for owners in [Owners::Unknown, Owners::Tried] {
        assert_eq!(buckets.service(owners, &waited, at(1)), Service::TakenOver);
    }
    assert_eq!(
        buckets.service(Owners::Healthy, &waited, at(1)),
        Service::Owner
    );
}
