//! `litmus gen pivot`.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use clap::Args;
use lang::cat::model::Model;
use model::changes::{self, Change, Subject};
use model::coverage::{IMPLIED, implied};
use model::generate::distinguish::Undecided;
use model::generate::draft::Draft;
use model::generate::pivot::Pivot;
use model::generate::search::{Bounds, Known, Vocabulary};
use model::generate::shape::{Completion, Shape};
use serde_json::json;

use super::suite::{Made, Suite, Unit};
use super::{Common, stop_on_signal};
use crate::commands::compare::bounds_of;
use crate::exit::Exit;
use crate::models::LoadedModel;
use crate::options::Format;
use crate::ordered::map_in_order;
use crate::table::count;
use crate::terminal::Terminal;

/// Tests that hang on one rule of a model
///
/// For every rule of the model (each axiom, each part of a union, each table cell), all programs within the bounds
/// that have an outcome which is forbidden, and allowed when that rule alone is dropped; and of which no statement can be
/// dropped without losing that. Beside each stands its twin, in which one ordering is missing and the outcome is allowed.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    pub common: Common,
    /// Only this rule: an axiom, a definition, or a change as `litmus coverage` names it; can be repeated
    #[arg(long = "rule", value_name = "RULE")]
    rules: Vec<String>,
    /// Only this cell of the order tables: 'nrW, nrR' or 'oppo[nrW, nrR]'; can be repeated
    #[arg(long = "cell", value_name = "ROW, COLUMN")]
    cells: Vec<String>,
}

pub fn run(arguments: &Arguments, model: &LoadedModel, terminal: &mut Terminal) -> Exit {
    let common = &arguments.common;
    let bounds = bounds_of(&common.bounds);
    let changes = match chosen(arguments, model) {
        Ok(changes) => changes,
        Err(message) => return terminal.usage_error(&message),
    };
    let vocabulary = Vocabulary::of(&[model.model()]);
    let head = json!({
        "schema": "litmus-suite/1",
        "version": env!("CARGO_PKG_VERSION"),
        "command": "gen pivot",
        "model": { "name": model.name(), "hash": model.identity.hash },
        "rules": changes.iter().map(|change| &change.name).collect::<Vec<_>>(),
        "bounds": format!("{bounds}"),
    });
    let source =
        format!("litmus gen pivot, {} {}; at most {bounds}", model.name(), model.identity.hash);
    let model_text = (model.model(), !model.is_own);
    let opened = Suite::open(&common.output, &head, model_text, vocabulary.completion, source);
    let mut suite = match opened {
        Ok(suite) => suite,
        Err(message) => return terminal.usage_error(&message),
    };
    let stop = stop_on_signal();
    let began = Instant::now();
    let jobs = common.jobs.count();
    let done = suite.counts.units;
    let mut exit = Exit::Fine;
    if done < changes.len() {
        let known = Known::new(model.model(), &vocabulary, &bounds, jobs);
        let maker =
            Maker { model: model.model(), vocabulary: &vocabulary, bounds, jobs, stop: &stop };
        terminal.begin_progress(changes.len());
        terminal.progress().inc(done as u64);
        for change in &changes[done..] {
            terminal.progress().set_message(change.name.clone());
            let unit = maker.unit(&known, change, terminal);
            if stop.load(Ordering::Relaxed) {
                terminal.note("stopped; the same command goes on from here");
                exit = Exit::Unknown;
                break;
            }
            if let Err(message) = suite.add(&unit) {
                terminal.err(&format!("error: {message}\n"));
                return Exit::Internal;
            }
            terminal.progress().inc(1);
        }
    }
    if suite.counts.undecided > 0 {
        exit.raise(Exit::Unknown);
    }
    finish(&suite, began, common.format.format, changes.len(), terminal);
    exit
}

