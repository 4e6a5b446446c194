//! Waiting for a name's first answer: the only wait of any request.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::sync::lock;

#[derive(Debug, Default)]
struct State {
    settled: bool,
    /// When those who wait give up: set by the first of them.
    deadline: Option<Instant>,
    /// Whether anybody has given up.
    gave_up: bool,
}

/// Whether the first answer is there, and who waits for it.
#[derive(Debug, Default)]
pub(super) struct First {
    state: Mutex<State>,
    changed: Condvar,
}

/// How a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waited {
    /// There is an answer, good or bad.
    Settled,
    /// There is none; the first that gives up is told so.
    GaveUp { first: bool },
}

impl First {
    /// The first answer is there: wakes all that wait, together.
    pub(super) fn settle(&self) {
        let mut state = lock(&self.state);
        if !state.settled {
            state.settled = true;
            self.changed.notify_all();
        }
    }

    /// Waits for the first answer, until `timeout` after the first use.
    pub(super) fn wait(&self, timeout: Duration) -> Waited {
        let mut state = lock(&self.state);
        let deadline = *state.deadline.get_or_insert_with(|| Instant::now() + timeout);
        loop {
            if state.settled {
                return Waited::Settled;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let first = !std::mem::replace(&mut state.gave_up, true);
                return Waited::GaveUp { first };
            }
            state = self
                .changed
                .wait_timeout(state, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }
}
