//! An answer arrives: endpoints come, go and return. On the resolver thread.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use dynamic_core::answer::{Family, HostAnswer};
use dynamic_core::membership::{Desired, Membership, Rank};
use dynamic_core::name::EndpointId;
use dynamic_core::schedule::{LastGood, Timing, settle};

use super::snapshot::{Endpoint, Snapshot};
use super::sources::{Ask, Source, SourceId};
use super::Pool;
use crate::clock;
use crate::sync::lock;
use crate::vrt::{Counter, Leaf, LeafError, OffTask, Tag};

/// What makes an endpoint this one and no other.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    address: IpAddr,
    port: u16,
    host: Arc<str>,
}

impl Key {
    fn id(&self) -> EndpointId {
        EndpointId { address: self.address, port: self.port }
    }
}

/// What the resolver thread knows of a name.
#[derive(Debug)]
pub(super) struct Progress {
    sources: Vec<(SourceId, Source)>,
    members: Membership<Key>,
    leaves: BTreeMap<Key, Arc<Leaf>>,
    /// Addresses that the whitelist dropped, to log each once.
    dropped: BTreeSet<IpAddr>,
    /// How often a snapshot was made: the next one's first turn.
    made: u64,
}

/// What an answer of one source means for it.
struct Learned {
    good: LastGood,
    /// Which families' addresses are this answer's.
    answered: [bool; 2],
}

impl Progress {
    pub(super) fn new(sources: Vec<Source>) -> Self {
        Progress {
            sources: (0..).map(SourceId).zip(sources).collect(),
            members: Membership::new(),
            leaves: BTreeMap::new(),
            dropped: BTreeSet::new(),
            made: 0,
        }
    }

    /// Lets go of all leaves.
    pub(super) fn clear(&mut self) {
        self.members = Membership::new();
        self.leaves.clear();
    }
}

impl Pool {
    /// What has to be asked for this name.
    pub(crate) fn questions(&self) -> Vec<(SourceId, Ask)> {
        lock(&self.progress)
            .sources
            .iter()
            .map(|(id, source)| (*id, source.ask().clone()))
            .collect()
    }

    /// Takes in a literal address, which counts as an answer.
    pub(crate) fn take_address(&self, ctx: &mut OffTask<'_>, source: SourceId, address: IpAddr) {
        let mut good = LastGood::default();
        match Family::of(address) {
            Family::V4 => good.v4.push(address),
            Family::V6 => good.v6.push(address),
        }
        self.learn(ctx, source, Learned { good, answered: [true, true] });
    }

    /// Takes in the answer of a lookup that was asked for at `asked`, seconds
    /// since the epoch. Returns the time to the next one.
    pub(crate) fn take_answer(
        &self,
        ctx: &mut OffTask<'_>,
        source: SourceId,
        answer: &HostAnswer,
        asked: f64,
        jitter: f64,
    ) -> Duration {
        self.count(Counter::Lookups);
        let answered = ctx.now();
        self.log_time("Lookup", asked, asked, asked);
        self.log_time("Results", answered, asked, asked);
        let last = lock(&self.progress)
            .sources
            .iter()
            .find(|(id, _)| *id == source)
            .map(|(_, s)| s.good.clone())
            .unwrap_or_default();
        let settled = settle(&last, answer);
        for (family, record) in [(Family::V4, "A"), (Family::V6, "AAAA")] {
            if let Some(failure) = settled.failures.get(family) {
                self.log(Tag::Error, &format!("lookup {record} failed: {failure}"));
            }
        }
        if settled.excess > 0 {
            self.log(Tag::Error, &format!("{} addresses over the limit are left out", settled.excess));
        }
        let settings = self.director.settings();
        let timing = Timing {
            ttl_from: settings.ttl_from,
            ttl: settings.ttl,
            retry_after: settings.retry_after,
        };
        let next = settled.next_after(&timing, jitter);
        if settled.updated() {
            let learned = Learned {
                answered: [settled.answered(Family::V4), settled.answered(Family::V6)],
                good: settled.good,
            };
            self.learn(ctx, source, learned);
            self.log_time("Update", clock::now(), asked, ctx.now());
        } else {
            self.count(Counter::LookupsFailed);
            self.settle_first();
        }
        next
    }

