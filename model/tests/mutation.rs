//! Is every axiom, table cell and part of every shipped model tested? Each is changed in turn, and a verdict
//! of some file of the suite must change with it: one named test per change. What no test can notice, because
//! the rest of the model implies it, is listed with the reason in `litmus-suite/implied.md`; an entry there
//! that some test does notice is stale, and fails.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use lang::Test;
use lang::cat::Loaded;
use libtest_mimic::{Failed, Trial};
use model::changes::{self, Change};
use model::coverage::{IMPLIED, Suite, implied};
use model::models;

/// One for each change of each shipped model.
pub fn trials() -> Vec<Trial> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../litmus-suite");
    let tests = Arc::new(load_suite(&folder));
    assert!(!tests.is_empty(), "no litmus files below {}", folder.display());
    let mut implied = implied(IMPLIED).expect("the list is well formed");
    let mut trials = Vec::new();
    for (name, _) in models::SHIPPED {
        let loaded = models::load_shipped(name).expect("shipped").expect("it loads");
        let inherited = inherited(&loaded);
        let suite = Arc::new(Suite::new(loaded.model, &tests, model::library::shipped(), false));
        for index in 0..suite.changes.len() {
            if inherited.contains(&described(&suite.changes[index])) {
                continue;
            }
            let change = &suite.changes[index].name;
            let listed = implied.remove(&(name.to_string(), change.clone())).is_some();
            let title = format!("mutation::{name}::{change}");
            let suite = Arc::clone(&suite);
            trials.push(Trial::test(title, move || match (suite.noticed(index), listed) {
                (Ok(Some(_)), false) | (Ok(None), true) => Ok(()),
                (Err(undecided), _) => Err(undecided.0.into()),
                (Ok(None), false) => Err("no file of the suite notices this change".into()),
                (Ok(Some(test)), true) => {
                    Err(format!("`{test}` notices this change: implied.md is stale").into())
                }
            }));
        }
    }
    for (model, change) in implied.into_keys() {
        let message = format!("implied.md lists `{change}` of `{model}`, which is not a change");
        trials.push(Trial::test(format!("mutation::{model}::{change}"), move || {
            Err(Failed::from(message))
        }));
    }
    trials
}

/// The changes of a model of messages or of a network that are changes of a model that it includes.
fn inherited(loaded: &Loaded) -> BTreeSet<String> {
    if !loaded.includes("rdma-verbs") {
        return BTreeSet::new();
    }
    let own = format!("{}.cat", loaded.model.name);
    let others = loaded.sources.iter().filter(|source| source.name != own);
    let models = others.map(|source| {
        let name = source.name.trim_end_matches(".cat");
        models::load_shipped(name).expect("shipped").expect("it loads").model
    });
    models.flat_map(|model| changes::of(&model)).map(|change| described(&change)).collect()
}

/// A change in words, with the names that definitions have before `replace` gives them others.
fn described(change: &Change) -> String {
    change.described().replace('\'', "")
}

/// Every litmus file of the suite, checked.
fn load_suite(folder: &Path) -> Vec<Test> {
    let paths = crate::files::below(folder);
    let tests = paths.iter().map(|path| {
        let text = std::fs::read_to_string(path).expect("the suite is readable");
        let source = lang::source::Source::new(path.display().to_string(), text);
        // A file that does not load fails in the suite's own test.
        lang::litmus::load_with(&source, model::library::shipped().words()).0
    });
    tests.flatten().collect()
}
