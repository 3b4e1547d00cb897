//! Journals: a line that says how something is made, then a line per unit that is done.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use executor::{files, record};
use serde_json::Value as Json;

use crate::output::Failure;

/// A journal that is being written, by nobody else at the same time.
pub struct Journal {
    file: File,
    path: PathBuf,
    length: u64,
}

/// The lines of a journal that were written to their end: one that was not is of a unit that was not.
pub fn whole(text: &str) -> &str {
    &text[..text.rfind('\n').map_or(0, |end| end + 1)]
}

impl Journal {
    /// Opens the journal of a folder, which is new, empty, or begun by the same command, and says what it has after its first
    /// line, `head`.
    ///
    /// # Errors
    /// Why it cannot be used.
    pub fn open(folder: &Path, name: &str, head: &Json) -> Result<(Self, Vec<String>), Failure> {
        let path = folder.join(name);
        let unusable = |error: std::io::Error| Failure::unwritable(&path, error);
        let refuse = |expected: &str| {
            Failure::Usage(format!("{}: expected {expected}, found another", folder.display()))
        };
        fs::create_dir_all(folder).map_err(|error| Failure::unwritable(folder, error))?;
        if !path.exists() && !is_empty(folder) {
            return Err(refuse("a new or empty folder, or a suite that the same command began"));
        }
        let file = OpenOptions::new().create(true).read(true).append(true).open(&path);
        let mut file = file.map_err(unusable)?;
        record::lock(&file).map_err(unusable)?;
        let mut known = Vec::new();
        file.read_to_end(&mut known).map_err(unusable)?;
        let known = String::from_utf8_lossy(&known);
        let whole = whole(&known);
        let mut lines = whole.lines();
        let first = lines.next();
        if first.is_some_and(|line| line != format!("{head}")) {
            return Err(refuse("a suite made by the same command, model and version"));
        }
        let length = whole.len() as u64;
        file.set_len(length).map_err(unusable)?;
        let mut journal = Self { file, path: path.clone(), length };
        if first.is_none() {
            journal.line(head)?;
        }
        Ok((journal, lines.map(str::to_owned).collect()))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Adds a line.
    ///
    /// # Errors
    /// That it cannot be written; the journal is as it was then.
    pub fn line(&mut self, json: &Json) -> Result<(), Failure> {
        let line = format!("{json}\n");
        if let Err(error) = self.file.write_all(line.as_bytes()) {
            // Where the disk is full, a part of the line may be there. It does not count if it cannot be removed.
            drop(self.file.set_len(self.length));
            return Err(Failure::unwritable(&self.path, error));
        }
        self.length += line.len() as u64;
        Ok(())
    }
}

/// Whether nothing is there but what a process left that was killed.
fn is_empty(folder: &Path) -> bool {
    let is_unfinished = |entry: fs::DirEntry| files::is_unfinished(&entry.file_name());
    fs::read_dir(folder).is_ok_and(|mut all| all.all(|entry| entry.is_ok_and(is_unfinished)))
}
