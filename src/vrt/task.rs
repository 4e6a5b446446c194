//! What one task (a client request, or the fetch for it) has chosen.
//!
//! The engine takes its own reference to a leaf only after the choice was
//! returned, and may lose it to an update in between. So a task pins the name
//! and the snapshot that it chose from, once each, until its end. The pins lie
//! in the task's workspace: no lock and no allocation per request.

use std::any::Any;
use std::cell::Cell;
use std::ffi::{CStr, c_void};
use std::ptr::{self, NonNull};
use std::sync::Arc;

use arrayvec::ArrayVec;
use dynamic_core::session::Status;

use super::ctx::Ctx;
use super::leaf::{Leaf, Load};
use super::sys;

/// Something that a task can hold on to.
pub(crate) trait Pinnable: Any + Send + Sync {
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

/// Octets of a call's arguments that are remembered per name; a call that
/// spells more is looked up anew.
const SPELLING: usize = 80;

/// One leaf that an attempt of the task chose.
#[derive(Clone, Copy)]
struct Attempt {
    leaf: usize,
    number: u32,
}

/// What a pin keeps alive. Only cells change once a node is in the list.
enum Held {
    /// A name or service, so that its director outlives the task; and how a
    /// call spelled it.
    Pool(Arc<dyn Pinnable>, Option<Spelling>),
    /// A snapshot, so that its leaves do.
    Snapshot(Arc<dyn Any + Send + Sync>),
    /// Choices of earlier attempts, and their number.
    Choices(Cell<[Attempt; CHOICES]>, Cell<usize>),
    /// A session's identity, and what became of its key.
    Note(usize, Cell<Option<Note>>),
    /// The part of the last choice's load that this task is.
    Load(Cell<Option<Load>>),
}

/// The arguments by which a call found a name.
pub(crate) struct Spelling {
    /// The director's address.
    director: usize,
    /// Host, port and authority, one behind the other.
    text: ArrayVec<u8, SPELLING>,
    /// Where the port begins, and where the authority does.
    ends: [usize; 2],
    /// Whether an authority was given; an empty one is another thing than none.
    authority: bool,
}

impl Spelling {
    /// `director` is the address of one that lives as long as the name. `None`
    /// if there is no room for so much.
    pub(crate) fn new(
        director: usize,
        host: &[u8],
        port: &[u8],
        authority: Option<&[u8]>,
    ) -> Option<Self> {
        let mut text = ArrayVec::new();
        for part in [host, port, authority.unwrap_or_default()] {
            text.try_extend_from_slice(part).ok()?;
        }
        Some(Spelling {
            director,
            text,
            ends: [host.len(), host.len() + port.len()],
            authority: authority.is_some(),
        })
    }

    fn is(&self, director: usize, host: &[u8], port: &[u8], authority: Option<&[u8]>) -> bool {
        let [host_end, port_end] = self.ends;
        let piece = |range: std::ops::Range<usize>| self.text.get(range).unwrap_or_default();
        self.director == director
            && self.authority == authority.is_some()
            && same(piece(0..host_end), host)
            && same(piece(host_end..port_end), port)
            && same(
                piece(port_end..self.text.len()),
                authority.unwrap_or_default(),
            )
    }
}

/// Equality that looks at no empty slice's memory: C libraries compare up to 64
/// octets at once under a mask, for which a processor takes very long where
/// nothing is mapped, as at the address of an empty slice.
fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && (a.is_empty() || a == b)
}

/// What a task remembers of a session.
#[derive(Clone)]
pub(crate) struct Note {
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
    next: *const Node,
    heap: bool,
}

/// The state of one task.
pub(crate) struct Task<'c> {
    ctx: Ctx<'c>,
    /// The first node; null where the task holds nothing yet.
    first: Cell<*const Node>,
}

impl<'c> Task<'c> {
    /// The state of the task that the call belongs to; `None` on the CLI,
    /// where nothing needs to be pinned: the VCL's own events come there too.
    pub(crate) fn of(ctx: Ctx<'c>) -> Option<Self> {
        if !ctx.in_task() {
            return None;
        }
        // SAFETY: within a task; the identity is a static address of ours. The
        // engine's record, if there is one, lives until it ends the task.
        let record = unsafe {
            NonNull::new(sys::VRT_priv_task_get(
                ctx.as_ptr(),
                (&raw const TASK_ID).cast(),
            ))
            .map(|record| record.as_ref().priv_)
        };
        Some(Task {
            ctx,
            first: Cell::new(record.unwrap_or(ptr::null_mut()).cast()),
        })
    }

    fn nodes(&self) -> impl Iterator<Item = &'c Node> + use<'c> {
        let mut next = self.first.get();
        std::iter::from_fn(move || {
            // SAFETY: null or a node of this task's list, which belongs to this
            // thread. Nodes are not changed but for their cells, and live until
            // the engine ends the task, later than the call under way.
            let node = unsafe { next.as_ref() }?;
            next = node.next;
            Some(node)
        })
    }

