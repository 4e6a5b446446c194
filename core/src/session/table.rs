//! From the key that a client carries to the endpoints that it names.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hash};
use std::sync::Arc;

use twox_hash::XxHash64;

use super::cookie::Found;
use super::decision::KeyState;
use super::policy::{ArrKey, HashKey};
use super::seal::{NONCE_LENGTH, Sealer, Space};

/// How a session writes an id into a key, and reads it back.
#[derive(Clone, Debug)]
pub enum KeyFormat {
    /// [`HashKey`]
    HashCookie,
    /// [`ArrKey`]
    ArrCookie,
    /// A sealed id.
    Sealed(Arc<Sealer>),
}

/// What a request's key says, before anybody asks for health.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// There is none.
    Missing,
    /// It names the group with this number in the table.
    Group(usize),
    /// It is well formed and names nothing in the table.
    Unknown,
    /// It cannot be read.
    Bad,
    /// There is more than one.
    Repeated,
}

/// How a group of endpoints is, for the task that asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// It has a healthy endpoint that this task has not tried, or has tried
    /// as all others.
    Healthy,
    /// Its healthy endpoints were tried in earlier attempts of this task, and
    /// others were not.
    Tried,
    /// It has no healthy endpoint.
    Sick,
}

impl Key {
    /// The state of the key; `condition` is asked only for a known group.
    #[must_use]
    pub fn state(self, condition: impl FnOnce(usize) -> Condition) -> KeyState {
        match self {
            Key::Missing => KeyState::Missing,
            Key::Unknown => KeyState::Unknown,
            Key::Bad => KeyState::Bad,
            Key::Repeated => KeyState::Repeated,
            Key::Group(group) => match condition(group) {
                Condition::Healthy => KeyState::Healthy,
                Condition::Tried => KeyState::Tried,
                Condition::Sick => KeyState::Sick,
            },
        }
    }
}

/// Two ids with one key. The lower id has it; the other is balanced, and no
/// key is sent for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collision {
    /// The id that the key names.
    pub kept: String,
    /// The id without a key.
    pub lost: String,
}

/// Hashes without a random seed: the keys come from DNS, and a client can only
/// look up, so that it cannot lengthen a chain.
type Index<K> = HashMap<K, usize, BuildHasherDefault<XxHash64>>;

#[derive(Debug)]
enum Groups {
    Hash(Index<HashKey>),
    Arr(Index<ArrKey>),
    Sealed(Index<Box<str>>, Arc<Sealer>),
}

/// The keys of one snapshot's endpoints, prepared when the snapshot is made.
///
/// Endpoints are numbered as they are given. Those with one id are a group:
/// with `affinity_to = ENDPOINT` each is alone, with `HOST` a group has all
/// addresses of a host. Groups are ordered by id, so that the order of an
/// answer means nothing.
#[derive(Debug)]
pub struct AffinityTable {
    groups: Groups,
    /// The id of each group, ascending, and where its members end.
    ids: Vec<(Box<str>, usize)>,
    /// Endpoints, group by group.
    members: Vec<usize>,
    collisions: Vec<Collision>,
}

