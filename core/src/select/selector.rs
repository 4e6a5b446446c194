//! The selector: a set of endpoints, ordered into tiers, to choose from.

use std::cell::Cell;
use std::sync::OnceLock;

use super::eligibility::{Eligibility, Room};
use super::tier::{EndpointSet, Tier, WeightedEndpoint, get_or_build};
use super::tier_load::{self, LastCounted};
use super::{
    Algorithm, Choice, EndpointState, HashScope, Member, Pass, Request, Rules, bounded, hash,
    least, placement, power_of_two, random, round_robin,
};

/// What is asked of endpoints, one after the other.
const PASSES: [(Pass, Room); 5] = [
    (Pass::Untried, Room::Required),
    (Pass::Untried, Room::Any),
    (Pass::Tried, Room::Required),
    (Pass::Tried, Room::Any),
    (Pass::AnyHealth, Room::Any),
];

/// A set of endpoints in their tiers, with all that choosing among them
/// needs. It does not change but for its cursors, and is meant to be shared
/// by all threads and replaced in one piece.
#[derive(Debug)]
pub struct Selector {
    /// Best first.
    tiers: Box<[Tier]>,
    /// All tiers as one, where there are several.
    all_tiers: OnceLock<Tier>,
    last_counted: LastCounted,
    seed: u64,
}

