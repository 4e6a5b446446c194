//! A name or service: the backends behind it, as requests and the CLI see them.
//!
//! Requests read one [`Snapshot`], which the resolver thread replaces in one
//! piece; only a name's very first answer is waited for.

mod choose;
mod first_answer;
mod list;
mod record;
mod snapshot;
mod update;

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use dynamic_core::domain::DomainState;
use dynamic_core::name::DnsName;
use dynamic_core::port::Port;
use dynamic_core::random::SplitMix64;

use crate::director::Config;
use crate::sync::lock;
use crate::vcl::Vcl;
use crate::vrt::{
    Acl, BackgroundCtx, Counter, Counters, Ctx, DirectorHandle, Leaf, VslTag, random, vsl, vsl_task,
};

pub(crate) use choose::Call;
use first_answer::FirstAnswer;
use snapshot::Published;
pub(crate) use snapshot::Snapshot;
pub(crate) use update::{LookupInfo, Next};

/// A target of a domain, with the engine's ACLs.
pub(crate) type Target = dynamic_core::targets::Target<Acl>;
/// What the resolver thread knows of a domain.
type State = DomainState<Acl, Arc<Leaf>>;

/// Set in the count of pins when the name is going away.
const CLOSED: u32 = 1 << 31;

/// For how many seconds more than its retry takes a name without an answer
/// stays unused, at least.
const MIN_STAY: f64 = 1.0;

/// What its endpoints come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A host name or address.
    Name,
    /// The SRV records of a service.
    Service,
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
pub(crate) struct Domain {
    config: Arc<Config>,
    kind: Kind,
    /// What the director finds it by.
    key: Box<[u8]>,
    /// Which of the director's domains it is, in the order in which they were
    /// made.
    number: u64,
    /// `host:port` as the engine's lists show it.
    display_name: String,
    /// The port in force.
    port: Port,
    authority: Option<Authority>,
    snapshot: Published,
    handle: OnceLock<DirectorHandle>,
    counters: Counters,
    /// Tasks that hold it, and `CLOSED`.
    pins: AtomicU32,
    /// Seconds since the epoch, as bits.
    last_used: AtomicU64,
    /// When leaves that the engine refused are tried again, in the same form;
    /// 0: there are none.
    retry_at: AtomicU64,
    first: FirstAnswer,
    /// Whether a good answer ever came.
    answered: AtomicBool,
    /// Where it counts until then.
    unanswered: Option<Unanswered>,
    random: SplitMix64,
    /// How often a snapshot was made: the next one's first turn.
    generation: AtomicU64,
    /// The resolver thread's own state.
    state: Mutex<State>,
}

/// One domain's part in the count of those without a good answer.
#[derive(Debug)]
struct Unanswered {
    count: Arc<AtomicUsize>,
    counts: AtomicBool,
}

