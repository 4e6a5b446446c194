//! Mutexes that a panic elsewhere does not close for ever.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks, also after a holder panicked: what these mutexes guard is replaced
/// whole or read whole, and a server must go on serving.
pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
