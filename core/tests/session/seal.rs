//! Sealed keys: what opens, and everything that must not.
#![allow(
    clippy::expect_used,
    reason = "a test may fail where it prepares itself"
)]

use std::sync::Arc;

use data_encoding::BASE64URL_NOPAD;
use dynamic_core::session::keys::KeyRing;
use dynamic_core::session::policy::Policy;
use dynamic_core::session::seal::{
    IdTooLong, MAX_ID_LENGTH, MAX_VALUE_LENGTH, NONCE_LENGTH, Sealer, Space,
};
use proptest::prelude::*;
use zeroize::Zeroizing;

const OLD: [u8; 32] = [0x11; 32];
const NEW: [u8; 32] = [0x22; 32];

/// A ring of these keys, the first of which seals.
fn ring(keys: &[[u8; 32]]) -> Arc<KeyRing> {
    let text: String = keys
        .iter()
        .map(|key| data_encoding::HEXLOWER.encode(key) + "\n")
        .collect();
    Arc::new(KeyRing::parse(text.as_bytes()).expect("good keys"))
}

fn sealer(keys: &[[u8; 32]]) -> Sealer {
    Sealer::new(ring(keys), Policy::Cookie, "sid")
}

fn seal(sealer: &Sealer, id: &str) -> String {
    sealer.seal(id, &[7; NONCE_LENGTH]).expect("a short id")
}

fn open(sealer: &Sealer, value: &[u8]) -> Option<String> {
    sealer.open(value, &mut Space::new()).map(str::to_owned)
}

#[test]
fn a_seal_has_the_documented_layout() {
    let value = seal(&sealer(&[OLD]), "192.0.2.1:80");
    assert!(
        value
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
    );
    let sealed = BASE64URL_NOPAD.decode(value.as_bytes()).expect("base64url");
    assert_eq!(sealed.len(), 1 + 4 + 24 + "192.0.2.1:80".len() + 16);
    assert_eq!(sealed[0], 1);
    assert_eq!(sealed[5..29], [7; 24]);
}

/// The layout as another program would write it, from the description alone.
#[test]
fn another_implementation_can_seal() {
    use chacha20poly1305::aead::AeadInOut;
    use chacha20poly1305::{KeyInit, XChaCha20Poly1305, XNonce};
    use sha2::{Digest, Sha256};

    let mut text = b"192.0.2.1:80".to_vec();
    let tag = XChaCha20Poly1305::new(&OLD.into())
        .encrypt_inout_detached(
            &XNonce::from([7; 24]),
            b"\x01COOKIE\0sid",
            text.as_mut_slice().into(),
        )
        .expect("a short text");
    let key_id = Sha256::digest([b"vmod_dynamic key id".as_slice(), &OLD].concat());
    let sealed = [&[1], &key_id[..4], &[7; 24], &text, &tag].concat();
    assert_eq!(
        seal(&sealer(&[OLD]), "192.0.2.1:80"),
        BASE64URL_NOPAD.encode(&sealed)
    );
}

#[test]
fn servers_with_one_key_file_open_each_others_seals() {
    let (one, two) = (sealer(&[OLD]), sealer(&[OLD]));
    let value = seal(&one, "[2001:db8::1]:80");
    assert_eq!(
        open(&two, value.as_bytes()).as_deref(),
        Some("[2001:db8::1]:80")
    );
}

#[test]
fn a_given_key_seals_as_the_same_key_from_a_file() {
    let alone = Sealer::new(
        Arc::new(KeyRing::of(&Zeroizing::new(OLD))),
        Policy::Cookie,
        "sid",
    );
    assert_eq!(seal(&alone, "a:80"), seal(&sealer(&[OLD]), "a:80"));
}

#[test]
fn an_old_key_opens_and_the_new_one_seals() {
    let before = sealer(&[OLD]);
    let during = sealer(&[NEW, OLD]);
    let after = sealer(&[NEW]);
    let old = seal(&before, "a:80");
    let new = seal(&during, "a:80");
    assert_eq!(open(&during, old.as_bytes()).as_deref(), Some("a:80"));
    assert_eq!(open(&after, new.as_bytes()).as_deref(), Some("a:80"));
    assert_eq!(open(&after, old.as_bytes()), None);
    assert_eq!(open(&before, new.as_bytes()), None);
}

