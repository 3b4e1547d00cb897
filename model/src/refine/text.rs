//! Clients as litmus programs.

use lang::library::{Library, ParameterKind};
use lang::outcome::Value;

use super::clients::{Client, Op};
use crate::models::UNDER_LIBRARIES;

/// Names of objects.
const OBJECTS: [&str; 4] = ["o", "p", "q", "r"];
/// Names of plain locations.
const LOCATIONS: [&str; 4] = ["x", "y", "z", "w"];

/// The client as text; with an outcome, as a test that forbids it.
pub fn text(client: &Client, library: &Library, outcome: Option<&[(String, Value)]>) -> String {
    write(client, &kept(client), library, outcome.map(|outcome| (outcome, '✗')))
}

/// A part of a client that has all of its threads; with an outcome, as a test that allows it.
pub fn part(
    part: &Client,
    whole: &Client,
    library: &Library,
    outcome: Option<&[(String, Value)]>,
) -> String {
    write(part, &kept(whole), library, outcome.map(|outcome| (outcome, '✓')))
}

/// The threads that a client's text has: not those that do nothing, unless an object names threads by their
/// numbers.
pub fn kept(client: &Client) -> Vec<usize> {
    let named = client.ahead || client.objects.iter().any(|object| object.writer.is_some());
    let is_kept = |thread: &usize| named || !client.threads[*thread].1.is_empty();
    (0..client.threads.len()).filter(is_kept).collect()
}

fn write(
    client: &Client,
    kept: &[usize],
    library: &Library,
    verdict: Option<(&[(String, Value)], char)>,
) -> String {
    let mut out = String::from("litmus client\n");
    out.push_str(&format!("model {UNDER_LIBRARIES}\n\n"));
    for (index, _) in client.objects.iter().enumerate() {
        if is_used(client, |op| matches!(op, Op::Call { objects, .. } if objects.contains(&index)))
        {
            out.push_str(&format!("  {}\n", declaration(client, library, index)));
        }
    }
    let cell = |node: u32| {
        let here = client.homes.iter().enumerate().filter(|(_, home)| **home == node);
        let used = here.filter(|(index, _)| is_used(client, |op| touches(op, *index)));
        let words: Vec<String> =
            used.map(|(index, _)| format!("{} = 0", LOCATIONS[index])).collect();
        words.join(", ")
    };
    let cells: Vec<String> = (1..=client.nodes).map(|node| format!("{:<8}", cell(node))).collect();
    out.push_str(&format!("  {}\n  {}\n", cells.join("||  ").trim_end(), "-".repeat(24)));
    let kept = kept.iter().map(|thread| &client.threads[*thread]);
    for (index, (node, ops)) in kept.enumerate() {
        out.push_str(&format!("  thread {} @ {node} {{\n", index + 1));
        for (line, op) in ops.iter().enumerate() {
            let register = format!("{}{}", ["a", "b", "c", "d"][index.min(3)], line + 1);
            out.push_str(&format!("    {}\n", statement(client, library, *node, op, &register)));
        }
        out.push_str("  }\n");
    }
    if let Some((outcome, mark)) = verdict {
        let parts: Vec<String> = outcome.iter().map(|(n, v)| format!("{n} = {v}")).collect();
        // A client that shows nothing should not end at all.
        let condition = if parts.is_empty() { "true".to_owned() } else { parts.join(" ∧ ") };
        out.push_str(&format!("\n  {condition} {mark}\n"));
    }
    out
}

fn is_used(client: &Client, mut wanted: impl FnMut(&Op) -> bool) -> bool {
    client.threads.iter().any(|(_, ops)| ops.iter().any(&mut wanted))
}

fn touches(op: &Op, location: usize) -> bool {
    match op {
        Op::Call { locations, .. } => locations.contains(&location),
        Op::Write(known, _) | Op::Put(known, _) | Op::Read(known) | Op::Get(known) => {
            *known == location
        }
    }
}

