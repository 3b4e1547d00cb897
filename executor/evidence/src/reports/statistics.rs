//! Rates and what is known of them.

use super::data::Rate;

/// The quantile of the normal distribution for 95 %.
const Z: f64 = 1.959_963_984_540_054;

/// A rate with Wilson's interval of 95 % confidence (Wilson, "Probable inference, the law of succession, and
/// statistical inference", 1927).
pub fn rate(count: u64, runs: u64) -> Rate {
    if runs == 0 {
        return Rate { rate: 0.0, low: 0.0, high: 1.0 };
    }
    let (k, n) = (count as f64, runs as f64);
    let p = k / n;
    let denominator = 1.0 + Z * Z / n;
    let middle = (p + Z * Z / (2.0 * n)) / denominator;
    let half = Z / denominator * (p * (1.0 - p) / n + Z * Z / (4.0 * n * n)).sqrt();
    let low = if count == 0 { 0.0 } else { (middle - half).max(0.0) };
    let high = if count == runs { 1.0 } else { (middle + half).min(1.0) };
    Rate { rate: p, low, high }
}

/// The rule of three: what was not seen in N runs has, with 95 % confidence, a rate below 3/N. `None` without
/// runs.
pub fn rule_of_three(runs: u64) -> Option<f64> {
    (runs > 0).then(|| (3.0 / runs as f64).min(1.0))
}

/// The rule of three, the other way: the runs after which something of this rate was seen with 95 %
/// confidence. `None` if it never happens.
pub fn runs_to_see(rate: f64) -> Option<f64> {
    (rate > 0.0).then(|| (3.0 / rate).ceil())
}

/// The length of a bar in percent on a logarithmic scale: 1 of any number is visible, all is 100.
pub fn bar(count: u64, runs: u64) -> u8 {
    if count == 0 || runs == 0 {
        return 0;
    }
    let share = (1.0 + count as f64).ln() / (1.0 + runs as f64).ln();
    (share * 100.0).round().clamp(1.0, 100.0) as u8
}

/// What holds for several tests at once, each of which has at least this many runs and showed nothing: with
/// 95 % confidence all their rates are below 1 - (0.05/tests)^(1/N), the rate with which nothing is seen in N
/// runs with probability 0.05/tests. By Boole's inequality: each bound fails with that probability.
pub fn joint_bound(tests: usize, runs: u64) -> Option<f64> {
    let each = (0.05 / tests as f64).ln();
    // 1 - e^x, without loss where x is small.
    (tests > 0 && runs > 0).then(|| -(each / runs as f64).exp_m1())
}

/// The middle of some numbers: the mean of the two in the middle, if their number is even.
pub fn median(mut numbers: Vec<f64>) -> Option<f64> {
    numbers.sort_by(f64::total_cmp);
    let middle = numbers.len() / 2;
    match numbers.len() {
        0 => None,
        odd if odd % 2 == 1 => Some(numbers[middle]),
        _ => Some(f64::midpoint(numbers[middle - 1], numbers[middle])),
    }
}

/// ln n!, by Stirling's series; exact to 12 digits.
fn ln_factorial(n: u64) -> f64 {
    if n < 20 {
        return (2..=n).map(|k| (k as f64).ln()).sum();
    }
    let x = n as f64;
    let series = 1.0 / (12.0 * x) - 1.0 / (360.0 * x.powi(3)) + 1.0 / (1260.0 * x.powi(5));
    x * x.ln() - x + 0.5 * (std::f64::consts::TAU * x).ln() + series
}

/// From how many possible tables on the exact test gives way to the normal approximation, which is good by
/// then.
const EXACT: u64 = 20_000;

/// The probability that two equal rates give counts as different as these, or more so: Fisher's exact test,
/// two-sided; with very large counts the normal approximation with Yates' correction.
pub fn differ(first: (u64, u64), second: (u64, u64)) -> f64 {
    let ((k1, n1), (k2, n2)) = (first, second);
    let (Some(k), Some(n)) = (k1.checked_add(k2), n1.checked_add(n2)) else { return 1.0 };
    if k == 0 || k == n || n1 == 0 || n2 == 0 {
        return 1.0;
    }
    let (low, high) = (k.saturating_sub(n2), k.min(n1));
    if high - low > EXACT {
        let pooled = k as f64 / n as f64;
        let expected = n1 as f64 * pooled;
        let variance = expected * (1.0 - pooled) * (n2 as f64 / n as f64);
        let distance = ((k1 as f64 - expected).abs() - 0.5).max(0.0);
        return two_sided(distance / variance.sqrt());
    }
    let ln_choose = |n: u64, k: u64| ln_factorial(n) - ln_factorial(k) - ln_factorial(n - k);
    let all = ln_choose(n, k);
    let probability = |x: u64| (ln_choose(n1, x) + ln_choose(n2, k - x) - all).exp();
    let seen = probability(k1) * (1.0 + 1e-7);
    let tail: f64 = (low..=high).map(probability).filter(|one| *one <= seen).sum();
    tail.min(1.0)
}

/// The probability that a standard normal number is at least this far from 0 (Abramowitz and Stegun, 7.1.26).
fn two_sided(z: f64) -> f64 {
    let x = z / std::f64::consts::SQRT_2;
    let t = 1.0 / (1.0 + 0.327_591_1 * x);
    let factors = [1.061_405_429, -1.453_152_027, 1.421_413_741, -0.284_496_736, 0.254_829_592];
    let polynomial = factors.iter().fold(0.0, |sum, factor| sum * t + factor) * t;
    (polynomial * (-x * x).exp()).clamp(0.0, 1.0)
}

