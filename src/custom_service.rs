//! The `custom_service` object: a service whose targets VCL lists.

use std::sync::Arc;

use dynamic_core::targets::Filter;

use crate::director::Director;
use crate::domain::{Call, Domain, Target};
use crate::task::Task;
use crate::vrt::{Acl, BackendRef, Ctx};

/// Highest priority and weight, as in an SRV record.
const MOST: i64 = 65_535;

/// `new s = dynamic.custom_service(d.use())`.
#[derive(Debug)]
pub(crate) struct CustomService {
    name: String,
    director: Arc<Director>,
    domain: Arc<Domain>,
}

fn number(argument: &str, value: i64) -> Result<u32, String> {
    u32::try_from(value)
        .ok()
        .filter(|v| i64::from(*v) <= MOST)
        .ok_or_else(|| format!("{argument} = {value}: must be 0 to {MOST}"))
}

impl CustomService {
    /// Makes a service without targets. In `vcl_init`.
    ///
    /// # Errors
    /// When the VCL is leaving.
    pub(crate) fn new(
        ctx: Ctx<'_>,
        name: &str,
        director: Arc<Director>,
    ) -> Result<Arc<Self>, String> {
        let domain = director.custom_service(ctx, name)?;
        Ok(Arc::new(CustomService {
            name: name.to_owned(),
            director,
            domain,
        }))
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Adds a target. In `vcl_init`.
    ///
    /// # Errors
    /// The argument that cannot be accepted, its value and what can.
    pub(crate) fn add(
        &self,
        host: &str,
        port: &str,
        when: &str,
        acl: Option<Acl>,
        priority: i64,
        weight: i64,
    ) -> Result<(), String> {
        let filter = match (when, acl) {
            ("ALWAYS", None) => Filter::All,
            ("ALWAYS", Some(_)) => return Err("acl: only used with when = MATCH or NOMATCH".into()),
            ("MATCH", Some(acl)) => Filter::Match(acl),
            ("NOMATCH", Some(acl)) => Filter::NoMatch(acl),
            (when, _) => return Err(format!("acl: when = {when} needs an ACL")),
        };
        let target = Target {
            priority: number("priority", priority)?,
            weight: number("weight", weight)?,
            filter,
            ..self.director.target(host, port)?
        };
        self.domain.add_target(target);
        Ok(())
    }

    /// Adds the addresses of a host that match with priority 0, the others
    /// with priority 1. In `vcl_init`.
    ///
    /// # Errors
    /// The argument that cannot be accepted, its value and what can.
    pub(crate) fn add_preferred(
        &self,
        host: &str,
        port: &str,
        acl: Option<Acl>,
    ) -> Result<(), String> {
        self.add(host, port, "MATCH", acl, 0, 1)?;
        self.add(host, port, "NOMATCH", acl, 1, 1)
    }

    /// The service's director, or with a key or pin a leaf.
    pub(crate) fn backend(&self, ctx: Ctx<'_>, call: &Call<'_>) -> Option<BackendRef> {
        self.domain.backend(ctx, Task::of(ctx), call)
    }
}
