//! The `resolver` object: how names are looked up.

use std::ffi::CStr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use dynamic_resolve::{NameServer, Namespace, Settings, Transport, search_domain};

use crate::sync::lock;
use crate::vrt::BlobObject;

/// Most queries under way that can be allowed.
const MOST_QUERIES: usize = 65_535;
/// Longest timeout, in seconds.
const LONGEST: f64 = 3600.0;

/// `new r = dynamic.resolver()`.
#[derive(Debug)]
pub(crate) struct ResolverObject {
    name: String,
    settings: Mutex<Settings>,
}

impl BlobObject for ResolverObject {
    const KIND: u32 = 0x6479_6e72;
    const NAME: &'static CStr = c"dynamic.resolver";
}

fn seconds(given: f64, zero: bool) -> Result<Duration, String> {
    let accepted = if zero {
        "0s to 1h"
    } else {
        "more than 0s and at most 1h"
    };
    if (given > 0.0 || (zero && given == 0.0)) && given <= LONGEST {
        return Ok(Duration::from_secs_f64(given));
    }
    Err(format!("{given}s: must be {accepted}"))
}

impl ResolverObject {
    /// Checks the constructor's arguments.
    ///
    /// # Errors
    /// The argument that cannot be accepted, its value and what can.
    pub(crate) fn new(name: &str, from_os: bool, parallel: i64) -> Result<Arc<Self>, String> {
        let parallel = usize::try_from(parallel)
            .ok()
            .filter(|p| (1..=MOST_QUERIES).contains(p))
            .ok_or_else(|| format!("parallel = {parallel}: must be 1 to {MOST_QUERIES}"))?;
        let settings = Settings {
            from_os,
            parallel,
            ..Settings::default()
        };
        Ok(Arc::new(ResolverObject {
            name: name.to_owned(),
            settings: Mutex::new(settings),
        }))
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The settings as of now.
    pub(crate) fn settings(&self) -> Settings {
        lock(&self.settings).clone()
    }

    pub(crate) fn set_resolution_type(kind: &str) -> Result<(), String> {
        match kind {
            "STUB" => Ok(()),
            other => Err(format!(
                "{other} is not supported: this module asks the name servers that it is given; must be STUB"
            )),
        }
    }

    pub(crate) fn clear_namespaces(&self) {
        lock(&self.settings).namespaces.clear();
    }

    pub(crate) fn add_namespace(&self, space: &str) -> Result<(), String> {
        let space = match space {
            "DNS" => Namespace::Dns,
            "LOCALNAMES" => Namespace::LocalNames,
            other => {
                return Err(format!(
                    "{other} is not supported: must be DNS or LOCALNAMES"
                ));
            }
        };
        let mut settings = lock(&self.settings);
        if !settings.namespaces.contains(&space) {
            settings.namespaces.push(space);
        }
        Ok(())
    }

    pub(crate) fn set_namespaces(&self) -> Result<(), String> {
        if lock(&self.settings).namespaces.is_empty() {
            return Err("no namespace was added: add DNS, LOCALNAMES or both".into());
        }
        Ok(())
    }

    pub(crate) fn clear_transports(&self) {
        lock(&self.settings).transports.clear();
    }

    pub(crate) fn add_transport(&self, transport: &str) -> Result<(), String> {
        let transport = match transport {
            "UDP" => Transport::Udp,
            "TCP" => Transport::Tcp,
            "TLS" if cfg!(feature = "tls") => Transport::Tls,
            "TLS" => {
                return Err(
                    "this module was built without the feature tls: must be UDP or TCP".into(),
                );
            }
            other => return Err(format!("{other} is not supported: must be UDP, TCP or TLS")),
        };
        let mut settings = lock(&self.settings);
        if !settings.transports.contains(&transport) {
            settings.transports.push(transport);
        }
        Ok(())
    }

    pub(crate) fn set_transports(&self) -> Result<(), String> {
        if lock(&self.settings).transports.is_empty() {
            return Err("no transport was added: add UDP, TCP or TLS".into());
        }
        Ok(())
    }

    pub(crate) fn set_idle_timeout(&self, given: f64) -> Result<(), String> {
        lock(&self.settings).idle_timeout = Some(seconds(given, true)?);
        Ok(())
    }

    pub(crate) fn set_timeout(&self, given: f64) -> Result<(), String> {
        lock(&self.settings).timeout = Some(seconds(given, false)?);
        Ok(())
    }

    pub(crate) fn set_outstanding(&self, limit: i64) -> Result<(), String> {
        let limit = usize::try_from(limit)
            .ok()
            .filter(|l| *l <= MOST_QUERIES)
            .ok_or_else(|| format!("{limit}: must be 0 (the default, 256) to {MOST_QUERIES}"))?;
        lock(&self.settings).outstanding = limit;
        Ok(())
    }

    pub(crate) fn set_follow_redirects(&self, follow: &str) {
        lock(&self.settings).follow_redirects = follow == "REDIRECTS_FOLLOW";
    }

    pub(crate) fn add_nameserver(&self, server: &str) -> Result<(), String> {
        let server = NameServer::parse(server).map_err(|e| e.to_string())?;
        lock(&self.settings).nameservers.push(server);
        Ok(())
    }

    pub(crate) fn add_search(&self, domain: &str) -> Result<(), String> {
        let domain = search_domain(domain).map_err(|e| e.to_string())?;
        lock(&self.settings).search.push(domain);
        Ok(())
    }
}
