//! Commands and their grammar.

use std::time::Duration;

use hickory_proto::rr::{Name, RData, RecordType};

use crate::count::Selection;
use crate::error::CommandError;
use crate::fault::{Fault, Mode};
use crate::name::{self, Case};
use crate::pattern::Pattern;
use crate::record;
use crate::transport::Transport;
use crate::word::{Words, duration, invalid, number};
use crate::zone::Order;

const SECONDS: &str = "0 to 4294967295";
const COUNT: &str = "0 to 18446744073709551615";

/// The timeout of a wait that names none, and the longest one.
const WAIT: Duration = Duration::from_secs(10);
const LONGEST_WAIT: Duration = Duration::from_secs(600);

/// How the whole server is out of order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outage {
    Drop,
    Servfail,
    Closed,
}

/// One line.
#[derive(Debug)]
pub(crate) enum Command {
    /// A blank line or a comment.
    Nothing,
    Change(Change),
    Dump,
    Help,
    Addr,
    Quit,
    Down(Outage),
    Up,
    Count(Selection),
    ResetCount,
    Wait {
        selection: Selection,
        queries: u64,
        timeout: Duration,
        /// From now instead of from the last reset.
        more: bool,
    },
}

/// A command about the zone.
#[derive(Debug)]
pub(crate) enum Change {
    Put {
        pattern: Pattern,
        record_type: RecordType,
        values: Vec<RData>,
        ttl: Option<u32>,
        /// Beside the records that are there.
        add: bool,
    },
    Remove {
        pattern: Pattern,
        record_type: Option<RecordType>,
        values: Vec<RData>,
    },
    Ttl(u32),
    Soa {
        on: bool,
        ttl: Option<u32>,
    },
    Additional(bool),
    CnameOnly(Pattern, bool),
    Clear,
    Fail(Pattern, Option<RecordType>, Fault),
    Ok(Pattern, Option<RecordType>),
    Swap(Name, Name),
    Delay(Pattern, Option<RecordType>, Duration),
    /// None: as set.
    Order(Pattern, Option<Order>),
    Case(Pattern, Case),
}

impl Command {
    pub(crate) fn parse(line: &str) -> Result<Self, CommandError> {
        let mut words = Words::of(line);
        let Some(verb) = words.next() else {
            return Ok(Self::Nothing);
        };
        let command = match verb {
            "dump" => Self::Dump,
            "help" => Self::Help,
            "addr" => Self::Addr,
            "quit" => Self::Quit,
            "up" => Self::Up,
            "down" => Self::Down(outage(&mut words)?),
            "count" => Self::Count(selection(&mut words)?),
            "reset-count" => Self::ResetCount,
            "wait" => wait(&mut words, false)?,
            "wait-more" => wait(&mut words, true)?,
            _ => Self::Change(Change::parse(verb, &mut words)?),
        };
        words.end()?;
        Ok(command)
    }

    /// The change that a line of a zone file makes, if it makes one.
    pub(crate) fn parse_zone_line(line: &str) -> Result<Option<Change>, CommandError> {
        let outside = |verb| Err(CommandError::NotInZoneFile(verb));
        match Self::parse(line)? {
            Self::Nothing => Ok(None),
            Self::Change(change) => Ok(Some(change)),
            Self::Dump => outside("dump"),
            Self::Help => outside("help"),
            Self::Addr => outside("addr"),
            Self::Quit => outside("quit"),
            Self::Down(_) => outside("down"),
            Self::Up => outside("up"),
            Self::Count(_) => outside("count"),
            Self::ResetCount => outside("reset-count"),
            Self::Wait { more: false, .. } => outside("wait"),
            Self::Wait { more: true, .. } => outside("wait-more"),
        }
    }
}

impl Change {
    fn parse(verb: &str, words: &mut Words<'_>) -> Result<Self, CommandError> {
        Ok(match verb {
            "set" => put(words, false)?,
            "add" => put(words, true)?,
            "remove" => remove(words)?,
            "ttl" => Self::Ttl(number(words.need("TTL")?, "TTL", SECONDS)?),
            "soa" => Self::Soa {
                ttl: words.number_option("ttl", SECONDS)?,
                on: words.switch()?,
            },
            "additional" => Self::Additional(words.switch()?),
            "cname-only" => Self::CnameOnly(pattern(words)?, words.switch()?),
            "clear" => Self::Clear,
            "fail" => {
                let times = words.number_option("times", COUNT)?;
                let (pattern, record_type) = (pattern(words)?, words.record_type());
                Self::Fail(pattern, record_type, Fault::new(Mode::parse(words)?, times))
            }
            "ok" => Self::Ok(pattern(words)?, words.record_type()),
            "swap" => Self::Swap(
                name::parse(words.need("name")?)?,
                name::parse(words.need("second name")?)?,
            ),
            "delay" => Self::Delay(
                pattern(words)?,
                words.record_type(),
                duration(words.need("duration")?)?,
            ),
            "rotate" => Self::Order(pattern(words)?, order(words, Order::Rotate)?),
            "shuffle" => Self::Order(pattern(words)?, order(words, Order::Shuffle)?),
            "case" => Self::Case(pattern(words)?, case(words)?),
            _ => return Err(CommandError::Unknown(verb.to_owned())),
        })
    }
}

fn pattern(words: &mut Words<'_>) -> Result<Pattern, CommandError> {
    Pattern::parse(words.need("name")?)
}

