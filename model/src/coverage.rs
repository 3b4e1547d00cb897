//! What a suite tests: which changes of a model make some verdict of it wrong.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use lang::Test;
use lang::cat::model::{Axiom, AxiomKind, Model};
use lang::diagnostic::Diagnostic;
use lang::source::Span;

use crate::allowed::{Allowed, LIMIT, Options, Question, undefined_calls};
use crate::changes::{self, Change};
use crate::generate::distinguish::Undecided;
use crate::smt::Next;
use crate::smt::solver::Answer;
use crate::smt::theory::{Evaluation, Facts};
use crate::verdict;

/// What no test can notice of the shipped models, and why.
pub const IMPLIED: &str = include_str!("../../litmus-suite/implied.md");

/// A model, its changes, and the tests that speak of it.
pub struct Suite {
    /// The model.
    pub model: Model,
    /// Its changes, see [`changes::of`].
    pub changes: Vec<Change>,
    /// The smallest first.
    cases: Vec<Case>,
    is_own: bool,
}

/// A test under a model.
struct Case {
    tests: Arc<Vec<Test>>,
    test: usize,
    /// What the unchanged model allows.
    allowed: OnceLock<Option<Allowed>>,
    /// For each change, whether the test has events that it is about.
    concerned: OnceLock<Vec<bool>>,
}

impl Suite {
    /// The suite of those tests of which some verdict speaks of the model; of a model that the user gives as a
    /// file (`is_own`), all of whose statements the model defines.
    pub fn new(model: Model, tests: &Arc<Vec<Test>>, is_own: bool) -> Self {
        let speaks = |test: &Test| {
            undefined_calls(test, &model, crate::library::shipped()).is_empty()
                && test
                    .expectations
                    .iter()
                    .filter(|claim| !claim.is_question)
                    .any(|claim| verdict::applies(test, claim, &model.name, is_own))
        };
        let case = |test| Case {
            tests: Arc::clone(tests),
            test,
            allowed: OnceLock::new(),
            concerned: OnceLock::new(),
        };
        let mut cases: Vec<Case> =
            (0..tests.len()).filter(|test| speaks(&tests[*test])).map(case).collect();
        let size = |case: &Case| {
            case.test().program.threads.iter().map(|thread| thread.body.len()).sum::<usize>()
        };
        cases.sort_by_key(size);
        Self { changes: changes::of(&model), model, cases, is_own }
    }

    /// How many tests speak of the model.
    pub fn size(&self) -> usize {
        self.cases.len()
    }

    /// The name of the first of the smallest tests of which some verdict does not hold after the change.
    ///
    /// # Errors
    /// A limit kept some test from saying, and no other notices.
    pub fn noticed(&self, change: usize) -> Result<Option<String>, Undecided> {
        let mut undecided = None;
        for case in 0..self.cases.len() {
            match self.notices(case, change) {
                Ok(true) => return Ok(Some(self.cases[case].test().name.clone())),
                Ok(false) => {}
                Err(Undecided(why)) => {
                    let name = &self.cases[case].test().name;
                    undecided.get_or_insert_with(|| Undecided(format!("{name}: {why}")));
                }
            }
        }
        undecided.map_or(Ok(None), Err)
    }

    /// The names of all tests that are known to notice, the smallest first.
    pub fn all_that_notice(&self, change: usize) -> Vec<String> {
        let noticing = (0..self.cases.len()).filter(|case| self.notices(*case, change) == Ok(true));
        noticing.map(|case| self.cases[case].test().name.clone()).collect()
    }

    fn notices(&self, case: usize, change: usize) -> Result<bool, Undecided> {
        let case = &self.cases[case];
        if !case.is_concerned(self, change) {
            return Ok(false);
        }
        case.notices(&self.model, &self.changes[change], self.is_own)
    }
}

impl Case {
    fn test(&self) -> &Test {
        &self.tests[self.test]
    }