fn declaration(client: &Client, library: &Library, index: usize) -> String {
    let object = &client.objects[index];
    let (class, name) = (&object.class, OBJECTS[index.min(3)]);
    let home = object.home.map(|home| format!("@{home}")).unwrap_or_default();
    let initial = object.initial;
    if library.words.as_ref() == Some(class) {
        return match initial {
            0 => format!("{name}[2]{home} = 0"),
            _ => format!("{name}[2]{home} = ({initial}, {})", initial + 1),
        };
    }
    let size = object.size.map(|size| format!(" size {size}")).unwrap_or_default();
    let threads = object.writer.map(|writer| participants(client, writer));
    let asks = library.attributes().contains("threads") || !library.is_assigned();
    let threads = threads.unwrap_or_else(|| if asks { taking_part(client) } else { String::new() });
    let initial = match initial > 0 || library.is_assigned() {
        true => format!(" = {initial}"),
        false => String::new(),
    };
    format!("{class} {name}{home}{threads}{size}{initial}")
}

/// The threads of objects without a writer, where they are not those that call.
fn taking_part(client: &Client) -> String {
    if !client.ahead {
        return String::new();
    }
    let threads: Vec<String> =
        (2..=client.threads.len()).map(|thread| thread.to_string()).collect();
    format!(" {{{}}}", threads.join(", "))
}

/// The writer, and all others as readers.
fn participants(client: &Client, writer: usize) -> String {
    let first = usize::from(client.ahead);
    let others = (first..client.threads.len()).filter(|thread| *thread != writer);
    let readers: Vec<String> = others.map(|thread| (thread + 1).to_string()).collect();
    format!(" {} -> {{{}}}", writer + 1, readers.join(", "))
}

fn statement(client: &Client, library: &Library, node: u32, op: &Op, register: &str) -> String {
    match op {
        Op::Write(location, value) => format!("{} := {value}", LOCATIONS[*location]),
        Op::Read(location) => format!("{register} := {}", LOCATIONS[*location]),
        Op::Put(location, value) => {
            format!("{}^{} := {value}", LOCATIONS[*location], client.homes[*location])
        }
        Op::Get(location) => {
            format!("{register} := {}^{}", LOCATIONS[*location], client.homes[*location])
        }
        Op::Call { .. } => call(client, library, node, op, register),
    }
}

fn call(client: &Client, library: &Library, node: u32, op: &Op, register: &str) -> String {
    let Op::Call { method, objects, locations, values, id, nodes: set } = op else {
        return String::new();
    };
    let method = &library.methods[*method];
    let place = |location: usize| {
        let home = client.homes.get(location).copied().unwrap_or(node);
        let far = if home == node { String::new() } else { format!("^{home}") };
        format!("{}{far}", LOCATIONS[location])
    };
    let nodes = |nodes: &Vec<u32>| {
        let all: Vec<String> = nodes.iter().map(u32::to_string).collect();
        format!("{{{}}}", all.join(", "))
    };
    let (mut objects, mut locations) = (objects.iter(), locations.iter());
    let mut values = values.iter().map(u64::to_string);
    // What is passed for each parameter, by its name.
    let mut passed: Vec<(&str, String)> = Vec::new();
    for parameter in &method.parameters {
        let text = match parameter.kind {
            ParameterKind::Object(_) => {
                objects.next().map(|object| OBJECTS[(*object).min(3)].to_owned())
            }
            ParameterKind::Location => locations.next().map(|location| place(*location)),
            ParameterKind::Value => values.next(),
            ParameterKind::Values => match method.written {
                Some(_) => Some(format!("({})", values.by_ref().collect::<Vec<_>>().join(", "))),
                None => Some(values.by_ref().collect::<Vec<_>>().join(", ")),
            },
            ParameterKind::Id => id.then(|| "d".to_owned()),
            ParameterKind::Nodes => set.as_ref().map(nodes),
        };
        passed.extend(text.map(|text| (parameter.name.as_str(), text)));
    }
    let result = method.cases.iter().any(|case| case.returns.is_some());
    let is_assigned = method.written.as_ref().is_some_and(|text| text.contains(":="));
    let mut is_first = true;
    let written = method.notation(|word| {
        let known = passed.iter().find(|(name, _)| *name == word).map(|(_, text)| text.clone());
        // What is assigned, and not passed, takes the result.
        let is_result = std::mem::replace(&mut is_first, false) && result && is_assigned;
        known.or_else(|| is_result.then(|| register.to_owned()))
    });
    let result = if result && !is_assigned { format!("{register} := ") } else { String::new() };
    let written = written.unwrap_or_else(|| {
        let passed: Vec<&str> = passed.iter().map(|(_, text)| text.as_str()).collect();
        format!("{}({})", method.name, passed.join(", "))
    });
    format!("{result}{written}")
}
