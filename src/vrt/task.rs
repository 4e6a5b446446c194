//! What one task (a client request, or the fetch for it) has chosen.
//!
//! The engine takes its own reference to a leaf only after the choice was
//! returned, and may lose it to an update in between. So a task pins the name
//! and the snapshot that it chose from, once each, until its end. The pins lie
//! in the task's workspace: no lock and no allocation per request.

use std::any::Any;
use std::ffi::{CStr, c_void};
use std::ptr::{self, NonNull};
use std::sync::Arc;

use dynamic_core::session::Status;

use super::ctx::Ctx;
use super::leaf::{Leaf, Load};
use super::sys;
use super::vdi::Chosen;

/// Something that a task can hold on to.
pub(crate) trait Pinnable: Send + Sync + 'static {
    /// Tries to enter; false when it is about to go away.
    fn pin(&self) -> bool;
    /// Leaves again.
    fn unpin(&self);
}

/// The identity under which the engine keeps the module's state of a task.
static TASK_ID: u8 = 0;

static METHODS: Methods = Methods(sys::vmod_priv_methods {
    magic: sys::VMOD_PRIV_METHODS_MAGIC,
    type_: c"vmod_dynamic task".as_ptr(),
    fini: Some(fini),
});

struct Methods(sys::vmod_priv_methods);

// SAFETY: constant data; the type's name is a static string.
unsafe impl Sync for Methods {}

/// Choices remembered per node.
const CHOICES: usize = 6;

/// One leaf that an attempt of the task chose.
#[derive(Clone, Copy)]
struct Attempt {
    leaf: usize,
    number: u32,
}

/// What a pin keeps alive.
enum Held {
    /// A name or service, so that its director outlives the task.
    Pool(Arc<dyn Pinnable>),
    /// A snapshot, so that its leaves do.
    Snapshot(Arc<dyn Send + Sync>),
    /// Choices of earlier attempts.
    Choices([Attempt; CHOICES], usize),
    /// What became of a session's key.
    Note(Note),
    /// The part of the last choice's load that this task is.
    Load(Option<Load>),
}

/// What a task remembers of a session.
pub(crate) struct Note {
    /// The session's identity.
    pub(crate) about: usize,
    /// What became of its key.
    pub(crate) status: Status,
    /// The endpoint chosen, by its place in the snapshot.
    pub(crate) index: usize,
    /// The snapshot that it was chosen from.
    pub(crate) snapshot: Arc<dyn Any + Send + Sync>,
    /// Whether the key of a new affinity was sent.
    pub(crate) sent: bool,
}

struct Node {
    held: Held,
    next: *mut Node,
    heap: bool,
}

/// The state of one task.
pub(crate) struct Task<'c> {
    ctx: Ctx<'c>,
    /// The engine's record; none before the task holds anything.
    private: Option<NonNull<sys::vmod_priv>>,
}

impl<'c> Task<'c> {
    /// The state of the task that the call belongs to; `None` on the CLI,
    /// where nothing needs to be pinned: the VCL's own events come there too.
    pub(crate) fn of(ctx: Ctx<'c>) -> Option<Self> {
        if !ctx.in_task() {
            return None;
        }
        // SAFETY: within a task; the identity is a static address of ours.
        let private = unsafe { sys::VRT_priv_task_get(ctx.as_ptr(), (&raw const TASK_ID).cast()) };
        Some(Task {
            ctx,
            private: NonNull::new(private),
        })
    }

    /// The first node; null where the task holds nothing yet.
    fn first(&self) -> *mut Node {
        self.private.map_or(ptr::null_mut(), |private| {
            // SAFETY: the engine's record lives until it ends the task.
            unsafe { private.as_ref().priv_ }.cast()
        })
    }

    fn nodes(&self) -> impl Iterator<Item = &Node> {
        // SAFETY: the list belongs to this task's thread; its nodes live until
        // the engine ends the task.
        let mut next = self.first().cast_const();
        std::iter::from_fn(move || {
            // SAFETY: as above: null or a node of the list.
            let node = unsafe { next.as_ref() }?;
            next = node.next.cast_const();
            Some(node)
        })
    }

    fn push(&mut self, held: Held) {
        // SAFETY: within a task; the identity is a static address of ours. The
        // record is made here or known already, and never null.
        let record = unsafe { sys::VRT_priv_task(self.ctx.as_ptr(), (&raw const TASK_ID).cast()) };
        self.private = NonNull::new(record);
        // SAFETY: this task's own record.
        let Some(private) = (unsafe { record.as_mut() }) else {
            return;
        };
        let mut node = Node {
            held,
            next: private.priv_.cast(),
            heap: false,
        };
        let place = match self.ctx.alloc(size_of::<Node>()) {
            Some(place) if place.as_ptr().addr() % align_of::<Node>() == 0 => {
                let place = place.cast::<Node>();
                // SAFETY: fresh workspace memory of the right size and
                // alignment, which the engine keeps until the task's end.
                unsafe { place.write(node) };
                place.as_ptr()
            }
            _ => {
                node.heap = true;
                Box::into_raw(Box::new(node))
            }
        };
        private.priv_ = place.cast::<c_void>();
        private.methods = &raw const METHODS.0;
    }

