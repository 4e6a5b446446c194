//! The words of a command line.

use std::collections::VecDeque;
use std::str::FromStr;
use std::time::Duration;

use hickory_proto::rr::RecordType;

use crate::error::CommandError;

/// The longest delay and the longest timeout that a command may ask for.
const LONGEST: Duration = Duration::from_secs(3600);

/// What is left of a line; each method takes words off the front.
pub(crate) struct Words<'a>(VecDeque<&'a str>);

impl<'a> Words<'a> {
    /// Splits a line at blanks and commas, up to a comment.
    pub(crate) fn of(line: &'a str) -> Self {
        let blank = |c: char| c.is_whitespace() || c == ',';
        let words = line.split(blank).filter(|word| !word.is_empty());
        Self(words.take_while(|word| !word.starts_with('#')).collect())
    }

    pub(crate) fn peek(&self) -> Option<&'a str> {
        self.0.front().copied()
    }

    pub(crate) fn next(&mut self) -> Option<&'a str> {
        self.0.pop_front()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The next word, which must be there.
    pub(crate) fn need(&mut self, what: &'static str) -> Result<&'a str, CommandError> {
        self.next().ok_or(CommandError::Missing(what))
    }

    /// Takes the next word if `accept` makes something of it.
    pub(crate) fn take_if<T>(&mut self, accept: impl FnOnce(&str) -> Option<T>) -> Option<T> {
        let value = accept(self.peek()?)?;
        self.next();
        Some(value)
    }

    /// Takes the next word if it is this one.
    pub(crate) fn flag(&mut self, word: &str) -> bool {
        self.take_if(|next| (next == word).then_some(())).is_some()
    }

    /// Takes the last `key=value` with this key from anywhere in the line.
    pub(crate) fn option(&mut self, key: &str) -> Option<&'a str> {
        let mut found = None;
        self.0.retain(|word| {
            let value = word
                .strip_prefix(key)
                .and_then(|rest| rest.strip_prefix('='));
            found = value.or(found);
            value.is_none()
        });
        found
    }

    /// The option as a number.
    pub(crate) fn number_option<T: FromStr>(
        &mut self,
        key: &'static str,
        accepted: &'static str,
    ) -> Result<Option<T>, CommandError> {
        let value = self.option(key);
        value.map(|value| number(value, key, accepted)).transpose()
    }

    /// A type of record, if the next word is one.
    pub(crate) fn record_type(&mut self) -> Option<RecordType> {
        self.take_if(record_type)
    }

    /// `on` or `off`.
    pub(crate) fn switch(&mut self) -> Result<bool, CommandError> {
        let word = self.need("on or off")?;
        match word {
            "on" => Ok(true),
            "off" => Ok(false),
            _ => Err(invalid("switch", word, "on or off")),
        }
    }

    /// Nothing may be left.
    pub(crate) fn end(mut self) -> Result<(), CommandError> {
        self.next()
            .map_or(Ok(()), |word| Err(CommandError::Surplus(word.to_owned())))
    }
}

pub(crate) fn invalid(what: &'static str, value: &str, accepted: &'static str) -> CommandError {
    CommandError::Invalid {
        what,
        value: value.to_owned(),
        accepted,
    }
}

/// A number in decimal digits.
pub(crate) fn number<T: FromStr>(
    word: &str,
    what: &'static str,
    accepted: &'static str,
) -> Result<T, CommandError> {
    Some(word)
        .filter(|word| word.bytes().all(|byte| byte.is_ascii_digit()))
        .and_then(|word| word.parse().ok())
        .ok_or_else(|| invalid(what, word, accepted))
}

/// A mnemonic, or `TYPE` and a number (RFC 3597, section 5), in any letter case.
pub(crate) fn record_type(word: &str) -> Option<RecordType> {
    let word = word.to_ascii_uppercase();
    match word.strip_prefix("TYPE").map(str::parse::<u16>) {
        Some(Ok(code)) => Some(RecordType::from(code)),
        _ if word == "*" => None,
        _ => word.parse().ok(),
    }
}

/// The inverse of [`record_type`].
pub(crate) fn show_type(record_type: RecordType) -> String {
    let mnemonic = record_type.to_string();
    if mnemonic.parse().ok() == Some(record_type) {
        mnemonic
    } else {
        format!("TYPE{}", u16::from(record_type))
    }
}

/// A length of time with its unit, or 0.
pub(crate) fn duration(word: &str) -> Result<Duration, CommandError> {
    let (digits, unit) = match word {
        "0" => ("0", 1.0),
        _ => [("ms", 0.001), ("s", 1.0), ("m", 60.0)]
            .iter()
            .find_map(|(suffix, unit)| Some((word.strip_suffix(suffix)?, *unit)))
            .unwrap_or(("", 1.0)),
    };
    Some(digits)
        .filter(|digits| {
            digits
                .bytes()
                .all(|byte| byte.is_ascii_digit() || byte == b'.')
        })
        .and_then(|digits| digits.parse::<f64>().ok())
        .and_then(|value| Duration::try_from_secs_f64(value * unit).ok())
        .filter(|duration| *duration <= LONGEST)
        .ok_or_else(|| {
            invalid(
                "duration",
                word,
                "a number with s, ms or m, at most 60m, or 0",
            )
        })
}

/// The inverse of [`duration`].
pub(crate) fn show_duration(duration: Duration) -> String {
    format!("{}s", duration.as_secs_f64())
}

/// Bytes in pairs of hex digits of either case.
pub(crate) fn hex(word: &str) -> Result<Vec<u8>, CommandError> {
    data_encoding::HEXLOWER_PERMISSIVE
        .decode(word.as_bytes())
        .map_err(|_| invalid("bytes", word, "an even number of hex digits"))
}

/// The inverse of [`hex`].
pub(crate) fn show_hex(bytes: &[u8]) -> String {
    data_encoding::HEXLOWER.encode(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_units_and_a_limit() {
        assert_eq!(duration("0.5s"), Ok(Duration::from_millis(500)));
        assert_eq!(duration("250ms"), Ok(Duration::from_millis(250)));
        assert_eq!(duration("1m"), Ok(Duration::from_secs(60)));
        assert_eq!(duration("60m"), Ok(LONGEST));
        assert_eq!(duration("0"), Ok(Duration::ZERO));
        for wrong in [
            "", "s", "5", "-1s", "61m", "1e9s", "nans", "infs", "1 s", ".s",
        ] {
            assert!(duration(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn every_type_number_survives_printing() {
        for code in 0..=u16::MAX {
            let shown = show_type(RecordType::from(code));
            assert_eq!(record_type(&shown).map(u16::from), Some(code), "{shown}");
        }
        assert_eq!(record_type("aaaa"), Some(RecordType::AAAA));
        for wrong in ["*", "", "TYPE", "TYPE65536", "TYPE-1", "drop"] {
            assert_eq!(record_type(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn options_may_stand_anywhere_and_the_last_counts() {
        let mut words = Words::of("set a.test,A ttl=5  127.0.0.1 ttl=6 # ttl=7");
        assert_eq!(words.option("ttl"), Some("6"));
        assert_eq!(words.0, ["set", "a.test", "A", "127.0.0.1"]);
    }
}
