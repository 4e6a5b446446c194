//! The settings of a director that decide how an endpoint is chosen.

/// How an endpoint is chosen in a tier when no key decides it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Algorithm {
    /// In turn, in proportion to the weights, evenly spread.
    #[default]
    RoundRobin,
    /// At random, in proportion to the weights.
    Random,
    /// The one with the least in-flight per weight, ties in turn.
    Least,
    /// Of two at random, the one with less in-flight per weight.
    PowerOfTwo,
}

/// Among which endpoints a key chooses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HashScope {
    /// Those of the tier that the request goes to.
    #[default]
    Tier,
    /// Those of all tiers, the preference ignored.
    All,
}

/// The settings of one director.
///
/// Values out of range do no harm: see [`Rules::check`] for what is accepted
/// and each field for what counts as off.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rules {
    /// How to choose without a key.
    pub algorithm: Algorithm,
    /// 0 = off: the best tier with a usable endpoint takes all. From 1.0 to 10.0: a
    /// tier takes `min(1, overprovisioning × healthy weight / weight)` of
    /// the traffic and the next tier the rest. Anything below 1 is off.
    pub overprovisioning: f64,
    /// 0 = off, else from 1.1 to 10.0: how many times its fair share of
    /// the load an endpoint accepts before a key goes on to its next endpoint.
    /// Used to six decimals. Anything not above 0 is off.
    pub hash_balance: f64,
    /// Among which endpoints a key chooses.
    pub hash_scope: HashScope,
    /// Whether weights are multiplied by [`EndpointState::slow_start_factor`](super::EndpointState::slow_start_factor).
    /// Keys ignore it: a table that changed by the second would move them.
    pub slow_start: bool,
}

/// A setting that is out of its range.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum RulesError {
    /// `overprovisioning`: its value.
    #[error("overprovisioning = {0}: must be 0.0 (off) or from 1.0 to 10.0")]
    Overprovisioning(f64),
    /// `hash_balance`: its value.
    #[error("hash_balance = {0}: must be 0.0 (off) or from 1.1 to 10.0")]
    HashBalance(f64),
}

impl Rules {
    /// Checks the ranges.
    ///
    /// # Errors
    ///
    /// The first setting that is out of its range.
    pub fn check(&self) -> Result<(), RulesError> {
        let f = self.overprovisioning;
        if f != 0.0 && !(1.0..=10.0).contains(&f) {
            return Err(RulesError::Overprovisioning(f));
        }
        let c = self.hash_balance;
        if c != 0.0 && !(1.1..=10.0).contains(&c) {
            return Err(RulesError::HashBalance(c));
        }
        Ok(())
    }

    /// Whether choices depend on how many requests are under way.
    #[must_use]
    pub fn by_load(&self) -> bool {
        self.hash_balance > 0.0
            || matches!(self.algorithm, Algorithm::Least | Algorithm::PowerOfTwo)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(overprovisioning: f64, hash_balance: f64) -> Result<(), RulesError> {
        Rules {
            overprovisioning,
            hash_balance,
            ..Rules::default()
        }
        .check()
    }

    #[test]
    fn the_ends_of_the_ranges_are_accepted() {
        for f in [0.0, -0.0, 1.0, 1.4, 10.0] {
            assert_eq!(with(f, 0.0), Ok(()));
        }
        for c in [0.0, -0.0, 1.1, 1.25, 10.0] {
            assert_eq!(with(0.0, c), Ok(()));
        }
    }

    #[test]
    fn all_else_is_named_with_its_value_and_what_is_accepted() {
        for c in [1.0, 1.099, 10.1, -1.0, f64::NAN, f64::INFINITY] {
            let text = with(0.0, c).unwrap_err().to_string();
            assert!(text.starts_with(&format!("hash_balance = {c}: ")), "{text}");
            assert!(text.ends_with("from 1.1 to 10.0"), "{text}");
        }
        for f in [0.5, 0.999, 10.1, 140.0, -1.4, f64::NAN, f64::INFINITY] {
            let text = with(f, 0.0).unwrap_err().to_string();
            assert!(
                text.starts_with(&format!("overprovisioning = {f}: ")),
                "{text}"
            );
            assert!(text.ends_with("from 1.0 to 10.0"), "{text}");
        }
    }
}
