//! What a request reads: the endpoints of one answer, ranked.

use std::net::IpAddr;
use std::sync::Arc;

use dynamic_core::membership::Rank;
use dynamic_core::name::EndpointId;
use dynamic_core::select::{Layout, Member};

use crate::vrt::Leaf;

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
    pub(super) fn is_preferred(&self) -> bool {
        self.rank.score > 0
    }
}

/// The endpoints of one answer, in the order of their identities. It does not
/// change; the leaves live at least as long as it.
#[derive(Debug)]
pub(crate) struct Snapshot {
    pub(super) endpoints: Box<[Endpoint]>,
    pub(super) layout: Layout,
    /// There was no answer yet.
    pub(super) pending: bool,
}

impl Snapshot {
    /// Before the first answer.
    pub(super) fn pending() -> Self {
        Snapshot { pending: true, ..Snapshot::empty() }
    }

    /// No endpoints.
    pub(super) fn empty() -> Self {
        Snapshot::new(Vec::new(), 0)
    }

    /// `seed` says whose turn it is first.
    pub(super) fn new(endpoints: Vec<Endpoint>, seed: u64) -> Self {
        let ids: Vec<String> = endpoints
            .iter()
            .map(|e| EndpointId { address: e.address, port: e.port }.to_string())
            .collect();
        let members: Vec<Member<'_>> = endpoints
            .iter()
            .zip(&ids)
            .map(|(e, id)| Member {
                id,
                weight: e.rank.weight,
                priority: e.rank.priority,
                score: e.rank.score,
            })
            .collect();
        let layout = Layout::new(&members, seed);
        Snapshot { endpoints: endpoints.into(), layout, pending: false }
    }
}
