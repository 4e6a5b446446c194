//! A zone as the commands that make it.

use std::fmt::Write as _;
use std::time::Duration;

use hickory_proto::rr::RecordType;

use crate::fault::Fault;
use crate::name::Case;
use crate::pattern::Pattern;
use crate::record;
use crate::word::{show_duration, show_type};
use crate::zone::{Order, Zone};

impl Zone {
    /// The commands that make this zone, whatever was there before.
    pub(crate) fn dump(&self) -> String {
        let mut text = String::new();
        let on = |on: bool| if on { "on" } else { "off" };
        let mut line = |args: std::fmt::Arguments<'_>| {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{args}");
        };
        line(format_args!("clear"));
        line(format_args!("ttl {}", self.ttl));
        line(format_args!("soa {} ttl={}", on(self.soa), self.soa_ttl));
        line(format_args!("additional {}", on(self.additional)));
        for (pattern, node) in self.records.iter() {
            for (record_type, set) in &node.sets {
                let shown = show_type(*record_type);
                // Entries of one TTL in a row share a line; `add` to nothing is `set`.
                for entries in set.entries.chunk_by(|one, next| one.ttl == next.ttl) {
                    let values = entries.iter().map(|entry| record::show(&entry.value));
                    let values = values.collect::<Vec<_>>().join(", ");
                    let ttl = entries.first().and_then(|entry| entry.ttl);
                    let ttl = ttl.map(|ttl| format!(" ttl={ttl}")).unwrap_or_default();
                    line(format_args!("add {pattern} {shown} {values}{ttl}"));
                }
            }
        }
        let names = |pattern: Pattern, record_type: Option<RecordType>| match record_type {
            Some(record_type) => format!("{pattern} {}", show_type(record_type)),
            None => pattern.to_string(),
        };
        for (pattern, record_type, fault) in self.faults.iter(Fault::is_live) {
            let names = names(pattern, record_type);
            match fault {
                Some(fault) => line(format_args!("fail {names} {fault}")),
                None => line(format_args!("ok {names}")),
            }
        }
        for (pattern, record_type, delay) in self.delays.iter(|_| true) {
            let names = names(pattern, record_type);
            let delay = delay.copied().unwrap_or(Duration::ZERO);
            line(format_args!("delay {names} {}", show_duration(delay)));
        }
        for (pattern, _, order) in self.orders.iter(|_| true) {
            match order {
                None => line(format_args!("rotate {pattern} off")),
                Some(Order::Rotate) => line(format_args!("rotate {pattern} on")),
                Some(Order::Shuffle) => line(format_args!("shuffle {pattern} on")),
            }
        }
        for (pattern, _, case) in self.cases.iter(|_| true) {
            let case = case.copied().unwrap_or(Case::AsAsked);
            line(format_args!("case {pattern} {}", case.name_of()));
        }
        for (pattern, _, only) in self.cname_only.iter(|()| true) {
            line(format_args!("cname-only {pattern} {}", on(only.is_some())));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A command that is right, about few names, so that commands meet.
    fn command() -> impl Strategy<Value = String> {
        let name = || prop::sample::select(vec!["a.test", "B.test", "*.test", "*", "x\\010.test"]);
        let record_type = || prop::sample::select(vec!["", "A", "AAAA", "TYPE65280"]);
        let rest = prop::sample::select(vec![
            "A 127.0.0.1 127.0.0.2",
            "A 127.0.0.1 ttl=0",
            "AAAA ::1 hex=00",
            "CNAME b.test",
            "SRV 1 2 3 a.test 4 5 6 . ttl=7",
            "TYPE65280 hex=",
            "TXT hex=0161",
        ]);
        let mode = prop::sample::select(vec![
            "nxdomain no-soa",
            "late 0.1s",
            "double ::1",
            "wrong-name a.test",
            "raw 00 id=as-is",
            "drop times=3",
            "servfail",
        ]);
        let other = prop::sample::select(vec![
            "ttl 5",
            "soa off",
            "additional off",
            "clear",
            "swap a.test b.test",
            "delay a.test 1ms",
            "delay * 0.123456789s",
            "delay a.test 0",
            "rotate a.test on",
            "shuffle *.test on",
            "rotate a.test off",
            "case a.test mixed",
            "cname-only * on",
            "case a.test as-asked",
        ]);
        prop_oneof![
            ("(set|add)", name(), rest)
                .prop_map(|(verb, name, rest)| format!("{verb} {name} {rest}")),
            (name(), record_type(), mode)
                .prop_map(|(name, kind, mode)| format!("fail {name} {kind} {mode}")),
            (name(), record_type()).prop_map(|(name, kind)| format!("ok {name} {kind}")),
            other.prop_map(str::to_owned),
        ]
    }

    proptest! {
        #[test]
        fn a_dump_makes_the_same_zone(commands in prop::collection::vec(command(), 0..30)) {
            let zone = Zone::read(&commands.join("\n")).unwrap();
            let again = Zone::read(&zone.dump()).unwrap();
            prop_assert_eq!(again.dump(), zone.dump());
        }
    }
}
