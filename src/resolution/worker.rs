//! The thread's loop.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use dynamic_core::answer::HostAnswer;
use dynamic_resolve::{Resolver, Settings, SystemFiles};
use futures_util::future::LocalBoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::sync::mpsc::UnboundedReceiver;

use super::Command;
use super::questions::{Question, QuestionId, Questions, Subscriber};
use crate::clock;
use crate::lifetime::Vcl;
use crate::pool::{Ask, Pool};
use crate::vrt::{Guard, OffTask, VclPtr, guard};

/// How often leaves are given back and unused names are looked for.
const HOUSEKEEPING: Duration = Duration::from_millis(200);
/// When a lookup is repeated whose answer could not be taken in.
const AFTER_PANIC: Duration = Duration::from_secs(30);

/// A VCL that is warm.
struct Warm {
    vcl: Arc<Vcl>,
    guard: Guard,
    pools: Vec<Arc<Pool>>,
}

/// What a question came to.
enum Answer {
    Host(HostAnswer),
}

/// All that the thread has.
pub(super) struct Worker {
    inbox: UnboundedReceiver<Command>,
    warm: HashMap<VclPtr, Warm>,
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
                self.warm.insert(vcl.ptr, Warm { vcl, guard, pools: Vec::new() });
            }
            Command::Cold(ptr) => self.cool(ptr),
            Command::Watch(pool) => self.watch(pool),
        }
    }

    /// Lets go of a VCL: its names, its dead leaves, at last its guard.
    fn cool(&mut self, ptr: VclPtr) {
        self.questions.unsubscribe(|s| s.pool.vcl().ptr == ptr);
        if let Some(Warm { vcl, guard, pools }) = self.warm.remove(&ptr) {
            drop(pools);
            for director in vcl.directors() {
                director.settle();
            }
            vcl.graveyard.clear();
            drop(guard);
        }
        // Each question holds the settings that it is asked with.
        self.resolvers.retain(|settings, _| Arc::strong_count(settings) > 1);
    }

    fn watch(&mut self, pool: Arc<Pool>) {
        let Some(warm) = self.warm.get_mut(&pool.vcl().ptr) else { return };
        warm.pools.push(Arc::clone(&pool));
        let now = Instant::now();
        for (source, ask) in pool.questions() {
            match ask {
                Ask::Address(address) => {
                    let mut ctx = OffTask::new(warm.vcl.ptr, &warm.guard, clock::now());
                    pool.take_address(&mut ctx, source, address);
                }
                Ask::Host { name, rooted } => {
                    let settings = interned(&mut self.resolvers, pool.director().resolver());
                    let question = Question { settings, name, rooted, srv: false };
                    self.questions.subscribe(question, Arc::clone(&pool), source, now);
                }
            }
        }
    }

    /// Sends the questions that are due.
    fn ask(&mut self) {
        let now = Instant::now();
        while let Some((id, question)) = self.questions.take_due(now) {
            let Some(resolver) = self.resolvers.get(&question.settings).cloned() else { continue };
            self.flying.push(Box::pin(async move {
                let lookup = resolver.host(&question.name, question.rooted).await;
                (id, Answer::Host(lookup.answer))
            }));
        }
    }

    /// Hands an answer to all that wait for it.
    fn deliver(&mut self, id: QuestionId, answer: &Answer) {
        let now = Instant::now();
        let Some((asked, subscribers)) = self.questions.take_subscribers(id, now) else { return };
        let asked = clock::now() - now.duration_since(asked).as_secs_f64();
        let mut again = Vec::with_capacity(subscribers.len());
        for subscriber in subscribers {
            let Subscriber { pool, source, .. } = subscriber;
            let Some(warm) = self.warm.get(&pool.vcl().ptr) else { continue };
            let interval = guard("update", AFTER_PANIC, || {
                let mut ctx = OffTask::new(warm.vcl.ptr, &warm.guard, clock::now());
                match answer {
                    Answer::Host(answer) => pool.take_answer(&mut ctx, source, answer, asked, fastrand::f64()),
                }
            });
            again.push(Subscriber { pool, source, due: now + interval, interval });
        }
        self.questions.answered(id, again);
    }

    /// Gives dead leaves back, and takes unused names away.
    fn tidy(&mut self) {
        let now = clock::now();
        for warm in self.warm.values_mut() {
            warm.vcl.graveyard.clear();
            let gone: Vec<_> = warm.pools.extract_if(.., |pool| pool.expire(now)).collect();
            if !gone.is_empty() {
                self.questions
                    .unsubscribe(|s| gone.iter().any(|pool| Arc::ptr_eq(pool, &s.pool)));
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
    let file = |variable, usual: &str| std::env::var_os(variable).map_or_else(|| usual.into(), PathBuf::from);
    SystemFiles::new(
        file("VMOD_DYNAMIC_RESOLV_CONF", "/etc/resolv.conf"),
        file("VMOD_DYNAMIC_HOSTS", "/etc/hosts"),
    )
}
