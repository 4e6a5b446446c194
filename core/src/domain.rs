//! What an answer does to a domain (a name or a service).
//!
//! Each answer is taken in by `on_...`, which says what was learned and when to
//! ask again. [`DomainState::update`] then compares what is known with what is
//! in force and says for which endpoints a leaf is missing; the shell makes
//! these, and [`DomainState::publish`] says whether the outcome is to be
//! published, when to try again, and what the log is to say.
//!
//! `A` stands for an ACL, `L` for the engine's backend of an endpoint. Times
//! are seconds since the epoch.

mod step;

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;

use crate::address::is_endpoint;
use crate::answer::{Failure, Family, SrvAnswer};
use crate::event::Event;
use crate::membership::{Desired, Membership, Rank};
use crate::name::DnsName;
use crate::schedule::{PartialAnswer, refresh_after, retry_after, settle_partial};
use crate::targets::{Failing, Filter, Origin, Records, SourceId, Target, Targets};

pub use step::{
    AddressRules, Answered, Backend, EndpointKey, Learned, Moment, Progress, Step, Update,
    UpdateRules,
};

/// Seconds until refused leaves are first tried again while nothing serves
/// yet. Each further time takes twice as long, up to `retry_after`.
const FIRST_RETRY: f64 = 0.2;

/// For how many seconds the answers of new targets are gathered.
const GATHER: f64 = 0.1;
/// The same before the first of them serve, where requests name endpoints: one
/// that is not known yet would be taken for one that is gone.
const GATHER_NAMED: f64 = 1.0;
/// The same before the first of them serve, while a better target than those
/// that are known is looked up.
const GATHER_BETTER: f64 = 0.5;

/// What is known of a domain, and what is in force.
#[derive(Debug)]
pub struct DomainState<A, L> {
    targets: Targets<A>,
    /// The question for a service's records, and whether it was answered.
    service: Option<(SourceId, DnsName, bool)>,
    members: Membership<EndpointKey, L>,
    /// Addresses that were dropped, to log each once.
    dropped: BTreeSet<(IpAddr, u16)>,
    /// How the lookup of a service's records fails.
    service_failing: Failing,
    /// Whether anything was published.
    published: bool,
    /// Seconds until missing leaves are tried again while nothing serves yet.
    retry_backoff: f64,
    /// Until when the answers of further new targets are only noted.
    gathers_until: f64,
}

impl<A, L: Clone> DomainState<A, L> {
    /// A domain with these targets, and those of a service's records.
    #[must_use]
    pub fn new(service: Option<DnsName>, given: Vec<Target<A>>) -> Self {
        let mut targets = Targets::default();
        let service = service.map(|name| (targets.next_id(), name, false));
        for target in given {
            targets.add(target);
        }
        DomainState {
            targets,
            service,
            members: Membership::new(),
            dropped: BTreeSet::new(),
            service_failing: Failing::default(),
            published: false,
            retry_backoff: FIRST_RETRY,
            gathers_until: 0.0,
        }
    }

    /// Adds a target that VCL lists.
    pub fn add(&mut self, target: Target<A>) {
        self.targets.add(target);
    }

    /// Lets go of all leaves.
    pub fn clear(&mut self) {
        self.members = Membership::new();
    }

    /// What has to be asked.
    #[must_use]
    pub fn origins(&self) -> Vec<(SourceId, Origin)> {
        let mut all: Vec<_> = self
            .targets
            .origins()
            .map(|(id, origin)| (id, origin.clone()))
            .collect();
        if let Some((id, name, _)) = &self.service {
            all.push((*id, Origin::Services(name.clone())));
        }
        all
    }

    /// The targets, for lists.
    #[must_use]
    pub fn targets(&self) -> &Targets<A> {
        &self.targets
    }

    /// Whether everything was looked up once.
    fn looked_up(&self) -> bool {
        self.service
            .as_ref()
            .is_none_or(|(_, _, answered)| *answered)
            && self.targets.looked_up()
    }

    /// Takes in a literal address, which counts as an answer.
    pub fn on_literal(&mut self, source: SourceId, address: IpAddr) -> Answered {
        let Some(source) = self.targets.get_mut(source) else {
            return Answered::Nothing;
        };
        source.set_literal(address);
        let host = Arc::clone(&source.host);
        self.targets.drop_departed();
        Answered::Host {
            host,
            v4: true,
            v6: true,
        }
    }

