//! A suite as it grows: files, and a journal of the units that are done.
//!
//! The journal is `suite.jsonl`: a line that says how the suite is made, then a line per unit. A unit's files
//! are written before its line, so what has a line is whole; the rest is made again.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use campaign::files;
use campaign::journal::Journal;
use evidence::record::ModelIdentity;
use model::generate::distinguish::Undecided;
use model::generate::text::{self, Content, Words};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::journal;
use crate::models::{LoadedModel, in_headers};
use crate::ordered::Broken;
use crate::output::Failure;

/// The journal's name.
const JOURNAL: &str = "suite.jsonl";

/// The format of journals that this version writes and goes on with.
pub const SCHEMA: &str = "litmus-suite/1";

/// The first line of a journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Head {
    pub schema: String,
    version: String,
    command: String,
    model: ModelIdentity,
    bounds: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    choices: Option<Json>,
}

/// Each other line: a unit that is done.
#[derive(Serialize, Deserialize)]
struct Line {
    unit: String,
    tests: Vec<Named>,
    tried: u64,
    undecided: u64,
    unlisted: u64,
}

/// A test of a unit: its name, and a key that is equal for tests that differ in names alone.
#[derive(Serialize, Deserialize)]
struct Named {
    name: String,
    key: String,
}

/// A test before it has a name.
#[derive(Clone, Debug, PartialEq)]
pub struct Made {
    /// The test.
    pub content: Content,
    /// The same test with an order less, whose outcome is allowed.
    pub twin: Option<Content>,
}

/// What came of a program.
pub enum Tried {
    /// A test.
    Made(Box<Made>),
    /// No test: it has no claim, and no outcomes or more than a file lists.
    Unlisted,
    /// No test: it is not what is looked for.
    Nothing,
}

/// What a unit came to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Unit {
    /// What it is about.
    pub name: String,
    /// What its tests say of themselves.
    pub title: String,
    /// Tests, in the order in which they are named.
    pub made: Vec<Made>,
    /// Programs that were tried.
    pub tried: u64,
    /// Those of which the engine could not tell.
    pub undecided: u64,
    /// Those without a claim that have more outcomes than a file lists: no test comes of them.
    pub unlisted: u64,
}

/// How many tests were written, and how many were known.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// Files.
    pub files: usize,
    /// Units.
    pub units: usize,
    /// Programs that were tried.
    pub tried: u64,
    /// Those of which the engine could not tell.
    pub undecided: u64,
    /// Those without a claim that have more outcomes than a file lists: no test comes of them.
    pub unlisted: u64,
    /// The names of units of which no test came.
    pub empty: Vec<String>,
}

impl Counts {
    /// Counts a unit; its files are for the caller to count.
    pub fn take(&mut self, unit: &Unit) {
        self.units += 1;
        self.empty.extend(unit.made.is_empty().then(|| unit.name.clone()));
        self.tried += unit.tried;
        self.undecided += unit.undecided;
        self.unlisted += unit.unlisted;
    }
}

/// What a suite is made by.
pub struct Origin<'m> {
    /// The command, as far as every test repeats it.
    pub command: String,
    /// What else its tests depend on.
    pub choices: Option<Json>,
    /// How large they are.
    pub bounds: String,
    /// The model that verdicts are of.
    pub model: &'m LoadedModel,
}

impl Origin<'_> {
    /// The first line of the journal.
    pub fn head(&self) -> Head {
        Head {
            schema: SCHEMA.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            command: self.command.clone(),
            model: self.model.identity.clone(),
            bounds: self.bounds.clone(),
            choices: self.choices.clone(),
        }
    }

    /// The model that headers name, as `--model` takes it.
    pub fn models(&self) -> Vec<String> {
        vec![self.model.argument.clone()]
    }

    /// What tests say of where they come from.
    pub fn source(&self) -> String {
        let (name, hash) = (self.model.name(), &self.model.identity.hash);
        format!("litmus {}, {name} {hash}; at most {}", self.command, self.bounds)
    }
}

/// A suite in a folder.
pub struct Suite {
    folder: PathBuf,
    journal: Journal,
    /// The names of tests by their keys.
    names: BTreeMap<String, String>,
    /// All names in use.
    used: BTreeSet<String>,
    /// The units that are done, by name.
    done: BTreeSet<String>,
    /// What headers name.
    models: Vec<String>,
    source: String,
    /// What is there.
    pub counts: Counts,
}

