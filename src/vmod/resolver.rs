//! `new r = dynamic.resolver(...)` and its methods.

use std::ffi::c_char;

use super::object::{Object, create, destroy, method, text, use_blob};
use crate::resolver::ResolverObject;
use crate::vrt::sys;

type Raw = sys::vmod_dynamic_resolver;

impl Object for ResolverObject {
    type Raw = Raw;
    const KIND: &'static str = "resolver";

    fn name(&self) -> &str {
        self.name()
    }
}

pub(super) unsafe extern "C" fn init(
    ctx: *const sys::vrt_ctx,
    place: *mut *mut Raw,
    vcl_name: *const c_char,
    set_from_os: sys::VCL_BOOL,
    parallel: sys::VCL_INT,
) {
    // SAFETY: what the table promises.
    unsafe {
        create(ctx, place, vcl_name, |_, name| {
            ResolverObject::new(name, set_from_os != 0, parallel)
        });
    }
}

pub(super) unsafe extern "C" fn fini(place: *mut *mut Raw) {
    // SAFETY: where `init` put the resolver.
    unsafe { destroy::<ResolverObject>(place, |_| ()) }
}

pub(super) unsafe extern "C" fn r#use(ctx: *const sys::vrt_ctx, raw: *mut Raw) -> sys::VCL_BLOB {
    // SAFETY: what the table promises.
    unsafe { use_blob::<ResolverObject>(ctx, raw) }
}

/// Declares a method that changes one setting: true, or a failure that says
/// why. Only in `vcl_init`: elsewhere it changes nothing, and fails.
macro_rules! setters {
    ($($function:ident ($($argument:ident : $kind:ty),*) |$resolver:ident| $body:expr;)*) => {
        $(
            pub(super) unsafe extern "C" fn $function(
                ctx: *const sys::vrt_ctx,
                resolver: *mut Raw,
                $($argument: $kind,)*
            ) -> sys::VCL_BOOL {
                // SAFETY: what the table promises: the call's context, the
                // object, and arguments that outlive the call.
                unsafe {
                    method::<ResolverObject, _>(ctx, resolver, stringify!($function), 0, |ctx, $resolver| {
                        if !ctx.in_init() {
                            return Err("only in vcl_init".to_owned());
                        }
                        $body.map(|()| 1)
                    })
                }
            }
        )*
    };
}

setters! {
    set_resolution_type(kind: sys::VCL_ENUM) |_r| ResolverObject::set_resolution_type(&text(kind).unwrap_or_default());
    clear_namespaces() |r| { r.clear_namespaces(); Ok(()) };
    add_namespace(space: sys::VCL_ENUM) |r| r.add_namespace(&text(space).unwrap_or_default());
    set_namespaces() |r| r.set_namespaces();
    clear_transports() |r| { r.clear_transports(); Ok(()) };
    add_transport(transport: sys::VCL_ENUM) |r| r.add_transport(&text(transport).unwrap_or_default());
    set_transports() |r| r.set_transports();
    set_idle_timeout(seconds: sys::VCL_DURATION) |r| r.set_idle_timeout(seconds);
    set_limit_outstanding_queries(limit: sys::VCL_INT) |r| r.set_outstanding(limit);
    set_timeout(seconds: sys::VCL_DURATION) |r| r.set_timeout(seconds);
    set_follow_redirects(follow: sys::VCL_ENUM) |r| { r.set_follow_redirects(&text(follow).unwrap_or_default()); Ok(()) };
    add_nameserver(server: sys::VCL_STRING) |r| r.add_nameserver(&text(server).unwrap_or_default());
    add_search(domain: sys::VCL_STRING) |r| r.add_search(&text(domain).unwrap_or_default());
}
