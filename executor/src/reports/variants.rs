//! The nearest model that would allow what was seen: what the machine behaves as if it did not keep.
//!
//! A search over the parts of a model that can be left out: cells of its tables, orders, parts of unions, axioms. The
//! fewest that explain every violation are taken, of these the ones that allow least that was not seen.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Mutex, PoisonError};

use lang::cat::model::Model;
use lang::outcome::{Outcome, Value};
use model::allowed::Question;
use model::changes::{self, Change, Subject};
use model::smt::Found as Answer;
use rayon::prelude::*;

use super::data::{Lost, Variant};
use super::evidence::concerned;
use super::findings::Found;
use super::judging::{Judged, JudgedRecord};
use super::{Request, words};

/// How many things may be left out together.
const MOST: usize = 4;
/// How many violations the search looks at; the others only check what was found.
const LOOKED_AT: usize = 24;
/// How many violations an answer is checked with. More say nothing new, and take time.
const CHECKED: usize = 500;
/// How often the search begins again with violations that its answer does not allow.
const ROUNDS: usize = 3;
/// How many candidates are compared by what else they allow, and on how many tests.
const COMPARED: (usize, usize) = (12, 40);

/// A violation of a model: an outcome of a program, which several tests may show.
struct Case<'a> {
    test: &'a JudgedRecord,
    outcome: &'a Outcome,
    found: Vec<usize>,
}

/// What was lost, for each violation by its index.
type Losses = Vec<(Vec<usize>, Vec<Lost>)>;

/// For each model with violations, the nearest variant. Tells each finding what its loss is.
pub fn variants(judged: &Judged, found: &mut [Found], request: &Request<'_>) -> Vec<Variant> {
    let mut by_model: BTreeMap<String, Vec<(usize, usize)>> = BTreeMap::new();
    for (index, one) in found.iter().enumerate() {
        // Each model that forbids it has to be explained with it, however many others forbid it as well.
        for by in &one.by {
            let name = judged.tests[one.test].by[*by].judge.identity.name.clone();
            by_model.entry(name).or_default().push((index, *by));
        }
    }
    let mut variants = Vec::new();
    for (name, violations) in by_model {
        let (variant, losses) = of_model(&name, &violations, judged, found, request);
        for (indices, lost) in losses {
            for index in indices {
                let one = &mut found[index];
                // The model that explains a violation says what its loss is, if it can.
                let explaining = &judged.tests[one.test].by[one.by[0]].judge.identity.name;
                if *explaining == name || one.finding.lost.is_empty() {
                    one.finding.lost.clone_from(&lost);
                }
            }
        }
        variants.push(variant);
    }
    variants
}

fn of_model(
    name: &str,
    violations: &[(usize, usize)],
    judged: &Judged,
    found: &[Found],
    request: &Request<'_>,
) -> (Variant, Losses) {
    let (first, by) = violations[0];
    let judge = &judged.tests[found[first].test].by[by].judge;
    let mut cases: Vec<Case<'_>> = Vec::new();
    let mut known: HashMap<(&str, &Outcome), usize> = HashMap::new();
    for (index, _) in violations {
        let one = &found[*index];
        let test = &judged.tests[one.test];
        let case = *known.entry((&test.body, &one.outcome)).or_insert_with(|| {
            cases.push(Case { test, outcome: &one.outcome, found: Vec::new() });
            cases.len() - 1
        });
        cases[case].found.push(*index);
    }
    let checked = &cases[..cases.len().min(CHECKED)];
    let (mut variant, losses) = search(name, &judge.model, checked, judged, request);
    if checked.len() < cases.len() {
        let (some, all) = (checked.len(), cases.len());
        variant.line.push_str(&format!(" (checked with {some} of {all} violations)"));
    }
    (variant, losses)
}

