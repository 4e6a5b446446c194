//! Counters in the engine's shared memory, one set for each name.

use std::ffi::{CStr, CString};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{LazyLock, OnceLock};

use serde_json::{Map, Value, json};

use super::background::BackgroundCtx;
use super::clusters::CounterClusters;
use super::sys;

/// The first part of the counters' names. The engine compares it by address.
static CLASS: &CStr = c"DYNAMIC";

/// Declares the counters: each once, with its name, type and description.
macro_rules! counters {
    ($($variant:ident $name:literal $kind:literal $doc:literal,)*) => {
        /// A counter of the set, in the order of its place in shared memory.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Counter {
            $(#[doc = $doc] $variant,)*
        }

        /// Name, type and description of each counter, in their order.
        const DESCRIPTIONS: &[(&str, &str, &str)] = &[$(($name, $kind, $doc),)*];
    };
}

counters! {
    Lookups "lookups" "counter" "Lookups that were answered or failed",
    LookupsFailed "lookups_failed" "counter" "Lookups without a usable answer",
    Addresses "addresses" "gauge" "Addresses in use",
    Selected "selected" "counter" "Backends chosen",
    SelectedPreferred "selected_preferred" "counter" "Backends chosen that are preferred",
    Spilled "spilled" "counter" "Choices from a tier below the best",
    HashOverflow "hash_overflow" "counter" "Keyed choices moved on by the load bound",
    RetriedElsewhere "retried_elsewhere" "counter" "Retries that went to another backend",
    SessionOk "session_ok" "counter" "Session keys that were followed",
    SessionNew "session_new" "counter" "Sessions that were begun",
    SessionRecovered "session_recovered" "counter" "Sessions that were given another backend",
    SessionFailed "session_failed" "counter" "Requests refused for their session key",
    BucketsOwner "buckets_owner" "counter" "Choices of an owner of the request's bucket",
    BucketsDelayed "buckets_delayed" "counter" "Requests refused while the owners of their bucket are down",
    BucketsTakenOver "buckets_taken_over" "counter" "Requests that others serve as the owners of their bucket are down",
    FirstLookupTimeouts "first_lookup_timeouts" "counter" "Requests that gave up waiting for a first answer",
}

/// How many counters there are.
const COUNT: usize = DESCRIPTIONS.len();

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
        "docs": "", "elements": COUNT, "elem": elements,
    });
    let mut text = document.to_string().into_bytes();
    text.push(0);
    text
});

/// The counters of one domain.
///
/// They are in shared memory from [`publish`](Self::publish) on: a domain that
/// never has a good answer costs none. What is counted before is not lost.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    early: [AtomicU64; COUNT],
    shared: OnceLock<SharedCounters>,
}

/// A set in shared memory.
#[derive(Debug)]
struct SharedCounters {
    values: NonNull<[AtomicU64; COUNT]>,
    segment: *mut sys::vsc_seg,
}

// SAFETY: the values are atomics in shared memory that lives as long as the
// segment; the segment is only handed to the engine, which locks.
unsafe impl Send for SharedCounters {}
// SAFETY: as above.
unsafe impl Sync for SharedCounters {}

impl SharedCounters {
    /// Makes a set named `<vcl>.<name>`.
    fn new(
        ctx: &mut BackgroundCtx<'_>,
        name: &str,
        clusters: &mut CounterClusters,
    ) -> Option<Self> {
        let full = CString::new(name).ok()?;
        let size = size_of::<[AtomicU64; COUNT]>();
        let mut segment = ptr::null_mut();
        // SAFETY: a constant of the engine's.
        let room = unsafe { sys::VRT_VSC_Overhead(size) };
        let cluster = clusters.cluster_for_name(ctx, room);
        // SAFETY: class and document are static; the format takes one string,
        // which the engine copies. It returns zeroed memory of that size.
        let values = unsafe {
            sys::dynamic_vsc_alloc(
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
        NonNull::new(values.cast()).map(|values| SharedCounters { values, segment })
    }

    fn values(&self) -> &[AtomicU64; COUNT] {
        // SAFETY: the memory lives until the segment is destroyed, in drop.
        unsafe { self.values.as_ref() }
    }
}

impl Drop for SharedCounters {
    fn drop(&mut self) {
        // SAFETY: the segment came from dynamic_vsc_alloc with the same class and
        // is given back once.
        unsafe { sys::VRT_VSC_Destroy(CLASS.as_ptr(), self.segment) };
    }
}

impl Counters {
    pub(crate) fn is_published(&self) -> bool {
        self.shared.get().is_some()
    }

    /// Shows the counters as `<vcl>.<name>`, with what was counted so far.
    /// Doing it twice does nothing. On the resolver thread.
    pub(crate) fn publish(
        &self,
        ctx: &mut BackgroundCtx<'_>,
        name: &str,
        clusters: &mut CounterClusters,
    ) {
        if self.is_published() {
            return;
        }
        let Some(shared) = SharedCounters::new(ctx, name, clusters) else {
            return;
        };
        for (early, value) in self.early.iter().zip(shared.values()) {
            value.store(early.load(Ordering::Relaxed), Ordering::Relaxed);
        }
        let _ = self.shared.set(shared);
    }

    fn value(&self, counter: Counter) -> Option<&AtomicU64> {
        let values = self
            .shared
            .get()
            .map_or(&self.early, SharedCounters::values);
        values.get(counter as usize)
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
        if let Some(shared) = self.shared.get() {
            // SAFETY: the segment is this set's own, until drop.
            unsafe {
                if visible {
                    sys::VRT_VSC_Reveal(shared.segment);
                } else {
                    sys::VRT_VSC_Hide(shared.segment);
                }
            }
        }
    }
}
