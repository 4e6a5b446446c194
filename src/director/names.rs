//! How a director finds and makes names and services.

use std::sync::Arc;

use arrayvec::ArrayVec;
use dynamic_core::name::{self, Host, Target as Parsed};
use dynamic_core::port::Port;
use dynamic_core::settings;

use super::Director;
use crate::pool::{Authority, Call, Kind, NewPool, Pool, Target};
use crate::sync::lock;
use crate::vrt::{Chosen, Ctx, Spelling, Tag, Task, task_line};

/// Most names of one director. `Host` headers come from strangers: without a
/// bound they could fill the memory with names.
const MOST_NAMES: usize = 100_000;

/// Room for the key of a name on the stack: a host name, a port and an
/// authority of the usual length.
const KEY_ROOM: usize = 384;

/// The answer of a name that was found: a leaf, or its director; none where a
/// key or pin leads nowhere.
struct Found(Option<Chosen>);

/// The key of a name: host, port, whether there is an authority, and the
/// authority, each ended by a zero byte.
struct Key(ArrayVec<u8, KEY_ROOM>);

impl Key {
    fn new(host: &[u8], port: &[u8], authority: Option<&[u8]>) -> Option<Self> {
        let mut key = ArrayVec::new();
        // An empty authority is another thing than none.
        let given: &[u8] = if authority.is_some() { b"/" } else { b"" };
        for part in [host, port, given, authority.unwrap_or_default()] {
            key.try_extend_from_slice(part).ok()?;
            key.try_push(0).ok()?;
        }
        Some(Key(key))
    }

    /// The same, of parts of any length.
    fn boxed(host: &[u8], port: &[u8], authority: Option<&[u8]>) -> Box<[u8]> {
        let given: &[u8] = if authority.is_some() { b"/" } else { b"" };
        [host, port, given, authority.unwrap_or_default(), b""]
            .join(&0)
            .into()
    }
}

