//! Programs of ours on one node, as herd's litmus files for X86_64.
//!
//! The syntax is that of herdtools7 (`lib/X86_64Parser.mly`, `lib/X86_64Lexer.mll`, `lib/stateParser.mly`,
//! `lib/splitter.mll`): AT&T's order of operands, but for cmpxchg, whose location comes first there. Words
//! have 8 bytes here, so locations and registers are `uint64_t` and instructions end with `q`, as in
//! litmus-tests-x86.
//!
//! What x86 or herd's part of it has no form for is refused with its place: more than one node, remote
//! operations, loops, arithmetic but sums, and the result of a fetch-and-add (herd knows no xadd).

mod code;
mod names;
mod question;

use crate::diagnostic::{Code, Diagnostic};
use crate::outcome::Observed;
use crate::program::{Program, RegisterId, Stmt, ThreadId, array_of, each};
use crate::source::Span;
use crate::{Dialect, Test};

use code::Column;

/// The line by which files are known as written here.
pub const MARK: &str = "Generator=litmus compile";

/// A test as a file of herd's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The file's text.
    pub text: String,
    /// What the file calls the test's observables, in order: `x`, `0:rax`.
    pub names: Vec<String>,
}

/// Writes a test for herd.
///
/// Its question is the first verdict on x86-TSO that herd has a form for; the other verdicts are comments
/// below it.
///
/// # Errors
/// The program has something that there is no form for, with its place.
pub fn write(test: &Test) -> Result<Written, Box<Diagnostic>> {
    on_one_cpu(test)?;
    let locations = names::locations(&test.program);
    let observed: Vec<RegisterId> = test
        .observables
        .iter()
        .filter_map(|observable| match observable.what {
            Observed::Register(register) => Some(register),
            _ => None,
        })
        .collect();
    let threads = 0..test.program.threads.len();
    let columns: Vec<Column> = threads
        .map(|thread| code::column(&test.program, ThreadId(thread), &locations, &observed))
        .collect::<Result<_, _>>()?;
    let name_of = |what: Observed| match what {
        Observed::Location(location) => locations.get(location.0).cloned(),
        Observed::Register(register) => {
            let thread = test.program.registers.get(register.0)?.thread.0;
            let name = columns.get(thread)?.registers.get(&register)?;
            Some(format!("{thread}:{name}"))
        }
        Observed::Copy(..) => None,
    };
    let names: Option<Vec<String>> = test.observables.iter().map(|one| name_of(one.what)).collect();
    let names = names.ok_or_else(|| refusal(Span::default(), "a library"))?;
    let mut text = header(test, &locations, &names);
    text += &initial_state(&test.program, &locations, &columns)?;
    text += &rows(&columns);
    if let Some(shown) = names.get(..test.shown).filter(|shown| !shown.is_empty()) {
        text += &format!("locations [{};]\n", shown.join("; "));
    }
    text += &question::lines(test, &names);
    Ok(Written { text, names })
}

/// Refuses something that there is no form for.
fn refusal(span: Span, found: &str) -> Box<Diagnostic> {
    let message = format!("expected what herd's X86_64 can say, found {found}");
    let error = Diagnostic::error(Code::NotForHerd, span, message).label("no form in herd's files");
    Box::new(error.help(
        "herd gets programs of reads, writes, sums, fences and locked instructions on one node",
    ))
}

