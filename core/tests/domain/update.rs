//! What the answers for a host do to the endpoints in force.

use std::time::Duration;

use dynamic_core::answer::{Failure, HostAnswer};
use dynamic_core::domain::Answered;
use dynamic_core::targets::Filter;

use crate::world::{World, failed, filtered, good, ip, ips, target};

#[test]
fn an_answer_is_published_in_the_order_of_identities_whatever_its_own() {
    let mut world = World::host();
    world.good("a", &["192.0.2.9", "2001:db8::1", "192.0.2.1"]);
    assert_eq!(
        world.ids(),
        ["192.0.2.1:80", "192.0.2.9:80", "[2001:db8::1]:80"]
    );
}

#[test]
fn duplicates_are_one_endpoint() {
    let mut world = World::host();
    world.good("a", &["192.0.2.1", "192.0.2.1", "::ffff:192.0.2.1"]);
    assert_eq!(world.ids(), ["192.0.2.1:80"]);
    // Also where two targets name the same host and port.
    let mut world = World::of(vec![target("a", 80), target("a", 80)]);
    world.good("a", &["192.0.2.1"]);
    assert_eq!(world.ids(), ["192.0.2.1:80"]);
    assert_eq!(world.made.len(), 1);
}

#[test]
fn one_address_on_two_ports_is_two_endpoints() {
    let mut world = World::of(vec![target("a", 80), target("a", 81)]);
    world.good("a", &["192.0.2.1"]);
    assert_eq!(world.ids(), ["192.0.2.1:80", "192.0.2.1:81"]);
}

#[test]
fn an_address_that_stays_keeps_its_leaf() {
    let mut world = World::host();
    world.good("a", &["192.0.2.1", "192.0.2.2"]);
    let leaf = world.leaf("192.0.2.2:80");
    world.good("a", &["192.0.2.2", "192.0.2.3"]);
    assert_eq!(world.leaf("192.0.2.2:80"), leaf);
    assert_eq!(world.made.len(), 3);
}

#[test]
fn the_failure_of_one_family_keeps_its_addresses() {
    for failure in [Failure::ServFail, Failure::Timeout, Failure::NxDomain] {
        let mut world = World::host();
        world.good("a", &["192.0.2.1", "2001:db8::1"]);
        let learned = world.answer(
            "a",
            &HostAnswer {
                v6: Err(failure),
                ..good(&["192.0.2.2"])
            },
        );
        assert!(learned.updated);
        assert_eq!(world.ids(), ["192.0.2.2:80", "[2001:db8::1]:80"]);
        assert_eq!(
            learned.answered,
            Answered::Host {
                host: "a".into(),
                v4: true,
                v6: false
            }
        );
        assert_eq!(learned.after, Duration::from_secs(60), "at the good one's pace");
    }
}

#[test]
fn a_family_without_records_loses_its_addresses_where_the_other_has_some() {
    let mut world = World::host();
    world.good("a", &["192.0.2.1", "2001:db8::1"]);
    let learned = world.good("a", &["2001:db8::1"]);
    assert_eq!(world.ids(), ["[2001:db8::1]:80"]);
    assert_eq!(learned.after, Duration::from_secs(60));
}

#[test]
fn no_failure_takes_an_endpoint_out_of_force_nor_ages_one_that_is_kept() {
    let mut world = World::host();
    world.good("a", &["192.0.2.1", "192.0.2.2"]);
    let kept = world.leaf("192.0.2.2:80");
    world.good("a", &["192.0.2.1"]);
    for failure in [
        Failure::NxDomain,
        Failure::NoData,
        Failure::ServFail,
        Failure::Refused,
        Failure::Timeout,
        Failure::Truncated,
        Failure::Malformed,
    ] {
        let learned = world.fails("a", failure);
        assert!(!learned.updated);
        assert_eq!(learned.after, Duration::from_secs(30));
        assert_eq!(world.ids(), ["192.0.2.1:80"]);
    }
    world.good("a", &["192.0.2.1", "192.0.2.2"]);
    assert_eq!(world.leaf("192.0.2.2:80"), kept);
}

#[test]
fn an_endpoint_that_is_kept_returns_with_its_leaf_until_keep_updates_have_passed() {
    for keep in 0..4 {
        for missed in 0..6 {
            let mut world = World::host();
            world.settings.keep = keep;
            world.good("a", &["192.0.2.1", "192.0.2.2"]);
            let leaf = world.leaf("192.0.2.2:80");
            world.good("a", &["192.0.2.1"]);
            assert_eq!(world.ids(), ["192.0.2.1:80"], "not chosen any more");
            for _ in 0..missed {
                world.good("a", &["192.0.2.1"]);
            }
            world.good("a", &["192.0.2.1", "192.0.2.2"]);
            let same = world.leaf("192.0.2.2:80") == leaf;
            assert_eq!(same, missed < keep, "keep {keep}, missed {missed}");
        }
    }
}

#[test]
fn the_failure_of_one_family_does_not_age_what_is_kept_of_it() {
    let mut world = World::host();
    world.settings.keep = 1;
    world.good("a", &["192.0.2.1", "2001:db8::1", "2001:db8::2"]);
    let leaf = world.leaf("[2001:db8::2]:80");
    world.good("a", &["192.0.2.1", "2001:db8::1"]);
    for _ in 0..5 {
        world.answer(
            "a",
            &HostAnswer {
                v6: Err(Failure::ServFail),
                ..good(&["192.0.2.1"])
            },
        );
    }
    world.good("a", &["192.0.2.1", "2001:db8::1", "2001:db8::2"]);
    assert_eq!(world.leaf("[2001:db8::2]:80"), leaf);
}

