//! Explanations hold: every outcome that is possible but not allowed gets a cycle, and each step of it is
//! there.
//!
//! For files of the suite and for random programs. What is left out for lack of time is counted and printed;
//! `LITMUS_EXPLAIN=N` sets how many outcomes of a test are explained, `LITMUS_RANDOM` and `LITMUS_SEED` the
//! programs.

mod conditions;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::programs::{
    Program, generate, in_turn, inline_puts, load, looping, models, number, queue_pairs, shrink,
};
use lang::Test;
use lang::cat::model::{AxiomKind, Base, DefinitionId, DefinitionKind, Expr, Model};
use lang::outcome::{Asked, Outcome};
use model::allowed::{Options, Question, undefined_calls};
use model::check::{self, Evaluator, Pairs, broken_axioms, well_formed};
use model::explain::{Broken, Reason, Step, explain};
use model::smt::Found;
use skeleton::EventId;

/// How many outcomes of a test are explained under each model.
const OUTCOMES: u64 = 3;
/// How many candidates of a test are looked at; without axioms there can be very many.
const CANDIDATES: usize = 60;
const PROGRAMS: u64 = 25;

#[derive(Debug, Default)]
struct Counts {
    questions: usize,
    explained: usize,
    /// Outcomes that a bound on loops leaves open.
    unknown: usize,
    /// Outcomes with a candidate that were not explained for lack of time.
    left_out: usize,
    /// Questions with more candidates than were looked at.
    cut_short: usize,
    steps: usize,
    relations: BTreeMap<String, usize>,
}

