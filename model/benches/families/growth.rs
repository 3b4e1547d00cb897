//! Exponents of growth.

use std::time::Duration;

/// A program of a family, as far as it is known.
pub struct Point {
    pub events: u64,
    pub outcomes: Option<u64>,
    pub executions: Option<u64>,
    pub smt: Option<Duration>,
    pub explore: Option<Duration>,
}

impl Point {
    /// What all outcomes together are about: each says something of all events.
    pub fn shown(&self) -> Option<u64> {
        Some(self.outcomes? * self.events)
    }
}

/// The slope of the line through log(time) against log(size) by least squares; `-` where fewer than three
/// sizes are known.
pub fn exponent(
    points: &[Point],
    time: impl Fn(&Point) -> Option<Duration>,
    size: impl Fn(&Point) -> Option<u64>,
) -> String {
    let logarithms = |point: &Point| {
        let time = time(point)?.as_secs_f64();
        (time > 0.0).then_some(((size(point)? as f64).ln(), time.ln()))
    };
    let known: Vec<(f64, f64)> = points.iter().filter_map(logarithms).collect();
    if known.len() < 3 {
        return "-".to_owned();
    }
    let mean = |of: fn(&(f64, f64)) -> f64| known.iter().map(of).sum::<f64>() / known.len() as f64;
    let (size, time) = (mean(|(size, _)| *size), mean(|(_, time)| *time));
    let together: f64 = known.iter().map(|(x, y)| (x - size) * (y - time)).sum();
    let spread: f64 = known.iter().map(|(x, _)| (x - size).powi(2)).sum();
    if spread == 0.0 { "-".to_owned() } else { format!("{:.2}", together / spread) }
}
