//! What never having seen something is worth.

use std::collections::BTreeSet;

use model::machine::{FAULTS, FaultInfo, FaultSet, Random, Simulator, Variant};
use rayon::prelude::*;

use super::data::{Mutant, Mutants, Report, Silence, Unseen};
use super::judging::{Judged, JudgedRecord, is_violated, outcome_text};
use super::statistics::rule_of_three;
use super::{Request, Source, percent};
use crate::observation::Observations;
use crate::record::fnv1a;

/// What was never seen, and how good the looking was.
pub fn silence(sources: &[Source], judged: &Judged, request: &Request<'_>) -> Silence {
    let mut silence = Silence { unseen: unseen(judged), ..Silence::default() };
    for test in &judged.tests {
        if test.report.finished == 0 {
            continue;
        }
        if let Some(twin) = test.report.twin.as_ref().filter(|twin| twin.was_run) {
            silence.twins += 1;
            silence.twins_seen += usize::from(twin.seen_weak);
        }
        let weak = |row: &&super::data::Row| row.kind == "weak";
        let rows = || test.report.results.iter().flat_map(|result| &result.rows).filter(weak);
        silence.weak_tests += usize::from(rows().next().is_some());
        silence.weak_seen += usize::from(rows().any(|row| row.count > 0));
        if let Some(bound) = rule_of_three(test.report.finished) {
            silence.worst_bound = Some(silence.worst_bound.map_or(bound, |worst| worst.max(bound)));
        }
    }
    silence.mutants = mutants(sources, judged, request);
    silence
}

fn unseen(judged: &Judged) -> Vec<Unseen> {
    let mut all = Vec::new();
    for test in judged.tests.iter().filter(|test| test.report.finished > 0) {
        let mut known = BTreeSet::new();
        for outcome in test.by.iter().flat_map(|by| &by.judged.unseen) {
            if !known.insert(outcome) {
                continue;
            }
            let allowing = test.by.iter().filter(|by| by.judged.unseen.contains(outcome));
            let is_sc = test.sc.as_ref().is_some_and(|sc| sc.contains(outcome));
            all.push(Unseen {
                test: test.report.name.clone(),
                models: allowing.map(|by| by.judge.identity.name.clone()).collect(),
                outcome: outcome_text(&test.test, outcome),
                kind: if is_sc { "sc" } else { "weak" }.to_owned(),
                finished: test.report.finished,
                bound: rule_of_three(test.report.finished),
            });
        }
    }
    all
}

/// Runs the record's tests on each broken simulator until one of them shows a violation.
fn mutants(sources: &[Source], judged: &Judged, request: &Request<'_>) -> Option<Mutants> {
    let run = request.first();
    let first = sources.get(run)?;
    let iterations = request.mutant_runs.min(first.record.header.iterations);
    if iterations == 0 {
        return None;
    }
    let mut tests: Vec<&JudgedRecord> = judged
        .tests
        .iter()
        .filter(|test| test.report.run == run && test.report.finished > 0)
        .collect();
    tests.sort_by_key(|test| test.size);
    // Copies of a program catch nothing that it does not, and time is short.
    let mut known = BTreeSet::new();
    tests.retain(|test| known.insert(test.body.as_str()));
    if tests.is_empty() {
        return None;
    }
    let seed = first.record.header.seed;
    // With very many tests, time is better spent on judging them.
    let budget = if tests.len() > 1000 { request.mutant_budget / 4 } else { request.mutant_budget };
    let mutants: Vec<Mutant> =
        FAULTS.par_iter().map(|fault| mutant(fault, &tests, iterations, seed, budget)).collect();
    let caught = mutants.iter().filter(|mutant| mutant.caught_by.is_some()).count();
    let cut_after = mutants.iter().filter(|mutant| mutant.is_cut).map(|mutant| mutant.tests).min();
    Some(Mutants { iterations, caught, tests: tests.len(), cut_after, mutants })
}

impl Mutants {
    /// The score in words: what was not tried is not missed.
    pub fn score(&self) -> String {
        let (caught, all) = (self.caught, self.mutants.len());
        match self.cut_after {
            None => format!("the tests catch {caught} of {all} faults of the simulator"),
            Some(tried) => format!(
                "of {all} faults of the simulator, {caught} are caught, the others tried on {tried} of {} different tests only",
                self.tests
            ),
        }
    }
}

