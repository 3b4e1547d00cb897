//! Changes of an implementation, each of one place.

use lang::library::{Library, Statement, StatementKind};

/// A library's text with one thing changed.
pub struct Mutant {
    /// The method, and what is changed: `Acq: drop Wait(d)`.
    pub name: String,
    /// The text.
    pub text: String,
}

/// A change of a method's body: from where to where, to what, and the change in words.
type Change = (usize, usize, String, String);

/// All mutants of a library's implementation. What is changed twice alike in one method is numbered.
pub fn mutants(library: &Library) -> Vec<Mutant> {
    let text = &library.source.text;
    let mut all: Vec<Mutant> = Vec::new();
    for body in library.implementation.iter().flat_map(|all| &all.bodies) {
        let mut variables = Vec::new();
        assigned(text, &body.statements, &mut variables);
        let mut changes = Vec::new();
        statements(text, &body.statements, &variables, &mut changes);
        for (from, to, new, words) in changes {
            let name = format!("{}: {words}", body.method);
            let alike =
                all.iter().filter(|m| m.name == name || m.name.starts_with(&format!("{name} #")));
            let name = match alike.count() {
                0 => name,
                before => format!("{name} #{}", before + 1),
            };
            let text = format!("{}{new}{}", &text[..from], &text[to..]);
            all.push(Mutant { name, text });
        }
    }
    all
}

/// The variables that statements give values to.
fn assigned<'t>(text: &'t str, body: &[Statement], variables: &mut Vec<&'t str>) {
    for statement in body {
        let name = text[statement.span.range()].split(" :=").next().unwrap_or_default();
        let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if is_name && name.len() < statement.span.range().len() && !variables.contains(&name) {
            variables.push(name);
        }
        statement.kind.blocks().for_each(|block| assigned(text, block, variables));
    }
}

fn statements(text: &str, body: &[Statement], variables: &[&str], changes: &mut Vec<Change>) {
    for statement in body {
        let range = statement.span.range();
        let own = text[range.clone()].split('{').next().unwrap_or_default();
        let shown = |part: &str| part.split_whitespace().collect::<Vec<_>>().join(" ");
        let dropped = match statement.kind.blocks().next() {
            Some(_) => format!("drop {} {{ … }}", shown(own)),
            None => format!("drop {}", shown(own)),
        };
        // A block that is left out may leave nothing.
        changes.push((range.start, range.end, "ignored := 0".to_owned(), dropped));
        if let StatementKind::Return(Some(_)) = &statement.kind {
            let others = ["0", "7", "bot"].iter().chain(variables);
            for other in others.filter(|other| own.trim() != format!("return {other}")) {
                let words = format!("{} becomes return {other}", shown(own));
                changes.push((range.start, range.end, format!("return {other}"), words));
            }
        }
        tokens(own, range.start, changes);
        statement.kind.blocks().for_each(|block| statements(text, block, variables, changes));
    }
}

/// Changes of single tokens.
fn tokens(own: &str, start: usize, changes: &mut Vec<Change>) {
    let line = own.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut change = |from: usize, to: usize, new: String| {
        let words = match new.trim() {
            "" => format!("`{}` left out in {line}", own[from..to].trim()),
            new => format!("`{}` becomes `{new}` in {line}", own[from..to].trim()),
        };
        changes.push((start + from, start + to, new, words.replace('`', "'")));
    };
    let bytes = own.as_bytes();
    let is_word =
        |at: usize| bytes.get(at).is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_');
    let mut at = 0;
    while at < bytes.len() {
        let begins_word = is_word(at) && (at == 0 || !is_word(at - 1));
        let length = (at..).take_while(|at| is_word(*at)).count();
        if begins_word {
            let word = &own[at..at + length];
            if let Ok(number) = word.parse::<u64>() {
                change(at, at + length, (number + 1).to_string());
                if number > 0 {
                    change(at, at + length, (number - 1).to_string());
                }
            }
            match word {
                "true" => change(at, at + length, "false".to_owned()),
                "false" => change(at, at + length, "true".to_owned()),
                _ => {}
            }
            at += length;
            continue;
        }
        let rest = &own[at..];
        let other = [
            (" >= ", " > "),
            (" >= ", " < "),
            (" > ", " >= "),
            (" > ", " <= "),
            (" < ", " <= "),
            (" < ", " >= "),
            (" = ", " != "),
            (" != ", " = "),
            (" + ", " - "),
            (" - ", " + "),
            (" * ", " + "),
            (" % ", " + "),
            (" \\ here", ""),
            (":=^d ", ":= "),
        ];
        for (old, new) in other.iter().filter(|(old, _)| rest.starts_with(old)) {
            change(at, at + old.len(), (*new).to_owned());
        }
        at += rest.chars().next().map_or(1, char::len_utf8);
    }
    // Another value is written.
    if let Some(place) = own.find(" := ") {
        let value = own[place + 4..].trim_end();
        let is_name = !value.is_empty() && (0..value.len()).all(|at| is_word(place + 4 + at));
        if is_name && value.parse::<u64>().is_err() {
            change(place + 4, place + 4 + value.len(), format!("{value} + 1"));
        }
    }
}
