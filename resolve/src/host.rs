//! The addresses of a host, for each family as soon as it is known.

use std::future::Future;
use std::pin::{Pin, pin};
use std::time::Duration;

use dynamic_core::answer::{Failure, Family, FamilyAnswer, HostAnswer};
use tokio::time::timeout;

use crate::report::{Lookup, Report};
use crate::search::{SearchAnswer, SearchOutcome};

/// How long the slower family is waited for when the other has addresses, so
/// that in the usual case both come as one.
const GRACE: Duration = Duration::from_millis(50);

/// How long the slower family is waited for when the other said NXDOMAIN,
/// which holds for all record types (RFC 8020).
const NXDOMAIN_GRACE: Duration = Duration::from_secs(1);

/// Which record types to ask for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Families {
    /// A and AAAA.
    #[default]
    Both,
    /// One of them. The other one is asked for as well where the search list
    /// has to be gone through again.
    Only(Family),
}

impl Families {
    fn has(self, family: Family) -> bool {
        self == Families::Both || self == Families::Only(family)
    }
}

/// What is asked about a host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostQuery {
    /// As [`dynamic_core::name::parse`] returns it, no address.
    pub name: String,
    /// It is complete, and no search list applies.
    pub absolute: bool,
    /// Which record types to ask for.
    pub families: Families,
    /// The full name that gave the addresses in force
    /// ([`Report::name`]). Its failure keeps the names behind it in the search
    /// list from taking its place; without it, a name that fails is passed
    /// over.
    pub in_force: Option<String>,
}

/// What is known of a host so far: `None` is a family that was not asked for,
/// or has yet to answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostAnswers {
    /// The A records.
    pub v4: Option<FamilyAnswer>,
    /// The AAAA records.
    pub v6: Option<FamilyAnswer>,
}

impl HostAnswers {
    /// Answers with the same failure.
    pub(crate) fn failed(families: Families, failure: Failure) -> Self {
        Self::from_fn(families, |_| Err(failure))
    }

    pub(crate) fn from_fn(
        families: Families,
        mut answer: impl FnMut(Family) -> FamilyAnswer,
    ) -> Self {
        let mut of = |family| families.has(family).then(|| answer(family));
        Self {
            v4: of(Family::V4),
            v6: of(Family::V6),
        }
    }

    fn with(family: Family, answer: FamilyAnswer) -> Self {
        match family {
            Family::V4 => Self {
                v4: Some(answer),
                v6: None,
            },
            Family::V6 => Self {
                v4: None,
                v6: Some(answer),
            },
        }
    }

    /// The answer of one family.
    #[must_use]
    pub fn get(&self, family: Family) -> Option<&FamilyAnswer> {
        match family {
            Family::V4 => self.v4.as_ref(),
            Family::V6 => self.v6.as_ref(),
        }
    }

    fn merge(&mut self, other: Self) {
        self.v4 = other.v4.or(self.v4.take());
        self.v6 = other.v6.or(self.v6.take());
    }

    fn or_timeout(self) -> HostAnswer {
        let timeout = Err(Failure::Timeout);
        HostAnswer {
            v4: self.v4.unwrap_or_else(|| timeout.clone()),
            v6: self.v6.unwrap_or(timeout),
        }
    }
}

/// Judges both families together: one family's addresses are enough, one
/// family's negative answer is not.
impl SearchAnswer for HostAnswers {
    fn outcome(&self) -> SearchOutcome {
        [&self.v4, &self.v6]
            .into_iter()
            .flatten()
            .map(SearchAnswer::outcome)
            .max()
            .unwrap_or(SearchOutcome::Unknown)
    }
}

pub(crate) type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// A first answer, and the family that has yet to come.
pub(crate) struct FirstAnswer {
    pub(crate) lookup: Lookup<HostAnswers>,
    pub(crate) rest: Option<Boxed<Lookup<HostAnswers>>>,
}

impl FirstAnswer {
    pub(crate) fn only(lookup: Lookup<HostAnswers>) -> Self {
        Self { lookup, rest: None }
    }

