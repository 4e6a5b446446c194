//! Who is given which buckets, and what is refused.
#![allow(
    clippy::expect_used,
    reason = "a test may fail where it prepares itself"
)]

use std::net::IpAddr;

use dynamic_core::buckets::set::{BitmapError, ListError};
use dynamic_core::buckets::{AssignError, Assignment, BucketSet, OwnerTable};
use dynamic_core::instance::Instance;

fn set(list: &str) -> BucketSet {
    BucketSet::parse_list(list).expect("a good list")
}

#[test]
fn a_server_is_known_in_every_spelling() {
    let mut assignment = Assignment::new();
    for (server, list) in [
        ("192.0.2.1", "0-9"),
        ("192.0.2.1:80", "10-19"),
        ("2001:db8::1", "20-29"),
        ("[2001:db8::1]:80", "30-39"),
        ("Cache-1.example.", "40-49"),
    ] {
        assignment.assign(server, list).expect("good buckets");
    }
    for (spelling, list) in [
        ("192.0.2.1", "0-9"),
        ("::ffff:192.0.2.1", "0-9"),
        ("192.0.2.1:80", "10-19"),
        ("[::ffff:192.0.2.1]:80", "10-19"),
        ("2001:DB8:0::1", "20-29"),
        ("[2001:DB8:0::1]", "20-29"),
        ("[2001:db8:0::1]:80", "30-39"),
        ("cache-1.EXAMPLE", "40-49"),
        ("\u{ff23}ache-1.example", "40-49"),
    ] {
        assert_eq!(assignment.buckets(spelling), Ok(set(list)), "{spelling}");
        assert!(assignment.owns(spelling, set(list).iter().next().expect("a bucket")));
    }
    for unknown in [
        "192.0.2.2",
        "192.0.2.1:81",
        "[2001:db8::1]:81",
        "cache-2.example",
        "",
        "a b",
    ] {
        let error = assignment.buckets(unknown).expect_err("unknown");
        assert!(
            error
                .to_string()
                .starts_with(&format!("server {unknown:?}, accepted"))
        );
        assert!((0..=255).all(|bucket| !assignment.owns(unknown, bucket)));
    }
    assert_eq!(assignment.servers().len(), 5);
    assert_eq!(assignment.unowned(), 206);
}

#[test]
fn calls_for_one_server_add_up() {
    let mut assignment = Assignment::new();
    assignment.assign("a", "0-9").expect("good buckets");
    assignment.assign("b", "5").expect("good buckets");
    assignment.assign("A.", "20").expect("good buckets");
    let bitmap = set("255").to_string();
    assignment
        .assign_bitmap("a", &bitmap)
        .expect("good buckets");
    assert_eq!(assignment.buckets("a"), Ok(set("0-9,20,255")));
    assert_eq!(assignment.owners(5).collect::<Vec<_>>(), [0, 1]);
    assert_eq!(assignment.owners(20).collect::<Vec<_>>(), [0]);
    assert_eq!(assignment.owners(21).count(), 0);
    assert_eq!(assignment.unowned(), 256 - 12);
}

#[test]
fn a_bitmap_of_zeros_makes_a_server_known() {
    let mut assignment = Assignment::new();
    assert_eq!(assignment.unowned(), 256);
    assignment
        .assign_bitmap("a", &"0".repeat(64))
        .expect("good buckets");
    assert_eq!(assignment.buckets("a"), Ok(BucketSet::NONE));
    assert_eq!(assignment.unowned(), 256);
}

#[test]
fn ranges_and_bitmap_of_a_half_agree() {
    let mut assignment = Assignment::new();
    assignment.assign("a", "0-127").expect("good buckets");
    let bitmap = "f".repeat(32) + &"0".repeat(32);
    assignment
        .assign_bitmap("b", &bitmap)
        .expect("good buckets");
    assert_eq!(assignment.buckets("a"), assignment.buckets("b"));
    assert_eq!(assignment.buckets("a").expect("known").to_string(), bitmap);
}

