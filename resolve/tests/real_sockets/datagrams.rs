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
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let address = socket.local_addr().unwrap();
    tokio::spawn(async move {
        let mut buffer = [0; 2048];
        while let Ok((length, from)) = socket.recv_from(&mut buffer).await {
            let question = Message::from_vec(&buffer[..length]).unwrap();
            let packet = answer(&question).to_vec().unwrap();
            socket.send_to(&packet, from).await.unwrap();
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

#[tokio::test]
async fn a_server_that_knows_no_edns_is_asked_without() {
    for code in [ResponseCode::FormErr, ResponseCode::NotImp] {
        let refused = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&refused);
        let resolver = server(move |question| {
            if question.edns.is_none() {
                return address(question);
            }
            count.fetch_add(1, Ordering::Relaxed);
            let mut message = reply(question);
            message.metadata.response_code = code;
            message
        })
        .await;
        for _ in 0..4 {
            let lookup = soon(resolver.host("a.test", false)).await;
            assert_eq!(family(&lookup.answer.v4), one("192.0.2.1"));
            assert_eq!(lookup.answer.v6, Err(Failure::NoData));
        }
        // Both families' first questions found out.
        assert_eq!(refused.load(Ordering::Relaxed), 2);
    }
}

#[tokio::test]
async fn a_server_that_asks_back_answers_nothing() {
    let resolver = server(Clone::clone).await;
    let lookup = soon(resolver.host("a.test", false)).await;
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
        .host("a.test", false)
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
    let lookup = soon(resolver.host("a.test", false)).await;
    // There is no TCP to ask.
    assert_eq!(lookup.answer.v4, Err(Failure::Truncated));
    assert_eq!(lookup.answer.v6, Err(Failure::NoData));
}
