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
    state: Mutex<State>,
}

/// What is in force, and the lists that VCL fills to put them in force.
#[derive(Debug)]
struct State {
    settings: Settings,
    namespaces: Vec<Namespace>,
    transports: Vec<Transport>,
}

impl BlobObject for ResolverObject {
    const KIND: u32 = 0x6479_6e72;
    const NAME: &'static CStr = c"dynamic.resolver";
}

/// A time; a longer one than an hour counts as an hour.
fn seconds(given: f64, zero: bool) -> Result<Duration, String> {
    let accepted = if zero { "0s or more" } else { "more than 0s" };
    if given > 0.0 || (zero && given == 0.0) {
        return Ok(Duration::from_secs_f64(given.min(LONGEST)));
    }
    Err(format!("{given}s: must be {accepted}"))
}

/// A list that is to be put in force: not empty, each value once.
fn complete<T: Clone + PartialEq>(list: &[T], accepted: &str) -> Result<Vec<T>, String> {
    let repeated = list
        .iter()
        .enumerate()
        .any(|(index, value)| list.iter().skip(index + 1).any(|other| other == value));
    match list {
        [] => Err(format!("nothing was added: must be {accepted}")),
        _ if repeated => Err(format!("one was added twice: must be {accepted}")),
        _ => Ok(list.to_vec()),
    }
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
            state: Mutex::new(State {
                settings,
                namespaces: Vec::new(),
                transports: Vec::new(),
            }),
        }))
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The settings as of now.
    pub(crate) fn settings(&self) -> Settings {
        lock(&self.state).settings.clone()
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
        lock(&self.state).namespaces.clear();
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
        lock(&self.state).namespaces.push(space);
        Ok(())
    }

    pub(crate) fn set_namespaces(&self) -> Result<(), String> {
        let mut state = lock(&self.state);
        let accepted = "DNS, LOCALNAMES or both, each once";
        state.settings.namespaces = complete(&state.namespaces, accepted)?;
        Ok(())
    }

    pub(crate) fn clear_transports(&self) {
        lock(&self.state).transports.clear();
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
        lock(&self.state).transports.push(transport);
        Ok(())
    }

    pub(crate) fn set_transports(&self) -> Result<(), String> {
        let mut state = lock(&self.state);
        let accepted = "UDP, TCP, TLS or several of them, each once";
        state.settings.transports = complete(&state.transports, accepted)?;
        Ok(())
    }

    pub(crate) fn set_idle_timeout(&self, given: f64) -> Result<(), String> {
        lock(&self.state).settings.idle_timeout = Some(seconds(given, true)?);
        Ok(())
    }

    pub(crate) fn set_timeout(&self, given: f64) -> Result<(), String> {
        lock(&self.state).settings.timeout = Some(seconds(given, false)?);
        Ok(())
    }

    pub(crate) fn set_outstanding(&self, limit: i64) -> Result<(), String> {
        let limit = usize::try_from(limit)
            .ok()
            .filter(|l| *l <= MOST_QUERIES)
            .ok_or_else(|| format!("{limit}: must be 0 (the default, 256) to {MOST_QUERIES}"))?;
        lock(&self.state).settings.outstanding = limit;
        Ok(())
    }

    pub(crate) fn set_follow_redirects(&self, follow: &str) {
        lock(&self.state).settings.follow_redirects = follow == "REDIRECTS_FOLLOW";
    }

    pub(crate) fn add_nameserver(&self, server: &str) -> Result<(), String> {
        let server = NameServer::parse(server).map_err(|e| e.to_string())?;
        lock(&self.state).settings.nameservers.push(server);
        Ok(())
    }

    pub(crate) fn add_search(&self, domain: &str) -> Result<(), String> {
        let domain = search_domain(domain).map_err(|e| e.to_string())?;
        lock(&self.state).settings.search.push(domain);
        Ok(())
    }
}
