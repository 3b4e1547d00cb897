//! What the records of a measurement have.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use evidence::judge::Judgement;
use evidence::reports::data::{Nature, OutcomeKind, Report, TestJudgement, TestReport};
use evidence::reports::statistics;
use model::engine::Request;
use serde::Serialize;

use super::Nic;
use super::device::{self, DEVICE};
use crate::commands::nic::Fault;
use crate::commands::report::making::Making;
use crate::commands::report::records::read_record;
use crate::exit::Exit;
use crate::judging;
use crate::models::Models;
use crate::sink::Sink;

/// All of it.
#[derive(Serialize)]
pub struct Found {
    schema: &'static str,
    /// By preset or other options, without a fault.
    pub presets: Vec<OfPreset>,
    /// What no preset showed, and a device for verbs may show.
    pub never: Vec<String>,
    /// Weak outcomes that no device for verbs shows.
    pub impossible: BTreeSet<String>,
    /// By fault.
    pub faults: Vec<OfFault>,
}

/// What tests show with a preset.
#[derive(Serialize)]
pub struct OfPreset {
    /// The preset; or the options that are added to `default`, behind `nic` or `run`.
    pub preset: String,
    /// The number of seeds.
    pub seeds: u64,
    /// Finished runs of all tests.
    pub runs: u64,
    /// Forbidden outcomes that were seen: none, if the NIC and litmus are right.
    pub violations: Vec<String>,
    /// Tests that broke, or of which it is not known whether what was seen is allowed.
    pub undecided: BTreeSet<String>,
    /// Weak outcomes that models allow, by test and outcome, each with the part of the runs that showed it.
    pub weak: BTreeMap<String, f64>,
}

/// What is blamed if no model of any kind gives the values that were seen.
const OF_NO_EXECUTION: &str = "values of no execution";

/// How a fault is found.
#[derive(Serialize)]
pub struct OfFault {
    /// Its name.
    pub fault: &'static str,
    /// What it breaks.
    pub breaks: &'static str,
    /// The number of seeds.
    pub seeds: u64,
    /// With how many of them a forbidden outcome was seen.
    pub found: u64,
    /// The tests that showed one, each with the part of the runs that did.
    pub tests: BTreeMap<String, f64>,
    /// What the report blames: orders of the models, as the first diagnosis names them; or
    /// [`OF_NO_EXECUTION`].
    pub blamed: Vec<String>,
    /// Whether a diagnosis names an order that the fault breaks; none if no order of a model is broken.
    pub is_right: Option<bool>,
}

impl OfFault {
    /// In how many runs of every test the fault is found with 95 % confidence: 3 divided by the sum of the
    /// tests' rates.
    pub fn runs(&self) -> Option<f64> {
        statistics::runs_to_see(self.tests.values().sum())
    }
}

impl Found {
    /// A violation without a fault is one. A fault that was not found is not known, nor is a test that
    /// was not decided.
    pub fn exit(&self) -> Exit {
        if self.presets.iter().any(|preset| !preset.violations.is_empty()) {
            Exit::Violation
        } else if self.faults.iter().any(|fault| fault.found < fault.seeds)
            || self.presets.iter().any(|preset| !preset.undecided.is_empty())
        {
            Exit::Unknown
        } else {
            Exit::Fine
        }
    }

    /// Notes what [`DEVICE`] forbids. What was seen of it is a violation.
    fn except(&mut self, impossible: BTreeSet<String>) {
        for preset in &mut self.presets {
            let seen = preset
                .weak
                .iter()
                .filter(|(name, rate)| **rate > 0.0 && impossible.contains(*name));
            preset.violations.extend(seen.map(|(name, _)| format!("{name} ({DEVICE})")));
        }
        self.never.retain(|name| !impossible.contains(name));
        self.impossible = impossible;
    }
}

