//! Journals: files of JSON lines that grow while work goes on. The first line, the head, says what the work
//! is; each other line is an item that is done; the last line may be an `End`.
//!
//! A line is written in one piece when its item is done, so a process that is killed loses the items that it
//! was at and no other. Workers finish items in any order; an orderly end puts the lines into the order of
//! the items ([`Journal::arrange`]). While a journal is open, it is locked: another process that opens it is
//! refused.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::digest::Digest;
use crate::files::{self, Unfinished};

/// A journal that is being written, by this process alone.
#[derive(Debug)]
pub struct Journal {
    file: File,
    path: PathBuf,
    /// How many bytes the lines take.
    length: u64,
    /// Of all lines so far.
    digest: Digest,
    /// How many lines there are after the head.
    items: u64,
}

/// The last line, where all that was to be done is done, or somebody stopped it: it shows whether a line was
/// changed or lost since.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct End {
    /// How many items there are before it.
    end: u64,
    /// Of all lines before it.
    digest: String,
}

impl Journal {
    /// Begins a journal in a new file. The file is locked before it has its name, and has its first line by
    /// then.
    ///
    /// # Errors
    /// What the file system says; a file that exists is not touched.
    pub fn create(path: &Path, head: &impl Serialize) -> io::Result<Self> {
        let (line, digest) = first_line(head)?;
        let mut unfinished = Unfinished::new(path.to_owned())?;
        unfinished.write_all(&line)?;
        let file = unfinished.file()?;
        lock(&file)?;
        unfinished.create()?;
        Ok(Self { file, path: path.to_owned(), length: line.len() as u64, digest, items: 0 })
    }

