//! Many questions at once, and some that nobody answers.

use std::time::Duration;

use dynamic_core::answer::Failure;
use dynamic_resolve::{Resolver, Settings, SystemFiles, Transport};
use futures_util::future::join_all;
use tokio::task::JoinSet;

use crate::support::{Dns, LONG, family, one, over, resolver, settings, soon};

const ZONE: &str = "\
set *.good.test A 192.0.2.1
set *.hole.test A 192.0.2.2
fail *.hole.test drop
set _x._tcp.a.test SRV 1 1 1 n1.good.test
add _x._tcp.a.test SRV 1 1 1 n2.good.test
";

const TRANSPORTS: [&[Transport]; 2] = [&[Transport::Udp, Transport::Tcp], &[Transport::Tcp]];

const HOLES: [&str; 2] = ["n0.hole.test", "n1.hole.test"];

fn spawn(tasks: &mut JoinSet<()>, resolver: &Resolver, name: String) {
    let resolver = resolver.clone();
    tasks.spawn(async move {
        let lookup = resolver.host(&name, false, None).await;
        assert_eq!(family(&lookup.answer.v4), one("192.0.2.1"), "{name}");
    });
}

async fn good(resolver: &Resolver, names: std::ops::Range<usize>) {
    let mut tasks = JoinSet::new();
    for n in names {
        spawn(&mut tasks, resolver, format!("n{n}.good.test"));
    }
    tasks.join_all().await;
}

#[tokio::test]
async fn a_name_that_nobody_answers_for_delays_no_other() {
    for transports in TRANSPORTS {
        let dns = Dns::new(ZONE);
        let resolver = resolver(over(transports, settings(&[&dns], LONG)));
        let hole = tokio::spawn({
            let resolver = resolver.clone();
            async move { resolver.host("n.hole.test", false, None).await }
        });
        dns.wait("n.hole.test 2").await;
        good(&resolver, 0..50).await;
        assert!(!hole.is_finished());
        hole.abort();
    }
}

#[tokio::test]
async fn a_thousand_names_are_answered_with_few_questions_under_way() {
    let dns = Dns::new(ZONE);
    let resolver = resolver(Settings {
        outstanding: 8,
        ..settings(&[&dns], LONG)
    });
    good(&resolver, 0..1000).await;
    assert!(dns.count("*.good.test A") >= 1000);
}

/// Nobody answers, so what arrives is what was under way.
#[tokio::test]
async fn no_more_questions_are_under_way_than_the_limit_says() {
    for (outstanding, parallel, questions) in [(3, 0, 3), (0, 2, 4), (1, 1, 1), (0, 0, 20)] {
        let dns = Dns::new(ZONE);
        // TCP: a datagram would be sent again.
        let resolver = resolver(Settings {
            outstanding,
            parallel,
            ..over(&[Transport::Tcp], settings(&[&dns], LONG))
        });
        let mut tasks = JoinSet::new();
        for n in 0..10 {
            let resolver = resolver.clone();
            tasks
                .spawn(async move { resolver.host(&format!("n{n}.hole.test"), false, None).await });
        }
        dns.wait(&format!("*.hole.test {questions}")).await;
        // Another server is not concerned, and asked later.
        let other = Dns::new("set a.good.test A 192.0.2.1");
        let unlimited = self::resolver(settings(&[&other], LONG));
        unlimited.host("a.good.test", false, None).await;
        assert_eq!(dns.count("*.hole.test"), questions);
        tasks.shutdown().await;
    }
}

#[tokio::test]
async fn slots_come_back_when_a_lookup_is_given_up() {
    let dns = Dns::new(ZONE);
    let resolver = resolver(Settings {
        outstanding: 1,
        parallel: 1,
        ..settings(&[&dns], LONG)
    });
    for _ in 0..3 {
        let hole = tokio::spawn({
            let resolver = resolver.clone();
            async move { resolver.host("n.hole.test", false, None).await }
        });
        dns.wait("n.hole.test 1").await;
        hole.abort();
        assert!(hole.await.unwrap_err().is_cancelled());
        good(&resolver, 0..1).await;
        dns.tell("reset-count");
    }
}

/// Once they are known, names that nobody answers for take half of the slots.
#[tokio::test]
async fn a_zone_that_nobody_answers_for_leaves_room_for_others() {
    let dns = Dns::new(ZONE);
    let dir = tempfile::tempdir().unwrap();
    let conf = dir.path().join("resolv.conf");
    let wait = |seconds: u32| {
        let (ip, port) = (dns.address().ip(), dns.address().port());
        let options = format!("timeout:{seconds} attempts:1 use-vc");
        let text = format!("nameserver [{ip}]:{port}\noptions {options}\n");
        std::fs::write(&conf, text).unwrap();
    };
    let settings = Settings {
        outstanding: 4,
        ..Settings::default()
    };
    let files = SystemFiles::new(&conf, "/nonexistent/hosts", "/nonexistent/nsswitch.conf")
        .recheck(Duration::ZERO);
    let resolver = Resolver::new(settings, files);
    wait(1);
    for lookup in join_all(HOLES.map(|name| resolver.host(name, false, None))).await {
        assert_eq!(lookup.answer.v4, Err(Failure::Timeout));
    }
    // From now on they hold their slots for longer than this test takes.
    wait(30);
    dns.tell("reset-count");
    let mut holes = JoinSet::new();
    for name in HOLES {
        let resolver = resolver.clone();
        holes.spawn(async move { resolver.host(name, false, None).await });
    }
    dns.wait("*.hole.test 2").await;
    soon(good(&resolver, 0..20)).await;
    assert_eq!(dns.count("*.hole.test"), 2);
    holes.shutdown().await;
}

#[tokio::test]
async fn a_service_does_not_keep_the_only_slot() {
    let dns = Dns::new(ZONE);
    let resolver = resolver(Settings {
        outstanding: 1,
        parallel: 1,
        ..settings(&[&dns], LONG)
    });
    let records = resolver
        .srv("_x._tcp.a.test", false, None)
        .await
        .answer
        .unwrap()
        .records;
    let targets = records
        .iter()
        .map(|record| resolver.host(&record.target, false, None));
    for lookup in join_all(targets).await {
        assert_eq!(family(&lookup.answer.v4), one("192.0.2.1"));
    }
}

/// The futures can be spawned on any runtime.
#[tokio::test]
async fn lookups_can_move_between_threads() {
    fn check<T: Send>(value: T) -> T {
        value
    }
    let resolver = resolver(settings(&[], LONG));
    check(resolver.host("a.test", false, None)).await;
    let _ = check(resolver.srv("a.test", false, None)).await;
    check(resolver);
}
