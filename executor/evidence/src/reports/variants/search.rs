//! The search for what a machine does not keep.

use std::collections::{BTreeSet, HashMap};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use lang::cat::model::Model;
use lang::mutex::lock;
use lang::outcome::Outcome;
use lang::program::{StmtKind, each};
use model::allowed::Question;
use model::changes::{self, Change};
use model::smt::Found as Answer;
use rayon::prelude::*;

use super::super::Request;
use super::super::evidence::concerned;
use super::super::rejudge::{Judged, JudgedRecord};
use super::tier::{Tier, cost};
use crate::judge::shows;

/// How many things may be left out together.
const MOST: usize = 4;
/// How many violations the search looks at; the others only check what was found.
const LOOKED_AT: usize = 24;
/// How often the search begins again with violations that its answer does not allow.
const ROUNDS: usize = 3;
/// How many candidates are compared by what else they allow, and on how many tests.
const COMPARED: (usize, usize) = (12, 40);
/// How many programs an order of CPUs has to explain if an order of NICs explains others: one is soon found
/// for any few.
const CONVINCING: usize = 3;

/// A violation of a model: an outcome of a program, which several tests may show.
pub struct Case<'a> {
    /// A test that shows it.
    pub test: &'a JudgedRecord,
    /// The outcome.
    pub outcome: &'a Outcome,
    /// The violations that are this one, by their numbers.
    pub found: Vec<usize>,
}

/// What a search is about: a model, and a record's violations of it.
pub struct Search<'a> {
    name: &'a str,
    run: usize,
    model: &'a Model,
    pub candidates: Vec<Change>,
    tiers: Vec<Tier>,
    judged: &'a Judged,
    request: &'a Request<'a>,
    memory: Memory,
    is_undecided: AtomicBool,
}

/// What is known of cases, by their first violation: rounds ask about the same ones again.
#[derive(Default)]
struct Memory {
    /// The candidates of a tier that explain it.
    explains: Mutex<HashMap<(usize, Tier), BTreeSet<usize>>>,
    /// In how many tests a candidate allows more.
    extra: Mutex<HashMap<usize, usize>>,
}

/// What to leave out: candidates by their numbers, those that explain most first.
#[derive(Default)]
pub struct Answered {
    /// What to leave out.
    pub dropped: Vec<usize>,
    /// What would have done as well.
    pub others: Vec<usize>,
}

/// Whether a model has a consistent execution with an outcome of what a machine ran. `None`: not known.
pub fn allows(
    model: &Model,
    test: &JudgedRecord,
    outcome: &Outcome,
    request: &Request<'_>,
) -> Option<bool> {
    let options = (request.options)();
    let runnable = test.runnable();
    let asking = Question::of(runnable, model).libraries(&test.libraries).options(&options);
    let question = asking.question().ok()?;
    let mut session = question.session(&options, |_| true).ok()?;
    shows(&question, &mut session, outcome)
}

/// Whether no NIC takes part in a program.
fn is_of_cpus(test: &JudgedRecord) -> bool {
    let mut is_of_cpus = true;
    for thread in &test.runnable().program.threads {
        each(&thread.body, &mut |stmt| {
            let is_open = matches!(
                stmt.kind,
                StmtKind::Call(_) | StmtKind::Rma(_) | StmtKind::OutOfRange { .. }
            );
            is_of_cpus &= !is_open && !stmt.kind.is_of_nic();
        });
    }
    is_of_cpus
}

impl<'a> Search<'a> {
    /// A search for what a record's machine does not keep of a model.
    pub fn new(
        (name, model): (&'a str, &'a Model),
        run: usize,
        judged: &'a Judged,
        request: &'a Request<'a>,
    ) -> Self {
        // Relations come first: of several that do together, the first are put back if the others are enough.
        let candidates: Vec<Change> = changes::relations(model)
            .into_iter()
            .chain(changes::of(model))
            .filter(|change| change.allows_more)
            .collect();
        let tiers = candidates.iter().map(|change| Tier::of(change, model)).collect();
        let (memory, is_undecided) = (Memory::default(), AtomicBool::new(false));
        Self { name, run, model, candidates, tiers, judged, request, memory, is_undecided }
    }

