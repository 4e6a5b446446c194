//! The words of a session's configuration, and the keys of the two hash
//! policies.
//!
//! The keys of `HASH_COOKIE` and `ARR_COOKIE` are those of YARP's session
//! affinity policies `HashCookie` and `ArrCookie`, so that another proxy can
//! compute and read them.

use std::fmt;
use std::hash::Hasher;

use data_encoding::{HEXLOWER, HEXUPPER};
use sha2::{Digest, Sha256};
use twox_hash::XxHash64;

/// Declares an enum of configuration words with its two conversions.
macro_rules! words {
    ($(#[$outer:meta])* $name:ident { $($(#[$inner:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$outer])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name { $($(#[$inner])* $variant,)+ }

        impl $name {
            /// Every variant, in the order of the interface.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// The word of the interface.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)+ }
            }

            /// The variant of a word, which is matched exactly.
            #[must_use]
            pub fn from_word(word: &str) -> Option<Self> {
                match word { $($word => Some(Self::$variant),)+ _ => None }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

words! {
    /// What the client carries, and how the destination is written in it.
    Policy {
        /// A cookie with the XXH64 of the id.
        HashCookie = "HASH_COOKIE",
        /// A cookie with the SHA-256 of the id.
        ArrCookie = "ARR_COOKIE",
        /// A cookie with the sealed id.
        Cookie = "COOKIE",
        /// A header of the response and of later requests with the sealed id.
        CustomHeader = "CUSTOM_HEADER",
    }
}

impl Policy {
    /// Whether the key is sealed, so that a key ring is needed.
    #[must_use]
    pub fn is_sealed(self) -> bool {
        matches!(self, Policy::Cookie | Policy::CustomHeader)
    }

    /// Whether a cookie carries the key, rather than a header of its own.
    #[must_use]
    pub fn is_cookie(self) -> bool {
        self != Policy::CustomHeader
    }
}

words! {
    /// What happens to a request whose key cannot be followed.
    FailurePolicy {
        /// It is balanced as if it had no key, and gets a new one.
        Redistribute = "REDISTRIBUTE",
        /// It is answered with 503.
        Return503 = "RETURN_503",
    }
}

words! {
    /// What a key names.
    AffinityTo {
        /// One address and port.
        Endpoint = "ENDPOINT",
        /// A target host name, with all of its addresses.
        Host = "HOST",
    }
}

words! {
    /// The cookie's `samesite` attribute.
    SameSite {
        /// No attribute.
        Unspecified = "UNSPECIFIED",
        /// `samesite=none`; browsers accept it on secure cookies only.
        None = "NONE",
        /// `samesite=lax`
        Lax = "LAX",
        /// `samesite=strict`
        Strict = "STRICT",
    }
}

words! {
    /// When the cookie gets its `secure` attribute.
    SecurePolicy {
        /// Never.
        None = "NONE",
        /// Always.
        Always = "ALWAYS",
        /// When the request came over HTTPS.
        SameAsRequest = "SAME_AS_REQUEST",
    }
}

/// The key of `HASH_COOKIE`: XXH64 with seed 0 of the UTF-16LE bytes of the
/// upper-cased id. Its text is 16 lower-case hex digits, big-endian.
///
/// Only ASCII letters are upper-cased: an id is an address with its port or a
/// host name in its ASCII form, so there are no others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HashKey(u64);

impl HashKey {
    /// The key of an id.
    #[must_use]
    pub fn of(id: &str) -> Self {
        let mut hasher = XxHash64::with_seed(0);
        for unit in id.chars().map(|c| c.to_ascii_uppercase()) {
            write_utf16le(unit, |bytes| hasher.write(bytes));
        }
        HashKey(hasher.finish())
    }

    /// The key in a request: exactly 16 lower-case hex digits, else `None`.
    /// Allocates nothing.
    #[must_use]
    pub fn parse(value: &[u8]) -> Option<Self> {
        let mut bytes = [0; 8];
        if value.len() != 16 {
            return None;
        }
        HEXLOWER.decode_mut(value, &mut bytes).ok()?;
        Some(HashKey(u64::from_be_bytes(bytes)))
    }
}

impl fmt::Display for HashKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// The key of `ARR_COOKIE`: SHA-256 of the UTF-16LE bytes of the lower-cased
/// id. Its text is 64 upper-case hex digits. Lower-casing is that of ASCII,
/// as for [`HashKey`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ArrKey([u8; 32]);

impl ArrKey {
    /// The key of an id.
    #[must_use]
    pub fn of(id: &str) -> Self {
        let mut hasher = Sha256::new();
        for unit in id.chars().map(|c| c.to_ascii_lowercase()) {
            write_utf16le(unit, |bytes| hasher.update(bytes));
        }
        ArrKey(hasher.finalize().into())
    }

    /// The key in a request: exactly 64 upper-case hex digits, else `None`.
    /// Allocates nothing.
    #[must_use]
    pub fn parse(value: &[u8]) -> Option<Self> {
        let mut bytes = [0; 32];
        if value.len() != 64 {
            return None;
        }
        HEXUPPER.decode_mut(value, &mut bytes).ok()?;
        Some(ArrKey(bytes))
    }
}

impl fmt::Display for ArrKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&HEXUPPER.encode(&self.0))
    }
}

fn write_utf16le(c: char, mut write: impl FnMut(&[u8])) {
    for unit in c.encode_utf16(&mut [0; 2]) {
        write(&unit.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_go_both_ways() {
        for policy in Policy::ALL {
            assert_eq!(Policy::from_word(policy.as_str()), Some(*policy));
        }
        for policy in FailurePolicy::ALL {
            assert_eq!(FailurePolicy::from_word(policy.as_str()), Some(*policy));
        }
        assert_eq!(AffinityTo::from_word("HOST"), Some(AffinityTo::Host));
        assert_eq!(SameSite::from_word("LAX"), Some(SameSite::Lax));
        assert_eq!(
            SecurePolicy::from_word("SAME_AS_REQUEST"),
            Some(SecurePolicy::SameAsRequest)
        );
        for other in ["", "hash_cookie", "HASH_COOKIE ", "HashCookie"] {
            assert_eq!(Policy::from_word(other), None, "{other:?}");
        }
    }

    #[test]
    fn letter_case_of_an_id_does_not_matter() {
        assert_eq!(HashKey::of("Dest-b"), HashKey::of("dEST-B"));
        assert_eq!(ArrKey::of("Dest-b"), ArrKey::of("dEST-B"));
        assert_ne!(HashKey::of("dest-b"), HashKey::of("dest-c"));
        assert_ne!(ArrKey::of("dest-b"), ArrKey::of("dest-c"));
    }

    #[test]
    fn leading_zeros_are_written() {
        assert_eq!(HashKey(0x1f).to_string(), "000000000000001f");
        assert_eq!(HashKey::parse(b"000000000000001f"), Some(HashKey(0x1f)));
    }

    #[test]
    fn only_the_emitted_form_is_read() {
        let hash = HashKey::of("dest-B").to_string();
        let arr = ArrKey::of("dest-B").to_string();
        assert_eq!(HashKey::parse(hash.as_bytes()), Some(HashKey::of("dest-B")));
        assert_eq!(ArrKey::parse(arr.as_bytes()), Some(ArrKey::of("dest-B")));
        let wrong = [
            hash.to_uppercase(),
            arr.to_lowercase(),
            format!("{hash}0"),
            hash[1..].to_owned(),
            arr[1..].to_owned(),
            format!(" {}", &hash[1..]),
            format!("0x{}", &hash[2..]),
            format!("+{}", &hash[1..]),
            format!("{}é", &hash[2..]),
            String::new(),
        ];
        for value in wrong {
            assert_eq!(HashKey::parse(value.as_bytes()), None, "{value}");
            assert_eq!(ArrKey::parse(value.as_bytes()), None, "{value}");
        }
    }
}
