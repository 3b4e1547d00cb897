//! Who ran what on what: headers of records for people.

use serde_json::Value as Json;

use super::data::{Group, RunReport, Setting};
use super::findings::quote;
use super::{Source, setting};
use crate::nodes::NodeInfo;
use crate::record::{Header, Host};

/// The runs, in the order of the records; those before `first` are the baseline.
pub fn runs(sources: &[Source], first: usize) -> Vec<RunReport> {
    sources.iter().enumerate().map(|(index, source)| run(source, index < first)).collect()
}

fn run(source: &Source, is_baseline: bool) -> RunReport {
    let header = &source.record.header;
    let folders = folders(source);
    let paths: Vec<&str> = folders.iter().map(String::as_str).collect();
    RunReport {
        record: source.name.clone(),
        is_baseline,
        subject: subject(header),
        started: header.started.clone(),
        command: command(header, &paths, None),
        summary: summary(header),
        configuration: configuration(header),
    }
}

/// The folders that hold all tests: the part of the path that they share, or each its own.
fn folders(source: &Source) -> Vec<String> {
    let mut files = source.record.tests.iter().map(|test| test.file.as_str());
    let Some(first) = files.next() else { return vec!["…".to_owned()] };
    let mut common: Vec<&str> = first.split('/').collect();
    if source.record.tests.len() > 1 {
        common.pop();
    }
    for file in files {
        let shared = common.iter().zip(file.split('/')).take_while(|(a, b)| **a == *b).count();
        common.truncate(shared);
    }
    if common.is_empty() || common == [""] {
        vec!["…".to_owned()]
    } else {
        vec![common.join("/")]
    }
}

/// A short name for what was tested.
pub fn subject(header: &Header) -> String {
    match header.nodes.as_slice() {
        [] if header.backend == "sim" && header.faults.is_empty() => "simulator".to_owned(),
        [] if header.backend == "sim" => format!("simulator with {}", header.faults.join(", ")),
        [] => header.backend.clone(),
        nodes => {
            let mut names: Vec<String> = nodes.iter().map(device).collect();
            names.dedup();
            let hosts: Vec<&str> = nodes.iter().map(|node| node.name.as_str()).collect();
            format!("{} on {}", names.join(" and "), hosts.join(", "))
        }
    }
}

fn device(node: &NodeInfo) -> String {
    let device = &node.device;
    match device.driver.as_str() {
        "" => device.name.clone(),
        "rxe" => format!("{} (Soft-RoCE)", device.name),
        driver => format!("{} ({driver})", device.name),
    }
}

fn link(node: &NodeInfo) -> String {
    let port = node.device.ports.iter().find(|port| port.number == node.device.port);
    let Some(port) = port else { return "no port".to_owned() };
    let layer = serde_json::to_value(port.link_layer).ok();
    let layer = layer.as_ref().and_then(Json::as_str).unwrap_or("unknown link").to_owned();
    let speed = match port.gigabits {
        0 => String::new(),
        gigabits => format!(", {gigabits} Gbit/s"),
    };
    format!("{layer}, {}, MTU {}{speed}", port.state, port.mtu)
}

fn host_line(host: &Host) -> String {
    let parts = [host.cpu.clone(), host.os.clone(), host.arch.clone()];
    let text = parts.into_iter().flatten().collect::<Vec<_>>().join(" · ");
    if text.is_empty() { "unknown".to_owned() } else { text }
}

/// What stands at the head of a report.
fn summary(header: &Header) -> Vec<Setting> {
    let mut summary = Vec::new();
    for node in &header.nodes {
        let firmware = match node.device.firmware.as_str() {
            "" => "unknown".to_owned(),
            firmware => firmware.to_owned(),
        };
        let device = format!("{}, firmware {firmware}, {}", device(node), link(node));
        summary.push(setting(&format!("device on {}", node.name), device));
        summary.push(setting(&format!("host {}", node.name), host_line(&node.host)));
    }
    if header.nodes.is_empty() {
        summary.push(setting("device", subject(header)));
        if let Some(host) = &header.host {
            summary.push(setting("host", host_line(host)));
        }
    }
    summary.push(setting("runs of each test", header.iterations.to_string()));
    summary.push(setting("seed", header.seed.to_string()));
    if !header.faults.is_empty() {
        summary.push(setting("deliberate faults", header.faults.join(", ")));
    }
    let changed = changed_parameters(header);
    if !changed.is_empty() {
        summary.push(setting("parameters", changed));
    }
    if let Some(started) = &header.started {
        let ended = header.ended.as_ref().map_or(String::new(), |ended| format!(" to {ended}"));
        summary.push(setting("date", format!("{started}{ended}")));
    }
    summary.push(setting("litmus", header.tool.clone()));
    summary
}

/// The parameters as options of the command line.
fn changed_parameters(header: &Header) -> String {
    if header.backend == "verbs" { flags(header).join(" ") } else { String::new() }
}

