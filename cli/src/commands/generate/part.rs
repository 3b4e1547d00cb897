//! A part of a suite, as `--shard` makes it: units with their tests before they have names. `litmus merge`
//! gives these.

use std::path::Path;

use campaign::journal::Journal;
use campaign::sealed;
use campaign::shard::ShardOf;
use lang::source::Source;
use model::generate::text::{self, Content, Words};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::journal;
use super::suite::{self, Counts, Made, Origin, Unit};
use crate::output::Failure;

/// The file's name in the part's folder.
pub const PART: &str = "part.jsonl";

/// The format of a part's file.
pub const SCHEMA: &str = "litmus-suite-part/2";

/// The first line of a part's file, but for which part it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Head {
    #[serde(flatten)]
    pub suite: suite::Head,
    /// The models that headers name.
    pub models: Vec<String>,
    /// What tests say of where they come from.
    pub source: String,
}

/// Each other line: a unit, and its number among all.
#[derive(Serialize, Deserialize)]
struct Line {
    index: usize,
    unit: String,
    title: String,
    tried: u64,
    undecided: u64,
    unlisted: u64,
    made: Vec<MadeLine>,
}

#[derive(Serialize, Deserialize)]
struct MadeLine {
    test: TestLine,
    twin: Option<TestLine>,
}

#[derive(Serialize, Deserialize)]
struct TestLine {
    key: String,
    name: String,
    /// The file without what all tests say.
    text: String,
}

/// A part that is being made.
pub struct Part {
    journal: Journal,
    /// The units of this part.
    pub items: Vec<usize>,
    /// What is there.
    pub counts: Counts,
}

impl Part {
    /// Opens a folder for a part: a new one, or one that the same command began.
    ///
    /// # Errors
    /// Why it cannot be used.
    pub fn open(folder: &Path, origin: &Origin<'_>, shard: &ShardOf) -> Result<Self, Failure> {
        let mut suite = origin.head();
        SCHEMA.clone_into(&mut suite.schema);
        let mut head = json!(Head { suite, models: origin.models(), source: origin.source() });
        head["shard"] = json!(shard);
        sealed::seal(&mut head);
        let (journal, lines) = journal::open(folder, PART, &head)?;
        let mut counts = Counts::default();
        for line in lines {
            let (_, unit) = read_line(&line).map_err(|error| {
                Failure::Usage(format!("{}: {error}", journal.path().display()))
            })?;
            take(&mut counts, &unit);
        }
        let items = shard.items.iter().map(|(item, _)| *item).collect();
        Ok(Self { journal, items, counts })
    }

    /// Adds what a unit came to.
    ///
    /// # Errors
    /// What cannot be written.
    pub fn add(&mut self, index: usize, unit: &Unit) -> Result<(), Failure> {
        take(&mut self.counts, unit);
        journal::add(&mut self.journal, &line(index, unit))
    }
}

/// Counts a unit, and its tests as files of their own: which are equal is seen when parts are merged.
fn take(counts: &mut Counts, unit: &Unit) {
    counts.take(unit);
    counts.files +=
        unit.made.iter().map(|made| 1 + usize::from(made.twin.is_some())).sum::<usize>();
}

fn line(index: usize, unit: &Unit) -> Json {
    let test = |content: &Content| {
        let Content { key, name, file } = content.clone();
        let text = text::text(file, &Words { name: name.clone(), ..Words::default() });
        TestLine { key, name, text }
    };
    let made =
        |made: &Made| MadeLine { test: test(&made.content), twin: made.twin.as_ref().map(test) };
    let Unit { name, title, tried, undecided, unlisted, .. } = unit;
    let mut line = json!(Line {
        index,
        unit: name.clone(),
        title: title.clone(),
        tried: *tried,
        undecided: *undecided,
        unlisted: *unlisted,
        made: unit.made.iter().map(made).collect(),
    });
    sealed::seal(&mut line);
    line
}

/// A unit of a part's file, and its number among all.
///
/// # Errors
/// A line that is not a unit.
pub fn read_line(line: &str) -> Result<(usize, Unit), String> {
    let wrong = || "a line cannot be read".to_owned();
    let mut json: Json = serde_json::from_str(line).map_err(|_| wrong())?;
    if !sealed::unseal(&mut json)? {
        return Err(wrong());
    }
    let line: Line = serde_json::from_value(json).map_err(|_| wrong())?;
    let test = |TestLine { key, name, text }| {
        let words = model::library::shipped().words();
        let (file, _) = lang::litmus::parse(&Source::new(name.as_str(), text), words);
        file.map(|file| Content { key, name, file }).ok_or_else(wrong)
    };
    let made = |MadeLine { test: one, twin }| {
        Ok(Made { content: test(one)?, twin: twin.map(test).transpose()? })
    };
    let Line { index, unit: name, title, tried, undecided, unlisted, made: all } = line;
    let made = all.into_iter().map(made).collect::<Result<_, String>>()?;
    Ok((index, Unit { name, title, made, tried, undecided, unlisted }))
}
