//! An answer arrives: the core says what it changes, and this performs it. On
//! the resolver thread.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use dynamic_core::answer::{Failure, SrvAnswer};
use dynamic_core::domain::{
    AddressRules, Answered, EndpointKey, Learned, Moment, Progress, Update, UpdateRules,
};
use dynamic_core::event::{Event, Level};
use dynamic_core::schedule::{PartialAnswer, Timing};
use dynamic_core::targets::{Origin, SourceId};
use dynamic_resolve::Report;

use super::snapshot::prepare;
use super::{Domain, Kind, State};
use crate::clock;
use crate::director::Config;
use crate::sync::lock;
use crate::vrt::{Acl, BackgroundCtx, Counter, Leaf, LeafError, VslTag};

/// A leaf that was made for an endpoint, or why the engine made none.
type MadeLeaf = (EndpointKey, Result<Arc<Leaf>, String>);

/// What an answer calls for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Next {
    /// When to ask the same again.
    pub(crate) after: Duration,
    /// There are other sources to be asked than before.
    pub(crate) asks_others: bool,
}

/// A lookup whose answer is there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LookupInfo<'f> {
    /// When it was asked for, in seconds since the epoch.
    pub(crate) at: f64,
    /// A number in 0..1, to spread refreshes.
    pub(crate) jitter: f64,
    /// Where the answer comes from, and what went wrong on the way.
    pub(crate) report: &'f Report,
}

impl LookupInfo<'_> {
    fn moment(&self, ctx: &BackgroundCtx<'_>) -> Moment {
        Moment {
            now: ctx.now(),
            jitter: self.jitter,
        }
    }
}

/// The director's ACLs, evaluated with a context.
struct Acls<'a, 'g> {
    config: &'a Config,
    ctx: &'a mut BackgroundCtx<'g>,
}

impl AddressRules<Acl> for Acls<'_, '_> {
    fn matches(&mut self, acl: &Acl, address: IpAddr) -> bool {
        acl.matches(self.ctx, address)
    }

    fn allows(&mut self, address: IpAddr) -> bool {
        self.config.allows(self.ctx, address)
    }

    fn score(&mut self, address: IpAddr) -> i64 {
        self.config.score(self.ctx, address)
    }
}

impl Domain {
    /// What has to be asked for this domain.
    pub(crate) fn origins(&self) -> Vec<(SourceId, Origin)> {
        lock(&self.state).origins()
    }

    fn update_rules(&self) -> UpdateRules {
        let settings = &self.config.settings;
        let references = &self.config.references;
        UpdateRules {
            timing: Timing {
                ttl_from: settings.ttl_from,
                ttl: settings.ttl,
                retry_after: settings.retry_after,
            },
            keep: settings.keep,
            port: self.port.number,
            names_endpoints: self.kind != Kind::Name
                && (references.session.is_some() || references.buckets.is_some()),
        }
    }

    /// Takes in a literal address, which counts as an answer.
    pub(crate) fn take_address(
        &self,
        ctx: &mut BackgroundCtx<'_>,
        source: SourceId,
        address: IpAddr,
    ) {
        let mut state = lock(&self.state);
        let answered = state.on_literal(source, address);
        self.set_answered();
        self.publish_counters(ctx);
        self.update(ctx, &mut state, &answered);
    }

    /// Takes in the addresses of a host.
    pub(crate) fn take_host(
        &self,
        ctx: &mut BackgroundCtx<'_>,
        source: SourceId,
        answer: &PartialAnswer,
        info: LookupInfo<'_>,
    ) -> Next {
        let mut state = lock(&self.state);
        let why = |record: &str, failure| info.report.failure(record, failure);
        let dropped = &info.report.dropped;
        let rules = self.update_rules();
        let learned = state.on_addresses(info.moment(ctx), source, answer, dropped, &rules, why);
        self.take(ctx, &mut state, &learned, info)
    }

