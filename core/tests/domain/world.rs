//! A domain with a shell that a test sets by hand: it makes leaves, numbered
//! in the order in which they are made, and refuses what the test says.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::time::Duration;

use dynamic_core::answer::{Addresses, Failure, Family, HostAnswer, SrvAnswer, SrvRecord};
use dynamic_core::domain::{
    AddressRules, Answered, Backend, DomainState, EndpointKey, Learned, Moment, Progress,
    UpdateRules,
};
use dynamic_core::name::{self, DnsName};
use dynamic_core::schedule::{PartialAnswer, PerFamily, Timing, TtlFrom};
use dynamic_core::targets::{Filter, Origin, SourceId, Target};

/// An ACL that matches these addresses.
pub(crate) type Acl = Vec<IpAddr>;

/// The director's ACLs.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    pub(crate) whitelist: Option<Acl>,
    pub(crate) scores: BTreeMap<IpAddr, i64>,
    /// Addresses whose score was asked for.
    pub(crate) scored: BTreeSet<IpAddr>,
}

impl AddressRules<Acl> for Rules {
    fn matches(&mut self, acl: &Acl, address: IpAddr) -> bool {
        acl.contains(&address)
    }

    fn allows(&mut self, address: IpAddr) -> bool {
        self.whitelist
            .as_ref()
            .is_none_or(|acl| acl.contains(&address))
    }

    fn score(&mut self, address: IpAddr) -> i64 {
        self.scored.insert(address);
        self.scores.get(&address).copied().unwrap_or(0)
    }
}

/// A domain and all that a test sees of it.
pub(crate) struct World {
    pub(crate) state: DomainState<Acl, usize>,
    pub(crate) settings: UpdateRules,
    pub(crate) rules: Rules,
    /// Addresses for which no leaf is made.
    pub(crate) refuses: BTreeSet<IpAddr>,
    /// All leaves ever made.
    pub(crate) made: Vec<EndpointKey>,
    /// What is in force; `None` before the first publication.
    pub(crate) published: Option<Vec<Backend<usize>>>,
    /// When the domain wants to be called again.
    pub(crate) again_at: Option<f64>,
    /// Log lines since the last [`log`](Self::log).
    lines: Vec<String>,
    pub(crate) now: f64,
}

pub(crate) const SETTINGS: UpdateRules = UpdateRules {
    timing: Timing {
        ttl_from: TtlFrom::Cfg,
        ttl: Duration::from_secs(60),
        retry_after: Duration::from_secs(30),
    },
    keep: 3,
    port: 80,
    names_endpoints: false,
};

impl World {
    fn with(state: DomainState<Acl, usize>) -> Self {
        World {
            state,
            settings: SETTINGS,
            rules: Rules::default(),
            refuses: BTreeSet::new(),
            made: Vec::new(),
            published: None,
            again_at: None,
            lines: Vec::new(),
            now: 1000.0,
        }
    }

    /// A domain of these targets.
    pub(crate) fn of(targets: Vec<Target<Acl>>) -> Self {
        World::with(DomainState::new(None, targets))
    }

    /// A domain of one host, `a`, on port 80.
    pub(crate) fn host() -> Self {
        World::of(vec![target("a", 80)])
    }

    /// The domain of a service's records.
    pub(crate) fn service() -> Self {
        let name = DnsName {
            text: "_http._tcp.example".to_owned(),
            absolute: false,
        };
        World::with(DomainState::new(Some(name), Vec::new()))
    }

    pub(crate) fn source(&self, host: &str) -> Option<SourceId> {
        let is_host = |origin: &Origin| match origin {
            Origin::Addresses(name) => name.text == host,
            Origin::Literal(address) => address.to_string() == host,
            Origin::Services(_) => false,
        };
        let mut origins = self.state.origins().into_iter();
        origins.find(|(_, o)| is_host(o)).map(|(id, _)| id)
    }

    /// The hosts that are to be asked, in alphabetical order.
    pub(crate) fn asked(&self) -> Vec<String> {
        let mut hosts: Vec<String> = self
            .state
            .targets()
            .origins()
            .filter_map(|(_, origin)| match origin {
                Origin::Addresses(name) => Some(name.text.clone()),
                _ => None,
            })
            .collect();
        hosts.sort();
        hosts
    }

    /// An answer for a host that is asked.
    pub(crate) fn answer(&mut self, host: &str, answer: &HostAnswer) -> Learned {
        let source = self.source(host).unwrap();
        self.answer_for(source, answer, &[])
    }

    pub(crate) fn answer_for(
        &mut self,
        source: SourceId,
        answer: &HostAnswer,
        dropped: &[IpAddr],
    ) -> Learned {
        let answer = PerFamily {
            v4: Some(answer.v4.clone()),
            v6: Some(answer.v6.clone()),
        };
        self.partial_for(source, &answer, dropped)
    }

    /// An answer in which a family may be missing.
    pub(crate) fn partial_for(
        &mut self,
        source: SourceId,
        answer: &PartialAnswer,
        dropped: &[IpAddr],
    ) -> Learned {
        let (at, settings) = (self.moment(), self.settings);
        let learned = self
            .state
            .on_addresses(at, source, answer, dropped, &settings, why);
        self.take(learned)
    }

