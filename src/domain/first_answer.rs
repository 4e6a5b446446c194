//! Waiting for a name's first answer: the only wait of any request.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::sync::lock;

#[derive(Debug, Default)]
struct State {
    complete: bool,
    /// When those who wait give up: set by the first of them.
    deadline: Option<Instant>,
}

/// Whether the first answer is there, and who waits for it.
#[derive(Debug, Default)]
pub(super) struct FirstAnswer {
    state: Mutex<State>,
    changed: Condvar,
}

impl FirstAnswer {
    /// The first answer is there: wakes all that wait, together.
    pub(super) fn complete(&self) {
        let mut state = lock(&self.state);
        if !state.complete {
            state.complete = true;
            self.changed.notify_all();
        }
    }

    /// Whether the first answer is there, good or bad. Does not wait.
    pub(super) fn is_complete(&self) -> bool {
        lock(&self.state).complete
    }

    /// Whether the time to wait, which begins with the first use, is over
    /// without an answer. Does not wait.
    pub(super) fn is_overdue(&self, timeout: Duration) -> bool {
        let mut state = lock(&self.state);
        let now = Instant::now();
        let deadline = *state.deadline.get_or_insert_with(|| now + timeout);
        !state.complete && deadline <= now
    }

    /// Waits for the first answer, until `timeout` after the first use.
    /// Whether there is one, good or bad.
    pub(super) fn wait(&self, timeout: Duration) -> bool {
        let mut state = lock(&self.state);
        let deadline = *state
            .deadline
            .get_or_insert_with(|| Instant::now() + timeout);
        loop {
            if state.complete {
                return true;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            state = self
                .changed
                .wait_timeout(state, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }
}
