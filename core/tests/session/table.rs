//! From a request to what its key names.
#![allow(
    clippy::expect_used,
    reason = "a test may fail where it prepares itself"
)]

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use dynamic_core::name::EndpointId;
use dynamic_core::session::keys::KeyRing;
use dynamic_core::session::{
    Action, AffinityTable, Arguments, Condition, Found, Key, KeyFormat, KeyState, Policy, Session,
    Settings, Status, decide,
};
use zeroize::Zeroizing;

const NONCE: [u8; 24] = [3; 24];

fn session(policy: Policy) -> Session {
    let settings = Settings::new(&Arguments::new("X-Sid", policy)).expect("good arguments");
    Session::new(settings, || Arc::new(KeyRing::of(&Zeroizing::new([9; 32]))))
}

fn endpoints() -> Vec<String> {
    let v4 = (1..=200).map(|last| (IpAddr::from([192, 0, 2, last]), 80));
    let v6 = (1..=56).map(|last| (IpAddr::from([0x2001, 0xdb8, 0, 0, 0, 0, 0, last]), 8080));
    v4.chain(v6)
        .map(|(address, port)| EndpointId { address, port }.to_string())
        .collect()
}

fn table(session: &Session, ids: &[String]) -> AffinityTable {
    AffinityTable::new(session.format(), ids.iter().map(String::as_str))
}

/// The endpoints that a request with this key goes to.
fn named<'t>(table: &'t AffinityTable, value: &str) -> &'t [usize] {
    match table.lookup(value.as_bytes()) {
        Key::Group(group) => table.members(group),
        _ => &[],
    }
}

#[test]
fn every_policy_finds_every_endpoint() {
    let ids = endpoints();
    for policy in Policy::ALL {
        let table = table(&session(*policy), &ids);
        assert_eq!(table.collisions(), []);
        for (endpoint, id) in ids.iter().enumerate() {
            let key = table.key(id, &NONCE).expect("a key");
            assert_eq!(named(&table, &key), [endpoint], "{policy} {id}");
        }
    }
}

#[test]
fn the_order_of_an_answer_means_nothing() {
    let ids = endpoints();
    let reversed: Vec<String> = ids.iter().rev().cloned().collect();
    for policy in Policy::ALL {
        let session = session(*policy);
        let (one, two) = (table(&session, &ids), table(&session, &reversed));
        for (endpoint, id) in ids.iter().enumerate() {
            let key = one.key(id, &NONCE).expect("a key");
            assert_eq!(Some(&key), two.key(id, &NONCE).as_ref());
            assert_eq!(named(&two, &key), [ids.len() - 1 - endpoint]);
        }
    }
}

#[test]
fn endpoints_of_one_host_are_a_group() {
    for policy in Policy::ALL {
        let session = session(*policy);
        let ids = [
            "b.example",
            "a.example",
            "b.example",
            "c.example",
            "b.example",
        ];
        let table = AffinityTable::new(session.format(), ids);
        let members = |host| named(&table, &table.key(host, &NONCE).expect("a key")).to_vec();
        assert_eq!(members("a.example"), [1]);
        assert_eq!(members("b.example"), [0, 2, 4]);
        assert_eq!(members("c.example"), [3]);
        assert!(table.members(3).is_empty());
        assert!(table.members(usize::MAX).is_empty());
    }
}

#[test]
fn an_address_that_left_is_unknown() {
    let ids = endpoints();
    for policy in Policy::ALL {
        let session = session(*policy);
        let key = table(&session, &ids).key(&ids[5], &NONCE).expect("a key");
        let without: Vec<String> = ids.iter().filter(|id| **id != ids[5]).cloned().collect();
        let after = table(&session, &without);
        assert_eq!(after.lookup(key.as_bytes()), Key::Unknown);
        assert_eq!(after.key(&ids[5], &NONCE), None);
        let empty = table(&session, &[]);
        assert_eq!(empty.lookup(key.as_bytes()), Key::Unknown);
    }
}