    /// Asks for two families at once. The second one is waited for as long as
    /// it can make a difference to what is done with the first one.
    pub(crate) async fn of(
        mut v4: Boxed<Lookup<FamilyAnswer>>,
        mut v6: Boxed<Lookup<FamilyAnswer>>,
    ) -> Self {
        let (family, first, mut second) = tokio::select! {
            first = &mut v4 => (Family::V4, first, v6),
            first = &mut v6 => (Family::V6, first, v4),
        };
        let other = match family {
            Family::V4 => Family::V6,
            Family::V6 => Family::V4,
        };
        let outcome = first.answer.outcome();
        let mut lookup = of_family(family, first);
        let patience = match outcome {
            SearchOutcome::Found => Some(GRACE),
            SearchOutcome::NxDomain => Some(NXDOMAIN_GRACE),
            SearchOutcome::NoData | SearchOutcome::Unknown => None,
        };
        let second = match patience {
            None => Some(second.await),
            Some(patience) => match timeout(patience, &mut second).await {
                Ok(second) => Some(second),
                Err(_) if outcome == SearchOutcome::Found => {
                    let rest = async move { of_family(other, second.await) };
                    return Self {
                        lookup,
                        rest: Some(Box::pin(rest)),
                    };
                }
                Err(_) => None,
            },
        };
        match second {
            Some(second) => {
                let second = of_family(other, second);
                lookup.answer.merge(second.answer);
                lookup.report.merge(second.report);
            }
            None => lookup
                .answer
                .merge(HostAnswers::with(other, Err(Failure::Timeout))),
        }
        Self::only(lookup)
    }
}

impl SearchAnswer for FirstAnswer {
    fn outcome(&self) -> SearchOutcome {
        self.lookup.answer.outcome()
    }
}

pub(crate) fn of_family(family: Family, lookup: Lookup<FamilyAnswer>) -> Lookup<HostAnswers> {
    Lookup {
        answer: HostAnswers::with(family, lookup.answer),
        report: lookup.report,
    }
}

/// A lookup of a host under way. Dropping it gives its questions up.
///
/// It yields one answer, or two where one family is slower by more than 50 ms:
/// the first one then has addresses of one family, the second one is the other
/// family's.
#[must_use = "futures do nothing unless polled"]
pub struct HostLookup {
    stage: Stage,
}

enum Stage {
    First(Boxed<FirstAnswer>),
    Rest(Boxed<Lookup<HostAnswers>>),
    Done,
}

impl HostLookup {
    pub(crate) fn new(first: impl Future<Output = FirstAnswer> + Send + 'static) -> Self {
        Self {
            stage: Stage::First(Box::pin(first)),
        }
    }

    /// The next answer; `None` after the last one. May be dropped and called
    /// again.
    pub async fn next(&mut self) -> Option<Lookup<HostAnswers>> {
        let (lookup, next) = match &mut self.stage {
            Stage::First(first) => {
                let FirstAnswer { lookup, rest } = first.await;
                (lookup, rest.map_or(Stage::Done, Stage::Rest))
            }
            Stage::Rest(rest) => (rest.await, Stage::Done),
            Stage::Done => return None,
        };
        self.stage = next;
        Some(lookup)
    }

    /// Whether another answer will come.
    #[must_use]
    pub fn is_done(&self) -> bool {
        matches!(self.stage, Stage::Done)
    }

    /// Both families' answers as one. A family that is slower than the other
    /// by more than `patience` is a time-out.
    pub async fn both_within(mut self, patience: Duration) -> Lookup<HostAnswer> {
        let mut answers = HostAnswers::default();
        let mut report: Option<Report> = None;
        let mut take = |lookup: Option<Lookup<HostAnswers>>| {
            let Some(lookup) = lookup else { return };
            answers.merge(lookup.answer);
            match &mut report {
                None => report = Some(lookup.report),
                Some(report) => report.merge(lookup.report),
            }
        };
        take(self.next().await);
        let rest = pin!(self.next());
        take(timeout(patience, rest).await.ok().flatten());
        Lookup {
            answer: answers.or_timeout(),
            report: report.unwrap_or_default(),
        }
    }
}
