//! `new s = dynamic.session(...)` and its methods.

use std::ffi::c_char;
use std::ptr;

use dynamic_core::session::{AffinityTo, Arguments, FailurePolicy, Policy, SameSite, SecurePolicy};

use super::super::boundary::guard;
use super::super::ctx::{Ctx, text};
use super::super::sys;
use super::{hand, keep, name, object, take, word};
use crate::session::SessionObject;

type Raw = sys::vmod_dynamic_session;

#[allow(
    clippy::too_many_arguments,
    reason = "the manual's arguments, in its order"
)]
pub(in crate::vrt) unsafe extern "C" fn init(
    ctx: *const sys::vrt_ctx,
    place: *mut *mut Raw,
    vcl_name: *const c_char,
    session_name: sys::VCL_STRING,
    policy: sys::VCL_ENUM,
    failure_policy: sys::VCL_ENUM,
    affinity_to: sys::VCL_ENUM,
    domain: sys::VCL_STRING,
    path: sys::VCL_STRING,
    expiration: sys::VCL_DURATION,
    max_age: sys::VCL_DURATION,
    http_only: sys::VCL_BOOL,
    same_site: sys::VCL_ENUM,
    secure_policy: sys::VCL_ENUM,
    key_file: sys::VCL_STRING,
) {
    guard("session", (), || {
        // SAFETY: the context of this call, and arguments valid for it.
        unsafe {
            let Some(ctx) = Ctx::new(ctx) else { return };
            let vcl_name = name(vcl_name);
            let session_name = text(session_name).unwrap_or_default();
            let (domain, path, key_file) = (text(domain), text(path), text(key_file));
            // VCL lets only these words pass; the defaults never come to bear.
            let arguments = Arguments {
                name: &session_name,
                policy: Policy::from_word(&word(policy)).unwrap_or(Policy::HashCookie),
                failure_policy: FailurePolicy::from_word(&word(failure_policy))
                    .unwrap_or(FailurePolicy::Redistribute),
                affinity_to: AffinityTo::from_word(&word(affinity_to))
                    .unwrap_or(AffinityTo::Endpoint),
                domain: domain.as_deref(),
                path: path.as_deref(),
                expiration,
                max_age,
                http_only: http_only != 0,
                same_site: SameSite::from_word(&word(same_site)).unwrap_or(SameSite::Unspecified),
                secure_policy: SecurePolicy::from_word(&word(secure_policy))
                    .unwrap_or(SecurePolicy::None),
                key_file: key_file.as_deref(),
            };
            match SessionObject::new(ctx, &vcl_name, &arguments) {
                Ok(session) => keep(place, session),
                Err(why) => ctx.fail(&format!("dynamic.session {vcl_name}: {why}")),
            }
        }
    });
}

pub(in crate::vrt) unsafe extern "C" fn fini(place: *mut *mut Raw) {
    guard("session end", (), || {
        // SAFETY: where `init` put the session.
        drop(unsafe { take::<SessionObject, _>(place) });
    });
}

pub(in crate::vrt) unsafe extern "C" fn r#use(
    ctx: *const sys::vrt_ctx,
    raw: *mut Raw,
) -> sys::VCL_BLOB {
    // SAFETY: what the table promises.
    unsafe { hand::<SessionObject, _>(ctx, raw) }
}

pub(in crate::vrt) unsafe extern "C" fn attach(
    ctx: *const sys::vrt_ctx,
    session: *mut Raw,
    https: sys::VCL_BOOL,
) {
    guard("attach", (), || {
        // SAFETY: the context of this call, and the object from `init`.
        unsafe {
            if let (Some(ctx), Some(session)) = (Ctx::new(ctx), object::<SessionObject, _>(session))
            {
                session.attach(ctx, https != 0);
            }
        }
    });
}

pub(in crate::vrt) unsafe extern "C" fn status(
    ctx: *const sys::vrt_ctx,
    session: *mut Raw,
) -> sys::VCL_STRING {
    guard("status", ptr::null(), || {
        // SAFETY: the context of this call, and the object from `init`.
        let (Some(ctx), Some(session)) = (unsafe { Ctx::new(ctx) }, unsafe {
            object::<SessionObject, _>(session)
        }) else {
            return ptr::null();
        };
        ctx.string(session.status(ctx).as_str())
    })
}
