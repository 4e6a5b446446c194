//! Who serves a client while the owners of its bucket are down.

use std::time::Duration;

/// How the owners of a bucket are, among the endpoints of a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owners {
    /// There is none.
    None,
    /// At least one is known to be healthy.
    Healthy,
    /// No probe asks for their health, and another endpoint could serve.
    Unknown,
    /// Earlier attempts of the task went to all that are healthy, and another
    /// endpoint could serve.
    Tried,
    /// There are some, and none is healthy.
    Down,
}

/// Who serves a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    /// An owner; the algorithm chooses among several.
    Owner,
    /// Whom the algorithm chooses, since the bucket has no owner.
    Anyone,
    /// Whom the algorithm chooses, since the client has waited long enough:
    /// another than the owners, if one is healthy.
    TakenOver,
    /// Nobody yet: 503.
    Delayed,
}

/// Decides for a client that has waited so long. A delay of 0 is over at once,
/// except for owners of unknown health: these are tried first then.
/// Allocates nothing.
#[must_use]
pub fn decide(owners: Owners, waited: Duration, service_delay: Duration) -> Service {
    let is_over = waited >= service_delay;
    let taken_over_or = |service| if is_over { Service::TakenOver } else { service };
    match owners {
        Owners::None => Service::Anyone,
        Owners::Down => taken_over_or(Service::Delayed),
        Owners::Tried => taken_over_or(Service::Owner),
        Owners::Unknown if !service_delay.is_zero() => taken_over_or(Service::Owner),
        Owners::Unknown | Owners::Healthy => Service::Owner,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_has_its_service() {
        let cases = [
            (Owners::Healthy, 0, 5, Service::Owner),
            (Owners::Healthy, 9, 5, Service::Owner),
            (Owners::Healthy, 0, 0, Service::Owner),
            (Owners::None, 0, 5, Service::Anyone),
            (Owners::None, 9, 0, Service::Anyone),
            (Owners::Down, 0, 5, Service::Delayed),
            (Owners::Down, 4, 5, Service::Delayed),
            (Owners::Down, 5, 5, Service::TakenOver),
            (Owners::Down, 6, 5, Service::TakenOver),
            (Owners::Down, 0, 0, Service::TakenOver),
            (Owners::Unknown, 4, 5, Service::Owner),
            (Owners::Unknown, 5, 5, Service::TakenOver),
            (Owners::Unknown, 0, 0, Service::Owner),
            (Owners::Unknown, 9, 0, Service::Owner),
            (Owners::Tried, 4, 5, Service::Owner),
            (Owners::Tried, 5, 5, Service::TakenOver),
            (Owners::Tried, 0, 0, Service::TakenOver),
        ];
        for (owners, waited, delay, service) in cases {
            assert_eq!(
                decide(
                    owners,
                    Duration::from_secs(waited),
                    Duration::from_secs(delay)
                ),
                service,
                "{owners:?} {waited} {delay}"
            );
        }
    }
}