    fn push(&self, held: Held) {
        // SAFETY: within a task; the identity is a static address of ours. The
        // record is made here or known already.
        let record = unsafe { sys::VRT_priv_task(self.ctx.as_ptr(), (&raw const TASK_ID).cast()) };
        // SAFETY: this task's own record, which nobody else looks at meanwhile.
        let Some(record) = (unsafe { record.as_mut() }) else {
            return;
        };
        let mut node = Node {
            held,
            next: self.first.get(),
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
        self.first.set(place);
        record.priv_ = place.cast::<c_void>();
        record.methods = &raw const METHODS.0;
    }

    /// The name or service that an earlier call of the task, spelled alike,
    /// has found.
    pub(crate) fn found<P: Pinnable>(
        &self,
        director: usize,
        host: &[u8],
        port: &[u8],
        authority: Option<&[u8]>,
    ) -> Option<&'c P> {
        self.nodes().find_map(|node| match &node.held {
            Held::Pool(pool, Some(spelling)) if spelling.is(director, host, port, authority) => {
                (&**pool as &dyn Any).downcast_ref()
            }
            _ => None,
        })
    }

    /// Keeps a name or service until the end of the task. False when it is
    /// going away, and must not be used.
    pub(crate) fn pin_pool<P: Pinnable>(&self, pool: &Arc<P>, spelling: Option<Spelling>) -> bool {
        let address = Arc::as_ptr(pool).cast::<c_void>();
        let held = self
            .nodes()
            .any(|n| matches!(&n.held, Held::Pool(p, _) if ptr::eq(Arc::as_ptr(p).cast::<c_void>(), address)));
        if held {
            return true;
        }
        if !pool.pin() {
            return false;
        }
        self.push(Held::Pool(Arc::clone(pool) as Arc<dyn Pinnable>, spelling));
        true
    }

    fn held(&self, address: *const ()) -> Option<&'c Arc<dyn Any + Send + Sync>> {
        self.nodes().find_map(|node| match &node.held {
            Held::Snapshot(s) if ptr::eq(Arc::as_ptr(s).cast(), address) => Some(s),
            _ => None,
        })
    }

    /// The snapshot at this address, if the task keeps it: then no other can
    /// be there.
    pub(crate) fn kept<S: Any>(&self, address: *const ()) -> Option<&'c S> {
        (&**self.held(address)? as &dyn Any).downcast_ref()
    }

    /// Keeps a snapshot, and so the leaves in it, until the end of the task.
    pub(crate) fn keep<S: Any + Send + Sync>(&self, snapshot: &Arc<S>) -> Option<&'c S> {
        let address = Arc::as_ptr(snapshot).cast();
        if self.held(address).is_none() {
            self.push(Held::Snapshot(
                Arc::clone(snapshot) as Arc<dyn Any + Send + Sync>
            ));
        }
        self.kept(address)
    }

    /// A share in a snapshot that the task keeps.
    pub(crate) fn share<S: Any>(&self, snapshot: &S) -> Option<Arc<dyn Any + Send + Sync>> {
        self.held(ptr::from_ref(snapshot).cast()).cloned()
    }

    /// Counts the task as load of a leaf, or of none, and of no other that it
    /// chose before: the last choice is the one that is contacted.
    pub(crate) fn carry(&self, load: Option<Load>) {
        let held = self.nodes().find_map(|node| match &node.held {
            Held::Load(held) => Some(held),
            _ => None,
        });
        match (held, load) {
            (Some(held), load) => drop(held.replace(load)),
            (None, Some(load)) => self.push(Held::Load(Cell::new(Some(load)))),
            (None, None) => {}
        }
    }

    /// Notes what became of a session's key; a later note replaces an earlier
    /// one. `about` is the session's identity.
    pub(crate) fn note(&self, about: usize, note: Note) {
        match self.note_cell(about) {
            Some(known) => drop(known.replace(Some(note))),
            None => self.push(Held::Note(about, Cell::new(Some(note)))),
        }
    }

    /// What became of a session's key, if anything.
    pub(crate) fn noted(&self, about: usize) -> Option<Note> {
        let cell = self.note_cell(about)?;
        let note = cell.take();
        cell.set(note.clone());
        note
    }

    fn note_cell(&self, about: usize) -> Option<&'c Cell<Option<Note>>> {
        self.nodes().find_map(|node| match &node.held {
            Held::Note(session, note) if *session == about => Some(note),
            _ => None,
        })
    }

    /// Whether an attempt before `attempt` chose this leaf.
    pub(crate) fn tried(&self, leaf: &Leaf, attempt: u32) -> bool {
        let leaf = leaf.identity();
        self.nodes().any(|n| match &n.held {
            Held::Choices(choices, used) => choices
                .get()
                .iter()
                .take(used.get())
                .any(|c| c.leaf == leaf && c.number < attempt),
            _ => false,
        })
    }

    /// Remembers that `attempt` chose this leaf. Of several choices in one
    /// attempt the last counts: it is the one that is contacted.
    pub(crate) fn remember(&self, leaf: &Leaf, attempt: u32) {
        let made = Attempt {
            leaf: leaf.identity(),
            number: attempt,
        };
        for node in self.nodes() {
            let Held::Choices(cell, used) = &node.held else {
                continue;
            };
            let mut choices = cell.get();
            let known = choices.iter().take(used.get());
            let place = known.clone().position(|c| c.number == attempt);
            let place = place.unwrap_or(used.get());
            if let Some(choice) = choices.get_mut(place) {
                *choice = made;
                cell.set(choices);
                used.set(used.get().max(place + 1));
                return;
            }
        }
        self.push(Held::Choices(Cell::new([made; CHOICES]), Cell::new(1)));
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
            next = node.next.cast_mut();
            if let Held::Pool(pool, _) = &node.held {
                pool.unpin();
            }
        }
    });
}

const _: () = {
    // The engine aligns workspace allocations to pointers.
    assert!(align_of::<Node>() <= align_of::<*const CStr>());
};
