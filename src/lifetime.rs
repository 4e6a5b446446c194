//! The temperature of each VCL, and the resolver thread that outlives each.
//!
//! The engine sends a VCL's events on the CLI thread, and those of its
//! directors partly with its VCL lock held: nothing here waits for DNS, nor
//! for a thread that may be inside the engine. The resolver thread starts with
//! the first warm VCL and ends with the last one. Only DISCARD, when its VCL's
//! reference is long released, waits for a thread that already has to end.

use std::sync::{Arc, Mutex, Weak};
use std::thread::JoinHandle;

use crate::director::Director;
use crate::domain::Domain;
use crate::refresh::{self, Command, CommandSender};
use crate::sync::lock;
use crate::vcl::Vcl;
use crate::vrt::{Ctx, VclPtr, VclRef};

/// One VCL, its directors, and how warm it is.
struct Loaded {
    vcl: Arc<Vcl>,
    directors: Mutex<Vec<Weak<Director>>>,
    temperature: Mutex<Temperature>,
}

/// How warm a VCL is.
#[derive(Default)]
enum Temperature {
    /// Not at all.
    #[default]
    Cold,
    /// Its WARM event came. Another module may still refuse it, and then the
    /// VCL is cold right after the COLD event, without regard to references:
    /// so the reference stays here, and no name is resolved.
    Warming(CommandSender, VclRef),
    /// For good. Where to send domains that are to be resolved.
    Warm(CommandSender),
}

/// The module's state in this process.
struct Process {
    vcls: Vec<Arc<Loaded>>,
    /// The thread that serves the warm VCLs, and their number.
    running: Option<Running>,
    /// Threads that have to end.
    ending: Vec<JoinHandle<()>>,
}

struct Running {
    commands: CommandSender,
    thread: JoinHandle<()>,
    warm: usize,
}

static PROCESS: Mutex<Process> = Mutex::new(Process {
    vcls: Vec::new(),
    running: None,
    ending: Vec::new(),
});

fn loaded(ptr: VclPtr) -> Option<Arc<Loaded>> {
    lock(&PROCESS)
        .vcls
        .iter()
        .find(|loaded| loaded.vcl.ptr == ptr)
        .cloned()
}

impl Loaded {
    fn directors(&self) -> Vec<Arc<Director>> {
        lock(&self.directors)
            .iter()
            .filter_map(Weak::upgrade)
            .collect()
    }
}

/// The VCL of a call, as loaded.
pub(crate) fn of(ctx: Ctx<'_>) -> Option<Arc<Vcl>> {
    loaded(ctx.vcl()).map(|loaded| Arc::clone(&loaded.vcl))
}

/// Makes a director known, so that its domains are resolved from WARM on.
pub(crate) fn register(director: &Arc<Director>) {
    if let Some(loaded) = loaded(director.config().vcl.ptr) {
        lock(&loaded.directors).push(Arc::downgrade(director));
    }
}

/// Starts the resolution of a domain. Does nothing while the VCL is not warm,
/// since [`confirm`] starts all domains that there are by then.
pub(crate) fn watch(director: &Weak<Director>, domain: &Arc<Domain>) {
    let Some(loaded) = loaded(domain.vcl().ptr) else {
        return;
    };
    if let Temperature::Warm(commands) = &*lock(&loaded.temperature) {
        let _ = commands.send(Command::Watch(Arc::clone(domain), Weak::clone(director)));
    }
}

/// The engine warms a director of this VCL: no module has refused. Starts the
/// resolution of all its domains. The engine may hold its VCL lock, under which
/// the VCL's reference cannot be released: it is sent on, or stays here.
pub(crate) fn confirm(ptr: VclPtr) {
    let Some(loaded) = loaded(ptr) else { return };
    {
        let mut temperature = lock(&loaded.temperature);
        match std::mem::take(&mut *temperature) {
            Temperature::Warming(commands, guard) => {
                let warm = Command::Warm(Arc::clone(&loaded.vcl), guard);
                match commands.send(warm) {
                    Ok(()) => *temperature = Temperature::Warm(commands),
                    Err(Command::Warm(_, guard)) => {
                        *temperature = Temperature::Warming(commands, guard);
                        return;
                    }
                    Err(_) => return,
                }
            }
            other => {
                *temperature = other;
                return;
            }
        }
    }
    for director in loaded.directors() {
        director.watch_all();
    }
}

