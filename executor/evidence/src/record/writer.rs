//! Records as they are written.

use std::io::{self, Write};
use std::path::Path;

use campaign::files::Unfinished;
use campaign::journal::{Journal, first_line, to_line};
use serde::Serialize;

use super::file::{ReadError, Record};
use super::{Digest, Header, TestRecord};

#[derive(Serialize)]
struct TestLine<'a> {
    kind: &'static str,
    #[serde(flatten)]
    test: &'a TestRecord,
}

/// Appends to a record, which no other process does at the same time: a journal whose items are lines of
/// tests. Its last line differs from that of other journals, and may be in the middle of a record whose run
/// went on.
#[derive(Debug)]
pub struct RecordWriter {
    journal: Journal,
    /// How many lines are of tests.
    tests: u64,
}

impl RecordWriter {
    /// Begins a record in a new file.
    ///
    /// # Errors
    /// What the file system says; a file that exists is not touched.
    pub fn create(path: &Path, header: &Header) -> io::Result<Self> {
        Ok(Self { journal: Journal::create(path, header)?, tests: 0 })
    }

    /// Reads a record and goes on with it. A last line that was cut off is removed.
    ///
    /// # Errors
    /// As [`Record::read`], and that another process writes it.
    pub fn resume(path: &Path) -> Result<(Record, Self), ReadError> {
        let (mut journal, text) = Journal::open(path).map_err(ReadError::Io)?;
        let record = Record::parse(&text)?;
        let complete = usize::try_from(record.complete_bytes).unwrap_or(usize::MAX);
        let kept = text.get(..complete).unwrap_or(&text);
        journal.keep(kept, record.digest.clone(), record.lines).map_err(ReadError::Io)?;
        let tests = record.lines;
        Ok((record, Self { journal, tests }))
    }

    /// Adds a test's line.
    ///
    /// # Errors
    /// What the file system says; the record is as it was then.
    pub fn append(&mut self, test: &TestRecord) -> io::Result<()> {
        self.journal.line(&TestLine { kind: "test", test })?;
        self.tests += 1;
        Ok(())
    }

    /// Puts the lines of tests into the order of their places, by file. Those that have none are taken out.
    ///
    /// # Errors
    /// As [`Self::append`].
    pub fn arrange(&mut self, place: impl Fn(&str) -> Option<usize>) -> io::Result<()> {
        let file = |line: &serde_json::Value| place(line.get("file")?.as_str()?);
        self.journal.arrange(file)?;
        self.tests = self.journal.items();
        Ok(())
    }

    /// Says that the run is over, and how it ended.
    ///
    /// # Errors
    /// As [`Self::append`].
    pub fn end(&mut self, ended: Ended<'_>) -> io::Result<()> {
        self.journal.line(&end(self.tests, self.journal.digest(), ended))?;
        self.journal.sync()
    }
}

/// How a run ended.
#[derive(Clone, Copy, Debug)]
pub struct Ended<'a> {
    /// When, if the record says so.
    pub at: Option<&'a str>,
    /// Whether all tests that were asked for have lines.
    pub is_complete: bool,
    /// What a part of a run exits with.
    pub exit: Option<u8>,
}

/// Writes a whole record in a new file, in one.
///
/// # Errors
/// What the file system says; there is no new file then.
pub fn write_whole<'t>(
    path: &Path,
    header: &Header,
    tests: impl IntoIterator<Item = &'t TestRecord>,
    is_complete: bool,
) -> io::Result<()> {
    let (first, mut digest) = first_line(header)?;
    let file = Unfinished::new(path.to_owned())?;
    let mut buffer = io::BufWriter::new(file);
    buffer.write_all(&first)?;
    let mut count = 0;
    for test in tests {
        buffer.write_all(&to_line(&TestLine { kind: "test", test }, &mut digest)?)?;
        count += 1;
    }
    let end = end(count, &digest, Ended { at: header.ended.as_deref(), is_complete, exit: None });
    buffer.write_all(&to_line(&end, &mut digest)?)?;
    buffer.into_inner().map_err(io::IntoInnerError::into_error)?.create()
}

fn end(tests: u64, digest: &Digest, ended: Ended<'_>) -> serde_json::Value {
    let Ended { at, is_complete, exit } = ended;
    let mut line = serde_json::json!({
        "kind": "end", "ended": at, "complete": is_complete, "tests": tests, "digest": digest.text(),
    });
    if let Some(exit) = exit {
        line["exit"] = exit.into();
    }
    line
}
