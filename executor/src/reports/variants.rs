//! The nearest model that would allow what was seen: what the machine behaves as if it did not keep.
//!
//! A search over the parts of a model that can be left out: cells of its tables, orders, parts of unions, axioms. The
//! fewest that explain every violation are taken, of these the ones that allow least that was not seen.

use std::collections::{BTreeMap, BTreeSet};

use lang::cat::model::Model;
use lang::outcome::Outcome;
use model::allowed::Question;
use model::changes::{self, Change};
use model::smt::Found as Answer;
use rayon::prelude::*;

use super::data::{Lost, Variant};
use super::findings::Found;
use super::judging::{Judged, JudgedRecord};
use super::{Request, words};

/// How many things may be left out together.
const MOST: usize = 4;
/// How many violations the search looks at; the others only check what was found.
const LOOKED_AT: usize = 24;
/// How many candidates are compared by what else they allow, and on how many tests.
const COMPARED: (usize, usize) = (12, 40);

/// A violation of a model.
struct Case<'a> {
    test: &'a JudgedRecord,
    outcome: &'a Outcome,
    found: usize,
}

/// For each model with violations, the nearest variant. Tells each finding what its loss is.
pub fn variants(judged: &Judged, found: &mut [Found], request: &Request<'_>) -> Vec<Variant> {
    let mut by_model: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (index, one) in found.iter().enumerate() {
        let by = &judged.tests[one.test].by[one.by];
        by_model.entry(by.judge.identity.name.clone()).or_default().push(index);
    }
    let mut variants = Vec::new();
    for (name, indices) in by_model {
        let one = &found[indices[0]];
        let judge = &judged.tests[one.test].by[one.by].judge;
        let (variant, lost) = {
            let cases: Vec<Case<'_>> = indices
                .iter()
                .map(|index| {
                    let one = &found[*index];
                    Case { test: &judged.tests[one.test], outcome: &one.outcome, found: *index }
                })
                .collect();
            search(&name, &judge.model, &cases, judged, request)
        };
        for (index, lost) in lost {
            found[index].finding.lost = lost;
        }
        variants.push(variant);
    }
    variants
}

/// Whether a model has a consistent execution with an outcome; unknown counts as no.
fn allows(model: &Model, test: &JudgedRecord, outcome: &Outcome, request: &Request<'_>) -> bool {
    let options = (request.options)();
    let Ok(question) = Question::new(&test.test, model, options.loop_bound) else { return false };
    let Ok(mut session) = question.session(&options, |_| true) else { return false };
    let numbers: Option<Vec<(usize, u64)>> = outcome
        .0
        .iter()
        .enumerate()
        .map(|(index, value)| match value {
            lang::outcome::Value::Int(value) => Some((index, *value)),
            _ => None,
        })
        .collect();
    let Some(mut assumptions) = numbers.and_then(|numbers| session.showing(&numbers)) else {
        return false;
    };
    assumptions.extend(session.within_bound());
    matches!(session.find(&assumptions), Answer::Execution(_))
}

/// What is dropped first if it explains as much: cells, then orders, then parts, then whole axioms.
fn cost(change: &Change, model: &Model) -> usize {
    match &change.cell {
        Some(cell) => cell.tables.len(),
        None if model.axioms.iter().any(|axiom| axiom.name == change.subject()) => 40,
        None if change.name.starts_with("part ") => 8,
        None => 4,
    }
}

fn lost(change: &Change, model: &Model) -> Lost {
    let subject = change.subject();
    // A cell of several tables: named by all of them.
    let name = match (&change.cell, subject.starts_with('[')) {
        (Some(cell), true) => {
            let table = |index: &usize| match &model.definitions[*index].kind {
                lang::cat::model::DefinitionKind::Table(table) => table.name.clone(),
                _ => String::new(),
            };
            let tables: Vec<String> = cell.tables.iter().map(table).collect();
            format!("{}{subject}", tables.join("+"))
        }
        _ => subject.to_owned(),
    };
    Lost { meaning: words::lost(&name), name }
}

