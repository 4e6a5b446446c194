//! Where the endpoints of a name or service come from: hosts that are looked
//! up, and targets that say what their addresses are worth.

use std::collections::HashSet;
use std::net::IpAddr;
use std::sync::Arc;

use dynamic_core::answer::{Family, SrvRecord};
use dynamic_core::name::{self, Host, Target as Parsed};
use dynamic_core::schedule::LastGood;
use litemap::LiteMap;

use crate::vrt::Acl;

/// The identity of a question of a name or service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct SourceId(u64);

/// What has to be asked.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Ask {
    /// Nothing: the address is given.
    Address(IpAddr),
    /// The addresses of a host.
    Host {
        /// Canonical form.
        name: String,
        /// Written with a trailing dot: no search list.
        rooted: bool,
    },
    /// The targets of a service.
    Service {
        /// Canonical form.
        name: String,
        /// Written with a trailing dot: no search list.
        rooted: bool,
    },
}

/// Which of a host's addresses a target takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Filter {
    /// All of them.
    All,
    /// Those that match.
    Match(Acl),
    /// Those that do not match.
    NoMatch(Acl),
}

/// A host that is looked up.
#[derive(Debug)]
pub(super) struct LookedUp {
    pub(super) host: Arc<str>,
    ask: Ask,
    /// Its addresses, as last learned.
    pub(super) good: LastGood,
    /// Whether a first lookup has ended, well or not.
    pub(super) settled: bool,
}

/// What the addresses of a host are worth.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    /// The host, as parsed.
    pub(crate) host: Host,
    /// Written with a trailing dot.
    pub(crate) rooted: bool,
    /// 1 to 65535.
    pub(crate) port: u16,
    /// Lower is tried first.
    pub(crate) priority: u32,
    /// The share within a tier.
    pub(crate) weight: u32,
    /// Which addresses count.
    pub(crate) filter: Filter,
}

impl Target {
    /// A host by itself.
    pub(crate) fn new(parsed: &Parsed, port: u16) -> Self {
        Target {
            host: parsed.host.clone(),
            rooted: parsed.rooted,
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
            rooted: true,
            port: if record.port == 0 { port } else { record.port },
            priority: record.priority.into(),
            weight: record.weight.into(),
            filter: Filter::All,
        })
    }

    fn ask(&self) -> Ask {
        match &self.host {
            Host::Ip(address) => Ask::Address(*address),
            Host::Dns(name) => Ask::Host {
                name: name.clone(),
                rooted: self.rooted,
            },
        }
    }
}

/// Most targets that are taken from one answer.
pub(super) const MOST_TARGETS: usize = 4096;

/// What a service's records come to.
pub(super) struct Records {
    pub(super) targets: Vec<Target>,
    /// Records that are left out: their target cannot be a host, or they are
    /// over the limit.
    pub(super) unusable: usize,
}

/// The targets of a service's records (RFC 2782). `.` stands for "not
/// available": no targets. `port` is used where a record has port 0. Of
/// several records for one host and port the best counts.
pub(super) fn from_records(records: &[SrvRecord], port: u16) -> Records {
    let mut sorted: Vec<&SrvRecord> = records.iter().filter(|r| !r.target.is_empty()).collect();
    sorted.sort_by_key(|r| (r.priority, std::cmp::Reverse(r.weight)));
    let given = sorted.len();
    let mut targets: Vec<Target> = sorted
        .into_iter()
        .filter_map(|r| Target::of(r, port))
        .take(MOST_TARGETS)
        .collect();
    let unusable = given - targets.len();
    let mut seen = HashSet::new();
    targets.retain(|t| seen.insert((t.host.clone(), t.port)));
    Records { targets, unusable }
}

/// The hosts and targets of one name or service.
///
/// Most names have one of each: the maps take no more memory than they hold.
#[derive(Debug)]
pub(super) struct Targets {
    hosts: LiteMap<SourceId, LookedUp>,
    by_ask: LiteMap<Ask, SourceId>,
    current: Vec<(SourceId, Target)>,
    /// Targets that the service has no more, until each of the new ones was
    /// looked up: a service that moves must not be without backends.
    leaving: Vec<(SourceId, Target)>,
    next: u64,
}

