//! Folders of `gen`: units in their order, whose tests get their names now.

use std::fs;
use std::path::Path;

use campaign::files;
use campaign::journal::whole_lines;
use campaign::merge::{Flaw, Output, Refused, Whole};
use campaign::shard::ShardOf;

use super::Failure;
use crate::commands::generate::part::{Head, read_line};
use crate::commands::generate::suite::{SCHEMA, Suite, Unit};
use crate::exit::Exit;
use crate::output;
use crate::table::count;
use crate::terminal::Terminal;

/// A part of a suite.
#[derive(PartialEq)]
pub struct Units {
    head: Head,
    units: Vec<(usize, Unit)>,
}

impl Output for Units {
    type Item = Unit;

    fn read(path: &Path, bytes: &[u8]) -> Result<(ShardOf, Self), Refused> {
        let text = String::from_utf8_lossy(whole_lines(bytes));
        let (first, rest) = text.split_once('\n').unwrap_or_default();
        let (shard, head) = super::object(path, first.as_bytes())?;
        let units = rest.lines().map(read_line).collect::<Result<_, _>>();
        let units = units.map_err(|message| Refused::new(path, Flaw::UnusablePart, message))?;
        Ok((shard, Self { head, units }))
    }

    fn fits(&self, other: &Self) -> Result<(), String> {
        if self.head == other.head { Ok(()) } else { Err("it begins with another line".to_owned()) }
    }

    fn is_whole(&self, shard: &ShardOf) -> Result<(), (Flaw, String)> {
        let (done, of) = (self.units.len(), shard.items.len());
        if done < of {
            let message = format!("was interrupted: {done} of {of} units; run this part again");
            return Err((Flaw::MissingParts, message));
        }
        if !shard.numbers().eq(self.units.iter().map(|(index, _)| *index)) {
            let message = "expected a line for each of its units, found others".to_owned();
            return Err((Flaw::UnusablePart, message));
        }
        Ok(())
    }

    fn take(&mut self, _: &ShardOf) -> Vec<(usize, Unit)> {
        self.units.drain(..).collect()
    }
}

pub fn write(whole: Whole<Units>, place: &Path, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let of = count(whole.parts.len(), "part");
    let Some(part) = whole.parts.into_iter().next() else { return Ok(Exit::Fine) };
    let Head { mut suite, models, source } = part.content.head;
    SCHEMA.clone_into(&mut suite.schema);
    let suite = in_new_folder(place, |folder| {
        let mut suite = Suite::open_as(folder, &suite, models, source)?;
        whole.items.iter().try_for_each(|(_, unit)| suite.add(unit))?;
        Ok(suite)
    })?;
    let files = count(suite.counts.files, "test");
    terminal.note(&format!("{}: {files} of {of}", place.display()));
    Ok(if suite.counts.undecided > 0 { Exit::Unknown } else { Exit::Fine })
}

/// Fills a folder beside the place, which it takes when it is whole; there must be none, or an empty one.
fn in_new_folder<T>(
    place: &Path,
    fill: impl FnOnce(&Path) -> Result<T, output::Failure>,
) -> Result<T, output::Failure> {
    let unwritable = |error: std::io::Error| output::Failure::unwritable(place, error);
    if fs::read_dir(place).is_ok_and(|mut found| found.next().is_some()) {
        let message = format!("{}: expected a new or empty folder", place.display());
        return Err(output::Failure::Usage(message));
    }
    files::new_folder(place, unwritable, fill)
}
