//! The `session` object: keys that bind a client to its backend.

use std::ffi::CStr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use dynamic_core::session::keys::KEY_LENGTH;
use dynamic_core::session::seal::NONCE_LENGTH;
use dynamic_core::session::{Arguments, KeyRing, Session, Settings, Status};
use dynamic_resolve::regular_file::RegularFile;
use zeroize::Zeroizing;

use crate::task::{SessionOutcome, Task};
use crate::vrt::{BlobObject, Ctx, HeaderName, VslTag, vsl_task};

/// The key that seals where no key file is given: one for the process, so that
/// a reload of VCL keeps sessions.
static PROCESS_KEY: OnceLock<Arc<KeyRing>> = OnceLock::new();

/// Largest key file that is read, in bytes: 256 keys, with comments.
const MAX_KEY_FILE: u64 = 1 << 20;

/// `new s = dynamic.session(...)`.
#[derive(Debug)]
pub(crate) struct SessionObject {
    name: String,
    session: Session,
    /// The name of the VCL.
    vcl: String,
    /// The request header with the key.
    header: HeaderName,
    /// `Set-Cookie`
    set_cookie: HeaderName,
    /// Whether it was said that a backend sets the session's cookie itself.
    contested: AtomicBool,
}

impl BlobObject for SessionObject {
    const KIND: u32 = 0x6479_6e73;
    const NAME: &'static CStr = c"dynamic.session";
}

/// The keys of a file, and whether others than its owner can read it.
fn read_keys(file: &str) -> Result<(KeyRing, bool), String> {
    let error = |reason: String| format!("key_file = {file:?}: {reason}");
    let opened = RegularFile::open(file).map_err(|e| error(e.to_string()))?;
    let exposed = opened.is_readable_by_others();
    let text = opened
        .read(MAX_KEY_FILE)
        .map_err(|e| error(e.to_string()))?;
    let ring = KeyRing::parse(&Zeroizing::new(text)).map_err(|e| error(e.to_string()))?;
    Ok((ring, exposed))
}

fn process_key() -> Result<Arc<KeyRing>, String> {
    if let Some(ring) = PROCESS_KEY.get() {
        return Ok(Arc::clone(ring));
    }
    let mut secret = Zeroizing::new([0; KEY_LENGTH]);
    getrandom::fill(&mut *secret).map_err(|e| format!("no random key: {e}"))?;
    Ok(Arc::clone(
        PROCESS_KEY.get_or_init(|| Arc::new(KeyRing::of(&secret))),
    ))
}

impl SessionObject {
    /// Checks the arguments and reads the key file. In `vcl_init`.
    ///
    /// # Errors
    /// The argument that cannot be accepted, its value and what can.
    pub(crate) fn new(
        ctx: Ctx<'_>,
        vcl_name: &str,
        arguments: &Arguments<'_>,
    ) -> Result<Arc<Self>, String> {
        let settings = Settings::new(arguments).map_err(|e| e.to_string())?;
        let ring = match settings.key_file() {
            Some(file) => {
                let (ring, exposed) = read_keys(file)?;
                if exposed {
                    let line = format!(
                        "vmod-dynamic {} {vcl_name} - key_file {file:?}: others than its owner can read it",
                        ctx.vcl_name()
                    );
                    vsl_task(ctx, VslTag::Error, &line);
                }
                Some(Arc::new(ring))
            }
            None if settings.policy().is_sealed() => {
                let line = format!(
                    "vmod-dynamic {} {vcl_name} - session without key_file: keys are good for this process only",
                    ctx.vcl_name()
                );
                vsl_task(ctx, VslTag::Error, &line);
                Some(process_key()?)
            }
            None => None,
        };
        let session = Session::new(settings, || {
            ring.unwrap_or_else(|| Arc::new(KeyRing::of(&Zeroizing::default())))
        });
        let header = |name| HeaderName::new(name).ok_or("name: too long");
        Ok(Arc::new(SessionObject {
            name: vcl_name.to_owned(),
            vcl: ctx.vcl_name(),
            header: header(session.request_header())?,
            set_cookie: header("Set-Cookie")?,
            session,
            contested: AtomicBool::new(false),
        }))
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn session(&self) -> &Session {
        &self.session
    }

    pub(crate) fn header(&self) -> &HeaderName {
        &self.header
    }

    /// What tells this object's notes in a task from others'.
    pub(crate) fn identity(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// `.status()`: what became of the key in this task.
    pub(crate) fn status(&self, ctx: Ctx<'_>) -> Status {
        Task::of(ctx)
            .and_then(|task| Some(task.session_outcome(self.identity())?.status))
            .unwrap_or_default()
    }

    /// `.attach()`: sends the key of an affinity that this task made, and keeps
    /// the response out of the cache. In `vcl_backend_response`.
    pub(crate) fn attach(&self, ctx: Ctx<'_>, https: bool) {
        let Some(task) = Task::of(ctx) else {
            return;
        };
        let Some(outcome) = task.session_outcome(self.identity()) else {
            return;
        };
        if outcome.sent {
            return;
        }
        self.warn_of_other_cookie(ctx);
        if !outcome.status.sends_key() {
            return;
        }
        // First of all: whatever happens below, the response is this client's.
        ctx.make_uncacheable();
        let mut nonce = [0; NONCE_LENGTH];
        if getrandom::fill(&mut nonce).is_err() {
            self.log(ctx, "no random numbers: no key sent");
            return;
        }
        let key = outcome
            .made
            .as_ref()
            .and_then(|(affinity, endpoint)| affinity.key_of_endpoint(*endpoint, &nonce));
        let Some(key) = key else {
            self.log(ctx, "backend without a key: none sent");
            return;
        };
        let now = Duration::try_from_secs_f64(ctx.now()).unwrap_or_default();
        let (name, value) = self.session.response_header(&key, now, https);
        let replace = !self.session.settings().policy().is_cookie();
        if ctx.set_response_header(name, &value, replace) {
            let outcome = SessionOutcome {
                sent: true,
                ..outcome
            };
            task.set_session_outcome(self.identity(), outcome);
        } else {
            self.log(ctx, "out of workspace: no key sent");
        }
    }

    /// Says once that a backend sets the session's cookie itself, which takes
    /// the key away from its clients.
    fn warn_of_other_cookie(&self, ctx: Ctx<'_>) {
        if self.contested.load(Ordering::Relaxed) {
            return;
        }
        let set = ctx
            .response_headers(&self.set_cookie)
            .any(|line| self.session.is_set_by(line));
        if set && !self.contested.swap(true, Ordering::Relaxed) {
            let cookie = self.session.settings().name();
            self.log(
                ctx,
                &format!("the backend sets the cookie \"{cookie}\" itself: clients lose their key"),
            );
        }
    }

    fn log(&self, ctx: Ctx<'_>, event: &str) {
        let line = format!("vmod-dynamic {} {} - {event}", self.vcl, self.name);
        vsl_task(ctx, VslTag::Error, &line);
    }
}
