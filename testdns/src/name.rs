//! Domain names as text.
//!
//! The library's own parser takes host names only. Here any bytes can be written, so that a
//! test can send names which no host may have.

use hickory_proto::rr::Name;

use crate::error::CommandError;
use crate::word::invalid;

const ACCEPTED: &str = "ASCII labels of 1 to 63 bytes, 253 in all, \\DDD for other bytes";

/// Reads a name in presentation format (RFC 1035, section 5.1); with or without the last dot it is absolute.
pub(crate) fn parse(text: &str) -> Result<Name, CommandError> {
    let wrong = || invalid("name", text, ACCEPTED);
    if text == "." {
        return Ok(Name::root());
    }
    let mut labels = vec![Vec::new()];
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'.' => labels.push(Vec::new()),
            b'\\' => {
                let byte = unescape(&mut rest).ok_or_else(wrong)?;
                labels.last_mut().ok_or_else(wrong)?.push(byte);
            }
            0x21..=0x7e => labels.last_mut().ok_or_else(wrong)?.push(byte),
            _ => return Err(wrong()),
        }
    }
    if labels.last().is_some_and(Vec::is_empty) {
        labels.pop();
    }
    if labels.is_empty() {
        return Err(wrong());
    }
    from_labels(labels).ok_or_else(wrong)
}

fn unescape(rest: &mut std::str::Bytes<'_>) -> Option<u8> {
    let first = rest.next()?;
    if !first.is_ascii_digit() {
        return first.is_ascii_graphic().then_some(first);
    }
    let mut value = u32::from(first - b'0');
    for _ in 0..2 {
        value = value * 10 + char::from(rest.next()?).to_digit(10)?;
    }
    u8::try_from(value).ok()
}

/// The name made of these labels, absolute; none where a label or the whole is empty or too long.
pub(crate) fn from_labels(labels: Vec<Vec<u8>>) -> Option<Name> {
    // 255 bytes on the wire (RFC 1035, section 2.3.4): a length before each label and one for the root.
    let length: usize = labels.iter().map(|label| label.len() + 1).sum();
    if length > 254 {
        return None;
    }
    Name::from_labels(labels).ok()
}

/// The inverse of [`parse`], without the last dot.
pub(crate) fn show(name: &Name) -> String {
    use std::fmt::Write;

    if name.is_root() {
        return ".".to_owned();
    }
    let mut text = String::new();
    for label in name {
        if !text.is_empty() {
            text.push('.');
        }
        for &byte in label {
            if byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_' {
                text.push(char::from(byte));
            } else {
                // Writing to a String cannot fail.
                let _ = write!(text, "\\{byte:03}");
            }
        }
    }
    text
}

/// A letter case of owner names in answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Case {
    AsAsked,
    Upper,
    Lower,
    /// Upper and lower in turn, beginning with upper.
    Mixed,
}

impl Case {
    const NAMES: [(&'static str, Self); 4] = [
        ("as-asked", Self::AsAsked),
        ("upper", Self::Upper),
        ("lower", Self::Lower),
        ("mixed", Self::Mixed),
    ];

    /// The case of this name, if it is the name of one.
    pub(crate) fn named(word: &str) -> Option<Self> {
        let known = Self::NAMES.iter().find(|(name, _)| *name == word);
        known.map(|(_, case)| *case)
    }

    /// The inverse of [`named`](Self::named).
    pub(crate) fn name_of(self) -> &'static str {
        let known = Self::NAMES.iter().find(|(_, known)| *known == self);
        known.map_or("as-asked", |(name, _)| name)
    }

    pub(crate) fn apply(self, name: &Name) -> Name {
        let mut letters = 0_usize;
        let mut turn = |byte: u8| {
            letters += usize::from(byte.is_ascii_alphabetic());
            let upper = match self {
                Self::AsAsked => return byte,
                Self::Upper => true,
                Self::Lower => false,
                Self::Mixed => letters % 2 == 1,
            };
            if upper {
                byte.to_ascii_uppercase()
            } else {
                byte.to_ascii_lowercase()
            }
        };
        let labels = name.iter();
        let labels = labels.map(|label| label.iter().map(|byte| turn(*byte)).collect());
        from_labels(labels.collect()).unwrap_or_else(|| name.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_last_dot_does_not_matter() {
        assert_eq!(parse("a.test."), parse("A.TEST"));
        assert_eq!(show(&parse("A.test.").unwrap()), "A.test");
        assert_eq!(show(&parse(".").unwrap()), ".");
    }

    #[test]
    fn any_byte_can_be_written() {
        let name = parse("a\\010b\\.c.\\255").unwrap();
        let labels: Vec<&[u8]> = name.iter().collect();
        assert_eq!(labels, [&b"a\nb.c"[..], &b"\xff"[..]]);
    }

    #[test]
    fn impossible_names_are_refused() {
        let long = "a".repeat(64);
        let longer = [
            "a".repeat(63),
            "b".repeat(63),
            "c".repeat(63),
            "d".repeat(62),
        ]
        .join(".");
        for wrong in [
            "",
            "..",
            ".a",
            "a..b",
            "a b",
            "b\u{fc}cher",
            "\\",
            "\\25",
            "\\256",
            &long,
            &longer,
        ] {
            assert!(parse(wrong).is_err(), "{wrong:?}");
        }
        assert!(parse(longer.strip_suffix('d').unwrap()).is_ok());
    }

    #[test]
    fn cases() {
        let name = parse("ab1c.test").unwrap();
        assert_eq!(show(&Case::Upper.apply(&name)), "AB1C.TEST");
        assert_eq!(show(&Case::AsAsked.apply(&name)), "ab1c.test");
        assert_eq!(show(&Case::Mixed.apply(&name)), "Ab1C.tEsT");
    }

    proptest! {
        #[test]
        fn printing_and_reading_agree(labels in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..64), 1..6)) {
            if let Some(name) = from_labels(labels) {
                let again = parse(&show(&name)).unwrap();
                prop_assert!(again.eq_case(&name));
            }
        }

        #[test]
        fn reading_never_panics(text in any::<String>()) {
            let _ = parse(&text);
        }
    }
}
