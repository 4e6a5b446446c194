//! A request's choice. No lock, no allocation and no wait once the name has
//! its first answer.

use std::cell::Cell;
use std::sync::Arc;

use dynamic_core::buckets::{self, Client, OwnerTable, Owners, Service};
use dynamic_core::pin::Pin;
use dynamic_core::select::{Choice, EndpointState, Request, Rules, Selector, key_hash, slow_start};
use dynamic_core::session::{Action, Condition, Decision, Key, Status, decide};

use super::Pool;
use super::account::{Refusal, session_counter};
use super::snapshot::{Endpoint, Snapshot};
use crate::buckets::since_epoch;
use crate::vrt::{Chosen, Counter, Ctx, Director, Load, Note, Out, Task};

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

/// The endpoints of a snapshot as they are at this moment.
struct Now<'n> {
    pool: &'n Pool,
    snapshot: &'n Snapshot,
    ctx: Ctx<'n>,
    task: Option<&'n Task<'n>>,
    attempt: u32,
    /// Why there is no choice, where there is none.
    refusal: Cell<Refusal>,
}

impl Now<'_> {
    fn endpoint(&self, i: usize) -> Option<&Endpoint> {
        self.snapshot.endpoints.get(i)
    }

    fn ask(&self, key: Option<u64>) -> Request {
        Request {
            key,
            retry: self.attempt > 0,
            now: self.ctx.now(),
        }
    }

    /// Among all, by the director's rules.
    fn by_rules(&self, key: Option<u64>) -> Option<Choice> {
        let selector = &self.snapshot.selector;
        selector.choose(self.pool.rules(), self, &self.ask(key))
    }

    /// Among those of a group, by the algorithm.
    fn within(&self, group: Option<&Selector>) -> Option<Choice> {
        group?.choose(self.pool.rules(), self, &self.ask(None))
    }

    /// No choice, for this reason.
    fn refuse(&self, why: Refusal) -> Option<Choice> {
        self.refusal.set(why);
        None
    }

    /// How the endpoints that a session's key names are.
    fn condition(&self, group: &[usize]) -> Condition {
        if !group.iter().any(|i| self.healthy(*i)) {
            return Condition::Sick;
        }
        let fresh = |i: usize| self.healthy(i) && !self.tried(i);
        let spent = self.attempt > 0
            && !group.iter().any(|i| fresh(*i))
            && (0..self.snapshot.endpoints.len()).any(fresh);
        if spent {
            Condition::Tried
        } else {
            Condition::Healthy
        }
    }
}

impl EndpointState for Now<'_> {
    fn healthy(&self, i: usize) -> bool {
        self.endpoint(i).is_some_and(|e| e.leaf.healthy(self.ctx))
    }

    fn tried(&self, i: usize) -> bool {
        match (self.endpoint(i), self.task) {
            (Some(endpoint), Some(task)) => task.tried(&endpoint.leaf, self.attempt),
            _ => false,
        }
    }

    fn full(&self, _: usize) -> bool {
        false
    }

    fn in_flight(&self, i: usize) -> u32 {
        self.endpoint(i).map_or(0, |e| e.leaf.in_flight())
    }

    fn slow_start_factor(&self, i: usize) -> f64 {
        let window = self.pool.director.settings().slow_start;
        self.endpoint(i).map_or(1.0, |e| {
            let (_, healthy_since) = e.leaf.health(self.ctx);
            slow_start::factor(healthy_since, self.ctx.now(), window)
        })
    }

    fn random(&self) -> u64 {
        self.pool.random.next()
    }
}

impl Pool {
    /// What VCL gets for a call: a leaf where the call decides, else the
    /// director, to be resolved when the request is sent. The task holds the
    /// name.
    pub(crate) fn answer(
        &self,
        ctx: Ctx<'_>,
        task: Option<&Task<'_>>,
        call: &Call<'_>,
    ) -> Option<Chosen> {
        self.touch(ctx.now());
        if call.decides_now() {
            return self.choose(ctx, task, call);
        }
        self.handle()
    }

