//! Several servers and one question: whom to ask when, and which answer counts.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use dynamic_core::answer::Failure;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use hickory_proto::op::{Message, Query};
use tokio::time::{Instant, sleep_until};

use crate::fault::{ExchangeError, ServerFault};
use crate::server::Server;

/// No more faults than this are told of one lookup and family.
const MAX_FAULTS: usize = 8;

/// Servers in order of preference.
pub(crate) struct Servers {
    servers: Vec<Arc<Server>>,
    /// Ask them in turn: where to begin.
    turn: Option<AtomicUsize>,
}

/// How long one question may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QueryBudget {
    /// How long to wait until the question is asked again.
    pub(crate) timeout: Duration,
    /// How often it is asked, at least 1.
    pub(crate) attempts: u32,
}

impl QueryBudget {
    /// How long it is in all.
    pub(crate) fn total(self) -> Duration {
        self.timeout.saturating_mul(self.attempts)
    }

    /// The same number of attempts within at most this time.
    pub(crate) fn within(self, total: Duration) -> Self {
        Self {
            timeout: self.timeout.min(total / self.attempts.max(1)),
            ..self
        }
    }
}

/// A success.
pub(crate) struct Answered {
    pub(crate) message: Message,
    /// Whose it is.
    pub(crate) server: Option<SocketAddr>,
}

/// No success.
pub(crate) struct NoAnswer {
    pub(crate) failure: Failure,
    /// Who decided that; `None` where all servers failed.
    pub(crate) server: Option<SocketAddr>,
}

impl From<Failure> for NoAnswer {
    fn from(failure: Failure) -> Self {
        Self {
            failure,
            server: None,
        }
    }
}

#[derive(Clone, Copy)]
struct Call {
    attempt: u32,
    server: usize,
    at: Instant,
}

impl Servers {
    pub(crate) fn new(servers: Vec<Arc<Server>>, rotate: bool) -> Self {
        Self {
            servers,
            turn: rotate.then(AtomicUsize::default),
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<Server>> {
        self.servers.iter()
    }

    /// Asks until a server has an answer (NXDOMAIN is one), all have failed,
    /// or the deadline is reached.
    ///
    /// Within one timeout all servers are called, each a share of it after
    /// the one before, or at once where that one failed; then, in the next
    /// attempt, those again that were silent or sent rubbish. A late answer
    /// to an earlier call counts.
    pub(crate) async fn ask(
        &self,
        query: &Query,
        budget: QueryBudget,
        deadline: Instant,
        faults: &mut Vec<ServerFault>,
    ) -> Result<Answered, NoAnswer> {
        let mut calls = self.schedule(budget);
        let mut called: Vec<Call> = Vec::new();
        let mut failed = Failure::NoServers;
        let mut in_flight = FuturesUnordered::new();
        let mut attempt = 0;
        let outcome = loop {
            let next = calls.front().map(|call| call.at);
            if in_flight.is_empty() && next.is_none() {
                break Err(failed.into());
            }
            tokio::select! {
                biased;
                Some((index, result)) = in_flight.next(), if !in_flight.is_empty() => {
                    if let Some(at) = called.iter().position(|call| call.server == index) {
                        called.remove(at);
                    }
                    match result {
                        Ok(message) => break Ok(Answered { message, server: self.address(index) }),
                        Err(ExchangeError { failure: Failure::NxDomain, .. }) => {
                            break Err(NoAnswer {
                                failure: Failure::NxDomain,
                                server: self.address(index),
                            });
                        }
                        Err(error) => {
                            let failure = error.failure;
                            failed = worse(failed, failure);
                            self.record_fault(faults, index, query, &error);
                            if failure == Failure::Unreachable {
                                self.server(index).inspect(|it| it.unanswered(Instant::now()));
                            }
                            if !matches!(failure, Failure::Timeout | Failure::Malformed) {
                                calls.retain(|call| call.server != index);
                            }
                            bring_forward(&mut calls, attempt, in_flight.is_empty());
                        }
                    }
                }
                () = sleep_until(next.unwrap_or(deadline)), if next.is_some() => {
                    if let Some(mut call) = calls.pop_front()
                        && let Some(server) = self.server(call.server)
                    {
                        attempt = call.attempt;
                        call.at = Instant::now();
                        called.push(call);
                        let (server, query) = (Arc::clone(server), query.clone());
                        in_flight.push(async move {
                            (call.server, server.ask(query, deadline).await)
                        });
                    }
                }
                () = sleep_until(deadline) => {
                    for index in 0..self.servers.len() {
                        if called.iter().any(|call| call.server == index) {
                            failed = worse(failed, Failure::Timeout);
                            self.record_fault(faults, index, query, &Failure::Timeout.into());
                        }
                    }
                    break Err(failed.into());
                }
            }
        };
        for call in called {
            if let Some(server) = self.server(call.server)
                && call.at.elapsed() >= self.share(budget) / 2
            {
                server.unanswered(call.at);
                if outcome.is_err() {
                    self.record_fault(faults, call.server, query, &Failure::Timeout.into());
                }
            }
        }
        outcome
    }

    /// When to call whom.
    fn schedule(&self, budget: QueryBudget) -> VecDeque<Call> {
        let now = Instant::now();
        let order = self.order();
        let mut calls = VecDeque::new();
        let mut start = now;
        for attempt in 0..budget.attempts {
            let mut at = start;
            for &server in &order {
                calls.push_back(Call {
                    attempt,
                    server,
                    at,
                });
                at += self.share(budget);
            }
            start += budget.timeout;
        }
        calls
    }

    fn order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.servers.len()).collect();
        if let Some(turn) = &self.turn
            && !order.is_empty()
        {
            let first = turn.fetch_add(1, Ordering::Relaxed) % order.len();
            order.rotate_left(first);
        }
        if order.len() > 1 {
            order.sort_by_cached_key(|&index| self.server(index).is_none_or(|it| it.avoided()));
        }
        order
    }

