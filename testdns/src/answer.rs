//! Answers from the zone, right and wrong.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use hickory_proto::op::{Message, Query, ResponseCode};
use hickory_proto::rr::rdata::{CNAME, SOA};
use hickory_proto::rr::{Name, RData, Record, RecordType};

use crate::fault::{Fault, Mode};
use crate::message::Asked;
use crate::name;
use crate::transport::Transport;
use crate::zone::{Node, Order, RecordSet, Zone};

/// The most links of a chain of CNAMEs that one answer holds.
const CHAIN: usize = 64;

/// The addresses that `double` sends when it is given none.
const DOUBLE: [IpAddr; 2] = [
    IpAddr::V4(Ipv4Addr::new(127, 0, 0, 254)),
    IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0x254)),
];

/// What is sent for one query.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Reply {
    /// In this order.
    pub(crate) messages: Vec<Vec<u8>>,
    /// How long to wait before.
    pub(crate) after: Duration,
    /// Over TCP, to end the connection then.
    pub(crate) close: bool,
    /// Over UDP, to send from another port.
    pub(crate) elsewhere: bool,
}

impl Reply {
    pub(crate) fn of(bytes: Vec<u8>) -> Self {
        Self {
            messages: vec![bytes],
            ..Self::default()
        }
    }
}

impl Zone {
    /// What this query gets, by the rules in force.
    pub(crate) fn reply(&self, asked: &Asked) -> Reply {
        let record_type = asked.question.query_type;
        let faults = &self.faults;
        match faults.find_live(asked.name(), record_type, Fault::is_live) {
            Some(fault) => self.fail(asked, fault.apply()),
            None => Reply::of(asked.encode(&self.answer(asked, &asked.question))),
        }
    }

    fn fail(&self, asked: &Asked, mode: &Mode) -> Reply {
        let right = || self.answer(asked, &asked.question);
        let message = match mode {
            Mode::Drop => return Reply::default(),
            Mode::Close => {
                return Reply {
                    close: true,
                    ..Reply::default()
                };
            }
            Mode::EmptyPacket => return Reply::of(Vec::new()),
            Mode::Garbage => return Reply::of(self.garbage(asked.id)),
            Mode::Raw { bytes, id_asked } => {
                let mut bytes = bytes.clone();
                if let (true, Some(id)) = (id_asked, bytes.first_chunk_mut()) {
                    *id = asked.id.to_be_bytes();
                }
                return Reply::of(bytes);
            }
            Mode::Short => {
                let mut bytes = asked.encode(&right());
                bytes.truncate(bytes.len() * 2 / 3);
                return Reply::of(bytes);
            }
            Mode::Double(addresses) => {
                let first = right();
                let second = self.other_answer(asked, addresses);
                return Reply {
                    messages: vec![asked.encode(&first), asked.encode(&second)],
                    ..Reply::default()
                };
            }
            Mode::Late(after) => {
                return Reply {
                    after: *after,
                    ..Reply::of(asked.encode(&right()))
                };
            }
            Mode::WrongSource => {
                return Reply {
                    elsewhere: true,
                    ..Reply::of(asked.encode(&right()))
                };
            }
            Mode::Nxdomain { soa } => self.negative(asked, ResponseCode::NXDomain, *soa),
            Mode::Nodata { soa } => self.negative(asked, ResponseCode::NoError, *soa),
            Mode::NoSoa => {
                let mut message = right();
                message.authorities.clear();
                message
            }
            Mode::Code(code) => asked.answer(*code),
            Mode::Truncated { always } => match (asked.transport, always) {
                (Transport::Tcp, false) => right(),
                _ => right().truncate(),
            },
            Mode::Loop => looping(asked),
            Mode::WrongId => {
                let mut message = right();
                message.metadata.id = !asked.id;
                message
            }
            Mode::WrongQuestion(other) => self.wrong_question(asked, other.as_ref()),
            Mode::WrongName(other) => {
                let mut message = right();
                rename(&mut message, asked.name(), &wrong_name(other.as_ref()));
                message
            }
        };
        Reply::of(asked.encode(&message))
    }

    fn negative(&self, asked: &Asked, code: ResponseCode, soa: bool) -> Message {
        let mut message = asked.answer(code);
        if soa && self.soa {
            let record = self.start_of_authority(asked.name());
            message.authorities.push(record);
        }
        message
    }

    fn wrong_question(&self, asked: &Asked, other: Option<&Name>) -> Message {
        let question = Query::query(wrong_name(other), asked.question.query_type);
        if other.is_some() {
            return self.answer(asked, &question);
        }
        let mut message = self.answer(asked, &asked.question);
        rename(&mut message, asked.name(), &question.name);
        message.queries = vec![question];
        message
    }

    /// The right answer with these addresses of the type asked.
    fn other_answer(&self, asked: &Asked, addresses: &[IpAddr]) -> Message {
        let addresses = if addresses.is_empty() {
            &DOUBLE
        } else {
            addresses
        };
        let values = addresses.iter().copied().map(RData::from);
        let values = values.filter(|value| value.record_type() == asked.question.query_type);
        let record = |value| Record::from_rdata(asked.name().clone(), self.ttl, value);
        let mut message = asked.answer(ResponseCode::NoError);
        message.answers = values.map(record).collect();
        message
    }

    /// A header that announces a question, and then none.
    fn garbage(&self, id: u16) -> Vec<u8> {
        let [high, low] = id.to_be_bytes();
        let mut bytes = vec![high, low, 0x84, 0, 0, 1, 0, 1, 0, 0, 0, 0];
        // A label cannot begin with the bits 10 (RFC 1035, section 4.1.4).
        bytes.push(0xbf);
        let noise = std::iter::repeat_with(|| self.random.next());
        bytes.extend(noise.take(6).flat_map(u64::to_be_bytes));
        bytes
    }

