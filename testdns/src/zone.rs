//! The zone: records and the rules about how they are answered.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::time::Duration;

use hickory_proto::rr::{Name, RData, RecordType};

use crate::command::{Change, Command};
use crate::error::{CommandError, StartError};
use crate::fault::{Fault, Mode};
use crate::name::Case;
use crate::pattern::{Pattern, PatternMap};
use crate::record;
use crate::rule::Rules;
use crate::word::show_type;

/// The TTL of records and of negative answers before any command, in seconds.
const TTL: u32 = 60;

/// An order of records in an answer, other than that in which they were set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    Rotate,
    Shuffle,
}

/// A record without its owner.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    pub(crate) value: RData,
    /// None: the zone's.
    pub(crate) ttl: Option<u32>,
}

/// The records of one name and type.
#[derive(Debug, Default)]
pub(crate) struct RecordSet {
    pub(crate) entries: Vec<Entry>,
    /// How often it was answered, for rotation.
    pub(crate) turn: Cell<usize>,
}

/// The records of one name, never empty while in the zone.
#[derive(Debug, Default)]
pub(crate) struct Node {
    pub(crate) sets: BTreeMap<RecordType, RecordSet>,
}

/// All that decides about an answer, but for the state of the whole server.
#[derive(Debug)]
pub(crate) struct Zone {
    pub(crate) records: PatternMap<Node>,
    /// Seconds.
    pub(crate) ttl: u32,
    pub(crate) soa: bool,
    /// Seconds; also the minimum field, so the time that a negative answer lasts (RFC 2308, section 5).
    pub(crate) soa_ttl: u32,
    pub(crate) additional: bool,
    pub(crate) faults: Rules<Fault>,
    pub(crate) delays: Rules<Duration>,
    pub(crate) orders: Rules<Order>,
    pub(crate) cases: Rules<Case>,
    pub(crate) cname_only: Rules<()>,
    pub(crate) random: Random,
}

impl Default for Zone {
    fn default() -> Self {
        Self {
            records: PatternMap::default(),
            ttl: TTL,
            soa: true,
            soa_ttl: TTL,
            additional: true,
            faults: Rules::default(),
            delays: Rules::default(),
            orders: Rules::default(),
            cases: Rules::default(),
            cname_only: Rules::default(),
            random: Random::default(),
        }
    }
}

impl Zone {
    /// Reads a zone file.
    pub(crate) fn read(text: &str) -> Result<Self, StartError> {
        let mut zone = Self::default();
        for (index, line) in text.lines().enumerate() {
            let change = Command::parse_zone_line(line);
            let done = change.and_then(|change| change.map_or(Ok(()), |change| zone.apply(change)));
            done.map_err(|source| StartError::Zone {
                line: index + 1,
                source,
            })?;
        }
        Ok(zone)
    }

    pub(crate) fn apply(&mut self, change: Change) -> Result<(), CommandError> {
        match change {
            Change::Put {
                pattern,
                record_type,
                values,
                ttl,
                add,
            } => self.put(&pattern, record_type, values, ttl, add),
            Change::Remove {
                pattern,
                record_type,
                values,
            } => self.remove(&pattern, record_type, &values)?,
            Change::Ttl(seconds) => self.ttl = seconds,
            Change::Soa { on, ttl } => {
                self.soa = on;
                self.soa_ttl = ttl.unwrap_or(self.soa_ttl);
            }
            Change::Additional(on) => self.additional = on,
            Change::CnameOnly(pattern, true) => self.cname_only.set(&pattern, None, ()),
            Change::CnameOnly(pattern, false) => self.cname_only.reset(&pattern, None),
            Change::Clear => *self = Self::default(),
            Change::Fail(pattern, record_type, fault) => {
                self.faults.set(&pattern, record_type, fault);
            }
            Change::Ok(pattern, record_type) => {
                if pattern == Pattern::Any {
                    self.faults.clear(record_type);
                }
                self.faults.reset(&pattern, record_type);
            }
            Change::Swap(one, other) => self.swap(one, other),
            Change::Delay(pattern, record_type, Duration::ZERO) => {
                self.delays.reset(&pattern, record_type);
            }
            Change::Delay(pattern, record_type, delay) => {
                self.delays.set(&pattern, record_type, delay);
            }
            Change::Order(pattern, Some(order)) => self.orders.set(&pattern, None, order),
            Change::Order(pattern, None) => self.orders.reset(&pattern, None),
            Change::Case(pattern, Case::AsAsked) => self.cases.reset(&pattern, None),
            Change::Case(pattern, case) => self.cases.set(&pattern, None, case),
        }
        Ok(())
    }

    fn put(
        &mut self,
        pattern: &Pattern,
        record_type: RecordType,
        values: Vec<RData>,
        ttl: Option<u32>,
        add: bool,
    ) {
        let node = self.records.entry(pattern);
        // A name with a CNAME has no other records (RFC 1034, section 3.6.2).
        let cname = record_type.is_cname();
        node.sets.retain(|other, _| other.is_cname() == cname);
        let set = node.sets.entry(record_type).or_default();
        if !add {
            *set = RecordSet::default();
        }
        let entries = values.into_iter().map(|value| Entry { value, ttl });
        set.entries.extend(entries);
    }

