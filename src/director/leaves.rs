//! The leaves of a director, shared by its names as `share` says.

use std::collections::HashMap;
use std::ffi::CString;
use std::net::IpAddr;
use std::sync::{Arc, Weak};

use dynamic_core::name::{EndpointId, Host};
use dynamic_core::settings::Share;

use super::config::Config;
use crate::domain::Authority;
use crate::sync::lock;
use crate::vrt::{BackgroundCtx, Leaf, LeafError, LeafPlan};

/// A leaf is shared by all that have the same of these.
#[derive(Debug, PartialEq, Eq, Hash)]
struct LeafKey {
    /// Only where leaves are not shared between hosts.
    host: Option<Arc<str>>,
    address: IpAddr,
    port: u16,
    authority: Option<Authority>,
}

/// The leaves that live, by what they are for.
#[derive(Debug, Default)]
pub(super) struct Leaves {
    known: HashMap<LeafKey, Weak<Leaf>>,
    /// The size at which the dead are next swept out.
    sweep_at: usize,
}

impl Leaves {
    fn get(&self, key: &LeafKey) -> Option<Arc<Leaf>> {
        self.known.get(key).and_then(Weak::upgrade)
    }

    fn insert(&mut self, key: LeafKey, leaf: &Arc<Leaf>) {
        if self.known.len() >= self.sweep_at {
            self.known.retain(|_, leaf| leaf.strong_count() > 0);
            self.sweep_at = (2 * self.known.len()).max(64);
        }
        self.known.insert(key, Arc::downgrade(leaf));
    }

    /// Forgets all of them.
    pub(super) fn clear(&mut self) {
        self.known.clear();
    }
}

impl Config {
    /// The leaf of an endpoint, made if nobody has it. On the resolver thread.
    ///
    /// # Errors
    /// When the VCL is leaving, or the engine refuses.
    pub(crate) fn leaf(
        &self,
        ctx: &mut BackgroundCtx<'_>,
        host: &Arc<str>,
        address: IpAddr,
        port: u16,
        authority: Option<&Authority>,
    ) -> Result<Arc<Leaf>, LeafError> {
        let per_host = self.settings.share == Share::Host;
        let key = LeafKey {
            host: per_host.then(|| Arc::clone(host)),
            address,
            port,
            authority: authority.cloned(),
        };
        if let Some(leaf) = lock(&self.leaves).get(&key) {
            return Ok(leaf);
        }
        let plan = self.leaf_plan(&key)?;
        let leaf = {
            let mut clusters = lock(&self.vcl.clusters);
            Arc::new(Leaf::new(
                ctx,
                &plan,
                &mut clusters,
                &self.vcl.release_queue,
            )?)
        };
        lock(&self.leaves).insert(key, &leaf);
        Ok(leaf)
    }

    fn leaf_plan(&self, key: &LeafKey) -> Result<LeafPlan<'_>, LeafError> {
        let text = |text: String| {
            CString::new(text).map_err(|_| LeafError::Refused("a zero byte in its name".into()))
        };
        let endpoint = EndpointId {
            address: key.address,
            port: key.port,
        };
        // Leaves that hosts share differ by the authority alone where a
        // default one tells the hosts apart.
        let suffix = match &key.authority {
            Some(authority) if authority.explicit || key.host.is_none() => {
                format!("/{}", authority.name)
            }
            _ => String::new(),
        };
        let name = match &key.host {
            Some(host) => format!("{}({host}.{endpoint}{suffix})", self.name),
            None => format!("{}({endpoint}{suffix})", self.name),
        };
        // The engine would write a bare IPv6 address into the Host header.
        let host_header = match (&self.settings.host_header, &key.host) {
            (Some(header), _) => header.clone(),
            (None, Some(host)) => bracketed(host),
            (None, None) => Host::Ip(key.address).bracketed(),
        };
        let settings = &self.settings;
        Ok(LeafPlan {
            name: text(name)?,
            address: key.address,
            port: key.port,
            host_header: Some(text(host_header)?),
            authority: key.authority.clone().map(|a| text(a.name)).transpose()?,
            connect_timeout: settings.connect_timeout,
            first_byte_timeout: settings.first_byte_timeout,
            between_bytes_timeout: settings.between_bytes_timeout,
            wait_timeout: settings.wait_timeout,
            wait_limit: settings.wait_limit,
            max_connections: settings.max_connections,
            proxy_header: settings.proxy_header,
            probe: self.references.probe,
            via: self.references.via.as_ref(),
        })
    }
}

/// A host as a `Host` header has it.
fn bracketed(host: &str) -> String {
    if host.contains(':') {
        format!("[{host}]")
    } else {
        host.to_owned()
    }
}