impl Unanswered {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Unanswered {
            count: Arc::clone(count),
            counts: AtomicBool::new(true),
        }
    }

    /// Counts no more. Doing it twice does nothing.
    fn end(&self) {
        if self.counts.swap(false, Ordering::Relaxed) {
            self.count.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Drop for Unanswered {
    fn drop(&mut self) {
        self.end();
    }
}

/// What a new domain is made of.
pub(crate) struct DomainSpec {
    /// What the director finds it by.
    pub(crate) key: Box<[u8]>,
    /// `host:port` as the engine's lists show it.
    pub(crate) display_name: String,
    /// The port in force.
    pub(crate) port: Port,
    /// The authority in force.
    pub(crate) authority: Option<Authority>,
    /// What its endpoints come from.
    pub(crate) kind: Kind,
    /// The service whose records give the targets.
    pub(crate) service: Option<DnsName>,
    /// The targets that are known from the start.
    pub(crate) targets: Vec<Target>,
}

impl Domain {
    /// Makes a domain and registers it with the engine. `unanswered` counts
    /// it until its first good answer. `None` when the VCL is leaving.
    pub(crate) fn new(
        ctx: Ctx<'_>,
        config: &Arc<Config>,
        spec: DomainSpec,
        number: u64,
        unanswered: Option<&Arc<AtomicUsize>>,
    ) -> Option<Arc<Self>> {
        let service = spec.kind != Kind::Name;
        let state = State::new(spec.service, spec.targets);
        let domain = Arc::new(Domain {
            config: Arc::clone(config),
            kind: spec.kind,
            key: spec.key,
            number,
            display_name: spec.display_name,
            port: spec.port,
            authority: spec.authority,
            snapshot: Published::new(Snapshot::pending()),
            handle: OnceLock::new(),
            counters: Counters::default(),
            pins: AtomicU32::new(0),
            last_used: AtomicU64::new(ctx.now().to_bits()),
            retry_at: AtomicU64::new(0),
            first: FirstAnswer::default(),
            answered: AtomicBool::new(false),
            unanswered: unanswered.map(Unanswered::new),
            random: SplitMix64::new(random()),
            generation: AtomicU64::new(0),
            state: Mutex::new(state),
        });
        let name = domain.engine_name();
        let handle = DirectorHandle::add(ctx, &name, service, Arc::clone(&domain))?;
        let _ = domain.handle.set(handle);
        Some(domain)
    }

    pub(crate) fn config(&self) -> &Arc<Config> {
        &self.config
    }

    pub(crate) fn vcl(&self) -> &Arc<Vcl> {
        &self.config.vcl
    }

    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// What the director finds it by.
    pub(crate) fn key(&self) -> &[u8] {
        &self.key
    }

    fn next_generation(&self) -> u64 {
        self.generation.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// The authority of the leaves of a host. Where none is given, each target
    /// of a service has its own.
    fn authority_of(&self, host: &str) -> Option<Authority> {
        match self.kind {
            Kind::Name => self.authority.clone(),
            Kind::Service | Kind::Custom => self.config.authority(None, host),
        }
    }

    /// `host:port`, or the name of a service.
    #[cfg(debug_assertions)]
    pub(crate) fn display_name(&self) -> &str {
        &self.display_name
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
        format!("{}({}{authority})", self.config.name, self.display_name)
    }

    fn count(&self, counter: Counter) {
        self.counters.add(counter);
    }

    /// The log line of an event.
    fn event(&self, event: &str) -> String {
        format!(
            "vmod-dynamic {} {} {} {event}",
            self.vcl().name,
            self.config.name,
            self.display_name
        )
    }

    fn log(&self, tag: VslTag, event: &str) {
        vsl(tag, &self.event(event));
    }

    fn log_in(&self, ctx: Ctx<'_>, tag: VslTag, event: &str) {
        vsl_task(ctx, tag, &self.event(event));
    }

    fn debug(&self, event: impl FnOnce() -> String) {
        if self.config.debugging() {
            self.log(VslTag::Debug, &event());
        }
    }

    /// Notes that a request uses the name.
    pub(crate) fn touch(&self, now: f64) {
        // Written only when it says something new: the line is shared by all
        // threads.
        let known = f64::from_bits(self.last_used.load(Ordering::Relaxed));
        if now - known > self.config.usage_grain {
            self.last_used.store(now.to_bits(), Ordering::Relaxed);
        }
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
        lock(&self.state).add(target);
    }

    /// Closes the domain if it is unused, so that the director can take it
    /// out. `crowded`: a domain without a good answer makes room for others.
    /// False when it is in use, by a task or a stock director. On the resolver
    /// thread.
    pub(crate) fn expire(&self, now: f64, crowded: bool) -> bool {
        if self.kind == Kind::Custom
            || !self.is_unused(now, crowded)
            || !self.handle.get().is_some_and(DirectorHandle::only_ours)
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
        if !self.handle.get().is_some_and(DirectorHandle::only_ours) {
            // Tasks that tried to enter meanwhile still have to leave again.
            self.pins.fetch_and(!CLOSED, Ordering::Release);
            return false;
        }
        self.log(VslTag::Log, "unused: removed");
        true
    }

    /// Whether it may go, as no request needs it.
    fn is_unused(&self, now: f64, crowded: bool) -> bool {
        let used = f64::from_bits(self.last_used.load(Ordering::Relaxed));
        let idle = now - used;
        let settings = &self.config.settings;
        let usage_timeout = settings.domain_usage_timeout.as_secs_f64();
        if self.unanswered.is_none() || self.is_answered() {
            return idle > usage_timeout;
        }
        // Anyone can ask for names that do not exist: these stay for one more
        // lookup, and only while there is room.
        let retry_after = settings.retry_after.as_secs_f64();
        let stay = retry_after + (retry_after / 2.0).max(MIN_STAY);
        let complete = self.first.is_complete();
        (crowded && (complete || idle > MIN_STAY)) || (complete && idle > stay.min(usage_timeout))
    }

    /// A good answer is there: the name exists.
    fn set_answered(&self) {
        if !self.answered.swap(true, Ordering::Relaxed)
            && let Some(unanswered) = &self.unanswered
        {
            unanswered.end();
        }
    }

    fn is_answered(&self) -> bool {
        self.answered.load(Ordering::Relaxed)
    }

    /// The domain has counters in shared memory from now on.
    fn publish_counters(&self, ctx: &mut BackgroundCtx<'_>) {
        if !self.counters.is_published() {
            let name = format!("{}.{}", self.vcl().name, self.engine_name());
            self.counters
                .publish(ctx, &name, &mut lock(&self.vcl().clusters));
        }
    }

    /// Lets go of all leaves and of the engine's director. On the resolver
    /// thread or the CLI thread.
    pub(crate) fn close(&self) {
        lock(&self.state).clear();
        self.snapshot.store(Snapshot::empty());
        self.first.complete();
        if let Some(unanswered) = &self.unanswered {
            unanswered.end();
        }
        self.release();
    }

    /// Gives the engine's director back. Doing it twice does nothing.
    fn release(&self) {
        if let Some(handle) = self.handle.get() {
            handle.remove();
        }
    }

    /// Tries to enter, for a task. False when it is about to go away.
    pub(crate) fn pin(&self) -> bool {
        if self.pins.fetch_add(1, Ordering::AcqRel) & CLOSED == 0 {
            return true;
        }
        self.pins.fetch_sub(1, Ordering::AcqRel);
        false
    }

    /// Leaves again.
    pub(crate) fn unpin(&self) {
        self.pins.fetch_sub(1, Ordering::AcqRel);
    }
}
