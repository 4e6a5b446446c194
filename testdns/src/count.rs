//! Queries counted, and waiting for them.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;

use hickory_proto::rr::{Name, RecordType};
use tokio::sync::oneshot;

use crate::pattern::Pattern;
use crate::transport::Transport;
use crate::word::show_type;

/// The number of different questions that are counted apart, a bound for memory; more
/// count only for the pattern `*` without a type.
const QUESTIONS: usize = 1 << 20;

/// Which queries are meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Selection {
    pub(crate) pattern: Pattern,
    pub(crate) record_type: Option<RecordType>,
    pub(crate) transport: Option<Transport>,
}

impl Selection {
    fn takes(&self, name: &Name, record_type: RecordType, transport: Transport) -> bool {
        self.record_type.is_none_or(|own| own == record_type)
            && self.transport.is_none_or(|own| own == transport)
            && self.pattern.matches(name)
    }
}

impl fmt::Display for Selection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.pattern)?;
        if let Some(record_type) = self.record_type {
            write!(f, " {}", show_type(record_type))?;
        }
        match self.transport {
            Some(Transport::Udp) => f.write_str(" udp"),
            Some(Transport::Tcp) => f.write_str(" tcp"),
            None => Ok(()),
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct ByTransport {
    udp: u64,
    tcp: u64,
}

impl ByTransport {
    fn add(&mut self, transport: Transport) {
        let count = match transport {
            Transport::Udp => &mut self.udp,
            Transport::Tcp => &mut self.tcp,
        };
        *count = count.saturating_add(1);
    }

    fn get(self, transport: Option<Transport>) -> u64 {
        match transport {
            Some(Transport::Udp) => self.udp,
            Some(Transport::Tcp) => self.tcp,
            None => self.udp.saturating_add(self.tcp),
        }
    }
}

#[derive(Debug)]
struct Waiter {
    selection: Selection,
    /// What was asked for, counted from the last reset or from the command.
    wanted: u64,
    missing: u64,
    from_reset: bool,
    /// None once it was told.
    reached: Option<oneshot::Sender<()>>,
}

/// A wait under way.
#[derive(Debug)]
pub(crate) struct Wait {
    pub(crate) id: u64,
    pub(crate) reached: oneshot::Receiver<()>,
}

#[derive(Debug, Default)]
pub(crate) struct Counts {
    all: ByTransport,
    questions: BTreeMap<(Name, RecordType), ByTransport>,
    waiters: BTreeMap<u64, Waiter>,
    next_id: u64,
}

impl Counts {
    /// Counts a query and wakes whom it makes complete.
    pub(crate) fn add(&mut self, name: &Name, record_type: RecordType, transport: Transport) {
        self.all.add(transport);
        let question = (name.clone(), record_type);
        let room = self.questions.len() < QUESTIONS;
        match self.questions.entry(question) {
            Entry::Occupied(mut count) => count.get_mut().add(transport),
            Entry::Vacant(place) if room => place.insert(ByTransport::default()).add(transport),
            Entry::Vacant(_) => {}
        }
        for waiter in self.waiters.values_mut() {
            if waiter.selection.takes(name, record_type, transport) {
                waiter.missing = waiter.missing.saturating_sub(1);
            }
            if waiter.missing == 0
                && let Some(reached) = waiter.reached.take()
            {
                // Who gave up has dropped the other end.
                let _ = reached.send(());
            }
        }
        self.waiters.retain(|_, waiter| waiter.reached.is_some());
    }

    pub(crate) fn count(&self, selection: &Selection) -> u64 {
        let Selection {
            pattern,
            record_type,
            transport,
        } = selection;
        match (pattern, record_type) {
            (Pattern::Any, None) => self.all.get(*transport),
            (Pattern::Exact(name), None) => {
                let every = RecordType::from(0)..=RecordType::from(u16::MAX);
                let range = (name.clone(), *every.start())..=(name.clone(), *every.end());
                let counts = self.questions.range(range);
                counts.map(|(_, count)| count.get(*transport)).sum()
            }
            (Pattern::Exact(name), Some(record_type)) => self
                .questions
                .get(&(name.clone(), *record_type))
                .map_or(0, |count| count.get(*transport)),
            _ => {
                let all = self.questions.iter();
                let taken = all.filter(|((name, own), _)| {
                    record_type.is_none_or(|record_type| record_type == *own)
                        && pattern.matches(name)
                });
                taken.map(|(_, count)| count.get(*transport)).sum()
            }
        }
    }

    /// Back to 0; a wait that counts from the last reset begins anew.
    pub(crate) fn reset(&mut self) {
        self.all = ByTransport::default();
        self.questions.clear();
        for waiter in self.waiters.values_mut().filter(|waiter| waiter.from_reset) {
            waiter.missing = waiter.wanted;
        }
    }

    /// Begins a wait; none if it is complete.
    pub(crate) fn wait(&mut self, selection: Selection, queries: u64, more: bool) -> Option<Wait> {
        let seen = if more { 0 } else { self.count(&selection) };
        let missing = queries.checked_sub(seen).filter(|missing| *missing > 0)?;
        let (reached, receiver) = oneshot::channel();
        let id = self.next_id;
        self.next_id += 1;
        let waiter = Waiter {
            selection,
            wanted: queries,
            missing,
            from_reset: !more,
            reached: Some(reached),
        };
        self.waiters.insert(id, waiter);
        Some(Wait {
            id,
            reached: receiver,
        })
    }

    /// Ends a wait that was not complete, and tells how many queries it saw; none if it
    /// was completed in the meantime.
    pub(crate) fn give_up(&mut self, id: u64) -> Option<u64> {
        let waiter = self.waiters.remove(&id)?;
        Some(waiter.wanted.saturating_sub(waiter.missing))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::Command;

    fn selection(text: &str) -> Selection {
        match Command::parse(&format!("count {text}")) {
            Ok(Command::Count(selection)) => selection,
            other => panic!("{text}: {other:?}"),
        }
    }

    fn counts(queries: &[(&str, RecordType, Transport)]) -> Counts {
        let mut counts = Counts::default();
        add(&mut counts, queries);
        counts
    }

    fn add(counts: &mut Counts, queries: &[(&str, RecordType, Transport)]) {
        for (name, record_type, transport) in queries {
            counts.add(&crate::name::parse(name).unwrap(), *record_type, *transport);
        }
    }

    const A: RecordType = RecordType::A;
    const HTTPS: RecordType = RecordType::HTTPS;
    const UDP: Transport = Transport::Udp;
    const TCP: Transport = Transport::Tcp;

    #[test]
    fn counts_go_by_name_type_and_transport() {
        let unknown = RecordType::from(65_535);
        let counts = counts(&[
            ("a.test", A, UDP),
            ("A.test", A, TCP),
            ("a.test", HTTPS, UDP),
            ("a.test", unknown, UDP),
            ("b.a.test", A, UDP),
            ("c.test", A, UDP),
        ]);
        for (text, expected) in [
            ("a.test", 4),
            ("a.test A", 2),
            ("a.test A udp", 1),
            ("a.test tcp", 1),
            ("a.test HTTPS", 1),
            ("a.test TYPE65535", 1),
            ("a.test AAAA", 0),
            ("*.a.test", 1),
            ("*.test", 6),
            ("*", 6),
            ("* A", 4),
            ("* tcp", 1),
            ("b.test", 0),
        ] {
            assert_eq!(counts.count(&selection(text)), expected, "{text}");
        }
    }

    #[test]
    fn a_wait_ends_with_the_last_query_it_needs() {
        let mut counts = counts(&[("a.test", A, UDP)]);
        assert!(counts.wait(selection("a.test"), 1, false).is_none());
        assert!(counts.wait(selection("a.test"), 0, true).is_none());
        let mut in_all = counts.wait(selection("a.test A"), 3, false).unwrap();
        let mut more = counts.wait(selection("*"), 3, true).unwrap();
        add(&mut counts, &[("a.test", A, UDP), ("a.test", HTTPS, UDP)]);
        assert!(in_all.reached.try_recv().is_err());
        assert!(more.reached.try_recv().is_err());
        add(&mut counts, &[("a.test", A, TCP)]);
        assert_eq!(in_all.reached.try_recv(), Ok(()));
        assert_eq!(more.reached.try_recv(), Ok(()));
        assert_eq!(counts.give_up(more.id), None);
    }

    #[test]
    fn a_reset_restarts_waits_that_count_from_it() {
        let mut counts = counts(&[("a.test", A, UDP)]);
        let in_all = counts.wait(selection("*"), 2, false).unwrap();
        let mut more = counts.wait(selection("*"), 2, true).unwrap();
        add(&mut counts, &[("b.test", A, UDP)]);
        let mut restarted = counts.wait(selection("*"), 3, false).unwrap();
        counts.reset();
        assert_eq!(counts.count(&selection("*")), 0);
        add(&mut counts, &[("b.test", A, UDP)]);
        assert_eq!(more.reached.try_recv(), Ok(()));
        assert!(restarted.reached.try_recv().is_err());
        assert_eq!(counts.give_up(restarted.id), Some(1));
        assert_eq!(counts.give_up(in_all.id), None);
    }
}
