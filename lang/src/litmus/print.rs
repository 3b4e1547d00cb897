//! Tree to text, in one normal form.
//!
//! What stood in one row stays in one row; columns are aligned; a comment stays above or beside the line
//! that it belongs to.

mod claims;
mod declarations;
mod statements;

use std::collections::{BTreeMap, BTreeSet};

use crate::Dialect;

use super::ast::{Cells, Comment, File, Form, HeaderKind, Name};
use super::models::{model_as_written, quote};

pub use claims::{claim, verdict_text};
pub use statements::in_one_line;

/// A line of output and the line of the text that it comes from.
struct Line {
    text: String,
    from: usize,
    /// The last line of the text that it comes from.
    to: usize,
    /// A blank line before it.
    gap: bool,
}

/// The lines of the text on which something but a comment stands and is kept, in ascending order.
pub fn item_lines(file: &File) -> Vec<usize> {
    let mut lines = BTreeSet::from([file.name.place.line, file.rule.line]);
    lines.extend(file.header.iter().map(|line| line.place.line));
    lines.extend(file.declarations.iter().map(|row| row.place.line));
    for thread in &file.threads {
        if file.form == Form::Blocks {
            lines.extend([thread.place.line, thread.body.end.line]);
        }
        let column = statements::column(&thread.body, file.dialect());
        lines.extend(column.into_iter().map(|(line, _)| line));
    }
    lines.extend(file.results.iter().map(|line| line.end.line));
    lines.into_iter().collect()
}

/// The whole file.
pub fn file(file: &File) -> String {
    let mut lines = vec![item(format!("litmus {}", file.name.text), file.name.place.line, false)];
    for line in &file.header {
        lines.push(item(header(&line.kind), line.place.line, false));
    }
    let program = match file.form {
        Form::Columns => columns(file),
        Form::Blocks => blocks(file),
    };
    lines.extend(program);
    for (index, line) in file.results.iter().enumerate() {
        let text = claims::result(&line.kind);
        let text = text.lines().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n");
        let (from, to) = (line.place.line, line.end.line.max(line.place.line));
        lines.push(Line { text, from, to, gap: index == 0 });
    }
    with_comments(&lines, &file.comments)
}

fn item(text: String, from: usize, gap: bool) -> Line {
    Line { text, from, to: from, gap }
}

fn header(kind: &HeaderKind) -> String {
    let list =
        |names: &[Name]| names.iter().map(|name| name.text.as_str()).collect::<Vec<_>>().join(" ");
    match kind {
        HeaderKind::Title(text) => quote(text),
        HeaderKind::Source(text) => format!("source {}", quote(text)),
        HeaderKind::Models(names) => {
            let names = names.iter().map(|name| model_as_written(&name.text));
            format!("model {}", names.collect::<Vec<_>>().join(" "))
        }
        HeaderKind::Tags(names) => format!("tags {}", list(names)),
        HeaderKind::LoopBound(bound) => format!("bound loops = {bound}"),
        HeaderKind::Dialect(Dialect::CoreRma) => "dialect corerma".to_owned(),
        HeaderKind::Dialect(Dialect::Rdma) => "dialect rdma".to_owned(),
        HeaderKind::Crash => "crash".to_owned(),
    }
}

/// A row of cells, or one that stands above them.
enum Row {
    Cells(Vec<String>),
    Shared(String),
}

/// Declarations, the rule, and the threads side by side.
fn columns(file: &File) -> Vec<Line> {
    let count = file.threads.len().max(1);
    let mut rows = declaration_rows(file);
    let rule = rows.len();
    let mut all: BTreeMap<usize, Vec<Vec<String>>> = BTreeMap::new();
    for (index, thread) in file.threads.iter().enumerate() {
        for (line, text) in statements::column(&thread.body, file.dialect()) {
            let row = all.entry(line).or_insert_with(|| vec![Vec::new(); count]);
            row[index].push(text);
        }
    }
    for (line, columns) in all {
        let height = columns.iter().map(Vec::len).max().unwrap_or(0);
        for at in 0..height {
            let cell = |column: &Vec<String>| column.get(at).cloned().unwrap_or_default();
            rows.push((line, Row::Cells(columns.iter().map(cell).collect())));
        }
    }
    let no_bars = !rows.iter().any(|(_, row)| matches!(row, Row::Cells(_)));
    if no_bars && count > 1 {
        rows.push((file.rule.line, Row::Cells(vec![String::new(); count])));
    }
    let bars: Vec<&str> = file
        .threads
        .windows(2)
        .map(|pair| if pair[0].node == pair[1].node { "  |  " } else { "  ||  " })
        .collect();
    draw(file, rows, rule, &bars)
}

