//! Access control lists and probes that VCL passes by reference.

use std::net::IpAddr;
use std::ptr::NonNull;

use super::background::BackgroundCtx;
use super::suckaddr::Suckaddr;
use super::sys;

/// A VCL `acl`. It lives as long as its VCL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Acl(NonNull<sys::vrt_acl>);

// SAFETY: an ACL is constant code and data of its VCL.
unsafe impl Send for Acl {}
// SAFETY: as above.
unsafe impl Sync for Acl {}

impl Acl {
    pub(crate) fn new(raw: sys::VCL_ACL) -> Option<Self> {
        NonNull::new(raw.cast_mut()).map(Acl)
    }

    /// Whether the list matches an address.
    pub(crate) fn matches(self, ctx: &mut BackgroundCtx<'_>, address: IpAddr) -> bool {
        let Some(sockaddr) = Suckaddr::new(address, 0) else {
            return false;
        };
        // SAFETY: the ACL belongs to the VCL of `ctx`, which a guard keeps; the
        // address is one that the engine built.
        unsafe { sys::VRT_acl_match(ctx.as_ptr(), self.0.as_ptr(), sockaddr.as_ptr()) != 0 }
    }
}

/// A VCL `probe`. It lives as long as its VCL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Probe(NonNull<sys::vrt_backend_probe>);

// SAFETY: a probe is constant data of its VCL.
unsafe impl Send for Probe {}
// SAFETY: as above.
unsafe impl Sync for Probe {}

impl Probe {
    pub(crate) fn new(raw: sys::VCL_PROBE) -> Option<Self> {
        NonNull::new(raw.cast_mut()).map(Probe)
    }

    pub(super) fn as_ptr(self) -> sys::VCL_PROBE {
        self.0.as_ptr()
    }
}
