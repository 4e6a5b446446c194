//! Random cookies: the search agrees with a plain model, and nothing panics.
#![allow(
    clippy::expect_used,
    reason = "a test may fail where it prepares itself"
)]

use std::sync::Arc;

use dynamic_core::session::cookie::cookie_values;
use dynamic_core::session::keys::KeyRing;
use dynamic_core::session::{AffinityTable, Arguments, Condition, Key, Policy, Session, Settings};
use zeroize::Zeroizing;

/// `SplitMix64` (Steele, Lea and Flood, 2014): the same cases on every machine.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        let bound = u64::try_from(bound).expect("a small number");
        usize::try_from(self.next() % bound).expect("a small number")
    }

    fn pick<'a>(&mut self, from: &'a [Vec<u8>]) -> &'a [u8] {
        &from[self.below(from.len())]
    }
}

/// The rules once more, with allocations and without any cleverness.
fn model(headers: &[Vec<u8>], name: &[u8]) -> Vec<Vec<u8>> {
    let mut values = Vec::new();
    for header in headers {
        for pair in header.split(|byte| *byte == b';') {
            let mut pair = pair.to_vec();
            while pair.first().is_some_and(u8::is_ascii_whitespace) {
                pair.remove(0);
            }
            while pair.last().is_some_and(u8::is_ascii_whitespace) {
                pair.pop();
            }
            let Some(equals) = pair.iter().position(|byte| *byte == b'=') else {
                continue;
            };
            if &pair[..equals] != name {
                continue;
            }
            let mut value = pair[equals + 1..].to_vec();
            while value.first().is_some_and(u8::is_ascii_whitespace) {
                value.remove(0);
            }
            if value.len() >= 2 && value[0] == b'"' && value[value.len() - 1] == b'"' {
                value = value[1..value.len() - 1].to_vec();
            }
            if !value.is_empty() {
                values.push(value);
            }
        }
    }
    values
}

#[test]
fn a_hundred_thousand_random_cookies() {
    let settings = Settings::new(&Arguments::new("sid", Policy::Cookie)).expect("good arguments");
    let session = Session::new(settings, || Arc::new(KeyRing::of(&Zeroizing::new([5; 32]))));
    let table = AffinityTable::new(session.format(), ["a:80", "b:80"]);
    let good = table.key("b:80", &[1; 24]).expect("a key").into_bytes();
    let mut parts: Vec<Vec<u8>> = [
        "sid", "sid=", "=", ";", "; ", " ", "\t", "\"", "SID=", "sid2=", "x=1", "\r\n", ",", "\0",
        "\u{fc}", "=sid=", "sid=\"\"",
    ]
    .iter()
    .map(|part| part.as_bytes().to_vec())
    .collect();
    parts.extend([
        vec![0xff],
        vec![0xc3, 0x28],
        good.clone(),
        good[..9].to_vec(),
    ]);
    parts.push([b"sid=".as_slice(), &good].concat());

    let mut random = Random(1);
    let mut seen = [0_u32; 5];
    for _ in 0..100_000 {
        let headers: Vec<Vec<u8>> = (0..random.below(4))
            .map(|_| {
                let mut header = Vec::new();
                for _ in 0..random.below(12) {
                    header.extend_from_slice(random.pick(&parts));
                }
                if !header.is_empty() && random.below(4) == 0 {
                    let place = random.below(header.len());
                    header[place] = random.next().to_le_bytes()[0];
                }
                header
            })
            .collect();
        let lines = || headers.iter().map(Vec::as_slice);
        let expected = model(&headers, b"sid");
        let values: Vec<&[u8]> = cookie_values(lines(), b"sid").collect();
        assert_eq!(values, expected, "{headers:?}");
        let (key, _) = table.read(session.find(lines()), |_| Condition::Healthy);
        let kind = match key {
            Key::Missing => {
                assert!(expected.is_empty(), "{headers:?}");
                0
            }
            Key::Group(group) => {
                assert_eq!(table.members(group), [1]);
                assert!(expected.contains(&good), "{headers:?}");
                1
            }
            Key::Unknown => 2,
            Key::Bad => {
                assert!(!expected.contains(&good), "{headers:?}");
                3
            }
            Key::Repeated => 4,
        };
        seen[kind] += 1;
    }
    // Nobody can make a seal of an unknown id, and cookies may be repeated.
    assert!(
        seen[0] > 1000 && seen[1] > 1000 && seen[3] > 1000,
        "{seen:?}"
    );
    assert_eq!([seen[2], seen[4]], [0, 0]);
}

#[test]
fn random_bytes_of_all_lengths() {
    let mut random = Random(2);
    for length in (0..2_000).chain([8_192, 65_536]) {
        let header: Vec<u8> = (0..length)
            .map(|_| random.next().to_le_bytes()[0])
            .collect();
        for name in [b"a".as_slice(), b"sid", &[0xff]] {
            let found: Vec<&[u8]> = cookie_values([header.as_slice()], name).collect();
            assert_eq!(found, model(std::slice::from_ref(&header), name));
        }
    }
}