impl Director {
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
        let task = Task::of(ctx);
        let task = task.as_ref();
        if let Some(found) = self.known(ctx, task, host, port, authority, call) {
            return found.0;
        }
        let new = self.parse(host, port).and_then(|(parsed, port)| {
            if is_service(&parsed.host) {
                return Err(format!(
                    "{} is the name of a service: use .service()",
                    parsed.host
                ));
            }
            if let Some(text) = authority {
                settings::authority(text).map_err(|e| e.to_string())?;
            }
            Ok(self.name_of(&parsed, port, authority))
        });
        self.made(ctx, task, new, call)
    }

    /// `.service()`: the director of a service, made at its first use. `None`,
    /// and a log line, for an impossible name.
    pub(crate) fn service(&self, ctx: Ctx<'_>, service: &[u8], call: &Call<'_>) -> Option<Chosen> {
        let task = Task::of(ctx);
        let task = task.as_ref();
        let mut room = [0; 256];
        if let Some(service) = name::canonical(service, &mut room)
            && let Some(key) = Key::new(service, b"", None)
            && let Some(found) = self.find(ctx, task, &key.0, None, call)
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
                        rooted: false,
                    },
                    targets: Vec::new(),
                }),
                (Host::Dns(name), Some(port)) => Err(format!(
                    "{name}:{port} has a port, the name of a service has none"
                )),
                (host, _) => Err(format!(
                    "{host} is not the name of a service, such as _http._tcp.example.com"
                )),
            });
        self.made(ctx, task, new, call)
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
        if is_service(&parsed.host) {
            return Err(format!(
                "host = {}: is the name of a service, must be a host",
                parsed.host
            ));
        }
        Ok(Target::new(&parsed, port.number))
    }

    /// The request path: a name in its usual form that is known already, to
    /// the task even or to the director.
    fn known(
        &self,
        ctx: Ctx<'_>,
        task: Option<&Task<'_>>,
        host: &[u8],
        port: &[u8],
        authority: Option<&[u8]>,
        call: &Call<'_>,
    ) -> Option<Found> {
        let director = std::ptr::from_ref(self).addr();
        let (given_host, given_port) = (host, port);
        if let Some(task) = task
            && let Some(pool) = task.found::<Pool>(director, host, port, authority)
        {
            return Some(Found(pool.answer(ctx, Some(task), call)));
        }
        let mut room = [0; 256];
        let rooted = host.ends_with(b".");
        let host = name::canonical(host, &mut room)?;
        if rooted && !host.contains(&b'.') {
            return None;
        }
        let port = if port.is_empty() {
            self.settings.port.text.as_bytes()
        } else {
            port
        };
        let key = Key::new(host, port, authority)?;
        let spelling = Spelling::new(director, given_host, given_port, authority);
        self.find(ctx, task, &key.0, spelling, call)
    }

    /// The answer of a known name, which the task holds from now on.
    fn find(
        &self,
        ctx: Ctx<'_>,
        task: Option<&Task<'_>>,
        key: &[u8],
        spelling: Option<Spelling>,
        call: &Call<'_>,
    ) -> Option<Found> {
        let names = self.names.pin();
        let pool = names.get(key)?;
        if let Some(task) = task
            && !task.pin_pool(pool, spelling)
        {
            return None;
        }
        Some(Found(pool.answer(ctx, task, call)))
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
    ///
    /// A trailing dot only matters to a name without others, which is another
    /// one then: a client that writes it must not keep the search list away
    /// from those who do not.
    fn name_of(&self, parsed: &Parsed, port: Port, authority: Option<&[u8]>) -> NewPool {
        let mut parsed = parsed.clone();
        let mut host = parsed.host.to_string();
        let mut listed = parsed.host.bracketed();
        parsed.rooted &= !host.contains('.');
        if parsed.rooted {
            host.push('.');
            listed.push('.');
        }
        NewPool {
            key: Key::boxed(host.as_bytes(), port.text.as_bytes(), authority),
            label: format!("{listed}:{}", port.text),
            authority: self.authority(authority, &host),
            kind: Kind::Name,
            targets: vec![Target::new(&parsed, port.number)],
            port,
        }
    }

    /// The authority in force: the call's, the director's, the host header, the
    /// host; an empty one is none. That of a call is told from the others even
    /// then, as the same host may be called both ways.
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

    /// The handle of a name or service that was not found: by now another
    /// request may have made it. Errors become a log line, and fail a VCL load.
    fn made(
        &self,
        ctx: Ctx<'_>,
        task: Option<&Task<'_>>,
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
        if let Some(found) = self.find(ctx, task, &new.key, None, call) {
            return found.0;
        }
        if ctx.in_fini() {
            return None;
        }
        // A call with a key waits for the first answer: after the lock is gone.
        self.make(ctx, task, new)?.answer(ctx, task, call)
    }

    /// Makes a name, if no other request does at the same time. The task holds
    /// it.
    fn make(&self, ctx: Ctx<'_>, task: Option<&Task<'_>>, new: NewPool) -> Option<Arc<Pool>> {
        let hold = |pool: &Arc<Pool>| task.is_none_or(|task| task.pin_pool(pool, None));
        let _making = lock(&self.making);
        let names = self.names.pin();
        if let Some(known) = names.get(&new.key)
            && hold(known)
        {
            return Some(Arc::clone(known));
        }
        if self.names.len() >= MOST_NAMES {
            self.complain(ctx, &new.label, &format!("too many names: {MOST_NAMES}"));
            return None;
        }
        let key = new.key.clone();
        let pool = Pool::new(ctx, &self.this.upgrade()?, new)?;
        if !hold(&pool) {
            return None;
        }
        names.insert(key, Arc::clone(&pool));
        self.vcl.watch(&pool);
        Some(pool)
    }

    fn complain(&self, ctx: Ctx<'_>, name: &str, what: &str) {
        task_line(
            ctx,
            Tag::Error,
            &format!("vmod-dynamic {} {} {name} {what}", self.vcl.name, self.name),
        );
    }
}

/// Whether a name is one of a service (RFC 2782): `_service._proto.domain`.
fn is_service(host: &Host) -> bool {
    let Host::Dns(name) = host else { return false };
    let mut labels = name.split('.');
    labels.next().is_some_and(|l| l.starts_with('_'))
        && matches!(labels.next(), Some("_tcp" | "_udp"))
}