    /// Whether anything is in the relation that the change is about, were all events to happen.
    fn is_concerned(&self, suite: &Suite, change: usize) -> bool {
        let concerned = self.concerned.get_or_init(|| {
            let mut model = suite.model.clone();
            let about = |change: &Change| Axiom {
                name: change.name.clone(),
                kind: AxiomKind::Empty,
                body: change.about.clone(),
                comment: None,
                span: Span::default(),
            };
            model.axioms = suite.changes.iter().map(about).collect();
            // Where this cannot be told, every change is tried.
            let Ok(question) = Question::new(self.test(), &model, crate::library::shipped(), None)
            else {
                return vec![true; suite.changes.len()];
            };
            let plan = question.plan;
            let values = Evaluation::new(&plan, Facts::all_events(&plan));
            plan.axioms.iter().map(|node| !values.value(*node).is_empty()).collect()
        });
        concerned[change]
    }

    fn notices(&self, model: &Model, change: &Change, is_own: bool) -> Result<bool, Undecided> {
        let test = self.test();
        let options = Options::default();
        let fails = |allowed: &Allowed| {
            let claims = verdict::check(test, &model.name, is_own, allowed);
            claims.iter().any(|claim| claim.holds() == Some(false))
        };
        let libraries = crate::library::shipped();
        let changed = match Question::new(test, &change.model, libraries, None) {
            Ok(changed) => changed,
            Err(why) => return unless_limit(why),
        };
        // What a change takes from a model may also be what made values undefined.
        if !change.allows_more || model.has_undefined_values() {
            return match changed.allowed(&options) {
                Ok(allowed) if fails(&allowed) => Ok(true),
                Ok(allowed) => whole(&allowed).map(|()| false),
                Err(why) => unless_limit(why),
            };
        }
        let before = || {
            let question = Question::new(test, model, libraries, None).ok()?;
            question.allowed(&options).ok()
        };
        let Some(mut allowed) = self.allowed.get_or_init(before).clone() else { return Ok(false) };
        whole(&allowed)?;
        let mut session = match changed.session(&options, |_| true) {
            Ok(session) => session,
            Err(why) => return unless_limit(why),
        };
        let within = session.counted();
        for outcome in &allowed.outcomes {
            session.block(outcome);
        }
        let mut is_noticed = false;
        let answer = session.each(&within, &mut |at| {
            allowed.outcomes.insert(at.outcome());
            is_noticed = fails(&allowed);
            if is_noticed { Next::Stop } else { Next::OtherOutcome }
        });
        match answer {
            Answer::Unknown if !is_noticed => Err(Undecided(session.why_unknown())),
            _ => Ok(is_noticed),
        }
    }
}

/// Whether all outcomes are known, but for those of longer loops: a verdict that is unknown because of them is not wrong.
fn whole(allowed: &Allowed) -> Result<(), Undecided> {
    if allowed.complete || allowed.is_beyond_bound {
        return Ok(());
    }
    Err(Undecided(allowed.reason.clone().unwrap_or_default()))
}

/// A test of which an engine cannot say anything does not notice a change; one that was cut off by a limit may.
fn unless_limit(why: Vec<Diagnostic>) -> Result<bool, Undecided> {
    let limit = why.into_iter().find(|found| found.code == LIMIT);
    limit.map_or(Ok(false), |found| Err(Undecided(found.message)))
}

/// Changes of models that nothing can notice, each with the reason: by the names of model and change.
pub type Implied = BTreeMap<(String, String), String>;

/// The rows `| models | changes | reason |` of a list of what is implied: each model with each change.
/// Both columns quote what they name; rows that quote nothing are heads. A reason names an argument of the text.
///
/// # Errors
/// What is wrong with the list.
pub fn implied(text: &str) -> Result<Implied, String> {
    let quoted = |cell: &str| -> Vec<String> {
        cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
    };
    let mut implied = Implied::new();
    for row in text.lines().filter_map(|line| line.trim().strip_prefix('|')) {
        let cells: Vec<&str> = row.split('|').collect();
        let [models, changes, reason, ..] = cells[..] else { continue };
        for model in quoted(models) {
            let argument = reason.split(';').next().unwrap_or_default().trim();
            if !text.contains(&format!("- **{argument}**: ")) {
                return Err(format!("no argument `{argument}`"));
            }
            for change in quoted(changes) {
                let key = (model.clone(), change.clone());
                if implied.insert(key, reason.trim().to_owned()).is_some() {
                    return Err(format!("`{change}` of `{model}` is listed twice"));
                }
            }
        }
    }
    Ok(implied)
}
