//! What a request reads: the endpoints of one answer, ranked.

use std::net::IpAddr;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Arc, OnceLock};

use arc_swap::ArcSwap;
use dynamic_core::buckets::OwnerTable;
use dynamic_core::membership::Rank;
use dynamic_core::name::EndpointId;
use dynamic_core::select::{Member, Selector};
use dynamic_core::session::seal::NONCE_LENGTH;
use dynamic_core::session::{AffinityTable, AffinityTo};

use crate::director::Director;
use crate::vrt::Leaf;

/// The buckets of RFC 3074.
const BUCKETS: usize = 256;

/// One address and port, and its backend in the engine.
#[derive(Debug)]
pub(crate) struct Endpoint {
    pub(super) leaf: Arc<Leaf>,
    pub(super) address: IpAddr,
    pub(super) port: u16,
    /// The host that it is an address of.
    pub(super) host: Arc<str>,
    pub(super) rank: Rank,
}

impl Endpoint {
    /// `address:port` in canonical form: its identity on all machines.
    pub(super) fn id(&self) -> String {
        EndpointId {
            address: self.address,
            port: self.port,
        }
        .to_string()
    }

    pub(super) fn is_preferred(&self) -> bool {
        self.rank.score > 0
    }
}

/// The endpoints of one answer, in the order of their identities. It does not
/// change; the leaves live at least as long as it.
#[derive(Debug)]
pub(crate) struct Snapshot {
    pub(super) endpoints: Box<[Endpoint]>,
    pub(super) selector: Selector,
    /// What session keys name.
    pub(super) affinity: Option<AffinityTable>,
    /// Who owns which hash bucket.
    pub(super) owners: Option<OwnerTable>,
    affinity_to: AffinityTo,
    /// Selectors of the groups of several endpoints that session keys name, and
    /// of the owners of each bucket, each built when it is first needed.
    groups: Box<[OnceLock<Selector>]>,
    buckets: Box<[OnceLock<Selector>]>,
    /// There was no answer yet.
    pub(super) pending: bool,
}

/// The snapshot in force.
#[derive(Debug)]
pub(super) struct Published {
    snapshot: ArcSwap<Snapshot>,
    /// Where it is, only to be compared: a task that keeps it need not get
    /// hold of it anew.
    address: AtomicPtr<()>,
}

impl Published {
    pub(super) fn new(snapshot: Snapshot) -> Self {
        let snapshot = Arc::new(snapshot);
        Published {
            address: AtomicPtr::new(Arc::as_ptr(&snapshot).cast_mut().cast()),
            snapshot: ArcSwap::new(snapshot),
        }
    }

    pub(super) fn load(&self) -> arc_swap::Guard<Arc<Snapshot>> {
        self.snapshot.load()
    }

    pub(super) fn store(&self, snapshot: Snapshot) {
        let snapshot = Arc::new(snapshot);
        let address = Arc::as_ptr(&snapshot).cast_mut().cast();
        self.snapshot.store(snapshot);
        self.address.store(address, Ordering::Release);
    }

    /// The address of the snapshot in force, or of one that was until just
    /// now.
    pub(super) fn address(&self) -> *const () {
        self.address.load(Ordering::Acquire)
    }
}

impl Snapshot {
    /// Before the first answer.
    pub(super) fn pending() -> Self {
        Snapshot {
            pending: true,
            ..Snapshot::empty()
        }
    }

    /// No endpoints.
    pub(super) fn empty() -> Self {
        Snapshot {
            endpoints: Box::default(),
            selector: Selector::new(&[], 0),
            affinity: None,
            owners: None,
            affinity_to: AffinityTo::Endpoint,
            groups: Box::default(),
            buckets: Box::default(),
            pending: false,
        }
    }

    /// Prepares all that requests need. `seed` says whose turn it is first.
    pub(super) fn new(director: &Director, endpoints: Vec<Endpoint>, seed: u64) -> Self {
        let ids: Vec<String> = endpoints.iter().map(Endpoint::id).collect();
        let members: Vec<Member<'_>> = endpoints
            .iter()
            .zip(&ids)
            .map(|(e, id)| Member {
                id,
                host: None,
                weight: e.rank.weight,
                priority: e.rank.priority,
                score: e.rank.score,
            })
            .collect();
        let selector = Selector::new(&members, seed);
        selector.prepare(&director.settings().rules);
        let references = director.references();
        let session = references.session.as_ref().map(|object| object.session());
        let affinity_to = session.map_or(AffinityTo::Endpoint, |s| s.settings().affinity_to());
        let affinity = session.map(|session| match affinity_to {
            AffinityTo::Endpoint => {
                AffinityTable::new(session.format(), ids.iter().map(String::as_str))
            }
            AffinityTo::Host => {
                AffinityTable::new(session.format(), endpoints.iter().map(|e| &*e.host))
            }
        });
        let owners = references
            .buckets
            .as_ref()
            .and_then(|b| b.built())
            .map(|buckets| {
                OwnerTable::new(
                    buckets.assignment(),
                    endpoints.iter().map(|e| (e.address, e.port, &*e.host)),
                )
            });
        let layouts = |count: usize| (0..count).map(|_| OnceLock::new()).collect();
        let groups = if affinity.is_some() {
            layouts(endpoints.len())
        } else {
            Box::default()
        };
        let buckets = if owners.is_some() {
            layouts(BUCKETS)
        } else {
            Box::default()
        };
        Snapshot {
            endpoints: endpoints.into(),
            selector,
            affinity,
            owners,
            affinity_to,
            groups,
            buckets,
            pending: false,
        }
    }

    /// The selector of the endpoints that a session key names.
    pub(super) fn group(&self, group: usize) -> Option<&Selector> {
        let members = self.affinity.as_ref()?.members(group);
        Some(self.groups.get(group)?.get_or_init(|| self.subset(members)))
    }

    /// The selector of the owners of a bucket.
    pub(super) fn owners_of(&self, bucket: u8) -> Option<&Selector> {
        let owners = self.owners.as_ref()?.owners(bucket);
        Some(
            self.buckets
                .get(usize::from(bucket))?
                .get_or_init(|| self.subset(owners)),
        )
    }

    /// `some` in ascending order.
    fn subset(&self, some: &[usize]) -> Selector {
        self.selector.subset(|i| some.binary_search(&i).is_ok())
    }

    /// The key that binds a client to an endpoint, or to its host.
    pub(crate) fn session_key(&self, index: usize, nonce: &[u8; NONCE_LENGTH]) -> Option<String> {
        let endpoint = self.endpoints.get(index)?;
        let affinity = self.affinity.as_ref()?;
        match self.affinity_to {
            AffinityTo::Endpoint => affinity.key(&endpoint.id(), nonce),
            AffinityTo::Host => affinity.key(&endpoint.host, nonce),
        }
    }
}
