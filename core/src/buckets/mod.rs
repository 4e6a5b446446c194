//! Hash buckets (RFC 3074, "DHC load balancing algorithm"): clients are
//! divided among cooperating servers that exchange nothing.
//!
//! [`Buckets`] holds what one `buckets` object in VCL was given. A director
//! that uses it prepares an [`OwnerTable`] with each snapshot; a request then
//! asks [`OwnerTable::owners`] of its bucket and [`Buckets::service`] what to
//! do. A member of a group asks [`Buckets::serves`].

pub mod assignment;
pub mod delay;
pub mod owners;
pub mod pearson;
pub mod set;
pub mod waiting;

use std::time::Duration;

pub use assignment::{AssignError, Assignment, UnknownServer};
pub use delay::{Owners, Service};
pub use owners::OwnerTable;
pub use pearson::{hash, hash_or};
pub use set::BucketSet;
pub use waiting::FirstSeen;

/// The service delay is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("service_delay {value}, accepted are 0 seconds or more")]
pub struct DelayError {
    /// What was given, in seconds.
    pub value: f64,
}

/// What a request says of its client.
#[derive(Clone, Copy, Debug)]
pub struct Client<'a> {
    /// What its bucket is made of.
    pub key: &'a [u8],
    /// For how long it has waited, in seconds, as the client says it;
    /// anything that is not more than 0 says nothing.
    pub elapsed: f64,
    /// Names its attempt to be served; empty: unknown.
    pub transaction: &'a [u8],
}

/// One `buckets` object.
#[derive(Debug)]
pub struct Buckets {
    assignment: Assignment,
    service_delay: Duration,
    first_seen: FirstSeen,
}

impl Buckets {
    /// Buckets without owners. `service_delay` is in seconds; the seed must be
    /// random.
    ///
    /// # Errors
    /// [`DelayError`] where the delay is negative or not finite.
    pub fn new(service_delay: f64, seed: [u8; 16]) -> Result<Self, DelayError> {
        let delay = Duration::try_from_secs_f64(service_delay);
        Ok(Buckets {
            assignment: Assignment::new(),
            service_delay: delay.map_err(|_| DelayError {
                value: service_delay,
            })?,
            first_seen: FirstSeen::new(seed),
        })
    }

    /// Which server owns which buckets.
    #[must_use]
    pub fn assignment(&self) -> &Assignment {
        &self.assignment
    }

    /// To assign buckets, while nobody else uses the object.
    pub fn assignment_mut(&mut self) -> &mut Assignment {
        &mut self.assignment
    }

    /// For how long a client of owners that are down waits for another server.
    #[must_use]
    pub fn service_delay(&self) -> Duration {
        self.service_delay
    }

    /// When clients were first seen.
    #[must_use]
    pub fn first_seen(&self) -> &FirstSeen {
        &self.first_seen
    }

    /// Who serves a client, in a director. `now` is the time since any fixed
    /// moment, the same for all calls. Allocates nothing.
    ///
    /// Only a client that has to wait is remembered: its time begins with the
    /// first request that its owners could not serve.
    #[must_use]
    pub fn service(&self, owners: Owners, client: &Client<'_>, now: Duration) -> Service {
        let waited = match owners {
            Owners::Down => self.waited(client, now),
            Owners::None | Owners::Healthy => Duration::ZERO,
        };
        delay::decide(owners, waited, self.service_delay)
    }

    /// Whether a server of a group serves a client: one of its own buckets
    /// always, and with a service delay also any other that has waited so
    /// long, since its owners then seem to be down. Without a service delay it
    /// leaves other buckets alone. An unknown server serves nobody.
    ///
    /// An empty key is in bucket 0. `now` is as for [`service`](Self::service).
    /// Allocates as [`Assignment::buckets`] does.
    #[must_use]
    pub fn serves(&self, server: &str, client: &Client<'_>, now: Duration) -> bool {
        self.assignment.buckets(server).is_ok_and(|buckets| {
            buckets.contains(hash(client.key))
                || (!self.service_delay.is_zero() && self.waited(client, now) >= self.service_delay)
        })
    }

    /// What the client says, else what is remembered of its transaction, else
    /// nothing.
    fn waited(&self, client: &Client<'_>, now: Duration) -> Duration {
        if client.elapsed > 0.0 {
            return Duration::try_from_secs_f64(client.elapsed).unwrap_or(Duration::MAX);
        }
        if client.transaction.is_empty() || self.service_delay.is_zero() {
            return Duration::ZERO;
        }
        self.first_seen.waited(client.key, client.transaction, now)
    }
}
