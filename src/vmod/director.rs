//! `new d = dynamic.director(...)` and its methods.

use std::ffi::c_char;
use std::ptr;

use dynamic_core::settings::Arguments;

use super::object::{Object, blob_argument, bytes, create, destroy, method, text, use_blob};
use crate::director::{Director, References};
use crate::domain::Call;
use crate::vrt::{Acl, BackendRef, Probe, Via, sys};

type Raw = sys::vmod_dynamic_director;

impl Object for Director {
    type Raw = Raw;
    const KIND: &'static str = "director";

    fn name(&self) -> &str {
        &self.config().name
    }
}

#[allow(
    clippy::too_many_arguments,
    reason = "the manual's arguments, in its order"
)]
pub(super) unsafe extern "C" fn init(
    ctx: *const sys::vrt_ctx,
    place: *mut *mut Raw,
    vcl_name: *const c_char,
    port: sys::VCL_STRING,
    host_header: sys::VCL_STRING,
    share: sys::VCL_ENUM,
    probe: sys::VCL_PROBE,
    whitelist: sys::VCL_ACL,
    ttl: sys::VCL_DURATION,
    connect_timeout: sys::VCL_DURATION,
    first_byte_timeout: sys::VCL_DURATION,
    between_bytes_timeout: sys::VCL_DURATION,
    domain_usage_timeout: sys::VCL_DURATION,
    first_lookup_timeout: sys::VCL_DURATION,
    max_connections: sys::VCL_INT,
    proxy_header: sys::VCL_INT,
    resolver: sys::VCL_BLOB,
    ttl_from: sys::VCL_ENUM,
    retry_after: sys::VCL_DURATION,
    via: sys::VCL_BACKEND,
    keep_updates: sys::VCL_INT,
    authority: sys::VCL_STRING,
    wait_timeout: sys::VCL_DURATION,
    wait_limit: sys::VCL_INT,
    prefer: sys::VCL_ACL,
    algorithm: sys::VCL_ENUM,
    hash_header: sys::VCL_STRING,
    hash_balance: sys::VCL_REAL,
    hash_scope: sys::VCL_ENUM,
    overprovisioning: sys::VCL_REAL,
    slow_start: sys::VCL_DURATION,
    session: sys::VCL_BLOB,
    buckets: sys::VCL_BLOB,
    ports: sys::VCL_STRING,
    max_names: sys::VCL_INT,
) {
    // SAFETY: what the table promises: the call's context, the place of VCL's
    // pointer, and arguments that outlive the call. ACLs, probes and backends
    // are the VCL's and live as long as it.
    unsafe {
        create(ctx, place, vcl_name, |ctx, name| {
            let arguments = Arguments {
                port: text(port),
                host_header: text(host_header),
                share: text(share).unwrap_or_default(),
                has_via: !via.is_null(),
                ttl,
                connect_timeout,
                first_byte_timeout,
                between_bytes_timeout,
                domain_usage_timeout,
                first_lookup_timeout,
                max_connections,
                proxy_header,
                ttl_from: text(ttl_from).unwrap_or_default(),
                retry_after,
                keep: keep_updates,
                authority: text(authority),
                wait_timeout,
                wait_limit,
                algorithm: text(algorithm).unwrap_or_default(),
                hash_header: text(hash_header),
                hash_balance,
                hash_scope: text(hash_scope).unwrap_or_default(),
                overprovisioning,
                slow_start,
                ports: text(ports),
                max_names,
            };
            let references = References {
                probe: Probe::new(probe),
                whitelist: Acl::new(whitelist),
                resolver: blob_argument("resolver", resolver)?,
                via: Via::new(ctx, name, via)?,
                prefer: Acl::new(prefer),
                session: blob_argument("session", session)?,
                buckets: blob_argument("buckets", buckets)?,
            };
            Director::new(ctx, name, arguments, references)
        });
    }
}

pub(super) unsafe extern "C" fn fini(place: *mut *mut Raw) {
    // SAFETY: where `init` put the director.
    unsafe { destroy::<Director>(place, Director::close) }
}

pub(super) unsafe extern "C" fn backend(
    ctx: *const sys::vrt_ctx,
    director: *mut Raw,
    host: sys::VCL_STRING,
    port: sys::VCL_STRING,
    authority: sys::VCL_STRING,
    key: sys::VCL_STRING,
    pin: sys::VCL_STRING,
    elapsed: sys::VCL_DURATION,
    transaction: sys::VCL_STRING,
) -> sys::VCL_BACKEND {
    // SAFETY: what the table promises.
    unsafe {
        method::<Director, _>(ctx, director, "backend", ptr::null(), |ctx, director| {
            let call = Call::new(bytes(key), bytes(pin), elapsed, bytes(transaction));
            let (host, port) = (bytes(host), bytes(port));
            Ok(director
                .backend(
                    ctx,
                    host.unwrap_or_default(),
                    port.unwrap_or_default(),
                    bytes(authority),
                    &call,
                )
                .map_or(ptr::null(), BackendRef::into_ptr))
        })
    }
}

pub(super) unsafe extern "C" fn service(
    ctx: *const sys::vrt_ctx,
    director: *mut Raw,
    service: sys::VCL_STRING,
    key: sys::VCL_STRING,
    pin: sys::VCL_STRING,
    elapsed: sys::VCL_DURATION,
    transaction: sys::VCL_STRING,
) -> sys::VCL_BACKEND {
    // SAFETY: what the table promises.
    unsafe {
        method::<Director, _>(ctx, director, "service", ptr::null(), |ctx, director| {
            let call = Call::new(bytes(key), bytes(pin), elapsed, bytes(transaction));
            Ok(director
                .service(ctx, bytes(service).unwrap_or_default(), &call)
                .map_or(ptr::null(), BackendRef::into_ptr))
        })
    }
}

pub(super) unsafe extern "C" fn r#use(ctx: *const sys::vrt_ctx, raw: *mut Raw) -> sys::VCL_BLOB {
    // SAFETY: what the table promises.
    unsafe { use_blob::<Director>(ctx, raw) }
}

pub(super) unsafe extern "C" fn debug(
    ctx: *const sys::vrt_ctx,
    director: *mut Raw,
    on: sys::VCL_BOOL,
) {
    // SAFETY: what the table promises.
    unsafe {
        method::<Director, _>(ctx, director, "debug", (), |_, director| {
            director.config().set_debug(on != 0);
            Ok(())
        });
    }
}

pub(super) unsafe extern "C" fn prefer(
    ctx: *const sys::vrt_ctx,
    director: *mut Raw,
    acl: sys::VCL_ACL,
    score: sys::VCL_INT,
) {
    // SAFETY: what the table promises; the ACL lives as long as the VCL.
    unsafe {
        method::<Director, _>(ctx, director, "prefer", (), |_, director| {
            let acl = Acl::new(acl).ok_or("no ACL given")?;
            director.config().prefer(acl, score)
        });
    }
}
