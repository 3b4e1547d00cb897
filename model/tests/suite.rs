//! Every file of the suite, under every model that it names, by every engine: one named test each.
//!
//! The expected verdicts stand in the files. Beside them, each run checks that the witnesses pass the plain
//! evaluator, and that no condition is forbidden only because no execution could ever give its values.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use compiler::library::{Depth, inline};
use lang::Test;
use lang::limits::Limits;
use lang::outcome::{Claim, Condition, Expectation};
use lang::program::{Stmt, StmtKind};
use libtest_mimic::{Failed, Trial};
use model::allowed::{Allowed, Options, Question};
use model::bound::Complete;
use model::engine::Request;
use model::machine;
use model::smt::Found;
use model::smt::solver::SolverKind;
use model::{check, models, verdict};

/// More than enough for any file of the suite; a hang becomes a failure that names the test.
const TIME_LIMIT: Duration = Duration::from_secs(60);

/// One for each file, model that it names, and engine.
pub fn trials() -> Vec<Trial> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = Vec::new();
    // The suite, and the papers' figures as they are printed.
    for folder in ["litmus-suite", "lang/test_data/printed"].map(|folder| root.join(folder)) {
        let below = crate::files::below(&folder);
        assert!(!below.is_empty(), "no litmus files below {}", folder.display());
        files.extend(below);
    }
    files.sort();
    let mut trials = Vec::new();
    for file in files {
        let name = file.strip_prefix(&root).unwrap_or(&file).display().to_string();
        let text = std::fs::read_to_string(&file).expect("the suite is readable");
        let source = lang::source::Source::new(name.clone(), text);
        let (test, diagnostics) =
            lang::litmus::load_with(&source, model::library::shipped().words());
        let report: String =
            diagnostics.iter().map(|diagnostic| diagnostic.render(&source, false)).collect();
        let Some(test) = test else {
            trials.push(Trial::test(format!("suite::{name}::load"), move || {
                Err(Failed::from(report))
            }));
            continue;
        };
        let test = Arc::new(test);
        let engines = match model::sequential::is_called(&test, model::library::shipped()) {
            true => OF_OBJECTS,
            false => ENGINES,
        };
        for model in test.models.clone() {
            for engine in engines {
                // The models of networks have no machine, and what is not atomic in coreRMA has no
                // operational meaning: these trials are counted as ignored.
                let is_atomic = test.program.threads.iter().all(|thread| is_atomic(&thread.body));
                let is_ignored =
                    matches!(engine, Engine::Explore) && !(is_atomic && has_machine(&model));
                let (test, model) = (Arc::clone(&test), model.clone());
                let title = format!("suite::{name}::{model}::{}", engine.name());
                let trial = Trial::test(title, move || run(&test, &model, *engine));
                trials.push(trial.with_ignored_flag(is_ignored));
            }
        }
    }
    trials
}

/// Whether a shipped model names a machine; of other names, the trial says that there is no such model.
fn has_machine(model: &str) -> bool {
    let loaded = models::load_shipped(model).and_then(Result::ok);
    loaded.is_none_or(|loaded| loaded.model.machine.is_some())
}

/// Whether all accesses of statements of coreRMA are atomic.
fn is_atomic(body: &[Stmt]) -> bool {
    body.iter().all(|stmt| match &stmt.kind {
        StmtKind::Rma(rma) => rma.accesses.iter().all(|(_, atomic)| *atomic),
        StmtKind::If { then, otherwise, .. } => is_atomic(then) && is_atomic(otherwise),
        StmtKind::Loop(body) => is_atomic(body),
        _ => true,
    })
}

#[derive(Clone, Copy)]
enum Engine {
    Smt(SolverKind),
    Explore,
    Orders,
}

const ENGINES: &[Engine] =
    &[Engine::Smt(SolverKind::Batsat), Engine::Smt(SolverKind::Z3), Engine::Explore];

/// Sequential objects have no axioms: their calls are taken in all orders, and implementations explored.
const OF_OBJECTS: &[Engine] = &[Engine::Orders, Engine::Explore];

impl Engine {
    fn name(self) -> String {
        match self {
            Self::Smt(solver) => format!("smt-{}", solver.name()),
            Self::Explore => "explore".to_owned(),
            Self::Orders => "orders".to_owned(),
        }
    }
}

fn run(test: &Test, model: &str, engine: Engine) -> Result<(), Failed> {
    let loaded = models::load_shipped(model).ok_or(format!("no model `{model}`"))?;
    let model = loaded.map_err(|_| "the model does not load")?.model;
    let allowed = match engine {
        Engine::Smt(solver) => by_solver(test, &model, solver)?,
        Engine::Explore => by_exploration(test, &model)?,
        Engine::Orders => by_orders(test)?,
    };
    let is_inlined = matches!(engine, Engine::Explore)
        && !model::library::shipped().used(&test.program).is_empty();
    let claimed = match is_inlined {
        true => inline(test, model::library::shipped(), Depth::Full).unwrap_or(test.clone()),
        false => test.clone(),
    };
    let claims = verdict::check(&claimed, &model.name, false, &allowed);
    // An implementation need not show all that its specification allows, so ✓ claims nothing of it.
    if claims.is_empty() && !is_inlined {
        return Err(format!("expected a verdict about {}, found none", model.name).into());
    }
    for claim in claims {
        if claim.holds() != Some(true) {
            let (expected, found) = (claim.expected.name(), claim.verdict.name());
            let condition = claim.condition;
            return Err(format!("{condition}: expected {expected}, found {found}").into());
        }
    }
    match engine {
        Engine::Smt(SolverKind::Batsat) => asked_alone(test, &model, &allowed),
        _ => Ok(()),
    }
}

