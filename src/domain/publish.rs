//! What was learned comes into force: endpoints come, go and return, and a new
//! snapshot takes the place of the old one. On the resolver thread.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;

use dynamic_core::membership::{Desired, Membership, Rank};
use dynamic_core::name::EndpointId;
use litemap::LiteMap;

use super::snapshot::{Endpoint, Snapshot};
use super::targets::{Filter, SourceId, Target, Targets};
use super::{Authority, Domain, Kind};
use crate::clock;
use crate::sync::lock;
use crate::vrt::{Counter, Leaf, LeafError, OffTask, Tag};

/// Seconds until refused leaves are first tried again while nothing serves
/// yet; each further time takes twice as long, up to `retry_after`.
const PATIENCE: f64 = 0.2;

/// For how many seconds the answers of new targets are gathered.
const GATHER: f64 = 0.1;
/// The same before the first of them serve, where requests name endpoints.
const FIRST_GATHER: f64 = 1.0;

/// What makes an endpoint this one and no other.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) address: IpAddr,
    pub(super) port: u16,
    pub(super) host: Arc<str>,
}

impl Key {
    fn id(&self) -> EndpointId {
        EndpointId {
            address: self.address,
            port: self.port,
        }
    }
}

/// What the resolver thread knows of a name or service.
#[derive(Debug)]
pub(super) struct Progress {
    pub(super) targets: Targets,
    /// The question for a service's records, and whether it was answered.
    pub(super) service: Option<(SourceId, bool)>,
    members: Membership<Key>,
    leaves: LiteMap<Key, Arc<Leaf>>,
    /// Addresses that the whitelist dropped, to log each once.
    dropped: BTreeSet<IpAddr>,
    /// How often a snapshot was made: the next one's first turn.
    made: u64,
    /// Seconds until refused leaves are tried again while nothing serves yet.
    patience: f64,
    /// Until when the answers of further new targets are only noted.
    gathers_until: f64,
}

impl Progress {
    pub(super) fn new(kind: &Kind, given: Vec<Target>) -> Self {
        let mut targets = Targets::default();
        let service = matches!(kind, Kind::Service { .. }).then(|| (targets.fresh(), false));
        for target in given {
            targets.add(target);
        }
        Progress {
            targets,
            service,
            members: Membership::new(),
            leaves: LiteMap::with_capacity(1),
            dropped: BTreeSet::new(),
            made: 0,
            patience: PATIENCE,
            gathers_until: 0.0,
        }
    }

    /// Adds a target of a custom service.
    pub(super) fn add(&mut self, target: Target) {
        self.targets.add(target);
    }

    /// Lets go of all leaves.
    pub(super) fn clear(&mut self) {
        self.members = Membership::new();
        self.leaves.clear();
    }

    /// Whether everything was looked up once.
    fn settled(&self) -> bool {
        self.service.is_none_or(|(_, answered)| answered) && self.targets.settled()
    }
}

impl Domain {
    /// The authority of the leaves of a host. Where none is given, each target
    /// of a service has its own.
    fn authority_of(&self, host: &str) -> Option<Authority> {
        match self.kind {
            Kind::Name => self.authority.clone(),
            Kind::Service { .. } | Kind::Custom => self.config.authority(None, host),
        }
    }

