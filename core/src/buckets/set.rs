//! Sets of the 256 buckets, and the two ways to write them.

use std::fmt;

use data_encoding::HEXLOWER;

/// Number of buckets.
pub const BUCKETS: u16 = 256;

/// A set of buckets, kept as RFC 3074 writes it: 32 octets, octet 0 is buckets
/// 0 to 7, the least significant bit of an octet its lowest bucket.
///
/// It is shown as a bitmap of 64 lower-case hex digits without colons.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct BucketSet([u8; 32]);

/// What is wrong with a list of buckets.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ListError {
    /// There is no bucket in it.
    #[error(
        "no bucket, accepted is a list such as \"0-127\" or \"0,5,200-255\", or a share such as \"50%\""
    )]
    Empty,
    /// A part is neither a bucket nor a range.
    #[error("{part:?}, accepted is a bucket from 0 to 255 or a range such as 0-127")]
    Part {
        /// What stands between the commas.
        part: String,
    },
    /// There is no such bucket.
    #[error("bucket {bucket}, accepted are 0 to 255")]
    NoSuchBucket {
        /// Its number as written.
        bucket: String,
    },
    /// A range goes down.
    #[error("range {first}-{last}, accepted are ranges from the lower to the higher bucket")]
    Reversed {
        /// Where it begins.
        first: u8,
        /// Where it ends.
        last: u8,
    },
    /// A bucket is there twice.
    #[error("bucket {bucket} twice, accepted is each bucket once")]
    Twice {
        /// The bucket.
        bucket: u8,
    },
}

/// What is wrong with a bitmap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BitmapError {
    /// There are more or fewer than 64 digits.
    #[error("{digits} hex digits, accepted are 64 (32 octets, between which colons may stand)")]
    Length {
        /// How many there are.
        digits: usize,
    },
    /// There is something else than hex digits and colons.
    #[error("{found:?} as character {position}, accepted are hex digits and colons between octets")]
    Character {
        /// What there is.
        found: char,
        /// Its place, from 1.
        position: usize,
    },
}

impl BucketSet {
    /// No bucket.
    pub const NONE: Self = BucketSet([0; 32]);

    /// All buckets.
    pub const ALL: Self = BucketSet([0xff; 32]);

    /// The set with these octets.
    #[must_use]
    pub fn from_octets(octets: [u8; 32]) -> Self {
        BucketSet(octets)
    }

    /// The octets, as RFC 3074 sends them.
    #[must_use]
    pub fn octets(&self) -> &[u8; 32] {
        &self.0
    }

    /// The share of the first of two servers as DHCP servers configure it with
    /// `split`: buckets 0 to `buckets` - 1. `None` beyond 256.
    #[must_use]
    pub fn share(buckets: u16) -> Option<Self> {
        let mut set = Self::NONE;
        for bucket in 0..buckets {
            set.insert(u8::try_from(bucket).ok()?);
        }
        Some(set)
    }

    /// Reads a list: buckets and ranges between commas, such as `0,5,200-255`.
    /// White space around a part or a number is dropped.
    ///
    /// # Errors
    /// [`ListError`] for the first part that is wrong.
    pub fn parse_list(text: &str) -> Result<Self, ListError> {
        if text.trim_ascii().is_empty() {
            return Err(ListError::Empty);
        }
        let mut set = Self::NONE;
        for part in text.split(',').map(str::trim_ascii) {
            let (first, last) = match part.split_once('-') {
                Some((first, last)) => (bucket(part, first)?, bucket(part, last)?),
                None => (bucket(part, part)?, bucket(part, part)?),
            };
            if first > last {
                return Err(ListError::Reversed { first, last });
            }
            for bucket in first..=last {
                if !set.insert(bucket) {
                    return Err(ListError::Twice { bucket });
                }
            }
        }
        Ok(set)
    }

    /// Reads a bitmap: 64 hex digits of either case, between whose octets
    /// there may be colons.
    ///
    /// # Errors
    /// [`BitmapError`]
    pub fn parse_bitmap(text: &str) -> Result<Self, BitmapError> {
        let mut octets = [0; 32];
        let mut digits = 0_usize;
        let mut after_colon = true;
        for (position, found) in (1..).zip(text.chars()) {
            let wrong = BitmapError::Character { found, position };
            if found == ':' {
                if after_colon || digits % 2 == 1 {
                    return Err(wrong);
                }
                after_colon = true;
                continue;
            }
            let digit = found
                .to_digit(16)
                .and_then(|digit| u8::try_from(digit).ok())
                .ok_or(wrong)?;
            if let Some(octet) = octets.get_mut(digits / 2) {
                *octet = (*octet << 4) | digit;
            }
            digits = digits.saturating_add(1);
            after_colon = false;
        }
        if digits != 64 {
            return Err(BitmapError::Length { digits });
        }
        if after_colon {
            return Err(BitmapError::Character {
                found: ':',
                position: text.len(),
            });
        }
        Ok(BucketSet(octets))
    }

    /// Whether a bucket is in the set. Allocates nothing.
    #[must_use]
    pub fn contains(&self, bucket: u8) -> bool {
        self.0[usize::from(bucket >> 3)] & (1 << (bucket & 7)) != 0
    }

    /// Adds a bucket; `false` where it was there before.
    pub fn insert(&mut self, bucket: u8) -> bool {
        let new = !self.contains(bucket);
        self.0[usize::from(bucket >> 3)] |= 1 << (bucket & 7);
        new
    }

    /// Number of buckets, 0 to 256.
    #[must_use]
    pub fn len(&self) -> usize {
        self.iter().count()
    }

    /// Whether there is no bucket in the set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::NONE
    }

    /// The buckets, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u8> {
        (0..=u8::MAX).filter(|bucket| self.contains(*bucket))
    }

    /// The buckets of either set.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        let mut set = *self;
        for (octet, more) in set.0.iter_mut().zip(other.0) {
            *octet |= more;
        }
        set
    }

    /// The buckets of both sets.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        let mut set = *self;
        for (octet, more) in set.0.iter_mut().zip(other.0) {
            *octet &= more;
        }
        set
    }
}

impl fmt::Display for BucketSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&HEXLOWER.encode(&self.0))
    }
}

/// One number of a part.
fn bucket(part: &str, number: &str) -> Result<u8, ListError> {
    let number = number.trim_ascii();
    if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(ListError::Part {
            part: part.to_owned(),
        });
    }
    number.parse().map_err(|_| ListError::NoSuchBucket {
        bucket: number.to_owned(),
    })
}
