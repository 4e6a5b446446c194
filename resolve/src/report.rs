//! What a lookup came to, and which servers did what on the way.

use std::fmt::Write;
use std::net::IpAddr;

use dynamic_core::answer::Failure;

use crate::fault::ServerFault;

/// So many servers are named in one line.
const MAX_NAMED: usize = 3;

/// What a lookup came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lookup<A> {
    /// The answer.
    pub answer: A,
    /// Where it comes from.
    pub report: Report,
}

/// Where an answer comes from, and what went wrong on the way.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The name that was looked up, without a trailing dot.
    pub query: String,
    /// The full name that the answer is for, without a trailing dot: the name
    /// looked up, with a domain of the search list where one was added.
    pub name: String,
    /// The answers of servers that a failure rests on (NXDOMAIN, NODATA, a
    /// chain of aliases without an end): at most one for each record type.
    pub decisive: Vec<ServerFault>,
    /// Servers that did not answer for [`name`](Self::name), or with an error;
    /// there may be some beside a good answer.
    pub faults: Vec<ServerFault>,
    /// The same for names of the search list that were passed over.
    pub passed_over: Vec<ServerFault>,
    /// Addresses in the answer that can be no endpoint
    /// ([`is_endpoint`](dynamic_core::address::is_endpoint)); they are not in
    /// the answer.
    pub dropped: Vec<IpAddr>,
}

impl Report {
    pub(crate) fn new(query: &str, name: &str) -> Self {
        Self {
            query: query.to_owned(),
            name: name.to_owned(),
            ..Self::default()
        }
    }

    /// Adds what another part of the lookup found out.
    pub(crate) fn merge(&mut self, other: Self) {
        self.decisive.extend(other.decisive);
        self.faults.extend(other.faults);
        self.passed_over.extend(other.passed_over);
        self.dropped.extend(other.dropped);
    }

    /// Says in one line of visible ASCII how a record type (`A`, `AAAA` or
    /// `SRV`) failed: the failure, the servers that it rests on, the full name
    /// where it is not the one looked up, and apart from these the servers that
    /// failed in another way. For example
    /// `NXDOMAIN from 192.0.2.2:53 for web.a.test; UNREACHABLE from
    /// 192.0.2.1:53 (Connection refused)`.
    #[must_use]
    pub fn failure(&self, record: &str, failure: Failure) -> String {
        let of_record = |list: &'_ [ServerFault]| -> Vec<ServerFault> {
            let mut faults: Vec<ServerFault> = Vec::new();
            for fault in list.iter().filter(|fault| fault.record == record) {
                let named =
                    |it: &ServerFault| it.server == fault.server && it.failure == fault.failure;
                if !faults.iter().any(named) {
                    faults.push(fault.clone());
                }
            }
            faults
        };
        let mut decisive = of_record(&self.decisive);
        decisive.retain(|fault| fault.failure == failure);
        let (same, others): (Vec<_>, Vec<_>) = of_record(&self.faults)
            .into_iter()
            .partition(|fault| fault.failure == failure);
        if decisive.is_empty() {
            decisive = same;
        }
        let name = decisive.first().map_or(&self.name, |fault| &fault.name);
        let mut text = group(failure, &decisive);
        if *name != self.query {
            let _ = write!(text, " for {name}");
        }
        let mut others = others.as_slice();
        while let Some(first) = others.first() {
            let end = others
                .iter()
                .position(|fault| fault.failure != first.failure)
                .unwrap_or(others.len());
            let (same, rest) = others.split_at(end);
            let _ = write!(text, "; {}", group(first.failure, same));
            others = rest;
        }
        text
    }
}

/// A failure and the servers that it came from.
fn group(failure: Failure, faults: &[ServerFault]) -> String {
    let mut text = failure.to_string();
    for (index, fault) in faults.iter().take(MAX_NAMED).enumerate() {
        let separator = if index == 0 { " from " } else { ", " };
        let _ = write!(text, "{separator}{}", fault.server);
        if !fault.detail.is_empty() {
            let _ = write!(text, " ({})", fault.detail);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(server: &str, name: &str, failure: Failure, detail: &str) -> ServerFault {
        ServerFault {
            server: server.parse().unwrap(),
            name: name.to_owned(),
            record: "A",
            failure,
            detail: detail.to_owned(),
        }
    }

    fn report() -> Report {
        Report::new("web", "web")
    }

    #[test]
    fn the_server_that_decided_is_named_apart_from_those_that_did_not_answer() {
        let report = Report {
            name: "web.a.test".into(),
            decisive: vec![fault("192.0.2.2:53", "web.a.test", Failure::NxDomain, "")],
            faults: vec![fault(
                "192.0.2.1:53",
                "web.a.test",
                Failure::Unreachable,
                "Connection refused",
            )],
            ..report()
        };
        assert_eq!(
            report.failure("A", Failure::NxDomain),
            "NXDOMAIN from 192.0.2.2:53 for web.a.test; UNREACHABLE from 192.0.2.1:53 (Connection refused)"
        );
        assert_eq!(
            report.failure("AAAA", Failure::Timeout),
            "TIMEOUT for web.a.test"
        );
    }

    #[test]
    fn servers_that_failed_alike_stand_together_and_once() {
        let report = Report {
            faults: vec![
                fault("192.0.2.1:53", "web", Failure::Timeout, ""),
                fault("192.0.2.2:53", "web", Failure::ServFail, ""),
                fault("192.0.2.3:53", "web", Failure::Timeout, ""),
                fault("192.0.2.1:53", "alias.test", Failure::Timeout, ""),
            ],
            ..report()
        };
        assert_eq!(
            report.failure("A", Failure::ServFail),
            "SERVFAIL from 192.0.2.2:53; TIMEOUT from 192.0.2.1:53, 192.0.2.3:53"
        );
        assert_eq!(
            report.failure("A", Failure::Timeout),
            "TIMEOUT from 192.0.2.1:53, 192.0.2.3:53; SERVFAIL from 192.0.2.2:53"
        );
    }

    #[test]
    fn a_failure_without_a_server_is_a_word() {
        assert_eq!(report().failure("A", Failure::NoServers), "NOSERVERS");
    }

    #[test]
    fn what_was_passed_over_is_not_the_reason() {
        let report = Report {
            passed_over: vec![fault("192.0.2.1:53", "web.a.test", Failure::ServFail, "")],
            ..report()
        };
        assert_eq!(report.failure("A", Failure::NxDomain), "NXDOMAIN");
    }
}
