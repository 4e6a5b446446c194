//! `new d = dynamic.director(...)` and its methods.

use std::ffi::c_char;
use std::ptr;
use std::sync::Arc;

use dynamic_core::settings::Arguments;

use super::super::acl::{Acl, Probe};
use super::super::blob::Handed;
use super::super::boundary::guard;
use super::super::ctx::{Ctx, bytes, text};
use super::super::leaf::Via;
use super::super::{blob, sys};
use super::{hand, keep, name, object, take, word};
use crate::buckets::BucketsObject;
use crate::director::{Director, References};
use crate::domain::Call;
use crate::resolver::ResolverObject;
use crate::session::SessionObject;

type Raw = sys::vmod_dynamic_director;

#[allow(
    clippy::too_many_arguments,
    reason = "the manual's arguments, in its order"
)]
pub(in crate::vrt) unsafe extern "C" fn init(
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
) {
    guard("director", (), || {
        // SAFETY: the context of this call, and arguments of the types that
        // the table promises, valid for the call; ACLs, probes and backends
        // are the VCL's and live as long as it.
        unsafe {
            let Some(ctx) = Ctx::new(ctx) else { return };
            let vcl_name = name(vcl_name);
            let arguments = Arguments {
                port: text(port),
                host_header: text(host_header),
                share: word(share),
                has_via: !via.is_null(),
                ttl,
                connect_timeout,
                first_byte_timeout,
                between_bytes_timeout,
                domain_usage_timeout,
                first_lookup_timeout,
                max_connections,
                proxy_header,
                ttl_from: word(ttl_from),
                retry_after,
                keep: keep_updates,
                authority: text(authority),
                wait_timeout,
                wait_limit,
                algorithm: word(algorithm),
                hash_header: text(hash_header),
                hash_balance,
                hash_scope: word(hash_scope),
                overprovisioning,
                slow_start,
            };
            let (Ok(given_resolver), Ok(session), Ok(buckets)) = (
                referred::<ResolverObject>(ctx, &vcl_name, "resolver", resolver),
                referred::<SessionObject>(ctx, &vcl_name, "session", session),
                referred::<BucketsObject>(ctx, &vcl_name, "buckets", buckets),
            ) else {
                return;
            };
            let via = match Via::new(ctx, via) {
                Ok(via) => via,
                Err(why) => {
                    ctx.fail(&format!("dynamic.director {vcl_name}: {why}"));
                    return;
                }
            };
            let references = References {
                probe: Probe::new(probe),
                whitelist: Acl::new(whitelist),
                resolver: given_resolver,
                via,
                prefer: Acl::new(prefer),
                session,
                buckets,
            };
            match Director::new(ctx, &vcl_name, arguments, references) {
                Ok(director) => keep(place, director),
                Err(why) => ctx.fail(&format!("dynamic.director {vcl_name}: {why}")),
            }
        }
    });
}

/// The object that an argument refers to, if it is given. A blob of another
/// kind fails the VCL load.
///
/// # Safety
/// `given` is null or a blob of the call under way.
unsafe fn referred<T: Handed>(
    ctx: Ctx<'_>,
    vcl_name: &str,
    argument: &str,
    given: sys::VCL_BLOB,
) -> Result<Option<Arc<T>>, ()> {
    if given.is_null() {
        return Ok(None);
    }
    // SAFETY: the caller's contract.
    let object = unsafe { blob::unwrap::<T>(given) };
    if object.is_none() {
        ctx.fail(&format!(
            "dynamic.director {vcl_name}: {argument}: a blob of another kind, must be the .use() of a {}()",
            T::NAME.to_string_lossy()
        ));
    }
    object.map(Some).ok_or(())
}

pub(in crate::vrt) unsafe extern "C" fn fini(place: *mut *mut Raw) {
    guard("director end", (), || {
        // SAFETY: where `init` put the director.
        if let Some(director) = unsafe { take::<Director, _>(place) } {
            director.close();
        }
    });
}

pub(in crate::vrt) unsafe extern "C" fn backend(
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
    guard("backend", ptr::null(), || {
        // SAFETY: the context of this call, the object from `init`, and
        // strings that outlive the call.
        unsafe {
            let (Some(ctx), Some(director)) = (Ctx::new(ctx), object::<Director, _>(director))
            else {
                return ptr::null();
            };
            let call = Call::new(bytes(key), bytes(pin), elapsed, bytes(transaction));
            director
                .backend(
                    ctx,
                    bytes(host).unwrap_or_default(),
                    bytes(port).unwrap_or_default(),
                    bytes(authority),
                    &call,
                )
                .map_or(ptr::null(), |chosen| chosen.as_ptr())
        }
    })
}

pub(in crate::vrt) unsafe extern "C" fn service(
    ctx: *const sys::vrt_ctx,
    director: *mut Raw,
    service: sys::VCL_STRING,
    key: sys::VCL_STRING,
    pin: sys::VCL_STRING,
    elapsed: sys::VCL_DURATION,
    transaction: sys::VCL_STRING,
) -> sys::VCL_BACKEND {
    guard("service", ptr::null(), || {
        // SAFETY: as in `backend`.
        unsafe {
            let (Some(ctx), Some(director)) = (Ctx::new(ctx), object::<Director, _>(director))
            else {
                return ptr::null();
            };
            director
                .service(
                    ctx,
                    bytes(service).unwrap_or_default(),
                    &Call::new(bytes(key), bytes(pin), elapsed, bytes(transaction)),
                )
                .map_or(ptr::null(), |chosen| chosen.as_ptr())
        }
    })
}

pub(in crate::vrt) unsafe extern "C" fn r#use(
    ctx: *const sys::vrt_ctx,
    raw: *mut Raw,
) -> sys::VCL_BLOB {
    // SAFETY: what the table promises.
    unsafe { hand::<Director, _>(ctx, raw) }
}

pub(in crate::vrt) unsafe extern "C" fn debug(
    _ctx: *const sys::vrt_ctx,
    director: *mut Raw,
    on: sys::VCL_BOOL,
) {
    guard("debug", (), || {
        // SAFETY: the object from `init`.
        if let Some(director) = unsafe { object::<Director, _>(director) } {
            director.config().set_debug(on != 0);
        }
    });
}

pub(in crate::vrt) unsafe extern "C" fn prefer(
    ctx: *const sys::vrt_ctx,
    director: *mut Raw,
    acl: sys::VCL_ACL,
    score: sys::VCL_INT,
) {
    guard("prefer", (), || {
        // SAFETY: the context of this call, and the object from `init`.
        let (Some(ctx), Some(director)) = (unsafe { Ctx::new(ctx) }, unsafe {
            object::<Director, _>(director)
        }) else {
            return;
        };
        let Some(acl) = Acl::new(acl) else {
            ctx.fail(&format!(
                "dynamic.director {}: prefer: no ACL given",
                director.config().name
            ));
            return;
        };
        if let Err(why) = director.config().prefer(acl, score) {
            ctx.fail(&format!(
                "dynamic.director {}: {why}",
                director.config().name
            ));
        }
    });
}