/// Which of many hypotheses to reject so that of the rejected ones at most this share is wrong on average
/// (Benjamini and Hochberg, "Controlling the false discovery rate", 1995): by their probabilities, which are
/// of the same order.
pub fn discoveries(probabilities: &[f64], share: f64) -> Vec<bool> {
    let mut order: Vec<usize> = (0..probabilities.len()).collect();
    order.sort_by(|a, b| probabilities[*a].total_cmp(&probabilities[*b]));
    let many = probabilities.len() as f64;
    let passes = |rank: usize| probabilities[order[rank]] <= share * (rank + 1) as f64 / many;
    let last = (0..order.len()).rev().find(|rank| passes(*rank));
    let mut rejected = vec![false; probabilities.len()];
    if let Some(last) = last {
        order[..=last].iter().for_each(|index| rejected[*index] = true);
    }
    rejected
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals() {
        let none = rate(0, 100);
        assert_eq!((none.rate, none.low), (0.0, 0.0));
        assert!((none.high - 0.0370).abs() < 0.0005, "{none:?}");
        let half = rate(50, 100);
        assert!((half.low - 0.4038).abs() < 0.0005 && (half.high - 0.5962).abs() < 0.0005);
        assert_eq!(rate(7, 7).high, 1.0);
        assert_eq!(rate(0, 0), Rate { rate: 0.0, low: 0.0, high: 1.0 });
    }

    #[test]
    fn three() {
        assert_eq!(rule_of_three(3000), Some(0.001));
        assert_eq!(rule_of_three(1), Some(1.0));
        assert_eq!(rule_of_three(0), None);
    }

    #[test]
    fn all_tests_at_once() {
        // One test is one test: the rule of three, nearly.
        assert!((joint_bound(1, 3000).unwrap() - 0.001).abs() < 2e-6);
        // Few runs, where ln(tests/0.05)/N would say 1: the fifth root of 0.01 is 0.398.
        assert!((joint_bound(5, 5).unwrap() - 0.602).abs() < 1e-3);
        // The bound is a rate with which all runs show nothing with the probability that is said.
        let bound = joint_bound(7, 40).unwrap();
        assert!(((1.0 - bound).powi(40) - 0.05 / 7.0).abs() < 1e-12);
        assert!((joint_bound(212, 2000).unwrap() - 0.00417).abs() < 1e-5);
        assert_eq!((joint_bound(0, 10), joint_bound(1, 0)), (None, None));
        assert_eq!(median(vec![3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(vec![1.0, 2.0]), Some(1.5));
        assert_eq!(median(Vec::new()), None);
    }

    #[test]
    fn differences_are_judged_as_by_others() {
        // Fisher's tea, and figures of R's fisher.test.
        for (first, second, expected) in [
            ((3, 4), (1, 4), 0.485_714),
            ((1, 10), (8, 10), 0.005_477),
            ((0, 2000), (6, 2000), 0.031_133),
            ((10, 10), (10, 10), 1.0),
        ] {
            let found = differ(first, second);
            assert!((found - expected).abs() < 1e-5, "{first:?} {second:?}: {found}");
        }
        // Where both can be had, they agree.
        let exact = differ((9_700, 30_000), (9_970, 30_000));
        assert!((exact - 0.019_31).abs() < 2e-4, "{exact}");
        let many = differ((970_000, 3_000_000), (970_900, 3_000_000));
        assert!((many - 0.432_72).abs() < 2e-5, "{many}");
        assert!(differ((0, u64::MAX), (5, u64::MAX)) <= 1.0);
    }

    #[test]
    fn equal_machines_differ_as_often_as_is_said() {
        // 400 comparisons of equal rates: of 200 such reports, about 5 % may say anything at all.
        let mut state = 1_u64;
        let mut random = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as f64 / f64::from(1_u32 << 31)
        };
        let mut count = |rate: f64| (0..100).filter(|_| random() < rate).count() as u64;
        let mut wrong = 0;
        for _ in 0..200 {
            let probabilities: Vec<f64> = (0..400)
                .map(|index| {
                    let rate = f64::from(index % 10) / 20.0 + 0.02;
                    differ((count(rate), 100), (count(rate), 100))
                })
                .collect();
            wrong += usize::from(discoveries(&probabilities, 0.05).contains(&true));
        }
        assert!(wrong <= 20, "{wrong} of 200");
    }

    #[test]
    fn discoveries_are_those_of_the_procedure() {
        let found = discoveries(&[0.001, 0.008, 0.039, 0.041, 0.042, 0.06, 0.9], 0.05);
        assert_eq!(found, [true, true, false, false, false, false, false]);
        // One that fails at its own rank is rejected with a later one that passes.
        assert_eq!(discoveries(&[0.04, 0.045], 0.05), [true, true]);
        assert_eq!(discoveries(&[], 0.05), Vec::<bool>::new());
    }

    #[test]
    fn bars() {
        assert_eq!((bar(0, 10), bar(10, 10)), (0, 100));
        assert!(bar(1, u64::MAX) >= 1);
    }
}
