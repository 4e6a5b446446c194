//! For how long a client has waited, remembered in a fixed space.

use std::fmt;
use std::hash::Hasher;
use std::sync::atomic::{AtomicU64, Ordering};
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
/// entry is one word with the fingerprint and the time in milliseconds. A new
/// client takes a free entry of the emptier set ("power of two choices",
/// Azar, Broder, Karlin and Upfal, 1994), or else the oldest of both. A
/// request thus reads 32 words and writes at most a few, however many clients
/// there are.
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
    sets: Box<[Set]>,
}

/// 0 is a free entry, else the fingerprint above the time.
type Set = [AtomicU64; WAYS];

/// Where a client's entry may be.
struct Place {
    fingerprint: u32,
    sets: [usize; 2],
}

/// What there is for a client in its two sets.
enum Sight<'t> {
    /// It was seen so many milliseconds ago.
    Before(u32),
    /// It was not seen; it may take this entry, which has this word.
    Never(&'t AtomicU64, u64),
}

impl FirstSeen {
    /// An empty table. The seed must be random.
    #[must_use]
    pub fn new(seed: [u8; 16]) -> Self {
        FirstSeen {
            seed,
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
        let entry = word(place.fingerprint, now);
        for _ in 0..ATTEMPTS {
            match self.look(&place, now) {
                Some(Sight::Before(age)) => return Duration::from_millis(age.into()),
                // A word stands for itself: no other memory depends on it.
                Some(Sight::Never(slot, free)) => {
                    let took =
                        slot.compare_exchange(free, entry, Ordering::Relaxed, Ordering::Relaxed);
                    if took.is_ok() {
                        break;
                    }
                }
                None => break,
            }
        }
        Duration::ZERO
    }

    /// Number of clients that are remembered now, at most [`CAPACITY`].
    #[must_use]
    pub fn len(&self) -> usize {
        self.sets
            .iter()
            .flatten()
            .filter(|slot| slot.load(Ordering::Relaxed) != 0)
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
        let mut seen: Option<u32> = None;
        let mut emptiest: Option<(usize, &AtomicU64)> = None;
        let mut oldest: Option<(u32, &AtomicU64, u64)> = None;
        for set in place.sets.iter().filter_map(|set| self.sets.get(*set)) {
            let mut free = None;
            let mut room = 0;
            for slot in set {
                let word = slot.load(Ordering::Relaxed);
                let (fingerprint, time) = halves(word);
                if fingerprint == 0 {
                    room += 1;
                    free = free.or(Some(slot));
                    continue;
                }
                let age = age(time, now);
                if fingerprint == place.fingerprint {
                    // Two threads may have entered one client twice.
                    seen = seen.max(Some(age));
                }
                if oldest.is_none_or(|(oldest, ..)| age > oldest) {
                    oldest = Some((age, slot, word));
                }
            }
            if let Some(slot) = free
                && emptiest.is_none_or(|(most, _)| room > most)
            {
                emptiest = Some((room, slot));
            }
        }
        match (seen, emptiest, oldest) {
            (Some(age), ..) => Some(Sight::Before(age)),
            (None, Some((_, slot)), _) => Some(Sight::Never(slot, 0)),
            (None, None, Some((_, slot, word))) => Some(Sight::Never(slot, word)),
            (None, None, None) => None,
        }
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
