//! When a name is looked up again, and what an answer makes of the addresses
//! that are known.

use std::net::IpAddr;
use std::time::Duration;

use crate::answer::{Failure, Family, FamilyAnswer, HostAnswer};

/// The least that an answer's TTL counts as: a cache's last second, or a
/// server that says 0, is no reason to ask in a loop.
pub const MIN_ANSWER_TTL: Duration = Duration::from_secs(1);

/// The most that an answer's TTL counts as: 7 days, the cap that RFC 8767,
/// section 4, suggests.
pub const MAX_ANSWER_TTL: Duration = Duration::from_secs(7 * 86_400);

/// The shortest interval between two lookups of a name.
pub const MIN_INTERVAL: Duration = Duration::from_millis(10);

/// The longest interval, about ten years: any clock can add it.
pub const MAX_INTERVAL: Duration = Duration::from_secs(10 * 365 * 86_400);

/// How many addresses of one family are taken from one answer.
pub const MAX_ADDRESSES: usize = 4096;

/// Half the width of the jitter, as a share of the interval.
const JITTER: f64 = 0.05;

/// Which TTL decides about the next refresh.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum TtlFrom {
    /// The configured one.
    #[default]
    Cfg,
    /// The answer's; the configured one where the answer has none.
    Dns,
    /// The smaller of the two.
    Min,
    /// The larger of the two.
    Max,
}

/// The settings of a name's schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// Which TTL decides.
    pub ttl_from: TtlFrom,
    /// The configured TTL, more than 0.
    pub ttl: Duration,
    /// The interval after a failure, more than 0.
    pub retry_after: Duration,
}

/// The time from a successful lookup to the next one.
///
/// `answer_ttl` is the answer's smallest TTL, and counts as
/// [`MIN_ANSWER_TTL`] to [`MAX_ANSWER_TTL`]. `jitter`, evenly spread over 0 to
/// 1, moves the result by up to 5 % either way, so that names that were looked
/// up together drift apart. The result is [`MIN_INTERVAL`] to [`MAX_INTERVAL`]
/// (before jitter).
#[must_use]
pub fn refresh_after(
    ttl_from: TtlFrom,
    cfg_ttl: Duration,
    answer_ttl: Option<Duration>,
    jitter: f64,
) -> Duration {
    let ttl = match answer_ttl.map(|ttl| ttl.clamp(MIN_ANSWER_TTL, MAX_ANSWER_TTL)) {
        None => cfg_ttl,
        Some(answer_ttl) => match ttl_from {
            TtlFrom::Cfg => cfg_ttl,
            TtlFrom::Dns => answer_ttl,
            TtlFrom::Min => cfg_ttl.min(answer_ttl),
            TtlFrom::Max => cfg_ttl.max(answer_ttl),
        },
    };
    jittered(ttl, jitter)
}

/// The time from a failed lookup to the next one, with jitter and limits as
/// in [`refresh_after`].
#[must_use]
pub fn retry_after(cfg_retry_after: Duration, jitter: f64) -> Duration {
    jittered(cfg_retry_after, jitter)
}

fn jittered(interval: Duration, jitter: f64) -> Duration {
    let unit = if jitter.is_nan() {
        0.5
    } else {
        jitter.clamp(0.0, 1.0)
    };
    interval
        .min(MAX_INTERVAL)
        .mul_f64(1.0 + JITTER * (2.0 * unit - 1.0))
        .max(MIN_INTERVAL)
}

/// One value for each address family.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PerFamily<T> {
    /// For the A query.
    pub v4: T,
    /// For the AAAA query.
    pub v6: T,
}

impl<T> PerFamily<T> {
    /// The value of one family.
    pub fn get(&self, family: Family) -> &T {
        match family {
            Family::V4 => &self.v4,
            Family::V6 => &self.v6,
        }
    }
}

/// What is there of the answers of both families.
pub type PartialAnswer = PerFamily<Option<FamilyAnswer>>;

/// The last good addresses of a name, by the query that gave them, each
/// sorted and without duplicates.
pub type LastGood = PerFamily<Vec<IpAddr>>;

impl LastGood {
    /// The addresses of both families, sorted and without duplicates.
    #[must_use]
    pub fn addresses(&self) -> Vec<IpAddr> {
        unique([self.v4.as_slice(), self.v6.as_slice()].concat())
    }
}

/// What an answer makes of the last good addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settled {
    /// The addresses now in force.
    pub good: LastGood,
    /// Why a family kept its last good addresses, for the log. `None` is a
    /// family that answered, or that was not asked.
    pub failures: PerFamily<Option<Failure>>,
    /// Whether a family's answer is there.
    pub asked: PerFamily<bool>,
    /// The smallest TTL of the families that answered, as received. `None`
    /// where none has one.
    pub ttl: Option<Duration>,
    /// How many addresses were over [`MAX_ADDRESSES`] and are left out, for
    /// the log.
    pub excess: usize,
}

