//! What a request does with a session allocates nothing.
#![allow(
    clippy::expect_used,
    reason = "a test may fail where it prepares itself"
)]

use std::sync::Arc;

use allocation_counter::measure;
use dynamic_core::session::{
    AffinityTable, Arguments, Condition, KeyRing, KeyState, Policy, Session, Settings, decide,
};
use zeroize::Zeroizing;

#[test]
fn a_key_is_found_read_and_decided_on_without_allocating() {
    for policy in Policy::ALL {
        let settings = Settings::new(&Arguments::new("sid", *policy)).expect("good arguments");
        let session = Session::new(settings, || Arc::new(KeyRing::of(&Zeroizing::new([5; 32]))));
        let table = AffinityTable::new(session.format(), ["a:80", "b:80"]);
        let key = table.key("b:80", &[1; 24]).expect("a key");
        let good = if policy.is_cookie() {
            format!("a=1; sid={key}; b=2")
        } else {
            key
        };
        let junk = "sid=junk; ".repeat(800);
        let (twice, junks) = if policy.is_cookie() {
            (KeyState::Healthy, KeyState::Bad)
        } else {
            (KeyState::Repeated, KeyState::Repeated)
        };
        for (headers, expected) in [
            (vec![], KeyState::Missing),
            (vec![good.as_bytes()], KeyState::Healthy),
            (
                vec![junk.as_bytes(), good.as_bytes(), good.as_bytes()],
                twice,
            ),
            (vec![b"sid=\xff\xff".as_slice()], KeyState::Bad),
            (vec![junk.as_bytes(); 2], junks),
        ] {
            let mut state = None;
            let count = measure(|| {
                let found = session.find(headers.iter().copied());
                let (_, read) = table.read(found, |group| match table.members(group) {
                    [1] => Condition::Healthy,
                    _ => Condition::Sick,
                });
                state = Some(read);
                let _ = decide(read, session.settings().failure_policy());
            });
            assert_eq!(state, Some(expected), "{policy}");
            assert_eq!(count.count_total, 0, "{policy} {expected:?}");
        }
    }
}
