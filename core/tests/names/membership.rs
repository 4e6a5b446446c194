//! The members of a name over time.
#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

use std::collections::{BTreeMap, BTreeSet};

use dynamic_core::membership::{Change, Desired, Membership, Rank};
use proptest::prelude::*;

const PLAIN: Rank = Rank {
    priority: 0,
    weight: 1,
    score: 0,
};

fn rank(priority: u32, weight: u32, score: i64) -> Rank {
    Rank {
        priority,
        weight,
        score,
    }
}

fn desired<K: Copy>(keys: &[K]) -> Vec<Desired<K>> {
    keys.iter()
        .map(|key| Desired {
            key: *key,
            rank: PLAIN,
        })
        .collect()
}

/// One update in which all sources answered.
fn update<K: Ord + Copy>(members: &mut Membership<K>, keys: &[K], keep: u32) -> Change<K> {
    members.update(desired(keys), |_| true, keep)
}

fn present<K: Ord + Clone>(members: &Membership<K>) -> Vec<K> {
    members.present().map(|(key, _)| key.clone()).collect()
}

fn absent<K: Ord + Clone>(members: &Membership<K>) -> Vec<K> {
    members.absent().map(|(key, _)| key.clone()).collect()
}

#[test]
fn members_come_in_order_of_their_keys() {
    let mut members: Membership<_> = Membership::new();
    let change = update(&mut members, &['c', 'a', 'b'], 3);
    assert_eq!(change.added, desired(&['a', 'b', 'c']));
    assert_eq!(present(&members), ['a', 'b', 'c']);
    assert_eq!(members.len(), 3);
}

#[test]
fn a_change_with_anything_in_it_is_not_empty() {
    let one = desired(&['a']);
    let none = Change::default;
    assert!(none().is_empty());
    for change in [
        Change {
            added: one.clone(),
            ..none()
        },
        Change {
            returned: one.clone(),
            ..none()
        },
        Change {
            changed: one,
            ..none()
        },
        Change {
            absent: vec!['a'],
            ..none()
        },
        Change {
            deleted: vec!['a'],
            ..none()
        },
    ] {
        assert!(!change.is_empty(), "{change:?}");
    }
}

#[test]
fn absent_members_are_members() {
    let mut members: Membership<_> = Membership::new();
    assert!(members.is_empty());
    update(&mut members, &['a'], 1);
    update(&mut members, &[], 1);
    assert!(!members.is_empty());
    assert_eq!(members.len(), 1);
    update(&mut members, &[], 1);
    assert!(members.is_empty());
}

#[test]
fn the_same_again_is_no_change() {
    let mut members: Membership<_> = Membership::new();
    update(&mut members, &['a', 'b'], 3);
    for keys in [['a', 'b'], ['b', 'a']] {
        assert!(update(&mut members, &keys, 3).is_empty());
    }
    assert!(update(&mut Membership::<char>::new(), &[], 3).is_empty());
}

#[test]
fn a_dropped_member_is_deleted_by_the_keepth_further_update() {
    for keep in [1, 2, 3, 10] {
        let mut members: Membership<_> = Membership::new();
        update(&mut members, &['a', 'b'], keep);
        let change = update(&mut members, &['b'], keep);
        assert_eq!(change.absent, ['a']);
        assert!(change.deleted.is_empty());
        assert_eq!(present(&members), ['b']);
        assert_eq!(absent(&members), ['a']);
        for _ in 1..keep {
            assert!(update(&mut members, &['b'], keep).is_empty());
            assert_eq!(absent(&members), ['a']);
        }
        let change = update(&mut members, &['b'], keep);
        assert_eq!(change.deleted, ['a'], "keep {keep}");
        assert_eq!(members.len(), 1);
    }
}

#[test]
fn nobody_is_kept_with_keep_0() {
    let mut members: Membership<_> = Membership::new();
    update(&mut members, &['a', 'b'], 0);
    let change = update(&mut members, &['b'], 0);
    assert_eq!(change.deleted, ['a']);
    assert!(change.absent.is_empty());
    assert_eq!(members.get(&'a'), None);
}

