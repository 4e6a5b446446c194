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
    let service = |client, second| buckets.service(Owners::Down, client, at(second));
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
    assert_eq!(buckets.first_seen().len(), 2);
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
    assert!(buckets.serves("a", &client(&own), at(1)));
    assert!(buckets.serves("A.", &client(&own), at(1)));
    assert!(!buckets.serves("b", &client(&own), at(1)));
    assert!(!buckets.serves("a", &client(&other), at(1)));
    assert!(buckets.serves("b", &client(&other), at(1)));
    assert!(!buckets.serves("a", &client(&nobodys), at(1)));
    assert!(!buckets.serves("c", &client(&own), at(1)));
    let waited = Client {
        elapsed: 5.0,
        ..client(&other)
    };
    assert!(buckets.serves("a", &waited, at(1)));
    assert!(!buckets.serves("c", &waited, at(1)));
    let timed = Client {
        transaction: b"t",
        ..client(&other)
    };
    assert!(!buckets.serves("a", &timed, at(100)));
    assert!(!buckets.serves("a", &timed, at(104)));
    assert!(buckets.serves("a", &timed, at(105)));
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
    assert!(!buckets.serves("a", &waited, at(1)));
    assert!(buckets.first_seen().is_empty());
}
