use std::net::IpAddr;
use std::str::FromStr;

use hickory_proto::op::Metadata;
use hickory_proto::rr::rdata::{A, AAAA, CNAME, NS, SOA, SRV};
use proptest::prelude::*;

use super::*;

fn name(text: &str) -> Name {
    Name::from_str(text).unwrap()
}

fn record(owner: &str, ttl: u32, data: RData) -> Record {
    Record::from_rdata(name(owner), ttl, data)
}

fn a(owner: &str, ttl: u32, last: u8) -> Record {
    record(owner, ttl, RData::A(A::new(192, 0, 2, last)))
}

fn cname(owner: &str, ttl: u32, target: &str) -> Record {
    record(owner, ttl, RData::CNAME(CNAME(name(target))))
}

fn soa() -> Record {
    let soa = SOA::new(name("ns.test."), name("root.test."), 1, 2, 3, 4, 5);
    record("test.", 60, RData::SOA(soa))
}

fn chain(question: &str) -> Chain {
    Chain::new(name(question), RecordType::A, true)
}

fn answer(chain: &Chain, answers: Vec<Record>) -> Message {
    let mut message = Message::response(7, OpCode::Query);
    message.add_query(chain.query().clone());
    message.answers = answers;
    message
}

fn ip(last: u8) -> IpAddr {
    [192, 0, 2, last].into()
}

#[test]
fn all_records_of_the_name_and_type_are_found() {
    let mut chain = chain("a.test.");
    let message = answer(&chain, vec![a("a.test.", 9, 1), a("A.TEST.", 7, 2)]);
    assert_eq!(
        chain.read(&message, address),
        Ok(Step::Found(vec![ip(1), ip(2)]))
    );
    assert_eq!(chain.ttl(), Duration::from_secs(7));
}

#[test]
fn what_belongs_to_another_question_is_not_used() {
    let mut chain = chain("a.test.");
    let mut foreign_class = a("a.test.", 1, 3);
    foreign_class.dns_class = DNSClass::CH;
    let message = answer(
        &chain,
        vec![
            a("b.test.", 1, 1),
            record("a.test.", 1, RData::AAAA(AAAA::new(1, 2, 3, 4, 5, 6, 7, 8))),
            record("a.test.", 1, RData::NS(NS(name("ns.test.")))),
            foreign_class,
            cname("b.test.", 1, "a.test."),
        ],
    );
    assert_eq!(chain.read(&message, address), Err(Failure::NoData));
    let mut chain = super::tests::chain("a.test.");
    let message = answer(&chain, vec![a("b.test.", 1, 1), a("a.test.", 60, 2)]);
    assert_eq!(chain.read(&message, address), Ok(Step::Found(vec![ip(2)])));
    assert_eq!(chain.ttl(), Duration::from_secs(60));
}

#[test]
fn records_in_other_sections_are_not_used() {
    let mut chain = chain("a.test.");
    let mut message = answer(&chain, vec![]);
    message.authorities.push(a("a.test.", 1, 1));
    message.additionals.push(a("a.test.", 1, 2));
    assert_eq!(chain.read(&message, address), Err(Failure::NoData));
}

#[test]
fn aliases_are_followed_in_any_order_and_their_ttl_counts() {
    let mut chain = chain("a.test.");
    let message = answer(
        &chain,
        vec![
            a("c.test.", 30, 1),
            cname("b.test.", 20, "c.test."),
            cname("a.test.", 10, "b.test."),
            cname("d.test.", 1, "c.test."),
        ],
    );
    assert_eq!(chain.read(&message, address), Ok(Step::Found(vec![ip(1)])));
    assert_eq!(chain.ttl(), Duration::from_secs(10));
}

#[test]
fn a_target_that_is_not_told_is_asked_for() {
    let mut chain = chain("a.test.");
    let message = answer(&chain, vec![cname("a.test.", 10, "b.test.")]);
    assert_eq!(chain.read(&message, address), Ok(Step::Again));
    assert_eq!(chain.query().name(), &name("b.test."));
    let message = answer(&chain, vec![a("b.test.", 20, 1)]);
    assert_eq!(chain.read(&message, address), Ok(Step::Found(vec![ip(1)])));
    assert_eq!(chain.ttl(), Duration::from_secs(10));
}

