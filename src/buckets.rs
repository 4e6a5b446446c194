//! The `buckets` object: hash buckets that cooperating servers agree on.

use std::ffi::CStr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use dynamic_core::buckets::{Buckets, Client, bucket_or};
use dynamic_core::name::Excerpt;

use crate::sync::lock;
use crate::vrt::{BlobObject, Ctx, VslTag, vsl_task};

/// `new b = dynamic.buckets(...)`.
#[derive(Debug)]
pub(crate) struct BucketsObject {
    name: String,
    /// While `vcl_init` assigns.
    building: Mutex<Option<Buckets>>,
    /// From the first request on: read without a lock.
    built: OnceLock<Buckets>,
    /// Whether it was said that a server is unknown.
    unknown_noted: AtomicBool,
}

impl BlobObject for BucketsObject {
    const KIND: u32 = 0x6479_6e62;
    const NAME: &'static CStr = c"dynamic.buckets";
}

/// Time as the table of waiting clients wants it.
pub(crate) fn since_epoch(ctx: Ctx<'_>) -> Duration {
    Duration::try_from_secs_f64(ctx.now()).unwrap_or_default()
}

impl BucketsObject {
    /// Checks the arguments. In `vcl_init`.
    ///
    /// # Errors
    /// The argument that cannot be accepted, its value and what can.
    pub(crate) fn new(
        name: &str,
        service_delay: f64,
        track_keys: bool,
    ) -> Result<Arc<Self>, String> {
        let mut seed = [0; 16];
        getrandom::fill(&mut seed).map_err(|e| format!("no random numbers: {e}"))?;
        let buckets = Buckets::new(service_delay, seed)
            .map_err(|e| e.to_string())?
            .track_keys(track_keys)
            .map_err(|e| e.to_string())?;
        Ok(Arc::new(BucketsObject {
            name: name.to_owned(),
            building: Mutex::new(Some(buckets)),
            built: OnceLock::new(),
            unknown_noted: AtomicBool::new(false),
        }))
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The buckets, which nothing changes any more.
    pub(crate) fn built(&self) -> Option<&Buckets> {
        if let Some(built) = self.built.get() {
            return Some(built);
        }
        // Held until it is set, so that nobody finds neither of the two.
        let mut building = lock(&self.building);
        if let Some(buckets) = building.take() {
            let _ = self.built.set(buckets);
        }
        self.built.get()
    }

    /// Reads the buckets: in `vcl_init` as assigned so far, without ending that.
    fn read<R>(&self, ctx: Ctx<'_>, read: impl FnOnce(&Buckets) -> R) -> Option<R> {
        if ctx.in_task() {
            return self.built().map(read);
        }
        match (&*lock(&self.building), self.built.get()) {
            (Some(buckets), _) | (None, Some(buckets)) => Some(read(buckets)),
            (None, None) => None,
        }
    }

    fn change(
        &self,
        change: impl FnOnce(&mut Buckets) -> Result<(), String>,
    ) -> Result<(), String> {
        match &mut *lock(&self.building) {
            Some(buckets) => change(buckets),
            None => Err("only in vcl_init".into()),
        }
    }

    pub(crate) fn assign(&self, server: &str, list: &str) -> Result<(), String> {
        self.change(|b| {
            b.assignment_mut()
                .assign(server, list)
                .map_err(|e| e.to_string())
        })
    }

    pub(crate) fn assign_bitmap(&self, server: &str, hex: &str) -> Result<(), String> {
        self.change(|b| {
            b.assignment_mut()
                .assign_bitmap(server, hex)
                .map_err(|e| e.to_string())
        })
    }

    /// `.bitmap()`: the buckets of a server.
    pub(crate) fn bitmap(&self, ctx: Ctx<'_>, server: &str) -> Result<String, String> {
        self.read(ctx, |b| {
            b.assignment()
                .buckets(server)
                .map(|set| set.to_string())
                .map_err(|e| e.to_string())
        })
        .unwrap_or_else(|| Err("no buckets".into()))
    }

    /// `.hash()`: the bucket of a key.
    pub(crate) fn hash(key: &[u8], otherwise: &[u8]) -> i64 {
        bucket_or(key, otherwise).into()
    }

    /// `.serves()`: whether a server of the group serves a client. That a
    /// server is unknown is said once: its name may come from a client.
    pub(crate) fn serves(&self, ctx: Ctx<'_>, server: &str, client: &Client<'_>) -> bool {
        let answer = self.read(ctx, |b| b.serves(server, client, since_epoch(ctx)));
        match answer {
            Some(Ok(is_served)) => is_served,
            Some(Err(_)) => {
                if !self.unknown_noted.swap(true, Ordering::Relaxed) {
                    let line = format!(
                        "vmod-dynamic {} {} - serves: server {} has no buckets, so it serves nobody",
                        ctx.vcl_name(),
                        self.name,
                        Excerpt::new(server.as_bytes())
                    );
                    vsl_task(ctx, VslTag::Error, &line);
                }
                false
            }
            None => false,
        }
    }
}
