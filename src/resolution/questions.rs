//! Who wants to know what, and when each is asked again.
//!
//! Names of several directors and VCLs that ask the same of the same servers
//! are one question: it is asked when the first of them is due, and every name
//! that is due about then gets the answer.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use dynamic_resolve::Settings;

use crate::pool::{Pool, SourceId};

/// Something that servers are asked.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Question {
    /// How to ask.
    pub(super) settings: Arc<Settings>,
    /// The canonical name.
    pub(super) name: String,
    /// Whether it was written with a trailing dot.
    pub(super) rooted: bool,
    /// Service records rather than addresses.
    pub(super) srv: bool,
}

/// A name or service that waits for answers to a question.
#[derive(Debug)]
pub(super) struct Subscriber {
    pub(super) pool: Arc<Pool>,
    pub(super) source: SourceId,
    pub(super) due: Instant,
    /// The current time between two answers. An answer counts for all that are
    /// due within half of it, so that those who began at different times fall
    /// into step: of any two, either the one or the other is.
    pub(super) interval: Duration,
}

impl Subscriber {
    fn is_due(&self, now: Instant) -> bool {
        self.due <= now + self.interval / 2
    }
}

/// The identity of a question while anybody wants to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct QuestionId(u64);

#[derive(Debug)]
struct Entry {
    question: Question,
    subscribers: Vec<Subscriber>,
    /// The full name that gave the last addresses or targets.
    in_force: Option<String>,
    /// When it was sent, while it is under way.
    asked: Option<Instant>,
    /// The instant that its entry in the agenda stands for.
    due: Instant,
}

/// All open questions, and the agenda.
#[derive(Debug, Default)]
pub(super) struct Questions {
    entries: HashMap<QuestionId, Entry>,
    ids: HashMap<Question, QuestionId>,
    agenda: BinaryHeap<Reverse<(Instant, QuestionId)>>,
    next: u64,
}

impl Questions {
    /// Adds a subscriber, to be answered at once.
    pub(super) fn subscribe(
        &mut self,
        question: Question,
        pool: Arc<Pool>,
        source: SourceId,
        now: Instant,
    ) -> QuestionId {
        let subscriber = Subscriber {
            pool,
            source,
            due: now,
            interval: Duration::ZERO,
        };
        let id = *self.ids.entry(question.clone()).or_insert_with(|| {
            self.next += 1;
            QuestionId(self.next)
        });
        let entry = self.entries.entry(id).or_insert_with(|| Entry {
            question,
            subscribers: Vec::new(),
            in_force: None,
            asked: None,
            due: now + Duration::from_secs(1),
        });
        entry.subscribers.push(subscriber);
        if entry.asked.is_none() && now < entry.due {
            entry.due = now;
            self.agenda.push(Reverse((now, id)));
        }
        id
    }

    /// Removes a subscriber, and the question with the last one.
    pub(super) fn unsubscribe(&mut self, id: QuestionId, pool: &Arc<Pool>, source: SourceId) {
        let Some(entry) = self.entries.get_mut(&id) else {
            return;
        };
        entry
            .subscribers
            .retain(|s| s.source != source || !Arc::ptr_eq(&s.pool, pool));
        if entry.subscribers.is_empty() {
            self.ids.remove(&entry.question);
            self.entries.remove(&id);
        }
    }

    /// When the next question is to be asked.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.agenda.peek().map(|Reverse((due, _))| *due)
    }

    /// Notes the full name that gave addresses or targets.
    pub(super) fn hold(&mut self, id: QuestionId, name: &str) {
        if let Some(entry) = self.entries.get_mut(&id) {
            entry.in_force = Some(name.to_owned());
        }
    }

    /// Takes a question that is due, with the full name in force; it counts as
    /// asked from now on.
    pub(super) fn take_due(
        &mut self,
        now: Instant,
    ) -> Option<(QuestionId, Question, Option<String>)> {
        while let Some(&Reverse((due, id))) = self.agenda.peek() {
            if due > now {
                return None;
            }
            self.agenda.pop();
            // An entry of the agenda may be out of date: the question moved,
            // is under way, or is gone.
            if let Some(entry) = self.entries.get_mut(&id)
                && entry.due == due
                && entry.asked.is_none()
            {
                entry.asked = Some(now);
                return Some((id, entry.question.clone(), entry.in_force.clone()));
            }
        }
        None
    }

    /// An answer is there: when it was asked for, and the subscribers that are
    /// to get it, taken out until [`answered`](Self::answered) brings them
    /// back. `None` when nobody wants to know any more.
    pub(super) fn take_subscribers(
        &mut self,
        id: QuestionId,
        now: Instant,
    ) -> Option<(Instant, Vec<Subscriber>)> {
        let entry = self.entries.get_mut(&id)?;
        let asked = entry.asked.unwrap_or(now);
        let due = entry
            .subscribers
            .extract_if(.., |s| s.is_due(now))
            .collect();
        Some((asked, due))
    }

    /// Brings subscribers back, with their new due times, and plans the next
    /// question.
    pub(super) fn answered(&mut self, id: QuestionId, subscribers: Vec<Subscriber>) {
        let Some(entry) = self.entries.get_mut(&id) else {
            return;
        };
        entry.subscribers.extend(subscribers);
        entry.asked = None;
        match entry.subscribers.iter().map(|s| s.due).min() {
            Some(due) => {
                entry.due = due;
                self.agenda.push(Reverse((due, id)));
            }
            None => {
                if let Some(entry) = self.entries.remove(&id) {
                    self.ids.remove(&entry.question);
                }
            }
        }
    }
}
