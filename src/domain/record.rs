//! What is counted and said about a request's choice.

use std::sync::Arc;

use dynamic_core::buckets::Service;
use dynamic_core::domain::Backend;
use dynamic_core::name::Excerpt;
use dynamic_core::select::{Choice, Pass};
use dynamic_core::session::Status;
use dynamic_core::snapshot::{Outcome, Refusal};

use super::Domain;
use super::choose::Call;
use crate::vrt::{Counter, Ctx, Leaf, VslTag};

/// What counts such an outcome.
pub(super) fn session_counter(status: Status) -> Counter {
    match status {
        Status::NotSet | Status::Ok => Counter::SessionOk,
        Status::New => Counter::SessionNew,
        Status::Recovered => Counter::SessionRecovered,
        Status::NotFound | Status::BadKey => Counter::SessionFailed,
    }
}

impl Domain {
    /// Counts who serves the request's bucket.
    pub(super) fn count_service(&self, outcome: &Outcome) {
        let counter = match outcome.service {
            Some(Service::Owner) => Counter::BucketsOwner,
            Some(Service::TakenOver) => Counter::BucketsTakenOver,
            Some(Service::Delayed) => Counter::BucketsDelayed,
            Some(Service::Anyone) | None => return,
        };
        self.count(counter);
    }

    /// Counts a choice, and logs it where the director is to.
    pub(super) fn record_choice(
        &self,
        ctx: Ctx<'_>,
        choice: &Choice,
        backend: &Backend<Arc<Leaf>>,
    ) {
        self.count(Counter::Selected);
        if backend.rank.is_preferred() {
            self.count(Counter::SelectedPreferred);
        }
        if choice.spilled {
            self.count(Counter::Spilled);
        }
        if choice.bound_exceeded {
            self.count(Counter::HashOverflow);
        }
        if choice.retried_elsewhere {
            self.count(Counter::RetriedElsewhere);
        }
        if self.config.debugging() {
            self.log_choice(ctx, choice, backend);
        }
    }

    /// Says in the request's own log what it gets, and why.
    #[cold]
    fn log_choice(&self, ctx: Ctx<'_>, choice: &Choice, backend: &Backend<Arc<Leaf>>) {
        let mut event = format!("choose {} tier {}", backend.key.id(), choice.tier);
        for (is_so, what) in [
            (backend.rank.is_preferred(), " preferred"),
            (choice.spilled, " spilled"),
            (choice.bound_exceeded, " overflow"),
            (choice.retried_elsewhere, " elsewhere"),
            (choice.pass == Pass::AnyHealth, " sick"),
        ] {
            if is_so {
                event.push_str(what);
            }
        }
        self.log_in(ctx, VslTag::Debug, &event);
    }

    /// Logs in the request's own log why it gets no backend.
    #[cold]
    pub(super) fn log_refusal(&self, ctx: Ctx<'_>, call: &Call<'_>, refusal: Refusal) {
        let reason = match refusal {
            // Outside of tasks nothing waits.
            Refusal::Pending if !ctx.in_task() => "no answer yet".to_owned(),
            Refusal::Pending => {
                let timeout = self.config.settings.first_lookup_timeout.as_secs_f64();
                format!("no answer within first_lookup_timeout = {timeout}s")
            }
            Refusal::Empty => "the name has no usable address".to_owned(),
            Refusal::Pin => {
                let pin = Excerpt::new(call.pin.unwrap_or_default());
                format!("pin {pin} is none of the name's backends")
            }
            Refusal::Session(status) => format!("session key {status}"),
            Refusal::Delayed => {
                "the owners of its bucket are down, and it has not waited service_delay".to_owned()
            }
        };
        self.log_in(ctx, VslTag::Error, &format!("no backend: {reason}"));
    }
}
