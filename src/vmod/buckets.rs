//! `new b = dynamic.buckets(...)` and its methods.

use std::ffi::c_char;
use std::ptr;

use dynamic_core::buckets::Client;

use super::object::{Object, bytes, create, destroy, method, text, use_blob};
use crate::buckets::BucketsObject;
use crate::vrt::{VslTag, sys, vsl_task};

type Raw = sys::vmod_dynamic_buckets;

impl Object for BucketsObject {
    type Raw = Raw;
    const KIND: &'static str = "buckets";

    fn name(&self) -> &str {
        self.name()
    }
}

pub(super) unsafe extern "C" fn init(
    ctx: *const sys::vrt_ctx,
    place: *mut *mut Raw,
    vcl_name: *const c_char,
    service_delay: sys::VCL_DURATION,
    track_keys: sys::VCL_BOOL,
) {
    // SAFETY: what the table promises.
    unsafe {
        create(ctx, place, vcl_name, |_, name| {
            BucketsObject::new(name, service_delay, track_keys != 0)
        });
    }
}

pub(super) unsafe extern "C" fn fini(place: *mut *mut Raw) {
    // SAFETY: where `init` put the object.
    unsafe { destroy::<BucketsObject>(place, |_| ()) }
}

pub(super) unsafe extern "C" fn r#use(ctx: *const sys::vrt_ctx, raw: *mut Raw) -> sys::VCL_BLOB {
    // SAFETY: what the table promises.
    unsafe { use_blob::<BucketsObject>(ctx, raw) }
}

pub(super) unsafe extern "C" fn assign(
    ctx: *const sys::vrt_ctx,
    buckets: *mut Raw,
    server: sys::VCL_STRING,
    list: sys::VCL_STRING,
) {
    // SAFETY: what the table promises.
    unsafe {
        method::<BucketsObject, _>(ctx, buckets, "assign", (), |_, buckets| {
            let (server, list) = (text(server), text(list));
            buckets.assign(&server.unwrap_or_default(), &list.unwrap_or_default())
        });
    }
}

pub(super) unsafe extern "C" fn assign_bitmap(
    ctx: *const sys::vrt_ctx,
    buckets: *mut Raw,
    server: sys::VCL_STRING,
    hex: sys::VCL_STRING,
) {
    // SAFETY: what the table promises.
    unsafe {
        method::<BucketsObject, _>(ctx, buckets, "assign_bitmap", (), |_, buckets| {
            let (server, hex) = (text(server), text(hex));
            buckets.assign_bitmap(&server.unwrap_or_default(), &hex.unwrap_or_default())
        });
    }
}

pub(super) unsafe extern "C" fn bitmap(
    ctx: *const sys::vrt_ctx,
    buckets: *mut Raw,
    server: sys::VCL_STRING,
) -> sys::VCL_STRING {
    // SAFETY: what the table promises.
    unsafe {
        method::<BucketsObject, _>(ctx, buckets, "bitmap", ptr::null(), |ctx, buckets| {
            match buckets.bitmap(ctx, &text(server).unwrap_or_default()) {
                Ok(bitmap) => Ok(ctx.string(&bitmap)),
                // The name may come from a client, who must not fail VCL.
                Err(reason) if ctx.in_task() => {
                    let line = format!("dynamic.buckets {}: bitmap: {reason}", buckets.name());
                    vsl_task(ctx, VslTag::Error, &line);
                    Ok(ptr::null())
                }
                Err(reason) => Err(reason),
            }
        })
    }
}

pub(super) unsafe extern "C" fn hash(
    ctx: *const sys::vrt_ctx,
    buckets: *mut Raw,
    key: sys::VCL_STRING,
    otherwise: sys::VCL_STRING,
) -> sys::VCL_INT {
    // SAFETY: what the table promises.
    unsafe {
        method::<BucketsObject, _>(ctx, buckets, "hash", 0, |_, _| {
            let (key, fallback) = (bytes(key), bytes(otherwise));
            Ok(BucketsObject::hash(
                key.unwrap_or_default(),
                fallback.unwrap_or_default(),
            ))
        })
    }
}

pub(super) unsafe extern "C" fn serves(
    ctx: *const sys::vrt_ctx,
    buckets: *mut Raw,
    server: sys::VCL_STRING,
    key: sys::VCL_STRING,
    elapsed: sys::VCL_DURATION,
    transaction: sys::VCL_STRING,
    otherwise: sys::VCL_STRING,
) -> sys::VCL_BOOL {
    // SAFETY: what the table promises.
    unsafe {
        method::<BucketsObject, _>(ctx, buckets, "serves", 0, |ctx, buckets| {
            let key = bytes(key).filter(|key| !key.is_empty());
            let client = Client {
                key: key.or(bytes(otherwise)).unwrap_or_default(),
                elapsed,
                transaction: bytes(transaction).unwrap_or_default(),
            };
            let server = String::from_utf8_lossy(bytes(server).unwrap_or_default());
            Ok(buckets.serves(ctx, &server, &client).into())
        })
    }
}
