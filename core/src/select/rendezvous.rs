//! Rendezvous hashing: keys to endpoints, the same on every machine for the
//! same endpoints, each endpoint with its share by weight, and no key moving
//! that does not have to.
//!
//! Sources: Thaler, Ravishankar, "Using name-based mappings to increase hit
//! rates", IEEE/ACM Transactions on Networking 6 (1998); with weights: Schindelhauer,
//! Schomaker, "Weighted distributed hash tables", SPAA 2005.
//!
//! Method.
//!
//! - A key with hash `x` is in slot `s = floor(x / 2⁴⁶)`, one of 2¹⁸, whatever the
//!   number of endpoints. `y` is output `s` of `SplitMix64` seeded with 0.
//! - `h` is XXH64, seed 0, of an endpoint's identity; `g` is output 0 of `SplitMix64`
//!   seeded with `h`, made odd by setting its lowest bit. Of the 128-bit product
//!   `(y xor h) × g` the upper and the lower half, one xor the other, are `r`.
//! - With `u = (floor(r / 2¹¹) + 1) / 2⁵³` and weight `w`, the endpoint arrives
//!   at time `−ln(u) / w`. The first one to arrive is the slot's home; of those that
//!   arrive together, the first in order of identity.
//! - If the home cannot be chosen, the first to arrive of those that can is
//!   chosen, as if there were no others.
//!
//! - Endpoints that are placed by the name of their host have `h` of that name, and
//!   as `w` the greatest weight of an endpoint of the host; so all of a host arrive
//!   together. Of several the first is the one that arrives first with the `h`
//!   of its own identity and its own weight.
//!
//! A host has the greatest weight of its addresses, not their sum, so that it keeps its
//! keys, and takes no others, while it has an old and a new address. Which of its
//! addresses serves a key is fixed by the key, not left to the algorithm: hosts
//! with several addresses mostly are groups of servers, each with a cache.
//!
//! Times are exponentially distributed with rate `w`, so each is the first with
//! a probability of its share. An endpoint that comes takes the slots in which it
//! is the first, and no others change; one that leaves, or is sick, leaves
//! its own to the others; so does a weight, up or down. This holds for any number of
//! endpoints because nothing else depends on it.
//!
//! Why not Maglev: its table gives equal weights equal numbers of slots, within one,
//! and pays with keys that move between endpoints that were there before and are
//! still. From n to n + 1 endpoints, a table of 65,537 slots moves 1.6/n of the
//! keys at n = 100, 5.6/n at 500 and 7.3/n at 2,000; one of 1,048,583 slots still
//! 3.1/n at 1,000. A size that grows with n moves nearly all when it grows. Here it is
//! 1/(n + 1), at the price of shares that differ by chance, with a standard
//! deviation of `√(n / 2¹⁸)`: 0.6 % of the share with 10 endpoints, 2 % with 100, 6 %
//! with 1,000.
//!
//! Cost: O(n), about 1.5 ns an endpoint, up to [`MAX_UNTABLED`] endpoints, without
//! any table: names with few endpoints are many, and a table for each would not be small. For more, the homes of slots
//! are kept as keys ask for them, so that O(n) is paid once a slot and
//! then one look: 256 KiB up to 254 endpoints, else 512 KiB. Keys whose home cannot
//! be chosen cost O(n).

use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, Ordering::Relaxed};

use crate::random::splitmix64;

/// The slots that keys are in.
const SLOTS: usize = 1 << 18;
/// How many of a hash's bits are not the number of its slot.
const SLOT_SHIFT: u32 = 64 - SLOTS.ilog2();
/// Endpoints up to which homes are computed each time.
const MAX_UNTABLED: usize = 16;
/// What `u` is counted in.
const UNIT: f64 = 1.0 / 9_007_199_254_740_992.0;

/// Endpoints that keys have their home at.
#[derive(Debug)]
pub(super) struct Rendezvous {
    /// By position.
    contenders: Box<[Contender]>,
    /// Whether all weights are equal.
    even: bool,
    homes: Option<Homes>,
}

#[derive(Clone, Copy, Debug)]
struct Contender {
    /// Of its host, or its identity.
    hash: u64,
    multiplier: u64,
    weight: f64,
    /// The time by its rate, less more than all that rounding may add.
    shortest: f64,
}

impl Contender {
    fn new(weight: u32, hash: u64) -> Self {
        Contender {
            hash,
            multiplier: splitmix64(hash, 0) | 1,
            weight: weight.into(),
            shortest: (1.0 - 1e-9) / f64::from(weight),
        }
    }

