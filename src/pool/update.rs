//! An answer arrives: what it says about hosts and targets is noted, and brought
//! into force. On the resolver thread.

use std::collections::HashSet;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use dynamic_core::answer::{Failure, Family, HostAnswer, SrvAnswer};
use dynamic_core::schedule::{Timing, refresh_after, retry_after, settle};
use dynamic_resolve::Report;

use super::publish::{Key, Progress};
use super::targets::{self, Ask, SourceId};
use super::{Kind, Pool};
use crate::clock;
use crate::sync::lock;
use crate::vrt::{Counter, OffTask, Tag};

/// What an answer calls for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Next {
    /// When to ask the same again.
    pub(crate) after: Duration,
    /// There are other hosts to be asked for than before.
    pub(crate) asks_others: bool,
}

/// A lookup whose answer is there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked<'f> {
    /// When it was asked for, in seconds since the epoch.
    pub(crate) at: f64,
    /// A number in 0..1, to spread refreshes.
    pub(crate) jitter: f64,
    /// Where the answer comes from, and what went wrong on the way.
    pub(crate) report: &'f Report,
}

impl Pool {
    /// What has to be asked for this name or service.
    pub(crate) fn questions(&self) -> Vec<(SourceId, Ask)> {
        let progress = lock(&self.progress);
        let mut questions: Vec<_> = progress.targets.questions().collect();
        if let (Some((id, _)), Kind::Service { name, rooted }) = (progress.service, &self.kind) {
            questions.push((
                id,
                Ask::Service {
                    name: name.clone(),
                    rooted: *rooted,
                },
            ));
        }
        questions
    }

    /// Takes in a literal address, which counts as an answer.
    pub(crate) fn take_address(&self, ctx: &mut OffTask<'_>, source: SourceId, address: IpAddr) {
        let mut progress = lock(&self.progress);
        let Some(looked_up) = progress.targets.get_mut(source) else {
            return;
        };
        looked_up.set_literal(address);
        let host = Arc::clone(&looked_up.host);
        progress.targets.part();
        self.publish(ctx, &mut progress, |key| key.host == host);
    }

    fn timing(&self) -> Timing {
        let settings = self.director.settings();
        Timing {
            ttl_from: settings.ttl_from,
            ttl: settings.ttl,
            retry_after: settings.retry_after,
        }
    }

    /// Takes in the addresses of a host.
    pub(crate) fn take_host(
        &self,
        ctx: &mut OffTask<'_>,
        source: SourceId,
        answer: &HostAnswer,
        asked: Asked<'_>,
    ) -> Next {
        self.begin(ctx, asked);
        let mut progress = lock(&self.progress);
        let Some(looked_up) = progress.targets.get_mut(source) else {
            // Its target has left: the question is to be dropped.
            return Next {
                after: self.timing().retry_after,
                asks_others: true,
            };
        };
        let settled = settle(&looked_up.good, answer);
        let host = Arc::clone(&looked_up.host);
        looked_up.settled = true;
        // A service has many hosts: the line says which one failed.
        let whose = if self.kind == Kind::Name {
            String::new()
        } else {
            format!("{host} ")
        };
        for (family, record) in [(Family::V4, "A"), (Family::V6, "AAAA")] {
            if let Some(failure) = settled.failures.get(family) {
                self.log(
                    Tag::Error,
                    &format!(
                        "lookup {whose}{record} failed: {}",
                        asked.report.failure(record, *failure)
                    ),
                );
            }
        }
        for address in &asked.report.dropped {
            self.log(
                Tag::Error,
                &format!("address {address} cannot be an endpoint: dropped"),
            );
        }
        if settled.excess > 0 {
            self.log(
                Tag::Error,
                &format!("{} addresses over the limit are left out", settled.excess),
            );
        }
        let after = settled.next_after(&self.timing(), asked.jitter);
        if settled.updated() {
            looked_up.good.clone_from(&settled.good);
        } else {
            self.count(Counter::LookupsFailed);
        }
        let asks_others = progress.targets.part();
        let answered = |key: &Key| key.host == host && settled.answered(Family::of(key.address));
        self.publish(ctx, &mut progress, answered);
        if settled.updated() {
            self.end(ctx, asked);
        }
        Next { after, asks_others }
    }

    /// Takes in the records of a service.
    pub(crate) fn take_service(
        &self,
        ctx: &mut OffTask<'_>,
        answer: &Result<SrvAnswer, Failure>,
        asked: Asked<'_>,
    ) -> Next {
        self.begin(ctx, asked);
        let mut progress = lock(&self.progress);
        if let Some((_, answered)) = &mut progress.service {
            *answered = true;
        }
        let timing = self.timing();
        let answer = match answer {
            Ok(answer) if !answer.records.is_empty() => answer,
            failed => {
                let failure = failed.as_ref().err().copied().unwrap_or(Failure::NoData);
                self.log(
                    Tag::Error,
                    &format!(
                        "lookup SRV failed: {}",
                        asked.report.failure("SRV", failure)
                    ),
                );
                return self.service_failed(ctx, &mut progress, asked);
            }
        };
        let records = targets::from_records(&answer.records, self.port.number);
        if records.unusable > 0 {
            self.log(
                Tag::Error,
                &format!(
                    "{} targets cannot be used and are left out",
                    records.unusable
                ),
            );
        }
        if records.targets.is_empty() {
            // Only `.` says that there are none; junk says nothing.
            if records.unusable > 0 {
                return self.service_failed(ctx, &mut progress, asked);
            }
            self.log(Tag::Log, "service not available: no targets");
        }
        let asks_others = progress.targets.replace(records.targets);
        let stands: HashSet<(Arc<str>, u16)> = progress
            .targets
            .each()
            .map(|(host, target)| (Arc::clone(&host.host), target.port))
            .collect();
        // The records decide about the endpoints of targets that are gone;
        // the others are their hosts' business.
        self.publish(ctx, &mut progress, |key| {
            !stands.contains(&(Arc::clone(&key.host), key.port))
        });
        self.end(ctx, asked);
        let after = refresh_after(timing.ttl_from, timing.ttl, answer.ttl, asked.jitter);
        Next { after, asks_others }
    }

    /// The answer taught nothing: what is there stays.
    fn service_failed(
        &self,
        ctx: &mut OffTask<'_>,
        progress: &mut Progress,
        asked: Asked<'_>,
    ) -> Next {
        self.count(Counter::LookupsFailed);
        self.publish(ctx, progress, |_| false);
        Next {
            after: retry_after(self.timing().retry_after, asked.jitter),
            asks_others: false,
        }
    }

    fn begin(&self, ctx: &OffTask<'_>, asked: Asked<'_>) {
        self.count(Counter::Lookups);
        self.log_time("Lookup", asked.at, asked.at, asked.at);
        self.log_time("Results", ctx.now(), asked.at, asked.at);
    }

    fn end(&self, ctx: &OffTask<'_>, asked: Asked<'_>) {
        self.log_time("Update", clock::now(), asked.at, ctx.now());
    }

    /// A step of a lookup in the engine's form: when, seconds since the lookup
    /// began, and since the step before.
    fn log_time(&self, step: &str, at: f64, since: f64, before: f64) {
        self.log(
            Tag::Timestamp,
            &format!("{step}: {at:.6} {:.6} {:.6}", at - since, at - before),
        );
    }
}
