//! The schema of what is printed, and edits that do what they say.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;
use std::sync::Arc;

use model::allowed::Options;
use model::repair::Repair as Asked;
use serde_json::{Value as Json, json};

use super::*;
use crate::problem::Reported;
use crate::sink::Skip;

/// What `litmus repair --format json` prints.
#[derive(schemars::JsonSchema)]
#[allow(dead_code, reason = "its schema is used alone")]
struct Document {
    /// `litmus-repair/1`.
    schema: String,
    /// By file and group of models.
    results: Vec<OfFile>,
    errors: Vec<Reported>,
    warnings: Vec<Reported>,
    /// Tests that were not looked at, and why.
    skipped: Vec<Skip>,
}

// Not in normal form: the columns are narrow, a character has several bytes, and no line break ends it.
const GETS: &str = "litmus t\nmodel rdma-tso-rmw\nx = 0, y = 0 || v = 1, w = 1\n---\nx := v^2 || // d’abord\ny := w^2 ||\na := y ||\n\na = 0 ✗";

fn of(text: &str, weaken: bool) -> OfModels {
    let source = Arc::new(Source::new("t.litmus", text));
    let libraries = model::library::shipped();
    let (file, wrong) = lang::litmus::parse(&source, libraries.words());
    let file = file.unwrap_or_else(|| panic!("{wrong:?}"));
    let model = model::models::load_shipped("rdma-tso-rmw").unwrap().unwrap().model;
    let repair = Asked {
        file: &file,
        source: &source,
        libraries,
        models: vec![(&model, false)],
        forbid: None,
        kinds: Kind::ALL.iter().map(|(kind, _)| *kind).collect(),
        size: 2,
        options: Options::default(),
    };
    let found = match weaken {
        true => Found::Weakened(repair.weaken().unwrap()),
        false => {
            let answer = repair.find().unwrap();
            let neighbors = repair.neighbors(&answer).unwrap();
            Found::Repairs { answer, size: 2, claims: true, neighbors }
        }
    };
    let (test, name) = ("t".to_owned(), "t.litmus".to_owned());
    let normal = lang::litmus::print(&file);
    OfModels {
        test,
        file: name,
        models: vec![model.name],
        waits_differ: false,
        found,
        normal,
        source,
    }
}

/// A text after edits, as an editor makes them.
fn edited(text: &str, edits: &Json) -> String {
    let number = |edit: &Json, name: &str| edit[name].as_u64().unwrap();
    let offset = |line: u64, column: u64| {
        let before: usize = text.split_inclusive('\n').take(line as usize - 1).map(str::len).sum();
        let after: usize =
            text[before..].chars().take(column as usize - 1).map(char::len_utf8).sum();
        before + after
    };
    let mut changed = text.to_owned();
    for edit in edits.as_array().unwrap().iter().rev() {
        let start = offset(number(edit, "line"), number(edit, "column"));
        let end = offset(number(edit, "end_line"), number(edit, "end_column"));
        changed.replace_range(start..end, edit["text"].as_str().unwrap());
    }
    changed
}

#[test]
fn repairs_fit_their_schema() {
    let schema = schemars::schema_for!(Document);
    let text = serde_json::to_string_pretty(&schema).unwrap() + "\n";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/schemas/litmus-repair-1.json");
    if std::env::var_os("LITMUS_BLESS").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let known = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(known == text, "the schema is not what the code says; LITMUS_BLESS=1 makes it anew");
    let tight = "litmus t\nmodel rdma-tso-rmw\n\nx = 0 || v = 1\n---\nx := v^2 ||\nPoll(2) ||\nMfence ||\na := x ||\n\na = 0 ✗\n";
    let results = [of(GETS, false), of(tight, true), of(GETS, true)];
    let results: Vec<Json> = results.iter().map(|one| json!(one.json(&Costs::default()))).collect();
    let document = json!({
        "schema": "litmus-repair/1", "results": results,
        "errors": [], "warnings": [], "skipped": [],
    });
    let parsed = serde_json::from_str(&text).unwrap();
    let validator = jsonschema::validator_for(&parsed).unwrap();
    if let Err(error) = validator.validate(&document) {
        panic!("{error} at {}", error.instance_path());
    }
    assert_eq!(results[1]["may_go"][0]["removed"][0]["line"], 8, "{}", results[1]);
    assert_eq!(results[1]["may_go"][0]["removed"][0]["kind"], "mfence");
    assert_eq!(
        edited(tight, &results[1]["may_go"][0]["edits"]),
        results[1]["may_go"][0]["program"]
    );
}

#[test]
fn edits_of_the_file_make_the_repaired_program() {
    let found = json!(of(GETS, false).json(&Costs::default()));
    assert!(found["complete"] == true && found["right"] == false, "{found}");
    let repairs = found["repairs"].as_array().unwrap();
    assert!(repairs.len() > 1, "{found}");
    for repair in repairs {
        assert_eq!(edited(GETS, &repair["edits"]), repair["program"]);
        assert_eq!(repair["explanation"]["verdict"], "forbidden");
        for change in repair["changes"].as_array().unwrap() {
            // What is added stands behind a statement; what changes is a statement.
            let line = change["line"].as_u64().unwrap();
            assert!((5..8).contains(&line), "{change}");
        }
    }
}