fn search(
    name: &str,
    model: &Model,
    cases: &[Case<'_>],
    judged: &Judged,
    request: &Request<'_>,
) -> (Variant, Vec<(usize, Vec<Lost>)>) {
    let candidates: Vec<Change> =
        changes::of(model).into_iter().filter(|change| change.allows_more).collect();
    let looked_at = &cases[..cases.len().min(LOOKED_AT)];
    // Which candidates alone explain which violation.
    let explains: Vec<BTreeSet<usize>> = looked_at
        .par_iter()
        .map(|case| {
            let all = candidates.iter().enumerate();
            let some = all.filter(|(_, one)| allows(&one.model, case.test, case.outcome, request));
            some.map(|(index, _)| index).collect()
        })
        .collect();
    let chosen = cover(&explains, &candidates, model, name, judged, request);
    let mut dropped: Vec<usize> = chosen.iter().map(|(index, _)| *index).collect();
    let variant_model = without(model, &candidates, &dropped);
    let allows_all = !dropped.is_empty()
        && cases.par_iter().all(|case| allows(&variant_model, case.test, case.outcome, request));
    dropped.sort_unstable();
    let words: Vec<Lost> = dropped.iter().map(|index| lost(&candidates[*index], model)).collect();
    let alternatives = chosen.iter().flat_map(|(_, others)| others);
    let alternatives = alternatives.map(|index| lost(&candidates[*index], model).name).collect();
    let each = looked_at.iter().zip(&explains).map(|(case, explains)| {
        let mine: Vec<Lost> = dropped
            .iter()
            .filter(|index| explains.contains(index))
            .map(|index| lost(&candidates[*index], model))
            .collect();
        (case.found, mine)
    });
    let mut each: Vec<(usize, Vec<Lost>)> = each.collect();
    // Violations that were not looked at: tested against each thing that is dropped.
    for case in &cases[looked_at.len()..] {
        let mine = dropped
            .iter()
            .filter(|index| allows(&candidates[**index].model, case.test, case.outcome, request));
        let mine = mine.map(|index| lost(&candidates[*index], model)).collect();
        each.push((case.found, mine));
    }
    let line = line(name, &words, allows_all);
    (Variant { model: name.to_owned(), dropped: words, allows_all, line, alternatives }, each)
}

fn line(model: &str, dropped: &[Lost], allows_all: bool) -> String {
    let names: Vec<&str> = dropped.iter().map(|lost| lost.name.as_str()).collect();
    match (dropped.is_empty(), allows_all) {
        (true, _) => {
            format!("no variant of {model} with up to {MOST} orders left out allows what was seen")
        }
        (false, true) => format!(
            "the machine behaves as if {model} did not have {}: without, it allows everything that was seen",
            names.join(" and ")
        ),
        (false, false) => format!(
            "without {}, {model} allows some of the violations and not all",
            names.join(" and ")
        ),
    }
}

/// A model without several things. Cells can be left out together; of other things only the first is, since
/// each is a model of its own.
fn without(model: &Model, candidates: &[Change], dropped: &[usize]) -> Model {
    let whole = dropped.iter().find(|index| candidates[**index].cell.is_none());
    let mut variant = whole.map_or_else(|| model.clone(), |index| candidates[*index].model.clone());
    for index in dropped {
        candidates[*index].cell_dropped_from(&mut variant);
    }
    variant
}

/// The fewest candidates such that each violation is explained by one, found greedily; with each, those that
/// would have done as well.
fn cover(
    explains: &[BTreeSet<usize>],
    candidates: &[Change],
    model: &Model,
    name: &str,
    judged: &Judged,
    request: &Request<'_>,
) -> Vec<(usize, Vec<usize>)> {
    let mut open: Vec<usize> =
        (0..explains.len()).filter(|case| !explains[*case].is_empty()).collect();
    let mut chosen = Vec::new();
    while !open.is_empty() && chosen.len() < MOST {
        let count =
            |index: usize| open.iter().filter(|case| explains[**case].contains(&index)).count();
        let most = (0..candidates.len()).map(count).max().unwrap_or(0);
        let mut best: Vec<usize> =
            (0..candidates.len()).filter(|index| count(*index) == most).collect();
        best.sort_by_key(|index| (cost(&candidates[*index], model), *index));
        best.truncate(COMPARED.0);
        let extra: Vec<usize> = best
            .par_iter()
            .map(|index| extra(&candidates[*index].model, name, judged, request))
            .collect();
        let mut ranked: Vec<(usize, usize, usize)> = best
            .iter()
            .zip(&extra)
            .map(|(index, extra)| (*extra, cost(&candidates[*index], model), *index))
            .collect();
        ranked.sort_unstable();
        let (least, _, index) = ranked[0];
        let others =
            ranked[1..].iter().filter(|(extra, _, _)| *extra == least).map(|(_, _, other)| *other);
        chosen.push((index, others.collect()));
        open.retain(|case| !explains[*case].contains(&index));
    }
    chosen
}

/// In how many tests a variant allows something that neither the model allows nor the machine showed.
fn extra(variant: &Model, name: &str, judged: &Judged, request: &Request<'_>) -> usize {
    let mut tests: Vec<&JudgedRecord> = judged.tests.iter().collect();
    tests.sort_by_key(|test| test.size);
    let tests = tests.into_iter().filter_map(|test| {
        let by = test.by.iter().find(|by| by.judge.identity.name == name)?;
        Some((test, by.allowed.as_ref()?))
    });
    tests
        .take(COMPARED.1)
        .filter(|(test, allowed)| {
            let options = (request.options)();
            let Ok(question) = Question::new(&test.test, variant, options.loop_bound) else {
                return false;
            };
            let Ok(mut session) = question.session(&options, |_| true) else { return false };
            allowed
                .outcomes
                .iter()
                .chain(test.seen.outcomes.keys())
                .for_each(|one| session.block(one));
            let within = session.within_bound();
            matches!(session.find(&within), Answer::Execution(_))
        })
        .count()
}
