//! What the records of a service do to the endpoints in force.

use std::time::Duration;

use dynamic_core::answer::{Failure, SrvAnswer};
use dynamic_core::membership::Rank;
use dynamic_core::schedule::TtlFrom;

use crate::world::{World, srv};

fn rank(priority: u32, weight: u32) -> Rank {
    Rank {
        priority,
        weight,
        score: 0,
    }
}

#[test]
fn a_record_gives_its_priority_weight_and_port_to_the_addresses_of_its_target() {
    let mut world = World::service();
    world.records(&[(1, 5, 8080, "a"), (2, 0, 81, "b")]);
    world.good("a", &["192.0.2.1", "192.0.2.2"]);
    world.good("b", &["192.0.2.3"]);
    assert_eq!(
        world.ids(),
        ["192.0.2.1:8080", "192.0.2.2:8080", "192.0.2.3:81"]
    );
    assert_eq!(world.backend("192.0.2.1:8080").rank, rank(1, 5));
    assert_eq!(world.backend("192.0.2.3:81").rank, rank(2, 0));
}

#[test]
fn port_0_is_the_directors_port() {
    let mut world = World::service();
    world.settings.port = 8443;
    world.records(&[(0, 1, 0, "a")]);
    world.good("a", &["192.0.2.1"]);
    assert_eq!(world.ids(), ["192.0.2.1:8443"]);
}

#[test]
fn a_dot_says_that_there_is_no_service() {
    let mut world = World::service();
    let learned = world.records(&[(0, 0, 0, "")]);
    assert!(learned.updated);
    assert!(world.ids().is_empty(), "published at once");
    assert_eq!(world.log(), ["service not available: no targets"]);

    // It ends one that there was.
    let mut world = World::service();
    world.records(&[(0, 1, 80, "a")]);
    world.good("a", &["192.0.2.1"]);
    world.records(&[(0, 0, 0, "")]);
    assert!(world.ids().is_empty() && world.asked().is_empty());
}

#[test]
fn beside_targets_a_dot_says_nothing() {
    let mut world = World::service();
    world.records(&[(0, 0, 0, ""), (0, 1, 80, "a")]);
    world.good("a", &["192.0.2.1"]);
    assert_eq!(world.ids(), ["192.0.2.1:80"]);
}

#[test]
fn records_of_which_none_can_be_used_are_a_failure() {
    let mut world = World::service();
    world.records(&[(0, 1, 80, "a")]);
    world.good("a", &["192.0.2.1"]);
    world.log();
    for records in [
        &[(0, 1, 80, "a b")][..],
        &[(0, 1, 80, "a..b"), (0, 0, 0, "")],
    ] {
        let learned = world.records(records);
        assert!(!learned.updated && !learned.asks_others);
        assert_eq!(learned.after, Duration::from_secs(30));
        assert_eq!(world.ids(), ["192.0.2.1:80"]);
        let lines = world.log();
        assert_eq!(lines, ["1 target cannot be used and is left out"]);
    }
}

#[test]
fn what_can_be_used_is_and_what_cannot_is_counted() {
    let mut world = World::service();
    world.records(&[(0, 1, 80, "a b"), (0, 1, 80, "a"), (0, 1, 80, "a:80")]);
    assert_eq!(world.log(), ["2 targets cannot be used and are left out"]);
    assert_eq!(world.asked(), ["a"]);
}

#[test]
fn a_failure_keeps_targets_and_endpoints() {
    let mut world = World::service();
    world.records(&[(0, 1, 80, "a")]);
    world.good("a", &["192.0.2.1"]);
    let no_records = SrvAnswer {
        records: Vec::new(),
        ttl: None,
    };
    for answer in [
        Err(Failure::NxDomain),
        Err(Failure::ServFail),
        Err(Failure::Timeout),
        Ok(no_records),
    ] {
        let learned = world.service_answer(&answer);
        assert!(!learned.updated);
        assert_eq!(learned.after, Duration::from_secs(30));
        assert_eq!(world.ids(), ["192.0.2.1:80"]);
        assert_eq!(world.asked(), ["a"]);
    }
}

#[test]
fn a_first_failure_is_published_as_no_endpoints() {
    let mut world = World::service();
    world.service_answer(&Err(Failure::NxDomain));
    assert!(world.ids().is_empty());
    assert_eq!(world.log(), ["lookup SRV failed: SRV NXDOMAIN"]);
}

