//! Servers that do with datagrams what no test server does.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use dynamic_core::answer::Failure;
use dynamic_resolve::{Resolver, Settings};
use hickory_proto::op::{Message, OpCode, ResponseCode};
use hickory_proto::rr::rdata::A;
use hickory_proto::rr::{RData, Record, RecordType};
use tokio::net::UdpSocket;

use crate::support::{Dns, ENDLESS, LONG, family, name_server, one, resolver, settings, soon};

/// A server that answers each question so.
async fn server(answer: impl Fn(&Message) -> Message + Send + 'static) -> Resolver {
    packet_server(move |question| Some(answer(question).to_vec().unwrap())).await
}

/// A server that sends this packet for each question, or none.
async fn packet_server(answer: impl Fn(&Message) -> Option<Vec<u8>> + Send + 'static) -> Resolver {
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let address = socket.local_addr().unwrap();
    tokio::spawn(async move {
        let mut buffer = [0; 2048];
        while let Ok((length, from)) = socket.recv_from(&mut buffer).await {
            let question = Message::from_vec(&buffer[..length]).unwrap();
            if let Some(packet) = answer(&question) {
                socket.send_to(&packet, from).await.unwrap();
            }
        }
    });
    resolver(Settings {
        nameservers: vec![name_server(address)],
        ..settings(&[], ENDLESS)
    })
}

fn reply(question: &Message) -> Message {
    let mut message = Message::response(question.metadata.id, OpCode::Query);
    message.queries.clone_from(&question.queries);
    message
}

fn address(question: &Message) -> Message {
    let mut message = reply(question);
    for query in &question.queries {
        if query.query_type() == RecordType::A {
            let data = RData::A(A::new(192, 0, 2, 1));
            message.add_answer(Record::from_rdata(query.name().clone(), 5, data));
        }
    }
    message
}

/// A header alone, as old servers answer what they do not understand.
fn bare(question: &Message, code: ResponseCode) -> Vec<u8> {
    let [high, low] = question.metadata.id.to_be_bytes();
    vec![high, low, 0x81, 0x80 | code.low(), 0, 0, 0, 0, 0, 0, 0, 0]
}

fn rejection(question: &Message, code: ResponseCode) -> Vec<u8> {
    let mut message = reply(question);
    message.metadata.response_code = code;
    message.edns.clone_from(&question.edns);
    message.to_vec().unwrap()
}

fn plain_rejection(question: &Message, code: ResponseCode) -> Vec<u8> {
    let mut message = reply(question);
    message.metadata.response_code = code;
    message.to_vec().unwrap()
}

type Reject = fn(&Message) -> Option<Vec<u8>>;

#[tokio::test]
async fn a_server_that_rejects_edns_is_asked_without_from_then_on() {
    let modes: [(&str, Reject); 6] = [
        ("FORMERR", |it| {
            Some(plain_rejection(it, ResponseCode::FormErr))
        }),
        ("NOTIMP", |it| {
            Some(plain_rejection(it, ResponseCode::NotImp))
        }),
        ("BADVERS", |it| Some(rejection(it, ResponseCode::BADVERS))),
        ("bare FORMERR", |it| Some(bare(it, ResponseCode::FormErr))),
        ("bare NOTIMP", |it| Some(bare(it, ResponseCode::NotImp))),
        ("silence", |_| None),
    ];
    for (mode, reject) in modes {
        let rejected = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&rejected);
        let resolver = packet_server(move |question| {
            if question.edns.is_none() {
                return Some(address(question).to_vec().unwrap());
            }
            count.fetch_add(1, Ordering::Relaxed);
            reject(question)
        })
        .await;
        for _ in 0..4 {
            let lookup = soon(resolver.host("a.test", false, None)).await;
            assert_eq!(family(&lookup.answer.v4), one("192.0.2.1"), "{mode}");
            assert_eq!(lookup.answer.v6, Err(Failure::NoData), "{mode}");
        }
        // The first lookup found out, with one family's question or both.
        let rejected = rejected.load(Ordering::Relaxed);
        assert!((1..=2).contains(&rejected), "{mode}: {rejected}");
    }
}

/// One lost datagram says nothing about EDNS.
#[tokio::test]
async fn a_server_that_understands_edns_is_asked_with_it_after_a_loss() {
    let questions = Arc::new(AtomicUsize::new(0));
    let plain = Arc::new(AtomicUsize::new(0));
    let (count, count_plain) = (Arc::clone(&questions), Arc::clone(&plain));
    let resolver = packet_server(move |question| {
        if question.edns.is_none() {
            count_plain.fetch_add(1, Ordering::Relaxed);
        }
        let lost = count.fetch_add(1, Ordering::Relaxed) == 0;
        (!lost).then(|| address(question).to_vec().unwrap())
    })
    .await;
    for _ in 0..4 {
        let lookup = soon(resolver.host("a.test", false, None)).await;
        assert_eq!(family(&lookup.answer.v4), one("192.0.2.1"));
    }
    assert_eq!(questions.load(Ordering::Relaxed), 9);
    assert_eq!(plain.load(Ordering::Relaxed), 1);
}

/// Old servers answer like this; it is no reason to wait for more.
#[tokio::test]
async fn a_header_with_an_error_code_alone_is_an_answer() {
    for (code, failure) in [
        (ResponseCode::FormErr, Failure::FormErr),
        (ResponseCode::NotImp, Failure::NotImp),
        (ResponseCode::ServFail, Failure::ServFail),
        (ResponseCode::Refused, Failure::Refused),
    ] {
        let resolver = packet_server(move |question| Some(bare(question, code))).await;
        let lookup = soon(resolver.host("a.test", false, None)).await;
        assert_eq!(lookup.answer.v4, Err(failure));
        assert_eq!(lookup.answer.v6, Err(failure));
    }
}

#[tokio::test]
async fn a_server_that_asks_back_answers_nothing() {
    let resolver = server(Clone::clone).await;
    let lookup = soon(resolver.host("a.test", false, None)).await;
    assert_eq!(lookup.answer.v4, Err(Failure::Malformed));
}

/// A record that is cut in the middle, with the flag that says so.
#[tokio::test]
async fn a_truncated_message_need_not_be_readable() {
    let dns = Dns::new("set a.test A 192.0.2.1");
    let header = "0000_8300_0001_0001_0000_0000".replace('_', "");
    let question = "016104746573740000010001";
    let record = "C00C0001";
    dns.tell(&format!(
        "fail a.test A raw {header}{question}{record} times=1"
    ));
    let lookup = resolver(settings(&[&dns], LONG))
        .host("a.test", false, None)
        .await;
    assert_eq!(family(&lookup.answer.v4), one("192.0.2.1"));
    assert_eq!(
        (dns.count("a.test A udp"), dns.count("a.test A tcp")),
        (1, 1)
    );
}

/// More than was asked for: what does not fit the buffer is lost.
#[tokio::test]
async fn a_message_that_is_too_long_counts_as_truncated() {
    let resolver = server(|question| {
        let mut message = address(question);
        if let Some(record) = message.answers.first().cloned() {
            message.answers.extend(std::iter::repeat_n(record, 100));
        }
        message
    })
    .await;
    let lookup = soon(resolver.host("a.test", false, None)).await;
    // There is no TCP to ask.
    assert_eq!(lookup.answer.v4, Err(Failure::Truncated));
    assert_eq!(lookup.answer.v6, Err(Failure::NoData));
}
