//! The schedule of weighted round robin: slots that it goes through, in which
//! each endpoint has as many slots as its weight asks for, evenly spread.
//!
//! Method. Weights are divided by their greatest common divisor; where their
//! sum is still above [`MAX_SLOTS`] they are brought down to that sum by
//! [`apportion`], with at least one slot each. Slots are then handed out in
//! order: of an endpoint with `s` of all `S` slots, the `k`-th slot
//! (`k = 0, 1, …`) is eligible from slot `floor(k·S/s)` on and is due before
//! slot `ceil((k+1)·S/s)`; of those that are eligible, the one that is due
//! first gets the slot, and among equals the one that comes first in the set.
//! So at each point of the schedule each endpoint's count is its exact share,
//! rounded down or up: there are no bursts.
//!
//! Sources: Tijdeman, "The chairman assignment problem", Discrete Mathematics
//! 32 (1980); earliest deadline first (EDF) over the windows of Baruah, Cohen,
//! Plaxton, Varvel, "Proportionate progress", Algorithmica 15 (1996).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The most slots of a schedule, unless there are more endpoints than that.
pub(super) const MAX_SLOTS: u64 = 65_536;

/// The positions (indices into `weights`) in the order of their turns.
///
/// Weights are at least 1; a 0 gets no slot.
pub(super) fn schedule(weights: &[u32]) -> Vec<u32> {
    sequence(&slot_counts(weights))
}

/// Slots per endpoint for `weights`.
fn slot_counts(weights: &[u32]) -> Vec<u32> {
    let divisor = weights.iter().fold(0, |a, &b| gcd(a, b)).max(1);
    let reduced: Vec<u32> = weights.iter().map(|&w| w / divisor).collect();
    let sum: u64 = reduced.iter().map(|&w| u64::from(w)).sum();
    let limit = MAX_SLOTS.max(weights.len() as u64);
    if sum <= limit {
        reduced
    } else {
        apportion(&reduced, limit)
    }
}

fn gcd(mut a: u32, mut b: u32) -> u32 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Divides `slots`, fewer than 2³² and at least the number of weights, among
/// `weights` in proportion, by the method of largest remainders (ties: the
/// first), each weight above 0 getting at least one.
///
/// The counts add up to `slots` if some weight is above 0.
#[allow(
    clippy::cast_possible_truncation,
    reason = "a count is at most the number of slots"
)]
fn apportion(weights: &[u32], slots: u64) -> Vec<u32> {
    let mut counts = vec![0u32; weights.len()];
    let mut order: Vec<usize> = (0..weights.len()).filter(|&i| weights[i] > 0).collect();
    order.sort_by_key(|&i| weights[i]);

    let mut left = slots;
    let mut sum: u64 = order.iter().map(|&i| u64::from(weights[i])).sum();
    // Below 2^64: a weight and the slots are each below 2^32.
    let scaled = |i: usize, left: u64| u64::from(weights[i]) * left;
    // Lightest first: as soon as one has its slot by right, all have.
    let mut lifted = 0;
    for &i in &order {
        if scaled(i, left) >= sum {
            break;
        }
        counts[i] = 1;
        left -= 1;
        sum -= u64::from(weights[i]);
        lifted += 1;
    }
    order.drain(..lifted);

    let mut rest = left;
    let mut remainders: Vec<(Reverse<u64>, usize)> = Vec::with_capacity(order.len());
    for &i in &order {
        let count = scaled(i, left) / sum;
        counts[i] = count as u32;
        rest -= count;
        remainders.push((Reverse(scaled(i, left) % sum), i));
    }
    debug_assert!(
        rest <= remainders.len() as u64,
        "each share is rounded down by less than one"
    );
    remainders.sort_unstable();
    for &(_, i) in remainders.iter().take(rest as usize) {
        counts[i] += 1;
    }
    counts
}

