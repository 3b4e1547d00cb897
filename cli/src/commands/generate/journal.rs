//! Journals: a line that says how something is made, then a line per unit that is done.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::Value as Json;

/// A journal that is being written.
pub struct Journal {
    file: File,
    path: PathBuf,
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
    pub fn open(folder: &Path, name: &str, head: &Json) -> Result<(Self, Vec<String>), String> {
        let told =
            |what: &str, error: std::io::Error| format!("{}: {what}: {error}", folder.display());
        fs::create_dir_all(folder).map_err(|error| told("cannot be made", error))?;
        let path = folder.join(name);
        let known = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(_) if is_empty(folder) => String::new(),
            Err(_) => {
                return Err(format!(
                    "{}: expected a new or empty folder, or a suite that the same command began",
                    folder.display()
                ));
            }
        };
        let whole = whole(&known);
        let mut lines = whole.lines();
        let first = lines.next();
        if first.is_some_and(|line| line != format!("{head}")) {
            return Err(format!(
                "{}: expected a suite made by the same command, model and version, found another",
                folder.display()
            ));
        }
        let file = OpenOptions::new().create(true).append(true).open(&path);
        let file = file.map_err(|error| told(name, error))?;
        file.set_len(whole.len() as u64).map_err(|error| told(name, error))?;
        let mut journal = Self { file, path };
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
    /// That it cannot be written.
    pub fn line(&mut self, json: &Json) -> Result<(), String> {
        let written = self.file.write_all(format!("{json}\n").as_bytes());
        written.map_err(|error| format!("{}: {error}", self.path.display()))
    }
}

fn is_empty(folder: &Path) -> bool {
    fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none())
}
