//! `SplitMix64`: random numbers, and the arithmetic that goes with them.
//!
//! Source: Steele, Lea, Flood, "Fast splittable pseudorandom number
//! generators", OOPSLA 2014. Not for secrets.

use std::sync::atomic::{AtomicU64, Ordering};

/// The increment of `SplitMix64`: 2⁶⁴ divided by the golden ratio, made odd.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// The `nth` output (0 is the first) of the generator seeded with `seed`.
#[must_use]
pub(crate) fn splitmix64(seed: u64, nth: u64) -> u64 {
    let mut z = seed.wrapping_add(nth.wrapping_add(1).wrapping_mul(GOLDEN));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The `nth` element of Weyl's sequence, the multiples of the golden ratio: evenly
/// spread over all 64-bit numbers. Every k-th element is evenly spread too,
/// whatever k is.
#[must_use]
pub(crate) fn weyl(nth: u64) -> u64 {
    nth.wrapping_add(1).wrapping_mul(GOLDEN)
}

/// `floor(random × n / 2⁶⁴)`: a number in `0..n`, without a division; 0 if `n` is 0.
#[must_use]
pub(crate) fn reduce(random: u64, n: u64) -> u64 {
    let product = u128::from(random) * u128::from(n);
    #[allow(
        clippy::cast_possible_truncation,
        reason = "the upper half of a product of two 64-bit numbers fits in 64 bits"
    )]
    let upper = (product >> 64) as u64;
    upper
}

/// The upper 53 bits of `random` as a number in `[0, 1)`.
#[must_use]
pub(crate) fn unit_f64(random: u64) -> f64 {
    #[allow(clippy::cast_precision_loss, reason = "53 bits fit in the mantissa")]
    let mantissa = (random >> 11) as f64;
    mantissa / 9_007_199_254_740_992.0
}

/// A sequence of evenly distributed 64-bit numbers that threads share without
/// waiting for each other: its state is a counter, so that one atomic addition
/// takes the next number. The same seed gives the same sequence.
#[derive(Debug)]
pub struct SplitMix64 {
    seed: u64,
    taken: AtomicU64,
}

impl SplitMix64 {
    /// The sequence of a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        SplitMix64 {
            seed,
            taken: AtomicU64::new(0),
        }
    }

    /// The next number.
    pub fn next(&self) -> u64 {
        splitmix64(self.seed, self.taken.fetch_add(1, Ordering::Relaxed))
    }

    /// The next number, evenly spread over `[0, 1)`.
    pub fn next_unit(&self) -> f64 {
        unit_f64(self.next())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_is_the_published_one() {
        // The first numbers for seed 1234567, as the authors' reference
        // implementation prints them.
        let random = SplitMix64::new(1_234_567);
        let first: Vec<u64> = (0..5).map(|_| random.next()).collect();
        assert_eq!(
            first,
            [
                6_457_827_717_110_365_317,
                3_203_168_211_198_807_973,
                9_817_491_932_198_370_423,
                4_593_380_528_125_082_431,
                16_408_922_859_458_223_821
            ]
        );
        assert_eq!(splitmix64(0, 0), 0xe220_a839_7b1d_cdaf);
        assert_eq!(splitmix64(0, 2), 0x06c4_5d18_8009_454f);
    }

    #[test]
    fn numbers_are_reduced_to_the_whole_range() {
        assert_eq!(reduce(0, 7), 0);
        assert_eq!(reduce(u64::MAX, 7), 6);
        assert_eq!(reduce(1 << 63, 8), 4);
        assert_eq!(reduce(u64::MAX, 0), 0);
        assert!(unit_f64(u64::MAX) < 1.0);
        assert!(unit_f64(0).abs() < f64::EPSILON);
    }

    #[test]
    fn every_prefix_of_weyls_sequence_is_evenly_spread() {
        let mut counts = [0u32; 8];
        for nth in 0..800 {
            counts[usize::try_from(reduce(weyl(nth), 8)).unwrap()] += 1;
        }
        assert!(counts.iter().all(|c| c.abs_diff(100) <= 1), "{counts:?}");
    }
}
