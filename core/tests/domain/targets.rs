//! From records to targets, and from targets to what is asked.

use dynamic_core::answer::SrvRecord;
use dynamic_core::name::Host;
use dynamic_core::targets::{Filter, MAX_TARGETS, Origin, Records, SourceId, Target, Targets};

use crate::world::{Acl, filtered, ip, srv, target};

/// `(priority, weight, port, host)` of what records come to.
fn read(records: &[(u16, u16, u16, &str)]) -> (Vec<(u32, u32, u16, String)>, usize) {
    let records: Records<Acl> = Records::new(&srv(records), 8080);
    let target = |t: &Target<Acl>| (t.priority, t.weight, t.port, t.host.to_string());
    (
        records.targets.iter().map(target).collect(),
        records.unusable,
    )
}

fn one(priority: u32, weight: u32, port: u16, host: &str) -> (u32, u32, u16, String) {
    (priority, weight, port, host.to_owned())
}

#[test]
fn the_best_priority_comes_first_then_the_higher_weight() {
    let (targets, unusable) = read(&[(2, 9, 80, "c"), (1, 0, 80, "b"), (1, 5, 80, "a")]);
    assert_eq!(
        targets,
        [one(1, 5, 80, "a"), one(1, 0, 80, "b"), one(2, 9, 80, "c")]
    );
    assert_eq!(unusable, 0);
}

#[test]
fn records_for_one_host_and_port_add_their_weights_within_the_best_priority() {
    let (targets, _) = read(&[
        (1, 5, 80, "a"),
        (2, 90, 80, "a"),
        (1, 7, 80, "a"),
        (1, 1, 81, "a"),
    ]);
    assert_eq!(targets, [one(1, 12, 80, "a"), one(1, 1, 81, "a")]);
}

#[test]
fn port_0_is_the_given_port_also_for_what_is_the_same() {
    let (targets, _) = read(&[(1, 5, 0, "a"), (1, 5, 8080, "a")]);
    assert_eq!(targets, [one(1, 10, 8080, "a")]);
}

#[test]
fn a_target_is_read_as_a_name_or_address() {
    let records: Records<Acl> = Records::new(&srv(&[(0, 1, 80, "192.0.2.1")]), 80);
    assert_eq!(records.targets[0].host, Host::Ip(ip("192.0.2.1")));
    let records: Records<Acl> = Records::new(&srv(&[(0, 1, 80, "A.Example")]), 80);
    assert_eq!(records.targets[0].host, Host::Dns("a.example".to_owned()));
    assert!(records.targets[0].absolute, "no search list");
}

#[test]
fn the_root_is_no_target_and_not_unusable() {
    assert_eq!(read(&[(0, 0, 0, "")]), (Vec::new(), 0));
}

#[test]
fn what_cannot_be_a_host_is_unusable() {
    let long = "a".repeat(64);
    for junk in ["a b", "a..b", ".", "a:80", "[::1]:80", "a/b", "a\n", &long] {
        assert_eq!(read(&[(0, 1, 80, junk)]), (Vec::new(), 1), "{junk:?}");
    }
}

#[test]
fn the_targets_of_one_answer_are_bounded_and_the_best_are_taken() {
    let record = |i: usize| SrvRecord {
        priority: u16::try_from(MAX_TARGETS + 9 - i).unwrap(),
        weight: 1,
        port: 80,
        target: format!("h{i}"),
    };
    let all: Vec<SrvRecord> = (0..MAX_TARGETS + 10).map(record).collect();
    let records: Records<Acl> = Records::new(&all, 80);
    assert_eq!(records.targets.len(), MAX_TARGETS);
    assert_eq!(records.unusable, 10);
    assert_eq!(records.targets[0].priority, 0);
}

fn origins(targets: &Targets<Acl>) -> Vec<(SourceId, String)> {
    let text = |origin: &Origin| match origin {
        Origin::Literal(address) => address.to_string(),
        Origin::Addresses(name) | Origin::Services(name) => name.text.clone(),
    };
    targets.origins().map(|(id, o)| (id, text(o))).collect()
}

fn known(targets: &mut Targets<Acl>, place: usize, addresses: &[&str]) {
    let (id, _) = origins(targets)[place];
    let source = targets.get_mut(id).unwrap();
    source.looked_up = true;
    source.good.v4 = addresses.iter().map(|a| ip(a)).collect();
}

