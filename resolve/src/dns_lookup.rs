//! One candidate of the search list after the other, for addresses and for
//! services.

use std::future::Future;
use std::sync::Arc;

use dynamic_core::answer::{Failure, Family, SrvAnswer};
use hickory_proto::rr::RecordType;
use tokio::time::Instant;

use crate::fault::ServerFault;
use crate::host::{Families, FirstAnswer, HostAnswers};
use crate::message;
use crate::plan::Plan;
use crate::report::{Lookup, Report};
use crate::resolver::Shared;
use crate::search::{Search, SearchAnswer, SearchOutcome};
use crate::servers::QueryBudget;

/// What can be looked up in DNS, for one full name.
pub(crate) trait DnsLookup: SearchAnswer + Sized + Send {
    fn failed(report: Report, failure: Failure) -> Self;

    /// Asks for the name of the report.
    fn ask(
        shared: &Arc<Shared>,
        plan: &Arc<Plan>,
        report: Report,
        budget: QueryBudget,
    ) -> impl Future<Output = Self> + Send;

    fn report(&mut self) -> &mut Report;
}

impl DnsLookup for FirstAnswer {
    fn failed(report: Report, failure: Failure) -> Self {
        Self::only(Lookup {
            answer: HostAnswers::failed(Families::Both, failure),
            report,
        })
    }

    fn ask(
        shared: &Arc<Shared>,
        plan: &Arc<Plan>,
        report: Report,
        budget: QueryBudget,
    ) -> impl Future<Output = Self> + Send {
        let family = |family| {
            Box::pin(Arc::clone(shared).family(Arc::clone(plan), report.clone(), family, budget))
        };
        Self::of(family(Family::V4), family(Family::V6))
    }

    fn report(&mut self) -> &mut Report {
        &mut self.lookup.report
    }
}

impl SearchAnswer for Lookup<Result<SrvAnswer, Failure>> {
    fn outcome(&self) -> SearchOutcome {
        self.answer.outcome()
    }
}

impl DnsLookup for Lookup<Result<SrvAnswer, Failure>> {
    fn failed(report: Report, failure: Failure) -> Self {
        Self {
            answer: Err(failure),
            report,
        }
    }

    async fn ask(
        shared: &Arc<Shared>,
        plan: &Arc<Plan>,
        mut report: Report,
        budget: QueryBudget,
    ) -> Self {
        let answer = shared
            .question(plan, RecordType::SRV, message::service, budget, &mut report)
            .await
            .map(|(records, ttl)| SrvAnswer {
                records,
                ttl: Some(ttl),
            });
        Self { answer, report }
    }

    fn report(&mut self) -> &mut Report {
        &mut self.report
    }
}

/// Asks for one candidate of the search list after the other.
pub(crate) async fn search<A: DnsLookup>(
    shared: &Arc<Shared>,
    plan: &Arc<Plan>,
    name: &str,
    candidates: Vec<String>,
    in_force: Option<&str>,
) -> A {
    let since = Instant::now();
    let all = candidates.len();
    let mut faults: Vec<ServerFault> = Vec::new();
    let mut search = Search::new(candidates, in_force);
    while let Some(candidate) = search.ask() {
        let report = Report::new(name, candidate);
        let brief = search.is_before_in_force();
        let budget = plan.budget(since.elapsed(), search.left(), all, brief);
        let mut answer = A::ask(shared, plan, report, budget).await;
        faults.extend(answer.report().faults.iter().cloned());
        search.answer(answer);
    }
    // No candidate: the name is too long to exist.
    let mut answer = search.into_outcome().map_or_else(
        || A::failed(Report::new(name, name), Failure::NxDomain),
        |(_, answer)| answer,
    );
    let report = answer.report();
    faults.retain(|fault| !report.faults.contains(fault));
    report.passed_over = faults;
    answer
}
