//! `litmus gen pivot`.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::ops::ControlFlow;

use clap::Args;
use model::changes::{self, Change, Subject};
use model::coverage::{IMPLIED, implied};
use model::generate::distinguish::Undecided;
use model::generate::draft::Draft;
use model::generate::pivot::Pivot;
use model::generate::search::{Bounds, Known, Vocabulary};
use model::generate::shape::Shape;
use serde_json::json;

use super::Common;
use super::generation::{Generation, make};
use super::suite::{Tried, Unit};
use crate::commands::compare::bounds_of;
use crate::exit::Exit;
use crate::models::LoadedModel;
use crate::options::Format;
use crate::ordered::map_in_order;
use crate::terminal::Terminal;

/// Tests that depend on one rule of a model
///
/// For every rule of the model (each axiom, each part of a union, each table cell), all programs within the
/// bounds that have an outcome which is forbidden, and allowed when that rule alone is dropped; and of which
/// no statement can be dropped without losing that. Beside each stands its twin, in which one ordering is
/// missing and the outcome is allowed. A rule of which no test comes so, as it is about messages or crashes,
/// has tests from random programs, made as small. For a model of coreRMA, a test is a program of at most
/// --size actions (initial writes included) and --threads processes with an execution that one application
/// of the rule forbids, as in the model's paper (§6.1).
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    pub common: Common,
    /// Only this rule: an axiom, a definition, or a change as `litmus coverage` names it; can be repeated
    #[arg(long = "rule", value_name = "RULE")]
    pub rules: Vec<String>,
    /// Only this cell of the order tables: 'nrW, nrR' or 'oppo[nrW, nrR]'; can be repeated
    #[arg(long = "cell", value_name = "ROW, COLUMN")]
    pub cells: Vec<String>,
}

pub fn run(arguments: &Arguments, model: &LoadedModel, terminal: &mut Terminal) -> Exit {
    let common = &arguments.common;
    let bounds = bounds_of(&common.bounds);
    let changes = match chosen(arguments, model).and_then(|changes| selected(arguments, changes)) {
        Ok(changes) => changes,
        Err(message) => return terminal.usage_error(&message),
    };
    let vocabulary = Vocabulary::of(&[model.model()]);
    let names: Vec<&String> = changes.iter().map(|change| &change.name).collect();
    if arguments.common.select.list {
        let described: Vec<String> = changes.iter().map(Change::described).collect();
        list(described.iter().map(String::as_str), common, terminal);
        return Exit::Fine;
    }
    let choices = json!({ "rules": names });
    let opened =
        Generation::open("pivot", &choices, common, (&bounds, changes.len()), model, &vocabulary);
    let generation = match opened {
        Ok(generation) => generation,
        Err(failure) => return failure.tell(terminal),
    };
    let known = OnceCell::new();
    generation.fill(changes.len(), terminal, |generation, index, terminal| {
        terminal.progress().set_message(changes[index].name.clone());
        let jobs = generation.jobs;
        let new = || Known::new(model.model(), &vocabulary, &bounds, jobs);
        let known = known.get_or_init(|| generation.timeout.within(new));
        unit(generation, known, &changes[index], bounds, terminal)
    })
}

/// `--list`: the rules.
pub fn list<'n>(rules: impl Iterator<Item = &'n str>, common: &Common, terminal: &mut Terminal) {
    match common.format.format {
        Format::Json => {
            let rules: Vec<&str> = rules.collect();
            terminal.out(&format!("{}\n", json!({ "schema": "litmus-list/1", "rules": rules })));
        }
        Format::Table => rules.for_each(|rule| terminal.show(&format!("{rule}\n"))),
    }
}

