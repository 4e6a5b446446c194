//! Settings by name and type.

use std::collections::BTreeMap;

use hickory_proto::rr::{Name, RecordType};

use crate::pattern::{Pattern, PatternMap};

/// One setting of the server's, each with values for names and types. The most specific
/// name decides first, then the type before the rule for every type.
///
/// A rule without a value says that nothing is set, where a wider rule would apply.
#[derive(Debug)]
pub(crate) struct Rules<T>(PatternMap<ByType<T>>);

#[derive(Debug)]
struct ByType<T> {
    every: Option<Rule<T>>,
    typed: BTreeMap<RecordType, Rule<T>>,
}

type Rule<T> = Option<T>;

impl<T> Default for ByType<T> {
    fn default() -> Self {
        Self {
            every: None,
            typed: BTreeMap::new(),
        }
    }
}

impl<T> ByType<T> {
    fn is_empty(&self) -> bool {
        self.every.is_none() && self.typed.is_empty()
    }

    /// The rules about this type, or all of them.
    fn about(&self, record_type: Option<RecordType>) -> impl Iterator<Item = &Rule<T>> {
        let typed = self.typed.iter();
        let typed = typed.filter(move |(own, _)| record_type.is_none_or(|about| about == **own));
        typed.map(|(_, rule)| rule).chain(&self.every)
    }

    fn iter(&self) -> impl Iterator<Item = (Option<RecordType>, &Rule<T>)> {
        let every = self.every.iter().map(|rule| (None, rule));
        let typed = self.typed.iter();
        every.chain(typed.map(|(record_type, rule)| (Some(*record_type), rule)))
    }
}

impl<T> Default for Rules<T> {
    fn default() -> Self {
        Self(PatternMap::default())
    }
}

impl<T> Rules<T> {
    /// The value in force.
    pub(crate) fn find(&self, name: &Name, record_type: RecordType) -> Option<&T> {
        self.find_live(name, record_type, |_| true)
    }

    /// The value in force, as if there were no rules with values that are not `live`.
    pub(crate) fn find_live(
        &self,
        name: &Name,
        record_type: RecordType,
        live: impl Fn(&T) -> bool,
    ) -> Option<&T> {
        let rules = self.0.applying(name);
        let mut rules = rules.flat_map(|rules| rules.about(Some(record_type)));
        rules.find(|rule| rule.as_ref().is_none_or(&live))?.as_ref()
    }

    /// Without a type, it replaces what the pattern had for single types.
    pub(crate) fn set(&mut self, pattern: &Pattern, record_type: Option<RecordType>, value: T) {
        self.put(pattern, record_type, Some(value));
    }

    fn put(&mut self, pattern: &Pattern, record_type: Option<RecordType>, rule: Rule<T>) {
        let rules = self.0.entry(pattern);
        if let Some(record_type) = record_type {
            rules.typed.insert(record_type, rule);
        } else {
            rules.typed.clear();
            rules.every = Some(rule);
        }
    }

    /// Sets nothing: takes rules away, and where others still cover the pattern, makes one without
    /// a value.
    pub(crate) fn reset(&mut self, pattern: &Pattern, record_type: Option<RecordType>) {
        if let Some(rules) = self.0.get_mut(pattern) {
            match record_type {
                Some(record_type) => {
                    rules.typed.remove(&record_type);
                }
                None => *rules = ByType::default(),
            }
            if rules.is_empty() {
                self.0.remove(pattern);
            }
        }
        if self.is_covered(pattern, record_type, |_| true) {
            self.put(pattern, record_type, None);
        }
    }

    /// Whether another rule with a `live` value would be in force without the one for this.
    fn is_covered(
        &self,
        pattern: &Pattern,
        record_type: Option<RecordType>,
        live: impl Fn(&T) -> bool,
    ) -> bool {
        let own = record_type.and(self.0.get(pattern));
        let own = own.and_then(|rules| rules.every.as_ref());
        let wider = self.0.wider(pattern);
        let wider = wider.flat_map(|rules| rules.about(record_type));
        let mut rules = own.into_iter().chain(wider);
        rules.any(|rule| rule.as_ref().is_some_and(&live))
    }

