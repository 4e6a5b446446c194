//! Record data as text.

use std::net::{Ipv4Addr, Ipv6Addr};

use hickory_proto::rr::rdata::{A, AAAA, CNAME, NULL, SRV};
use hickory_proto::rr::{RData, RecordType};

use crate::error::CommandError;
use crate::name;
use crate::word::{Words, hex, invalid, number, show_hex};

/// The longest raw RDATA: with a header and a long owner name it still fits in one message.
const LONGEST: usize = 65_000;

const U16: &str = "0 to 65535";

/// All the values that are left in the line.
pub(crate) fn values(
    words: &mut Words<'_>,
    record_type: RecordType,
) -> Result<Vec<RData>, CommandError> {
    let mut values = Vec::new();
    while !words.is_empty() {
        values.push(value(words, record_type)?);
    }
    Ok(values)
}

fn value(words: &mut Words<'_>, record_type: RecordType) -> Result<RData, CommandError> {
    let word = words.need("value")?;
    if let Some(digits) = word.strip_prefix("hex=") {
        let bytes = hex(digits)?;
        if bytes.len() > LONGEST {
            return Err(invalid("bytes", word, "at most 65000 bytes"));
        }
        return Ok(raw(record_type, bytes));
    }
    match record_type {
        RecordType::A => word
            .parse::<Ipv4Addr>()
            .map(|address| RData::A(A(address)))
            .map_err(|_| invalid("address", word, "an IPv4 address or hex=...")),
        RecordType::AAAA => word
            .parse::<Ipv6Addr>()
            .map(|address| RData::AAAA(AAAA(address)))
            .map_err(|_| invalid("address", word, "an IPv6 address or hex=...")),
        RecordType::CNAME => Ok(RData::CNAME(CNAME(name::parse(word)?))),
        RecordType::SRV => {
            let priority = number(word, "priority", U16)?;
            let weight = number(words.need("weight")?, "weight", U16)?;
            let port = number(words.need("port")?, "port", U16)?;
            let target = name::parse(words.need("target")?)?;
            Ok(RData::SRV(SRV::new(priority, weight, port, target)))
        }
        _ => Err(invalid("value", word, "hex=... for this type")),
    }
}

fn raw(record_type: RecordType, bytes: Vec<u8>) -> RData {
    let rdata = if bytes.is_empty() {
        NULL::new()
    } else {
        NULL::with(bytes)
    };
    RData::Unknown {
        code: record_type,
        rdata,
    }
}

/// The text that [`values`] reads.
pub(crate) fn show(value: &RData) -> String {
    match value {
        RData::A(address) => address.0.to_string(),
        RData::AAAA(address) => address.0.to_string(),
        RData::CNAME(target) => name::show(&target.0),
        RData::SRV(srv) => format!(
            "{} {} {} {}",
            srv.priority,
            srv.weight,
            srv.port,
            name::show(&srv.target)
        ),
        RData::Unknown { rdata, .. } => format!("hex={}", show_hex(&rdata.anything)),
        // `values` makes no others.
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str, record_type: RecordType) -> Result<Vec<String>, CommandError> {
        let values = values(&mut Words::of(line), record_type)?;
        Ok(values.iter().map(show).collect())
    }

    #[test]
    fn values_of_each_type() {
        let a = read("127.0.0.1, 127.0.0.2 hex=7F00", RecordType::A);
        assert_eq!(a.unwrap(), ["127.0.0.1", "127.0.0.2", "hex=7f00"]);
        let aaaa = read("::1 2001:DB8::1", RecordType::AAAA);
        assert_eq!(aaaa.unwrap(), ["::1", "2001:db8::1"]);
        let srv = read("10 20 8080 b.test., 0 0 0 .", RecordType::SRV);
        assert_eq!(srv.unwrap(), ["10 20 8080 b.test", "0 0 0 ."]);
        let txt = read("hex=0161 hex=", RecordType::TXT);
        assert_eq!(txt.unwrap(), ["hex=0161", "hex="]);
    }

    #[test]
    fn wrong_values_are_refused() {
        for (line, record_type) in [
            ("::1", RecordType::A),
            ("127.0.0.1", RecordType::AAAA),
            ("a..b", RecordType::CNAME),
            ("10 20 8080", RecordType::SRV),
            ("10 20 65536 b.test", RecordType::SRV),
            ("+1 20 80 b.test", RecordType::SRV),
            ("hex=0", RecordType::A),
            ("text", RecordType::TXT),
        ] {
            assert!(read(line, record_type).is_err(), "{line:?}");
        }
    }
}
