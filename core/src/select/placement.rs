//! Where keys are placed: at endpoints, or at hosts and then at one of their addresses.
//!
//! Method. Endpoints that are given with the name of their host take part in
//! `rendezvous` as one: with the name's hash as `h`, and as weight the greatest
//! of theirs. Of several endpoints of the host, the key's is found by `rendezvous`
//! among them alone, by their own identities and weights; a host counts as one
//! that can be chosen while one of its endpoints can.
//!
//! A host has the greatest weight of its addresses, not their sum, so that it keeps its
//! keys and takes no others while it has an old and a new address. Which address
//! serves a key is fixed by the key and not left to the algorithm: a host with several
//! addresses mostly is a group of servers, each with a cache of its own.

use std::collections::BTreeMap;

use super::EndpointState;
use super::eligibility::Eligibility;
use super::rendezvous::Rendezvous;
use super::tier::EndpointSet;

/// Where the keys of a set are placed.
#[derive(Debug)]
pub(super) struct Placement {
    places: Rendezvous,
    /// The endpoints of each place, where one has several.
    groups: Option<Box<[Group]>>,
}

#[derive(Debug)]
struct Group {
    /// Those in the set, ascending.
    positions: Box<[usize]>,
    endpoints: Rendezvous,
}

impl Placement {
    /// Of endpoints, each a weight above 0, the hash of what it is placed by, and
    /// the hash of its identity, given in order of identity.
    pub(super) fn new(endpoints: impl Iterator<Item = (u32, u64, u64)>) -> Self {
        let endpoints: Vec<(u32, u64, u64)> = endpoints.collect();
        let mut by_place: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
        for (position, (_, place, _)) in endpoints.iter().enumerate() {
            by_place.entry(*place).or_default().push(position);
        }
        if by_place.len() == endpoints.len() {
            let places = endpoints.iter().map(|(weight, place, _)| (*weight, *place));
            return Placement {
                places: Rendezvous::new(places),
                groups: None,
            };
        }
        let greatest = |positions: &Vec<usize>| {
            let weights = positions.iter().map(|position| endpoints[*position].0);
            weights.max().unwrap_or(1)
        };
        let places = by_place
            .iter()
            .map(|(place, positions)| (greatest(positions), *place));
        let group = |positions: &Vec<usize>| Group {
            endpoints: Rendezvous::new(positions.iter().map(|position| {
                let (weight, _, identity) = endpoints[*position];
                (weight, identity)
            })),
            positions: positions.as_slice().into(),
        };
        Placement {
            places: Rendezvous::new(places),
            groups: Some(by_place.values().map(group).collect()),
        }
    }

    /// The position of the key's first endpoint that is accepted.
    pub(super) fn pick(&self, key: u64, accepts: impl Fn(usize) -> bool) -> Option<usize> {
        let Some(groups) = &self.groups else {
            return self.places.pick(key, accepts);
        };
        let endpoint = |place: usize| {
            let group = &groups[place];
            let accepted = |i: usize| accepts(group.positions[i]);
            let i = group.endpoints.pick(key, accepted)?;
            Some(group.positions[i])
        };
        endpoint(self.places.pick(key, |place| endpoint(place).is_some())?)
    }

    /// Whether `one` comes before `other` in the key's order.
    pub(super) fn precedes(&self, key: u64, one: usize, other: usize) -> bool {
        self.pick(key, |position| position == one || position == other) == Some(one)
    }
}

/// The position of the key's first endpoint that can be chosen.
pub(super) fn pick<S: EndpointState, E: Fn(usize) -> bool>(
    set: &EndpointSet,
    eligibility: &Eligibility<'_, S, E>,
    key: u64,
) -> Option<usize> {
    if set.len() == 1 {
        return eligibility.accepts(set.index(0)).then_some(0);
    }
    set.placement()
        .pick(key, |position| eligibility.accepts(set.index(position)))
}
