//! The resolver thread: one for the process, whatever the number of names.
//!
//! It alone asks name servers, evaluates ACLs, makes leaves and gives them
//! back. Requests and the CLI only send it [`Command`]s.

#[cfg(debug_assertions)]
mod inject;
mod lookup;
mod worker;

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Weak};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::director::Director;
use crate::domain::Domain;
use crate::vcl::Vcl;
use crate::vrt::{VclPtr, VclRef, catch_panic};
use worker::{Warm, Worker};

/// How long the thread rests after a panic, so that one that comes back at
/// once does not take a processor.
const AFTER_PANIC: Duration = Duration::from_millis(500);

/// What the thread has to do.
#[derive(Debug)]
pub(crate) enum Command {
    /// A VCL became warm. The reference keeps it until the thread has let go.
    Warm(Arc<Vcl>, VclRef),
    /// A VCL cools: forget its domains and release its reference.
    Cold(VclPtr),
    /// Resolve this domain of that director from now on.
    Watch(Arc<Domain>, Weak<Director>),
}

/// The sending end of the thread's channel. The thread ends when the last one
/// is dropped.
#[derive(Clone, Debug)]
pub(crate) struct CommandSender(UnboundedSender<Command>);

impl CommandSender {
    /// Sends a command. Never waits.
    ///
    /// # Errors
    /// The command, where the thread is gone. What it carries is then the
    /// caller's to release.
    pub(crate) fn send(&self, command: Command) -> Result<(), Command> {
        self.0.send(command).map_err(|refused| refused.0)
    }
}

/// Starts a thread.
///
/// # Errors
/// When the system has no thread or no file descriptors to give.
pub(crate) fn start() -> io::Result<(CommandSender, JoinHandle<()>)> {
    let (sender, receiver) = unbounded_channel();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let thread = thread::Builder::new()
        .name("dynamic-resolve".into())
        .spawn(move || run(&runtime, receiver))?;
    Ok((CommandSender(sender), thread))
}

/// Works until the channel is closed. After a panic it begins anew with the
/// VCLs that it has: their names must be resolved as long as they are warm,
/// and their references must not be dropped while they are.
fn run(runtime: &tokio::runtime::Runtime, mut commands: UnboundedReceiver<Command>) {
    let mut vcls: HashMap<VclPtr, Warm> = HashMap::new();
    loop {
        let closed = catch_panic("resolver thread", false, || {
            let mut worker = Worker::new(&mut commands, &mut vcls);
            worker.watch_all();
            tokio::task::LocalSet::new().block_on(runtime, worker.run());
            true
        });
        if closed {
            return;
        }
        thread::sleep(AFTER_PANIC);
    }
}
