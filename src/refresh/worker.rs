//! The thread's loop.

use std::collections::{HashMap, HashSet};
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use dynamic_core::agenda::QueryId;
use dynamic_core::answer::Family;
use dynamic_core::name::DnsName;
use dynamic_core::random::SplitMix64;
use dynamic_core::schedule::PerFamily;
use dynamic_core::targets::{Origin, SourceId};
use dynamic_resolve::{Environment, Families, HostQuery, Report, Resolver, Settings, SystemFiles};
use futures_util::future::{AbortHandle, FutureExt, LocalBoxFuture, abortable};
use futures_util::stream::{FuturesUnordered, StreamExt};
use litemap::LiteMap;
use tokio::sync::mpsc::UnboundedReceiver;

use super::Command;
#[cfg(debug_assertions)]
use super::inject;
use super::lookup::{Answer, Outcome, Queries, Query, Subscriber};
use crate::clock;
use crate::director::Director;
use crate::domain::{Domain, LookupInfo, Next};
use crate::lifetime;
use crate::vcl::Vcl;
use crate::vrt::{BackgroundCtx, VclPtr, VclRef, VslTag, catch_panic, log_panic, random, vsl};

/// How often leaves are given back and unused names are looked for.
const HOUSEKEEPING: Duration = Duration::from_millis(200);
/// When a lookup is repeated whose answer could not be taken in.
const AFTER_PANIC: Duration = Duration::from_secs(30);

/// A VCL that is warm. It outlives a worker that panics.
pub(super) struct Warm {
    vcl: Arc<Vcl>,
    guard: VclRef,
    watched: HashMap<*const Domain, Watched>,
}

/// A name or service, and what is asked for it; `None` for a literal address.
struct Watched {
    domain: Arc<Domain>,
    director: Weak<Director>,
    asks: LiteMap<SourceId, Option<QueryId>>,
}

impl Watched {
    /// Whether the domain is unused, and gone now.
    fn expire(&self, now: f64) -> bool {
        let director = self.director.upgrade();
        let crowded = director.as_ref().is_some_and(|d| d.is_crowded());
        if !self.domain.expire(now, crowded) {
            return false;
        }
        if let Some(director) = director {
            director.remove(&self.domain);
        }
        self.domain.close();
        true
    }

    /// Stops asking all but what is wanted.
    fn stop(&mut self, agenda: &mut Queries, wanted: &HashSet<SourceId>) {
        let domain = &self.domain;
        self.asks.retain(|source, id| {
            let stays = wanted.contains(source);
            if let (false, Some(id)) = (stays, id) {
                agenda.unsubscribe(*id, &Subscriber(Arc::clone(domain), *source));
            }
            stays
        });
    }
}

/// All that the thread has.
pub(super) struct Worker<'t> {
    commands: &'t mut UnboundedReceiver<Command>,
    warm: &'t mut HashMap<VclPtr, Warm>,
    files: SystemFiles,
    /// Spreads refreshes.
    random: SplitMix64,
    resolvers: HashMap<Arc<Settings>, Resolver>,
    agenda: Queries,
    /// Queries of which one family is still under way.
    slow: HashMap<QueryId, Family>,
    /// Ends a lookup, late or not, that nobody wants any more.
    aborts: HashMap<(QueryId, bool), AbortHandle>,
    in_flight: FuturesUnordered<LocalBoxFuture<'static, (QueryId, bool, Option<Outcome>)>>,
    last_housekeeping: Instant,
}

impl<'t> Worker<'t> {
    pub(super) fn new(
        commands: &'t mut UnboundedReceiver<Command>,
        warm: &'t mut HashMap<VclPtr, Warm>,
    ) -> Self {
        Worker {
            commands,
            warm,
            files: system_files(),
            random: SplitMix64::new(random()),
            resolvers: HashMap::new(),
            agenda: Queries::default(),
            slow: HashMap::new(),
            in_flight: FuturesUnordered::new(),
            aborts: HashMap::new(),
            last_housekeeping: Instant::now(),
        }
    }

