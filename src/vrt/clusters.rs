//! Room for counters in the engine's shared memory.
//!
//! A counter set of its own takes a file and a page; a platform with ten
//! thousand names would spend more memory on them than on all else. The
//! engine's clusters hold many sets in one file: one is filled after the other,
//! and each goes when its last set is gone.

use std::ptr;

use super::background::BackgroundCtx;
use super::ctx::Ctx;
use super::sys;

/// Sets of counters per cluster.
const SETS: usize = 64;

/// Clusters of shared memory being filled, for one VCL.
#[derive(Debug)]
pub(crate) struct CounterClusters {
    leaves: Cluster,
    names: Cluster,
}

#[derive(Debug)]
struct Cluster {
    raw: *mut sys::vsmw_cluster,
    left: usize,
}

// SAFETY: a cluster is the module's own until it is handed back; the engine
// locks around its use.
unsafe impl Send for Cluster {}

impl Cluster {
    const EMPTY: Cluster = Cluster {
        raw: ptr::null_mut(),
        left: 0,
    };

    fn room(&mut self, ctx: *const sys::vrt_ctx, bytes: usize) -> *mut sys::vsmw_cluster {
        if self.left == 0 {
            self.close(ctx);
            // SAFETY: asks the engine for shared memory; the context is valid.
            self.raw = unsafe { sys::VRT_VSM_Cluster_New(ctx, bytes.saturating_mul(SETS)) };
            self.left = SETS;
        }
        self.left -= 1;
        self.raw
    }

    /// Gives up the module's own hold; the sets inside keep the cluster.
    fn close(&mut self, ctx: *const sys::vrt_ctx) {
        if !self.raw.is_null() {
            // SAFETY: came from Cluster_New and is given back once.
            unsafe { sys::VRT_VSM_Cluster_Destroy(ctx, &raw mut self.raw) };
        }
        self.raw = ptr::null_mut();
        self.left = 0;
    }
}

impl CounterClusters {
    /// An clusters that holds nothing yet.
    pub(crate) const fn new() -> Self {
        CounterClusters {
            leaves: Cluster::EMPTY,
            names: Cluster::EMPTY,
        }
    }

    pub(super) fn cluster_for_leaf(
        &mut self,
        ctx: &mut BackgroundCtx<'_>,
    ) -> *mut sys::vsmw_cluster {
        let ctx = ctx.as_ptr();
        // SAFETY: a constant of the engine.
        let bytes = unsafe { sys::VRT_backend_vsm_need(ctx) };
        self.leaves.room(ctx, bytes)
    }

    pub(super) fn cluster_for_name(
        &mut self,
        ctx: &mut BackgroundCtx<'_>,
        bytes: usize,
    ) -> *mut sys::vsmw_cluster {
        self.names.room(ctx.as_ptr(), bytes)
    }

    /// Gives up the clusters that are not full. In the VCL's DISCARD.
    pub(crate) fn close(&mut self, ctx: Ctx<'_>) {
        self.leaves.close(ctx.as_ptr());
        self.names.close(ctx.as_ptr());
    }
}
