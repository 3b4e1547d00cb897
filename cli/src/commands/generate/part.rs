//! A part of a suite, as `--shard` makes it: units with their tests before they have names. `litmus merge`
//! gives these.

use std::path::Path;

use campaign::journal::Journal;
use campaign::sealed;
use campaign::shard::ShardOf;
use model::generate::text::{Content, Words};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::journal;
use super::suite::{self, Counts, Made, Origin, Unit, hold};
use crate::models::LoadedModel;
use crate::output::Failure;

/// The file's name in the part's folder.
pub const PART: &str = "part.jsonl";

/// The format of a part's file.
pub const SCHEMA: &str = "litmus-suite-part/1";

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
    dialect: Option<String>,
    body: String,
    verdicts: Vec<String>,
}

/// A part that is being made.
pub struct Part<'m> {
    journal: Journal,
    model: &'m LoadedModel,
    models: Vec<String>,
    source: String,
    /// The units of this part.
    pub items: Vec<usize>,
    /// What is there.
    pub counts: Counts,
}

impl<'m> Part<'m> {
    /// Opens a folder for a part: a new one, or one that the same command began.
    ///
    /// # Errors
    /// Why it cannot be used.
    pub fn open(folder: &Path, origin: &Origin<'m>, shard: &ShardOf) -> Result<Self, Failure> {
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
        let (model, models, source) = (origin.model, origin.models(), origin.source());
        Ok(Self { journal, model, models, source, items, counts })
    }

    /// Adds what a unit came to.
    ///
    /// # Errors
    /// What cannot be written, or a test that is not as the engine said.
    pub fn add(&mut self, index: usize, unit: &Unit) -> Result<(), Failure> {
        for made in &unit.made {
            let twin = made.twin.as_ref().map(|(content, verdicts)| (content, verdicts));
            for (content, verdicts) in twin.into_iter().chain([(&made.content, &made.verdicts)]) {
                let words = Words {
                    name: content.name.clone(),
                    title: unit.title.clone(),
                    source: self.source.clone(),
                    models: self.models.clone(),
                    comments: Vec::new(),
                    verdicts: verdicts.clone(),
                    twin: None,
                };
                hold(&content.name, &content.file(&words), self.model).map_err(Failure::Bug)?;
            }
        }
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
    let test = |(content, verdicts): (&Content, &Vec<String>)| {
        let Content { key, name, dialect, body } = content.clone();
        TestLine { key, name, dialect, body, verdicts: verdicts.clone() }
    };
    let made = |made: &Made| MadeLine {
        test: test((&made.content, &made.verdicts)),
        twin: made.twin.as_ref().map(|(content, verdicts)| test((content, verdicts))),
    };
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
/// A line that is no unit.
pub fn read_line(line: &str) -> Result<(usize, Unit), String> {
    let wrong = || "a line cannot be read".to_owned();
    let mut json: Json = serde_json::from_str(line).map_err(|_| wrong())?;
    if !sealed::unseal(&mut json)? {
        return Err(wrong());
    }
    let line: Line = serde_json::from_value(json).map_err(|_| wrong())?;
    let test = |TestLine { key, name, dialect, body, verdicts }| {
        (Content { key, name, dialect, body }, verdicts)
    };
    let made = |MadeLine { test: one, twin }| {
        let (content, verdicts) = test(one);
        Made { content, verdicts, twin: twin.map(test) }
    };
    let Line { index, unit: name, title, tried, undecided, unlisted, made: all } = line;
    let made = all.into_iter().map(made).collect();
    Ok((index, Unit { name, title, made, tried, undecided, unlisted }))
}
