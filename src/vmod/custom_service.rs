//! `new s = dynamic.custom_service(...)` and its methods.

use std::ffi::c_char;
use std::ptr;

use super::object::{Object, blob_argument, bytes, create, destroy, method, text};
use crate::custom_service::CustomService;
use crate::director::Director;
use crate::domain::Call;
use crate::vrt::{Acl, BackendRef, sys};

type Raw = sys::vmod_dynamic_custom_service;

impl Object for CustomService {
    type Raw = Raw;
    const KIND: &'static str = "custom_service";

    fn name(&self) -> &str {
        self.name()
    }
}

pub(super) unsafe extern "C" fn init(
    ctx: *const sys::vrt_ctx,
    place: *mut *mut Raw,
    vcl_name: *const c_char,
    director: sys::VCL_BLOB,
) {
    // SAFETY: what the table promises.
    unsafe {
        create(ctx, place, vcl_name, |ctx, name| {
            match blob_argument::<Director>("director", director) {
                Ok(Some(director)) => CustomService::new(ctx, name, director),
                _ => Err("director: must be the .use() of a dynamic.director()".to_owned()),
            }
        });
    }
}

pub(super) unsafe extern "C" fn fini(place: *mut *mut Raw) {
    // SAFETY: where `init` put the service.
    unsafe { destroy::<CustomService>(place, |_| ()) }
}

pub(super) unsafe extern "C" fn add(
    ctx: *const sys::vrt_ctx,
    service: *mut Raw,
    host: sys::VCL_STRING,
    port: sys::VCL_STRING,
    when: sys::VCL_ENUM,
    acl: sys::VCL_ACL,
    priority: sys::VCL_INT,
    weight: sys::VCL_INT,
) {
    // SAFETY: what the table promises; the ACL lives as long as the VCL.
    unsafe {
        method::<CustomService, _>(ctx, service, "add", (), |_, service| {
            let host = text(host).unwrap_or_default();
            let port = text(port).unwrap_or_default();
            let when = text(when).unwrap_or_default();
            service.add(&host, &port, &when, Acl::new(acl), priority, weight)
        });
    }
}

pub(super) unsafe extern "C" fn add_preferred(
    ctx: *const sys::vrt_ctx,
    service: *mut Raw,
    host: sys::VCL_STRING,
    acl: sys::VCL_ACL,
    port: sys::VCL_STRING,
) {
    // SAFETY: as in `add`.
    unsafe {
        method::<CustomService, _>(ctx, service, "add_preferred", (), |_, service| {
            let host = text(host).unwrap_or_default();
            let port = text(port).unwrap_or_default();
            service.add_preferred(&host, &port, Acl::new(acl))
        });
    }
}

pub(super) unsafe extern "C" fn backend(
    ctx: *const sys::vrt_ctx,
    service: *mut Raw,
    key: sys::VCL_STRING,
    pin: sys::VCL_STRING,
    elapsed: sys::VCL_DURATION,
    transaction: sys::VCL_STRING,
) -> sys::VCL_BACKEND {
    // SAFETY: what the table promises.
    unsafe {
        method::<CustomService, _>(ctx, service, "backend", ptr::null(), |ctx, service| {
            let call = Call::new(bytes(key), bytes(pin), elapsed, bytes(transaction));
            Ok(service
                .backend(ctx, &call)
                .map_or(ptr::null(), BackendRef::into_ptr))
        })
    }
}