    /// The right answer to a question, in a message for the one who asked.
    fn answer(&self, asked: &Asked, question: &Query) -> Message {
        let mut message = asked.answer(ResponseCode::NoError);
        message.queries = vec![question.clone()];
        let record_type = question.query_type;
        let mut owner = question.name.clone();
        let mut seen = Vec::new();
        let missing = loop {
            let Some(node) = self.records.applying(&owner).next() else {
                break Some(ResponseCode::NXDomain);
            };
            let sets = node.answering(record_type);
            let found = sets
                .iter()
                .flat_map(|set| self.in_turn(&owner, record_type, set));
            message.answers.extend(found);
            if !sets.is_empty() {
                break None;
            }
            let Some(set) = node.sets.get(&RecordType::CNAME) else {
                break Some(ResponseCode::NoError);
            };
            let links = self.in_turn(&owner, record_type, set);
            message.answers.extend(links);
            let alone = self.cname_only.find(&owner, record_type).is_some();
            let next = target(set).cloned();
            seen.push(owner);
            let goes_on = |next: &Name| !alone && seen.len() < CHAIN && !seen.contains(next);
            match next.filter(goes_on) {
                Some(next) => owner = next,
                None => break None,
            }
        };
        if let Some(code) = missing {
            // The code is that of the chain's last name (RFC 6604, section 3).
            message.metadata.response_code = code;
            if self.soa {
                let record = self.start_of_authority(&question.name);
                message.authorities.push(record);
            }
        }
        if self.additional {
            message.additionals = self.addresses_of_targets(&message.answers);
        }
        message
    }

    /// The records of a set in the order of this turn.
    fn in_turn(&self, owner: &Name, asked: RecordType, set: &RecordSet) -> Vec<Record> {
        let case = self.cases.find(owner, asked);
        let shown = case.map_or_else(|| owner.clone(), |case| case.apply(owner));
        let record = |(value, ttl): (&RData, Option<u32>)| {
            Record::from_rdata(shown.clone(), ttl.unwrap_or(self.ttl), value.clone())
        };
        let entries = set.entries.iter().map(|entry| (&entry.value, entry.ttl));
        let mut records: Vec<Record> = entries.map(record).collect();
        match self.orders.find(owner, asked) {
            None => {}
            Some(Order::Rotate) => {
                let turn = set.turn.get();
                set.turn.set(turn.wrapping_add(1));
                let first = turn.checked_rem(records.len()).unwrap_or(0);
                records.rotate_left(first);
            }
            Some(Order::Shuffle) => records.sort_by_cached_key(|_| self.random.next()),
        }
        records
    }

    fn addresses_of_targets(&self, answers: &[Record]) -> Vec<Record> {
        let mut records = Vec::new();
        for answer in answers {
            let RData::SRV(srv) = &answer.data else {
                continue;
            };
            let known = |record: &Record| record.name == srv.target;
            if records.iter().any(known) {
                continue;
            }
            let node = self.records.applying(&srv.target).next();
            for record_type in [RecordType::A, RecordType::AAAA] {
                let set = node.and_then(|node| node.sets.get(&record_type));
                let found = set.map(|set| self.in_turn(&srv.target, record_type, set));
                records.extend(found.into_iter().flatten());
            }
        }
        records
    }

    fn start_of_authority(&self, name: &Name) -> Record {
        let zone = name.trim_to(1);
        let below = |label: &str| zone.prepend_label(label).unwrap_or_else(|_| zone.clone());
        let (server, mailbox) = (below("ns"), below("hostmaster"));
        let data = SOA::new(server, mailbox, 1, 3600, 600, 86_400, self.soa_ttl);
        Record::from_rdata(zone, self.soa_ttl, RData::SOA(data))
    }
}

impl Node {
    /// The sets that answer a question of this type.
    fn answering(&self, record_type: RecordType) -> Vec<&RecordSet> {
        if record_type.is_any() {
            self.sets.values().collect()
        } else {
            self.sets.get(&record_type).into_iter().collect()
        }
    }
}

/// Where the first CNAME leads that was not given as raw bytes.
fn target(set: &RecordSet) -> Option<&Name> {
    set.entries.iter().find_map(|entry| match &entry.value {
        RData::CNAME(target) => Some(&target.0),
        _ => None,
    })
}

/// A name that is not the one asked for.
fn wrong_name(other: Option<&Name>) -> Name {
    let default = || name::from_labels(vec![b"wrong".to_vec(), b"invalid".to_vec()]);
    other.cloned().or_else(default).unwrap_or_else(Name::root)
}

/// Gives the records of one owner to another.
fn rename(message: &mut Message, from: &Name, to: &Name) {
    let answers = message.answers.iter_mut();
    for record in answers.filter(|record| record.name == *from) {
        record.name = to.clone();
    }
}

/// The name leads to another, which leads back.
fn looping(asked: &Asked) -> Message {
    let here = asked.name();
    // Where there is no room for a longer name, it leads to itself.
    let there = here.prepend_label("loop").unwrap_or_else(|_| here.clone());
    let link = |from: &Name, to: &Name| {
        let value = RData::CNAME(CNAME(to.clone()));
        Record::from_rdata(from.clone(), 0, value)
    };
    let mut message = asked.answer(ResponseCode::NoError);
    message.answers = vec![link(here, &there), link(&there, here)];
    message
}
