//! Faults that tests of a debug build bring about. A release build has none.

use super::Command;

/// The environment variable with the host name whose lookups panic.
const PANIC_IN_LOOKUP: &str = "VMOD_DYNAMIC_PANIC_IN_LOOKUP";
/// The environment variable with the display name of the domain for which the thread panics.
const PANIC_IN_THREAD: &str = "VMOD_DYNAMIC_PANIC_IN_THREAD";

/// The environment variable with the display name of the domain that holds the
/// thread up, a space, and a pipe: until a writer of that has come and gone.
const HOLD_THREAD: &str = "VMOD_DYNAMIC_HOLD_THREAD";

fn is_named(variable: &str, name: &str) -> bool {
    std::env::var(variable).is_ok_and(|wanted| wanted == name)
}

/// Panics for the host that the environment names.
pub(super) fn panic_in_lookup(name: &str) {
    assert!(!is_named(PANIC_IN_LOOKUP, name), "injected");
}

/// Panics outside of the thread's inner boundaries, when it is to resolve the
/// domain that the environment names.
#[allow(clippy::panic, reason = "the injected fault")]
pub(super) fn panic_in_thread(command: &Command) {
    if let Command::Watch(domain, _) = command
        && is_named(PANIC_IN_THREAD, domain.display_name())
    {
        panic!("injected");
    }
}

/// Waits, when the thread is to resolve the domain that the environment names.
pub(super) fn hold_thread(command: &Command) {
    if let Command::Watch(domain, _) = command
        && let Ok(wanted) = std::env::var(HOLD_THREAD)
        && let Some((name, pipe)) = wanted.split_once(' ')
        && name == domain.display_name()
    {
        // It has no content.
        let _ = std::fs::read(pipe);
    }
}
