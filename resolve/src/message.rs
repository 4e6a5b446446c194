//! Reads the answer to a question. Everything in it comes from strangers: it is
//! checked against the question, and what does not belong there is not used.

use std::time::Duration;

use dynamic_core::answer::{Failure, SrvRecord};
use hickory_proto::op::{Message, MessageType, OpCode, Query, ResponseCode};
use hickory_proto::rr::{DNSClass, Name, RData, Record, RecordType};

/// How many aliases are followed for one question, as in BIND's resolver.
const MAX_ALIASES: usize = 16;

/// A question and what has become of it after each answer: the name moves on
/// along the chain of aliases, the TTL is the smallest so far.
#[derive(Debug)]
pub(crate) struct Chain {
    query: Query,
    follow: bool,
    ttl: u32,
    aliases: usize,
}

/// What one answer yields.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Step<T> {
    /// At least one record.
    Found(Vec<T>),
    /// An alias whose target the answer does not tell: ask again.
    Again,
}

impl Chain {
    /// Starts with a name and a type. `follow`: aliases (CNAME) lead on;
    /// otherwise a name that is an alias has no data.
    pub(crate) fn new(name: Name, record: RecordType, follow: bool) -> Self {
        Self {
            query: Query::query(name, record),
            follow,
            ttl: u32::MAX,
            aliases: 0,
        }
    }

    /// The question to ask now.
    pub(crate) fn query(&self) -> &Query {
        &self.query
    }

    /// The smallest TTL of the records that led to what was found, aliases
    /// included.
    pub(crate) fn ttl(&self) -> Duration {
        Duration::from_secs(self.ttl.into())
    }

    /// Reads the answer to [`Chain::query`]; `pick` takes what is wanted out
    /// of a record.
    pub(crate) fn read<T>(
        &mut self,
        message: &Message,
        pick: impl Fn(&RData) -> Option<T>,
    ) -> Result<Step<T>, Failure> {
        check(&self.query, message)?;
        loop {
            let own = || {
                message.answers.iter().filter(|record| {
                    record.dns_class == DNSClass::IN && record.name == self.query.name
                })
            };
            let mut found = Vec::new();
            let mut ttl = self.ttl;
            for record in own().filter(|record| record.record_type() == self.query.query_type) {
                if let Some(item) = pick(&record.data) {
                    found.push(item);
                    ttl = ttl.min(ttl_of(record));
                }
            }
            if !found.is_empty() {
                self.ttl = ttl;
                return Ok(Step::Found(found));
            }
            let alias = own().find_map(|record| match &record.data {
                RData::CNAME(target) => Some((target.0.clone(), record)),
                _ => None,
            });
            match alias {
                Some(_) if !self.follow => return Err(Failure::NoData),
                Some(_) if self.aliases >= MAX_ALIASES => return Err(Failure::Malformed),
                Some((target, record)) => {
                    self.ttl = self.ttl.min(ttl_of(record));
                    self.aliases += 1;
                    self.query.name = target;
                    self.query.name.set_fqdn(true);
                }
                None if self.moved_in(message) => return Ok(Step::Again),
                None => return Err(Failure::NoData),
            }
        }
    }

    /// Whether the answer led to a name of which it says nothing more. An SOA
    /// record says that the last name has no data (RFC 2308, section 2.2).
    fn moved_in(&self, message: &Message) -> bool {
        let asked = message.queries.first().map(Query::name);
        asked != Some(&self.query.name)
            && !message
                .authorities
                .iter()
                .any(|record| record.record_type() == RecordType::SOA)
    }
}

/// The records that an address question wants, as they are in a message.
pub(crate) fn address(data: &RData) -> Option<std::net::IpAddr> {
    match data {
        RData::A(address) => Some(address.0.into()),
        RData::AAAA(address) => Some(address.0.into()),
        _ => None,
    }
}

/// The records that a service question wants.
pub(crate) fn service(data: &RData) -> Option<SrvRecord> {
    let RData::SRV(record) = data else {
        return None;
    };
    let target = record.target.to_lowercase().to_ascii();
    Some(SrvRecord {
        priority: record.priority,
        weight: record.weight,
        port: record.port,
        target: target.strip_suffix('.').unwrap_or(&target).to_owned(),
    })
}

/// Whether a message answers the question and is a success.
pub(crate) fn check(query: &Query, message: &Message) -> Result<(), Failure> {
    let metadata = &message.metadata;
    if metadata.message_type != MessageType::Response || metadata.op_code != OpCode::Query {
        return Err(Failure::Malformed);
    }
    let error = error_of(metadata.response_code);
    // A server that could not read the question cannot repeat it.
    let bare_error = message.queries.is_empty() && !matches!(error, None | Some(Failure::NxDomain));
    if !bare_error && message.queries.as_slice() != std::slice::from_ref(query) {
        return Err(Failure::Malformed);
    }
    error.map_or(Ok(()), Err)
}

/// The failure that a response code stands for; `None` is success.
pub(crate) fn error_of(code: ResponseCode) -> Option<Failure> {
    match code {
        ResponseCode::NoError => None,
        ResponseCode::NXDomain => Some(Failure::NxDomain),
        ResponseCode::ServFail => Some(Failure::ServFail),
        ResponseCode::Refused => Some(Failure::Refused),
        ResponseCode::FormErr => Some(Failure::FormErr),
        ResponseCode::NotImp => Some(Failure::NotImp),
        _ => Some(Failure::ErrorCode),
    }
}

/// RFC 2181, section 8: a TTL with the highest bit set counts as 0.
fn ttl_of(record: &Record) -> u32 {
    i32::try_from(record.ttl).map_or(0, i32::unsigned_abs)
}

#[cfg(test)]
mod tests;
