//! The VCL's events.

use std::ffi::c_int;

use crate::lifetime;
use crate::vrt::{Ctx, catch_panic, sys};

/// A VCL is loaded, changes its temperature, or is discarded.
///
/// LOAD and WARM may be refused: by an answer other than 0. WARM says why in
/// the message of its context; there the engine asserts that nothing failed.
/// It ends the server where COLD or DISCARD answer anything but 0, so that
/// they do so even after a panic.
pub(super) unsafe extern "C" fn event(
    ctx: *const sys::vrt_ctx,
    _private: *mut sys::vmod_priv,
    event: sys::vcl_event_e::Type,
) -> c_int {
    use sys::vcl_event_e::{VCL_EVENT_COLD, VCL_EVENT_DISCARD, VCL_EVENT_LOAD, VCL_EVENT_WARM};
    let refused = c_int::from(event == VCL_EVENT_LOAD || event == VCL_EVENT_WARM);
    catch_panic("event", refused, || {
        // SAFETY: the context of this call.
        let Some(ctx) = (unsafe { Ctx::new(ctx) }) else {
            return refused;
        };
        match event {
            VCL_EVENT_LOAD => lifetime::load(ctx),
            VCL_EVENT_WARM => {
                if let Err(reason) = lifetime::warm(ctx) {
                    ctx.write_message(&format!("vmod-dynamic: {reason}"));
                    return 1;
                }
            }
            VCL_EVENT_COLD => lifetime::cold(ctx),
            VCL_EVENT_DISCARD => lifetime::discard(ctx),
            _ => {}
        }
        0
    })
}
