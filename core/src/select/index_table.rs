//! A table of positions, in the narrowest integer that holds them: a server
//! with ten thousand names keeps ten thousand such tables.

/// Positions in a set, by slot.
#[derive(Debug)]
pub(super) enum IndexTable {
    Narrow(Box<[u8]>),
    Middle(Box<[u16]>),
    Wide(Box<[u32]>),
}

impl IndexTable {
    /// A table of `positions`.
    #[allow(
        clippy::cast_possible_truncation,
        reason = "each arm is taken where the greatest position fits"
    )]
    pub(super) fn new(positions: Vec<u32>) -> Self {
        let greatest = positions.iter().copied().max().unwrap_or(0);
        let each = positions.iter();
        if u8::try_from(greatest).is_ok() {
            IndexTable::Narrow(each.map(|&p| p as u8).collect())
        } else if u16::try_from(greatest).is_ok() {
            IndexTable::Middle(each.map(|&p| p as u16).collect())
        } else {
            IndexTable::Wide(positions.into_boxed_slice())
        }
    }

    /// The number of slots.
    pub(super) fn len(&self) -> usize {
        match self {
            IndexTable::Narrow(slots) => slots.len(),
            IndexTable::Middle(slots) => slots.len(),
            IndexTable::Wide(slots) => slots.len(),
        }
    }

    /// The position in a slot, which is below [`IndexTable::len`].
    pub(super) fn at(&self, slot: usize) -> usize {
        match self {
            IndexTable::Narrow(slots) => usize::from(slots[slot]),
            IndexTable::Middle(slots) => usize::from(slots[slot]),
            IndexTable::Wide(slots) => slots[slot] as usize,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_width_gives_back_what_it_holds() {
        for greatest in [0, 255, 256, 65_535, 65_536, u32::MAX] {
            let table = IndexTable::new(vec![0, greatest, 1]);
            assert_eq!(table.len(), 3);
            assert_eq!(table.at(1), greatest as usize);
            assert_eq!(table.at(2), 1);
        }
    }

    #[test]
    fn the_width_is_the_narrowest() {
        assert!(matches!(IndexTable::new(vec![255]), IndexTable::Narrow(_)));
        assert!(matches!(IndexTable::new(vec![256]), IndexTable::Middle(_)));
        assert!(matches!(IndexTable::new(vec![65_536]), IndexTable::Wide(_)));
    }
}
