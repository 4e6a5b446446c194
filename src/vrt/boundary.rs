//! The panic boundary: no unwinding crosses into the engine.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::vsl::{self, VslTag};

/// Runs the body of an entry point; a panic is logged and answered with
/// `otherwise`, which is the safe answer for that entry point: a null backend
/// (the request gets a 503), "sick", an empty list, a failed VCL load.
pub(crate) fn catch_panic<R>(entry: &str, otherwise: R, body: impl FnOnce() -> R) -> R {
    // Unwind safety: state that a request shares is swapped in whole, and a
    // poisoned mutex is entered all the same (see `crate::sync`), so what a
    // panic leaves behind is at worst an update that was not made.
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(answer) => answer,
        Err(panic) => {
            log_panic(entry, &*panic);
            otherwise
        }
    }
}

/// Logs a panic that was caught in `entry`.
pub(crate) fn log_panic(entry: &str, panic: &(dyn Any + Send)) {
    let reason = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("unknown reason");
    vsl::vsl(
        VslTag::Error,
        &format!("vmod-dynamic internal error in {entry}: {reason}"),
    );
}
