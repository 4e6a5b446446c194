//! One server: the ways to ask it, and what is known of its state.

use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::name_server::NameServer;
use dynamic_core::answer::Failure;
use hickory_net::NetError;
use hickory_net::udp::UdpClientStream;
use hickory_net::xfer::{DnsRequestSender, FirstAnswer};
use hickory_proto::op::{DnsRequest, DnsRequestOptions, DnsResponse, Message, Query, ResponseCode};
use tokio::time::{Instant, timeout_at};

use crate::edns::Edns;
use crate::fault::ExchangeError;
use crate::message;
use crate::settings::Transport;
use crate::sockets::Sockets;
use crate::stream::{Connector, Stream};

const DNS_PORT: u16 = 53;
const TLS_PORT: u16 = 853;

/// How often a question is sent to one server over UDP before its time is
/// over; the second time without EDNS.
const SENDS: u8 = 2;

/// When it is sent again: at a third of the timeout, within these bounds.
const RESEND_MIN: Duration = Duration::from_millis(300);
const RESEND_MAX: Duration = Duration::from_secs(1);

/// How long a server that does not answer comes after the others.
const AVOID: Duration = Duration::from_secs(30);

/// A server.
pub(crate) struct Server {
    pub(crate) config: NameServer,
    address: SocketAddr,
    channels: Vec<Channel>,
    timeout: Duration,
    state: Mutex<State>,
}

enum Channel {
    Udp {
        sockets: Sockets,
        tcp: Arc<Stream>,
    },
    Tcp(Arc<Stream>),
    #[cfg(feature = "tls")]
    Tls(Arc<Stream>),
    /// What was asked for is not in this build.
    #[cfg(not(feature = "tls"))]
    Tls,
}

#[derive(Default)]
struct State {
    last_answer: Option<Instant>,
    edns: Edns,
    avoid_until: Option<Instant>,
}

/// How servers are asked.
#[derive(Clone)]
pub(crate) struct ServerOptions {
    pub(crate) transports: Vec<Transport>,
    /// How long to wait for an answer.
    pub(crate) timeout: Duration,
    pub(crate) idle: Duration,
    #[cfg(feature = "tls")]
    pub(crate) trust: Arc<crate::tls::Trust>,
}

impl ServerOptions {
    /// Whether a server made for one will do for the other.
    pub(crate) fn same(&self, other: &Self) -> bool {
        self.transports == other.transports
            && self.timeout == other.timeout
            && self.idle == other.idle
    }
}

impl Server {
    pub(crate) fn new(config: NameServer, options: &ServerOptions) -> Self {
        let only_tls = config.tls_name.is_some() && !options.transports.contains(&Transport::Tls);
        let transports: &[Transport] = if only_tls {
            &[Transport::Tls]
        } else {
            &options.transports
        };
        let stream = |connector| {
            // One that is silent until the question is asked again is dead.
            let patience = options.timeout.mul_f64(0.9);
            Arc::new(Stream::new(connector, options.idle, patience))
        };
        let mut channels = Vec::new();
        for transport in transports {
            channels.push(match transport {
                Transport::Udp => Channel::Udp {
                    sockets: Sockets::default(),
                    tcp: stream(Connector::Tcp),
                },
                Transport::Tcp if matches!(channels.last(), Some(Channel::Udp { .. })) => continue,
                Transport::Tcp => Channel::Tcp(stream(Connector::Tcp)),
                #[cfg(feature = "tls")]
                Transport::Tls => Channel::Tls(stream(Connector::Tls(crate::tls::Tls::new(
                    config
                        .tls_name
                        .clone()
                        .unwrap_or_else(|| config.address.to_string()),
                    Arc::clone(&options.trust),
                )))),
                #[cfg(not(feature = "tls"))]
                Transport::Tls => Channel::Tls,
            });
        }
        let port = match channels.first() {
            Some(Channel::Udp { .. } | Channel::Tcp(_)) | None => DNS_PORT,
            Some(_) => TLS_PORT,
        };
        Self {
            address: config.socket_address(port),
            config,
            channels,
            timeout: options.timeout,
            state: Mutex::default(),
        }
    }

