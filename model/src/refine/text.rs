//! Clients as litmus programs.

use lang::library::Library;
use lang::outcome::Value;

use super::clients::{Client, Op};

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

/// The threads that a client's text has: not those that do nothing, unless an object names threads by their numbers.
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
    out.push_str("model rdma-wait-rmw\n\n");
    for (index, _) in client.objects.iter().enumerate() {
        if is_used(client, |op| matches!(op, Op::Call { objects, .. } if objects.contains(&index)))
        {
            out.push_str(&format!("  {}\n", declaration(client, index)));
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

fn declaration(client: &Client, index: usize) -> String {
    let object = &client.objects[index];
    let name = OBJECTS[index.min(3)];
    let home = object.home.map(|home| format!("@{home}")).unwrap_or_default();
    let initial = object.initial;
    let taking_part = taking_part(client);
    match object.class.as_str() {
        "SVar" => format!("SVar {name} = {initial}"),
        "SC" => format!("SC {name}{home} = {initial}"),
        "Mixed" if initial > 0 => format!("{name}[2]{home} = ({initial}, {})", initial + 1),
        "Mixed" => format!("{name}[2]{home} = 0"),
        "Ring" => {
            let (writer, size) = (object.writer.unwrap_or(0), object.size.unwrap_or(1));
            format!("Ring {name}{} size {size}", participants(client, writer))
        }
        "Barrier" => format!("Barrier {name}{taking_part}"),
        class => {
            let size = object.size.map(|size| format!(" size {size}")).unwrap_or_default();
            let threads = object.writer.map(|writer| participants(client, writer));
            let threads = threads.unwrap_or(taking_part);
            let initial = if initial > 0 { format!(" = {initial}") } else { String::new() };
            format!("{class} {name}{home}{threads}{size}{initial}")
        }
    }
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
    let Op::Call { method, objects, locations, values, id, nodes } = op else {
        return String::new();
    };
    let method = &library.methods[*method];
    let name = method.name.as_str();
    let object = objects.first().map(|object| OBJECTS[(*object).min(3)]);
    let class = objects.first().map(|object| client.objects[*object].class.as_str());
    let value = |index: usize| values.get(index).copied().unwrap_or(0);
    let location = |index: usize| {
        let location = locations.get(index).copied().unwrap_or(0);
        let home = client.homes.get(location).copied().unwrap_or(node);
        let far = if home == node { String::new() } else { format!("^{home}") };
        format!("{}{far}", LOCATIONS[location])
    };
    match (class, object, name) {
        (Some("SVar"), Some(x), "Write") => return format!("{x} :=SV {}", value(0)),
        (Some("SVar"), Some(x), "Read") => return format!("{register} :=SV {x}"),
        (Some("SC"), Some(x), "Write") => return format!("{x} :=SC {}", value(0)),
        (Some("SC"), Some(x), "Read") => return format!("{register} :=SC {x}"),
        (Some("SC"), Some(x), "CAS") => {
            return format!("{register} := CASSC({x}, {}, {})", value(0), value(1));
        }
        (Some("SC"), Some(x), "FAA") => return format!("{register} := FAASC({x}, {})", value(0)),
        (Some("Mixed"), Some(x), "Write") => return format!("{x} := ({}, {})", value(0), value(1)),
        (Some("Mixed"), Some(x), "Put") => {
            let source = objects.get(1).map_or("p", |object| OBJECTS[(*object).min(3)]);
            return format!("~{x} :=^d {source}");
        }
        (Some("Mixed"), Some(x), "Get") => {
            let source = objects.get(1).map_or("p", |object| OBJECTS[(*object).min(3)]);
            return format!("{x} :=^d ~{source}");
        }
        (None, None, "Put" | "Get") => return format!("{} :=^d {}", location(0), location(1)),
        (None, None, "RCAS") => {
            let (z, x) = (location(0), location(1));
            return format!("RCAS({z}, {x}, {}, {}, d)", value(0), value(1));
        }
        (None, None, "RFAA") => {
            return format!("RFAA({}, {}, {}, d)", location(0), location(1), value(0));
        }
        _ => {}
    }
    let mut arguments: Vec<String> =
        objects.iter().map(|object| OBJECTS[(*object).min(3)].to_owned()).collect();
    arguments.extend(values.iter().map(u64::to_string));
    if *id {
        arguments.push("d".to_owned());
    }
    arguments.extend(nodes.iter().map(|nodes| {
        let all: Vec<String> = nodes.iter().map(u32::to_string).collect();
        format!("{{{}}}", all.join(", "))
    }));
    let result = method.cases.iter().any(|case| case.returns.is_some());
    let result = if result { format!("{register} := ") } else { String::new() };
    format!("{result}{name}({})", arguments.join(", "))
}
