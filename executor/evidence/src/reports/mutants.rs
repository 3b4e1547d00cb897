//! The mutation score: which faults of the simulator a record's tests would catch there.

use std::collections::{BTreeSet, HashSet};

use model::machine::{Contents, FAULTS, FaultInfo, FaultSet, Random, Simulator, Variant};
use rayon::prelude::*;

use super::data::{Mutant, MutantState, Mutants};
use super::rejudge::JudgedRecord;
use super::{Request, Source};
use crate::judge::{JudgedBy, Judgement, weigh};
use crate::observation::Observations;
use crate::record::fnv1a;

/// Runs a record's tests on each broken simulator until one of them shows a violation.
pub fn mutants(source: &Source, tests: &[&JudgedRecord], request: &Request<'_>) -> Option<Mutants> {
    let header = &source.record.header;
    let iterations = request.mutant_runs.min(header.iterations);
    if iterations == 0 {
        return None;
    }
    let mut tests: Vec<&JudgedRecord> =
        tests.iter().filter(|test| test.report.finished > 0).copied().collect();
    tests.sort_by_key(|test| test.size);
    // Copies of a program catch nothing that it does not, and time is short.
    let mut known = HashSet::new();
    tests.retain(|test| known.insert(test.body.as_str()));
    if tests.is_empty() {
        return None;
    }
    let contents = |test: &&JudgedRecord| may_break(test).then(|| Contents::of(test.runnable()));
    let contents: Vec<Option<Contents>> = tests.par_iter().map(contents).collect();
    // With very many tests, time is better spent on judging them.
    let budget = if tests.len() > 1000 { request.mutant_budget / 4 } else { request.mutant_budget };
    let trial = Trial { iterations, seed: header.seed, budget };
    let is_simulated = header.is_simulated();
    let mutants: Vec<Mutant> = FAULTS
        .par_iter()
        .with_max_len(1)
        .filter(|info| is_simulated || !info.fault.is_of_cpu())
        .map(|info| trial.mutant(info, &tests, &contents))
        .collect();
    let count = |state| mutants.iter().filter(|one| one.state == state).count();
    Some(Mutants {
        iterations,
        caught: count(MutantState::Caught),
        not_caught: count(MutantState::NotCaught),
        not_known: count(MutantState::NotKnown),
        open: count(MutantState::Open),
        out_of_reach: count(MutantState::OutOfReach),
        tests: tests.len(),
        cut_after: mutants.iter().filter(|one| one.is_cut).map(|one| one.tests).min(),
        mutants,
    })
}

impl Mutants {
    /// The faults in a state.
    pub fn named(&self, state: MutantState) -> Vec<&str> {
        let of_state = self.mutants.iter().filter(|mutant| mutant.state == state);
        of_state.map(|mutant| mutant.name.as_str()).collect()
    }
}

/// How a mutant is tried.
struct Trial {
    iterations: u64,
    seed: u64,
    budget: u64,
}

/// What a test says about a mutant.
enum Tried {
    Violation,
    /// All that it showed is allowed.
    Missed,
    /// It is not known whether what it showed is allowed, for this reason.
    NotKnown(String),
}

impl Trial {
    /// Tries tests, given what those have that could break at all.
    fn mutant(
        &self,
        info: &FaultInfo,
        tests: &[&JudgedRecord],
        contents: &[Option<Contents>],
    ) -> Mutant {
        let is_concerned = |contents: &Contents| info.fault.concerns(contents);
        let all = tests.iter().zip(contents);
        let tests = all.filter(|(_, contents)| contents.as_ref().is_some_and(is_concerned));
        let tests: Vec<&JudgedRecord> = tests.map(|(test, _)| *test).collect();
        let mut mutant = Mutant {
            name: info.name.to_owned(),
            description: info.description.to_owned(),
            state: MutantState::default(),
            caught_by: None,
            concerned: tests.len(),
            tests: 0,
            is_cut: false,
            undecided: 0,
            reason: None,
        };
        let mut runs = 0;
        for test in tests {
            if runs >= self.budget {
                mutant.is_cut = true;
                break;
            }
            mutant.tests += 1;
            match self.tried(info, test, &mut runs) {
                Tried::Violation => {
                    mutant.caught_by = Some(test.report.name.clone());
                    break;
                }
                Tried::Missed => {}
                Tried::NotKnown(reason) => {
                    mutant.undecided += 1;
                    mutant.reason.get_or_insert(format!("{}: {reason}", test.report.name));
                }
            }
        }
        mutant.state = state(&mutant);
        mutant
    }