/// Spreads `counts[i]` slots of each `i` over as many slots as their sum.
#[allow(
    clippy::cast_possible_truncation,
    reason = "slots are less than the sum, which is the length of a vector"
)]
fn sequence(counts: &[u32]) -> Vec<u32> {
    const NOBODY: u32 = u32::MAX;
    let total: u64 = counts.iter().map(|&c| u64::from(c)).sum();
    let length = total as usize;
    // `first[t]` and `later[i]` are lists of those that are eligible from t on.
    let mut first = vec![NOBODY; length];
    let mut later = vec![NOBODY; counts.len()];
    let mut taken = vec![0u32; counts.len()];
    let mut ready = BinaryHeap::with_capacity(counts.len());
    let due = |taken: u32, count: u32| ((u64::from(taken) + 1) * total).div_ceil(u64::from(count));
    for (i, &count) in (0u32..).zip(counts) {
        if count > 0 {
            ready.push(Reverse((due(0, count), i)));
        }
    }
    let mut schedule = Vec::with_capacity(length);
    for now in 0..length {
        let mut waiting = first[now];
        while waiting != NOBODY {
            let i = waiting as usize;
            ready.push(Reverse((due(taken[i], counts[i]), waiting)));
            waiting = later[i];
        }
        let Some(Reverse((_, chosen))) = ready.pop() else {
            debug_assert!(false, "no slot is without an endpoint that is eligible");
            break;
        };
        schedule.push(chosen);
        let i = chosen as usize;
        taken[i] += 1;
        if taken[i] == counts[i] {
            continue;
        }
        let from = (u64::from(taken[i]) * total / u64::from(counts[i])) as usize;
        if from <= now {
            ready.push(Reverse((due(taken[i], counts[i]), chosen)));
        } else {
            later[i] = first[from];
            first[from] = chosen;
        }
    }
    schedule
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn spelled(weights: &[u32]) -> String {
        let letter = |p: u32| char::from(b'A' + u8::try_from(p).unwrap());
        schedule(weights).into_iter().map(letter).collect()
    }

    fn counts(order: &[u32], n: usize) -> Vec<u32> {
        let mut counts = vec![0; n];
        for &p in order {
            counts[p as usize] += 1;
        }
        counts
    }

    #[test]
    fn golden_schedules() {
        assert_eq!(spelled(&[5, 1, 1]), "AAABAAC");
        assert_eq!(spelled(&[3, 1]), "AAAB");
        assert_eq!(spelled(&[1, 2]), "BAB");
        assert_eq!(spelled(&[10, 20, 30]), "CBCABC");
        assert_eq!(spelled(&[2, 2, 1]), "ABABC");
        assert_eq!(spelled(&[7]), "A");
        assert_eq!(spelled(&[0, 4]), "B");
        assert_eq!(spelled(&[]), "");
    }

    #[test]
    fn a_common_divisor_is_taken_out() {
        assert_eq!(schedule(&[u32::MAX, u32::MAX]), [0, 1]);
        assert_eq!(schedule(&[65_535, 65_535 * 2]).len(), 3);
    }

    #[test]
    fn the_largest_weights_of_srv_fit_exactly() {
        assert_eq!(counts(&schedule(&[65_535, 1]), 2), [65_535, 1]);
    }

    #[test]
    fn huge_weights_are_scaled_and_the_lightest_keeps_a_slot() {
        let order = schedule(&[u32::MAX, 1, u32::MAX - 1]);
        assert_eq!(counts(&order, 3), [32_768, 1, 32_767]);
        let mut weights = vec![1; 999];
        weights.push(u32::MAX);
        let counts = counts(&schedule(&weights), 1000);
        assert_eq!(counts[..999], [1; 999]);
        assert_eq!(counts[999], 65_536 - 999);
    }

    #[test]
    fn more_endpoints_than_slots_have_one_each() {
        let mut weights = vec![1; 70_000];
        weights[3] = 1_000_000;
        let order = schedule(&weights);
        assert_eq!(order.len(), 70_000);
        assert!(counts(&order, 70_000).iter().all(|&c| c == 1));
    }

    proptest! {
        #[test]
        fn every_prefix_is_within_one_of_the_share(
            weights in prop::collection::vec(1u32..40, 1..12),
        ) {
            let order = schedule(&weights);
            let slots = slot_counts(&weights);
            let total: u32 = slots.iter().sum();
            prop_assert_eq!(order.len(), total as usize);
            let mut seen = vec![0u32; weights.len()];
            for (t, &p) in (1u32..).zip(&order) {
                seen[p as usize] += 1;
                for (&seen, &slots) in seen.iter().zip(&slots) {
                    prop_assert!(seen >= t * slots / total);
                    prop_assert!(seen <= (t * slots).div_ceil(total));
                }
            }
            prop_assert_eq!(seen, slots);
        }

        #[test]
        fn apportioned_counts_add_up_and_are_proportional(
            weights in prop::collection::vec(any::<u32>(), 1..50),
            slots in 50u64..100_000,
        ) {
            prop_assume!(weights.iter().any(|&w| w > 0));
            let sum: u64 = weights.iter().map(|&w| u64::from(w)).sum();
            let counts = apportion(&weights, slots);
            prop_assert_eq!(counts.iter().map(|&c| u64::from(c)).sum::<u64>(), slots);
            for (&count, &weight) in counts.iter().zip(&weights) {
                prop_assert_eq!(count == 0, weight == 0);
                // What the lightest have too much, the others lack.
                let exact = u128::from(weight) * u128::from(slots);
                prop_assert!(count <= 1 || u128::from(count) * u128::from(sum) < exact + u128::from(sum));
            }
        }
    }
}
