//! The hash of keys and identities, the same on every machine.

use twox_hash::XxHash64;

/// The hash of a request's key: XXH64 with seed 0 over the key's bytes.
///
/// Defined for any bytes and any length, the empty key included; whether an
/// empty key counts as a key is for the caller to decide.
#[must_use]
pub fn key_hash(key: &[u8]) -> u64 {
    XxHash64::oneshot(0, key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_hash_is_xxh64_with_seed_0() {
        // Published test values of XXH64.
        assert_eq!(key_hash(b""), 0xef46_db37_51d8_e999);
        assert_eq!(key_hash(b"a"), 0xd24e_c4f1_a98c_6e5b);
        assert_eq!(key_hash(b"abc"), 0x44bc_2cf5_ad77_0999);
    }

    #[test]
    fn any_bytes_and_64_kib_are_keys() {
        let long = vec![0xff; 65_536];
        assert_ne!(key_hash(&long), key_hash(&long[1..]));
        assert_ne!(key_hash(b"\x80"), key_hash(b"\x81"));
    }
}
