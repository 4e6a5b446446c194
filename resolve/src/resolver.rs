//! Answers one question at a time: hosts file, search list, servers.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::hosts::Hosts;
use crate::search::{Search, SearchAnswer, SearchOutcome, search_candidates};
use dynamic_core::answer::{Addresses, Failure, Family, FamilyAnswer, HostAnswer, SrvAnswer};
use hickory_proto::rr::{Name, RData, RecordType};
use tokio::time::{timeout, timeout_at};

use crate::fault::ServerFault;
use crate::files::SystemFiles;
use crate::message::{self, Chain, Step};
use crate::plan::Plan;
use crate::settings::{Namespace, Settings};
use crate::slots::Slots;

/// How many questions are under way where the settings do not say: each takes
/// a file descriptor or two.
const DEFAULT_OUTSTANDING: usize = 256;

/// How long one family is waited for when the other has addresses.
const GRACE: Duration = Duration::from_secs(3);

/// What a lookup came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lookup<A> {
    /// The answer.
    pub answer: A,
    /// The full name that it is for, without a trailing dot: the name asked
    /// for, with a domain of the search list where one was added.
    pub name: String,
    /// Servers that did not answer on the way; there may be some beside a good
    /// answer.
    pub faults: Vec<ServerFault>,
}

impl<A> Lookup<A> {
    fn without_query(name: &str, answer: A) -> Self {
        Self {
            answer,
            name: name.to_owned(),
            faults: Vec::new(),
        }
    }
}

/// Answers questions as the settings say. Clones share limits, connections and
/// what is known of the servers.
///
/// It has no thread: its futures do the work, and need a tokio runtime with
/// time and I/O. Dropping one gives its question up.
#[derive(Clone)]
pub struct Resolver {
    shared: Arc<Shared>,
}

struct Shared {
    settings: Settings,
    files: SystemFiles,
    outstanding: Slots,
    parallel: Option<Slots>,
    plan: Mutex<Option<Arc<Plan>>>,
}

impl Resolver {
    /// A resolver; nothing is read, opened or asked yet.
    #[must_use]
    pub fn new(settings: Settings, files: SystemFiles) -> Self {
        let limit = match settings.outstanding {
            0 => DEFAULT_OUTSTANDING,
            limit => limit,
        };
        Self {
            shared: Arc::new(Shared {
                outstanding: Slots::new(limit),
                parallel: (settings.parallel > 0).then(|| Slots::new(settings.parallel)),
                plan: Mutex::new(None),
                settings,
                files,
            }),
        }
    }

    /// The addresses of a host.
    ///
    /// `name`: as [`dynamic_core::name::parse`] returns it, no address.
    /// `absolute`: it is complete, and no search list applies.
    ///
    /// Both families are asked at the same time, and each has an answer of its
    /// own. An answer takes at most attempts × timeout for each name of the
    /// search list that is tried, from when a slot is free on.
    pub async fn host(&self, name: &str, absolute: bool) -> Lookup<HostAnswer> {
        if is_localhost(name) {
            return self.shared.localhost(name);
        }
        let mut lookup = Lookup::without_query(name, nothing(Failure::NoServers));
        for (index, namespace) in self.shared.settings.namespaces.iter().enumerate() {
            let next = match namespace {
                Namespace::LocalNames => self.shared.local(name),
                Namespace::Dns => self.shared.search(name, absolute).await,
            };
            // What the hosts file does not have says less than what DNS says.
            let first = index == 0 || *namespace == Namespace::Dns;
            if first || next.answer.outcome() == SearchOutcome::Found {
                let faults = std::mem::take(&mut lookup.faults);
                lookup = next;
                lookup.faults.extend(faults);
            }
            if lookup.answer.outcome() == SearchOutcome::Found {
                break;
            }
        }
        lookup
    }

    /// The targets of a service (RFC 2782), which the hosts file knows nothing
    /// of. Otherwise as [`host`](Self::host).
    pub async fn srv(&self, name: &str, absolute: bool) -> Lookup<Result<SrvAnswer, Failure>> {
        let settings = &self.shared.settings;
        if is_localhost(name) || !settings.namespaces.contains(&Namespace::Dns) {
            return Lookup::without_query(name, Err(Failure::NxDomain));
        }
        self.shared.search(name, absolute).await
    }
}

/// What can be looked for in DNS.
trait DnsLookup: SearchAnswer + Send {
    fn failed(failure: Failure) -> Self;

    /// Asks for one full name.
    fn ask(
        shared: &Shared,
        plan: &Plan,
        name: &str,
        faults: &mut Vec<ServerFault>,
    ) -> impl Future<Output = Self> + Send;
}

impl DnsLookup for HostAnswer {
    fn failed(failure: Failure) -> Self {
        nothing(failure)
    }

    async fn ask(shared: &Shared, plan: &Plan, name: &str, faults: &mut Vec<ServerFault>) -> Self {
        let mut more = Vec::new();
        let (v4, v6) = {
            let mut v4 = pin!(shared.addresses(plan, name, Family::V4, faults));
            let mut v6 = pin!(shared.addresses(plan, name, Family::V6, &mut more));
            tokio::select! {
                first = &mut v4 => {
                    let second = slower(&first, v6).await;
                    (first, second)
                }
                first = &mut v6 => {
                    let second = slower(&first, v4).await;
                    (second, first)
                }
            }
        };
        faults.append(&mut more);
        Self { v4, v6 }
    }
}

/// The answer of the family that is slower: with addresses of the other one at
/// hand it is not waited for long, as whoever waits can be served.
async fn slower(other: &FamilyAnswer, answer: impl Future<Output = FamilyAnswer>) -> FamilyAnswer {
    if other.outcome() != SearchOutcome::Found {
        return answer.await;
    }
    timeout(GRACE, answer)
        .await
        .unwrap_or(Err(Failure::Timeout))
}

