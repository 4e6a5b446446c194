//! Sealed keys: nothing opens but what was sealed. The input is tried as the
//! text of a key, as the bytes behind a true head, and as a change to a seal.
#![no_main]

use std::sync::{Arc, LazyLock};

use data_encoding::BASE64URL_NOPAD;
use dynamic_core::session::seal::{NONCE_LENGTH, Sealer, Space};
use dynamic_core::session::{KeyRing, Policy};
use libfuzzer_sys::fuzz_target;
use zeroize::Zeroizing;

const ID: &str = "192.0.2.1:80";

/// Version and key id.
const HEAD: usize = 5;

static SEALER: LazyLock<Sealer> = LazyLock::new(|| {
    let ring = Arc::new(KeyRing::of(&Zeroizing::new([5; 32])));
    Sealer::new(ring, Policy::Cookie, "sid")
});

static SEALED: LazyLock<String> =
    LazyLock::new(|| SEALER.seal(ID, &[7; NONCE_LENGTH]).unwrap_or_default());

fn refused(text: &[u8]) {
    if text != SEALED.as_bytes() {
        assert_eq!(SEALER.open(text, &mut Space::new()), None);
    }
}

fuzz_target!(|input: &[u8]| {
    assert_eq!(SEALER.open(SEALED.as_bytes(), &mut Space::new()), Some(ID));
    refused(input);

    let mut octets = BASE64URL_NOPAD
        .decode(SEALED.as_bytes())
        .unwrap_or_default();
    let headed = [octets.get(..HEAD).unwrap_or_default(), input].concat();
    refused(BASE64URL_NOPAD.encode(&headed).as_bytes());

    for (octet, change) in octets.iter_mut().zip(input) {
        *octet ^= change;
    }
    refused(BASE64URL_NOPAD.encode(&octets).as_bytes());

    if let Ok(id) = std::str::from_utf8(input)
        && let Ok(value) = SEALER.seal(id, &[8; NONCE_LENGTH])
    {
        assert_eq!(SEALER.open(value.as_bytes(), &mut Space::new()), Some(id));
    }
});