    /// Watches all domains of the VCLs that an earlier worker left.
    pub(super) fn watch_all(&mut self) {
        let ptrs: Vec<VclPtr> = self.warm.keys().copied().collect();
        for ptr in ptrs {
            if let Some(warm) = self.warm.get_mut(&ptr) {
                warm.watched.clear();
            }
            for (domain, director) in lifetime::domains_of(ptr) {
                self.watch(&domain, &director);
            }
        }
    }

    /// Runs until the channel is closed.
    pub(super) async fn run(mut self) {
        loop {
            catch_panic("query", (), || self.ask());
            let housekeeping = self.last_housekeeping + HOUSEKEEPING;
            let wake = self
                .agenda
                .next_due()
                .map_or(housekeeping, |due| due.min(housekeeping));
            tokio::select! {
                biased;
                command = self.commands.recv() => match command {
                    Some(command) => {
                        #[cfg(debug_assertions)]
                        {
                            inject::hold_thread(&command);
                            inject::panic_in_thread(&command);
                        }
                        catch_panic("command", (), || self.handle(command));
                    }
                    None => return,
                },
                Some((id, late, outcome)) = self.in_flight.next(), if !self.in_flight.is_empty() => {
                    self.aborts.remove(&(id, late));
                    if late {
                        self.slow.remove(&id);
                    }
                    let Some(outcome) = outcome else { continue };
                    catch_panic("answer", (), || self.deliver(id, outcome));
                }
                () = tokio::time::sleep_until(wake.into()) => {}
            }
            if self.last_housekeeping.elapsed() >= HOUSEKEEPING {
                catch_panic("housekeeping", (), || {
                    self.housekeeping();
                    self.abort_unwanted();
                });
                self.last_housekeeping = Instant::now();
            }
        }
    }

    fn handle(&mut self, command: Command) {
        match command {
            Command::Warm(vcl, guard) => {
                for notice in self.files.take_notices() {
                    vsl(
                        VslTag::Error,
                        &format!("vmod-dynamic {} - - {notice}", vcl.name),
                    );
                }
                self.warm.insert(
                    vcl.ptr,
                    Warm {
                        vcl,
                        guard,
                        watched: HashMap::new(),
                    },
                );
            }
            Command::Cold(ptr) => self.release_vcl(ptr),
            Command::Watch(domain, director) => self.watch(&domain, &director),
        }
    }

    /// Lets go of a VCL: its names, its dead leaves, at last its guard.
    fn release_vcl(&mut self, ptr: VclPtr) {
        if let Some(Warm {
            vcl,
            guard,
            watched,
        }) = self.warm.remove(&ptr)
        {
            for (_, mut watched) in watched {
                watched.stop(&mut self.agenda, &HashSet::new());
            }
            vcl.release_queue.clear();
            drop(guard);
        }
        // Each question holds the settings that it is asked with.
        self.resolvers
            .retain(|settings, _| Arc::strong_count(settings) > 1);
    }

    /// Asks all that a domain has to ask, and no more.
    fn watch(&mut self, domain: &Arc<Domain>, director: &Weak<Director>) {
        let Some(warm) = self.warm.get_mut(&domain.vcl().ptr) else {
            return;
        };
        let watched = warm
            .watched
            .entry(Arc::as_ptr(domain))
            .or_insert_with(|| Watched {
                domain: Arc::clone(domain),
                director: Weak::clone(director),
                asks: LiteMap::with_capacity(1),
            });
        let origins = domain.origins();
        watched.stop(
            &mut self.agenda,
            &origins.iter().map(|(source, _)| *source).collect(),
        );
        if origins.is_empty() {
            // A custom service without targets: nothing is to be waited for.
            let mut ctx = BackgroundCtx::new(warm.vcl.ptr, &warm.guard, clock::now());
            domain.retry(&mut ctx);
        }
        let now = Instant::now();
        let mut settings = None;
        let mut taken = false;
        for (source, origin) in origins {
            if watched.asks.contains_key(&source) {
                continue;
            }
            let (name, services) = match origin {
                Origin::Literal(address) => {
                    let mut ctx = BackgroundCtx::new(warm.vcl.ptr, &warm.guard, clock::now());
                    domain.take_address(&mut ctx, source, address);
                    watched.asks.insert(source, None);
                    taken = true;
                    continue;
                }
                Origin::Addresses(name) => (name, false),
                Origin::Services(name) => (name, true),
            };
            let settings = settings.get_or_insert_with(|| {
                interned(&mut self.resolvers, &self.files, domain.config().resolver())
            });
            let query = Query {
                settings: Arc::clone(settings),
                name,
                services,
            };
            let subscriber = Subscriber(Arc::clone(domain), source);
            let id = self.agenda.subscribe(query, subscriber, now);
            watched.asks.insert(source, Some(id));
        }
        if taken {
            // An address may have been what a leaving host was kept for.
            let wanted = domain.origins();
            watched.stop(
                &mut self.agenda,
                &wanted.iter().map(|(source, _)| *source).collect(),
            );
        }
    }

