//! Answers one question at a time: hosts file, search list, servers.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use dynamic_core::address::is_endpoint;
use dynamic_core::answer::{Addresses, Failure, Family, FamilyAnswer, HostAnswer, SrvAnswer};
use hickory_proto::rr::{Name, RData, RecordType};
use tokio::time::Instant;

use crate::dns_lookup::search;
use crate::fault::ServerFault;
use crate::files::SystemFiles;
use crate::host::{Families, FirstAnswer, HostAnswers, HostLookup, HostQuery, of_family};
use crate::hosts::Hosts;
use crate::message::{self, Chain, Step};
use crate::nsswitch::HostSources;
use crate::plan::Plan;
use crate::report::{Lookup, Report};
use crate::search::{SearchAnswer, SearchOutcome, search_candidates};
use crate::servers::QueryBudget;
use crate::settings::{Namespace, Settings};
use crate::slots::{Slot, Slots};

/// How many questions are under way where the settings do not say: each takes
/// a file descriptor or two.
const DEFAULT_OUTSTANDING: usize = 256;

/// How long [`Resolver::host`] waits for one family when the other has
/// addresses.
const PATIENCE: Duration = Duration::from_secs(3);

/// Answers questions as the settings say. Clones share limits, connections and
/// what is known of the servers.
///
/// It has no thread: its futures do the work, and need a tokio runtime with
/// time and I/O. Dropping one gives its question up.
#[derive(Clone)]
pub struct Resolver {
    shared: Arc<Shared>,
}

pub(crate) struct Shared {
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

    /// Looks up the addresses of a host.
    ///
    /// Both families are asked at the same time, and each has an answer of its
    /// own, which comes as soon as it is of use. A lookup takes at most the
    /// time-out of the settings; without one, at most attempts × timeout of
    /// `resolv.conf` for each name of the search list that is tried. The time
    /// counts from when a slot is free on.
    pub fn lookup_host(&self, query: HostQuery) -> HostLookup {
        let shared = Arc::clone(&self.shared);
        HostLookup::new(async move { shared.host(&query).await })
    }

    /// The addresses of a host, both families at once. One that is slower than
    /// the other by more than 3 s is a time-out. The arguments are those of a
    /// [`HostQuery`].
    pub async fn host(
        &self,
        name: &str,
        absolute: bool,
        in_force: Option<&str>,
    ) -> Lookup<HostAnswer> {
        let query = HostQuery {
            name: name.to_owned(),
            absolute,
            families: Families::Both,
            in_force: in_force.map(str::to_owned),
        };
        self.lookup_host(query).both_within(PATIENCE).await
    }

    /// The targets of a service (RFC 2782), which the hosts file knows nothing
    /// of. The arguments and the time are as in
    /// [`lookup_host`](Self::lookup_host).
    pub async fn srv(
        &self,
        name: &str,
        absolute: bool,
        in_force: Option<&str>,
    ) -> Lookup<Result<SrvAnswer, Failure>> {
        if is_localhost(name) || !self.shared.namespaces().contains(&Namespace::Dns) {
            return Lookup {
                answer: Err(Failure::NxDomain),
                report: Report::new(name, name),
            };
        }
        let slot = self.shared.slot(name).await;
        let plan = self.shared.plan();
        let candidates = search_candidates(name, absolute, &plan.search, plan.ndots);
        let lookup: Lookup<Result<SrvAnswer, Failure>> =
            search(&self.shared, &plan, name, candidates, in_force).await;
        self.shared.note(name, &lookup.report);
        drop(slot);
        lookup
    }
}

impl Shared {
    async fn host(self: Arc<Self>, query: &HostQuery) -> FirstAnswer {
        if is_localhost(&query.name) {
            return FirstAnswer::only(self.localhost(query));
        }
        let mut dns: Option<FirstAnswer> = None;
        for namespace in self.namespaces() {
            match namespace {
                Namespace::LocalNames => {
                    if let Some(mut lookup) = self.local(query) {
                        if let Some(dns) = dns {
                            lookup.report.passed_over = dns.lookup.report.faults;
                        }
                        return FirstAnswer::only(lookup);
                    }
                }
                Namespace::Dns => {
                    let first = self.search_host(query).await;
                    if first.outcome() == SearchOutcome::Found {
                        return first;
                    }
                    dns = Some(first);
                }
            }
        }
        // What the hosts file does not have says less than what DNS says.
        dns.unwrap_or_else(|| {
            FirstAnswer::only(Lookup {
                answer: HostAnswers::failed(query.families, Failure::NxDomain),
                report: Report::new(&query.name, &query.name),
            })
        })
    }

    /// Where to look, in this order.
    fn namespaces(&self) -> Vec<Namespace> {
        match self.settings.namespaces.as_slice() {
            [] if self.settings.from_os => self.files.nsswitch().order.clone(),
            [] => HostSources::default().order,
            own => own.to_vec(),
        }
    }

    /// What the hosts file has for a name. A name that is there is not looked
    /// for anywhere else: one with an address that reaches nothing is blocked.
    fn local(&self, query: &HostQuery) -> Option<Lookup<HostAnswers>> {
        let addresses = self.files.hosts().lookup(&query.name)?;
        Some(without_query(query, addresses))
    }

    /// RFC 6761, section 6.3: these names are never asked for.
    fn localhost(&self, query: &HostQuery) -> Lookup<HostAnswers> {
        let hosts = if self.namespaces().contains(&Namespace::LocalNames) {
            self.files.hosts()
        } else {
            Arc::new(Hosts::default())
        };
        let addresses = hosts.lookup(&query.name).unwrap_or_else(|| {
            vec![
                IpAddr::V4(Ipv4Addr::LOCALHOST),
                IpAddr::V6(Ipv6Addr::LOCALHOST),
            ]
        });
        without_query(query, addresses)
    }

