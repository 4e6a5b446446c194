//! Messages in and out.

use hickory_proto::op::{
    DEFAULT_MAX_PAYLOAD_LEN, Edns, Message, MessageType, OpCode, Query, ResponseCode,
};
use hickory_proto::rr::{DNSClass, Name};

use crate::transport::Transport;

/// The bytes of a header.
const HEADER: usize = 12;

/// The longest message over UDP without EDNS (RFC 1035, section 2.3.4).
const PLAIN_UDP: u16 = 512;

/// A question that can be answered.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) id: u16,
    pub(crate) question: Query,
    pub(crate) transport: Transport,
    recursion_desired: bool,
    checking_disabled: bool,
    /// The payload size that the client offers.
    edns: Option<u16>,
}

/// What a packet turned out to be.
#[derive(Debug)]
pub(crate) enum Inbound {
    /// Too short for a header, or itself an answer: to be ignored.
    Noise,
    /// A query that is refused as it stands, with the answer to it.
    Bad(Vec<u8>),
    Good(Asked),
}

impl Inbound {
    pub(crate) fn read(packet: &[u8], transport: Transport) -> Self {
        let [id_high, id_low, flags, ..] = packet else {
            return Self::Noise;
        };
        if packet.len() < HEADER || flags & 0x80 != 0 {
            return Self::Noise;
        }
        let id = u16::from_be_bytes([*id_high, *id_low]);
        let Ok(message) = Message::from_vec(packet) else {
            return Self::Bad(bare(id, *flags, ResponseCode::FormErr));
        };
        if message.metadata.op_code != OpCode::Query {
            return Self::Bad(bare(id, *flags, ResponseCode::NotImp));
        }
        let [question] = message.queries.as_slice() else {
            return Self::Bad(bare(id, *flags, ResponseCode::FormErr));
        };
        let asked = Asked {
            id,
            question: question.clone(),
            transport,
            recursion_desired: message.metadata.recursion_desired,
            checking_disabled: message.metadata.checking_disabled,
            edns: message.edns.as_ref().map(Edns::max_payload),
        };
        if question.query_class != DNSClass::IN {
            return Self::Bad(asked.encode(&asked.answer(ResponseCode::Refused)));
        }
        Self::Good(asked)
    }
}

/// An answer that is a header only.
fn bare(id: u16, flags: u8, code: ResponseCode) -> Vec<u8> {
    // QR, and the request's opcode and RD (RFC 1035, section 4.1.1).
    let mut bytes = id.to_be_bytes().to_vec();
    bytes.extend([0x80 | flags & 0x79, code.low()]);
    bytes.resize(HEADER, 0);
    bytes
}

impl Asked {
    pub(crate) fn name(&self) -> &Name {
        &self.question.name
    }

    /// An answer without records to the question.
    pub(crate) fn answer(&self, code: ResponseCode) -> Message {
        let mut message = Message::response(self.id, OpCode::Query);
        message.metadata.message_type = MessageType::Response;
        message.metadata.authoritative = true;
        message.metadata.recursion_desired = self.recursion_desired;
        message.metadata.recursion_available = true;
        message.metadata.checking_disabled = self.checking_disabled;
        message.metadata.response_code = code;
        message.queries.push(self.question.clone());
        message.edns = self.edns.map(|_| {
            let mut edns = Edns::new();
            edns.set_max_payload(DEFAULT_MAX_PAYLOAD_LEN);
            edns
        });
        message
    }

    /// The bytes of an answer. Where they are more than the client can take, they become a
    /// truncated answer without records.
    pub(crate) fn encode(&self, message: &Message) -> Vec<u8> {
        let limit = match self.transport {
            Transport::Udp => self.edns.unwrap_or(PLAIN_UDP).max(PLAIN_UDP),
            Transport::Tcp => u16::MAX,
        };
        let fits = |bytes: &Vec<u8>| bytes.len() <= usize::from(limit);
        let whole = message.to_vec().ok().filter(fits);
        let bytes = whole.or_else(|| message.truncate().to_vec().ok());
        // Cannot happen: the question alone came in a message that was read.
        bytes.unwrap_or_else(|| bare(self.id, 0, ResponseCode::ServFail))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hickory_proto::rr::RecordType;
    use proptest::prelude::*;

    fn query() -> Message {
        let mut message = Message::new(7, MessageType::Query, OpCode::Query);
        let name = crate::name::parse("a.test").unwrap();
        message.add_query(Query::query(name, RecordType::A));
        message
    }

    fn code(inbound: Inbound) -> ResponseCode {
        let Inbound::Bad(bytes) = inbound else {
            panic!("{inbound:?}");
        };
        let message = Message::from_vec(&bytes).unwrap();
        assert_eq!(message.metadata.id, 7);
        assert_eq!(message.metadata.message_type, MessageType::Response);
        message.metadata.response_code
    }

    fn read(message: &Message) -> Inbound {
        Inbound::read(&message.to_vec().unwrap(), Transport::Udp)
    }

    #[test]
    fn queries_that_cannot_be_answered_are_refused_by_their_fault() {
        let mut message = query();
        message.metadata.op_code = OpCode::Notify;
        assert_eq!(code(read(&message)), ResponseCode::NotImp);
        let mut message = query();
        message.queries.clear();
        assert_eq!(code(read(&message)), ResponseCode::FormErr);
        let mut message = query();
        message.queries.extend(query().queries);
        assert_eq!(code(read(&message)), ResponseCode::FormErr);
        let mut message = query();
        message.queries[0].query_class = DNSClass::CH;
        assert_eq!(code(read(&message)), ResponseCode::Refused);
        let mut bytes = query().to_vec().unwrap();
        bytes.pop();
        assert_eq!(
            code(Inbound::read(&bytes, Transport::Udp)),
            ResponseCode::FormErr
        );
    }

    #[test]
    fn answers_and_fragments_of_a_header_are_noise() {
        let mut message = query();
        message.metadata.message_type = MessageType::Response;
        assert!(matches!(read(&message), Inbound::Noise));
        let bytes = query().to_vec().unwrap();
        for length in 0..HEADER {
            let inbound = Inbound::read(&bytes[..length], Transport::Tcp);
            assert!(matches!(inbound, Inbound::Noise));
        }
    }

    proptest! {
        #[test]
        fn random_packets_never_panic(packet in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = Inbound::read(&packet, Transport::Udp);
        }

        #[test]
        fn damaged_queries_never_panic(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)) {
            let mut message = query();
            message.set_edns(Edns::new());
            let mut bytes = message.to_vec().unwrap();
            for (index, byte) in changes {
                let index = index.index(bytes.len());
                bytes[index] = byte;
            }
            let _ = Inbound::read(&bytes, Transport::Udp);
        }
    }
}
