//! The ways to fail on demand.

use std::cell::Cell;
use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use hickory_proto::op::ResponseCode;
use hickory_proto::rr::Name;

use crate::error::CommandError;
use crate::name;
use crate::word::{Words, duration, hex, invalid, show_duration, show_hex};

const MODES: &str = "nxdomain, nodata, no-soa, servfail, refused, formerr, notimp, drop, close, tc, \
    tc-always, late, double, loop, wrong-id, wrong-question, wrong-name, wrong-source, short, \
    garbage, empty-packet or raw";

/// What is done instead of a right answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Nxdomain { soa: bool },
    Nodata { soa: bool },
    NoSoa,
    Code(ResponseCode),
    Drop,
    Close,
    Truncated { always: bool },
    Late(Duration),
    Double(Vec<IpAddr>),
    Loop,
    WrongId,
    WrongQuestion(Option<Name>),
    WrongName(Option<Name>),
    WrongSource,
    Short,
    Garbage,
    EmptyPacket,
    Raw { bytes: Vec<u8>, id_asked: bool },
}

/// The modes that are one word and a response code.
const CODES: [(&str, ResponseCode); 4] = [
    ("servfail", ResponseCode::ServFail),
    ("refused", ResponseCode::Refused),
    ("formerr", ResponseCode::FormErr),
    ("notimp", ResponseCode::NotImp),
];

impl Mode {
    /// Reads the mode and its own words.
    pub(crate) fn parse(words: &mut Words<'_>) -> Result<Self, CommandError> {
        let word = words.need("mode")?;
        if let Some((_, code)) = CODES.iter().find(|(mode, _)| *mode == word) {
            return Ok(Self::Code(*code));
        }
        Ok(match word {
            "nxdomain" => Self::Nxdomain {
                soa: !words.flag("no-soa"),
            },
            "nodata" => Self::Nodata {
                soa: !words.flag("no-soa"),
            },
            "no-soa" => Self::NoSoa,
            "drop" => Self::Drop,
            "close" => Self::Close,
            "tc" => Self::Truncated { always: false },
            "tc-always" => Self::Truncated { always: true },
            "late" => Self::Late(duration(words.need("duration")?)?),
            "double" => Self::Double(addresses(words)?),
            "loop" => Self::Loop,
            "wrong-id" => Self::WrongId,
            "wrong-question" => Self::WrongQuestion(words.next().map(name::parse).transpose()?),
            "wrong-name" => Self::WrongName(words.next().map(name::parse).transpose()?),
            "wrong-source" => Self::WrongSource,
            "short" => Self::Short,
            "garbage" => Self::Garbage,
            "empty-packet" => Self::EmptyPacket,
            "raw" => {
                let id_asked = match words.option("id") {
                    None | Some("asked") => true,
                    Some("as-is") => false,
                    Some(other) => return Err(invalid("id", other, "asked or as-is")),
                };
                let digits = words.need("bytes in hex")?;
                let bytes = hex(digits)?;
                if bytes.len() > usize::from(u16::MAX) {
                    return Err(invalid("bytes", digits, "at most 65535 bytes"));
                }
                Self::Raw { bytes, id_asked }
            }
            _ => return Err(invalid("mode", word, MODES)),
        })
    }
}

