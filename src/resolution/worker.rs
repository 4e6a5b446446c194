//! The thread's loop.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use dynamic_core::answer::{Failure, HostAnswer, SrvAnswer};
use dynamic_resolve::{Environment, Lookup, Resolver, Settings, SystemFiles};
use futures_util::future::LocalBoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt};
use litemap::LiteMap;
use tokio::sync::mpsc::UnboundedReceiver;

use super::Command;
use super::questions::{Question, QuestionId, Questions, Subscriber};
use crate::clock;
use crate::lifetime::Vcl;
use crate::pool::{Ask, Asked, Next, Pool, SourceId};
use crate::vrt::{Guard, OffTask, Tag, VclPtr, guard, line};

/// How often leaves are given back and unused names are looked for.
const HOUSEKEEPING: Duration = Duration::from_millis(200);
/// When a lookup is repeated whose answer could not be taken in.
const AFTER_PANIC: Duration = Duration::from_secs(30);

/// A VCL that is warm.
struct Warm {
    vcl: Arc<Vcl>,
    guard: Guard,
    watched: HashMap<*const Pool, Watched>,
}

/// A name or service, and what is asked for it; `None` for a literal address.
struct Watched {
    pool: Arc<Pool>,
    asks: LiteMap<SourceId, Option<QuestionId>>,
}

impl Watched {
    /// Stops asking all but what is wanted.
    fn stop(&mut self, questions: &mut Questions, wanted: &HashSet<SourceId>) {
        let pool = &self.pool;
        self.asks.retain(|source, id| {
            let stays = wanted.contains(source);
            if let (false, Some(id)) = (stays, id) {
                questions.unsubscribe(*id, pool, *source);
            }
            stays
        });
    }
}

/// What a question came to.
enum Answer {
    Host(Lookup<HostAnswer>),
    Service(Lookup<Result<SrvAnswer, Failure>>),
}

impl Answer {
    /// The full name that gave addresses or targets.
    fn gave(&self) -> Option<&str> {
        let (good, report) = match self {
            Answer::Host(Lookup { answer, report }) => {
                (answer.v4.is_ok() || answer.v6.is_ok(), report)
            }
            Answer::Service(Lookup { answer, report }) => (answer.is_ok(), report),
        };
        good.then_some(report.name.as_str())
    }
}

/// All that the thread has.
pub(super) struct Worker {
    inbox: UnboundedReceiver<Command>,
    warm: HashMap<VclPtr, Warm>,
    files: SystemFiles,
    resolvers: HashMap<Arc<Settings>, Resolver>,
    questions: Questions,
    flying: FuturesUnordered<LocalBoxFuture<'static, (QuestionId, Answer)>>,
    tidied: Instant,
}

impl Worker {
    pub(super) fn new(inbox: UnboundedReceiver<Command>) -> Self {
        Worker {
            inbox,
            warm: HashMap::new(),
            files: system_files(),
            resolvers: HashMap::new(),
            questions: Questions::default(),
            flying: FuturesUnordered::new(),
            tidied: Instant::now(),
        }
    }

    /// Runs until the last way into the inbox is dropped.
    pub(super) async fn run(mut self) {
        loop {
            guard("question", (), || self.ask());
            let tidy = self.tidied + HOUSEKEEPING;
            let wake = self.questions.next_due().map_or(tidy, |due| due.min(tidy));
            tokio::select! {
                biased;
                command = self.inbox.recv() => match command {
                    Some(command) => guard("command", (), || self.obey(command)),
                    None => return,
                },
                Some((id, answer)) = self.flying.next(), if !self.flying.is_empty() => {
                    guard("answer", (), || self.deliver(id, &answer));
                }
                () = tokio::time::sleep_until(wake.into()) => {}
            }
            if self.tidied.elapsed() >= HOUSEKEEPING {
                guard("housekeeping", (), || self.tidy());
                self.tidied = Instant::now();
            }
        }
    }

