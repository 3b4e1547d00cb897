//! Converts the program's names to C identifiers, and its text to comments and strings.

use std::collections::BTreeSet;

use lang::source::{Source, Span};

use crate::plan::{Plan, Role};

/// The identifiers of a file. Each kind has its own prefix, so an identifier is never a keyword, a macro, or
/// an identifier of another kind.
pub(super) struct Names {
    /// For each node and word: `N1_x`.
    pub words: Vec<Vec<String>>,
    /// For each queue pair: `QP_1_TO_2`, from a thread to a node, or `QP_OF_NODE_1_TO_2_s0`.
    pub queue_pairs: Vec<String>,
    /// For each work id: `ID_d`.
    pub ids: Vec<String>,
    /// For each register: `r_a`.
    pub registers: Vec<String>,
}

impl Names {
    pub fn new(plan: &Plan) -> Self {
        let mut used = BTreeSet::new();
        let ids =
            plan.program.work_ids.iter().map(|id| unique(&mut used, format!("ID_{}", plain(id))));
        let ids = ids.collect();
        let registers = plan.program.registers.iter().enumerate().map(|(index, register)| {
            // Hidden registers get their number as a name. Names in programs do not begin with digits.
            let name = register.name.as_deref().map_or_else(|| index.to_string(), plain);
            unique(&mut used, format!("r_{name}"))
        });
        let registers = registers.collect();
        let queue_pairs = plan.code.queue_pairs.iter();
        let queue_pairs = queue_pairs
            .map(|pair| match pair.number {
                0 => format!("QP_{}_TO_{}", pair.thread.number(), pair.node.0),
                _ if pair.is_shared() => {
                    let from = plan.code.threads[pair.thread.0].node.0;
                    format!("QP_OF_NODE_{from}_TO_{}_{}", pair.node.0, pair.towards().number())
                }
                number => format!("QP_{}_TO_{}_{number}", pair.thread.number(), pair.node.0),
            })
            .collect();
        let words = plan.nodes.iter().map(|node| {
            let mut names: Vec<String> = Vec::new();
            for word in &node.words {
                let name = match word.role {
                    Role::Location(id) => plain(&plan.program.locations[id.0].name),
                    Role::Source { request } => format!("source_{}", request + 1),
                };
                names.push(unique(&mut used, format!("N{}_{name}", node.node.0)));
            }
            names
        });
        let words = words.collect();
        Self { words, queue_pairs, ids, registers }
    }
}

/// The name, with the first number that makes it unique if it is taken.
fn unique(used: &mut BTreeSet<String>, name: String) -> String {
    let mut chosen = name.clone();
    let mut number = 1;
    while !used.insert(chosen.clone()) {
        number += 1;
        chosen = format!("{name}_{number}");
    }
    chosen
}

/// Converts a name to letters, digits and underscores: `x'` becomes `x_prime`.
fn plain(name: &str) -> String {
    let mut plain = String::new();
    for c in name.chars() {
        match c {
            c if c.is_ascii_alphanumeric() || c == '_' => plain.push(c),
            '-' | '[' => plain.push('_'),
            // `x[1]` becomes `x_1`.
            ']' => {}
            '\'' => plain.push_str("_prime"),
            c => plain.push_str(&format!("u{:x}", u32::from(c))),
        }
    }
    plain
}

/// Makes text safe for a comment: it neither ends nor begins a comment, and has no invisible characters.
pub(super) fn comment(text: &str) -> String {
    let mut safe = String::new();
    for c in text.chars() {
        let before = safe.chars().next_back();
        // `??/` and similar were once trigraphs.
        if matches!((before, c), (Some('*'), '/') | (Some('/'), '*') | (Some('?'), '?')) {
            safe.push(' ');
        }
        safe.push(if is_invisible(c) { '?' } else { c });
    }
    safe
}

/// Whether a character would make text look different from what it is.
fn is_invisible(c: char) -> bool {
    let turns =
        matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}');
    (c.is_control() && c != '\t') || turns || c == '\u{feff}' || c == '\u{61c}'
}

/// A C string literal.
pub(super) fn string(text: &str) -> String {
    let mut literal = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' | '?' => literal.extend(['\\', c]),
            '\t' => literal.push_str("\\t"),
            c if is_invisible(c) => literal.push('_'),
            c => literal.push(c),
        }
    }
    literal.push('"');
    literal
}

/// The most characters of a statement that are quoted.
const LONGEST: usize = 90;

/// A statement for a comment: on one line, without its blocks.
pub(super) fn quote(source: &Source, span: Span) -> String {
    let text = source.text.get(span.start..span.end).unwrap_or_default();
    let text = text.split_once('{').map_or(text, |(head, _)| {
        // The braces of `GFence({1, 2})` are not a block.
        if head.trim_end().ends_with('(') { text } else { head }
    });
    let mut line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() > LONGEST {
        line = line.chars().take(LONGEST).chain(['…']).collect();
    }
    comment(&line)
}
