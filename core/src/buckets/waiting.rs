//! For how long a client has waited, remembered in a fixed space.

use std::fmt;
use std::hash::Hasher;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use siphasher::sip128::{Hasher128, SipHasher13};

/// Clients that are remembered at most.
pub const CAPACITY: usize = SETS * WAYS;

const SETS: usize = 625;
const WAYS: usize = 16;

/// How often a client's place is looked for again when other threads take it.
const ATTEMPTS: usize = 8;

/// Two threads read the clock in one order and come here in another. A first
/// sight that lies ahead by less than this was just now.
const SKEW: u32 = 60_000;

/// When clients were first seen: a table of [`CAPACITY`] entries that is read
/// and written by all threads without a lock, and never grows.
///
/// A client is a key and a transaction. Their keyed hash (`SipHash`-1-3, 128
/// bits) gives a fingerprint of 32 bits and two of 625 sets of 16 entries; an
/// entry is one word with the fingerprint and the time in milliseconds, and
/// beside it the time of the last sight. A new client takes a free entry of
/// the emptier set ("power of two choices", Azar, Broder, Karlin and Upfal,
/// 1994), or else the oldest of both. A request thus reads 32 words and writes
/// at most a few, however many clients there are.
///
/// A client that was not seen for longer than `memory` begins anew: it does
/// not wait any more, as somebody served it.
///
/// What may be lost, and what that costs:
/// - Where both sets are full, the oldest of their 32 entries is forgotten, and
///   that client begins anew. While 8,500 clients wait at once that does not
///   happen in practice, and 10,000 lose about 2 in 100, of the older half.
///   The newest 5,000 stay, however many come.
/// - Another client's fingerprint in the same sets is taken for this one with
///   a probability below 1 in 100 million; it is then served too early.
/// - Times wrap after 49.7 days: a client that comes back so late counts as
///   new or as seen more recently.
///
/// The seed keeps clients from choosing names that push others out of a set.
pub struct FirstSeen {
    seed: [u8; 16],
    /// How long a client is remembered that is not seen again.
    memory: u32,
    /// When any client was seen last.
    latest: AtomicU32,
    sets: Box<[Set]>,
}

type Set = [Entry; WAYS];

/// One client.
#[derive(Default)]
struct Entry {
    /// 0 is a free entry, else the fingerprint above the time of the first
    /// sight.
    word: AtomicU64,
    /// The time of the last sight.
    last: AtomicU32,
}

/// Where a client's entry may be.
struct Place {
    fingerprint: u32,
    sets: [usize; 2],
}