    fn obey(&mut self, command: Command) {
        match command {
            Command::Warm(vcl, guard) => {
                for notice in self.files.take_notices() {
                    line(
                        Tag::Error,
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
            Command::Cold(ptr) => self.cool(ptr),
            Command::Watch(pool) => self.watch(&pool),
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
            for director in vcl.directors() {
                director.settle();
            }
            vcl.graveyard.clear();
            drop(guard);
        }
        // Each question holds the settings that it is asked with.
        self.resolvers
            .retain(|settings, _| Arc::strong_count(settings) > 1);
    }

    /// Asks all that a name or service has to ask, and no more.
    fn watch(&mut self, pool: &Arc<Pool>) {
        let Some(warm) = self.warm.get_mut(&pool.vcl().ptr) else {
            return;
        };
        let watched = warm
            .watched
            .entry(Arc::as_ptr(pool))
            .or_insert_with(|| Watched {
                pool: Arc::clone(pool),
                asks: LiteMap::with_capacity(1),
            });
        let asks = pool.questions();
        watched.stop(
            &mut self.questions,
            &asks.iter().map(|(source, _)| *source).collect(),
        );
        if asks.is_empty() {
            // A custom service without targets: nothing is to be waited for.
            let mut ctx = OffTask::new(warm.vcl.ptr, &warm.guard, clock::now());
            pool.retry_leaves(&mut ctx);
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
                    pool.take_address(&mut ctx, source, address);
                    watched.asks.insert(source, None);
                    taken = true;
                    continue;
                }
                Ask::Host { name, rooted } => (name, rooted, false),
                Ask::Service { name, rooted } => (name, rooted, true),
            };
            let settings = settings.get_or_insert_with(|| {
                interned(&mut self.resolvers, &self.files, pool.director().resolver())
            });
            let question = Question {
                settings: Arc::clone(settings),
                name,
                rooted,
                srv,
            };
            let id = self
                .questions
                .subscribe(question, Arc::clone(pool), source, now);
            watched.asks.insert(source, Some(id));
        }
        if taken {
            // An address may have been what a leaving host was kept for.
            let wanted = pool.questions();
            watched.stop(
                &mut self.questions,
                &wanted.iter().map(|(source, _)| *source).collect(),
            );
        }
    }

    /// Sends the questions that are due.
    fn ask(&mut self) {
        let now = Instant::now();
        while let Some((id, question, in_force)) = self.questions.take_due(now) {
            let Some(resolver) = self.resolvers.get(&question.settings).cloned() else {
                continue;
            };
            self.flying.push(Box::pin(async move {
                let Question {
                    name, rooted, srv, ..
                } = question;
                let answer = if srv {
                    Answer::Service(resolver.srv(&name, rooted, in_force.as_deref()).await)
                } else {
                    Answer::Host(resolver.host(&name, rooted, in_force.as_deref()).await)
                };
                (id, answer)
            }));
        }
    }

    /// Hands an answer to all that wait for it.
    fn deliver(&mut self, id: QuestionId, answer: &Answer) {
        let now = Instant::now();
        let Some((asked, subscribers)) = self.questions.take_subscribers(id, now) else {
            return;
        };
        if let Some(name) = answer.gave() {
            self.questions.hold(id, name);
        }
        let at = clock::now() - now.duration_since(asked).as_secs_f64();
        let mut again = Vec::with_capacity(subscribers.len());
        let mut others = Vec::new();
        for subscriber in subscribers {
            let Subscriber { pool, source, .. } = subscriber;
            let Some(warm) = self.warm.get(&pool.vcl().ptr) else {
                continue;
            };
            let failed = Next {
                after: AFTER_PANIC,
                asks_others: false,
            };
            let next = guard("update", failed, || {
                let mut ctx = OffTask::new(warm.vcl.ptr, &warm.guard, clock::now());
                let asked = |report| Asked {
                    at,
                    jitter: fastrand::f64(),
                    report,
                };
                match answer {
                    Answer::Host(Lookup { answer, report }) => {
                        pool.take_host(&mut ctx, source, answer, asked(report))
                    }
                    Answer::Service(Lookup { answer, report }) => {
                        pool.take_service(&mut ctx, answer, asked(report))
                    }
                }
            });
            if next.asks_others {
                others.push(Arc::clone(&pool));
            }
            again.push(Subscriber {
                pool,
                source,
                due: now + next.after,
                interval: next.after,
            });
        }
        self.questions.answered(id, again);
        for pool in others {
            self.watch(&pool);
        }
    }

    /// Gives dead leaves back, and takes unused names away.
    fn tidy(&mut self) {
        let now = clock::now();
        for warm in self.warm.values_mut() {
            warm.vcl.graveyard.clear();
            for (_, mut watched) in warm
                .watched
                .extract_if(|_, watched| watched.pool.expire(now))
            {
                watched.stop(&mut self.questions, &HashSet::new());
            }
            for watched in warm.watched.values() {
                if watched.pool.must_retry(now) {
                    let mut ctx = OffTask::new(warm.vcl.ptr, &warm.guard, now);
                    watched.pool.retry_leaves(&mut ctx);
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