    fn remove(
        &mut self,
        pattern: &Pattern,
        record_type: Option<RecordType>,
        values: &[RData],
    ) -> Result<(), CommandError> {
        let absent = |what: &str| CommandError::Absent(format!("{pattern}{what}"));
        let node = self.records.get_mut(pattern).ok_or_else(|| absent(""))?;
        let Some(record_type) = record_type else {
            self.records.remove(pattern);
            return Ok(());
        };
        let shown = show_type(record_type);
        let set = node.sets.get_mut(&record_type);
        let set = set.ok_or_else(|| absent(&format!(" {shown}")))?;
        let held = |value: &RData| set.entries.iter().any(|entry| entry.value == *value);
        if let Some(value) = values.iter().find(|value| !held(value)) {
            return Err(absent(&format!(" {shown} {}", record::show(value))));
        }
        set.entries
            .retain(|entry| !values.is_empty() && !values.contains(&entry.value));
        if set.entries.is_empty() {
            node.sets.remove(&record_type);
        }
        if node.sets.is_empty() {
            self.records.remove(pattern);
        }
        Ok(())
    }

    fn swap(&mut self, one: Name, other: Name) {
        let message_of = |name: &Name| Fault::new(Mode::WrongQuestion(Some(name.clone())), None);
        let (for_one, for_other) = (message_of(&other), message_of(&one));
        self.faults.set(&Pattern::Exact(one), None, for_one);
        self.faults.set(&Pattern::Exact(other), None, for_other);
    }
}

/// A generator that gives the same sequence in every run (xorshift64, Marsaglia 2003).
#[derive(Debug)]
pub(crate) struct Random(Cell<u64>);

impl Default for Random {
    fn default() -> Self {
        Self(Cell::new(0x9e37_79b9_7f4a_7c15))
    }
}

impl Random {
    pub(crate) fn next(&self) -> u64 {
        let mut state = self.0.get();
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        self.0.set(state);
        state
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apply(zone: &mut Zone, line: &str) -> Result<(), CommandError> {
        zone.apply(Command::parse_zone_line(line)?.unwrap())
    }

    fn records(zone: &Zone) -> Vec<String> {
        let dump = zone.dump();
        let lines = dump.lines().filter_map(|line| line.strip_prefix("add "));
        lines.map(str::to_owned).collect()
    }

    #[test]
    fn set_replaces_add_appends_remove_takes_away() {
        let mut zone = Zone::default();
        for line in [
            "set a.test A 127.0.0.1 127.0.0.1",
            "set A.TEST. A 127.0.0.1, 127.0.0.2 ttl=5",
            "add a.test A 127.0.0.2 ttl=0",
            "add a.test AAAA ::1",
        ] {
            apply(&mut zone, line).unwrap();
        }
        let all = [
            "a.test A 127.0.0.1, 127.0.0.2 ttl=5",
            "a.test A 127.0.0.2 ttl=0",
            "a.test AAAA ::1",
        ];
        assert_eq!(records(&zone), all);
        apply(&mut zone, "remove a.test A 127.0.0.2").unwrap();
        apply(&mut zone, "remove a.test AAAA").unwrap();
        assert_eq!(records(&zone), ["a.test A 127.0.0.1 ttl=5"]);
        apply(&mut zone, "remove a.test").unwrap();
        assert!(records(&zone).is_empty());
    }

    #[test]
    fn remove_of_what_is_not_there_changes_nothing() {
        let mut zone = Zone::default();
        apply(&mut zone, "set a.test A 127.0.0.1").unwrap();
        for (line, rest) in [
            ("remove b.test", "b.test"),
            ("remove a.test AAAA", "a.test AAAA"),
            ("remove a.test A 127.0.0.1 127.0.0.2", "a.test A 127.0.0.2"),
        ] {
            let error = apply(&mut zone, line).unwrap_err();
            assert_eq!(error.to_string(), format!("nothing to remove: {rest}"));
        }
        assert_eq!(records(&zone), ["a.test A 127.0.0.1"]);
    }

    #[test]
    fn a_cname_and_other_records_replace_each_other() {
        let mut zone = Zone::default();
        apply(&mut zone, "set a.test A 127.0.0.1").unwrap();
        apply(&mut zone, "add a.test CNAME b.test").unwrap();
        assert_eq!(records(&zone), ["a.test CNAME b.test"]);
        apply(&mut zone, "add a.test AAAA ::1").unwrap();
        assert_eq!(records(&zone), ["a.test AAAA ::1"]);
    }

    #[test]
    fn a_wrong_line_is_named() {
        let error = Zone::read("# zone\nset a.test A 127.0.0.1\nset b.test A x\n").unwrap_err();
        assert!(
            error.to_string().starts_with("zone line 3: address \"x\""),
            "{error}"
        );
    }

    #[test]
    fn ok_for_any_name_ends_every_failure() {
        let mut zone = Zone::default();
        for line in [
            "fail * servfail",
            "fail a.test AAAA drop",
            "swap b.test c.test",
            "ok *",
        ] {
            apply(&mut zone, line).unwrap();
        }
        assert_eq!(zone.faults.iter(Fault::is_live).count(), 0);
    }
}