    /// The snapshot, once there is a first answer. On the CLI, or when that
    /// takes too long: the pending one, which is empty.
    fn settled(&self, ctx: Ctx<'_>) -> arc_swap::Guard<Arc<Snapshot>> {
        let snapshot = self.snapshot.load();
        if !snapshot.pending || !ctx.in_task() {
            return snapshot;
        }
        drop(snapshot);
        if !self
            .first
            .wait(self.director.settings().first_lookup_timeout)
        {
            self.count(Counter::Expired);
        }
        self.snapshot.load()
    }

    fn choose(&self, ctx: Ctx<'_>, task: Option<&Task<'_>>, call: &Call<'_>) -> Option<Chosen> {
        let Some(task) = task else {
            let snapshot = self.settled(ctx);
            let endpoint = self.choose_from(ctx, None, &snapshot, call)?;
            return Some(Chosen::outside_task(&endpoint.leaf));
        };
        if ctx.attempt().is_some() {
            // It is not to stand in its own way when it chooses again.
            task.carry(None);
        }
        let snapshot = match task.kept::<Snapshot>(self.snapshot.address()) {
            Some(kept) if !kept.pending => kept,
            _ => task.keep(&self.settled(ctx))?,
        };
        let endpoint = self.choose_from(ctx, Some(task), snapshot, call)?;
        if let Some(attempt) = ctx.attempt() {
            task.remember(&endpoint.leaf, attempt);
            if self.rules().by_load() {
                task.carry(Some(Load::on(&endpoint.leaf)));
            }
        }
        Some(Chosen::kept(&endpoint.leaf))
    }

