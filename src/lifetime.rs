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
    stage: Mutex<Stage>,
}

/// How warm a VCL is.
#[derive(Debug, Default)]
enum Stage {
    /// Not at all.
    #[default]
    Cold,
    /// Its WARM event came. Another module may still refuse it, and then the
    /// VCL is cold right after the COLD event, without regard to guards: so
    /// the guard stays here, and no name is resolved.
    Warming(Inbox, Guard),
    /// For good. Where to send names that are to be resolved.
    Warm(Inbox),
}

impl Vcl {
    /// Makes a director known, so that its names are resolved from WARM on.
    pub(crate) fn register(&self, director: &Arc<Director>) {
        lock(&self.directors).push(Arc::downgrade(director));
    }

    /// Its directors that are still there.
    pub(crate) fn directors(&self) -> Vec<Arc<Director>> {
        lock(&self.directors)
            .iter()
            .filter_map(Weak::upgrade)
            .collect()
    }

    /// Starts the resolution of a name; does nothing while the VCL is not
    /// warm, since [`confirm`](Self::confirm) starts all names that there are
    /// by then.
    pub(crate) fn watch(&self, pool: &Arc<Pool>) {
        if let Stage::Warm(inbox) = &*lock(&self.stage) {
            inbox.send(Command::Watch(Arc::clone(pool)));
        }
    }

    /// The engine warms a director of this VCL: no module has refused. Starts
    /// the resolution of all names. The engine may hold its VCL lock.
    pub(crate) fn confirm(self: &Arc<Self>) {
        {
            let mut stage = lock(&self.stage);
            match std::mem::take(&mut *stage) {
                Stage::Warming(inbox, guard) => {
                    inbox.send(Command::Warm(Arc::clone(self), guard));
                    *stage = Stage::Warm(inbox);
                }
                other => {
                    *stage = other;
                    return;
                }
            }
        }
        for director in self.directors() {
            director.for_each(|pool| self.watch(pool));
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
    lock(&PROCESS)
        .vcls
        .iter()
        .find(|vcl| vcl.ptr == ptr)
        .cloned()
}

/// A VCL is loaded.
pub(crate) fn load(ctx: Ctx<'_>) {
    let vcl = Vcl {
        ptr: ctx.vcl(),
        name: ctx.vcl_name(),
        graveyard: Arc::default(),
        arena: Mutex::new(Arena::new()),
        directors: Mutex::default(),
        stage: Mutex::default(),
    };
    lock(&PROCESS).vcls.push(Arc::new(vcl));
}

/// A VCL becomes warm: its names are resolved once the engine warms the first
/// of its directors, which it does when all modules have agreed.
///
/// # Errors
/// When the resolver thread cannot be started.
pub(crate) fn warm(ctx: Ctx<'_>) -> Result<(), String> {
    let Some(vcl) = of(ctx) else { return Ok(()) };
    if !matches!(*lock(&vcl.stage), Stage::Cold) {
        return Ok(());
    }
    let (inbox, ended): (_, Vec<_>) = {
        let mut process = lock(&PROCESS);
        let running = if let Some(running) = process.running.take() {
            running
        } else {
            let (inbox, thread) =
                resolution::start().map_err(|e| format!("no resolver thread: {e}"))?;
            Running {
                inbox,
                thread,
                warm: 0,
            }
        };
        let running = process.running.insert(running);
        running.warm += 1;
        let inbox = running.inbox.clone();
        // DISCARD may be far: a VCL can cool and warm up any number of times.
        (
            inbox,
            process
                .ending
                .extract_if(.., |thread| thread.is_finished())
                .collect(),
        )
    };
    join(ended);
    let guard = Guard::take(ctx);
    *lock(&vcl.stage) = Stage::Warming(inbox, guard);
    Ok(())
}

/// A VCL cools: the thread is told to let go of it, and not waited for.
pub(crate) fn cold(ctx: Ctx<'_>) {
    let Some(vcl) = of(ctx) else { return };
    let stage = std::mem::take(&mut *lock(&vcl.stage));
    match stage {
        Stage::Cold => return,
        Stage::Warming(inbox, guard) => {
            drop(inbox);
            drop(guard);
        }
        Stage::Warm(inbox) => inbox.send(Command::Cold(vcl.ptr)),
    }
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
    join(ended);
}

fn join(threads: Vec<JoinHandle<()>>) {
    for thread in threads {
        // A thread that panicked has ended as well.
        let _ = thread.join();
    }
}
