//! The nearest model that would allow what was seen: what the machine behaves as if it did not keep.
//!
//! A search over the parts of a model that can be left out: cells of its tables, orders, parts of unions,
//! axioms. The fewest that explain the most violations are taken, of these the ones that allow least that was
//! not seen. Programs are those that machines ran: with implementations for library calls. What no model
//! explains is not looked at.

pub mod search;
mod tier;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use lang::cat::model::Model;
use lang::outcome::Outcome;
use model::changes::{CellOf, Change, Subject};
use rayon::prelude::*;

use super::Request;
use super::data::{Diagnosis, Lost, Nature, Without};
use super::findings::FoundViolation;
use super::rejudge::Judged;
use super::verdict::counted;
use search::{Case, Search};

/// How many violations an answer is checked with. More say nothing new, and take time.
const CHECKED: usize = 500;
/// How many violations that are not explained are named.
const NAMED: usize = 3;

/// What was found for a model.
struct Variant {
    model: String,
    dropped: Vec<Lost>,
    alternatives: Vec<String>,
    /// Violations that the search was about.
    about: BTreeSet<usize>,
    /// Those that the variant allows.
    explained: BTreeSet<usize>,
    /// Whether a limit kept some answer of the search from being known.
    is_undecided: bool,
}

/// For each record and model with violations, the nearest variant; models that lose the same share a
/// diagnosis. Tells each finding what its loss is.
pub fn diagnoses(
    judged: &Judged,
    found: &mut [FoundViolation],
    request: &Request<'_>,
) -> Vec<Diagnosis> {
    let mut by_model: BTreeMap<(usize, String), Vec<(usize, usize)>> = BTreeMap::new();
    for (index, one) in found.iter().enumerate() {
        if one.finding.nature != Nature::Weaker {
            continue;
        }
        // Each model that forbids it has to be explained with it, however many others forbid it as well.
        for by in &one.by {
            let name = judged.tests[one.test].by[*by].judge.identity.name.clone();
            by_model.entry((one.finding.run, name)).or_default().push((index, *by));
        }
    }
    let mut boxes: Vec<(usize, Vec<Variant>)> = Vec::new();
    for ((run, name), violations) in by_model {
        let variant = of_model((run, &name), &violations, judged, found, request);
        let is_same = |other: &Variant| words_of(other) == words_of(&variant);
        match boxes.iter_mut().find(|(of, variants)| *of == run && is_same(&variants[0])) {
            Some((_, variants)) => variants.push(variant),
            None => boxes.push((run, vec![variant])),
        }
    }
    boxes.iter().map(|(run, variants)| diagnosis(*run, variants, found)).collect()
}

/// What is lost, in words that all models share.
fn words_of(variant: &Variant) -> BTreeSet<&str> {
    variant.dropped.iter().map(|lost| lost.meaning.as_str()).collect()
}

