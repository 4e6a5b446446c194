//! Random.

use dynamic_core::select::{Algorithm, Rules};

use crate::world::{PLAIN, RETRY, World, flat, tally};

fn rules() -> Rules {
    Rules {
        algorithm: Algorithm::Random,
        ..Rules::default()
    }
}

/// Checks counts against proportions by Pearson's chi-square test; the limit
/// is that of probability 0.001 for the degrees of freedom.
fn fits(counts: &[u64], weights: &[f64]) {
    let sum: f64 = weights.iter().sum();
    let times = u32::try_from(counts.iter().sum::<u64>()).unwrap();
    let mut square = 0.0;
    let mut freedom = 0;
    for (&count, &weight) in counts.iter().zip(weights) {
        let expected = f64::from(times) * weight / sum;
        if weight == 0.0 {
            assert_eq!(count, 0);
            continue;
        }
        let off = f64::from(u32::try_from(count).unwrap()) - expected;
        square += off * off / expected;
        freedom += 1;
    }
    let limit = [0.0, 0.0, 10.83, 13.82, 16.27, 18.47][freedom];
    assert!(
        square <= limit,
        "{counts:?}: chi-square {square} above {limit}"
    );
}

#[test]
fn each_has_its_proportion() {
    for (weights, expected) in [
        (vec![0, 0], vec![1.0, 1.0]),
        (vec![0, 100], vec![0.0, 1.0]),
        (vec![1, 255], vec![1.0, 255.0]),
        (vec![65_535, 1], vec![65_535.0, 1.0]),
        (vec![10, 20, 70], vec![10.0, 20.0, 70.0]),
        (
            vec![u32::MAX, u32::MAX, 0, u32::MAX],
            vec![1.0, 1.0, 0.0, 1.0],
        ),
    ] {
        let world = World::new(weights.len());
        let counts = tally(&flat(&weights), &rules(), &world, &PLAIN, 400_000);
        fits(&counts, &expected);
    }
}

#[test]
fn the_healthy_keep_their_proportion_however_few_they_are() {
    let weights = [10, 20, 70, 5, 900];
    for sick in [vec![0], vec![4], vec![2, 4], vec![0, 4]] {
        let world = World::without(5, &sick);
        let counts = tally(&flat(&weights), &rules(), &world, &PLAIN, 200_000);
        let expected: Vec<f64> = (0..5)
            .map(|i| {
                if sick.contains(&i) {
                    0.0
                } else {
                    f64::from(weights[i])
                }
            })
            .collect();
        fits(&counts, &expected);
    }
}

#[test]
fn one_healthy_among_a_thousand_is_always_found() {
    let sick: Vec<usize> = (0..1000).filter(|&i| i != 3).collect();
    let world = World::without(1000, &sick);
    assert_eq!(
        tally(&flat(&[5; 1000]), &rules(), &world, &PLAIN, 100)[3],
        100
    );
}

#[test]
fn retries_avoid_the_tried_and_keep_the_proportion_of_the_rest() {
    let mut world = World::new(3);
    world.tried[2] = true;
    let counts = tally(&flat(&[10, 20, 70]), &rules(), &world, &RETRY, 100_000);
    fits(&counts, &[10.0, 20.0, 0.0]);
}

#[test]
fn slow_start_scales_the_weight() {
    let rules = Rules {
        slow_start: true,
        ..rules()
    };
    let mut world = World::new(3);
    world.factor = vec![0.25, 1.0, 1.0];
    let counts = tally(&flat(&[4, 1, 2]), &rules, &world, &PLAIN, 200_000);
    fits(&counts, &[1.0, 1.0, 2.0]);
    world.healthy[1] = false;
    world.factor[2] = 0.1;
    let counts = tally(&flat(&[4, 1, 2]), &rules, &world, &PLAIN, 200_000);
    fits(&counts, &[1.0, 0.0, 0.2]);
}