/// Judges the records of all NICs. `None` if one cannot be read, which has been said.
pub fn judge(
    nics: &[Nic],
    folder: &Path,
    models: &Models,
    request: Request<'static>,
    sink: &mut Sink<'_>,
) -> Option<Found> {
    let mut found = Found {
        schema: "litmus-power/1",
        presets: Vec::new(),
        never: Vec::new(),
        impossible: BTreeSet::new(),
        faults: Vec::new(),
    };
    let Ok((device, _)) = Models::choose(&[DEVICE.to_owned()]) else {
        sink.internal_error(DEVICE, "there is no such model");
        return None;
    };
    let answers = judging::answers(request.clone());
    let by = |models| Making {
        models,
        answers: &answers,
        request: request.clone(),
        is_thorough: false,
        mutants: 0,
        has_baseline: false,
    };
    let (making, by_device) = (by(models), by(&device));
    let mut says = Vec::new();
    sink.terminal.begin_progress(nics.len());
    // Seeds of one kind follow each other.
    for same in nics.chunk_by(|one, other| one.kind() == other.kind()) {
        let mut reports = Vec::new();
        for nic in same {
            let path = folder.join(nic.name() + ".jsonl");
            let sources = [read_record(&path, sink)?];
            reports.push(making.make(&sources, making.judge(&sources)));
            if nic.fault.is_none() {
                let report = by_device.make(&sources, by_device.judge(&sources));
                says.push(device::says(&report));
            }
            sink.terminal.progress().inc(1);
        }
        match same[0].fault {
            None => found.presets.push(of_preset(same[0].kind(), &reports)),
            Some(fault) => found.faults.push(of_fault(fault, &reports)),
        }
    }
    found.never = never(&found.presets);
    let weak = found.presets.iter().flat_map(|preset| preset.weak.keys());
    found.except(device::impossible(weak, &says));
    sink.terminal.progress().finish_and_clear();
    Some(found)
}

/// Of the same preset with several seeds. The parts are of the runs of all seeds.
fn of_preset(preset: String, reports: &[Report]) -> OfPreset {
    let runs = reports.iter().flat_map(|sink| &sink.tests).map(|test| test.finished).sum();
    let findings = reports.iter().flat_map(|sink| &sink.findings);
    let violations = findings.map(|found| format!("{}: {}", found.test, found.outcome)).collect();
    let tests = reports.iter().flat_map(|sink| &sink.tests);
    let open = tests.filter(|test| test.judgement == TestJudgement::Inconclusive);
    let broken = reports.iter().flat_map(|sink| &sink.errors);
    let undecided = open.map(|test| test.name.clone());
    let undecided = undecided.chain(broken.map(|broken| broken.test.clone())).collect();
    let mut weak: BTreeMap<String, Share> = BTreeMap::new();
    for test in reports.iter().flat_map(|sink| &sink.tests).filter(|test| test.finished > 0) {
        for (outcome, count) in weak_of(test) {
            weak.entry(format!("{}: {outcome}", test.name)).or_default().add(count, test.finished);
        }
    }
    let weak = weak.into_iter().map(|(name, share)| (name, share.rate())).collect();
    OfPreset { preset, seeds: reports.len() as u64, runs, violations, undecided, weak }
}

/// The weak outcomes that some model allows, and how often each was seen.
fn weak_of(test: &TestReport) -> BTreeMap<&str, u64> {
    let rows = test.results.iter().flat_map(|result| &result.rows);
    rows.filter(|row| row.kind == OutcomeKind::Weak)
        .map(|row| (row.outcome.as_str(), row.count))
        .collect()
}

/// Of the same fault with several seeds.
fn of_fault(fault: Fault, reports: &[Report]) -> OfFault {
    let mut tests: BTreeMap<String, Share> = BTreeMap::new();
    for test in reports.iter().flat_map(|sink| &sink.tests).filter(|test| test.finished > 0) {
        tests.entry(test.name.clone()).or_default().add(forbidden(test), test.finished);
    }
    let tests: BTreeMap<String, f64> = tests
        .into_iter()
        .filter(|(_, share)| share.count > 0)
        .map(|(name, share)| (name, share.rate()))
        .collect();
    let names = names(reports);
    let orders = orders(fault.breaks);
    let is_named = |order: &String| names.iter().flatten().any(|name| is_order(name, order));
    OfFault {
        fault: fault.name,
        breaks: fault.breaks,
        seeds: reports.len() as u64,
        found: reports.iter().filter(|sink| !sink.findings.is_empty()).count() as u64,
        tests,
        blamed: names.first().into_iter().flatten().map(|name| (*name).to_owned()).collect(),
        is_right: (!orders.is_empty()).then(|| orders.iter().any(is_named)),
    }
}

/// What reports blame: for each diagnosis and model, the orders of the model that were not kept; and last
/// [`OF_NO_EXECUTION`], if that was seen.
fn names(reports: &[Report]) -> Vec<Vec<&str>> {
    let diagnoses = reports.iter().flat_map(|report| &report.diagnoses);
    let models = diagnoses.flat_map(|diagnosis| &diagnosis.models);
    let lost = models.map(|model| model.dropped.iter().map(|lost| lost.name.as_str()).collect());
    let mut causes = reports.iter().flat_map(|report| &report.causes);
    let is_impossible = causes.any(|cause| cause.nature == Nature::Impossible);
    lost.chain(is_impossible.then(|| vec![OF_NO_EXECUTION])).collect()
}

