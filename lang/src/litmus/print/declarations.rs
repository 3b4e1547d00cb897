//! Cells above the rule.

use super::super::ast::{Declaration, DeclarationKind, Number};
use crate::outcome::Value;

/// A cell: locations first come as `x = 0, y = 0`; a class holds up to the next `;`.
pub fn cell(declarations: &[Declaration]) -> String {
    let mut out = String::new();
    let mut previous = None;
    for declaration in declarations {
        let class = declaration.kind.class().unwrap_or_default();
        // Of `SVar x, y = 0` both are 0.
        let is_bare = matches!(declaration.kind, DeclarationKind::Object { initial: None, .. });
        let group = Some((class, is_bare));
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

fn one(declaration: &Declaration) -> String {
    let home = declaration.home.map(|node| format!("@{}", node.value)).unwrap_or_default();
    let name = &declaration.name.text;
    match &declaration.kind {
        DeclarationKind::Location(value) => format!("{name}{home} = {}", word(value.value)),
        DeclarationKind::Mixed { size, initial } => {
            let values = match initial.as_slice() {
                [one] => word(one.value),
                several => format!("({})", words(several)),
            };
            format!("{name}[{}]{home} = {values}", size.value)
        }
        DeclarationKind::Object { writer, threads, size, initial, .. } => {
            let writer = writer.map(|writer| format!(" {} ->", writer.value));
            let threads = threads.as_ref().map(|threads| format!(" {{{}}}", list(threads)));
            let size = size.map(|size| format!(" size {}", size.value));
            let initial = initial.map(|initial| format!(" = {}", word(initial.value)));
            let parts = [writer, threads, size, initial].map(Option::unwrap_or_default);
            format!("{name}{home}{}", parts.concat())
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
