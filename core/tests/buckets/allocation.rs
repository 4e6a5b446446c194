//! What a request does with buckets allocates nothing.
#![allow(
    clippy::expect_used,
    reason = "a test may fail where it prepares itself"
)]

use std::net::IpAddr;
use std::time::Duration;

use allocation_counter::measure;
use dynamic_core::buckets::{Buckets, Client, OwnerTable, Owners, bucket_or};

#[test]
fn a_bucket_is_found_and_decided_on_without_allocating() {
    let mut buckets = Buckets::new(5.0, [1; 16]).expect("a good delay");
    let servers = ["192.0.2.1", "192.0.2.2:80", "[2001:db8::1]:80", "a.example"];
    for (server, list) in servers
        .into_iter()
        .zip(["0-63", "64-127", "128-191", "192-255"])
    {
        let assignment = buckets.assignment_mut();
        assignment.assign(server, list).expect("good buckets");
    }
    let endpoints = [(IpAddr::from([192, 0, 2, 1]), 80, "a.example")];
    let table = OwnerTable::new(buckets.assignment(), endpoints);
    let mut owned = 0;
    let count = measure(|| {
        // Enough clients to push others out.
        for number in 0..20_000_u32 {
            let transaction = number.to_le_bytes();
            let client = Client {
                key: b"0123456789abcdefXYZ",
                elapsed: 0.0,
                transaction: &transaction,
            };
            let now = Duration::from_millis(number.into());
            owned += table.owners(bucket_or(b"", &transaction)).len();
            let _ = buckets.service(Owners::Down, &client, now);
            for server in servers.into_iter().chain(["A.Example.", "192.0.2.2:80"]) {
                let _ = buckets.serves(server, &client, now);
            }
        }
    });
    assert!(owned > 0);
    assert_eq!(count.count_total, 0);
}