#[test]
fn what_cannot_be_read_is_bad() {
    let ids = endpoints();
    for policy in Policy::ALL {
        let table = table(&session(*policy), &ids);
        let good = table.key(&ids[0], &NONCE).expect("a key");
        let cases: [&[u8]; 8] = [
            b"",
            b" ",
            b"\"",
            b"\xff\xfe",
            b"\0",
            &good.as_bytes()[1..],
            &vec![b'0'; 65_536],
            ids[0].as_bytes(),
        ];
        for value in cases {
            assert_eq!(table.lookup(value), Key::Bad, "{policy}");
        }
        for other in Policy::ALL.iter().filter(|other| *other != policy) {
            let stranger = session(*other);
            let stranger = AffinityTable::new(stranger.format(), [ids[0].as_str()]);
            let key = stranger.key(&ids[0], &NONCE).expect("a key");
            assert_eq!(
                table.lookup(key.as_bytes()),
                Key::Bad,
                "{other} under {policy}"
            );
        }
    }
}

#[test]
fn another_servers_random_key_is_bad() {
    let settings = Settings::new(&Arguments::new("X-Sid", Policy::Cookie)).expect("good arguments");
    let other = Session::new(settings, || Arc::new(KeyRing::of(&Zeroizing::new([8; 32]))));
    let key = AffinityTable::new(other.format(), ["a:80"])
        .key("a:80", &NONCE)
        .expect("a key");
    let own = AffinityTable::new(session(Policy::Cookie).format(), ["a:80"]);
    assert_eq!(own.lookup(key.as_bytes()), Key::Bad);
}

/// Ids that differ in letter case only have one key, as two ids whose hashes
/// are equal would.
#[test]
fn of_two_ids_with_one_key_the_lower_has_it_whatever_the_order() {
    for format in [KeyFormat::HashCookie, KeyFormat::ArrCookie] {
        for (ids, lower) in [(["a:80", "A:80"], 1), (["A:80", "a:80"], 0)] {
            let table = AffinityTable::new(&format, ids);
            let key = table.key("A:80", &NONCE).expect("a key");
            assert_eq!(named(&table, &key), [lower]);
            assert_eq!(table.key("a:80", &NONCE), None);
            let [collision] = table.collisions() else {
                panic!("one collision");
            };
            assert_eq!(
                (collision.kept.as_str(), collision.lost.as_str()),
                ("A:80", "a:80")
            );
        }
    }
    let sealed = session(Policy::Cookie);
    let table = AffinityTable::new(sealed.format(), ["a:80", "A:80"]);
    assert_eq!(table.collisions(), []);
    assert!(table.key("a:80", &NONCE).is_some());
}

#[test]
fn an_id_too_long_to_seal_gets_no_key() {
    let id = "x".repeat(300);
    let sealed = session(Policy::CustomHeader);
    let table = AffinityTable::new(sealed.format(), [id.as_str()]);
    assert_eq!(table.key(&id, &NONCE), None);
}

#[test]
fn a_request_is_followed_or_not() {
    for policy in Policy::ALL {
        let session = session(*policy);
        let table = AffinityTable::new(session.format(), ["a:80", "b:80"]);
        let key = table.key("b:80", &NONCE).expect("a key");
        let header = if policy.is_cookie() {
            assert_eq!(session.request_header(), "Cookie");
            format!("lang=de; X-Sid={key}; x=1")
        } else {
            assert_eq!(session.request_header(), "X-Sid");
            key.clone()
        };
        let decision = |headers: &[&[u8]], condition| {
            let (_, state) = table.read(session.find(headers.iter().copied()), |group| {
                assert_eq!(table.members(group), [1]);
                condition
            });
            let decision = decide(state, session.settings().failure_policy());
            (decision.action, decision.status)
        };
        let header = header.as_bytes();
        assert_eq!(
            decision(&[header], Condition::Healthy),
            (Action::Follow, Status::Ok)
        );
        assert_eq!(
            decision(&[], Condition::Healthy),
            (Action::Balance, Status::New)
        );
        for failed in [
            decision(&[header], Condition::Sick),
            decision(&[header], Condition::Tried),
            decision(&[b"X-Sid=junk"], Condition::Healthy),
        ] {
            assert_eq!(failed, (Action::Balance, Status::Recovered));
        }
        // Nobody knows who added the second header; cookies may be there twice.
        let twice = if policy.is_cookie() {
            (Action::Follow, Status::Ok)
        } else {
            (Action::Balance, Status::Recovered)
        };
        assert_eq!(decision(&[header, header], Condition::Healthy), twice);
        let empty: &[u8] = if policy.is_cookie() { b"X-Sid=" } else { b"" };
        assert_eq!(
            decision(&[empty], Condition::Healthy),
            (Action::Balance, Status::New)
        );
        assert_eq!(
            decision(&[empty, header, empty], Condition::Healthy),
            (Action::Follow, Status::Ok)
        );
    }
}

