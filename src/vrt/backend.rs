//! Leaves: the engine's backends, one for each endpoint.

use std::ffi::{CStr, CString};
use std::net::IpAddr;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::acl::Probe;
use super::background::BackgroundCtx;
use super::clusters::CounterClusters;
use super::ctx::Ctx;
use super::suckaddr::Suckaddr;
use super::sys;
use super::vsl;

/// A reference to one of the engine's directors or backends, owned by the
/// module: as long as it is held, the engine does not free it.
#[derive(Debug)]
pub(super) struct OwnedDirector(NonNull<sys::director>);

// SAFETY: the engine guards its directors' reference counts with locks of its
// own; references may be taken and given back on any thread.
unsafe impl Send for OwnedDirector {}
// SAFETY: as above; a shared reference only reads.
unsafe impl Sync for OwnedDirector {}

impl OwnedDirector {
    /// # Safety
    /// `raw` carries a reference that nobody else gives back.
    pub(super) unsafe fn new(raw: sys::VCL_BACKEND) -> Option<Self> {
        NonNull::new(raw.cast_mut()).map(OwnedDirector)
    }

    pub(super) fn as_ptr(&self) -> sys::VCL_BACKEND {
        self.0.as_ptr()
    }
}

/// Leaves whose last user is gone, until the resolver thread or the CLI gives
/// them back to the engine.
///
/// Giving back may take the engine's VCL lock, which the thread that drops the
/// last user may hold already (`backend.list` does), so that a drop only puts it here.
#[derive(Debug, Default)]
pub(crate) struct ReleaseQueue(Mutex<Vec<OwnedDirector>>);

