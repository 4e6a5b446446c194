//! The search list: which full names a name stands for, and which of their
//! answers counts.

use dynamic_core::answer::{Failure, FamilyAnswer, HostAnswer, SrvAnswer};
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

/// What an answer means for the rest of the search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SearchOutcome {
    /// There is something to use: stop.
    Found,
    /// The name exists and has nothing of the kind: go on.
    NoData,
    /// The name does not exist: go on.
    NxDomain,
    /// It is not known what the name has: stop, since the answer for another
    /// name must not take its place.
    Unknown,
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

/// One family's addresses are enough; one family's negative answer is not.
impl SearchAnswer for HostAnswer {
    fn outcome(&self) -> SearchOutcome {
        match (self.v4.outcome(), self.v6.outcome()) {
            (SearchOutcome::Found, _) | (_, SearchOutcome::Found) => SearchOutcome::Found,
            (SearchOutcome::Unknown, _) | (_, SearchOutcome::Unknown) => SearchOutcome::Unknown,
            (SearchOutcome::NoData, _) | (_, SearchOutcome::NoData) => SearchOutcome::NoData,
            (SearchOutcome::NxDomain, SearchOutcome::NxDomain) => SearchOutcome::NxDomain,
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
/// It ends at the first candidate with something to use, or whose state is not
/// known. The C library goes on after a server's failure; here that would let
/// another name's addresses take the place of good ones, or its NXDOMAIN hide
/// the failure. Where no candidate has anything, the first one that exists
/// gives the answer (NODATA), else the first one (NXDOMAIN).
#[derive(Clone, Debug)]
pub(crate) struct Search<A> {
    candidates: std::vec::IntoIter<String>,
    asked: Option<String>,
    outcome: Option<(SearchOutcome, String, A)>,
}

impl<A: SearchAnswer> Search<A> {
    /// A search through the names of [`search_candidates`].
    #[must_use]
    pub(crate) fn new(candidates: Vec<String>) -> Self {
        let mut candidates = candidates.into_iter();
        let asked = candidates.next();
        Self {
            candidates,
            asked,
            outcome: None,
        }
    }

    /// The name to ask now; `None` when the search is over.
    #[must_use]
    pub(crate) fn ask(&self) -> Option<&str> {
        self.asked.as_deref()
    }

    /// Takes the answer for the name of [`ask`](Self::ask). Does nothing when
    /// the search is over.
    pub(crate) fn answer(&mut self, answer: A) {
        let Some(asked) = self.asked.take() else {
            return;
        };
        let outcome = answer.outcome();
        if matches!(outcome, SearchOutcome::NoData | SearchOutcome::NxDomain) {
            self.asked = self.candidates.next();
        }
        let better = match &self.outcome {
            None => true,
            Some((SearchOutcome::NxDomain, ..)) => outcome != SearchOutcome::NxDomain,
            Some(_) => matches!(outcome, SearchOutcome::Found | SearchOutcome::Unknown),
        };
        if better {
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
