//! The two hash functions of the selection, the same on every machine.

use twox_hash::XxHash64;

/// The increment of `SplitMix64`: 2⁶⁴ divided by the golden ratio, made odd.
pub(super) const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// The hash of a request's key: XXH64 with seed 0 over the key's bytes.
///
/// Defined for any bytes and any length, the empty key included; whether an
/// empty key counts as a key is for the caller to decide.
#[must_use]
pub fn key_hash(key: &[u8]) -> u64 {
    XxHash64::oneshot(0, key)
}

/// The `nth` output (0 is the first) of the `SplitMix64` generator seeded with
/// `seed`.
///
/// Source: Steele, Lea, Flood, "Fast splittable pseudorandom number
/// generators", OOPSLA 2014.
#[must_use]
pub(crate) fn split(seed: u64, nth: u64) -> u64 {
    let mut z = seed.wrapping_add(nth.wrapping_add(1).wrapping_mul(GOLDEN));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// `floor(hash × n / 2⁶⁴)`: a place in `0..n`, without a division; 0 if `n` is 0.
#[must_use]
pub(super) fn scale(hash: u64, n: u64) -> u64 {
    let product = u128::from(hash) * u128::from(n);
    // The upper half of a product of two 64-bit numbers fits in 64 bits.
    #[allow(clippy::cast_possible_truncation)]
    let place = (product >> 64) as u64;
    place
}

/// The upper 53 bits of `hash` as a number in `[0, 1)`.
#[must_use]
pub(super) fn unit(hash: u64) -> f64 {
    // 53 bits fit in the mantissa.
    #[allow(clippy::cast_precision_loss)]
    let mantissa = (hash >> 11) as f64;
    mantissa / 9_007_199_254_740_992.0
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

    #[test]
    fn split_is_splitmix64() {
        // The generator's first outputs for seed 0.
        assert_eq!(split(0, 0), 0xe220_a839_7b1d_cdaf);
        assert_eq!(split(0, 1), 0x6e78_9e6a_a1b9_65f4);
        assert_eq!(split(0, 2), 0x06c4_5d18_8009_454f);
    }

    #[test]
    fn scale_covers_the_range() {
        assert_eq!(scale(0, 7), 0);
        assert_eq!(scale(u64::MAX, 7), 6);
        assert_eq!(scale(1 << 63, 8), 4);
        assert_eq!(scale(u64::MAX, 0), 0);
        assert!(unit(u64::MAX) < 1.0);
        assert!(unit(0).abs() < f64::EPSILON);
    }
}
