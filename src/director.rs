//! The `director` object: its settings, its names and its leaves.

use std::collections::HashMap;
use std::ffi::{CStr, CString};
use std::fs;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};

use dynamic_core::name::{self, Host, Target as Parsed};
use dynamic_core::port::Port;
use dynamic_core::settings::{Arguments, Settings, Share};
use dynamic_resolve::Settings as ResolverSettings;
use papaya::Guard;

use crate::buckets::BucketsObject;
use crate::lifetime::{self, Vcl};
use crate::pool::{Authority, Call, Kind, NewPool, Pool, Target};
use crate::resolver::ResolverObject;
use crate::session::SessionObject;
use crate::sync::lock;
use crate::vrt::{
    Acl, Chosen, Ctx, Handed, HeaderName, Leaf, LeafError, LeafPlan, OffTask, Probe, Tag, Task,
    Via, task_line,
};

/// Most names of one director. `Host` headers come from strangers: without a
/// bound they could fill the memory with names.
const MOST_NAMES: usize = 100_000;

/// Room for the key of a name on the stack: a host name, a port and an
/// authority of the usual length.
const KEY_ROOM: usize = 512;

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
struct Leaves {
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
}

/// `new d = dynamic.director(...)`.
#[derive(Debug)]
pub(crate) struct Director {
    this: Weak<Director>,
    vcl: Arc<Vcl>,
    name: String,
    settings: Settings,
    references: References,
    /// The text of the services file, as of the VCL load.
    services: String,
    hash_header: Option<HeaderName>,
    preferences: Mutex<Vec<(Acl, i64)>>,
    /// Whether any preference is configured.
    prefers: AtomicBool,
    names: papaya::HashMap<Box<[u8]>, Arc<Pool>>,
    /// Services that VCL lists; they go with the VCL.
    custom: Mutex<Vec<Arc<Pool>>>,
    /// Held while a name is made, so that one of many first requests wins.
    making: Mutex<()>,
    leaves: Mutex<Leaves>,
    debug: AtomicBool,
}

/// The answer of a name that was found: a leaf, or its director; none where a
/// key or pin leads nowhere.
struct Found(Option<Chosen>);

/// The key of a name: host, port, whether there is an authority, and the
/// authority, each ended by a zero byte.
struct Key {
    room: [u8; KEY_ROOM],
    used: usize,
}

impl Key {
    fn new(host: &[u8], port: &[u8], authority: Option<&[u8]>) -> Option<Self> {
        let mut key = Key {
            room: [0; KEY_ROOM],
            used: 0,
        };
        // An empty authority is another thing than none.
        let given: &[u8] = if authority.is_some() { b"/" } else { b"" };
        for part in [host, port, given, authority.unwrap_or_default()] {
            let end = key.used.checked_add(part.len())?;
            key.room.get_mut(key.used..end)?.copy_from_slice(part);
            key.used = end + 1;
        }
        Some(key)
    }

    fn as_slice(&self) -> Option<&[u8]> {
        self.room.get(..self.used)
    }

