//! Whether a server understands EDNS (RFC 6891, section 7).

use std::time::Duration;

use tokio::time::Instant;

/// How long a server that rejects EDNS is asked without.
const PAUSE: Duration = Duration::from_secs(3600);

/// How many questions with EDNS in a row a server has to ignore: one can be a
/// lost datagram.
const IGNORED: u8 = 2;

/// What is known of a server.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Edns {
    /// It is asked without until then.
    off_until: Option<Instant>,
    /// How often in a row it answered a plain question and not the one with
    /// EDNS before it.
    ignored: u8,
}

impl Edns {
    /// Whether the next question carries EDNS.
    pub(crate) fn is_used(&self, now: Instant) -> bool {
        self.off_until.is_none_or(|until| until <= now)
    }

    /// It answered a question with EDNS.
    pub(crate) fn record_answer(&mut self) {
        *self = Self::default();
    }

    /// It rejected a question with EDNS, and answered it without.
    pub(crate) fn record_rejection(&mut self, now: Instant) {
        self.off_until = Some(now + PAUSE);
    }

    /// It ignored a question with EDNS, and answered it without.
    pub(crate) fn record_silence(&mut self, now: Instant) {
        self.ignored = self.ignored.saturating_add(1);
        if self.ignored >= IGNORED {
            self.off_until = Some(now + PAUSE);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edns_is_off_for_a_while_after_a_rejection() {
        let now = Instant::now();
        let mut edns = Edns::default();
        assert!(edns.is_used(now));
        edns.record_rejection(now);
        assert!(!edns.is_used(now));
        assert!(edns.is_used(now + PAUSE));
    }

    #[test]
    fn it_takes_two_ignored_questions_in_a_row() {
        let now = Instant::now();
        let mut edns = Edns::default();
        edns.record_silence(now);
        edns.record_answer();
        edns.record_silence(now);
        assert!(edns.is_used(now));
        edns.record_silence(now);
        assert!(!edns.is_used(now));
        // When the time is over, one more is enough.
        assert!(edns.is_used(now + PAUSE));
        edns.record_silence(now + PAUSE);
        assert!(!edns.is_used(now + PAUSE));
    }
}
