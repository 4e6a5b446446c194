//! The search list: which full names a name stands for, and which of their
//! answers counts.

use dynamic_core::answer::{Failure, FamilyAnswer, SrvAnswer};
use dynamic_core::name::MAX_NAME;

/// The full names that a name stands for, in the order in which they are
/// asked, without trailing dots and without duplicates.
///
/// As the C library does it: a name that was written with a trailing dot
/// (`absolute`) is asked alone; one with at least `ndots` dots as it is and then
/// with each domain; one with fewer the other way round. Names that are too
/// long are left out, so that the result may be empty.
#[must_use]
pub(crate) fn search_candidates(
    name: &str,
    absolute: bool,
    search: &[String],
    ndots: u8,
) -> Vec<String> {
    let dots = name.bytes().filter(|byte| *byte == b'.').count();
    let list = if absolute { &[] } else { search };
    let as_is_first = dots >= usize::from(ndots);
    let as_is = |wanted: bool| wanted.then(|| name.to_owned());
    let joined = list.iter().map(|domain| match domain.as_str() {
        "" => name.to_owned(),
        domain => format!("{name}.{domain}"),
    });
    let mut candidates: Vec<String> = Vec::new();
    for candidate in as_is(as_is_first)
        .into_iter()
        .chain(joined)
        .chain(as_is(!as_is_first))
    {
        let length = candidate.len();
        if (1..=MAX_NAME).contains(&length) && !candidates.contains(&candidate) {
            candidates.push(candidate);
        }
    }
    candidates
}

/// What an answer means for the rest of the search; a greater one counts more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SearchOutcome {
    /// The name does not exist.
    NxDomain,
    /// The name exists and has nothing of the kind.
    NoData,
    /// It is not known what the name has.
    Unknown,
    /// There is something to use.
    Found,
}

impl From<Failure> for SearchOutcome {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::NxDomain => SearchOutcome::NxDomain,
            Failure::NoData => SearchOutcome::NoData,
            Failure::ServFail
            | Failure::Refused
            | Failure::FormErr
            | Failure::NotImp
            | Failure::ErrorCode
            | Failure::Timeout
            | Failure::Truncated
            | Failure::Malformed
            | Failure::NoServers
            | Failure::Unreachable
            | Failure::Internal => SearchOutcome::Unknown,
        }
    }
}

/// An answer that a search can judge.
pub(crate) trait SearchAnswer {
    /// What it means for the rest of the search.
    fn outcome(&self) -> SearchOutcome;
}

impl SearchAnswer for FamilyAnswer {
    fn outcome(&self) -> SearchOutcome {
        match self {
            Ok(found) if found.addresses.is_empty() => SearchOutcome::NoData,
            Ok(_) => SearchOutcome::Found,
            Err(failure) => (*failure).into(),
        }
    }
}

impl SearchAnswer for Result<SrvAnswer, Failure> {
    fn outcome(&self) -> SearchOutcome {
        match self {
            Ok(found) if found.records.is_empty() => SearchOutcome::NoData,
            Ok(_) => SearchOutcome::Found,
            Err(failure) => (*failure).into(),
        }
    }
}

/// A search through candidates, one answer after the other.
///
/// It ends at the first candidate with something to use. A candidate whose
/// state is not known is passed over, as the C library does it: a domain whose
/// servers fail must not hide the names behind it. Where addresses are in
/// force, the candidate that gave them is not passed over: another name's
/// addresses must not take the place of good ones.
///
/// Where no candidate has anything, the one in force decides if its state is
/// not known, else the first one that is not known, else the first one that
/// exists, else the first one.
#[derive(Clone, Debug)]
pub(crate) struct Search<A> {
    candidates: std::vec::IntoIter<String>,
    asked: Option<String>,
    in_force: Option<String>,
    outcome: Option<(SearchOutcome, String, A)>,
}

impl<A: SearchAnswer> Search<A> {
    /// A search through the names of [`search_candidates`]; `in_force` is the
    /// one that gave the addresses in force.
    #[must_use]
    pub(crate) fn new(candidates: Vec<String>, in_force: Option<&str>) -> Self {
        let in_force = candidates
            .iter()
            .find(|candidate| in_force == Some(candidate.as_str()))
            .cloned();
        let mut candidates = candidates.into_iter();
        let asked = candidates.next();
        Self {
            candidates,
            asked,
            in_force,
            outcome: None,
        }
    }

    /// The name to ask now; `None` when the search is over.
    #[must_use]
    pub(crate) fn ask(&self) -> Option<&str> {
        self.asked.as_deref()
    }

    /// How many candidates are left, the one to ask now among them.
    #[must_use]
    pub(crate) fn left(&self) -> usize {
        self.candidates.len() + usize::from(self.asked.is_some())
    }

    /// Whether the candidate in force comes later.
    #[must_use]
    pub(crate) fn is_before_in_force(&self) -> bool {
        self.candidates
            .as_slice()
            .iter()
            .any(|candidate| Some(candidate) == self.in_force.as_ref())
    }

    /// Takes the answer for the name of [`ask`](Self::ask). Does nothing when
    /// the search is over.
    pub(crate) fn answer(&mut self, answer: A) {
        let Some(asked) = self.asked.take() else {
            return;
        };
        let outcome = answer.outcome();
        let decides = match outcome {
            SearchOutcome::Found => true,
            SearchOutcome::Unknown => self.in_force.as_ref() == Some(&asked),
            SearchOutcome::NoData | SearchOutcome::NxDomain => false,
        };
        if !decides {
            self.asked = self.candidates.next();
        }
        let best = self.outcome.as_ref().map(|(best, ..)| *best);
        if decides || best.is_none_or(|best| outcome > best) {
            self.outcome = Some((outcome, asked, answer));
        }
    }

    /// The full name that counts, and its answer; `None` where nothing was
    /// asked.
    #[must_use]
    pub(crate) fn into_outcome(self) -> Option<(String, A)> {
        self.outcome.map(|(_, name, answer)| (name, answer))
    }
}

#[cfg(test)]
mod tests;