fn on_one_cpu(test: &Test) -> Result<(), Box<Diagnostic>> {
    let first = |thread: usize| {
        let body = test.program.threads.get(thread).map(|thread| thread.body.as_slice());
        body.and_then(<[Stmt]>::first).map_or(Span::default(), |stmt| stmt.span)
    };
    if test.dialect == Dialect::CoreRma {
        return Err(refusal(first(0), "a program of coreRMA"));
    }
    if let Some(crash) = test.program.crash {
        return Err(refusal(crash, "a crash"));
    }
    if let Some(object) = test.program.objects.first() {
        return Err(refusal(object.span, "a library"));
    }
    let mut locations = test.program.locations.iter();
    if let Some(word) = locations.find(|location| array_of(&location.name).is_some()) {
        return Err(refusal(word.span, "an array"));
    }
    // The place shows what reaches beyond the node, if something does.
    if test.program.nodes > 1 {
        let remote = test.program.threads.iter().find_map(|thread| remote(&thread.body));
        let other = test.program.threads.iter().position(|thread| thread.node.0 > 1);
        let place =
            remote.or_else(|| test.program.locations.iter().find(|x| x.node.0 > 1).map(|x| x.span));
        return Err(refusal(
            place.unwrap_or_else(|| first(other.unwrap_or(0))),
            "more than one node",
        ));
    }
    if test.program.threads.is_empty() {
        return Err(refusal(Span::default(), "no thread"));
    }
    Ok(())
}

/// The first remote operation.
fn remote(body: &[Stmt]) -> Option<Span> {
    let mut found = None;
    each(body, &mut |stmt| found = found.or(stmt.kind.is_of_nic().then_some(stmt.span)));
    found
}

/// Everything before the initial state.
fn header(test: &Test, locations: &[String], names: &[String]) -> String {
    let mut text = format!("X86_64 {}\n", names::test_name(&test.name));
    if let Some(title) = &test.title {
        text += &format!("\"{}\"\n", names::header_text(title));
    }
    text += &format!("{MARK}\n");
    if let Some(source) = &test.source {
        text += &format!("(* {} *)\n", names::header_text(source));
    }
    let declared = test.program.locations.iter().zip(locations);
    let renamed = declared.map(|(location, name)| (name, &location.name));
    let observed = names.iter().zip(test.observables.iter().map(|observable| &observable.name));
    let mut said: Vec<String> = Vec::new();
    for (name, ours) in observed.chain(renamed).filter(|(name, ours)| name != ours) {
        let line = format!("{name} is {}", names::header_text(ours));
        if !said.contains(&line) {
            said.push(line);
        }
    }
    if !said.is_empty() {
        text += &format!("(* {} *)\n", said.join(", "));
    }
    text
}

fn initial_state(
    program: &Program,
    locations: &[String],
    columns: &[Column],
) -> Result<String, Box<Diagnostic>> {
    let mut items = Vec::new();
    for (location, name) in program.locations.iter().zip(locations) {
        let value = code::checked(location.initial, location.span)?;
        items.push(match value {
            0 => format!("uint64_t {name};"),
            _ => format!("uint64_t {name}={value};"),
        });
    }
    let mut text = format!("{{\n{}\n", items.join(" "));
    let declared: Vec<String> = columns
        .iter()
        .enumerate()
        .flat_map(|(thread, column)| {
            column.declared.iter().map(move |name| format!("uint64_t {thread}:{name};"))
        })
        .collect();
    if !declared.is_empty() {
        text += &format!("{}\n", declared.join(" "));
    }
    text += "}\n";
    Ok(text)
}

/// The table of instructions.
fn rows(columns: &[Column]) -> String {
    let height = columns.iter().map(|column| column.lines.len()).max().unwrap_or(0).max(1);
    let cell = |column: usize, row: usize| match row.checked_sub(1) {
        None => format!("P{column}"),
        Some(row) => columns[column].lines.get(row).cloned().unwrap_or_default(),
    };
    let widths: Vec<usize> = (0..columns.len())
        .map(|column| (0..=height).map(|row| cell(column, row).len()).max().unwrap_or(0))
        .collect();
    let mut text = String::new();
    for row in 0..=height {
        let cells = widths.iter().enumerate();
        let cells: Vec<String> = cells
            .map(|(column, width)| format!(" {:width$} ", cell(column, row), width = *width))
            .collect();
        text += &format!("{};\n", cells.join("|"));
    }
    text
}

#[cfg(test)]
mod tests;
