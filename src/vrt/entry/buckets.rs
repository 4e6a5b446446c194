//! `new b = dynamic.buckets(...)` and its methods.

use std::ffi::c_char;
use std::ptr;

use dynamic_core::buckets::Client;

use super::super::boundary::guard;
use super::super::ctx::{Ctx, bytes, text};
use super::super::log::{Tag, task_line};
use super::super::sys;
use super::{hand, keep, name, object, take};
use crate::buckets::BucketsObject;

type Raw = sys::vmod_dynamic_buckets;

pub(in crate::vrt) unsafe extern "C" fn init(
    ctx: *const sys::vrt_ctx,
    place: *mut *mut Raw,
    vcl_name: *const c_char,
    service_delay: sys::VCL_DURATION,
) {
    guard("buckets", (), || {
        // SAFETY: the context of this call, and arguments valid for it.
        unsafe {
            let Some(ctx) = Ctx::new(ctx) else { return };
            let vcl_name = name(vcl_name);
            match BucketsObject::new(&vcl_name, service_delay) {
                Ok(buckets) => keep(place, buckets),
                Err(why) => ctx.fail(&format!("dynamic.buckets {vcl_name}: {why}")),
            }
        }
    });
}

pub(in crate::vrt) unsafe extern "C" fn fini(place: *mut *mut Raw) {
    guard("buckets end", (), || {
        // SAFETY: where `init` put the object.
        drop(unsafe { take::<BucketsObject, _>(place) });
    });
}

pub(in crate::vrt) unsafe extern "C" fn r#use(
    ctx: *const sys::vrt_ctx,
    raw: *mut Raw,
) -> sys::VCL_BLOB {
    // SAFETY: what the table promises.
    unsafe { hand::<BucketsObject, _>(ctx, raw) }
}

/// A method that assigns buckets.
///
/// # Safety
/// The context of the call under way, an object from [`init`], and strings
/// that outlive the call.
unsafe fn assigns(
    ctx: *const sys::vrt_ctx,
    buckets: *mut Raw,
    method: &str,
    server: sys::VCL_STRING,
    set: sys::VCL_STRING,
    assign: impl FnOnce(&BucketsObject, &str, &str) -> Result<(), String>,
) {
    guard(method, (), || {
        // SAFETY: the caller's contract.
        unsafe {
            let (Some(ctx), Some(buckets)) = (Ctx::new(ctx), object::<BucketsObject, _>(buckets))
            else {
                return;
            };
            let (server, set) = (
                text(server).unwrap_or_default(),
                text(set).unwrap_or_default(),
            );
            if let Err(why) = assign(buckets, &server, &set) {
                ctx.fail(&format!(
                    "dynamic.buckets {}: {method}: {why}",
                    buckets.name()
                ));
            }
        }
    });
}

pub(in crate::vrt) unsafe extern "C" fn assign(
    ctx: *const sys::vrt_ctx,
    buckets: *mut Raw,
    server: sys::VCL_STRING,
    list: sys::VCL_STRING,
) {
    // SAFETY: what the table promises.
    unsafe { assigns(ctx, buckets, "assign", server, list, BucketsObject::assign) }
}

pub(in crate::vrt) unsafe extern "C" fn assign_bitmap(
    ctx: *const sys::vrt_ctx,
    buckets: *mut Raw,
    server: sys::VCL_STRING,
    hex: sys::VCL_STRING,
) {
    // SAFETY: what the table promises.
    unsafe {
        assigns(
            ctx,
            buckets,
            "assign_bitmap",
            server,
            hex,
            BucketsObject::assign_bitmap,
        );
    }
}

pub(in crate::vrt) unsafe extern "C" fn bitmap(
    ctx: *const sys::vrt_ctx,
    buckets: *mut Raw,
    server: sys::VCL_STRING,
) -> sys::VCL_STRING {
    guard("bitmap", ptr::null(), || {
        // SAFETY: the context of this call, the object from `init`, and a
        // string that outlives the call.
        unsafe {
            let (Some(ctx), Some(buckets)) = (Ctx::new(ctx), object::<BucketsObject, _>(buckets))
            else {
                return ptr::null();
            };
            match buckets.bitmap(ctx, &text(server).unwrap_or_default()) {
                Ok(bitmap) => ctx.string(&bitmap),
                Err(why) => {
                    let why = format!("dynamic.buckets {}: bitmap: {why}", buckets.name());
                    // The name may come from a client, who must not fail VCL.
                    if ctx.in_task() {
                        task_line(ctx, Tag::Error, &why);
                    } else {
                        ctx.fail(&why);
                    }
                    ptr::null()
                }
            }
        }
    })
}

pub(in crate::vrt) unsafe extern "C" fn hash(
    _ctx: *const sys::vrt_ctx,
    _buckets: *mut Raw,
    key: sys::VCL_STRING,
    otherwise: sys::VCL_STRING,
) -> sys::VCL_INT {
    guard("hash", 0, || {
        // SAFETY: strings that outlive the call.
        unsafe {
            BucketsObject::hash(
                bytes(key).unwrap_or_default(),
                bytes(otherwise).unwrap_or_default(),
            )
        }
    })
}

pub(in crate::vrt) unsafe extern "C" fn serves(
    ctx: *const sys::vrt_ctx,
    buckets: *mut Raw,
    server: sys::VCL_STRING,
    key: sys::VCL_STRING,
    elapsed: sys::VCL_DURATION,
    transaction: sys::VCL_STRING,
) -> sys::VCL_BOOL {
    guard("serves", 0, || {
        // SAFETY: the context of this call, the object from `init`, and
        // strings that outlive the call.
        unsafe {
            let (Some(ctx), Some(buckets)) = (Ctx::new(ctx), object::<BucketsObject, _>(buckets))
            else {
                return 0;
            };
            let client = Client {
                key: bytes(key).unwrap_or_default(),
                elapsed,
                transaction: bytes(transaction).unwrap_or_default(),
            };
            let server = String::from_utf8_lossy(bytes(server).unwrap_or_default());
            buckets.serves(ctx, &server, &client).into()
        }
    })
}
