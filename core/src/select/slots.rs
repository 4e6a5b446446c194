//! A table of positions, in the narrowest integer that holds them: a server
//! with ten thousand names keeps ten thousand such tables.

/// Positions in a pool, by slot.
#[derive(Debug)]
pub(super) enum Slots {
    Narrow(Box<[u8]>),
    Middle(Box<[u16]>),
    Wide(Box<[u32]>),
}

impl Slots {
    /// A table of `positions`.
    pub(super) fn new(positions: Vec<u32>) -> Self {
        let top = positions.iter().copied().max().unwrap_or(0);
        let each = positions.iter();
        if u8::try_from(top).is_ok() {
            Slots::Narrow(each.map(|&p| u8::try_from(p).unwrap_or(0)).collect())
        } else if u16::try_from(top).is_ok() {
            Slots::Middle(each.map(|&p| u16::try_from(p).unwrap_or(0)).collect())
        } else {
            Slots::Wide(positions.into_boxed_slice())
        }
    }

    /// The number of slots.
    pub(super) fn len(&self) -> usize {
        match self {
            Slots::Narrow(slots) => slots.len(),
            Slots::Middle(slots) => slots.len(),
            Slots::Wide(slots) => slots.len(),
        }
    }

    /// The position in a slot; 0 outside of the table.
    pub(super) fn at(&self, slot: u64) -> usize {
        let Ok(slot) = usize::try_from(slot) else {
            return 0;
        };
        match self {
            Slots::Narrow(slots) => slots.get(slot).map_or(0, |&p| usize::from(p)),
            Slots::Middle(slots) => slots.get(slot).map_or(0, |&p| usize::from(p)),
            Slots::Wide(slots) => slots.get(slot).map_or(0, |&p| p as usize),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_width_gives_back_what_it_holds() {
        for top in [0, 255, 256, 65_535, 65_536, u32::MAX] {
            let slots = Slots::new(vec![0, top, 1]);
            assert_eq!(slots.len(), 3);
            assert_eq!(slots.at(1), top as usize);
            assert_eq!(slots.at(2), 1);
            assert_eq!(slots.at(3), 0);
        }
    }

    #[test]
    fn the_width_is_the_narrowest() {
        assert!(matches!(Slots::new(vec![255]), Slots::Narrow(_)));
        assert!(matches!(Slots::new(vec![256]), Slots::Middle(_)));
        assert!(matches!(Slots::new(vec![65_536]), Slots::Wide(_)));
    }
}
