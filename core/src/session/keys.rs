//! The keys that seal session keys, and the file that holds them.
//!
//! Nothing here prints a key: not `Debug`, not an error, not a panic.

use std::fmt;

use chacha20poly1305::{KeyInit, XChaCha20Poly1305};
use data_encoding::HEXLOWER_PERMISSIVE;
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

/// Length of a key in bytes.
pub const KEY_LENGTH: usize = 32;

/// Most keys that one ring holds.
pub const MAX_KEYS: usize = 256;

/// Names a key in a seal: the first four bytes of
/// `SHA-256("vmod_dynamic key id" ‖ key)`. It is public and only selects; two
/// keys with one id are both tried.
pub type KeyId = [u8; 4];

const KEY_ID_DOMAIN: &[u8] = b"vmod_dynamic key id";

/// What is wrong with a key file. The text names the line, never what is in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyFileError {
    /// A line is neither blank nor a comment and has another length.
    #[error("line {line} has {length} characters, accepted are the 64 hex digits of a 32-byte key")]
    Length {
        /// Number of the line, from 1.
        line: usize,
        /// Bytes in the line, less white space at the ends and the comment.
        length: usize,
    },
    /// A line has something else than hex digits.
    #[error(
        "line {line} has something else than hex digits, accepted are the 64 hex digits of a 32-byte key"
    )]
    Digit {
        /// Number of the line, from 1.
        line: usize,
    },
    /// There is no key in the file.
    #[error(
        "the file has no key, accepted is one key of 64 hex digits a line, the first of which seals"
    )]
    Empty,
    /// There are more keys than are accepted.
    #[error("line {line} has one key too many, accepted are at most {MAX_KEYS}")]
    TooMany {
        /// Number of the line, from 1.
        line: usize,
    },
}

/// One key, wiped from memory when it is dropped.
pub(super) struct Key {
    id: KeyId,
    cipher: XChaCha20Poly1305,
}

impl Key {
    fn new(secret: &[u8; KEY_LENGTH]) -> Self {
        let digest = Sha256::new()
            .chain_update(KEY_ID_DOMAIN)
            .chain_update(secret)
            .finalize();
        let [a, b, c, d, ..] = <[u8; 32]>::from(digest);
        Key {
            id: [a, b, c, d],
            cipher: XChaCha20Poly1305::new(secret.into()),
        }
    }

    pub(super) fn id(&self) -> KeyId {
        self.id
    }

    pub(super) fn cipher(&self) -> &XChaCha20Poly1305 {
        &self.cipher
    }
}

/// The keys of a session: the first seals, all open.
pub struct KeyRing {
    first: Key,
    others: Vec<Key>,
}

impl KeyRing {
    /// A ring of one key, which must come from a source fit for cryptography.
    #[must_use]
    pub fn of(secret: &Zeroizing<[u8; KEY_LENGTH]>) -> Self {
        KeyRing {
            first: Key::new(secret),
            others: Vec::new(),
        }
    }

    /// Reads the text of a key file: one 32-byte key a line in 64 hex digits
    /// of either case. Blank lines count for nothing, nor does anything from a
    /// `#` to the end of its line. The caller wipes `text`.
    ///
    /// # Errors
    /// [`KeyFileError`], with the number of the line.
    pub fn parse(text: &[u8]) -> Result<Self, KeyFileError> {
        let lines = || {
            text.split(|byte| *byte == b'\n')
                .enumerate()
                .map(|(index, line)| (index + 1, without_comment(line)))
                .filter(|(_, line)| !line.is_empty())
        };
        let mut keys = lines();
        let (line, digits) = keys.next().ok_or(KeyFileError::Empty)?;
        let first = parse_key(line, digits)?;
        // Growing the vector would leave copies of the keys behind.
        let mut others = Vec::with_capacity(lines().count().min(MAX_KEYS));
        for (line, digits) in keys {
            if others.len() + 1 == MAX_KEYS {
                return Err(KeyFileError::TooMany { line });
            }
            others.push(parse_key(line, digits)?);
        }
        Ok(KeyRing { first, others })
    }

    /// Number of keys, at least 1.
    #[must_use]
    pub fn count(&self) -> usize {
        1 + self.others.len()
    }

