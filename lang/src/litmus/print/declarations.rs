//! Cells above the rule.

use super::super::ast::{Declaration, DeclarationKind, Number};
use crate::outcome::Value;

/// A cell: locations first come as `x = 0, y = 0`; a class holds up to the next `;`.
pub fn cell(declarations: &[Declaration]) -> String {
    let mut out = String::new();
    let mut previous = None;
    for declaration in declarations {
        let class = class(&declaration.kind);
        // `SVar x` is of no class that is known; it must not be read as one of those of `SVar x = 0`.
        let group = Some((class, matches!(declaration.kind, DeclarationKind::Other { .. })));
        match previous {
            Some(_) if previous == group => out.push_str(", "),
            Some(_) => out.push_str("; "),
            None => {}
        }
        if previous != group && !class.is_empty() {
            out.push_str(class);
            out.push(' ');
        }
        previous = group;
        out.push_str(&one(declaration));
    }
    out
}

fn class(kind: &DeclarationKind) -> &str {
    match kind {
        DeclarationKind::Location(_) | DeclarationKind::Mixed { .. } => "",
        DeclarationKind::SVar(_) => "SVar",
        DeclarationKind::Sc(_) => "SC",
        DeclarationKind::Barrier(_) => "Barrier",
        DeclarationKind::Lock(class) | DeclarationKind::Other { class, .. } => class,
        DeclarationKind::Ring { .. } => "Ring",
    }
}

fn one(declaration: &Declaration) -> String {
    let home = declaration.home.map(|node| format!("@{}", node.value)).unwrap_or_default();
    let name = &declaration.name.text;
    match &declaration.kind {
        DeclarationKind::Location(value)
        | DeclarationKind::SVar(value)
        | DeclarationKind::Sc(value) => format!("{name}{home} = {}", word(value.value)),
        DeclarationKind::Mixed { size, initial } => {
            let values = match initial.as_slice() {
                [one] => word(one.value),
                several => format!("({})", words(several)),
            };
            format!("{name}[{}]{home} = {values}", size.value)
        }
        DeclarationKind::Barrier(None) => name.clone(),
        DeclarationKind::Barrier(Some(threads)) => format!("{name} {{{}}}", list(threads)),
        DeclarationKind::Lock(_) => format!("{name}{home}"),
        DeclarationKind::Other { writer, threads, size, initial, .. } => {
            let writer = writer.map(|writer| format!(" {} ->", writer.value));
            let threads = threads.as_ref().map(|threads| format!(" {{{}}}", list(threads)));
            let size = size.map(|size| format!(" size {}", size.value));
            let initial = initial.map(|initial| format!(" = {}", word(initial.value)));
            let parts = [writer, threads, size, initial].map(Option::unwrap_or_default);
            format!("{name}{home}{}", parts.concat())
        }
        DeclarationKind::Ring { threads, size } => {
            let size = size.map(|size| format!(" size {}", size.value)).unwrap_or_default();
            let threads = threads
                .as_ref()
                .map(|(writer, readers)| format!(" {} -> {{{}}}", writer.value, list(readers)));
            format!("{name}{}{size}", threads.unwrap_or_default())
        }
    }
}

/// A number.
pub fn word(value: u64) -> String {
    Value::Int(value).to_string()
}

/// `1, -2`: values.
pub fn words(values: &[Number]) -> String {
    values.iter().map(|value| word(value.value)).collect::<Vec<_>>().join(", ")
}

/// `1, 2`: numbers of nodes or threads.
pub fn list(numbers: &[Number]) -> String {
    numbers.iter().map(|number| number.value.to_string()).collect::<Vec<_>>().join(", ")
}
