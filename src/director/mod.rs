//! The `director` object: its settings, its names and its leaves.

mod leaves;
mod names;

use std::ffi::CStr;
use std::fs;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};

use dynamic_core::settings::{Arguments, Settings};
use dynamic_resolve::Settings as ResolverSettings;
use papaya::Guard;

use self::leaves::Leaves;
use crate::buckets::BucketsObject;
use crate::lifetime::{self, Vcl};
use crate::pool::Pool;
use crate::resolver::ResolverObject;
use crate::session::SessionObject;
use crate::sync::lock;
use crate::vrt::{Acl, Ctx, Handed, HeaderName, OffTask, Probe, Via};

/// What the constructor's arguments refer to.
#[derive(Debug)]
pub(crate) struct References {
    pub(crate) probe: Option<Probe>,
    pub(crate) whitelist: Option<Acl>,
    pub(crate) resolver: Option<Arc<ResolverObject>>,
    pub(crate) via: Option<Via>,
    pub(crate) prefer: Option<Acl>,
    pub(crate) session: Option<Arc<SessionObject>>,
    pub(crate) buckets: Option<Arc<BucketsObject>>,
}

/// `new d = dynamic.director(...)`.
#[derive(Debug)]
pub(crate) struct Director {
    this: Weak<Director>,
    vcl: Arc<Vcl>,
    name: String,
    settings: Settings,
    /// Seconds, as asked for by every request.
    usage_grain: f64,
    references: References,
    /// The text of the services file, as of the VCL load.
    services: String,
    hash_header: Option<HeaderName>,
    preferences: Mutex<Vec<(Acl, i64)>>,
    /// Whether any preference is configured.
    prefers: AtomicBool,
    /// By a keyed hash: clients choose the names.
    names: papaya::HashMap<Box<[u8]>, Arc<Pool>, ahash::RandomState>,
    /// Services that VCL lists; they go with the VCL.
    custom: Mutex<Vec<Arc<Pool>>>,
    /// Held while a name is made, so that one of many first requests wins.
    making: Mutex<()>,
    leaves: Mutex<Leaves>,
    debug: AtomicBool,
}

impl Handed for Director {
    const KIND: u32 = 0x6479_6e64;
    const NAME: &'static CStr = c"dynamic.director";
}

impl Director {
    /// Checks the arguments and makes a director. In `vcl_init`.
    ///
    /// # Errors
    /// The argument that cannot be accepted, its value and what can.
    pub(crate) fn new(
        ctx: Ctx<'_>,
        name: &str,
        arguments: Arguments,
        references: References,
    ) -> Result<Arc<Self>, String> {
        let vcl = lifetime::of(ctx).ok_or("the VCL is unknown to the module")?;
        // A container may have no services file: http and https are built in.
        let services = fs::read("/etc/services")
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            .unwrap_or_default();
        let settings = arguments.check(&services).map_err(|e| e.to_string())?;
        let hash_header = settings.hash_header.as_deref().and_then(HeaderName::new);
        let hasher = keyed_hasher().map_err(|why| format!("no random numbers: {why}"))?;
        let prefers = references.prefer.is_some();
        let preferences = references.prefer.map(|acl| (acl, 1)).into_iter().collect();
        let director = Arc::new_cyclic(|this| Director {
            this: Weak::clone(this),
            vcl,
            name: name.to_owned(),
            usage_grain: (settings.domain_usage_timeout.as_secs_f64() / 10.0).min(1.0),
            settings,
            references,
            services,
            hash_header,
            preferences: Mutex::new(preferences),
            prefers: AtomicBool::new(prefers),
            names: papaya::HashMap::with_hasher(hasher),
            custom: Mutex::default(),
            making: Mutex::new(()),
            leaves: Mutex::default(),
            debug: AtomicBool::new(false),
        });
        director.vcl.register(&director);
        Ok(director)
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn vcl(&self) -> &Arc<Vcl> {
        &self.vcl
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The header whose value is the key of a request.
    pub(crate) fn hash_header(&self) -> Option<&HeaderName> {
        self.hash_header.as_ref()
    }

    pub(crate) fn references(&self) -> &References {
        &self.references
    }

    /// How names are looked up.
    pub(crate) fn resolver(&self) -> ResolverSettings {
        self.references
            .resolver
            .as_ref()
            .map(|r| r.settings())
            .unwrap_or_default()
    }

    /// How much older than now a name's last use may be before it is written
    /// down anew, in seconds.
    pub(crate) fn usage_grain(&self) -> f64 {
        self.usage_grain
    }

    pub(crate) fn set_debug(&self, on: bool) {
        self.debug.store(on, Ordering::Relaxed);
    }

    pub(crate) fn debugging(&self) -> bool {
        self.debug.load(Ordering::Relaxed)
    }

    /// Adds a preference.
    ///
    /// # Errors
    /// A score so large that sums could overflow.
    pub(crate) fn prefer(&self, acl: Acl, score: i64) -> Result<(), String> {
        const MOST: i64 = 1_000_000;
        if !(-MOST..=MOST).contains(&score) {
            return Err(format!(
                "prefer: score = {score}: must be -{MOST} to {MOST}"
            ));
        }
        lock(&self.preferences).push((acl, score));
        self.prefers.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Whether any preference is configured.
    pub(crate) fn prefers(&self) -> bool {
        self.prefers.load(Ordering::Relaxed)
    }

    /// Whether the whitelist lets an address pass.
    pub(crate) fn allows(&self, ctx: &mut OffTask<'_>, address: IpAddr) -> bool {
        self.references
            .whitelist
            .is_none_or(|acl| acl.matches(ctx, address))
    }

    /// The sum of the scores of all preferences that match an address.
    pub(crate) fn score(&self, ctx: &mut OffTask<'_>, address: IpAddr) -> i64 {
        lock(&self.preferences)
            .iter()
            .filter(|(acl, _)| acl.matches(ctx, address))
            .fold(0, |sum: i64, (_, score)| sum.saturating_add(*score))
    }

    /// Calls `each` with every name.
    pub(crate) fn for_each(&self, mut each: impl FnMut(&Arc<Pool>)) {
        for pool in self.names.pin().values() {
            each(pool);
        }
        for pool in lock(&self.custom).iter() {
            each(pool);
        }
    }

    /// Drops a name from the director. It stays where it is held elsewhere.
    pub(crate) fn forget(&self, pool: &Arc<Pool>) {
        let guard = self.names.guard();
        let _ = self
            .names
            .remove_if(pool.key(), |_, known| Arc::ptr_eq(known, pool), &guard);
        guard.flush();
    }

    /// Lets go of the names that this thread took away while others looked at
    /// the table. Each of them holds the director, which holds the table: one
    /// that stays behind keeps all of it for ever. When no task is left.
    pub(crate) fn settle(&self) {
        self.names.guard().flush();
    }

    /// The VCL is discarded: gives back all names and leaves.
    pub(crate) fn close(&self) {
        {
            let guard = self.names.guard();
            for pool in self.names.values(&guard) {
                pool.close();
            }
            self.names.clear(&guard);
            guard.flush();
        }
        for pool in lock(&self.custom).drain(..) {
            pool.close();
        }
        lock(&self.leaves).clear();
        self.vcl.graveyard.clear();
        if let Some(via) = &self.references.via {
            via.release();
        }
    }
}

/// A hash function that nobody outside can foresee.
fn keyed_hasher() -> Result<ahash::RandomState, getrandom::Error> {
    let seed = || getrandom::u64();
    Ok(ahash::RandomState::with_seeds(
        seed()?,
        seed()?,
        seed()?,
        seed()?,
    ))
}