/// Whether a model has a consistent execution with an outcome; unknown counts as no.
fn allows(model: &Model, test: &JudgedRecord, outcome: &Outcome, request: &Request<'_>) -> bool {
    let options = (request.options)();
    let Ok(question) = Question::new(&test.test, model, test.libraries, options.loop_bound) else {
        return false;
    };
    let Ok(mut session) = question.session(&options, |_| true) else { return false };
    let values: Vec<(usize, Value)> = outcome.0.iter().copied().enumerate().collect();
    let Some(mut assumptions) = session.showing(&values) else { return false };
    assumptions.extend(session.counted());
    matches!(session.find(&assumptions), Answer::Execution(_))
}

/// What is blamed first: 0 for orders that a NIC takes part in, 1 for those of CPUs, 2 for parts of definitions, 3
/// for whole axioms. A vendor's report is about a NIC, and the model's larger parts explain too much.
fn tier(change: &Change) -> usize {
    const CPU: [&str; 10] = ["lR", "lW", "CAS", "F", "P", "aCR", "aCW", "aCAS", "aMF", "aWT"];
    match &change.subject {
        Subject::Order(_) => 0,
        Subject::Cell(cell) => {
            let is_of_cpu = |event: &String| CPU.contains(&event.as_str());
            usize::from(is_of_cpu(&cell.row) && is_of_cpu(&cell.column))
        }
        Subject::Part(..) => 2,
        Subject::Axiom(_) => 3,
    }
}

/// Of equals, the one with the least to say.
fn cost(change: &Change) -> usize {
    change.cell().map_or(3, |cell| cell.tables.len())
}

/// What a change takes away, as reports name it.
pub fn lost(change: &Change) -> Lost {
    // A cell of several tables: named by all of them.
    let name = match change.cell() {
        Some(cell) => format!("{}[{}, {}]", cell.names().join("+"), cell.row, cell.column),
        None => change.lost().to_owned(),
    };
    Lost { meaning: words::lost(&name), name }
}

fn search(
    name: &str,
    model: &Model,
    cases: &[Case<'_>],
    judged: &Judged,
    request: &Request<'_>,
) -> (Variant, Losses) {
    let candidates: Vec<Change> =
        changes::of(model).into_iter().filter(|change| change.allows_more).collect();
    let tiers = candidates.iter().map(tier).collect();
    let memory = Memory::default();
    let search = Search { name, model, candidates, tiers, judged, request, memory };
    let mut looked_at: Vec<usize> = (0..cases.len().min(LOOKED_AT)).collect();
    let (mut dropped, mut others, mut allows_all) = (Vec::new(), Vec::new(), false);
    for _ in 0..ROUNDS {
        let some: Vec<&Case<'_>> = looked_at.iter().map(|index| &cases[*index]).collect();
        (dropped, others) = search.explain(&some);
        let variant = search.without(&dropped);
        let open: Vec<usize> = (0..cases.len())
            .into_par_iter()
            .filter(|index| !search.allows(&variant, &cases[*index]))
            .collect();
        allows_all = open.is_empty() && !dropped.is_empty();
        let new = open.into_iter().filter(|index| !looked_at.contains(index)).take(8);
        let new: Vec<usize> = new.collect();
        if allows_all || new.is_empty() {
            break;
        }
        looked_at.extend(new);
    }
    dropped.sort_unstable();
    let lost = |index: &usize| lost(&search.candidates[*index]);
    let words: Vec<Lost> = dropped.iter().map(lost).collect();
    let alternatives = others.iter().map(|index| lost(index).name).collect();
    let each: Losses = cases
        .par_iter()
        .map(|case| {
            let mine = dropped
                .iter()
                .filter(|index| search.allows(&search.candidates[**index].model, case));
            let mine: Vec<Lost> = mine.map(lost).collect();
            // Where it takes several together, these together are it.
            let together = mine.is_empty() && allows_all;
            (case.found.clone(), if together { words.clone() } else { mine })
        })
        .collect();
    let line = line(name, &words, allows_all);
    (Variant { model: name.to_owned(), dropped: words, allows_all, line, alternatives }, each)
}

/// What a search is about.
struct Search<'a> {
    name: &'a str,
    model: &'a Model,
    candidates: Vec<Change>,
    tiers: Vec<usize>,
    judged: &'a Judged,
    request: &'a Request<'a>,
    memory: Memory,
}