#[test]
fn a_member_that_returns_is_the_same_one_and_starts_anew() {
    let mut members: Membership<_> = Membership::new();
    update(&mut members, &['a', 'b'], 2);
    for _ in 0..5 {
        assert_eq!(update(&mut members, &['b'], 2).absent, ['a']);
        assert!(update(&mut members, &['b'], 2).is_empty());
        let change = update(&mut members, &['a', 'b'], 2);
        assert_eq!(change.returned, desired(&['a']));
        assert!(change.added.is_empty() && change.changed.is_empty());
        assert!(members.get(&'a').unwrap().is_present());
    }
}

#[test]
fn a_deleted_member_that_returns_is_new() {
    let mut members: Membership<_> = Membership::new();
    update(&mut members, &['a'], 0);
    update(&mut members, &['b'], 0);
    assert_eq!(update(&mut members, &['a'], 0).added, desired(&['a']));
}

#[test]
fn an_update_in_which_the_source_failed_does_not_count() {
    let mut members: Membership<_> = Membership::new();
    update(&mut members, &['a', 'b', 'x'], 1);
    let change = update(&mut members, &['b'], 1);
    assert_eq!(change.absent, ['a', 'x']);
    // The source of a fails, that of x answers.
    let change = members.update(desired(&['b']), |key| *key != 'a', 1);
    assert_eq!(change.deleted, ['x']);
    for _ in 0..10 {
        assert!(members.update(desired(&['b']), |_| false, 1).is_empty());
    }
    // Nor does a lower keep, as long as the source fails.
    assert!(members.update(desired(&['b']), |_| false, 0).is_empty());
    assert_eq!(update(&mut members, &['b'], 1).deleted, ['a']);
}

#[test]
fn another_rank_is_a_change_of_the_same_member() {
    let mut members: Membership<_> = Membership::new();
    let want = |rank| [Desired { key: 'a', rank }];
    members.update(want(rank(1, 2, 3)), |_| true, 3);
    for other in [rank(0, 2, 3), rank(0, 1, 3), rank(0, 1, -7)] {
        let change = members.update(want(other), |_| true, 3);
        assert_eq!(change.changed, want(other));
        assert!(change.added.is_empty() && change.deleted.is_empty());
        assert_eq!(members.get(&'a').unwrap().rank, other);
        assert!(members.update(want(other), |_| true, 3).is_empty());
    }
    update(&mut members, &[], 3);
    let change = members.update(want(rank(9, 9, 9)), |_| true, 3);
    assert_eq!(change.returned, want(rank(9, 9, 9)));
    assert_eq!(members.get(&'a').unwrap().rank, rank(9, 9, 9));
}

#[test]
fn a_key_that_is_wanted_twice_is_one_member_with_the_better_rank() {
    let best = rank(0, 5, 2);
    let worse = [rank(1, 9, 9), rank(0, 9, 1), rank(0, 4, 2)];
    for other in worse {
        for ranks in [[best, other], [other, best]] {
            let mut members: Membership<_> = Membership::new();
            let wanted = ranks.map(|rank| Desired { key: 'a', rank });
            let change = members.update(wanted, |_| true, 3);
            assert_eq!(
                change.added,
                [Desired {
                    key: 'a',
                    rank: best
                }]
            );
            assert_eq!(members.len(), 1);
        }
    }
}

#[test]
fn a_full_turnover_leaves_the_new_members_present() {
    let mut members: Membership<_> = Membership::new();
    update(&mut members, &[0, 1, 2, 3, 4], 3);
    let change = update(&mut members, &[5, 6, 7, 8, 9], 3);
    assert_eq!(change.added, desired(&[5, 6, 7, 8, 9]));
    assert_eq!(change.absent, [0, 1, 2, 3, 4]);
    assert_eq!(present(&members), [5, 6, 7, 8, 9]);
}

#[test]
fn a_rotating_pool_does_not_grow() {
    let mut members: Membership<_> = Membership::new();
    for turn in 0..2000_u32 {
        let change = update(&mut members, &[turn], u32::MAX);
        assert!(members.len() <= 1 + 4 * 64);
        if turn > 4 * 64 {
            // The one that was dropped first is the one that goes.
            assert_eq!(change.deleted, [turn - 4 * 64 - 1]);
            assert_eq!(change.absent, [turn - 1]);
        } else {
            assert!(change.deleted.is_empty());
        }
    }
}

