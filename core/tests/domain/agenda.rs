//! Which query is asked when, and who gets the answer.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use dynamic_core::agenda::{Agenda, QueryId};
use proptest::prelude::*;

type Names = Agenda<&'static str, u32>;

fn seconds(n: u64) -> Duration {
    Duration::from_secs(n)
}

/// The queries that are due, in the order in which they are taken.
fn due(agenda: &mut Names, now: Instant) -> Vec<&'static str> {
    std::iter::from_fn(|| agenda.take_due(now).map(|(_, query, _)| query)).collect()
}

/// An answer: every subscriber that gets it wants the next after `after`.
fn answer(agenda: &mut Names, id: QueryId, now: Instant, after: u64) -> Vec<u32> {
    let (_, mut got) = agenda.take_subscribers(id, now).unwrap();
    let again: Vec<_> = got.iter().map(|s| (*s, seconds(after))).collect();
    agenda.answered(id, now, again);
    got.sort_unstable();
    got
}

#[test]
fn a_new_query_is_due_at_once_and_then_after_its_interval() {
    let (mut agenda, t) = (Names::default(), Instant::now());
    assert!(agenda.is_empty() && agenda.next_due().is_none());
    let id = agenda.subscribe("a", 1, t);
    assert_eq!(agenda.next_due(), Some(t));
    assert_eq!(due(&mut agenda, t), ["a"]);
    assert_eq!(due(&mut agenda, t + seconds(99)), [""; 0], "under way");
    assert_eq!(answer(&mut agenda, id, t + seconds(1), 10), [1]);
    assert_eq!(agenda.next_due(), Some(t + seconds(11)));
    assert!(due(&mut agenda, t + seconds(10)).is_empty());
    assert_eq!(due(&mut agenda, t + seconds(11)), ["a"]);
}

#[test]
fn queries_are_taken_in_the_order_of_their_times() {
    let (mut agenda, t) = (Names::default(), Instant::now());
    for (query, at) in [("c", 3), ("a", 1), ("b", 2)] {
        agenda.subscribe(query, 1, t + seconds(at));
    }
    assert_eq!(due(&mut agenda, t + seconds(2)), ["a", "b"]);
    assert_eq!(due(&mut agenda, t + seconds(3)), ["c"]);
}

#[test]
fn subscribers_of_one_question_share_one_query() {
    let (mut agenda, t) = (Names::default(), Instant::now());
    let id = agenda.subscribe("a", 1, t);
    assert_eq!(agenda.subscribe("a", 2, t), id);
    assert_ne!(agenda.subscribe("b", 1, t), id);
    assert_eq!(agenda.len(), 2);
    let mut taken = due(&mut agenda, t);
    taken.sort_unstable();
    assert_eq!(taken, ["a", "b"]);
    assert_eq!(answer(&mut agenda, id, t, 10), [1, 2]);
}

#[test]
fn who_subscribes_while_it_is_under_way_gets_that_answer() {
    let (mut agenda, t) = (Names::default(), Instant::now());
    let id = agenda.subscribe("a", 1, t);
    due(&mut agenda, t);
    agenda.subscribe("a", 2, t + seconds(1));
    assert!(
        due(&mut agenda, t + seconds(1)).is_empty(),
        "not asked twice"
    );
    let (asked, got) = agenda.take_subscribers(id, t + seconds(2)).unwrap();
    assert_eq!((asked, got), (t, vec![1, 2]));
}

#[test]
fn who_subscribes_between_two_queries_is_served_at_once() {
    let (mut agenda, t) = (Names::default(), Instant::now());
    let id = agenda.subscribe("a", 1, t);
    due(&mut agenda, t);
    answer(&mut agenda, id, t, 10);
    agenda.subscribe("a", 2, t + seconds(2));
    assert_eq!(due(&mut agenda, t + seconds(2)), ["a"]);
    // The first is due in 8 s, which is more than half of its interval.
    assert_eq!(answer(&mut agenda, id, t + seconds(2), 20), [2]);
    assert_eq!(agenda.next_due(), Some(t + seconds(10)));
    assert_eq!(due(&mut agenda, t + seconds(10)), ["a"]);
    // The second is due in 12 s, which is more than half of 20.
    assert_eq!(answer(&mut agenda, id, t + seconds(10), 10), [1]);
    assert_eq!(due(&mut agenda, t + seconds(20)), ["a"]);
    assert_eq!(answer(&mut agenda, id, t + seconds(20), 10), [1, 2]);
}

#[test]
fn an_answer_counts_for_all_that_are_due_within_half_their_interval() {
    let (mut agenda, t) = (Names::default(), Instant::now());
    let id = agenda.subscribe("a", 1, t);
    due(&mut agenda, t);
    answer(&mut agenda, id, t, 10);
    agenda.subscribe("a", 2, t + seconds(5));
    due(&mut agenda, t + seconds(5));
    assert_eq!(
        answer(&mut agenda, id, t + seconds(5), 10),
        [1, 2],
        "exactly half"
    );
}

#[test]
fn the_query_goes_with_its_last_subscriber() {
    let (mut agenda, t) = (Names::default(), Instant::now());
    let id = agenda.subscribe("a", 1, t);
    agenda.subscribe("a", 2, t);
    agenda.unsubscribe(id, &1);
    assert_eq!(due(&mut agenda, t), ["a"]);
    agenda.unsubscribe(id, &2);
    assert!(agenda.is_empty());
    assert_eq!(
        agenda.take_subscribers(id, t),
        None,
        "nobody wants the answer"
    );
    agenda.answered(id, t, [(2, seconds(1))]);
    agenda.unsubscribe(id, &2);
    assert!(agenda.is_empty());
    assert_ne!(agenda.subscribe("a", 3, t), id, "it is another one now");
}