    /// Takes the rules of all names away, for one type or altogether.
    pub(crate) fn clear(&mut self, record_type: Option<RecordType>) {
        self.0.retain(|rules| {
            record_type.is_some_and(|record_type| {
                rules.typed.remove(&record_type);
                !rules.is_empty()
            })
        });
    }

    /// The rules that matter, in an order in which they can be given one after the other. Those with
    /// values that are not `live` do not, nor those without a value under none with one.
    pub(crate) fn iter(
        &self,
        live: impl Fn(&T) -> bool + Copy,
    ) -> impl Iterator<Item = (Pattern, Option<RecordType>, Option<&T>)> {
        let all = self.0.iter().flat_map(|(pattern, rules)| {
            let rules = rules.iter();
            rules.map(move |(record_type, rule)| (pattern.clone(), record_type, rule.as_ref()))
        });
        all.filter(move |(pattern, record_type, rule)| match rule {
            Some(value) => live(value),
            None => self.is_covered(pattern, *record_type, live),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: RecordType = RecordType::A;
    const AAAA: RecordType = RecordType::AAAA;

    fn pattern(text: &str) -> Pattern {
        Pattern::parse(text).unwrap()
    }

    fn in_force(rules: &Rules<u8>, name: &str, record_type: RecordType) -> Option<u8> {
        rules
            .find(&crate::name::parse(name).unwrap(), record_type)
            .copied()
    }

    #[test]
    fn a_type_goes_before_every_type_and_a_name_before_a_wildcard() {
        let mut rules = Rules::default();
        rules.set(&pattern("*"), Some(A), 1);
        rules.set(&pattern("a.test"), None, 2);
        rules.set(&pattern("a.test"), Some(AAAA), 3);
        assert_eq!(in_force(&rules, "a.test", A), Some(2));
        assert_eq!(in_force(&rules, "a.test", AAAA), Some(3));
        assert_eq!(in_force(&rules, "b.test", A), Some(1));
        assert_eq!(in_force(&rules, "b.test", AAAA), None);
    }

    #[test]
    fn without_a_type_it_replaces_those_with_one() {
        let mut rules = Rules::default();
        rules.set(&pattern("a.test"), Some(A), 1);
        rules.set(&pattern("a.test"), None, 2);
        assert_eq!(in_force(&rules, "a.test", A), Some(2));
    }

    #[test]
    fn reset_leaves_nothing_behind_unless_something_wider_applies() {
        let mut rules = Rules::default();
        rules.set(&pattern("a.test"), None, 1);
        rules.reset(&pattern("a.test"), None);
        assert_eq!(rules.iter(|_| true).count(), 0);

        rules.set(&pattern("*.test"), None, 1);
        rules.reset(&pattern("a.test"), Some(A));
        assert_eq!(in_force(&rules, "a.test", A), None);
        assert_eq!(in_force(&rules, "a.test", AAAA), Some(1));
        rules.reset(&pattern("a.test"), None);
        assert_eq!(in_force(&rules, "a.test", AAAA), None);
        assert_eq!(in_force(&rules, "b.test", A), Some(1));
    }

    #[test]
    fn a_value_that_is_not_live_hides_none_below_it() {
        let mut rules = Rules::default();
        rules.set(&pattern("*"), None, 1);
        rules.set(&pattern("a.test"), None, 2);
        let name = crate::name::parse("a.test").unwrap();
        assert_eq!(rules.find_live(&name, A, |value| *value != 2), Some(&1));
        rules.reset(&pattern("a.test"), None);
        assert_eq!(rules.find_live(&name, A, |_| true), None);
        assert_eq!(rules.iter(|_| true).count(), 2);
        assert_eq!(rules.iter(|value| *value != 1).count(), 0);
    }

    #[test]
    fn clear_takes_one_type_or_all() {
        let mut rules = Rules::default();
        rules.set(&pattern("*"), Some(A), 1);
        rules.set(&pattern("a.test"), Some(A), 2);
        rules.set(&pattern("a.test"), Some(AAAA), 3);
        rules.clear(Some(A));
        assert_eq!(in_force(&rules, "a.test", A), None);
        assert_eq!(in_force(&rules, "a.test", AAAA), Some(3));
        rules.clear(None);
        assert_eq!(rules.iter(|_| true).count(), 0);
    }
}