    /// Sends the questions that are due.
    fn ask(&mut self) {
        let now = Instant::now();
        while let Some((id, query, in_force)) = self.agenda.take_due(now) {
            let Some(resolver) = self.resolvers.get(&query.settings).cloned() else {
                continue;
            };
            let services = query.services;
            let families = match self.slow.get(&id) {
                None => Families::Both,
                // The other one is still being asked.
                Some(family) => Families::Only(family.other()),
            };
            self.start(id, (services, false), async move {
                #[cfg(debug_assertions)]
                inject::panic_in_lookup(&query.name.text);
                let DnsName { text, absolute } = query.name;
                if services {
                    let lookup = resolver.srv(&text, absolute, in_force.as_deref()).await;
                    return Outcome {
                        answer: Answer::Service(lookup.answer),
                        report: lookup.report,
                        slow: None,
                        late: false,
                    };
                }
                let mut lookup = resolver.lookup_host(HostQuery {
                    name: text,
                    absolute,
                    families,
                    in_force,
                });
                let first = lookup.next().await;
                let slow = (!lookup.is_done()).then_some(lookup);
                Outcome::host(first, slow, false)
            });
        }
    }

    /// Runs a lookup, of services or not, late or not. A bug that ends one lookup is that lookup's failure.
    fn start(
        &mut self,
        id: QueryId,
        (services, late): (bool, bool),
        lookup: impl Future<Output = Outcome> + 'static,
    ) {
        let (lookup, abort) = abortable(AssertUnwindSafe(lookup).catch_unwind());
        self.aborts.insert((id, late), abort);
        self.in_flight.push(Box::pin(async move {
            let outcome = lookup.await.ok().map(|outcome| {
                outcome.unwrap_or_else(|panic| {
                    log_panic("lookup", &*panic);
                    Outcome {
                        answer: Answer::internal(services),
                        report: Report::default(),
                        slow: None,
                        late,
                    }
                })
            });
            (id, late, outcome)
        }));
    }

    /// Hands a slow family's answer to all that have the other one.
    fn deliver_late(&mut self, id: QueryId, outcome: &Outcome) {
        let Answer::Host(answer) = &outcome.answer else {
            return;
        };
        for Subscriber(domain, source) in self.agenda.subscribers(id) {
            let Some(warm) = self.warm.get(&domain.vcl().ptr) else {
                continue;
            };
            catch_panic("update", (), || {
                let mut ctx = BackgroundCtx::new(warm.vcl.ptr, &warm.guard, clock::now());
                let info = LookupInfo {
                    at: clock::now(),
                    jitter: 0.5,
                    report: &outcome.report,
                };
                domain.take_host(&mut ctx, *source, answer, info);
            });
        }
    }

