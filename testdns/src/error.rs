//! What can be wrong with a command or with the start of a server.

use std::io;
use std::net::SocketAddr;

/// Why a command was not carried out. Nothing has changed then, except where noted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    /// The first word of the line is no command.
    #[error("unknown command {0:?}: `help` lists them")]
    Unknown(String),
    /// The line ends too early.
    #[error("{0} is missing")]
    Missing(&'static str),
    /// The line has words that the command does not take.
    #[error("{0:?} is too much: the command is complete before it")]
    Surplus(String),
    /// A word is not what its place asks for.
    #[error("{what} {value:?}: accepted is {accepted}")]
    Invalid {
        /// What the word should be.
        what: &'static str,
        /// The word.
        value: String,
        /// What may stand there.
        accepted: &'static str,
    },
    /// `remove` found nothing to remove.
    #[error("nothing to remove: {0}")]
    Absent(String),
    /// The command needs a running server and stands in a zone file.
    #[error("{0}: only in a running server, not in a zone file")]
    NotInZoneFile(&'static str),
    /// A `wait` ran out of time.
    #[error("only {seen} of {wanted} queries for {what} within {seconds} s")]
    TimedOut {
        /// The queries that were waited for.
        what: String,
        /// How many came.
        seen: u64,
        /// How many were asked for.
        wanted: u64,
        /// The timeout.
        seconds: String,
    },
    /// Not all sockets could be shut or opened; the same command tries the others again.
    #[error("{0}")]
    Sockets(String),
    /// The server has ended.
    #[error("the server has ended")]
    Stopped,
}

/// Why a server did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// No address to listen on was given.
    #[error("no address to listen on: at least one is needed")]
    NoAddress,
    /// An address cannot be used for both UDP and TCP.
    #[error("cannot listen on {addr}: {source}")]
    Listen {
        /// The address.
        addr: SocketAddr,
        /// The system's reason.
        source: io::Error,
    },
    /// A line of the zone is wrong.
    #[error("zone line {line}: {source}")]
    Zone {
        /// The number of the line, from 1.
        line: usize,
        /// What is wrong with it.
        source: CommandError,
    },
    /// The thread or its event loop could not be made.
    #[error("cannot start the server's thread: {0}")]
    Thread(#[from] io::Error),
}

impl From<StartError> for CommandError {
    fn from(error: StartError) -> Self {
        Self::Sockets(error.to_string())
    }
}

impl From<StartError> for io::Error {
    fn from(error: StartError) -> Self {
        let kind = match &error {
            StartError::NoAddress | StartError::Zone { .. } => io::ErrorKind::InvalidInput,
            StartError::Listen { source, .. } | StartError::Thread(source) => source.kind(),
        };
        Self::new(kind, error)
    }
}
