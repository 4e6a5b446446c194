//! The functions that VCL calls: raw arguments in, safe calls out, each behind
//! the panic boundary.

pub(super) mod buckets;
pub(super) mod custom_service;
pub(super) mod director;
pub(super) mod resolver;
pub(super) mod session;

use std::ffi::{CStr, c_char, c_int};
use std::ptr;
use std::sync::Arc;

use super::blob::{self, Handed};
use super::boundary::guard;
use super::ctx::Ctx;
use super::sys;
use crate::lifetime;

/// The VCL's temperature changes.
pub(super) unsafe extern "C" fn event(
    ctx: *const sys::vrt_ctx,
    _private: *mut sys::vmod_priv,
    event: sys::vcl_event_e::Type,
) -> c_int {
    guard("event", 1, || {
        // SAFETY: the context of this call.
        let Some(ctx) = (unsafe { Ctx::new(ctx) }) else {
            return 1;
        };
        match event {
            sys::vcl_event_e::VCL_EVENT_LOAD => lifetime::load(ctx),
            sys::vcl_event_e::VCL_EVENT_WARM => {
                if let Err(why) = lifetime::warm(ctx) {
                    ctx.fail(&format!("vmod-dynamic: {why}"));
                    return 1;
                }
            }
            sys::vcl_event_e::VCL_EVENT_COLD => lifetime::cold(ctx),
            sys::vcl_event_e::VCL_EVENT_DISCARD => lifetime::discard(ctx),
            _ => {}
        }
        0
    })
}

/// Puts an object behind the pointer that VCL keeps.
///
/// # Safety
/// `place` is null or where VCL keeps the object's pointer; `Raw` stands for
/// `T` and nothing else.
unsafe fn keep<T, Raw>(place: *mut *mut Raw, object: Arc<T>) {
    // SAFETY: the caller's contract.
    if let Some(place) = unsafe { place.as_mut() } {
        *place = Arc::into_raw(object).cast_mut().cast();
    }
}

/// Takes an object back from VCL.
///
/// # Safety
/// `place` is null or where [`keep`] put a `T`.
unsafe fn take<T, Raw>(place: *mut *mut Raw) -> Option<Arc<T>> {
    // SAFETY: the caller's contract; the pointer is nulled, so that the
    // reference is taken back once.
    unsafe {
        let place = place.as_mut()?;
        let raw = std::mem::replace(place, ptr::null_mut());
        if raw.is_null() {
            return None;
        }
        Some(Arc::from_raw(raw.cast::<T>().cast_const()))
    }
}

/// The object behind VCL's pointer.
///
/// # Safety
/// `object` is null or came from [`keep`] for a `T`, and is not taken back
/// during the call.
unsafe fn object<'o, T, Raw>(object: *mut Raw) -> Option<&'o T> {
    // SAFETY: the caller's contract.
    unsafe { object.cast::<T>().cast_const().as_ref() }
}

/// `.use()`: an object for another one's argument.
///
/// # Safety
/// The context of the call under way, and an object from [`keep`] for a `T`.
unsafe fn hand<T: Handed, Raw>(ctx: *const sys::vrt_ctx, raw: *mut Raw) -> sys::VCL_BLOB {
    guard("use", ptr::null(), || {
        // SAFETY: the caller's contract.
        unsafe {
            let (Some(ctx), Some(object)) = (Ctx::new(ctx), object::<T, _>(raw)) else {
                return ptr::null();
            };
            blob::wrap(ctx, object)
        }
    })
}

/// The name of an object in VCL.
///
/// # Safety
/// `name` is null or a C string that outlives the call.
unsafe fn name(name: *const c_char) -> String {
    if name.is_null() {
        return String::new();
    }
    // SAFETY: the caller's contract.
    unsafe { CStr::from_ptr(name) }
        .to_string_lossy()
        .into_owned()
}

/// The word of an `ENUM` argument.
///
/// # Safety
/// `word` is null or a C string.
unsafe fn word(word: sys::VCL_ENUM) -> String {
    // SAFETY: the caller's contract.
    unsafe { name(word) }
}