    /// Keeps a name or service until the end of the task. False when it is
    /// going away, and must not be used.
    pub(crate) fn pin_pool<P: Pinnable>(&mut self, pool: &Arc<P>) -> bool {
        let address = Arc::as_ptr(pool).cast::<c_void>();
        let held = self
            .nodes()
            .any(|n| matches!(&n.held, Held::Pool(p) if ptr::eq(Arc::as_ptr(p).cast::<c_void>(), address)));
        if held {
            return true;
        }
        if !pool.pin() {
            return false;
        }
        self.push(Held::Pool(Arc::clone(pool) as Arc<dyn Pinnable>));
        true
    }

    /// Keeps a snapshot, and so the leaf that was chosen from it, until the
    /// end of the task.
    pub(crate) fn choose<S: Send + Sync + 'static>(
        &mut self,
        snapshot: &Arc<S>,
        leaf: &Leaf,
    ) -> Chosen {
        let address = Arc::as_ptr(snapshot).cast::<c_void>();
        let held = self
            .nodes()
            .any(|n| matches!(&n.held, Held::Snapshot(s) if ptr::eq(Arc::as_ptr(s).cast::<c_void>(), address)));
        if !held {
            self.push(Held::Snapshot(Arc::clone(snapshot) as Arc<dyn Send + Sync>));
        }
        Chosen::pinned(leaf)
    }

    /// Counts the task as load of a leaf, or of none, and of no other that it
    /// chose before: the last choice is the one that is contacted.
    pub(crate) fn carry(&mut self, load: Option<Load>) {
        let held = self.nodes_mut().find_map(|node| match &mut node.held {
            Held::Load(held) => Some(held),
            _ => None,
        });
        match (held, load) {
            (Some(held), load) => *held = load,
            (None, Some(load)) => self.push(Held::Load(Some(load))),
            (None, None) => {}
        }
    }

    /// Notes what became of a session's key; a later note replaces an earlier
    /// one.
    pub(crate) fn note(&mut self, note: Note) {
        match self.note_mut(note.about) {
            Some(known) => *known = note,
            None => self.push(Held::Note(note)),
        }
    }

    /// What became of a session's key, if anything.
    pub(crate) fn noted(&self, about: usize) -> Option<&Note> {
        self.nodes().find_map(|n| match &n.held {
            Held::Note(note) if note.about == about => Some(note),
            _ => None,
        })
    }

    /// Notes that the key of a new affinity was sent.
    pub(crate) fn mark_sent(&mut self, about: usize) {
        if let Some(note) = self.note_mut(about) {
            note.sent = true;
        }
    }

    fn note_mut(&mut self, about: usize) -> Option<&mut Note> {
        self.nodes_mut().find_map(|node| match &mut node.held {
            Held::Note(note) if note.about == about => Some(note),
            _ => None,
        })
    }

    fn nodes_mut(&mut self) -> impl Iterator<Item = &mut Node> {
        // SAFETY: this task's own list, as in `nodes`; the exclusive borrow of
        // the task keeps other references into it away, and each node is
        // handed out once.
        let mut next = self.first();
        std::iter::from_fn(move || {
            // SAFETY: as above: null or a node of the list.
            let node = unsafe { next.as_mut() }?;
            next = node.next;
            Some(node)
        })
    }

    /// Whether an attempt before `attempt` chose this leaf.
    pub(crate) fn tried(&self, leaf: &Leaf, attempt: u32) -> bool {
        let leaf = leaf.identity();
        self.nodes().any(|n| match &n.held {
            Held::Choices(choices, used) => choices[..(*used).min(CHOICES)]
                .iter()
                .any(|c| c.leaf == leaf && c.number < attempt),
            _ => false,
        })
    }

    /// Remembers that `attempt` chose this leaf. Of several choices in one
    /// attempt the last counts: it is the one that is contacted.
    pub(crate) fn remember(&mut self, leaf: &Leaf, attempt: u32) {
        let made = Attempt {
            leaf: leaf.identity(),
            number: attempt,
        };
        for node in self.nodes_mut() {
            if let Held::Choices(choices, used) = &mut node.held {
                if let Some(known) = choices.iter_mut().take(*used).find(|c| c.number == attempt) {
                    *known = made;
                    return;
                }
                if let Some(free) = choices.get_mut(*used) {
                    *free = made;
                    *used += 1;
                    return;
                }
            }
        }
        self.push(Held::Choices([made; CHOICES], 1));
    }
}

/// The engine ends a task: everything that it held is let go.
unsafe extern "C" fn fini(_ctx: *const sys::vrt_ctx, private: *mut c_void) {
    super::boundary::guard("task end", (), || {
        let mut next = private.cast::<Node>();
        while !next.is_null() {
            // SAFETY: the list that `push` built, walked once, by the engine's
            // last call for this task. Each node is moved out before its
            // memory goes: the workspace's by the engine, the heap's here.
            let node = unsafe {
                let heap = (*next).heap;
                if heap {
                    *Box::from_raw(next)
                } else {
                    next.read()
                }
            };
            next = node.next;
            if let Held::Pool(pool) = &node.held {
                pool.unpin();
            }
        }
    });
}

const _: () = {
    // The engine aligns workspace allocations to pointers.
    assert!(align_of::<Node>() <= align_of::<*const CStr>());
};