#[test]
fn an_soa_says_that_the_target_has_nothing() {
    let mut chain = chain("a.test.");
    let mut message = answer(&chain, vec![cname("a.test.", 10, "b.test.")]);
    message.authorities.push(soa());
    assert_eq!(chain.read(&message, address), Err(Failure::NoData));
}

#[test]
fn a_circle_ends() {
    for answers in [
        vec![cname("a.test.", 1, "a.test.")],
        vec![
            cname("a.test.", 1, "b.test."),
            cname("b.test.", 1, "a.test."),
        ],
    ] {
        let mut chain = chain("a.test.");
        let message = answer(&chain, answers);
        assert_eq!(chain.read(&message, address), Err(Failure::Malformed));
    }
}

#[test]
fn a_circle_over_several_answers_ends() {
    let mut chain = chain("a.test.");
    let mut asked = 0;
    let end = loop {
        let target = if asked % 2 == 0 { "b.test." } else { "a.test." };
        let owner = chain.query().name().to_ascii();
        let message = answer(&chain, vec![cname(&owner, 1, target)]);
        match chain.read(&message, address) {
            Ok(Step::Again) => asked += 1,
            end => break end,
        }
    };
    assert_eq!(end, Err(Failure::Malformed));
    assert_eq!(asked, MAX_ALIASES);
}

#[test]
fn the_longest_chain_is_16() {
    let link = |n: usize| cname(&format!("n{n}.test."), 1, &format!("n{}.test.", n + 1));
    for (length, good) in [(16, true), (17, false)] {
        let mut chain = chain("n0.test.");
        let mut answers: Vec<Record> = (0..length).map(link).collect();
        answers.push(a(&format!("n{length}.test."), 1, 1));
        let message = answer(&chain, answers);
        assert_eq!(chain.read(&message, address).is_ok(), good, "{length}");
    }
}

#[test]
fn an_alias_is_no_data_where_none_are_followed() {
    let mut chain = Chain::new(name("a.test."), RecordType::A, false);
    let message = answer(
        &chain,
        vec![cname("a.test.", 10, "b.test."), a("b.test.", 10, 1)],
    );
    assert_eq!(chain.read(&message, address), Err(Failure::NoData));
    let message = answer(&chain, vec![a("a.test.", 10, 1)]);
    assert_eq!(chain.read(&message, address), Ok(Step::Found(vec![ip(1)])));
}

#[test]
fn response_codes_are_told_apart() {
    for (code, failure) in [
        (ResponseCode::NXDomain, Failure::NxDomain),
        (ResponseCode::ServFail, Failure::ServFail),
        (ResponseCode::Refused, Failure::Refused),
        (ResponseCode::FormErr, Failure::FormErr),
        (ResponseCode::NotImp, Failure::NotImp),
        (ResponseCode::YXDomain, Failure::ErrorCode),
        (ResponseCode::NotAuth, Failure::ErrorCode),
        (ResponseCode::Unknown(3000), Failure::ErrorCode),
    ] {
        let mut chain = chain("a.test.");
        // An answer beside an error is not used.
        let mut message = answer(&chain, vec![a("a.test.", 10, 1)]);
        message.metadata.response_code = code;
        assert_eq!(chain.read(&message, address), Err(failure), "{code}");
    }
}

/// A server that could not read the question does not repeat it.
#[test]
fn an_error_code_needs_no_question_but_nxdomain_does() {
    for (code, failure) in [
        (ResponseCode::FormErr, Failure::FormErr),
        (ResponseCode::ServFail, Failure::ServFail),
        (ResponseCode::NXDomain, Failure::Malformed),
        (ResponseCode::NoError, Failure::Malformed),
    ] {
        let mut chain = chain("a.test.");
        let mut message = answer(&chain, Vec::new());
        message.queries.clear();
        message.metadata.response_code = code;
        assert_eq!(chain.read(&message, address), Err(failure), "{code}");
    }
}

