//! Objects of VCL: how they are made, called and given back.

use std::ffi::{CStr, c_char};
use std::ptr;
use std::sync::Arc;

use crate::vrt::{BlobObject, Ctx, catch_panic, sys, unwrap_blob, wrap_blob};

/// A type behind a pointer that VCL keeps.
pub(super) trait Object: Send + Sync + Sized + 'static {
    /// The engine's name for the pointer, of this type alone.
    type Raw;
    /// The constructor in VCL.
    const KIND: &'static str;
    /// The object's name in VCL.
    fn name(&self) -> &str;
}

/// `new x = dynamic.kind(...)`: puts what `make` returns behind the pointer
/// that VCL keeps. An error fails the VCL load with one line.
///
/// # Safety
/// The context of the call under way, the place of VCL's pointer, and a name
/// that is null or a C string that outlives the call.
pub(super) unsafe fn create<T: Object>(
    ctx: *const sys::vrt_ctx,
    place: *mut *mut T::Raw,
    vcl_name: *const c_char,
    make: impl FnOnce(Ctx<'_>, &str) -> Result<Arc<T>, String>,
) {
    catch_panic(T::KIND, (), || {
        // SAFETY: the caller's contract.
        let (Some(ctx), Some(place)) = (unsafe { Ctx::new(ctx) }, unsafe { place.as_mut() }) else {
            return;
        };
        // SAFETY: the caller's contract.
        let name = unsafe { text(vcl_name) }.unwrap_or_default();
        match make(ctx, &name) {
            Ok(object) => *place = Arc::into_raw(object).cast_mut().cast(),
            Err(reason) => ctx.fail(&format!("dynamic.{} {name}: {reason}", T::KIND)),
        }
    });
}

/// VCL gives an object back. `end` is called with it before that.
///
/// # Safety
/// `place` is null or where [`create`] put a `T`.
pub(super) unsafe fn destroy<T: Object>(place: *mut *mut T::Raw, end: impl FnOnce(&T)) {
    catch_panic("fini", (), || {
        // SAFETY: the caller's contract. The pointer is nulled, so that the
        // reference is taken back once.
        let object = unsafe {
            let Some(place) = place.as_mut() else { return };
            let raw = std::mem::replace(place, ptr::null_mut());
            if raw.is_null() {
                return;
            }
            Arc::from_raw(raw.cast::<T>().cast_const())
        };
        end(&object);
    });
}

/// A method of an object, which returns `otherwise` where it cannot be called.
/// An error fails the VCL load, or the request, with one line.
///
/// # Safety
/// The context of the call under way, and an object from [`create`] for this
/// `T` that is not given back during the call.
pub(super) unsafe fn method<T: Object, R>(
    ctx: *const sys::vrt_ctx,
    object: *mut T::Raw,
    name: &str,
    otherwise: R,
    body: impl FnOnce(Ctx<'_>, &T) -> Result<R, String>,
) -> R
where
    R: Copy,
{
    catch_panic(name, otherwise, || {
        // SAFETY: the caller's contract; `Raw` stands for `T` and nothing else.
        let (Some(ctx), Some(object)) = (unsafe { Ctx::new(ctx) }, unsafe {
            object.cast::<T>().cast_const().as_ref()
        }) else {
            return otherwise;
        };
        body(ctx, object).unwrap_or_else(|reason| {
            ctx.fail(&format!(
                "dynamic.{} {}: {name}: {reason}",
                T::KIND,
                object.name()
            ));
            otherwise
        })
    })
}

/// `.use()`: an object for another one's argument.
///
/// # Safety
/// As for [`method`].
pub(super) unsafe fn use_blob<T: Object + BlobObject>(
    ctx: *const sys::vrt_ctx,
    object: *mut T::Raw,
) -> sys::VCL_BLOB {
    // SAFETY: the caller's contract.
    unsafe {
        method::<T, _>(ctx, object, "use", ptr::null(), |ctx, object| {
            Ok(wrap_blob(ctx, object))
        })
    }
}

/// The object that an argument refers to, if it is given.
///
/// # Errors
/// A blob of another kind.
///
/// # Safety
/// `given` is null or a blob of the call under way.
pub(super) unsafe fn blob_argument<T: BlobObject>(
    argument: &str,
    given: sys::VCL_BLOB,
) -> Result<Option<Arc<T>>, String> {
    if given.is_null() {
        return Ok(None);
    }
    // SAFETY: the caller's contract.
    match unsafe { unwrap_blob::<T>(given) } {
        Some(object) => Ok(Some(object)),
        None => Err(format!(
            "{argument}: a blob of another kind, must be the .use() of a {}()",
            T::NAME.to_string_lossy()
        )),
    }
}

/// The bytes of a `STRING` argument, `None` where VCL passed none.
///
/// # Safety
/// `text` is null or a C string that outlives the call.
pub(super) unsafe fn bytes<'c>(text: sys::VCL_STRING) -> Option<&'c [u8]> {
    if text.is_null() {
        return None;
    }
    // SAFETY: the caller's contract.
    Some(unsafe { CStr::from_ptr(text) }.to_bytes())
}

/// An argument of an object, or the word of an `ENUM`, as text.
///
/// # Safety
/// As for [`bytes`].
pub(super) unsafe fn text(argument: sys::VCL_STRING) -> Option<String> {
    // SAFETY: the caller's contract.
    unsafe { bytes(argument) }.map(|b| String::from_utf8_lossy(b).into_owned())
}
