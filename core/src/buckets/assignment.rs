//! Which server owns which buckets.

use std::collections::BTreeMap;
use std::net::IpAddr;

use crate::instance::Instance;
use crate::name::EndpointId;

use super::set::{BitmapError, BucketSet, ListError};
use super::share::{ShareError, Shares};

/// Why buckets were not assigned. Nothing is changed then.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AssignError {
    /// The text is not a server.
    #[error(
        "server {text:?}, accepted is an address, an address:port with a number from 1 to 65535, or a host name"
    )]
    Server {
        /// The text as given.
        text: String,
    },
    /// The list of buckets is wrong.
    #[error("buckets {text:?} of server {server}: {error}")]
    List {
        /// The server.
        server: Instance<'static>,
        /// The list as given.
        text: String,
        /// What is wrong with it.
        error: ListError,
    },
    /// The share of the buckets is wrong.
    #[error("share {text:?} of server {server}: {error}")]
    Share {
        /// The server.
        server: Instance<'static>,
        /// The share as given.
        text: String,
        /// What is wrong with it.
        error: ShareError,
    },
    /// The bitmap is wrong.
    #[error("bitmap {text:?} of server {server}: {error}")]
    Bitmap {
        /// The server.
        server: Instance<'static>,
        /// The bitmap as given.
        text: String,
        /// What is wrong with it.
        error: BitmapError,
    },
    /// An earlier call gave the server one of these buckets.
    #[error(
        "bucket {bucket} of server {server} a second time, accepted is each bucket of a server once"
    )]
    Twice {
        /// The server.
        server: Instance<'static>,
        /// The lowest such bucket.
        bucket: u8,
    },
}

/// Nothing was assigned to this server.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("server {text:?}, accepted are servers that buckets were assigned to")]
pub struct UnknownServer {
    /// What was asked for.
    pub text: String,
}

/// The servers, numbered in the order of their first mention, and their
/// buckets. A bucket may have several owners or none.
#[derive(Clone, Debug, Default)]
pub struct Assignment {
    servers: Vec<(Instance<'static>, BucketSet)>,
    addresses: BTreeMap<IpAddr, usize>,
    endpoints: BTreeMap<EndpointId, usize>,
    hosts: BTreeMap<String, usize>,
    shares: Shares,
}

impl Assignment {
    /// No server yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Gives a server the buckets of a list such as `0,5,200-255`, or those of
    /// a share such as `50%`, beside those that it has. Shares take the buckets
    /// in order, each from where the one before ended; lists do not matter to
    /// them.
    ///
    /// # Errors
    /// [`AssignError`]
    pub fn assign(&mut self, server: &str, list: &str) -> Result<(), AssignError> {
        let server = read(server)?;
        if list.trim_ascii_end().ends_with('%') {
            return match self.shares.next(list) {
                Ok((buckets, shares)) => {
                    self.give(server, buckets)?;
                    self.shares = shares;
                    Ok(())
                }
                Err(error) => Err(AssignError::Share {
                    server,
                    text: list.to_owned(),
                    error,
                }),
            };
        }
        match BucketSet::parse_list(list) {
            Ok(buckets) => self.give(server, buckets),
            Err(error) => Err(AssignError::List {
                server,
                text: list.to_owned(),
                error,
            }),
        }
    }

    /// Gives a server the buckets of a bitmap, beside those that it has.
    /// A bitmap of zeros makes a server known that owns nothing.
    ///
    /// # Errors
    /// [`AssignError`]
    pub fn assign_bitmap(&mut self, server: &str, bitmap: &str) -> Result<(), AssignError> {
        let server = read(server)?;
        match BucketSet::parse_bitmap(bitmap) {
            Ok(buckets) => self.give(server, buckets),
            Err(error) => Err(AssignError::Bitmap {
                server,
                text: bitmap.to_owned(),
                error,
            }),
        }
    }

    fn give(&mut self, server: Instance<'static>, buckets: BucketSet) -> Result<(), AssignError> {
        let known = self.number(&server);
        if let Some((_, owned)) = known.and_then(|number| self.servers.get_mut(number)) {
            if let Some(bucket) = owned.intersection(&buckets).iter().next() {
                return Err(AssignError::Twice { server, bucket });
            }
            *owned = owned.union(&buckets);
            return Ok(());
        }
        let number = self.servers.len();
        match &server {
            Instance::Address(address) => self.addresses.insert(*address, number),
            Instance::Endpoint(endpoint) => self.endpoints.insert(*endpoint, number),
            Instance::Host(host) => self.hosts.insert(host.to_string(), number),
        };
        self.servers.push((server, buckets));
        Ok(())
    }

    /// The servers and their buckets; a server's number is its place here.
    #[must_use]
    pub fn servers(&self) -> &[(Instance<'static>, BucketSet)] {
        &self.servers
    }

    /// The buckets of a server, in any spelling of it. Allocates nothing where
    /// the server is known and written in ASCII.
    ///
    /// # Errors
    /// [`UnknownServer`]
    pub fn buckets(&self, server: &str) -> Result<BucketSet, UnknownServer> {
        let mut buf = [0; 256];
        Instance::parse(server.as_bytes(), &mut buf)
            .and_then(|server| self.number(&server))
            .and_then(|number| self.servers.get(number))
            .map(|(_, buckets)| *buckets)
            .ok_or_else(|| UnknownServer {
                text: server.to_owned(),
            })
    }

    /// Whether a server owns a bucket; an unknown server owns none. Allocates
    /// as [`buckets`](Self::buckets) does.
    #[must_use]
    pub fn owns(&self, server: &str, bucket: u8) -> bool {
        self.buckets(server)
            .is_ok_and(|buckets| buckets.contains(bucket))
    }

    /// The numbers of the servers that own a bucket, ascending.
    pub fn owners(&self, bucket: u8) -> impl Iterator<Item = usize> {
        (0..)
            .zip(&self.servers)
            .filter(move |(_, (_, buckets))| buckets.contains(bucket))
            .map(|(number, _)| number)
    }

    /// Number of buckets that no server owns, 0 to 256.
    #[must_use]
    pub fn unowned(&self) -> usize {
        let owned = self
            .servers
            .iter()
            .fold(BucketSet::NONE, |all, (_, buckets)| all.union(buckets));
        256 - owned.len()
    }

    /// The buckets of an endpoint: those of all servers that it belongs to, as
    /// [`Instance::matches`] says, found without asking each. `host` is in its
    /// canonical form.
    pub(super) fn buckets_of(&self, address: IpAddr, port: u16, host: &str) -> BucketSet {
        let address = address.to_canonical();
        [
            self.addresses.get(&address).copied(),
            self.endpoints.get(&EndpointId { address, port }).copied(),
            self.hosts.get(host).copied(),
        ]
        .into_iter()
        .flatten()
        .filter_map(|number| self.servers.get(number))
        .fold(BucketSet::NONE, |all, (_, buckets)| all.union(buckets))
    }

    fn number(&self, server: &Instance<'_>) -> Option<usize> {
        match server {
            Instance::Address(address) => self.addresses.get(address),
            Instance::Endpoint(endpoint) => self.endpoints.get(endpoint),
            Instance::Host(host) => self.hosts.get(&**host),
        }
        .copied()
    }
}

fn read(server: &str) -> Result<Instance<'static>, AssignError> {
    let mut buf = [0; 256];
    Instance::parse(server.as_bytes(), &mut buf)
        .map(Instance::into_owned)
        .ok_or_else(|| AssignError::Server {
            text: server.to_owned(),
        })
}