fn of_model(
    (run, name): (usize, &str),
    violations: &[(usize, usize)],
    judged: &Judged,
    found: &mut [FoundViolation],
    request: &Request<'_>,
) -> Variant {
    let (first, by) = violations[0];
    let judge = &judged.tests[found[first].test].by[by].judge;
    let outcomes: Vec<Outcome> =
        violations.iter().map(|(index, _)| found[*index].outcome.clone()).collect();
    let mut cases: Vec<Case<'_>> = Vec::new();
    let mut known: HashMap<(&str, &Outcome), usize> = HashMap::new();
    for ((index, _), outcome) in violations.iter().zip(&outcomes) {
        let test = &judged.tests[found[*index].test];
        let case = *known.entry((&test.body, outcome)).or_insert_with(|| {
            cases.push(Case { test, outcome, found: Vec::new() });
            cases.len() - 1
        });
        cases[case].found.push(*index);
    }
    cases.truncate(CHECKED);
    let search = Search::new((name, &judge.model), run, judged, request);
    let answer = search.run(&cases);
    let variant = search.without(&answer.dropped);
    let all = |cases: &[Case<'_>]| cases.iter().flat_map(|case| case.found.clone()).collect();
    let losses: Vec<Option<Vec<usize>>> = cases
        .par_iter()
        .map(|case| {
            let is_explained = !answer.dropped.is_empty() && search.allows(&variant, case);
            let explains = |index: &&usize| search.allows(&search.candidates[**index].model, case);
            let alone: Vec<usize> = answer.dropped.iter().filter(explains).copied().collect();
            if is_explained && alone.is_empty() {
                // It takes several together.
                let mut together = answer.dropped.clone();
                search.keep_needed(&mut together, &[case]);
                return Some(together);
            }
            is_explained.then_some(alone)
        })
        .collect();
    let lost = |index: &usize| lost(&search.candidates[*index], &judge.model);
    let mut explained = BTreeSet::new();
    for index in cases.iter().flat_map(|case| &case.found) {
        found[*index].is_undecided |= search.is_undecided();
    }
    for (case, loss) in cases.iter().zip(losses) {
        let Some(loss) = loss else { continue };
        for index in &case.found {
            explained.insert(*index);
            let one = &mut found[*index];
            // The model that explains a violation says what its loss is, if it can.
            let explaining = &judged.tests[one.test].by[one.by[0]].judge.identity.name;
            if explaining == name || one.finding.lost.is_empty() {
                one.finding.lost = loss.iter().map(lost).collect();
            }
        }
    }
    Variant {
        model: name.to_owned(),
        dropped: answer.dropped.iter().map(lost).collect(),
        alternatives: answer.others.iter().map(|index| lost(index).name).collect(),
        about: all(&cases),
        explained,
        is_undecided: search.is_undecided(),
    }
}

/// A cell as reports name it: by all tables that it is of.
pub fn name_of(cell: &CellOf) -> String {
    format!("{}[{}, {}]", cell.names().join("+"), cell.row, cell.column)
}

/// What a change takes away of a model, as reports name it.
fn lost(change: &Change, model: &Model) -> Lost {
    let name = match (&change.subject, change.part()) {
        (Subject::Cell(cell), _) => name_of(cell),
        (Subject::Part(of, _), Some(part)) => format!("{part} in {of}"),
        _ => change.lost().to_owned(),
    };
    Lost { meaning: change.meaning(model), name }
}

/// One box for models that lose the same. Outcomes are counted once for each program.
fn diagnosis(run: usize, variants: &[Variant], found: &[FoundViolation]) -> Diagnosis {
    let outcome = |index: &usize| {
        let finding = &found[*index].finding;
        (finding.program, finding.outcome.as_str())
    };
    let outcomes = |indices: &BTreeSet<usize>| -> BTreeSet<(usize, &str)> {
        indices.iter().map(outcome).collect()
    };
    let about: BTreeSet<usize> =
        variants.iter().flat_map(|variant| variant.about.iter().copied()).collect();
    // What one of the models does not explain, they do not explain together.
    let open: BTreeSet<usize> = variants
        .iter()
        .flat_map(|variant| variant.about.difference(&variant.explained).copied())
        .collect();
    let (of, not) = (outcomes(&about).len(), outcomes(&open).len());
    let mut named: Vec<String> = Vec::new();
    let mut first = BTreeSet::new();
    for index in open.iter().filter(|index| first.insert(outcome(index))) {
        let finding = &found[*index].finding;
        named.push(format!("{}: {}", finding.test, finding.outcome));
    }
    let models: Vec<Without> = variants
        .iter()
        .map(|variant| Without {
            model: variant.model.clone(),
            dropped: variant.dropped.clone(),
            explains: outcomes(&variant.explained).len(),
            of: outcomes(&variant.about).len(),
        })
        .collect();
    let mut alternatives: Vec<String> =
        variants.iter().flat_map(|variant| variant.alternatives.iter().cloned()).collect();
    let mut known = BTreeSet::new();
    alternatives.retain(|one| known.insert(one.clone()));
    let is_undecided = variants.iter().any(|variant| variant.is_undecided);
    let mut line = line(&models, of - not, of, &named, is_undecided);
    if !alternatives.is_empty() {
        // As good as what is named, so never without a word.
        line.push_str(&format!(
            "; leaving out {} instead explains as much",
            alternatives.join(", or ")
        ));
    }
    Diagnosis {
        run,
        line,
        dropped: variants[0].dropped.iter().map(|lost| lost.meaning.clone()).collect(),
        models,
        explains: of - not,
        of,
        not: named,
        alternatives,
    }
}

/// Such as `The machine behaves as rdma-tso without oppo[nrW, nrW]: explains all 42 forbidden outcomes`.
fn line(
    models: &[Without],
    explains: usize,
    of: usize,
    not: &[String],
    is_undecided: bool,
) -> String {
    let mut ways: Vec<(Vec<&str>, Vec<&str>)> = Vec::new();
    for without in models {
        let names: Vec<&str> = without.dropped.iter().map(|lost| lost.name.as_str()).collect();
        match ways.iter_mut().find(|(_, known)| *known == names) {
            Some((models, _)) => models.push(&without.model),
            None => ways.push((vec![&without.model], names)),
        }
    }
    if ways.iter().all(|(_, dropped)| dropped.is_empty()) {
        let models: Vec<&str> = models.iter().map(|without| without.model.as_str()).collect();
        if is_undecided {
            return format!(
                "It is not known which orders of {} the machine does not keep: a limit of loops, time or memory was reached",
                models.join(" and ")
            );
        }
        return format!(
            "No variant of {} with a few orders left out allows {}",
            models.join(" or "),
            match of {
                1 => "the forbidden outcome that was seen".to_owned(),
                _ => format!("any of the {of} forbidden outcomes that were seen"),
            }
        );
    }
    let way = |(models, dropped): &(Vec<&str>, Vec<&str>)| {
        format!("as {} without {}", models.join(" and "), dropped.join(" and "))
    };
    let ways: Vec<String> = ways.iter().map(way).collect();
    let how_many = if explains == of {
        match of {
            1 => "explains the forbidden outcome".to_owned(),
            _ => format!("explains all {of} forbidden outcomes"),
        }
    } else {
        let more = not.len().saturating_sub(NAMED);
        let more = if more > 0 { format!(", and {more} more") } else { String::new() };
        let named: Vec<&str> = not.iter().take(NAMED).map(String::as_str).collect();
        let unknown = if is_undecided { " or not known" } else { "" };
        format!(
            "explains {explains} of {}; not{unknown}: {}{more}",
            counted(of, "forbidden outcome"),
            named.join("; ")
        )
    };
    format!("The machine behaves {}: {how_many}", ways.join(", or "))
}
