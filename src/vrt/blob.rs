//! Objects that VCL hands from one to another as a `BLOB`.

use std::ffi::CStr;
use std::sync::Arc;

use super::ctx::Ctx;
use super::sys;

/// An object that can be handed on, and the number that tells its kind.
pub(crate) trait BlobObject: Send + Sync + 'static {
    /// Unique among all kinds of blob of this module.
    const KIND: u32;
    /// What the manual calls it, for errors.
    const NAME: &'static CStr;
}

/// Wraps an object. The blob lives in the task's workspace, the object as
/// long as VCL keeps it, which is longer.
pub(crate) fn wrap_blob<T: BlobObject>(ctx: Ctx<'_>, object: &T) -> sys::VCL_BLOB {
    let object: *const T = object;
    // SAFETY: the text is static. The engine keeps the pointer, not a copy of
    // what is behind it: the object outlives the blob.
    unsafe {
        sys::VRT_blob(
            ctx.as_ptr(),
            T::NAME.as_ptr(),
            object.cast(),
            size_of::<T>(),
            T::KIND,
        )
    }
}

/// The object in a blob; `None` for a blob of another kind.
///
/// # Safety
/// `blob` is null or a blob of the call under way, and blobs of the kind come
/// from [`wrap_blob`], whose object is one that `Arc` keeps.
pub(crate) unsafe fn unwrap_blob<T: BlobObject>(blob: sys::VCL_BLOB) -> Option<Arc<T>> {
    // SAFETY: the caller's contract. The count is raised before the `Arc` is
    // made, so that VCL's own reference stays.
    unsafe {
        let blob = blob.as_ref()?;
        if blob.type_ != T::KIND || blob.len != size_of::<T>() || blob.blob.is_null() {
            return None;
        }
        let object = blob.blob.cast::<T>();
        Arc::increment_strong_count(object);
        Some(Arc::from_raw(object))
    }
}