fn mutant(
    info: &FaultInfo,
    tests: &[&JudgedRecord],
    iterations: u64,
    seed: u64,
    budget: u64,
) -> Mutant {
    let mut mutant = Mutant {
        name: info.name.to_owned(),
        description: info.description.to_owned(),
        caught_by: None,
        tests: 0,
        is_cut: false,
    };
    let faults = FaultSet::NONE.with(info.fault);
    let mut runs = 0;
    for test in tests {
        if runs >= budget {
            mutant.is_cut = true;
            break;
        }
        let mut tried = Vec::new();
        for by in &test.by {
            let Some(variant) = by.judge.model.machine.as_deref().and_then(Variant::from_name)
            else {
                continue;
            };
            if tried.contains(&variant) {
                continue;
            }
            tried.push(variant);
            let Ok(mut simulator) = Simulator::new(&test.test, variant, faults) else { continue };
            let seed = seed ^ fnv1a(&[&test.report.program, info.name]);
            let histogram = simulator.run(&mut Random::stream(seed, 0), iterations);
            runs += iterations;
            let seen = Observations { outcomes: histogram.outcomes, ..Observations::default() };
            let machine = by.judge.model.machine.as_deref();
            let same_machine =
                test.by.iter().filter(|by| by.judge.model.machine.as_deref() == machine);
            if same_machine.into_iter().any(|by| is_violated(by, &seen)) {
                mutant.tests += 1;
                mutant.caught_by = Some(test.report.name.clone());
                return mutant;
            }
        }
        mutant.tests += usize::from(!tried.is_empty());
    }
    mutant
}

/// What this run cannot tell: each point with its number.
pub fn cannot_tell(sources: &[Source], report: &Report) -> Vec<String> {
    let mut points = Vec::new();
    let silence = &report.silence;
    if let Some(bound) = silence.worst_bound {
        points.push(format!(
            "What is rarer than {} per run of a test: that is the 95 % bound (3/N) of the test with the fewest runs.",
            percent(bound)
        ));
    }
    let untested = silence.cells - silence.cells_tested;
    if untested > 0 {
        points.push(format!(
            "Whether {untested} of {} ordered cells of the models' tables are kept: no test of this run would show their loss (the rest of the model implies some of them).",
            silence.cells
        ));
    }
    for table in report.tables.iter().filter(|table| table.examined < table.programs) {
        let (examined, programs, model) = (table.examined, table.programs, &table.model);
        points.push(format!(
            "The evidence for cells of {model} is from the {examined} smallest of {programs} programs; `--thorough` examines all."
        ));
    }
    if silence.twins_seen < silence.twins {
        points.push(format!(
            "In {} of {} tests with a twin, the twin was not seen either: there, not having seen what is forbidden may mean that the stress is too low, or that the machine is stronger than the model.",
            silence.twins - silence.twins_seen,
            silence.twins
        ));
    }
    if silence.weak_tests > 0 && silence.weak_seen == 0 {
        points.push("Whether the machine is weak at all: no outcome was seen that a sequentially consistent machine would not show.".to_owned());
    }
    if let Some(mutants) = &silence.mutants {
        let missed = |is_cut: bool| {
            let mutants = mutants.mutants.iter();
            let missed =
                mutants.filter(|mutant| mutant.caught_by.is_none() && mutant.is_cut == is_cut);
            missed.map(|mutant| mutant.name.as_str()).collect::<Vec<_>>().join(", ")
        };
        let (missed, open) = (missed(false), missed(true));
        if !missed.is_empty() {
            points.push(format!(
                "Faults like {missed}: on the simulator, this suite with {} runs of each test does not catch them.",
                mutants.iterations
            ));
        }
        if !open.is_empty() {
            points.push(format!(
                "Whether this suite catches faults like {open}: on the simulator, there was time for {} of {} different tests only, and these do not.",
                mutants.cut_after.unwrap_or_default(),
                mutants.tests
            ));
        }
        points.push("How likely the machine's own timing shows a fault: the mutation score is measured on the simulator, whose scheduler is no machine's.".to_owned());
    }
    let verdict = &report.verdict;
    let counts = [
        (verdict.skipped, "tests were skipped"),
        (verdict.failed, "tests broke"),
        (verdict.unusable, "tests are unusable as they are recorded"),
        (verdict.interrupted, "tests were stopped early"),
        (verdict.inconclusive, "tests are inconclusive"),
    ];
    for (number, what) in counts.into_iter().filter(|(number, _)| *number > 0) {
        points.push(format!("{number} {what}; their reasons are below."));
    }
    points.extend(of_setup(sources));
    points
}

fn of_setup(sources: &[Source]) -> Vec<String> {
    let mut points = Vec::new();
    let any = |holds: &dyn Fn(&Source) -> bool| sources.iter().any(holds);
    let flag = |name: &str| {
        let name = name.to_owned();
        move |source: &Source| {
            source.record.header.parameters.get(&name).and_then(serde_json::Value::as_bool)
                == Some(true)
        }
    };
    if any(&|source| source.record.header.backend == "sim") {
        points.push("Anything of a real machine: a simulator ran the tests.".to_owned());
    }
    if any(&|source| source.record.header.backend == "verbs") {
        points.push("Anything of other devices, firmware, links, hosts, PCIe settings and parameters than those in the configuration below.".to_owned());
    }
    if any(&|source| source.record.header.nodes.len() == 1) {
        points.push("What happens between two machines: everything ran on one, over its device's loop-back.".to_owned());
    }
    if any(&flag("inline")) {
        points.push(
            "Whether a put's source is read in order: puts were posted inline, so the CPU read it."
                .to_owned(),
        );
    }
    if any(&flag("relaxed_ordering")) {
        points.push("Whether the default registration of memory keeps the model: memory was registered with relaxed ordering, which the models do not speak of.".to_owned());
    }
    points
}
