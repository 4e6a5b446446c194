//! Where the endpoints of a domain come from: sources, which are looked up or
//! given, and targets, which say what the addresses of a source are worth.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashSet};
use std::net::IpAddr;
use std::sync::Arc;

use litemap::LiteMap;

use crate::answer::{Failure, Family, SrvRecord};
use crate::event::Event;
use crate::name::{self, DnsName, Host};
use crate::schedule::{LastGood, PerFamily};

/// Most targets that are taken from one answer.
pub const MAX_TARGETS: usize = 4096;

/// The identity of a source within its domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SourceId(u64);

/// Where a source's addresses come from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// A literal address: nothing has to be asked.
    Literal(IpAddr),
    /// The addresses of a host.
    Addresses(DnsName),
    /// The records of a service.
    Services(DnsName),
}

/// Which of a host's addresses a target takes. `A` stands for an ACL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filter<A> {
    /// All of them.
    All,
    /// Those that match.
    Match(A),
    /// Those that do not match.
    NoMatch(A),
}

/// A host with its port, rank and filter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target<A> {
    /// The host, as parsed.
    pub host: Host,
    /// Whether no search list applies to its name.
    pub absolute: bool,
    /// 1 to 65535.
    pub port: u16,
    /// Lower is tried first.
    pub priority: u32,
    /// The target's share among those of its priority, divided among its
    /// addresses.
    pub weight: u32,
    /// Which addresses count.
    pub filter: Filter<A>,
}

impl<A> Target<A> {
    /// A host by itself.
    #[must_use]
    pub fn new(parsed: &name::Target, port: u16) -> Self {
        Target {
            host: parsed.host.clone(),
            absolute: parsed.absolute,
            port,
            priority: 0,
            weight: 1,
            filter: Filter::All,
        }
    }

    /// A record of a service; `None` for one whose target cannot be a host.
    fn of(record: &SrvRecord, port: u16) -> Option<Self> {
        let parsed = name::parse(record.target.as_bytes()).ok()?;
        if parsed.port.is_some() {
            return None;
        }
        Some(Target {
            host: parsed.host,
            // What DNS says is a full name.
            absolute: true,
            port: if record.port == 0 { port } else { record.port },
            priority: record.priority.into(),
            weight: record.weight.into(),
            filter: Filter::All,
        })
    }

    fn origin(&self) -> Origin {
        match &self.host {
            Host::Ip(address) => Origin::Literal(*address),
            Host::Dns(text) => Origin::Addresses(DnsName {
                text: text.clone(),
                absolute: self.absolute,
            }),
        }
    }
}

/// What a service's records come to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Records<A> {
    /// The targets, best priority first.
    pub targets: Vec<Target<A>>,
    /// Records that are left out: their target cannot be a host, or they are
    /// over [`MAX_TARGETS`].
    pub unusable: usize,
}

impl<A> Records<A> {
    /// The targets of a service's records (RFC 2782). `.` stands for "not
    /// available": no targets. `port` is used where a record has port 0. Of
    /// several records for one host and port the best priority counts; those
    /// of that priority add their weights.
    #[must_use]
    pub fn new(records: &[SrvRecord], port: u16) -> Self {
        let mut sorted: Vec<&SrvRecord> = records.iter().filter(|r| !r.target.is_empty()).collect();
        sorted.sort_by_key(|r| (r.priority, Reverse(r.weight)));
        let given = sorted.len();
        let usable: Vec<Target<A>> = sorted
            .into_iter()
            .filter_map(|r| Target::of(r, port))
            .take(MAX_TARGETS)
            .collect();
        let unusable = given - usable.len();
        let mut places: BTreeMap<(Host, u16), usize> = BTreeMap::new();
        let mut targets: Vec<Target<A>> = Vec::with_capacity(usable.len());
        for target in usable {
            let place = *places
                .entry((target.host.clone(), target.port))
                .or_insert(targets.len());
            match targets.get_mut(place) {
                Some(known) if known.priority == target.priority => {
                    known.weight = known.weight.saturating_add(target.weight);
                }
                Some(_) => {}
                None => targets.push(target),
            }
        }
        Records { targets, unusable }
    }
}

/// Seconds after which a failure that lasts is logged again.
const REMIND: f64 = 600.0;

/// How lookups of one record type fail, so that the log has a line when that
/// changes and not for each of them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Failing(Option<(Failure, f64)>);

impl Failing {
    /// Notes how a lookup failed, or that it did not. Whether the log is to
    /// say so: where the failure is another one than before, or was logged
    /// long ago.
    pub fn is_news(&mut self, now: f64, failure: Option<Failure>) -> bool {
        let Some(failure) = failure else {
            self.0 = None;
            return false;
        };
        let known = self
            .0
            .is_some_and(|(known, at)| known == failure && now - at < REMIND);
        if !known {
            self.0 = Some((failure, now));
        }
        !known
    }
}

/// A host whose addresses are known or looked up.
#[derive(Debug)]
pub struct Source {
    /// The host's text, which is part of its endpoints' identity.
    pub host: Arc<str>,
    origin: Origin,
    /// Its addresses, as last learned.
    pub good: LastGood,
    /// Whether a first lookup has ended, well or not.
    pub looked_up: bool,
    /// Addresses of the last answers that can be no endpoint.
    unusable: Vec<IpAddr>,
    failing: PerFamily<Failing>,
}

impl Source {
    /// Takes a literal address as its answer.
    pub fn set_literal(&mut self, address: IpAddr) {
        self.good = LastGood::default();
        match Family::of(address) {
            Family::V4 => self.good.v4.push(address),
            Family::V6 => self.good.v6.push(address),
        }
        self.looked_up = true;
    }

