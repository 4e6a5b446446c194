//! The context that the engine hands to every call.

use std::ffi::{CStr, CString, c_char, c_uint};
use std::ptr;

use super::sys;
use super::vcl::VclPtr;

/// The texts of a request before its headers: method, URL and so on.
const FIRST_HEADER: usize = sys::FIRST_HEADER as usize;

/// The engine's context for one call into the module. It never outlives it.
#[derive(Clone, Copy)]
pub(crate) struct Ctx<'c> {
    raw: &'c sys::vrt_ctx,
}

impl<'c> Ctx<'c> {
    /// # Safety
    /// `raw` is null or the context that the engine passed to the call that is
    /// under way, which the result does not outlive.
    pub(crate) unsafe fn new(raw: *const sys::vrt_ctx) -> Option<Self> {
        // SAFETY: the caller's contract.
        let raw = unsafe { raw.as_ref() }?;
        (raw.magic == sys::VRT_CTX_MAGIC).then_some(Ctx { raw })
    }

    pub(super) fn raw(self) -> &'c sys::vrt_ctx {
        self.raw
    }

    pub(super) fn as_ptr(self) -> *const sys::vrt_ctx {
        ptr::from_ref(self.raw)
    }

    /// Seconds since the epoch, as of this step of the task.
    pub(crate) fn now(self) -> f64 {
        self.raw.now
    }

    /// Whether this call belongs to a client's or a backend's task, rather
    /// than to the CLI.
    pub(crate) fn in_task(self) -> bool {
        !self.raw.req.is_null() || !self.raw.bo.is_null()
    }

    /// Whether this call is made in `vcl_fini`, where nothing can be created.
    pub(crate) fn in_fini(self) -> bool {
        self.raw.method == sys::VCL_MET_FINI
    }

    /// Whether this call is made in `vcl_init`, where errors fail the load.
    pub(crate) fn in_init(self) -> bool {
        self.raw.method == sys::VCL_MET_INIT
    }

    /// The VCL that the call belongs to.
    pub(crate) fn vcl(self) -> VclPtr {
        VclPtr::new(self.raw.vcl)
    }

    /// The attempt of a backend's task, 0 for the first; `None` elsewhere.
    pub(crate) fn attempt(self) -> Option<u32> {
        if !self.raw.req.is_null() {
            return None;
        }
        // SAFETY: a context's `bo` is null or valid for the call.
        let bo = unsafe { self.raw.bo.as_ref() }?;
        Some(bo.retries)
    }

    /// The `Host` header of the backend request, else of the client's.
    pub(crate) fn host_header(self) -> Option<&'c [u8]> {
        // SAFETY: the engine's constant for the header.
        self.first(unsafe { sys::dynamic_host_header() })
    }

    /// The value of a header of the backend request; on the client's side of
    /// the client's.
    pub(crate) fn header(self, name: &HeaderName) -> Option<&'c [u8]> {
        self.first(name.as_hdr())
    }

    fn first(self, name: sys::hdr_t) -> Option<&'c [u8]> {
        [self.raw.http_bereq, self.raw.http_req]
            .into_iter()
            .filter(|http| !http.is_null())
            .find_map(|http| {
                let mut value: *const c_char = ptr::null();
                // SAFETY: `http` is one of the context's own and the name has
                // the engine's form; the value that comes back lives in the
                // task's workspace, as long as the context.
                unsafe {
                    if sys::http_GetHdr(http, name, &raw mut value) == 0 || value.is_null() {
                        return None;
                    }
                    Some(CStr::from_ptr(value).to_bytes())
                }
            })
    }

    /// The values of all headers of one name, of the backend request; on the
    /// client's side of the client's. Any bytes, as the client sent them.
    pub(crate) fn headers(self, name: &HeaderName) -> impl Iterator<Item = &'c [u8]> {
        let http = [self.raw.http_bereq, self.raw.http_req]
            .into_iter()
            // SAFETY: a context's headers are null or valid for the call.
            .find_map(|http| unsafe { http.as_ref() });
        Self::lines(http, name)
    }

    /// The values of all headers of one name, of the backend's response.
    pub(crate) fn response_headers(self, name: &HeaderName) -> impl Iterator<Item = &'c [u8]> {
        // SAFETY: a context's headers are null or valid for the call.
        Self::lines(unsafe { self.raw.http_beresp.as_ref() }, name)
    }

    fn lines(http: Option<&'c sys::http>, name: &HeaderName) -> impl Iterator<Item = &'c [u8]> {
        let wanted = name.text();
        let lines: &'c [sys::txt] = match http {
            // SAFETY: the engine keeps `nhd` texts behind `hd`, of which the
            // first few are not headers.
            Some(http) if !http.hd.is_null() => unsafe {
                std::slice::from_raw_parts(http.hd, usize::from(http.nhd))
            },
            _ => &[],
        };
        lines.iter().skip(FIRST_HEADER).filter_map(move |line| {
            if line.b.is_null() || line.e < line.b {
                return None;
            }
            // SAFETY: a text of the task's workspace, from its begin to its end.
            let line = unsafe {
                std::slice::from_raw_parts(line.b.cast::<u8>(), line.e.offset_from_unsigned(line.b))
            };
            let (name, value) = line.split_at_checked(wanted.len())?;
            let value = value.strip_prefix(b":")?;
            name.eq_ignore_ascii_case(wanted)
                .then(|| value.trim_ascii())
        })
    }

    /// Keeps the response to this fetch out of the cache, whatever VCL says
    /// before or after. In `vcl_backend_response`.
    pub(crate) fn make_uncacheable(self) {
        if !self.raw.bo.is_null() {
            // SAFETY: in a backend task, with its context.
            unsafe { sys::VRT_l_beresp_uncacheable(self.as_ptr(), 1) };
        }
    }

    /// Adds a header to the response of the backend, in the place of others
    /// of its name if `replace`. False when the task has no memory left.
    pub(crate) fn set_response_header(self, name: &str, value: &str, replace: bool) -> bool {
        let http = self.raw.http_beresp;
        let Ok(line) = CString::new(format!("{name}: {value}")) else {
            return false;
        };
        if http.is_null() || self.raw.ws.is_null() {
            return false;
        }
        // SAFETY: the response of this task's fetch; the line is copied into
        // the workspace, which lives as long as the response does, and the
        // name has the engine's form.
        unsafe {
            let copy = sys::WS_Copy(self.raw.ws, line.as_ptr().cast(), -1);
            if copy.is_null() {
                return false;
            }
            if replace && let Some(name) = HeaderName::new(name) {
                sys::http_Unset(http, name.as_hdr());
            }
            sys::http_SetHeader(http, copy.cast());
        }
        true
    }

    /// A string for VCL, in the task's memory.
    pub(crate) fn string(self, text: &str) -> sys::VCL_STRING {
        let Ok(text) = CString::new(text) else {
            return ptr::null();
        };
        if self.raw.ws.is_null() {
            return ptr::null();
        }
        // SAFETY: the text is copied into this task's workspace.
        unsafe { sys::WS_Copy(self.raw.ws, text.as_ptr().cast(), -1) }.cast()
    }

    /// Fails the VCL load, or the request, with one line.
    pub(crate) fn fail(self, why: &str) {
        if self.raw.vpi.is_null() || (self.raw.vsl.is_null() && self.raw.msg.is_null()) {
            return;
        }
        // The engine asserts that the text is one line.
        let line: String = why
            .chars()
            .map(|c| if c.is_control() { '?' } else { c })
            .collect();
        let line = CString::new(line).unwrap_or_default();
        // SAFETY: the format takes one string; the engine wants a place to
        // write to and a `vpi`, which were just checked.
        unsafe {
            sys::VRT_fail(self.as_ptr(), c"%s".as_ptr(), line.as_ptr());
        }
    }

    /// Writes a line to the message of an event that is refused. The engine
    /// shows it where the event came from.
    pub(crate) fn write_message(self, text: &str) {
        if self.raw.msg.is_null() {
            return;
        }
        let Ok(length) = isize::try_from(text.len()) else {
            return;
        };
        // SAFETY: the context's own text buffer, which copies that many bytes.
        unsafe {
            sys::VSB_bcat(self.raw.msg, text.as_ptr().cast(), length);
        }
    }

    /// Memory of the task, freed by the engine at its end.
    pub(super) fn alloc(self, bytes: usize) -> Option<ptr::NonNull<u8>> {
        if self.raw.ws.is_null() {
            return None;
        }
        let bytes = c_uint::try_from(bytes).ok()?;
        // SAFETY: the context's workspace belongs to this thread's task.
        ptr::NonNull::new(unsafe { sys::WS_Alloc(self.raw.ws, bytes) }.cast())
    }
}

/// A header's name in the engine's form: its length, the name, a colon, zero.
#[derive(Debug)]
pub(crate) struct HeaderName(Box<[u8]>);

impl HeaderName {
    /// A name without the colon; `None` for one that is too long.
    pub(crate) fn new(name: &str) -> Option<Self> {
        let length = u8::try_from(name.len() + 1).ok()?;
        let mut form = vec![length];
        form.extend_from_slice(name.as_bytes());
        form.extend_from_slice(b":\0");
        Some(HeaderName(form.into()))
    }

    /// The name without the colon.
    fn text(&self) -> &[u8] {
        self.0
            .get(1..self.0.len().saturating_sub(2))
            .unwrap_or_default()
    }

    fn as_hdr(&self) -> sys::hdr_t {
        self.0.as_ptr().cast()
    }
}
