//! `new r = dynamic.resolver(...)` and its methods.

use std::ffi::c_char;

use super::super::boundary::guard;
use super::super::ctx::{Ctx, text};
use super::super::sys;
use super::{hand, keep, name, object, take, word};
use crate::resolver::ResolverObject;

type Raw = sys::vmod_dynamic_resolver;

pub(in crate::vrt) unsafe extern "C" fn init(
    ctx: *const sys::vrt_ctx,
    place: *mut *mut Raw,
    vcl_name: *const c_char,
    set_from_os: sys::VCL_BOOL,
    parallel: sys::VCL_INT,
) {
    guard("resolver", (), || {
        // SAFETY: the context of this call, and arguments valid for it.
        unsafe {
            let Some(ctx) = Ctx::new(ctx) else { return };
            let vcl_name = name(vcl_name);
            match ResolverObject::new(&vcl_name, set_from_os != 0, parallel) {
                Ok(resolver) => keep(place, resolver),
                Err(why) => ctx.fail(&format!("dynamic.resolver {vcl_name}: {why}")),
            }
        }
    });
}

pub(in crate::vrt) unsafe extern "C" fn fini(place: *mut *mut Raw) {
    guard("resolver end", (), || {
        // SAFETY: where `init` put the resolver.
        drop(unsafe { take::<ResolverObject, _>(place) });
    });
}

pub(in crate::vrt) unsafe extern "C" fn r#use(
    ctx: *const sys::vrt_ctx,
    raw: *mut Raw,
) -> sys::VCL_BLOB {
    // SAFETY: what the table promises.
    unsafe { hand::<ResolverObject, _>(ctx, raw) }
}

/// A method that changes one setting: true, or a failed VCL that says why.
///
/// # Safety
/// The context of the call under way, and an object from [`init`].
unsafe fn change(
    ctx: *const sys::vrt_ctx,
    resolver: *mut Raw,
    method: &str,
    body: impl FnOnce(&ResolverObject) -> Result<(), String>,
) -> sys::VCL_BOOL {
    guard(method, 0, || {
        // SAFETY: the caller's contract.
        let (Some(ctx), Some(resolver)) = (unsafe { Ctx::new(ctx) }, unsafe {
            object::<ResolverObject, _>(resolver)
        }) else {
            return 0;
        };
        match body(resolver) {
            Ok(()) => 1,
            Err(why) => {
                ctx.fail(&format!(
                    "dynamic.resolver {}: {method}: {why}",
                    resolver.name()
                ));
                0
            }
        }
    })
}

/// Declares the method that VCL calls, from the change that it makes.
macro_rules! methods {
    ($($function:ident $method:literal ($($argument:ident : $kind:ty),*) |$resolver:ident| $body:expr;)*) => {
        $(
            pub(in crate::vrt) unsafe extern "C" fn $function(
                ctx: *const sys::vrt_ctx,
                resolver: *mut Raw,
                $($argument: $kind,)*
            ) -> sys::VCL_BOOL {
                // SAFETY: what the table promises: the call's context, the
                // object, and arguments that outlive the call.
                unsafe { change(ctx, resolver, $method, |$resolver| $body) }
            }
        )*
    };
}

methods! {
    set_resolution_type "set_resolution_type" (kind: sys::VCL_ENUM) |_r| ResolverObject::set_resolution_type(&word(kind));
    clear_namespaces "clear_namespaces" () |r| { r.clear_namespaces(); Ok(()) };
    add_namespace "add_namespace" (space: sys::VCL_ENUM) |r| r.add_namespace(&word(space));
    set_namespaces "set_namespaces" () |r| r.set_namespaces();
    clear_transports "clear_transports" () |r| { r.clear_transports(); Ok(()) };
    add_transport "add_transport" (transport: sys::VCL_ENUM) |r| r.add_transport(&word(transport));
    set_transports "set_transports" () |r| r.set_transports();
    set_idle_timeout "set_idle_timeout" (seconds: sys::VCL_DURATION) |r| r.set_idle_timeout(seconds);
    set_limit_outstanding_queries "set_limit_outstanding_queries" (limit: sys::VCL_INT) |r| r.set_outstanding(limit);
    set_timeout "set_timeout" (seconds: sys::VCL_DURATION) |r| r.set_timeout(seconds);
    set_follow_redirects "set_follow_redirects" (follow: sys::VCL_ENUM) |r| { r.set_follow_redirects(&word(follow)); Ok(()) };
    add_nameserver "add_nameserver" (server: sys::VCL_STRING) |r| r.add_nameserver(&text(server).unwrap_or_default());
    add_search "add_search" (domain: sys::VCL_STRING) |r| r.add_search(&text(domain).unwrap_or_default());
}