    /// `r`, of which the upper 53 bits count.
    fn random(&self, y: u64) -> u64 {
        let product = u128::from(y ^ self.hash) * u128::from(self.multiplier);
        #[allow(clippy::cast_possible_truncation, reason = "the two halves")]
        let (upper, lower) = ((product >> 64) as u64, product as u64);
        upper ^ lower
    }

    /// `u` in units of 2⁻⁵³: 1 to 2⁵³. The greater it is the earlier it arrives.
    fn draw(&self, y: u64) -> u64 {
        (self.random(y) >> 11) + 1
    }

    /// `u`, above 0 and up to 1.
    fn u(&self, y: u64) -> f64 {
        #[allow(clippy::cast_precision_loss, reason = "at most 2^53")]
        let draw = self.draw(y).cast_signed() as f64;
        draw * UNIT
    }

    /// When it arrives.
    fn time(&self, y: u64) -> f64 {
        -self.u(y).ln() / self.weight
    }

    /// A time before which it does not arrive: for `d = 1 − u`, the logarithm's
    /// series is `d + d²/2 + d³/3 + …`.
    fn earliest(&self, y: u64) -> f64 {
        let d = 1.0 - self.u(y);
        (d + d * d / 2.0) * self.shortest
    }

    /// A time after which it does not arrive: the terms from `d³` on add up to
    /// less than `d³/2 + d⁴/2 + …`.
    fn latest(&self, y: u64) -> f64 {
        let d = 1.0 - self.u(y);
        d * (2.0 - d) / (2.0 * (1.0 - d)) / self.weight
    }
}

impl Rendezvous {
    /// Of endpoints, at least one, each a weight above 0 and the hash of its
    /// identity, given in order of identity.
    pub(super) fn new(endpoints: impl Iterator<Item = (u32, u64)>) -> Self {
        let contenders: Box<[Contender]> = endpoints
            .map(|(weight, hash)| Contender::new(weight, hash))
            .collect();
        let weight = |c: &Contender| c.weight.to_bits();
        Rendezvous {
            even: contenders
                .windows(2)
                .all(|c| weight(&c[0]) == weight(&c[1])),
            homes: (contenders.len() > MAX_UNTABLED).then(|| Homes::of(contenders.len())),
            contenders,
        }
    }

    /// The position of a key's home.
    fn home(&self, key: u64) -> usize {
        let (slot, y) = slot(key);
        if let Some(home) = self.homes.as_ref().and_then(|homes| homes.get(slot)) {
            return home;
        }
        let home = self.first_of_all(y);
        if let Some(homes) = &self.homes {
            homes.set(slot, home);
        }
        home
    }

    /// The position of the first one to arrive that is accepted. Only asks
    /// about those that arrive before all that it has accepted.
    fn first(&self, y: u64, mut accepts: impl FnMut(usize) -> bool) -> Option<usize> {
        let mut first = None;
        if self.even {
            let mut greatest = 0;
            for (position, contender) in self.contenders.iter().enumerate() {
                let draw = contender.draw(y);
                if draw > greatest && accepts(position) {
                    greatest = draw;
                    first = Some(position);
                }
            }
            return first;
        }
        let mut best = f64::INFINITY;
        for (position, contender) in self.contenders.iter().enumerate() {
            if contender.earliest(y) >= best {
                continue;
            }
            let time = contender.time(y);
            if time < best && accepts(position) {
                best = time;
                first = Some(position);
            }
        }
        first
    }

    /// The position of the first one to arrive. Without branches, as each would be
    /// guessed wrong now and then: positions take the place of bits that decide
    /// nothing, and go along. With weights mostly without a logarithm: the one that
    /// may arrive first is the first if no other may arrive before it must.
    fn first_of_all(&self, y: u64) -> usize {
        const POSITION: u64 = (1 << 11) - 1;
        let exact = || self.first(y, |_| true).unwrap_or(0);
        if self.contenders.len() > MAX_UNTABLED {
            return exact();
        }
        let contenders = (0..).zip(&self.contenders);
        #[allow(clippy::cast_possible_truncation, reason = "at most POSITION")]
        let position = |packed: u64| (packed & POSITION) as usize;
        if self.even {
            let packed = contenders.map(|(p, c)| c.random(y) & !POSITION | (POSITION - p));
            return position(!packed.fold(0, u64::max));
        }
        let (mut first, mut second) = (u64::MAX, u64::MAX);
        for (p, contender) in contenders {
            // Of floating-point numbers that are not negative the bits are in order.
            let packed = contender.earliest(y).to_bits() & !POSITION | p;
            second = second.min(packed.max(first));
            first = first.min(packed);
        }
        let first = position(first);
        if self.contenders[first].latest(y).to_bits() < second & !POSITION {
            return first;
        }
        exact()
    }