/// Says what there is.
pub fn finish(
    suite: &Suite<'_>,
    began: Instant,
    format: Format,
    units: usize,
    terminal: &mut Terminal,
) {
    let counts = suite.counts;
    match format {
        Format::Json => terminal.out(&format!(
            "{}\n",
            json!({
                "schema": "litmus-gen/1",
                "files": counts.files,
                "units": counts.units,
                "of": units,
                "tried": counts.tried,
                "undecided": counts.undecided,
                "seconds": began.elapsed().as_secs_f64(),
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
            terminal.out(&text);
        }
    }
}

/// The changes that the command line asks for: all that take something away, if it names none, but for those
/// of a shipped model that are known to change nothing.
fn chosen(arguments: &Arguments, model: &LoadedModel) -> Result<Vec<Change>, String> {
    let is_own = model.is_own;
    let model = model.model();
    let all = changes::of(model);
    if arguments.rules.is_empty() && arguments.cells.is_empty() {
        // A test checks that the list can be read.
        let implied = implied(IMPLIED).unwrap_or_default();
        let is_implied = |change: &Change| {
            !is_own && implied.contains_key(&(model.name.clone(), change.name.clone()))
        };
        let all = all.into_iter();
        return Ok(all.filter(|change| change.allows_more && !is_implied(change)).collect());
    }
    let mut wanted = BTreeSet::new();
    for rule in &arguments.rules {
        let is_it = |change: &Change| {
            change.name == *rule
                || match &change.subject {
                    Subject::Axiom(name) | Subject::Order(name) | Subject::Part(name, _) => {
                        name == rule
                    }
                    Subject::Cell { .. } => false,
                }
        };
        choose(&all, &mut wanted, is_it, || {
            format!("there is no rule `{rule}` in {}", model.name)
        })?;
    }
    for cell in &arguments.cells {
        let (table, pair) = match cell.split_once('[') {
            Some((table, rest)) => (Some(table.trim()), rest.trim_end().trim_end_matches(']')),
            None => (None, cell.as_str()),
        };
        let (row, column) = pair.split_once(',').unwrap_or((pair, ""));
        let is_it = |change: &Change| match &change.subject {
            Subject::Cell { tables, row: known_row, column: known_column } => {
                // Without a table, the cell of all tables in which it stands.
                let is_table = match table {
                    Some(table) => matches!(tables.as_slice(), [one] if one == table),
                    None => true,
                };
                is_table && known_row == row.trim() && known_column == column.trim()
            }
            _ => false,
        };
        choose(&all, &mut wanted, is_it, || {
            format!("there is no cell `{cell}` in {}", model.name)
        })?;
    }
    let kept = all.into_iter().enumerate().filter(|(index, _)| wanted.contains(index));
    Ok(kept.map(|(_, change)| change).collect())
}

fn choose(
    all: &[Change],
    wanted: &mut BTreeSet<usize>,
    is_it: impl Fn(&Change) -> bool,
    message: impl Fn() -> String,
) -> Result<(), String> {
    let before = wanted.len();
    wanted.extend((0..all.len()).filter(|index| is_it(&all[*index])));
    if wanted.len() == before { Err(message()) } else { Ok(()) }
}

struct Maker<'a> {
    model: &'a Model,
    vocabulary: &'a Vocabulary,
    bounds: Bounds,
    jobs: usize,
    stop: &'a AtomicBool,
}

impl Maker<'_> {
    fn unit(&self, known: &Known<'_>, change: &Change, terminal: &mut Terminal) -> Unit {
        let pivot = Pivot::new(known, change, self.vocabulary, self.bounds, self.jobs);
        let mut unit = Unit {
            name: change.name.clone(),
            title: format!("{}: {}", self.model.name, change.name),
            ..Unit::default()
        };
        let completion = self.vocabulary.completion;
        for size in 1..=self.bounds.size {
            let shapes = pivot.of_size(size);
            let work = |shape: &Shape| -> Result<Option<Made>, Undecided> {
                let Some(found) = pivot.check(shape)? else { return Ok(None) };
                let draft = Draft::new(&found.shape, &found.test, &found.condition).canonical();
                make(draft, completion, self.model, change.allows_more).map(Some)
            };
            let each = |_: &Shape, made: Result<Result<Option<Made>, Undecided>, String>| {
                unit.tried += 1;
                match made {
                    Ok(Ok(made)) => unit.made.extend(made),
                    Ok(Err(_)) | Err(_) => unit.undecided += 1,
                }
                terminal.progress().tick();
                ControlFlow::Continue(())
            };
            map_in_order(&shapes, self.jobs, self.stop, work, each);
        }
        unit
    }
}

/// A test with its verdicts, and its twin if it is forbidden.
///
/// # Errors
/// If the engine cannot say.
pub fn make(
    draft: Draft,
    completion: Completion,
    model: &Model,
    has_twin: bool,
) -> Result<Made, Undecided> {
    let verdicts = draft.verdicts(completion, model)?;
    let twin = if has_twin { draft.twin(completion, model) } else { None };
    let twin = match twin.map(|twin| twin.canonical()) {
        Some(twin) => {
            let verdicts = twin.verdicts(completion, model)?;
            Some((twin, verdicts))
        }
        None => None,
    };
    Ok(Made { draft, verdicts, twin })
}