/// What there is for a client in its two sets.
enum Sight<'t> {
    /// It was first seen so many milliseconds ago, and has this entry, which
    /// has this word.
    Before(u32, &'t Entry, u64),
    /// It was not seen; it may take this entry, which has this word.
    Never(&'t Entry, u64),
}

impl FirstSeen {
    /// An empty table. The seed must be random. `memory`: how long a client is
    /// remembered that is not seen again, up to 49 days.
    #[must_use]
    pub fn new(seed: [u8; 16], memory: Duration) -> Self {
        FirstSeen {
            seed,
            memory: u32::try_from(memory.as_millis())
                .unwrap_or(u32::MAX)
                .min(u32::MAX - SKEW),
            latest: AtomicU32::new(0),
            sets: (0..SETS).map(|_| Set::default()).collect(),
        }
    }

    /// The time since a client was first seen, in whole milliseconds; zero for
    /// a new one, which is seen from now on. `now` is the time since any fixed
    /// moment, on a clock that does not go back. Allocates nothing.
    #[must_use]
    pub fn waited(&self, key: &[u8], transaction: &[u8], now: Duration) -> Duration {
        let place = self.place(key, transaction);
        let now = wrapped_milliseconds(now);
        let first = word(place.fingerprint, now);
        self.latest.store(now, Ordering::Relaxed);
        for _ in 0..ATTEMPTS {
            match self.look(&place, now) {
                Some(Sight::Before(age, entry, _)) => {
                    entry.last.store(now, Ordering::Relaxed);
                    return Duration::from_millis(age.into());
                }
                // A word stands for itself. Where its last sight is not there
                // yet, its client begins anew just now, which is the same.
                Some(Sight::Never(entry, old)) => {
                    let took = entry.word.compare_exchange(
                        old,
                        first,
                        Ordering::Relaxed,
                        Ordering::Relaxed,
                    );
                    if took.is_ok() {
                        entry.last.store(now, Ordering::Relaxed);
                        break;
                    }
                }
                None => break,
            }
        }
        Duration::ZERO
    }

    /// Forgets a client, as it is served. Costs next to nothing where no client
    /// waits. Allocates nothing.
    pub fn forget(&self, key: &[u8], transaction: &[u8], now: Duration) {
        let now = wrapped_milliseconds(now);
        let latest = self.latest.load(Ordering::Relaxed);
        if latest == 0 || age(latest, now) > self.memory {
            return;
        }
        if let Some(Sight::Before(_, entry, word)) = self.look(&self.place(key, transaction), now) {
            // Where it fails, another has the entry by now.
            let _ = entry
                .word
                .compare_exchange(word, 0, Ordering::Relaxed, Ordering::Relaxed);
        }
    }

    /// Number of clients that are remembered now, at most [`CAPACITY`].
    #[must_use]
    pub fn len(&self) -> usize {
        self.sets
            .iter()
            .flatten()
            .filter(|entry| entry.word.load(Ordering::Relaxed) != 0)
            .count()
    }

    /// Whether no client is remembered.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn place(&self, key: &[u8], transaction: &[u8]) -> Place {
        let mut hasher = SipHasher13::new_with_key(&self.seed);
        // The length keeps "ab", "c" apart from "a", "bc".
        hasher.write_usize(key.len());
        hasher.write(key);
        hasher.write(transaction);
        let hash = hasher.finish128();
        let (first, fingerprint) = halves(hash.h1);
        let (second, _) = halves(hash.h2);
        let (first, second) = (scaled(first), scaled(second));
        Place {
            // 0 would be a free entry.
            fingerprint: fingerprint.max(1),
            sets: [
                first,
                if second == first {
                    (first + 1) % SETS
                } else {
                    second
                },
            ],
        }
    }

    fn look(&self, place: &Place, now: u32) -> Option<Sight<'_>> {
        let mut seen: Option<(u32, &Entry, u64)> = None;
        let mut stale: Option<(&Entry, u64)> = None;
        let mut emptiest: Option<(usize, &Entry)> = None;
        let mut oldest: Option<(u32, &Entry, u64)> = None;
        for set in place.sets.iter().filter_map(|set| self.sets.get(*set)) {
            let mut free = None;
            let mut room = 0;
            for entry in set {
                let word = entry.word.load(Ordering::Relaxed);
                let (fingerprint, time) = halves(word);
                if fingerprint == 0 {
                    room += 1;
                    free = free.or(Some(entry));
                    continue;
                }
                let since_first = age(time, now);
                if fingerprint == place.fingerprint {
                    if age(entry.last.load(Ordering::Relaxed), now) > self.memory {
                        stale = Some((entry, word));
                    } else if seen.is_none_or(|(longest, ..)| since_first > longest) {
                        // Two threads may have entered one client twice.
                        seen = Some((since_first, entry, word));
                    }
                }
                if oldest.is_none_or(|(oldest, ..)| since_first > oldest) {
                    oldest = Some((since_first, entry, word));
                }
            }
            if let Some(entry) = free
                && emptiest.is_none_or(|(most, _)| room > most)
            {
                emptiest = Some((room, entry));
            }
        }
        if let Some((age, entry, word)) = seen {
            return Some(Sight::Before(age, entry, word));
        }
        stale
            .or(emptiest.map(|(_, entry)| (entry, 0)))
            .or(oldest.map(|(_, entry, word)| (entry, word)))
            .map(|(entry, word)| Sight::Never(entry, word))
    }
}

impl fmt::Debug for FirstSeen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FirstSeen")
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}

fn word(fingerprint: u32, time: u32) -> u64 {
    u64::from(fingerprint) << 32 | u64::from(time)
}

/// The upper and the lower half.
fn halves(word: u64) -> (u32, u32) {
    let [a, b, c, d, upper @ ..] = word.to_le_bytes();
    (u32::from_le_bytes(upper), u32::from_le_bytes([a, b, c, d]))
}

/// The lower 32 bits of the milliseconds.
fn wrapped_milliseconds(time: Duration) -> u32 {
    let milliseconds = time
        .as_secs()
        .wrapping_mul(1_000)
        .wrapping_add(time.subsec_millis().into());
    halves(milliseconds).1
}

fn age(time: u32, now: u32) -> u32 {
    let age = now.wrapping_sub(time);
    if age > u32::MAX - SKEW { 0 } else { age }
}

/// A number below [`SETS`], each as likely (Lemire, "Fast Random Integer
/// Generation in an Interval", 2019, without its correction).
fn scaled(random: u32) -> usize {
    let product = u64::from(random) * SETS as u64;
    usize::try_from(product >> 32).unwrap_or(0)
}
