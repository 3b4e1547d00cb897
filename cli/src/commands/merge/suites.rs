//! Folders of `gen`: units in their order, whose tests get their names now.

use std::fs;
use std::path::{Path, PathBuf};

use campaign::files;
use campaign::journal::whole_lines;
use serde_json::{Value as Json, json};

use super::parts::{self, Part};
use super::{Failure, Refused};
use crate::commands::generate::part::{PART, read_line};
use crate::commands::generate::suite::Suite;
use crate::exit::Exit;
use crate::table::count;
use crate::terminal::Terminal;
use crate::{input, output};

/// What all parts of a suite have in common, and the lines of this one.
#[derive(PartialEq)]
struct Lines {
    head: Json,
    lines: Vec<String>,
}

pub fn merge(folders: &[PathBuf], place: &Path, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let found = folders.iter().map(|folder| read(folder)).collect::<Result<Vec<_>, _>>()?;
    let parts = parts::whole(found, terminal)?;
    let Some(first) = parts.first() else { return Ok(Exit::Fine) };
    let mut head = first.content.head.clone();
    let mut field = |name: &str| {
        head.as_object_mut().and_then(|fields| fields.shift_remove(name)).unwrap_or_default()
    };
    let texts = |json: &Json| -> Vec<String> {
        let all = json.as_array().into_iter().flatten();
        all.filter_map(Json::as_str).map(str::to_owned).collect()
    };
    let (models, source) = (texts(&field("models")), field("source"));
    head["schema"] = json!("litmus-suite/1");
    let source = source.as_str().unwrap_or_default().to_owned();
    let refused = |path: &Path, message: String| Refused::new(path, "unusable-part", message);
    let mut units = Vec::new();
    for part in &parts {
        if part.content.head != first.content.head {
            let message = format!("begins with another line than {}", first.path.display());
            return Err(Refused::new(&part.path, "other-whole", message).into());
        }
        for line in &part.content.lines {
            units.push(read_line(line).map_err(|message| refused(&part.path, message))?);
        }
        let (done, of) = (part.content.lines.len(), part.shard.items.len());
        if done < of {
            let message = format!("was interrupted: {done} of {of} units; run this part again");
            return Err(Refused::new(&part.path, "missing-parts", message).into());
        }
        let own = part.shard.items.iter().map(|(item, _)| *item);
        if !own.eq(units[units.len() - done..].iter().map(|(index, _)| *index)) {
            let message = "expected a line for each of its units, found others".to_owned();
            return Err(refused(&part.path, message).into());
        }
    }
    units.sort_by_key(|(index, _)| *index);
    let suite = write(place, |folder| {
        let mut suite = Suite::open_as(folder, &head, models, source, None)?;
        units.iter().try_for_each(|(_, unit)| suite.add(unit))?;
        Ok(suite)
    })?;
    let files = count(suite.counts.files, "test");
    terminal.note(&format!("{}: {files} of {}", place.display(), count(parts.len(), "part")));
    Ok(if suite.counts.undecided > 0 { Exit::Unknown } else { Exit::Fine })
}

/// Fills a folder beside the place, which it takes when it is whole; there must be none, or an empty one.
fn write<T>(
    place: &Path,
    fill: impl FnOnce(&Path) -> Result<T, output::Failure>,
) -> Result<T, output::Failure> {
    let unwritable = |error: std::io::Error| output::Failure::unwritable(place, error);
    if fs::read_dir(place).is_ok_and(|mut found| found.next().is_some()) {
        let message = format!("{}: expected a new or empty folder", place.display());
        return Err(output::Failure::Usage(message));
    }
    let beside = files::unfinished_beside(place).map_err(unwritable)?;
    if let Some(folder) = place.parent() {
        fs::create_dir_all(folder).map_err(unwritable)?;
    }
    let filled = fill(&beside);
    if filled.is_ok() {
        // A folder takes the place of one that is empty.
        fs::rename(&beside, place).map_err(unwritable)?;
    } else {
        drop(fs::remove_dir_all(&beside));
    }
    filled
}

fn read(folder: &Path) -> Result<Part<Lines>, Refused> {
    let refuse = |message: String| Refused::new(folder, "not-a-part", message);
    let bytes = input::bytes(&folder.join(PART)).map_err(|error| {
        refuse(format!("expected a folder of `gen --shard`, with {PART}, which {error}"))
    })?;
    let text = String::from_utf8_lossy(&bytes);
    let mut lines = whole_lines(&text).lines();
    let head = lines.next().and_then(|line| serde_json::from_str::<Json>(line).ok());
    let head = head.ok_or_else(|| refuse(format!("the first line of {PART} cannot be read")))?;
    let part = Part::of_json(folder.to_owned(), head)?;
    let content = Lines { head: part.content, lines: lines.map(str::to_owned).collect() };
    Ok(Part { path: part.path, shard: part.shard, content })
}
