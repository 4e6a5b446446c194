//! What one task (a client's request, or the fetch for it) has chosen.
//!
//! The engine takes its own reference to a leaf only after the choice was
//! returned, and may lose it to an update in between. So a task holds the
//! domains and snapshots that it chose from until its end, each once. A
//! request that uses one or two domains allocates nothing for that.

use std::cell::{Cell, OnceCell};
use std::ops::Deref;
use std::ptr;
use std::sync::Arc;

use arrayvec::ArrayVec;
use dynamic_core::session::{AffinityTable, Status};

use crate::domain::{Domain, Snapshot};
use crate::vrt::{Ctx, InFlightToken, Leaf, TaskValue, task_value};

/// Octets of a call's arguments that are remembered with the domain that they
/// led to; a call with longer ones is looked up each time.
const MAX_ARGUMENTS: usize = 96;

/// Choices that are remembered without allocation.
const CHOICES: usize = 6;

/// A list to which items are added and from which none is taken before its
/// end, so that references to them stay good. The first `N` need no allocation.
#[derive(Debug)]
struct AppendList<T, const N: usize> {
    items: [OnceCell<T>; N],
    more: OnceCell<Box<AppendList<T, N>>>,
}

impl<T, const N: usize> Default for AppendList<T, N> {
    fn default() -> Self {
        AppendList {
            items: [const { OnceCell::new() }; N],
            more: OnceCell::new(),
        }
    }
}

impl<T, const N: usize> AppendList<T, N> {
    fn find(&self, mut wanted: impl FnMut(&T) -> bool) -> Option<&T> {
        let mut list = self;
        loop {
            for item in &list.items {
                let item = item.get()?;
                if wanted(item) {
                    return Some(item);
                }
            }
            list = list.more.get()?;
        }
    }

    fn push(&self, item: T) -> &T {
        let mut list = self;
        loop {
            if let Some(free) = list.items.iter().find(|cell| cell.get().is_none()) {
                return free.get_or_init(|| item);
            }
            list = list.more.get_or_init(Box::default);
        }
    }
}

/// The arguments by which a call found a domain.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LookupArgs<'a> {
    /// The address of the director, which lives as long as the domain.
    pub(crate) director: usize,
    /// As written, not in canonical form.
    pub(crate) host: &'a [u8],
    /// As written; empty where the call gives none.
    pub(crate) port: &'a [u8],
    /// An empty authority is another thing than none.
    pub(crate) authority: Option<&'a [u8]>,
}

/// The same, kept.
#[derive(Debug)]
struct KeptArgs {
    director: usize,
    /// Host, port and authority, one behind the other.
    text: ArrayVec<u8, MAX_ARGUMENTS>,
    /// Where the port begins, and where the authority does.
    ends: [usize; 2],
    has_authority: bool,
}

impl KeptArgs {
    /// `None` if there is no room for so much.
    fn new(args: &LookupArgs<'_>) -> Option<Self> {
        let mut text = ArrayVec::new();
        for part in [args.host, args.port, args.authority.unwrap_or_default()] {
            text.try_extend_from_slice(part).ok()?;
        }
        Some(KeptArgs {
            director: args.director,
            text,
            ends: [args.host.len(), args.host.len() + args.port.len()],
            has_authority: args.authority.is_some(),
        })
    }

    fn is(&self, args: &LookupArgs<'_>) -> bool {
        let [host_end, port_end] = self.ends;
        let piece = |range: std::ops::Range<usize>| self.text.get(range).unwrap_or_default();
        self.director == args.director
            && self.has_authority == args.authority.is_some()
            && same(piece(0..host_end), args.host)
            && same(piece(host_end..port_end), args.port)
            && same(
                piece(port_end..self.text.len()),
                args.authority.unwrap_or_default(),
            )
    }
}

/// Skips `memcmp` for empty slices: a masked vector load from their dangling
/// pointer is slow.
fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && (a.is_empty() || a == b)
}

/// A domain that cannot expire while this is held.
#[derive(Debug)]
struct HeldDomain {
    domain: Arc<Domain>,
    args: Option<KeptArgs>,
}

impl Drop for HeldDomain {
    fn drop(&mut self) {
        self.domain.unpin();
    }
}

/// One leaf that an attempt of the task chose.
#[derive(Clone, Copy, Debug)]
struct Attempt {
    leaf: usize,
    number: u32,
}

/// What became of a session's key in this task.
#[derive(Clone, Debug)]
pub(crate) struct SessionOutcome {
    /// What became of it.
    pub(crate) status: Status,
    /// The affinity that the task made, where a key is to be sent: what keys
    /// name, and the place of the endpoint that was chosen.
    pub(crate) made: Option<(Arc<AffinityTable>, usize)>,
    /// Whether the key was sent.
    pub(crate) sent: bool,
}

