//! The search list: the names that are asked, and the answer that counts.

use std::time::Duration;

use dynamic_core::answer::{Addresses, SrvRecord};
use proptest::prelude::*;

use super::*;

const FAILURES: [Failure; 12] = [
    Failure::NxDomain,
    Failure::NoData,
    Failure::ServFail,
    Failure::Refused,
    Failure::FormErr,
    Failure::NotImp,
    Failure::ErrorCode,
    Failure::Timeout,
    Failure::Truncated,
    Failure::Malformed,
    Failure::NoServers,
    Failure::Unreachable,
];

fn list(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[allow(
    clippy::unnecessary_wraps,
    reason = "the answer of a family is a Result"
)]
fn found(address: &str) -> FamilyAnswer {
    Ok(Addresses {
        addresses: vec![address.parse().unwrap()],
        ttl: Some(Duration::from_secs(60)),
    })
}

fn host(v4: FamilyAnswer, v6: FamilyAnswer) -> HostAnswer {
    HostAnswer { v4, v6 }
}

fn both(failure: Failure) -> HostAnswer {
    host(Err(failure), Err(failure))
}

/// Asks a.test, b.test, … for the answers; the names asked, and the outcome.
fn search(answers: Vec<HostAnswer>) -> (Vec<String>, Option<(String, HostAnswer)>) {
    let names: Vec<String> = ('a'..)
        .take(answers.len())
        .map(|letter| format!("{letter}.test"))
        .collect();
    let mut search = Search::new(names);
    let mut asked = Vec::new();
    let mut answers = answers.into_iter();
    while let Some(name) = search.ask().map(str::to_owned) {
        asked.push(name);
        search.answer(answers.next().unwrap());
    }
    (asked, search.into_outcome())
}

#[test]
fn a_short_name_goes_through_the_list_first() {
    let domains = list(&["ns.svc.test", "svc.test", "test"]);
    assert_eq!(
        search_candidates("web", false, &domains, 1),
        ["web.ns.svc.test", "web.svc.test", "web.test", "web"]
    );
    assert_eq!(
        search_candidates("web.ns", false, &domains, 5),
        [
            "web.ns.ns.svc.test",
            "web.ns.svc.test",
            "web.ns.test",
            "web.ns"
        ]
    );
}

#[test]
fn a_name_with_enough_dots_is_asked_as_it_is_first() {
    let domains = list(&["svc.test"]);
    assert_eq!(
        search_candidates("a.example", false, &domains, 1),
        ["a.example", "a.example.svc.test"]
    );
    assert_eq!(
        search_candidates("web", false, &domains, 0),
        ["web", "web.svc.test"]
    );
}

#[test]
fn a_name_with_a_trailing_dot_is_asked_alone() {
    let domains = list(&["svc.test"]);
    assert_eq!(search_candidates("web", true, &domains, 1), ["web"]);
    assert_eq!(search_candidates("a.b.c", true, &domains, 1), ["a.b.c"]);
}

#[test]
fn no_list_means_the_name_alone() {
    assert_eq!(search_candidates("web", false, &[], 1), ["web"]);
    assert_eq!(search_candidates("", false, &[], 1), Vec::<String>::new());
}

#[test]
fn the_root_in_the_list_is_the_name_itself_once() {
    assert_eq!(
        search_candidates("web", false, &list(&["", "svc.test", "svc.test"]), 1),
        ["web", "web.svc.test"]
    );
    assert_eq!(
        search_candidates("web.a", false, &list(&["svc.test", ""]), 1),
        ["web.a", "web.a.svc.test"]
    );
}

#[test]
fn names_that_are_too_long_are_left_out() {
    let name = ["a"; 125].join(".");
    assert_eq!(name.len(), 249);
    assert_eq!(
        search_candidates(&name, false, &list(&["abcd", "abc", "b"]), 1),
        [name.clone(), format!("{name}.abc"), format!("{name}.b")]
    );
    assert!(search_candidates(&"a".repeat(254), true, &[], 1).is_empty());
}

#[test]
fn the_search_goes_on_to_a_name_with_addresses() {
    let good = host(found("192.0.2.1"), Err(Failure::NoData));
    let (asked, outcome) = search(vec![
        both(Failure::NxDomain),
        both(Failure::NoData),
        host(Err(Failure::NxDomain), Err(Failure::NoData)),
        good.clone(),
        host(found("192.0.2.2"), found("::2")),
    ]);
    assert_eq!(asked, ["a.test", "b.test", "c.test", "d.test"]);
    assert_eq!(outcome, Some(("d.test".to_owned(), good)));
}

#[test]
fn one_family_is_enough_to_stop() {
    for failure in FAILURES {
        for good in [
            host(found("192.0.2.1"), Err(failure)),
            host(Err(failure), found("::1")),
        ] {
            let (asked, outcome) = search(vec![good.clone(), both(Failure::NxDomain)]);
            assert_eq!(asked.len(), 1, "{failure}");
            assert_eq!(outcome, Some(("a.test".to_owned(), good)));
        }
    }
}

#[test]
fn a_name_whose_state_is_unknown_ends_the_search() {
    for failure in &FAILURES[2..] {
        for unknown in [
            both(*failure),
            host(Err(Failure::NxDomain), Err(*failure)),
            host(Err(*failure), Err(Failure::NoData)),
        ] {
            let (asked, outcome) = search(vec![
                both(Failure::NxDomain),
                both(Failure::NoData),
                unknown.clone(),
                host(found("192.0.2.2"), found("::2")),
            ]);
            assert_eq!(asked.len(), 3, "{failure}");
            assert_eq!(outcome, Some(("c.test".to_owned(), unknown)));
        }
    }
}

#[test]
fn a_name_that_exists_gives_the_negative_answer() {
    let (asked, outcome) = search(vec![
        both(Failure::NxDomain),
        both(Failure::NoData),
        both(Failure::NoData),
        both(Failure::NxDomain),
    ]);
    assert_eq!(asked.len(), 4);
    assert_eq!(outcome, Some(("b.test".to_owned(), both(Failure::NoData))));

    let (_, outcome) = search(vec![both(Failure::NxDomain), both(Failure::NxDomain)]);
    assert_eq!(
        outcome,
        Some(("a.test".to_owned(), both(Failure::NxDomain)))
    );
}

#[test]
fn nothing_to_ask_gives_no_outcome() {
    assert_eq!(search(Vec::new()), (Vec::new(), None));
}

#[test]
fn an_answer_after_the_end_changes_nothing() {
    let mut search = Search::new(list(&["a.test", "b.test"]));
    search.answer(both(Failure::ServFail));
    assert_eq!(search.ask(), None);
    search.answer(host(found("192.0.2.1"), found("::1")));
    assert_eq!(
        search.into_outcome(),
        Some(("a.test".to_owned(), both(Failure::ServFail)))
    );
}

#[test]
fn an_answer_without_records_is_no_data() {
    let none = Ok(Addresses {
        addresses: Vec::new(),
        ttl: None,
    });
    assert_eq!(host(none.clone(), none).outcome(), SearchOutcome::NoData);
    let srv = |records| SrvAnswer { records, ttl: None };
    let record = SrvRecord {
        priority: 0,
        weight: 0,
        port: 80,
        target: "a.test".to_owned(),
    };
    assert_eq!(Ok(srv(Vec::new())).outcome(), SearchOutcome::NoData);
    assert_eq!(Ok(srv(vec![record])).outcome(), SearchOutcome::Found);
    assert_eq!(
        Err::<SrvAnswer, _>(Failure::NxDomain).outcome(),
        SearchOutcome::NxDomain
    );
    assert_eq!(
        Err::<SrvAnswer, _>(Failure::Timeout).outcome(),
        SearchOutcome::Unknown
    );
}

fn any_family() -> impl Strategy<Value = FamilyAnswer> {
    prop_oneof![
        proptest::sample::select(FAILURES.to_vec()).prop_map(Err),
        Just(found("192.0.2.1")),
    ]
}

proptest! {
    #[test]
    fn the_first_name_that_settles_it_is_the_outcome(
        answers in proptest::collection::vec((any_family(), any_family()), 1..6)
    ) {
        let answers: Vec<HostAnswer> = answers.into_iter().map(|(v4, v6)| host(v4, v6)).collect();
        let negative = |answer: &HostAnswer| {
            [&answer.v4, &answer.v6]
                .iter()
                .all(|family| matches!(family, Err(Failure::NxDomain | Failure::NoData)))
        };
        let stop = answers.iter().position(|answer| !negative(answer));
        let (asked, outcome) = search(answers.clone());
        let (name, answer) = outcome.unwrap();
        let index = asked.iter().position(|asked| *asked == name).unwrap();
        prop_assert_eq!(&answer, &answers[index]);
        if let Some(stop) = stop {
            prop_assert_eq!(index, stop);
            prop_assert_eq!(asked.len(), stop + 1);
        } else {
            prop_assert_eq!(asked.len(), answers.len());
        }
    }

    #[test]
    fn candidates_are_full_names_and_differ(
        name in "[a-z]{1,3}(\\.[a-z]{1,3}){0,3}",
        absolute: bool,
        domains in proptest::collection::vec("([a-z]{1,2}(\\.[a-z]{1,2}){0,2})?", 0..5),
        ndots in 0_u8..=15,
    ) {
        let candidates = search_candidates(&name, absolute, &domains, ndots);
        prop_assert!(candidates.contains(&name));
        let mut sorted = candidates.clone();
        sorted.sort();
        sorted.dedup();
        prop_assert_eq!(sorted.len(), candidates.len());
        for candidate in &candidates {
            prop_assert!(candidate.starts_with(&name) && !candidate.ends_with('.'));
        }
        if absolute {
            prop_assert_eq!(candidates, vec![name]);
        } else {
            let mut wanted = domains;
            wanted.retain(|domain| !domain.is_empty());
            wanted.sort();
            wanted.dedup();
            prop_assert_eq!(candidates.len(), wanted.len() + 1);
        }
    }
}