    /// The position of the key's first endpoint that is accepted.
    pub(super) fn pick(&self, key: u64, accepts: impl Fn(usize) -> bool) -> Option<usize> {
        let home = self.home(key);
        if accepts(home) {
            return Some(home);
        }
        self.first(slot(key).1, accepts)
    }
}

/// The slot of a key, and its `y`.
fn slot(key: u64) -> (usize, u64) {
    let slot = key >> SLOT_SHIFT;
    #[allow(clippy::cast_possible_truncation, reason = "less than SLOTS")]
    (slot as usize, splitmix64(0, slot))
}

/// The homes of slots, as far as they are known: positions plus 1, in the
/// narrowest integer that holds them. Threads may find the same one
/// twice; they find the same.
#[derive(Debug)]
enum Homes {
    Narrow(Box<[AtomicU8]>),
    Middle(Box<[AtomicU16]>),
    Wide(Box<[AtomicU32]>),
}

impl Homes {
    /// Of `n` endpoints, none known.
    fn of(n: usize) -> Self {
        if u8::try_from(n).is_ok() {
            Homes::Narrow((0..SLOTS).map(|_| AtomicU8::new(0)).collect())
        } else if u16::try_from(n).is_ok() {
            Homes::Middle((0..SLOTS).map(|_| AtomicU16::new(0)).collect())
        } else {
            Homes::Wide((0..SLOTS).map(|_| AtomicU32::new(0)).collect())
        }
    }

    fn get(&self, slot: usize) -> Option<usize> {
        let known = match self {
            Homes::Narrow(homes) => usize::from(homes[slot].load(Relaxed)),
            Homes::Middle(homes) => usize::from(homes[slot].load(Relaxed)),
            Homes::Wide(homes) => homes[slot].load(Relaxed) as usize,
        };
        known.checked_sub(1)
    }

