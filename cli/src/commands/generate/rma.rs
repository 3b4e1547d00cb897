//! `litmus gen pivot` for models of coreRMA: as the paper's authors made their tests.

use std::cell::OnceCell;
use std::ops::ControlFlow;

use lang::cat::model::DefinitionId;
use model::generate::distinguish::Undecided;
use model::generate::rma::draft::Draft;
use model::generate::rma::enumerate::{Bounds, programs};
use model::generate::rma::pivot::{Pivot, rules};
use model::generate::rma::program::Program;
use model::generate::search::Vocabulary;
use serde_json::json;

use super::generation::Generation;
use super::pivot::{self, Arguments};
use super::suite::{Made, Tried, Unit};
use crate::exit::Exit;
use crate::models::LoadedModel;
use crate::ordered::map_in_order;
use crate::terminal::Terminal;

/// The default bound on actions: what takes seconds.
const SIZE: u8 = 8;

/// Whether a model is about coreRMA's programs.
pub fn is_rma(model: &LoadedModel) -> bool {
    model.model().calls.contains(&"Rma")
}

/// Whether programs can be made for a model that are not coreRMA's.
///
/// # Errors
/// That there are none.
pub fn speaks_of_rdma(way: &str, model: &LoadedModel) -> Result<(), String> {
    if !is_rma(model) {
        return Ok(());
    }
    let name = model.name();
    Err(format!(
        "`gen {way}` makes no programs of coreRMA, which {name} is about; `gen pivot` does"
    ))
}

/// A rule for programs of this many processes.
struct Part {
    rule: String,
    id: DefinitionId,
    bounds: Bounds,
}

pub fn run(arguments: &Arguments, model: &LoadedModel, terminal: &mut Terminal) -> Exit {
    let common = &arguments.common;
    if common.bounds.nodes.is_some() || common.bounds.thread_size.is_some() {
        let message =
            "--nodes and --thread-size are not for coreRMA, whose tests have --threads processes";
        return terminal.usage_error(message);
    }
    let parts = match parts(arguments, model) {
        Ok(parts) => parts,
        Err(message) => return terminal.usage_error(&message),
    };
    let names: Vec<String> =
        parts.iter().map(|part| format!("{} {}", part.rule, part.bounds)).collect();
    if common.select.list {
        pivot::list(names.iter().map(String::as_str), common, terminal);
        return Exit::Fine;
    }
    let choices = json!({ "rules": names });
    let vocabulary = Vocabulary::of(&[model.model()]);
    let most = parts.iter().map(|part| part.bounds).max_by_key(|bounds| bounds.processes);
    let bounds = most.unwrap_or(Bounds { processes: 1, size: 1 });
    let opened =
        Generation::open("pivot", &choices, common, (&bounds, parts.len()), model, &vocabulary);
    let generation = match opened {
        Ok(generation) => generation,
        Err(failure) => return failure.tell(terminal),
    };
    // All rules are looked for in the same programs.
    let known: [OnceCell<Vec<Program>>; 2] = Default::default();
    generation.fill(parts.len(), terminal, |generation, index, terminal| {
        terminal.progress().set_message(names[index].clone());
        let part = &parts[index];
        let all = known[part.bounds.processes - 1]
            .get_or_init(|| generation.timeout.within(|| by_size(part.bounds)));
        unit(generation, part, all, terminal)
    })
}

fn parts(arguments: &Arguments, model: &LoadedModel) -> Result<Vec<Part>, String> {
    if !arguments.cells.is_empty() {
        return Err(format!("{} has no tables, only rules", model.name()));
    }
    let bounds = &arguments.common.bounds;
    let size = usize::from(bounds.size.unwrap_or(SIZE));
    let most = match bounds.threads.unwrap_or(2) {
        threads @ (1 | 2) => usize::from(threads),
        _ => return Err("tests of coreRMA's rules have 1 or 2 processes".to_owned()),
    };
    let all = rules(model.model());
    if let Some(unknown) =
        arguments.rules.iter().find(|rule| !all.iter().any(|(name, _)| name == *rule))
    {
        let names: Vec<&str> = all.iter().map(|(name, _)| name.as_str()).collect();
        let names = names.join(", ");
        return Err(format!("there is no rule `{unknown}` in {}, but {names}", model.name()));
    }
    let select = &arguments.common.select;
    let is_wanted = |(name, _): &&(String, _)| {
        (arguments.rules.is_empty() || arguments.rules.contains(name)) && select.selects_rule(name)
    };
    if !all.iter().any(|rule| is_wanted(&rule)) {
        return Err(select.nothing("rule", all.iter().map(|(name, _)| name.as_str())));
    }
    let parts = all.iter().filter(is_wanted).flat_map(|(rule, id)| {
        (1..=most).map(|processes| Part {
            rule: rule.clone(),
            id: *id,
            bounds: Bounds { processes, size },
        })
    });
    Ok(parts.collect())
}

/// The programs within the bounds, the smallest first.
fn by_size(bounds: Bounds) -> Vec<Program> {
    let mut all = Vec::new();
    programs(bounds, &mut |program| all.push(program));
    all.sort_by_key(Program::size);
    all
}

/// All tests of a rule, by size.
fn unit(
    generation: &Generation<'_>,
    part: &Part,
    all: &[Program],
    terminal: &mut Terminal,
) -> Unit {
    let model = generation.model.model();
    let mut unit = Unit {
        name: format!("{}, {}", part.rule, part.bounds),
        title: format!("{}: {}", model.name, part.rule),
        ..Unit::default()
    };
    let pivot = Pivot::new(model, part.id);
    let look = |program: &Program| -> Result<Tried, Undecided> {
        let Some(instance) = pivot.instance(program, &|_| true) else { return Ok(Tried::Nothing) };
        let draft = Draft { program: program.clone(), claim: instance.outcome };
        let (is_allowed, verdicts) = draft.verdicts(model)?;
        // Another execution can show the same values.
        let twin = if is_allowed { None } else { draft.twin(model)? };
        let twin = twin.map(|(twin, verdicts)| twin.content(verdicts));
        Ok(Tried::Made(Box::new(Made { content: draft.content(verdicts), twin })))
    };
    let work = |program: &Program| generation.timeout.within(|| look(program));
    let each = |_: &Program, tried| {
        unit.take(tried);
        terminal.progress().tick();
        ControlFlow::Continue(())
    };
    map_in_order(all, generation.jobs, &generation.stop, work, each);
    unit
}
