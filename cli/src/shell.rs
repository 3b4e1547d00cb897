//! Commands in the words of a shell: those that do again what a record did.

use std::collections::BTreeSet;

use evidence::device::FabricInfo;
use evidence::record::{Header, NodeInfo};
use evidence::reports::{Shell, Source};
use executor::rounds::Parameters;
use serde_json::Value as Json;

/// How many files or folders a command names.
const NAMED: usize = 16;

/// Words commands as this command line takes them.
pub struct CommandLine;

impl Shell for CommandLine {
    fn again(&self, source: &Source) -> String {
        again(source)
    }

    fn parameters(&self, header: &Header) -> String {
        if header.is_hardware() { flags(header).join(" ") } else { String::new() }
    }

    fn run(&self, header: &Header, file: &str, model: &str) -> String {
        command(header, &[file], Some(model))
    }

    fn explain(&self, header: &Header, file: &str, model: &str, outcome: &str) -> String {
        let [file, model, outcome] = [file, model, outcome].map(quote);
        let mut words = vec![format!("litmus explain {file} --model {model}")];
        words.extend(libraries(header));
        words.push(format!("--outcome {outcome}"));
        words.join(" ")
    }
}

/// The libraries of files that a record names.
fn libraries(header: &Header) -> impl Iterator<Item = String> + '_ {
    header.libraries.iter().map(|one| format!("--library {}", quote(&one.path)))
}

/// The command that does the same run again: the one that was recorded, or else one made of what is known.
fn again(source: &Source) -> String {
    let header = &source.record.header;
    if header.is_log() {
        return "not known: a log does not say how it was made".to_owned();
    }
    if header.arguments.is_empty() {
        let paths = paths(source);
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        return command(header, &paths, None);
    }
    let mut words = vec!["litmus".to_owned()];
    let mut arguments = header.arguments.iter();
    while let Some(argument) = arguments.next() {
        // Where it was recorded, and how it was shown, is the reader's own choice.
        let (name, has_value) = match argument.split_once('=') {
            Some((name, _)) => (name, true),
            None => (argument.as_str(), false),
        };
        match name {
            "--record" | "--resume" | "--format" | "--color" | "--output" => {
                if !has_value {
                    arguments.next();
                }
            }
            // Once these were how many reads and atomics are under way, and which GID is used.
            "-o" => words.extend(arguments.next().and_then(|value| once("--outs", value))),
            "-x" if arguments.as_slice().first().is_some_and(|next| is_number(next)) => {
                words.extend(arguments.next().and_then(|value| once("--gid-index", value)));
            }
            short if short.starts_with("-o") => words.extend(once("--outs", &argument[2..])),
            "-q" | "--quiet" | "-v" | "--verbose" => {}
            _ => words.push(quote(argument)),
        }
    }
    let has = |options: &[&str]| {
        let is_one = |argument: &String| {
            options.iter().any(|option| {
                argument
                    .strip_prefix(option)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
            })
        };
        header.arguments.iter().any(is_one)
    };
    // What came by chance, from the environment, or from a record that was gone on with.
    if !has(&["--seed"]) {
        words.push(format!("--seed {}", header.seed));
    }
    if !has(&["-n", "--iterations"]) && !header.arguments.iter().any(|one| one.starts_with("-n")) {
        words.push(format!("-n {}", header.iterations));
    }
    if !has(&["--nodes"]) {
        words.extend(nodes(header));
    }
    words.join(" ")
}

fn is_number(text: &str) -> bool {
    text.parse::<u8>().is_ok()
}

/// An option that has another name now, if its value is one that it had then.
fn once(name: &str, value: &str) -> Option<String> {
    is_number(value).then(|| format!("{name} {value}"))
}

/// The files, or the folders that they are in if there are many.
fn paths(source: &Source) -> Vec<String> {
    let files: BTreeSet<&str> = source.record.tests.iter().map(|test| test.file.as_str()).collect();
    let folder = |file: &&str| file.rsplit_once('/').map_or(".", |(folder, _)| folder).to_owned();
    let mut paths: BTreeSet<String> = if files.len() <= NAMED {
        files.iter().map(|file| (*file).to_owned()).collect()
    } else {
        files.iter().map(folder).collect()
    };
    // The folders above, until there are few.
    while paths.len() > NAMED {
        let above: BTreeSet<String> = paths.iter().map(|path| folder(&path.as_str())).collect();
        if above.len() >= paths.len() {
            break;
        }
        paths = above;
    }
    paths.remove("");
    if paths.is_empty() { vec!["…".to_owned()] } else { paths.into_iter().collect() }
}

