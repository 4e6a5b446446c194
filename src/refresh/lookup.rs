//! Queries, the domains that wait for them, and what lookups come to.

use std::sync::Arc;

use dynamic_core::agenda::Agenda;
use dynamic_core::answer::{Failure, SrvAnswer};
use dynamic_core::name::DnsName;
use dynamic_core::schedule::{PartialAnswer, PerFamily};
use dynamic_core::targets::SourceId;
use dynamic_resolve::{HostAnswers, HostLookup, Lookup, Report, Settings};

use crate::domain::Domain;

/// Something that servers are asked.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Query {
    /// How to ask.
    pub(super) settings: Arc<Settings>,
    /// The name, in canonical form.
    pub(super) name: DnsName,
    /// Service records rather than addresses.
    pub(super) services: bool,
}

/// A source of a domain that waits for answers.
#[derive(Debug)]
pub(super) struct Subscriber(pub(super) Arc<Domain>, pub(super) SourceId);

impl PartialEq for Subscriber {
    fn eq(&self, other: &Self) -> bool {
        self.1 == other.1 && Arc::ptr_eq(&self.0, &other.0)
    }
}

/// All queries, and who waits for them.
pub(super) type Queries = Agenda<Query, Subscriber>;

/// What servers said.
pub(super) enum Answer {
    /// Addresses, of the families that have answered.
    Host(PartialAnswer),
    /// Targets of a service.
    Service(Result<SrvAnswer, Failure>),
}

impl Answer {
    /// That of a lookup that ended in a panic.
    pub(super) fn internal(services: bool) -> Self {
        if services {
            return Answer::Service(Err(Failure::Internal));
        }
        Answer::Host(PerFamily {
            v4: Some(Err(Failure::Internal)),
            v6: Some(Err(Failure::Internal)),
        })
    }

    /// Whether it has addresses or targets.
    pub(super) fn is_good(&self) -> bool {
        match self {
            Answer::Host(PerFamily { v4, v6 }) => [v4, v6].into_iter().flatten().any(Result::is_ok),
            Answer::Service(answer) => answer.is_ok(),
        }
    }
}

/// What a lookup came to.
pub(super) struct Outcome {
    /// The answer.
    pub(super) answer: Answer,
    /// Where it comes from, and what went wrong on the way.
    pub(super) report: Report,
    /// A family that is slower than the other, which has addresses.
    pub(super) slow: Option<HostLookup>,
    /// Whether it is the answer of a slow family, which comes late.
    pub(super) late: bool,
}

impl Outcome {
    /// That of a host. `late`: it is a slow family's.
    pub(super) fn host(
        lookup: Option<Lookup<HostAnswers>>,
        slow: Option<HostLookup>,
        late: bool,
    ) -> Self {
        let (answer, report) = match lookup {
            Some(Lookup { answer, report }) => {
                let HostAnswers { v4, v6 } = answer;
                (Answer::Host(PerFamily { v4, v6 }), report)
            }
            // Nothing more comes.
            None => (Answer::Host(PerFamily::default()), Report::default()),
        };
        Outcome {
            answer,
            report,
            slow,
            late,
        }
    }
}
