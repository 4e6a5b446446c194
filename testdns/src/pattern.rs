//! Names and wildcards, and what is stored under them.

use std::collections::BTreeMap;
use std::fmt;

use hickory_proto::rr::Name;

use crate::error::CommandError;
use crate::name;

/// The names that a command is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Pattern {
    /// `*`: every name.
    Any,
    /// `*.x`: every name below x.
    Below(Name),
    Exact(Name),
}

impl Pattern {
    pub(crate) fn parse(text: &str) -> Result<Self, CommandError> {
        if text == "*" {
            return Ok(Self::Any);
        }
        match text.strip_prefix("*.") {
            Some(rest) => name::parse(rest).map(Self::Below),
            None => name::parse(text).map(Self::Exact),
        }
    }

    pub(crate) fn matches(&self, name: &Name) -> bool {
        match self {
            Self::Any => true,
            Self::Below(parent) => parent.zone_of(name) && parent != name,
            Self::Exact(own) => own == name,
        }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("*"),
            Self::Below(parent) => write!(f, "*.{}", name::show(parent)),
            Self::Exact(own) => f.write_str(&name::show(own)),
        }
    }
}

/// Values by pattern.
#[derive(Debug)]
pub(crate) struct PatternMap<V> {
    exact: BTreeMap<Name, V>,
    below: BTreeMap<Name, V>,
    any: Option<V>,
}

impl<V> Default for PatternMap<V> {
    fn default() -> Self {
        Self {
            exact: BTreeMap::new(),
            below: BTreeMap::new(),
            any: None,
        }
    }
}

impl<V> PatternMap<V> {
    pub(crate) fn get(&self, pattern: &Pattern) -> Option<&V> {
        match pattern {
            Pattern::Any => self.any.as_ref(),
            Pattern::Below(parent) => self.below.get(parent),
            Pattern::Exact(name) => self.exact.get(name),
        }
    }

    pub(crate) fn get_mut(&mut self, pattern: &Pattern) -> Option<&mut V> {
        match pattern {
            Pattern::Any => self.any.as_mut(),
            Pattern::Below(parent) => self.below.get_mut(parent),
            Pattern::Exact(name) => self.exact.get_mut(name),
        }
    }

    pub(crate) fn entry(&mut self, pattern: &Pattern) -> &mut V
    where
        V: Default,
    {
        match pattern {
            Pattern::Any => self.any.get_or_insert_default(),
            Pattern::Below(parent) => self.below.entry(parent.clone()).or_default(),
            Pattern::Exact(name) => self.exact.entry(name.clone()).or_default(),
        }
    }

    pub(crate) fn remove(&mut self, pattern: &Pattern) -> Option<V> {
        match pattern {
            Pattern::Any => self.any.take(),
            Pattern::Below(parent) => self.below.remove(parent),
            Pattern::Exact(name) => self.exact.remove(name),
        }
    }

    /// Keeps what `keep` says, which may change the values.
    pub(crate) fn retain(&mut self, mut keep: impl FnMut(&mut V) -> bool) {
        self.exact.retain(|_, value| keep(value));
        self.below.retain(|_, value| keep(value));
        if !self.any.as_mut().is_some_and(keep) {
            self.any = None;
        }
    }

    /// Everything, widest patterns first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Pattern, &V)> {
        let any = self.any.iter().map(|value| (Pattern::Any, value));
        let below = self.below.iter();
        let below = below.map(|(name, value)| (Pattern::Below(name.clone()), value));
        let exact = self.exact.iter();
        let exact = exact.map(|(name, value)| (Pattern::Exact(name.clone()), value));
        any.chain(below).chain(exact)
    }

    /// What applies to this name, the most specific first.
    pub(crate) fn applying<'a>(&'a self, name: &Name) -> impl Iterator<Item = &'a V> {
        self.exact.get(name).into_iter().chain(self.above(name))
    }

    /// What applies to all of this pattern besides its own, the most specific first.
    pub(crate) fn wider<'a>(&'a self, pattern: &Pattern) -> impl Iterator<Item = &'a V> {
        let name = match pattern {
            Pattern::Any => None,
            Pattern::Below(name) | Pattern::Exact(name) => Some(name),
        };
        name.into_iter().flat_map(|name| self.above(name))
    }

    fn above<'a>(&'a self, name: &Name) -> impl Iterator<Item = &'a V> {
        // Most zones have no wildcards, and then the parents need not be made.
        let first = (!self.below.is_empty() && !name.is_root()).then(|| name.base_name());
        let parents =
            std::iter::successors(first, |name| (!name.is_root()).then(|| name.base_name()));
        parents
            .filter_map(|parent| self.below.get(&parent))
            .chain(&self.any)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> Name {
        name::parse(text).unwrap()
    }

    #[test]
    fn the_most_specific_applies_first() {
        let mut map = PatternMap::<u8>::default();
        for (value, pattern) in (1..).zip(["*", "*.test", "*.a.test", "x.a.test"]) {
            *map.entry(&Pattern::parse(pattern).unwrap()) = value;
        }
        let applying = |text: &str| map.applying(&name(text)).copied().collect::<Vec<_>>();
        assert_eq!(applying("X.A.test"), [4, 3, 2, 1]);
        assert_eq!(applying("y.x.a.test"), [3, 2, 1]);
        assert_eq!(applying("a.test"), [2, 1]);
        assert_eq!(applying("test"), [1]);
        assert_eq!(applying("."), [1]);
        let wider = |text: &str| {
            let pattern = Pattern::parse(text).unwrap();
            map.wider(&pattern).copied().collect::<Vec<_>>()
        };
        assert_eq!(wider("x.a.test"), [3, 2, 1]);
        assert_eq!(wider("*.a.test"), [2, 1]);
        assert_eq!(wider("*.x.a.test"), [3, 2, 1]);
        assert!(wider("*").is_empty());
    }

    #[test]
    fn a_wildcard_means_names_below_only() {
        let pattern = Pattern::parse("*.a.test").unwrap();
        assert!(pattern.matches(&name("b.A.test")));
        assert!(pattern.matches(&name("c.b.a.test")));
        assert!(!pattern.matches(&name("a.test")));
        assert!(!pattern.matches(&name("ba.test")));
    }

    #[test]
    fn patterns_print_as_they_are_read() {
        for text in ["*", "*.", "*.a.test", "a.test", ".", "\\042.a.test"] {
            let pattern = Pattern::parse(text);
            let Ok(pattern) = pattern else {
                assert_eq!(text, "*.");
                continue;
            };
            assert_eq!(Pattern::parse(&pattern.to_string()), Ok(pattern));
        }
    }
}