/// Those that -k selects.
fn selected(arguments: &Arguments, mut changes: Vec<Change>) -> Result<Vec<Change>, String> {
    let names: Vec<String> = changes.iter().map(|change| change.name.clone()).collect();
    let select = &arguments.common.select;
    changes.retain(|change| select.selects_rule(&change.described()));
    match changes.is_empty() && !names.is_empty() {
        true => Err(select.nothing("rule", names.iter().map(String::as_str))),
        false => Ok(changes),
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
        let is_wanted = |change: &Change| {
            change.allows_more && !is_implied(change) && change.is_possible(model)
        };
        return Ok(all.filter(is_wanted).collect());
    }
    let mut wanted = BTreeSet::new();
    for rule in &arguments.rules {
        let is_it = |change: &Change| {
            change.name == *rule
                || change.described() == *rule
                || change.described().ends_with(&format!("({rule})"))
                || match &change.subject {
                    Subject::Axiom(name) | Subject::Part(name, _) | Subject::Relation(name) => {
                        name == rule
                    }
                    Subject::Order(order) => order.name == *rule,
                    Subject::Cell(_) => false,
                }
        };
        choose(&all, &mut wanted, is_it, || {
            format!("there is no rule `{rule}` in {}; `--list` names all", model.name)
        })?;
    }
    for cell in &arguments.cells {
        let (table, pair) = match cell.split_once('[') {
            Some((table, rest)) => (Some(table.trim()), rest.trim_end().trim_end_matches(']')),
            None => (None, cell.as_str()),
        };
        let (row, column) = pair.split_once(',').unwrap_or((pair, ""));
        let is_it = |change: &Change| {
            change.cell().is_some_and(|cell| {
                // Without a table, the cell of all tables in which it stands.
                let is_table = match table {
                    Some(table) if !table.is_empty() => cell.names() == [table],
                    _ => true,
                };
                is_table && cell.row == row.trim() && cell.column == column.trim()
            })
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

/// All tests of a change, by size.
fn unit(
    generation: &Generation<'_>,
    known: &Known<'_>,
    change: &Change,
    bounds: Bounds,
    terminal: &mut Terminal,
) -> Unit {
    let Generation { vocabulary, jobs, .. } = *generation;
    let model = generation.model.model();
    let timeout = generation.timeout;
    let pivot = timeout.within(|| Pivot::new(known, change, vocabulary, bounds, jobs));
    let mut unit = Unit {
        name: change.name.clone(),
        title: format!("{}: {}", model.name, change.described()),
        ..Unit::default()
    };
    for size in 1..=bounds.size {
        let work = |shape: &Shape| timeout.within(|| tested(generation, &pivot, change, shape));
        let each = |_: &Shape, tried| {
            unit.take(tried);
            terminal.progress().tick();
            ControlFlow::Continue(())
        };
        let shapes = timeout.within(|| pivot.of_size(size));
        map_in_order(&shapes, jobs, &generation.stop, work, each);
    }
    // Most cells of one table alone have no test, as another table implies them: drawing programs for each
    // would take many times as long as all else.
    let has_others = change.cell().is_none() && vocabulary.has_others();
    if has_others && unit.made.is_empty() && unit.undecided == 0 {
        draw(generation, &pivot, change, bounds, &mut unit);
    }
    unit
}

/// How many random programs are tried for a rule that has no other test.
const DRAWN: u64 = 4_000;
/// How many of them may come to a test.
const MOST_DRAWN: usize = 4;

/// The test of a program, if the rule matters to it.
fn tested(
    generation: &Generation<'_>,
    pivot: &Pivot<'_>,
    change: &Change,
    shape: &Shape,
) -> Result<Tried, Undecided> {
    let Some(found) = pivot.check(shape)? else { return Ok(Tried::Nothing) };
    let draft = Draft::new(&found.shape, &found.test, &found.condition).canonical();
    let completion = generation.vocabulary.completion;
    make(draft, completion, generation.model.model(), change.allows_more)
}

/// Tests of a change from random programs.
fn draw(
    generation: &Generation<'_>,
    pivot: &Pivot<'_>,
    change: &Change,
    bounds: Bounds,
    unit: &mut Unit,
) {
    let look = |number: &u64| match pivot.drawn(*number, bounds)? {
        Some(shape) => tested(generation, pivot, change, &shape),
        None => Ok(Tried::Nothing),
    };
    let work = |number: &u64| generation.timeout.within(|| look(number));
    let each = |_: &u64, tried| {
        unit.take(tried);
        match unit.made.len() < MOST_DRAWN {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    };
    let numbers: Vec<u64> = (0..DRAWN).collect();
    map_in_order(&numbers, generation.jobs, &generation.stop, work, each);
}
