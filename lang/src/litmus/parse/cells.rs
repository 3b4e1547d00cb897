//! Rows into cells, and cells into columns.

use crate::diagnostic::{Code, Diagnostic};
use crate::source::Span;

use super::super::MAX_THREADS;
use super::super::ast::{Cells, DeclarationRow, File, Thread};
use super::super::text::Text;
use super::sections::Sections;
use super::{Context, Piece, declarations, statements};

/// What stands between two columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bar {
    /// `||`: the next column is on the next node.
    Node,
    /// `|`: the next column is another thread of the same node.
    Thread,
}

/// The cells of a row, without the blanks around them, and what stands between them. Bars inside
/// parentheses are operators.
pub fn split(text: &Text, row: Span) -> (Vec<Span>, Vec<Bar>) {
    let line = text.slice(row);
    if !may_have_bars(line) {
        return (vec![text.trim(row)], Vec::new());
    }
    let balanced = line.matches('(').count() == line.matches(')').count();
    let most = line.bytes().filter(|byte| *byte == b'|').count();
    let mut cells = Vec::with_capacity(most + 1);
    let mut bars = Vec::with_capacity(most);
    let mut depth = 0usize;
    let mut start = 0;
    let mut skip_to = 0;
    for (at, character) in line.char_indices() {
        match character {
            '(' if balanced => depth += 1,
            ')' if balanced => depth = depth.saturating_sub(1),
            '|' | '‖' | '∥' | '│' | '∣' if depth == 0 && at >= skip_to => {
                let double = line[at..].starts_with("||");
                let wide = double || matches!(character, '‖' | '∥');
                bars.push(if wide { Bar::Node } else { Bar::Thread });
                cells.push(text.trim(Span::new(row.start + start, row.start + at)));
                skip_to = at + if double { 2 } else { character.len_utf8() };
                start = skip_to;
            }
            _ => {}
        }
    }
    cells.push(text.trim(Span::new(row.start + start, row.end)));
    (cells, bars)
}

/// Whether a row is one cell.
pub fn is_one(text: &Text, row: Span) -> bool {
    !may_have_bars(text.slice(row)) || split(text, row).1.is_empty()
}

fn may_have_bars(line: &str) -> bool {
    line.bytes().any(|byte| byte == b'|' || !byte.is_ascii())
}

fn show(bars: &[Bar]) -> String {
    if bars.is_empty() {
        return "one column".to_owned();
    }
    let signs: Vec<&str> =
        bars.iter().map(|bar| if *bar == Bar::Node { "||" } else { "|" }).collect();
    format!("{} columns (`{}`)", bars.len() + 1, signs.join(" "))
}

/// What to write instead of a row with other bars.
fn columns_help(row: &str, wanted: &[Bar], found: &[Bar]) -> String {
    let bar = |bar: &Bar| if *bar == Bar::Node { "||" } else { "|" };
    let first = wanted.first().map_or("", bar);
    let statements = row.matches(":=").count();
    match () {
        () if wanted.len() == found.len() => {
            "`||` separates nodes, and `|` threads of one node; every row has the same bars"
                .to_owned()
        }
        () if !found.is_empty() => "every row has the same bars; a cell may be empty".to_owned(),
        () if statements == 0 && row.contains(['=', '<', '>']) => {
            "a verdict ends in `✓`, `✗` or `?`; every row of the program has the same bars"
                .to_owned()
        }
        () if statements > 1 && row.contains(';') => {
            format!("write `{first}` between columns; `;` separates statements of one thread")
        }
        () if statements > 1 => format!("write `{first}` between columns"),
        // Who leaves out the other cells means the first thread.
        () if row.len() < 60 => {
            let bars: Vec<&str> = wanted.iter().map(bar).collect();
            format!("every row has the same bars; a cell may be empty: `{row} {}`", bars.join(" "))
        }
        () => "every row has the same bars; a cell may be empty".to_owned(),
    }
}

