//! A context for work that belongs to no task: the resolver thread's.

use std::ffi::CStr;
use std::marker::PhantomData;
use std::ptr;

use super::sys;
use super::vcl::{VclPtr, VclRef};

/// The engine's private per-worker state, of which a failing call sets one
/// word; larger than any engine's.
#[repr(C, align(16))]
struct Vpi([u64; 16]);

/// What the engine needs of a context where there is no task: the VCL, the
/// time, and a place for the text of an error.
pub(crate) struct BackgroundCtx<'g> {
    raw: sys::vrt_ctx,
    vpi: Box<Vpi>,
    guard: PhantomData<&'g VclRef>,
}

impl<'g> BackgroundCtx<'g> {
    /// A context for a VCL that `_guard` keeps from going away.
    pub(crate) fn new(vcl: VclPtr, _guard: &'g VclRef, now: f64) -> Self {
        let mut vpi = Box::new(Vpi([0; 16]));
        // SAFETY: allocates a growing text buffer, freed in drop.
        let msg = unsafe { sys::VSB_new_auto() };
        let raw = sys::vrt_ctx {
            magic: sys::VRT_CTX_MAGIC,
            vpi: ptr::from_mut(vpi.as_mut()).cast(),
            msg,
            vcl: vcl.raw(),
            now,
            ..Default::default()
        };
        BackgroundCtx {
            raw,
            vpi,
            guard: PhantomData,
        }
    }

    /// The context for one call. An error of an earlier call, after which the
    /// engine would say nothing of a later one, is forgotten.
    pub(super) fn as_ptr(&mut self) -> *const sys::vrt_ctx {
        *self.vpi = Vpi([0; 16]);
        &raw const self.raw
    }

    /// Seconds since the epoch when this context was made.
    pub(crate) fn now(&self) -> f64 {
        self.raw.now
    }

    /// The text of the error that a call left behind, which is taken away.
    pub(super) fn take_error(&mut self) -> Option<String> {
        // SAFETY: `msg` is this context's own; it is finished before it is
        // read and cleared for the next use.
        unsafe {
            if sys::VSB_len(self.raw.msg) == 0 {
                return None;
            }
            sys::VSB_finish(self.raw.msg);
            let text = CStr::from_ptr(sys::VSB_data(self.raw.msg))
                .to_string_lossy()
                .trim()
                .to_owned();
            sys::VSB_clear(self.raw.msg);
            Some(text)
        }
    }
}

impl Drop for BackgroundCtx<'_> {
    fn drop(&mut self) {
        // SAFETY: made in `new`, freed once.
        unsafe { sys::VSB_destroy(&raw mut self.raw.msg) };
    }
}