    /// A good answer for a host, with the addresses of both families.
    pub(crate) fn good(&mut self, host: &str, addresses: &[&str]) -> Learned {
        self.answer(host, &good(addresses))
    }

    /// The same failure for both families.
    pub(crate) fn fails(&mut self, host: &str, failure: Failure) -> Learned {
        self.answer(host, &failed(failure))
    }

    /// Records of the service, as `(priority, weight, port, target)`.
    pub(crate) fn records(&mut self, records: &[(u16, u16, u16, &str)]) -> Learned {
        self.service_answer(&Ok(SrvAnswer {
            records: srv(records),
            ttl: None,
        }))
    }

    pub(crate) fn service_answer(&mut self, answer: &Result<SrvAnswer, Failure>) -> Learned {
        let (at, settings) = (self.moment(), self.settings);
        let learned = self.state.on_services(at, answer, &settings, why);
        self.take(learned)
    }

    fn moment(&self) -> Moment {
        Moment {
            now: self.now,
            jitter: 0.5,
        }
    }

    pub(crate) fn literal(&mut self, address: &str) {
        let source = self.source(address).unwrap();
        let answered = self.state.on_literal(source, ip(address));
        self.update(&answered);
    }

    fn take(&mut self, learned: Learned) -> Learned {
        self.lines
            .extend(learned.events.iter().map(ToString::to_string));
        self.update(&learned.answered);
        learned
    }

    /// Goes on to the time at which the domain wants to be called, and calls it.
    pub(crate) fn call_again(&mut self) {
        self.now = self.again_at.unwrap();
        self.update(&Answered::Nothing);
    }

    /// Does with the state what the shell does.
    pub(crate) fn update(&mut self, answered: &Answered) {
        let (now, settings) = (self.now, self.settings);
        let progress = self.state.update(now, answered, &settings, &mut self.rules);
        let update = match progress {
            Progress::Gathering { until } => {
                assert!(until > now, "gathering ends in the future");
                self.again_at = Some(until);
                return;
            }
            Progress::Unchanged { errors } => {
                self.again_at = None;
                self.lines.extend(errors.iter().map(ToString::to_string));
                return;
            }
            Progress::Changed(update) => update,
        };
        self.lines
            .extend(update.errors.iter().map(ToString::to_string));
        let mut made = Vec::new();
        for key in &update.missing {
            let leaf = if self.refuses.contains(&key.address) {
                Err("no more".to_owned())
            } else {
                self.made.push(key.clone());
                Ok(self.made.len() - 1)
            };
            made.push((key.clone(), leaf));
        }
        let step = self.state.publish(now, update, made, &settings);
        self.again_at = step.retry_at;
        if let Some(backends) = step.publish {
            self.published = Some(backends);
        }
        self.lines
            .extend(step.events.iter().map(ToString::to_string));
    }

    /// What was logged since the last call.
    pub(crate) fn log(&mut self) -> Vec<String> {
        std::mem::take(&mut self.lines)
    }

    /// What is in force, as `address:port`; `["pending"]` before the first
    /// publication.
    pub(crate) fn ids(&self) -> Vec<String> {
        match &self.published {
            None => vec!["pending".to_owned()],
            Some(backends) => backends.iter().map(|b| b.key.id().to_string()).collect(),
        }
    }

    /// The leaf of a published endpoint.
    pub(crate) fn leaf(&self, id: &str) -> usize {
        self.backend(id).leaf
    }

    pub(crate) fn backend(&self, id: &str) -> &Backend<usize> {
        let mut all = self.published.as_ref().unwrap().iter();
        all.find(|b| b.key.id().to_string() == id).unwrap()
    }
}

fn why(record: &str, failure: Failure) -> String {
    format!("{record} {failure}")
}

pub(crate) fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

pub(crate) fn ips(texts: &[&str]) -> Vec<IpAddr> {
    texts.iter().map(|text| ip(text)).collect()
}

/// A host as VCL writes it.
pub(crate) fn target(host: &str, port: u16) -> Target<Acl> {
    Target::new(&name::parse(host.as_bytes()).unwrap(), port)
}

/// A host of a priority, of whose addresses a filter takes some.
pub(crate) fn filtered(host: &str, priority: u32, filter: Filter<Acl>) -> Target<Acl> {
    Target {
        priority,
        filter,
        ..target(host, 80)
    }
}

/// Records, as `(priority, weight, port, target)`.
pub(crate) fn srv(records: &[(u16, u16, u16, &str)]) -> Vec<SrvRecord> {
    let record = |&(priority, weight, port, target): &(u16, u16, u16, &str)| SrvRecord {
        priority,
        weight,
        port,
        target: target.to_owned(),
    };
    records.iter().map(record).collect()
}

/// An answer with these addresses; a family without one has no data.
pub(crate) fn good(addresses: &[&str]) -> HostAnswer {
    let family = |family| {
        let mut addresses = ips(addresses);
        addresses.retain(|address| Family::of(*address) == family);
        if addresses.is_empty() {
            return Err(Failure::NoData);
        }
        let ttl = None;
        Ok(Addresses { addresses, ttl })
    };
    HostAnswer {
        v4: family(Family::V4),
        v6: family(Family::V6),
    }
}

/// An answer in which both families fail.
pub(crate) fn failed(failure: Failure) -> HostAnswer {
    HostAnswer {
        v4: Err(failure),
        v6: Err(failure),
    }
}
