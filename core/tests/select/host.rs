//! Keys that are placed by the names of hosts.

use dynamic_core::select::{Member, Rules, Selector, key_hash};

use crate::world::{World, choose, keyed};

/// A selector of addresses and their hosts.
fn selector(members: &[(&str, &str, u32)]) -> Selector {
    let member = |(id, host, weight): &(&'static str, &'static str, u32)| Member {
        id,
        host: Some(host),
        weight: *weight,
        priority: 0,
        score: 0,
    };
    let members: Vec<(&'static str, &'static str, u32)> = members
        .iter()
        .map(|(id, host, weight)| (&*id.to_string().leak(), &*host.to_string().leak(), *weight))
        .collect();
    Selector::new(&members.iter().map(member).collect::<Vec<_>>(), 0)
}

/// Where 500 keys go, as indices.
fn homes(selector: &Selector, world: &World) -> Vec<usize> {
    (0..500)
        .map(|name| {
            let request = keyed(key_hash(format!("user-{name}").as_bytes()));
            choose(selector, &Rules::default(), world, &request).index
        })
        .collect()
}

const PODS: [(&str, &str, u32); 3] = [
    ("10.0.0.1:80", "web-0", 1),
    ("10.0.0.2:80", "web-1", 1),
    ("10.0.0.3:80", "web-2", 1),
];

#[test]
fn a_host_that_comes_back_with_another_address_keeps_its_keys() {
    let world = World::new(3);
    let before = homes(&selector(&PODS), &world);
    for address in ["10.0.0.0:80", "10.0.0.9:80", "[2001:db8::1]:80"] {
        let mut pods = PODS;
        pods[1].0 = address;
        assert_eq!(homes(&selector(&pods), &world), before);
    }
    assert!((0..3).all(|i| before.iter().filter(|home| **home == i).count() > 120));
}

#[test]
fn an_old_and_a_new_address_move_no_keys_of_other_hosts() {
    let before = homes(&selector(&PODS), &World::new(3));
    let both = [PODS[0], PODS[1], PODS[2], ("10.0.0.9:80", "web-1", 1)];
    let host = |i: usize| if i == 3 { 1 } else { i };
    let during = homes(&selector(&both), &World::new(4));
    assert!(before.iter().zip(&during).all(|(b, d)| *b == host(*d)));
    assert!(during.contains(&1) && during.contains(&3));
    // The other address serves while one is sick.
    let sick = homes(&selector(&both), &World::without(4, &[1]));
    assert!(before.iter().zip(&sick).all(|(b, s)| *b == host(*s)));
    // With both sick, the keys of the others stay.
    let gone = homes(&selector(&both), &World::without(4, &[1, 3]));
    assert!(before.iter().zip(&gone).all(|(b, g)| *b == 1 || b == g));
}

#[test]
fn the_addresses_of_one_host_share_its_keys_by_weight() {
    let one = [
        ("10.0.0.1:80", "a", 1),
        ("10.0.0.2:80", "a", 3),
        ("10.0.0.3:80", "b", 3),
    ];
    let homes = homes(&selector(&one), &World::new(3));
    let count = |i: usize| homes.iter().filter(|home| **home == i).count();
    // The hosts have weight 3 each.
    assert!(count(2).abs_diff(250) < 50, "{}", count(2));
    assert!(count(0).abs_diff(62) < 30, "{}", count(0));
}

#[test]
fn the_host_of_an_endpoint_does_not_matter_without_a_key() {
    let world = World::new(3);
    let one = selector(&[PODS[0], PODS[1], ("10.0.0.3:80", "web-1", 1)]);
    let order: Vec<usize> = (0..6)
        .map(|_| choose(&one, &Rules::default(), &world, &crate::world::PLAIN).index)
        .collect();
    assert_eq!(order, [0, 1, 2, 0, 1, 2]);
}