    /// Where it is asked first, for the log.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Asks until the deadline, over one transport after the other. The
    /// message is a success, and answers the question.
    pub(crate) async fn ask(
        &self,
        query: Query,
        deadline: Instant,
    ) -> Result<Message, ExchangeError> {
        let mut error = ExchangeError::from(Failure::NoServers);
        for (index, channel) in self.channels.iter().enumerate() {
            let left = self.channels.len() - index;
            let limit = if left > 1 {
                let share = u32::try_from(self.channels.len()).unwrap_or(u32::MAX);
                deadline.min(Instant::now() + self.timeout / share)
            } else {
                deadline
            };
            error = match self.ask_over(channel, &query, limit).await {
                Ok(message) => {
                    self.record_answer();
                    return match message::check(&query, &message) {
                        Ok(()) => Ok(message),
                        Err(failure) => Err(ExchangeError::with_code(
                            failure,
                            message.metadata.response_code,
                        )),
                    };
                }
                Err(error) => error,
            };
            match error.failure {
                Failure::Timeout | Failure::Unreachable => {}
                _ => {
                    self.record_answer();
                    break;
                }
            }
        }
        Err(error)
    }

    /// Asks with EDNS, and without where the server rejects or ignores that.
    async fn ask_over(
        &self,
        channel: &Channel,
        query: &Query,
        limit: Instant,
    ) -> Result<Message, ExchangeError> {
        if !self.state().edns.is_used(Instant::now()) {
            return self
                .exchange(channel, request(query, false), SENDS, limit)
                .await;
        }
        let mut with_edns = pin!(self.exchange(channel, request(query, true), 1, limit));
        let patience = Instant::now() + self.resend_interval(limit);
        let first = match channel {
            Channel::Udp { .. } => timeout_at(patience, &mut with_edns).await.ok(),
            _ => Some(with_edns.as_mut().await),
        };
        let no_edns = self.exchange(channel, request(query, false), SENDS - 1, limit);
        match first {
            Some(answer) if !rejects_edns(&answer) => {
                if answer.is_ok() {
                    self.state().edns.record_answer();
                }
                answer
            }
            Some(_) => {
                let answer = no_edns.await;
                if answer.is_ok() && !rejects_edns(&answer) {
                    self.state().edns.record_rejection(Instant::now());
                }
                answer
            }
            None => self.race(with_edns, pin!(no_edns)).await,
        }
    }

    /// Takes the first answer, the one to the question with EDNS or the one to
    /// the plain question, and keeps in mind which one it was.
    async fn race(
        &self,
        mut with_edns: Pin<&mut impl Future<Output = Result<Message, ExchangeError>>>,
        mut no_edns: Pin<&mut impl Future<Output = Result<Message, ExchangeError>>>,
    ) -> Result<Message, ExchangeError> {
        tokio::select! {
            biased;
            answer = &mut with_edns => {
                if rejects_edns(&answer) || answer.is_err() {
                    return no_edns.await;
                }
                self.state().edns.record_answer();
                answer
            }
            answer = &mut no_edns => {
                if rejects_edns(&answer) || answer.is_err() {
                    return with_edns.await;
                }
                self.state().edns.record_silence(Instant::now());
                answer
            }
        }
    }

    async fn exchange(
        &self,
        channel: &Channel,
        request: DnsRequest,
        sends: u8,
        limit: Instant,
    ) -> Result<Message, ExchangeError> {
        let (stream, port) = match channel {
            Channel::Udp { sockets, tcp } => {
                let message = self
                    .over_udp(sockets, request.clone(), sends, limit)
                    .await?;
                if !message.metadata.truncation {
                    return Ok(message);
                }
                (tcp, DNS_PORT)
            }
            Channel::Tcp(stream) => (stream, DNS_PORT),
            #[cfg(feature = "tls")]
            Channel::Tls(stream) => (stream, TLS_PORT),
            #[cfg(not(feature = "tls"))]
            Channel::Tls => {
                return Err(ExchangeError {
                    failure: Failure::Unreachable,
                    detail: "built without TLS".into(),
                });
            }
        };
        let result = within(limit, stream.ask(self.endpoint(port)?, request)).await;
        match (channel, result) {
            (_, Ok(message)) if !message.metadata.truncation => Ok(message),
            (_, Ok(_)) => Err(Failure::Truncated.into()),
            (Channel::Udp { .. }, Err(error)) => Err(ExchangeError {
                failure: Failure::Truncated,
                detail: format!("{} over TCP {}", error.failure, error.detail),
            }),
            (_, Err(error)) => Err(error),
        }
    }

