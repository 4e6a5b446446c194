//! The arguments of a director, checked once, when the VCL is loaded.

use std::time::Duration;

use crate::name::Excerpt;
use crate::port::{Port, PortError, PortSet};
use crate::schedule::TtlFrom;
use crate::select::{Algorithm, HashScope, Rules, RulesError};

/// An argument that cannot be accepted.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ArgumentError {
    /// A duration out of range.
    #[error("{argument} = {value}: must be {accepted}")]
    Range {
        /// The argument's name in VCL.
        argument: &'static str,
        /// What was given.
        value: String,
        /// What is accepted.
        accepted: &'static str,
    },
    /// A port that is none.
    #[error("{0}")]
    Port(#[from] PortError),
    /// A rule of selection out of range.
    #[error("{0}")]
    Rules(#[from] RulesError),
    /// A set of ports with a part that is none.
    #[error("ports = {value}: must be ports or ranges of ports with commas between them; {reason}")]
    Ports {
        /// What was given.
        value: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Text that the engine cannot take.
    #[error("{argument}: must not be empty")]
    Empty {
        /// The argument's name in VCL.
        argument: &'static str,
    },
}

/// Whether leaves are shared by all names of a director.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Share {
    /// One leaf for each address and port, whichever names lead to it.
    Director,
    /// A leaf of its own for each host.
    Host,
}

impl Share {
    /// The word that `backend.list` shows.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Share::Director => "DIRECTOR",
            Share::Host => "HOST",
        }
    }
}

/// The arguments as VCL gives them; durations in seconds.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the fields are the manual's arguments")]
pub struct Arguments {
    pub port: Option<String>,
    pub host_header: Option<String>,
    pub share: String,
    pub has_via: bool,
    pub ttl: f64,
    pub connect_timeout: f64,
    pub first_byte_timeout: f64,
    pub between_bytes_timeout: f64,
    pub domain_usage_timeout: f64,
    pub first_lookup_timeout: f64,
    pub max_connections: i64,
    pub proxy_header: i64,
    pub ttl_from: String,
    pub retry_after: f64,
    pub keep: i64,
    pub authority: Option<String>,
    pub wait_timeout: f64,
    pub wait_limit: i64,
    pub algorithm: String,
    pub hash_header: Option<String>,
    pub hash_balance: f64,
    pub hash_scope: String,
    pub overprovisioning: f64,
    pub slow_start: f64,
    pub ports: Option<String>,
    pub max_names: i64,
}

/// What a director works with.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The port where a call gives none.
    pub port: Port,
    /// `Host` for requests without one and for probes.
    pub host_header: Option<String>,
    /// Who shares leaves.
    pub share: Share,
    /// Time between refreshes.
    pub ttl: Duration,
    /// Seconds, negative for the engine's default.
    pub connect_timeout: f64,
    /// Seconds, negative for the engine's default.
    pub first_byte_timeout: f64,
    /// Seconds, negative for the engine's default.
    pub between_bytes_timeout: f64,
    /// How long a name may go unused.
    pub domain_usage_timeout: Duration,
    /// How long a request waits for a name's first answer.
    pub first_lookup_timeout: Duration,
    /// Connections at once to one leaf; 0 is no limit.
    pub max_connections: u32,
    /// PROXY protocol version; 0 is none.
    pub proxy_header: u32,
    /// Which TTL governs refreshes.
    pub ttl_from: TtlFrom,
    /// Time until a failed lookup is repeated.
    pub retry_after: Duration,
    /// Updates that an address may miss before its leaf is deleted.
    pub keep: u32,
    /// The default authority; empty means none.
    pub authority: Option<String>,
    /// Seconds, negative for the engine's default.
    pub wait_timeout: f64,
    /// Requests that may wait for a connection; 0 is the engine's default.
    pub wait_limit: u32,
    /// How an endpoint is chosen.
    pub rules: Rules,
    /// The request header whose value is the key, without the colon.
    pub hash_header: Option<String>,
    /// Seconds in which a newly healthy endpoint gets to its full weight; 0 is
    /// at once.
    pub slow_start: f64,
    /// Ports that the text of a name may give.
    pub ports: PortSet,
    /// The most names that there can be at once.
    pub max_names: usize,
}

