//! A name or service: the backends behind it, as requests and the CLI see them.
//!
//! Requests read one [`Snapshot`], which the resolver thread replaces in one
//! piece; only a name's very first answer is waited for.

mod account;
mod choose;
mod first;
mod list;
mod publish;
mod snapshot;
mod targets;
mod update;

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use dynamic_core::port::Port;
use dynamic_core::random::SplitMix64;

use crate::director::Director;
use crate::lifetime::Vcl;
use crate::sync::lock;
use crate::vrt::{Chosen, Counters, Ctx, Pinnable, Registration, Tag, line, random, task_line};

pub(crate) use choose::Call;
use first::First;
use publish::Progress;
use snapshot::Published;
pub(crate) use snapshot::Snapshot;
pub(crate) use targets::{Ask, Filter, SourceId, Target};
pub(crate) use update::{Asked, Next};

/// Set in the count of pins when the name is going away.
const CLOSED: u32 = 1 << 31;

/// What its endpoints come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A host name or address.
    Name,
    /// The SRV records of a service.
    Service {
        /// Canonical form.
        name: String,
        /// Written with a trailing dot: no search list.
        rooted: bool,
    },
    /// Targets that VCL lists.
    Custom,
}

/// The authority of leaves that are behind another backend.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Authority {
    /// What goes ahead with PROXY.
    pub(crate) name: String,
    /// Whether the call or the director names it, so that names show it.
    pub(crate) explicit: bool,
}

/// A name or service, and its backends.
#[derive(Debug)]
pub(crate) struct Pool {
    director: Arc<Director>,
    kind: Kind,
    /// What the director finds it by.
    key: Box<[u8]>,
    /// `host:port` as the engine's lists show it.
    label: String,
    /// The port in force.
    port: Port,
    authority: Option<Authority>,
    snapshot: Published,
    registration: OnceLock<Registration>,
    counters: OnceLock<Counters>,
    /// Tasks that hold it, and `CLOSED`.
    pins: AtomicU32,
    /// Seconds since the epoch, as bits.
    last_used: AtomicU64,
    /// When leaves that the engine refused are tried again, in the same form;
    /// 0: there are none.
    retry_at: AtomicU64,
    first: First,
    random: SplitMix64,
    /// The resolver thread's own state.
    progress: Mutex<Progress>,
}

/// What a new name is made of.
pub(crate) struct NewPool {
    /// What the director finds it by.
    pub(crate) key: Box<[u8]>,
    /// `host:port` as the engine's lists show it.
    pub(crate) label: String,
    /// The port in force.
    pub(crate) port: Port,
    /// The authority in force.
    pub(crate) authority: Option<Authority>,
    /// What its endpoints come from.
    pub(crate) kind: Kind,
    /// The targets that are known from the start.
    pub(crate) targets: Vec<Target>,
}

impl Pool {
    /// Makes a name and registers it with the engine. `None` when the VCL is
    /// leaving.
    pub(crate) fn new(ctx: Ctx<'_>, director: &Arc<Director>, new: NewPool) -> Option<Arc<Self>> {
        let service = new.kind != Kind::Name;
        let progress = Progress::new(&new.kind, new.targets);
        let pool = Arc::new(Pool {
            director: Arc::clone(director),
            kind: new.kind,
            key: new.key,
            label: new.label,
            port: new.port,
            authority: new.authority,
            snapshot: Published::new(Snapshot::pending()),
            registration: OnceLock::new(),
            counters: OnceLock::new(),
            pins: AtomicU32::new(0),
            last_used: AtomicU64::new(ctx.now().to_bits()),
            retry_at: AtomicU64::new(0),
            first: First::default(),
            random: SplitMix64::new(random()),
            progress: Mutex::new(progress),
        });
        let name = pool.engine_name();
        if let Some(counters) = Counters::new(ctx, &name, &mut lock(&pool.vcl().arena)) {
            // WARM shows them.
            counters.show(ctx.in_task());
            let _ = pool.counters.set(counters);
        }
        let registration = Registration::add(ctx, &name, service, Arc::clone(&pool))?;
        let _ = pool.registration.set(registration);
        Some(pool)
    }

    pub(crate) fn director(&self) -> &Arc<Director> {
        &self.director
    }

    pub(crate) fn vcl(&self) -> &Arc<Vcl> {
        self.director.vcl()
    }

