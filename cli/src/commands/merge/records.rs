//! Records of `run`.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use campaign::merge::{Flaw, Output, Part, Refused, Whole};
use campaign::shard::ShardOf;
use evidence::record::{End, Record, Status, TestRecord, write_whole};

use super::Failure;
use crate::exit::Exit;
use crate::output;
use crate::table::count;
use crate::terminal::Terminal;

/// A part of a run.
pub struct Run(Record);

/// When and where a part ran does not tell it from its copy.
impl PartialEq for Run {
    fn eq(&self, other: &Self) -> bool {
        self.0.tests == other.0.tests
    }
}

impl Output for Run {
    type Item = TestRecord;

    fn read(path: &Path, bytes: &[u8]) -> Result<(ShardOf, Self), Refused> {
        let mut record = Record::parse(bytes)
            .map_err(|error| Refused::new(path, Flaw::UnusableRecord, error.to_string()))?;
        let shard = record.header.shard.take();
        let message = "expected a record made with --shard";
        let shard = shard.ok_or_else(|| Refused::new(path, Flaw::NotAPart, message))?;
        Ok((shard, Self(record)))
    }

    fn fits(&self, other: &Self) -> Result<(), String> {
        self.0.header.compatible(&other.0.header)
    }

    fn take(&mut self, shard: &ShardOf) -> Vec<(usize, TestRecord)> {
        let mut by_file: HashMap<String, Vec<TestRecord>> = HashMap::new();
        for test in self.0.tests.drain(..) {
            by_file.entry(test.file.clone()).or_default().push(test);
        }
        let lines = |(number, name): &(usize, String)| {
            let number = *number;
            by_file.remove(name).into_iter().flatten().map(move |test| (number, test))
        };
        shard.items.iter().flat_map(lines).collect()
    }
}

/// Writes a record whose first line is that of the part at `first`.
pub fn write(
    whole: Whole<Run>,
    first: &Path,
    place: &Path,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let Whole { parts, items: lines, .. } = whole;
    let headers = || parts.iter().map(|part| &part.content.0.header);
    let at_first = parts.iter().find(|part| part.path == first);
    let Some(mut header) = at_first.map(|part| part.content.0.header.clone()) else {
        return Ok(Exit::Fine);
    };
    header.arguments = of_whole(&header.arguments);
    header.started = headers().filter_map(|header| header.started.clone()).min();
    header.ended = headers().filter_map(|header| header.ended.clone()).max();
    let open = parts.iter().filter(|part| part.content.0.end != End::Whole);
    let open: Vec<String> = open.map(|part| part.path.display().to_string()).collect();
    let lacking = lacking(&parts, &lines);
    let tests = lines.iter().map(|(_, test)| test);
    write_whole(place, &header, tests, open.is_empty() && lacking.is_empty())
        .map_err(|error| output::Failure::unwritable(place, error))?;
    let of = count(parts.len(), "part");
    terminal.note(&format!("{}: {} of {of}", place.display(), count(lines.len(), "line")));
    let mut exit = Exit::Fine;
    for code in headers().filter_map(|header| header.exit) {
        exit.raise(Exit::of_code(code.into()));
    }
    let notes = [
        ("ended early, or have no end, so that tests may be missing", open.join(", ")),
        (
            "without a whole line, because they were interrupted or could not be read",
            lacking.join(", "),
        ),
    ];
    for (what, names) in notes.iter().filter(|(_, names)| !names.is_empty()) {
        terminal.note(&format!("{what}: {names}"));
        exit.raise(Exit::Unknown);
    }
    Ok(exit)
}

/// The arguments of the whole command: no part, and no part's record.
fn of_whole(arguments: &[String]) -> Vec<String> {
    let options = ["--shard", "--record", "--resume"];
    let mut whole = Vec::new();
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        let (name, value) = argument.split_once('=').unzip();
        match options.contains(&name.unwrap_or(argument)) {
            true if value.is_none() => drop(arguments.next()),
            true => {}
            false => whole.push(argument.clone()),
        }
    }
    whole
}

/// The tests that have no line, or one that was interrupted.
fn lacking<'p>(parts: &'p [Part<Run>], lines: &[(usize, TestRecord)]) -> Vec<&'p str> {
    let there: HashSet<usize> = lines.iter().map(|(number, _)| *number).collect();
    let is_cut = |test: &TestRecord| test.status == Status::Interrupted;
    let cut = lines.iter().filter(|(_, test)| is_cut(test));
    let cut: HashSet<usize> = cut.map(|(number, _)| *number).collect();
    let items = parts.iter().flat_map(|part| &part.shard.items);
    let lacking = items.filter(|(number, _)| !there.contains(number) || cut.contains(number));
    lacking.map(|(_, name)| name.as_str()).collect()
}