    /// Runs a test on the broken simulators of its models' machines.
    fn tried(&self, info: &FaultInfo, test: &JudgedRecord, runs: &mut u64) -> Tried {
        let machines = machines(test);
        let mut tried = match machines.is_empty() {
            true => Tried::NotKnown("no model that judges it names a machine".to_owned()),
            false => Tried::Missed,
        };
        for machine in machines.into_iter().filter(|machine| has_queues(machine)) {
            let seen = match self.seen(info, test, machine) {
                Ok(seen) => seen,
                Err(reason) => {
                    tried = Tried::NotKnown(reason);
                    continue;
                }
            };
            *runs += self.iterations;
            let same = |by: &&JudgedBy| by.judge.model.machine.as_deref() == Some(machine);
            for by in test.by.iter().filter(same) {
                match weigh(&by.allowed, &seen).overall {
                    Judgement::Violation => return Tried::Violation,
                    Judgement::Inconclusive => tried = Tried::NotKnown(why(by, &seen)),
                    Judgement::Conforms | Judgement::Unseen => {}
                }
            }
        }
        tried
    }

    /// What a test shows on a broken simulator, or why it does not run there.
    fn seen(
        &self,
        info: &FaultInfo,
        test: &JudgedRecord,
        machine: &str,
    ) -> Result<Observations, String> {
        let variant = Variant::from_name(machine);
        let variant = variant.ok_or_else(|| format!("there is no simulator of `{machine}`"))?;
        let faults = FaultSet::NONE.with(info.fault);
        let mut simulator = Simulator::new(test.runnable(), variant, faults).map_err(|error| {
            format!("the simulator does not run it: {}", error.diagnostic().message)
        })?;
        let seed = self.seed ^ fnv1a(&[&test.program.text, info.name]);
        let histogram = simulator.run(&mut Random::stream(seed, 0), self.iterations);
        Ok(Observations { outcomes: histogram.outcomes, ..Observations::default() })
    }
}

/// The machines of the models that judge a test.
fn machines(test: &JudgedRecord) -> BTreeSet<&str> {
    test.by.iter().filter_map(|by| by.judge.model.machine.as_deref()).collect()
}

/// Whether a machine has queues, which faults break.
fn has_queues(machine: &str) -> bool {
    !matches!(Variant::from_name(machine), Some(Variant::CoreRma(_)))
}

/// Whether a fault could change anything on the machines of a test, as far as they are known.
fn may_break(test: &JudgedRecord) -> bool {
    let machines = machines(test);
    machines.is_empty() || machines.into_iter().any(has_queues)
}

/// Why a model does not say whether what was seen is allowed.
fn why(by: &JudgedBy, seen: &Observations) -> String {
    if seen.outcomes.is_empty() {
        return "no run ended".to_owned();
    }
    let reason = by.allowed.reason.clone();
    reason.unwrap_or_else(|| format!("not all that {} allows is known", by.judge.identity.name))
}

/// What all tests together say about a mutant.
fn state(mutant: &Mutant) -> MutantState {
    match mutant {
        _ if mutant.caught_by.is_some() => MutantState::Caught,
        _ if mutant.concerned == 0 => MutantState::OutOfReach,
        _ if mutant.undecided > 0 => MutantState::NotKnown,
        _ if mutant.is_cut => MutantState::Open,
        _ => MutantState::NotCaught,
    }
}
