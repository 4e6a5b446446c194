//! Counters in the engine's shared memory, one set for each name.

use std::ffi::{CStr, CString};
use std::ptr::{self, NonNull};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Map, Value, json};

use super::arena::Arena;
use super::ctx::Ctx;
use super::sys;

/// The first part of the counters' names.
const CLASS: &CStr = c"DYNAMIC";

/// What a counter of the set means: `(name, type, one line)`.
const DESCRIPTIONS: [(&str, &str, &str); Counter::COUNT] = [
    (
        "lookups",
        "counter",
        "Lookups of the name that were answered or failed",
    ),
    ("lookups_failed", "counter", "Lookups that taught nothing"),
    ("addresses", "gauge", "Addresses in use"),
    ("picks", "counter", "Backends chosen"),
    (
        "picks_preferred",
        "counter",
        "Backends chosen that are preferred",
    ),
    ("spilled", "counter", "Choices from a tier below the best"),
    (
        "hash_overflow",
        "counter",
        "Keyed choices moved on by the load bound",
    ),
    (
        "retried_elsewhere",
        "counter",
        "Retries that went to another backend",
    ),
    ("session_ok", "counter", "Session keys that were followed"),
    ("session_new", "counter", "Sessions that were begun"),
    (
        "session_recovered",
        "counter",
        "Sessions that were given another backend",
    ),
    (
        "session_failed",
        "counter",
        "Requests refused for their session key",
    ),
    (
        "buckets_owner",
        "counter",
        "Choices of an owner of the request's bucket",
    ),
    (
        "buckets_delayed",
        "counter",
        "Requests refused while the owners of their bucket are down",
    ),
    (
        "buckets_taken_over",
        "counter",
        "Requests that others serve as the owners of their bucket are down",
    ),
    (
        "expired",
        "counter",
        "First lookups that took too long for a request",
    ),
];

/// A counter of the set, in the order of its place in shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counter {
    Lookups,
    LookupsFailed,
    Addresses,
    Picks,
    PicksPreferred,
    Spilled,
    HashOverflow,
    RetriedElsewhere,
    SessionOk,
    SessionNew,
    SessionRecovered,
    SessionFailed,
    BucketsOwner,
    BucketsDelayed,
    BucketsTakenOver,
    Expired,
}

impl Counter {
    const COUNT: usize = 16;
}

/// The description of the set, as the engine's tools read it.
static DOCUMENT: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let elements: Map<String, Value> = DESCRIPTIONS
        .iter()
        .enumerate()
        .map(|(place, (name, kind, line))| {
            let element = json!({
                "type": kind, "ctype": "uint64_t", "level": "info", "oneliner": line,
                "format": "integer", "index": place * size_of::<AtomicU64>(), "name": name, "docs": line,
            });
            ((*name).to_owned(), element)
        })
        .collect();
    let document = json!({
        "version": "1", "name": "DYNAMIC", "oneliner": "Names and services of vmod_dynamic", "order": 70,
        "docs": "", "elements": DESCRIPTIONS.len(), "elem": elements,
    });
    let mut text = document.to_string().into_bytes();
    text.push(0);
    text
});

/// The counters of one name or service.
#[derive(Debug)]
pub(crate) struct Counters {
    values: NonNull<[AtomicU64; Counter::COUNT]>,
    segment: *mut sys::vsc_seg,
}

// SAFETY: the values are atomics in shared memory that lives as long as the
// segment; the segment is only handed to the engine, which locks.
unsafe impl Send for Counters {}
// SAFETY: as above.
unsafe impl Sync for Counters {}

impl Counters {
    /// Makes a set named `<vcl>.<name>`.
    pub(crate) fn new(ctx: Ctx<'_>, name: &str, arena: &mut Arena) -> Option<Self> {
        let full = CString::new(format!("{}.{name}", ctx.vcl_name())).ok()?;
        let size = size_of::<[AtomicU64; Counter::COUNT]>();
        let mut segment = ptr::null_mut();
        // SAFETY: a constant of the engine's.
        let room = unsafe { sys::VRT_VSC_Overhead(size) };
        let cluster = arena.room_for_name(ctx, room);
        // SAFETY: class and document are static; the format takes one string,
        // which the engine copies. It returns zeroed memory of that size.
        let values = unsafe {
            sys::VRT_VSC_Alloc(
                cluster,
                &raw mut segment,
                CLASS.as_ptr(),
                size,
                DOCUMENT.as_ptr(),
                DOCUMENT.len(),
                c"%s".as_ptr(),
                full.as_ptr(),
            )
        };
        NonNull::new(values.cast()).map(|values| Counters { values, segment })
    }

    fn value(&self, counter: Counter) -> Option<&AtomicU64> {
        // SAFETY: the memory lives until the segment is destroyed, in drop.
        unsafe { self.values.as_ref() }.get(counter as usize)
    }

    /// Counts one.
    pub(crate) fn add(&self, counter: Counter) {
        if let Some(value) = self.value(counter) {
            value.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Sets a gauge.
    pub(crate) fn set(&self, counter: Counter, to: u64) {
        if let Some(value) = self.value(counter) {
            value.store(to, Ordering::Relaxed);
        }
    }

    /// Shows the set while its VCL is warm, hides it while it is cold.
    pub(crate) fn show(&self, visible: bool) {
        // SAFETY: the segment is this set's own, until drop.
        unsafe {
            if visible {
                sys::VRT_VSC_Reveal(self.segment);
            } else {
                sys::VRT_VSC_Hide(self.segment);
            }
        }
    }
}

impl Drop for Counters {
    fn drop(&mut self) {
        // SAFETY: the segment came from VRT_VSC_Alloc with the same class and
        // is given back once.
        unsafe { sys::VRT_VSC_Destroy(CLASS.as_ptr(), self.segment) };
    }
}
