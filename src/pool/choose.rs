//! A request's choice. No lock, no allocation and no wait once the name has
//! its first answer.

use std::sync::Arc;

use dynamic_core::select::{Ask, Live, Rules, Standing};

use super::snapshot::Snapshot;
use super::Pool;
use crate::vrt::{Chosen, Counter, Ctx, Director, Out, Tag, Task, random};

/// The endpoints of a snapshot as they are at this moment.
struct Now<'n> {
    snapshot: &'n Snapshot,
    ctx: Ctx<'n>,
    task: Option<&'n Task<'n>>,
    attempt: u32,
}

impl Live for Now<'_> {
    fn healthy(&self, i: usize) -> bool {
        self.snapshot.endpoints.get(i).is_some_and(|e| e.leaf.healthy(self.ctx))
    }

    fn tried(&self, i: usize) -> bool {
        match (self.snapshot.endpoints.get(i), self.task) {
            (Some(endpoint), Some(task)) => task.tried(&endpoint.leaf, self.attempt),
            _ => false,
        }
    }

    fn in_flight(&self, i: usize) -> u32 {
        self.snapshot.endpoints.get(i).map_or(0, |e| e.leaf.in_flight())
    }

    fn ramp(&self, _i: usize) -> f64 {
        1.0
    }

    fn random(&self) -> u64 {
        random()
    }
}

impl Pool {
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

    /// Says in the request's own log why it gets no backend.
    fn explain(&self, ctx: Ctx<'_>, snapshot: &Snapshot) {
        let why = if snapshot.pending {
            let timeout = self.director.settings().first_lookup_timeout;
            format!("no backend: no answer within first_lookup_timeout = {}s", timeout.as_secs_f64())
        } else {
            "no backend: the name has no usable address".to_owned()
        };
        self.log_in(ctx, Tag::Error, &why);
    }
}

impl Director for Pool {
    fn resolve(&self, ctx: Ctx<'_>) -> Option<Chosen> {
        self.touch(ctx.now());
        let snapshot = self.settled(ctx);
        let mut task = Task::of(ctx);
        let attempt = ctx.attempt().unwrap_or(0);
        let choice = {
            let now = Now { snapshot: &snapshot, ctx, task: task.as_ref(), attempt };
            let ask = Ask { key: None, retry: attempt > 0, now: ctx.now() };
            snapshot.layout.choose(&Rules::default(), &now, &ask)
        };
        let Some((choice, endpoint)) =
            choice.and_then(|choice| Some((choice, snapshot.endpoints.get(choice.index)?)))
        else {
            self.explain(ctx, &snapshot);
            return None;
        };
        self.count(Counter::Picks);
        if endpoint.is_preferred() {
            self.count(Counter::PicksPreferred);
        }
        if choice.spilled {
            self.count(Counter::Spilled);
        }
        if choice.elsewhere {
            self.count(Counter::RetriedElsewhere);
        }
        if choice.standing == Standing::Sick && self.director.debugging() {
            self.log_in(ctx, Tag::Debug, "no healthy backend");
        }
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