    /// The key that seals.
    pub(super) fn first(&self) -> &Key {
        &self.first
    }

    /// The keys that may have made a seal with this id.
    pub(super) fn named(&self, id: KeyId) -> impl Iterator<Item = &Key> {
        std::iter::once(&self.first)
            .chain(&self.others)
            .filter(move |key| key.id == id)
    }
}

impl fmt::Debug for KeyRing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyRing({} redacted)", self.count())
    }
}

fn without_comment(line: &[u8]) -> &[u8] {
    line.split(|byte| *byte == b'#')
        .next()
        .unwrap_or_default()
        .trim_ascii()
}

fn parse_key(line: usize, digits: &[u8]) -> Result<Key, KeyFileError> {
    let mut secret = Zeroizing::new([0; KEY_LENGTH]);
    if digits.len() != 2 * KEY_LENGTH {
        return Err(KeyFileError::Length {
            line,
            length: digits.len(),
        });
    }
    HEXLOWER_PERMISSIVE
        .decode_mut(digits, secret.as_mut())
        .map_err(|_| KeyFileError::Digit { line })?;
    Ok(Key::new(&secret))
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
    const B: &str = "FFEEDDCCBBAA99887766554433221100FFEEDDCCBBAA99887766554433221100";

    #[test]
    fn comments_blank_lines_and_line_ends_are_accepted() {
        let text = format!("# keys\r\n\r\n  {A}  # first\r\n\t\n{B}");
        let ring = KeyRing::parse(text.as_bytes()).unwrap();
        assert_eq!(ring.count(), 2);
        let alone = KeyRing::parse(A.as_bytes()).unwrap();
        assert_eq!(ring.first().id(), alone.first().id());
        assert_eq!(ring.named(alone.first().id()).count(), 1);
    }

    #[test]
    fn a_key_file_and_a_given_key_agree() {
        let mut secret = Zeroizing::new([0; KEY_LENGTH]);
        HEXLOWER_PERMISSIVE
            .decode_mut(A.as_bytes(), secret.as_mut())
            .unwrap();
        assert_eq!(
            KeyRing::of(&secret).first().id(),
            KeyRing::parse(A.as_bytes()).unwrap().first().id()
        );
    }

    #[test]
    fn errors_name_the_line_and_not_the_key() {
        let short = &A[1..];
        let long = format!("{A}0");
        let spaced = format!("{} {}", &A[..32], &A[33..]);
        let letter = format!("{}g", &A[1..]);
        let cases = [
            (String::new(), KeyFileError::Empty),
            ("# only\n\n \t\r\n".to_owned(), KeyFileError::Empty),
            (
                format!("{A}\n{short}\n"),
                KeyFileError::Length {
                    line: 2,
                    length: 63,
                },
            ),
            (
                format!("\n#\n{long}"),
                KeyFileError::Length {
                    line: 3,
                    length: 65,
                },
            ),
            (format!("{B}\n\n{spaced}"), KeyFileError::Digit { line: 3 }),
            (letter.clone(), KeyFileError::Digit { line: 1 }),
            (
                format!("{A}\n").repeat(MAX_KEYS + 1),
                KeyFileError::TooMany { line: MAX_KEYS + 1 },
            ),
        ];
        for (text, expected) in cases {
            let error = KeyRing::parse(text.as_bytes()).unwrap_err();
            assert_eq!(error, expected);
            let message = format!("{error} {error:?}");
            for part in ["0011", "ccdd", "eeff"] {
                assert!(!message.contains(part), "{message}");
            }
        }
        let most = format!("{A}\n").repeat(MAX_KEYS);
        assert_eq!(KeyRing::parse(most.as_bytes()).unwrap().count(), MAX_KEYS);
    }

    #[test]
    fn bytes_that_are_no_text_are_an_error() {
        let mut text = A.as_bytes().to_vec();
        text[5] = 0xff;
        assert_eq!(
            KeyRing::parse(&text).unwrap_err(),
            KeyFileError::Digit { line: 1 }
        );
    }

    #[test]
    fn debug_shows_no_key() {
        let ring = KeyRing::parse(format!("{A}\n{B}").as_bytes()).unwrap();
        assert_eq!(format!("{ring:?}"), "KeyRing(2 redacted)");
    }
}