    /// Takes in the addresses of a host; a family may be missing. `dropped` are addresses of the answer
    /// that can be no endpoint. `why` says how a record type failed.
    pub fn on_addresses(
        &mut self,
        at: Moment,
        source: SourceId,
        answer: &PartialAnswer,
        dropped: &[IpAddr],
        rules: &UpdateRules,
        why: impl Fn(&str, Failure) -> String,
    ) -> Learned {
        let several = self.service.is_some() || self.targets.each().count() > 1;
        let Some(source) = self.targets.get_mut(source) else {
            // Its target has left: the question is to be dropped.
            return Learned {
                after: rules.timing.retry_after,
                asks_others: true,
                updated: false,
                failed: false,
                answered: Answered::Nothing,
                events: Vec::new(),
            };
        };
        let mut events = Vec::new();
        let settled = settle_partial(&source.good, answer);
        let host = Arc::clone(&source.host);
        source.looked_up = true;
        if settled.updated() {
            source.good.clone_from(&settled.good);
        }
        for (family, record) in [(Family::V4, "A"), (Family::V6, "AAAA")] {
            let failure = *settled.failures.get(family);
            if !source.is_news(at.now, family, failure, *settled.asked.get(family)) {
                continue;
            }
            if let Some(failure) = failure {
                events.push(Event::LookupFailed {
                    host: several.then(|| Arc::clone(&host)),
                    record,
                    why: why(record, failure),
                });
            }
        }
        events.extend(source.drop_unusable(dropped));
        if settled.excess > 0 {
            events.push(Event::ExcessAddresses(settled.excess));
        }
        Learned {
            after: settled.next_after(&rules.timing, at.jitter),
            asks_others: self.targets.drop_departed(),
            updated: settled.updated(),
            failed: settled.failures.v4.is_some() || settled.failures.v6.is_some(),
            answered: Answered::Host {
                host,
                v4: settled.answered(Family::V4),
                v6: settled.answered(Family::V6),
            },
            events,
        }
    }

    /// Takes in the records of a service.
    pub fn on_services(
        &mut self,
        at: Moment,
        answer: &Result<SrvAnswer, Failure>,
        rules: &UpdateRules,
        why: impl Fn(&str, Failure) -> String,
    ) -> Learned {
        if let Some((_, _, answered)) = &mut self.service {
            *answered = true;
        }
        let mut events = Vec::new();
        let failed = |events| Learned {
            after: retry_after(rules.timing.retry_after, at.jitter),
            asks_others: false,
            updated: false,
            failed: true,
            answered: Answered::Nothing,
            events,
        };
        let answer = match answer {
            Ok(answer) if !answer.records.is_empty() => answer,
            other => {
                let failure = other.as_ref().err().copied().unwrap_or(Failure::NoData);
                if self.service_failing.is_news(at.now, Some(failure)) {
                    events.push(Event::LookupFailed {
                        host: None,
                        record: "SRV",
                        why: why("SRV", failure),
                    });
                }
                return failed(events);
            }
        };
        self.service_failing.is_news(at.now, None);
        let records = Records::new(&answer.records, rules.port);
        if records.unusable > 0 {
            events.push(Event::UnusableTargets(records.unusable));
        }
        if records.targets.is_empty() {
            // Only `.` says that there are none. Unusable records prove
            // nothing.
            if records.unusable > 0 {
                return failed(events);
            }
            events.push(Event::NotAvailable);
        }
        let asks_others = self.targets.replace(records.targets);
        // The records decide about the endpoints of targets that are gone;
        // about the others their hosts' answers do.
        let stand = self
            .targets
            .each()
            .map(|(source, target)| (Arc::clone(&source.host), target.port))
            .collect();
        let timing = &rules.timing;
        Learned {
            after: refresh_after(timing.ttl_from, timing.ttl, answer.ttl, at.jitter),
            asks_others,
            updated: true,
            failed: false,
            answered: Answered::Records(stand),
            events,
        }
    }

