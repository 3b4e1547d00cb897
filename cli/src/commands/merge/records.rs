//! Records of `run`.

use std::path::{Path, PathBuf};

use executor::record::{End, Record, Status, TestRecord, write_whole};

use super::parts::{self, Part};
use super::{Content, Failure, Refused};
use crate::exit::Exit;
use crate::output;
use crate::table::count;
use crate::terminal::Terminal;

pub fn merge(
    contents: Vec<(PathBuf, Content)>,
    place: &Path,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let mut found: Vec<Part<Record>> = Vec::new();
    for (path, content) in contents {
        let Content::Record(bytes) = content else {
            return Err(
                Refused::new(&path, "other-whole", "is no record, as the first part is").into()
            );
        };
        let mut record = Record::parse(&bytes)
            .map_err(|error| Refused::new(&path, "unusable-record", error.to_string()))?;
        let Some(shard) = record.header.shard.take() else {
            return Err(
                Refused::new(&path, "not-a-part", "expected a record made with --shard").into()
            );
        };
        if let Some(first) = found.first()
            && let Err(reason) = first.content.header.compatible(&record.header)
        {
            let message = format!("cannot be put to {}: {reason}", first.path.display());
            return Err(Refused::new(&path, "other-whole", message).into());
        }
        found.push(Part { path, shard, content: record });
    }
    // When and where a part ran does not tell it from its copy.
    let tests = found.iter().map(|part| Part {
        path: part.path.clone(),
        shard: part.shard.clone(),
        content: part.content.tests.clone(),
    });
    let parts = parts::whole(tests.collect(), terminal)?;
    let mut lines: Vec<(usize, &TestRecord)> = Vec::new();
    let mut lacking = Vec::new();
    for part in &parts {
        for (number, name) in &part.shard.items {
            let of_it = part.content.iter().filter(|test| test.file == *name);
            let before = lines.len();
            lines.extend(of_it.map(|test| (*number, test)));
            let is_whole =
                lines[before..].iter().all(|(_, test)| test.status != Status::Interrupted);
            if before == lines.len() || !is_whole {
                lacking.push(name.as_str());
            }
        }
    }
    lines.sort_by_key(|(number, _)| *number);
    let Some(mut header) = found.first().map(|part| part.content.header.clone()) else {
        return Ok(Exit::Fine);
    };
    header.started = found.iter().filter_map(|part| part.content.header.started.clone()).min();
    header.ended = found.iter().filter_map(|part| part.content.header.ended.clone()).max();
    let is_open = |part: &&Part<Record>| part.content.end != End::Whole;
    let open: Vec<String> =
        found.iter().filter(is_open).map(|part| part.path.display().to_string()).collect();
    let tests = lines.iter().map(|(_, test)| *test);
    write_whole(place, &header, tests, open.is_empty() && lacking.is_empty())
        .map_err(|error| output::Failure::unwritable(place, error))?;
    let of = count(parts.len(), "part");
    terminal.note(&format!("{}: {} of {of}", place.display(), count(lines.len(), "line")));
    let mut exit = Exit::Fine;
    for code in found.iter().filter_map(|part| part.content.header.exit) {
        exit.raise(Exit::of_code(code.into()));
    }
    if !open.is_empty() {
        terminal.note(&format!(
            "ended early, or have no end, so that tests may be missing: {}",
            open.join(", ")
        ));
        exit.raise(Exit::Unknown);
    }
    if !lacking.is_empty() {
        terminal.note(&format!(
            "without a whole line, because they were interrupted or could not be read: {}",
            lacking.join(", ")
        ));
        exit.raise(Exit::Unknown);
    }
    Ok(exit)
}
