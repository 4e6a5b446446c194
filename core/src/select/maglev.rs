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

use super::eligibility::Eligibility;
use super::index_table::IndexTable;
use super::tier::EndpointSet;
use super::{EndpointState, wrr_schedule};
use crate::random::{reduce, splitmix64};

/// The power of two below the least size of a table.
const MIN_SIZE: u64 = 1 << 12;
/// Slots per endpoint, at least. With 100 the table of ten endpoints lets up to 3.3 %
/// of the other keys move when one endpoint leaves, with 200 half as many.
const MIN_PER_ENDPOINT: u64 = 200;
/// Slots of the table in which a key looks before it asks all endpoints.
const MAX_PROBES: u64 = 32;

/// A table of slots, each with the position of an endpoint.
#[derive(Debug)]
pub(super) struct Table {
    slots: IndexTable,
}

impl Table {
    /// The table of endpoints, each a weight above 0 and the hash of its
    /// identity, given in order of identity.
    pub(super) fn new(endpoints: impl Iterator<Item = (u32, u64)>) -> Self {
        let (weights, hashes): (Vec<u32>, Vec<u64>) = endpoints.unzip();
        let size = size(weights.len() as u64);
        Table::with_size(&weights, &hashes, size)
    }

    /// A table of `size` slots, a prime.
    fn with_size(weights: &[u32], hashes: &[u64], size: u64) -> Self {
        let even = weights.windows(2).all(|pair| pair[0] == pair[1]);
        let places: Vec<(u64, u64)> = hashes.iter().map(|&h| preference(h, size)).collect();
        let slots = if even {
            #[allow(
                clippy::cast_possible_truncation,
                reason = "positions are 32 bits wide"
            )]
            let turns = (0..weights.len() as u32).cycle();
            populate(&places, turns, size)
        } else {
            let turns = turns(&wrr_schedule::apportion(weights, size, 0));
            populate(&places, turns.into_iter(), size)
        };
        Table {
            slots: IndexTable::new(slots),
        }
    }

    /// The position of the endpoint in the slot of a hash.
    pub(super) fn at(&self, hash: u64) -> usize {
        #[allow(clippy::cast_possible_truncation, reason = "less than a usize")]
        let slot = reduce(hash, self.slots.len() as u64) as usize;
        self.slots.at(slot)
    }
}

/// The size of the table of `n` endpoints.
fn size(n: u64) -> u64 {
    let wanted = n.saturating_mul(MIN_PER_ENDPOINT);
    let mut power = MIN_SIZE;
    while power < wanted && power < 1 << 40 {
        power <<= 2;
    }
    let prime = |&m: &u64| (2..=m.isqrt()).all(|d| !m.is_multiple_of(d));
    (power..power * 2).find(prime).unwrap_or(power)
}

/// The first preferred slot of an identity's hash and the step to the next.
fn preference(identity: u64, size: u64) -> (u64, u64) {
    let offset = reduce(splitmix64(identity, 0), size);
    let skip = 1 + reduce(splitmix64(identity, 1), size.saturating_sub(1));
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
pub(super) fn walk(
    set: &EndpointSet,
    key: u64,
    mut visit: impl FnMut(usize) -> bool,
) -> Option<usize> {
    if set.len() == 1 {
        return visit(0).then_some(0);
    }
    let table = set.table();
    let home = table.at(key);
    if visit(home) {
        return Some(home);
    }
    for probe in 0..MAX_PROBES - 1 {
        let position = table.at(splitmix64(key, probe));
        if visit(position) {
            return Some(position);
        }
    }
    #[allow(clippy::cast_possible_truncation, reason = "less than a usize")]
    let start = reduce(splitmix64(key, MAX_PROBES - 1), set.len() as u64) as usize;
    (start..set.len())
        .chain(0..start)
        .find(|&position| visit(position))
}

/// The position of the key's first endpoint that can be chosen.
pub(super) fn pick<S: EndpointState, E: Fn(usize) -> bool>(
    set: &EndpointSet,
    eligibility: &Eligibility<'_, S, E>,
    key: u64,
) -> Option<usize> {
    walk(set, key, |position| {
        eligibility.accepts(set.index(position))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::select::key_hash;
    use proptest::prelude::*;

    /// The table of members, and of a certain size if one is given.
    fn table(members: &[(&str, u32)], size: Option<u64>) -> Table {
        let mut members = members.to_vec();
        members.sort_unstable();
        let endpoints = members
            .iter()
            .map(|&(id, weight)| (weight, key_hash(id.as_bytes())));
        let Some(size) = size else {
            return Table::new(endpoints);
        };
        let (weights, hashes): (Vec<u32>, Vec<u64>) = endpoints.unzip();
        Table::with_size(&weights, &hashes, size)
    }

    fn positions(table: &Table) -> Vec<usize> {
        let slots = &table.slots;
        (0..slots.len()).map(|slot| slots.at(slot)).collect()
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
        let even = table(&THREE.map(|id| (id, 1)), Some(7));
        assert_eq!(positions(&even), [0, 1, 2, 2, 0, 0, 1]);
        let weighted = [(THREE[0], 1), (THREE[1], 2), (THREE[2], 4)];
        let weighted = table(&weighted, Some(7));
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
            let counts = counts(&positions(&table(&members, None)), n);
            let (least, most) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
            assert!(most - least <= 1, "{n}: {least} to {most}");
        }
    }

    #[test]
    fn the_lightest_beside_the_heaviest_may_have_no_slot() {
        let table = table(&[("a", u32::MAX), ("b", 1)], None);
        assert_eq!(counts(&positions(&table), 2), [4099, 0]);
    }

    #[test]
    fn equal_identities_share_the_table() {
        let table = table(&[("a", 1), ("a", 1)], Some(7));
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
            let table = table(&members, None);
            let counts = counts(&positions(&table), weights.len());
            prop_assert_eq!(counts.iter().sum::<u64>(), table.slots.len() as u64);
            let sum: u128 = weights.iter().map(|&w| u128::from(w)).sum();
            for (&count, &weight) in counts.iter().zip(&weights) {
                let share = u128::from(weight) * u128::from(table.slots.len() as u64);
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
