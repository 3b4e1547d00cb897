//! Syntax tree to text. Parsing the text again gives the same tree; comments are not kept.

use super::lexer::Kind;
use super::model::AxiomKind;
use super::syntax::{BinaryOp, Cell, CellKind, Expr, ExprKind, File, Name, StatementKind, Table};
use crate::front::tokens;

/// A model file as text, a statement a line, its tables aligned.
pub fn print(file: &File) -> String {
    let mut out = String::new();
    if let Some(title) = &file.title {
        out.push_str(&format!("\"{title}\"\n"));
    }
    for statement in &file.statements {
        out.push_str(&print_statement(&statement.kind));
        out.push('\n');
    }
    out
}

fn print_statement(statement: &StatementKind) -> String {
    match statement {
        StatementKind::Include(name) => format!("include \"{}\"", name.text),
        StatementKind::Let(binding) => {
            format!("let {} = {}", binding.name.text, print_expr(&binding.body))
        }
        StatementKind::Rec(bodies) => {
            let equations: Vec<String> = bodies
                .iter()
                .map(|binding| format!("{} = {}", binding.name.text, print_expr(&binding.body)))
                .collect();
            format!("let rec {}", equations.join("\nand "))
        }
        StatementKind::Function(function) => {
            let parameters = join(&function.parameters, ", ");
            format!("let {}({parameters}) = {}", function.name.text, print_expr(&function.body))
        }
        StatementKind::Exists(exists) => {
            let extends = match &exists.extends {
                Some(extends) => format!(" extends {}", print_expr(extends)),
                None => String::new(),
            };
            let on = print_expr(&exists.total_on);
            format!("exists {} total on {on}{extends}", exists.name.text)
        }
        StatementKind::Table(table) => print_table(table),
        StatementKind::Axiom(axiom) => {
            let name = match &axiom.name {
                Some(name) => format!(" as {}", name.text),
                None => String::new(),
            };
            format!("{} {}{name}", keyword(axiom.kind), print_expr(&axiom.body))
        }
        StatementKind::Calls(names) => format!("calls {}", join(names, " ")),
        StatementKind::Uncall(names) => format!("uncall {}", join(names, " ")),
        StatementKind::Machine(name) => format!("machine {}", name.text),
        StatementKind::Hardware(name) => format!("hardware {}", name.text),
        StatementKind::Drop(name) if is_word(&name.text) => format!("drop {}", name.text),
        StatementKind::Drop(name) => format!("drop \"{}\"", name.text),
        StatementKind::Set(set) => {
            let (table, row, column) = (&set.table.text, &set.row.text, &set.column.text);
            format!("set {table}[{row}, {column}] = {}", print_cell(&set.cell))
        }
        StatementKind::Replace(binding) => {
            format!("replace let {} = {}", binding.name.text, print_expr(&binding.body))
        }
    }
}

pub(super) fn keyword(kind: AxiomKind) -> &'static str {
    match kind {
        AxiomKind::Acyclic => "acyclic",
        AxiomKind::Irreflexive => "irreflexive",
        AxiomKind::Empty => "empty",
    }
}

fn join(names: &[Name], separator: &str) -> String {
    names.iter().map(|name| name.text.as_str()).collect::<Vec<_>>().join(separator)
}

/// True for a name that needs no quotes: what the lexer takes as one.
fn is_word(text: &str) -> bool {
    let (tokens, flaws) = tokens::<Kind>(text);
    flaws.is_empty() && tokens.len() == 2 && tokens[0].kind == Kind::Name
}

fn print_cell(cell: &Cell) -> String {
    match &cell.kind {
        CellKind::Ordered => "✓".to_owned(),
        CellKind::Unordered => "·".to_owned(),
        CellKind::Letter(letter) => letter.clone(),
    }
}

fn print_table(table: &Table) -> String {
    let mut out = format!("table {} on {}", table.name.text, print_expr(&table.on));
    let letters: Vec<String> = table
        .letters
        .iter()
        .map(|letter| format!("{} = {}", letter.name.text, print_expr(&letter.body)))
        .collect();
    if !letters.is_empty() {
        out.push_str(&format!(" where {}", letters.join(", ")));
    }
    let mut lines = vec![vec![String::new()]];
    lines[0].extend(table.columns.iter().map(|column| column.text.clone()));
    for row in &table.rows {
        let mut line = vec![row.head.text.clone()];
        line.extend(row.cells.iter().map(print_cell));
        lines.push(line);
    }
    let longest = lines.iter().map(Vec::len).max().unwrap_or_default();
    let widths: Vec<usize> = (0..longest)
        .map(|column| {
            lines.iter().filter_map(|line| line.get(column)).map(|cell| cell.chars().count()).max()
        })
        .map(Option::unwrap_or_default)
        .collect();
    for line in &lines {
        out.push_str("\n|");
        for (cell, width) in line.iter().zip(&widths) {
            out.push_str(&format!(" {cell:<width$} |"));
        }
    }
    out.push_str("\nend");
    out
}

/// An expression as text, with no more parentheses than needed.
pub fn print_expr(expr: &Expr) -> String {
    match &expr.kind {
        ExprKind::Name(name) => name.clone(),
        ExprKind::Zero => "0".to_owned(),
        ExprKind::Braces => "{}".to_owned(),
        ExprKind::Universe => "_".to_owned(),
        ExprKind::Binary(operator, left, right) => {
            let left = within(left, strength(*operator));
            // Chains group to the left, as they are read.
            let right = within(right, strength(*operator) + 1);
            match operator {
                BinaryOp::Sequence => format!("{left}; {right}"),
                _ => format!("{left} {} {right}", operator.symbol()),
            }
        }
        ExprKind::Complement(inner) => format!("~{}", within(inner, COMPLEMENT)),
        ExprKind::Identity(inner) => format!("[{}]", print_expr(inner)),
        ExprKind::Postfix(operator, inner) => {
            format!("{}{}", within(inner, POSTFIX), operator.symbol())
        }
        ExprKind::Domain(inner) => format!("domain({})", print_expr(inner)),
        ExprKind::Range(inner) => format!("range({})", print_expr(inner)),
        ExprKind::Call(name, arguments) => {
            let arguments: Vec<String> = arguments.iter().map(print_expr).collect();
            format!("{}({})", name.text, arguments.join(", "))
        }
    }
}

const COMPLEMENT: usize = 6;
const POSTFIX: usize = 7;

/// The expression, in parentheses if its outermost operator binds less tightly than `least`.
fn within(expr: &Expr, least: usize) -> String {
    let own = match &expr.kind {
        ExprKind::Binary(operator, ..) => strength(*operator),
        ExprKind::Complement(_) => COMPLEMENT,
        _ => POSTFIX,
    };
    if own < least { format!("({})", print_expr(expr)) } else { print_expr(expr) }
}

fn strength(operator: BinaryOp) -> usize {
    match operator {
        BinaryOp::Union => 1,
        BinaryOp::Sequence => 2,
        BinaryOp::Difference => 3,
        BinaryOp::Intersection => 4,
        BinaryOp::Product => 5,
    }
}
