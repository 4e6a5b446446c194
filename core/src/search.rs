//! The search list: which full names a name stands for, and which of their
//! answers counts.

use crate::answer::{Failure, FamilyAnswer, HostAnswer, SrvAnswer};
use crate::name::MAX_NAME;

/// The full names that a name stands for, in the order in which they are
/// asked, without trailing dots and without duplicates.
///
/// As the C library does it: a name that was written with a trailing dot
/// (`rooted`) is asked alone; one with at least `ndots` dots as it is and then
/// with each domain; one with fewer the other way round. Names that are too
/// long are left out, so that the result may be empty.
#[must_use]
pub fn search_candidates(name: &str, rooted: bool, search: &[String], ndots: u8) -> Vec<String> {
    let dots = name.bytes().filter(|byte| *byte == b'.').count();
    let list = if rooted { &[] } else { search };
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
pub enum Verdict {
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

impl From<Failure> for Verdict {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::NxDomain => Verdict::NxDomain,
            Failure::NoData => Verdict::NoData,
            Failure::ServFail
            | Failure::Refused
            | Failure::Timeout
            | Failure::Truncated
            | Failure::Malformed
            | Failure::NoServers
            | Failure::Unreachable
            | Failure::Internal => Verdict::Unknown,
        }
    }
}

/// An answer that a search can judge.
pub trait Judged {
    /// What it means for the rest of the search.
    fn verdict(&self) -> Verdict;
}

impl Judged for FamilyAnswer {
    fn verdict(&self) -> Verdict {
        match self {
            Ok(found) if found.addresses.is_empty() => Verdict::NoData,
            Ok(_) => Verdict::Found,
            Err(failure) => (*failure).into(),
        }
    }
}

/// One family's addresses are enough; one family's negative answer is not.
impl Judged for HostAnswer {
    fn verdict(&self) -> Verdict {
        match (self.v4.verdict(), self.v6.verdict()) {
            (Verdict::Found, _) | (_, Verdict::Found) => Verdict::Found,
            (Verdict::Unknown, _) | (_, Verdict::Unknown) => Verdict::Unknown,
            (Verdict::NoData, _) | (_, Verdict::NoData) => Verdict::NoData,
            (Verdict::NxDomain, Verdict::NxDomain) => Verdict::NxDomain,
        }
    }
}

impl Judged for Result<SrvAnswer, Failure> {
    fn verdict(&self) -> Verdict {
        match self {
            Ok(found) if found.records.is_empty() => Verdict::NoData,
            Ok(_) => Verdict::Found,
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
pub struct Search<A> {
    candidates: std::vec::IntoIter<String>,
    asked: Option<String>,
    outcome: Option<(Verdict, String, A)>,
}

impl<A: Judged> Search<A> {
    /// A search through the names of [`search_candidates`].
    #[must_use]
    pub fn new(candidates: Vec<String>) -> Self {
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
    pub fn ask(&self) -> Option<&str> {
        self.asked.as_deref()
    }

    /// Takes the answer for the name of [`ask`](Self::ask). Does nothing when
    /// the search is over.
    pub fn answer(&mut self, answer: A) {
        let Some(asked) = self.asked.take() else {
            return;
        };
        let verdict = answer.verdict();
        if matches!(verdict, Verdict::NoData | Verdict::NxDomain) {
            self.asked = self.candidates.next();
        }
        let better = match &self.outcome {
            None => true,
            Some((Verdict::NxDomain, ..)) => verdict != Verdict::NxDomain,
            Some(_) => matches!(verdict, Verdict::Found | Verdict::Unknown),
        };
        if better {
            self.outcome = Some((verdict, asked, answer));
        }
    }

    /// The full name that counts, and its answer; `None` where nothing was
    /// asked.
    #[must_use]
    pub fn into_outcome(self) -> Option<(String, A)> {
        self.outcome.map(|(_, name, answer)| (name, answer))
    }
}
