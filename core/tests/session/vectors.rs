//! The published keys and the whole `Set-Cookie` line.
#![allow(
    clippy::expect_used,
    reason = "a test may fail where it prepares itself"
)]

use std::time::Duration;

use dynamic_core::session::keys::KeyRing;
use dynamic_core::session::policy::{ArrKey, HashKey};
use dynamic_core::session::{
    AffinityTable, Arguments, Key, KeyFormat, Policy, SameSite, SecurePolicy, Session, Settings,
};
use serde_json::Value;

fn vectors() -> Value {
    serde_json::from_str(include_str!("../vectors/session.json")).expect("valid JSON")
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().expect("a string")
}

#[test]
fn ids_have_the_published_keys() {
    let vectors = vectors();
    let values = vectors["values"].as_array().expect("an array");
    assert_eq!(values.len(), 5);
    for value in values {
        let id = text(value, "id");
        assert_eq!(HashKey::of(id).to_string(), text(value, "HASH_COOKIE"));
        assert_eq!(ArrKey::of(id).to_string(), text(value, "ARR_COOKIE"));
    }
}

#[test]
fn a_table_reads_and_gives_the_published_keys() {
    let vectors = vectors();
    let values = vectors["values"].as_array().expect("an array");
    for (format, policy) in [
        (KeyFormat::HashCookie, "HASH_COOKIE"),
        (KeyFormat::ArrCookie, "ARR_COOKIE"),
    ] {
        let table = AffinityTable::new(&format, values.iter().map(|value| text(value, "id")));
        for (endpoint, value) in values.iter().enumerate() {
            let Key::Group(group) = table.lookup(text(value, policy).as_bytes()) else {
                panic!("{policy} of {value} is not found");
            };
            assert_eq!(table.members(group), [endpoint]);
            assert_eq!(
                table.key(text(value, "id"), &[0; 24]).as_deref(),
                value[policy].as_str()
            );
        }
    }
}

#[test]
fn the_cookie_has_the_published_line() {
    let vectors = vectors();
    let given = &vectors["set_cookie"]["given"];
    let settings = Settings::new(&Arguments {
        domain: given["domain"].as_str(),
        path: given["path"].as_str(),
        max_age: given["max_age_s"].as_f64().expect("a number"),
        http_only: given["http_only"].as_bool().expect("a boolean"),
        same_site: SameSite::from_word(text(given, "same_site")).expect("a word"),
        secure_policy: SecurePolicy::from_word(text(given, "secure_policy")).expect("a word"),
        ..Arguments::new(text(given, "name"), Policy::HashCookie)
    })
    .expect("good arguments");
    let session = Session::new(settings, || -> std::sync::Arc<KeyRing> {
        panic!("a hash cookie needs no keys")
    });
    let id = text(given, "id");
    let table = AffinityTable::new(session.format(), [id]);
    let key = table.key(id, &[0; 24]).expect("a key");
    let (name, line) = session.response_header(&key, Duration::from_secs(1_000_000_000), false);
    assert_eq!(name, "Set-Cookie");
    assert_eq!(line, text(&vectors["set_cookie"], "header"));
}
