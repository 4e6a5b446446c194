//! One connection to a server, over TCP or TLS, for all questions: opened when
//! needed, replaced when it is dead, closed when idle.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use hickory_net::NetError;
use hickory_net::tcp::TcpClientStream;
use hickory_net::xfer::{DnsClientStream, DnsExchange, DnsHandle, DnsMultiplexer, FirstAnswer};
use hickory_proto::op::{DnsRequest, DnsResponse};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::sockets::Sockets;

/// How many questions may be under way on one connection. Message ids are
/// drawn at random among those not in use, so this is well below their number.
const MAX_ACTIVE: usize = 4096;

/// When the connection itself gives a question up, where the asker did not.
const GIVE_UP: Duration = Duration::from_secs(300);

/// How often an idle connection is looked at, at most.
const LOOK: Duration = Duration::from_millis(100);

/// Makes a connection to a server.
#[derive(Debug)]
pub(crate) enum Connector {
    /// TCP alone.
    Tcp,
    /// TLS over TCP.
    #[cfg(feature = "tls")]
    Tls(crate::tls::Tls),
}

/// A server's connection.
pub(crate) struct Stream {
    connector: Connector,
    idle: Duration,
    /// A connection that owes an answer and is silent for this long is dead.
    patience: Duration,
    sockets: Sockets,
    open: tokio::sync::Mutex<Option<Connection>>,
}

#[derive(Clone)]
struct Connection {
    exchange: DnsExchange<Sockets>,
    task: Arc<JoinHandle<()>>,
    usage: Arc<Mutex<Usage>>,
}

/// What happens on a connection.
struct Usage {
    in_flight: usize,
    /// The last answer, or the first question since nothing was under way.
    last_answer: Instant,
    /// The last time that a question ended.
    used: Instant,
    dead: bool,
}

impl Stream {
    pub(crate) fn new(connector: Connector, idle: Duration, patience: Duration) -> Self {
        Self {
            connector,
            idle,
            patience,
            sockets: Sockets::default(),
            open: tokio::sync::Mutex::new(None),
        }
    }

    /// Asks; the caller limits the time, and may drop the future.
    ///
    /// A connection that breaks is replaced once: the server may have closed
    /// it since the last question. If the next one breaks as well, one of the
    /// questions on it may be to blame; then this one has a connection of its
    /// own.
    pub(crate) async fn ask(
        self: &Arc<Self>,
        server: SocketAddr,
        request: DnsRequest,
    ) -> Result<DnsResponse, NetError> {
        for _ in 0..2 {
            let connection = self.shared(server).await?;
            if let Ok(response) = connection.ask(request.clone(), self.patience).await {
                return Ok(response);
            }
        }
        let connection = self.connect(server).await?;
        connection.ask(request, self.patience).await
    }

    /// The open connection, else a new one. All askers wait for one that is
    /// being made.
    async fn shared(self: &Arc<Self>, server: SocketAddr) -> Result<Connection, NetError> {
        let mut open = self.open.lock().await;
        if let Some(connection) = open.as_ref().filter(|it| it.alive(self.patience)) {
            return Ok(connection.clone());
        }
        *open = None;
        let connection = self.connect(server).await?;
        *open = Some(connection.clone());
        tokio::spawn(close_when_idle(
            Arc::downgrade(self),
            Arc::downgrade(&connection.usage),
            self.idle,
        ));
        Ok(connection)
    }

    async fn connect(&self, server: SocketAddr) -> Result<Connection, NetError> {
        match &self.connector {
            Connector::Tcp => {
                let (opening, handle) =
                    TcpClientStream::new(server, None, Some(GIVE_UP), self.sockets.clone());
                Connection::open(opening, handle).await
            }
            #[cfg(feature = "tls")]
            Connector::Tls(tls) => {
                let (opening, handle) = hickory_net::tls::tls_client_connect(
                    server,
                    tls.name()?,
                    tls.config()?,
                    self.sockets.clone(),
                );
                Connection::open(opening, handle).await
            }
        }
    }
}

impl Connection {
    async fn open<S: DnsClientStream>(
        opening: impl Future<Output = Result<S, NetError>>,
        handle: hickory_net::BufDnsStreamHandle,
    ) -> Result<Self, NetError> {
        let multiplexer = DnsMultiplexer::new(opening.await?, handle)
            .with_timeout(GIVE_UP)
            .with_max_active_requests(MAX_ACTIVE);
        let (exchange, background) = DnsExchange::from_stream(multiplexer);
        let now = Instant::now();
        Ok(Self {
            exchange,
            task: Arc::new(tokio::spawn(background)),
            usage: Arc::new(Mutex::new(Usage {
                in_flight: 0,
                last_answer: now,
                used: now,
                dead: false,
            })),
        })
    }

    async fn ask(&self, request: DnsRequest, patience: Duration) -> Result<DnsResponse, NetError> {
        let flight = Flight::begin(self, patience);
        match self.exchange.send(request).first_answer().await {
            Ok(response) => {
                flight.answered();
                Ok(response)
            }
            Err(error) => {
                usage(&self.usage).dead = true;
                Err(error)
            }
        }
    }

    fn alive(&self, patience: Duration) -> bool {
        let usage = usage(&self.usage);
        !self.task.is_finished() && !usage.dead && !usage.silent(patience)
    }
}

impl Usage {
    fn silent(&self, patience: Duration) -> bool {
        self.in_flight > 0 && self.last_answer.elapsed() >= patience
    }
}

/// A question under way.
struct Flight {
    usage: Arc<Mutex<Usage>>,
    patience: Duration,
}

impl Flight {
    fn begin(connection: &Connection, patience: Duration) -> Self {
        let mut usage = usage(&connection.usage);
        if usage.in_flight == 0 {
            usage.last_answer = Instant::now();
        }
        usage.in_flight += 1;
        Self {
            usage: Arc::clone(&connection.usage),
            patience,
        }
    }

    fn answered(self) {
        usage(&self.usage).last_answer = Instant::now();
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        let mut usage = usage(&self.usage);
        if usage.silent(self.patience) {
            usage.dead = true;
        }
        usage.in_flight = usage.in_flight.saturating_sub(1);
        usage.used = Instant::now();
    }
}

fn usage(usage: &Mutex<Usage>) -> MutexGuard<'_, Usage> {
    usage.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits until a connection had no question for this long, or is gone.
async fn close_when_idle(stream: Weak<Stream>, watched: Weak<Mutex<Usage>>, idle: Duration) {
    loop {
        let Some(connection) = watched.upgrade() else {
            return;
        };
        let due = {
            let usage = usage(&connection);
            (usage.used + idle).max(Instant::now() + LOOK)
        };
        drop(connection);
        tokio::time::sleep_until(due).await;
        let (Some(stream), Some(connection)) = (stream.upgrade(), watched.upgrade()) else {
            return;
        };
        let mut open = stream.open.lock().await;
        let unused = {
            let usage = usage(&connection);
            usage.in_flight == 0 && usage.used.elapsed() >= idle
        };
        if unused {
            if open
                .as_ref()
                .is_some_and(|open| Arc::ptr_eq(&open.usage, &connection))
            {
                *open = None;
            }
            return;
        }
    }
}
