//! A loaded VCL, and the guard that keeps it from going away.

use std::ffi::CStr;
use std::ptr::NonNull;

use super::ctx::Ctx;
use super::sys;

/// The engine's VCL; also its identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct VclPtr(*mut sys::vcl);

// SAFETY: the pointer is an identity; it is handed back to the engine only
// while a `VclRef` of that VCL is held, or within a call for that VCL.
unsafe impl Send for VclPtr {}
// SAFETY: as above; nothing is read through a shared reference.
unsafe impl Sync for VclPtr {}

impl VclPtr {
    pub(super) fn new(raw: *mut sys::vcl) -> Self {
        VclPtr(raw)
    }

    pub(super) fn raw(self) -> *mut sys::vcl {
        self.0
    }
}

impl Ctx<'_> {
    /// The name under which the VCL was loaded.
    pub(crate) fn vcl_name(self) -> String {
        // SAFETY: the context's VCL is valid for the call, and its name lives
        // as long as it does.
        unsafe { CStr::from_ptr(sys::VCL_Name(self.raw().vcl)) }
            .to_string_lossy()
            .into_owned()
    }
}

/// Keeps a VCL from becoming cold: as long as one is held, backends may be
/// asked for (the engine answers null once the VCL cools) and nothing that
/// belongs to the VCL is freed. Dropping it releases the VCL, on any thread.
#[derive(Debug)]
pub(crate) struct VclRef(Option<NonNull<sys::vclref>>);

// SAFETY: the engine documents that a VCL may be released at any time; it takes
// its own lock for that.
unsafe impl Send for VclRef {}

impl VclRef {
    /// Takes a guard. Only in the VCL's WARM event, on the CLI thread.
    pub(crate) fn take(ctx: Ctx<'_>) -> Self {
        // SAFETY: called in the WARM event, as the engine demands; the
        // description is copied.
        let reference = unsafe {
            sys::VRT_VCL_Prevent_Discard(
                ctx.as_ptr(),
                c"vmod_dynamic: resolution under way".as_ptr(),
            )
        };
        VclRef(NonNull::new(reference))
    }
}

impl Drop for VclRef {
    fn drop(&mut self) {
        if let Some(reference) = self.0.take() {
            let mut reference = reference.as_ptr();
            // SAFETY: the reference came from Prevent_Discard and is given
            // back once.
            unsafe { sys::VRT_VCL_Allow_Discard(&raw mut reference) };
        }
    }
}