#[test]
fn a_shrinking_pool_keeps_what_it_may() {
    let mut members: Membership<_> = Membership::new();
    let all: Vec<u32> = (0..1000).collect();
    update(&mut members, &all, 3);
    let change = update(&mut members, &all[..100], 3);
    assert_eq!(change.deleted, (100..600).collect::<Vec<u32>>());
    assert_eq!(change.absent, (600..1000).collect::<Vec<u32>>());
    assert_eq!(members.len(), 500);
}

/// One update: what is wanted, which keys' sources failed, and `keep`.
type Step = (Vec<Desired<u16>>, BTreeSet<u16>, u32);

fn any_steps() -> impl Strategy<Value = Vec<Step>> {
    // Few keys, so that they meet again, or many at once, so that the bound
    // is reached.
    let keys = prop_oneof![
        12 => proptest::collection::vec(0_u16..8, 0..8),
        1 => (0_u16..400, 0_u16..400).prop_map(|(from, count)| (from..from + count).collect()),
    ];
    let wanted = (
        keys,
        proptest::collection::vec((0_u32..3, 0_u32..3, -1_i64..2), 1..4),
    )
        .prop_map(|(keys, ranks)| {
            let ranks = ranks.into_iter().cycle();
            keys.into_iter()
                .zip(ranks)
                .map(|(key, (priority, weight, score))| Desired {
                    key,
                    rank: rank(priority, weight, score),
                })
                .collect()
        });
    let failed = proptest::collection::btree_set(0_u16..8, 0..4);
    let keep = prop_oneof![0_u32..4, Just(u32::MAX)];
    proptest::collection::vec((wanted, failed, keep), 1..20)
}

proptest! {
    #[test]
    fn the_changes_tell_the_whole_story(steps in any_steps()) {
        let mut members: Membership<_> = Membership::new();
        // Rebuilt from the changes alone: key, rank, present.
        let mut replayed: BTreeMap<u16, (Rank, bool)> = BTreeMap::new();
        for (wanted, failed, keep) in steps {
            let keys: BTreeSet<u16> = wanted.iter().map(|wanted| wanted.key).collect();
            let change = members.update(wanted.clone(), |key| !failed.contains(key), keep);

            let mut seen = BTreeSet::new();
            let listed = [&change.added, &change.returned, &change.changed];
            for list in listed {
                prop_assert!(list.is_sorted_by(|a, b| a.key < b.key));
            }
            for key in listed
                .into_iter()
                .flatten()
                .map(|listed| listed.key)
                .chain(change.absent.iter().copied())
                .chain(change.deleted.iter().copied())
            {
                prop_assert!(seen.insert(key), "{} is in two lists", key);
            }
            for list in [&change.absent, &change.deleted] {
                prop_assert!(list.is_sorted());
            }

            for Desired { key, rank } in &change.added {
                prop_assert_eq!(replayed.insert(*key, (*rank, true)), None);
            }
            for Desired { key, rank } in &change.returned {
                let old = replayed.insert(*key, (*rank, true));
                prop_assert!(old.is_some_and(|(_, present)| !present));
            }
            for Desired { key, rank } in &change.changed {
                let old = replayed.insert(*key, (*rank, true));
                prop_assert!(old.is_some_and(|old| old.1 && old.0 != *rank));
            }
            for key in &change.absent {
                let old = replayed.get_mut(key).unwrap();
                prop_assert!(old.1);
                old.1 = false;
            }
            for key in &change.deleted {
                prop_assert!(replayed.remove(key).is_some());
            }

            prop_assert_eq!(members.present().map(|(key, _)| *key).collect::<BTreeSet<_>>(), keys);
            let state: BTreeMap<u16, (Rank, bool)> = members
                .present()
                .chain(members.absent())
                .map(|(key, member)| (*key, (member.rank, member.is_present())))
                .collect();
            prop_assert_eq!(&state, &replayed);
            let now = members.present().count();
            prop_assert!(members.absent().count() <= 4 * now.max(64));

            // Nothing is left to do.
            let mut again = members.clone();
            prop_assert!(again.update(wanted, |_| false, keep).is_empty());
        }
    }
}