/// Verdicts that are asked for alone are those that follow from all outcomes, whatever the file claims.
fn asked_alone(
    test: &Test,
    model: &lang::cat::model::Model,
    allowed: &Allowed,
) -> Result<(), Failed> {
    let mut every = test.clone();
    every.expectations.retain(|one| !matches!(one.claim, Claim::Exactly { .. }));
    let claims = std::mem::take(&mut every.expectations);
    if claims.is_empty() {
        return Ok(()); // A file that only lists its outcomes has no verdict to ask for alone.
    }
    for one in claims {
        let (Claim::Allowed(condition) | Claim::Forbidden(condition) | Claim::Always(condition)) =
            one.claim.clone()
        else {
            continue;
        };
        let not = Condition::Not(Box::new(condition.clone()));
        let claims = [Claim::Allowed(condition.clone()), Claim::Always(condition)];
        for claim in claims.into_iter().chain([Claim::Forbidden(not)]) {
            every.expectations.push(Expectation { claim, ..one.clone() });
        }
    }
    let failed = |refused: model::asking::Refused| refused.text();
    let question = Question::of(&every, model).question().map_err(failed)?;
    let own = (model.name.as_str(), false);
    let asked = verdict::ask(&question, own, &Options::default()).map_err(failed)?;
    let known = verdict::Answered::of(&every, own, allowed);
    if asked == known { Ok(()) } else { Err(format!("{asked:?} is not {known:?}").into()) }
}

fn by_solver(
    test: &Test,
    model: &lang::cat::model::Model,
    solver: SolverKind,
) -> Result<Allowed, Failed> {
    let failed = |refused: model::asking::Refused| Failed::from(refused.text());
    let question = Question::of(test, model).question().map_err(failed)?;
    let mut options = Options { solver, ..Options::default() };
    options.limits = Limits::of_time(TIME_LIMIT);
    let (allowed, witnesses) = question.witnessed(&options).map_err(failed)?;
    if solver != SolverKind::default() {
        return Ok(allowed);
    }
    for witness in &witnesses {
        check::well_formed(&question.skeleton, &question.test.observables, witness)?;
        let broken = check::broken_axioms(&question.skeleton, &question.model, witness);
        if !broken.is_empty() {
            return Err(format!("a witness breaks {broken:?}").into());
        }
    }
    only_axioms_exclude(&question, &options, &allowed)?;
    let vacuous = vacuous_conditions(test, &question, &options)?;
    if !vacuous.is_empty() {
        return Err(format!("no candidate execution satisfies {vacuous:?}").into());
    }
    Ok(allowed)
}

/// What the solver came upon and the model forbids is of an execution without axioms.
fn only_axioms_exclude(
    question: &Question<'_>,
    options: &Options,
    allowed: &Allowed,
) -> Result<(), Failed> {
    let mut session =
        question.session(options, |_| false).map_err(|refused| Failed::from(refused.text()))?;
    for outcome in &allowed.excluded {
        let assumptions =
            session.covering(outcome).map(|covering| [covering, session.counted()].concat());
        let found = assumptions.map(|assumptions| session.find(&assumptions));
        if allowed.contains(outcome) || !matches!(found, Some(Found::Execution(_))) {
            return Err(format!("{outcome:?} is not excluded by axioms").into());
        }
    }
    Ok(())
}

/// Forbidden conditions that are so even without any axiom.
fn vacuous_conditions(
    test: &Test,
    question: &Question<'_>,
    options: &Options,
) -> Result<Vec<String>, Failed> {
    let mut session =
        question.session(options, |_| false).map_err(|refused| Failed::from(refused.text()))?;
    let mut waiting: Vec<_> = test.expectations.iter().collect();
    waiting.retain(|expectation| matches!(expectation.claim, Claim::Forbidden(_)));
    // Without axioms there can be very many candidates; most conditions are met by the first few.
    while !waiting.is_empty() {
        let within = session.counted();
        let Found::Execution(candidate) = session.find(&within) else { break };
        session.block(&candidate.outcome);
        waiting.retain(|expectation| {
            !matches!(&expectation.claim, Claim::Forbidden(c) if c.holds(&candidate.outcome))
        });
    }
    Ok(waiting.into_iter().map(|expectation| expectation.text.clone()).collect())
}

fn by_orders(test: &Test) -> Result<Allowed, Failed> {
    let request = Request { timeout: Some(TIME_LIMIT), ..Request::default() };
    let found = model::sequential::ask(test, &request);
    found.map(|found| found.allowed).map_err(|refusal| Failed::from(refusal.message()))
}

fn by_exploration(test: &Test, model: &lang::cat::model::Model) -> Result<Allowed, Failed> {
    // Specifications of libraries have no machine; their implementations show nothing else.
    let libraries = model::library::shipped();
    let inlined = inline(test, libraries, Depth::Full);
    let inlined = inlined.map_err(|errors| Failed::from(errors[0].message.clone()))?;
    let test = &inlined;
    let variant = model.machine.as_deref().and_then(machine::Variant::from_name);
    let variant = variant.ok_or("the model names no machine")?;
    let until = Limits::of_time(TIME_LIMIT);
    let limits = machine::Limits { until, ..machine::Limits::default() };
    let exploration = machine::explore(test, variant, limits)
        .map_err(|error| Failed::from(format!("{error:?}")))?;
    Ok(Allowed {
        complete: Complete::explored(&exploration),
        outcomes: exploration.outcomes,
        reason: exploration.reason,
        ..Allowed::default()
    })
}