#[test]
fn a_message_that_does_not_fit_the_question_is_malformed() {
    let good = |chain: &Chain| answer(chain, vec![a("a.test.", 10, 1)]);
    let spoil: [fn(&mut Message); 7] = [
        |it| it.queries.clear(),
        |it| it.queries.push(it.queries[0].clone()),
        |it| it.queries[0].name = name("b.test."),
        |it| it.queries[0].query_type = RecordType::AAAA,
        |it| it.queries[0].query_class = DNSClass::CH,
        |it| it.metadata = Metadata::new(7, MessageType::Query, OpCode::Query),
        |it| it.metadata = Metadata::new(7, MessageType::Response, OpCode::Update),
    ];
    for (index, spoil) in spoil.into_iter().enumerate() {
        let mut chain = chain("a.test.");
        let mut message = good(&chain);
        spoil(&mut message);
        let read = chain.read(&message, address);
        assert_eq!(read, Err(Failure::Malformed), "{index}");
        let message = good(&chain);
        assert_eq!(chain.read(&message, address), Ok(Step::Found(vec![ip(1)])));
    }
}

#[test]
fn a_ttl_of_zero_stays_and_a_negative_one_is_zero() {
    for (ttl, seconds) in [
        (0, 0),
        (1, 1),
        (0x7fff_ffff, 0x7fff_ffff),
        (0x8000_0000, 0),
        (u32::MAX, 0),
    ] {
        let mut chain = chain("a.test.");
        let message = answer(&chain, vec![a("a.test.", ttl, 1)]);
        assert!(chain.read(&message, address).is_ok());
        assert_eq!(chain.ttl(), Duration::from_secs(seconds));
    }
}

#[test]
fn targets_are_lower_case_and_the_root_is_empty() {
    let mut chain = Chain::new(name("_x._tcp.a.test."), RecordType::SRV, true);
    let srv = |target: &str| {
        let data = RData::SRV(SRV::new(1, 2, 80, name(target)));
        record("_x._tcp.a.test.", 5, data)
    };
    let message = answer(&chain, vec![srv("B.Test."), srv("."), a("b.test.", 1, 1)]);
    let Ok(Step::Found(records)) = chain.read(&message, service) else {
        panic!("nothing found");
    };
    let targets: Vec<&str> = records.iter().map(|it| it.target.as_str()).collect();
    assert_eq!(targets, ["b.test", ""]);
    assert_eq!(
        records[0],
        SrvRecord {
            priority: 1,
            weight: 2,
            port: 80,
            target: "b.test".into()
        }
    );
    assert_eq!(chain.ttl(), Duration::from_secs(5));
}

proptest! {
    #[test]
    fn whatever_a_server_sends_is_read_or_refused(
        bytes in prop::collection::vec(any::<u8>(), 0..300),
        flags in any::<[u8; 2]>(),
    ) {
        // A header and question that fit, then anything.
        let mut chain = chain("a.test.");
        let mut packet = answer(&chain, vec![]).to_vec().unwrap();
        packet[2..4].copy_from_slice(&flags);
        packet[6..12].copy_from_slice(&[0, 3, 0, 1, 0, 1]);
        packet.extend(bytes);
        if let Ok(message) = Message::from_vec(&packet) {
            match chain.read(&message, address) {
                Ok(Step::Found(found)) => prop_assert!(!found.is_empty()),
                Ok(Step::Again) => prop_assert!(chain.query().name() != &name("a.test.")),
                Err(_) => {}
            }
        }
    }

    #[test]
    fn any_set_of_records_is_read_or_refused(
        records in prop::collection::vec((0..5u8, 0..5u8, any::<u32>(), any::<bool>()), 0..20),
    ) {
        let mut chain = chain("n0.test.");
        let records = records.into_iter().map(|(owner, target, ttl, alias)| {
            let owner = format!("n{owner}.test.");
            if alias {
                cname(&owner, ttl, &format!("n{target}.test."))
            } else {
                a(&owner, ttl, target)
            }
        });
        let message = answer(&chain, records.collect());
        if let Ok(Step::Found(found)) = chain.read(&message, address) {
            prop_assert!(!found.is_empty());
            prop_assert!(chain.ttl() <= Duration::from_secs(0x7fff_ffff));
        }
    }
}