#[test]
fn a_query_that_nobody_wants_again_is_gone() {
    let (mut agenda, t) = (Names::default(), Instant::now());
    let id = agenda.subscribe("a", 1, t);
    due(&mut agenda, t);
    agenda.take_subscribers(id, t).unwrap();
    agenda.answered(id, t, []);
    assert!(agenda.is_empty() && due(&mut agenda, t + seconds(99)).is_empty());
}

#[test]
fn times_of_queries_that_are_gone_or_moved_ask_nothing() {
    let (mut agenda, t) = (Names::default(), Instant::now());
    let id = agenda.subscribe("a", 1, t);
    agenda.unsubscribe(id, &1);
    assert_eq!(agenda.next_due(), Some(t), "out of date");
    assert!(due(&mut agenda, t).is_empty());
    assert_eq!(agenda.next_due(), None);

    let id = agenda.subscribe("a", 1, t);
    due(&mut agenda, t);
    answer(&mut agenda, id, t, 10);
    agenda.subscribe("a", 2, t + seconds(5));
    due(&mut agenda, t + seconds(5));
    answer(&mut agenda, id, t + seconds(5), 10);
    assert!(
        due(&mut agenda, t + seconds(14)).is_empty(),
        "moved from 10"
    );
    assert_eq!(due(&mut agenda, t + seconds(15)), ["a"]);
}

#[test]
fn nothing_is_asked_for_a_subscriber_that_has_left() {
    let (mut agenda, t) = (Names::default(), Instant::now());
    let id = agenda.subscribe("a", 1, t);
    due(&mut agenda, t);
    answer(&mut agenda, id, t, 60);
    agenda.subscribe("a", 2, t + seconds(1));
    agenda.unsubscribe(id, &2);
    assert!(due(&mut agenda, t + seconds(59)).is_empty());
    assert_eq!(due(&mut agenda, t + seconds(60)), ["a"]);
}

#[test]
fn the_name_in_force_comes_with_the_query_while_it_lasts() {
    let (mut agenda, t) = (Names::default(), Instant::now());
    let id = agenda.subscribe("a", 1, t);
    assert_eq!(agenda.take_due(t), Some((id, "a", None)));
    agenda.set_in_force(id, "a.example");
    answer(&mut agenda, id, t, 1);
    let in_force = Some("a.example".to_owned());
    assert_eq!(agenda.take_due(t + seconds(1)), Some((id, "a", in_force)));
    agenda.unsubscribe(id, &1);
    agenda.set_in_force(id, "a.example");
    let id = agenda.subscribe("a", 1, t);
    assert_eq!(agenda.take_due(t), Some((id, "a", None)));
}

#[derive(Clone, Debug)]
enum Step {
    Subscribe(usize, u32),
    Unsubscribe(usize, u32),
    Ask,
    Answer(usize, u64),
    Wait(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (0..3_usize, 0..4_u32).prop_map(|(q, s)| Step::Subscribe(q, s)),
        (0..3_usize, 0..4_u32).prop_map(|(q, s)| Step::Unsubscribe(q, s)),
        Just(Step::Ask),
        (0..3_usize, 1..20_u64).prop_map(|(q, i)| Step::Answer(q, i)),
        (0..10_u64).prop_map(Step::Wait),
    ]
}

proptest! {
    /// A subscriber is served by the time it wants, a query is asked at most
    /// once at a time, and never for nobody.
    #[test]
    fn every_subscriber_is_served_in_time(steps in prop::collection::vec(step(), 0..80)) {
        const QUERIES: [&str; 3] = ["a", "b", "c"];
        let (mut agenda, mut now) = (Names::default(), Instant::now());
        // When each subscriber is due, and which queries are under way.
        let mut subscribers: BTreeMap<(usize, u32), (QueryId, Instant)> = BTreeMap::new();
        let mut under_way: BTreeMap<usize, QueryId> = BTreeMap::new();
        for step in steps {
            match step {
                Step::Subscribe(q, s) => {
                    subscribers
                        .entry((q, s))
                        .or_insert_with(|| (agenda.subscribe(QUERIES[q], s, now), now));
                }
                Step::Unsubscribe(q, s) => {
                    if let Some((id, _)) = subscribers.remove(&(q, s)) {
                        agenda.unsubscribe(id, &s);
                        if !subscribers.keys().any(|(known, _)| *known == q) {
                            under_way.remove(&q);
                        }
                    }
                }
                Step::Ask => {
                    while let Some((id, query, _)) = agenda.take_due(now) {
                        let q = QUERIES.iter().position(|known| *known == query).unwrap();
                        let wanted = subscribers
                            .iter()
                            .any(|((known, _), (_, due))| *known == q && *due <= now);
                        prop_assert!(wanted);
                        prop_assert_eq!(under_way.insert(q, id), None);
                    }
                    for ((q, _), (_, due)) in &subscribers {
                        prop_assert!(*due > now || under_way.contains_key(q));
                    }
                }
                Step::Answer(q, interval) => {
                    if let Some(id) = under_way.remove(&q) {
                        for s in answer(&mut agenda, id, now, interval) {
                            let known = subscribers.get_mut(&(q, s)).unwrap();
                            *known = (id, now + seconds(interval));
                        }
                        for ((known, _), (_, due)) in &subscribers {
                            prop_assert!(*known != q || *due > now);
                        }
                    }
                }
                Step::Wait(n) => now += seconds(n),
            }
            let queries = (0..3).filter(|q| subscribers.keys().any(|(known, _)| known == q));
            prop_assert_eq!(agenda.len(), queries.count());
        }
    }
}
