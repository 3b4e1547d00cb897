//! What is written into files, and what is said where that cannot be done: one way and one exit code for all
//! commands.

use std::fmt::Display;
use std::path::{Path, PathBuf};

use campaign::files;
use lang::diagnostic::Code;

use crate::exit::Exit;
use crate::problem::Problem;
use crate::terminal::Terminal;

/// Writes a file, in place of the one that is there. If that fails, it is as it was, and it has been said
/// why.
pub fn write(path: &Path, content: &str, terminal: &mut Terminal) -> Exit {
    match files::replace(path, content.as_bytes()) {
        Ok(()) => Exit::Fine,
        Err(error) => refuse(path, &error, terminal),
    }
}

/// Writes a new file; where one is, that is an error like others.
pub fn create(path: &Path, content: &str, terminal: &mut Terminal) -> Exit {
    match files::create(path, content.as_bytes()) {
        Ok(()) => Exit::Fine,
        Err(error) => refuse(path, &error, terminal),
    }
}

/// Says that something cannot be written.
pub fn refuse(path: &Path, why: &dyn Display, terminal: &mut Terminal) -> Exit {
    let text = problem(path, why).render(terminal.look.error_color);
    terminal.err(&text);
    Exit::Unwritable
}

/// The same for reports; its code makes their exit code [`Exit::Unwritable`].
pub fn problem(path: &Path, why: &dyn Display) -> Problem {
    Problem::of_file(
        &path.to_string_lossy(),
        Code::UnwritableFile,
        format!("cannot be written: {why}"),
    )
}

/// What messages call standard output.
pub const STDOUT: &str = "<stdout>";

/// Why something that is made of many files cannot go on.
#[derive(Debug)]
pub enum Failure {
    /// The command line asks for what cannot be.
    Usage(String),
    /// A file or folder cannot be written, and why.
    Unwritable(PathBuf, String),
    /// A file cannot be used, and why.
    Unusable(PathBuf, String),
    /// A bug, in words.
    Bug(String),
}

impl Failure {
    /// What the file system says of a path.
    pub fn unwritable(path: &Path, why: impl Display) -> Self {
        Self::Unwritable(path.to_owned(), why.to_string())
    }

    /// Says so.
    pub fn tell(&self, terminal: &mut Terminal) -> Exit {
        match self {
            Self::Usage(message) => terminal.usage_error(message),
            Self::Unwritable(path, why) => refuse(path, why, terminal),
            Self::Unusable(path, why) => {
                let problem = Problem::of_file(&path.to_string_lossy(), Code::UnusableRecord, why);
                let text = problem.render(terminal.look.error_color);
                terminal.err(&text);
                Exit::BadInput
            }
            Self::Bug(message) => {
                terminal.err(&format!("error: {message}\n"));
                Exit::Internal
            }
        }
    }
}
