//! The arguments of a session, checked once.

use std::time::Duration;

use super::policy::{AffinityTo, FailurePolicy, Policy, SameSite, SecurePolicy};

/// Longest name in bytes: an engine's header name ends there.
pub const MAX_NAME_LENGTH: usize = 126;

/// Longest expiration and greatest maximum age: 100 years.
pub const MAX_LIFETIME: Duration = Duration::from_secs(100 * 365 * 86_400);

/// The arguments of `session(...)` as they are written in VCL.
#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// Name of the cookie, or of the header with `CUSTOM_HEADER`.
    pub name: &'a str,
    /// What the client carries.
    pub policy: Policy,
    /// What happens to a key that cannot be followed.
    pub failure_policy: FailurePolicy,
    /// What a key names.
    pub affinity_to: AffinityTo,
    /// The cookie's domain; `None`: the host that was asked.
    pub domain: Option<&'a str>,
    /// The cookie's path; `None`: no attribute.
    pub path: Option<&'a str>,
    /// Seconds from now to the cookie's `expires`; 0: no attribute.
    pub expiration: f64,
    /// The cookie's `max-age` in seconds; 0: no attribute.
    pub max_age: f64,
    /// Whether the cookie is hidden from scripts.
    pub http_only: bool,
    /// The cookie's `samesite`.
    pub same_site: SameSite,
    /// When the cookie is `secure`.
    pub secure_policy: SecurePolicy,
    /// File with the keys that seal.
    pub key_file: Option<&'a str>,
    /// Whether browsers keep the cookie apart for each site that embeds this
    /// one.
    pub partitioned: bool,
}

impl<'a> Arguments<'a> {
    /// The defaults of the interface.
    #[must_use]
    pub fn new(name: &'a str, policy: Policy) -> Self {
        Arguments {
            name,
            policy,
            failure_policy: FailurePolicy::Redistribute,
            affinity_to: AffinityTo::Endpoint,
            domain: None,
            path: Some("/"),
            expiration: 0.0,
            max_age: 0.0,
            http_only: true,
            same_site: SameSite::Unspecified,
            secure_policy: SecurePolicy::None,
            key_file: None,
            partitioned: false,
        }
    }
}

/// A bad argument. The text names it, its value, and what is accepted.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SettingsError {
    /// The name cannot be one of a cookie or header.
    #[error(
        "name {value:?}, accepted are 1 to {MAX_NAME_LENGTH} letters, digits and characters of !#$%&'*+-.^_`|~"
    )]
    Name {
        /// What was given.
        value: String,
    },
    /// The header means something else to HTTP.
    #[error(
        "name {value:?} with policy CUSTOM_HEADER, accepted is a header that HTTP itself does not use, such as X-Session"
    )]
    ReservedHeader {
        /// What was given.
        value: String,
    },
    /// No browser takes a cookie of this name with these attributes.
    #[error("name {value:?}, accepted with this prefix is only {accepted}")]
    Prefix {
        /// What was given.
        value: String,
        /// What the prefix asks for.
        accepted: &'static str,
    },
    /// The domain is no domain name.
    #[error("domain {value:?}, accepted is a domain name in its ASCII form, such as example.com")]
    Domain {
        /// What was given.
        value: String,
    },
    /// The path is no path.
    #[error(
        "path {value:?}, accepted are printable ASCII characters other than a semicolon, the first a slash: browsers ignore any other path"
    )]
    Path {
        /// What was given.
        value: String,
    },
    /// A duration is out of range.
    #[error("{argument} {value}, accepted are 0 (no such attribute) to {} seconds", MAX_LIFETIME.as_secs())]
    Lifetime {
        /// `expiration` or `max_age`.
        argument: &'static str,
        /// What was given, in seconds.
        value: f64,
    },
    /// Browsers refuse such a cookie.
    #[error(
        "same_site NONE with secure_policy NONE, accepted with it is secure_policy ALWAYS or SAME_AS_REQUEST"
    )]
    InsecureSameSite,
    /// Browsers refuse such a cookie.
    #[error(
        "partitioned with secure_policy NONE, accepted with it is secure_policy ALWAYS or SAME_AS_REQUEST"
    )]
    InsecurePartitioned,
    /// A key file would have no effect.
    #[error(
        "key_file {value:?} with policy {policy}, accepted is a key file with policy COOKIE or CUSTOM_HEADER, whose keys are sealed"
    )]
    KeyFile {
        /// What was given.
        value: String,
        /// The policy that seals nothing.
        policy: Policy,
    },
    /// A key file without a name.
    #[error("key_file \"\", accepted is the name of a file")]
    NoKeyFile,
}

