//! Maglev: a table from keys to endpoints that is the same on every machine
//! for the same endpoints, gives each its share, and changes little when
//! one comes or goes.
//!
//! Source: Eisenbud et al., "Maglev: A fast and reliable software network load
//! balancer", NSDI 2016, section 3.4.
//!
//! Method, for `n` endpoints in order of identity (as bytes):
//!
//! - Size `M`: the least prime above 2¹²; for more than 20 endpoints
//!   above 2¹⁴, and so on: four times as much whenever `200 × n` is more than that
//!   power. So 4099, 16411, 65537, 262147, 1048583, … . The steps are coarse
//!   because a change of size moves most keys: it happens when a set grows from
//!   20 endpoints to 21, from 81 to 82, from 327 to 328, from 1310 to 1311.
//! - `h` = XXH64, seed 0, of the identity; `r0`, `r1` = the first two outputs of
//!   `SplitMix64` seeded with `h`. `offset = floor(r0 × M / 2⁶⁴)`, `skip = 1 +
//!   floor(r1 × (M − 1) / 2⁶⁴)`. The endpoint's `j`-th preference is slot
//!   `(offset + j × skip) mod M`.
//! - Endpoints take turns; in its turn one takes its first preference that is
//!   still free, until the table is full. Equal weights: in order of identity, over
//!   and over. Else each gets `q` slots, its exact share of `M` rounded by the
//!   method of largest remainders (ties: in order of identity); its `k`-th slot
//!   (`k = 1 … q`) is taken in round `ceil(k × q_max / q)`, each round in order of
//!   identity. An endpoint whose share is less than a slot may have none.
//! - A key with hash `x` has its home in slot `floor(x × M / 2⁶⁴)`. If the
//!   endpoint there cannot be chosen, the key's next ones are those in the
//!   slots of the outputs 0, 1, …, 30 of `SplitMix64` seeded with `x`, then, with
//!   output 31 as `y`, all endpoints in order of identity, round, from
//!   position `floor(y × n / 2⁶⁴)` on.
//!
//! Cost of a choice: one look-up; with a part `p` of the endpoints sick
//! `1 / (1 − p)` of them, at most `32 + n`.

use super::gate::Gate;
use super::pool::{Pool, Seat};
use super::slots::Slots;
use super::{Live, hash, wheel};

/// The power of two below the least size of a table.
const LEAST: u64 = 1 << 12;
/// Slots per endpoint, at least. With 100 the table of ten endpoints lets up to 3.3 %
/// of the other keys move when one endpoint leaves, with 200 half as many.
const PER_SEAT: u64 = 200;
/// Slots of the table in which a key looks before it asks all endpoints.
const PROBES: u64 = 32;

/// A table of slots, each with the position of an endpoint.
#[derive(Debug)]
pub(super) struct Table {
    slots: Slots,
    size: u64,
}

impl Table {
    /// The table of `seats`, given in order of identity.
    pub(super) fn new(seats: &[Seat]) -> Self {
        Table::with_size(seats, size(seats.len() as u64))
    }

    /// A table of `size` slots, a prime.
    fn with_size(seats: &[Seat], size: u64) -> Self {
        let even = seats.windows(2).all(|pair| match pair {
            [a, b] => a.share() == b.share(),
            _ => true,
        });
        let places: Vec<(u64, u64)> = seats.iter().map(|s| preference(s.identity, size)).collect();
        let slots = if even {
            let turns = (0..u32::try_from(seats.len()).unwrap_or(u32::MAX)).cycle();
            populate(&places, turns, size)
        } else {
            let weights: Vec<u32> = seats.iter().map(|s| s.share()).collect();
            let turns = turns(&wheel::apportion(&weights, size, 0));
            populate(&places, turns.into_iter(), size)
        };
        Table {
            slots: Slots::new(slots),
            size,
        }
    }

    /// The position of the endpoint in the slot of a hash.
    pub(super) fn at(&self, hash: u64) -> usize {
        self.slots.at(hash::scale(hash, self.size))
    }
}

/// The size of the table of `n` endpoints.
fn size(n: u64) -> u64 {
    let wanted = n.saturating_mul(PER_SEAT);
    let mut power = LEAST;
    while power < wanted && power < 1 << 40 {
        power <<= 2;
    }
    let prime = |&m: &u64| (2..=m.isqrt()).all(|d| !m.is_multiple_of(d));
    (power..power * 2).find(prime).unwrap_or(power)
}

