//! Random numbers that threads share without waiting for each other.

use std::sync::atomic::{AtomicU64, Ordering};

/// The increment of `SplitMix64`: 2⁶⁴ divided by the golden ratio, made odd.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// A sequence of 64-bit numbers, evenly distributed: `SplitMix64` (Steele, Lea,
/// Flood: Fast Splittable Pseudorandom Number Generators, OOPSLA 2014), whose
/// state is a counter, so that one atomic addition draws a number. The same
/// seed gives the same sequence. Not for secrets.
#[derive(Debug)]
pub struct Draws(AtomicU64);

impl Draws {
    /// The sequence of a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Draws(AtomicU64::new(seed))
    }

    /// The next number.
    pub fn draw(&self) -> u64 {
        let mut z = self.0.fetch_add(GOLDEN, Ordering::Relaxed).wrapping_add(GOLDEN);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_is_the_published_one() {
        // The first numbers of SplitMix64 for seed 1234567, as its authors'
        // reference implementation prints them.
        let draws = Draws::new(1_234_567);
        let first: Vec<u64> = (0..5).map(|_| draws.draw()).collect();
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
    }
}