fn nodes(header: &Header) -> Option<String> {
    let names: Vec<&str> = header.nodes.iter().map(|node| node.name.as_str()).collect();
    let is_remote = !names.is_empty() && names != ["local"];
    is_remote.then(|| format!("--nodes {}", quote(&names.join(","))))
}

/// Options that set the parameters, where they are not the default ones.
fn flags(header: &Header) -> Vec<String> {
    let default = Parameters::default().json();
    let options = [
        ("instances", "--instances"),
        ("rounds", "--rounds"),
        ("delay", "--delay"),
        ("spread", "--spread"),
        ("shuffle", "--no-shuffle"),
        ("flush", "--flush"),
        ("backlog", "--backlog"),
        ("pin", "--pin"),
        ("stress", "--stress"),
        ("stride", "--stride"),
        ("post_list", "--post-list"),
        ("pages", "--pages"),
        ("on_demand", "--on-demand"),
        ("patience", "--patience"),
        ("inline", "--inline"),
        ("relaxed_ordering", "--relaxed-ordering"),
        ("depth", "-t"),
        ("outstanding_reads", "--outs"),
        ("timeout", "-u"),
        ("service_level", "--sl"),
        ("traffic_class", "--tclass"),
        ("pkey_index", "--pkey-index"),
    ];
    let mut flags = Vec::new();
    for (name, option) in options {
        let Some(value) = header.parameters.get(name) else { continue };
        if default.get(name) == Some(value) {
            continue;
        }
        match value {
            // Each switch turns its default over.
            Json::Bool(_) => flags.push(option.to_owned()),
            Json::Number(number) if name == "stride" => {
                flags.push(format!("{option} {}", number.as_u64().unwrap_or_default() * 8));
            }
            Json::String(text) => flags.push(format!("{option} {text}")),
            Json::Number(number) => flags.push(format!("{option} {number}")),
            _ => {}
        }
    }
    flags
}

/// The command that runs some tests as a record's were.
fn command(header: &Header, paths: &[&str], model: Option<&str>) -> String {
    let mut words = vec!["litmus run".to_owned()];
    words.extend(paths.iter().map(|path| quote(path)));
    if !header.is_log() {
        words.push(format!("--backend {}", quote(&header.backend)));
    }
    words.extend(nodes(header));
    if let Some(NodeInfo { device, .. }) = header.nodes.first() {
        let is_same =
            |node: &NodeInfo| node.device.name == device.name && node.device.port == device.port;
        if header.nodes.iter().all(is_same) {
            words.push(format!("-d {}", quote(&device.name)));
            if device.fabric.is_none() {
                words.push(format!("-i {}", device.port));
            }
            if let Some((gid, _)) = device.gid {
                words.push(format!("--gid-index {gid}"));
            }
        }
        words.extend(flags(header));
    }
    words.extend(interface(header));
    if !header.is_log() {
        words.push(format!("-n {} --seed {}", header.iterations, header.seed));
    }
    words.extend(header.faults.iter().map(|fault| format!("--fault {}", quote(fault))));
    words.extend(libraries(header));
    let chosen = match model {
        Some(model) => vec![model.to_owned()],
        None => header.models.iter().map(|model| argument(&model.name)).collect(),
    };
    words.extend(chosen.iter().map(|model| format!("--model {}", quote(model))));
    words.join(" ")
}

/// Options that say which provider of libfabric, or which MPI.
fn interface(header: &Header) -> Vec<String> {
    let mut words = Vec::new();
    if let Some(FabricInfo { provider, completion, caps, .. }) = header.provider() {
        words.push(format!("--provider {}", quote(provider)));
        words.push(format!("--completion {completion}"));
        if caps.iter().any(|can| can == "FI_ATOMIC") {
            words.push("--atomics".to_owned());
        }
    }
    let launcher = header.parameters.get("mpirun").and_then(Json::as_str);
    words.extend(launcher.map(|launcher| format!("--mpirun {}", quote(launcher))));
    words
}

/// What `--model` takes for a model: the name of a shipped one, or else a file, of which the name is all that
/// is known.
fn argument(name: &str) -> String {
    if model::models::shipped(name).is_some() { name.to_owned() } else { format!("{name}.cat") }
}

/// A word for a shell.
pub fn quote(text: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "+-_./@:".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::quote;

    #[test]
    fn words_for_a_shell() {
        assert_eq!(quote("suite/SB+x.litmus"), "suite/SB+x.litmus");
        assert_eq!(quote("a b"), "'a b'");
        assert_eq!(quote("it's"), "'it'\\''s'");
        assert_eq!(quote("a=1,b=0"), "'a=1,b=0'");
    }
}