/// The first preferred slot of an identity's hash and the step to the next.
fn preference(identity: u64, size: u64) -> (u64, u64) {
    let offset = hash::scale(hash::split(identity, 0), size);
    let skip = 1 + hash::scale(hash::split(identity, 1), size.saturating_sub(1));
    (offset, skip)
}

/// The order in which endpoints take their `quotas` of slots.
fn turns(quotas: &[u32]) -> Vec<u32> {
    let most = quotas.iter().copied().max().unwrap_or(0);
    let rounds = |quota: u32| {
        (1..=u64::from(quota)).map(move |k| (k * u64::from(most)).div_ceil(u64::from(quota.max(1))))
    };
    // A counting sort by round; within a round the order is that of identity.
    let mut start = vec![0usize; most as usize + 2];
    for &quota in quotas {
        for round in rounds(quota) {
            if let Some(count) = start.get_mut(usize::try_from(round).unwrap_or(0) + 1) {
                *count += 1;
            }
        }
    }
    let mut sum = 0;
    for count in &mut start {
        sum += *count;
        *count = sum;
    }
    let mut order = vec![0; sum];
    for (seat, &quota) in (0u32..).zip(quotas) {
        for round in rounds(quota) {
            let Some(next) = start.get_mut(usize::try_from(round).unwrap_or(0)) else {
                continue;
            };
            if let Some(turn) = order.get_mut(*next) {
                *turn = seat;
            }
            *next += 1;
        }
    }
    order
}

/// Fills a table: each of `turns` takes its first free preference.
fn populate(preferences: &[(u64, u64)], turns: impl Iterator<Item = u32>, size: u64) -> Vec<u32> {
    let mut slots = vec![0; usize::try_from(size).unwrap_or(0)];
    // One bit per slot: this stays in the nearest cache while the table does not.
    let mut taken = vec![0u64; slots.len().div_ceil(64)];
    let is_taken = |taken: &[u64], slot: u64| {
        let word = usize::try_from(slot / 64).ok().and_then(|i| taken.get(i));
        word.is_none_or(|word| word >> (slot % 64) & 1 == 1)
    };
    let mut next = preferences.to_vec();
    for seat in turns.take(slots.len()) {
        let Some((preferred, skip)) = next.get_mut(seat as usize) else {
            continue;
        };
        let mut slot = *preferred;
        // `slot + skip` modulo `size`; written as a minimum because a branch here
        // would be guessed wrong half of the time.
        let after = |slot: u64| (slot + *skip).min((slot + *skip).wrapping_sub(size));
        let mut steps = 1;
        while is_taken(&taken, slot) && steps < size {
            slot = after(slot);
            steps += 1;
        }
        *preferred = after(slot);
        let place = usize::try_from(slot).unwrap_or(0);
        if let (Some(word), Some(entry)) = (taken.get_mut(place / 64), slots.get_mut(place)) {
            *word |= 1 << (place % 64);
            *entry = seat;
        }
    }
    slots
}

/// The first position of the key's order that `visit` accepts. Each position
/// is offered at least once, some more often.
pub(super) fn walk(pool: &Pool, key: u64, mut visit: impl FnMut(usize) -> bool) -> Option<usize> {
    let n = pool.len();
    if n == 1 {
        return visit(0).then_some(0);
    }
    let table = pool.table();
    let home = table.at(key);
    if visit(home) {
        return Some(home);
    }
    for probe in 0..PROBES - 1 {
        let position = table.at(hash::split(key, probe));
        if visit(position) {
            return Some(position);
        }
    }
    let start = hash::scale(hash::split(key, PROBES - 1), n);
    let round = (start..n).chain(0..start);
    round
        .filter_map(|position| usize::try_from(position).ok())
        .find(|&position| visit(position))
}

