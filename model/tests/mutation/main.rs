//! Is every axiom, table cell and part of every shipped model tested? Each is changed in turn, and a verdict
//! of some file of the suite must change with it: one named test per change. What no test can notice, because
//! the rest of the model implies it, is listed with the reason in `litmus-suite/implied.md`; an entry there
//! that some test does notice is stale, and fails.

mod changes;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, OnceLock};

use changes::Change;
use lang::Test;
use lang::cat::model::{Axiom, AxiomKind, Model};
use lang::source::Span;
use libtest_mimic::{Arguments, Failed, Trial};
use model::allowed::{Allowed, Options, Question};
use model::smt::Found;
use model::smt::theory::{Evaluation, Facts};
use model::{models, verdict};

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../litmus-suite");
    let tests = Arc::new(load_suite(&folder));
    assert!(!tests.is_empty(), "no litmus files below {}", folder.display());
    let mut implied = implied(&folder.join("implied.md"));
    let mut trials = Vec::new();
    for (name, _) in models::SHIPPED {
        let loaded = models::load_shipped(name).expect("shipped").expect("it loads");
        let suite = Arc::new(Suite::new(loaded.model, &tests));
        for index in 0..suite.changes.len() {
            let change = &suite.changes[index].name;
            let listed = implied.remove(&(name.to_string(), change.clone()));
            let title = format!("{name}::{change}");
            let suite = Arc::clone(&suite);
            trials.push(Trial::test(title, move || match (suite.noticed(index), listed) {
                (Some(_), false) | (None, true) => Ok(()),
                (None, false) => Err("no file of the suite notices this change".into()),
                (Some(test), true) => {
                    Err(format!("`{test}` notices this change: implied.md is stale").into())
                }
            }));
        }
    }
    for (model, change) in implied {
        let message = format!("implied.md lists `{change}` of `{model}`, which is no change");
        trials.push(Trial::test(format!("{model}::{change}"), move || Err(Failed::from(message))));
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// Every litmus file of the suite, checked.
fn load_suite(folder: &Path) -> Vec<Test> {
    let mut paths = Vec::new();
    collect(folder, &mut paths);
    paths.sort();
    let tests = paths.iter().map(|path| {
        let text = std::fs::read_to_string(path).expect("the suite is readable");
        let source = lang::source::Source::new(path.display().to_string(), text);
        // A file that does not load fails in the suite's own test.
        lang::litmus::load(&source).0
    });
    tests.flatten().collect()
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("the suite is readable").flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "litmus") {
            found.push(path);
        }
    }
}

/// The rows `| models | changes | reason |` of the list of what is implied: each model with each change.
/// Both columns quote what they name; rows that quote nothing are heads. A reason names an argument of the text.
fn implied(path: &Path) -> BTreeSet<(String, String)> {
    let text = std::fs::read_to_string(path).expect("the list is readable");
    let quoted = |cell: &str| -> Vec<String> {
        cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
    };
    let mut implied = BTreeSet::new();
    for row in text.lines().filter_map(|line| line.trim().strip_prefix('|')) {
        let cells: Vec<&str> = row.split('|').collect();
        let [models, changes, reason, ..] = cells[..] else { continue };
        for model in quoted(models) {
            let argument = reason.split(';').next().unwrap_or_default().trim();
            assert!(text.contains(&format!("- **{argument}**: ")), "no argument `{argument}`");
            for change in quoted(changes) {
                let new = implied.insert((model.clone(), change.clone()));
                assert!(new, "`{change}` of `{model}` is listed twice");
            }
        }
    }
    implied
}

/// A model, its changes, and the tests that name it.
struct Suite {
    model: Model,
    changes: Vec<Change>,
    cases: Vec<Case>,
    /// The cases, those first that noticed a change last: the next change is likely to be like it.
    order: Mutex<Vec<usize>>,
}

/// A test under a model.
struct Case {
    tests: Arc<Vec<Test>>,
    test: usize,
    /// What the unchanged model allows.
    allowed: OnceLock<Allowed>,
    /// For each change, whether the test has events that it is about.
    concerned: OnceLock<Vec<bool>>,
}

impl Suite {
    fn new(model: Model, tests: &Arc<Vec<Test>>) -> Self {
        let named = (0..tests.len()).filter(|test| tests[*test].models.contains(&model.name));
        let case = |test| Case {
            tests: Arc::clone(tests),
            test,
            allowed: OnceLock::new(),
            concerned: OnceLock::new(),
        };
        let cases: Vec<Case> = named.map(case).collect();
        let order = Mutex::new((0..cases.len()).collect());
        Self { changes: changes::of(&model), model, cases, order }
    }

    /// The name of a test of which some verdict does not hold after the change.
    fn noticed(&self, change: usize) -> Option<String> {
        let order = self.order.lock().expect("no one panics with it").clone();
        let notices = |case: &usize| {
            let case = &self.cases[*case];
            case.is_concerned(self, change) && case.notices(&self.model, &self.changes[change])
        };
        let case = order.into_iter().find(notices)?;
        let mut order = self.order.lock().expect("no one panics with it");
        order.retain(|other| *other != case);
        order.insert(0, case);
        Some(self.cases[case].test().name.clone())
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
                span: Span::default(),
            };
            model.axioms = suite.changes.iter().map(about).collect();
            let plan = Question::new(self.test(), &model, model::library::shipped(), None)
                .expect("the model fits")
                .plan;
            let values = Evaluation::new(&plan, Facts::all_events(&plan));
            plan.axioms.iter().map(|node| !values.value(*node).is_empty()).collect()
        });
        concerned[change]
    }

    fn notices(&self, model: &Model, change: &Change) -> bool {
        let test = self.test();
        let options = Options::default();
        let fails = |allowed: &Allowed| {
            let claims = verdict::check(test, &model.name, false, allowed);
            claims.iter().any(|claim| claim.holds() == Some(false))
        };
        let changed = Question::new(test, &change.model, model::library::shipped(), None)
            .expect("the model fits");
        if !change.allows_more {
            return fails(&changed.allowed(&options).expect("it can be encoded"));
        }
        let mut allowed = self
            .allowed
            .get_or_init(|| {
                let question = Question::new(test, model, model::library::shipped(), None)
                    .expect("the model fits");
                question.allowed(&options).expect("it can be encoded")
            })
            .clone();
        let mut session = changed.session(&options, |_| true).expect("it can be encoded");
        // What the model allows is still allowed: only what is new can change a verdict.
        allowed.outcomes.keys().for_each(|outcome| session.block(outcome));
        let within = session.within_bound();
        while let Found::Execution(execution) = session.find(&within) {
            session.block(&execution.outcome);
            allowed.outcomes.insert(execution.outcome.clone(), None);
            if fails(&allowed) {
                return true;
            }
        }
        false
    }
}
