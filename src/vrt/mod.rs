//! The bridge to the engine. With [`crate::vmod`] the only unsafe code.
//!
//! Everything here turns the engine's C interface into types that cannot be
//! misused from the rest of the module, and the engine's calls into calls of
//! safe code. Each unsafe block says why it is sound.

mod acl;
mod backend;
mod background;
mod blob;
mod boundary;
mod clusters;
mod counters;
mod ctx;
mod director;
mod suckaddr;
pub(crate) mod sys;
mod task;
mod vcl;
mod vsb;
mod vsl;

pub(crate) use acl::{Acl, Probe};
pub(crate) use backend::{InFlightToken, Leaf, LeafError, LeafPlan, ReleaseQueue, Via};
pub(crate) use background::BackgroundCtx;
pub(crate) use blob::{BlobObject, unwrap_blob, wrap_blob};
pub(crate) use boundary::{catch_panic, log_panic};
pub(crate) use clusters::CounterClusters;
pub(crate) use counters::{Counter, Counters};
pub(crate) use ctx::{Ctx, HeaderName};
pub(crate) use director::{BackendRef, Director, DirectorHandle};
pub(crate) use task::{TaskValue, task_value};
pub(crate) use vcl::{VclPtr, VclRef};
pub(crate) use vsb::Vsb;
pub(crate) use vsl::{VslTag, vsl, vsl_task};

/// A number from the engine's generator, which its tests can seed.
pub(crate) fn random() -> u64 {
    // SAFETY: the engine's generator may be called on any thread. It yields 31
    // bits or so at a time.
    unsafe {
        let part = || sys::VRND_RandomTestable().cast_unsigned();
        part() << 42 ^ part() << 21 ^ part()
    }
}