    /// Takes in the records of a service.
    pub(crate) fn take_service(
        &self,
        ctx: &mut BackgroundCtx<'_>,
        answer: &Result<SrvAnswer, Failure>,
        info: LookupInfo<'_>,
    ) -> Next {
        let mut state = lock(&self.state);
        let why = |record: &str, failure| info.report.failure(record, failure);
        let learned = state.on_services(info.moment(ctx), answer, &self.update_rules(), why);
        self.take(ctx, &mut state, &learned, info)
    }

    fn take(
        &self,
        ctx: &mut BackgroundCtx<'_>,
        state: &mut State,
        learned: &Learned,
        info: LookupInfo<'_>,
    ) -> Next {
        self.count(Counter::Lookups);
        if learned.updated {
            self.set_answered();
        }
        if learned.failed {
            self.count(Counter::LookupsFailed);
        }
        // A name that only a request gave has to show first that it exists.
        if self.unanswered.is_none() || self.is_answered() {
            self.publish_counters(ctx);
        }
        self.log_time("Lookup", info.at, info.at, info.at);
        self.log_time("Results", ctx.now(), info.at, info.at);
        self.log_events(&learned.events);
        self.update(ctx, state, &learned.answered);
        if learned.updated {
            self.log_time("Update", clock::now(), info.at, ctx.now());
        }
        Next {
            after: learned.after,
            asks_others: learned.asks_others,
        }
    }

    /// Makes the leaves that the engine refused before, when their time has
    /// come, or ends the gathering of answers.
    pub(crate) fn retry(&self, ctx: &mut BackgroundCtx<'_>) {
        self.update(ctx, &mut lock(&self.state), &Answered::Nothing);
    }

    /// Brings what is known into force.
    fn update(&self, ctx: &mut BackgroundCtx<'_>, state: &mut State, answered: &Answered) {
        let rules = self.update_rules();
        let now = ctx.now();
        let mut acls = Acls {
            config: &self.config,
            ctx,
        };
        let update = match state.update(now, answered, &rules, &mut acls) {
            Progress::Gathering { until } => return self.set_retry(Some(until)),
            Progress::Unchanged { errors } => {
                self.set_retry(None);
                self.log_events(&errors);
                return self.log_events(&[Event::Unchanged]);
            }
            Progress::Changed(update) => update,
        };
        self.log_events(&update.errors);
        let Some(made) = self.make_leaves(ctx, &update) else {
            return;
        };
        let step = state.publish(clock::now(), update, made, &rules);
        self.set_retry(step.retry_at);
        if let Some(backends) = step.publish {
            let addresses = backends.len() as u64;
            let generation = self.next_generation();
            self.snapshot
                .store(prepare(&self.config, backends, generation));
            self.counters.set(Counter::Addresses, addresses);
            self.first.complete();
        }
        // Logged once it is in force, so that a reader can count on it.
        self.log_events(&step.events);
    }

    /// Makes the leaves that are missing. `None` when the VCL is leaving.
    fn make_leaves(&self, ctx: &mut BackgroundCtx<'_>, update: &Update) -> Option<Vec<MadeLeaf>> {
        let mut made = Vec::with_capacity(update.missing.len());
        for key in &update.missing {
            let authority = self.authority_of(&key.host);
            let leaf = self
                .config
                .leaf(ctx, &key.host, key.address, key.port, authority.as_ref());
            let leaf = match leaf {
                Ok(leaf) => Ok(leaf),
                Err(LeafError::Leaving) => return None,
                Err(LeafError::Refused(reason)) => Err(reason),
            };
            made.push((key.clone(), leaf));
        }
        Some(made)
    }

    fn log_events(&self, events: &[Event]) {
        for event in events {
            match event.level() {
                Level::Change => self.log(VslTag::Log, &event.to_string()),
                Level::Error => self.log(VslTag::Error, &event.to_string()),
                Level::Debug => self.debug(|| event.to_string()),
            }
        }
    }

    /// A step of a lookup in the engine's form: when, seconds since the lookup
    /// began, and since the step before.
    fn log_time(&self, step: &str, at: f64, since: f64, before: f64) {
        self.log(
            VslTag::Timestamp,
            &format!("{step}: {at:.6} {:.6} {:.6}", at - since, at - before),
        );
    }
}
