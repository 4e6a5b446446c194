//! The `director` object: its settings, its domains and its leaves.

mod config;
mod domains;
mod leaves;
mod names;

use std::ffi::CStr;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, Weak};

use dynamic_core::settings::Arguments;
use dynamic_resolve::regular_file;

pub(crate) use self::config::{Config, References};
use self::domains::Domains;
use crate::domain::Domain;
use crate::lifetime;
use crate::sync::lock;
use crate::vrt::{BlobObject, Ctx};

/// The file with the names of services and their ports.
const SERVICES: &str = "/etc/services";
/// The largest services file that is read, in bytes.
const MAX_SERVICES: u64 = 4 << 20;

/// `new d = dynamic.director(...)`.
///
/// It owns its domains. They hold its [`Config`], and nothing that they hold
/// leads back here: what VCL drops is freed.
#[derive(Debug)]
pub(crate) struct Director {
    /// For the thread that resolves its domains.
    this: Weak<Director>,
    config: Arc<Config>,
    /// The text of the services file, as of the VCL load.
    services: String,
    domains: Domains,
    /// Services that VCL lists.
    custom: Mutex<Vec<Arc<Domain>>>,
    /// Whether it was said that a session by host is of no use to names.
    host_affinity_noted: AtomicBool,
}

impl BlobObject for Director {
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
        let services = regular_file::read(Path::new(SERVICES), MAX_SERVICES)
            .map(|file| String::from_utf8_lossy(&file).into_owned())
            .unwrap_or_default();
        let settings = arguments.check(&services).map_err(|e| e.to_string())?;
        let domains =
            Domains::new(settings.max_names).map_err(|why| format!("no random numbers: {why}"))?;
        let config = Config::new(vcl, name, settings, references);
        let director = Arc::new_cyclic(|this| Director {
            this: Weak::clone(this),
            config: Arc::new(config),
            services,
            domains,
            custom: Mutex::default(),
            host_affinity_noted: AtomicBool::new(false),
        });
        lifetime::register(&director);
        Ok(director)
    }

    /// Its settings.
    pub(crate) fn config(&self) -> &Arc<Config> {
        &self.config
    }

    /// Calls `each` with every domain.
    pub(crate) fn for_each(&self, mut each: impl FnMut(&Arc<Domain>)) {
        self.domains.for_each(&mut each);
        for domain in lock(&self.custom).iter() {
            each(domain);
        }
    }

    /// Starts the resolution of all domains.
    pub(crate) fn watch_all(&self) {
        self.for_each(|domain| lifetime::watch(&self.this, domain));
    }

    /// Whether names without an answer have to make room for others.
    pub(crate) fn is_crowded(&self) -> bool {
        self.domains.is_crowded()
    }

    /// Takes a domain out that has expired.
    pub(crate) fn remove(&self, domain: &Arc<Domain>) {
        self.domains.remove(domain);
    }

    /// The VCL is discarded: gives back all domains and leaves. On the CLI
    /// thread.
    pub(crate) fn close(&self) {
        for domain in self.domains.drain() {
            domain.close();
        }
        for domain in lock(&self.custom).drain(..) {
            domain.close();
        }
        self.config.close();
    }
}
