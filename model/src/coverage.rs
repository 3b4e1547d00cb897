//! Finds what a suite tests: the changes of a model that make some of its verdicts wrong.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use compiler::library::Libraries;
use lang::Test;
use lang::cat::model::{Axiom, AxiomKind, Model};
use lang::source::Span;

use crate::allowed::{Allowed, Options, Question, undefined_calls};
use crate::asking::Refused;
use crate::changes::{self, Change};
use crate::generate::distinguish::Undecided;
use crate::smt::Next;
use crate::smt::solver::Answer;
use crate::smt::theory::{Evaluation, Facts};
use crate::verdict;

/// The list of changes to shipped models that no test can notice, with the reasons.
pub const IMPLIED: &str = include_str!("../../litmus-suite/implied.md");

/// A model, its changes, and the tests that have verdicts about it.
pub struct Suite {
    /// The model.
    pub model: Model,
    /// The changes of the model; see [`changes::of`].
    pub changes: Vec<Change>,
    /// The tests, smallest first.
    cases: Vec<Case>,
    /// The libraries that tests call.
    libraries: Libraries,
    is_own: bool,
}

/// A test of the suite.
struct Case {
    tests: Arc<Vec<Test>>,
    test: usize,
    /// What the unchanged model allows, when computed.
    allowed: OnceLock<Allowed>,
    /// For each change, whether the test has events that the change affects.
    concerned: OnceLock<Vec<bool>>,
}

impl Suite {
    /// The suite for a model: the tests with a verdict about the model. Tests with statements that the model
    /// does not define are left out. `is_own` says that the user gives the model as a file; then verdicts
    /// that name no model apply too.
    pub fn new(model: Model, tests: &Arc<Vec<Test>>, libraries: &Libraries, is_own: bool) -> Self {
        let speaks = |test: &Test| {
            undefined_calls(test, &model, libraries).is_empty()
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
        Self { changes: changes::of(&model), model, cases, libraries: libraries.clone(), is_own }
    }

    /// The number of tests with a verdict about the model.
    pub fn size(&self) -> usize {
        self.cases.len()
    }

    /// The name of the first test, smallest first, in which the change makes a verdict wrong.
    ///
    /// # Errors
    /// Fails if a limit was reached in some test, and no other test notices the change.
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

    fn notices(&self, case: usize, change: usize) -> Result<bool, Undecided> {
        let case = &self.cases[case];
        if !case.is_concerned(self, change) {
            return Ok(false);
        }
        case.notices(self, &self.changes[change])
    }
}

impl Case {
    fn test(&self) -> &Test {
        &self.tests[self.test]
    }

    /// Whether the relation that the change affects has any pair when all events happen.
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
            // If this cannot be determined, every change is tried.
            let asking = Question::of(self.test(), &model).libraries(&suite.libraries);
            let Ok(question) = asking.question() else {
                return vec![true; suite.changes.len()];
            };
            let plan = question.plan;
            let values = Evaluation::new(&plan, Facts::all_events(&plan));
            plan.axioms.iter().map(|node| !values.value(*node).is_empty()).collect()
        });
        concerned[change]
    }

    /// What the model allows without a change. It is kept, unless a limit was reached: another change has a
    /// limit of its own.
    fn before(&self, suite: &Suite) -> Result<Allowed, Refused> {
        if let Some(allowed) = self.allowed.get() {
            return Ok(allowed.clone());
        }
        let asking = Question::of(self.test(), &suite.model).libraries(&suite.libraries);
        let allowed = asking.question()?.allowed(&Options::default())?;
        if allowed.complete.is_some() || allowed.is_beyond_bound {
            self.allowed.get_or_init(|| allowed.clone());
        }
        Ok(allowed)
    }

    fn notices(&self, suite: &Suite, change: &Change) -> Result<bool, Undecided> {
        let Suite { model, libraries, is_own, .. } = suite;
        let test = self.test();
        let options = Options::default();
        let fails = |allowed: &Allowed| {
            let claims = verdict::check(test, &model.name, *is_own, allowed);
            claims.iter().any(|claim| claim.holds() == Some(false))
        };
        let changed = match Question::of(test, &change.model).libraries(libraries).question() {
            Ok(changed) => changed,
            Err(why) => return unless_limit(why),
        };
        // A change that removes something can also remove the reason why values were undefined.
        if !change.allows_more || model.has_undefined_values() {
            return match changed.allowed(&options) {
                Ok(allowed) if fails(&allowed) => Ok(true),
                Ok(allowed) => whole(&allowed).map(|()| false),
                Err(why) => unless_limit(why),
            };
        }
        let mut allowed = match self.before(suite) {
            Ok(allowed) => allowed,
            Err(why) => return unless_limit(why),
        };
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

/// Checks that all outcomes are known.
fn whole(allowed: &Allowed) -> Result<(), Undecided> {
    if allowed.complete.is_some() {
        return Ok(());
    }
    Err(Undecided(allowed.reason.clone().unwrap_or_default()))
}

/// If the engine has no answer for a test, the test does not notice the change. But if a limit was reached,
/// it is undecided.
fn unless_limit(why: Refused) -> Result<bool, Undecided> {
    match why {
        Refused::Limit(reached) => Err(Undecided(reached.to_string())),
        _ => Ok(false),
    }
}

/// Changes of models that nothing can notice, by the names of model and change, with the reason.
pub type Implied = BTreeMap<(String, String), String>;

/// Reads a table with the columns `| models | changes | reason |`: the reason applies to each of the models
/// with each of the changes. The first two columns quote names; rows without quotes are headings. A reason
/// names an argument in the text around the table.
///
/// # Errors
/// Reports what is wrong with the list.
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
