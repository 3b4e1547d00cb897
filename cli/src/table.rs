//! Tables and columns for people.

use lang::outcome::Value;
use tabled::builder::Builder;
use tabled::settings::Style;

/// How many rows are shown unless `-v` asks for all.
const ROWS: usize = 64;

/// A table with a head, indented; long ones are cut unless `all`.
pub fn draw(head: &[&str], rows: &[Vec<String>], all: bool) -> String {
    let mut builder = Builder::default();
    builder.push_record(head.iter().copied());
    let shown = if all { rows.len() } else { rows.len().min(ROWS) };
    for row in &rows[..shown] {
        builder.push_record(row);
    }
    let mut text = String::new();
    for line in builder.build().with(Style::rounded()).to_string().lines() {
        text.push_str(&format!("  {line}\n"));
    }
    if shown < rows.len() {
        text.push_str(&format!("  … and {} more; -v shows all\n", rows.len() - shown));
    }
    text
}

/// Values as cells.
pub fn cells(values: &[Value]) -> Vec<String> {
    values.iter().map(ToString::to_string).collect()
}

/// A text filled up with blanks to a width, in characters.
pub fn pad(text: &str, width: usize) -> String {
    let missing = width.saturating_sub(text.chars().count());
    format!("{text}{}", " ".repeat(missing))
}

/// `1 test`, `2 tests`.
pub fn count(number: usize, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}

/// `a = 1, b = 0`.
pub fn assignments<'a>(
    names: impl IntoIterator<Item = &'a str>,
    values: &[Value],
    separator: &str,
) -> String {
    let pairs = names.into_iter().zip(values).map(|(name, value)| match separator {
        "=" => format!("{name}={value}"),
        _ => format!("{name} {separator} {value}"),
    });
    pairs.collect::<Vec<_>>().join(if separator == "=" { "," } else { ", " })
}