    /// What the director finds it by.
    pub(crate) fn key(&self) -> &[u8] {
        &self.key
    }

    /// The name under which the engine lists it, without the VCL's.
    fn engine_name(&self) -> String {
        let authority = match &self.authority {
            Some(Authority {
                name,
                explicit: true,
            }) => format!("/{name}"),
            _ => String::new(),
        };
        format!("{}({}{authority})", self.director.name(), self.label)
    }

    fn count(&self, counter: crate::vrt::Counter) {
        if let Some(counters) = self.counters.get() {
            counters.add(counter);
        }
    }

    /// The engine's handle for this name. The caller's task holds the name.
    pub(crate) fn handle(&self) -> Option<Chosen> {
        self.registration.get().map(Chosen::director)
    }

    /// The log line of an event.
    fn event(&self, event: &str) -> String {
        format!(
            "vmod-dynamic {} {} {} {event}",
            self.vcl().name,
            self.director.name(),
            self.label
        )
    }

    fn log(&self, tag: Tag, event: &str) {
        line(tag, &self.event(event));
    }

    fn log_in(&self, ctx: Ctx<'_>, tag: Tag, event: &str) {
        task_line(ctx, tag, &self.event(event));
    }

    fn debug(&self, event: impl FnOnce() -> String) {
        if self.director.debugging() {
            self.log(Tag::Debug, &event());
        }
    }

    /// Notes that a request uses the name.
    pub(crate) fn touch(&self, now: f64) {
        // Written only when it says something new: the line is shared by all
        // threads.
        let known = f64::from_bits(self.last_used.load(Ordering::Relaxed));
        if now - known > self.director.usage_grain() {
            self.last_used.store(now.to_bits(), Ordering::Relaxed);
        }
    }

    /// Whether no request used the name for longer than the director's usage
    /// timeout.
    fn is_idle(&self, now: f64) -> bool {
        let used = f64::from_bits(self.last_used.load(Ordering::Relaxed));
        now - used > self.director.settings().domain_usage_timeout.as_secs_f64()
    }

    fn set_retry(&self, at: Option<f64>) {
        self.retry_at
            .store(at.map_or(0, f64::to_bits), Ordering::Relaxed);
    }

    /// Whether leaves that the engine refused are to be tried again.
    pub(crate) fn must_retry(&self, now: f64) -> bool {
        let at = self.retry_at.load(Ordering::Relaxed);
        at != 0 && now >= f64::from_bits(at)
    }

    /// Adds a target of a custom service. In `vcl_init`.
    pub(crate) fn add_target(&self, target: Target) {
        lock(&self.progress).add(target);
    }

    /// Takes an unused name away: out of the director, then out of the engine.
    /// False when it is in use, by a task or a stock director. On the resolver
    /// thread.
    pub(crate) fn expire(self: &Arc<Self>, now: f64) -> bool {
        if self.kind == Kind::Custom
            || !self.is_idle(now)
            || !self.registration.get().is_some_and(Registration::only_ours)
        {
            return false;
        }
        // From here on no task can get hold of it; then nobody can raise the
        // engine's count either, so that it can be trusted.
        if self
            .pins
            .compare_exchange(0, CLOSED, Ordering::AcqRel, Ordering::Acquire)
            .is_err()
        {
            return false;
        }
        if !self.registration.get().is_some_and(Registration::only_ours) {
            self.pins.store(0, Ordering::Release);
            return false;
        }
        self.log(Tag::Log, "unused: removed");
        self.director.forget(self);
        self.close();
        true
    }

    /// Lets go of all leaves and of the engine's director. On the resolver
    /// thread or the CLI thread.
    pub(crate) fn close(&self) {
        lock(&self.progress).clear();
        self.snapshot.store(Snapshot::empty());
        self.first.settle();
        if let Some(registration) = self.registration.get() {
            registration.remove();
        }
    }
}

impl Pinnable for Pool {
    fn pin(&self) -> bool {
        if self.pins.fetch_add(1, Ordering::AcqRel) & CLOSED == 0 {
            return true;
        }
        self.pins.fetch_sub(1, Ordering::AcqRel);
        false
    }

    fn unpin(&self) {
        self.pins.fetch_sub(1, Ordering::AcqRel);
    }
}
