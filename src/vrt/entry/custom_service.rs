//! `new s = dynamic.custom_service(...)` and its methods.

use std::ffi::c_char;
use std::ptr;

use super::super::acl::Acl;
use super::super::boundary::guard;
use super::super::ctx::{Ctx, bytes, text};
use super::super::{blob, sys};
use super::{keep, name, object, take, word};
use crate::custom_service::CustomService;
use crate::director::Director;
use crate::domain::Call;

type Raw = sys::vmod_dynamic_custom_service;

pub(in crate::vrt) unsafe extern "C" fn init(
    ctx: *const sys::vrt_ctx,
    place: *mut *mut Raw,
    vcl_name: *const c_char,
    director: sys::VCL_BLOB,
) {
    guard("custom_service", (), || {
        // SAFETY: the context of this call, and arguments valid for it.
        unsafe {
            let Some(ctx) = Ctx::new(ctx) else { return };
            let vcl_name = name(vcl_name);
            let Some(director) = blob::unwrap::<Director>(director) else {
                ctx.fail(&format!(
                    "dynamic.custom_service {vcl_name}: director: must be the .use() of a dynamic.director()"
                ));
                return;
            };
            match CustomService::new(ctx, &vcl_name, director) {
                Ok(service) => keep(place, service),
                Err(why) => ctx.fail(&format!("dynamic.custom_service {vcl_name}: {why}")),
            }
        }
    });
}

pub(in crate::vrt) unsafe extern "C" fn fini(place: *mut *mut Raw) {
    guard("custom_service end", (), || {
        // SAFETY: where `init` put the service.
        drop(unsafe { take::<CustomService, _>(place) });
    });
}

pub(in crate::vrt) unsafe extern "C" fn add(
    ctx: *const sys::vrt_ctx,
    service: *mut Raw,
    host: sys::VCL_STRING,
    port: sys::VCL_STRING,
    when: sys::VCL_ENUM,
    acl: sys::VCL_ACL,
    priority: sys::VCL_INT,
    weight: sys::VCL_INT,
) {
    guard("add", (), || {
        // SAFETY: the context of this call, the object from `init`, and
        // arguments valid for the call; the ACL lives as long as the VCL.
        unsafe {
            let (Some(ctx), Some(service)) = (Ctx::new(ctx), object::<CustomService, _>(service))
            else {
                return;
            };
            let host = text(host).unwrap_or_default();
            let port = text(port).unwrap_or_default();
            if let Err(why) =
                service.add(&host, &port, &word(when), Acl::new(acl), priority, weight)
            {
                ctx.fail(&format!(
                    "dynamic.custom_service {}: add: {why}",
                    service.name()
                ));
            }
        }
    });
}

pub(in crate::vrt) unsafe extern "C" fn add_preferred(
    ctx: *const sys::vrt_ctx,
    service: *mut Raw,
    host: sys::VCL_STRING,
    acl: sys::VCL_ACL,
    port: sys::VCL_STRING,
) {
    guard("add_preferred", (), || {
        // SAFETY: as in `add`.
        unsafe {
            let (Some(ctx), Some(service)) = (Ctx::new(ctx), object::<CustomService, _>(service))
            else {
                return;
            };
            let host = text(host).unwrap_or_default();
            let port = text(port).unwrap_or_default();
            if let Err(why) = service.add_preferred(&host, &port, Acl::new(acl)) {
                ctx.fail(&format!(
                    "dynamic.custom_service {}: add_preferred: {why}",
                    service.name()
                ));
            }
        }
    });
}

pub(in crate::vrt) unsafe extern "C" fn backend(
    ctx: *const sys::vrt_ctx,
    service: *mut Raw,
    key: sys::VCL_STRING,
    pin: sys::VCL_STRING,
    elapsed: sys::VCL_DURATION,
    transaction: sys::VCL_STRING,
) -> sys::VCL_BACKEND {
    guard("custom_service backend", ptr::null(), || {
        // SAFETY: the context of this call, the object from `init`, and
        // strings that outlive the call.
        unsafe {
            let (Some(ctx), Some(service)) = (Ctx::new(ctx), object::<CustomService, _>(service))
            else {
                return ptr::null();
            };
            service
                .backend(
                    ctx,
                    &Call::new(bytes(key), bytes(pin), elapsed, bytes(transaction)),
                )
                .map_or(ptr::null(), |chosen| chosen.as_ptr())
        }
    })
}