    /// What to leave out so that as many of the cases as can be are allowed.
    pub fn run(&self, cases: &[Case<'_>]) -> Answered {
        // Implementations of libraries take long to ask about, and mostly lose what plain programs lose.
        let is_plain = |index: &usize| cases[*index].test.inlined.is_none();
        let mut looked_at: Vec<usize> = (0..cases.len()).filter(is_plain).collect();
        if looked_at.is_empty() {
            looked_at.extend(0..cases.len());
        }
        looked_at.truncate(LOOKED_AT);
        let mut answer = Answered::default();
        for _ in 0..ROUNDS {
            let some: Vec<&Case<'_>> = looked_at.iter().map(|index| &cases[*index]).collect();
            answer = self.explain(&some);
            let variant = self.without(&answer.dropped);
            let open: Vec<usize> = (0..cases.len())
                .into_par_iter()
                .filter(|index| !self.allows(&variant, &cases[*index]))
                .collect();
            let new = open.into_iter().filter(|index| !looked_at.contains(index)).take(8);
            let new: Vec<usize> = new.collect();
            if new.is_empty() {
                break;
            }
            looked_at.extend(new);
        }
        let some: Vec<&Case<'_>> = looked_at.iter().map(|index| &cases[*index]).collect();
        self.keep_needed(&mut answer.dropped, &some);
        let others = answer.others.clone();
        let is_more = |other: &usize| {
            answer.dropped.iter().any(|own| self.has(*other, *own) || self.has(*own, *other))
                || others.iter().any(|whole| whole != other && self.has(*whole, *other))
        };
        answer.others.retain(|other| !is_more(other));
        answer
    }

    /// Puts back what is not needed, the last first: what all together explain stays explained.
    pub fn keep_needed(&self, dropped: &mut Vec<usize>, cases: &[&Case<'_>]) {
        if dropped.len() < 2 {
            return;
        }
        let variant = self.without(dropped);
        let is_explained = |case: &&&Case<'_>| self.allows(&variant, case);
        let explained: Vec<&Case<'_>> = cases.par_iter().filter(is_explained).copied().collect();
        for place in (0..dropped.len()).rev() {
            let mut fewer = dropped.clone();
            fewer.remove(place);
            let variant = self.without(&fewer);
            if !explained.is_empty() && explained.par_iter().all(|case| self.allows(&variant, case))
            {
                *dropped = fewer;
            }
        }
    }

    /// Whether a model is known to allow a case.
    pub fn allows(&self, model: &Model, case: &Case<'_>) -> bool {
        let found = allows(model, case.test, case.outcome, self.request);
        self.is_undecided.fetch_or(found.is_none(), Ordering::Relaxed);
        found == Some(true)
    }

    /// Whether a limit kept some answer from being known.
    pub fn is_undecided(&self) -> bool {
        self.is_undecided.load(Ordering::Relaxed)
    }

    /// The model without some candidates.
    pub fn without(&self, dropped: &[usize]) -> Model {
        let mut variant = self.model.clone();
        for index in dropped {
            self.candidates[*index].apply_to(&mut variant);
        }
        variant
    }

    /// What to drop, and what would have done as well: by orders of NICs if they are enough, or by fewer of
    /// their relations; else by orders of CPUs too, and by larger parts of the model only if nothing else
    /// explains anything.
    fn explain(&self, cases: &[&Case<'_>]) -> Answered {
        let mut explains: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); cases.len()];
        let mut by_orders: Option<Answered> = None;
        for tier in Tier::ALL {
            explains.par_iter_mut().zip(cases).for_each(|(explains, case)| {
                explains.extend(self.of_tier(tier, case));
            });
            if !tier.is_small() && explains.iter().all(BTreeSet::is_empty) {
                continue;
            }
            let mut answer = self.cover(&explains, cases);
            let open = |answer: &Answered| -> Vec<&Case<'_>> {
                let variant = self.without(&answer.dropped);
                cases.par_iter().filter(|case| !self.allows(&variant, case)).copied().collect()
            };
            let mut left = open(&answer);
            if let Some(orders) = by_orders.take() {
                let is_shorter = left.is_empty() && answer.dropped.len() < orders.dropped.len();
                return if is_shorter { answer } else { orders };
            }
            // Some need several orders gone at once.
            if !left.is_empty() && tier.is_small() {
                let among = if answer.dropped.is_empty() { tier } else { Tier::Nic };
                let more = self.together(&left, among, &answer.dropped);
                answer.dropped.extend(more.unwrap_or_default());
                self.keep_once(&mut answer.dropped);
                left = open(&answer);
            }
            if left.is_empty() && tier == Tier::Nic && answer.dropped.len() > 1 {
                by_orders = Some(answer);
            } else if !answer.dropped.is_empty() && (tier >= Tier::Cpu || left.is_empty()) {
                return answer;
            }
        }
        Answered::default()
    }

