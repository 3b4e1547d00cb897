//! The journal of a folder of tests: a line that says how they are made, then a line per unit that is done.

use std::fs;
use std::path::Path;

use campaign::files;
use campaign::journal::{BeginError, Journal};
use serde::Serialize;

use crate::output::Failure;

/// Opens the journal of a folder, which is new, empty, or begun by the same command, and says what it has
/// after its first line, `head`.
///
/// # Errors
/// Why it cannot be used.
pub fn open(
    folder: &Path,
    name: &str,
    head: &impl Serialize,
) -> Result<(Journal, Vec<String>), Failure> {
    let path = folder.join(name);
    let refuse = |expected: &str| {
        Failure::Usage(format!("{}: expected {expected}, found another", folder.display()))
    };
    fs::create_dir_all(folder).map_err(|error| Failure::unwritable(folder, error))?;
    // In this order: another process may begin the journal in between.
    if !is_empty(folder) && !path.exists() {
        return Err(refuse("a new or empty folder, or a suite that the same command began"));
    }
    Journal::begin(&path, head).map_err(|error| match error {
        BeginError::Io(error) => Failure::unwritable(&path, error),
        BeginError::OtherHead => refuse("a suite made by the same command, model and version"),
    })
}

/// Adds a line.
///
/// # Errors
/// That it cannot be written.
pub fn add(journal: &mut Journal, line: &impl Serialize) -> Result<(), Failure> {
    journal.line(line).map_err(|error| Failure::unwritable(journal.path(), error))
}

/// Whether nothing is there but what a process left that was killed.
fn is_empty(folder: &Path) -> bool {
    let is_unfinished = |entry: fs::DirEntry| files::is_unfinished(&entry.file_name());
    fs::read_dir(folder).is_ok_and(|mut all| all.all(|entry| entry.is_ok_and(is_unfinished)))
}
