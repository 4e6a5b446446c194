//! The engine's growing text buffer, which a `backend.list` callback fills.

use std::fmt;

use super::sys;

/// Output of one `list` call.
pub(crate) struct Vsb<'o>(&'o mut sys::vsb);

impl Vsb<'_> {
    /// # Safety
    /// `raw` is the buffer that the engine passed to the call under way.
    pub(super) unsafe fn new(raw: *mut sys::vsb) -> Option<Self> {
        // SAFETY: the caller's contract.
        unsafe { raw.as_mut() }.map(Vsb)
    }
}

impl fmt::Write for Vsb<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let length = isize::try_from(text.len()).map_err(|_| fmt::Error)?;
        // SAFETY: the buffer is valid and copies that many bytes of the text.
        if unsafe { sys::VSB_bcat(self.0, text.as_ptr().cast(), length) } == 0 {
            Ok(())
        } else {
            Err(fmt::Error)
        }
    }
}
