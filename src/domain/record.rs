//! What is counted and said about a request's choice.

use dynamic_core::name::Excerpt;
use dynamic_core::select::{Choice, Pass};
use dynamic_core::session::Status;

use super::Domain;
use super::choose::Call;
use super::snapshot::{Endpoint, Snapshot};
use crate::vrt::{Counter, Ctx, Tag};

/// Why a request gets no backend.
#[derive(Clone, Copy, Debug)]
pub(super) enum Refusal {
    /// There is none.
    Empty,
    /// The pin names none.
    Pin,
    /// The session's failure policy.
    Session(Status),
    /// The owners of its bucket are down, and it has not waited long enough.
    Delayed,
}

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
    /// Counts a choice, and says it where the director is to.
    pub(super) fn account(&self, ctx: Ctx<'_>, choice: &Choice, endpoint: &Endpoint) {
        self.count(Counter::Selected);
        if endpoint.is_preferred() {
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
            self.log_choice(ctx, choice, endpoint);
        }
    }

    /// Says in the request's own log what it gets, and why.
    #[cold]
    fn log_choice(&self, ctx: Ctx<'_>, choice: &Choice, endpoint: &Endpoint) {
        let mut event = format!("choose {} tier {}", endpoint.id(), choice.tier);
        for (is_so, what) in [
            (endpoint.is_preferred(), " preferred"),
            (choice.spilled, " spilled"),
            (choice.bound_exceeded, " overflow"),
            (choice.retried_elsewhere, " elsewhere"),
            (choice.pass == Pass::AnyHealth, " sick"),
        ] {
            if is_so {
                event.push_str(what);
            }
        }
        self.log_in(ctx, Tag::Debug, &event);
    }

    /// Says in the request's own log why it gets no backend.
    pub(super) fn explain(&self, ctx: Ctx<'_>, snapshot: &Snapshot, call: &Call<'_>, why: Refusal) {
        let why = match why {
            // Outside of tasks nothing waits.
            _ if snapshot.pending && !ctx.in_task() => "no answer yet".to_owned(),
            _ if snapshot.pending => {
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
        self.log_in(ctx, Tag::Error, &format!("no backend: {why}"));
    }
}