#[test]
fn the_answers_of_one_host_do_not_age_what_is_kept_of_another() {
    let mut world = World::of(vec![target("a", 80), target("b", 80)]);
    world.settings.keep = 1;
    world.good("a", &["192.0.2.1", "192.0.2.2"]);
    world.good("b", &["192.0.2.3"]);
    let leaf = world.leaf("192.0.2.2:80");
    world.good("a", &["192.0.2.1"]);
    for _ in 0..5 {
        world.good("b", &["192.0.2.3"]);
    }
    world.good("a", &["192.0.2.1", "192.0.2.2"]);
    assert_eq!(world.leaf("192.0.2.2:80"), leaf);
}

#[test]
fn the_whitelist_comes_before_filters_and_scores() {
    let filter = Filter::Match(ips(&["192.0.2.1", "192.0.2.2"]));
    let mut world = World::of(vec![filtered("a", 0, filter)]);
    world.rules.whitelist = Some(ips(&["192.0.2.2", "192.0.2.3"]));
    world.rules.scores = [(ip("192.0.2.1"), 5)].into();
    world.good("a", &["192.0.2.1", "192.0.2.2", "192.0.2.3"]);
    assert_eq!(world.ids(), ["192.0.2.2:80"]);
    assert!(!world.rules.scored.contains(&ip("192.0.2.1")));
}

#[test]
fn nothing_on_the_whitelist_is_published_as_no_endpoints() {
    let mut world = World::host();
    world.rules.whitelist = Some(Vec::new());
    world.good("a", &["192.0.2.1"]);
    assert!(world.ids().is_empty() && world.made.is_empty());
}

#[test]
fn filters_divide_the_addresses_of_one_host_between_priorities() {
    let acl = ips(&["192.0.2.2"]);
    let mut world = World::of(vec![
        filtered("a", 0, Filter::Match(acl.clone())),
        filtered("a", 1, Filter::NoMatch(acl)),
        filtered("b", 2, Filter::All),
    ]);
    world.good("a", &["192.0.2.1", "192.0.2.2"]);
    world.good("b", &["192.0.2.2", "192.0.2.4"]);
    world.update(&Answered::Nothing);
    let priorities: Vec<(String, u32)> = world
        .published
        .unwrap()
        .iter()
        .map(|b| (format!("{}@{}", b.key.id(), b.key.host), b.rank.priority))
        .collect();
    let expected = [
        ("192.0.2.1:80@a", 1),
        ("192.0.2.2:80@a", 0),
        ("192.0.2.2:80@b", 2),
        ("192.0.2.4:80@b", 2),
    ];
    assert_eq!(priorities, expected.map(|(id, p)| (id.to_owned(), p)));
}

#[test]
fn an_address_that_two_filters_take_has_the_better_rank() {
    let mut world = World::of(vec![
        filtered("a", 4, Filter::All),
        filtered("a", 2, Filter::All),
        filtered("a", 3, Filter::All),
    ]);
    world.good("a", &["192.0.2.1"]);
    assert_eq!(world.ids(), ["192.0.2.1:80"]);
    assert_eq!(world.backend("192.0.2.1:80").rank.priority, 2);
}

#[test]
fn scores_are_those_of_the_preferences() {
    let mut world = World::host();
    world.rules.scores = [(ip("192.0.2.1"), 3), (ip("192.0.2.2"), -1)].into();
    world.good("a", &["192.0.2.1", "192.0.2.2", "192.0.2.3"]);
    let scores: Vec<i64> = world
        .published
        .unwrap()
        .iter()
        .map(|b| b.rank.score)
        .collect();
    assert_eq!(scores, [3, -1, 0]);
}

#[test]
fn addresses_that_reach_no_single_host_are_no_endpoints() {
    let mut world = World::host();
    world.good("a", &["0.0.0.0", "192.0.2.1", "224.0.0.1", "ff02::1", "::"]);
    assert_eq!(world.ids(), ["192.0.2.1:80"]);
}

#[test]
fn a_literal_address_is_its_own_answer() {
    let mut world = World::of(vec![target("192.0.2.7", 8080)]);
    assert!(world.asked().is_empty(), "nothing to ask");
    world.literal("192.0.2.7");
    assert_eq!(world.ids(), ["192.0.2.7:8080"]);
}

#[test]
fn a_first_lookup_that_fails_is_published_as_no_endpoints_and_heals() {
    let mut world = World::host();
    let learned = world.fails("a", Failure::ServFail);
    assert!(world.ids().is_empty());
    assert!(!learned.updated);
    world.good("a", &["192.0.2.1"]);
    assert_eq!(world.ids(), ["192.0.2.1:80"]);
}

#[test]
fn nothing_is_published_while_one_of_several_hosts_may_still_answer() {
    let mut world = World::of(vec![target("a", 80), target("b", 80), target("c", 80)]);
    world.fails("a", Failure::NxDomain);
    assert_eq!(world.ids(), ["pending"]);
    world.fails("b", Failure::ServFail);
    assert_eq!(world.ids(), ["pending"]);
    world.fails("c", Failure::Timeout);
    assert!(world.ids().is_empty());
}

#[test]
fn an_answer_for_a_target_that_has_left_changes_nothing() {
    let mut world = World::service();
    world.records(&[(0, 1, 80, "a")]);
    world.good("a", &["192.0.2.1"]);
    let gone = world.source("a").unwrap();
    world.records(&[(0, 1, 80, "b")]);
    world.good("b", &["192.0.2.2"]);
    assert_eq!(world.asked(), ["b"]);
    let learned = world.answer_for(gone, &good(&["192.0.2.1"]), &[]);
    assert!(learned.asks_others && !learned.updated && learned.events.is_empty());
    let learned = world.answer_for(gone, &failed(Failure::Timeout), &[]);
    assert!(learned.asks_others && !learned.updated && learned.events.is_empty());
}
