//! The server: its thread, its state, its commands.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;
use std::{io, thread};

use hickory_proto::op::ResponseCode;
use tokio::runtime::{Builder, Handle};
use tokio::sync::Notify;
use tokio::time::timeout;

use crate::answer::Reply;
use crate::command::{Command, Outage};
use crate::control;
use crate::count::{Counts, Selection};
use crate::error::{CommandError, StartError};
use crate::message::{Asked, Inbound};
use crate::socket::Ports;
use crate::transport::Transport;
use crate::zone::Zone;

/// A running server, with a thread of its own; it stops when this is dropped.
#[derive(Debug)]
pub struct Server {
    shared: Arc<Shared>,
    addrs: Vec<SocketAddr>,
    handle: Handle,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Server {
    /// Starts a server with an empty zone on these addresses, each for UDP and TCP. Port 0 is
    /// any that is free for both, and each address gets one of its own.
    ///
    /// # Errors
    ///
    /// No address, or one that cannot be used.
    pub fn start(listen: &[SocketAddr]) -> io::Result<Self> {
        Ok(Self::with_zone(listen, "")?)
    }

    /// Starts a server that has a zone before the first query can arrive: the lines of a zone file.
    ///
    /// # Errors
    ///
    /// As for [`start`](Self::start), or a wrong line.
    pub fn with_zone(listen: &[SocketAddr], zone: &str) -> Result<Self, StartError> {
        let zone = Zone::read(zone)?;
        let ports = Ports::take(listen)?;
        let addrs = ports.addrs();
        let shared = Arc::new(Shared::new(zone, ports));
        let (opened, is_open) = mpsc::channel();
        let own = Arc::clone(&shared);
        let thread = thread::Builder::new().name("testdns".to_owned());
        let thread = thread.spawn(move || run(&own, &opened))?;
        let ended = |_| StartError::Thread(io::Error::other("it ended at once"));
        let handle = is_open.recv().map_err(ended)??;
        Ok(Self {
            shared,
            addrs,
            handle,
            thread: Mutex::new(Some(thread)),
        })
    }

    /// The first address.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        // A server without an address does not start.
        let unspecified = SocketAddr::from(([0, 0, 0, 0], 0));
        self.addrs.first().copied().unwrap_or(unspecified)
    }

    /// All addresses, in the order given, with the ports in use.
    #[must_use]
    pub fn addrs(&self) -> &[SocketAddr] {
        &self.addrs
    }

    /// Carries out one command and returns what it prints. The change is in force then.
    ///
    /// # Errors
    ///
    /// A command that is wrong, that failed, or that came after the end.
    pub fn command(&self, line: &str) -> Result<String, CommandError> {
        let (reply, result) = mpsc::channel();
        let (shared, line) = (Arc::clone(&self.shared), line.to_owned());
        self.handle.spawn(async move {
            let done = shared.execute(&line).await;
            let quit = matches!(done, Ok(Done::Quit));
            // Who gave the command has gone only if the process ends.
            let _ = reply.send(done.map(Done::text));
            if quit {
                shared.quit.notify_one();
            }
        });
        result.recv().unwrap_or(Err(CommandError::Stopped))
    }

    /// Takes commands on a Unix socket at this path too. A socket that was left there by a
    /// server that has ended is replaced; this one is removed at the end.
    ///
    /// # Errors
    ///
    /// The socket cannot be made, or another server or file is there.
    pub fn control(&self, path: &Path) -> io::Result<()> {
        let _in_runtime = self.handle.enter();
        let listener = control::listen(path)?;
        self.handle
            .spawn(control::serve(listener, Arc::clone(&self.shared)));
        Ok(())
    }

    /// Waits until a command ends the server; only the first call waits.
    pub fn wait(&self) {
        let thread = self
            .thread
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(thread) = thread {
            // It does not panic; if it did, there would be nothing else to do.
            let _ = thread.join();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.quit.notify_one();
        self.wait();
    }
}

/// The server's thread: opens the sockets, says so, and serves until the end.
fn run(shared: &Arc<Shared>, opened: &mpsc::Sender<Result<Handle, StartError>>) {
    // Whoever waits for the message has gone only if the process ends.
    let runtime = match Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return drop(opened.send(Err(error.into()))),
    };
    runtime.block_on(async {
        if let Err(error) = shared.ports.lock().await.open(shared) {
            return drop(opened.send(Err(error)));
        }
        let _ = opened.send(Ok(Handle::current()));
        shared.quit.notified().await;
        shared.ports.lock().await.end().await;
    });
}

/// What a command did.
#[derive(Debug)]
pub(crate) enum Done {
    Text(String),
    /// It asks for the end, which its giver brings about once the reply is on its way.
    Quit,
}

