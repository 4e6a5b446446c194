//! A limit on what is under way at the same time.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// How many unresponsive names are remembered; with more, all are forgotten.
const MAX_UNRESPONSIVE: usize = 65_536;

/// Slots of which names that got no answer last time take half at most, so
/// that a zone nobody answers for does not hold up the others.
#[derive(Debug)]
pub(crate) struct Slots {
    all: Arc<Semaphore>,
    for_unresponsive: Arc<Semaphore>,
    unresponsive: Mutex<HashSet<String>>,
}

/// A slot, given back when dropped.
#[derive(Debug)]
pub(crate) struct Slot {
    _permits: (Option<OwnedSemaphorePermit>, Option<OwnedSemaphorePermit>),
}

impl Slots {
    /// `limit`: at least 1 and at most what a semaphore can count.
    pub(crate) fn new(limit: usize) -> Self {
        let limit = limit.clamp(1, Semaphore::MAX_PERMITS);
        Self {
            all: Arc::new(Semaphore::new(limit)),
            for_unresponsive: Arc::new(Semaphore::new((limit / 2).max(1))),
            unresponsive: Mutex::default(),
        }
    }

    /// Waits for a slot; first come, first served.
    pub(crate) async fn take(&self, name: &str) -> Slot {
        let unresponsive = self.names().contains(name);
        // The semaphores are never closed.
        let lane = if unresponsive {
            Arc::clone(&self.for_unresponsive)
                .acquire_owned()
                .await
                .ok()
        } else {
            None
        };
        Slot {
            _permits: (Arc::clone(&self.all).acquire_owned().await.ok(), lane),
        }
    }

    /// Remembers whether the name got no answer.
    pub(crate) fn note(&self, name: &str, unanswered: bool) {
        let mut names = self.names();
        if !unanswered {
            names.remove(name);
        } else if !names.contains(name) {
            if names.len() >= MAX_UNRESPONSIVE {
                names.clear();
            }
            names.insert(name.to_owned());
        }
    }

    fn names(&self) -> std::sync::MutexGuard<'_, HashSet<String>> {
        self.unresponsive
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn taken(slots: &Slots, name: &str) -> Option<Slot> {
        slots.take(name).now_or_never()
    }

    #[test]
    fn no_more_than_the_limit_are_taken() {
        let slots = Slots::new(2);
        let first = taken(&slots, "a");
        let second = taken(&slots, "b");
        assert!(first.is_some() && second.is_some());
        assert!(taken(&slots, "c").is_none());
        drop(first);
        assert!(taken(&slots, "c").is_some());
    }

    #[test]
    fn a_limit_of_nothing_or_of_everything_is_one_that_works() {
        assert!(taken(&Slots::new(0), "a").is_some());
        assert!(taken(&Slots::new(usize::MAX), "a").is_some());
    }

    #[test]
    fn doubtful_names_take_half_of_the_slots() {
        let slots = Slots::new(4);
        let names = ["a", "b", "c"];
        for name in names {
            slots.note(name, true);
        }
        let held: Vec<_> = names.iter().map(|name| taken(&slots, name)).collect();
        assert_eq!(held.iter().filter(|slot| slot.is_some()).count(), 2);
        let others = [taken(&slots, "x"), taken(&slots, "y")];
        assert!(others.iter().all(Option::is_some));
        assert!(taken(&slots, "z").is_none());
    }

    #[test]
    fn an_answer_ends_the_doubt() {
        let slots = Slots::new(2);
        slots.note("a", true);
        slots.note("b", true);
        let held = taken(&slots, "a");
        assert!(held.is_some());
        assert!(taken(&slots, "b").is_none());
        slots.note("b", false);
        assert!(taken(&slots, "b").is_some());
    }

    #[test]
    fn a_single_slot_serves_all() {
        let slots = Slots::new(1);
        slots.note("a", true);
        drop(taken(&slots, "a"));
        assert!(taken(&slots, "b").is_some());
    }

    #[test]
    fn the_memory_for_names_is_bounded() {
        let slots = Slots::new(1);
        for number in 0..=MAX_UNRESPONSIVE {
            slots.note(&number.to_string(), true);
        }
        assert!(slots.names().len() <= MAX_UNRESPONSIVE);
    }
}
