//! What was seen and is forbidden, and why.

use std::collections::{BTreeMap, HashMap, HashSet};

use lang::outcome::{Asked, Outcome};
use model::allowed::Question;
use model::explain::{EndWords, Reason, StepWords, explain};
use model::sequential;
use rayon::prelude::*;

use super::compare::{KnownViolation, identity};
use super::data::{CycleEnd, CycleStep, Finding, Nature};
use super::rejudge::{Judged, JudgedRecord, outcome_text};
use super::statistics::rate;
use super::variants::search::allows;
use super::{Request, Source};
use crate::judge::{JudgedBy, is_impossible};
use crate::record::state_to_json;

/// How many findings are explained: one of each program first, the smallest programs first.
const EXPLAINED: usize = 60;

/// A finding, and where it was found.
pub struct FoundViolation {
    /// As the report has it.
    pub finding: Finding,
    /// Index into the judged tests.
    pub test: usize,
    /// The models that forbid it, by index into the test's judgements; the first one explains.
    pub by: Vec<usize>,
    /// The outcome.
    pub outcome: Outcome,
    /// Whether a limit kept the search for what is lost from knowing all answers.
    pub is_undecided: bool,
}

/// Every forbidden outcome that was seen: one entry for all models that forbid it.
pub fn findings(
    sources: &[Source],
    judged: &Judged,
    known: &HashSet<KnownViolation>,
    request: &Request<'_>,
) -> Vec<FoundViolation> {
    let mut found: Vec<FoundViolation> = Vec::new();
    for (index, test) in judged.tests.iter().enumerate() {
        let mut outcomes: BTreeMap<&Outcome, Vec<usize>> = BTreeMap::new();
        for (by, one) in test.by.iter().enumerate() {
            for seen in one.judged.violations() {
                outcomes.entry(&seen.outcome).or_default().push(by);
            }
        }
        for (outcome, forbidding) in outcomes {
            let mut finding = finding((sources, request), index, test, outcome, &forbidding);
            finding.is_known = known.contains(&identity(test, finding.outcome.clone()));
            found.push(FoundViolation {
                finding,
                test: index,
                by: forbidding,
                outcome: outcome.clone(),
                is_undecided: false,
            });
        }
    }
    found.sort_by_key(|found| (judged.tests[found.test].size, found.test, found.outcome.clone()));
    let natures: Vec<Nature> =
        found.par_iter().map(|one| nature(one, &judged.tests[one.test], request)).collect();
    for (one, nature) in found.iter_mut().zip(natures) {
        one.finding.nature = nature;
    }
    explain_first(judged, &mut found, request);
    found
}

/// What kind of violation it is. Programs are those that machines ran: with implementations for library
/// calls.
fn nature(found: &FoundViolation, test: &JudgedRecord, request: &Request<'_>) -> Nature {
    let by = &test.by[found.by[0]];
    let options = (request.options)();
    let runnable = test.runnable();
    let question = Question::of(runnable, &by.judge.model)
        .libraries(&test.libraries)
        .options(&options)
        .question();
    if question.is_ok_and(|question| is_impossible(&question, &options, &found.outcome)) {
        return Nature::Impossible;
    }
    let is_of_library = test.inlined.is_some()
        && allows(&by.judge.model, test, &found.outcome, request) == Some(true);
    if is_of_library { Nature::Library } else { Nature::Weaker }
}

/// Explains the first ones, one of each program before the others. Those that show the same outcome of the
/// same program share an explanation; a program has one picture.
fn explain_first(judged: &Judged, found: &mut [FoundViolation], request: &Request<'_>) {
    let mut programs = HashSet::new();
    let is_first: Vec<bool> =
        found.iter().map(|one| programs.insert((one.finding.run, one.finding.program))).collect();
    let mut order: Vec<usize> = (0..found.len()).collect();
    order.sort_by_key(|index| !is_first[*index]);
    order.truncate(EXPLAINED);
    let mut known: HashMap<(&str, &str, &Outcome), usize> = HashMap::new();
    let same: Vec<usize> = order
        .iter()
        .map(|index| {
            let found = &found[*index];
            let test = &judged.tests[found.test];
            // Places in statements are those of the text, comments and all.
            let program = test.program.text.split_once('\n').map_or("", |(_, rest)| rest);
            let model = test.by[found.by[0]].judge.identity.hash.as_str();
            *known.entry((program, model, &found.outcome)).or_insert(*index)
        })
        .collect();
    let explained: HashMap<usize, Explained> = order
        .par_iter()
        .zip(&same)
        .filter(|(index, same)| index == same)
        .filter_map(|(index, _)| {
            let one = &found[*index];
            let test = &judged.tests[one.test];
            Some((*index, explained(one, test, &test.by[one.by[0]], request)?))
        })
        .collect();
    for (index, same) in order.iter().zip(&same) {
        let Some(explained) = explained.get(same) else { continue };
        let finding = &mut found[*index].finding;
        let Explained { axiom, says, why, steps, end, picture } = explained.clone();
        (finding.axiom, finding.says, finding.why) = (axiom, says, why);
        (finding.steps, finding.end) = (steps, end);
        finding.picture = picture.filter(|_| is_first[*index]);
    }
}