    /// Notes how a family failed; see [`Failing::is_news`]. One that was not
    /// asked stays as it is.
    pub fn is_news(
        &mut self,
        now: f64,
        family: Family,
        failure: Option<Failure>,
        asked: bool,
    ) -> bool {
        let failing = match family {
            Family::V4 => &mut self.failing.v4,
            Family::V6 => &mut self.failing.v6,
        };
        asked && failing.is_news(now, failure)
    }

    /// Notes addresses that can be no endpoint: an event for each that was not
    /// in the last answer.
    pub fn drop_unusable(&mut self, addresses: &[IpAddr]) -> Vec<Event> {
        let known = std::mem::replace(&mut self.unusable, addresses.to_vec());
        self.unusable.sort_unstable();
        self.unusable.dedup();
        self.unusable
            .iter()
            .filter(|address| !known.contains(address))
            .map(|address| Event::NotAnEndpoint(*address))
            .collect()
    }
}

/// The sources and targets of one domain.
///
/// Most domains have one of each: the maps take no more memory than they hold.
#[derive(Debug)]
pub struct Targets<A> {
    sources: LiteMap<SourceId, Source>,
    by_origin: LiteMap<Origin, SourceId>,
    current: Vec<(SourceId, Target<A>)>,
    /// Targets that the service has no more, until each of the new ones was
    /// looked up: a service that moves must not be without backends.
    departing: Vec<(SourceId, Target<A>)>,
    last_id: u64,
}

impl<A> Default for Targets<A> {
    fn default() -> Self {
        Targets {
            sources: LiteMap::with_capacity(1),
            by_origin: LiteMap::with_capacity(1),
            current: Vec::with_capacity(1),
            departing: Vec::new(),
            last_id: 0,
        }
    }
}

impl<A> Targets<A> {
    /// An identity that no source of this domain has had.
    pub fn next_id(&mut self) -> SourceId {
        self.last_id += 1;
        SourceId(self.last_id)
    }

    /// Adds a target.
    pub fn add(&mut self, target: Target<A>) {
        let id = self.source_of(&target);
        self.current.push((id, target));
    }

    /// The source of a target, made if there is none.
    fn source_of(&mut self, target: &Target<A>) -> SourceId {
        let origin = target.origin();
        if let Some(known) = self.by_origin.get(&origin) {
            return *known;
        }
        let id = self.next_id();
        self.by_origin.insert(origin.clone(), id);
        let source = Source {
            host: target.host.to_string().into(),
            origin,
            good: LastGood::default(),
            looked_up: false,
            unusable: Vec::new(),
            failing: PerFamily::default(),
        };
        self.sources.insert(id, source);
        id
    }

    /// Takes these targets instead. Whether there are other sources to be
    /// looked up than before.
    pub fn replace(&mut self, targets: Vec<Target<A>>) -> bool {
        let before = self.last_id;
        let targets: Vec<(SourceId, Target<A>)> = targets
            .into_iter()
            .map(|target| (self.source_of(&target), target))
            .collect();
        let stays: HashSet<(SourceId, u16)> = targets.iter().map(|(id, t)| (*id, t.port)).collect();
        let gone = std::mem::replace(&mut self.current, targets);
        self.departing.extend(gone);
        self.departing
            .retain(|(id, t)| !stays.contains(&(*id, t.port)));
        self.drop_departed() || self.last_id != before
    }

    /// Lets the departing targets go, if no new one has to be waited for.
    /// Whether sources went with them.
    pub fn drop_departed(&mut self) -> bool {
        let wanted: HashSet<SourceId> = self.current.iter().map(|(id, _)| *id).collect();
        let waits = wanted
            .iter()
            .any(|id| self.sources.get(id).is_some_and(|s| !s.looked_up));
        if !waits {
            self.departing.clear();
        }
        let kept: HashSet<SourceId> = self.departing.iter().map(|(id, _)| *id).collect();
        let before = self.sources.len();
        self.sources
            .retain(|id, _| wanted.contains(id) || kept.contains(id));
        let sources = &self.sources;
        self.by_origin.retain(|_, id| sources.contains_key(id));
        before != self.sources.len()
    }

    /// Whether each source was looked up once.
    #[must_use]
    pub fn looked_up(&self) -> bool {
        self.sources.values().all(|source| source.looked_up)
    }

    /// Whether a target that is not looked up yet would be better than all
    /// that have addresses.
    #[must_use]
    pub fn better_is_pending(&self) -> bool {
        let place = |t: &Target<A>| (t.priority, t.weight == 0);
        let mut best_known = None;
        let mut best_pending = None;
        for (source, target) in self.each() {
            let best = if !source.looked_up {
                &mut best_pending
            } else if source.good.addresses().is_empty() {
                continue;
            } else {
                &mut best_known
            };
            let place = place(target);
            *best = Some(best.map_or(place, |b: (u32, bool)| b.min(place)));
        }
        match (best_pending, best_known) {
            (Some(pending), Some(known)) => pending < known,
            _ => false,
        }
    }

    /// A source.
    #[must_use]
    pub fn get(&self, id: SourceId) -> Option<&Source> {
        self.sources.get(&id)
    }

    /// A source.
    pub fn get_mut(&mut self, id: SourceId) -> Option<&mut Source> {
        self.sources.get_mut(&id)
    }

    /// What has to be asked, source by source.
    pub fn origins(&self) -> impl Iterator<Item = (SourceId, &Origin)> {
        self.sources
            .iter()
            .map(|(id, source)| (*id, &source.origin))
    }

    /// Each target with its source.
    pub fn each(&self) -> impl Iterator<Item = (&Source, &Target<A>)> {
        self.current
            .iter()
            .chain(&self.departing)
            .filter_map(|(id, target)| Some((self.get(*id)?, target)))
    }
}
