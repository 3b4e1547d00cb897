//! Where compiled tests go. Files that something else made are left alone.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use super::Target;
use crate::exit::Exit;
use crate::input::Input;
use crate::output::{self, Failure};
use crate::terminal::Terminal;

/// Where to.
pub(super) struct Output {
    place: Place,
    /// Whether files that something else made may be lost.
    force: bool,
    /// What was written, so that no test's file replaces another's.
    written: BTreeSet<PathBuf>,
}

enum Place {
    Stdout,
    File(PathBuf),
    Folder(PathBuf),
}

impl Output {
    /// A place for one test, or for many.
    ///
    /// # Errors
    /// There is no place for many, or the folder cannot be made.
    pub fn new(path: Option<&Path>, is_many: bool, force: bool) -> Result<Self, Failure> {
        let place = match path {
            None if is_many => {
                return Err(Failure::Usage("expected -o DIR for several tests".to_owned()));
            }
            None => Place::Stdout,
            Some(path)
                if is_many
                    || path.is_dir()
                    || path.as_os_str().to_string_lossy().ends_with('/') =>
            {
                fs::create_dir_all(path).map_err(|error| Failure::unwritable(path, error))?;
                Place::Folder(path.to_owned())
            }
            Some(path) => Place::File(path.to_owned()),
        };
        Ok(Self { place, force, written: BTreeSet::new() })
    }

    /// Writes what a test was turned into.
    pub fn write(
        &mut self,
        input: &Input,
        target: Target,
        text: &str,
        terminal: &mut Terminal,
    ) -> Exit {
        let path = match &self.place {
            Place::Stdout => {
                terminal.out(text);
                return Exit::Fine;
            }
            Place::File(path) => path.clone(),
            Place::Folder(folder) => {
                let stem = if input.is_stdin() { "stdin".to_owned() } else { input.stem() };
                folder.join(format!("{stem}.{}", target.extension()))
            }
        };
        let shown = path.display();
        if self.written.contains(&path) {
            terminal.err(&format!(
                "error: {shown} is made of another test of the same name; {} is left out\n",
                input.name()
            ));
            return Exit::BadInput;
        }
        if !self.force && is_other(&path, target) {
            return terminal.usage_error(&format!(
                "{shown} exists already, and was not made by this command; --force replaces it"
            ));
        }
        let written = output::write(&path, text, terminal);
        if written == Exit::Fine {
            self.written.insert(path);
        }
        written
    }
}

/// How much of a file is looked at to tell whether it was made here.
const START: u64 = 1 << 16;

/// Whether a file is there that was not made here. An empty one is nobody's loss.
fn is_other(path: &Path, target: Target) -> bool {
    if !path.exists() {
        return false;
    }
    let mut start = Vec::new();
    // Pipes and devices hold nothing that could be lost, and reading them might not end.
    if !path.is_file() {
        return false;
    }
    let read = File::open(path).and_then(|file| file.take(START).read_to_end(&mut start));
    read.is_err() || !(start.is_empty() || target.has_made(&String::from_utf8_lossy(&start)))
}