#[test]
fn targets_of_one_host_share_its_source() {
    let mut targets = Targets::default();
    targets.add(target("a", 80));
    targets.add(target("A", 81));
    targets.add(target("192.0.2.1", 80));
    targets.add(target("a.", 80));
    let hosts: Vec<String> = origins(&targets).into_iter().map(|(_, h)| h).collect();
    assert_eq!(hosts, ["a", "192.0.2.1", "a"], "a full name is another");
    assert_eq!(targets.each().count(), 4);
}

#[test]
fn a_source_keeps_its_identity_while_a_target_needs_it() {
    let mut targets = Targets::default();
    assert!(targets.replace(vec![target("a", 80), target("b", 80)]));
    let before = origins(&targets);
    known(&mut targets, 0, &["192.0.2.1"]);
    known(&mut targets, 1, &["192.0.2.2"]);
    assert!(!targets.replace(vec![target("b", 81), target("a", 80)]));
    assert_eq!(origins(&targets), before);
    assert!(targets.replace(vec![target("a", 80)]), "one is gone");
    assert!(targets.replace(vec![target("a", 80), target("b", 80)]));
    let ids = |all: &[(SourceId, String)]| all.iter().map(|(id, _)| *id).collect::<Vec<_>>();
    let now = ids(&origins(&targets));
    assert_eq!(now[0], before[0].0);
    assert_ne!(now[1], before[1].0, "an identity is used once");
}

#[test]
fn departing_targets_stay_until_each_new_one_is_looked_up() {
    let mut targets = Targets::default();
    targets.replace(vec![target("a", 80)]);
    known(&mut targets, 0, &["192.0.2.1"]);
    targets.replace(vec![target("b", 80), target("c", 80)]);
    let hosts = |targets: &Targets<Acl>| -> Vec<String> {
        targets.each().map(|(s, _)| s.host.to_string()).collect()
    };
    assert_eq!(hosts(&targets), ["b", "c", "a"]);
    assert!(!targets.drop_departed());
    known(&mut targets, 1, &[]);
    assert!(!targets.drop_departed());
    assert!(!targets.looked_up());
    known(&mut targets, 2, &[]);
    assert!(targets.drop_departed(), "its source goes too");
    assert_eq!(hosts(&targets), ["b", "c"]);
    assert!(targets.looked_up());
    assert!(!targets.drop_departed());
}

#[test]
fn a_target_that_departs_twice_departs_once() {
    let mut targets = Targets::default();
    targets.replace(vec![target("a", 80)]);
    known(&mut targets, 0, &["192.0.2.1"]);
    for _ in 0..3 {
        targets.replace(vec![target("b", 80)]);
        assert_eq!(targets.each().count(), 2);
        targets.replace(vec![target("c", 80)]);
        targets.replace(vec![target("a", 80)]);
        assert_eq!(targets.each().count(), 1, "nothing to wait for");
    }
}

#[test]
fn better_is_what_has_the_lower_priority_or_has_weight() {
    let weighted = |host: &str, priority, weight| Target {
        weight,
        ..filtered(host, priority, Filter::All)
    };
    for (pending, found, better) in [
        (weighted("p", 0, 1), weighted("k", 1, 1), true),
        (weighted("p", 1, 1), weighted("k", 0, 1), false),
        (weighted("p", 1, 1), weighted("k", 1, 9), false),
        (weighted("p", 1, 9), weighted("k", 1, 1), false),
        (weighted("p", 1, 1), weighted("k", 1, 0), true),
        (weighted("p", 1, 0), weighted("k", 1, 1), false),
        (weighted("p", 1, 0), weighted("k", 2, 1), true),
    ] {
        let mut targets = Targets::default();
        targets.add(pending.clone());
        targets.add(found.clone());
        assert!(!targets.better_is_pending(), "nothing is known");
        known(&mut targets, 1, &["192.0.2.1"]);
        assert_eq!(targets.better_is_pending(), better, "{pending:?} {found:?}");
        known(&mut targets, 1, &[]);
        assert!(!targets.better_is_pending(), "without addresses it is not");
        known(&mut targets, 1, &["192.0.2.1"]);
        known(&mut targets, 0, &[]);
        assert!(!targets.better_is_pending(), "all are looked up");
    }
}