    /// Brings what was learned into force. `covered` tells whose absence
    /// counts as an update.
    pub(super) fn publish(
        &self,
        ctx: &mut OffTask<'_>,
        progress: &mut Progress,
        covered: impl Fn(&Key) -> bool,
    ) {
        if progress.gathers_until == 0.0 && self.names_endpoints() {
            progress.gathers_until = ctx.now() + FIRST_GATHER;
        }
        if !progress.settled() && ctx.now() < progress.gathers_until {
            // Of a thousand new targets, to take in each by itself would be a
            // million steps.
            self.set_retry(Some(progress.gathers_until));
            return;
        }
        self.set_retry(None);
        let desired = self.desired(ctx, progress);
        let keep = self.config.settings.keep;
        let change = progress.members.update(desired, covered, keep);
        // Told once it is in force, so that who reads it can count on it.
        let mut events = Vec::new();
        for key in &change.absent {
            events.push(format!(
                "drop {}: no longer in the answer, kept for {keep} updates",
                key.id()
            ));
        }
        for key in &change.deleted {
            progress.leaves.remove(key);
            events.push(format!("delete {}", key.id()));
        }
        for Desired { key, .. } in &change.returned {
            events.push(format!("return {}", key.id()));
        }
        let pending = self.snapshot.load().pending;
        let missing = progress
            .members
            .present()
            .any(|(key, _)| !progress.leaves.contains_key(key));
        if change.is_empty() && !missing && !pending {
            self.debug(|| "unchanged".to_owned());
            return;
        }
        let Some(snapshot) = self.snapshot_of(ctx, progress, &mut events) else {
            return;
        };
        let complete = snapshot.endpoints.len() == progress.members.present().count();
        let bare = pending && snapshot.endpoints.is_empty();
        let mut again = self.config.settings.retry_after.as_secs_f64();
        if bare && !complete {
            again = again.min(progress.patience);
            progress.patience *= 2.0;
        }
        if !complete {
            self.set_retry(Some(ctx.now() + again));
        }
        if bare && !(complete && progress.settled()) {
            // Something may come yet, as what leaves go through may itself be
            // looked up: whoever waits goes on waiting.
            return;
        }
        progress.gathers_until = clock::now() + GATHER;
        let addresses = snapshot.endpoints.len() as u64;
        self.snapshot.store(snapshot);
        self.counters.set(Counter::Addresses, addresses);
        self.first.complete();
        for event in events {
            self.log(Tag::Log, &event);
        }
    }

    /// Whether requests name endpoints of a service, by session keys or hash
    /// buckets: one that is not known yet would be taken for one that is gone.
    fn names_endpoints(&self) -> bool {
        let references = &self.config.references;
        self.kind != Kind::Name && (references.session.is_some() || references.buckets.is_some())
    }

    /// Makes the leaves that the engine refused before, when their time has
    /// come.
    pub(crate) fn retry_leaves(&self, ctx: &mut OffTask<'_>) {
        let mut progress = lock(&self.progress);
        self.publish(ctx, &mut progress, |_| false);
    }

    /// The endpoints that the targets ask for, whitelisted and ranked.
    fn desired(&self, ctx: &mut OffTask<'_>, progress: &mut Progress) -> Vec<Desired<Key>> {
        let mut desired = Vec::new();
        let mut dropped = BTreeSet::new();
        for (looked_up, target) in progress.targets.each() {
            for address in looked_up.good.addresses() {
                let takes = match target.filter {
                    Filter::All => true,
                    Filter::Match(acl) => acl.matches(ctx, address),
                    Filter::NoMatch(acl) => !acl.matches(ctx, address),
                };
                if !takes {
                    continue;
                }
                if !self.config.allows(ctx, address) {
                    dropped.insert(address);
                    continue;
                }
                desired.push(Desired {
                    key: Key {
                        address,
                        port: target.port,
                        host: Arc::clone(&looked_up.host),
                    },
                    rank: Rank {
                        priority: target.priority,
                        weight: target.weight,
                        score: self.config.score(ctx, address),
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
        let present: Vec<(Key, Rank)> = progress
            .members
            .present()
            .map(|(k, m)| (k.clone(), m.rank))
            .collect();
        for (key, rank) in present {
            let leaf = match progress.leaves.get(&key) {
                Some(leaf) => Arc::clone(leaf),
                None => match self.config.leaf(
                    ctx,
                    &key.host,
                    key.address,
                    key.port,
                    self.authority_of(&key.host).as_ref(),
                ) {
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
            endpoints.push(Endpoint {
                leaf,
                address: key.address,
                port: key.port,
                host: key.host,
                rank,
            });
        }
        progress.made = progress.made.wrapping_add(1);
        Some(Snapshot::new(&self.config, endpoints, progress.made))
    }
}
