//! Slow start: an endpoint that has just become healthy gets a part of its
//! weight, which grows linearly to the whole.

/// The part that an endpoint starts with, so that it gets traffic at all.
pub const MIN_FACTOR: f64 = 0.1;

/// The factor for the weight of an endpoint that has been healthy since
/// `healthy_since`, at time `now` (seconds, one clock), where `window` is the
/// length of the ramp in seconds.
///
/// `max(MIN_FACTOR, min(1, (now − healthy_since) / window))`, so a value in
/// `MIN_FACTOR..=1`. 1 where `window` is not positive or an argument is not a
/// number; [`MIN_FACTOR`] where `healthy_since` lies ahead of `now`.
#[must_use]
pub fn factor(healthy_since: f64, now: f64, window: f64) -> f64 {
    let age = now - healthy_since;
    if window.is_nan() || window <= 0.0 || age.is_nan() {
        return 1.0;
    }
    bounded(age / window)
}

/// `factor`, whatever it is, brought into `MIN_FACTOR..=1`; 1 for not a number.
pub(super) fn bounded(factor: f64) -> f64 {
    if factor.is_nan() {
        1.0
    } else {
        factor.clamp(MIN_FACTOR, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is(factor: f64, expected: f64) {
        assert!(
            (factor - expected).abs() < 1e-12,
            "{factor} is not {expected}"
        );
    }

    #[test]
    fn the_ramp_is_linear_from_the_floor_to_one() {
        is(factor(100.0, 100.0, 10.0), MIN_FACTOR);
        is(factor(100.0, 101.0, 10.0), 0.1);
        is(factor(100.0, 102.5, 10.0), 0.25);
        is(factor(100.0, 105.0, 10.0), 0.5);
        is(factor(100.0, 110.0, 10.0), 1.0);
        is(factor(100.0, 1e9, 10.0), 1.0);
    }

    #[test]
    fn it_starts_again_with_a_new_healthy_period() {
        is(factor(100.0, 109.0, 10.0), 0.9);
        is(factor(109.5, 110.0, 10.0), MIN_FACTOR);
    }

    #[test]
    fn odd_times_and_windows_give_a_factor_in_range() {
        is(factor(200.0, 100.0, 10.0), MIN_FACTOR);
        is(factor(100.0, 100.0, 0.0), 1.0);
        is(factor(100.0, 100.0, -1.0), 1.0);
        is(factor(f64::NAN, 100.0, 10.0), 1.0);
        is(factor(100.0, 100.0, f64::NAN), 1.0);
        is(factor(f64::INFINITY, f64::INFINITY, 10.0), 1.0);
        is(factor(f64::NEG_INFINITY, 0.0, 10.0), 1.0);
        is(bounded(-3.0), MIN_FACTOR);
        is(bounded(f64::INFINITY), 1.0);
    }
}
