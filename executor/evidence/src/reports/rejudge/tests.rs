//! What the report has of a program on a machine.

use std::collections::BTreeSet;

use lang::Test;
use lang::outcome::Outcome;
use model::verdict::excludes;

use super::super::data::{OutcomeKind, ProgramReport, ResultReport, Row, TestReport};
use super::super::statistics::{bar, rule_of_three};
use super::outcome_text;
use crate::judge::{Forbids, JudgedBy, Judgement};
use crate::observation::Observations;
use crate::record::{TestRecord, hash_text, state_to_json};

/// The program, without the number that it gets among all.
pub fn program_report(recorded: &TestRecord, test: &Test) -> ProgramReport {
    let folder = recorded.file.rsplit_once('/').map_or("", |(folder, _)| folder);
    let group = folder.rsplit('/').next().unwrap_or_default();
    ProgramReport {
        name: recorded.test.clone(),
        anchor: String::new(),
        title: test.title.clone(),
        source: test.source.clone(),
        file: recorded.file.clone(),
        group: if group.is_empty() { "tests".to_owned() } else { group.to_owned() },
        // The hash of the text, whatever the record says.
        hash: hash_text(&recorded.program),
        text: recorded.program.clone(),
        forbids: Forbids::Nothing,
    }
}

/// What a record has of a test, with the judgements.
pub fn test_report(
    run: usize,
    recorded: &TestRecord,
    test: &Test,
    by: &[JudgedBy],
    sc: Option<&BTreeSet<Outcome>>,
    seen: &Observations,
) -> TestReport {
    let mut results: Vec<(usize, ResultReport)> = Vec::new();
    for (index, one) in by.iter().enumerate() {
        let same = results.iter_mut().find(|(first, _)| {
            by[*first].judged == one.judged && by[*first].allowed.reason == one.allowed.reason
        });
        match same {
            Some((_, result)) => result.models.push(one.judge.identity.name.clone()),
            None => results.push((index, result_report(test, one, sc, seen.finished()))),
        }
    }
    let overall = by.iter().map(|one| one.judged.overall).max().unwrap_or(Judgement::Inconclusive);
    TestReport {
        run,
        program: 0,
        name: recorded.test.clone(),
        machine: recorded.machine.clone(),
        forbids: by.iter().map(|one| one.forbids).max().unwrap_or_default(),
        status: recorded.status,
        judgement: overall.into(),
        iterations: recorded.iterations,
        finished: seen.finished(),
        blocked: seen.blocked,
        assume_failed: seen.assume_failed,
        unfinished: seen.unfinished,
        seconds: recorded.seconds,
        notes: seen.notes.clone(),
        results: results.into_iter().map(|(_, result)| result).collect(),
        twin: None,
    }
}

fn result_report(
    test: &Test,
    by: &JudgedBy,
    sc: Option<&BTreeSet<Outcome>>,
    finished: u64,
) -> ResultReport {
    let row = |outcome: &Outcome, count: u64, judgement: Judgement| {
        let kind = match judgement {
            Judgement::Violation => OutcomeKind::Forbidden,
            Judgement::Inconclusive => OutcomeKind::Unknown,
            Judgement::Conforms | Judgement::Unseen => OutcomeKind::of_allowed(sc, outcome),
        };
        Row {
            outcome: outcome_text(test, outcome),
            state: state_to_json(test, &outcome.0),
            count,
            kind,
            judgement,
            against_file: count > 0
                && judgement != Judgement::Violation
                && excludes(test, &by.judge.identity.name, by.judge.is_own, outcome),
            bar: bar(count, finished),
            bound: if count == 0 { rule_of_three(finished) } else { None },
        }
    };
    let judged = by.judged.outcomes.iter();
    let mut rows: Vec<Row> =
        judged.map(|seen| row(&seen.outcome, seen.count, seen.judgement)).collect();
    rows.extend(by.judged.unseen.iter().map(|outcome| row(outcome, 0, Judgement::Unseen)));
    ResultReport {
        models: vec![by.judge.identity.name.clone()],
        judgement: by.judged.overall,
        reason: by.allowed.reason.clone(),
        rows,
    }
}
