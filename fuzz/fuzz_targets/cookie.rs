//! Cookie headers, one a line: whatever they hold, the search for a session
//! key and the reading of what was found end in one of the documented ways.
#![no_main]

use std::sync::{Arc, LazyLock};

use dynamic_core::session::{
    AffinityTable, Arguments, Condition, Found, Key, KeyRing, Policy, Session, Settings,
};
use libfuzzer_sys::fuzz_target;
use zeroize::Zeroizing;

static SESSIONS: LazyLock<Vec<(Session, AffinityTable)>> = LazyLock::new(|| {
    Policy::ALL
        .iter()
        .filter_map(|policy| {
            let settings = Settings::new(&Arguments::new("sid", *policy)).ok()?;
            let session =
                Session::new(settings, || Arc::new(KeyRing::of(&Zeroizing::new([5; 32]))));
            let table = AffinityTable::new(session.format(), ["192.0.2.1:80", "[2001:db8::1]:80"]);
            Some((session, table))
        })
        .collect()
});

fuzz_target!(|input: &[u8]| {
    for (session, table) in SESSIONS.iter() {
        let find = || session.find(input.split(|byte| *byte == b'\n'));
        let is_cookie = session.settings().policy().is_cookie();
        let mut count = 0;
        match find() {
            Found::Cookies(values) | Found::Headers(values) => {
                for value in values {
                    assert!(!value.is_empty() && value.len() <= input.len());
                    assert!(!is_cookie || !value.contains(&b';'));
                    count += 1;
                }
            }
        }
        match table.read(find(), |_| Condition::Healthy).0 {
            Key::Missing => assert_eq!(count, 0),
            Key::Repeated => assert!(!is_cookie && count > 1),
            Key::Group(group) => assert_eq!(table.members(group).len(), 1),
            Key::Unknown => assert!(!session.settings().policy().is_sealed()),
            Key::Bad => assert!(count > 0),
        }
    }
});
