//! Which endpoints of a snapshot own a bucket.

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::assignment::Assignment;
use super::set::BucketSet;

/// The owners of each bucket among the endpoints of one snapshot, prepared
/// when the snapshot is made. Endpoints are numbered as they are given.
///
/// An owner that is not among the endpoints is not there at all: a bucket
/// whose owners are all gone from the answer has no owner, whereas the one of
/// a sick endpoint keeps it.
#[derive(Clone, Debug)]
pub struct OwnerTable {
    /// Where the owners of a bucket begin and end in `owners`. Buckets with
    /// the same owners share them.
    ranges: Box<[(usize, usize); 256]>,
    owners: Box<[usize]>,
    /// Number of buckets per endpoint.
    counts: Box<[usize]>,
}

impl OwnerTable {
    /// Prepares the table for endpoints, each given by its address, its port
    /// and the host name whose lookup gave it.
    #[must_use]
    pub fn new<'a>(
        assignment: &Assignment,
        endpoints: impl IntoIterator<Item = (IpAddr, u16, &'a str)>,
    ) -> Self {
        let sets: Vec<BucketSet> = endpoints
            .into_iter()
            .map(|(address, port, host)| assignment.buckets_of(address, port, host))
            .collect();
        let mut ranges = Box::new([(0, 0); 256]);
        let mut owners = Vec::new();
        let mut known: BTreeMap<Vec<usize>, (usize, usize)> = BTreeMap::new();
        for (bucket, range) in (0..=u8::MAX).zip(ranges.iter_mut()) {
            let list: Vec<usize> = (0..)
                .zip(&sets)
                .filter(|(_, set)| set.contains(bucket))
                .map(|(endpoint, _)| endpoint)
                .collect();
            *range = *known.entry(list).or_insert_with_key(|list| {
                let start = owners.len();
                owners.extend_from_slice(list);
                (start, owners.len())
            });
        }
        OwnerTable {
            ranges,
            owners: owners.into(),
            counts: sets.iter().map(BucketSet::len).collect(),
        }
    }

    /// The endpoints that own a bucket, ascending. Allocates nothing, and
    /// costs the same for any number of endpoints.
    #[must_use]
    pub fn owners(&self, bucket: u8) -> &[usize] {
        let (start, end) = self.ranges[usize::from(bucket)];
        self.owners.get(start..end).unwrap_or_default()
    }

    /// Number of buckets that an endpoint owns, 0 to 256.
    #[must_use]
    pub fn count(&self, endpoint: usize) -> usize {
        self.counts.get(endpoint).copied().unwrap_or(0)
    }

    /// Number of buckets that no endpoint owns, 0 to 256.
    #[must_use]
    pub fn unowned(&self) -> usize {
        self.ranges
            .iter()
            .filter(|(start, end)| start == end)
            .count()
    }
}
