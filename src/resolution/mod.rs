//! The resolver thread: one for the process, whatever the number of names.
//!
//! It alone asks name servers, evaluates ACLs, makes leaves and gives them
//! back. Requests and the CLI only send it [`Command`]s.

mod questions;
mod worker;

use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::lifetime::Vcl;
use crate::pool::Pool;
use crate::vrt::{Guard, VclPtr};

/// What the thread is told.
#[derive(Debug)]
pub(crate) enum Command {
    /// A VCL became warm; the guard keeps it until the thread has let go.
    Warm(Arc<Vcl>, Guard),
    /// A VCL cools: forget its names and release its guard.
    Cold(VclPtr),
    /// Resolve this name or service from now on.
    Watch(Arc<Pool>),
}

/// The way into the thread; the thread ends when the last one is dropped.
#[derive(Clone, Debug)]
pub(crate) struct Inbox(UnboundedSender<Command>);

impl Inbox {
    /// Sends a command. Never waits. A thread that is gone takes none, and
    /// what the command carries is released at once.
    pub(crate) fn send(&self, command: Command) {
        let _ = self.0.send(command);
    }
}

/// Starts a thread.
///
/// # Errors
/// When the system has no thread to give.
pub(crate) fn start() -> io::Result<(Inbox, JoinHandle<()>)> {
    let (sender, receiver) = unbounded_channel();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let thread = thread::Builder::new()
        .name("dynamic-resolve".into())
        .spawn(move || run(&runtime, receiver))?;
    Ok((Inbox(sender), thread))
}

fn run(runtime: &tokio::runtime::Runtime, inbox: UnboundedReceiver<Command>) {
    let local = tokio::task::LocalSet::new();
    local.block_on(runtime, worker::Worker::new(inbox).run());
}
