//! Whatever the sequence of answers: what is in force is what the last good
//! answers and the rules allow.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use dynamic_core::answer::{Addresses, Failure, Family, FamilyAnswer, HostAnswer};
use dynamic_core::domain::Answered;
use dynamic_core::targets::Filter;
use proptest::prelude::*;
use proptest::sample::select;

use crate::world::{World, filtered, good, ip};

const HOSTS: [&str; 3] = ["a", "b", "c"];

#[derive(Clone, Debug)]
enum Step {
    /// Both families of a host, each with the numbers of addresses or failed.
    Answer(usize, [Result<BTreeSet<u8>, Failure>; 2]),
    /// The addresses of this number get a leaf, or none.
    Refuse(u8, bool),
}

fn family() -> impl Strategy<Value = Result<BTreeSet<u8>, Failure>> {
    prop_oneof![
        3 => prop::collection::btree_set(0..6_u8, 0..5).prop_map(Ok),
        1 => select(vec![Failure::NoData, Failure::NxDomain, Failure::Timeout]).prop_map(Err),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        5 => (0..3_usize, family(), family())
            .prop_map(|(host, v4, v6)| Step::Answer(host, [v4, v6])),
        1 => (0..6_u8, any::<bool>()).prop_map(|(i, refuse)| Step::Refuse(i, refuse)),
    ]
}

/// The address of a host with this number; number 0 is no endpoint.
fn address(host: usize, family: Family, i: u8) -> IpAddr {
    match (family, i) {
        (Family::V4, 0) => ip("0.0.0.0"),
        (Family::V6, 0) => ip("ff02::1"),
        (Family::V4, i) => ip(&format!("192.0.{host}.{i}")),
        (Family::V6, i) => ip(&format!("2001:db8:{host}::{i}")),
    }
}

/// The last good addresses by host and family, as the rules have it.
type Model = BTreeMap<(usize, bool), BTreeSet<IpAddr>>;

fn learn(model: &mut Model, host: usize, answer: &HostAnswer) {
    let found = |answer: &FamilyAnswer| -> BTreeSet<IpAddr> {
        let addresses = answer.as_ref().map(|a| a.addresses.clone());
        addresses.unwrap_or_default().into_iter().collect()
    };
    let pairs = [
        (false, &answer.v4, &answer.v6),
        (true, &answer.v6, &answer.v4),
    ];
    for (six, own, other) in pairs {
        let no_data = matches!(own, Ok(_) | Err(Failure::NoData));
        if !found(own).is_empty() || (no_data && !found(other).is_empty()) {
            model.insert((host, six), found(own));
        }
    }
}