#[test]
fn suite_is_explained() {
    let suite = Path::new(env!("CARGO_MANIFEST_DIR")).join("../litmus-suite");
    let files = crate::files::below(&suite);
    let models = models();
    let mut counts = Counts::default();
    for file in files {
        let text = std::fs::read_to_string(&file).expect("the suite is readable");
        let test = load(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        // Sequential objects have no events; orders of their calls explain outcomes.
        if model::sequential::is_called(&test, model::library::shipped()) {
            every_order(&test);
            continue;
        }
        for model in models.iter().filter(|model| test.models.contains(&model.name)) {
            every_outcome(&test, model, &mut counts)
                .unwrap_or_else(|error| panic!("{}, {}: {error}", file.display(), model.name));
        }
    }
    println!("the suite: {counts:#?}");
}

/// An order of the calls for each outcome.
fn every_order(test: &Test) {
    let request = model::engine::Request::default();
    let found = model::sequential::ask(test, &request).expect("it can be asked").allowed;
    assert!(!found.outcomes.is_empty());
    for outcome in &found.outcomes {
        let asked = Asked::outcome(&test.observables, outcome);
        let order = model::sequential::order(test, &request, &asked.condition);
        let order = order.expect("it can be asked");
        assert!(matches!(order, model::sequential::Order::Found(_)), "{}", asked.text);
    }
}

#[test]
fn random_programs_are_explained() {
    let (count, counts) = explain_programs(&models());
    println!("{count} random programs: {counts:#?}");
}

/// Steps through definitions that the shipped models do not have.
#[test]
fn steps_of_other_models_hold() {
    let text = "calls Write Read Put Get Poll Rfence\nexists mo total on W * W & loc extends IW * (W \\ IW) & loc
        let rb = (rf^-1; mo) \\ id\nlet far = po; (rf | rb)\nlet near = po & loc | mo; po?
        let rec back = rb | back; near\nacyclic far | near^-1; far | back | mo as one
        empty [R]; (po; rf^-1)+; [W] & ext as two\nirreflexive (po | rf)+; rb* as three
        empty R & W as four\nirreflexive [aMF] as five";
    let source = lang::source::Source::new("other.cat", text);
    let loaded = lang::cat::load(&source, &|_, _| None).expect("the model is right");
    let (_, counts) = explain_programs(&[loaded.model]);
    assert!(counts.explained > 0, "nothing was explained");
    println!("another model: {counts:#?}");
}

/// Random programs under the models that define their statements; how many there were.
fn explain_programs(models: &[Model]) -> (u64, Counts) {
    let mut counts = Counts::default();
    let (seed, count) = (number("LITMUS_SEED", 1), number("LITMUS_RANDOM", PROGRAMS));
    for seed in seed..seed + count {
        // Some loops have very many candidates.
        let loops = seed % 4 == 0 && number("LITMUS_LOOPS", 0) > 0;
        let program = match seed % 4 {
            _ if loops => looping(seed),
            0 => queue_pairs(seed),
            1 => inline_puts(seed),
            _ => generate(seed),
        };
        let models = in_turn(models, seed);
        let Err(error) = every_model(&program, &models, &mut counts) else { continue };
        let smallest = shrink(program, |program| {
            load(&program.to_string()).is_ok()
                && every_model(program, &models, &mut Counts::default()).is_err()
        });
        let again = every_model(&smallest, &models, &mut Counts::default());
        panic!(
            "LITMUS_SEED={seed}: {error}\n\n{smallest}\n{}",
            again.expect_err("it has just failed")
        );
    }
    (count, counts)
}

fn every_model(program: &Program, models: &[&Model], counts: &mut Counts) -> Result<(), String> {
    let test = load(&program.to_string())?;
    for &model in models
        .iter()
        .filter(|model| undefined_calls(&test, model, model::library::shipped()).is_empty())
    {
        every_outcome(&test, model, counts).map_err(|error| format!("{}: {error}", model.name))?;
    }
    Ok(())
}

/// Explains what has a candidate execution and no consistent one.
fn every_outcome(test: &Test, model: &Model, counts: &mut Counts) -> Result<(), String> {
    let message = |refused: model::asking::Refused| refused.text();
    let question = Question::of(test, model).question().map_err(message)?;
    let options = Options::default();
    let allowed = question.allowed(&options).map_err(message)?;
    counts.questions += 1;
    let most = number("LITMUS_EXPLAIN", OUTCOMES) as usize;
    let (forbidden, all) = candidates(&question, &allowed.outcomes)?;
    counts.cut_short += usize::from(!all);
    counts.left_out += forbidden.len().saturating_sub(most);
    for outcome in forbidden.into_iter().take(most) {
        let asked = Asked::outcome(&question.test.observables, &outcome);
        let explanation = explain(&question, &options, &asked).map_err(message)?;
        if let (Reason::Unknown(_), None) = (&explanation.reason, allowed.complete) {
            counts.unknown += 1;
            continue;
        }
        if allowed.complete.is_none() {
            return Err(format!("{outcome:?} is unknown, explained: {:?}", explanation.reason));
        }
        let Reason::Broken(broken) = &explanation.reason else {
            return Err(format!(
                "{outcome:?} has a candidate and no cycle: {:?}",
                explanation.reason
            ));
        };
        if !asked.condition.holds(&broken.execution.outcome) {
            return Err(format!("asked for {outcome:?}, explained {:?}", broken.execution.outcome));
        }
        holds(&question, broken)
            .map_err(|error| format!("{outcome:?}: {error}\n{:?}", broken.steps))?;
        counts.explained += 1;
        counts.steps += broken.steps.len();
        for step in &broken.steps {
            let relation = step.relation.split('[').next().unwrap_or_default();
            *counts.relations.entry(relation.to_owned()).or_default() += 1;
        }
    }
    Ok(())
}

/// Outcomes of candidate executions that are not allowed, and whether these are all.
fn candidates(
    question: &Question<'_>,
    allowed: &BTreeSet<Outcome>,
) -> Result<(Vec<Outcome>, bool), String> {
    let mut session =
        question.session(&Options::default(), |_| false).map_err(|refused| refused.text())?;
    let within = session.counted();
    allowed.iter().for_each(|outcome| session.block(outcome));
    let mut found = Vec::new();
    while found.len() < CANDIDATES {
        let Found::Execution(candidate) = session.find(&within) else { return Ok((found, true)) };
        session.block(&candidate.outcome);
        found.push(candidate.outcome);
    }
    Ok((found, false))
}

/// Whether an explanation is one, by the definitions.
fn holds(question: &Question<'_>, broken: &Broken) -> Result<(), String> {
    let (skeleton, model) = (&question.skeleton, &question.model);
    well_formed(skeleton, &question.test.observables, &broken.execution)?;
    let all = broken_axioms(skeleton, model, &broken.execution);
    if all != broken.all_axioms || !all.contains(&broken.axiom) {
        return Err(format!("{} is said to be broken; {all:?} are", broken.axiom));
    }
    let (Some(first), Some(last)) = (broken.steps.first(), broken.steps.last()) else {
        return Err("no steps".to_owned());
    };
    if broken.steps.windows(2).any(|pair| pair[0].to != pair[1].from) {
        return Err("the steps are not a chain".to_owned());
    }
    let evaluator = Evaluator::new(skeleton, model, &broken.execution);
    if let Some(set) = model.defined(&broken.axiom) {
        // What the model says of ⊤: each step is in its relation, or is the event that shows what it should
        // not.
        let is_there = |step: &Step| {
            let alone = step.relation == broken.axiom && step.from == step.to;
            alone || in_relation(question, &evaluator, broken, step).is_ok()
        };
        let check::Value::Set(_) = evaluator.defined(set) else { return Err("no set".to_owned()) };
        return broken.steps.iter().all(is_there).then_some(()).ok_or("no such step".to_owned());
    }
    let axiom = model.axioms.iter().find(|axiom| axiom.name == broken.axiom);
    let body = match evaluator.value(&axiom.ok_or("no such axiom")?.body) {
        check::Value::Relation(pairs) => pairs,
        check::Value::Set(set) => set.into_iter().map(|event| (event, event)).collect(),
    };
    let ends = (first.from.0, last.to.0);
    let there = match broken.kind {
        AxiomKind::Empty => body.contains(&ends),
        AxiomKind::Irreflexive => ends.0 == ends.1 && body.contains(&ends),
        AxiomKind::Acyclic => ends.0 == ends.1 && check::closure(&body).contains(&ends),
    };
    if !there {
        return Err(format!("{ends:?} does not break {}", broken.axiom));
    }
    broken.steps.iter().try_for_each(|step| in_relation(question, &evaluator, broken, step))
}

/// Whether the events of a step are in the relation that it names.
fn in_relation(
    question: &Question<'_>,
    evaluator: &Evaluator<'_>,
    broken: &Broken,
    step: &Step,
) -> Result<(), String> {
    let (mut edge, mut name) = ((step.from, step.to), step.relation.as_str());
    if let Some(forward) = name.strip_suffix("^-1") {
        (edge, name) = ((edge.1, edge.0), forward);
    }
    let absent = || format!("{} is not in {}", step.from.0, step.relation);
    let given = match name {
        "rf" => Some(broken.execution.reads_from.contains(&edge)),
        "pf" => Some(broken.execution.polls_from.contains(&edge)),
        "po" => Some(in_program_order(question, edge)),
        _ => broken
            .execution
            .orders
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, pairs)| pairs.contains(&edge)),
    };
    let pair = (edge.0.0, edge.1.0);
    let there = match given {
        Some(given) => {
            given
                && evaluated(&question.model, evaluator, name).is_none_or(|all| all.contains(&pair))
        }
        None => evaluated(&question.model, evaluator, name)
            .ok_or_else(|| format!("no relation {name}"))?
            .contains(&pair),
    };
    if there { Ok(()) } else { Err(absent()) }
}

