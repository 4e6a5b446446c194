//! A slot in each task of the engine, for one value of the module's own.
//!
//! The value lies in the task's workspace, or on the heap where that is full.
//! The engine ends the task, and with it the value.

use std::ffi::c_void;
use std::mem::{align_of, size_of};
use std::ptr;

use super::boundary::catch_panic;
use super::ctx::Ctx;
use super::sys;

/// What a slot can hold. There is one such type: the engine finds the slot by
/// an address of ours, not by the type.
pub(crate) trait TaskValue: Default + Sized + 'static {}

/// The identity under which the engine keeps the module's slot of a task.
static SLOT_ID: u8 = 0;

/// The value, and where it lies.
struct Slot<T> {
    value: T,
    on_heap: bool,
}

/// A static table for the engine.
struct Methods(sys::vmod_priv_methods);

// SAFETY: constant data; the type's name is a static string.
unsafe impl Sync for Methods {}

/// Gives each type of value its own static table.
trait Table {
    const METHODS: &'static Methods;
}

impl<T: TaskValue> Table for T {
    const METHODS: &'static Methods = &Methods(sys::vmod_priv_methods {
        magic: sys::VMOD_PRIV_METHODS_MAGIC,
        type_: c"vmod_dynamic task".as_ptr(),
        fini: Some(fini::<T>),
    });
}

/// The value of the task that the call belongs to, made at its first use.
/// `None` on the CLI, which has no task: the VCL's own events come there too.
pub(crate) fn task_value<T: TaskValue>(ctx: Ctx<'_>) -> Option<&T> {
    if !ctx.in_task() {
        return None;
    }
    // SAFETY: within a task; the identity is a static address of ours. The
    // record is the task's own, and nobody else looks at it meanwhile.
    let record = unsafe { sys::VRT_priv_task(ctx.as_ptr(), (&raw const SLOT_ID).cast()).as_mut() }?;
    if record.priv_.is_null() {
        record.priv_ = place(ctx, T::default()).cast::<c_void>();
        record.methods = &raw const T::METHODS.0;
    }
    // SAFETY: the slot was made above, in this call or an earlier one of the
    // same task, for the one type of value that there is. It lives until the
    // engine ends the task, which is later than the call under way, and is
    // only read through shared references.
    unsafe { Some(&(*record.priv_.cast::<Slot<T>>()).value) }
}

/// Puts a value into the task's workspace, or on the heap.
fn place<T>(ctx: Ctx<'_>, value: T) -> *mut Slot<T> {
    match ctx.alloc(size_of::<Slot<T>>()) {
        Some(room) if room.as_ptr().addr().is_multiple_of(align_of::<Slot<T>>()) => {
            let room = room.cast::<Slot<T>>();
            // SAFETY: fresh workspace memory of the right size and alignment,
            // which the engine keeps until the end of the task.
            unsafe {
                room.write(Slot {
                    value,
                    on_heap: false,
                });
            }
            room.as_ptr()
        }
        _ => Box::into_raw(Box::new(Slot {
            value,
            on_heap: true,
        })),
    }
}

/// The engine ends a task.
unsafe extern "C" fn fini<T: TaskValue>(_ctx: *const sys::vrt_ctx, private: *mut c_void) {
    catch_panic("task end", (), || {
        let slot = private.cast::<Slot<T>>();
        if slot.is_null() {
            return;
        }
        // SAFETY: the slot that `place` filled, in the engine's last call for
        // this task. The value is dropped once; its memory is the workspace's,
        // or was a box.
        unsafe {
            if (*slot).on_heap {
                drop(Box::from_raw(slot));
            } else {
                ptr::drop_in_place(slot);
            }
        }
    });
}
