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
pub mod share;
pub mod waiting;

use std::time::Duration;

pub use assignment::{AssignError, Assignment, UnknownServer};
pub use delay::{Owners, Service};
pub use owners::OwnerTable;
pub use pearson::{bucket, bucket_or, hash};
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

/// Clients are to be tracked, and never wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("track_keys with service_delay 0, accepted with it is a service_delay above 0")]
pub struct TrackError;

/// For how many service delays a waiting client is remembered that does not
/// come again.
pub const MEMORY: u32 = 10;

/// One `buckets` object.
#[derive(Debug)]
pub struct Buckets {
    assignment: Assignment,
    service_delay: Duration,
    track_keys: bool,
    first_seen: FirstSeen,
}

impl Buckets {
    /// Buckets without owners. `service_delay` is in seconds; the seed must be
    /// random.
    ///
    /// # Errors
    /// [`DelayError`] where the delay is negative or not finite.
    pub fn new(service_delay: f64, seed: [u8; 16]) -> Result<Self, DelayError> {
        let delay = Duration::try_from_secs_f64(service_delay).map_err(|_| DelayError {
            value: service_delay,
        })?;
        Ok(Buckets {
            assignment: Assignment::new(),
            service_delay: delay,
            track_keys: false,
            first_seen: FirstSeen::new(seed, delay.saturating_mul(MEMORY)),
        })
    }

    /// Whether clients without a transaction are tracked by their key alone.
    ///
    /// # Errors
    /// [`TrackError`] where there is no service delay.
    pub fn track_keys(self, track_keys: bool) -> Result<Self, TrackError> {
        if track_keys && self.service_delay.is_zero() {
            return Err(TrackError);
        }
        Ok(Buckets { track_keys, ..self })
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
    /// first request that its owners could not serve, and ends when an owner
    /// that is known to be healthy serves it, or when it does not come again
    /// for [`MEMORY`] service delays.
    #[must_use]
    pub fn service(&self, owners: Owners, client: &Client<'_>, now: Duration) -> Service {
        let waited = match owners {
            Owners::Down | Owners::Tried => self.waited(client, now),
            Owners::Unknown => elapsed(client).unwrap_or_default(),
            Owners::None => Duration::ZERO,
            Owners::Healthy => {
                if self.is_tracked(client) {
                    self.first_seen.forget(client.key, client.transaction, now);
                }
                Duration::ZERO
            }
        };
        delay::decide(owners, waited, self.service_delay)
    }

    /// Whether a server of a group serves a client: one of its own buckets
    /// always, and with a service delay also any other that has waited so
    /// long, since its owners then seem to be down. Without a service delay it
    /// leaves other buckets alone.
    ///
    /// An empty key is in bucket 0. `now` is as for [`service`](Self::service).
    /// Allocates as [`Assignment::buckets`] does.
    ///
    /// # Errors
    /// [`UnknownServer`], which serves nobody.
    pub fn serves(
        &self,
        server: &str,
        client: &Client<'_>,
        now: Duration,
    ) -> Result<bool, UnknownServer> {
        let buckets = self.assignment.buckets(server)?;
        Ok(buckets.contains(bucket(client.key))
            || (!self.service_delay.is_zero() && self.waited(client, now) >= self.service_delay))
    }

    /// What the client says, else what is remembered of it, else nothing.
    fn waited(&self, client: &Client<'_>, now: Duration) -> Duration {
        if let Some(elapsed) = elapsed(client) {
            return elapsed;
        }
        if !self.is_tracked(client) {
            return Duration::ZERO;
        }
        self.first_seen.waited(client.key, client.transaction, now)
    }

    fn is_tracked(&self, client: &Client<'_>) -> bool {
        let named = !client.transaction.is_empty() || (self.track_keys && !client.key.is_empty());
        named && !self.service_delay.is_zero()
    }
}

/// For how long a client says that it has waited.
fn elapsed(client: &Client<'_>) -> Option<Duration> {
    (client.elapsed > 0.0)
        .then(|| Duration::try_from_secs_f64(client.elapsed).unwrap_or(Duration::MAX))
}