    /// A step of a lookup in the engine's form: when, seconds since the lookup
    /// began, and since the step before.
    fn log_time(&self, step: &str, at: f64, since: f64, before: f64) {
        self.log(Tag::Timestamp, &format!("{step}: {at:.6} {:.6} {:.6}", at - since, at - before));
    }

    /// A first answer that brought nothing: whoever waits gets its 503 now.
    fn settle_first(&self) {
        if self.snapshot.load().pending {
            self.snapshot.store(Arc::new(Snapshot::empty()));
        }
        self.first.settle();
    }

    fn learn(&self, ctx: &mut OffTask<'_>, source: SourceId, learned: Learned) {
        let mut progress = lock(&self.progress);
        let Some((_, known)) = progress.sources.iter_mut().find(|(id, _)| *id == source) else {
            return;
        };
        known.good = learned.good;
        let host = Arc::clone(&known.host);
        let desired = self.desired(ctx, &mut progress);
        let covered = |key: &Key| {
            key.host == host
                && match Family::of(key.address) {
                    Family::V4 => learned.answered[0],
                    Family::V6 => learned.answered[1],
                }
        };
        let keep = self.director.settings().keep;
        let change = progress.members.update(desired, covered, keep);
        // Told once it is in force, so that who reads it can count on it.
        let mut events = Vec::new();
        for key in &change.absent {
            events.push(format!("drop {}: no longer in the answer, kept for {keep} updates", key.id()));
        }
        for key in &change.deleted {
            progress.leaves.remove(key);
            events.push(format!("delete {}", key.id()));
        }
        for Desired { key, .. } in &change.returned {
            events.push(format!("return {}", key.id()));
        }
        let missing = progress.members.present().any(|(key, _)| !progress.leaves.contains_key(key));
        if change.is_empty() && !missing && !self.snapshot.load().pending {
            self.debug(|| "unchanged".to_owned());
            return;
        }
        if let Some(snapshot) = self.snapshot_of(ctx, &mut progress, &mut events) {
            if let Some(counters) = self.counters.get() {
                counters.set(Counter::Addresses, snapshot.endpoints.len() as u64);
            }
            self.snapshot.store(Arc::new(snapshot));
            self.first.settle();
        }
        for event in events {
            self.log(Tag::Log, &event);
        }
    }

    /// The endpoints that the sources ask for, whitelisted and ranked.
    fn desired(&self, ctx: &mut OffTask<'_>, progress: &mut Progress) -> Vec<Desired<Key>> {
        let mut desired = Vec::new();
        let mut dropped = BTreeSet::new();
        for (_, source) in &progress.sources {
            for address in source.good.addresses() {
                if !self.director.allows(ctx, address) {
                    dropped.insert(address);
                    continue;
                }
                desired.push(Desired {
                    key: Key { address, port: source.port, host: Arc::clone(&source.host) },
                    rank: Rank {
                        priority: source.priority,
                        weight: source.weight,
                        score: self.director.score(ctx, address),
                    },
                });
            }
        }
        for address in dropped.difference(&progress.dropped) {
            self.log(Tag::Error, &format!("whitelist drops {address}"));
        }
        progress.dropped = dropped;
        desired
    }

    /// The present members with their leaves, of which missing ones are made.
    /// `None` when the VCL is leaving.
    fn snapshot_of(
        &self,
        ctx: &mut OffTask<'_>,
        progress: &mut Progress,
        events: &mut Vec<String>,
    ) -> Option<Snapshot> {
        let mut endpoints = Vec::new();
        let present: Vec<(Key, Rank)> = progress.members.present().map(|(k, m)| (k.clone(), m.rank)).collect();
        for (key, rank) in present {
            let leaf = match progress.leaves.get(&key) {
                Some(leaf) => Arc::clone(leaf),
                None => match self.director.leaf(ctx, &key.host, key.address, key.port, self.authority.as_deref()) {
                    Ok(leaf) => {
                        events.push(format!("add {} score {}", key.id(), rank.score));
                        progress.leaves.insert(key.clone(), Arc::clone(&leaf));
                        leaf
                    }
                    Err(LeafError::Leaving) => return None,
                    Err(LeafError::Refused(why)) => {
                        self.log(Tag::Error, &format!("no backend for {}: {why}", key.id()));
                        continue;
                    }
                },
            };
            endpoints.push(Endpoint { leaf, address: key.address, port: key.port, rank });
        }
        progress.made = progress.made.wrapping_add(1);
        Some(Snapshot::new(endpoints, progress.made))
    }
}