fn addresses(words: &mut Words<'_>) -> Result<Vec<IpAddr>, CommandError> {
    let mut addresses = Vec::new();
    while let Some(word) = words.next() {
        let address = word.parse();
        addresses.push(address.map_err(|_| invalid("address", word, "IPv4 and IPv6 addresses"))?);
    }
    Ok(addresses)
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let no_soa = |soa: &bool| if *soa { "" } else { " no-soa" };
        let other = |name: &Option<Name>| match name {
            Some(name) => format!(" {}", name::show(name)),
            None => String::new(),
        };
        match self {
            Self::Nxdomain { soa } => write!(f, "nxdomain{}", no_soa(soa)),
            Self::Nodata { soa } => write!(f, "nodata{}", no_soa(soa)),
            Self::NoSoa => f.write_str("no-soa"),
            Self::Code(code) => {
                let named = CODES.iter().find(|(_, known)| known == code);
                f.write_str(named.map_or("servfail", |(mode, _)| mode))
            }
            Self::Drop => f.write_str("drop"),
            Self::Close => f.write_str("close"),
            Self::Truncated { always: false } => f.write_str("tc"),
            Self::Truncated { always: true } => f.write_str("tc-always"),
            Self::Late(after) => write!(f, "late {}", show_duration(*after)),
            Self::Double(addresses) => {
                f.write_str("double")?;
                addresses
                    .iter()
                    .try_for_each(|address| write!(f, " {address}"))
            }
            Self::Loop => f.write_str("loop"),
            Self::WrongId => f.write_str("wrong-id"),
            Self::WrongQuestion(name) => write!(f, "wrong-question{}", other(name)),
            Self::WrongName(name) => write!(f, "wrong-name{}", other(name)),
            Self::WrongSource => f.write_str("wrong-source"),
            Self::Short => f.write_str("short"),
            Self::Garbage => f.write_str("garbage"),
            Self::EmptyPacket => f.write_str("empty-packet"),
            Self::Raw { bytes, id_asked } => {
                let id = if *id_asked { "asked" } else { "as-is" };
                write!(f, "raw {} id={id}", show_hex(bytes))
            }
        }
    }
}

/// A failure, always or for some queries.
#[derive(Debug)]
pub(crate) struct Fault {
    mode: Mode,
    /// For how many more queries; none for all.
    left: Cell<Option<u64>>,
}

impl Fault {
    pub(crate) fn new(mode: Mode, times: Option<u64>) -> Self {
        Self {
            mode,
            left: Cell::new(times),
        }
    }

    /// Whether it is still to come.
    pub(crate) fn is_live(&self) -> bool {
        self.left.get() != Some(0)
    }

    /// Uses it once.
    pub(crate) fn apply(&self) -> &Mode {
        let left = self.left.get().map(|left| left.saturating_sub(1));
        self.left.set(left);
        &self.mode
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.mode)?;
        match self.left.get() {
            Some(left) => write!(f, " times={left}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mode_prints_as_it_is_read() {
        for text in [
            "nxdomain",
            "nxdomain no-soa",
            "nodata",
            "nodata no-soa",
            "no-soa",
            "servfail",
            "refused",
            "formerr",
            "notimp",
            "drop",
            "close",
            "tc",
            "tc-always",
            "late 0.25s",
            "double",
            "double 127.0.0.3 ::1",
            "loop",
            "wrong-id",
            "wrong-question",
            "wrong-question b.test",
            "wrong-name",
            "wrong-name b.test",
            "wrong-source",
            "short",
            "garbage",
            "empty-packet",
            "raw 00ff id=asked",
            "raw 00ff id=as-is",
        ] {
            let mut words = Words::of(text);
            let mode = Mode::parse(&mut words);
            assert_eq!(mode.map(|mode| mode.to_string()), Ok(text.to_owned()));
            assert!(words.is_empty(), "{text}");
        }
    }

    #[test]
    fn every_mode_is_named_in_the_error() {
        let error = Mode::parse(&mut Words::of("fall-over"))
            .unwrap_err()
            .to_string();
        for line in include_str!("commands.txt")
            .split("MODE is one of")
            .nth(1)
            .unwrap()
            .lines()
        {
            let Some(modes) = line
                .strip_prefix("    ")
                .filter(|line| !line.starts_with(' '))
            else {
                if line.starts_with("TIME") {
                    break;
                }
                continue;
            };
            let modes = modes.split("  ").next().unwrap();
            for mode in modes
                .split(',')
                .filter_map(|mode| mode.split_whitespace().next())
            {
                assert!(error.contains(mode), "{mode}");
                let example = format!("{mode} 00 00");
                let known = Mode::parse(&mut Words::of(&example));
                assert!(
                    !matches!(known, Err(CommandError::Invalid { what: "mode", .. })),
                    "{mode}"
                );
            }
        }
    }
}
