//! Which endpoints a policy may choose in this pass of a request.

use std::cell::Cell;

use super::slow_start;
use super::{EndpointState, Pass};

/// Whether an endpoint must have room for another connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Room {
    Required,
    Any,
}

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
    /// Whether those that are full may be chosen too.
    pub(super) room: Room,
    /// Whether one was passed over because it is full, in any pass.
    pub(super) passed_full: Cell<bool>,
    /// Whether weights ramp.
    pub(super) slow_start: bool,
}

impl<S: EndpointState, E: Fn(usize) -> bool> Eligibility<'_, S, E> {
    /// Whether the endpoint may be chosen.
    pub(super) fn accepts(&self, index: usize) -> bool {
        (self.eligible)(index)
            && match self.pass {
                Pass::Untried => {
                    !(self.retry && self.state.tried(index))
                        && self.state.healthy(index)
                        && self.has_room(index)
                }
                Pass::Tried => self.state.healthy(index) && self.has_room(index),
                Pass::AnyHealth => true,
            }
    }

    fn has_room(&self, index: usize) -> bool {
        if self.room == Room::Any {
            return true;
        }
        let full = self.state.full(index);
        if full {
            self.passed_full.set(true);
        }
        !full
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

    /// Whether nothing could be chosen in the first pass, which may have used up
    /// turns: the next turns would be in step with these.
    pub(super) fn in_later_pass(&self) -> bool {
        (self.pass, self.room) != (Pass::Untried, Room::Required)
    }
}
