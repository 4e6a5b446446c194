//! The domains of a director, by what calls name.
//!
//! Requests read the map without a lock. A domain that is taken out may stay
//! in the map's memory until the last thread that was reading has left; that
//! keeps the domain and the director's settings alive, never the map itself,
//! so nothing has to be flushed for anything to be freed.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use papaya::Guard;

use crate::domain::Domain;
use crate::sync::lock;

/// Why a domain is not made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// There are as many as `max_names` allows.
    Full(usize),
    /// There are as many without an answer as are allowed.
    TooManyUnanswered(usize),
    /// The VCL is leaving.
    Leaving,
}

/// The domains of one director.
#[derive(Debug)]
pub(super) struct Domains {
    /// By a keyed hash: clients choose the names.
    map: papaya::HashMap<Box<[u8]>, Arc<Domain>, ahash::RandomState>,
    /// Held while a domain is made, so that one of many first requests wins.
    /// With the number that the next one gets.
    creating: Mutex<u64>,
    /// Domains that requests made and that never had a good answer.
    unanswered: Arc<AtomicUsize>,
    max: usize,
}

/// Of how many names one may be without an answer: the rest is kept free for
/// names that exist, as strangers can make up any number of others.
const UNANSWERED_SHARE: usize = 10;
/// As many may be without an answer in any case, where `max_names` allows.
const MIN_UNANSWERED: usize = 100;

impl Domains {
    /// Room for `max` domains.
    ///
    /// # Errors
    /// When the system has no random numbers.
    pub(super) fn new(max: usize) -> Result<Self, getrandom::Error> {
        Ok(Domains {
            map: papaya::HashMap::with_hasher(keyed_hasher()?),
            creating: Mutex::new(0),
            unanswered: Arc::default(),
            max,
        })
    }

    fn max_unanswered(&self) -> usize {
        (self.max / UNANSWERED_SHARE)
            .max(MIN_UNANSWERED)
            .min(self.max)
    }

    /// Whether so many domains are without an answer that those whose lookup
    /// has failed should make room for others.
    pub(super) fn is_crowded(&self) -> bool {
        self.unanswered.load(Ordering::Relaxed) > self.max_unanswered() / 2
    }

    /// What `read` makes of the domain with this key.
    pub(super) fn with<R>(&self, key: &[u8], read: impl FnOnce(&Arc<Domain>) -> R) -> Option<R> {
        self.map.pin().get(key).map(read)
    }

    /// The domain with this key, made by `create` if there is none that is
    /// `usable`. `create` gets its number and, where a request wants it, the
    /// count of those without an answer, whose bound applies then.
    pub(super) fn get_or_create(
        &self,
        key: &[u8],
        by_request: bool,
        usable: impl Fn(&Arc<Domain>) -> bool,
        create: impl FnOnce(u64, Option<&Arc<AtomicUsize>>) -> Option<Arc<Domain>>,
    ) -> Result<Arc<Domain>, Refused> {
        let mut number = lock(&self.creating);
        let domains = self.map.pin();
        if let Some(known) = domains.get(key)
            && usable(known)
        {
            return Ok(Arc::clone(known));
        }
        if self.map.len() >= self.max {
            return Err(Refused::Full(self.max));
        }
        let most = self.max_unanswered();
        if by_request && self.unanswered.load(Ordering::Relaxed) >= most {
            return Err(Refused::TooManyUnanswered(most));
        }
        *number += 1;
        let domain =
            create(*number, by_request.then_some(&self.unanswered)).ok_or(Refused::Leaving)?;
        if !usable(&domain) {
            return Err(Refused::Leaving);
        }
        domains.insert(key.into(), Arc::clone(&domain));
        Ok(domain)
    }

    /// Takes a domain out. It stays where it is held elsewhere.
    pub(super) fn remove(&self, domain: &Arc<Domain>) {
        let guard = self.map.guard();
        let _ = self
            .map
            .remove_if(domain.key(), |_, known| Arc::ptr_eq(known, domain), &guard);
        // Frees what can be freed now, so that its counters go soon.
        guard.flush();
    }

    /// Calls `each` with every domain.
    pub(super) fn for_each(&self, each: impl FnMut(&Arc<Domain>)) {
        self.map.pin().values().for_each(each);
    }

    /// Takes all domains out, in the order in which they were made: the engine
    /// finds their counters fastest so.
    pub(super) fn drain(&self) -> Vec<Arc<Domain>> {
        let guard = self.map.guard();
        let mut all: Vec<Arc<Domain>> = self.map.values(&guard).cloned().collect();
        self.map.clear(&guard);
        guard.flush();
        all.sort_unstable_by_key(|domain| domain.number());
        all
    }
}

/// A hash function that nobody outside can foresee.
fn keyed_hasher() -> Result<ahash::RandomState, getrandom::Error> {
    let seed = || getrandom::u64();
    Ok(ahash::RandomState::with_seeds(
        seed()?,
        seed()?,
        seed()?,
        seed()?,
    ))
}
