//! Every test of the suite that `litmus compile --target herd` writes, read again: under `tso` it has the
//! outcomes of the original, and its question is answered as the test claims. One named test per file of the
//! suite: the others must be refused.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use lang::Test;
use lang::herd::{self, Written};
use lang::limits::Limits;
use lang::outcome::Value;
use lang::source::Source;
use libtest_mimic::{Failed, Trial};
use model::allowed::{Allowed, Options, Question};
use model::{models, verdict};

const TIME_LIMIT: Duration = Duration::from_secs(60);

/// Tests of one node that have no form, and a part of the reason.
const WITHOUT: &[(&str, &str)] = &[
    ("control-flow/Lock+cas-loops.litmus", "a loop"),
    ("cpu-classics/FAA+faas.litmus", "a fetch-and-add whose result is used"),
];

/// One for each file of the suite.
pub fn trials() -> Vec<Trial> {
    let suite = Path::new(env!("CARGO_MANIFEST_DIR")).join("../litmus-suite");
    let files = crate::files::below(&suite);
    assert!(!files.is_empty(), "no litmus files below {}", suite.display());
    let mut names = BTreeSet::new();
    let mut trials = Vec::new();
    for file in files {
        let name = file.strip_prefix(&suite).unwrap_or(&file).display().to_string();
        names.insert(name.clone());
        trials.push(Trial::test(format!("herd::{name}"), move || run(&name, &file)));
    }
    for (name, _) in WITHOUT {
        assert!(names.contains(*name), "no test {name}, which has no form");
    }
    trials
}

fn run(name: &str, file: &Path) -> Result<(), Failed> {
    let text = std::fs::read_to_string(file)?;
    let (test, _) =
        lang::litmus::load_with(&Source::new(name, text), model::library::shipped().words());
    let test = test.ok_or("the test does not load")?;
    let known = WITHOUT.iter().find(|(known, _)| *known == name).map(|(_, reason)| *reason);
    match (herd::write(&test), known) {
        (Ok(_), Some(reason)) => Err(format!("is written, in spite of {reason}").into()),
        (Ok(_), None) if test.program.nodes > 1 => Err("is written, in spite of its nodes".into()),
        (Ok(written), None) => round_trip(&test, &written),
        (Err(error), Some(reason)) if error.message.contains(reason) => Ok(()),
        (Err(_), None)
            if test.program.nodes > 1 || test.models.iter().all(|name| name != "tso") =>
        {
            Ok(())
        }
        (Err(error), _) => Err(error.message.into()),
    }
}

fn round_trip(test: &Test, written: &Written) -> Result<(), Failed> {
    let source = Source::new("written.litmus", written.text.as_str());
    let (again, diagnostics) = herd::load(&source);
    let again = again.ok_or_else(|| {
        let report: String = diagnostics.iter().map(|one| one.render(&source, false)).collect();
        format!("{}\n{report}", written.text)
    })?;
    let (before, found) = (allowed(test)?, allowed(&again)?);
    let mut places = Vec::new();
    for (at, name) in written.names.iter().enumerate() {
        match again.observables.iter().position(|observable| observable.name == *name) {
            Some(found) => places.push((at, found)),
            // A verdict that is left out may name what nothing else does.
            None if at >= test.shown => {}
            None => return Err(format!("{name} is not shown\n{}", written.text).into()),
        }
    }
    let (mine, theirs): (Vec<usize>, Vec<usize>) = places.into_iter().unzip();
    let (before, after) = (project(&before, &mine), project(&found, &theirs));
    if before != after {
        return Err(format!("{before:?} became {after:?}\n{}", written.text).into());
    }
    if again.expectations.len() != 1 {
        return Err(format!("expected one question\n{}", written.text).into());
    }
    for claim in verdict::check(&again, "tso", false, &found) {
        if claim.answer() != Some("Ok") {
            return Err(format!("{}: found {}", claim.condition, claim.verdict.name()).into());
        }
    }
    Ok(())
}

fn allowed(test: &Test) -> Result<Allowed, Failed> {
    let model = models::load_shipped("tso").ok_or("no model `tso`")?;
    let model = model.map_err(|_| "the model does not load")?.model;
    let failed = |refused: model::asking::Refused| Failed::from(refused.text());
    let question = Question::of(test, &model).question().map_err(failed)?;
    let options = Options { limits: Limits::of_time(TIME_LIMIT), ..Options::default() };
    let allowed = question.allowed(&options).map_err(failed)?;
    if allowed.complete.is_none() {
        return Err("a limit was hit".into());
    }
    Ok(allowed)
}

fn project(allowed: &Allowed, places: &[usize]) -> BTreeSet<Vec<Value>> {
    allowed
        .outcomes
        .iter()
        .map(|outcome| places.iter().map(|place| outcome.0[*place]).collect())
        .collect()
}
