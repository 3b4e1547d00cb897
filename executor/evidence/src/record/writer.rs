//! Records as they are written.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::Path;

use campaign::files::{self, Unfinished};
use serde::Serialize;

use super::file::{ReadError, Record};
use super::{Digest, Header, TestRecord};

#[derive(Serialize)]
struct TestLine<'a> {
    kind: &'static str,
    #[serde(flatten)]
    test: &'a TestRecord,
}

/// Appends to a record, which no other process does at the same time.
#[derive(Debug)]
pub struct RecordWriter {
    file: File,
    /// How many bytes whole lines have.
    length: u64,
    /// Of all lines so far.
    digest: Digest,
    /// How many of them are of tests.
    tests: u64,
}

impl RecordWriter {
    /// Begins a record in a new file.
    ///
    /// # Errors
    /// What the file system says; a file that exists is not touched.
    pub fn create(path: &Path, header: &Header) -> io::Result<Self> {
        let (line, digest) = first(header)?;
        files::create(path, &line)?;
        let file = OpenOptions::new().append(true).open(path)?;
        lock(&file)?;
        Ok(Self { file, length: line.len() as u64, digest, tests: 0 })
    }

    /// Reads a record and goes on with it. A last line that was cut off is removed.
    ///
    /// # Errors
    /// As [`Record::read`].
    pub fn resume(path: &Path) -> Result<(Record, Self), ReadError> {
        let file = OpenOptions::new().read(true).append(true).open(path);
        let mut file = file.map_err(ReadError::Io)?;
        lock(&file).map_err(ReadError::Io)?;
        let mut text = Vec::new();
        file.read_to_end(&mut text).map_err(ReadError::Io)?;
        let record = Record::parse(&text)?;
        file.set_len(record.complete_bytes).map_err(ReadError::Io)?;
        let mut length = record.complete_bytes;
        let complete = usize::try_from(length).unwrap_or(usize::MAX);
        if text.get(..complete).and_then(<[u8]>::last) != Some(&b'\n') {
            file.write_all(b"\n").map_err(ReadError::Io)?;
            length += 1;
        }
        let (digest, tests) = (record.digest.clone(), record.lines);
        Ok((record, Self { file, length, digest, tests }))
    }

    /// Adds a test's line.
    ///
    /// # Errors
    /// What the file system says; the record is as it was then.
    pub fn append(&mut self, test: &TestRecord) -> io::Result<()> {
        self.line(&TestLine { kind: "test", test })?;
        self.tests += 1;
        Ok(())
    }

    /// Says that the run is over, and when; whether all tests that were asked for have lines; and of a part
    /// of a run, what it exits with.
    ///
    /// # Errors
    /// As [`Self::append`].
    pub fn end(&mut self, ended: Option<&str>, complete: bool, exit: Option<u8>) -> io::Result<()> {
        self.line(&end(self.tests, &self.digest, ended, complete, exit))?;
        self.file.sync_all()
    }

    /// Whole lines in one write, so that what is on disk is whole lines but for the last.
    fn line(&mut self, content: &impl Serialize) -> io::Result<()> {
        let line = line(content, &mut self.digest.clone())?;
        let written = self.file.write_all(&line).and_then(|()| self.file.flush());
        if let Err(error) = written {
            // Where the disk is full, a part of the line may be there. Readers ignore it if it cannot be
            // removed.
            drop(self.file.set_len(self.length));
            return Err(error);
        }
        self.digest.line(&line[..line.len() - 1]);
        self.length += line.len() as u64;
        Ok(())
    }
}

/// Writes a whole record in a new file, in one.
///
/// # Errors
/// What the file system says; there is no new file then.
pub fn write_whole<'t>(
    path: &Path,
    header: &Header,
    tests: impl IntoIterator<Item = &'t TestRecord>,
    complete: bool,
) -> io::Result<()> {
    let (first, mut digest) = first(header)?;
    let file = Unfinished::new(path.to_owned())?;
    let mut buffer = io::BufWriter::new(file);
    buffer.write_all(&first)?;
    let mut count = 0;
    for test in tests {
        buffer.write_all(&line(&TestLine { kind: "test", test }, &mut digest)?)?;
        count += 1;
    }
    let end = end(count, &digest, header.ended.as_deref(), complete, None);
    buffer.write_all(&line(&end, &mut digest)?)?;
    buffer.into_inner().map_err(io::IntoInnerError::into_error)?.create()
}

/// The first line, and the digest that begins with it.
fn first(header: &Header) -> io::Result<(Vec<u8>, Digest)> {
    let mut digest = Digest::default();
    Ok((line(header, &mut digest)?, digest))
}

/// A line with its end, which the digest takes up.
fn line(content: &impl Serialize, digest: &mut Digest) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(content)?;
    digest.line(&line);
    line.push(b'\n');
    Ok(line)
}

fn end(
    tests: u64,
    digest: &Digest,
    ended: Option<&str>,
    complete: bool,
    exit: Option<u8>,
) -> serde_json::Value {
    let mut line = serde_json::json!({
        "kind": "end", "ended": ended, "complete": complete, "tests": tests, "digest": digest.text(),
    });
    if let Some(exit) = exit {
        line["exit"] = exit.into();
    }
    line
}

/// Locks a file until it is closed.
///
/// # Errors
/// That another process has it, where the file system can tell.
fn lock(file: &File) -> io::Result<()> {
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => {
            Err(io::Error::new(io::ErrorKind::WouldBlock, "another process is writing it"))
        }
        // Some file systems have no locks.
        Ok(()) | Err(TryLockError::Error(_)) => Ok(()),
    }
}
