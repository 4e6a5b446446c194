//! The thread's loop.

use std::collections::{HashMap, HashSet};
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use dynamic_core::answer::{Failure, HostAnswer, SrvAnswer};
use dynamic_resolve::{Resolver, ServerFault, Settings, SystemFiles};
use futures_util::future::{FutureExt, LocalBoxFuture};
use futures_util::stream::{FuturesUnordered, StreamExt};
use litemap::LiteMap;
use tokio::sync::mpsc::UnboundedReceiver;

use super::Command;
#[cfg(debug_assertions)]
use super::inject;
use super::questions::{Question, QuestionId, Questions, Subscriber};
use crate::clock;
use crate::director::Director;
use crate::domain::{Ask, Asked, Domain, Next, SourceId};
use crate::lifetime;
use crate::vcl::Vcl;
use crate::vrt::{Guard, OffTask, VclPtr, guard, log_panic};

/// How often leaves are given back and unused names are looked for.
const HOUSEKEEPING: Duration = Duration::from_millis(200);
/// When a lookup is repeated whose answer could not be taken in.
const AFTER_PANIC: Duration = Duration::from_secs(30);

/// A VCL that is warm. It outlives a worker that panics.
pub(super) struct Warm {
    vcl: Arc<Vcl>,
    guard: Guard,
    watched: HashMap<*const Domain, Watched>,
}

/// A name or service, and what is asked for it; `None` for a literal address.
struct Watched {
    domain: Arc<Domain>,
    director: Weak<Director>,
    asks: LiteMap<SourceId, Option<QuestionId>>,
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
    fn stop(&mut self, questions: &mut Questions, wanted: &HashSet<SourceId>) {
        let domain = &self.domain;
        self.asks.retain(|source, id| {
            let stays = wanted.contains(source);
            if let (false, Some(id)) = (stays, id) {
                questions.unsubscribe(*id, domain, *source);
            }
            stays
        });
    }
}

/// What a question came to.
enum Answer {
    Host(HostAnswer),
    Service(Result<SrvAnswer, Failure>),
}

impl Answer {
    /// That of a lookup that ended in a panic.
    fn internal(srv: bool) -> Self {
        if srv {
            return Answer::Service(Err(Failure::Internal));
        }
        Answer::Host(HostAnswer {
            v4: Err(Failure::Internal),
            v6: Err(Failure::Internal),
        })
    }
}

/// What a lookup came to, and which servers did what instead of answering.
type Outcome = (Answer, Vec<ServerFault>);