impl Unit {
    /// Counts a program, and keeps what came of it.
    pub fn take(&mut self, tried: Result<Result<Tried, Undecided>, Broken>) {
        self.tried += 1;
        match tried {
            Ok(Ok(Tried::Made(made))) => self.made.push(*made),
            Ok(Ok(Tried::Unlisted)) => self.unlisted += 1,
            Ok(Ok(Tried::Nothing)) => {}
            Ok(Err(_)) | Err(_) => self.undecided += 1,
        }
    }
}

impl Suite {
    /// Opens a folder for a suite: a new one, or one that the same command began.
    ///
    /// # Errors
    /// Why it cannot be used.
    pub fn open(folder: &Path, origin: &Origin<'_>) -> Result<Self, Failure> {
        let (models, source) = (origin.models(), origin.source());
        Self::open_as(folder, &origin.head(), models, source)
    }

    /// The same for a suite of which all is said: its first line, the models and the source that headers
    /// name.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_as(
        folder: &Path,
        head: &Head,
        models: Vec<String>,
        source: String,
    ) -> Result<Self, Failure> {
        let (journal, lines) = journal::open(folder, JOURNAL, head)?;
        let models = models.iter().map(|model| in_headers(model, folder)).collect();
        let mut suite = Self {
            folder: folder.to_owned(),
            journal,
            names: BTreeMap::new(),
            used: BTreeSet::new(),
            done: BTreeSet::new(),
            models,
            source,
            counts: Counts::default(),
        };
        for line in lines {
            suite.remember(&line)?;
        }
        Ok(suite)
    }

    fn remember(&mut self, line: &str) -> Result<(), Failure> {
        let line: Line = serde_json::from_str(line).map_err(|_| {
            let path = self.journal.path().display();
            Failure::Usage(format!("{path}: expected lines of a suite, found another line"))
        })?;
        self.counts.empty.extend(line.tests.is_empty().then(|| line.unit.clone()));
        for Named { name, key } in line.tests {
            if self.names.insert(key, name.clone()).is_none() {
                self.used.insert(name);
                self.counts.files += 1;
            }
        }
        self.done.insert(line.unit);
        self.counts.units += 1;
        self.counts.tried += line.tried;
        self.counts.undecided += line.undecided;
        self.counts.unlisted += line.unlisted;
        Ok(())
    }

    /// Whether a unit of this name is done.
    pub fn has(&self, unit: &str) -> bool {
        self.done.contains(unit)
    }

    /// Writes what a unit came to.
    ///
    /// # Errors
    /// What cannot be written.
    pub fn add(&mut self, unit: &Unit) -> Result<(), Failure> {
        let mut tests = Vec::new();
        for made in &unit.made {
            let twin = match &made.twin {
                Some(content) => {
                    let comment = Some("allowed twin of a forbidden test".to_owned());
                    Some(self.write(content, unit, comment, None, &mut tests)?)
                }
                None => None,
            };
            self.write(&made.content, unit, None, twin, &mut tests)?;
        }
        self.counts.take(unit);
        let Unit { name, tried, undecided, unlisted, .. } = unit;
        let (tried, undecided, unlisted) = (*tried, *undecided, *unlisted);
        let line = Line { unit: name.clone(), tests, tried, undecided, unlisted };
        journal::add(&mut self.journal, &line)
    }

    /// Writes a test if it is new; its name.
    fn write(
        &mut self,
        content: &Content,
        unit: &Unit,
        comment: Option<String>,
        twin: Option<String>,
        tests: &mut Vec<Named>,
    ) -> Result<String, Failure> {
        let key = content.key.clone();
        if let Some(name) = self.names.get(&key) {
            tests.push(Named { name: name.clone(), key });
            return Ok(name.clone());
        }
        let base = content.name.clone();
        let numbered = (2..).map(|number| format!("{base}-{number}"));
        let mut names = std::iter::once(base.clone()).chain(numbered);
        let name = names.find(|name| !self.used.contains(name)).unwrap_or(base);
        let words = Words {
            name: name.clone(),
            title: unit.title.clone(),
            source: self.source.clone(),
            models: self.models.clone(),
            comment,
            twin,
        };
        let text = text::text(content.file.clone(), &words);
        let file = files::file_name(&name, "litmus")
            .map_err(|message| Failure::unwritable(&self.folder, message))?;
        let path = self.folder.join(file);
        files::replace(&path, text.as_bytes())
            .map_err(|error| Failure::unwritable(&path, error))?;
        tests.push(Named { name: name.clone(), key: key.clone() });
        self.names.insert(key, name.clone());
        self.used.insert(name.clone());
        self.counts.files += 1;
        Ok(name)
    }
}