    /// Sends a question up to this many times, each time from another port,
    /// while no answer comes.
    async fn over_udp(
        &self,
        sockets: &Sockets,
        mut request: DnsRequest,
        sends: u8,
        limit: Instant,
    ) -> Result<Message, ExchangeError> {
        request.options_mut().retry_interval = self.resend_interval(limit);
        let mut stream = UdpClientStream::builder(self.endpoint(DNS_PORT)?, sockets.clone())
            .with_timeout(Some(limit.saturating_duration_since(Instant::now())))
            .with_max_retries(sends)
            .build();
        within(limit, stream.send_message(request).first_answer()).await
    }

    /// How long to wait for an answer before the question is sent again.
    fn resend_interval(&self, limit: Instant) -> Duration {
        let left = limit.saturating_duration_since(Instant::now());
        (self.timeout / 3)
            .clamp(RESEND_MIN, RESEND_MAX)
            .min(left / 3)
    }

    /// The address to connect to. A zone (RFC 4007) is looked up each time:
    /// the interface may have come in the meantime.
    fn endpoint(&self, port: u16) -> Result<SocketAddr, ExchangeError> {
        let mut address = self.config.socket_address(port);
        if let (SocketAddr::V6(address), Some(zone)) = (&mut address, &self.config.zone) {
            let index = zone
                .parse()
                .or_else(|_| nix::net::if_::if_nametoindex(zone.as_str()))
                .map_err(|error| ExchangeError {
                    failure: Failure::Unreachable,
                    detail: format!("interface {zone}: {error}"),
                })?;
            address.set_scope_id(index);
        }
        Ok(address)
    }

    fn record_answer(&self) {
        let mut state = self.state();
        state.last_answer = Some(Instant::now());
        state.avoid_until = None;
    }

    /// It was asked then, and did not answer, or could not be reached: unless
    /// it answered something else since, the others come first for a while.
    pub(crate) fn unanswered(&self, asked: Instant) {
        let mut state = self.state();
        if state
            .last_answer
            .is_none_or(|last_answer| last_answer < asked)
        {
            state.avoid_until = Some(Instant::now() + AVOID);
        }
    }

    /// Whether the others come first. When the time is over, one question
    /// tries it, and the others still avoid it.
    pub(crate) fn avoided(&self) -> bool {
        let now = Instant::now();
        let mut state = self.state();
        match state.avoid_until {
            None => false,
            Some(until) if until <= now => {
                state.avoid_until = Some(now + AVOID);
                false
            }
            Some(_) => true,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn request(query: &Query, edns: bool) -> DnsRequest {
    let mut options = DnsRequestOptions::default();
    options.use_edns = edns;
    DnsRequest::from_query(query.clone(), options)
}

fn rejects_edns(answer: &Result<Message, ExchangeError>) -> bool {
    match answer {
        Ok(message) => matches!(
            message.metadata.response_code,
            // BADVERS has the number of BADSIG.
            ResponseCode::FormErr
                | ResponseCode::NotImp
                | ResponseCode::BADVERS
                | ResponseCode::BADSIG
        ),
        Err(error) => matches!(error.failure, Failure::FormErr | Failure::NotImp),
    }
}

async fn within(
    limit: Instant,
    exchange: impl Future<Output = Result<DnsResponse, NetError>>,
) -> Result<Message, ExchangeError> {
    match timeout_at(limit, exchange).await {
        Ok(Ok(response)) => Ok(response.into_message()),
        Ok(Err(error)) => Err(error.into()),
        Err(_) => Err(Failure::Timeout.into()),
    }
}
