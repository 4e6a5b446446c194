//! What lives as long as a VCL, and the resolver thread that outlives each.
//!
//! The engine sends a VCL's events on the CLI thread, partly with its VCL lock
//! held: nothing here waits for DNS, nor for a thread that may be inside the
//! engine. The resolver thread starts with the first warm VCL and ends with
//! the last one; only DISCARD, when its VCL's guard is long released, waits for
//! a thread that has already been told to end.

use std::sync::{Arc, Mutex, Weak};
use std::thread::JoinHandle;

use crate::director::Director;
use crate::pool::Pool;
use crate::resolution::{self, Command, Inbox};
use crate::sync::lock;
use crate::vrt::{Arena, Ctx, Graveyard, Guard, VclPtr};

/// One loaded VCL that imports the module.
#[derive(Debug)]
pub(crate) struct Vcl {
    /// Its identity.
    pub(crate) ptr: VclPtr,
    /// The name under which it was loaded.
    pub(crate) name: String,
    /// Its leaves that nobody uses any more.
    pub(crate) graveyard: Arc<Graveyard>,
    /// Room for its counters.
    pub(crate) arena: Mutex<Arena>,
    directors: Mutex<Vec<Weak<Director>>>,
    /// Where to send names that are to be resolved; only while warm.
    inbox: Mutex<Option<Inbox>>,
}

impl Vcl {
    /// Makes a director known, so that its names are resolved from WARM on.
    pub(crate) fn register(&self, director: &Arc<Director>) {
        lock(&self.directors).push(Arc::downgrade(director));
    }

    /// Its directors that are still there.
    pub(crate) fn directors(&self) -> Vec<Arc<Director>> {
        lock(&self.directors).iter().filter_map(Weak::upgrade).collect()
    }

    /// Starts the resolution of a name; does nothing while the VCL is not
    /// warm, since WARM starts all names that there are by then.
    pub(crate) fn watch(&self, pool: &Arc<Pool>) {
        if let Some(inbox) = lock(&self.inbox).as_ref() {
            inbox.send(Command::Watch(Arc::clone(pool)));
        }
    }
}

/// The module's state in this process.
struct Process {
    vcls: Vec<Arc<Vcl>>,
    /// The thread that serves the warm VCLs, and their number.
    running: Option<Running>,
    /// Threads that were told to end.
    ending: Vec<JoinHandle<()>>,
}

struct Running {
    inbox: Inbox,
    thread: JoinHandle<()>,
    warm: usize,
}

static PROCESS: Mutex<Process> = Mutex::new(Process {
    vcls: Vec::new(),
    running: None,
    ending: Vec::new(),
});

/// The VCL of a call, as loaded.
pub(crate) fn of(ctx: Ctx<'_>) -> Option<Arc<Vcl>> {
    let ptr = ctx.vcl();
    lock(&PROCESS).vcls.iter().find(|vcl| vcl.ptr == ptr).cloned()
}

/// A VCL is loaded.
pub(crate) fn load(ctx: Ctx<'_>) {
    let vcl = Vcl {
        ptr: ctx.vcl(),
        name: ctx.vcl_name(),
        graveyard: Arc::default(),
        arena: Mutex::new(Arena::new()),
        directors: Mutex::default(),
        inbox: Mutex::default(),
    };
    lock(&PROCESS).vcls.push(Arc::new(vcl));
}

/// A VCL becomes warm: its names are resolved from now on.
///
/// # Errors
/// When the resolver thread cannot be started.
pub(crate) fn warm(ctx: Ctx<'_>) -> Result<(), String> {
    let Some(vcl) = of(ctx) else { return Ok(()) };
    if lock(&vcl.inbox).is_some() {
        return Ok(());
    }
    let inbox = {
        let mut process = lock(&PROCESS);
        let running = match process.running.take() {
            Some(running) => running,
            None => {
                let (inbox, thread) = resolution::start().map_err(|e| format!("no resolver thread: {e}"))?;
                Running { inbox, thread, warm: 0 }
            }
        };
        let running = process.running.insert(running);
        running.warm += 1;
        running.inbox.clone()
    };
    inbox.send(Command::Warm(Arc::clone(&vcl), Guard::take(ctx)));
    *lock(&vcl.inbox) = Some(inbox);
    for director in vcl.directors() {
        director.for_each(|pool| vcl.watch(pool));
    }
    Ok(())
}

/// A VCL cools: the thread is told to let go of it, and not waited for.
pub(crate) fn cold(ctx: Ctx<'_>) {
    let Some(vcl) = of(ctx) else { return };
    let Some(inbox) = lock(&vcl.inbox).take() else { return };
    inbox.send(Command::Cold(vcl.ptr));
    drop(inbox);
    let mut process = lock(&PROCESS);
    if let Some(mut running) = process.running.take() {
        running.warm = running.warm.saturating_sub(1);
        if running.warm == 0 {
            // Its inbox closes with the last sender; the thread ends when it
            // has read what is in it.
            drop(running.inbox);
            process.ending.push(running.thread);
        } else {
            process.running = Some(running);
        }
    }
}

/// A VCL goes. Its objects are gone by now.
pub(crate) fn discard(ctx: Ctx<'_>) {
    let ptr = ctx.vcl();
    let (gone, ended): (Vec<_>, Vec<_>) = {
        let mut process = lock(&PROCESS);
        let gone = process.vcls.extract_if(.., |vcl| vcl.ptr == ptr).collect();
        (gone, std::mem::take(&mut process.ending))
    };
    for vcl in gone {
        vcl.graveyard.clear();
        lock(&vcl.arena).close(ctx);
    }
    for thread in ended {
        // A thread that panicked has ended as well.
        let _ = thread.join();
    }
}
