//! A request's choice. No lock, no allocation and no wait once the name has
//! its first answer.

use std::sync::Arc;

use dynamic_core::pin::Pin;
use dynamic_core::select::{Ask, Choice, Live, Standing, key_hash, ramp};

use super::Pool;
use super::snapshot::{Endpoint, Snapshot};
use crate::vrt::{Chosen, Counter, Ctx, Director, Out, Tag, Task};

/// What a call in VCL says about one request.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Call<'c> {
    key: Option<&'c [u8]>,
    pin: Option<&'c [u8]>,
}

impl<'c> Call<'c> {
    /// An empty key or pin, as of a header that is there and says nothing, is
    /// none.
    pub(crate) fn new(key: Option<&'c [u8]>, pin: Option<&'c [u8]>) -> Self {
        let some = |bytes: Option<&'c [u8]>| bytes.filter(|b| !b.is_empty());
        Call { key: some(key), pin: some(pin) }
    }

    /// Whether the choice has to be made by the call itself: the director that
    /// is resolved later knows nothing of it.
    fn decides_now(&self) -> bool {
        self.key.is_some() || self.pin.is_some()
    }
}

/// The endpoints of a snapshot as they are at this moment.
struct Now<'n> {
    pool: &'n Pool,
    snapshot: &'n Snapshot,
    ctx: Ctx<'n>,
    task: Option<&'n Task<'n>>,
    attempt: u32,
}

impl Now<'_> {
    fn endpoint(&self, i: usize) -> Option<&Endpoint> {
        self.snapshot.endpoints.get(i)
    }
}

impl Live for Now<'_> {
    fn healthy(&self, i: usize) -> bool {
        self.endpoint(i).is_some_and(|e| e.leaf.healthy(self.ctx))
    }

    fn tried(&self, i: usize) -> bool {
        match (self.endpoint(i), self.task) {
            (Some(endpoint), Some(task)) => task.tried(&endpoint.leaf, self.attempt),
            _ => false,
        }
    }

    fn in_flight(&self, i: usize) -> u32 {
        self.endpoint(i).map_or(0, |e| e.leaf.in_flight())
    }

    fn ramp(&self, i: usize) -> f64 {
        let window = self.pool.director.settings().slow_start;
        self.endpoint(i).map_or(1.0, |e| {
            let (_, healthy_since) = e.leaf.health(self.ctx);
            ramp::factor(healthy_since, self.ctx.now(), window)
        })
    }

    fn random(&self) -> u64 {
        self.pool.draws.draw()
    }
}

impl Pool {
    /// What VCL gets for a call: a leaf where the call decides, else the
    /// director, to be resolved when the request is sent. The task holds the
    /// name.
    pub(crate) fn answer(&self, ctx: Ctx<'_>, call: &Call<'_>) -> Option<Chosen> {
        self.touch(ctx.now());
        if call.decides_now() {
            return self.choose(ctx, call);
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
        if !self.first.wait(self.director.settings().first_lookup_timeout) {
            self.count(Counter::Expired);
        }
        self.snapshot.load()
    }

    fn choose(&self, ctx: Ctx<'_>, call: &Call<'_>) -> Option<Chosen> {
        let snapshot = self.settled(ctx);
        let mut task = Task::of(ctx);
        let attempt = ctx.attempt().unwrap_or(0);
        let now = Now { pool: self, snapshot: &snapshot, ctx, task: task.as_ref(), attempt };
        let choice = match call.pin {
            Some(pin) => self.pinned(&now, pin),
            None => self.balanced(&now, call),
        };
        let Some((choice, endpoint)) = choice.and_then(|c| Some((c, snapshot.endpoints.get(c.index)?))) else {
            self.explain(ctx, &snapshot, call);
            return None;
        };
        self.account(ctx, &choice, endpoint);
        match &mut task {
            Some(task) => {
                if ctx.attempt().is_some() {
                    task.remember(&endpoint.leaf, attempt);
                }
                Some(task.choose(&snapshot, &endpoint.leaf))
            }
            None => Some(Chosen::outside_task(&endpoint.leaf)),
        }
    }

    /// The instance that the request names, whatever its health.
    fn pinned(&self, now: &Now<'_>, pin: &[u8]) -> Option<Choice> {
        let mut room = [0; 256];
        let pin = Pin::parse(pin, &mut room)?;
        let named = |i: usize| now.endpoint(i).is_some_and(|e| pin.names(e.address, e.port, &e.host));
        let rules = &self.director.settings().rules;
        now.snapshot.layout.choose_among(rules, now, &self.ask(now, None), named)
    }

    /// By the key, if there is one, else by the algorithm.
    fn balanced(&self, now: &Now<'_>, call: &Call<'_>) -> Option<Choice> {
        let header = || self.director.hash_header().and_then(|name| now.ctx.header(name));
        let key = call.key.or_else(header).filter(|key| !key.is_empty());
        let ask = self.ask(now, key.map(key_hash));
        now.snapshot.layout.choose(&self.director.settings().rules, now, &ask)
    }

    fn ask(&self, now: &Now<'_>, key: Option<u64>) -> Ask {
        Ask { key, retry: now.attempt > 0, now: now.ctx.now() }
    }

    fn account(&self, ctx: Ctx<'_>, choice: &Choice, endpoint: &Endpoint) {
        self.count(Counter::Picks);
        if endpoint.is_preferred() {
            self.count(Counter::PicksPreferred);
        }
        if choice.spilled {
            self.count(Counter::Spilled);
        }
        if choice.overflowed {
            self.count(Counter::HashOverflow);
        }
        if choice.elsewhere {
            self.count(Counter::RetriedElsewhere);
        }
        if choice.standing == Standing::Sick && self.director.debugging() {
            self.log_in(ctx, Tag::Debug, "no healthy backend");
        }
    }

    /// Says in the request's own log why it gets no backend.
    fn explain(&self, ctx: Ctx<'_>, snapshot: &Snapshot, call: &Call<'_>) {
        let why = if snapshot.pending {
            let timeout = self.director.settings().first_lookup_timeout;
            format!("no backend: no answer within first_lookup_timeout = {}s", timeout.as_secs_f64())
        } else if let Some(pin) = call.pin {
            let pin = dynamic_core::name::Excerpt::new(pin);
            format!("no backend: pin {pin} is none of the name's backends")
        } else {
            "no backend: the name has no usable address".to_owned()
        };
        self.log_in(ctx, Tag::Error, &why);
    }
}

impl Director for Pool {
    fn resolve(&self, ctx: Ctx<'_>) -> Option<Chosen> {
        self.touch(ctx.now());
        self.choose(ctx, &Call::default())
    }

    fn healthy(&self, ctx: Ctx<'_>) -> (bool, f64) {
        let snapshot = self.settled(ctx);
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
    }
}
