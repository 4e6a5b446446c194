//! `new s = dynamic.session(...)` and its methods.

use std::ffi::c_char;
use std::ptr;

use dynamic_core::session::{AffinityTo, Arguments, FailurePolicy, Policy, SameSite, SecurePolicy};

use super::object::{Object, create, destroy, method, text, use_blob};
use crate::session::SessionObject;
use crate::vrt::sys;

type Raw = sys::vmod_dynamic_session;

impl Object for SessionObject {
    type Raw = Raw;
    const KIND: &'static str = "session";

    fn name(&self) -> &str {
        self.name()
    }
}

/// What the word of an `ENUM` stands for.
fn word<T>(
    argument: &str,
    given: Option<String>,
    read: impl Fn(&str) -> Option<T>,
) -> Result<T, String> {
    let given = given.unwrap_or_default();
    read(&given).ok_or_else(|| format!("{argument} = {given}: this word is unknown to the module"))
}

#[allow(
    clippy::too_many_arguments,
    reason = "the manual's arguments, in its order"
)]
pub(super) unsafe extern "C" fn init(
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
    partitioned: sys::VCL_BOOL,
) {
    // SAFETY: what the table promises: the call's context, the place of VCL's
    // pointer, and arguments that outlive the call.
    unsafe {
        create(ctx, place, vcl_name, |ctx, name| {
            let session_name = text(session_name).unwrap_or_default();
            let (domain, path, key_file) = (text(domain), text(path), text(key_file));
            let arguments = Arguments {
                name: &session_name,
                policy: word("policy", text(policy), Policy::from_word)?,
                failure_policy: word(
                    "failure_policy",
                    text(failure_policy),
                    FailurePolicy::from_word,
                )?,
                affinity_to: word("affinity_to", text(affinity_to), AffinityTo::from_word)?,
                domain: domain.as_deref(),
                path: path.as_deref(),
                expiration,
                max_age,
                http_only: http_only != 0,
                same_site: word("same_site", text(same_site), SameSite::from_word)?,
                secure_policy: word(
                    "secure_policy",
                    text(secure_policy),
                    SecurePolicy::from_word,
                )?,
                key_file: key_file.as_deref(),
                partitioned: partitioned != 0,
            };
            SessionObject::new(ctx, name, &arguments)
        });
    }
}

pub(super) unsafe extern "C" fn fini(place: *mut *mut Raw) {
    // SAFETY: where `init` put the session.
    unsafe { destroy::<SessionObject>(place, |_| ()) }
}

pub(super) unsafe extern "C" fn r#use(ctx: *const sys::vrt_ctx, raw: *mut Raw) -> sys::VCL_BLOB {
    // SAFETY: what the table promises.
    unsafe { use_blob::<SessionObject>(ctx, raw) }
}

pub(super) unsafe extern "C" fn attach(
    ctx: *const sys::vrt_ctx,
    session: *mut Raw,
    https: sys::VCL_BOOL,
) {
    // SAFETY: what the table promises.
    unsafe {
        method::<SessionObject, _>(ctx, session, "attach", (), |ctx, session| {
            session.attach(ctx, https != 0);
            Ok(())
        });
    }
}

pub(super) unsafe extern "C" fn status(
    ctx: *const sys::vrt_ctx,
    session: *mut Raw,
) -> sys::VCL_STRING {
    // SAFETY: what the table promises.
    unsafe {
        method::<SessionObject, _>(ctx, session, "status", ptr::null(), |ctx, session| {
            Ok(ctx.string(session.status(ctx).as_str()))
        })
    }
}
