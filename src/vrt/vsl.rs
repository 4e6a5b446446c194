//! Lines in the engine's shared memory log.

use std::ffi::CString;

use super::ctx::Ctx;
use super::sys;

/// The log tags that the module writes under.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VslTag {
    /// What happened: `VCL_Log`.
    Log,
    /// What failed: `Error`.
    Error,
    /// Details, while `.debug(true)`: `Debug`.
    Debug,
    /// Times of lookups: `Timestamp`.
    Timestamp,
}

impl VslTag {
    fn raw(self) -> sys::VSL_tag_e::Type {
        match self {
            VslTag::Log => sys::VSL_tag_e::SLT_VCL_Log,
            VslTag::Error => sys::VSL_tag_e::SLT_Error,
            VslTag::Debug => sys::VSL_tag_e::SLT_Debug,
            VslTag::Timestamp => sys::VSL_tag_e::SLT_Timestamp,
        }
    }
}

/// Text as one line of printable characters: what strangers send must not
/// forge lines or break the log's format.
fn printable(text: &str) -> CString {
    let clean: Vec<u8> = text
        .bytes()
        .map(|b| if b < b' ' || b == 0x7f { b'?' } else { b })
        .collect();
    CString::new(clean).unwrap_or_default()
}

/// Writes a line that belongs to no transaction. May be called on any thread.
pub(crate) fn vsl(tag: VslTag, text: &str) {
    let text = printable(text);
    // SAFETY: VSL may be called on any thread; format and argument are C
    // strings that outlive the call, and the format takes one string.
    unsafe {
        sys::VSL(
            tag.raw(),
            sys::vxid_t { vxid: 0 },
            c"%s".as_ptr(),
            text.as_ptr(),
        );
    }
}

/// Writes a line into the transaction of a task; without a task (the CLI) a
/// line that belongs to none.
pub(crate) fn vsl_task(ctx: Ctx<'_>, tag: VslTag, text: &str) {
    let buffer = ctx.raw().vsl;
    if buffer.is_null() || !ctx.in_task() {
        vsl(tag, text);
        return;
    }
    let text = printable(text);
    // SAFETY: the task's log buffer belongs to the thread that runs the task,
    // which is this one; the format takes one string, and both outlive the call.
    unsafe {
        sys::VSLb(buffer, tag.raw(), c"%s".as_ptr(), text.as_ptr());
    }
}
