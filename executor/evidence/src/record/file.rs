//! Records as text.

use std::collections::{BTreeSet, HashMap};
use std::io;
use std::path::Path;

use rayon::prelude::*;
use serde_json::Value as Json;

use super::{Digest, Header, SCHEMA, Status, TestRecord, hash_text};

/// A record as read.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// The first line.
    pub header: Header,
    /// The others; for each program of a test and machine one, in the order of the file.
    pub tests: Vec<TestRecord>,
    /// How many bytes complete lines take; what follows was cut off.
    pub complete_bytes: u64,
    /// How it ends.
    pub end: End,
    /// Of all lines.
    pub(super) digest: Digest,
    /// How many lines are of tests.
    pub(super) lines: u64,
    /// What is odd about it, in words.
    pub remarks: Vec<String>,
}

/// How a record ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Its run came to its end.
    Whole,
    /// Its run says that it was stopped before, or that a test is missing.
    Early,
    /// It says nothing: its run was killed or is not over, or the file was cut off.
    Missing,
}

/// Why a text is not a record.
#[derive(Debug)]
pub enum ReadError {
    /// It cannot be read.
    Io(io::Error),
    /// A line is wrong; counted from 1.
    Line(usize, String),
}

impl std::fmt::Display for ReadError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Io(error) => write!(f, "{error}"),
            Self::Line(line, message) => write!(f, "line {line}: {message}"),
        }
    }
}

impl std::error::Error for ReadError {}

impl End {
    /// A remark, unless all is well.
    fn remark(self) -> Option<&'static str> {
        match self {
            Self::Whole => None,
            Self::Early => Some("its run was stopped early: tests may be missing"),
            Self::Missing => Some(
                "it has no end: its run was killed or is not over, or the file was cut off; tests may be missing",
            ),
        }
    }
}

impl Record {
    /// Whether it has something of a file.
    pub fn has_file(&self, file: &str) -> bool {
        self.tests.iter().any(|test| test.file == file)
    }

    /// A whole record that is in no file.
    pub fn new(header: Header, tests: Vec<TestRecord>) -> Self {
        Self {
            header,
            tests,
            complete_bytes: 0,
            end: End::Whole,
            digest: Digest::default(),
            lines: 0,
            remarks: Vec::new(),
        }
    }

    /// Reads a record's text. A last line that was cut off is ignored, whether or not an end of line follows;
    /// one that is whole and lacks only that counts.
    ///
    /// # Errors
    /// A line in the middle that is wrong, or a header that is missing or of another format.
    pub fn parse(text: &[u8]) -> Result<Self, ReadError> {
        let marked = text.starts_with(BYTE_ORDER_MARK);
        let begin = if marked { BYTE_ORDER_MARK.len() } else { 0 };
        // Blank lines at the end say nothing.
        let end =
            text.iter().rposition(|byte| !byte.is_ascii_whitespace()).map_or(0, |end| end + 1);
        let mut lines = text[begin..end.max(begin)].split(|byte| *byte == b'\n');
        let Some(first) = lines.next().filter(|line| !line.is_empty()) else {
            return Err(ReadError::Line(1, "expected a header, found nothing".to_owned()));
        };
        let (header, unknown) =
            parse_header(first).map_err(|message| ReadError::Line(1, message))?;
        let lines: Vec<&[u8]> = lines.collect();
        let (parsed, digests): (Vec<_>, _) = rayon::join(
            || lines.par_iter().map(|line| parse_line(line)).collect(),
            || digests(first, &lines),
        );
        let mut record = Self { end: End::Missing, ..Self::new(header, Vec::new()) };
        let mut oddities = Oddities::default();
        record.digest.line(first);
        oddities.fields.extend(unknown);
        let mut complete = begin + first.len();
        for (((index, line), parsed), digest) in (1..).zip(lines).zip(parsed).zip(digests) {
            let start = complete + 1;
            match parsed {
                Ok(Line::Test { test, unknown, is_changed }) => {
                    oddities.fields.extend(unknown);
                    if is_changed {
                        oddities.changed.insert(test.test.clone());
                    }
                    record.put(*test, &mut oddities);
                    (record.lines, record.end) = (record.lines + 1, End::Missing);
                }
                Ok(Line::End(end)) => {
                    end.check(&record).map_err(|message| ReadError::Line(index + 1, message))?;
                    record.end = if end.complete { End::Whole } else { End::Early };
                    (record.header.ended, record.header.exit) = (end.ended, end.exit);
                }
                Ok(Line::Unknown(kind)) => drop(oddities.kinds.insert(kind)),
                Err(LineError::CutOff) if start + line.len() == end => {
                    oddities.cut_off = Some((index + 1, line.len()));
                    break;
                }
                Err(error) => return Err(ReadError::Line(index + 1, error.to_string())),
            }
            record.digest = digest;
            complete = start + line.len();
        }
        // What a later line replaces was marked by its emptied name.
        record.tests.retain(|test| !test.test.is_empty());
        let ends = text.get(complete..).is_some_and(|rest| rest.starts_with(b"\n"));
        let ends_so = text.get(complete..).is_some_and(|rest| rest.starts_with(b"\r\n"));
        record.complete_bytes = (complete + usize::from(ends) + 2 * usize::from(ends_so)) as u64;
        record.remarks = oddities.remarks();
        record.remarks.extend(record.end.remark().map(str::to_owned));
        Ok(record)
    }