    /// Whether leaving out one candidate leaves out another: the same, a cell of fewer tables, or a part that
    /// is nothing without it.
    fn has(&self, index: usize, other: usize) -> bool {
        let (whole, part) = (&self.candidates[index], &self.candidates[other]);
        let (Some(own), Some(other)) = (whole.cell(), part.cell()) else {
            return index == other || part.is_part_of(whole);
        };
        let is_same = (&own.row, &own.column) == (&other.row, &other.column);
        is_same && other.names().iter().all(|name| own.names().contains(name))
    }

    /// Leaves out what is said twice: a cell that another of them has too, perhaps in more tables. What is
    /// left out of one table after the other is said once.
    fn keep_once(&self, dropped: &mut Vec<usize>) {
        let tables = |index: usize| self.candidates[index].cell().map_or(0, |c| c.tables.len());
        let mut kept: Vec<usize> = Vec::new();
        dropped.sort_by_key(|index| std::cmp::Reverse(tables(*index)));
        for index in dropped.iter() {
            if !kept.iter().any(|other| self.has(*other, *index)) {
                kept.push(*index);
            }
        }
        for whole in (0..self.candidates.len()).filter(|index| tables(*index) > 1) {
            let of: Vec<usize> =
                kept.iter().copied().filter(|index| self.has(whole, *index)).collect();
            if of.len() > 1 && of.iter().map(|index| tables(*index)).sum::<usize>() == tables(whole)
            {
                kept.retain(|index| !of.contains(index));
                kept.push(whole);
            }
        }
        *dropped = kept;
    }

    /// The candidates of a tier each of which explains a case. Most are about events that the program does
    /// not have, and where all of a tier together are not enough, none is.
    fn of_tier(&self, tier: Tier, case: &Case<'_>) -> BTreeSet<usize> {
        let key = (case.found[0], tier);
        if let Some(known) = lock(&self.memory.explains).get(&key) {
            return known.clone();
        }
        let all: Vec<usize> =
            (0..self.tiers.len()).filter(|index| self.tiers[*index] == tier).collect();
        let enough = if tier.is_small() {
            self.allows(&self.without(&all), case)
        } else {
            let mut anything = self.model.clone();
            anything.axioms.clear();
            self.allows(&anything, case)
        };
        let mut found = BTreeSet::new();
        if enough {
            let concerned =
                concerned(self.model, &self.candidates, case.test.runnable(), &case.test.libraries);
            let is_concerned =
                |index: &usize| concerned.as_ref().is_none_or(|concerned| concerned[*index]);
            let candidates: Vec<usize> = all.into_iter().filter(is_concerned).collect();
            found.par_extend(
                candidates
                    .into_par_iter()
                    .filter(|index| self.allows(&self.candidates[*index].model, case)),
            );
        }
        lock(&self.memory.explains).insert(key, found.clone());
        found
    }

