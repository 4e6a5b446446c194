//! The sealed keys of `COOKIE` and `CUSTOM_HEADER`.
//!
//! A sealed key is the base64url text (RFC 4648 section 5, no padding) of
//!
//! ```text
//! version (1 byte, 1) ‖ key id (4) ‖ nonce (24) ‖ ciphertext (length of the id) ‖ tag (16)
//! ```
//!
//! with XChaCha20-Poly1305 (draft-irtf-cfrg-xchacha) and the associated data
//!
//! ```text
//! version (1 byte) ‖ policy's name ‖ 0 ‖ session's name
//! ```
//!
//! The session's name is the cookie's name as it is, or the header's name in
//! lower case. So a seal opens only where it was made for: not under another
//! policy, not in another cookie. The key id needs no protection, since a
//! changed one selects a key whose tag does not fit. The length of the id can
//! be seen from outside, its text cannot.

use std::fmt;
use std::sync::Arc;

use chacha20poly1305::aead::AeadInOut;
use chacha20poly1305::{Tag, XNonce};
use data_encoding::BASE64URL_NOPAD;

use super::keys::{KeyId, KeyRing};
use super::policy::Policy;

/// Length of a nonce in bytes.
pub const NONCE_LENGTH: usize = 24;

/// Longest id in bytes that can be sealed; a host name has at most 253.
pub const MAX_ID_LENGTH: usize = 256;

const VERSION: u8 = 1;
const KEY_ID_LENGTH: usize = size_of::<KeyId>();
const TAG_LENGTH: usize = 16;
const HEAD_LENGTH: usize = 1 + KEY_ID_LENGTH + NONCE_LENGTH;
const MAX_SEALED_LENGTH: usize = HEAD_LENGTH + MAX_ID_LENGTH + TAG_LENGTH;

/// Longest text of a sealed key; anything longer is refused unread.
pub const MAX_VALUE_LENGTH: usize = (MAX_SEALED_LENGTH * 4).div_ceil(3);

/// An id is too long to be sealed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an id of {length} bytes, accepted are at most {MAX_ID_LENGTH}")]
pub struct IdTooLong {
    /// Length of the id in bytes.
    pub length: usize,
}

/// Where [`Sealer::open`] writes what it opens.
pub struct Space([u8; MAX_SEALED_LENGTH]);

impl Space {
    /// Empty space, for the caller's stack.
    #[must_use]
    pub fn new() -> Self {
        Space([0; MAX_SEALED_LENGTH])
    }
}

impl Default for Space {
    fn default() -> Self {
        Self::new()
    }
}

/// Seals and opens the keys of one session.
pub struct Sealer {
    ring: Arc<KeyRing>,
    associated: Box<[u8]>,
}

impl Sealer {
    /// The sealer of a session: its keys, its policy, and the name of its
    /// cookie or header.
    #[must_use]
    pub fn new(ring: Arc<KeyRing>, policy: Policy, name: &str) -> Self {
        let mut associated = vec![VERSION];
        associated.extend_from_slice(policy.as_str().as_bytes());
        associated.push(0);
        let start = associated.len();
        associated.extend_from_slice(name.as_bytes());
        if !policy.is_cookie()
            && let Some(name) = associated.get_mut(start..)
        {
            name.make_ascii_lowercase();
        }
        Sealer {
            ring,
            associated: associated.into(),
        }
    }

    /// Seals an id with the first key. The nonce must be random, from a source
    /// fit for cryptography, and never be used twice.
    ///
    /// # Errors
    /// [`IdTooLong`] beyond [`MAX_ID_LENGTH`] bytes.
    pub fn seal(&self, id: &str, nonce: &[u8; NONCE_LENGTH]) -> Result<String, IdTooLong> {
        let too_long = IdTooLong { length: id.len() };
        if id.len() > MAX_ID_LENGTH {
            return Err(too_long);
        }
        let key = self.ring.first();
        let mut sealed = Vec::with_capacity(HEAD_LENGTH + id.len() + TAG_LENGTH);
        sealed.push(VERSION);
        sealed.extend_from_slice(&key.id());
        sealed.extend_from_slice(nonce);
        sealed.extend_from_slice(id.as_bytes());
        let (_, text) = sealed.split_at_mut(HEAD_LENGTH);
        let tag = key
            .cipher()
            .encrypt_inout_detached(&XNonce::from(*nonce), &self.associated, text.into())
            // The cipher's only error is a text of more than 256 GiB.
            .map_err(|_| too_long)?;
        sealed.extend_from_slice(&tag);
        Ok(BASE64URL_NOPAD.encode(&sealed))
    }

    /// Opens a sealed key: the id, or `None` where the value is no seal of
    /// this session by a key of its ring. Allocates nothing, and reads at most
    /// [`MAX_VALUE_LENGTH`] bytes; the tag is compared in constant time.
    #[must_use]
    pub fn open<'s>(&self, value: &[u8], space: &'s mut Space) -> Option<&'s str> {
        if value.len() > MAX_VALUE_LENGTH {
            return None;
        }
        let length = BASE64URL_NOPAD.decode_len(value.len()).ok()?;
        let sealed = space.0.get_mut(..length)?;
        BASE64URL_NOPAD.decode_mut(value, sealed).ok()?;

        let (&mut version, rest) = sealed.split_first_mut()?;
        let (&mut key_id, rest) = rest.split_first_chunk_mut::<KEY_ID_LENGTH>()?;
        let (&mut nonce, rest) = rest.split_first_chunk_mut::<NONCE_LENGTH>()?;
        let (text, &mut tag) = rest.split_last_chunk_mut::<TAG_LENGTH>()?;
        if version != VERSION {
            return None;
        }
        let (nonce, tag) = (XNonce::from(nonce), Tag::from(tag));
        // A key that does not fit leaves the text as it was.
        self.ring
            .named(key_id)
            .any(|key| {
                key.cipher()
                    .decrypt_inout_detached(&nonce, &self.associated, (&mut *text).into(), &tag)
                    .is_ok()
            })
            .then_some(text)
            .and_then(|text| std::str::from_utf8(text).ok())
    }
}

impl fmt::Debug for Sealer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sealer")
            .field("ring", &self.ring)
            .finish_non_exhaustive()
    }
}