proptest! {
    #[test]
    fn what_is_in_force_is_what_the_last_good_answers_and_the_rules_allow(
        steps in prop::collection::vec(step(), 1..40),
        keep in 0..4_u32,
        whitelist in prop::option::of(prop::collection::btree_set((0..3_usize, 0..6_u8), 0..12)),
        names_endpoints in any::<bool>(),
    ) {
        let mut world = World::of(vec![
            filtered("a", 0, Filter::All),
            filtered("b", 1, Filter::NoMatch(vec![ip("192.0.1.1"), ip("2001:db8:1::1")])),
            filtered("c", 2, Filter::Match(vec![ip("192.0.2.2"), ip("2001:db8:2::2")])),
        ]);
        world.settings.keep = keep;
        world.settings.names_endpoints = names_endpoints;
        world.rules.whitelist = whitelist.map(|all| {
            all.into_iter()
                .flat_map(|(host, i)| [Family::V4, Family::V6].map(|f| address(host, f, i)))
                .collect()
        });
        let takes = |host: usize, address: &IpAddr| match host {
            0 => true,
            1 => ![ip("192.0.1.1"), ip("2001:db8:1::1")].contains(address),
            _ => [ip("192.0.2.2"), ip("2001:db8:2::2")].contains(address),
        };
        let mut model = Model::new();
        let mut looked_up = BTreeSet::new();
        // The endpoints that have a leaf, present or absent.
        let mut kept = BTreeSet::new();
        for step in steps {
            match step {
                Step::Answer(host, families) => {
                    let answer = |family, found: &Result<BTreeSet<u8>, Failure>| {
                        let addresses = |all: &BTreeSet<u8>| Addresses {
                            addresses: all.iter().map(|i| address(host, family, *i)).collect(),
                            ttl: None,
                        };
                        found.as_ref().map(addresses).map_err(|failure| *failure)
                    };
                    let answer = HostAnswer {
                        v4: answer(Family::V4, &families[0]),
                        v6: answer(Family::V6, &families[1]),
                    };
                    learn(&mut model, host, &answer);
                    looked_up.insert(host);
                    world.answer(HOSTS[host], &answer);
                }
                Step::Refuse(i, refuse) => {
                    for host in 0..3 {
                        for family in [Family::V4, Family::V6] {
                            let address = address(host, family, i);
                            if refuse {
                                world.refuses.insert(address);
                            } else {
                                world.refuses.remove(&address);
                            }
                        }
                    }
                }
            }
            // The gathering ends, and what is missing is tried again.
            if world.again_at.is_some() {
                world.now += 100.0;
                world.update(&Answered::Nothing);
            }
            for line in world.log() {
                match line.split(' ').collect::<Vec<_>>()[..] {
                    ["add", id, ..] => prop_assert!(kept.insert(id.to_owned()), "made twice"),
                    ["delete", id] => drop(kept.remove(id)),
                    _ => {}
                }
            }
            let allowed: BTreeSet<IpAddr> = model
                .iter()
                .flat_map(|((host, _), all)| all.iter().map(|address| (*host, *address)))
                .filter(|(host, address)| takes(*host, address))
                .map(|(_, address)| address)
                .filter(|address| {
                    let whitelist = world.rules.whitelist.as_ref();
                    ![ip("0.0.0.0"), ip("ff02::1")].contains(address)
                        && whitelist.is_none_or(|all| all.contains(address))
                })
                .collect();
            let Some(published) = &world.published else {
                let may_come = looked_up.len() < 3 || !allowed.is_empty();
                prop_assert!(may_come, "requests wait for nothing");
                prop_assert!(world.made.is_empty(), "requests wait, and a leaf is there");
                continue;
            };
            let published: BTreeSet<IpAddr> = published.iter().map(|b| b.key.address).collect();
            prop_assert!(published.is_subset(&allowed), "{published:?} of {allowed:?}");
            // What is allowed and not there was refused.
            prop_assert!(allowed.difference(&published).all(|a| world.refuses.contains(a)));
            prop_assert_eq!(allowed == published, world.again_at.is_none());
        }
    }
}

#[test]
fn the_absent_are_bounded_however_long_they_are_to_be_kept() {
    let mut world = World::host();
    world.settings.keep = u32::MAX;
    let mut kept = BTreeSet::new();
    for round in 0..100 {
        let address = |i| format!("10.{round}.0.{i}");
        let addresses: Vec<String> = (1..=10).map(address).collect();
        world.good(
            "a",
            &addresses.iter().map(String::as_str).collect::<Vec<_>>(),
        );
        for line in world.log() {
            if let Some(id) = line.strip_prefix("delete ") {
                assert!(kept.remove(id), "{line}");
            } else if let Some(id) = line.strip_prefix("add ") {
                kept.insert(id.split(' ').next().unwrap().to_owned());
            }
        }
        assert_eq!(world.ids().len(), 10);
        assert!(kept.len() <= 10 + 4 * 64, "{}", kept.len());
    }
    assert_eq!(kept.len(), 10 + 4 * 64);
    world.answer("a", &good(&["10.99.0.1"]));
    assert_eq!(world.ids(), ["10.99.0.1:80"]);
}
