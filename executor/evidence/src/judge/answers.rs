//! Judging, where each model is asked once about each program.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex};

use compiler::library::{Depth, Libraries, inline};
use lang::Test;
use lang::cat::model::Model;
use lang::mutex::lock;
use lang::outcome::Outcome;
use model::allowed::Allowed;
use model::machine::{self, Variant};

use super::{Forbids, Judge, JudgedTest, ModelSays, NotJudged, weigh};
use crate::observation::Observations;
use crate::record::{LibraryText, NodeInfo, unjudgeable};

/// Asks what a model allows of a test that may use libraries.
type Ask<'a> = dyn Fn(&Test, &Model, &Libraries) -> Result<ModelSays, NotJudged> + Send + Sync + 'a;

/// A program that models are asked about.
pub struct Program<'a> {
    test: &'a Test,
    libraries: &'a Libraries,
    /// What tests with the same outcomes have in common.
    pub body: String,
    unjudgeable: Option<String>,
    /// Whether real machines ran it.
    is_of_machines: bool,
}

/// What a model says about a test that was run.
pub struct JudgedBy {
    /// The model.
    pub judge: Arc<Judge>,
    /// What it allows, as far as that is known.
    pub allowed: Arc<Allowed>,
    /// Whether it forbids anything.
    pub forbids: Forbids,
    /// What it says about what was observed.
    pub judged: JudgedTest,
    /// Whether an outcome showed that threads of real machines overlapped: one that no order of whole threads
    /// gives. `None` if the model allows no such outcome, or if that is not known.
    pub overlapped: Option<bool>,
}

/// What models say about programs. Tests with the same program share an answer.
pub struct Answers<'a> {
    ask: Box<Ask<'a>>,
    /// Whether answers are kept.
    keeps: bool,
    says: Mutex<HashMap<(String, String), ModelSays>>,
    sc: Mutex<HashMap<String, Option<Arc<BTreeSet<Outcome>>>>>,
    serial: Mutex<HashMap<String, Option<Arc<BTreeSet<Outcome>>>>>,
}

impl<'a> Program<'a> {
    /// A test with its text, the libraries that it uses, and the machines that ran it.
    pub fn new(
        (test, text): (&'a Test, &str),
        (libraries, texts): (&'a Libraries, &[LibraryText]),
        nodes: &[NodeInfo],
    ) -> Self {
        let (body, unjudgeable) = (body(text, texts), unjudgeable(nodes));
        Self { test, libraries, body, unjudgeable, is_of_machines: !nodes.is_empty() }
    }
}

/// A program without its name, title and comments: tests that differ in nothing else have the same outcomes.
/// The texts of libraries count too.
fn body(program: &str, libraries: &[LibraryText]) -> String {
    let code =
        |line: &'_ str| line.split_once("//").map_or(line, |(code, _)| code).trim_end().to_owned();
    let lines = program.lines().skip(1).map(code);
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('"'));
    let libraries = libraries.iter().map(|library| library.hash.clone());
    libraries.chain(lines).collect::<Vec<_>>().join("\n")
}

impl<'a> Answers<'a> {
    /// No model was asked yet.
    pub fn new(
        ask: impl Fn(&Test, &Model, &Libraries) -> Result<ModelSays, NotJudged> + Send + Sync + 'a,
    ) -> Self {
        let (says, sc, serial) = Default::default();
        Self { ask: Box::new(ask), keeps: true, says, sc, serial }
    }

    /// Whether answers are kept for later, which takes memory for each program. By default they are.
    #[must_use]
    pub fn keeping(self, keeps: bool) -> Self {
        Self { keeps, ..self }
    }

    /// Judges what was observed of a program.
    ///
    /// # Errors
    /// Why the model does not judge it.
    pub fn judge(
        &self,
        program: &Program<'_>,
        judge: &Arc<Judge>,
        seen: &Observations,
    ) -> Result<JudgedBy, NotJudged> {
        let ModelSays { allowed, forbids } = self.says(program, judge)?;
        let judged = weigh(&allowed, seen);
        // A violation is a violation, even if it is not known whether the model forbids something.
        let is_violated = judged.violations().next().is_some();
        let forbids = if is_violated { Forbids::Something } else { forbids };
        let overlapped = self.overlapped(program, &allowed, seen);
        Ok(JudgedBy { judge: Arc::clone(judge), allowed, forbids, judged, overlapped })
    }

    /// As [`JudgedBy::overlapped`].
    fn overlapped(
        &self,
        program: &Program<'_>,
        allowed: &Allowed,
        seen: &Observations,
    ) -> Option<bool> {
        if !program.is_of_machines || seen.finished() == 0 {
            return None;
        }
        let serial = self.serial(program)?;
        let was_seen = |outcome: &Outcome| seen.outcomes.get(outcome).is_some_and(|n| *n > 0);
        if seen.outcomes.keys().any(|outcome| was_seen(outcome) && !serial.contains(outcome)) {
            return Some(true);
        }
        let is_serial =
            |known: &Outcome| serial.iter().any(|one| one == known || known.covers(one));
        allowed.outcomes.iter().any(|known| !is_serial(known)).then_some(false)
    }

    /// What whole threads show, one after another.
    fn serial(&self, program: &Program<'_>) -> Option<Arc<BTreeSet<Outcome>>> {
        if let Some(known) = lock(&self.serial).get(&program.body) {
            return known.clone();
        }
        let runnable = inline(program.test, program.libraries, Depth::Full).ok();
        let found = runnable.and_then(|test| machine::serial(&test)).map(Arc::new);
        if self.keeps {
            lock(&self.serial).insert(program.body.clone(), found.clone());
        }
        found
    }

    /// What a model says about a program.
    ///
    /// # Errors
    /// Why it says nothing.
    pub fn says(&self, program: &Program<'_>, judge: &Judge) -> Result<ModelSays, NotJudged> {
        if let Some(reason) = program.unjudgeable.as_ref().filter(|_| !judge.is_own) {
            return Ok(ModelSays::unknown(reason.clone()));
        }
        let key = (program.body.clone(), judge.identity.hash.clone());
        if let Some(known) = lock(&self.says).get(&key) {
            return Ok(known.clone());
        }
        let says = (self.ask)(program.test, &judge.model, program.libraries)?;
        if self.keeps {
            lock(&self.says).insert(key, says.clone());
        }
        Ok(says)
    }

    /// What the sequentially consistent machine shows. It only colors histograms, so exploring it is good
    /// enough.
    pub(crate) fn sequential(&self, program: &Program<'_>) -> Option<Arc<BTreeSet<Outcome>>> {
        if let Some(known) = lock(&self.sc).get(&program.body) {
            return known.clone();
        }
        let variant = Variant::from_name("sc")?;
        let limits = machine::Limits { states: 100_000, ..machine::Limits::default() };
        let found = machine::explore(program.test, variant, limits).ok();
        let found = found.filter(|found| found.complete);
        let found = found.map(|found| Arc::new(found.outcomes.into_iter().collect()));
        lock(&self.sc).insert(program.body.clone(), found.clone());
        found
    }
}
