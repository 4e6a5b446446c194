//! Shares of the buckets: percentages, for those who do not count to 256.

use super::set::{BUCKETS, BucketSet};

/// A percent in the units that shares are counted in.
const PERCENT: u32 = 10_000;

/// All of the buckets, in the same units.
const WHOLE: u32 = 100 * PERCENT;

/// What is wrong with a share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShareError {
    /// It is not a percentage.
    #[error("accepted is a percentage above 0 with up to 4 decimals, such as \"33.34%\"")]
    Form,
    /// All shares together are more than the whole.
    #[error("accepted are shares of at most 100% together")]
    TooMuch,
    /// It is too small for one bucket.
    #[error("accepted are shares of at least one bucket, about 0.4%")]
    NoBucket,
}

/// What earlier shares took of the buckets, which are given in order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shares {
    given: u32,
}

impl Shares {
    /// The buckets of the next share, and what is given then. The share ends
    /// at the bucket nearest to the sum of all shares so far, so that those
    /// that make 100% own every bucket once.
    ///
    /// # Errors
    /// [`ShareError`]
    pub fn next(self, text: &str) -> Result<(BucketSet, Self), ShareError> {
        let given = self.given + percentage(text).ok_or(ShareError::Form)?;
        if given > WHOLE {
            return Err(ShareError::TooMuch);
        }
        let mut buckets = BucketSet::NONE;
        for bucket in boundary(self.given)..boundary(given) {
            buckets.insert(u8::try_from(bucket).map_err(|_| ShareError::TooMuch)?);
        }
        if buckets.is_empty() {
            return Err(ShareError::NoBucket);
        }
        Ok((buckets, Shares { given }))
    }
}

/// The bucket at which a sum of shares ends.
fn boundary(given: u32) -> u32 {
    (given * u32::from(BUCKETS) + WHOLE / 2) / WHOLE
}

/// A percentage of up to 100.
fn percentage(text: &str) -> Option<u32> {
    let number = text.trim_ascii().strip_suffix('%')?.trim_ascii_end();
    let (whole, decimals) = number.split_once('.').unwrap_or((number, "0"));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if !is_number(whole) || !is_number(decimals) || decimals.len() > 4 {
        return None;
    }
    let whole: u32 = whole.parse().ok().filter(|whole| *whole <= 100)?;
    let decimals: u32 = format!("{decimals:0<4}").parse().ok()?;
    Some(whole * PERCENT + decimals).filter(|share| (1..=WHOLE).contains(share))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(texts: &[&str]) -> Result<Vec<BucketSet>, ShareError> {
        let mut given = Shares::default();
        let mut sets = Vec::new();
        for text in texts {
            let (set, after) = given.next(text)?;
            sets.push(set);
            given = after;
        }
        Ok(sets)
    }

    fn lists(lists: &[&str]) -> Vec<BucketSet> {
        lists
            .iter()
            .map(|list| BucketSet::parse_list(list).unwrap())
            .collect()
    }

    #[test]
    fn shares_are_given_in_order() {
        assert_eq!(shares(&["100%"]), Ok(lists(&["0-255"])));
        assert_eq!(shares(&["50%", "50%"]), Ok(lists(&["0-127", "128-255"])));
        assert_eq!(shares(&["50%", "25 %"]), Ok(lists(&["0-127", "128-191"])));
        assert_eq!(
            shares(&["33.3333%", "33.3333%", "33.3334%"]),
            Ok(lists(&["0-84", "85-170", "171-255"]))
        );
        assert_eq!(shares(&["0.4%", " 99.6% "]), Ok(lists(&["0", "1-255"])));
    }

    #[test]
    fn shares_that_make_the_whole_own_each_bucket_once() {
        for parts in 1..=100 {
            let share = format!("{}%", 100 / parts);
            let mut texts = vec![share.as_str(); parts - 1];
            let last = format!("{}%", 100 - 100 / parts * (parts - 1));
            texts.push(&last);
            let sets = shares(&texts).unwrap();
            let all = sets.iter().fold(BucketSet::NONE, |all, set| all.union(set));
            assert_eq!(all, BucketSet::ALL, "{parts}");
            assert_eq!(sets.iter().map(BucketSet::len).sum::<usize>(), 256);
        }
    }

    #[test]
    fn what_is_no_share_is_refused() {
        for text in [
            "",
            "%",
            "50",
            "0%",
            "0.0%",
            "-1%",
            "+1%",
            "1e1%",
            "50%%",
            "101%",
            "100.0001%",
            ".5%",
            "5.%",
            "1.00001%",
            "4294967296%",
            "50,5%",
        ] {
            assert_eq!(shares(&[text]), Err(ShareError::Form), "{text:?}");
        }
        assert_eq!(shares(&["60%", "40.0001%"]), Err(ShareError::TooMuch));
        assert_eq!(shares(&["0.1%"]), Err(ShareError::NoBucket));
    }
}