#[test]
fn requests_wait_until_the_targets_of_the_first_records_are_looked_up() {
    let mut world = World::service();
    let learned = world.records(&[(0, 1, 80, "a"), (0, 1, 80, "b")]);
    assert!(learned.asks_others);
    assert_eq!(world.ids(), ["pending"]);
    world.fails("a", Failure::NxDomain);
    assert_eq!(world.ids(), ["pending"]);
    world.fails("b", Failure::NxDomain);
    assert!(world.ids().is_empty());
}

#[test]
fn the_ttl_of_the_records_counts_as_the_director_says() {
    let answer = Ok(SrvAnswer {
        records: srv(&[(0, 1, 80, "a")]),
        ttl: Some(Duration::from_secs(5)),
    });
    for (ttl_from, seconds) in [
        (TtlFrom::Cfg, 60),
        (TtlFrom::Dns, 5),
        (TtlFrom::Min, 5),
        (TtlFrom::Max, 60),
    ] {
        let mut world = World::service();
        world.settings.timing.ttl_from = ttl_from;
        let learned = world.service_answer(&answer);
        assert_eq!(learned.after, Duration::from_secs(seconds));
    }
}

#[test]
fn targets_that_leave_serve_until_the_new_ones_are_looked_up() {
    let mut world = World::service();
    world.records(&[(0, 1, 80, "a")]);
    world.good("a", &["192.0.2.1"]);
    let learned = world.records(&[(0, 1, 80, "b"), (0, 1, 80, "c")]);
    assert!(learned.asks_others);
    assert_eq!(world.asked(), ["a", "b", "c"]);
    world.now += 1.0;
    assert_eq!(world.ids(), ["192.0.2.1:80"]);
    world.good("b", &["192.0.2.2"]);
    world.now += 1.0;
    assert_eq!(world.ids(), ["192.0.2.1:80", "192.0.2.2:80"]);
    let learned = world.good("c", &["192.0.2.3"]);
    assert!(learned.asks_others, "the old one is asked no more");
    assert_eq!(world.ids(), ["192.0.2.2:80", "192.0.2.3:80"]);
    assert_eq!(world.asked(), ["b", "c"]);
}

#[test]
fn targets_that_leave_go_too_when_the_new_ones_cannot_be_looked_up() {
    let mut world = World::service();
    world.records(&[(0, 1, 80, "a")]);
    world.good("a", &["192.0.2.1"]);
    world.records(&[(0, 1, 80, "b")]);
    world.fails("b", Failure::NxDomain);
    assert!(world.ids().is_empty());
}

#[test]
fn a_target_that_moves_to_another_port_needs_no_new_lookup() {
    let mut world = World::service();
    world.records(&[(0, 1, 80, "a")]);
    world.good("a", &["192.0.2.1"]);
    let learned = world.records(&[(0, 1, 81, "a")]);
    assert!(!learned.asks_others);
    assert_eq!(world.ids(), ["192.0.2.1:81"]);
}

#[test]
fn a_target_that_comes_back_has_the_leaves_that_it_had() {
    let mut world = World::service();
    world.settings.keep = 1;
    world.records(&[(0, 1, 80, "a"), (0, 1, 80, "b")]);
    world.good("a", &["192.0.2.1"]);
    world.good("b", &["192.0.2.2"]);
    let leaf = world.leaf("192.0.2.1:80");
    world.records(&[(0, 1, 80, "b")]);
    assert_eq!(world.ids(), ["192.0.2.2:80"]);
    world.records(&[(0, 1, 80, "a"), (0, 1, 80, "b")]);
    world.good("a", &["192.0.2.1"]);
    assert_eq!(world.leaf("192.0.2.1:80"), leaf);
}

#[test]
fn records_age_the_endpoints_of_targets_that_have_left() {
    let mut world = World::service();
    world.settings.keep = 2;
    world.records(&[(0, 1, 80, "a"), (0, 1, 80, "b")]);
    world.good("a", &["192.0.2.1"]);
    world.good("b", &["192.0.2.2"]);
    world.records(&[(0, 1, 80, "b")]);
    world.log();
    world.good("b", &["192.0.2.2"]);
    world.service_answer(&Err(Failure::Timeout));
    world.records(&[(0, 1, 80, "b")]);
    assert!(!world.log().contains(&"delete 192.0.2.1:80".to_owned()));
    world.records(&[(0, 1, 80, "b")]);
    assert_eq!(world.log(), ["delete 192.0.2.1:80"]);
}

#[test]
fn changed_weights_come_into_force_with_the_same_leaves() {
    let mut world = World::service();
    world.records(&[(0, 1, 80, "a")]);
    world.good("a", &["192.0.2.1"]);
    world.records(&[(3, 7, 80, "a")]);
    assert_eq!(world.backend("192.0.2.1:80").rank, rank(3, 7));
    assert_eq!(world.made.len(), 1);
}