    /// The same, of parts of any length.
    fn boxed(host: &[u8], port: &[u8], authority: Option<&[u8]>) -> Box<[u8]> {
        let given: &[u8] = if authority.is_some() { b"/" } else { b"" };
        [host, port, given, authority.unwrap_or_default(), b""]
            .join(&0)
            .into()
    }
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
        let prefers = references.prefer.is_some();
        let preferences = references.prefer.map(|acl| (acl, 1)).into_iter().collect();
        let director = Arc::new_cyclic(|this| Director {
            this: Weak::clone(this),
            vcl,
            name: name.to_owned(),
            settings,
            references,
            services,
            hash_header,
            preferences: Mutex::new(preferences),
            prefers: AtomicBool::new(prefers),
            names: papaya::HashMap::new(),
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
        (self.settings.domain_usage_timeout.as_secs_f64() / 10.0).min(1.0)
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
        lock(&self.leaves).known.clear();
        self.vcl.graveyard.clear();
    }

    /// `.backend()`: the director of a name, made at its first use. `None`,
    /// and a log line, for an impossible name.
    pub(crate) fn backend(
        &self,
        ctx: Ctx<'_>,
        host: &[u8],
        port: &[u8],
        authority: Option<&[u8]>,
        call: &Call<'_>,
    ) -> Option<Chosen> {
        let host = if host.is_empty() {
            ctx.host_header().unwrap_or_default()
        } else {
            host
        };
        let mut task = Task::of(ctx);
        if let Some(found) = self.known(ctx, &mut task, host, port, authority, call) {
            return found.0;
        }
        let new = self.parse(host, port).and_then(|(parsed, port)| {
            if is_service(&parsed.host) {
                return Err(format!(
                    "{} is the name of a service: use .service()",
                    parsed.host
                ));
            }
            Ok(self.name_of(&parsed, port, authority))
        });
        self.made(ctx, &mut task, new, call)
    }

    /// `.service()`: the director of a service, made at its first use. `None`,
    /// and a log line, for an impossible name.
    pub(crate) fn service(&self, ctx: Ctx<'_>, service: &[u8], call: &Call<'_>) -> Option<Chosen> {
        let mut task = Task::of(ctx);
        let mut room = [0; 256];
        if let Some(service) = name::canonical(service, &mut room)
            && let Some(key) = Key::new(service, b"", None)
            && let Some(found) = key
                .as_slice()
                .and_then(|key| self.find(ctx, &mut task, key, call))
        {
            return found.0;
        }
        let new = name::parse(service)
            .map_err(|e| e.to_string())
            .and_then(|parsed| match (parsed.host, parsed.port) {
                (Host::Dns(name), None) => Ok(NewPool {
                    key: Key::boxed(name.as_bytes(), b"", None),
                    label: name.clone(),
                    port: self.settings.port.clone(),
                    authority: self.authority(None, &name),
                    kind: Kind::Service {
                        name,
                        rooted: parsed.rooted,
                    },
                    targets: Vec::new(),
                }),
                (host, _) => Err(format!(
                    "{host} is not the name of a service, such as _http._tcp.example.com"
                )),
            });
        self.made(ctx, &mut task, new, call)
    }

    /// A service that VCL lists. In `vcl_init`.
    ///
    /// # Errors
    /// When the VCL is leaving.
    pub(crate) fn custom_service(&self, ctx: Ctx<'_>, name: &str) -> Result<Arc<Pool>, String> {
        let new = NewPool {
            key: Box::default(),
            label: name.to_owned(),
            port: self.settings.port.clone(),
            authority: self.authority(None, ""),
            kind: Kind::Custom,
            targets: Vec::new(),
        };
        let pool = self
            .this
            .upgrade()
            .and_then(|this| Pool::new(ctx, &this, new))
            .ok_or("the VCL is leaving")?;
        lock(&self.custom).push(Arc::clone(&pool));
        Ok(pool)
    }

    /// A target of a custom service, from VCL's arguments.
    ///
    /// # Errors
    /// The argument that cannot be accepted.
    pub(crate) fn target(&self, host: &str, port: &str) -> Result<Target, String> {
        let (parsed, port) = self.parse(host.as_bytes(), port.as_bytes())?;
        Ok(Target::new(&parsed, port.number))
    }

    /// The request path: a name in its usual form that is known already.
    fn known(
        &self,
        ctx: Ctx<'_>,
        task: &mut Option<Task<'_>>,
        host: &[u8],
        port: &[u8],
        authority: Option<&[u8]>,
        call: &Call<'_>,
    ) -> Option<Found> {
        let mut room = [0; 256];
        let host = name::canonical(host, &mut room)?;
        let port = if port.is_empty() {
            self.settings.port.text.as_bytes()
        } else {
            port
        };
        let key = Key::new(host, port, authority)?;
        self.find(ctx, task, key.as_slice()?, call)
    }

    /// The answer of a known name, which the task holds from now on.
    fn find(
        &self,
        ctx: Ctx<'_>,
        task: &mut Option<Task<'_>>,
        key: &[u8],
        call: &Call<'_>,
    ) -> Option<Found> {
        let names = self.names.pin();
        let pool = names.get(key)?;
        if let Some(task) = task
            && !task.pin_pool(pool)
        {
            return None;
        }
        Some(Found(pool.answer(ctx, call)))
    }

    fn parse(&self, host: &[u8], port: &[u8]) -> Result<(Parsed, Port), String> {
        let target = name::parse(host).map_err(|e| e.to_string())?;
        let given = match &target.port {
            Some(explicit) => Some(explicit.clone()),
            None if port.is_empty() => None,
            None => Some(String::from_utf8_lossy(port).into_owned()),
        };
        let port = match given {
            Some(text) => Port::parse(&text, &self.services).map_err(|e| e.to_string())?,
            None => self.settings.port.clone(),
        };
        Ok((target, port))
    }

    /// What a name that is not known yet is made of.
    fn name_of(&self, parsed: &Parsed, port: Port, authority: Option<&[u8]>) -> NewPool {
        let host = parsed.host.to_string();
        NewPool {
            key: Key::boxed(host.as_bytes(), port.text.as_bytes(), authority),
            label: format!("{}:{}", parsed.host.bracketed(), port.text),
            authority: self.authority(authority, &host),
            kind: Kind::Name,
            targets: vec![Target::new(parsed, port.number)],
            port,
        }
    }

    /// The authority in force: the call's, the director's, the host header, the
    /// host; an empty one is none.
    fn authority(&self, call: Option<&[u8]>, host: &str) -> Option<Authority> {
        let call = call.map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        let (name, explicit) = match (
            call.or_else(|| self.settings.authority.clone()),
            &self.references.via,
        ) {
            (Some(name), _) => (name, true),
            (None, None) => return None,
            (None, Some(_)) => {
                let default = self.settings.host_header.as_deref().unwrap_or(host);
                (default.to_owned(), false)
            }
        };
        (!name.is_empty()).then_some(Authority { name, explicit })
    }

    /// The handle of a name or service that was not found: by now another
    /// request may have made it. Errors become a log line, and fail a VCL load.
    fn made(
        &self,
        ctx: Ctx<'_>,
        task: &mut Option<Task<'_>>,
        new: Result<NewPool, String>,
        call: &Call<'_>,
    ) -> Option<Chosen> {
        let new = match new {
            Ok(new) => new,
            Err(why) => {
                if ctx.in_init() {
                    ctx.fail(&format!("dynamic.director {}: bad name: {why}", self.name));
                } else {
                    self.complain(ctx, "-", &format!("bad name: {why}"));
                }
                return None;
            }
        };
        if let Some(found) = self.find(ctx, task, &new.key, call) {
            return found.0;
        }
        if ctx.in_fini() {
            return None;
        }
        let making = lock(&self.making);
        if let Some(found) = self.find(ctx, task, &new.key, call) {
            return found.0;
        }
        if self.names.len() >= MOST_NAMES {
            self.complain(ctx, &new.label, &format!("too many names: {MOST_NAMES}"));
            return None;
        }
        let key = new.key.clone();
        let pool = Pool::new(ctx, &self.this.upgrade()?, new)?;
        if let Some(task) = task
            && !task.pin_pool(&pool)
        {
            return None;
        }
        self.names.pin().insert(key, Arc::clone(&pool));
        self.vcl.watch(&pool);
        // A keyed call waits for the first answer, which others need not.
        drop(making);
        pool.answer(ctx, call)
    }

    fn complain(&self, ctx: Ctx<'_>, name: &str, what: &str) {
        task_line(
            ctx,
            Tag::Error,
            &format!("vmod-dynamic {} {} {name} {what}", self.vcl.name, self.name),
        );
    }

    /// The leaf of an endpoint, made if nobody has it. On the resolver thread.
    ///
    /// # Errors
    /// When the VCL is leaving, or the engine refuses.
    pub(crate) fn leaf(
        &self,
        ctx: &mut OffTask<'_>,
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
            let mut arena = lock(&self.vcl.arena);
            Arc::new(Leaf::new(ctx, &plan, &mut arena, &self.vcl.graveyard)?)
        };
        lock(&self.leaves).insert(key, &leaf);
        Ok(leaf)
    }

    fn leaf_plan(&self, key: &LeafKey) -> Result<LeafPlan, LeafError> {
        let text = |text: String| {
            CString::new(text).map_err(|_| LeafError::Refused("a zero byte in its name".into()))
        };
        let endpoint = name::EndpointId {
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
            via: self.references.via,
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

/// Whether a name is one of a service (RFC 2782): `_service._proto.domain`.
fn is_service(host: &Host) -> bool {
    let Host::Dns(name) = host else { return false };
    let mut labels = name.split('.');
    labels.next().is_some_and(|l| l.starts_with('_'))
        && matches!(labels.next(), Some("_tcp" | "_udp"))
}
