//! What went wrong with which server.

use std::fmt;
use std::net::SocketAddr;

use dynamic_core::answer::Failure;
use hickory_net::NetError;
use hickory_proto::op::{Query, ResponseCode};

use crate::message;
use crate::sockets::BareError;

/// The longest detail, in characters: a certificate may have any number of
/// names.
const MAX_DETAIL: usize = 200;

/// A question that a server did not answer, for the log: its text is one line
/// of visible ASCII.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerFault {
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

impl ServerFault {
    pub(crate) fn new(server: SocketAddr, query: &Query, error: &ExchangeError) -> Self {
        let name = query.name().to_ascii();
        Self {
            server,
            name: name.strip_suffix('.').unwrap_or(&name).to_owned(),
            record: query.query_type().into(),
            failure: error.failure,
            detail: error.detail.chars().take(MAX_DETAIL).map(visible).collect(),
        }
    }
}

fn visible(character: char) -> char {
    match character {
        ' '..='~' => character,
        _ => '?',
    }
}

impl fmt::Display for ServerFault {
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
pub(crate) struct ExchangeError {
    pub(crate) failure: Failure,
    pub(crate) detail: String,
}

impl ExchangeError {
    /// The failure of an answer with this response code.
    pub(crate) fn with_code(failure: Failure, code: ResponseCode) -> Self {
        let detail = match failure {
            Failure::ErrorCode => code.to_string(),
            _ => String::new(),
        };
        Self { failure, detail }
    }
}

impl From<Failure> for ExchangeError {
    fn from(failure: Failure) -> Self {
        Self {
            failure,
            detail: String::new(),
        }
    }
}

impl From<NetError> for ExchangeError {
    fn from(error: NetError) -> Self {
        if let NetError::Io(error) = &error
            && let Some(BareError(code)) = BareError::of(error)
        {
            let failure = message::error_of(*code).unwrap_or(Failure::Malformed);
            return Self::with_code(failure, *code);
        }
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

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::Arc;

    use hickory_proto::ProtoError;
    use hickory_proto::rr::{Name, RecordType};

    use super::*;

    fn fault(name: &[u8], detail: &str) -> ServerFault {
        let mut name = Name::from_labels([name, b"test"]).unwrap();
        name.set_fqdn(true);
        let error = ExchangeError {
            failure: Failure::Unreachable,
            detail: detail.into(),
        };
        let query = Query::query(name, RecordType::AAAA);
        ServerFault::new("[2001:db8::1]:53".parse().unwrap(), &query, &error)
    }

    #[test]
    fn it_reads_as_a_line() {
        assert_eq!(
            fault(b"a", "").to_string(),
            "UNREACHABLE from [2001:db8::1]:53 for a.test AAAA"
        );
        assert_eq!(
            fault(b"a", "no route").to_string(),
            "UNREACHABLE from [2001:db8::1]:53 for a.test AAAA (no route)"
        );
    }

    /// Names come from aliases, details from certificates.
    #[test]
    fn what_strangers_write_stays_one_line_of_ascii() {
        let long = "x".repeat(10_000);
        for detail in ["a\nb", "\u{1b}[2J", "\u{e4}\0", long.as_str()] {
            let bytes: Vec<u8> = (0..=255).collect();
            for name in bytes.chunks(60) {
                let text = fault(name, detail).to_string();
                assert!(text.chars().all(|it| matches!(it, ' '..='~')), "{text:?}");
                assert!(text.len() < 600);
            }
        }
    }

    #[test]
    fn the_librarys_errors_are_failures() {
        let io = |kind| NetError::Io(Arc::new(io::Error::from(kind)));
        for (error, failure) in [
            (NetError::Timeout, Failure::Timeout),
            (
                io::Error::from(io::ErrorKind::TimedOut).into(),
                Failure::Timeout,
            ),
            (NetError::Truncated, Failure::Truncated),
            (
                NetError::Proto(ProtoError::NotAResponse),
                Failure::Malformed,
            ),
            (io(io::ErrorKind::ConnectionRefused), Failure::Unreachable),
            (io(io::ErrorKind::NetworkUnreachable), Failure::Unreachable),
            (NetError::Busy, Failure::Unreachable),
            (NetError::NoConnections, Failure::Unreachable),
            (NetError::Message("anything"), Failure::Unreachable),
        ] {
            let text = error.to_string();
            assert_eq!(ExchangeError::from(error).failure, failure, "{text}");
        }
    }
}
