//! The members of one name or service over time: who is chosen from, who is
//! kept in case it comes back, and what each update changes.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use litemap::LiteMap;

/// What a member's place among the others follows from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rank {
    /// Lower is better; 0 where nothing sets it.
    pub priority: u32,
    /// The share among members of one tier; 1 where nothing sets it.
    pub weight: u32,
    /// Higher is better, within one priority.
    pub score: i64,
}

impl Rank {
    /// Whether a preference counts for it.
    #[must_use]
    pub fn is_preferred(&self) -> bool {
        self.score > 0
    }

    /// The better of two, for a key that is wanted twice.
    fn better(self, other: Self) -> Self {
        let order = |rank: &Self| (rank.priority, Reverse(rank.score), Reverse(rank.weight));
        if order(&other) < order(&self) {
            other
        } else {
            self
        }
    }
}

/// A member that an answer asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Desired<K> {
    /// Its identity.
    pub key: K,
    /// Its place.
    pub rank: Rank,
}

/// A member, present or absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member<V = ()> {
    /// The rank when it was last present.
    pub rank: Rank,
    /// What hangs on its identity, once there is something.
    pub value: Option<V>,
    /// How many updates it has missed; 0 is present.
    pub absent: u32,
    /// The number of the update that dropped it.
    dropped: u64,
}

impl<V> Member<V> {
    fn new(rank: Rank) -> Self {
        Self {
            rank,
            value: None,
            absent: 0,
            dropped: 0,
        }
    }

    /// Whether it is chosen from.
    #[must_use]
    pub fn is_present(&self) -> bool {
        self.absent == 0
    }
}

/// What an update did, each list sorted by key. No key is in two lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change<K> {
    /// New members.
    pub added: Vec<Desired<K>>,
    /// Members that were absent, with their rank now.
    pub returned: Vec<Desired<K>>,
    /// Members that were present and have another rank now.
    pub changed: Vec<Desired<K>>,
    /// Members that are not chosen any more, and kept for the time being.
    pub absent: Vec<K>,
    /// Members that are gone: absent ones, and present ones that are not kept.
    pub deleted: Vec<K>,
}

impl<K> Default for Change<K> {
    fn default() -> Self {
        Self {
            added: Vec::new(),
            returned: Vec::new(),
            changed: Vec::new(),
            absent: Vec::new(),
            deleted: Vec::new(),
        }
    }
}

impl<K> Change<K> {
    /// Whether nothing changed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.added.is_empty()
            && self.returned.is_empty()
            && self.changed.is_empty()
            && self.absent.is_empty()
            && self.deleted.is_empty()
    }
}

/// The members of a name or service.
///
/// The present ones are those of the last update, and are chosen from. The
/// others are absent: they keep their identity, and what hangs on it, for some
/// further updates.
#[derive(Clone, Debug)]
pub struct Membership<K, V = ()> {
    /// Most names have one address, of which there may be ten thousand: a map
    /// that takes no more memory than it holds.
    members: LiteMap<K, Member<V>>,
    updates: u64,
}

impl<K, V> Default for Membership<K, V> {
    fn default() -> Self {
        Self {
            members: LiteMap::with_capacity(1),
            updates: 0,
        }
    }
}

impl<K: Ord + Clone, V> Membership<K, V> {
    /// No members.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes the desired members, and no others, the present ones.
    ///
    /// A key that is desired twice is one member, with the better rank: the
    /// lower priority, then the higher score, then the higher weight.
    ///
    /// A member that is no longer desired is dropped: absent from now on, and
    /// deleted by the `keep`th further update that it misses. With `keep` = 0
    /// the update that drops it deletes it, with `keep` = 3 the third one
    /// after that. A further update counts only if `is_covered` says that the
    /// source of the key has answered in it: failures delete nobody. The
    /// `keep` of the update at hand is the one that counts.
    ///
    /// At most 4 × max(present members, 64) absent members are kept; beyond
    /// that the ones that were dropped first are deleted, the lower key first
    /// among those of one update.
    pub fn update(
        &mut self,
        desired: impl IntoIterator<Item = Desired<K>>,
        is_covered: impl Fn(&K) -> bool,
        keep: u32,
    ) -> Change<K> {
        let mut wanted = BTreeMap::new();
        for Desired { key, rank } in desired {
            wanted
                .entry(key)
                .and_modify(|known: &mut Rank| *known = known.better(rank))
                .or_insert(rank);
        }
        let present = wanted.len();
        self.updates = self.updates.saturating_add(1);
        let update = self.updates;
        let mut change = Change::default();

        for (key, member) in self.members.iter_mut() {
            if let Some(rank) = wanted.remove(key) {
                let list = if !member.is_present() {
                    &mut change.returned
                } else if member.rank != rank {
                    &mut change.changed
                } else {
                    continue;
                };
                list.push(Desired {
                    key: key.clone(),
                    rank,
                });
                member.rank = rank;
                member.absent = 0;
                continue;
            }
            if member.is_present() {
                member.absent = 1;
                member.dropped = update;
            } else if is_covered(key) {
                member.absent = member.absent.saturating_add(1);
            } else {
                continue;
            }
            if member.absent > keep {
                change.deleted.push(key.clone());
            }
        }
        if !change.deleted.is_empty() {
            // In the order of the map, hence sorted.
            let deleted = &change.deleted;
            self.members
                .retain(|key, _| deleted.binary_search(key).is_err());
        }
        for (key, rank) in wanted {
            change.added.push(Desired {
                key: key.clone(),
                rank,
            });
            self.members.insert(key, Member::new(rank));
        }
        self.evict(most_absent(present), &mut change.deleted);
        change.absent = self
            .members
            .iter()
            .filter(|(_, member)| !member.is_present() && member.dropped == update)
            .map(|(key, _)| key.clone())
            .collect();
        change
    }

    /// Deletes the absent members that were dropped first, until `most` are
    /// left.
    fn evict(&mut self, most: usize, deleted: &mut Vec<K>) {
        let mut absent: Vec<(u64, K)> = self
            .absent()
            .map(|(key, member)| (member.dropped, key.clone()))
            .collect();
        let surplus = absent.len().saturating_sub(most);
        if surplus == 0 {
            return;
        }
        absent.sort_unstable();
        for (_, key) in absent.into_iter().take(surplus) {
            self.members.remove(&key);
            deleted.push(key);
        }
        deleted.sort_unstable();
    }

    /// The present members, sorted by key.
    pub fn present(&self) -> impl Iterator<Item = (&K, &Member<V>)> {
        self.members
            .iter()
            .filter(|(_, member)| member.is_present())
    }

    /// Gives a member what hangs on its identity. Nothing happens for a key
    /// that is no member's.
    pub fn set_value(&mut self, key: &K, value: V) {
        if let Some(member) = self.members.get_mut(key) {
            member.value = Some(value);
        }
    }

    /// The absent members, sorted by key.
    pub fn absent(&self) -> impl Iterator<Item = (&K, &Member<V>)> {
        self.members
            .iter()
            .filter(|(_, member)| !member.is_present())
    }

    /// A member, present or absent.
    #[must_use]
    pub fn get(&self, key: &K) -> Option<&Member<V>> {
        self.members.get(key)
    }

    /// The number of members, present and absent.
    #[must_use]
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether there are no members at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }
}

/// How many absent members are kept beside so many present ones. Rotating
/// pools with a high `keep` would grow for ever.
fn most_absent(present: usize) -> usize {
    present.max(64).saturating_mul(4)
}
