//! Tables in Markdown, which `docs/measure` puts into docs/performance.md.

#![allow(dead_code, reason = "no benchmark needs all of it")]

use std::time::Duration;

/// Prints a table. Columns but the first are aligned to the right.
pub fn print(headings: &[&str], rows: &[Vec<String>]) {
    let line = |cells: &[String]| println!("| {} |", cells.join(" | "));
    line(&headings.iter().map(|heading| (*heading).to_owned()).collect::<Vec<_>>());
    println!("|---|{}", "---:|".repeat(headings.len().saturating_sub(1)));
    rows.iter().for_each(|row| line(row));
}

/// `12,345`.
pub fn count(number: impl TryInto<u64>) -> String {
    let digits = number.try_into().unwrap_or(u64::MAX).to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A time in milliseconds, with two digits that count.
pub fn milliseconds(time: Duration) -> String {
    let value = time.as_secs_f64() * 1000.0;
    match value {
        _ if value < 0.1 => format!("{value:.3}"),
        _ if value < 1.0 => format!("{value:.2}"),
        _ if value < 10.0 => format!("{value:.1}"),
        _ => count(value.round() as u64),
    }
}