impl ReleaseQueue {
    /// Gives the dead back to the engine. On the resolver thread, or on the
    /// CLI thread in an event, never inside a director's callback.
    pub(crate) fn clear(&self) {
        // Taken out first: the lock is not held in a call to the engine.
        for dead in std::mem::take(&mut *self.lock()) {
            let mut raw = dead.as_ptr();
            // SAFETY: the module's own reference, given back once. The engine
            // frees the backend when no task uses it any more.
            unsafe {
                sys::VRT_DisableDirector(raw);
                sys::VRT_Assign_Backend(&raw mut raw, ptr::null());
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<OwnedDirector>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a leaf is made of.
#[derive(Clone, Debug)]
pub(crate) struct LeafPlan<'d> {
    /// The name under which the engine lists it, without the VCL's.
    pub name: CString,
    /// Where to connect.
    pub address: IpAddr,
    /// Where to connect.
    pub port: u16,
    /// `Host` of probes and of requests without one.
    pub host_header: Option<CString>,
    /// The authority sent ahead with PROXY where the leaf goes via another.
    pub authority: Option<CString>,
    /// Seconds; negative: the engine's default.
    pub connect_timeout: f64,
    /// Seconds; negative: the engine's default.
    pub first_byte_timeout: f64,
    /// Seconds; negative: the engine's default.
    pub between_bytes_timeout: f64,
    /// Seconds; negative: the engine's default.
    pub wait_timeout: f64,
    /// Requests that may wait for a connection; 0: the engine's default.
    pub wait_limit: u32,
    /// Connections at once; 0: no limit.
    pub max_connections: u32,
    /// PROXY protocol version, 0 for none.
    pub proxy_header: u32,
    /// Health probe; `None`: the VCL's default probe, if it has one.
    pub probe: Option<Probe>,
    /// Backend to go through.
    pub via: Option<&'d Via>,
}

/// Why a leaf was not made.
#[derive(Debug)]
pub(crate) enum LeafError {
    /// The VCL is leaving; nothing to tell anybody.
    Leaving,
    /// The engine refused, with its text.
    Refused(String),
}

/// A backend that others go through. The module holds a reference to it until
/// it is [released](Via::release): a name would go away when nobody used it.
#[derive(Debug)]
pub(crate) struct Via(AtomicPtr<sys::director>);

/// Directors that choose without looking at a task, and so may be resolved
/// whenever a leaf is made.
const TASKLESS: [&CStr; 6] = [
    c"backend",
    c"dynamic",
    c"dynamic-service",
    c"fallback",
    c"random",
    c"round-robin",
];

/// The director that ends the server when it is asked without a request.
const SHARD: &CStr = c"shard";

impl Via {
    /// The backend to go through, for the director of that name. Other directors than those that need no task
    /// are resolved now. In `vcl_init`.
    ///
    /// # Errors
    /// When such a director has no backend to offer.
    pub(crate) fn new(
        ctx: Ctx<'_>,
        name: &str,
        raw: sys::VCL_BACKEND,
    ) -> Result<Option<Self>, String> {
        let Some(given) = NonNull::new(raw.cast_mut()) else {
            return Ok(None);
        };
        let held = |backend: sys::VCL_BACKEND| {
            let mut reference = ptr::null();
            // SAFETY: a director or backend of the VCL that is being loaded,
            // which the caller holds meanwhile.
            unsafe { sys::VRT_Assign_Backend(&raw mut reference, backend) };
            Some(Via(AtomicPtr::new(reference.cast_mut())))
        };
        // SAFETY: a director of the VCL that is being loaded; the engine's
        // record of it and the type's name live as long as it.
        let kind = unsafe {
            let record = given.as_ref().vdir;
            if record.is_null() || (*record).magic != sys::VCLDIR_MAGIC {
                c""
            } else {
                CStr::from_ptr((*(*record).methods).type_)
            }
        };
        if TASKLESS.contains(&kind) {
            return Ok(held(raw));
        }
        if kind == SHARD {
            return Err("via: a shard director chooses by the request, must be a backend".into());
        }
        // SAFETY: on the CLI thread, with its context.
        let resolved = unsafe { sys::VRT_DirectorResolve(ctx.as_ptr(), raw) };
        if resolved.is_null() {
            return Err("via: the director has no backend at VCL load, must be a backend".into());
        }
        vsl::vsl_task(
            ctx,
            vsl::VslTag::Error,
            &format!(
                "vmod-dynamic {} {name} - via: a director of type {} is resolved once, at VCL load",
                ctx.vcl_name(),
                kind.to_string_lossy()
            ),
        );
        Ok(held(resolved))
    }

    fn as_ptr(&self) -> sys::VCL_BACKEND {
        self.0.load(Ordering::Acquire)
    }

    /// Gives the reference back. On the CLI thread, not in a callback, when no
    /// leaf is made any more. Doing it twice does nothing.
    pub(crate) fn release(&self) {
        let mut raw = self.0.swap(ptr::null_mut(), Ordering::AcqRel).cast_const();
        if !raw.is_null() {
            // SAFETY: the module's own reference, given back once.
            unsafe { sys::VRT_Assign_Backend(&raw mut raw, ptr::null()) };
        }
    }
}

/// Where a director is refused, in `vcl_init`; else there is nothing left.
impl Drop for Via {
    fn drop(&mut self) {
        self.release();
    }
}

/// One endpoint's backend in the engine.
#[derive(Debug)]
pub(crate) struct Leaf {
    /// Always there until drop moves it to the release queue.
    backend: Option<OwnedDirector>,
    name: String,
    release_queue: Arc<ReleaseQueue>,
    /// Backend tasks that chose it last, where choices go by load.
    chosen: AtomicU32,
}

/// One task's part of a leaf's load, from the choice on: the engine counts a
/// connection only when it is there, and of many requests at once each would
/// find the leaf idle.
#[derive(Debug)]
pub(crate) struct InFlightToken(Arc<Leaf>);

impl InFlightToken {
    /// Counts a task, until this is dropped.
    pub(crate) fn on(leaf: &Arc<Leaf>) -> Self {
        leaf.chosen.fetch_add(1, Ordering::Relaxed);
        InFlightToken(Arc::clone(leaf))
    }
}

impl Drop for InFlightToken {
    fn drop(&mut self) {
        self.0.chosen.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Leaf {
    /// Makes a leaf; its probe starts at once. On the resolver thread.
    ///
    /// # Errors
    /// When the VCL is leaving, or the engine refuses.
    pub(crate) fn new(
        ctx: &mut BackgroundCtx<'_>,
        plan: &LeafPlan<'_>,
        clusters: &mut CounterClusters,
        release_queue: &Arc<ReleaseQueue>,
    ) -> Result<Leaf, LeafError> {
        let sockaddr = Suckaddr::new(plan.address, plan.port).ok_or_else(|| {
            LeafError::Refused("the engine's address structure is unknown".into())
        })?;
        let mut endpoint = sys::vrt_endpoint {
            magic: sys::VRT_ENDPOINT_MAGIC,
            ..Default::default()
        };
        match plan.address {
            IpAddr::V4(_) => endpoint.ipv4 = sockaddr.as_ptr(),
            IpAddr::V6(_) => endpoint.ipv6 = sockaddr.as_ptr(),
        }
        let text = |t: &Option<CString>| t.as_deref().map_or(ptr::null(), CStr::as_ptr);
        let description = sys::vrt_backend {
            magic: sys::VRT_BACKEND_MAGIC,
            endpoint: &raw const endpoint,
            vcl_name: plan.name.as_ptr(),
            hosthdr: text(&plan.host_header),
            authority: text(&plan.authority),
            connect_timeout: plan.connect_timeout,
            first_byte_timeout: plan.first_byte_timeout,
            between_bytes_timeout: plan.between_bytes_timeout,
            backend_wait_timeout: plan.wait_timeout,
            max_connections: plan.max_connections,
            proxy_header: plan.proxy_header,
            backend_wait_limit: plan.wait_limit,
            probe: plan.probe.map_or(ptr::null(), Probe::as_ptr),
        };
        let via = plan.via.map_or(ptr::null(), Via::as_ptr);
        if plan.via.is_some() && via.is_null() {
            // Released: the director is gone, and nothing may go around it.
            return Err(LeafError::Leaving);
        }
        let cluster = clusters.cluster_for_leaf(ctx);
        // SAFETY: the description and all that it points to outlive the call,
        // in which the engine copies them; the probe, the via and the VCL are
        // kept by the guard behind `ctx`. A null result means that the VCL is
        // leaving, or that the engine said why not.
        let backend = unsafe {
            let raw =
                sys::VRT_new_backend_clustered(ctx.as_ptr(), cluster, &raw const description, via);
            OwnedDirector::new(raw)
        };
        match backend {
            Some(backend) => Ok(Leaf {
                backend: Some(backend),
                name: plan.name.to_string_lossy().into_owned(),
                release_queue: Arc::clone(release_queue),
                chosen: AtomicU32::new(0),
            }),
            None => Err(ctx
                .take_error()
                .map_or(LeafError::Leaving, LeafError::Refused)),
        }
    }

    /// The name under which the engine lists it, without the VCL's.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn as_ptr(&self) -> sys::VCL_BACKEND {
        self.backend
            .as_ref()
            .map_or(ptr::null(), OwnedDirector::as_ptr)
    }

    /// What tells this leaf from all others that live.
    pub(crate) fn identity(&self) -> usize {
        self.as_ptr().addr()
    }

    /// Whether the probe and the operator hold it for healthy.
    pub(crate) fn healthy(&self, ctx: Ctx<'_>) -> bool {
        // SAFETY: the reference keeps the backend; the engine reads its health.
        unsafe { sys::VRT_Healthy(ctx.as_ptr(), self.as_ptr(), ptr::null_mut()) != 0 }
    }

    /// Health, and when it last changed, in seconds since the epoch.
    pub(crate) fn health(&self, ctx: Ctx<'_>) -> (bool, f64) {
        let mut changed = 0.0;
        // SAFETY: as above; the time is written to a local.
        let healthy =
            unsafe { sys::VRT_Healthy(ctx.as_ptr(), self.as_ptr(), &raw mut changed) != 0 };
        (healthy, changed)
    }

    /// Requests under way: connections in use, of whatever VCL, or backend
    /// tasks that chose it by load, if those are more. A task is both.
    ///
    /// A task ends a little later than its connection, and than its client has
    /// the response. One alone that has no connection is taken for such a one:
    /// the client's next request is to find the backend idle.
    pub(crate) fn in_flight(&self) -> u32 {
        let connections = self.connections();
        match self.chosen.load(Ordering::Relaxed) {
            1 => connections,
            chosen => chosen.max(connections),
        }
    }

    /// Connections in use, from connect to the end of the transaction.
    pub(crate) fn connections(&self) -> u32 {
        // SAFETY: the reference keeps the director, whose private part is the
        // engine's backend (it was made by VRT_new_backend); the counter is
        // one aligned word that the engine changes under its own lock, so a
        // volatile read sees a recent value of it.
        unsafe {
            let Some(director) = self.as_ptr().as_ref() else {
                return 0;
            };
            let backend = director.priv_.cast::<sys::backend>().cast_const();
            if backend.is_null() || (*backend).magic != sys::BACKEND_MAGIC {
                return 0;
            }
            ptr::read_volatile(&raw const (*backend).n_conn)
        }
    }
}

impl Drop for Leaf {
    fn drop(&mut self) {
        if let Some(backend) = self.backend.take() {
            self.release_queue.lock().push(backend);
        }
    }
}