impl Done {
    pub(crate) fn text(self) -> String {
        match self {
            Self::Text(text) => text,
            Self::Quit => String::new(),
        }
    }
}

/// What to do about a packet.
#[derive(Debug)]
pub(crate) enum Arrival {
    Nothing,
    Reply(Reply),
    /// To be answered then.
    Delayed(Duration, Asked),
}

/// What the sockets and the commands share.
#[derive(Debug)]
pub(crate) struct Shared {
    state: Mutex<State>,
    ports: tokio::sync::Mutex<Ports>,
    pub(crate) quit: Notify,
}

#[derive(Debug)]
struct State {
    zone: Zone,
    counts: Counts,
    outage: Option<Outage>,
}

impl Shared {
    fn new(zone: Zone, ports: Ports) -> Self {
        Self {
            state: Mutex::new(State {
                zone,
                counts: Counts::default(),
                outage: None,
            }),
            ports: tokio::sync::Mutex::new(ports),
            quit: Notify::new(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a query and says what it gets.
    pub(crate) fn arrive(&self, packet: &[u8], transport: Transport) -> Arrival {
        let inbound = Inbound::read(packet, transport);
        let mut state = self.state();
        match inbound {
            Inbound::Noise => Arrival::Nothing,
            Inbound::Bad(_) if state.outage == Some(Outage::Drop) => Arrival::Nothing,
            Inbound::Bad(answer) => Arrival::Reply(Reply::of(answer)),
            Inbound::Good(asked) => {
                let record_type = asked.question.query_type;
                state.counts.add(asked.name(), record_type, transport);
                match state.zone.delays.find(asked.name(), record_type) {
                    None => Arrival::Reply(state.reply(&asked)),
                    Some(delay) => Arrival::Delayed(*delay, asked),
                }
            }
        }
    }

    /// What this query gets now.
    pub(crate) fn reply(&self, asked: &Asked) -> Reply {
        self.state().reply(asked)
    }

    pub(crate) async fn execute(self: &Arc<Self>, line: &str) -> Result<Done, CommandError> {
        let text = match Command::parse(line)? {
            Command::Nothing => String::new(),
            Command::Change(change) => {
                self.state().zone.apply(change)?;
                String::new()
            }
            Command::Dump => self.state().zone.dump(),
            Command::Help => crate::COMMANDS.to_owned(),
            Command::Addr => {
                let addrs = self.ports.lock().await.addrs();
                let lines = addrs.iter().map(SocketAddr::to_string);
                lines.collect::<Vec<_>>().join("\n")
            }
            Command::Quit => return Ok(Done::Quit),
            Command::Down(outage) => {
                self.turn(Some(outage)).await?;
                String::new()
            }
            Command::Up => {
                self.turn(None).await?;
                String::new()
            }
            Command::Count(selection) => self.state().counts.count(&selection).to_string(),
            Command::ResetCount => {
                self.state().counts.reset();
                String::new()
            }
            Command::Wait {
                selection,
                queries,
                timeout,
                more,
            } => {
                self.wait(selection, queries, timeout, more).await?;
                String::new()
            }
        };
        Ok(Done::Text(text))
    }

    async fn turn(self: &Arc<Self>, outage: Option<Outage>) -> Result<(), CommandError> {
        // Held throughout, so that the sockets agree with the last of several commands.
        let mut ports = self.ports.lock().await;
        self.state().outage = outage;
        if outage == Some(Outage::Closed) {
            ports.close().await?;
        } else {
            ports.open(self)?;
        }
        Ok(())
    }

    async fn wait(
        &self,
        selection: Selection,
        queries: u64,
        limit: Duration,
        more: bool,
    ) -> Result<(), CommandError> {
        let what = selection.to_string();
        let wait = self.state().counts.wait(selection, queries, more);
        let Some(wait) = wait else {
            return Ok(());
        };
        if let Ok(Ok(())) = timeout(limit, wait.reached).await {
            return Ok(());
        }
        match self.state().counts.give_up(wait.id) {
            None => Ok(()),
            Some(seen) => Err(CommandError::TimedOut {
                what,
                seen,
                wanted: queries,
                seconds: limit.as_secs_f64().to_string(),
            }),
        }
    }
}

impl State {
    fn reply(&self, asked: &Asked) -> Reply {
        match self.outage {
            None => self.zone.reply(asked),
            Some(Outage::Servfail) => {
                Reply::of(asked.encode(&asked.answer(ResponseCode::ServFail)))
            }
            Some(Outage::Drop | Outage::Closed) => Reply::default(),
        }
    }
}
