//! What the log says, and that it says each thing once.

use dynamic_core::answer::Failure;
use dynamic_core::event::{Event, Level};
use dynamic_core::name::EndpointId;
use dynamic_core::targets::Filter;

use crate::world::{World, failed, filtered, good, ip, ips, target};

fn id(address: &str) -> EndpointId {
    EndpointId {
        address: ip(address),
        port: 80,
    }
}

#[test]
fn every_event_has_its_line_and_level() {
    let why = || "NXDOMAIN from 192.0.2.53".to_owned();
    let failed = |host| Event::LookupFailed {
        host,
        record: "A",
        why: why(),
    };
    let six = id("2001:db8::1");
    let table = [
        (
            failed(None),
            Level::Error,
            "lookup A failed: NXDOMAIN from 192.0.2.53",
        ),
        (
            failed(Some("a.example".into())),
            Level::Error,
            "lookup a.example A failed: NXDOMAIN from 192.0.2.53",
        ),
        (
            Event::ExcessAddresses(1),
            Level::Error,
            "1 address over the limit is left out",
        ),
        (
            Event::ExcessAddresses(2),
            Level::Error,
            "2 addresses over the limit are left out",
        ),
        (
            Event::UnusableTargets(1),
            Level::Error,
            "1 target cannot be used and is left out",
        ),
        (
            Event::UnusableTargets(3),
            Level::Error,
            "3 targets cannot be used and are left out",
        ),
        (
            Event::NotAvailable,
            Level::Change,
            "service not available: no targets",
        ),
        (
            Event::Whitelist(six),
            Level::Error,
            "whitelist mismatch 2001:db8::1:80",
        ),
        (
            Event::NotAnEndpoint(ip("0.0.0.0")),
            Level::Error,
            "address 0.0.0.0 reaches no single host: dropped",
        ),
        (
            Event::Added(six, -3),
            Level::Change,
            "add [2001:db8::1]:80 score -3",
        ),
        (
            Event::Absent(id("192.0.2.1"), 1),
            Level::Change,
            "absent 192.0.2.1:80: no longer in the answer, kept for 1 update",
        ),
        (
            Event::Absent(id("192.0.2.1"), 3),
            Level::Change,
            "absent 192.0.2.1:80: no longer in the answer, kept for 3 updates",
        ),
        (
            Event::Returned(six),
            Level::Change,
            "return [2001:db8::1]:80",
        ),
        (
            Event::Deleted(six),
            Level::Change,
            "delete [2001:db8::1]:80",
        ),
        (
            Event::Refused(six, "too many".to_owned()),
            Level::Error,
            "no backend for [2001:db8::1]:80: too many",
        ),
        (Event::Unchanged, Level::Debug, "unchanged"),
    ];
    for (event, level, line) in table {
        assert_eq!(event.to_string(), line);
        assert_eq!(event.level(), level, "{line}");
    }
}

#[test]
fn the_life_of_an_endpoint_is_logged_step_by_step() {
    let mut world = World::host();
    world.settings.keep = 1;
    world.rules.scores = [(ip("192.0.2.2"), 4)].into();
    world.good("a", &["192.0.2.1", "192.0.2.2"]);
    assert_eq!(
        world.log(),
        ["add 192.0.2.1:80 score 0", "add 192.0.2.2:80 score 4"]
    );
    world.good("a", &["192.0.2.1"]);
    assert_eq!(
        world.log(),
        ["absent 192.0.2.2:80: no longer in the answer, kept for 1 update"]
    );
    world.good("a", &["192.0.2.1", "192.0.2.2"]);
    assert_eq!(world.log(), ["return 192.0.2.2:80"]);
    world.good("a", &["192.0.2.1"]);
    world.log();
    world.good("a", &["192.0.2.1"]);
    assert_eq!(world.log(), ["delete 192.0.2.2:80"]);
    world.good("a", &["192.0.2.1"]);
    assert!(world.log().is_empty());
}

#[test]
fn what_is_not_kept_is_deleted_without_being_absent() {
    let mut world = World::host();
    world.settings.keep = 0;
    world.good("a", &["192.0.2.1", "192.0.2.2"]);
    world.log();
    world.good("a", &["192.0.2.1"]);
    assert_eq!(world.log(), ["delete 192.0.2.2:80"]);
}