    /// From all of the tiers, one after the other is put back as long as all cases stay allowed; what cannot
    /// be put back is the answer, if it is short. Cases that not even all of the tiers together explain are
    /// left out. What is left out anyway does not belong to the answer.
    fn together(&self, cases: &[&Case<'_>], most: Tier, anyway: &[usize]) -> Option<Vec<usize>> {
        let is_cell_of_one = |index: &usize| {
            self.candidates[*index].cell().is_none_or(|cell| cell.tables.len() == 1)
        };
        let everything: Vec<usize> = (0..self.tiers.len())
            .filter(|index| self.tiers[*index] <= most && is_cell_of_one(index))
            .collect();
        let with_more = |dropped: &[usize]| self.without(&[anyway, dropped].concat());
        let nothing = with_more(&everything);
        let cases: Vec<&Case<'_>> =
            cases.par_iter().filter(|case| self.allows(&nothing, case)).copied().collect();
        let all_allowed = |dropped: &[usize]| {
            let variant = with_more(dropped);
            cases.par_iter().all(|case| self.allows(&variant, case))
        };
        if cases.is_empty() {
            return None;
        }
        let mut is_concerned = vec![false; self.tiers.len()];
        for case in &cases {
            let of_case =
                concerned(self.model, &self.candidates, case.test.runnable(), &case.test.libraries);
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
        if let Some(known) = lock(&self.memory.extra).get(&index) {
            return *known;
        }
        let model = &self.candidates[index].model;
        let found = self.extra_tests(model);
        lock(&self.memory.extra).insert(index, found);
        found
    }

    /// The fewest candidates such that each case that can be is explained by one, found greedily. Once one is
    /// chosen, orders of CPUs must be convincing.
    fn cover(&self, explains: &[BTreeSet<usize>], cases: &[&Case<'_>]) -> Answered {
        let mut open: Vec<usize> =
            (0..explains.len()).filter(|case| !explains[*case].is_empty()).collect();
        let mut answer = Answered::default();
        while answer.dropped.len() < MOST {
            let explained = |index: usize| -> Vec<&Case<'_>> {
                let of = open.iter().filter(|case| explains[**case].contains(&index));
                of.map(|case| cases[*case]).collect()
            };
            let is_convincing = |index: usize| {
                if self.tiers[index] < Tier::Cpu || answer.dropped.is_empty() {
                    return true;
                }
                let of = explained(index);
                let programs: BTreeSet<&str> =
                    of.iter().map(|case| case.test.body.as_str()).collect();
                programs.len() >= CONVINCING || of.iter().all(|case| is_of_cpus(case.test))
            };
            let counts: Vec<(usize, usize)> = (0..self.candidates.len())
                .map(|index| (explained(index).len(), index))
                .filter(|(count, index)| *count > 0 && is_convincing(*index))
                .collect();
            let Some(most) = counts.iter().map(|(count, _)| *count).max() else { break };
            let mut best: Vec<usize> = counts
                .into_iter()
                .filter(|(count, _)| *count == most)
                .map(|(_, index)| index)
                .collect();
            best.sort_by_key(|index| (cost(&self.candidates[*index]), *index));
            best.truncate(COMPARED.0);
            let mut ranked: Vec<(usize, usize, usize)> = best
                .par_iter()
                .map(|index| (self.extra(*index), cost(&self.candidates[*index]), *index))
                .collect();
            ranked.sort_unstable();
            let (least, _, index) = ranked[0];
            let others = ranked[1..].iter().filter(|(extra, _, _)| *extra == least);
            answer.dropped.push(index);
            answer.others.extend(others.map(|(_, _, other)| *other));
            open.retain(|case| !explains[*case].contains(&index));
        }
        answer
    }

    /// In how many tests of the record a variant allows something that neither the model allows nor the
    /// machine showed.
    fn extra_tests(&self, variant: &Model) -> usize {
        let mut tests: Vec<&JudgedRecord> =
            self.judged.tests.iter().filter(|test| test.report.run == self.run).collect();
        tests.sort_by_key(|test| test.size);
        let tests = tests.into_iter().filter_map(|test| {
            let by = test.by.iter().find(|by| by.judge.identity.name == self.name)?;
            (!by.allowed.is_unknown()).then_some((test, &by.allowed))
        });
        tests
            .take(COMPARED.1)
            .filter(|(test, allowed)| {
                let options = (self.request.options)();
                let Ok(question) = Question::of(&test.test, variant)
                    .libraries(&test.libraries)
                    .options(&options)
                    .question()
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
}