/// Options that set the parameters, where they are not the default ones.
fn flags(header: &Header) -> Vec<String> {
    let default = serde_json::to_value(crate::rounds::Parameters::default());
    let mut flat = serde_json::Map::new();
    if let Ok(Json::Object(default)) = default {
        for (name, value) in default {
            match value {
                Json::Object(inner) => flat.extend(inner),
                value => drop(flat.insert(name, value)),
            }
        }
    }
    let options = [
        ("instances", "--instances"),
        ("rounds", "--rounds"),
        ("delay", "--delay"),
        ("flush", "--flush"),
        ("pin", "--pin"),
        ("stride", "--stride"),
        ("patience", "--patience"),
        ("inline", "--inline"),
        ("relaxed_ordering", "--relaxed-ordering"),
        ("depth", "-t"),
        ("outstanding_reads", "-o"),
        ("timeout", "-u"),
    ];
    let mut flags = Vec::new();
    for (name, option) in options {
        let Some(value) = header.parameters.get(name) else { continue };
        if flat.get(name) == Some(value) {
            continue;
        }
        match value {
            Json::Bool(true) => flags.push(option.to_owned()),
            Json::Number(number) if name == "stride" => {
                flags.push(format!("{option} {}", number.as_u64().unwrap_or_default() * 8));
            }
            Json::Number(number) => flags.push(format!("{option} {number}")),
            _ => {}
        }
    }
    flags
}

/// The command that runs some tests as a record's were.
pub fn command(header: &Header, paths: &[&str], model: Option<&str>) -> String {
    let mut words = vec!["litmus run".to_owned()];
    words.extend(paths.iter().map(|path| quote(path)));
    words.push(format!("--backend {}", quote(&header.backend)));
    if !header.nodes.is_empty() {
        let names: Vec<&str> = header.nodes.iter().map(|node| node.name.as_str()).collect();
        if names != ["local"] {
            words.push(format!("--nodes {}", quote(&names.join(","))));
        }
        let device = &header.nodes[0].device;
        let is_same =
            |node: &NodeInfo| node.device.name == device.name && node.device.port == device.port;
        if header.nodes.iter().all(is_same) {
            words.push(format!("-d {} -i {}", quote(&device.name), device.port));
            if let Some((gid, _)) = device.gid {
                words.push(format!("-x {gid}"));
            }
        }
        words.extend(flags(header));
    }
    words.push(format!("-n {} --seed {}", header.iterations, header.seed));
    words.extend(header.faults.iter().map(|fault| format!("--fault {}", quote(fault))));
    let chosen = match model {
        Some(model) => vec![model.to_owned()],
        None => header.models.iter().map(|model| model.name.clone()).collect(),
    };
    words.extend(chosen.iter().map(|model| format!("--model {}", quote(model))));
    words.join(" ")
}

/// Everything that a header knows.
fn configuration(header: &Header) -> Vec<Group> {
    let mut groups = Vec::new();
    let mut run = vec![
        setting("format", header.schema.clone()),
        setting("litmus", header.tool.clone()),
        setting("backend", header.backend.clone()),
        setting("seed", header.seed.to_string()),
        setting("runs of each test", header.iterations.to_string()),
        setting(
            "faults",
            if header.faults.is_empty() { "none".to_owned() } else { header.faults.join(", ") },
        ),
    ];
    run.extend(header.started.iter().map(|at| setting("began", at.clone())));
    run.extend(header.ended.iter().map(|at| setting("ended", at.clone())));
    groups.push(Group { name: "run".to_owned(), settings: run });
    let parameters = flatten("", &Json::Object(header.parameters.clone()));
    groups.push(Group { name: "parameters".to_owned(), settings: parameters });
    let models = header.models.iter().map(|model| setting(&model.name, model.hash.clone()));
    groups
        .push(Group { name: "models of the command line".to_owned(), settings: models.collect() });
    if let Some(host) = &header.host {
        let host = serde_json::to_value(host).unwrap_or_default();
        groups.push(Group { name: "coordinator".to_owned(), settings: flatten("", &host) });
    }
    for node in &header.nodes {
        let settings = flatten("", &serde_json::to_value(node).unwrap_or_default());
        groups.push(Group { name: format!("machine {}", node.name), settings });
    }
    groups.retain(|group| !group.settings.is_empty());
    groups
}

/// The leaves of JSON, each with the way to it.
fn flatten(prefix: &str, json: &Json) -> Vec<Setting> {
    let name = |key: &str| {
        let key = key.replace('_', " ");
        if prefix.is_empty() { key } else { format!("{prefix} · {key}") }
    };
    match json {
        Json::Object(fields) => {
            fields.iter().flat_map(|(key, value)| flatten(&name(key), value)).collect()
        }
        Json::Array(items) => {
            let each = items.iter().enumerate();
            each.flat_map(|(index, value)| flatten(&name(&(index + 1).to_string()), value))
                .collect()
        }
        Json::Null => vec![setting(prefix, "unknown")],
        Json::Bool(value) => vec![setting(prefix, if *value { "yes" } else { "no" })],
        Json::Number(value) => vec![setting(prefix, value.to_string())],
        Json::String(value) => vec![setting(prefix, value.clone())],
    }
}
