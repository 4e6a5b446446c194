//! What went wrong with which server.

use std::fmt;
use std::net::SocketAddr;

use dynamic_core::answer::Failure;
use hickory_net::NetError;
use hickory_proto::op::{Message, Query};

/// A question that a server did not answer, for the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The server.
    pub server: SocketAddr,
    /// The full name that it was asked for.
    pub name: String,
    /// The record type: `A`, `AAAA` or `SRV`.
    pub record: &'static str,
    /// What it did.
    pub failure: Failure,
    /// More about it, in the words of the system or the library; often empty.
    pub detail: String,
}

impl Fault {
    pub(crate) fn new(server: SocketAddr, query: &Query, trouble: Trouble) -> Self {
        let name = query.name().to_ascii();
        Self {
            server,
            name: name.strip_suffix('.').unwrap_or(&name).to_owned(),
            record: query.query_type().into(),
            failure: trouble.failure,
            detail: trouble.detail,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            server,
            name,
            record,
            failure,
            detail,
        } = self;
        write!(f, "{failure} from {server} for {name} {record}")?;
        if !detail.is_empty() {
            write!(f, " ({detail})")?;
        }
        Ok(())
    }
}

/// Why an exchange failed.
#[derive(Debug)]
pub(crate) struct Trouble {
    pub(crate) failure: Failure,
    pub(crate) detail: String,
}

impl Trouble {
    /// The failure that a message tells.
    pub(crate) fn of(failure: Failure, message: &Message) -> Self {
        let detail = match failure {
            Failure::Unreachable => message.metadata.response_code.to_string(),
            _ => String::new(),
        };
        Self { failure, detail }
    }
}

impl From<Failure> for Trouble {
    fn from(failure: Failure) -> Self {
        Self {
            failure,
            detail: String::new(),
        }
    }
}

impl From<NetError> for Trouble {
    fn from(error: NetError) -> Self {
        let failure = match error {
            NetError::Timeout => return Failure::Timeout.into(),
            NetError::Truncated => Failure::Truncated,
            NetError::Proto(_) | NetError::Dns(_) | NetError::ForeignClassRecord { .. } => {
                Failure::Malformed
            }
            _ => Failure::Unreachable,
        };
        Self {
            failure,
            detail: error.to_string(),
        }
    }
}