    fn choose_from<'s>(
        &self,
        ctx: Ctx<'_>,
        task: Option<&Task<'_>>,
        snapshot: &'s Snapshot,
        call: &Call<'_>,
    ) -> Option<&'s Endpoint> {
        let now = Now {
            pool: self,
            snapshot,
            ctx,
            task,
            attempt: ctx.attempt().unwrap_or(0),
            refusal: Cell::new(Refusal::Empty),
        };
        let (choice, status) = self.decide(&now, call);
        if let (Some(task), Some(status), Some(session)) =
            (task, status, &self.director.references().session)
        {
            self.count(session_counter(status));
            if let Some(snapshot) = task.share(snapshot) {
                let note = Note {
                    status,
                    index: choice.as_ref().map_or(usize::MAX, |c| c.index),
                    snapshot,
                    sent: false,
                };
                task.note(session.identity(), note);
            }
        }
        // By reference: copied as a whole, what was just written in parts would
        // have to be waited for.
        let found = choice
            .as_ref()
            .and_then(|choice| Some((choice, snapshot.endpoints.get(choice.index)?)));
        let Some((choice, endpoint)) = found else {
            self.explain(ctx, snapshot, call, now.refusal.get());
            return None;
        };
        self.account(ctx, choice, endpoint);
        Some(endpoint)
    }

    /// In order of precedence: the pin, the session, the hash buckets, the
    /// hash, the algorithm. With what became of the session's key.
    fn decide(&self, now: &Now<'_>, call: &Call<'_>) -> (Option<Choice>, Option<Status>) {
        if let Some(pin) = call.pin {
            return (self.pinned(now, pin), None);
        }
        let (Some(session), Some(table)) =
            (&self.director.references().session, &now.snapshot.affinity)
        else {
            return (self.balanced(now, call), None);
        };
        let session = (session.session(), session.header());
        let key = table.read(session.0.find(now.ctx.headers(session.1)));
        let state = key.state(|group| now.condition(table.members(group)));
        let Decision { action, status } = decide(state, session.0.settings().failure_policy());
        let choice = match (action, key) {
            (Action::Refuse, _) => now.refuse(Refusal::Session(status)),
            (Action::Follow, Key::Group(group)) => now.within(now.snapshot.group(group)),
            _ => self.balanced(now, call),
        };
        (choice, Some(status))
    }

    /// The instance that the request names, whatever its health.
    fn pinned(&self, now: &Now<'_>, pin: &[u8]) -> Option<Choice> {
        now.refusal.set(Refusal::Pin);
        let mut room = [0; 256];
        let pin = Pin::parse(pin, &mut room)?;
        let named = |i: usize| {
            now.endpoint(i)
                .is_some_and(|e| pin.names(e.address, e.port, &e.host))
        };
        now.snapshot
            .selector
            .choose_where(self.rules(), now, &now.ask(None), named)
    }

    /// By the key, if there is one, else by the algorithm.
    fn balanced(&self, now: &Now<'_>, call: &Call<'_>) -> Option<Choice> {
        let header = || {
            self.director
                .hash_header()
                .and_then(|name| now.ctx.header(name))
        };
        let key = call.key.or_else(header).filter(|key| !key.is_empty());
        match (key, &now.snapshot.owners) {
            (Some(key), Some(owners)) => self.by_bucket(now, call, key, owners),
            (key, _) => now.by_rules(key.map(key_hash)),
        }
    }

    /// By the hash bucket of the key (RFC 3074).
    fn by_bucket(
        &self,
        now: &Now<'_>,
        call: &Call<'_>,
        key: &[u8],
        owners: &OwnerTable,
    ) -> Option<Choice> {
        let Some(buckets) = self
            .director
            .references()
            .buckets
            .as_ref()
            .and_then(|b| b.built())
        else {
            return now.by_rules(None);
        };
        let bucket = buckets::hash(key);
        let owners = owners.owners(bucket);
        let state = if owners.is_empty() {
            Owners::None
        } else if owners.iter().any(|i| now.healthy(*i)) {
            Owners::Healthy
        } else {
            Owners::Down
        };
        let client = Client {
            key,
            elapsed: call.elapsed,
            transaction: call.transaction,
        };
        match buckets.service(state, &client, since_epoch(now.ctx)) {
            Service::Owner => {
                self.count(Counter::BucketsOwner);
                now.within(now.snapshot.owners_of(bucket))
            }
            Service::Anyone => now.by_rules(None),
            Service::TakenOver => {
                self.count(Counter::BucketsTakenOver);
                now.by_rules(None)
            }
            Service::Delayed => {
                self.count(Counter::BucketsDelayed);
                now.refuse(Refusal::Delayed)
            }
        }
    }

    fn rules(&self) -> &Rules {
        &self.director.settings().rules
    }
}

impl Director for Pool {
    fn resolve(&self, ctx: Ctx<'_>) -> Option<Chosen> {
        self.touch(ctx.now());
        self.choose(ctx, Task::of(ctx).as_ref(), &Call::default())
    }

    /// Does not wait for a first answer: directors that hold this one ask for
    /// its health with their locks held, `backend.list` wants those locks with
    /// the engine's VCL lock held, and the answer's leaves cannot be made
    /// without that. A name counts as healthy until its first answer is due,
    /// so that it is chosen; who gets it waits when it is resolved.
    fn healthy(&self, ctx: Ctx<'_>) -> (bool, f64) {
        let snapshot = self.snapshot.load();
        if snapshot.pending && ctx.in_task() {
            let timeout = self.director.settings().first_lookup_timeout;
            return (!self.first.is_overdue(timeout), 0.0);
        }
        let mut latest = 0.0_f64;
        for endpoint in &snapshot.endpoints {
            let (healthy, changed) = endpoint.leaf.health(ctx);
            latest = latest.max(changed);
            if healthy {
                return (true, latest);
            }
        }
        (false, latest)
    }

    fn list(&self, ctx: Ctx<'_>, out: &mut Out<'_>, detail: bool, json: bool) {
        self.write_list(ctx, out, detail, json);
    }

    fn temperature(&self, warm: bool) {
        if let Some(counters) = self.counters.get() {
            counters.show(warm);
        }
        if warm {
            self.vcl().confirm();
        }
    }
}