    /// Compares what is known with what is in force.
    pub fn update(
        &mut self,
        now: f64,
        answered: &Answered,
        rules: &UpdateRules,
        addresses: &mut impl AddressRules<A>,
    ) -> Progress {
        if self.gathers_until == 0.0 {
            if rules.names_endpoints {
                self.gathers_until = now + GATHER_NAMED;
            } else if self.targets.better_is_pending() {
                self.gathers_until = now + GATHER_BETTER;
            }
        }
        // Of a thousand new targets, to take in each by itself would be a
        // million steps.
        let waits_for_better =
            self.published || rules.names_endpoints || self.targets.better_is_pending();
        if !self.looked_up() && waits_for_better && now < self.gathers_until {
            return Progress::Gathering {
                until: self.gathers_until,
            };
        }
        let (desired, errors) = self.desired(addresses);
        let change = self
            .members
            .update(desired, |key| answered.covers(key), rules.keep);
        let missing: Vec<EndpointKey> = self
            .members
            .present()
            .filter(|(_, member)| member.value.is_none())
            .map(|(key, _)| key.clone())
            .collect();
        if change.is_empty() && missing.is_empty() && self.published {
            return Progress::Unchanged { errors };
        }
        Progress::Changed(Update {
            missing,
            errors,
            change,
        })
    }

    /// The leaves of an update were made, or refused with a reason: whether it
    /// comes into force. `now` is the time after that.
    pub fn publish(
        &mut self,
        now: f64,
        update: Update,
        made: Vec<(EndpointKey, Result<L, String>)>,
        rules: &UpdateRules,
    ) -> Step<L> {
        let mut events = Vec::new();
        let change = update.change;
        events.extend(
            change
                .absent
                .iter()
                .map(|k| Event::Absent(k.id(), rules.keep)),
        );
        events.extend(change.deleted.iter().map(|k| Event::Deleted(k.id())));
        events.extend(change.returned.iter().map(|d| Event::Returned(d.key.id())));
        let mut refused = Vec::new();
        for (key, leaf) in made {
            match leaf {
                Ok(leaf) => {
                    let score = self.members.get(&key).map_or(0, |member| member.rank.score);
                    events.push(Event::Added(key.id(), score));
                    self.members.set_value(&key, leaf);
                }
                Err(reason) => refused.push(Event::Refused(key.id(), reason)),
            }
        }
        let backends: Vec<Backend<L>> = self
            .members
            .present()
            .filter_map(|(key, member)| {
                Some(Backend {
                    key: key.clone(),
                    rank: member.rank,
                    leaf: member.value.clone()?,
                })
            })
            .collect();
        let complete = refused.is_empty();
        let nothing_to_serve = !self.published && backends.is_empty();
        let mut again = rules.timing.retry_after.as_secs_f64();
        if nothing_to_serve && !complete {
            again = again.min(self.retry_backoff);
            self.retry_backoff *= 2.0;
        }
        let retry_at = (!complete).then_some(now + again);
        if nothing_to_serve && !(complete && self.looked_up()) {
            // Something may come yet, as what leaves go through may itself be
            // looked up: requests that wait go on waiting.
            return Step {
                publish: None,
                retry_at,
                events: refused,
            };
        }
        self.gathers_until = now + GATHER;
        self.published = true;
        events.extend(refused);
        Step {
            publish: Some(backends),
            retry_at,
            events,
        }
    }

    /// The endpoints that the targets ask for, whitelisted and ranked, and a
    /// line for each address that is dropped for the first time.
    fn desired(
        &mut self,
        addresses: &mut impl AddressRules<A>,
    ) -> (Vec<Desired<EndpointKey>>, Vec<Event>) {
        let mut desired = Vec::new();
        let mut dropped = BTreeSet::new();
        let mut events = Vec::new();
        for (source, target) in self.targets.each() {
            for address in source.good.addresses() {
                let takes = match &target.filter {
                    Filter::All => true,
                    Filter::Match(acl) => addresses.matches(acl, address),
                    Filter::NoMatch(acl) => !addresses.matches(acl, address),
                };
                if !takes {
                    continue;
                }
                let key = EndpointKey {
                    address,
                    port: target.port,
                    host: Arc::clone(&source.host),
                };
                let reason = if !is_endpoint(address) {
                    Event::NotAnEndpoint(address)
                } else if !addresses.allows(address) {
                    Event::Whitelist(key.id())
                } else {
                    let rank = Rank {
                        priority: target.priority,
                        weight: target.weight,
                        score: addresses.score(address),
                    };
                    desired.push(Desired { key, rank });
                    continue;
                };
                let known = (address, target.port);
                if dropped.insert(known) && !self.dropped.contains(&known) {
                    events.push(reason);
                }
            }
        }
        self.dropped = dropped;
        (desired, events)
    }
}