impl Settled {
    /// Whether a family's part of [`good`](Self::good) is this answer's, not
    /// an earlier one's.
    #[must_use]
    pub fn answered(&self, family: Family) -> bool {
        *self.asked.get(family) && self.failures.get(family).is_none()
    }

    /// Whether a family answered: the lookup is an update. Otherwise it
    /// failed, and nothing has changed.
    #[must_use]
    pub fn updated(&self) -> bool {
        self.answered(Family::V4) || self.answered(Family::V6)
    }

    /// The time to the next lookup: [`refresh_after`] where a family answered,
    /// else [`retry_after`]. A family that fails beside a good one is no reason
    /// to ask for both more often.
    #[must_use]
    pub fn next_after(&self, timing: &Timing, jitter: f64) -> Duration {
        if self.updated() {
            refresh_after(timing.ttl_from, timing.ttl, self.ttl, jitter)
        } else {
            retry_after(timing.retry_after, jitter)
        }
    }
}

/// Combines an answer with the last good addresses.
///
/// A family that failed keeps its last good addresses, whatever the failure.
/// NODATA, or no usable record, is the end of a family's addresses only where
/// the other family has some in the same answer: that is the life of a
/// single-stack name. In both families it is a failure, and so it is beside
/// another failure. IPv4-mapped IPv6 addresses count as the IPv4 address that
/// they reach.
#[must_use]
pub fn settle(last: &LastGood, answer: &HostAnswer) -> Settled {
    settle_partial(
        last,
        &PerFamily {
            v4: Some(answer.v4.clone()),
            v6: Some(answer.v6.clone()),
        },
    )
}

/// The same for an answer in which a family may be missing, as it was not
/// asked or has yet to answer: it keeps its last good addresses, which is no
/// failure.
#[must_use]
pub fn settle_partial(last: &LastGood, answer: &PartialAnswer) -> Settled {
    let asked = PerFamily {
        v4: answer.v4.is_some(),
        v6: answer.v6.is_some(),
    };
    let v4 = Taken::of(answer.v4.as_ref(), &last.v4);
    let v6 = Taken::of(answer.v6.as_ref(), &last.v6);
    let v4_found = !v4.addresses.is_empty();
    let v6_found = !v6.addresses.is_empty();
    let excess = v4.excess.saturating_add(v6.excess);
    let ttl = match (v4.ttl, v6.ttl) {
        (Some(v4), Some(v6)) => Some(v4.min(v6)),
        (v4, v6) => v4.or(v6),
    };
    let (good_v4, failed_v4) = v4.or_last(&last.v4, v6_found);
    let (good_v6, failed_v6) = v6.or_last(&last.v6, v4_found);
    Settled {
        good: PerFamily {
            v4: good_v4,
            v6: good_v6,
        },
        failures: PerFamily {
            v4: failed_v4,
            v6: failed_v6,
        },
        asked,
        ttl,
        excess,
    }
}

/// What one family's answer has to give.
struct Taken {
    addresses: Vec<IpAddr>,
    ttl: Option<Duration>,
    excess: usize,
    failure: Option<Failure>,
}

impl From<&FamilyAnswer> for Taken {
    fn from(answer: &FamilyAnswer) -> Self {
        match answer {
            Ok(found) if !found.addresses.is_empty() => {
                let mut addresses =
                    unique(found.addresses.iter().map(IpAddr::to_canonical).collect());
                let excess = addresses.len().saturating_sub(MAX_ADDRESSES);
                addresses.truncate(MAX_ADDRESSES);
                Self {
                    addresses,
                    ttl: found.ttl,
                    excess,
                    failure: None,
                }
            }
            Ok(_) => Self::failed(Failure::NoData),
            Err(failure) => Self::failed(*failure),
        }
    }
}

impl Taken {
    /// What an answer gives; without one, what there was.
    fn of(answer: Option<&FamilyAnswer>, last: &[IpAddr]) -> Self {
        answer.map_or_else(
            || Self {
                addresses: last.to_vec(),
                ttl: None,
                excess: 0,
                failure: None,
            },
            Self::from,
        )
    }

    fn failed(failure: Failure) -> Self {
        Self {
            addresses: Vec::new(),
            ttl: None,
            excess: 0,
            failure: Some(failure),
        }
    }

    /// The addresses in force, and the failure to report.
    fn or_last(self, last: &[IpAddr], other_found: bool) -> (Vec<IpAddr>, Option<Failure>) {
        match self.failure {
            None => (self.addresses, None),
            Some(Failure::NoData) if other_found => (Vec::new(), None),
            Some(failure) => (last.to_vec(), Some(failure)),
        }
    }
}

fn unique(mut addresses: Vec<IpAddr>) -> Vec<IpAddr> {
    addresses.sort_unstable();
    addresses.dedup();
    addresses
}
