//! The time of the next lookup, and what an answer makes of the addresses that
//! are known.
#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use dynamic_core::answer::{Addresses, Failure, Family, FamilyAnswer, HostAnswer};
use dynamic_core::schedule::{
    LastGood, MAX_ADDRESSES, MAX_INTERVAL, MIN_INTERVAL, PerFamily, Settled, Timing, TtlFrom,
    refresh_after, retry_after, settle,
};
use proptest::prelude::*;

const FAILURES: [Failure; 9] = [
    Failure::NxDomain,
    Failure::NoData,
    Failure::ServFail,
    Failure::Refused,
    Failure::Timeout,
    Failure::Truncated,
    Failure::Malformed,
    Failure::NoServers,
    Failure::Unreachable,
];

/// The jitter that moves nothing.
const MIDDLE: f64 = 0.5;

fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn ips(texts: &[&str]) -> Vec<IpAddr> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

#[allow(
    clippy::unnecessary_wraps,
    reason = "the answer of a family is a Result"
)]
fn found(texts: &[&str], ttl: Option<u64>) -> FamilyAnswer {
    Ok(Addresses {
        addresses: ips(texts),
        ttl: ttl.map(secs),
    })
}

fn host(v4: FamilyAnswer, v6: FamilyAnswer) -> HostAnswer {
    HostAnswer { v4, v6 }
}

fn good(v4: &[&str], v6: &[&str]) -> LastGood {
    PerFamily {
        v4: ips(v4),
        v6: ips(v6),
    }
}

fn failures(v4: Option<Failure>, v6: Option<Failure>) -> PerFamily<Option<Failure>> {
    PerFamily { v4, v6 }
}

#[test]
fn the_ttl_comes_from_where_it_is_told_to() {
    for (from, cfg, answer, expected) in [
        (TtlFrom::Cfg, 30, Some(60), 30),
        (TtlFrom::Dns, 30, Some(60), 60),
        (TtlFrom::Min, 30, Some(60), 30),
        (TtlFrom::Max, 30, Some(60), 60),
        (TtlFrom::Min, 90, Some(60), 60),
        (TtlFrom::Max, 90, Some(60), 90),
        (TtlFrom::Cfg, 30, None, 30),
        (TtlFrom::Dns, 30, None, 30),
        (TtlFrom::Min, 30, None, 30),
        (TtlFrom::Max, 30, None, 30),
        (TtlFrom::Dns, 30, Some(0), 1),
        (TtlFrom::Min, 30, Some(0), 1),
        (TtlFrom::Max, 30, Some(0), 30),
        (TtlFrom::Dns, 30, Some(u64::MAX), 604_800),
    ] {
        assert_eq!(
            refresh_after(from, secs(cfg), answer.map(secs), MIDDLE),
            secs(expected),
            "{from:?} {cfg} {answer:?}"
        );
    }
    assert_eq!(retry_after(secs(30), MIDDLE), secs(30));
}

#[test]
fn jitter_moves_by_at_most_a_twentieth() {
    let at = |jitter| refresh_after(TtlFrom::Cfg, secs(100), None, jitter);
    assert_eq!(at(0.0), secs(95));
    assert_eq!(at(1.0), secs(105));
    assert_eq!(retry_after(secs(100), 0.0), secs(95));
    for (odd, same) in [
        (f64::NAN, 0.5),
        (f64::INFINITY, 1.0),
        (-7.0, 0.0),
        (f64::MIN, 0.0),
    ] {
        assert_eq!(at(odd), at(same), "{odd}");
    }
}

#[test]
fn intervals_have_limits() {
    for tiny in [Duration::ZERO, Duration::from_nanos(1), MIN_INTERVAL] {
        assert_eq!(refresh_after(TtlFrom::Cfg, tiny, None, 0.0), MIN_INTERVAL);
        assert_eq!(retry_after(tiny, 0.0), MIN_INTERVAL);
    }
    assert_eq!(retry_after(Duration::MAX, MIDDLE), secs(315_360_000));
    assert_eq!(
        refresh_after(
            TtlFrom::Min,
            Duration::from_millis(50),
            Some(secs(0)),
            MIDDLE
        ),
        Duration::from_millis(50)
    );
}

#[test]
fn both_families_answer() {
    let last = good(&["192.0.2.9"], &["2001:db8::9"]);
    let settled = settle(
        &last,
        &host(
            found(&["192.0.2.2", "192.0.2.1", "192.0.2.2"], Some(60)),
            found(&["2001:db8::1"], Some(20)),
        ),
    );
    assert_eq!(
        settled,
        Settled {
            good: good(&["192.0.2.1", "192.0.2.2"], &["2001:db8::1"]),
            failures: failures(None, None),
            asked: PerFamily { v4: true, v6: true },
            ttl: Some(secs(20)),
            excess: 0,
        }
    );
    assert_eq!(
        settled.good.addresses(),
        ips(&["192.0.2.1", "192.0.2.2", "2001:db8::1"])
    );
    assert!(settled.updated());
}

