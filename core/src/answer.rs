//! What a lookup yields: for each address family a set of addresses with a
//! time to live, or the way in which the lookup failed.

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

/// An address family, each asked with a query of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Family {
    /// IPv4, record type A.
    V4,
    /// IPv6, record type AAAA.
    V6,
}

impl Family {
    /// The other one.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Family::V4 => Family::V6,
            Family::V6 => Family::V4,
        }
    }

    /// The family of an address.
    #[must_use]
    pub fn of(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(_) => Family::V4,
            IpAddr::V6(_) => Family::V6,
        }
    }
}

/// Why a lookup gave nothing that could be used.
///
/// The text of each is part of the log's interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Failure {
    /// The name does not exist.
    NxDomain,
    /// The name exists and has no record of the type that was asked for.
    NoData,
    /// The server failed.
    ServFail,
    /// The server refused to answer.
    Refused,
    /// The server did not understand the question.
    FormErr,
    /// The server does not support this kind of question.
    NotImp,
    /// The server answered with another error code.
    ErrorCode,
    /// No answer in time.
    Timeout,
    /// The answer was cut off, over TCP too.
    Truncated,
    /// The answer could not be read or did not fit the question.
    Malformed,
    /// No name server is configured.
    NoServers,
    /// The server could not be reached.
    Unreachable,
    /// The lookup was ended by a bug of this module.
    Internal,
}

impl Failure {
    /// The word that the log uses.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Failure::NxDomain => "NXDOMAIN",
            Failure::NoData => "NODATA",
            Failure::ServFail => "SERVFAIL",
            Failure::Refused => "REFUSED",
            Failure::FormErr => "FORMERR",
            Failure::NotImp => "NOTIMP",
            Failure::ErrorCode => "ERRORCODE",
            Failure::Timeout => "TIMEOUT",
            Failure::Truncated => "TRUNCATED",
            Failure::Malformed => "MALFORMED",
            Failure::NoServers => "NOSERVERS",
            Failure::Unreachable => "UNREACHABLE",
            Failure::Internal => "INTERNAL",
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Addresses of one family, from a successful lookup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Addresses {
    /// At least one address; the order means nothing, duplicates are allowed.
    pub addresses: Vec<IpAddr>,
    /// The smallest TTL of the answer's records. `None` where the answer has
    /// none (literals, the hosts file).
    pub ttl: Option<Duration>,
}

/// The outcome of one family's lookup.
pub type FamilyAnswer = Result<Addresses, Failure>;

/// The outcome of one lookup of a host name: both families, side by side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostAnswer {
    /// The A records.
    pub v4: FamilyAnswer,
    /// The AAAA records.
    pub v6: FamilyAnswer,
}

/// One SRV record (RFC 2782).
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SrvRecord {
    /// Lower is tried first.
    pub priority: u16,
    /// The share among targets of one priority.
    pub weight: u16,
    /// 0 means the director's port.
    pub port: u16,
    /// Lower-case host name without a trailing dot; empty for the root, which
    /// means that the service is not available.
    pub target: String,
}

/// The outcome of one SRV lookup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SrvAnswer {
    /// The records, in any order.
    pub records: Vec<SrvRecord>,
    /// The smallest TTL of the answer's records.
    pub ttl: Option<Duration>,
}
