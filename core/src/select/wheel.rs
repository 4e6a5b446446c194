//! The wheel: a schedule of slots that round robin goes through, in which
//! each endpoint has as many slots as its weight asks for, evenly spread.
//!
//! Method. Weights are divided by their greatest common divisor; where their
//! sum is still above [`SLOTS`] they are brought down to that sum by
//! [`apportion`], with at least one slot each. Slots are then handed out in
//! order: of an endpoint with `s` of all `S` slots, the `k`-th slot
//! (`k = 0, 1, …`) may be had from slot `floor(k·S/s)` on and is due before
//! slot `ceil((k+1)·S/s)`; of those that may be had, the one that is due
//! first gets the slot, and among equals the one that comes first in the pool.
//! So at each point of the wheel each endpoint's count is its exact share,
//! rounded down or up: there are no bursts.
//!
//! Sources: Tijdeman, "The chairman assignment problem", Discrete Mathematics
//! 32 (1980); earliest deadline first over the windows of Baruah, Cohen,
//! Plaxton, Varvel, "Proportionate progress", Algorithmica 15 (1996).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The most slots of a wheel, unless there are more endpoints than that.
pub(super) const SLOTS: u64 = 65_536;

/// The positions (indices into `weights`) in the order of the wheel.
///
/// Weights are at least 1; a 0 gets no slot.
pub(super) fn schedule(weights: &[u32]) -> Vec<u32> {
    sequence(&reduce(weights))
}

/// Slots per endpoint for `weights`.
fn reduce(weights: &[u32]) -> Vec<u32> {
    let divisor = weights.iter().fold(0, |a, &b| gcd(a, b)).max(1);
    let reduced: Vec<u32> = weights.iter().map(|&w| w / divisor).collect();
    let sum: u64 = reduced.iter().map(|&w| u64::from(w)).sum();
    let limit = SLOTS.max(weights.len() as u64);
    if sum <= limit {
        reduced
    } else {
        apportion(&reduced, limit, 1)
    }
}

fn gcd(mut a: u32, mut b: u32) -> u32 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Divides `slots` among `weights` in proportion, by the method of largest
/// remainders (ties: the first), each weight above 0 getting at least `least`.
///
/// With `least = 0` each count differs from the exact share by less than 1.
/// The counts add up to `slots` if `slots` is at least `least` times the
/// number of weights and some weight is above 0.
pub(super) fn apportion(weights: &[u32], slots: u64, least: u32) -> Vec<u32> {
    let mut counts = vec![0u32; weights.len()];
    let mut order: Vec<usize> = (0..weights.len()).collect();
    let weight = |i: usize| u64::from(weights.get(i).copied().unwrap_or(0));
    order.retain(|&i| weight(i) > 0);
    order.sort_by_key(|&i| weight(i));

    let mut left = slots;
    let mut sum: u64 = order.iter().map(|&i| weight(i)).sum();
    let share =
        |w: u64, left: u64, sum: u64| u128::from(w) * u128::from(left) / u128::from(sum.max(1));
    // Lightest first: as soon as one has its minimum by right, all have.
    let mut lifted = 0;
    for &i in &order {
        if share(weight(i), left, sum) >= u128::from(least) {
            break;
        }
        if let Some(count) = counts.get_mut(i) {
            *count = least;
        }
        left = left.saturating_sub(u64::from(least));
        sum -= weight(i);
        lifted += 1;
    }
    order.drain(..lifted);

    let mut given = 0u64;
    let mut remainders: Vec<(Reverse<u128>, usize)> = Vec::with_capacity(order.len());
    for &i in &order {
        let floor = share(weight(i), left, sum);
        let remainder = u128::from(weight(i)) * u128::from(left) % u128::from(sum.max(1));
        remainders.push((Reverse(remainder), i));
        if let Some(count) = counts.get_mut(i) {
            *count = u32::try_from(floor).unwrap_or(u32::MAX);
            given += u64::from(*count);
        }
    }
    remainders.sort_unstable();
    let rest = usize::try_from(left.saturating_sub(given)).unwrap_or(0);
    for &(_, i) in remainders.iter().take(rest) {
        if let Some(count) = counts.get_mut(i) {
            *count = count.saturating_add(1);
        }
    }
    counts
}