    /// Opens a journal to go on with it. Its text is for the caller to read, who then says by [`Self::keep`]
    /// what counts.
    ///
    /// # Errors
    /// What the file system says, or that another process has it open.
    pub fn open(path: &Path) -> io::Result<(Self, Vec<u8>)> {
        files::tidy(path);
        let mut file = OpenOptions::new().read(true).append(true).open(path)?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("expected a file, found a device or a pipe"));
        }
        lock(&file)?;
        // Who arranged it has put another file in its place, and let go of this one.
        if !files::is_at(&file, &std::fs::canonicalize(path)?) {
            return Err(io::Error::new(io::ErrorKind::WouldBlock, WRITTEN));
        }
        let mut text = Vec::new();
        file.read_to_end(&mut text)?;
        let (path, length) = (path.to_owned(), text.len() as u64);
        Ok((Self { file, path, length, digest: Digest::default(), items: 0 }, text))
    }

    /// Opens the journal of work with this head, or begins it where there is none: the lines that were
    /// written to their end, after the head. The last line does not count if it was cut off: it is removed.
    ///
    /// # Errors
    /// As [`Self::create`] and [`Self::open`]; and that the head is another.
    pub fn begin(path: &Path, head: &impl Serialize) -> Result<(Self, Vec<String>), BeginError> {
        let created = if path.exists() { None } else { Some(Self::create(path, head)) };
        match created {
            Some(Ok(journal)) => return Ok((journal, Vec::new())),
            Some(Err(error)) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(error.into());
            }
            _ => {}
        }
        let (mut journal, text) = Self::open(path)?;
        // What was cut off may end within a character.
        let whole = std::str::from_utf8(whole_lines(&text))
            .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "expected UTF-8 text"))?;
        let mut lines = whole.lines();
        let first = lines.next();
        let expected = serde_json::to_string(head).map_err(io::Error::from)?;
        if first.is_some_and(|first| first != expected) {
            return Err(BeginError::OtherHead);
        }
        let mut digest = Digest::default();
        whole.lines().for_each(|line| digest.line(line.as_bytes()));
        let items = lines.clone().count() as u64;
        journal.keep(whole.as_bytes(), digest, items)?;
        if first.is_none() {
            journal.line(head)?;
            journal.items = 0;
        }
        Ok((journal, lines.map(str::to_owned).collect()))
    }

    /// Opens the journal that [`Self::create`] began, to go on with it: `take` is given what it has, and says
    /// whether that is of the work that is to be done. An end goes.
    ///
    /// # Errors
    /// As [`Self::open`] and [`Contents::parse`], and what `take` says.
    pub fn resume<H: DeserializeOwned, I: DeserializeOwned>(
        path: &Path,
        schema: &str,
        take: impl FnOnce(&H, Vec<I>) -> Result<(), String>,
    ) -> Result<Self, ReadError> {
        let (mut journal, text) = Self::open(path).map_err(ReadError::Io)?;
        let Contents { head, items, kept, digest, .. } =
            Contents::parse(&text, schema).map_err(ReadError::Text)?;
        let count = items.len() as u64;
        take(&head, items).map_err(ReadError::Text)?;
        journal.keep(&text[..kept], digest, count).map_err(ReadError::Io)?;
        Ok(journal)
    }

    /// Keeps the first bytes of a journal that was opened; `digest` and `items` describe the lines in them.
    /// What follows is removed. A last line without an end of line gets one.
    ///
    /// # Errors
    /// What the file system says.
    pub fn keep(&mut self, kept: &[u8], digest: Digest, items: u64) -> io::Result<()> {
        (self.length, self.digest, self.items) = (kept.len() as u64, digest, items);
        self.file.set_len(self.length)?;
        if kept.last().is_some_and(|last| *last != b'\n') { self.bytes(b"\n") } else { Ok(()) }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How many lines there are behind the head.
    pub fn items(&self) -> u64 {
        self.items
    }

    /// The digest of all lines so far.
    pub fn digest(&self) -> &Digest {
        &self.digest
    }

    /// Adds a line.
    ///
    /// # Errors
    /// That it cannot be written; the journal is as it was then.
    pub fn line(&mut self, content: &impl Serialize) -> io::Result<()> {
        let mut digest = self.digest.clone();
        let line = to_line(content, &mut digest)?;
        self.bytes(&line)?;
        self.digest = digest;
        self.items += 1;
        Ok(())
    }

    /// Puts the lines behind the head into the order of their places, and takes out those that have none. It
    /// is done in another file that replaces this one, if anything is to change.
    ///
    /// # Errors
    /// What the file system says; the journal is as it was then.
    pub fn arrange(&mut self, place: impl Fn(&Json) -> Option<usize>) -> io::Result<()> {
        let text = std::fs::read_to_string(&self.path)?;
        let (head, rest) = text.split_once('\n').unwrap_or((&text, ""));
        // A byte order mark, which an editor may have put there, is no part of what the digest is of.
        let head = head.trim_start_matches('\u{feff}');
        let parsed = |line: &str| serde_json::from_str::<Json>(line).ok();
        let placed = rest.lines().map(|line| (parsed(line).and_then(|line| place(&line)), line));
        let mut kept: Vec<(Option<usize>, &str)> = placed.filter(|(at, _)| at.is_some()).collect();
        kept.sort_by_key(|(at, _)| *at);
        if kept.iter().map(|(_, line)| *line).eq(rest.lines()) {
            return Ok(());
        }
        let (mut digest, mut whole) = (Digest::default(), String::new());
        for line in std::iter::once(head).chain(kept.iter().map(|(_, line)| *line)) {
            digest.line(line.as_bytes());
            whole.push_str(line);
            whole.push('\n');
        }
        let mut unfinished = Unfinished::new(std::fs::canonicalize(&self.path)?)?;
        unfinished.write_all(whole.as_bytes())?;
        let file = unfinished.file()?;
        lock(&file)?;
        unfinished.replace()?;
        (self.file, self.digest) = (file, digest);
        (self.length, self.items) = (whole.len() as u64, kept.len() as u64);
        Ok(())
    }

    /// Adds the end.
    ///
    /// # Errors
    /// As [`Self::line`].
    pub fn end(&mut self) -> io::Result<()> {
        self.line(&End { end: self.items, digest: self.digest.text() })?;
        self.sync()
    }

    /// All of the bytes in one write, or nothing.
    fn bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Err(error) = self.file.write_all(bytes) {
            // Where the disk is full, a part of the line may be there. Readers ignore it if it cannot be
            // removed.
            drop(self.file.set_len(self.length));
            return Err(error);
        }
        self.length += bytes.len() as u64;
        Ok(())
    }

    /// What was written outlives a loss of power from now on.
    ///
    /// # Errors
    /// What the file system says.
    pub fn sync(&self) -> io::Result<()> {
        self.file.sync_all()
    }
}

/// Writes a whole journal in place of what is there, with its end.
///
/// # Errors
/// What the file system says; what was there is as it was then.
pub fn replace<I: Serialize>(
    path: &Path,
    head: &impl Serialize,
    items: impl IntoIterator<Item = I>,
) -> io::Result<()> {
    let (mut text, mut digest) = first_line(head)?;
    let mut count = 0;
    for item in items {
        text.extend(to_line(&item, &mut digest)?);
        count += 1;
    }
    let end = End { end: count, digest: digest.text() };
    text.extend(to_line(&end, &mut digest)?);
    files::replace(path, &text)
}

/// A journal as it is read.
#[derive(Debug)]
pub struct Contents<H, I> {
    /// What the work is.
    pub head: H,
    /// What is done, in the order in which it was.
    pub items: Vec<I>,
    /// How many bytes the lines take, without an end.
    kept: usize,
    digest: Digest,
}

impl<H: PartialEq, I: PartialEq> PartialEq for Contents<H, I> {
    fn eq(&self, other: &Self) -> bool {
        self.head == other.head && self.items == other.items
    }
}