fn put(words: &mut Words<'_>, add: bool) -> Result<Change, CommandError> {
    let ttl = words.number_option("ttl", SECONDS)?;
    let pattern = pattern(words)?;
    let record_type = stored_type(words)?;
    let values = record::values(words, record_type)?;
    if values.is_empty() {
        return Err(CommandError::Missing("value"));
    }
    Ok(Change::Put {
        pattern,
        record_type,
        values,
        ttl,
        add,
    })
}

/// A type that records can have: ANY is one for questions only.
fn stored_type(words: &mut Words<'_>) -> Result<RecordType, CommandError> {
    let word = words.peek().ok_or(CommandError::Missing("type"))?;
    let record_type = words.record_type().filter(|found| !found.is_any());
    record_type.ok_or_else(|| invalid("type", word, "A, AAAA, SRV, CNAME, ..., TYPE65280"))
}

fn remove(words: &mut Words<'_>) -> Result<Change, CommandError> {
    let pattern = pattern(words)?;
    if words.is_empty() {
        return Ok(Change::Remove {
            pattern,
            record_type: None,
            values: Vec::new(),
        });
    }
    let record_type = stored_type(words)?;
    Ok(Change::Remove {
        pattern,
        record_type: Some(record_type),
        values: record::values(words, record_type)?,
    })
}

fn order(words: &mut Words<'_>, order: Order) -> Result<Option<Order>, CommandError> {
    Ok(words.switch()?.then_some(order))
}

fn case(words: &mut Words<'_>) -> Result<Case, CommandError> {
    let word = words.need("letter case")?;
    let accepted = "upper, lower, mixed or as-asked";
    Case::named(word).ok_or_else(|| invalid("letter case", word, accepted))
}

fn outage(words: &mut Words<'_>) -> Result<Outage, CommandError> {
    match words.next() {
        None | Some("drop") => Ok(Outage::Drop),
        Some("servfail") => Ok(Outage::Servfail),
        Some("closed") => Ok(Outage::Closed),
        Some(word) => Err(invalid("outage", word, "drop, servfail or closed")),
    }
}

fn selection(words: &mut Words<'_>) -> Result<Selection, CommandError> {
    Ok(Selection {
        pattern: pattern(words)?,
        record_type: words.record_type(),
        transport: words.take_if(|word| match word {
            "udp" => Some(Transport::Udp),
            "tcp" => Some(Transport::Tcp),
            _ => None,
        }),
    })
}

fn wait(words: &mut Words<'_>, more: bool) -> Result<Command, CommandError> {
    let timeout = match words.option("timeout") {
        None => WAIT,
        Some(word) => Some(duration(word)?)
            .filter(|timeout| *timeout <= LONGEST_WAIT)
            .ok_or_else(|| invalid("timeout", word, "at most 10m"))?,
    };
    Ok(Command::Wait {
        selection: selection(words)?,
        queries: number(words.need("number of queries")?, "number of queries", COUNT)?,
        timeout,
        more,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn error(line: &str) -> String {
        Command::parse(line).unwrap_err().to_string()
    }

    #[test]
    fn errors_name_the_fault_the_value_and_what_is_accepted() {
        assert_eq!(
            error("sett a.test"),
            "unknown command \"sett\": `help` lists them"
        );
        assert_eq!(error("set a.test A"), "value is missing");
        assert_eq!(error("set"), "name is missing");
        assert_eq!(
            error("set a.test A 127.0.0.256"),
            "address \"127.0.0.256\": accepted is an IPv4 address or hex=..."
        );
        assert_eq!(
            error("set a.test A 127.0.0.1 ttl=soon"),
            "ttl \"soon\": accepted is 0 to 4294967295"
        );
        assert_eq!(
            error("rotate a.test on twice"),
            "\"twice\" is too much: the command is complete before it"
        );
        assert!(error("set a.test ANY hex=00").starts_with("type \"ANY\""));
        assert!(error("fail a.test explode").starts_with("mode \"explode\": accepted is nxdomain"));
        assert!(error("down there").starts_with("outage \"there\""));
        assert!(error("wait a.test 1 timeout=11m").starts_with("timeout \"11m\""));
    }

    #[test]
    fn blank_lines_and_comments_are_nothing() {
        for line in ["", "  \t", "# set a.test A 127.0.0.1", " , "] {
            assert!(matches!(Command::parse(line), Ok(Command::Nothing)));
        }
    }

    #[test]
    fn a_zone_file_takes_no_commands_to_the_server() {
        for line in [
            "dump",
            "help",
            "addr",
            "quit",
            "down",
            "up",
            "count *",
            "reset-count",
            "wait * 1",
            "wait-more * 1",
        ] {
            let verb = line.split(' ').next().unwrap();
            let error = Command::parse_zone_line(line).unwrap_err();
            assert!(
                error.to_string().starts_with(&format!("{verb}: only in")),
                "{error}"
            );
        }
    }

    /// Words that the grammar knows, mixed with others.
    fn word() -> impl Strategy<Value = String> {
        let known = include_str!("commands.txt")
            .split_whitespace()
            .collect::<Vec<_>>();
        prop_oneof![
            4 => prop::sample::select(known).prop_map(str::to_owned),
            1 => "[a-z*._\\\\0-9=:-]{1,12}",
            1 => any::<String>(),
        ]
    }

    proptest! {
        #[test]
        fn parsing_never_panics(words in prop::collection::vec(word(), 0..9)) {
            let _ = Command::parse(&words.join(" "));
        }
    }
}