    /// How long a server has before the next one is called as well.
    fn share(&self, budget: QueryBudget) -> Duration {
        budget.timeout / u32::try_from(self.servers.len()).unwrap_or(u32::MAX).max(1)
    }

    fn address(&self, index: usize) -> Option<SocketAddr> {
        self.server(index).map(|server| server.address())
    }

    fn server(&self, index: usize) -> Option<&Arc<Server>> {
        self.servers.get(index)
    }

    fn record_fault(
        &self,
        faults: &mut Vec<ServerFault>,
        index: usize,
        query: &Query,
        error: &ExchangeError,
    ) {
        let Some(server) = self.server(index) else {
            return;
        };
        let fault = ServerFault::new(server.address(), query, error);
        if faults.len() < MAX_FAULTS && !faults.contains(&fault) {
            faults.push(fault);
        }
    }
}

/// After a failure: the next call of the same attempt is due now; that of the
/// next attempt only where nothing is under way any more.
fn bring_forward(calls: &mut VecDeque<Call>, attempt: u32, idle: bool) {
    if let Some(next) = calls.front_mut()
        && (next.attempt == attempt || idle)
    {
        next.at = next.at.min(Instant::now());
    }
}

fn worse(one: Failure, other: Failure) -> Failure {
    if weight(other) > weight(one) {
        other
    } else {
        one
    }
}

/// How much a failure says: the one that says most is the question's.
fn weight(failure: Failure) -> u8 {
    match failure {
        Failure::NxDomain | Failure::NoData => 7,
        Failure::ServFail => 6,
        Failure::Refused | Failure::FormErr | Failure::NotImp | Failure::ErrorCode => 5,
        Failure::Truncated => 4,
        Failure::Malformed => 3,
        Failure::Unreachable => 2,
        Failure::Timeout => 1,
        Failure::NoServers | Failure::Internal => 0,
    }
}
