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

/// The rule of three: what was not seen in N runs has, with 95 % confidence, a rate below 3/N. `None` without runs.
pub fn rule_of_three(runs: u64) -> Option<f64> {
    (runs > 0).then(|| (3.0 / runs as f64).min(1.0))
}

/// The length of a bar in percent on a logarithmic scale: 1 of any number is visible, all is 100.
pub fn bar(count: u64, runs: u64) -> u8 {
    if count == 0 || runs == 0 {
        return 0;
    }
    let share = (1.0 + count as f64).ln() / (1.0 + runs as f64).ln();
    (share * 100.0).round().clamp(1.0, 100.0) as u8
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
    fn bars() {
        assert_eq!((bar(0, 10), bar(10, 10)), (0, 100));
        assert!(bar(1, u64::MAX) >= 1);
    }
}
