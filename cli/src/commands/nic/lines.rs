//! Lines of traces, as the library writes them: a file for each process, in the order of time.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use serde::Deserialize;

/// A step of a request.
#[derive(Clone, Debug, Deserialize)]
pub struct Line {
    /// Nanoseconds since 1970.
    pub time: u64,
    /// Where it happened.
    pub process: u32,
    #[serde(flatten)]
    pub name: Name,
    #[serde(flatten)]
    pub step: Step,
}

/// A request: the queue pair that issued it, the queue pair's life, and the request's number in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
pub struct Name {
    pub queue_pair: u32,
    pub session: u32,
    pub request: u64,
}

/// What happened; `nic/src/trace.rs` says what each is.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "step", rename_all = "kebab-case")]
pub enum Step {
    Issued(Issued),
    SourceRead { value: u64, early: bool },
    Arrived,
    Done { value: Option<u64>, early: bool },
    Visible { address: u64, length: u64, value: u64 },
    Answered,
    Landed { address: u64, length: u64, value: u64 },
    Completed { status: u8 },
}

/// What a request asks for.
#[derive(Clone, Debug, Deserialize)]
pub struct Issued {
    pub operation: String,
    pub id: u64,
    pub remote: Option<u64>,
    pub local: Vec<(u64, u32)>,
    pub length: u64,
    pub fence: bool,
    pub signaled: bool,
}

/// A trace that cannot be read.
#[derive(Debug)]
pub struct Unreadable {
    pub path: PathBuf,
    pub why: String,
}

/// Lines with their texts, of one file.
pub struct Lines {
    path: PathBuf,
    reader: BufReader<File>,
    number: usize,
}

impl Lines {
    /// Those of a file.
    pub fn open(path: &Path) -> Result<Self, Unreadable> {
        let file = File::open(path).map_err(|error| Unreadable {
            path: path.to_owned(),
            why: format!("cannot be read: {error}"),
        })?;
        Ok(Self { path: path.to_owned(), reader: BufReader::new(file), number: 0 })
    }

    /// The next one. A last line without an end was cut off with its process, and is left out.
    pub fn next(&mut self) -> Result<Option<(String, Line)>, Unreadable> {
        let mut text = String::new();
        self.number += 1;
        let wrong = |why: String| Unreadable { path: self.path.clone(), why };
        self.reader
            .read_line(&mut text)
            .map_err(|error| wrong(format!("cannot be read: {error}")))?;
        if !text.ends_with('\n') {
            return Ok(None);
        }
        match serde_json::from_str(&text) {
            Ok(line) => Ok(Some((text, line))),
            Err(error) => {
                let error = error.to_string();
                // Where in this one line it is says less than which line it is.
                let what = error.rsplit_once(" at line 1").map_or(&*error, |(what, _)| what);
                Err(wrong(format!("line {}: expected a step of a trace: {what}", self.number)))
            }
        }
    }
}

/// All lines of some files, the earliest first.
pub fn merge(
    paths: &[PathBuf],
    mut visit: impl FnMut(&str, Line) -> Result<(), Unreadable>,
) -> Result<(), Unreadable> {
    let mut files = paths.iter().map(|path| Lines::open(path)).collect::<Result<Vec<_>, _>>()?;
    let mut heads = files.iter_mut().map(Lines::next).collect::<Result<Vec<_>, _>>()?;
    loop {
        let times = heads.iter().enumerate();
        let times = times.filter_map(|(at, head)| Some((head.as_ref()?.1.time, at)));
        let Some((_, first)) = times.min() else { return Ok(()) };
        let next = files[first].next()?;
        if let Some((text, line)) = std::mem::replace(&mut heads[first], next) {
            visit(&text, line)?;
        }
    }
}

/// The files of processes in a folder, by name.
pub fn of_folder(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder)?.collect::<Result<Vec<_>, _>>()?;
    let paths = entries.into_iter().map(|entry| entry.path());
    let mut paths: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|end| end == "jsonl")).collect();
    paths.sort();
    Ok(paths)
}
