//! What was seen and is forbidden, and why.

use std::collections::{BTreeMap, HashMap};

use lang::outcome::Outcome;
use model::allowed::Question;
use model::explain::{Reason, explain};
use rayon::prelude::*;

use super::commands::{command, quote};
use super::data::{CycleStep, Finding};
use super::judging::{By, Judged, JudgedRecord, outcome_text, wanted};
use super::statistics::rate;
use super::{Request, Source};
use crate::judge::Judgement;
use crate::record::state_to_json;

/// How many findings are explained and drawn; the smallest programs first. Pages show as many in full.
const EXPLAINED: usize = 60;

/// A finding, and what it was found in.
pub struct Found {
    /// As the report has it.
    pub finding: Finding,
    /// Index into the judged tests.
    pub test: usize,
    /// The models that forbid it, by index into the test's judgements; the first one explains.
    pub by: Vec<usize>,
    /// The outcome.
    pub outcome: Outcome,
}

/// Every forbidden outcome that was seen: one entry for all models that forbid it.
pub fn findings(sources: &[Source], judged: &Judged, request: &Request<'_>) -> Vec<Found> {
    let mut found: Vec<Found> = Vec::new();
    for (index, test) in judged.tests.iter().enumerate() {
        let mut outcomes: BTreeMap<&Outcome, Vec<usize>> = BTreeMap::new();
        for (by, one) in test.by.iter().enumerate() {
            for seen in &one.judged.outcomes {
                if seen.judgement == Judgement::Violation {
                    outcomes.entry(&seen.outcome).or_default().push(by);
                }
            }
        }
        for (outcome, forbidding) in outcomes {
            found.push(Found {
                finding: finding(sources, index, test, outcome, &forbidding),
                test: index,
                by: forbidding,
                outcome: outcome.clone(),
            });
        }
    }
    found.sort_by_key(|found| (judged.tests[found.test].size, found.test, found.outcome.clone()));
    explain_first(judged, &mut found, request);
    found
}

/// Explains the first ones. Those that show the same outcome of the same program share an explanation.
fn explain_first(judged: &Judged, found: &mut [Found], request: &Request<'_>) {
    let explained = found.len().min(EXPLAINED);
    let first = &mut found[..explained];
    let mut known: HashMap<(&str, &str, Outcome), usize> = HashMap::new();
    let same: Vec<usize> = first
        .iter()
        .enumerate()
        .map(|(index, found)| {
            let test = &judged.tests[found.test];
            // Places in statements are those of the text, comments and all.
            let program = test.report.program.split_once('\n').map_or("", |(_, rest)| rest);
            let model = test.by[found.by[0]].judge.identity.hash.as_str();
            *known.entry((program, model, found.outcome.clone())).or_insert(index)
        })
        .collect();
    first.par_iter_mut().enumerate().filter(|(index, _)| same[*index] == *index).for_each(
        |(_, found)| {
            let test = &judged.tests[found.test];
            add_explanation(found, test, &test.by[found.by[0]], request);
        },
    );
    for index in 0..explained {
        if same[index] != index {
            let of = first[same[index]].finding.clone();
            let finding = &mut first[index].finding;
            (finding.axiom, finding.why, finding.steps) = (of.axiom, of.why, of.steps);
            finding.picture = of.picture;
        }
    }
}

fn finding(
    sources: &[Source],
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
    let explain = format!(
        "litmus explain {} --model {} --outcome {}",
        quote(&report.file),
        quote(argument),
        quote(&compact)
    );
    Finding {
        index,
        test: report.name.clone(),
        file: report.file.clone(),
        models,
        outcome: outcome_text(&test.test, outcome),
        state: state_to_json(&test.test, &outcome.0),
        count,
        finished,
        rate: rate(count, finished),
        first: test.seen.places.get(outcome).and_then(|places| places.iter().min().copied()),
        axiom: None,
        why: "not explained here, for lack of room; the command says why".to_owned(),
        steps: Vec::new(),
        lost: Vec::new(),
        picture: None,
        explain,
        reproduce: command(&sources[report.run].record.header, &[&report.file], Some(argument)),
        smallest: None,
    }
}

fn add_explanation(found: &mut Found, test: &JudgedRecord, by: &By, request: &Request<'_>) {
    let options = (request.options)();
    let Ok(question) =
        Question::new(&test.test, &by.judge.model, test.libraries, options.loop_bound)
    else {
        return;
    };
    let Ok(explanation) = explain(&question, &options, &wanted(&found.outcome)) else { return };
    let model = &by.judge.identity.name;
    let finding = &mut found.finding;
    match &explanation.reason {
        Reason::Broken(broken) => {
            finding.axiom = Some(broken.axiom.clone());
            finding.why = format!(
                "{model} has no consistent execution with this outcome (proved). The nearest one breaks the axiom {}.",
                broken.axiom
            );
        }
        Reason::NoCandidate(_) => {
            finding.why = "no execution of the program gives these values, whatever the memory model: a value came from nowhere, or an atomic operation was not one".to_owned();
        }
        Reason::Misused(misuse) => finding.why.clone_from(&misuse.message),
        Reason::Proved(_) => {
            finding.why =
                format!("{model} has no consistent execution with this outcome (proved).");
        }
        Reason::Witness(_) | Reason::Unknown(_) => return,
    }
    let chain = explanation.chain(&test.source);
    let steps = chain.map(|chain| chain.steps).unwrap_or_default().into_iter();
    finding.steps = steps
        .map(|step| CycleStep {
            event: step.event,
            action: step.action,
            statement: step.statement,
            relation: step.relation,
            because: step.because,
        })
        .collect();
    finding.picture = explanation.svg_for_page(&test.source);
}

/// For each finding, the smallest test that shows the same loss. Findings are sorted by size already.
pub fn smallest(judged: &Judged, found: &mut [Found]) {
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
