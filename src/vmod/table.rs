//! The function table and the description that the engine looks up.
//!
//! The table's type comes from vmodtool's reading of `vmod.vcc`: a function
//! that is missing here, or that has other arguments, does not compile.

use std::ffi::{CStr, c_char, c_int};
use std::ptr;

use super::{buckets, custom_service, director, event, resolver, session};
use crate::vrt::sys;

/// A constant that the engine reads through pointers.
#[repr(transparent)]
#[derive(Debug)]
pub struct Constant<T>(T);

// SAFETY: never written after it was built, and all that it points to is
// static.
unsafe impl<T> Sync for Constant<T> {}

/// A word that VCL may write as an `ENUM` argument.
pub(crate) type Word = Constant<sys::VCL_ENUM>;

impl Word {
    pub(crate) const fn new(word: &'static CStr) -> Self {
        Constant(word.as_ptr())
    }
}

include!(concat!(env!("OUT_DIR"), "/constants.rs"));

unsafe extern "C" {
    /// The module's description, where the VCL compiler finds it in the file.
    static vmod_dynamic_json: [c_char; 1];
}

type Functions = sys::Vmod_vmod_dynamic_Func;

static FUNCTIONS: Constant<Functions> = Constant(with_enums! { Functions {
    _event: Some(event::event),
    f_director__init: Some(director::init),
    f_director__fini: Some(director::fini),
    f_director_backend: Some(director::backend),
    f_director_service: Some(director::service),
    f_director_debug: Some(director::debug),
    f_director_prefer: Some(director::prefer),
    f_director_use: Some(director::r#use),
    f_resolver__init: Some(resolver::init),
    f_resolver__fini: Some(resolver::fini),
    f_resolver_use: Some(resolver::r#use),
    f_resolver_set_resolution_type: Some(resolver::set_resolution_type),
    f_resolver_clear_namespaces: Some(resolver::clear_namespaces),
    f_resolver_add_namespace: Some(resolver::add_namespace),
    f_resolver_set_namespaces: Some(resolver::set_namespaces),
    f_resolver_clear_transports: Some(resolver::clear_transports),
    f_resolver_add_transport: Some(resolver::add_transport),
    f_resolver_set_transports: Some(resolver::set_transports),
    f_resolver_set_idle_timeout: Some(resolver::set_idle_timeout),
    f_resolver_set_limit_outstanding_queries: Some(resolver::set_limit_outstanding_queries),
    f_resolver_set_timeout: Some(resolver::set_timeout),
    f_resolver_set_follow_redirects: Some(resolver::set_follow_redirects),
    f_resolver_add_nameserver: Some(resolver::add_nameserver),
    f_resolver_add_search: Some(resolver::add_search),
    f_custom_service__init: Some(custom_service::init),
    f_custom_service__fini: Some(custom_service::fini),
    f_custom_service_add: Some(custom_service::add),
    f_custom_service_add_preferred: Some(custom_service::add_preferred),
    f_custom_service_backend: Some(custom_service::backend),
    f_session__init: Some(session::init),
    f_session__fini: Some(session::fini),
    f_session_use: Some(session::r#use),
    f_session_attach: Some(session::attach),
    f_session_status: Some(session::status),
    f_buckets__init: Some(buckets::init),
    f_buckets__fini: Some(buckets::fini),
    f_buckets_assign: Some(buckets::assign),
    f_buckets_assign_bitmap: Some(buckets::assign_bitmap),
    f_buckets_bitmap: Some(buckets::bitmap),
    f_buckets_hash: Some(buckets::hash),
    f_buckets_serves: Some(buckets::serves),
    f_buckets_use: Some(buckets::r#use),
} });

/// What the engine finds by this name when it loads the module.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals, reason = "the engine dictates the name")]
pub static Vmod_dynamic_Data: Constant<sys::vmod_data> = Constant(sys::vmod_data {
    // Zero: the module fits one build of the engine, named by `abi`.
    vrt_major: 0,
    vrt_minor: 0,
    file_id: FILE_ID.as_ptr(),
    name: c"dynamic".as_ptr(),
    func_name: c"Vmod_vmod_dynamic_Func".as_ptr(),
    func: (&raw const FUNCTIONS).cast(),
    func_len: FUNCTIONS_SIZE,
    proto: ptr::null(),
    json: (&raw const vmod_dynamic_json).cast(),
    abi: sys::VMOD_ABI_Version.as_ptr().cast(),
    vcs: c"".as_ptr(),
    version: VERSION.as_ptr(),
});

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    reason = "a table of some dozen pointers, and no `try_from` in constants"
)]
const FUNCTIONS_SIZE: c_int = size_of::<Functions>() as c_int;

const VERSION: &CStr =
    match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
        Ok(version) => version,
        Err(_) => c"",
    };