/// The row's cells, one per column; a row that does not have them is padded, and an error if it is the first
/// like this.
fn fitted(context: &mut Context<'_>, row: Span, wanted: &[Bar], model: Span) -> Vec<Span> {
    let (mut cells, bars) = split(context.text, row);
    let is_new = !context.ragged.contains(&bars);
    if bars != wanted && is_new {
        context.ragged.push(bars.clone());
        let span = match cells.get(wanted.len() + 1) {
            Some(extra) => Span::new(extra.start, row.end.max(extra.start)),
            None if cells.len() <= wanted.len() => row,
            None => row,
        };
        let message = format!("expected {}, found {}", show(wanted), show(&bars));
        let error = Diagnostic::error(Code::WrongColumns, span, message);
        let error = error.related(model, "this row sets the columns");
        let help = columns_help(context.text.slice(row), wanted, &bars);
        context.sink.push(error.help(help));
    }
    cells.resize(wanted.len() + 1, Span::new(row.end, row.end));
    cells
}

/// Reads a program in columns.
pub fn columns(context: &mut Context<'_>, sections: &Sections, file: &mut File) {
    let rows = sections.rows.iter().chain(&sections.declarations);
    let with_bars =
        rows.map(|row| (*row, split(context.text, *row).1)).find(|(_, b)| !b.is_empty());
    let (model, bars) = with_bars.unwrap_or_default();
    if bars.len() >= MAX_THREADS {
        let message = format!("expected at most {MAX_THREADS} columns, found {}", bars.len() + 1);
        context.sink.push(Diagnostic::error(Code::TooManyThreads, model, message));
        return;
    }
    for row in &sections.declarations {
        declaration_row(context, *row, &bars, model, file);
    }
    let mut pieces: Vec<Piece> =
        (0..=bars.len()).map(|_| Piece { text: String::new(), map: Vec::new() }).collect();
    let mut first = vec![None; pieces.len()];
    for row in &sections.rows {
        for (index, cell) in fitted(context, *row, &bars, model).into_iter().enumerate() {
            let piece = &mut pieces[index];
            first[index].get_or_insert(cell);
            piece.map.push((piece.text.len(), cell.start));
            piece.text.push_str(context.text.slice(cell));
            // The line end stands for the cell's end.
            piece.map.push((piece.text.len(), cell.end));
            piece.text.push('\n');
        }
    }
    if !context.ragged.is_empty() {
        // Which statements stand in which column is not known; what seems wrong in them may not be.
        return;
    }
    let mut node = 1;
    for (index, piece) in pieces.iter().enumerate() {
        if index > 0 && bars[index - 1] == Bar::Node {
            node += 1;
        }
        let place = context.text.place(first[index].unwrap_or_default());
        let body = statements::body(context, piece);
        file.threads.push(Thread { node, body, place });
    }
}

fn declaration_row(
    context: &mut Context<'_>,
    row: Span,
    bars: &[Bar],
    model: Span,
    file: &mut File,
) {
    let (cells, found) = split(context.text, row);
    let read = |context: &mut Context<'_>, cell: Span| declarations::cell(context, cell);
    let nodes_only = bars.iter().filter(|bar| **bar == Bar::Node).count();
    let cells = if found.is_empty() && !bars.is_empty() {
        Cells::Shared(read(context, row))
    } else if found != bars && found.len() == nodes_only && !found.contains(&Bar::Thread) {
        // One cell per node: it stands in the node's first column.
        let mut columns = vec![Vec::new(); bars.len() + 1];
        let firsts = (0..=bars.len()).filter(|&at| at == 0 || bars[at - 1] == Bar::Node);
        for (column, cell) in firsts.zip(cells) {
            columns[column] = read(context, cell);
        }
        Cells::Columns(columns)
    } else {
        let cells = fitted(context, row, bars, model);
        Cells::Columns(cells.into_iter().map(|cell| read(context, cell)).collect())
    };
    file.declarations.push(DeclarationRow { cells, place: context.text.place(row) });
}

