//! Renamed copies of shipped models are as good as these.

use std::collections::BTreeSet;
use std::path::Path;

use lang::cat::model::DefinitionKind;
use serde_json::Value;

use super::{is_statement, loaded, renamed, root};

/// Names by which the language itself reads a model.
const READ: [&str; 6] = ["mo", "so", "ppo", "hb", "undefined-reads", "undefined-writes"];

/// The names that a model defines.
fn defined(name: &str) -> BTreeSet<String> {
    let model = loaded(name);
    let mut names: BTreeSet<String> = model.axioms.iter().map(|axiom| axiom.name.clone()).collect();
    for definition in &model.definitions {
        names.extend(definition.name().map(str::to_owned));
        if let DefinitionKind::Rec(bodies) = &definition.kind {
            names.extend(bodies.iter().map(|body| body.name.clone()));
        }
    }
    names.retain(|name| !READ.contains(&name.as_str()) && *name != "rb" && !is_statement(name));
    names
}

fn is_part(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

/// What a command prints, with names as they were: of the model's, and its own.
fn printed(arguments: &[&str], model: &str, names: &BTreeSet<String>) -> String {
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_litmus"))
        .args(arguments)
        .current_dir(root())
        .output()
        .expect("it runs");
    let text = String::from_utf8_lossy(&output.stdout);
    let wrong = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code().is_some_and(|code| code < 60), "{arguments:?}\n{wrong}");
    let mut out = String::new();
    let mut rest = &*text;
    while let Some(first) = rest.chars().next() {
        let end = match is_part(first) {
            true => rest.find(|c| !is_part(c)).unwrap_or(rest.len()),
            false => first.len_utf8(),
        };
        let (word, after) = rest.split_at(end);
        let plain = word.strip_prefix(['z', 'Z']).unwrap_or(word);
        out.push_str(if names.contains(plain) || plain == model { plain } else { word });
        rest = after;
    }
    out.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The outcomes of each test, as `allowed --format json` has them.
fn outcomes(text: &str) -> Vec<(Value, Value)> {
    let json: Value = serde_json::from_str(text).expect("it is JSON");
    let results = json["results"].as_array().expect("there are results").iter();
    results.map(|result| (result["test"].clone(), result["outcomes"].clone())).collect()
}

const TESTS: [&str; 5] = [
    "litmus-suite/rmw-paper",
    "litmus-suite/poll-wait",
    "litmus-suite/cpu-classics",
    "litmus-suite/corerma/CORE+fig1.litmus",
    "litmus-suite/corerma/CAS+LB.litmus",
];

#[test]
fn renamed_copies_of_models_do_the_same() {
    let folder = std::env::temp_dir().join(format!("litmus-{}-models", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder can be made");
    for (name, text) in model::models::SHIPPED {
        // Included models keep their names: they are another text.
        let included: BTreeSet<String> = match text.contains("include \"corerma\"") {
            true => defined("corerma"),
            false => BTreeSet::new(),
        };
        let names: BTreeSet<String> = defined(name).difference(&included).cloned().collect();
        let path = folder.join(format!("z{name}.cat"));
        std::fs::write(&path, renamed(text, is_part, &names)).expect("it can be written");
        let copy = path.display().to_string();
        compare(name, &copy, &names, &folder);
    }
    std::fs::remove_dir_all(&folder).expect("it can be removed");
}

fn compare(name: &str, copy: &str, names: &BTreeSet<String>, folder: &Path) {
    let is_rma = name.starts_with("corerma");
    let tests: Vec<&str> =
        TESTS.into_iter().filter(|test| test.contains("/corerma/") == is_rma).collect();
    let run = |model: &str, arguments: &[&str]| {
        let text = printed(&[arguments, &["--model", model]].concat(), name, names);
        text.replace(&format!("{}/", folder.display()), "").replace(&format!("{name}.cat"), name)
    };
    let both = |arguments: &[&str]| (run(name, arguments), run(copy, arguments));
    let (shipped, other) = both(&[&["allowed", "--format", "json"], &tests[..]].concat());
    let (shipped, other) = (outcomes(&shipped), outcomes(&other));
    assert!(!shipped.is_empty(), "{name}");
    assert_eq!(shipped, other, "{name}");
    let test = match (is_rma, name) {
        (true, _) => "litmus-suite/corerma/CAS+LB.litmus",
        (_, "sc" | "tso") => "litmus-suite/cpu-classics/MP.litmus",
        (_, name) if name.starts_with("rdma-wait") => {
            "litmus-suite/poll-wait/CoWR+get-wait-r.litmus"
        }
        _ => "litmus-suite/rmw-paper/SB+put-poll+put-poll.litmus",
    };
    let (shipped, other) = both(&["explain", test]);
    assert!(!shipped.is_empty(), "{name}");
    assert_eq!(shipped, other, "{name}");
}