    /// Reads a file.
    ///
    /// # Errors
    /// As [`Record::parse`], and what the file system says.
    pub fn read(path: &Path) -> Result<Self, ReadError> {
        Self::parse(&std::fs::read(path).map_err(ReadError::Io)?)
    }

    /// Puts a line to the others. What was seen is never dropped: lines of one program are added up, and
    /// lines of two programs are two tests.
    fn put(&mut self, mut test: TestRecord, oddities: &mut Oddities) {
        let place = (test.test.clone(), test.file.clone(), test.machine.clone());
        let programs = oddities.places.entry(place).or_default();
        let key = (test.program_hash.clone(), test.program.clone());
        if let Some(old) = programs.insert(key, self.tests.len()) {
            let old = &mut self.tests[old];
            // A simulator repeats itself: the longer of two runs has the shorter one in it.
            if self.header.is_simulated() && test.has_all_of(old) {
                oddities.repeated.insert(test.test.clone());
            } else {
                test.add_earlier(old);
                if !old.part {
                    oddities.added.insert(test.test.clone());
                }
            }
            old.test.clear();
        } else if programs.len() > 1 {
            oddities.reprogrammed.insert(test.test.clone());
        }
        self.tests.push(test);
    }

    /// What the record has of a test on a machine, if it was completed.
    ///
    /// # Errors
    /// The file's program is not the one recorded.
    pub fn completed(
        &self,
        (test, file, machine): (&str, &str, &str),
        program_hash: &str,
    ) -> Result<Option<&TestRecord>, String> {
        let mut known = self.tests.iter().filter(|old| old.test == test && old.machine == machine);
        let Some(old) = known.rfind(|old| old.file == file) else { return Ok(None) };
        if old.program_hash != program_hash {
            return Err(format!("`{file}` has changed since it was recorded"));
        }
        Ok((old.status == Status::Complete).then_some(old))
    }

    /// What real machines showed of a test before it was interrupted or broke.
    pub fn unfinished(
        &self,
        (test, file, machine): (&str, &str, &str),
        program_hash: &str,
    ) -> Option<&TestRecord> {
        let is_it = |old: &&TestRecord| {
            (old.test.as_str(), old.file.as_str(), old.machine.as_str()) == (test, file, machine)
                && old.program_hash == program_hash
                && old.status != Status::Complete
        };
        self.tests.iter().find(is_it).filter(|_| !self.header.is_simulated())
    }
}

/// What some editors put before UTF-8 text.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Where in its line something is wrong: the line itself is for the caller to say.
fn in_line(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let (column, at) =
        (error.column(), format!(" at line {} column {}", error.line(), error.column()));
    match text.strip_suffix(&at) {
        Some(message) if column > 0 => format!("column {column}: {message}"),
        _ => text,
    }
}

/// For each line after the first, the digest of all up to it.
fn digests(first: &[u8], lines: &[&[u8]]) -> Vec<Digest> {
    let mut all = Digest::default();
    all.line(first);
    let with = |line: &&[u8]| {
        all.line(line);
        all.clone()
    };
    lines.iter().map(with).collect()
}

/// The header, and the fields that this version does not know.
fn parse_header(line: &[u8]) -> Result<(Header, Vec<String>), String> {
    let json: Json = serde_json::from_slice(line).map_err(|error| in_line(&error))?;
    let unknown = unknown_fields(&json, HEADER_FIELDS);
    match json.get("schema").and_then(Json::as_str) {
        Some(SCHEMA) => match serde_json::from_value(json) {
            Ok(header) => Ok((header, unknown)),
            Err(error) => Err(error.to_string()),
        },
        Some(other) => Err(format!("expected the format {SCHEMA}, found {other}")),
        None => Err(format!("expected a header with the format {SCHEMA}, found none")),
    }
}

/// Fields of headers that this version knows.
const HEADER_FIELDS: &[&str] = &[
    "schema",
    "tool",
    "backend",
    "seed",
    "iterations",
    "faults",
    "parameters",
    "models",
    "arguments",
    "libraries",
    "host",
    "nodes",
    "started",
    "shard",
];
/// Fields of tests' lines that this version knows.
const TEST_FIELDS: &[&str] = &[
    "kind",
    "test",
    "file",
    "machine",
    "models",
    "program_hash",
    "program",
    "status",
    "reason",
    "iterations",
    "finished",
    "blocked",
    "assume_failed",
    "unfinished",
    "seconds",
    "notes",
    "outcomes",
    "part",
];

/// A line after the header.
enum Line {
    Test {
        test: Box<TestRecord>,
        /// The fields that this version does not know.
        unknown: Vec<String>,
        /// Whether its program is not the one that was recorded.
        is_changed: bool,
    },
    End(EndLine),
    /// A kind of line that a later version may write.
    Unknown(String),
}

