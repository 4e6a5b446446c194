//! What becomes of a request, given the state of its key.

use std::fmt;

use super::policy::FailurePolicy;

/// The state of a request's key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeyState {
    /// The request has none.
    Missing,
    /// It names an endpoint or group that can be chosen.
    Healthy,
    /// It names a healthy endpoint or group, but an earlier attempt of this
    /// task went there already, and there is something untried.
    Tried,
    /// It names an endpoint or group with nothing healthy in it.
    Sick,
    /// It is well formed and names nothing that is known here.
    Unknown,
    /// It cannot be read: malformed, cut, changed, sealed by another key or for
    /// something else.
    Bad,
    /// It comes in a header, and the request has several.
    Repeated,
}

impl KeyState {
    /// Every state.
    pub const ALL: [Self; 7] = [
        KeyState::Missing,
        KeyState::Healthy,
        KeyState::Tried,
        KeyState::Sick,
        KeyState::Unknown,
        KeyState::Bad,
        KeyState::Repeated,
    ];
}

/// What to do with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// Go where the key says; nothing is sent.
    Follow,
    /// Balance, and send the key of what was chosen.
    Balance,
    /// Answer 503.
    Refuse,
}

/// What `session.status()` says of a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Status {
    /// No director with this session was resolved in the task.
    #[default]
    NotSet,
    /// The key was followed.
    Ok,
    /// There was no key; a new affinity was made.
    New,
    /// There was a key that was not followed; a new affinity was made.
    Recovered,
    /// The key names nothing that is known and healthy; answered 503.
    NotFound,
    /// The key cannot be read or is repeated; answered 503.
    BadKey,
}

impl Status {
    /// The word of the interface.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Status::NotSet => "NOT_SET",
            Status::Ok => "OK",
            Status::New => "NEW",
            Status::Recovered => "RECOVERED",
            Status::NotFound => "NOT_FOUND",
            Status::BadKey => "BAD_KEY",
        }
    }

    /// Whether the response carries a key, and so must not be cached.
    #[must_use]
    pub fn sends_key(self) -> bool {
        matches!(self, Status::New | Status::Recovered)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What to do with a request, and what to say of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Decision {
    /// What to do.
    pub action: Action,
    /// What to say.
    pub status: Status,
}

/// Decides on a request. Allocates nothing.
///
/// The failure policy decides where the key cannot be followed. A retry is no
/// such case: the key is good, and VCL asked for another endpoint, which then
/// gets the session under either policy.
#[must_use]
pub fn decide(key: KeyState, failure_policy: FailurePolicy) -> Decision {
    let failed = |status| match failure_policy {
        FailurePolicy::Redistribute => (Action::Balance, Status::Recovered),
        FailurePolicy::Return503 => (Action::Refuse, status),
    };
    let (action, status) = match key {
        KeyState::Missing => (Action::Balance, Status::New),
        KeyState::Healthy => (Action::Follow, Status::Ok),
        KeyState::Tried => (Action::Balance, Status::Recovered),
        KeyState::Sick | KeyState::Unknown => failed(Status::NotFound),
        KeyState::Bad | KeyState::Repeated => failed(Status::BadKey),
    };
    Decision { action, status }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_and_policy_has_its_decision() {
        use Action::{Balance, Follow, Refuse};
        use FailurePolicy::{Redistribute, Return503};
        let table = [
            (KeyState::Missing, Redistribute, Balance, "NEW"),
            (KeyState::Missing, Return503, Balance, "NEW"),
            (KeyState::Healthy, Redistribute, Follow, "OK"),
            (KeyState::Healthy, Return503, Follow, "OK"),
            (KeyState::Tried, Redistribute, Balance, "RECOVERED"),
            (KeyState::Tried, Return503, Balance, "RECOVERED"),
            (KeyState::Sick, Redistribute, Balance, "RECOVERED"),
            (KeyState::Sick, Return503, Refuse, "NOT_FOUND"),
            (KeyState::Unknown, Redistribute, Balance, "RECOVERED"),
            (KeyState::Unknown, Return503, Refuse, "NOT_FOUND"),
            (KeyState::Bad, Redistribute, Balance, "RECOVERED"),
            (KeyState::Bad, Return503, Refuse, "BAD_KEY"),
            (KeyState::Repeated, Redistribute, Balance, "RECOVERED"),
            (KeyState::Repeated, Return503, Refuse, "BAD_KEY"),
        ];
        assert_eq!(table.len(), KeyState::ALL.len() * FailurePolicy::ALL.len());
        for (key, policy, action, status) in table {
            let decision = decide(key, policy);
            assert_eq!(decision.action, action, "{key:?} {policy}");
            assert_eq!(decision.status.as_str(), status, "{key:?} {policy}");
        }
    }

    #[test]
    fn a_key_is_sent_exactly_when_one_was_made() {
        for key in KeyState::ALL {
            for policy in FailurePolicy::ALL {
                let decision = decide(key, *policy);
                assert_eq!(
                    decision.status.sends_key(),
                    decision.action == Action::Balance
                );
            }
        }
        assert!(!Status::default().sends_key());
        assert_eq!(Status::default().to_string(), "NOT_SET");
    }
}
