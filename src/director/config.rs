//! What a director was made of: shared by it and its domains, and owning
//! neither.

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use dynamic_core::settings::Settings;
use dynamic_resolve::Settings as ResolverSettings;

use super::leaves::Leaves;
use crate::buckets::BucketsObject;
use crate::domain::Authority;
use crate::resolver::ResolverObject;
use crate::session::SessionObject;
use crate::sync::lock;
use crate::vcl::Vcl;
use crate::vrt::{Acl, BackgroundCtx, HeaderName, Probe, Via};

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

/// The settings of a director, and the leaves that its domains share.
#[derive(Debug)]
pub(crate) struct Config {
    pub(crate) vcl: Arc<Vcl>,
    /// The object's name in VCL.
    pub(crate) name: String,
    pub(crate) settings: Settings,
    pub(crate) references: References,
    /// The header whose value is the key of a request.
    pub(crate) hash_header: Option<HeaderName>,
    /// Granularity of last-use times, in seconds.
    pub(crate) usage_grain: f64,
    pub(super) leaves: Mutex<Leaves>,
    preferences: Mutex<Vec<(Acl, i64)>>,
    /// Whether any preference is configured.
    prefers: AtomicBool,
    debug: AtomicBool,
}

impl Config {
    pub(super) fn new(
        vcl: Arc<Vcl>,
        name: &str,
        settings: Settings,
        references: References,
    ) -> Self {
        let prefers = references.prefer.is_some();
        let preferences = references.prefer.map(|acl| (acl, 1)).into_iter().collect();
        Config {
            vcl,
            name: name.to_owned(),
            hash_header: settings.hash_header.as_deref().and_then(HeaderName::new),
            usage_grain: (settings.domain_usage_timeout.as_secs_f64() / 10.0).min(1.0),
            settings,
            references,
            leaves: Mutex::default(),
            preferences: Mutex::new(preferences),
            prefers: AtomicBool::new(prefers),
            debug: AtomicBool::new(false),
        }
    }

    /// How names are looked up.
    pub(crate) fn resolver(&self) -> ResolverSettings {
        self.references
            .resolver
            .as_ref()
            .map(|r| r.settings())
            .unwrap_or_default()
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
        const MAX_SCORE: i64 = 1_000_000;
        if !(-MAX_SCORE..=MAX_SCORE).contains(&score) {
            return Err(format!(
                "score = {score}: must be -{MAX_SCORE} to {MAX_SCORE}"
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
    pub(crate) fn allows(&self, ctx: &mut BackgroundCtx<'_>, address: IpAddr) -> bool {
        self.references
            .whitelist
            .is_none_or(|acl| acl.matches(ctx, address))
    }

    /// The sum of the scores of all preferences that match an address.
    pub(crate) fn score(&self, ctx: &mut BackgroundCtx<'_>, address: IpAddr) -> i64 {
        lock(&self.preferences)
            .iter()
            .filter(|(acl, _)| acl.matches(ctx, address))
            .fold(0, |sum: i64, (_, score)| sum.saturating_add(*score))
    }

    /// The authority in force: the call's, the director's, the host header, the
    /// host. An empty one is none. That of a call is distinct from the others
    /// even then, as the same host may be called both ways.
    pub(crate) fn authority(&self, call: Option<&[u8]>, host: &str) -> Option<Authority> {
        if let Some(name) = call {
            return Some(Authority {
                name: String::from_utf8_lossy(name).into_owned(),
                explicit: true,
            });
        }
        let (name, explicit) = match (&self.settings.authority, &self.references.via) {
            (Some(name), _) => (name.as_str(), true),
            (None, None) => return None,
            (None, Some(_)) => {
                let default = self.settings.host_header.as_deref().unwrap_or(host);
                (default, false)
            }
        };
        (!name.is_empty()).then(|| Authority {
            name: name.to_owned(),
            explicit,
        })
    }

    /// The VCL is discarded: no leaf is made any more.
    pub(super) fn close(&self) {
        lock(&self.leaves).clear();
        self.vcl.release_queue.clear();
        if let Some(via) = &self.references.via {
            via.release();
        }
    }
}