fn in_program_order(question: &Question<'_>, (from, to): (EventId, EventId)) -> bool {
    let thread = |event: EventId| question.skeleton.event(event).thread;
    from < to && thread(from).is_some() && thread(from) == thread(to)
}

/// The pairs of a relation by the name that steps use: a definition, a base relation, or a table's cell. A
/// model composed with libraries has its tables twice: over all events, and over its own.
fn evaluated(model: &Model, evaluator: &Evaluator<'_>, name: &str) -> Option<Pairs> {
    let (name, cell) = match name.split_once('[') {
        Some((table, cell)) => (table, cell.strip_suffix(']')?.split_once(", ")),
        None => (name, None),
    };
    let mut tables: Option<Pairs> = None;
    // A name means its last definition.
    for (definition, entry) in model.definitions.iter().enumerate().rev() {
        let pairs = |body| {
            let id = DefinitionId { definition, body };
            Some(evaluator.pairs(&Expr::Defined(id)))
        };
        match &entry.kind {
            DefinitionKind::Let { name: known, .. }
            | DefinitionKind::Choice { name: known, .. }
                if known == name =>
            {
                return pairs(0);
            }
            DefinitionKind::Rec(bodies) => {
                if let Some(body) = bodies.iter().position(|body| body.name == name) {
                    return pairs(body);
                }
            }
            DefinitionKind::Table(table) if table.name == name => {
                let found = match cell {
                    None => pairs(0).unwrap_or_default(),
                    Some((row, column)) => {
                        let is_it = |at: &(usize, usize)| {
                            table.rows[at.0].0 == row && table.columns[at.1].0 == column
                        };
                        let cells = evaluator.cells(table).into_iter();
                        cells.filter(|(_, at)| is_it(at)).map(|(pair, _)| pair).collect()
                    }
                };
                tables.get_or_insert_with(Pairs::new).extend(found);
            }
            _ => {}
        }
    }
    if tables.is_some() {
        return tables;
    }
    let base = Base::ALL.iter().find(|base| base.name() == name)?;
    Some(evaluator.pairs(&Expr::Base(*base)))
}
