//! Tables and columns for people.

use lang::outcome::{Observable, Value};
use tabled::builder::Builder;
use tabled::settings::object::Columns;
use tabled::settings::{Modify, Style, Width};

use crate::terminal::Look;

/// How many rows are shown unless `-v` asks for all.
const ROWS: usize = 64;
/// The narrowest that a column of text may become.
const NARROW: usize = 16;

/// A table with a head, indented, that fits the terminal; long ones are cut unless `all`.
pub fn draw(
    look: Look,
    head: &[&str],
    rows: impl IntoIterator<Item = Vec<String>, IntoIter: ExactSizeIterator>,
    all: bool,
) -> String {
    let rows = rows.into_iter();
    let count = rows.len();
    let shown: Vec<Vec<String>> = rows.take(if all { count } else { ROWS }).collect();
    let mut text = match fitting(look, head, &shown) {
        Some(wrapped) => boxed(head, &shown, wrapped),
        None => shown.iter().map(|row| in_words(look, head, row)).collect(),
    };
    if shown.len() < count {
        text.push_str(&format!("  … and {} more; -v shows all\n", count - shown.len()));
    }
    text
}

/// The column that must be wrapped, and how wide it may be, if one must; `None` if that is not enough.
fn fitting(look: Look, head: &[&str], rows: &[Vec<String>]) -> Option<Option<(usize, usize)>> {
    let Some(most) = look.width else { return Some(None) };
    let of_column = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| width(cell)).chain([width(head[column])]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..head.len()).map(of_column).collect();
    // Two blanks and a line before each cell, and the indentation and a line at the ends.
    let all = widths.iter().map(|width| width + 3).sum::<usize>() + 3;
    let over = all.saturating_sub(most);
    if over == 0 {
        return Some(None);
    }
    let (column, widest) = widths.iter().copied().enumerate().max_by_key(|(_, width)| *width)?;
    (widest >= over + NARROW).then(|| Some((column, widest - over)))
}

fn boxed(head: &[&str], rows: &[Vec<String>], wrapped: Option<(usize, usize)>) -> String {
    let mut builder = Builder::default();
    builder.push_record(head.iter().copied());
    rows.iter().for_each(|row| builder.push_record(row));
    let mut table = builder.build();
    table.with(Style::rounded());
    if let Some((column, width)) = wrapped {
        let wrap = Width::wrap(width).keep_words(true);
        table.with(Modify::new(Columns::one(column)).with(wrap));
    }
    table.to_string().lines().map(|line| format!("  {line}\n")).collect()
}

/// A row without a table: `a = 1, b = 0, count = 12`.
fn in_words(look: Look, head: &[&str], row: &[String]) -> String {
    let named = head.iter().zip(row).filter(|(_, cell)| !cell.is_empty());
    let word = |(name, cell): (&&str, &String)| match *name {
        "" => cell.clone(),
        name => format!("{name} = {cell}"),
    };
    look.fit(&format!("  {}", named.map(word).collect::<Vec<_>>().join(", ")))
}

/// How wide a text is on a terminal, without its colors.
pub fn width(text: &str) -> usize {
    let mut is_code = false;
    let is_shown = |letter: &char| {
        let was_code = is_code;
        is_code = (is_code || *letter == '\u{1b}') && *letter != 'm';
        !was_code && !is_code
    };
    text.chars().filter(is_shown).count()
}

/// Values of observables as cells.
pub fn cells(shown: &[Observable], values: &[Value]) -> Vec<String> {
    shown.iter().zip(values).map(|(shown, value)| shown.show(*value)).collect()
}

/// A text filled up with blanks to a width, in characters.
pub fn pad(text: &str, width: usize) -> String {
    let missing = width.saturating_sub(text.chars().count());
    format!("{text}{}", " ".repeat(missing))
}

/// How wide a column of names is: as its widest, if that leaves room for the rest of a line.
pub fn name_width(look: Look, names: impl Iterator<Item = String>) -> usize {
    let widest = names.map(|name| width(&name)).max().unwrap_or(0);
    widest.min(60).min(look.width.map_or(usize::MAX, |width| width * 2 / 5))
}

/// `1 test`, `2 tests`.
pub fn count(number: usize, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}

/// `a=1,b=0`, as `litmus explain` takes it.
pub fn assignments(shown: &[Observable], values: &[Value]) -> String {
    let pairs = shown.iter().zip(values);
    let pairs = pairs.map(|(shown, value)| format!("{}={}", shown.name, shown.show(*value)));
    pairs.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(width: Option<usize>) -> Look {
        Look { color: false, error_color: false, quiet: false, verbose: 0, width }
    }

    #[test]
    fn tables_fit_terminals() {
        let words = "a long text of many words ".repeat(4);
        let few = vec![vec!["x".to_owned(), words]];
        let names: Vec<String> = (0..30).map(|number| format!("r{number}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let many = vec![vec!["0".to_owned(); 30]; 3];
        for width in [30, 40, 80] {
            for (head, rows) in [(&["name", "what"][..], &few), (&names, &many)] {
                let text = draw(look(Some(width)), head, rows.clone(), true);
                assert!(text.lines().all(|line| line.chars().count() <= width), "{width}\n{text}");
                let cells = |text: &str| text.matches("many").count() + text.matches('0').count();
                let all = draw(look(None), head, rows.clone(), true);
                assert!(cells(&text) >= cells(&all), "{width}\n{text}");
            }
        }
    }

    #[test]
    fn colors_have_no_width() {
        assert_eq!(width("\u{1b}[1;31mVIOLATION\u{1b}[0m"), 9);
        assert_eq!(width("plain"), 5);
    }
}