#[test]
fn a_seal_opens_only_under_its_policy_and_name() {
    let keys = ring(&[OLD]);
    let cookie = Sealer::new(Arc::clone(&keys), Policy::Cookie, "sid");
    let header = Sealer::new(Arc::clone(&keys), Policy::CustomHeader, "sid");
    let other = Sealer::new(Arc::clone(&keys), Policy::Cookie, "sid2");
    let upper = Sealer::new(Arc::clone(&keys), Policy::Cookie, "SID");
    let value = seal(&cookie, "a:80");
    assert!(open(&cookie, value.as_bytes()).is_some());
    for stranger in [&header, &other, &upper] {
        assert_eq!(open(stranger, value.as_bytes()), None);
    }
    let value = seal(&header, "a:80");
    assert_eq!(open(&cookie, value.as_bytes()), None);
    // Header names have no letter case, cookie names do.
    let same = Sealer::new(keys, Policy::CustomHeader, "SID");
    assert_eq!(open(&same, value.as_bytes()).as_deref(), Some("a:80"));
}

#[test]
fn every_cut_and_every_changed_bit_is_refused() {
    let sealer = sealer(&[NEW, OLD]);
    let value = seal(&sealer, "192.0.2.1:80");
    for length in 0..value.len() {
        assert_eq!(open(&sealer, &value.as_bytes()[..length]), None);
        assert_eq!(open(&sealer, &value.as_bytes()[length + 1..]), None);
    }
    let octets = BASE64URL_NOPAD.decode(value.as_bytes()).expect("base64url");
    for bit in 0..octets.len() * 8 {
        let mut changed = octets.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        let changed = BASE64URL_NOPAD.encode(&changed);
        assert_eq!(open(&sealer, changed.as_bytes()), None, "bit {bit}");
    }
}

#[test]
fn a_seal_has_one_text() {
    let sealer = sealer(&[OLD]);
    // 57 bytes need no padding bits, 58 and 59 do.
    for id in ["192.0.2.1:80", "192.0.2.10:80", "192.0.2.100:80"] {
        let value = seal(&sealer, id);
        for position in 0..value.len() {
            for byte in 0..=u8::MAX {
                let mut changed = value.clone().into_bytes();
                if changed[position] != byte {
                    changed[position] = byte;
                    assert_eq!(open(&sealer, &changed), None);
                }
            }
        }
        for changed in [
            format!("{value}="),
            format!("{value}A"),
            format!(" {value}"),
            format!("\"{value}\""),
            format!("{value}, {value}"),
        ] {
            assert_eq!(open(&sealer, changed.as_bytes()), None);
        }
    }
}

#[test]
fn lengths_are_bounded() {
    let sealer = sealer(&[OLD]);
    let longest = "x".repeat(MAX_ID_LENGTH);
    let value = seal(&sealer, &longest);
    assert_eq!(value.len(), MAX_VALUE_LENGTH);
    assert_eq!(open(&sealer, value.as_bytes()), Some(longest));
    assert_eq!(
        sealer.seal(&"x".repeat(MAX_ID_LENGTH + 1), &[7; NONCE_LENGTH]),
        Err(IdTooLong {
            length: MAX_ID_LENGTH + 1
        })
    );
    for length in [MAX_VALUE_LENGTH, MAX_VALUE_LENGTH + 1, 8192, 65536] {
        assert_eq!(open(&sealer, &vec![b'A'; length]), None);
    }
}

#[test]
fn an_empty_id_is_no_special_case() {
    let sealer = sealer(&[OLD]);
    assert_eq!(
        open(&sealer, seal(&sealer, "").as_bytes()).as_deref(),
        Some("")
    );
    assert_eq!(open(&sealer, b""), None);
}

#[test]
fn debug_shows_no_key() {
    let shown = format!("{:?}", sealer(&[OLD, NEW]));
    assert_eq!(shown, "Sealer { ring: KeyRing(2 redacted), .. }");
}

proptest! {
    #[test]
    fn what_was_sealed_opens(
        id in "[a-z0-9:.\\[\\]-]{0,256}",
        key in any::<[u8; 32]>(),
        nonce in any::<[u8; NONCE_LENGTH]>(),
    ) {
        let sealer = sealer(&[key]);
        let value = sealer.seal(&id, &nonce).expect("a short id");
        prop_assert_eq!(open(&sealer, value.as_bytes()), Some(id));
    }

    #[test]
    fn what_was_not_sealed_does_not_open(value in prop::collection::vec(any::<u8>(), 0..600)) {
        let sealer = sealer(&[OLD]);
        prop_assert_eq!(open(&sealer, &value), None);
        // And the same bytes where they get past the alphabet.
        prop_assert_eq!(open(&sealer, BASE64URL_NOPAD.encode(&value).as_bytes()), None);
    }

    #[test]
    fn a_true_head_opens_nothing_that_was_not_sealed(tail in prop::collection::vec(any::<u8>(), 0..300)) {
        let sealer = sealer(&[OLD]);
        let mut sealed = BASE64URL_NOPAD.decode(seal(&sealer, "").as_bytes()).expect("base64url");
        sealed.truncate(5);
        sealed.extend(tail);
        prop_assert_eq!(open(&sealer, BASE64URL_NOPAD.encode(&sealed).as_bytes()), None);
    }
}