/// Where a block's text ends: the offset of the closing brace of the first one in it.
fn closing_brace(text: &str) -> Option<usize> {
    let mut depth = 0usize;
    for (at, character) in text.char_indices() {
        match character {
            '{' => depth += 1,
            '}' if depth == 1 => return Some(at),
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    None
}

/// How many of the lines belong to blocks `thread n @ n { … }`.
pub fn blocks_extent(context: &Context<'_>, lines: &[Span]) -> usize {
    let Some(last) = lines.last() else { return 0 };
    let mut index = 0;
    while let Some(line) = lines.get(index) {
        let text = context.text.slice(*line);
        if !text.starts_with("thread ") {
            break;
        }
        let rest = context.text.slice(Span::new(line.start, last.end));
        let Some(end) = closing_brace(rest) else { return lines.len() };
        let end = line.start + end;
        index += lines[index..].iter().take_while(|line| line.start <= end).count();
    }
    index
}

/// Reads a program in blocks.
pub fn blocks(context: &mut Context<'_>, sections: &Sections, file: &mut File) {
    let (Some(first), Some(last)) = (sections.rows.first(), sections.rows.last()) else { return };
    // First, since classes that the language does not know bring methods that it does not know.
    declarations_above_blocks(context, sections, file);
    let mut start = first.start;
    // Threads are counted from 1, or as the first one is.
    let mut from = 1;
    while start < last.end {
        let rest = Span::new(start, last.end);
        let text = context.text.slice(rest);
        let Some((open, close)) = text.find('{').zip(closing_brace(text)) else {
            let line =
                context.text.trim(Span::new(start, start + text.find('\n').unwrap_or(text.len())));
            let message = "expected `{` … `}` around the thread's statements, found the end";
            context.sink.push(Diagnostic::error(Code::UnbalancedBraces, line, message));
            return;
        };
        let header = context.text.trim(Span::new(start, start + open));
        if file.threads.is_empty()
            && context.text.slice(header).split_whitespace().nth(1) == Some("0")
        {
            from = 0;
        }
        if let Some(thread) = block(context, header, (start + open, start + close), from, file) {
            file.threads.push(thread);
        }
        let end = start + close + 1;
        let blanks = context.text.slice(Span::new(end, last.end));
        start = end + (blanks.len() - blanks.trim_start().len());
        if file.threads.len() > MAX_THREADS {
            let message = format!("expected at most {MAX_THREADS} threads, found more");
            context.sink.push(Diagnostic::error(Code::TooManyThreads, header, message));
            return;
        }
    }
}

/// Reads the rows above blocks: one column per node, or one for all.
fn declarations_above_blocks(context: &mut Context<'_>, sections: &Sections, file: &mut File) {
    let nodes: Vec<Vec<Bar>> =
        sections.declarations.iter().map(|row| split(context.text, *row).1).collect();
    let (model, bars) = sections
        .declarations
        .iter()
        .zip(nodes)
        .find(|(_, bars)| !bars.is_empty())
        .map(|(row, bars)| (*row, bars))
        .unwrap_or_default();
    if let Some(at) = bars.iter().position(|bar| *bar == Bar::Thread) {
        let cells = split(context.text, model).0;
        let span = cells.get(at).map_or(model, |cell| Span::new(cell.end, model.end));
        let message = "expected `||` between nodes, found `|`";
        let error = Diagnostic::error(Code::WrongColumns, span, message);
        context.sink.push(error.help("above blocks, there is one column per node"));
        return;
    }
    for row in &sections.declarations {
        declaration_row(context, *row, &bars, model, file);
    }
}

/// One block: its header `thread 1 @ 1`, its braces.
fn block(
    context: &mut Context<'_>,
    header: Span,
    (open, close): (usize, usize),
    from: usize,
    file: &File,
) -> Option<Thread> {
    let place = context.text.place(header);
    let text = context.text.slice(header).to_owned();
    let words: Vec<&str> =
        text.split_once('@').map_or_else(|| vec![text.as_str()], |(left, right)| vec![left, right]);
    let number = |word: &str| word.trim().parse::<u32>().ok();
    let thread = words[0].trim().strip_prefix("thread").and_then(number);
    let node = words.get(1).and_then(|word| number(word));
    let expected = file.threads.len() + from;
    match (thread, node) {
        (Some(thread), Some(node)) if node as usize <= MAX_THREADS => {
            if thread as usize != expected {
                let message = format!("expected thread {expected}, found thread {thread}");
                let error = Diagnostic::error(Code::ThreadNumber, header, message);
                context.sink.push(error.help("blocks are numbered in their order, from 1"));
            }
            let piece = Piece {
                text: context.text.slice(Span::new(open + 1, close)).to_owned(),
                map: vec![(0, open + 1)],
            };
            let mut body = statements::body(context, &piece);
            body.end = context.text.place(Span::new(close, close + 1));
            Some(Thread { node, body, place })
        }
        (Some(_), Some(_)) => {
            let message = format!("expected a node from 1 to {MAX_THREADS}");
            context.error(Code::NoSuchNode, place, message);
            None
        }
        _ => {
            let message = format!("expected `thread {expected} @ 1`, found `{text}`");
            context.error(Code::ThreadNumber, place, message);
            None
        }
    }
}