/// What is known of cases, by their first violation: rounds ask about the same ones again.
#[derive(Default)]
struct Memory {
    /// The candidates of a tier that explain it.
    explains: Mutex<HashMap<(usize, usize), BTreeSet<usize>>>,
    /// In how many tests a candidate allows more.
    extra: Mutex<HashMap<usize, usize>>,
}

impl Search<'_> {
    fn allows(&self, model: &Model, case: &Case<'_>) -> bool {
        allows(model, case.test, case.outcome, self.request)
    }

    /// The model without some candidates: cells and orders together, or else the first of them alone.
    fn without(&self, dropped: &[usize]) -> Model {
        let is_single = |index: &usize| {
            let subject = &self.candidates[*index].subject;
            matches!(subject, Subject::Axiom(_) | Subject::Part(..))
        };
        let whole = dropped.iter().find(|index| is_single(index));
        let mut variant =
            whole.map_or_else(|| self.model.clone(), |index| self.candidates[*index].model.clone());
        for index in dropped {
            self.candidates[*index].apply_to(&mut variant);
        }
        variant
    }

    /// What to drop so that all cases are allowed, and what would have done as well: by the lowest tier that is enough.
    fn explain(&self, cases: &[&Case<'_>]) -> (Vec<usize>, Vec<usize>) {
        let mut explains: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); cases.len()];
        for level in 0..4 {
            explains.par_iter_mut().zip(cases).for_each(|(explains, case)| {
                explains.extend(self.of_tier(level, case));
            });
            let chosen = self.cover(&explains);
            let covered = |explains: &BTreeSet<usize>| {
                chosen.iter().any(|(index, _)| explains.contains(index))
            };
            if explains.iter().all(covered) {
                let others = chosen.iter().flat_map(|(_, others)| others.iter().copied());
                return (chosen.iter().map(|(index, _)| *index).collect(), others.collect());
            }
            if level < 2
                && let Some(together) = self.together(cases, level)
            {
                return (together, Vec::new());
            }
        }
        (self.cover(&explains).into_iter().map(|(index, _)| index).collect(), Vec::new())
    }

    /// The candidates of a tier each of which explains a case. Most are about events that the program does not have, and
    /// where all of a tier together are not enough, none is.
    fn of_tier(&self, level: usize, case: &Case<'_>) -> BTreeSet<usize> {
        let key = (case.found[0], level);
        let lock = || self.memory.explains.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = lock().get(&key) {
            return known.clone();
        }
        let all: Vec<usize> =
            (0..self.tiers.len()).filter(|index| self.tiers[*index] == level).collect();
        let enough = if level < 2 {
            self.allows(&self.without(&all), case)
        } else {
            let mut anything = self.model.clone();
            anything.axioms.clear();
            self.allows(&anything, case)
        };
        let mut found = BTreeSet::new();
        if enough {
            let concerned = concerned(self.model, &self.candidates, case.test);
            let is_concerned =
                |index: &usize| concerned.as_ref().is_none_or(|concerned| concerned[*index]);
            let candidates: Vec<usize> = all.into_iter().filter(is_concerned).collect();
            found.par_extend(
                candidates
                    .into_par_iter()
                    .filter(|index| self.allows(&self.candidates[*index].model, case)),
            );
        }
        lock().insert(key, found.clone());
        found
    }

    /// Some violations need several orders gone at once. From all of the tiers, one after the other is put back as long
    /// as all cases stay allowed; what cannot be put back is the answer, if it is short.
    fn together(&self, cases: &[&Case<'_>], level: usize) -> Option<Vec<usize>> {
        let is_cell_of_one = |index: &usize| {
            self.candidates[*index].cell().is_none_or(|cell| cell.tables.len() == 1)
        };
        let everything: Vec<usize> = (0..self.tiers.len())
            .filter(|index| self.tiers[*index] <= level && is_cell_of_one(index))
            .collect();
        let all_allowed = |dropped: &[usize]| {
            let variant = self.without(dropped);
            cases.par_iter().all(|case| self.allows(&variant, case))
        };
        if !all_allowed(&everything) {
            return None;
        }
        let mut is_concerned = vec![false; self.tiers.len()];
        for case in cases {
            let of_case = concerned(self.model, &self.candidates, case.test);
            let mark = |(known, of_case): (&mut bool, bool)| *known |= of_case;
            let of_case = of_case.unwrap_or_else(|| vec![true; self.tiers.len()]);
            is_concerned.iter_mut().zip(of_case).for_each(mark);
        }
        let mut dropped = everything.clone();
        dropped.retain(|index| is_concerned[*index]);
        if !all_allowed(&dropped) {
            dropped = everything;
        }
        // Halves first, then quarters: most of it is not needed.
        let mut size = dropped.len().div_ceil(2);
        loop {
            let mut start = 0;
            while start < dropped.len() {
                let mut fewer = dropped.clone();
                fewer.drain(start..(start + size).min(dropped.len()));
                if all_allowed(&fewer) {
                    dropped = fewer;
                } else {
                    start += size;
                }
            }
            if size == 1 {
                break;
            }
            size = size.div_ceil(2);
        }
        (!dropped.is_empty() && dropped.len() <= 2 * MOST).then_some(dropped)
    }

    /// In how many tests a candidate allows more.
    fn extra(&self, index: usize) -> usize {
        let lock = || self.memory.extra.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = lock().get(&index) {
            return *known;
        }
        let model = &self.candidates[index].model;
        let found = extra(model, self.name, self.judged, self.request);
        lock().insert(index, found);
        found
    }

    /// The fewest candidates such that each violation is explained by one, found greedily; with each, those that
    /// would have done as well.
    fn cover(&self, explains: &[BTreeSet<usize>]) -> Vec<(usize, Vec<usize>)> {
        let mut open: Vec<usize> =
            (0..explains.len()).filter(|case| !explains[*case].is_empty()).collect();
        let mut chosen = Vec::new();
        while !open.is_empty() && chosen.len() < MOST {
            let count =
                |index: usize| open.iter().filter(|case| explains[**case].contains(&index)).count();
            let all = 0..self.candidates.len();
            let most = all.clone().map(count).max().unwrap_or(0);
            let mut best: Vec<usize> = all.filter(|index| count(*index) == most).collect();
            best.sort_by_key(|index| (cost(&self.candidates[*index]), *index));
            best.truncate(COMPARED.0);
            let mut ranked: Vec<(usize, usize, usize)> = best
                .par_iter()
                .map(|index| (self.extra(*index), cost(&self.candidates[*index]), *index))
                .collect();
            ranked.sort_unstable();
            let (least, _, index) = ranked[0];
            let others = ranked[1..].iter().filter(|(extra, _, _)| *extra == least);
            chosen.push((index, others.map(|(_, _, other)| *other).collect()));
            open.retain(|case| !explains[*case].contains(&index));
        }
        chosen
    }
}

fn line(model: &str, dropped: &[Lost], allows_all: bool) -> String {
    let names: Vec<&str> = dropped.iter().map(|lost| lost.name.as_str()).collect();
    match (dropped.is_empty(), allows_all) {
        (true, _) => {
            format!("no variant of {model} with a few orders left out allows what was seen")
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
            let Ok(question) =
                Question::new(&test.test, variant, test.libraries, options.loop_bound)
            else {
                return false;
            };
            let Ok(mut session) = question.session(&options, |_| true) else { return false };
            allowed
                .outcomes
                .iter()
                .chain(test.seen.outcomes.keys())
                .for_each(|one| session.block(one));
            let within = session.counted();
            matches!(session.find(&within), Answer::Execution(_))
        })
        .count()
}
