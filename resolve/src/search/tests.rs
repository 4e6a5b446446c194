//! The search list: the names that are asked, and the answer that counts.

use std::time::Duration;

use dynamic_core::answer::{Addresses, SrvRecord};
use proptest::prelude::*;

use super::*;
use crate::host::HostAnswers;

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

fn host(v4: FamilyAnswer, v6: FamilyAnswer) -> HostAnswers {
    HostAnswers {
        v4: Some(v4),
        v6: Some(v6),
    }
}

fn both(failure: Failure) -> HostAnswers {
    host(Err(failure), Err(failure))
}

/// Asks a.test, b.test, … for the answers while nothing is in force; the names
/// asked, and the outcome.
fn search(answers: Vec<HostAnswers>) -> (Vec<String>, Option<(String, HostAnswers)>) {
    search_holding(None, answers)
}

/// The same with the addresses of a name in force.
fn search_holding(
    in_force: Option<&str>,
    answers: Vec<HostAnswers>,
) -> (Vec<String>, Option<(String, HostAnswers)>) {
    let names: Vec<String> = ('a'..)
        .take(answers.len())
        .map(|letter| format!("{letter}.test"))
        .collect();
    let mut search = Search::new(names, in_force);
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
fn a_name_whose_state_is_unknown_is_passed_over_while_nothing_is_in_force() {
    let good = host(found("192.0.2.2"), found("::2"));
    for failure in &FAILURES[2..] {
        for unknown in [
            both(*failure),
            host(Err(Failure::NxDomain), Err(*failure)),
            host(Err(*failure), Err(Failure::NoData)),
        ] {
            let (asked, outcome) = search(vec![
                both(Failure::NxDomain),
                unknown.clone(),
                both(Failure::NoData),
                good.clone(),
            ]);
            assert_eq!(asked.len(), 4, "{failure}");
            assert_eq!(outcome, Some(("d.test".to_owned(), good.clone())));

            // What is not known decides where nothing is found.
            let (_, outcome) = search(vec![
                both(Failure::NxDomain),
                both(Failure::NoData),
                unknown.clone(),
                both(Failure::Refused),
            ]);
            assert_eq!(outcome, Some(("c.test".to_owned(), unknown)));
        }
    }
}

#[test]
fn the_name_in_force_is_not_passed_over_when_it_fails() {
    let good = host(found("192.0.2.2"), found("::2"));
    for failure in &FAILURES[2..] {
        for unknown in [both(*failure), host(Err(Failure::NxDomain), Err(*failure))] {
            let (asked, outcome) = search_holding(
                Some("b.test"),
                vec![both(Failure::ServFail), unknown.clone(), good.clone()],
            );
            assert_eq!(asked, ["a.test", "b.test"], "{failure}");
            assert_eq!(outcome, Some(("b.test".to_owned(), unknown)));
        }
    }
}

#[test]
fn the_name_in_force_gives_way_to_one_before_it_and_when_it_is_gone() {
    let good = host(found("192.0.2.1"), found("::1"));
    let (asked, outcome) = search_holding(Some("b.test"), vec![good.clone(), good.clone()]);
    assert_eq!(asked, ["a.test"]);
    assert_eq!(outcome, Some(("a.test".to_owned(), good.clone())));
    for gone in [both(Failure::NxDomain), both(Failure::NoData)] {
        let (_, outcome) = search_holding(
            Some("b.test"),
            vec![both(Failure::ServFail), gone, good.clone()],
        );
        assert_eq!(outcome, Some(("c.test".to_owned(), good.clone())));
    }
}

#[test]
fn a_name_in_force_that_is_not_in_the_list_any_more_holds_nothing() {
    let good = host(found("192.0.2.1"), found("::1"));
    let (_, outcome) = search_holding(Some("z.test"), vec![both(Failure::ServFail), good.clone()]);
    assert_eq!(outcome, Some(("b.test".to_owned(), good)));
    let search: Search<HostAnswers> = Search::new(list(&["a.test"]), Some("z.test"));
    assert!(!search.is_before_in_force());
}

#[test]
fn the_names_before_the_one_in_force_are_known() {
    let names = list(&["a.test", "b.test", "c.test"]);
    let mut search: Search<HostAnswers> = Search::new(names, Some("b.test"));
    let mut before = Vec::new();
    while search.ask().is_some() {
        before.push((search.is_before_in_force(), search.left()));
        search.answer(both(Failure::NxDomain));
    }
    assert_eq!(before, [(true, 3), (false, 2), (false, 1)]);
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
    let good = host(found("192.0.2.1"), found("::1"));
    let mut search = Search::new(list(&["a.test", "b.test"]), None);
    search.answer(good.clone());
    assert_eq!((search.ask(), search.left()), (None, 1));
    search.answer(both(Failure::ServFail));
    assert_eq!(search.into_outcome(), Some(("a.test".to_owned(), good)));
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
    fn the_name_that_counts_most_is_the_outcome(
        answers in proptest::collection::vec((any_family(), any_family()), 1..6),
        in_force in 0_usize..6,
    ) {
        let answers: Vec<HostAnswers> = answers.into_iter().map(|(v4, v6)| host(v4, v6)).collect();
        let held = ["a", "b", "c", "d", "e", "f"].map(|letter| format!("{letter}.test"));
        let (asked, outcome) = search_holding(held.get(in_force).map(String::as_str), answers.clone());
        let (name, answer) = outcome.unwrap();
        let index = asked.iter().position(|asked| *asked == name).unwrap();
        prop_assert_eq!(&answer, &answers[index]);
        let stops = |(index, answer): (usize, &HostAnswers)| match answer.outcome() {
            SearchOutcome::Found => true,
            SearchOutcome::Unknown => index == in_force,
            _ => false,
        };
        if let Some(stop) = answers.iter().enumerate().position(stops) {
            prop_assert_eq!(index, stop);
            prop_assert_eq!(asked.len(), stop + 1);
        } else {
            prop_assert_eq!(asked.len(), answers.len());
            let most = answers.iter().map(SearchAnswer::outcome).max().unwrap();
            let first = answers.iter().position(|it| it.outcome() == most).unwrap();
            prop_assert_eq!(index, first);
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