#[test]
fn refused_buckets_change_nothing_and_are_named() {
    let mut assignment = Assignment::new();
    assignment.assign("a", "0-9").expect("good buckets");
    let server = || Instance::Host("a".into());
    let list = |text: &str, error| AssignError::List {
        server: server(),
        text: text.to_owned(),
        error,
    };
    let cases = [
        (
            "256",
            list(
                "256",
                ListError::NoSuchBucket {
                    bucket: "256".to_owned(),
                },
            ),
        ),
        (
            "9-3",
            list("9-3", ListError::Reversed { first: 9, last: 3 }),
        ),
        ("", list("", ListError::Empty)),
        ("20,20", list("20,20", ListError::Twice { bucket: 20 })),
        ("20,5-30", list("20,5-30", ListError::Twice { bucket: 20 })),
        (
            "9-20",
            AssignError::Twice {
                server: server(),
                bucket: 9,
            },
        ),
    ];
    for (text, error) in cases {
        assert_eq!(assignment.assign("a", text), Err(error), "{text}");
    }
    let digits = "f".repeat(63);
    assert_eq!(
        assignment.assign_bitmap("a", &digits),
        Err(AssignError::Bitmap {
            server: server(),
            text: digits,
            error: BitmapError::Length { digits: 63 },
        })
    );
    let twice = assignment.assign_bitmap("a", &set("3,77").to_string());
    assert_eq!(
        twice,
        Err(AssignError::Twice {
            server: server(),
            bucket: 3
        })
    );
    assert_eq!(
        twice.expect_err("refused").to_string(),
        "bucket 3 of server a a second time, accepted is each bucket of a server once"
    );
    assert!(matches!(
        assignment.assign("a b", "1"),
        Err(AssignError::Server { .. })
    ));
    assert!(matches!(
        assignment.assign("a:80", "1"),
        Err(AssignError::Server { .. })
    ));
    assert_eq!(assignment.servers(), [(server(), set("0-9"))]);
}

fn address(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

#[test]
fn owners_are_found_by_address_port_and_host() {
    let mut assignment = Assignment::new();
    assignment.assign("192.0.2.1", "0-9").expect("good buckets");
    assignment
        .assign("192.0.2.2:81", "5-14")
        .expect("good buckets");
    assignment
        .assign("web.example", "14-19")
        .expect("good buckets");
    assignment
        .assign("192.0.2.9", "100-255")
        .expect("good buckets");
    let endpoints = [
        (address("192.0.2.2"), 80, "a.example"),
        (address("192.0.2.2"), 81, "a.example"),
        (address("192.0.2.1"), 80, "a.example"),
        (address("192.0.2.1"), 81, "web.example"),
        (address("2001:db8::1"), 80, "web.example"),
    ];
    let table = OwnerTable::new(&assignment, endpoints);
    assert_eq!(table.owners(0), [2, 3]);
    assert_eq!(table.owners(5), [1, 2, 3]);
    assert_eq!(table.owners(10), [1]);
    assert_eq!(table.owners(14), [1, 3, 4]);
    assert_eq!(table.owners(19), [3, 4]);
    assert_eq!(table.owners(20), []);
    // Its owner is not among the endpoints.
    assert_eq!(table.owners(100), []);
    assert_eq!(table.unowned(), 236);
    assert_eq!(assignment.unowned(), 80);
    let counts: Vec<usize> = (0..6).map(|endpoint| table.count(endpoint)).collect();
    assert_eq!(counts, [0, 10, 10, 16, 6, 0]);
}

#[test]
fn the_table_says_what_matching_each_server_says() {
    let mut assignment = Assignment::new();
    for (server, list) in [
        ("192.0.2.1", "0-99"),
        ("192.0.2.1:80", "50-149"),
        ("a.example", "100-199"),
        ("[2001:db8::1]:81", "150-249"),
    ] {
        assignment.assign(server, list).expect("good buckets");
    }
    let mut endpoints = Vec::new();
    for address in ["192.0.2.1", "192.0.2.2", "2001:db8::1"].map(address) {
        for port in [80, 81] {
            for host in ["a.example", "b.example", "", "192.0.2.1"] {
                endpoints.push((address, port, host));
            }
        }
    }
    let table = OwnerTable::new(&assignment, endpoints.iter().copied());
    for bucket in 0..=u8::MAX {
        let expected: Vec<usize> = (0..endpoints.len())
            .filter(|endpoint| {
                let (address, port, host) = endpoints[*endpoint];
                assignment.servers().iter().any(|(server, buckets)| {
                    buckets.contains(bucket) && server.matches(address, port, host)
                })
            })
            .collect();
        assert_eq!(table.owners(bucket), expected, "bucket {bucket}");
    }
}

#[test]
fn no_endpoint_owns_nothing() {
    let mut assignment = Assignment::new();
    assignment.assign("a", "0-255").expect("good buckets");
    let table = OwnerTable::new(&assignment, []);
    assert!((0..=u8::MAX).all(|bucket| table.owners(bucket).is_empty()));
    assert_eq!(table.unowned(), 256);
    assert_eq!(table.count(0), 0);
}
