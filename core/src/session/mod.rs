//! Session affinity: a key that names a destination, carried by the client.
//!
//! A [`Session`] holds what one `session` object in VCL was given. With each
//! snapshot of a director that uses it, an [`AffinityTable`] is prepared. For a
//! request: [`Session::find`] looks for keys, [`AffinityTable::read`] says
//! which one counts, what it names and how that is, and [`decide`] says what to
//! do. None of these three allocates. Where a new affinity was made,
//! [`AffinityTable::key`] and [`Session::response_header`] give the header.

pub mod cookie;
pub mod decision;
pub mod keys;
pub mod policy;
pub mod seal;
pub mod set_cookie;
pub mod settings;
pub mod table;

use std::sync::Arc;
use std::time::Duration;

pub use cookie::Found;
pub use decision::{Action, Decision, KeyState, Status, decide};
pub use keys::KeyRing;
pub use policy::{AffinityTo, FailurePolicy, Policy, SameSite, SecurePolicy};
pub use settings::{Arguments, Settings, SettingsError};
pub use table::{AffinityTable, Condition, Key, KeyFormat};

/// One session: its settings, and how its keys are written.
#[derive(Debug)]
pub struct Session {
    settings: Settings,
    format: KeyFormat,
}

impl Session {
    /// A session. `ring` is asked for the keys only where the policy seals:
    /// those of the key file, or else of one random key.
    #[must_use]
    pub fn new(settings: Settings, ring: impl FnOnce() -> Arc<KeyRing>) -> Self {
        let format = match settings.policy() {
            Policy::HashCookie => KeyFormat::HashCookie,
            Policy::ArrCookie => KeyFormat::ArrCookie,
            policy @ (Policy::Cookie | Policy::CustomHeader) => {
                let sealer = seal::Sealer::new(ring(), policy, settings.name());
                KeyFormat::Sealed(Arc::new(sealer))
            }
        };
        Session { settings, format }
    }

    /// The checked arguments.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// How keys are written, for [`AffinityTable::new`].
    #[must_use]
    pub fn format(&self) -> &KeyFormat {
        &self.format
    }

    /// Name of the request header in which the key comes.
    #[must_use]
    pub fn request_header(&self) -> &str {
        if self.settings.policy().is_cookie() {
            "Cookie"
        } else {
            self.settings.name()
        }
    }

    /// Finds the keys in the values of all request headers that are named
    /// [`request_header`](Self::request_header). Allocates nothing.
    pub fn find<'a>(
        &self,
        headers: impl IntoIterator<Item = &'a [u8]>,
    ) -> Found<impl Iterator<Item = &'a [u8]>> {
        let name = self.settings.name().as_bytes();
        let cookie = self.settings.policy().is_cookie().then_some(name);
        let values = cookie::parts(headers, cookie);
        match cookie {
            Some(_) => Found::Cookies(values),
            None => Found::Headers(values),
        }
    }

    /// Whether a `Set-Cookie` line of a backend sets this session's cookie.
    #[must_use]
    pub fn is_set_by(&self, line: &[u8]) -> bool {
        self.settings.policy().is_cookie()
            && cookie::sets_cookie(line, self.settings.name().as_bytes())
    }

    /// Name and value of the response header that gives the client a key.
    /// `now` is the time since 1970-01-01 00:00 UTC, `https` whether the
    /// request came over HTTPS.
    #[must_use]
    pub fn response_header(&self, key: &str, now: Duration, https: bool) -> (&str, String) {
        if self.settings.policy().is_cookie() {
            let line = set_cookie::set_cookie(&self.settings, key, now, https);
            ("Set-Cookie", line)
        } else {
            (self.settings.name(), key.to_owned())
        }
    }
}