/// All that the thread has.
pub(super) struct Worker<'t> {
    commands: &'t mut UnboundedReceiver<Command>,
    warm: &'t mut HashMap<VclPtr, Warm>,
    resolvers: HashMap<Arc<Settings>, Resolver>,
    questions: Questions,
    in_flight: FuturesUnordered<LocalBoxFuture<'static, (QuestionId, Outcome)>>,
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
            resolvers: HashMap::new(),
            questions: Questions::default(),
            in_flight: FuturesUnordered::new(),
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
            guard("question", (), || self.ask());
            let housekeeping = self.last_housekeeping + HOUSEKEEPING;
            let wake = self
                .questions
                .next_due()
                .map_or(housekeeping, |due| due.min(housekeeping));
            tokio::select! {
                biased;
                command = self.commands.recv() => match command {
                    Some(command) => {
                        #[cfg(debug_assertions)]
                        inject::panic_in_thread(&command);
                        guard("command", (), || self.obey(command));
                    }
                    None => return,
                },
                Some((id, outcome)) = self.in_flight.next(), if !self.in_flight.is_empty() => {
                    guard("answer", (), || self.deliver(id, &outcome));
                }
                () = tokio::time::sleep_until(wake.into()) => {}
            }
            if self.last_housekeeping.elapsed() >= HOUSEKEEPING {
                guard("housekeeping", (), || self.housekeeping());
                self.last_housekeeping = Instant::now();
            }
        }
    }

    fn obey(&mut self, command: Command) {
        match command {
            Command::Warm(vcl, guard) => {
                self.warm.insert(
                    vcl.ptr,
                    Warm {
                        vcl,
                        guard,
                        watched: HashMap::new(),
                    },
                );
            }
            Command::Cold(ptr) => self.cool(ptr),
            Command::Watch(domain, director) => self.watch(&domain, &director),
        }
    }

    /// Lets go of a VCL: its names, its dead leaves, at last its guard.
    fn cool(&mut self, ptr: VclPtr) {
        if let Some(Warm {
            vcl,
            guard,
            watched,
        }) = self.warm.remove(&ptr)
        {
            for (_, mut watched) in watched {
                watched.stop(&mut self.questions, &HashSet::new());
            }
            vcl.graveyard.clear();
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
        let asks = domain.questions();
        watched.stop(
            &mut self.questions,
            &asks.iter().map(|(source, _)| *source).collect(),
        );
        if asks.is_empty() {
            // A custom service without targets: nothing is to be waited for.
            let mut ctx = OffTask::new(warm.vcl.ptr, &warm.guard, clock::now());
            domain.retry_leaves(&mut ctx);
        }
        let now = Instant::now();
        let mut settings = None;
        let mut taken = false;
        for (source, ask) in asks {
            if watched.asks.contains_key(&source) {
                continue;
            }
            let (name, rooted, srv) = match ask {
                Ask::Address(address) => {
                    let mut ctx = OffTask::new(warm.vcl.ptr, &warm.guard, clock::now());
                    domain.take_address(&mut ctx, source, address);
                    watched.asks.insert(source, None);
                    taken = true;
                    continue;
                }
                Ask::Host { name, rooted } => (name, rooted, false),
                Ask::Service { name, rooted } => (name, rooted, true),
            };
            let settings = settings
                .get_or_insert_with(|| interned(&mut self.resolvers, domain.config().resolver()));
            let question = Question {
                settings: Arc::clone(settings),
                name,
                rooted,
                srv,
            };
            let id = self
                .questions
                .subscribe(question, Arc::clone(domain), source, now);
            watched.asks.insert(source, Some(id));
        }
        if taken {
            // An address may have been what a leaving host was kept for.
            let wanted = domain.questions();
            watched.stop(
                &mut self.questions,
                &wanted.iter().map(|(source, _)| *source).collect(),
            );
        }
    }

    /// Sends the questions that are due.
    fn ask(&mut self) {
        let now = Instant::now();
        while let Some((id, question)) = self.questions.take_due(now) {
            let Some(resolver) = self.resolvers.get(&question.settings).cloned() else {
                continue;
            };
            let srv = question.srv;
            let lookup = async move {
                #[cfg(debug_assertions)]
                inject::panic_in_lookup(&question.name);
                if srv {
                    let lookup = resolver.srv(&question.name, question.rooted).await;
                    (Answer::Service(lookup.answer), lookup.faults)
                } else {
                    let lookup = resolver.host(&question.name, question.rooted).await;
                    (Answer::Host(lookup.answer), lookup.faults)
                }
            };
            // A bug that ends one lookup is that lookup's failure.
            self.in_flight.push(Box::pin(async move {
                let outcome = AssertUnwindSafe(lookup).catch_unwind().await;
                let outcome = outcome.unwrap_or_else(|panic| {
                    log_panic("lookup", &*panic);
                    (Answer::internal(srv), Vec::new())
                });
                (id, outcome)
            }));
        }
    }

    /// Hands an answer to all that wait for it.
    fn deliver(&mut self, id: QuestionId, (answer, faults): &Outcome) {
        let now = Instant::now();
        let Some((asked, subscribers)) = self.questions.take_subscribers(id, now) else {
            return;
        };
        let at = clock::now() - now.duration_since(asked).as_secs_f64();
        let mut again = Vec::with_capacity(subscribers.len());
        let mut others = Vec::new();
        for subscriber in subscribers {
            let Subscriber { domain, source, .. } = subscriber;
            let Some(warm) = self.warm.get(&domain.vcl().ptr) else {
                continue;
            };
            let failed = Next {
                after: AFTER_PANIC,
                asks_others: false,
            };
            let next = guard("update", failed, || {
                let mut ctx = OffTask::new(warm.vcl.ptr, &warm.guard, clock::now());
                let asked = Asked {
                    at,
                    jitter: fastrand::f64(),
                    faults,
                };
                match answer {
                    Answer::Host(answer) => domain.take_host(&mut ctx, source, answer, asked),
                    Answer::Service(answer) => domain.take_service(&mut ctx, answer, asked),
                }
            });
            if next.asks_others {
                let director = warm
                    .watched
                    .get(&Arc::as_ptr(&domain))
                    .map(|watched| Weak::clone(&watched.director));
                others.extend(director.map(|director| (Arc::clone(&domain), director)));
            }
            again.push(Subscriber {
                domain,
                source,
                due: now + next.after,
                interval: next.after,
            });
        }
        self.questions.answered(id, again);
        for (domain, director) in others {
            self.watch(&domain, &director);
        }
    }

    /// Gives dead leaves back, and takes unused domains out.
    fn housekeeping(&mut self) {
        let now = clock::now();
        for warm in self.warm.values_mut() {
            warm.vcl.graveyard.clear();
            for (_, mut watched) in warm.watched.extract_if(|_, watched| watched.expire(now)) {
                watched.stop(&mut self.questions, &HashSet::new());
            }
            for watched in warm.watched.values() {
                if watched.domain.must_retry(now) {
                    let mut ctx = OffTask::new(warm.vcl.ptr, &warm.guard, now);
                    watched.domain.retry_leaves(&mut ctx);
                }
            }
        }
    }
}

/// The one copy of these settings, with the resolver that follows them.
fn interned(resolvers: &mut HashMap<Arc<Settings>, Resolver>, settings: Settings) -> Arc<Settings> {
    if let Some((known, _)) = resolvers.get_key_value(&settings) {
        return Arc::clone(known);
    }
    let settings = Arc::new(settings);
    let resolver = Resolver::new(Settings::clone(&settings), system_files());
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
    )
}
