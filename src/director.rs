//! The `director` object: its settings, its names and its leaves.

use std::collections::HashMap;
use std::ffi::CString;
use std::fs;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};

use dynamic_core::name::{self, Host, Target};
use dynamic_core::port::Port;
use dynamic_core::settings::{Arguments, Settings, Share};
use dynamic_resolve::Settings as ResolverSettings;
use papaya::Guard;

use crate::lifetime::{self, Vcl};
use crate::pool::{NewPool, Pool, Source};
use crate::resolver::ResolverObject;
use crate::sync::lock;
use crate::vrt::{Acl, Chosen, Ctx, Leaf, LeafError, LeafPlan, OffTask, Probe, Tag, Task, Via, task_line};

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
}

/// A leaf is shared by all that have the same of these.
#[derive(Debug, PartialEq, Eq, Hash)]
struct LeafKey {
    /// Only where leaves are not shared between hosts.
    host: Option<Arc<str>>,
    address: IpAddr,
    port: u16,
    authority: Option<String>,
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
    preferences: Mutex<Vec<(Acl, i64)>>,
    /// Whether any preference is configured.
    prefers: AtomicBool,
    names: papaya::HashMap<Box<[u8]>, Arc<Pool>>,
    /// Held while a name is made, so that one of many first requests wins.
    making: Mutex<()>,
    leaves: Mutex<Leaves>,
    debug: AtomicBool,
}

/// The key of a name: host, port and authority, each ended by a zero byte.
struct Key {
    room: [u8; KEY_ROOM],
    used: usize,
}

impl Key {
    fn new(host: &[u8], port: &[u8], authority: &[u8]) -> Option<Self> {
        let mut key = Key { room: [0; KEY_ROOM], used: 0 };
        for part in [host, port, authority] {
            let end = key.used.checked_add(part.len())?;
            key.room.get_mut(key.used..end)?.copy_from_slice(part);
            key.used = end + 1;
        }
        Some(key)
    }

    fn as_slice(&self) -> Option<&[u8]> {
        self.room.get(..self.used)
    }
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
        let prefers = references.prefer.is_some();
        let preferences = references.prefer.map(|acl| (acl, 1)).into_iter().collect();
        let director = Arc::new_cyclic(|this| Director {
            this: Weak::clone(this),
            vcl,
            name: name.to_owned(),
            settings,
            references,
            services,
            preferences: Mutex::new(preferences),
            prefers: AtomicBool::new(prefers),
            names: papaya::HashMap::new(),
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

    pub(crate) fn references(&self) -> &References {
        &self.references
    }

    /// How names are looked up.
    pub(crate) fn resolver(&self) -> ResolverSettings {
        self.references.resolver.as_ref().map(|r| r.settings()).unwrap_or_default()
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
            return Err(format!("prefer: score = {score}: must be -{MOST} to {MOST}"));
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
        self.references.whitelist.is_none_or(|acl| acl.matches(ctx, address))
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
    }

    /// Drops a name from the director. It stays where it is held elsewhere.
    pub(crate) fn forget(&self, pool: &Arc<Pool>) {
        let guard = self.names.guard();
        let _ = self.names.remove_if(pool.key(), |_, known| Arc::ptr_eq(known, pool), &guard);
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
    ) -> Option<Chosen> {
        let host = if host.is_empty() { ctx.host_header().unwrap_or_default() } else { host };
        let mut task = Task::of(ctx);
        if let Some(found) = self.known(ctx, &mut task, host, port, authority) {
            return Some(found);
        }
        match self.parse(host, port) {
            Ok((target, port)) => self.named(ctx, &mut task, &target, port, authority),
            Err(why) => {
                let line = format!("vmod-dynamic {} {} - bad name: {why}", self.vcl.name, self.name);
                task_line(ctx, Tag::Error, &line);
                None
            }
        }
    }

    /// The request path: a name in its usual form that is known already.
    fn known(
        &self,
        ctx: Ctx<'_>,
        task: &mut Option<Task<'_>>,
        host: &[u8],
        port: &[u8],
        authority: Option<&[u8]>,
    ) -> Option<Chosen> {
        let mut room = [0; 256];
        let host = name::canonical(host, &mut room)?;
        let port = if port.is_empty() { self.settings.port.text.as_bytes() } else { port };
        let key = Key::new(host, port, authority.unwrap_or_default())?;
        self.find(ctx, task, key.as_slice()?)
    }

    /// The handle of a known name, which the task holds from now on.
    fn find(&self, ctx: Ctx<'_>, task: &mut Option<Task<'_>>, key: &[u8]) -> Option<Chosen> {
        let names = self.names.pin();
        let pool = names.get(key)?;
        if let Some(task) = task
            && !task.pin_pool(pool)
        {
            return None;
        }
        pool.touch(ctx.now());
        pool.handle()
    }

    fn parse(&self, host: &[u8], port: &[u8]) -> Result<(Target, Port), String> {
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

    fn named(
        &self,
        ctx: Ctx<'_>,
        task: &mut Option<Task<'_>>,
        target: &Target,
        port: Port,
        authority: Option<&[u8]>,
    ) -> Option<Chosen> {
        let host = target.host.to_string();
        let authority = authority.unwrap_or_default();
        let key: Box<[u8]> = [host.as_bytes(), port.text.as_bytes(), authority, b""].join(&0).into();
        if let Some(found) = self.find(ctx, task, &key) {
            return Some(found);
        }
        if ctx.in_fini() {
            return None;
        }
        let _making = lock(&self.making);
        if let Some(found) = self.find(ctx, task, &key) {
            return Some(found);
        }
        if self.names.len() >= MOST_NAMES {
            let line = format!("vmod-dynamic {} {} {host} too many names: {MOST_NAMES}", self.vcl.name, self.name);
            task_line(ctx, Tag::Error, &line);
            return None;
        }
        let label = format!("{}:{}", target.host.bracketed(), port.text);
        let source = Source::new(&target.host, target.rooted, port.number);
        let new = NewPool { key: key.clone(), label, port, authority: None, source };
        let pool = Pool::new(ctx, &self.this.upgrade()?, new)?;
        if let Some(task) = task
            && !task.pin_pool(&pool)
        {
            return None;
        }
        self.names.pin().insert(key, Arc::clone(&pool));
        self.vcl.watch(&pool);
        pool.handle()
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
        authority: Option<&str>,
    ) -> Result<Arc<Leaf>, LeafError> {
        let per_host = self.settings.share == Share::Host;
        let key = LeafKey {
            host: per_host.then(|| Arc::clone(host)),
            address,
            port,
            authority: authority.map(str::to_owned),
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
        let text = |text: String| CString::new(text).map_err(|_| LeafError::Refused("a zero byte in its name".into()));
        let endpoint = name::EndpointId { address: key.address, port: key.port };
        let name = match (&key.host, &key.authority) {
            (Some(host), None) => format!("{}({host}.{endpoint})", self.name),
            (Some(host), Some(authority)) => format!("{}({host}.{endpoint}/{authority})", self.name),
            (None, None) => format!("{}({endpoint})", self.name),
            (None, Some(authority)) => format!("{}({endpoint}/{authority})", self.name),
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
            authority: key.authority.clone().map(text).transpose()?,
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
    if host.contains(':') { format!("[{host}]") } else { host.to_owned() }
}