impl DnsLookup for Result<SrvAnswer, Failure> {
    fn failed(failure: Failure) -> Self {
        Err(failure)
    }

    async fn ask(shared: &Shared, plan: &Plan, name: &str, faults: &mut Vec<ServerFault>) -> Self {
        let (records, ttl) = shared
            .question(plan, name, RecordType::SRV, message::service, faults)
            .await?;
        Ok(SrvAnswer {
            records,
            ttl: Some(ttl),
        })
    }
}

impl Shared {
    fn local(&self, name: &str) -> Lookup<HostAnswer> {
        let answer = match self.files.hosts().lookup(name) {
            Some(addresses) => split(addresses),
            None => nothing(Failure::NxDomain),
        };
        Lookup::without_query(name, answer)
    }

    /// RFC 6761, section 6.3: these names are never asked for.
    fn localhost(&self, name: &str) -> Lookup<HostAnswer> {
        let hosts = if self.settings.namespaces.contains(&Namespace::LocalNames) {
            self.files.hosts()
        } else {
            Arc::new(Hosts::default())
        };
        let addresses = hosts.lookup(name).unwrap_or_else(|| {
            vec![
                IpAddr::V4(Ipv4Addr::LOCALHOST),
                IpAddr::V6(Ipv6Addr::LOCALHOST),
            ]
        });
        Lookup::without_query(name, split(addresses))
    }

    /// Asks for one candidate of the search list after the other.
    async fn search<A: DnsLookup>(&self, name: &str, absolute: bool) -> Lookup<A> {
        let _slot = match &self.parallel {
            Some(slots) => Some(slots.take(name).await),
            None => None,
        };
        let plan = self.plan();
        let mut faults = Vec::new();
        let mut search = Search::new(search_candidates(name, absolute, &plan.search, plan.ndots));
        while let Some(candidate) = search.ask().map(str::to_owned) {
            let answer = A::ask(self, &plan, &candidate, &mut faults).await;
            search.answer(answer);
        }
        // No candidate: the name is too long to exist.
        let (full, answer) = search
            .into_outcome()
            .unwrap_or_else(|| (name.to_owned(), A::failed(Failure::NxDomain)));
        if let Some(slots) = &self.parallel {
            slots.note(
                name,
                faults.iter().any(|fault| fault.failure == Failure::Timeout),
            );
        }
        Lookup {
            answer,
            name: full,
            faults,
        }
    }

    async fn addresses(
        &self,
        plan: &Plan,
        name: &str,
        family: Family,
        faults: &mut Vec<ServerFault>,
    ) -> FamilyAnswer {
        let record = match family {
            Family::V4 => RecordType::A,
            Family::V6 => RecordType::AAAA,
        };
        let (addresses, ttl) = self
            .question(plan, name, record, message::address, faults)
            .await?;
        Ok(Addresses {
            addresses,
            ttl: Some(ttl),
        })
    }

    /// Asks one question, and follows where it leads.
    async fn question<T>(
        &self,
        plan: &Plan,
        name: &str,
        record: RecordType,
        pick: fn(&RData) -> Option<T>,
        faults: &mut Vec<ServerFault>,
    ) -> Result<(Vec<T>, Duration), Failure> {
        let Ok(mut full) = Name::from_labels(name.split('.').map(str::as_bytes)) else {
            return Err(Failure::NxDomain);
        };
        full.set_fqdn(true);
        let _slot = self.outstanding.take(name).await;
        let deadline = plan.budget.deadline();
        let mut chain = Chain::new(full, record, self.settings.follow_redirects);
        let answered = timeout_at(deadline + plan.budget.timeout, async {
            loop {
                let message = plan
                    .servers
                    .ask(chain.query(), plan.budget, deadline, faults)
                    .await?;
                if let Step::Found(records) = chain.read(&message, pick)? {
                    return Ok(records);
                }
            }
        })
        .await
        .unwrap_or(Err(Failure::Timeout));
        self.outstanding
            .note(name, matches!(answered, Err(Failure::Timeout)));
        answered.map(|records| (records, chain.ttl()))
    }

    /// The plan in force. Servers that stay keep their connections and what is
    /// known of them.
    fn plan(&self) -> Arc<Plan> {
        let conf = self.settings.from_os.then(|| self.files.resolv_conf());
        let mut plan = self.plan.lock().unwrap_or_else(PoisonError::into_inner);
        let unchanged = plan.as_ref().filter(|plan| plan.is_from(conf.as_ref()));
        if let Some(plan) = unchanged {
            return Arc::clone(plan);
        }
        let next = Arc::new(Plan::new(
            &self.settings,
            &self.files,
            conf,
            plan.as_deref(),
        ));
        *plan = Some(Arc::clone(&next));
        next
    }
}

fn is_localhost(name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name);
    let last = name.rsplit('.').next().unwrap_or(name);
    last.eq_ignore_ascii_case("localhost")
}

fn nothing(failure: Failure) -> HostAnswer {
    HostAnswer {
        v4: Err(failure),
        v6: Err(failure),
    }
}

/// Addresses that come without a TTL, by family.
fn split(addresses: Vec<IpAddr>) -> HostAnswer {
    let (v4, v6): (Vec<_>, Vec<_>) = addresses
        .into_iter()
        .partition(|address| Family::of(*address) == Family::V4);
    let family = |addresses: Vec<IpAddr>| {
        if addresses.is_empty() {
            Err(Failure::NoData)
        } else {
            Ok(Addresses {
                addresses,
                ttl: None,
            })
        }
    };
    HostAnswer {
        v4: family(v4),
        v6: family(v6),
    }
}