fn finding(
    (sources, request): (&[Source], &Request<'_>),
    index: usize,
    test: &JudgedRecord,
    outcome: &Outcome,
    forbidding: &[usize],
) -> Finding {
    let report = &test.report;
    let count = test.seen.outcomes.get(outcome).copied().unwrap_or_default();
    let finished = test.seen.finished();
    let models: Vec<String> =
        forbidding.iter().map(|by| test.by[*by].judge.identity.name.clone()).collect();
    let argument = &test.by[forbidding[0]].judge.argument;
    let compact = outcome_text(&test.test, outcome).replace(", ", ",");
    let (file, shell) = (&test.program.file, request.shell);
    Finding {
        index,
        run: report.run,
        program: report.program,
        test: report.name.clone(),
        machine: report.machine.clone(),
        file: file.clone(),
        models,
        outcome: outcome_text(&test.test, outcome),
        state: state_to_json(&test.test, &outcome.0),
        count,
        finished,
        rate: rate(count, finished),
        first: test.seen.places.get(outcome).and_then(|places| places.iter().min().copied()),
        is_known: false,
        nature: Nature::Weaker,
        cause: 0,
        axiom: None,
        says: None,
        why: "not explained here, for lack of room; the command says why".to_owned(),
        steps: Vec::new(),
        end: None,
        lost: Vec::new(),
        picture: None,
        explain: shell.explain(&sources[report.run].record.header, file, argument, &compact),
        reproduce: shell.run(&sources[report.run].record.header, file, argument),
        smallest: None,
    }
}

/// Why an outcome is forbidden.
#[derive(Clone)]
struct Explained {
    axiom: Option<String>,
    says: Option<String>,
    why: String,
    steps: Vec<CycleStep>,
    end: Option<CycleEnd>,
    picture: Option<String>,
}

fn explained(
    found: &FoundViolation,
    test: &JudgedRecord,
    by: &JudgedBy,
    request: &Request<'_>,
) -> Option<Explained> {
    let options = (request.options)();
    if sequential::is_called(&test.test, &test.libraries) {
        let why =
            "No order of the calls, each at once, gives these results (all were tried).".to_owned();
        let (axiom, says, steps, end, picture) = Default::default();
        return Some(Explained { axiom, says, why, steps, end, picture });
    }
    let question = Question::of(&test.test, &by.judge.model)
        .libraries(&test.libraries)
        .options(&options)
        .question()
        .ok()?;
    let asked = Asked::outcome(&question.test.observables, &found.outcome);
    let explanation = explain(&question, &options, &asked).ok()?;
    // All that is allowed may be known from exploring.
    let explanation = explanation.knowing(&options, &by.allowed).ok()?;
    let model = &by.judge.identity.name;
    let chain = explanation.chain(&test.source);
    let (axiom, why) = match &explanation.reason {
        Reason::Broken(broken) => {
            let axiom = &broken.axiom;
            let shape = chain.as_ref().map(|chain| format!(", by {}", chain.shape.words()));
            let shape = shape.unwrap_or_default();
            let why = format!(
                "{model} has no consistent execution with this outcome (proved). The nearest one breaks the axiom {axiom}{shape}."
            );
            (Some(axiom.clone()), why)
        }
        Reason::NoCandidate(_) => {
            let why = "No execution of the program gives these values, whatever the memory model: a value came from nowhere, or an atomic operation was not one.";
            (None, why.to_owned())
        }
        Reason::NothingEnds(_) => {
            let why = explanation.why_nothing();
            (None, format!("Under {model}, {why}: every outcome is outside of it."))
        }
        Reason::Misused(misuse) => (None, misuse.message.clone()),
        Reason::Proved(_) => {
            (None, format!("{model} has no consistent execution with this outcome (proved)."))
        }
        Reason::Unknown(bound) => (None, format!("Not explained: {bound}.")),
        Reason::Witness(_) => return None,
    };
    let picture = explanation.svg_for_page(&test.source);
    let Some(chain) = chain else {
        let (says, steps, end) = (None, Vec::new(), None);
        return Some(Explained { axiom, says, why, steps, end, picture });
    };
    let step = |step: StepWords| CycleStep {
        event: step.event,
        action: step.action,
        statement: step.statement,
        relation: step.relation,
        because: step.because,
    };
    let EndWords { event, action, statement, ending } = chain.end;
    let end = Some(CycleEnd { event, action, statement, words: ending });
    let steps = chain.steps.into_iter().map(step).collect();
    Some(Explained { axiom, says: chain.says, why, steps, end, picture })
}

/// For each finding, the smallest test that shows the same loss. Findings are sorted by size already.
pub fn smallest(judged: &Judged, found: &mut [FoundViolation]) {
    let mut first: BTreeMap<Vec<String>, usize> = BTreeMap::new();
    for one in found.iter_mut() {
        let lost: Vec<String> = one.finding.lost.iter().map(|lost| lost.name.clone()).collect();
        if lost.is_empty() {
            continue;
        }
        let test = *first.entry(lost).or_insert(one.test);
        let smallest = &judged.tests[test].report;
        if smallest.name != one.finding.test {
            one.finding.smallest = Some(smallest.name.clone());
        }
    }
}