    #[allow(
        clippy::cast_possible_truncation,
        reason = "the number of endpoints fits, and a position is less than that"
    )]
    fn set(&self, slot: usize, position: usize) {
        let known = position + 1;
        match self {
            Homes::Narrow(homes) => homes[slot].store(known as u8, Relaxed),
            Homes::Middle(homes) => homes[slot].store(known as u16, Relaxed),
            Homes::Wide(homes) => homes[slot].store(known as u32, Relaxed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::select::key_hash;
    use proptest::prelude::*;

    fn rendezvous(members: &[(&str, u32)]) -> Rendezvous {
        let mut members = members.to_vec();
        members.sort_unstable();
        let hash = |&(id, weight): &(&str, u32)| (weight, key_hash(id.as_bytes()));
        Rendezvous::new(members.iter().map(hash))
    }

    /// Of `n` endpoints with these weights, over and over.
    fn many(n: usize, weights: &[u32]) -> Rendezvous {
        let weights = weights.iter().cycle();
        Rendezvous::new(
            (0..n as u64)
                .map(|i| splitmix64(7, i))
                .zip(weights)
                .map(|(h, w)| (*w, h)),
        )
    }

    fn key(slot: usize) -> u64 {
        (slot as u64) << SLOT_SHIFT
    }

    /// The shares of all slots, with the home of every `step`-th looked at.
    fn shares(rendezvous: &Rendezvous, step: usize) -> Vec<f64> {
        let mut shares = vec![0.0; rendezvous.contenders.len()];
        let part = f64::from(u32::try_from(SLOTS / step).unwrap());
        for slot in (0..SLOTS).step_by(step) {
            shares[rendezvous.home(key(slot))] += 1.0 / part;
        }
        shares
    }

    #[test]
    fn golden_homes_of_the_first_slots() {
        let three = ["192.0.2.1:80", "192.0.2.2:80", "[2001:db8::1]:80"];
        let homes = |rendezvous: &Rendezvous| {
            let homes = (0..24).map(|slot| rendezvous.home(key(slot)).to_string());
            homes.collect::<String>()
        };
        assert_eq!(homes(&rendezvous(&three.map(|id| (id, 1)))), GOLDEN_EVEN);
        let weights = [(three[0], 1), (three[1], 2), (three[2], 4)];
        assert_eq!(homes(&rendezvous(&weights)), GOLDEN_WEIGHTED);
    }
    const GOLDEN_EVEN: &str = "100002102002222122001222";
    const GOLDEN_WEIGHTED: &str = "120222102202222122001222";

    #[test]
    fn from_any_n_to_one_more_up_to_2000_less_than_two_nths_move() {
        // The greatest draws so far in every eighth slot.
        let slots: Vec<u64> = (0..SLOTS).step_by(8).map(|s| slot(key(s)).1).collect();
        let mut greatest = vec![0; slots.len()];
        for n in 0..=2000usize {
            let newcomer = Contender::new(1, splitmix64(7, n as u64));
            let mut moved = 0;
            for (y, greatest) in slots.iter().zip(&mut greatest) {
                let draw = newcomer.draw(*y);
                if draw > *greatest {
                    *greatest = draw;
                    moved += 1;
                }
            }
            assert!(moved * n < 2 * slots.len(), "{n}: {moved}");
        }
    }

    #[test]
    fn shares_are_those_of_the_weights_within_what_chance_allows() {
        for (n, weights) in [
            (2, vec![1]),
            (10, vec![1]),
            (100, vec![1]),
            (3, vec![1, 2, 4]),
            (10, vec![1, 255]),
            (100, vec![65_535, 1, 100]),
            (2, vec![u32::MAX, u32::MAX / 3]),
        ] {
            let rendezvous = many(n, &weights);
            let sum: f64 = rendezvous.contenders.iter().map(|c| c.weight).sum();
            for (share, contender) in shares(&rendezvous, 16).iter().zip(&rendezvous.contenders) {
                let expected = contender.weight / sum;
                let deviation = (expected * (1.0 - expected) / 16_384.0).sqrt();
                let off = (share - expected).abs();
                assert!(
                    off < 4.5 * deviation,
                    "{n} {weights:?}: {share}, not {expected}"
                );
            }
        }
    }

    #[test]
    fn equal_weights_have_the_same_homes_whatever_they_are() {
        let ones = many(5, &[1]);
        let mut sevens = many(5, &[7]);
        sevens.even = false;
        for slot in 0..2000 {
            assert_eq!(ones.home(key(slot)), sevens.home(key(slot)));
        }
    }

    #[test]
    fn homes_that_are_kept_are_those_that_are_computed() {
        for (n, weights) in [1, 2, 3, 16, 17, 254, 255, 256, 300]
            .into_iter()
            .zip([[1, 3], [1, 1]].iter().cycle())
        {
            let rendezvous = many(n, weights);
            let computed = |slot: usize| rendezvous.first(super::slot(key(slot)).1, |_| true);
            for slot in (0..SLOTS).step_by(4099) {
                let first = rendezvous.home(key(slot));
                assert_eq!(Some(first), computed(slot));
                assert_eq!(rendezvous.home(key(slot)), first);
            }
        }
        let wide = Homes::of(70_000);
        wide.set(SLOTS - 1, 69_999);
        assert_eq!((wide.get(SLOTS - 1), wide.get(0)), (Some(69_999), None));
    }

    #[test]
    fn equal_identities_go_to_the_first() {
        let rendezvous = rendezvous(&[("a", 1), ("a", 1)]);
        assert!((0..100).all(|slot| rendezvous.home(key(slot)) == 0));
    }

    proptest! {
        #[test]
        fn only_the_keys_of_what_changes_move(
            weights in prop::collection::vec(1u32..1000, 2..40),
            changed in any::<prop::sample::Index>(),
            other in prop::option::of(1u32..1000),
            keys in prop::collection::vec(any::<u64>(), 50),
        ) {
            // The weight becomes another one, or the endpoint leaves.
            let changed = changed.index(weights.len());
            let hashes: Vec<u64> = (0..weights.len() as u64).map(|i| splitmix64(9, i)).collect();
            let members = || weights.iter().copied().zip(hashes.iter().copied());
            let before = Rendezvous::new(members());
            let after = Rendezvous::new(members().enumerate().filter_map(|(i, (weight, hash))| {
                if i == changed { other.map(|w| (w, hash)) } else { Some((weight, hash)) }
            }));
            let grows = other.is_some_and(|w| w > weights[changed]);
            for key in keys {
                let (before, after) = (before.home(key), after.home(key));
                let after = if other.is_none() && after >= changed { after + 1 } else { after };
                let moved_to = if grows { after } else { before };
                prop_assert!(before == after || moved_to == changed);
            }
        }

        #[test]
        fn what_cannot_be_chosen_is_as_if_it_were_not_there(
            members in prop::collection::vec((1u32..5, any::<bool>()), 1..40),
            keys in prop::collection::vec(any::<u64>(), 20),
        ) {
            let all = || members.iter().zip(0..).map(|(m, i)| (m.0, splitmix64(9, i)));
            let there: Vec<usize> = (0..members.len()).filter(|&i| members[i].1).collect();
            let every = Rendezvous::new(all());
            for key in keys {
                let picked = every.pick(key, |i| members[i].1);
                let alone = (!there.is_empty()).then(|| {
                    let some = Rendezvous::new(all().enumerate().filter(|(i, _)| members[*i].1).map(|m| m.1));
                    there[some.home(key)]
                });
                prop_assert_eq!(picked, alone);
            }
        }
    }
}
