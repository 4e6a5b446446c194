//! How clients spread over buckets and servers, and that a forwarder and the
//! members of a group agree without a word.
#![allow(
    clippy::expect_used,
    reason = "a test may fail where it prepares itself"
)]

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use dynamic_core::buckets::{BucketSet, Buckets, Client, OwnerTable, hash};

const CLIENTS: u32 = 100_000;

/// The key of the client with a number.
type Key = fn(u32) -> Vec<u8>;

/// Kinds of keys that clients have.
const KINDS: [(&str, Key); 4] = [
    ("names", |n| format!("tenant-{n}").into_bytes()),
    ("addresses", |n| {
        Ipv4Addr::from(0x0a00_0000 + n).to_string().into_bytes()
    }),
    ("hardware addresses", |n| {
        let [_, a, b, c] = n.to_be_bytes();
        vec![0x00, 0x16, 0x3e, a, b, c]
    }),
    ("random", |n| {
        // SplitMix64 of the number.
        let mut z = u64::from(n).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)).to_le_bytes().to_vec()
    }),
];

fn counts(key: Key) -> [u32; 256] {
    let mut counts = [0; 256];
    for client in 0..CLIENTS {
        counts[usize::from(hash(&key(client)))] += 1;
    }
    counts
}

/// The mean is 391 clients a bucket; of keys at random, one bucket in a million
/// would lie more than a quarter away from it.
#[test]
fn clients_spread_over_all_buckets() {
    for (kind, key) in KINDS {
        for (bucket, count) in counts(key).into_iter().enumerate() {
            assert!(
                (293..=489).contains(&count),
                "{kind}: {count} in bucket {bucket}"
            );
        }
    }
}

#[test]
fn shares_come_near_what_is_configured() {
    let shares = [("0-25", 10), ("26-102", 30), ("103-255", 60)];
    for (kind, key) in KINDS {
        let counts = counts(key);
        for (list, percent) in shares {
            let set = BucketSet::parse_list(list).expect("a good list");
            let clients: u32 = set.iter().map(|bucket| counts[usize::from(bucket)]).sum();
            let difference = clients.abs_diff(CLIENTS * percent / 100);
            assert!(
                difference <= CLIENTS / 100,
                "{kind}: {clients} for {percent} %"
            );
        }
    }
}

#[test]
fn a_split_shares_between_two_servers() {
    let (_, key) = KINDS[0];
    let counts = counts(key);
    for buckets in [0, 1, 64, 128, 200, 256] {
        let share = BucketSet::share(buckets).expect("at most 256");
        let clients: u32 = share.iter().map(|bucket| counts[usize::from(bucket)]).sum();
        let expected = CLIENTS * u32::from(buckets) / 256;
        assert!(
            clients.abs_diff(expected) <= CLIENTS / 100,
            "{clients} for {buckets} buckets"
        );
    }
}

#[test]
fn a_member_and_a_forwarder_agree() {
    let group = ["192.0.2.1:80", "192.0.2.2:80", "192.0.2.3:80"];
    let mut buckets = Buckets::new(0.0, [0; 16]).expect("a good delay");
    for (server, list) in group.into_iter().zip(["0-25", "26-102", "103-250"]) {
        buckets
            .assignment_mut()
            .assign(server, list)
            .expect("good buckets");
    }
    // The forwarder's answer has the members in another order.
    let endpoints = [3, 1, 2].map(|last| (IpAddr::from([192, 0, 2, last]), 80, "group.example"));
    let table = OwnerTable::new(buckets.assignment(), endpoints);
    let mut served = [0; 4];
    for number in 0..1_000 {
        let key = format!("client-{number}");
        let client = Client {
            key: key.as_bytes(),
            elapsed: 0.0,
            transaction: b"",
        };
        let members: Vec<String> = group
            .into_iter()
            .filter(|member| buckets.serves(member, &client, Duration::ZERO) == Ok(true))
            .map(str::to_owned)
            .collect();
        let forwarded: Vec<String> = table
            .owners(hash(key.as_bytes()))
            .iter()
            .map(|endpoint| format!("{}:{}", endpoints[*endpoint].0, endpoints[*endpoint].1))
            .collect();
        assert_eq!(members, forwarded, "{key}");
        let member = members
            .first()
            .map(|member| group.iter().position(|own| own == member));
        served[member.flatten().unwrap_or(3)] += 1;
    }
    // Each had clients, and so had the five buckets without an owner.
    assert!(served.iter().all(|clients| *clients > 0), "{served:?}");
}
