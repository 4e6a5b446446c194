//! Which endpoints a policy may choose in this pass of a request.

use super::slow_start;
use super::{EndpointState, Pass};

/// What a policy asks about endpoints.
pub(super) struct Eligibility<'a, S, E> {
    /// The endpoints' state at this moment.
    pub(super) state: &'a S,
    /// Which endpoints exist as far as this request is concerned.
    pub(super) eligible: E,
    /// Whether that may be fewer than all.
    pub(super) subset: bool,
    /// Whether an earlier attempt of the task has chosen.
    pub(super) retry: bool,
    /// What is asked of an endpoint in this pass.
    pub(super) pass: Pass,
    /// Whether weights ramp.
    pub(super) slow_start: bool,
}

impl<S: EndpointState, E: Fn(usize) -> bool> Eligibility<'_, S, E> {
    /// Whether the endpoint may be chosen.
    pub(super) fn accepts(&self, index: usize) -> bool {
        (self.eligible)(index)
            && match self.pass {
                Pass::Untried => {
                    !(self.retry && self.state.tried(index)) && self.state.healthy(index)
                }
                Pass::Tried => self.state.healthy(index),
                Pass::AnyHealth => true,
            }
    }

    /// Whether the endpoint is there and healthy, tried or not.
    pub(super) fn healthy(&self, index: usize) -> bool {
        (self.eligible)(index) && self.state.healthy(index)
    }

    /// The factor of the endpoint's weight, above 0 and up to 1.
    pub(super) fn factor(&self, index: usize) -> f64 {
        if self.slow_start {
            slow_start::bounded(self.state.slow_start_factor(index))
        } else {
            1.0
        }
    }

    /// Whether the request chooses among fewer endpoints than others do, for
    /// another reason than their health. Such requests take no turns from the
    /// common cursor: a regular mix of them with others would otherwise always
    /// hit the same endpoints.
    pub(super) fn restricted(&self) -> bool {
        self.subset || self.retry
    }
}
