//! What was seen and is forbidden, and why.

use std::collections::BTreeMap;

use lang::outcome::Outcome;
use model::allowed::Question;
use model::explain::{Reason, explain};
use rayon::prelude::*;

use super::data::{CycleStep, Finding};
use super::judging::{By, Judged, JudgedRecord, outcome_text, wanted};
use super::setup::command;
use super::statistics::rate;
use super::{Request, Source};
use crate::judge::Judgement;
use crate::record::state_to_json;

/// How many findings are explained; the smallest programs first.
const EXPLAINED: usize = 200;
/// How many get a picture.
const PICTURES: usize = 60;

/// A finding, and what it was found in.
pub struct Found {
    /// As the report has it.
    pub finding: Finding,
    /// Index into the judged tests.
    pub test: usize,
    /// The model that explains, by index into the test's judgements.
    pub by: usize,
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
                by: forbidding[0],
                outcome: outcome.clone(),
            });
        }
    }
    found.sort_by_key(|found| (judged.tests[found.test].size, found.test, found.outcome.clone()));
    found.par_iter_mut().enumerate().take(EXPLAINED).for_each(|(number, found)| {
        let test = &judged.tests[found.test];
        add_explanation(found, test, &test.by[found.by], number < PICTURES, request);
    });
    found
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

fn add_explanation(
    found: &mut Found,
    test: &JudgedRecord,
    by: &By,
    has_picture: bool,
    request: &Request<'_>,
) {
    let options = (request.options)();
    let Ok(question) =
        Question::new(&test.test, &by.judge.model, model::library::shipped(), options.loop_bound)
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
        Reason::NoCandidate => {
            finding.why = "no execution of the program gives these values, whatever the memory model: a value came from nowhere, or an atomic operation was not one".to_owned();
        }
        Reason::Misused(misuse) => finding.why.clone_from(&misuse.message),
        Reason::Witness(_) | Reason::Unknown => return,
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
    if has_picture {
        finding.picture = explanation.svg_for_page(&test.source);
    }
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

/// A word for a shell.
pub fn quote(text: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "+-_./@:".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::quote;

    #[test]
    fn words_for_a_shell() {
        assert_eq!(quote("suite/SB+x.litmus"), "suite/SB+x.litmus");
        assert_eq!(quote("a b"), "'a b'");
        assert_eq!(quote("it's"), "'it'\\''s'");
        assert_eq!(quote("a=1,b=0"), "'a=1,b=0'");
    }
}