/// Longest duration that an argument may have: what a timer can hold.
const LONGEST: f64 = 10.0 * 365.0 * 86_400.0;

fn positive(argument: &'static str, seconds: f64) -> Result<Duration, ArgumentError> {
    if seconds > 0.0 && seconds <= LONGEST {
        return Ok(Duration::from_secs_f64(seconds));
    }
    Err(ArgumentError::Range {
        argument,
        value: format!("{seconds}s"),
        accepted: "more than 0s and at most 10 years",
    })
}

/// A timeout where -1 leaves the choice to the engine.
fn or_default(argument: &'static str, seconds: f64) -> Result<f64, ArgumentError> {
    #[allow(
        clippy::float_cmp,
        reason = "-1 is the value that VCL writes, not a computed one"
    )]
    if seconds == -1.0 || (seconds > 0.0 && seconds <= LONGEST) {
        return Ok(seconds);
    }
    Err(ArgumentError::Range {
        argument,
        value: format!("{seconds}s"),
        accepted: "more than 0s and at most 10 years, or -1s for the server's default",
    })
}

fn number(
    argument: &'static str,
    value: i64,
    most: u32,
    accepted: &'static str,
) -> Result<u32, ArgumentError> {
    u32::try_from(value)
        .ok()
        .filter(|v| *v <= most)
        .ok_or_else(|| ArgumentError::Range {
            argument,
            value: value.to_string(),
            accepted,
        })
}

/// A name of 255 octets and a port.
const LONGEST_HOST: usize = 261;

/// Text that stands in a header: not empty, no longer than a host and port can
/// be, and no control characters that would end it.
fn header_text(
    argument: &'static str,
    text: Option<String>,
) -> Result<Option<String>, ArgumentError> {
    match text {
        Some(t) if t.is_empty() => Err(ArgumentError::Empty { argument }),
        Some(t) if t.len() > LONGEST_HOST || t.chars().any(char::is_control) => {
            Err(ArgumentError::Range {
                argument,
                value: Excerpt::new(t.as_bytes()).to_string(),
                accepted: "up to 261 octets without control characters",
            })
        }
        text => Ok(text),
    }
}

/// An authority, from VCL or from a request: the name of a host as it is sent
/// ahead and shown in lists. Empty means none.
///
/// # Errors
/// What is not [`engine_text`].
pub fn authority(text: &[u8]) -> Result<String, ArgumentError> {
    engine_text(text)
        .map(str::to_owned)
        .ok_or_else(|| ArgumentError::Range {
            argument: "authority",
            value: Excerpt::new(text).to_string(),
            accepted: "up to 255 visible ASCII characters without \", \\ and spaces",
        })
}

/// Text that may be part of a name in the engine: up to 255 visible ASCII
/// characters without `"` and `\`. The engine's tools end on some others, as
/// they split names at spaces and quote them in JSON.
#[must_use]
pub fn engine_text(text: &[u8]) -> Option<&str> {
    const MAX_LENGTH: usize = 255;
    let sound = |byte: &u8| byte.is_ascii_graphic() && !b"\"\\".contains(byte);
    let text = std::str::from_utf8(text).ok()?;
    (text.len() <= MAX_LENGTH && text.as_bytes().iter().all(sound)).then_some(text)
}

/// A header's name as HTTP writes it (RFC 9110, section 5.6.2: a token), short
/// enough for the engine.
fn header_name(
    argument: &'static str,
    name: Option<String>,
) -> Result<Option<String>, ArgumentError> {
    const MOST: usize = 126;
    let Some(name) = name else { return Ok(None) };
    let token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    if name.is_empty() || name.len() > MOST || !name.bytes().all(token) {
        return Err(ArgumentError::Range {
            argument,
            value: name.escape_debug().to_string(),
            accepted: "the name of a header, without the colon, of at most 126 characters",
        });
    }
    Ok(Some(name))
}

