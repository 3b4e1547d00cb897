//! What all ways to make tests do alike: open the suite, add unit after unit, and say what there is.

use std::fmt::Display;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use lang::cat::model::Model;
use model::generate::distinguish::Undecided;
use model::generate::draft::Draft;
use model::generate::search::Vocabulary;
use model::generate::shape::Completion;
use serde_json::{Value as Json, json};

use super::Common;
use super::part::Part;
use super::suite::{Counts, Made, Origin, Suite, Tried, Unit};
use crate::exit::Exit;
use crate::interrupt::stop_on_signal;
use crate::models::LoadedModel;
use crate::options::{Format, TimeoutOption};
use crate::output::Failure;
use crate::table::count;
use crate::terminal::Terminal;

/// A suite that is being made.
pub struct Generation<'m> {
    pub model: &'m LoadedModel,
    pub vocabulary: &'m Vocabulary,
    pub jobs: usize,
    /// How long each program may take, and what is known before programs are made.
    pub timeout: &'m TimeoutOption,
    /// Set by Ctrl-C; a unit that sees it is not added, so it need not be whole.
    pub stop: Arc<AtomicBool>,
    output: Output,
    began: Instant,
    format: Format,
}

/// Where units go.
enum Output {
    Suite(Box<Suite>),
    /// A part of a suite.
    Part(Box<Part>),
}

impl Output {
    fn counts(&self) -> &Counts {
        match self {
            Self::Suite(suite) => &suite.counts,
            Self::Part(part) => &part.counts,
        }
    }

    fn add(&mut self, index: usize, unit: &Unit) -> Result<(), Failure> {
        match self {
            Self::Suite(suite) => suite.add(unit),
            Self::Part(part) => part.add(index, unit),
        }
    }

    /// The units that are to be there at the end, of this many.
    fn items(&self, units: usize) -> Vec<usize> {
        match self {
            Self::Suite(_) => (0..units).collect(),
            Self::Part(part) => part.items.clone(),
        }
    }
}

impl<'m> Generation<'m> {
    /// Opens the suite of a command, which has this many units: `way` is the command as far as every test
    /// repeats it, and `choices` what else its tests depend on.
    ///
    /// # Errors
    /// Why the folder cannot be used.
    pub fn open(
        way: &str,
        choices: &Json,
        common: &'m Common,
        (bounds, units): (&dyn Display, usize),
        model: &'m LoadedModel,
        vocabulary: &'m Vocabulary,
    ) -> Result<Self, Failure> {
        let origin = Origin {
            command: format!("gen {way}"),
            choices: Some(choices.clone()),
            bounds: bounds.to_string(),
            model,
        };
        let Some(folder) = &common.output else {
            return Err(Failure::Usage("expected -o and a folder".to_owned()));
        };
        // What units cost is not known before they are made.
        let (names, costs): (Vec<String>, Vec<u64>) =
            (0..units).map(|unit| (unit.to_string(), 1)).unzip();
        let output = match common.shard.items(&names, &costs, &json!(origin.head()).to_string()) {
            Some(shard) => Output::Part(Box::new(Part::open(folder, &origin, &shard)?)),
            None => Output::Suite(Box::new(Suite::open(folder, &origin)?)),
        };
        Ok(Self {
            model,
            vocabulary,
            jobs: common.jobs.count(),
            timeout: &common.timeout,
            stop: stop_on_signal(),
            output,
            began: Instant::now(),
            format: common.format.format,
        })
    }

    /// Adds those of the units that are not there yet, in order, and says what there is then.
    pub fn fill(
        mut self,
        units: usize,
        terminal: &mut Terminal,
        mut make: impl FnMut(&Self, usize, &mut Terminal) -> Unit,
    ) -> Exit {
        let mut exit = Exit::Fine;
        let items = self.output.items(units);
        let done = self.output.counts().units;
        terminal.begin_progress(items.len());
        terminal.progress().inc(done as u64);
        for index in items.iter().skip(done) {
            let unit = make(&self, *index, terminal);
            if self.stop.load(Ordering::Relaxed) {
                terminal.note("stopped; the same command goes on from here");
                exit = Exit::Unknown;
                break;
            }
            if let Err(failure) = self.output.add(*index, &unit) {
                return failure.tell(terminal);
            }
            terminal.progress().inc(1);
        }
        if self.output.counts().undecided > 0 {
            exit.raise(Exit::Unknown);
        }
        self.show(items.len(), terminal);
        exit
    }

    fn show(&self, units: usize, terminal: &mut Terminal) {
        let counts = self.output.counts();
        match self.format {
            Format::Json => terminal.out(&format!(
                "{}\n",
                json!({
                    "schema": "litmus-gen/1",
                    "files": counts.files,
                    "units": counts.units,
                    "of": units,
                    "tried": counts.tried,
                    "undecided": counts.undecided,
                    "unlisted": counts.unlisted,
                    "empty": counts.empty,
                    "seconds": self.began.elapsed().as_secs_f64(),
                })
            )),
            Format::Table => {
                let mut text = format!(
                    "{}: {} programs tried, {} of {units} done\n",
                    count(counts.files, "test"),
                    counts.tried,
                    counts.units
                );
                if counts.undecided > 0 {
                    text += &format!("  undecided: {}\n", counts.undecided);
                }
                if counts.unlisted > 0 {
                    text += &format!(
                        "  not written, with more outcomes than a file lists: {}\n",
                        counts.unlisted
                    );
                }
                for unit in &counts.empty {
                    text += &format!("  no test: {unit}\n");
                }
                terminal.out(&text);
            }
        }
    }
}

/// A test with its verdicts, and its twin if it is to have one; nothing, if nothing can be said of it.
///
/// # Errors
/// If the engine cannot say.
pub fn make(
    draft: Draft,
    completion: Completion,
    model: &Model,
    has_twin: bool,
) -> Result<Tried, Undecided> {
    let verdicts = draft.verdicts(completion, model)?;
    if verdicts.is_empty() {
        return Ok(Tried::Unlisted);
    }
    let twin = if has_twin { draft.twin(completion, model) } else { None };
    let twin = match twin.map(|twin| twin.canonical()) {
        Some(twin) => Some(twin.content(completion, twin.verdicts(completion, model)?)),
        None => None,
    };
    let content = draft.content(completion, verdicts);
    Ok(Tried::Made(Box::new(Made { content, twin })))
}