#[test]
fn a_whitelist_mismatch_is_logged_once_while_the_address_is_in_the_answers() {
    let mut world = World::host();
    world.rules.whitelist = Some(ips(&["192.0.2.1"]));
    world.good("a", &["192.0.2.1", "192.0.2.2"]);
    assert_eq!(
        world.log(),
        [
            "whitelist mismatch 192.0.2.2:80",
            "add 192.0.2.1:80 score 0"
        ]
    );
    for _ in 0..3 {
        world.good("a", &["192.0.2.1", "192.0.2.2"]);
        world.fails("a", Failure::Timeout);
    }
    let again = "whitelist mismatch 192.0.2.2:80".to_owned();
    assert!(!world.log().contains(&again));
    world.good("a", &["192.0.2.1"]);
    world.good("a", &["192.0.2.1", "192.0.2.2"]);
    assert_eq!(world.log(), [again]);
}

#[test]
fn an_address_that_two_targets_ask_for_is_dropped_with_one_line() {
    let mut world = World::of(vec![
        filtered("a", 0, Filter::All),
        filtered("a", 1, Filter::All),
    ]);
    world.rules.whitelist = Some(Vec::new());
    world.good("a", &["192.0.2.2"]);
    assert_eq!(world.log(), ["whitelist mismatch 192.0.2.2:80"]);
}

#[test]
fn an_address_that_no_target_takes_is_dropped_silently() {
    let mut world = World::of(vec![filtered("a", 0, Filter::Match(Vec::new()))]);
    world.rules.whitelist = Some(Vec::new());
    world.good("a", &["192.0.2.2"]);
    assert!(world.log().is_empty());
    assert!(world.ids().is_empty());
}

#[test]
fn addresses_that_are_no_endpoints_are_logged_once() {
    let mut world = World::host();
    let source = world.source("a").unwrap();
    let dropped = ips(&["0.0.0.0", "224.0.0.1", "0.0.0.0"]);
    let lines = [
        "address 0.0.0.0 reaches no single host: dropped",
        "address 224.0.0.1 reaches no single host: dropped",
    ];
    world.answer_for(source, &good(&["192.0.2.1"]), &dropped);
    assert_eq!(world.log()[..2], lines);
    world.answer_for(source, &good(&["192.0.2.1"]), &dropped);
    assert!(world.log().is_empty());
    world.answer_for(source, &good(&["192.0.2.1"]), &[]);
    world.answer_for(source, &good(&["192.0.2.1"]), &dropped);
    assert_eq!(world.log(), lines);
}

#[test]
fn addresses_in_the_answer_that_are_no_endpoints_are_logged_once() {
    let mut world = World::host();
    world.good("a", &["0.0.0.0", "192.0.2.1"]);
    world.good("a", &["0.0.0.0", "192.0.2.1"]);
    assert_eq!(
        world.log(),
        [
            "address 0.0.0.0 reaches no single host: dropped",
            "add 192.0.2.1:80 score 0"
        ]
    );
}

#[test]
fn each_family_is_logged_with_its_own_failure() {
    let mut world = World::host();
    let mut answer = failed(Failure::ServFail);
    answer.v6 = Err(Failure::Timeout);
    world.answer("a", &answer);
    assert_eq!(
        world.log(),
        [
            "lookup A failed: A SERVFAIL",
            "lookup AAAA failed: AAAA TIMEOUT"
        ]
    );
    // A name of one family is in order.
    world.good("a", &["192.0.2.1"]);
    assert_eq!(world.log(), ["add 192.0.2.1:80 score 0"]);
}

#[test]
fn a_failure_names_the_host_where_there_are_several() {
    let mut world = World::of(vec![target("a", 80), target("b", 80)]);
    world.answer("b", &failed(Failure::ServFail));
    assert_eq!(
        world.log(),
        [
            "lookup b A failed: A SERVFAIL",
            "lookup b AAAA failed: AAAA SERVFAIL"
        ]
    );
    let mut world = World::service();
    world.records(&[(0, 1, 80, "a")]);
    world.answer("a", &failed(Failure::NxDomain));
    assert_eq!(world.log()[0], "lookup a A failed: A NXDOMAIN");
}

#[test]
fn addresses_over_the_limit_are_counted() {
    let addresses: Vec<String> = (0..4097)
        .map(|i| format!("10.0.{}.{}", i / 256, i % 256))
        .collect();
    let addresses: Vec<&str> = addresses.iter().map(String::as_str).collect();
    let mut world = World::host();
    world.good("a", &addresses);
    assert_eq!(world.log()[0], "1 address over the limit is left out");
    assert_eq!(world.ids().len(), 4096);
}

#[test]
fn a_refused_leaf_is_logged_and_its_endpoint_added_when_it_is_made() {
    let mut world = World::host();
    world.refuses.insert(ip("192.0.2.1"));
    world.good("a", &["192.0.2.1"]);
    assert_eq!(world.log(), ["no backend for 192.0.2.1:80: no more"]);
    world.refuses.clear();
    world.call_again();
    assert_eq!(world.log(), ["add 192.0.2.1:80 score 0"]);
}