impl Selector {
    /// A selector of `members`, which [`Choice::index`] and [`EndpointState`]
    /// number as this slice does.
    ///
    /// Their order decides nothing, so that every machine that has the same
    /// members chooses alike; of members with equal identities the heavier one
    /// comes first. `seed` says with which endpoint turns begin: give each
    /// selector another one, or all servers begin with the same.
    #[must_use]
    pub fn new(members: &[Member<'_>], seed: u64) -> Self {
        let mut ranked: Vec<(usize, &Member<'_>)> = members.iter().enumerate().collect();
        ranked.sort_by(|(_, a), (_, b)| a.id.cmp(b.id).then(b.weight.cmp(&a.weight)));
        let mut levels: Vec<_> = members.iter().map(Member::level).collect();
        levels.sort_unstable();
        levels.dedup();
        let endpoint = |(rank, (index, member)): (usize, (usize, &Member<'_>))| {
            let better = levels.partition_point(|level| *level < member.level());
            WeightedEndpoint {
                index,
                weight: member.weight,
                tier: u32::try_from(better).unwrap_or(u32::MAX),
                rank,
                identity: hash::key_hash(member.id.as_bytes()),
                placement: hash::key_hash(member.host.unwrap_or(member.id).as_bytes()),
            }
        };
        Selector::build(ranked.into_iter().enumerate().map(endpoint).collect(), seed)
    }

    /// The selector of those endpoints only for which `keep` holds, with the same
    /// indices and turns of its own: for a group that many requests choose
    /// among and that lives as long as this selector.
    #[must_use]
    pub fn subset(&self, keep: impl Fn(usize) -> bool) -> Self {
        let kept = self.endpoints().filter(|e| keep(e.index)).copied();
        Selector::build(kept.collect(), self.seed)
    }

    fn build(mut endpoints: Vec<WeightedEndpoint>, seed: u64) -> Self {
        endpoints.sort_unstable_by_key(|e| (e.tier, e.rank));
        let tiers = endpoints.chunk_by(|a, b| a.tier == b.tier);
        Selector {
            tiers: tiers
                .map(|endpoints| Tier::new(endpoints[0].tier, endpoints, seed))
                .collect(),
            all_tiers: OnceLock::new(),
            last_counted: LastCounted::never(),
            seed,
        }
    }

    fn endpoints(&self) -> impl Iterator<Item = &WeightedEndpoint> {
        self.tiers.iter().flat_map(Tier::endpoints)
    }

    /// The number of endpoints.
    #[must_use]
    pub fn len(&self) -> usize {
        self.tiers
            .iter()
            .flat_map(Tier::sets)
            .map(EndpointSet::len)
            .sum()
    }

    /// Whether there is no endpoint to choose.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tiers.is_empty()
    }

    /// Builds beforehand what requests without a key need under `rules`, which
    /// the first of them would have to build otherwise. What keys need is
    /// left to the first key.
    pub fn prepare(&self, rules: &Rules) {
        for set in self.tiers.iter().flat_map(Tier::sets) {
            match rules.algorithm {
                Algorithm::RoundRobin => drop(set.wrr_schedule()),
                Algorithm::Random | Algorithm::PowerOfTwo if !set.even => {
                    set.cumulative_weights();
                }
                Algorithm::Random | Algorithm::PowerOfTwo | Algorithm::Least => {}
            }
        }
    }

    /// Chooses an endpoint; none only if there is none.
    ///
    /// Takes no lock, allocates nothing and makes no system call, except that
    /// the first request that needs a table builds it.
    pub fn choose<S: EndpointState>(
        &self,
        rules: &Rules,
        state: &S,
        request: &Request,
    ) -> Option<Choice> {
        self.select(rules, state, request, |_| true, false)
    }

    /// Chooses among the endpoints for which `eligible` holds, as if there were
    /// no others; none if there is none. Walks all endpoints, O(n); a
    /// group that is asked often is better served by [`Selector::subset`].
    ///
    /// In turns (round robin, ties of least) such requests have a sequence of
    /// their own, which gives each endpoint its share in the long run however
    /// requests for different groups follow upon each other.
    pub fn choose_where<S: EndpointState>(
        &self,
        rules: &Rules,
        state: &S,
        request: &Request,
        eligible: impl Fn(usize) -> bool,
    ) -> Option<Choice> {
        self.select(rules, state, request, eligible, true)
    }

    #[inline]
    fn select<S: EndpointState, E: Fn(usize) -> bool>(
        &self,
        rules: &Rules,
        state: &S,
        request: &Request,
        eligible: E,
        subset: bool,
    ) -> Option<Choice> {
        let mut eligibility = Eligibility {
            state,
            eligible,
            subset,
            retry: request.retry,
            pass: Pass::Untried,
            room: Room::Required,
            passed_full: Cell::new(false),
            slow_start: rules.slow_start,
        };
        let across = request.key.is_some() && rules.hash_scope == HashScope::All;
        let tiers = if across {
            self.all_tiers()
        } else {
            &self.tiers
        };
        let first = (rules.overprovisioning >= 1.0 && tiers.len() > 1).then(|| {
            tier_load::tier(
                tiers,
                &self.last_counted,
                &eligibility,
                rules.overprovisioning,
                request,
            )
        });
        for (pass, room) in PASSES {
            let (tiers, first) = match pass {
                Pass::Untried | Pass::Tried
                    if room == Room::Any && !eligibility.passed_full.get() =>
                {
                    continue;
                }
                Pass::Tried if !request.retry => continue,
                Pass::Untried | Pass::Tried => (tiers, first),
                Pass::AnyHealth => (&*self.tiers, None),
            };
            eligibility.pass = pass;
            eligibility.room = room;
            for set in first.into_iter().chain(tiers).flat_map(Tier::sets) {
                let Some((position, bound_exceeded)) = pick(set, &eligibility, rules, request.key)
                else {
                    continue;
                };
                let chosen = &set.endpoints[position];
                let mut better = self
                    .tiers
                    .iter()
                    .take_while(|tier| tier.number < chosen.tier)
                    .flat_map(Tier::endpoints);
                return Some(Choice {
                    index: chosen.index,
                    tier: chosen.tier,
                    pass,
                    spilled: !across && better.any(|e| (eligibility.eligible)(e.index)),
                    bound_exceeded: bound_exceeded || eligibility.passed_full.get(),
                    retried_elsewhere: request.retry && pass == Pass::Untried,
                });
            }
        }
        None
    }

    /// All tiers as one.
    fn all_tiers(&self) -> &[Tier] {
        if self.tiers.len() <= 1 {
            return &self.tiers;
        }
        let tier = get_or_build(&self.all_tiers, || {
            let mut endpoints: Vec<WeightedEndpoint> = self.endpoints().copied().collect();
            endpoints.sort_unstable_by_key(|e| e.rank);
            Tier::new(0, &endpoints, self.seed)
        });
        std::slice::from_ref(tier)
    }
}

/// The position in the set, and whether `hash_balance` moved a key.
fn pick<S: EndpointState, E: Fn(usize) -> bool>(
    set: &EndpointSet,
    eligibility: &Eligibility<'_, S, E>,
    rules: &Rules,
    key: Option<u64>,
) -> Option<(usize, bool)> {
    let position = match (eligibility.pass, key, rules.algorithm) {
        (Pass::AnyHealth, _, _) | (_, None, Algorithm::RoundRobin) => {
            round_robin::pick(set, eligibility)
        }
        (_, Some(key), _) if rules.hash_balance > 0.0 => {
            return bounded::pick(set, eligibility, key, rules.hash_balance);
        }
        (_, Some(key), _) => placement::pick(set, eligibility, key),
        (_, None, Algorithm::Random) => random::pick(set, eligibility),
        (_, None, Algorithm::Least) => least::pick(set, eligibility),
        (_, None, Algorithm::PowerOfTwo) => power_of_two::pick(set, eligibility),
    };
    position.map(|position| (position, false))
}
