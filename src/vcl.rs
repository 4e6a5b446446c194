//! One loaded VCL that imports the module: what outlives its directors.

use std::sync::{Arc, Mutex};

use crate::vrt::{CounterClusters, Ctx, ReleaseQueue, VclPtr};

/// One loaded VCL.
#[derive(Debug)]
pub(crate) struct Vcl {
    /// Its identity.
    pub(crate) ptr: VclPtr,
    /// The name under which it was loaded.
    pub(crate) name: String,
    /// Its leaves that nobody uses any more.
    pub(crate) release_queue: Arc<ReleaseQueue>,
    /// Room for its counters.
    pub(crate) clusters: Mutex<CounterClusters>,
}

impl Vcl {
    /// The VCL of a LOAD event.
    pub(crate) fn new(ctx: Ctx<'_>) -> Self {
        Vcl {
            ptr: ctx.vcl(),
            name: ctx.vcl_name(),
            release_queue: Arc::default(),
            clusters: Mutex::new(CounterClusters::new()),
        }
    }
}