/// The attributes of a session's cookie. Without effect with `CUSTOM_HEADER`,
/// as in YARP, but checked all the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CookieAttributes {
    /// `domain`
    pub domain: Option<String>,
    /// `path`
    pub path: Option<String>,
    /// Time from now to `expires`, more than 0.
    pub expiration: Option<Duration>,
    /// `max-age`, more than 0.
    pub max_age: Option<Duration>,
    /// `httponly`
    pub http_only: bool,
    /// `samesite`
    pub same_site: SameSite,
    /// `secure`
    pub secure_policy: SecurePolicy,
    /// `partitioned`
    pub partitioned: bool,
    /// Whether browsers refuse the cookie without `secure`: for its name's
    /// prefix, as it is partitioned, or for `samesite=none`.
    pub needs_secure: bool,
}

impl CookieAttributes {
    /// Whether the cookie is `secure`. `https`: whether the request came over
    /// HTTPS.
    #[must_use]
    pub fn is_secure(&self, https: bool) -> bool {
        match self.secure_policy {
            SecurePolicy::None => false,
            SecurePolicy::Always => true,
            SecurePolicy::SameAsRequest => https || self.needs_secure,
        }
    }
}

/// The checked arguments of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    name: String,
    policy: Policy,
    failure_policy: FailurePolicy,
    affinity_to: AffinityTo,
    key_file: Option<String>,
    cookie: CookieAttributes,
}

impl Settings {
    /// Checks the arguments.
    ///
    /// # Errors
    /// [`SettingsError`] for the first argument that is not accepted.
    pub fn new(arguments: &Arguments<'_>) -> Result<Self, SettingsError> {
        check_name(arguments)?;
        if let Some(value) = arguments.domain.filter(|domain| !is_domain(domain)) {
            return Err(SettingsError::Domain {
                value: value.to_owned(),
            });
        }
        if let Some(value) = arguments.path.filter(|path| !is_path(path)) {
            return Err(SettingsError::Path {
                value: value.to_owned(),
            });
        }
        let expiration = lifetime("expiration", arguments.expiration)?;
        let max_age = lifetime("max_age", arguments.max_age)?;
        if arguments.same_site == SameSite::None && arguments.secure_policy == SecurePolicy::None {
            return Err(SettingsError::InsecureSameSite);
        }
        if arguments.partitioned && arguments.secure_policy == SecurePolicy::None {
            return Err(SettingsError::InsecurePartitioned);
        }
        match arguments.key_file {
            Some(value) if !arguments.policy.is_sealed() => {
                return Err(SettingsError::KeyFile {
                    value: value.to_owned(),
                    policy: arguments.policy,
                });
            }
            Some("") => return Err(SettingsError::NoKeyFile),
            Some(_) | None => {}
        }
        Ok(Settings {
            name: arguments.name.to_owned(),
            policy: arguments.policy,
            failure_policy: arguments.failure_policy,
            affinity_to: arguments.affinity_to,
            key_file: arguments.key_file.map(str::to_owned),
            cookie: CookieAttributes {
                domain: arguments.domain.map(str::to_owned),
                path: arguments.path.map(str::to_owned),
                expiration,
                max_age,
                http_only: arguments.http_only,
                same_site: arguments.same_site,
                secure_policy: arguments.secure_policy,
                partitioned: arguments.partitioned,
                needs_secure: arguments.partitioned
                    || arguments.same_site == SameSite::None
                    || has_prefix(arguments.name, "__Host-")
                    || has_prefix(arguments.name, "__Secure-"),
            },
        })
    }

    /// Name of the cookie or header, a token of RFC 9110.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What the client carries.
    #[must_use]
    pub fn policy(&self) -> Policy {
        self.policy
    }