/// The position of the key's first endpoint that can be chosen.
pub(super) fn pick<L: Live, E: Fn(usize) -> bool>(
    pool: &Pool,
    gate: &Gate<'_, L, E>,
    key: u64,
) -> Option<usize> {
    walk(pool, key, |position| {
        let seat = pool.seats.get(position);
        seat.is_some_and(|seat| gate.open(seat.index()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn seats(members: &[(&str, u32)]) -> Vec<Seat> {
        let mut members = members.to_vec();
        members.sort_unstable();
        let seat = |(rank, &(id, weight)): (u32, &(&str, u32))| Seat {
            index: rank,
            weight,
            tier: 0,
            rank,
            identity: hash::key_hash(id.as_bytes()),
        };
        (0u32..).zip(&members).map(seat).collect()
    }

    fn positions(table: &Table) -> Vec<usize> {
        (0..table.size).map(|slot| table.slots.at(slot)).collect()
    }

    fn counts(positions: &[usize], n: usize) -> Vec<u64> {
        let mut counts = vec![0; n];
        for &position in positions {
            counts[position] += 1;
        }
        counts
    }

    const THREE: [&str; 3] = ["192.0.2.1:80", "192.0.2.2:80", "[2001:db8::1]:80"];

    #[test]
    fn the_example_of_the_paper() {
        // Table 1 of the paper: three backends, seven slots, and without B1.
        let all = [(3, 4), (0, 2), (3, 1)];
        assert_eq!(populate(&all, (0..3).cycle(), 7), [1, 0, 1, 0, 2, 2, 0]);
        assert_eq!(
            populate(&[all[0], all[2]], (0..2).cycle(), 7),
            [0, 0, 0, 0, 1, 1, 1]
        );
    }

    #[test]
    fn golden_table_of_seven_slots_and_three_endpoints() {
        let even = Table::with_size(&seats(&THREE.map(|id| (id, 1))), 7);
        assert_eq!(positions(&even), [0, 1, 2, 2, 0, 0, 1]);
        let weighted = [(THREE[0], 1), (THREE[1], 2), (THREE[2], 4)];
        let weighted = Table::with_size(&seats(&weighted), 7);
        assert_eq!(positions(&weighted), [2, 1, 2, 2, 1, 2, 0]);
    }

    #[test]
    fn sizes_are_primes_in_coarse_steps() {
        for (n, expected) in [
            (0, 4099),
            (3, 4099),
            (20, 4099),
            (21, 16_411),
            (81, 16_411),
            (82, 65_537),
            (327, 65_537),
            (328, 262_147),
            (1310, 262_147),
            (1311, 1_048_583),
        ] {
            assert_eq!(size(n), expected, "for {n}");
        }
    }

    #[test]
    fn equal_weights_differ_by_at_most_one_slot() {
        for n in [1, 2, 3, 10, 100, 1000] {
            let ids: Vec<String> = (0..n)
                .map(|i| format!("10.0.{}.{}:80", i / 250, i % 250))
                .collect();
            let members: Vec<(&str, u32)> = ids.iter().map(|id| (&**id, 7)).collect();
            let counts = counts(&positions(&Table::new(&seats(&members))), n);
            let (least, most) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
            assert!(most - least <= 1, "{n}: {least} to {most}");
        }
    }

    #[test]
    fn the_lightest_beside_the_heaviest_may_have_no_slot() {
        let table = Table::new(&seats(&[("a", u32::MAX), ("b", 1)]));
        assert_eq!(counts(&positions(&table), 2), [4099, 0]);
    }

    #[test]
    fn equal_identities_share_the_table() {
        let table = Table::with_size(&seats(&[("a", 1), ("a", 1)]), 7);
        assert_eq!(counts(&positions(&table), 2), [4, 3]);
    }

    proptest! {
        #[test]
        fn slots_are_within_one_of_the_proportion(
            weights in prop::collection::vec(1u32.., 1..40),
        ) {
            let ids: Vec<String> = (0..weights.len()).map(|i| format!("10.0.0.{i:03}:80")).collect();
            let members: Vec<(&str, u32)> =
                ids.iter().zip(&weights).map(|(id, &w)| (&**id, w)).collect();
            let table = Table::new(&seats(&members));
            let counts = counts(&positions(&table), weights.len());
            prop_assert_eq!(counts.iter().sum::<u64>(), table.size);
            let sum: u128 = weights.iter().map(|&w| u128::from(w)).sum();
            for (&count, &weight) in counts.iter().zip(&weights) {
                let share = u128::from(weight) * u128::from(table.size);
                prop_assert!((u128::from(count) + 1) * sum > share);
                prop_assert!(u128::from(count) * sum < share + sum);
            }
        }

        #[test]
        fn turns_give_each_its_quota(quotas in prop::collection::vec(0u32..50, 0..20)) {
            let order = turns(&quotas);
            for (seat, &quota) in (0u32..).zip(&quotas) {
                let given = order.iter().filter(|&&s| s == seat).count();
                prop_assert_eq!(given, quota as usize);
            }
        }
    }
}
