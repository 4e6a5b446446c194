//! Socket addresses in the engine's own form.

use std::net::IpAddr;
use std::ptr;

use super::sys;

/// Room for the engine's `struct suckaddr`, whose size only it knows.
const ROOM: usize = 128;

/// An address and port as the engine wants them.
#[repr(C, align(16))]
pub(super) struct Suckaddr([u8; ROOM]);

impl Suckaddr {
    /// Builds one; `None` only if the engine's structure outgrew the room.
    pub(super) fn new(address: IpAddr, port: u16) -> Option<Self> {
        let mut built = Suckaddr([0; ROOM]);
        // SAFETY: a constant of the engine, set before any module is loaded.
        let needed = unsafe { sys::vsa_suckaddr_len };
        if needed > ROOM {
            return None;
        }
        let (family, octets): (i32, &[u8]) = match &address {
            IpAddr::V4(v4) => (libc::AF_INET, &v4.octets()),
            IpAddr::V6(v6) => (libc::AF_INET6, &v6.octets()),
        };
        let family = sys::sa_family_t::try_from(family).ok()?;
        let port = port.to_be();
        // SAFETY: the buffer is large enough and aligned, the address has the
        // family's size and the port is two bytes in network order, which the
        // engine copies.
        let address = unsafe {
            sys::VSA_BuildFAP(
                built.0.as_mut_ptr().cast(),
                family,
                octets.as_ptr().cast(),
                u32::try_from(octets.len()).ok()?,
                ptr::from_ref(&port).cast(),
                2,
            )
        };
        (!address.is_null()).then_some(built)
    }

    pub(super) fn as_ptr(&self) -> *const sys::suckaddr {
        self.0.as_ptr().cast()
    }
}