/// Whether what a diagnosis names is this order, as `ippo+oppo[nrW, nrW]` is `[nrW, nrW]`, or a part of a
/// union that is made of it, as `[nlW]; pf in ob` is made of `pf`.
fn is_order(name: &str, order: &str) -> bool {
    let part = name.split_once(" in ").map(|(part, _)| part).unwrap_or_default();
    let is_of_name = |found: char| found.is_alphanumeric() || found == '-' || found == '_';
    name.ends_with(order) || part.split(|found| !is_of_name(found)).any(|word| word == order)
}

/// How many runs of a test showed what every model that judges it forbids, or one of them.
fn forbidden(test: &TestReport) -> u64 {
    let of = |result: &evidence::reports::data::ResultReport| -> u64 {
        let rows = result.rows.iter().filter(|row| row.judgement == Judgement::Violation);
        rows.map(|row| row.count).sum()
    };
    test.results.iter().map(of).max().unwrap_or(0)
}

/// What is in parentheses at the end of what a fault breaks: `(nrW, nrW)` as `[nrW, nrW]`, and `(rao)` as
/// `rao`. Several are separated by `or`.
fn orders(breaks: &str) -> Vec<String> {
    let Some((_, last)) = breaks.rsplit_once(" (") else { return Vec::new() };
    let each = last.trim_end_matches(')').split(" or ");
    each.map(|order| if order.contains(',') { format!("[{order}]") } else { order.to_owned() })
        .collect()
}

/// The outcomes that no preset showed.
fn never(presets: &[OfPreset]) -> Vec<String> {
    let Some(first) = presets.first() else { return Vec::new() };
    let is_never =
        |name: &&String| presets.iter().all(|preset| preset.weak.get(*name) == Some(&0.0));
    first.weak.keys().filter(is_never).cloned().collect()
}

/// A part of runs.
#[derive(Default)]
struct Share {
    count: u64,
    of: u64,
}

impl Share {
    fn add(&mut self, count: u64, of: u64) {
        self.count += count;
        self.of += of;
    }

    fn rate(&self) -> f64 {
        self.count as f64 / self.of.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::super::page;
    use super::*;

    fn found(undecided: &[&str], weak: &[(&str, f64)]) -> Found {
        let preset = OfPreset {
            preset: "fast".to_owned(),
            seeds: 1,
            runs: 10,
            violations: Vec::new(),
            undecided: undecided.iter().map(|name| (*name).to_owned()).collect(),
            weak: weak.iter().map(|(name, rate)| ((*name).to_owned(), *rate)).collect(),
        };
        let presets = vec![preset];
        let (never, impossible) = (never(&presets), BTreeSet::new());
        Found { schema: "litmus-power/1", presets, never, impossible, faults: Vec::new() }
    }

    #[test]
    fn what_no_device_shows_does_not_count_and_is_a_violation_if_it_is_seen() {
        let mut found = found(&[], &[("MP: a=1", 0.5), ("MP: a=2", 0.0), ("SB: a=1", 0.0)]);
        found.except(BTreeSet::from(["SB: a=1".to_owned()]));
        assert_eq!(found.exit(), Exit::Fine);
        let page = page::of(&found, 10);
        assert!(page.contains("| 3             | 2        | 1 (50 %) |"), "{page}");
        assert!(page.contains("with any of these, 1 outcome:\n\n- `MP: a=2`"), "{page}");
        assert!(page.contains("forbids it, 1 outcome:\n\n- `SB: a=1`"), "{page}");
        found.except(BTreeSet::from(["MP: a=1".to_owned()]));
        assert_eq!(found.exit(), Exit::Violation);
        let page = page::of(&found, 10);
        assert!(page.contains("| 3             | 2        | 0 (0 %) |"), "{page}");
    }

    #[test]
    fn a_diagnosis_names_an_order_or_a_part_made_of_it() {
        for (name, order, expected) in [
            ("pf", "pf", true),
            ("ippo+oppo[nrW, nrW]", "[nrW, nrW]", true),
            ("[nlW]; pf in ob", "pf", true),
            ("[nlW]; pfp in ob", "pf", false),
            ("oppo[nrW, nlW]", "[nrW, nrW]", false),
        ] {
            assert_eq!(is_order(name, order), expected, "{name}");
        }
    }

    #[test]
    fn a_test_that_is_not_decided_is_not_taken_for_right() {
        let found = |undecided: &[&str]| found(undecided, &[]);
        assert_eq!(found(&[]).exit(), Exit::Fine);
        assert_eq!(found(&["MP"]).exit(), Exit::Unknown);
        let page = page::of(&found(&["MP"]), 10);
        assert!(page.contains("Not decided with `fast`, 1 test:\n\n- `MP`"), "{page}");
    }
}