    /// What happens to a key that cannot be followed.
    #[must_use]
    pub fn failure_policy(&self) -> FailurePolicy {
        self.failure_policy
    }

    /// What a key names.
    #[must_use]
    pub fn affinity_to(&self) -> AffinityTo {
        self.affinity_to
    }

    /// File with the keys that seal.
    #[must_use]
    pub fn key_file(&self) -> Option<&str> {
        self.key_file.as_deref()
    }

    /// The attributes of the cookie.
    #[must_use]
    pub fn cookie(&self) -> &CookieAttributes {
        &self.cookie
    }
}

/// Headers that HTTP, a cache or the engine give a meaning of their own.
const RESERVED_HEADERS: &[&str] = &[
    "Accept-Ranges",
    "Age",
    "Allow",
    "Authorization",
    "Cache-Control",
    "Connection",
    "Content-Encoding",
    "Content-Length",
    "Content-Location",
    "Content-Range",
    "Content-Type",
    "Cookie",
    "Date",
    "ETag",
    "Expect",
    "Expires",
    "Host",
    "If-Match",
    "If-Modified-Since",
    "If-None-Match",
    "If-Range",
    "If-Unmodified-Since",
    "Keep-Alive",
    "Last-Modified",
    "Location",
    "Proxy-Authenticate",
    "Proxy-Authorization",
    "Proxy-Connection",
    "Range",
    "Retry-After",
    "Set-Cookie",
    "Surrogate-Control",
    "TE",
    "Trailer",
    "Transfer-Encoding",
    "Upgrade",
    "Vary",
    "Via",
    "WWW-Authenticate",
    "X-Forwarded-For",
    "X-Varnish",
];

fn check_name(arguments: &Arguments<'_>) -> Result<(), SettingsError> {
    let name = arguments.name;
    let value = || name.to_owned();
    if name.is_empty() || name.len() > MAX_NAME_LENGTH || !name.bytes().all(is_token) {
        return Err(SettingsError::Name { value: value() });
    }
    if !arguments.policy.is_cookie() {
        return if RESERVED_HEADERS
            .iter()
            .any(|reserved| name.eq_ignore_ascii_case(reserved))
        {
            Err(SettingsError::ReservedHeader { value: value() })
        } else {
            Ok(())
        };
    }
    let secure = arguments.secure_policy != SecurePolicy::None;
    let bound = arguments.domain.is_none() && arguments.path == Some("/");
    if has_prefix(name, "__Host-") && !(secure && bound) {
        return Err(SettingsError::Prefix {
            value: value(),
            accepted: "a secure_policy other than NONE, path \"/\" and no domain",
        });
    }
    if has_prefix(name, "__Secure-") && !secure {
        return Err(SettingsError::Prefix {
            value: value(),
            accepted: "a secure_policy other than NONE",
        });
    }
    Ok(())
}

/// Browsers compare the prefixes of RFC 6265bis without regard to case.
fn has_prefix(name: &str, prefix: &str) -> bool {
    name.get(..prefix.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(prefix))
}

/// A character of a token (RFC 9110 section 5.6.2).
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// A domain name, which may begin with the dot of older usage.
fn is_domain(domain: &str) -> bool {
    let labels = domain.strip_prefix('.').unwrap_or(domain);
    domain.len() <= 253
        && labels.split('.').all(|label| {
            (1..=63).contains(&label.len())
                && label
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
        })
}

fn is_path(path: &str) -> bool {
    path.starts_with('/')
        && path
            .bytes()
            .all(|byte| (b' '..=b'~').contains(&byte) && byte != b';')
        && !path.ends_with(' ')
}

/// 0 is no attribute at all.
fn lifetime(argument: &'static str, value: f64) -> Result<Option<Duration>, SettingsError> {
    match Duration::try_from_secs_f64(value) {
        Ok(Duration::ZERO) if value > 0.0 => Ok(Some(Duration::from_nanos(1))),
        Ok(Duration::ZERO) => Ok(None),
        Ok(duration) if duration <= MAX_LIFETIME => Ok(Some(duration)),
        Ok(_) | Err(_) => Err(SettingsError::Lifetime { argument, value }),
    }
}
