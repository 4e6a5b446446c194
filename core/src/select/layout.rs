//! The layout: a set of endpoints, ordered into tiers, to choose from.

use std::sync::OnceLock;

use super::gate::Gate;
use super::pool::{Pool, Seat, built};
use super::spill::{self, Stamp};
use super::{
    Algorithm, Ask, Choice, HashScope, Live, Member, Rules, Standing, bounded, hash, least, maglev,
    random, round_robin,
};

/// A set of endpoints in their tiers, with all that choosing among them
/// needs. It does not change but for its cursors, and is meant to be shared
/// by all threads and replaced in one piece.
#[derive(Debug)]
pub struct Layout {
    /// Best tier first; within a tier those of weight 0 last.
    pools: Box<[Pool]>,
    /// All tiers as one, where there are several.
    whole: OnceLock<Box<[Pool]>>,
    tiers: usize,
    stamp: Stamp,
    seed: u64,
}

impl Layout {
    /// A layout of `members`, which [`Choice::index`] and [`Live`] number as
    /// this slice does.
    ///
    /// Their order decides nothing, so that every machine that has the same
    /// members chooses alike; of members with equal identities the heavier one
    /// comes first. `seed` says with which endpoint turns begin: give each
    /// layout another one, lest all servers begin with the same.
    #[must_use]
    pub fn new(members: &[Member<'_>], seed: u64) -> Self {
        let mut ranked: Vec<(u32, &Member<'_>)> = (0..u32::MAX).zip(members).collect();
        ranked.sort_by(|(_, a), (_, b)| a.id.cmp(b.id).then(b.weight.cmp(&a.weight)));
        let mut levels: Vec<_> = members.iter().map(Member::level).collect();
        levels.sort_unstable();
        levels.dedup();
        let seat = |(rank, (index, member)): (u32, (u32, &Member<'_>))| {
            let tier = levels.binary_search(&member.level()).unwrap_or(0);
            Seat {
                index,
                weight: member.weight,
                tier: u32::try_from(tier).unwrap_or(u32::MAX),
                rank,
                identity: hash::key_hash(member.id.as_bytes()),
            }
        };
        Layout::assemble((0u32..).zip(ranked).map(seat).collect(), seed)
    }

    /// The layout of those endpoints only that `keep` says, with the same
    /// indices and turns of its own: for a group that many requests choose
    /// among and that lives as long as this layout.
    #[must_use]
    pub fn subset(&self, keep: impl Fn(usize) -> bool) -> Self {
        let seats = self
            .pools
            .iter()
            .flat_map(|pool| pool.seats.iter().copied());
        Layout::assemble(seats.filter(|seat| keep(seat.index())).collect(), self.seed)
    }

    fn assemble(mut seats: Vec<Seat>, seed: u64) -> Self {
        seats.sort_unstable_by_key(|seat| (seat.tier, seat.rank));
        let tiers: Vec<&[Seat]> = seats.chunk_by(|a, b| a.tier == b.tier).collect();
        let tier = |seats: &&[Seat]| pools(seats, seats.first().map_or(0, |s| s.tier), seed);
        Layout {
            pools: tiers.iter().flat_map(tier).collect(),
            whole: OnceLock::new(),
            tiers: tiers.len(),
            stamp: Stamp::new(),
            seed,
        }
    }

    /// The number of endpoints.
    #[must_use]
    pub fn len(&self) -> usize {
        self.pools.iter().map(|pool| pool.seats.len()).sum()
    }

    /// Whether there is no endpoint to choose.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pools.is_empty()
    }

    /// The number of tiers.
    #[must_use]
    pub fn tiers(&self) -> usize {
        self.tiers
    }

    /// Builds beforehand what requests without a key need under `rules`, which
    /// the first of them would have to build otherwise. Tables for keys are
    /// left to the first key.
    pub fn prepare(&self, rules: &Rules) {
        for pool in &self.pools {
            match rules.algorithm {
                Algorithm::RoundRobin => drop(pool.wheel()),
                Algorithm::Random => drop(pool.bounds()),
                Algorithm::Least => {}
            }
        }
    }

    /// Chooses an endpoint; none only if there is none.
    ///
    /// Takes no lock, allocates nothing and makes no system call, except that
    /// the first request that needs a table builds it.
    pub fn choose<L: Live>(&self, rules: &Rules, live: &L, ask: &Ask) -> Option<Choice> {
        self.select(rules, live, ask, |_| true, false)
    }

    /// Chooses among the endpoints for which `eligible` holds, as if there were
    /// no others; none if there is none. Walks all endpoints, O(n); a
    /// group that is asked often is better served by [`Layout::subset`].
    ///
    /// In turns (round robin, ties of least) such requests have a sequence of
    /// their own, which gives each endpoint its share in the long run however
    /// requests for different groups follow upon each other.
    pub fn choose_among<L: Live>(
        &self,
        rules: &Rules,
        live: &L,
        ask: &Ask,
        eligible: impl Fn(usize) -> bool,
    ) -> Option<Choice> {
        self.select(rules, live, ask, eligible, true)
    }

    #[inline]
    fn select<L: Live, E: Fn(usize) -> bool>(
        &self,
        rules: &Rules,
        live: &L,
        ask: &Ask,
        eligible: E,
        subset: bool,
    ) -> Option<Choice> {
        let mut gate = Gate {
            live,
            eligible,
            subset,
            retry: ask.retry,
            standing: Standing::Fresh,
            slow_start: rules.slow_start,
        };
        let whole = ask.key.is_some() && rules.hash_scope == HashScope::All;
        let pools = if whole { self.whole() } else { &self.pools };
        let drawn = (!whole && rules.overprovisioning >= 1.0 && self.tiers > 1).then(|| {
            spill::tier(
                pools,
                &self.stamp,
                &gate,
                rules.overprovisioning,
                ask.key,
                ask.now,
            )
        });
        for standing in [Standing::Fresh, Standing::Tried, Standing::Sick] {
            let (pools, drawn) = match standing {
                Standing::Fresh => (pools, drawn),
                Standing::Tried if ask.retry => (pools, drawn),
                Standing::Tried => continue,
                Standing::Sick => (&*self.pools, None),
            };
            gate.standing = standing;
            let drawn = pools.iter().filter(|pool| drawn == Some(pool.tier));
            for pool in drawn.chain(pools) {
                let Some((position, overflowed)) = pick(pool, &gate, rules, ask.key) else {
                    continue;
                };
                let seat = pool.seats.get(position)?;
                let better = |p: &&Pool| p.tier < seat.tier;
                let mut betters = self.pools.iter().take_while(better).flat_map(|p| &p.seats);
                return Some(Choice {
                    index: seat.index(),
                    tier: seat.tier,
                    standing,
                    spilled: !whole && betters.any(|seat| (gate.eligible)(seat.index())),
                    overflowed,
                    elsewhere: ask.retry && standing == Standing::Fresh,
                });
            }
        }
        None
    }

    /// All tiers as one.
    fn whole(&self) -> &[Pool] {
        if self.tiers <= 1 {
            return &self.pools;
        }
        built::<Box<[Pool]>>(&self.whole, || {
            let seats = self
                .pools
                .iter()
                .flat_map(|pool| pool.seats.iter().copied());
            let mut seats: Vec<Seat> = seats.collect();
            seats.sort_unstable_by_key(|seat| seat.rank);
            pools(&seats, 0, self.seed).collect()
        })
    }
}

/// The one or two pools of `seats`, given in order of identity.
fn pools(seats: &[Seat], tier: u32, seed: u64) -> impl Iterator<Item = Pool> + use<> {
    let (reserve, primary): (Vec<Seat>, Vec<Seat>) =
        seats.iter().partition(|seat| seat.weight == 0);
    let alone = primary.is_empty();
    let sides = [(false, primary), (!alone, reserve)];
    let filled = sides.into_iter().filter(|(_, seats)| !seats.is_empty());
    filled.map(move |(reserve, seats)| Pool::new(tier, reserve, seats, seed))
}

/// The position in the pool, and whether load moved a key.
fn pick<L: Live, E: Fn(usize) -> bool>(
    pool: &Pool,
    gate: &Gate<'_, L, E>,
    rules: &Rules,
    key: Option<u64>,
) -> Option<(usize, bool)> {
    let position = match (gate.standing, key, rules.algorithm) {
        (Standing::Sick, _, _) | (_, None, Algorithm::RoundRobin) => round_robin::pick(pool, gate),
        (_, Some(key), _) if rules.hash_balance > 0.0 => {
            return bounded::pick(pool, gate, key, rules.hash_balance);
        }
        (_, Some(key), _) => maglev::pick(pool, gate, key),
        (_, None, Algorithm::Random) => random::pick(pool, gate),
        (_, None, Algorithm::Least) => least::pick(pool, gate),
    };
    position.map(|position| (position, false))
}
