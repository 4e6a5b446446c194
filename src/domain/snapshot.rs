//! The snapshot that requests read, and how it is replaced.

use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, Ordering};

use arc_swap::ArcSwap;
use dynamic_core::buckets::Buckets;
use dynamic_core::domain::Backend;
use dynamic_core::snapshot::Preparation;

use crate::director::Config;
use crate::vrt::Leaf;

/// The endpoints of one answer. Their leaves live at least as long as it.
pub(crate) type Snapshot = dynamic_core::snapshot::Snapshot<Arc<Leaf>>;

/// Prepares all that requests need. `seed` says whose turn it is first.
pub(super) fn prepare(config: &Config, backends: Vec<Backend<Arc<Leaf>>>, seed: u64) -> Snapshot {
    let references = &config.references;
    let session = references.session.as_ref().map(|object| {
        let session = object.session();
        (session.format(), session.settings().affinity_to())
    });
    let preparation = Preparation {
        rules: config.settings.rules,
        session,
        buckets: references
            .buckets
            .as_ref()
            .and_then(|object| object.built())
            .map(Buckets::assignment),
        hash_by_host: false,
        seed,
    };
    Snapshot::new(backends, &preparation)
}

/// The snapshot in force.
#[derive(Debug)]
pub(super) struct Published {
    snapshot: ArcSwap<Snapshot>,
    /// Where it is, only to be compared: a task that holds it need not get
    /// hold of it again.
    address: AtomicPtr<()>,
}

impl Published {
    pub(super) fn new(snapshot: Snapshot) -> Self {
        let snapshot = Arc::new(snapshot);
        Published {
            address: AtomicPtr::new(Arc::as_ptr(&snapshot).cast_mut().cast()),
            snapshot: ArcSwap::new(snapshot),
        }
    }

    pub(super) fn load(&self) -> arc_swap::Guard<Arc<Snapshot>> {
        self.snapshot.load()
    }

    pub(super) fn store(&self, snapshot: Snapshot) {
        let snapshot = Arc::new(snapshot);
        let address = Arc::as_ptr(&snapshot).cast_mut().cast();
        self.snapshot.store(snapshot);
        self.address.store(address, Ordering::Release);
    }

    /// The address of the snapshot in force, or of one that was until just
    /// now.
    pub(super) fn address(&self) -> *const () {
        self.address.load(Ordering::Acquire)
    }
}