#[test]
fn a_family_that_fails_keeps_its_addresses() {
    let last = good(&["192.0.2.9"], &["2001:db8::9"]);
    // NODATA is the exception, tested apart.
    for failure in FAILURES.into_iter().filter(|f| *f != Failure::NoData) {
        let settled = settle(&last, &host(found(&["192.0.2.1"], Some(60)), Err(failure)));
        assert_eq!(settled.good, good(&["192.0.2.1"], &["2001:db8::9"]));
        assert_eq!(settled.failures, failures(None, Some(failure)));
        assert!(settled.answered(Family::V4) && !settled.answered(Family::V6));
        assert!(settled.updated());
        assert_eq!(settled.ttl, Some(secs(60)));

        let settled = settle(
            &last,
            &host(Err(failure), found(&["2001:db8::1"], Some(60))),
        );
        assert_eq!(settled.good, good(&["192.0.2.9"], &["2001:db8::1"]));
        assert_eq!(settled.failures, failures(Some(failure), None));
    }
}

#[test]
fn no_lookup_that_fails_empties_a_name() {
    let last = good(&["192.0.2.9"], &["2001:db8::9"]);
    for v4 in FAILURES {
        for v6 in FAILURES {
            let settled = settle(&last, &host(Err(v4), Err(v6)));
            assert_eq!(settled.good, last);
            assert_eq!(settled.failures, failures(Some(v4), Some(v6)));
            assert_eq!(settled.ttl, None);
            assert!(!settled.updated());
        }
    }
}

#[test]
fn a_family_ends_where_the_other_one_goes_on() {
    let last = good(&["192.0.2.9"], &["2001:db8::9"]);
    let settled = settle(
        &last,
        &host(found(&["192.0.2.1"], Some(60)), Err(Failure::NoData)),
    );
    assert_eq!(settled.good, good(&["192.0.2.1"], &[]));
    assert_eq!(settled.failures, failures(None, None));
    assert!(settled.answered(Family::V6));

    let settled = settle(
        &last,
        &host(found(&[], Some(5)), found(&["2001:db8::1"], None)),
    );
    assert_eq!(settled.good, good(&[], &["2001:db8::1"]));
    assert_eq!(settled.failures, failures(None, None));
    assert_eq!(settled.ttl, None);
}

#[test]
fn a_name_with_one_family_has_nothing_to_report() {
    let settled = settle(
        &LastGood::default(),
        &host(Err(Failure::NoData), found(&["2001:db8::1"], Some(60))),
    );
    assert_eq!(settled.good, good(&[], &["2001:db8::1"]));
    assert_eq!(settled.failures, failures(None, None));
}

#[test]
fn an_empty_answer_is_a_failure() {
    let last = good(&["192.0.2.9"], &[]);
    let settled = settle(&last, &host(found(&[], Some(60)), found(&[], None)));
    assert_eq!(settled.good, last);
    assert_eq!(
        settled.failures,
        failures(Some(Failure::NoData), Some(Failure::NoData))
    );
    assert_eq!(settled.ttl, None);
}

#[test]
fn an_answer_without_a_ttl_is_an_answer() {
    let settled = settle(
        &LastGood::default(),
        &host(found(&["127.0.0.1"], None), found(&["::1"], None)),
    );
    assert_eq!(settled.ttl, None);
    let timing = Timing {
        ttl_from: TtlFrom::Dns,
        ttl: secs(40),
        retry_after: secs(30),
    };
    assert_eq!(settled.next_after(&timing, MIDDLE), secs(40));
}

#[test]
fn mapped_addresses_are_ipv4() {
    let settled = settle(
        &LastGood::default(),
        &host(
            found(&["192.0.2.1"], Some(60)),
            found(&["::ffff:192.0.2.1", "::ffff:127.0.0.1"], Some(60)),
        ),
    );
    assert_eq!(settled.good.addresses(), ips(&["127.0.0.1", "192.0.2.1"]));
}

#[test]
fn a_huge_answer_is_cut() {
    let v4 = |count: u32| -> Vec<IpAddr> {
        (0..count)
            .map(|n| Ipv4Addr::from_bits(0x0a00_0000 + n).into())
            .collect()
    };
    let answer = |mut addresses: Vec<IpAddr>, turn: usize| {
        addresses.rotate_left(turn);
        host(
            Ok(Addresses {
                addresses,
                ttl: Some(secs(60)),
            }),
            Err(Failure::NoData),
        )
    };
    let settled = settle(&LastGood::default(), &answer(v4(4096), 7));
    assert_eq!((settled.good.v4.len(), settled.excess), (4096, 0));
    let settled = settle(&LastGood::default(), &answer(v4(5000), 7));
    assert_eq!(
        (settled.good.v4.len(), settled.excess),
        (MAX_ADDRESSES, 904)
    );
    let turned = settle(&settled.good, &answer(v4(5000), 4999));
    assert_eq!(turned, settled);
    let doubled = settle(
        &LastGood::default(),
        &answer([v4(4096), v4(4096)].concat(), 3),
    );
    assert_eq!((doubled.good.v4.len(), doubled.excess), (4096, 0));
}

