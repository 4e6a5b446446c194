//! How long the answers of several targets are gathered, and when leaves that
//! the engine refused are tried again.

use dynamic_core::domain::Answered;
use dynamic_core::targets::Filter;

use crate::world::{World, filtered, ip, target};

fn three() -> World {
    World::of(vec![target("a", 80), target("b", 80), target("c", 80)])
}

fn near(found: Option<f64>, expected: f64) {
    let found = found.unwrap();
    assert!((found - expected).abs() < 1e-6, "{found}, not {expected}");
}

#[test]
fn the_first_answer_serves_at_once() {
    let mut world = three();
    world.good("b", &["192.0.2.2"]);
    assert_eq!(world.ids(), ["192.0.2.2:80"]);
}

#[test]
fn further_answers_are_gathered_for_a_tenth_of_a_second() {
    let mut world = three();
    world.good("b", &["192.0.2.2"]);
    world.now += 0.05;
    world.good("a", &["192.0.2.1"]);
    assert_eq!(world.ids(), ["192.0.2.2:80"]);
    near(world.again_at, 1000.1);
    world.call_again();
    assert_eq!(world.ids(), ["192.0.2.1:80", "192.0.2.2:80"]);
    assert_eq!(world.again_at, None);
    // The next tenth begins with that publication.
    world.good("a", &["192.0.2.9"]);
    near(world.again_at, 1000.2);
}

#[test]
fn the_last_answer_ends_the_gathering() {
    let mut world = three();
    world.good("b", &["192.0.2.2"]);
    world.good("a", &["192.0.2.1"]);
    world.good("c", &["192.0.2.3"]);
    assert_eq!(
        world.ids(),
        ["192.0.2.1:80", "192.0.2.2:80", "192.0.2.3:80"]
    );
    assert_eq!(world.again_at, None);
}

#[test]
fn what_is_looked_up_does_not_gather_at_refreshes() {
    let mut world = World::of(vec![target("a", 80), target("b", 80)]);
    world.good("a", &["192.0.2.1"]);
    world.good("b", &["192.0.2.2"]);
    world.good("a", &["192.0.2.3"]);
    assert_eq!(world.ids(), ["192.0.2.2:80", "192.0.2.3:80"]);
}

#[test]
fn a_better_target_is_waited_for_by_half_a_second() {
    let better = || {
        World::of(vec![
            filtered("a", 0, Filter::All),
            filtered("b", 1, Filter::All),
        ])
    };
    let mut world = better();
    world.good("b", &["192.0.2.2"]);
    assert_eq!(world.ids(), ["pending"]);
    near(world.again_at, 1000.5);
    world.now += 0.3;
    world.good("a", &["192.0.2.1"]);
    assert_eq!(world.ids(), ["192.0.2.1:80", "192.0.2.2:80"]);

    let mut world = better();
    world.good("b", &["192.0.2.2"]);
    world.call_again();
    assert_eq!(world.ids(), ["192.0.2.2:80"], "not for longer");

    let mut world = better();
    world.good("a", &["192.0.2.1"]);
    assert_eq!(world.ids(), ["192.0.2.1:80"], "not for a worse one");
}

#[test]
fn the_failure_of_the_better_target_ends_the_wait_for_it() {
    let mut world = World::of(vec![
        filtered("a", 0, Filter::All),
        filtered("b", 1, Filter::All),
        filtered("c", 2, Filter::All),
    ]);
    world.good("b", &["192.0.2.2"]);
    assert_eq!(world.ids(), ["pending"]);
    world.fails("a", dynamic_core::answer::Failure::NxDomain);
    assert_eq!(world.ids(), ["192.0.2.2:80"]);
}

#[test]
fn where_requests_name_endpoints_all_answers_are_gathered_for_a_second() {
    let mut world = three();
    world.settings.names_endpoints = true;
    world.good("b", &["192.0.2.2"]);
    assert_eq!(world.ids(), ["pending"]);
    near(world.again_at, 1001.0);
    world.now += 0.9;
    world.good("a", &["192.0.2.1"]);
    near(world.again_at, 1001.0);
    assert_eq!(world.ids(), ["pending"]);
    world.call_again();
    assert_eq!(world.ids(), ["192.0.2.1:80", "192.0.2.2:80"]);
}

#[test]
fn where_requests_name_endpoints_the_last_answer_ends_the_gathering_too() {
    let mut world = three();
    world.settings.names_endpoints = true;
    world.good("b", &["192.0.2.2"]);
    world.good("a", &["192.0.2.1"]);
    world.good("c", &["192.0.2.3"]);
    assert_eq!(world.ids().len(), 3);
    // A single host gathers nothing.
    let mut world = World::host();
    world.settings.names_endpoints = true;
    world.good("a", &["192.0.2.1"]);
    assert_eq!(world.ids(), ["192.0.2.1:80"]);
}

#[test]
fn refused_leaves_are_tried_again_twice_as_late_each_time_up_to_retry_after() {
    let mut world = World::host();
    world.refuses.insert(ip("192.0.2.1"));
    world.good("a", &["192.0.2.1"]);
    let mut wait = 0.2;
    for _ in 0..12 {
        assert_eq!(world.ids(), ["pending"], "requests go on waiting");
        near(world.again_at, world.now + f64::min(wait, 30.0));
        wait *= 2.0;
        world.call_again();
    }
    world.refuses.clear();
    world.call_again();
    assert_eq!(world.ids(), ["192.0.2.1:80"]);
    assert_eq!(world.again_at, None);
}

#[test]
fn what_is_there_serves_while_a_refused_leaf_is_tried_after_retry_after() {
    let mut world = World::host();
    world.refuses.insert(ip("192.0.2.1"));
    world.good("a", &["192.0.2.1", "192.0.2.2"]);
    assert_eq!(world.ids(), ["192.0.2.2:80"]);
    near(world.again_at, 1030.0);
    world.call_again();
    near(world.again_at, 1060.0);
    world.refuses.clear();
    world.call_again();
    assert_eq!(world.ids(), ["192.0.2.1:80", "192.0.2.2:80"]);
    assert_eq!(world.made.len(), 2);
}

#[test]
fn a_refused_leaf_is_not_tried_again_once_its_address_has_left() {
    let mut world = World::host();
    world.refuses.insert(ip("192.0.2.1"));
    world.good("a", &["192.0.2.1", "192.0.2.2"]);
    world.good("a", &["192.0.2.2"]);
    assert_eq!(world.again_at, None);
    world.refuses.clear();
    world.update(&Answered::Nothing);
    assert_eq!(world.made.len(), 1);
}

#[test]
fn all_refused_and_another_host_still_to_answer_publishes_nothing() {
    let mut world = World::of(vec![target("a", 80), target("b", 80)]);
    world.refuses.insert(ip("192.0.2.1"));
    world.good("a", &["192.0.2.1"]);
    assert_eq!(world.ids(), ["pending"]);
    world.good("b", &["192.0.2.2"]);
    assert_eq!(world.ids(), ["192.0.2.2:80"]);
}

#[test]
fn letting_go_of_all_leaves_makes_them_anew() {
    let mut world = World::host();
    world.good("a", &["192.0.2.1"]);
    world.state.clear();
    world.good("a", &["192.0.2.1"]);
    assert_eq!(world.made.len(), 2);
    assert_eq!(world.leaf("192.0.2.1:80"), 1);
}