impl Default for Targets {
    fn default() -> Self {
        Targets {
            hosts: LiteMap::with_capacity(1),
            by_ask: LiteMap::with_capacity(1),
            current: Vec::with_capacity(1),
            leaving: Vec::new(),
            next: 0,
        }
    }
}

impl Targets {
    /// A fresh identity.
    pub(super) fn fresh(&mut self) -> SourceId {
        self.next += 1;
        SourceId(self.next)
    }

    /// Adds a target.
    pub(super) fn add(&mut self, target: Target) {
        let id = self.host(&target);
        self.current.push((id, target));
    }

    /// The host of a target, made known if need be.
    fn host(&mut self, target: &Target) -> SourceId {
        let ask = target.ask();
        if let Some(known) = self.by_ask.get(&ask) {
            return *known;
        }
        let id = self.fresh();
        self.by_ask.insert(ask.clone(), id);
        let looked_up = LookedUp {
            host: target.host.to_string().into(),
            ask,
            good: LastGood::default(),
            settled: false,
        };
        self.hosts.insert(id, looked_up);
        id
    }

    /// Takes these targets instead. Whether there are other hosts to be looked
    /// up than before.
    pub(super) fn replace(&mut self, targets: Vec<Target>) -> bool {
        let before = self.next;
        let targets: Vec<(SourceId, Target)> =
            targets.into_iter().map(|t| (self.host(&t), t)).collect();
        let stays: HashSet<(SourceId, u16)> = targets.iter().map(|(id, t)| (*id, t.port)).collect();
        let gone = std::mem::replace(&mut self.current, targets);
        self.leaving.extend(gone);
        self.leaving
            .retain(|(id, t)| !stays.contains(&(*id, t.port)));
        self.part() || self.next != before
    }

    /// Lets the leaving targets go, if no new one has to be waited for.
    /// Whether hosts went with them.
    pub(super) fn part(&mut self) -> bool {
        let wanted: HashSet<SourceId> = self.current.iter().map(|(id, _)| *id).collect();
        let waits = wanted
            .iter()
            .any(|id| self.hosts.get(id).is_some_and(|h| !h.settled));
        if !waits {
            self.leaving.clear();
        }
        let kept: HashSet<SourceId> = self.leaving.iter().map(|(id, _)| *id).collect();
        let before = self.hosts.len();
        self.hosts
            .retain(|id, _| wanted.contains(id) || kept.contains(id));
        let hosts = &self.hosts;
        self.by_ask.retain(|_, id| hosts.contains_key(id));
        before != self.hosts.len()
    }

    /// Whether each host was looked up once.
    pub(super) fn settled(&self) -> bool {
        self.hosts.values().all(|h| h.settled)
    }

    pub(super) fn get(&self, id: SourceId) -> Option<&LookedUp> {
        self.hosts.get(&id)
    }

    pub(super) fn get_mut(&mut self, id: SourceId) -> Option<&mut LookedUp> {
        self.hosts.get_mut(&id)
    }

    /// What has to be asked.
    pub(super) fn questions(&self) -> impl Iterator<Item = (SourceId, Ask)> {
        self.hosts.iter().map(|(id, h)| (*id, h.ask.clone()))
    }

    /// Each target with the host that it stands on.
    pub(super) fn each(&self) -> impl Iterator<Item = (&LookedUp, &Target)> {
        self.current
            .iter()
            .chain(&self.leaving)
            .filter_map(|(id, target)| Some((self.get(*id)?, target)))
    }
}

impl LookedUp {
    /// Sets a literal address as its answer.
    pub(super) fn set_literal(&mut self, address: IpAddr) {
        self.good = LastGood::default();
        match Family::of(address) {
            Family::V4 => self.good.v4.push(address),
            Family::V6 => self.good.v6.push(address),
        }
        self.settled = true;
    }
}
