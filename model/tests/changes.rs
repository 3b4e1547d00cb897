//! What changes of models are called, and which of them no program can notice.
#![allow(clippy::unwrap_used, reason = "a test's helpers fail by panicking")]

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use lang::Test;
use lang::cat::model::Model;
use lang::source::Source;
use model::changes::{self, Change};
use model::coverage::Suite;
use model::models::{SHIPPED, load_shipped};

fn model_of(text: &str) -> Model {
    crate::programs::model_of("own.cat", text)
}

fn names(model: &Model, is_it: impl Fn(&Change) -> bool) -> BTreeSet<String> {
    let all = changes::of(model).into_iter().filter(is_it);
    all.map(|change| change.name).collect()
}

/// Without remote RMWs, the model with them has the holes of the model without.
#[test]
fn what_uncalled_statements_need_is_impossible() {
    let own = model_of("include \"rdma-tso-rmw\"\nuncall RCAS RFAA\n");
    let possible = names(&own, |change| change.is_possible(&own));
    for name in &possible {
        assert!(
            !name.contains("narR") && !name.contains("narW") && !name.contains("rao"),
            "{name}"
        );
    }
    let without = load_shipped("rdma-tso").unwrap().unwrap().model;
    let cell = |name: &&String| name.contains('[');
    let cells: BTreeSet<&String> = possible.iter().filter(cell).collect();
    let expected = names(&without, |_| true);
    assert_eq!(cells, expected.iter().filter(cell).collect());
    // Puts alone.
    let puts =
        model_of("include \"rdma-tso-rmw\"\nuncall Get RCAS RFAA Rfence Poll CAS FAA Mfence\n");
    for name in names(&puts, |change| change.is_possible(&puts)) {
        let words = ["nrR", "nlW", "nF", "[P", "P]", "CAS", "[F", "F]", "pf"];
        assert!(words.iter().all(|word| !name.contains(word)), "{name}");
    }
}

/// Nothing that a test notices is said to be impossible.
#[test]
fn what_is_noticed_is_possible() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../litmus-suite");
    let mut tests: Vec<Test> = Vec::new();
    for folder in ["cells", "corerma", "cpu-classics", "poll-wait", "remote-rmw", "rfence"] {
        for entry in std::fs::read_dir(root.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            let text = std::fs::read_to_string(&path).unwrap();
            let source = Source::new(path.to_string_lossy().into_owned(), text);
            tests.extend(lang::litmus::load_with(&source, model::library::shipped().words()).0);
        }
    }
    let tests = Arc::new(tests);
    let mut impossible = 0;
    for (name, _) in SHIPPED {
        let model = load_shipped(name).unwrap().unwrap().model;
        let suite = Suite::new(model.clone(), &tests, model::library::shipped(), false);
        for (index, change) in suite.changes.iter().enumerate() {
            if !change.is_possible(&model) {
                impossible += 1;
                assert_eq!(suite.noticed(index), Ok(None), "{name}: {}", change.name);
            }
        }
    }
    assert!(impossible > 0);
}

#[test]
fn parts_are_shown() {
    let model = load_shipped("rdma-tso").unwrap().unwrap().model;
    let all: Vec<String> = changes::of(&model).iter().map(Change::described).collect();
    for expected in [
        "drop part 3 of ib (pf)",
        "drop part 3 of ob ([nlW]; pf)",
        "drop part 2 of nfo (nrR * nrW)",
        "drop issued-before",
        "drop [nrW, nrW]",
    ] {
        assert!(all.iter().any(|name| name == expected), "{expected}: {all:#?}");
    }
}