#[test]
fn the_next_lookup_depends_on_what_failed() {
    let timing = |ttl, retry_after| Timing {
        ttl_from: TtlFrom::Min,
        ttl: secs(ttl),
        retry_after: secs(retry_after),
    };
    let v4 = found(&["192.0.2.1"], Some(60));
    let none = LastGood::default();
    let whole = settle(&none, &host(v4.clone(), Err(Failure::NoData)));
    let half = settle(&none, &host(v4, Err(Failure::Timeout)));
    let failed = settle(&none, &host(Err(Failure::NxDomain), Err(Failure::NxDomain)));
    for (ttl, retry_after, after_whole, after_half, after_failed) in [
        (3600, 30, 60, 60, 30),
        (10, 30, 10, 10, 30),
        (3600, 90, 60, 60, 90),
    ] {
        let timing = timing(ttl, retry_after);
        assert_eq!(whole.next_after(&timing, MIDDLE), secs(after_whole));
        assert_eq!(half.next_after(&timing, MIDDLE), secs(after_half));
        assert_eq!(failed.next_after(&timing, MIDDLE), secs(after_failed));
    }
}

fn any_addresses(v6: bool) -> impl Strategy<Value = FamilyAnswer> {
    let address = (0_u8..6).prop_map(move |n| -> IpAddr {
        if v6 {
            Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, n.into()).into()
        } else {
            Ipv4Addr::new(192, 0, 2, n).into()
        }
    });
    prop_oneof![
        proptest::sample::select(FAILURES.to_vec()).prop_map(Err),
        (
            proptest::collection::vec(address, 0..5),
            proptest::option::of((0_u64..100).prop_map(secs)),
        )
            .prop_map(|(addresses, ttl)| Ok(Addresses { addresses, ttl })),
    ]
}

proptest! {
    #[test]
    fn any_interval_is_within_limits(
        from in proptest::sample::select(vec![
            TtlFrom::Cfg, TtlFrom::Dns, TtlFrom::Min, TtlFrom::Max,
        ]),
        cfg: u64,
        nanos in 0_u32..1_000_000_000,
        answer in proptest::option::of(any::<u64>()),
        jitter: f64,
    ) {
        let cfg = Duration::new(cfg, nanos);
        let after = refresh_after(from, cfg, answer.map(secs), jitter);
        prop_assert!(after >= MIN_INTERVAL && after <= MAX_INTERVAL.mul_f64(1.06));
        prop_assert!(retry_after(cfg, jitter) >= MIN_INTERVAL);
    }

    #[test]
    fn addresses_survive_any_sequence_of_answers(
        answers in proptest::collection::vec((any_addresses(false), any_addresses(true)), 1..12)
    ) {
        let mut last = LastGood::default();
        for (v4, v6) in answers {
            let answer = host(v4, v6);
            let settled = settle(&last, &answer);
            // Sorted, no duplicates.
            for family in [&settled.good.v4, &settled.good.v6] {
                prop_assert!(family.is_sorted_by(|a, b| a < b));
            }
            // Once there is an address, there is always one.
            prop_assert!(last.addresses().is_empty() || !settled.good.addresses().is_empty());
            for (family, answer, good, old) in [
                (Family::V4, &answer.v4, &settled.good.v4, &last.v4),
                (Family::V6, &answer.v6, &settled.good.v6, &last.v6),
            ] {
                match answer {
                    Ok(found) if !found.addresses.is_empty() => {
                        prop_assert!(settled.answered(family));
                        prop_assert!(found.addresses.iter().all(|a| good.contains(a)));
                        prop_assert!(good.iter().all(|a| found.addresses.contains(a)));
                    }
                    _ if settled.answered(family) => prop_assert!(good.is_empty()),
                    _ => prop_assert_eq!(good, old),
                }
            }
            if !settled.updated() {
                prop_assert_eq!(&settled.good, &last);
            }
            // The order and number of times mean nothing.
            let mut turned = answer.clone();
            for found in [&mut turned.v4, &mut turned.v6].into_iter().flatten() {
                found.addresses.reverse();
                found.addresses.extend_from_within(..);
            }
            prop_assert_eq!(&settle(&last, &turned), &settled);
            last = settled.good;
        }
    }
}