    /// Hands an answer to all that wait for it.
    fn deliver(&mut self, id: QueryId, mut outcome: Outcome) {
        if outcome.late {
            return self.deliver_late(id, &outcome);
        }
        let now = Instant::now();
        if let Some(mut slow) = outcome.slow.take() {
            if let Answer::Host(PerFamily { v4, .. }) = &outcome.answer {
                let family = if v4.is_some() { Family::V6 } else { Family::V4 };
                self.slow.insert(id, family);
            }
            self.start(id, (false, true), async move {
                Outcome::host(slow.next().await, None, true)
            });
        }
        let Outcome { answer, report, .. } = &outcome;
        let Some((asked, subscribers)) = self.agenda.take_subscribers(id, now) else {
            return;
        };
        if answer.is_good() {
            self.agenda.set_in_force(id, &report.name);
        }
        let at = clock::now() - now.duration_since(asked).as_secs_f64();
        let mut again = Vec::with_capacity(subscribers.len());
        let mut others = Vec::new();
        for subscriber in subscribers {
            let Subscriber(domain, source) = &subscriber;
            let (domain, source) = (Arc::clone(domain), *source);
            let Some(warm) = self.warm.get(&domain.vcl().ptr) else {
                continue;
            };
            let failed = Next {
                after: AFTER_PANIC,
                asks_others: false,
            };
            let next = catch_panic("update", failed, || {
                let mut ctx = BackgroundCtx::new(warm.vcl.ptr, &warm.guard, clock::now());
                let info = LookupInfo {
                    at,
                    jitter: self.random.next_unit(),
                    report,
                };
                match answer {
                    Answer::Host(answer) => domain.take_host(&mut ctx, source, answer, info),
                    Answer::Service(answer) => domain.take_service(&mut ctx, answer, info),
                }
            });
            if next.asks_others {
                let director = warm
                    .watched
                    .get(&Arc::as_ptr(&domain))
                    .map(|watched| Weak::clone(&watched.director));
                others.extend(director.map(|director| (Arc::clone(&domain), director)));
            }
            again.push((subscriber, next.after));
        }
        self.agenda.answered(id, now, again);
        for (domain, director) in others {
            self.watch(&domain, &director);
        }
    }

    /// Ends the lookups that nobody wants any more: names that clients make up
    /// must not keep others waiting once they are gone.
    fn abort_unwanted(&mut self) {
        let agenda = &self.agenda;
        for (_, abort) in self.aborts.extract_if(|(id, _), _| !agenda.contains(*id)) {
            abort.abort();
        }
    }

    /// Gives dead leaves back, and takes unused domains out.
    fn housekeeping(&mut self) {
        let now = clock::now();
        for warm in self.warm.values_mut() {
            warm.vcl.release_queue.clear();
            for (_, mut watched) in warm.watched.extract_if(|_, watched| watched.expire(now)) {
                watched.stop(&mut self.agenda, &HashSet::new());
            }
            for watched in warm.watched.values() {
                if watched.domain.must_retry(now) {
                    let mut ctx = BackgroundCtx::new(warm.vcl.ptr, &warm.guard, now);
                    watched.domain.retry(&mut ctx);
                }
            }
        }
    }
}

/// The one copy of these settings, with the resolver that follows them.
fn interned(
    resolvers: &mut HashMap<Arc<Settings>, Resolver>,
    files: &SystemFiles,
    settings: Settings,
) -> Arc<Settings> {
    if let Some((known, _)) = resolvers.get_key_value(&settings) {
        return Arc::clone(known);
    }
    let settings = Arc::new(settings);
    let resolver = Resolver::new(Settings::clone(&settings), files.clone());
    resolvers.insert(Arc::clone(&settings), resolver);
    settings
}

/// The system's files, or those that the environment of the server names.
fn system_files() -> SystemFiles {
    let file = |variable, usual: &str| {
        std::env::var_os(variable).map_or_else(|| usual.into(), PathBuf::from)
    };
    SystemFiles::new(
        file("VMOD_DYNAMIC_RESOLV_CONF", "/etc/resolv.conf"),
        file("VMOD_DYNAMIC_HOSTS", "/etc/hosts"),
        file("VMOD_DYNAMIC_NSSWITCH", "/etc/nsswitch.conf"),
    )
    .environment(Environment::of_process())
}
