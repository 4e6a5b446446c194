//! A request's choice: what the core asks about a request and its endpoints,
//! and what the shell does with the outcome. No lock, no allocation and no wait
//! once the domain has its first answer.

use std::sync::Arc;

use dynamic_core::select::{EndpointState, slow_start};
use dynamic_core::session::Found;
use dynamic_core::snapshot::{ChoiceRules, Outcome, RequestView};

use super::Domain;
use super::record::session_counter;
use super::snapshot::Snapshot;
use crate::lifetime;
use crate::task::{SessionOutcome, Task};
use crate::vrt::{BackendRef, Counter, Ctx, Director, InFlightToken, Leaf, Vsb};

/// What a call in VCL says about one request.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Call<'c> {
    key: Option<&'c [u8]>,
    pub(super) pin: Option<&'c [u8]>,
    /// Seconds that the client says it has waited.
    elapsed: f64,
    /// Names the client's attempt.
    transaction: &'c [u8],
}

impl<'c> Call<'c> {
    /// An empty key or pin, as of a header that is there and says nothing, is
    /// none.
    pub(crate) fn new(
        key: Option<&'c [u8]>,
        pin: Option<&'c [u8]>,
        elapsed: f64,
        transaction: Option<&'c [u8]>,
    ) -> Self {
        let some = |bytes: Option<&'c [u8]>| bytes.filter(|b| !b.is_empty());
        Call {
            key: some(key),
            pin: some(pin),
            elapsed,
            transaction: transaction.unwrap_or_default(),
        }
    }

    /// Whether the choice has to be made by the call itself: the director that
    /// is resolved later knows nothing of it.
    fn decides_now(&self) -> bool {
        self.key.is_some()
            || self.pin.is_some()
            || self.elapsed > 0.0
            || !self.transaction.is_empty()
    }
}

/// A request, and the endpoints of a snapshot as they are at this moment.
struct View<'n> {
    domain: &'n Domain,
    snapshot: &'n Snapshot,
    ctx: Ctx<'n>,
    task: Option<Task<'n>>,
    call: &'n Call<'n>,
    attempt: u32,
}

impl View<'_> {
    fn leaf(&self, i: usize) -> Option<&Leaf> {
        self.snapshot.backends().get(i).map(|b| &*b.leaf)
    }
}

impl EndpointState for View<'_> {
    fn healthy(&self, i: usize) -> bool {
        self.leaf(i).is_some_and(|leaf| leaf.healthy(self.ctx))
    }

    fn tried(&self, i: usize) -> bool {
        match (self.leaf(i), self.task) {
            (Some(leaf), Some(task)) => task.tried(leaf, self.attempt),
            _ => false,
        }
    }

    fn in_flight(&self, i: usize) -> u32 {
        self.leaf(i).map_or(0, Leaf::in_flight)
    }

    fn full(&self, i: usize) -> bool {
        let settings = &self.domain.config.settings;
        // With a queue a request waits there.
        settings.max_connections > 0
            && settings.wait_limit == 0
            && self
                .leaf(i)
                .is_some_and(|leaf| leaf.connections() >= settings.max_connections)
    }

    fn slow_start_factor(&self, i: usize) -> f64 {
        let window = self.domain.config.settings.slow_start;
        self.leaf(i).map_or(1.0, |leaf| {
            let (_, healthy_since) = leaf.health(self.ctx);
            slow_start::factor(healthy_since, self.ctx.now(), window)
        })
    }

    fn random(&self) -> u64 {
        self.domain.random.next()
    }
}

impl RequestView for View<'_> {
    fn pin(&self) -> Option<&[u8]> {
        self.call.pin
    }

    fn session_keys(&self) -> Found<impl Iterator<Item = &[u8]>> {
        let object = self.domain.config.references.session.as_ref();
        let found = object.map(|object| object.session().find(self.ctx.headers(object.header())));
        match found {
            Some(Found::Headers(values)) => Found::Headers(Some(values).into_iter().flatten()),
            Some(Found::Cookies(values)) => Found::Cookies(Some(values).into_iter().flatten()),
            None => Found::Cookies(None.into_iter().flatten()),
        }
    }

    fn key(&self) -> Option<&[u8]> {
        let header = || {
            let name = self.domain.config.hash_header.as_ref()?;
            self.ctx.header(name)
        };
        self.call.key.or_else(header)
    }

    fn elapsed(&self) -> f64 {
        self.call.elapsed
    }

    fn transaction(&self) -> &[u8] {
        self.call.transaction
    }

    fn health_is_known(&self) -> bool {
        self.domain.config.references.probe.is_some()
    }

    fn is_retry(&self) -> bool {
        self.attempt > 0
    }

    fn now(&self) -> f64 {
        self.ctx.now()
    }
}

impl Domain {
    /// What VCL gets for a call: a leaf where the call decides, else the
    /// director, to be resolved when the request is sent. The task holds the
    /// domain.
    pub(crate) fn backend(
        &self,
        ctx: Ctx<'_>,
        task: Option<Task<'_>>,
        call: &Call<'_>,
    ) -> Option<BackendRef> {
        self.touch(ctx.now());
        if call.decides_now() {
            return self.choose(ctx, task, call);
        }
        self.handle.get().map(BackendRef::director)
    }