struct SessionSlot {
    session: usize,
    outcome: Cell<Option<SessionOutcome>>,
}

/// All that the module keeps of one task.
#[derive(Default)]
pub(crate) struct TaskState {
    /// So that the directors that VCL got outlive the task.
    domains: AppendList<HeldDomain, 2>,
    /// So that the leaves that VCL got outlive the task.
    snapshots: AppendList<Arc<Snapshot>, 2>,
    attempts: AppendList<Cell<Attempt>, CHOICES>,
    sessions: AppendList<SessionSlot, 1>,
    /// The leaf whose load the task is: the last that it chose by load.
    in_flight: Cell<Option<InFlightToken>>,
}

impl TaskValue for TaskState {}

/// The state of the task that a call belongs to.
#[derive(Clone, Copy)]
pub(crate) struct Task<'c>(&'c TaskState);

impl Deref for Task<'_> {
    type Target = TaskState;

    fn deref(&self) -> &TaskState {
        self.0
    }
}

impl<'c> Task<'c> {
    /// `None` on the CLI, where nothing needs to be held.
    pub(crate) fn of(ctx: Ctx<'c>) -> Option<Self> {
        task_value(ctx).map(Task)
    }

    /// The domain that an earlier call of the task with the same arguments has
    /// found.
    pub(crate) fn found(self, args: &LookupArgs<'_>) -> Option<&'c Domain> {
        let held = self
            .0
            .domains
            .find(|held| held.args.as_ref().is_some_and(|kept| kept.is(args)))?;
        Some(&held.domain)
    }

    /// Holds a domain until the end of the task. `None` when it is about to go
    /// away, and must not be used.
    pub(crate) fn hold(
        self,
        domain: &Arc<Domain>,
        args: Option<&LookupArgs<'_>>,
    ) -> Option<&'c Domain> {
        if let Some(held) = self
            .0
            .domains
            .find(|held| Arc::ptr_eq(&held.domain, domain))
        {
            return Some(&held.domain);
        }
        if !domain.pin() {
            return None;
        }
        let held = self.0.domains.push(HeldDomain {
            domain: Arc::clone(domain),
            args: args.and_then(KeptArgs::new),
        });
        Some(&held.domain)
    }

    /// The snapshot at this address, if the task holds it: then no other can
    /// be there.
    pub(crate) fn snapshot(self, address: *const ()) -> Option<&'c Snapshot> {
        let held = self
            .0
            .snapshots
            .find(|held| ptr::eq(Arc::as_ptr(held).cast(), address))?;
        Some(held)
    }

    /// Holds a snapshot, and so the leaves in it, until the end of the task.
    pub(crate) fn hold_snapshot(self, snapshot: &Arc<Snapshot>) -> &'c Snapshot {
        match self.0.snapshots.find(|held| Arc::ptr_eq(held, snapshot)) {
            Some(held) => held,
            None => self.0.snapshots.push(Arc::clone(snapshot)),
        }
    }
}

impl TaskState {
    /// Counts the task as load of a leaf, or of none, and no longer of the one
    /// that it chose before: the last choice is the one that is contacted.
    pub(crate) fn set_load(&self, load: Option<InFlightToken>) {
        drop(self.in_flight.replace(load));
    }

    /// Notes what became of a session's key. A later note replaces an earlier
    /// one. `session` is the session's identity.
    pub(crate) fn set_session_outcome(&self, session: usize, outcome: SessionOutcome) {
        let slot = match self.sessions.find(|slot| slot.session == session) {
            Some(slot) => slot,
            None => self.sessions.push(SessionSlot {
                session,
                outcome: Cell::new(None),
            }),
        };
        slot.outcome.set(Some(outcome));
    }

    /// What became of a session's key, if anything did.
    pub(crate) fn session_outcome(&self, session: usize) -> Option<SessionOutcome> {
        let slot = self.sessions.find(|slot| slot.session == session)?;
        let outcome = slot.outcome.take();
        slot.outcome.set(outcome.clone());
        outcome
    }

    /// Whether an attempt before `attempt` chose this leaf.
    pub(crate) fn tried(&self, leaf: &Leaf, attempt: u32) -> bool {
        let leaf = leaf.identity();
        self.attempts
            .find(|made| made.get().leaf == leaf && made.get().number < attempt)
            .is_some()
    }

    /// Remembers that `attempt` chose this leaf. Of several choices in one
    /// attempt the last counts: it is the one that is contacted.
    pub(crate) fn remember(&self, leaf: &Leaf, attempt: u32) {
        let made = Attempt {
            leaf: leaf.identity(),
            number: attempt,
        };
        match self.attempts.find(|cell| cell.get().number == attempt) {
            Some(cell) => cell.set(made),
            None => {
                self.attempts.push(Cell::new(made));
            }
        }
    }
}
