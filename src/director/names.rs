//! How a director finds and makes names and services.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use arrayvec::ArrayVec;
use dynamic_core::name::{self, DnsName, Host, Target as Parsed};
use dynamic_core::port::{Port, port_in_force};
use dynamic_core::session::AffinityTo;
use dynamic_core::settings;

use super::Director;
use super::domains::Refused;
use crate::domain::{Call, Domain, DomainSpec, Kind, Target};
use crate::lifetime;
use crate::sync::lock;
use crate::task::{LookupArgs, Task};
use crate::vrt::{BackendRef, Ctx, VslTag, vsl_task};

/// Room for the key of a name on the stack: a host name, a port and an
/// authority of the usual length.
const KEY_ROOM: usize = 384;

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
    ) -> Option<BackendRef> {
        let host = if host.is_empty() {
            ctx.host_header().unwrap_or_default()
        } else {
            host
        };
        let args = LookupArgs {
            director: std::ptr::from_ref(self).addr(),
            host,
            port,
            authority,
        };
        let task = Task::of(ctx);
        if let Some(domain) = self.lookup(task, &args) {
            return domain.backend(ctx, task, call);
        }
        let spec = self.parse(host, port).and_then(|(parsed, port)| {
            if is_service(&parsed.host) {
                return Err(format!(
                    "{} is the name of a service: use .service()",
                    parsed.host
                ));
            }
            if let Some(text) = authority {
                settings::authority(text).map_err(|e| e.to_string())?;
            }
            Ok(self.name_spec(&parsed, port, authority))
        });
        self.note_host_affinity(ctx);
        self.resolve_or_create(ctx, task, spec, call)
    }

    /// `.service()`: the director of a service, made at its first use. `None`,
    /// and a log line, for an impossible name.
    pub(crate) fn service(
        &self,
        ctx: Ctx<'_>,
        service: &[u8],
        call: &Call<'_>,
    ) -> Option<BackendRef> {
        let task = Task::of(ctx);
        let mut buf = [0; 256];
        if let Some(task) = task
            && let Some(service) = name::canonical(service, &mut buf)
            && let Some(key) = Key::new(service, b"", None)
            && let Some(domain) = self.get(task, &key.0, None)
        {
            return domain.backend(ctx, Some(task), call);
        }
        let spec = name::parse(service)
            .map_err(|e| e.to_string())
            .and_then(|parsed| match (parsed.host, parsed.port) {
                (Host::Dns(name), None) => Ok(DomainSpec {
                    key: Key::boxed(name.as_bytes(), b"", None),
                    display_name: name.clone(),
                    port: self.config.settings.port.clone(),
                    authority: self.config.authority(None, &name),
                    kind: Kind::Service,
                    service: Some(DnsName {
                        text: name,
                        absolute: false,
                    }),
                    targets: Vec::new(),
                }),
                (Host::Dns(name), Some(port)) => Err(format!(
                    "{name}:{port} has a port, the name of a service has none"
                )),
                (host, _) => Err(format!(
                    "{host} is not the name of a service, such as _http._tcp.example.com"
                )),
            });
        self.resolve_or_create(ctx, task, spec, call)
    }

    /// A service that VCL lists. In `vcl_init`.
    ///
    /// # Errors
    /// When the VCL is leaving.
    pub(crate) fn custom_service(&self, ctx: Ctx<'_>, name: &str) -> Result<Arc<Domain>, String> {
        let spec = DomainSpec {
            key: Box::default(),
            display_name: name.to_owned(),
            port: self.config.settings.port.clone(),
            authority: self.config.authority(None, ""),
            kind: Kind::Custom,
            service: None,
            targets: Vec::new(),
        };
        let domain = Domain::new(ctx, &self.config, spec, 0, None).ok_or("the VCL is leaving")?;
        lock(&self.custom).push(Arc::clone(&domain));
        Ok(domain)
    }

    /// A target of a custom service, from VCL's arguments.
    ///
    /// # Errors
    /// The argument that cannot be accepted.
    pub(crate) fn target(&self, host: &str, port: &str) -> Result<Target, String> {
        // The text is VCL's own: its port counts.
        let parsed = name::parse(host.as_bytes()).map_err(|e| e.to_string())?;
        let port = match (&parsed.port, port) {
            (Some(own), _) => Port::parse(own, &self.services),
            (None, "") => Ok(self.config.settings.port.clone()),
            (None, call) => Port::parse(call, &self.services),
        };
        let port = port.map_err(|e| e.to_string())?;
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
    fn lookup<'c>(&self, task: Option<Task<'c>>, args: &LookupArgs<'_>) -> Option<&'c Domain> {
        let task = task?;
        if let Some(domain) = task.found(args) {
            return Some(domain);
        }
        let mut buf = [0; 256];
        let host = name::canonical(args.host, &mut buf)?;
        if args.host.ends_with(b".") && !host.contains(&b'.') {
            return None;
        }
        let port = if args.port.is_empty() {
            self.config.settings.port.text.as_bytes()
        } else {
            args.port
        };
        let key = Key::new(host, port, args.authority)?;
        self.get(task, &key.0, Some(args))
    }

    /// A known domain, which the task holds from now on.
    fn get<'c>(
        &self,
        task: Task<'c>,
        key: &[u8],
        args: Option<&LookupArgs<'_>>,
    ) -> Option<&'c Domain> {
        self.domains
            .with(key, |domain| task.hold(domain, args))
            .flatten()
    }

    /// A call's host and port. A port in the host's text may be a client's.
    fn parse(&self, host: &[u8], port: &[u8]) -> Result<(Parsed, Port), String> {
        let target = name::parse(host).map_err(|e| e.to_string())?;
        let settings = &self.config.settings;
        let call = String::from_utf8_lossy(port);
        let port = port_in_force(
            target.port.as_deref(),
            (!call.is_empty()).then_some(&*call),
            &settings.port,
            &settings.ports,
            &self.services,
        )
        .map_err(|e| e.to_string())?;
        Ok((target, port))
    }

    /// What a name that is not known yet is made of.
    ///
    /// A trailing dot only matters to a name without others, which is another
    /// one then: a client that writes it must not keep the search list away
    /// from those who do not.
    fn name_spec(&self, parsed: &Parsed, port: Port, authority: Option<&[u8]>) -> DomainSpec {
        let mut parsed = parsed.clone();
        let mut host = parsed.host.to_string();
        let mut listed = parsed.host.bracketed();
        parsed.absolute &= !host.contains('.');
        if parsed.absolute {
            host.push('.');
            listed.push('.');
        }
        DomainSpec {
            key: Key::boxed(host.as_bytes(), port.text.as_bytes(), authority),
            display_name: format!("{listed}:{}", port.text),
            authority: self.config.authority(authority, &host),
            kind: Kind::Name,
            service: None,
            targets: vec![Target::new(&parsed, port.number)],
            port,
        }
    }

    /// The handle of a name or service that was not found: by now another
    /// request may have made it. Errors become a log line, and fail a VCL load.
    fn resolve_or_create(
        &self,
        ctx: Ctx<'_>,
        task: Option<Task<'_>>,
        spec: Result<DomainSpec, String>,
        call: &Call<'_>,
    ) -> Option<BackendRef> {
        let spec = match spec {
            Ok(spec) => spec,
            Err(reason) => {
                if ctx.in_init() {
                    ctx.fail(&format!(
                        "dynamic.director {}: bad name: {reason}",
                        self.config.name
                    ));
                } else {
                    self.log_error(ctx, "-", &format!("bad name: {reason}"));
                }
                return None;
            }
        };
        // Known by another spelling?
        let known = match task {
            Some(task) => self.get(task, &spec.key, None).is_some(),
            None => self.domains.with(&spec.key, |_| ()).is_some(),
        };
        if !known && ctx.in_fini() {
            return None;
        }
        let domain = self.create(ctx, task, spec)?;
        // A call with a key waits for the first answer: after the locks are gone.
        domain.backend(ctx, task, call)
    }

    /// Makes a domain, if no other request does at the same time. The task
    /// holds it.
    fn create(
        &self,
        ctx: Ctx<'_>,
        task: Option<Task<'_>>,
        spec: DomainSpec,
    ) -> Option<Arc<Domain>> {
        let key = spec.key.clone();
        let display_name = spec.display_name.clone();
        let hold = |domain: &Arc<Domain>| task.is_none_or(|task| task.hold(domain, None).is_some());
        let mut created = false;
        let domain = self
            .domains
            .get_or_create(&key, ctx.in_task(), hold, |number, unanswered| {
                created = true;
                Domain::new(ctx, &self.config, spec, number, unanswered)
            });
        match domain {
            Ok(domain) => {
                if created {
                    lifetime::watch(&self.this, &domain);
                }
                Some(domain)
            }
            Err(Refused::Leaving) => None,
            Err(Refused::Full(most)) => {
                self.log_error(
                    ctx,
                    &display_name,
                    &format!("too many names: max_names = {most}"),
                );
                None
            }
            Err(Refused::TooManyUnanswered(most)) => {
                self.log_error(
                    ctx,
                    &display_name,
                    &format!("too many names without an answer: {most}"),
                );
                None
            }
        }
    }

    /// Says once that all addresses of a name are one host, so that a session
    /// by host binds clients to none of them.
    fn note_host_affinity(&self, ctx: Ctx<'_>) {
        let session = self.config.references.session.as_ref();
        let Some(session) =
            session.filter(|object| object.session().settings().affinity_to() == AffinityTo::Host)
        else {
            return;
        };
        if !self.host_affinity_noted.swap(true, Ordering::Relaxed) {
            let event = format!(
                "session {}: affinity_to = HOST binds clients to a name with all its addresses",
                session.name()
            );
            self.log_error(ctx, "-", &event);
        }
    }

    fn log_error(&self, ctx: Ctx<'_>, name: &str, event: &str) {
        vsl_task(
            ctx,
            VslTag::Error,
            &format!(
                "vmod-dynamic {} {} {name} {event}",
                self.config.vcl.name, self.config.name
            ),
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