#[test]
fn of_several_cookies_the_one_that_names_something_healthy_counts() {
    let session = session(Policy::HashCookie);
    let ids = ["healthy:80", "other:80", "sick:80", "tried:80"];
    let table = AffinityTable::new(session.format(), ids);
    let key = |id: &str| match id {
        "junk" => "junk".to_owned(),
        "gone" => "0000000000000000".to_owned(),
        id => table.key(&format!("{id}:80"), &NONCE).expect("a key"),
    };
    for (cookies, member, state) in [
        (vec!["healthy", "other"], Some(0), KeyState::Healthy),
        (vec!["other", "healthy"], Some(1), KeyState::Healthy),
        (vec!["healthy", "healthy"], Some(0), KeyState::Healthy),
        (vec!["junk", "healthy"], Some(0), KeyState::Healthy),
        (vec!["gone", "sick", "healthy"], Some(0), KeyState::Healthy),
        (vec!["tried", "healthy"], Some(0), KeyState::Healthy),
        (vec!["sick", "tried", "gone"], Some(3), KeyState::Tried),
        (vec!["sick", "gone", "junk"], Some(2), KeyState::Sick),
        (vec!["gone", "sick"], None, KeyState::Unknown),
        (vec!["junk", "sick"], None, KeyState::Bad),
        (vec!["junk", "junk"], None, KeyState::Bad),
        (vec![], None, KeyState::Missing),
    ] {
        let pairs: Vec<String> = cookies
            .iter()
            .map(|id| format!("X-Sid={}", key(id)))
            .collect();
        let condition = |group| match table.members(group) {
            [2] => Condition::Sick,
            [3] => Condition::Tried,
            _ => Condition::Healthy,
        };
        let one = pairs.join("; ");
        let as_one = table.read(session.find([one.as_bytes()]), condition);
        let each = table.read(session.find(pairs.iter().map(String::as_bytes)), condition);
        assert_eq!(as_one, each, "{cookies:?}");
        let (key, found) = as_one;
        assert_eq!(found, state, "{cookies:?}");
        if let Some(member) = member {
            assert!(
                matches!(key, Key::Group(group) if table.members(group) == [member]),
                "{cookies:?}"
            );
        }
    }
}

#[test]
fn the_response_carries_what_the_request_brings_back() {
    for policy in Policy::ALL {
        let session = session(*policy);
        let table = AffinityTable::new(session.format(), ["a:80"]);
        let key = table.key("a:80", &NONCE).expect("a key");
        let (name, line) = session.response_header(&key, Duration::from_secs(1), true);
        let back = if policy.is_cookie() {
            assert_eq!(name, "Set-Cookie");
            assert_eq!(line, format!("X-Sid={key}; path=/; httponly"));
            line.split(';').next().expect("a pair")
        } else {
            assert_eq!((name, line.as_str()), ("X-Sid", key.as_str()));
            &line
        };
        let values: Vec<&[u8]> = match session.find([back.as_bytes()]) {
            Found::Cookies(values) | Found::Headers(values) => values.collect(),
        };
        assert_eq!(values, [key.as_bytes()]);
        assert_eq!(session.is_set_by(line.as_bytes()), policy.is_cookie());
    }
}