impl<H: DeserializeOwned, I: DeserializeOwned> Contents<H, I> {
    /// Reads a journal's text. A last line that was cut off is of an item that was not done.
    ///
    /// # Errors
    /// It has another format, or is not what was written.
    pub fn parse(text: &[u8], schema: &str) -> Result<Self, String> {
        let mut lines = text.split_inclusive(|byte| *byte == b'\n');
        let first = lines.next().unwrap_or_default();
        let json: Json = serde_json::from_slice(first).unwrap_or_default();
        if json["schema"] != schema {
            let found = json["schema"].as_str().unwrap_or("none");
            return Err(format!("expected the format {schema}, found {found}"));
        }
        let wrong = |line: usize, why: &dyn std::fmt::Display| format!("line {line}: {why}");
        let head = serde_json::from_value(json).map_err(|why| wrong(1, &why))?;
        let mut found =
            Self { head, items: Vec::new(), kept: first.len(), digest: Digest::default() };
        found.digest.line(first.strip_suffix(b"\n").unwrap_or(first));
        let mut is_ended = false;
        for (number, line) in lines.enumerate().map(|(index, line)| (index + 2, line)) {
            let Some(content) = line.strip_suffix(b"\n") else { break };
            if is_ended {
                return Err(wrong(number, &"expected nothing after the end, found a line"));
            }
            if let Ok(End { end, digest }) = serde_json::from_slice(content) {
                if end != found.items.len() as u64 || digest != found.digest.text() {
                    return Err(wrong(number, &"it was changed since it was written"));
                }
                is_ended = true;
                continue;
            }
            found.items.push(serde_json::from_slice(content).map_err(|why| wrong(number, &why))?);
            found.digest.line(content);
            found.kept += line.len();
        }
        Ok(found)
    }
}

/// Why a journal cannot be read.
#[derive(Debug)]
pub enum ReadError {
    /// What the file system says.
    Io(io::Error),
    /// What is wrong with its text.
    Text(String),
}

impl std::fmt::Display for ReadError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Io(error) => error.fmt(f),
            Self::Text(message) => message.fmt(f),
        }
    }
}

/// Why a journal cannot be begun or gone on with.
#[derive(Debug)]
pub enum BeginError {
    /// What the file system says.
    Io(io::Error),
    /// It is of other work.
    OtherHead,
}

impl From<io::Error> for BeginError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// The lines of a text that were written to their end: one that was not is of an item that was not done.
pub fn whole_lines(text: &[u8]) -> &[u8] {
    &text[..text.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1)]
}

/// The first line, and the digest that begins with it.
///
/// # Errors
/// The content is no JSON.
pub fn first_line(head: &impl Serialize) -> io::Result<(Vec<u8>, Digest)> {
    let mut digest = Digest::default();
    Ok((to_line(head, &mut digest)?, digest))
}

/// A line with its end, which the digest takes up.
///
/// # Errors
/// The content is no JSON.
pub fn to_line(content: &impl Serialize, digest: &mut Digest) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(content)?;
    digest.line(&line);
    line.push(b'\n');
    Ok(line)
}

/// Why a journal is not opened.
const WRITTEN: &str = "another process is writing it";

/// Locks a file until it is closed.
///
/// # Errors
/// That another process has it, where the file system can tell.
fn lock(file: &File) -> io::Result<()> {
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err(io::Error::new(io::ErrorKind::WouldBlock, WRITTEN)),
        // Some file systems have no locks.
        Ok(()) | Err(TryLockError::Error(_)) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use std::fs;

    use super::*;

    fn scratch(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("journal-{}-{name}", std::process::id()));
        drop(fs::remove_file(&path));
        path
    }

    /// Wherever a journal is cut, the lines before are kept, and going on with it gives what it was.
    #[test]
    fn a_journal_goes_on_after_every_byte() {
        let path = scratch("cut");
        let items = ["a", "b ü", "c"];
        let (mut journal, known) = Journal::begin(&path, &"head").unwrap();
        assert!(known.is_empty());
        items.iter().for_each(|item| journal.line(item).unwrap());
        let digest = journal.digest().clone();
        drop(journal);
        let whole = fs::read(&path).unwrap();
        for cut in 0..=whole.len() {
            fs::write(&path, &whole[..cut]).unwrap();
            let (mut journal, known) = Journal::begin(&path, &"head").unwrap();
            let lines = whole[..cut].iter().filter(|byte| **byte == b'\n').count();
            assert_eq!(known.len(), lines.saturating_sub(1), "cut at {cut}");
            items[known.len()..].iter().for_each(|item| journal.line(item).unwrap());
            assert_eq!(*journal.digest(), digest);
            assert_eq!(fs::read(&path).unwrap(), whole, "cut at {cut}");
        }
        assert!(matches!(Journal::begin(&path, &"other"), Err(BeginError::OtherHead)));
        assert_eq!(fs::read(&path).unwrap(), whole);
        fs::remove_file(path).unwrap();
    }

    #[test]
    fn a_journal_has_one_writer() {
        let path = scratch("locked");
        let first = Journal::create(&path, &"head").unwrap();
        let refused = Journal::open(&path).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::WouldBlock);
        let again = Journal::create(&path, &"head").unwrap_err();
        assert_eq!(again.kind(), io::ErrorKind::AlreadyExists);
        drop(first);
        assert_eq!(Journal::open(&path).unwrap().1, b"\"head\"\n");
        fs::remove_file(path).unwrap();
    }
}
