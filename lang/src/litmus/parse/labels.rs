//! Rows that name the columns: `P0: || P1:`, `Node 1 || Node 2`.

use super::super::text::Text;
use super::cells;
use crate::source::Span;

/// The rows of labels among the lines, each with the number that it counts from, 0 or 1.
pub fn find(text: &Text, lines: &[Span]) -> Vec<(Span, u64)> {
    lines.iter().filter_map(|line| Some((*line, first(text, *line)?))).collect()
}

/// What a row of labels counts from; `None` if the row is not one of labels.
fn first(text: &Text, row: Span) -> Option<u64> {
    // Labels never have these signs, and most other rows have one.
    if text.slice(row).contains(['=', '(', '-', '"']) {
        return None;
    }
    let (cells, _) = cells::split(text, row);
    let mut first = None;
    for (index, cell) in cells.into_iter().enumerate() {
        let cell = text.slice(cell);
        if cell.is_empty() {
            continue;
        }
        let from = label(cell)?.checked_sub(index as u64)?;
        if from > 1 || *first.get_or_insert(from) != from {
            return None;
        }
    }
    first
}

/// The number of a label.
fn label(cell: &str) -> Option<u64> {
    let words = ["Process", "Proc", "Thread", "Node", "CPU", "P", "T", "N", "p", "t", "n"];
    let cell = cell.strip_suffix(':').unwrap_or(cell).trim_end();
    let rest = words.iter().find_map(|word| cell.strip_prefix(word))?;
    let digits = rest.trim_start_matches([' ', '_']);
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse().ok())?
}
