//! The gate: which endpoints a policy may choose at this stage of a request.

use super::ramp;
use super::{Live, Standing};

/// What a policy asks about endpoints.
pub(super) struct Gate<'a, L, E> {
    /// The running world.
    pub(super) live: &'a L,
    /// Which endpoints exist as far as this request is concerned.
    pub(super) eligible: E,
    /// Whether that may be fewer than all.
    pub(super) subset: bool,
    /// Whether an earlier attempt of the task has chosen.
    pub(super) retry: bool,
    /// What is asked of an endpoint at this stage.
    pub(super) standing: Standing,
    /// Whether weights ramp.
    pub(super) slow_start: bool,
}

impl<L: Live, E: Fn(usize) -> bool> Gate<'_, L, E> {
    /// Whether the endpoint may be chosen.
    pub(super) fn open(&self, index: usize) -> bool {
        (self.eligible)(index)
            && match self.standing {
                Standing::Fresh => {
                    !(self.retry && self.live.tried(index)) && self.live.healthy(index)
                }
                Standing::Tried => self.live.healthy(index),
                Standing::Sick => true,
            }
    }

    /// Whether the endpoint is there and healthy, tried or not.
    pub(super) fn healthy(&self, index: usize) -> bool {
        (self.eligible)(index) && self.live.healthy(index)
    }

    /// The factor of the endpoint's weight, above 0 and up to 1.
    pub(super) fn ramp(&self, index: usize) -> f64 {
        if self.slow_start {
            ramp::bounded(self.live.ramp(index))
        } else {
            1.0
        }
    }

    /// Whether the request chooses among fewer endpoints than others do, for
    /// another reason than their health. Such requests take no turns from the
    /// common cursor: a regular mix of them with others would otherwise always
    /// hit the same endpoints.
    pub(super) fn partial(&self) -> bool {
        self.subset || self.retry
    }
}