/// The last line of a run.
struct EndLine {
    /// When the run ended.
    ended: Option<String>,
    /// What a part of a run exited with.
    exit: Option<u8>,
    /// Whether all tests that were asked for have lines.
    complete: bool,
    /// How many lines of tests there are before it, and the digest of all; earlier versions did not say.
    tests: Option<u64>,
    digest: Option<String>,
}

impl EndLine {
    fn new(json: &Json) -> Self {
        let text = |name: &str| json.get(name).and_then(Json::as_str).map(str::to_owned);
        let number = |name: &str| json.get(name).and_then(Json::as_u64);
        Self {
            ended: text("ended"),
            exit: number("exit").and_then(|exit| u8::try_from(exit).ok()),
            complete: json.get("complete").and_then(Json::as_bool).unwrap_or(true),
            tests: number("tests"),
            digest: text("digest"),
        }
    }

    /// Whether the lines before it are those that were written.
    fn check(&self, record: &Record) -> Result<(), String> {
        let found = record.lines;
        match (self.tests, &self.digest) {
            (Some(tests), _) if tests != found => Err(format!(
                "expected {tests} lines of tests before this one, found {found}: the record was changed"
            )),
            (_, Some(digest)) if *digest != record.digest.text() => Err(format!(
                "expected lines with the digest {digest}, found {}: the record was changed",
                record.digest.text()
            )),
            _ => Ok(()),
        }
    }
}

/// Why a line says nothing.
#[derive(Debug)]
enum LineError {
    /// It ends too early.
    CutOff,
    /// It is wrong.
    Wrong(String),
}

impl std::fmt::Display for LineError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::CutOff => write!(f, "the line is cut off"),
            Self::Wrong(message) => write!(f, "{message}"),
        }
    }
}

fn parse_line(line: &[u8]) -> Result<Line, LineError> {
    let wrong = |message: String| LineError::Wrong(message);
    let json: Json = serde_json::from_slice(line).map_err(|error| match error.classify() {
        serde_json::error::Category::Eof => LineError::CutOff,
        _ => wrong(in_line(&error)),
    })?;
    match json.get("kind").and_then(Json::as_str) {
        Some("test") => {
            let unknown = unknown_fields(&json, TEST_FIELDS);
            let test: TestRecord =
                serde_json::from_value(json).map_err(|error| wrong(error.to_string()))?;
            if test.test.is_empty() {
                return Err(wrong("expected a name of a test, found an empty one".to_owned()));
            }
            let is_changed = test.program_hash != hash_text(&test.program);
            Ok(Line::Test { test: Box::new(test), unknown, is_changed })
        }
        Some("end") => Ok(Line::End(EndLine::new(&json))),
        Some(other) => Ok(Line::Unknown(other.to_owned())),
        None => Err(wrong("expected a line with a `kind`, found none".to_owned())),
    }
}

fn unknown_fields(json: &Json, known: &[&str]) -> Vec<String> {
    let fields = json.as_object().into_iter().flat_map(|fields| fields.keys());
    fields.filter(|name| !known.contains(&name.as_str())).cloned().collect()
}

/// Places of lines by the hash and the text of their program.
type Programs = HashMap<(String, String), usize>;

/// What is found on the way.
#[derive(Default)]
struct Oddities {
    /// Where each program of a test, file and machine is, by its hash and text.
    places: HashMap<(String, String, String), Programs>,
    fields: BTreeSet<String>,
    kinds: BTreeSet<String>,
    repeated: BTreeSet<String>,
    added: BTreeSet<String>,
    reprogrammed: BTreeSet<String>,
    changed: BTreeSet<String>,
    /// The number of the last line, and its bytes.
    cut_off: Option<(usize, usize)>,
}

impl Oddities {
    fn remarks(self) -> Vec<String> {
        let mut remarks = Vec::new();
        let list = |names: &BTreeSet<String>| names.iter().cloned().collect::<Vec<_>>().join(", ");
        if let Some((line, bytes)) = self.cut_off {
            remarks.push(format!(
                "line {line}, the last one, was cut off; its {bytes} bytes are ignored"
            ));
        }
        if !self.fields.is_empty() {
            remarks.push(format!("ignored fields of another version: {}", list(&self.fields)));
        }
        if !self.kinds.is_empty() {
            remarks.push(format!("ignored lines of another version: {}", list(&self.kinds)));
        }
        let of_tests = [
            ("several lines of one run, the longest of which counts", &self.repeated),
            ("several lines of one program, whose counts are added", &self.added),
            (
                "several lines with different programs, which are judged as tests of their own",
                &self.reprogrammed,
            ),
            ("a program's text is not the one that was hashed", &self.changed),
        ];
        for (what, names) in of_tests.into_iter().filter(|(_, names)| !names.is_empty()) {
            remarks.push(format!("{what}: {}", some(names)));
        }
        remarks
    }
}

/// How many names a remark has.
const NAMED: usize = 20;

/// The first names, and how many there are more.
fn some(names: &BTreeSet<String>) -> String {
    let mut text = names.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
    if names.len() > NAMED {
        text.push_str(&format!(" and {} more", names.len() - NAMED));
    }
    text
}