impl AffinityTable {
    /// Prepares the table for endpoints with these ids, in their order. An id
    /// is the text of an
    /// [`EndpointId`](crate::name::EndpointId) or a host name.
    #[must_use]
    pub fn new<'a>(format: &KeyFormat, ids: impl IntoIterator<Item = &'a str>) -> Self {
        let mut by_id: Vec<(&str, usize)> = ids
            .into_iter()
            .enumerate()
            .map(|(endpoint, id)| (id, endpoint))
            .collect();
        by_id.sort_unstable();

        let mut ids: Vec<(Box<str>, usize)> = Vec::new();
        for (end, (id, _)) in (1..).zip(&by_id) {
            match ids.last_mut() {
                Some((last, last_end)) if **last == **id => *last_end = end,
                _ => ids.push(((*id).into(), end)),
            }
        }
        let (groups, collisions) = match format {
            KeyFormat::HashCookie => {
                let (index, collisions) = index(&ids, HashKey::of);
                (Groups::Hash(index), collisions)
            }
            KeyFormat::ArrCookie => {
                let (index, collisions) = index(&ids, ArrKey::of);
                (Groups::Arr(index), collisions)
            }
            KeyFormat::Sealed(sealer) => {
                let (index, collisions) = index(&ids, |id| Box::<str>::from(id));
                (Groups::Sealed(index, Arc::clone(sealer)), collisions)
            }
        };
        AffinityTable {
            groups,
            ids,
            members: by_id.into_iter().map(|(_, endpoint)| endpoint).collect(),
            collisions,
        }
    }

    /// Reads what was found in a request: which key counts, and its state.
    ///
    /// Of several cookies the first counts that names something healthy, and
    /// not tried yet if there is one; where none does, the first. Of several
    /// headers none counts, be they equal or not. `condition` is asked only
    /// for known groups. Allocates nothing; the cost does not depend on the
    /// number of endpoints.
    pub fn read<'a>(
        &self,
        found: Found<impl Iterator<Item = &'a [u8]>>,
        condition: impl Fn(usize) -> Condition,
    ) -> (Key, KeyState) {
        let read = |value| {
            let key = self.lookup(value);
            (key, key.state(&condition))
        };
        let mut best = None;
        match found {
            Found::Headers(mut values) => {
                best = values.next().map(read);
                if values.next().is_some() {
                    return (Key::Repeated, KeyState::Repeated);
                }
            }
            Found::Cookies(values) => {
                for (key, state) in values.map(read) {
                    if state == KeyState::Healthy {
                        return (key, state);
                    }
                    let is_better = match best {
                        None => true,
                        Some((_, best)) => state == KeyState::Tried && best != KeyState::Tried,
                    };
                    if is_better {
                        best = Some((key, state));
                    }
                }
            }
        }
        best.unwrap_or((Key::Missing, KeyState::Missing))
    }

    /// Reads one value, as [`read`](Self::read). An empty value is bad.
    #[must_use]
    pub fn lookup(&self, value: &[u8]) -> Key {
        let group = match &self.groups {
            Groups::Hash(index) => HashKey::parse(value).map(|key| index.get(&key)),
            Groups::Arr(index) => ArrKey::parse(value).map(|key| index.get(&key)),
            Groups::Sealed(index, sealer) => sealer
                .open(value, &mut Space::new())
                .map(|id| index.get(id)),
        };
        match group {
            None => Key::Bad,
            Some(None) => Key::Unknown,
            Some(Some(group)) => Key::Group(*group),
        }
    }

    /// The endpoints of a group, ascending; none for a number that is not one
    /// of this table's groups. Allocates nothing.
    #[must_use]
    pub fn members(&self, group: usize) -> &[usize] {
        let start = group
            .checked_sub(1)
            .and_then(|before| self.ids.get(before))
            .map_or(0, |(_, end)| *end);
        self.ids
            .get(group)
            .and_then(|(_, end)| self.members.get(start..*end))
            .unwrap_or_default()
    }

    /// The key that a client gets for the endpoint or host with this id: the
    /// value of the cookie or header. `None` for an id that is not in the table,
    /// lost a [`Collision`], or is too long to be sealed. The nonce, of use only
    /// to sealed keys, must be random and new.
    #[must_use]
    pub fn key(&self, id: &str, nonce: &[u8; NONCE_LENGTH]) -> Option<String> {
        let group = self
            .ids
            .binary_search_by(|(known, _)| (**known).cmp(id))
            .ok()?;
        let (owner, value) = match &self.groups {
            Groups::Hash(index) => {
                let key = HashKey::of(id);
                (index.get(&key), key.to_string())
            }
            Groups::Arr(index) => {
                let key = ArrKey::of(id);
                (index.get(&key), key.to_string())
            }
            Groups::Sealed(index, sealer) => (index.get(id), sealer.seal(id, nonce).ok()?),
        };
        (owner == Some(&group)).then_some(value)
    }

    /// The key for the endpoint with this number, as [`key`](Self::key). The
    /// cost grows with the number of endpoints.
    #[must_use]
    pub fn key_of_endpoint(&self, endpoint: usize, nonce: &[u8; NONCE_LENGTH]) -> Option<String> {
        let place = self.members.iter().position(|member| *member == endpoint)?;
        let group = self.ids.partition_point(|(_, end)| *end <= place);
        let (id, _) = self.ids.get(group)?;
        self.key(id, nonce)
    }

    /// Ids that share a key with a lower one, for the log.
    #[must_use]
    pub fn collisions(&self) -> &[Collision] {
        &self.collisions
    }
}

/// The groups by their keys: the first id, which is the lowest, keeps a key.
fn index<K: Eq + Hash>(
    ids: &[(Box<str>, usize)],
    key_of: impl Fn(&str) -> K,
) -> (Index<K>, Vec<Collision>) {
    let mut index = Index::with_capacity_and_hasher(ids.len(), BuildHasherDefault::default());
    let mut collisions = Vec::new();
    for (group, (id, _)) in ids.iter().enumerate() {
        let kept = *index.entry(key_of(id)).or_insert(group);
        if kept != group
            && let Some((lower, _)) = ids.get(kept)
        {
            collisions.push(Collision {
                kept: lower.to_string(),
                lost: id.to_string(),
            });
        }
    }
    (index, collisions)
}
