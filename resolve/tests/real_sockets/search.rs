//! The search list where servers fail for some of its domains.

use dynamic_core::answer::{Failure, Family};
use dynamic_resolve::{Families, HostQuery, Resolver, Settings};

use crate::support::{Dns, ENDLESS, LONG, SHORT, family, one, resolver, settings, soon};

fn searching(dns: &Dns, timeout: std::time::Duration) -> Resolver {
    resolver(Settings {
        search: ["one.test", "two.test"].map(str::to_owned).to_vec(),
        ..settings(&[dns], timeout)
    })
}

fn query(name: &str, in_force: Option<&str>) -> HostQuery {
    HostQuery {
        name: name.to_owned(),
        in_force: in_force.map(str::to_owned),
        ..HostQuery::default()
    }
}

#[tokio::test]
async fn a_domain_whose_servers_fail_is_passed_over() {
    for mode in ["servfail", "refused", "formerr", "garbage"] {
        let dns = Dns::new("set web.two.test A 192.0.2.2");
        dns.tell(&format!("fail web.one.test {mode}"));
        let lookup = soon(searching(&dns, ENDLESS).host("web", false, None)).await;
        assert_eq!(family(&lookup.answer.v4), one("192.0.2.2"), "{mode}");
        assert_eq!(lookup.report.name, "web.two.test");
        assert_eq!(lookup.report.passed_over.len(), 2, "{mode}");
        assert_eq!(lookup.report.faults, [], "{mode}");
    }
}

/// Both families are judged together: NXDOMAIN for A alone is no end.
#[tokio::test]
async fn a_domain_that_fails_for_one_family_is_passed_over() {
    let dns = Dns::new("set web.two.test A 192.0.2.2\nfail web.one.test AAAA servfail");
    let lookup = soon(searching(&dns, ENDLESS).host("web", false, None)).await;
    assert_eq!(family(&lookup.answer.v4), one("192.0.2.2"));
}

/// The time-out is for the whole lookup; each candidate has its share.
#[tokio::test]
async fn a_silent_domain_leaves_time_for_those_behind_it() {
    let dns = Dns::new("set web A 192.0.2.3\nfail web.one.test drop\nfail web.two.test drop");
    let lookup = searching(&dns, SHORT * 3).host("web", false, None).await;
    assert_eq!(family(&lookup.answer.v4), one("192.0.2.3"));
    assert_eq!(lookup.report.name, "web");
}

/// NXDOMAIN holds for all record types.
#[tokio::test]
async fn a_family_without_an_answer_does_not_hold_up_an_nxdomain() {
    let dns = Dns::new("set web.two.test A 192.0.2.2\nfail web.one.test AAAA drop");
    let lookup = soon(searching(&dns, ENDLESS).host("web", false, None)).await;
    assert_eq!(family(&lookup.answer.v4), one("192.0.2.2"));
}

#[tokio::test]
async fn the_name_in_force_is_held_while_its_servers_fail() {
    let dns = Dns::new("set web A 192.0.2.3\nfail web.two.test servfail");
    let resolver = searching(&dns, LONG);
    let mut lookup = resolver.lookup_host(query("web", Some("web.two.test")));
    let answer = lookup.next().await.unwrap();
    assert_eq!(answer.answer.v4, Some(Err(Failure::ServFail)));
    assert_eq!(answer.report.name, "web.two.test");
    assert_eq!(
        answer.report.failure("A", Failure::ServFail),
        format!("SERVFAIL from {} for web.two.test", dns.address())
    );
    assert_eq!(dns.count("web"), 0);
    // While nothing is in force, the next one will do.
    let lookup = resolver.host("web", false, None).await;
    assert_eq!(family(&lookup.answer.v4), one("192.0.2.3"));
}

#[tokio::test]
async fn a_silent_domain_before_the_name_in_force_is_passed_over_soon() {
    let dns = Dns::new("set web.two.test A 192.0.2.2\nfail web.one.test drop");
    let mut lookup = searching(&dns, ENDLESS).lookup_host(query("web", Some("web.two.test")));
    let answer = soon(lookup.next()).await.unwrap();
    assert_eq!(family(&answer.answer.v4.unwrap()), one("192.0.2.2"));
}

#[tokio::test]
async fn one_family_of_the_name_in_force_takes_one_question() {
    let dns = Dns::new("set web.two.test A 192.0.2.2\nset web.two.test AAAA 2001:db8::2");
    let mut lookup = searching(&dns, LONG).lookup_host(HostQuery {
        families: Families::Only(Family::V6),
        ..query("web", Some("web.two.test"))
    });
    let answer = lookup.next().await.unwrap().answer;
    assert_eq!(family(&answer.v6.unwrap()), one("2001:db8::2"));
    assert_eq!(answer.v4, None);
    assert!(lookup.next().await.is_none());
    assert_eq!((dns.count("*"), dns.count("web.two.test AAAA")), (1, 1));
}

/// The name has moved: what one family says about the old one is not enough.
#[tokio::test]
async fn a_family_whose_name_in_force_is_gone_is_searched_with_the_other_one() {
    let dns = Dns::new("set web A 192.0.2.3\nset web AAAA 2001:db8::3");
    let mut lookup = searching(&dns, LONG).lookup_host(HostQuery {
        families: Families::Only(Family::V6),
        ..query("web", Some("web.two.test"))
    });
    let first = lookup.next().await.unwrap();
    assert_eq!(first.report.name, "web");
    let mut answer = first.answer;
    if let Some(rest) = lookup.next().await {
        answer.v4 = answer.v4.or(rest.answer.v4);
        answer.v6 = answer.v6.or(rest.answer.v6);
    }
    assert_eq!(family(&answer.v4.unwrap()), one("192.0.2.3"));
    assert_eq!(family(&answer.v6.unwrap()), one("2001:db8::3"));
}

#[tokio::test]
async fn services_are_held_as_well() {
    let dns = Dns::new("set _x._tcp.web.two.test SRV 1 1 1 a.test");
    dns.tell("fail _x._tcp.web.one.test servfail");
    let resolver = searching(&dns, LONG);
    let held = Some("_x._tcp.web.one.test");
    let lookup = resolver.srv("_x._tcp.web", false, held).await;
    assert_eq!(lookup.answer, Err(Failure::ServFail));
    assert_eq!(lookup.report.name, "_x._tcp.web.one.test");
    let lookup = resolver.srv("_x._tcp.web", false, None).await;
    assert_eq!(lookup.report.name, "_x._tcp.web.two.test");
    assert_eq!(lookup.answer.unwrap().records.len(), 1);
}