/// A duration that may be 0 for "off".
fn or_none(argument: &'static str, seconds: f64) -> Result<f64, ArgumentError> {
    if (0.0..=LONGEST).contains(&seconds) {
        return Ok(seconds);
    }
    Err(ArgumentError::Range {
        argument,
        value: format!("{seconds}s"),
        accepted: "0s (off) to 10 years",
    })
}

/// The most that `max_names` may be.
const MAX_NAMES: usize = 1_000_000;

/// Whole counts that the engine keeps in 31 bits.
const MANY: u32 = i32::MAX as u32;

impl Arguments {
    /// Checks the arguments. `services` is the text of the services file.
    ///
    /// # Errors
    /// The first argument that cannot be accepted, with its value and what can.
    pub fn check(self, services: &str) -> Result<Settings, ArgumentError> {
        let port = Port::parse(self.port.as_deref().unwrap_or("http"), services)?;
        let share = match self.share.as_str() {
            "HOST" => Share::Host,
            "DIRECTOR" => Share::Director,
            // Behind a proxy the host decides where a connection ends up.
            _ if self.has_via => Share::Host,
            _ => Share::Director,
        };
        let ttl_from = match self.ttl_from.as_str() {
            "dns" => TtlFrom::Dns,
            "min" => TtlFrom::Min,
            "max" => TtlFrom::Max,
            _ => TtlFrom::Cfg,
        };
        let rules = Rules {
            algorithm: match self.algorithm.as_str() {
                "RANDOM" => Algorithm::Random,
                "LEAST" => Algorithm::Least,
                "POWER_OF_TWO" => Algorithm::PowerOfTwo,
                _ => Algorithm::RoundRobin,
            },
            overprovisioning: self.overprovisioning,
            hash_balance: self.hash_balance,
            hash_scope: if self.hash_scope == "ALL" {
                HashScope::All
            } else {
                HashScope::Tier
            },
            slow_start: self.slow_start > 0.0,
        };
        rules.check()?;
        let ports = match &self.ports {
            Some(text) => PortSet::parse(text, services).map_err(|e| ArgumentError::Ports {
                value: Excerpt::new(text.as_bytes()).to_string(),
                reason: e.to_string(),
            })?,
            None => PortSet::default(),
        };
        Ok(Settings {
            rules,
            hash_header: header_name("hash_header", self.hash_header)?,
            slow_start: or_none("slow_start", self.slow_start)?,
            ports,
            max_names: usize::try_from(self.max_names)
                .ok()
                .filter(|names| (1..=MAX_NAMES).contains(names))
                .ok_or_else(|| ArgumentError::Range {
                    argument: "max_names",
                    value: self.max_names.to_string(),
                    accepted: "1 to 1000000",
                })?,
            port,
            host_header: header_text("host_header", self.host_header)?,
            share,
            ttl: positive("ttl", self.ttl)?,
            connect_timeout: or_default("connect_timeout", self.connect_timeout)?,
            first_byte_timeout: or_default("first_byte_timeout", self.first_byte_timeout)?,
            between_bytes_timeout: or_default("between_bytes_timeout", self.between_bytes_timeout)?,
            domain_usage_timeout: positive("domain_usage_timeout", self.domain_usage_timeout)?,
            first_lookup_timeout: positive("first_lookup_timeout", self.first_lookup_timeout)?,
            max_connections: number(
                "max_connections",
                self.max_connections,
                MANY,
                "0 (no limit) to 2147483647",
            )?,
            proxy_header: number("proxy_header", self.proxy_header, 2, "0 (none), 1 or 2")?,
            ttl_from,
            retry_after: positive("retry_after", self.retry_after)?,
            keep: number("keep", self.keep, MANY, "0 to 2147483647")?,
            authority: self
                .authority
                .map(|text| authority(text.as_bytes()))
                .transpose()?,
            wait_timeout: or_default("wait_timeout", self.wait_timeout)?,
            wait_limit: number(
                "wait_limit",
                self.wait_limit,
                MANY,
                "0 (the server's default) to 2147483647",
            )?,
        })
    }
}