/// Spreads `counts[i]` slots of each `i` over a wheel of their sum.
fn sequence(counts: &[u32]) -> Vec<u32> {
    const NOBODY: u32 = u32::MAX;
    let total: u64 = counts.iter().map(|&c| u64::from(c)).sum();
    let length = usize::try_from(total).unwrap_or(0);
    // `first[t]` and `later[i]` are lists of those that may be had from t on.
    let mut first = vec![NOBODY; length];
    let mut later = vec![NOBODY; counts.len()];
    let mut taken = vec![0u32; counts.len()];
    let mut ready = BinaryHeap::with_capacity(counts.len());
    let due =
        |taken: u32, count: u32| ((u64::from(taken) + 1) * total).div_ceil(u64::from(count.max(1)));
    for (i, &count) in (0u32..).zip(counts) {
        if count > 0 {
            ready.push(Reverse((due(0, count), i)));
        }
    }
    let mut wheel = Vec::with_capacity(length);
    for now in 0..length {
        let mut waiting = first.get(now).copied().unwrap_or(NOBODY);
        while let (Some(&taken), Some(&count)) =
            (taken.get(waiting as usize), counts.get(waiting as usize))
        {
            ready.push(Reverse((due(taken, count), waiting)));
            waiting = later.get(waiting as usize).copied().unwrap_or(NOBODY);
        }
        let Some(Reverse((_, chosen))) = ready.pop() else {
            continue;
        };
        wheel.push(chosen);
        let at = chosen as usize;
        let (Some(taken), Some(&count)) = (taken.get_mut(at), counts.get(at)) else {
            continue;
        };
        *taken += 1;
        if *taken >= count {
            continue;
        }
        let from = u64::from(*taken) * total / u64::from(count.max(1));
        let from = usize::try_from(from).unwrap_or(0);
        if from <= now {
            ready.push(Reverse((due(*taken, count), chosen)));
        } else if let (Some(head), Some(link)) = (first.get_mut(from), later.get_mut(at)) {
            *link = *head;
            *head = chosen;
        }
    }
    wheel
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn spelled(weights: &[u32]) -> String {
        let letter = |p: u32| char::from(b'A' + u8::try_from(p).unwrap());
        schedule(weights).into_iter().map(letter).collect()
    }

    fn counts(wheel: &[u32], n: usize) -> Vec<u32> {
        let mut counts = vec![0; n];
        for &p in wheel {
            counts[p as usize] += 1;
        }
        counts
    }

    #[test]
    fn golden_wheels() {
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
        let wheel = schedule(&[u32::MAX, 1, u32::MAX - 1]);
        assert_eq!(counts(&wheel, 3), [32_768, 1, 32_767]);
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
        let wheel = schedule(&weights);
        assert_eq!(wheel.len(), 70_000);
        assert!(counts(&wheel, 70_000).iter().all(|&c| c == 1));
    }

    proptest! {
        #[test]
        fn every_prefix_is_within_one_of_the_share(
            weights in prop::collection::vec(1u32..40, 1..12),
        ) {
            let wheel = schedule(&weights);
            let slots = reduce(&weights);
            let total: u32 = slots.iter().sum();
            prop_assert_eq!(wheel.len(), total as usize);
            let mut seen = vec![0u32; weights.len()];
            for (t, &p) in (1u32..).zip(&wheel) {
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
            for least in [0, 1] {
                let counts = apportion(&weights, slots, least);
                prop_assert_eq!(counts.iter().map(|&c| u64::from(c)).sum::<u64>(), slots);
                for (&count, &weight) in counts.iter().zip(&weights) {
                    prop_assert!(weight == 0 || count >= least);
                    prop_assert!(weight > 0 || count == 0);
                    if least == 0 {
                        let exact = u128::from(weight) * u128::from(slots);
                        let count = u128::from(count);
                        prop_assert!((count + 1) * u128::from(sum) > exact);
                        prop_assert!(count * u128::from(sum) < exact + u128::from(sum));
                    }
                }
            }
        }
    }
}