    /// The snapshot, once there is a first answer. On the CLI, or when that
    /// takes too long: the pending one, which is empty.
    fn wait_for_first_answer(&self, ctx: Ctx<'_>) -> arc_swap::Guard<Arc<Snapshot>> {
        let snapshot = self.snapshot.load();
        if !snapshot.is_pending() || !ctx.in_task() {
            return snapshot;
        }
        drop(snapshot);
        if !self.first.wait(self.config.settings.first_lookup_timeout) {
            self.count(Counter::FirstLookupTimeouts);
        }
        self.snapshot.load()
    }

    fn choose(&self, ctx: Ctx<'_>, task: Option<Task<'_>>, call: &Call<'_>) -> Option<BackendRef> {
        let Some(task) = task else {
            let snapshot = self.wait_for_first_answer(ctx);
            let leaf = self.choose_from(ctx, None, &snapshot, call)?;
            return Some(BackendRef::outside_task(leaf));
        };
        if ctx.attempt().is_some() {
            // A repeated choice must not count the task's own load.
            task.set_load(None);
        }
        let snapshot = match task.snapshot(self.snapshot.address()) {
            Some(held) if !held.is_pending() => held,
            _ => task.hold_snapshot(&self.wait_for_first_answer(ctx)),
        };
        let leaf = self.choose_from(ctx, Some(task), snapshot, call)?;
        if let Some(attempt) = ctx.attempt() {
            task.remember(leaf, attempt);
            if self.config.settings.rules.by_load() {
                task.set_load(Some(InFlightToken::on(leaf)));
            }
        }
        Some(BackendRef::kept(leaf))
    }

    fn choose_from<'s>(
        &self,
        ctx: Ctx<'_>,
        task: Option<Task<'_>>,
        snapshot: &'s Snapshot,
        call: &Call<'_>,
    ) -> Option<&'s Arc<Leaf>> {
        let references = &self.config.references;
        let rules = ChoiceRules {
            rules: &self.config.settings.rules,
            failure_policy: references
                .session
                .as_ref()
                .map(|object| object.session().settings().failure_policy()),
            buckets: references
                .buckets
                .as_ref()
                .and_then(|object| object.built()),
        };
        let view = View {
            domain: self,
            snapshot,
            ctx,
            task,
            call,
            attempt: ctx.attempt().unwrap_or(0),
        };
        let outcome = snapshot.choose(&rules, &view, &view);
        self.note_session(task, snapshot, &outcome);
        // By reference: a copy would stall on store forwarding.
        let choice = match &outcome.choice {
            Ok(choice) => choice,
            Err(refusal) => {
                self.count_service(&outcome);
                self.log_refusal(ctx, call, *refusal);
                return None;
            }
        };
        let backend = snapshot.backends().get(choice.index)?;
        self.count_service(&outcome);
        self.record_choice(ctx, choice, backend);
        Some(&backend.leaf)
    }

    /// Counts what became of a session's key, and keeps what
    /// `session.attach()` needs.
    fn note_session(&self, task: Option<Task<'_>>, snapshot: &Snapshot, outcome: &Outcome) {
        let (Some(task), Some(status), Some(session)) =
            (task, outcome.session, &self.config.references.session)
        else {
            return;
        };
        self.count(session_counter(status));
        let made = match (snapshot.affinity(), &outcome.choice) {
            (Some(affinity), Ok(choice)) if status.sends_key() => {
                Some((Arc::clone(affinity), choice.index))
            }
            _ => None,
        };
        let outcome = SessionOutcome {
            status,
            made,
            sent: false,
        };
        task.set_session_outcome(session.identity(), outcome);
    }
}

impl Director for Domain {
    fn resolve(&self, ctx: Ctx<'_>) -> Option<BackendRef> {
        self.touch(ctx.now());
        self.choose(ctx, Task::of(ctx), &Call::default())
    }

    /// Does not wait for a first answer: directors that hold this one ask for
    /// its health with their locks held, `backend.list` wants those locks with
    /// the engine's VCL lock held, and the answer's leaves cannot be made
    /// without that. A name counts as healthy until its first answer is due,
    /// so that it is chosen; who gets it waits when it is resolved.
    fn healthy(&self, ctx: Ctx<'_>) -> (bool, f64) {
        let snapshot = self.snapshot.load();
        if snapshot.is_pending() && ctx.in_task() {
            let timeout = self.config.settings.first_lookup_timeout;
            return (!self.first.is_overdue(timeout), 0.0);
        }
        let mut latest = 0.0_f64;
        for backend in snapshot.backends() {
            let (healthy, changed) = backend.leaf.health(ctx);
            latest = latest.max(changed);
            if healthy {
                return (true, latest);
            }
        }
        (false, latest)
    }

    fn list(&self, ctx: Ctx<'_>, out: &mut Vsb<'_>, detail: bool, json: bool) {
        self.write_list(ctx, out, detail, json);
    }

    fn temperature(&self, warm: bool) {
        self.counters.show(warm);
        if warm {
            lifetime::confirm(self.vcl().ptr);
        }
    }

    fn discard(&self) {
        self.release();
    }
}
