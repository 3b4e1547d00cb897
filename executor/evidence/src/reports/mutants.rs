//! The mutation score: which faults of the simulator a record's tests would catch there.

use std::collections::BTreeSet;

use model::machine::{FAULTS, FaultInfo, FaultSet, Random, Simulator, Variant};
use rayon::prelude::*;

use super::data::{Mutant, Mutants};
use super::judging::JudgedRecord;
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
    let mut known = BTreeSet::new();
    tests.retain(|test| known.insert(test.body.as_str()));
    if tests.is_empty() {
        return None;
    }
    // With very many tests, time is better spent on judging them.
    let budget = if tests.len() > 1000 { request.mutant_budget / 4 } else { request.mutant_budget };
    let trial = Trial { iterations, seed: header.seed, budget };
    let is_simulated = header.is_simulated();
    let mutants: Vec<Mutant> = FAULTS
        .par_iter()
        .filter(|info| is_simulated || !info.fault.is_of_cpu())
        .map(|info| trial.mutant(info, &tests))
        .collect();
    let count = |holds: &dyn Fn(&&Mutant) -> bool| mutants.iter().filter(holds).count();
    Some(Mutants {
        iterations,
        caught: count(&|mutant| mutant.caught_by.is_some()),
        out_of_reach: count(&|mutant| mutant.concerned == 0),
        tests: tests.len(),
        cut_after: mutants.iter().filter(|one| one.is_cut).map(|one| one.tests).min(),
        mutants,
    })
}

impl Mutants {
    /// The faults that are not caught: those that no test could show, those that were tried on all tests, and
    /// those that were not.
    pub fn missed(&self) -> [Vec<&str>; 3] {
        let names = |holds: &dyn Fn(&Mutant) -> bool| -> Vec<&str> {
            let missed = self.mutants.iter().filter(|mutant| mutant.caught_by.is_none());
            missed.filter(|mutant| holds(mutant)).map(|mutant| mutant.name.as_str()).collect()
        };
        [
            names(&|mutant| mutant.concerned == 0),
            names(&|mutant| mutant.concerned > 0 && !mutant.is_cut),
            names(&|mutant| mutant.concerned > 0 && mutant.is_cut),
        ]
    }
}

/// How a mutant is tried.
struct Trial {
    iterations: u64,
    seed: u64,
    budget: u64,
}

impl Trial {
    fn mutant(&self, info: &FaultInfo, tests: &[&JudgedRecord]) -> Mutant {
        let is_concerned = |test: &&&JudgedRecord| info.fault.concerns(&test.runnable().program);
        let tests: Vec<&JudgedRecord> = tests.iter().filter(is_concerned).copied().collect();
        let mut mutant = Mutant {
            name: info.name.to_owned(),
            description: info.description.to_owned(),
            caught_by: None,
            concerned: tests.len(),
            tests: 0,
            is_cut: false,
        };
        let mut runs = 0;
        for test in tests {
            if runs >= self.budget {
                mutant.is_cut = true;
                break;
            }
            mutant.tests += 1;
            if self.is_caught(info, test, &mut runs) {
                mutant.caught_by = Some(test.report.name.clone());
                break;
            }
        }
        mutant
    }

    /// Runs a test on the broken simulators of its models' machines.
    fn is_caught(&self, info: &FaultInfo, test: &JudgedRecord, runs: &mut u64) -> bool {
        let faults = FaultSet::NONE.with(info.fault);
        let machines: BTreeSet<&str> =
            test.by.iter().filter_map(|by| by.judge.model.machine.as_deref()).collect();
        machines.into_iter().any(|machine| {
            let Some(variant) = Variant::from_name(machine) else { return false };
            let Ok(mut simulator) = Simulator::new(test.runnable(), variant, faults) else {
                return false;
            };
            let seed = self.seed ^ fnv1a(&[&test.program.text, info.name]);
            let histogram = simulator.run(&mut Random::stream(seed, 0), self.iterations);
            *runs += self.iterations;
            let seen = Observations { outcomes: histogram.outcomes, ..Observations::default() };
            let same = |by: &&JudgedBy| by.judge.model.machine.as_deref() == Some(machine);
            let is_violated =
                |by: &JudgedBy| weigh(&by.allowed, &seen).overall == Judgement::Violation;
            test.by.iter().filter(same).any(is_violated)
        })
    }
}
