//! What is to be asked when, and on whose behalf.
//!
//! Domains of several directors and VCLs that ask the same of the same servers
//! share one query: it is asked when the first of them is due, and every
//! subscriber that is due about then gets the answer.
//!
//! `Q` is a query, `S` names a subscriber. Instants are arguments.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::hash::Hash;
use std::time::{Duration, Instant};

/// The identity of a query while it has subscribers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct QueryId(u64);

/// A subscriber, and when it wants the next answer.
#[derive(Debug)]
struct Subscription<S> {
    subscriber: S,
    due: Instant,
    /// The current time between two answers. An answer counts for all that are
    /// due within half of it, so that subscribers that began at different
    /// times end up sharing their queries.
    interval: Duration,
}

impl<S> Subscription<S> {
    fn is_due(&self, now: Instant) -> bool {
        self.due <= now + self.interval / 2
    }
}

#[derive(Debug)]
struct Entry<Q, S> {
    query: Q,
    subscriptions: Vec<Subscription<S>>,
    /// The full name that gave the last good answer.
    in_force: Option<String>,
    /// When it was sent, while it is under way.
    asked: Option<Instant>,
    /// The instant that its entry in the heap stands for.
    due: Option<Instant>,
}

/// All queries that have subscribers, by the time when they are due.
#[derive(Debug)]
pub struct Agenda<Q, S> {
    entries: HashMap<QueryId, Entry<Q, S>>,
    ids: HashMap<Q, QueryId>,
    heap: BinaryHeap<Reverse<(Instant, QueryId)>>,
    last_id: u64,
}

impl<Q, S> Default for Agenda<Q, S> {
    fn default() -> Self {
        Agenda {
            entries: HashMap::new(),
            ids: HashMap::new(),
            heap: BinaryHeap::new(),
            last_id: 0,
        }
    }
}

impl<Q: Clone + Eq + Hash, S: PartialEq> Agenda<Q, S> {
    /// Adds a subscriber, which is due at once.
    pub fn subscribe(&mut self, query: Q, subscriber: S, now: Instant) -> QueryId {
        let id = *self.ids.entry(query.clone()).or_insert_with(|| {
            self.last_id += 1;
            QueryId(self.last_id)
        });
        let entry = self.entries.entry(id).or_insert_with(|| Entry {
            query,
            subscriptions: Vec::new(),
            in_force: None,
            asked: None,
            due: None,
        });
        entry.subscriptions.push(Subscription {
            subscriber,
            due: now,
            interval: Duration::ZERO,
        });
        if entry.asked.is_none() && entry.due.is_none_or(|due| now < due) {
            entry.due = Some(now);
            self.heap.push(Reverse((now, id)));
        }
        id
    }

    /// Removes a subscriber, and the query with the last one.
    pub fn unsubscribe(&mut self, id: QueryId, subscriber: &S) {
        let Some(entry) = self.entries.get_mut(&id) else {
            return;
        };
        entry
            .subscriptions
            .retain(|known| known.subscriber != *subscriber);
        if entry.subscriptions.is_empty() {
            self.ids.remove(&entry.query);
            self.entries.remove(&id);
            return;
        }
        // It was perhaps due only for the one that left.
        let due = entry.subscriptions.iter().map(|s| s.due).min();
        if entry.asked.is_none() && entry.due != due {
            entry.due = due;
            self.heap.extend(due.map(|due| Reverse((due, id))));
        }
    }

    /// When the next query is to be asked. It may turn out that it is not, as
    /// its subscribers have left.
    #[must_use]
    pub fn next_due(&self) -> Option<Instant> {
        self.heap.peek().map(|Reverse((due, _))| *due)
    }

    /// Notes the full name that gave addresses or targets: the search list is
    /// not gone through again while that name answers.
    pub fn set_in_force(&mut self, id: QueryId, name: &str) {
        if let Some(entry) = self.entries.get_mut(&id) {
            entry.in_force = Some(name.to_owned());
        }
    }

    /// Takes a query that is due, with the full name in force. It is under way
    /// from now on, until [`answered`](Self::answered).
    pub fn take_due(&mut self, now: Instant) -> Option<(QueryId, Q, Option<String>)> {
        while let Some(&Reverse((due, id))) = self.heap.peek() {
            if due > now {
                return None;
            }
            self.heap.pop();
            // The heap's entry may be out of date: the query moved, is under
            // way, or is gone.
            if let Some(entry) = self.entries.get_mut(&id)
                && entry.due == Some(due)
                && entry.asked.is_none()
            {
                entry.asked = Some(now);
                return Some((id, entry.query.clone(), entry.in_force.clone()));
            }
        }
        None
    }

    /// An answer is there: when it was asked for, and the subscribers that are
    /// to get it, taken out until [`answered`](Self::answered) brings them
    /// back. `None` when nobody wants it any more.
    pub fn take_subscribers(&mut self, id: QueryId, now: Instant) -> Option<(Instant, Vec<S>)> {
        let entry = self.entries.get_mut(&id)?;
        let asked = entry.asked.unwrap_or(now);
        let due = entry
            .subscriptions
            .extract_if(.., |subscription| subscription.is_due(now))
            .map(|subscription| subscription.subscriber)
            .collect();
        Some((asked, due))
    }

    /// The subscribers of a query that is not under way for them: for an answer
    /// that comes late.
    pub fn subscribers(&self, id: QueryId) -> impl Iterator<Item = &S> {
        self.entries
            .get(&id)
            .into_iter()
            .flat_map(|entry| entry.subscriptions.iter().map(|s| &s.subscriber))
    }

    /// Brings subscribers back, each with the time until it wants the next
    /// answer, and plans the next query.
    pub fn answered(
        &mut self,
        id: QueryId,
        now: Instant,
        subscribers: impl IntoIterator<Item = (S, Duration)>,
    ) {
        let Some(entry) = self.entries.get_mut(&id) else {
            return;
        };
        entry
            .subscriptions
            .extend(
                subscribers
                    .into_iter()
                    .map(|(subscriber, interval)| Subscription {
                        subscriber,
                        due: now + interval,
                        interval,
                    }),
            );
        entry.asked = None;
        entry.due = entry.subscriptions.iter().map(|s| s.due).min();
        match entry.due {
            Some(due) => self.heap.push(Reverse((due, id))),
            None => {
                if let Some(entry) = self.entries.remove(&id) {
                    self.ids.remove(&entry.query);
                }
            }
        }
    }

    /// Whether anybody still wants the answer to a query.
    #[must_use]
    pub fn contains(&self, id: QueryId) -> bool {
        self.entries.contains_key(&id)
    }

    /// The number of queries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether nothing is to be asked.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}
