//! Files, folders and standard input.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use compiler::library::Libraries;
use lang::Test;
use lang::diagnostic::Code;
use lang::limits::Limits;
use lang::litmus::{self, MAX_BYTES};
use lang::source::Source;

use crate::ordered::Broken;
use crate::problem::{Problem, problems};

/// A file to be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    /// Where it is; `-` is standard input.
    pub path: PathBuf,
    /// Whether the command line names it, or only a folder above it.
    pub is_named: bool,
}

/// What messages and results call standard input.
pub const STDIN: &str = "<stdin>";

/// How deep folders are searched.
const DEEPEST: usize = 64;

impl Input {
    /// The path as messages and results name it.
    pub fn name(&self) -> String {
        if self.is_stdin() { STDIN.to_owned() } else { self.path.to_string_lossy().into_owned() }
    }

    /// The file's name without folders and ending.
    pub fn stem(&self) -> String {
        let stem = self.path.file_stem().unwrap_or(self.path.as_os_str());
        stem.to_string_lossy().into_owned()
    }

    /// Whether it is `-`.
    pub fn is_stdin(&self) -> bool {
        self.is_named && self.path.as_os_str() == "-"
    }

    /// Whether the file's name ends so.
    pub fn has_extension(&self, extension: &str) -> bool {
        self.path.extension().is_some_and(|found| found == extension)
    }

    /// The bytes, if there are not more than the limit.
    fn bytes(&self, limit: usize) -> Result<Vec<u8>, Box<Problem>> {
        let mut bytes = Vec::new();
        // One byte more than allowed shows that there are too many, however many there are.
        let take = limit as u64 + 1;
        let read = if self.is_stdin() {
            io::stdin().lock().take(take).read_to_end(&mut bytes)
        } else {
            File::open(&self.path).and_then(|file| file.take(take).read_to_end(&mut bytes))
        };
        let problem =
            |code, message: String| Box::new(Problem::of_file(&self.name(), code, message));
        match read {
            Err(error) => Err(problem(Code::UnreadableFile, format!("cannot be read: {error}"))),
            Ok(_) if bytes.len() > limit => Err(problem(
                Code::FileTooLarge,
                format!("expected at most {limit} bytes, found more"),
            )),
            Ok(_) => Ok(bytes),
        }
    }

    /// The text of a litmus program or a model.
    ///
    /// # Errors
    /// Why it cannot be read, or that it is not text.
    pub fn read(&self) -> Result<Arc<Source>, Box<Problem>> {
        let bytes = self.bytes(MAX_BYTES)?;
        match litmus::decode(&self.name(), &bytes) {
            Ok(source) => Ok(Arc::new(source)),
            Err(error) => {
                let (diagnostic, source) = *error;
                Err(Box::new(Problem::at(&Arc::new(source), diagnostic)))
            }
        }
    }
}

/// The bytes of a file that may not be more than a limit.
///
/// # Errors
/// Why it cannot be read, or that it is larger: a device may have no end.
pub fn small(path: &Path, most: usize) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let take = most as u64 + 1;
    File::open(path)
        .and_then(|file| file.take(take).read_to_end(&mut bytes))
        .map_err(|error| format!("cannot be read: {error}"))?;
    if bytes.len() > most {
        return Err(format!("expected at most {most} bytes, found more"));
    }
    Ok(bytes)
}

/// The longest first line of what a command wrote.
const LONGEST_LINE: u64 = 64 << 20;
/// The most bytes of what a command wrote.
const LARGEST: u64 = 16 << 30;

/// The bytes of what a command wrote, which may be many: a record, a part, a journal.
///
/// # Errors
/// Why it cannot be read, or that it has no lines, or no end.
pub fn bytes(path: &Path) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let to_text = |error: io::Error| format!("cannot be read: {error}");
    let mut file = File::open(path).map_err(to_text)?;
    file.by_ref().take(LONGEST_LINE).read_to_end(&mut bytes).map_err(to_text)?;
    if bytes.len() as u64 == LONGEST_LINE && !bytes.contains(&b'\n') {
        return Err(format!("expected lines, found {LONGEST_LINE} bytes without an end of line"));
    }
    file.take(LARGEST).read_to_end(&mut bytes).map_err(to_text)?;
    if bytes.len() as u64 >= LARGEST {
        return Err(format!("expected fewer than {LARGEST} bytes, found more"));
    }
    Ok(bytes)
}

/// The files that arguments stand for: files as they are, and for folders all files below them with one of
/// the extensions, sorted. A folder without any is a problem.
pub fn collect(paths: &[PathBuf], extensions: &[&str]) -> (Vec<Input>, Vec<Problem>) {
    let mut inputs = Vec::new();
    let mut problems = Vec::new();
    for path in paths {
        if !path.is_dir() {
            inputs.push(Input { path: path.clone(), is_named: true });
            continue;
        }
        let name = path.to_string_lossy();
        let mut found = Vec::new();
        walk(path, extensions, 0, &mut found, &mut problems);
        if found.is_empty() {
            let endings: Vec<String> =
                extensions.iter().map(|ending| format!(".{ending}")).collect();
            let message =
                format!("expected {} files below this folder, found none", endings.join(" or "));
            problems.push(Problem::of_file(&name, Code::NoFiles, message));
        }
        inputs.extend(found.into_iter().map(|path| Input { path, is_named: false }));
    }
    (inputs, problems)
}

/// Links to folders are not followed, so this ends; neither pipes nor devices are read, so they cannot hold
/// it up.
fn walk(
    folder: &Path,
    extensions: &[&str],
    depth: usize,
    found: &mut Vec<PathBuf>,
    problems: &mut Vec<Problem>,
) {
    let unreadable = |path: &Path, error: &dyn std::fmt::Display| {
        let message = format!("cannot be read: {error}");
        Problem::of_file(&path.to_string_lossy(), Code::UnreadableFile, message)
    };
    if depth > DEEPEST {
        problems.push(unreadable(folder, &format!("more than {DEEPEST} folders deep")));
        return;
    }
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) => {
            problems.push(unreadable(folder, &error));
            return;
        }
    };
    let mut paths: Vec<(PathBuf, bool)> = Vec::new();
    for entry in entries {
        match entry.and_then(|entry| Ok((entry.path(), entry.file_type()?.is_dir()))) {
            Ok(entry) => paths.push(entry),
            Err(error) => problems.push(unreadable(folder, &error)),
        }
    }
    paths.sort();
    for (path, is_folder) in paths {
        let wanted = || path.extension().is_some_and(|end| extensions.iter().any(|e| end == *e));
        if is_folder {
            walk(&path, extensions, depth + 1, found, problems);
        } else if wanted() && path.is_file() {
            found.push(path);
        }
    }
}

/// The same within limits.
pub fn load_test_within(
    input: &Input,
    libraries: &Libraries,
    limits: &Limits,
) -> (Option<(Test, Arc<Source>)>, Vec<Problem>) {
    limits.within(|| load_test(input, libraries)).unwrap_or_else(|reached| {
        (None, vec![Problem::of_broken(&input.name(), &Broken::Limit(reached))])
    })
}

/// Reads and checks a test. There is one iff no problem is an error.
pub fn load_test(
    input: &Input,
    libraries: &Libraries,
) -> (Option<(Test, Arc<Source>)>, Vec<Problem>) {
    match input.read() {
        Ok(source) => {
            let (test, diagnostics) = litmus::load_with(&source, libraries.words());
            let problems = problems(&source, diagnostics);
            (test.map(|test| (test, source)), problems)
        }
        Err(problem) => (None, vec![*problem]),
    }
}
