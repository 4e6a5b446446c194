//! Random numbers that threads share without waiting for each other.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::select::split;

/// A sequence of 64-bit numbers, evenly distributed: `SplitMix64` (Steele, Lea,
/// Flood: Fast Splittable Pseudorandom Number Generators, OOPSLA 2014), whose
/// state is a counter, so that one atomic addition draws a number. The same
/// seed gives the same sequence. Not for secrets.
#[derive(Debug)]
pub struct Draws {
    seed: u64,
    drawn: AtomicU64,
}

impl Draws {
    /// The sequence of a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Draws {
            seed,
            drawn: AtomicU64::new(0),
        }
    }

    /// The next number.
    pub fn draw(&self) -> u64 {
        split(self.seed, self.drawn.fetch_add(1, Ordering::Relaxed))
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