/// All domains of the warm VCLs' directors, for a thread that begins anew.
pub(crate) fn domains_of(ptr: VclPtr) -> Vec<(Arc<Domain>, Weak<Director>)> {
    let Some(loaded) = loaded(ptr) else {
        return Vec::new();
    };
    let mut all = Vec::new();
    for director in loaded.directors() {
        let owner = Arc::downgrade(&director);
        director.for_each(|domain| all.push((Arc::clone(domain), Weak::clone(&owner))));
    }
    all
}

/// A VCL is loaded.
pub(crate) fn load(ctx: Ctx<'_>) {
    let loaded = Loaded {
        vcl: Arc::new(Vcl::new(ctx)),
        directors: Mutex::default(),
        temperature: Mutex::default(),
    };
    lock(&PROCESS).vcls.push(Arc::new(loaded));
}

/// A VCL becomes warm: its names are resolved once the engine warms the first
/// of its directors, which it does when all modules have agreed.
///
/// # Errors
/// When the resolver thread cannot be started.
pub(crate) fn warm(ctx: Ctx<'_>) -> Result<(), String> {
    let Some(loaded) = loaded(ctx.vcl()) else {
        return Ok(());
    };
    if !matches!(*lock(&loaded.temperature), Temperature::Cold) {
        return Ok(());
    }
    let (commands, ended): (_, Vec<_>) = {
        let mut process = lock(&PROCESS);
        let running = if let Some(running) = process.running.take() {
            running
        } else {
            let (commands, thread) = refresh::start().map_err(|why| {
                format!("the thread that resolves names cannot be started: {why}")
            })?;
            Running {
                commands,
                thread,
                warm: 0,
            }
        };
        let running = process.running.insert(running);
        running.warm += 1;
        let commands = running.commands.clone();
        // DISCARD may be far: a VCL can cool and warm up any number of times.
        (
            commands,
            process
                .ending
                .extract_if(.., |thread| thread.is_finished())
                .collect(),
        )
    };
    join(ended);
    let guard = VclRef::take(ctx);
    *lock(&loaded.temperature) = Temperature::Warming(commands, guard);
    Ok(())
}

/// A VCL cools: the thread is to let go of it, and is not waited for.
pub(crate) fn cold(ctx: Ctx<'_>) {
    let Some(loaded) = loaded(ctx.vcl()) else {
        return;
    };
    let temperature = std::mem::take(&mut *lock(&loaded.temperature));
    match temperature {
        Temperature::Cold => return,
        // This event comes without the VCL lock: the reference can go.
        Temperature::Warming(commands, guard) => {
            drop(commands);
            drop(guard);
        }
        Temperature::Warm(commands) => drop(commands.send(Command::Cold(loaded.vcl.ptr))),
    }
    let mut process = lock(&PROCESS);
    if let Some(mut running) = process.running.take() {
        running.warm = running.warm.saturating_sub(1);
        if running.warm == 0 {
            // The channel closes with the last sender. The thread ends when it
            // has read what is in it.
            drop(running.commands);
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
        let gone = process
            .vcls
            .extract_if(.., |loaded| loaded.vcl.ptr == ptr)
            .collect();
        (gone, std::mem::take(&mut process.ending))
    };
    for Loaded { vcl, .. } in gone.iter().map(Arc::as_ref) {
        vcl.release_queue.clear();
        lock(&vcl.clusters).close(ctx);
    }
    join(ended);
}

fn join(threads: Vec<JoinHandle<()>>) {
    for thread in threads {
        // A thread that panicked has ended as well.
        let _ = thread.join();
    }
}