    async fn search_host(self: &Arc<Self>, query: &HostQuery) -> FirstAnswer {
        let name = query.name.as_str();
        let slot = self.slot(name).await;
        let plan = self.plan();
        let candidates = search_candidates(name, query.absolute, &plan.search, plan.ndots);
        let in_force = query.in_force.as_deref();
        let mut first = match self.ask_one(&plan, query, &candidates).await {
            Some(lookup) => FirstAnswer::only(lookup),
            None => search(self, &plan, name, candidates, in_force).await,
        };
        self.note(name, &first.lookup.report);
        first.rest = first.rest.map(|rest| {
            let (shared, name) = (Arc::clone(self), name.to_owned());
            let rest: crate::host::Boxed<_> = Box::pin(async move {
                let lookup = rest.await;
                shared.note(&name, &lookup.report);
                drop(slot);
                lookup
            });
            rest
        });
        first
    }

    /// Asks for one family, where that is what is wanted and where its full
    /// name is known. `None` is a reason to ask for both.
    async fn ask_one(
        self: &Arc<Self>,
        plan: &Arc<Plan>,
        query: &HostQuery,
        candidates: &[String],
    ) -> Option<Lookup<HostAnswers>> {
        let Families::Only(family) = query.families else {
            return None;
        };
        let full = match candidates {
            [only] => only,
            several => several
                .iter()
                .find(|candidate| Some(*candidate) == query.in_force.as_ref())?,
        };
        let report = Report::new(&query.name, full);
        let budget = plan.budget(Duration::ZERO, 1, 1, false);
        let lookup = Arc::clone(self)
            .family(Arc::clone(plan), report, family, budget)
            .await;
        // The name is gone: another one may have taken its place.
        let searches = lookup.answer.outcome() == SearchOutcome::NxDomain && candidates.len() > 1;
        (!searches).then(|| of_family(family, lookup))
    }

    pub(crate) async fn family(
        self: Arc<Self>,
        plan: Arc<Plan>,
        mut report: Report,
        family: Family,
        budget: QueryBudget,
    ) -> Lookup<FamilyAnswer> {
        let record = match family {
            Family::V4 => RecordType::A,
            Family::V6 if plan.aaaa => RecordType::AAAA,
            Family::V6 => {
                return Lookup {
                    answer: Err(Failure::NoData),
                    report,
                };
            }
        };
        let answer = self
            .question(&plan, record, message::address, budget, &mut report)
            .await
            .and_then(|(addresses, ttl)| {
                let (usable, dropped) = addresses.into_iter().partition(|it| is_endpoint(*it));
                report.dropped = dropped;
                usable_addresses(usable, Some(ttl))
            });
        Lookup { answer, report }
    }

    /// Asks one question, and follows where it leads.
    pub(crate) async fn question<T>(
        &self,
        plan: &Plan,
        record: RecordType,
        pick: fn(&RData) -> Option<T>,
        budget: QueryBudget,
        report: &mut Report,
    ) -> Result<(Vec<T>, Duration), Failure> {
        let name = report.name.as_str();
        let Ok(mut full) = Name::from_labels(name.split('.').map(str::as_bytes)) else {
            return Err(Failure::NxDomain);
        };
        full.set_fqdn(true);
        let _slot = self.outstanding.take(name).await;
        let deadline = Instant::now() + budget.total();
        let mut chain = Chain::new(full, record, self.settings.follow_redirects);
        let answered = loop {
            let answered = plan
                .servers
                .ask(chain.query(), budget, deadline, &mut report.faults)
                .await;
            let (failure, server) = match answered {
                Err(error) => (error.failure, error.server),
                Ok(answered) => match chain.read(&answered.message, pick) {
                    Ok(Step::Found(records)) => break Ok(records),
                    Ok(Step::Again) => continue,
                    Err(failure) => (failure, answered.server),
                },
            };
            if let Some(server) = server {
                let fault = ServerFault::new(server, chain.query(), &failure.into());
                report.decisive.push(fault);
            }
            break Err(failure);
        };
        self.outstanding
            .note(name, matches!(answered, Err(Failure::Timeout)));
        answered.map(|records| (records, chain.ttl()))
    }

    async fn slot(&self, name: &str) -> Option<Slot> {
        match &self.parallel {
            Some(slots) => Some(slots.take(name).await),
            None => None,
        }
    }

    /// Remembers whether a name got no answer.
    fn note(&self, name: &str, report: &Report) {
        if let Some(slots) = &self.parallel {
            let mut faults = report.faults.iter().chain(&report.passed_over);
            let unanswered = faults.any(|fault| fault.failure == Failure::Timeout);
            slots.note(name, unanswered && report.decisive.is_empty());
        }
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

/// An answer without a TTL, from a list of addresses.
fn without_query(query: &HostQuery, addresses: Vec<IpAddr>) -> Lookup<HostAnswers> {
    let (usable, dropped): (Vec<_>, Vec<_>) =
        addresses.into_iter().partition(|it| is_endpoint(*it));
    let mut report = Report::new(&query.name, &query.name);
    report.dropped = dropped;
    let answer = HostAnswers::from_fn(query.families, |family| {
        let of_family = usable.iter().filter(|it| Family::of(**it) == family);
        usable_addresses(of_family.copied().collect(), None)
    });
    Lookup { answer, report }
}

fn usable_addresses(addresses: Vec<IpAddr>, ttl: Option<Duration>) -> FamilyAnswer {
    if addresses.is_empty() {
        Err(Failure::NoData)
    } else {
        Ok(Addresses { addresses, ttl })
    }
}