fn declaration_rows(file: &File) -> Vec<(usize, Row)> {
    let row = |cells: &Cells| match cells {
        Cells::Shared(all) => Row::Shared(declarations::cell(all)),
        Cells::Columns(cells) => {
            Row::Cells(cells.iter().map(|cell| declarations::cell(cell)).collect())
        }
    };
    file.declarations.iter().map(|line| (line.place.line, row(&line.cells))).collect()
}

/// Aligns rows; the rule stands before row number `rule`.
fn draw(file: &File, rows: Vec<(usize, Row)>, rule: usize, bars: &[&str]) -> Vec<Line> {
    let length = |text: &str| text.chars().count();
    let mut widths = vec![0; bars.len() + 1];
    let mut shared = 0;
    for (_, row) in &rows {
        match row {
            Row::Cells(cells) => {
                for (width, cell) in widths.iter_mut().zip(cells) {
                    *width = (*width).max(length(cell));
                }
            }
            Row::Shared(text) => shared = shared.max(length(text)),
        }
    }
    let total = widths.iter().sum::<usize>() + bars.iter().map(|bar| bar.len()).sum::<usize>();
    let dashes = "-".repeat(total.max(shared).max(3));
    let rule_line = || item(format!("  {dashes}"), file.rule.line, rule == 0);
    let mut lines = Vec::new();
    for (index, (line, row)) in rows.iter().enumerate() {
        if index == rule {
            lines.push(rule_line());
        }
        let text = match row {
            Row::Shared(text) => text.clone(),
            Row::Cells(cells) => {
                let mut text = String::new();
                for (at, cell) in cells.iter().enumerate() {
                    text.push_str(cell);
                    if let Some(bar) = bars.get(at) {
                        text.push_str(&" ".repeat(widths[at] - length(cell)));
                        text.push_str(bar);
                    }
                }
                text
            }
        };
        lines.push(item(format!("  {}", text.trim_end()), *line, index == 0));
    }
    if rule >= rows.len() {
        lines.push(rule_line());
    }
    lines
}

/// Declarations, the rule, and the threads one below the other.
fn blocks(file: &File) -> Vec<Line> {
    let rows = declaration_rows(file);
    let cells = |row: &Row| if let Row::Cells(cells) = row { cells.len() } else { 1 };
    let columns = rows.iter().map(|(_, row)| cells(row)).max().unwrap_or(1);
    let rule = rows.len();
    let mut lines = draw(file, rows, rule, &vec!["  ||  "; columns - 1]);
    for (index, thread) in file.threads.iter().enumerate() {
        let header = format!("thread {} @ {} {{", index + 1, thread.node);
        lines.push(item(header, thread.place.line, true));
        for (line, text) in statements::column(&thread.body, file.dialect()) {
            lines.push(item(format!("  {text}"), line, false));
        }
        lines.push(item("}".to_owned(), thread.body.end.line, false));
    }
    lines
}

/// The lines with every comment above or beside the line that it belongs to.
fn with_comments(lines: &[Line], comments: &[Comment]) -> String {
    let mut out = String::new();
    let mut rest = comments.iter().peekable();
    for line in lines {
        if line.gap {
            out.push('\n');
        }
        let indent = &line.text[..line.text.len() - line.text.trim_start().len()];
        while let Some(comment) = rest.next_if(|comment| {
            comment.place.line < line.from || comment.own_line && comment.place.line <= line.to
        }) {
            out.push_str(&format!("{indent}{}\n", comment.text));
        }
        out.push_str(&line.text);
        while let Some(comment) = rest.next_if(|comment| comment.place.line <= line.to) {
            out.push_str(&format!("  {}", comment.text));
        }
        out.push('\n');
    }
    for (index, comment) in rest.enumerate() {
        if index == 0 {
            out.push('\n');
        }
        out.push_str(&format!("{}\n", comment.text));
    }
    out
}
