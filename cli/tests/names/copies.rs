//! Renamed copies of shipped models are as good as these.

use crate::scratch::Scratch;
use std::collections::BTreeSet;
use std::path::Path;

use lang::cat::model::{DefinitionKind, READ_BY_NAME};
use serde_json::Value;

use super::{assert_same, is_statement, litmus, loaded, renamed, root};

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
    names.retain(|name| {
        !READ_BY_NAME.contains(&name.as_str()) && *name != "rb" && !is_statement(name)
    });
    names
}

fn is_part(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

/// What a command prints, with names as they were: of the model's, and its own.
fn printed(arguments: &[&str], model: &str, names: &BTreeSet<String>) -> String {
    let (code, text) = litmus(arguments);
    assert!(code.is_some_and(|code| code < 60), "{arguments:?}\n{text}");
    as_it_was(&text, model, names)
}

/// A text with names as they were: of the model's, and its own.
fn as_it_was(text: &str, model: &str, names: &BTreeSet<String>) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let end = match is_part(first) {
            true => rest.find(|c| !is_part(c)).unwrap_or(rest.len()),
            false => first.len_utf8(),
        };
        let (word, after) = rest.split_at(end);
        let plain = word.strip_prefix(['z', 'Z']).unwrap_or(word);
        let is_hash = word.len() == 16 && word.chars().all(|c| c.is_ascii_hexdigit());
        out.push_str(match names.contains(plain) || plain == model {
            true => plain,
            // That of the text.
            false if is_hash => "(hash)",
            false => word,
        });
        rest = after;
    }
    out.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What `allowed --format json` says of each test, by which engine, and whether all outcomes are known.
fn outcomes(text: &str) -> Vec<Vec<Value>> {
    let json: Value = serde_json::from_str(text).expect("it is JSON");
    let results = json["results"].as_array().expect("there are results").iter();
    // A status is about verdicts, some of which are for models by their names.
    let parts = ["test", "engine", "complete", "outcomes", "blocked", "stuck"];
    results.map(|result| parts.iter().map(|part| result[*part].clone()).collect()).collect()
}

const TESTS: [&str; 6] = [
    "litmus-suite/control-flow",
    "litmus-suite/rmw-paper",
    "litmus-suite/poll-wait",
    "litmus-suite/cpu-classics",
    "litmus-suite/corerma/CORE+fig1.litmus",
    "litmus-suite/corerma/CAS+LB.litmus",
];

#[test]
fn renamed_copies_of_models_do_the_same() {
    let scratch = Scratch::new();
    let folder = &scratch.0;
    for (name, text) in model::models::SHIPPED {
        // Included models keep their names: they are another text.
        let includes = text.lines().filter_map(|line| line.strip_prefix("include \""));
        let included: BTreeSet<String> =
            includes.flat_map(|rest| defined(rest.trim_end_matches('"'))).collect();
        let names: BTreeSet<String> = defined(name).difference(&included).cloned().collect();
        let path = folder.join(format!("z{name}.cat"));
        std::fs::write(&path, renamed(text, is_part, &names)).expect("it can be written");
        let copy = path.display().to_string();
        compare(name, &copy, &names, folder);
    }
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
        (_, "mpi-rma") => "litmus-suite/mpi/Mpi+put-poll-w.litmus",
        (_, "rdma-verbs") => "litmus-suite/messages/CoRW+send-poll-w.litmus",
        (_, name) if name.starts_with("rdma-wait") => {
            "litmus-suite/poll-wait/CoWR+get-wait-r.litmus"
        }
        (_, name) if name.starts_with("rdma-tso") => {
            "litmus-suite/rmw-paper/SB+put-poll+put-poll.litmus"
        }
        _ => "litmus-suite/networks/Net+put-wait-w.litmus",
    };
    // A shipped model without a machine is not run, which `run` says.
    let has_machine = loaded(name).machine.is_some();
    let commands = [
        &["explain", test][..],
        &["run", test, "-n", "50", "--seed", "7"],
        &["run", test, "-n", "50", "--seed", "7", "--format", "log"],
    ];
    for command in commands.into_iter().filter(|command| has_machine || command[0] != "run") {
        let (shipped, other) = both(command);
        assert!(!shipped.is_empty(), "{name} {command:?}");
        assert_eq!(shipped, other, "{name} {command:?}");
    }
    if has_machine {
        let (shipped, other) = both(&["run", test, "-n", "50", "--seed", "7", "--format", "json"]);
        let (shipped, other) = (counts(&shipped), counts(&other));
        assert!(!shipped.is_empty(), "{name}");
        assert_eq!(shipped, other, "{name}");
        reports(name, copy, names, (&tests, folder));
    }
    coverage(name, copy, names, (test, folder));
}

/// What `run --format json` has of each test but for how long it took and what hashes are.
fn counts(text: &str) -> Vec<Value> {
    let json: Value = serde_json::from_str(text).expect("it is JSON");
    let mut results = json["results"].as_array().expect("there are results").clone();
    for result in &mut results {
        let result = result.as_object_mut().expect("a result is an object");
        result.remove("seconds");
        result.remove("model_hash");
    }
    results
}

/// One record, judged by the model and by its copy.
fn reports(name: &str, copy: &str, names: &BTreeSet<String>, (tests, folder): (&[&str], &Path)) {
    let path = folder.join(format!("{name}.jsonl")).display().to_string();
    let fault = match name.starts_with("corerma") {
        true => &[][..],
        false => &["--fault", "store-buffer-not-fifo", "--fault", "puts-reordered"],
    };
    let run = ["run", "-n", "50", "--seed", "7", "--model", name, "--record", &path];
    let code = litmus(&[&run[..], fault, tests].concat()).0;
    assert!(code.is_some_and(|code| code < 60), "{name}");
    let of = |model: &str| {
        let out = folder.join("out");
        let output = out.display().to_string();
        let (code, told) =
            litmus(&["report", &path, "--model", model, "-o", &output, "--mutants", "0"]);
        let mut all = format!("{code:?}\n{told}\n");
        // Pictures are as wide as names, and the others say which files were used.
        for file in ["report.md", "junit.xml"] {
            all += &std::fs::read_to_string(out.join(file)).expect("the report has it");
        }
        // A copy is asked for by its file.
        as_it_was(&all.replace(copy, name), name, names)
    };
    let (shipped, other) = (of(name), of(copy));
    assert!(shipped.len() > 1000, "{name}");
    assert_same(&shipped, &other, name);
}

/// Which rules of a model and of its copy a test tests, with either in the test's header. The file that says
/// which rules of a shipped model are implied by others names the model, so a copy has none.
fn coverage(name: &str, copy: &str, names: &BTreeSet<String>, (test, folder): (&str, &Path)) {
    let of = |model: &str| {
        let text = std::fs::read_to_string(root().join(test)).expect("the suite is readable");
        let header = text.lines().find(|line| line.starts_with("model ")).expect("its models");
        let file = Path::new(model).file_name().and_then(|file| file.to_str()).expect("a name");
        let path = folder.join("covered.litmus");
        let text = text.replace(header, &format!("model {file}"));
        std::fs::write(&path, text).expect("it can be written");
        let path = path.display().to_string();
        let (code, _) = litmus(&["allowed", &path]);
        assert!(code.is_some_and(|code| code < 60), "{name}");
        let told = litmus(&["coverage", "--format", "json", "--model", model, &path]).1;
        let told = as_it_was(&told, name, names);
        let json: Value = serde_json::from_str(&told).expect("it is JSON");
        let changes = json["changes"].as_array().expect("there are changes").clone();
        let row = |change: &Value| {
            let mut row = change.as_object().expect("a change is an object").clone();
            row.remove("reason");
            // What is implied by the rest is a hole of the copy, or about statements that it does not have.
            if row["status"] != "tested" {
                row.insert("status".to_owned(), "not tested".into());
            }
            row
        };
        changes.iter().map(row).collect::<Vec<_>>()
    };
    let (shipped, other) = (of(name), of(copy));
    assert!(shipped.iter().any(|row| row["status"] == "tested"), "{name}: {shipped:?}");
    assert_eq!(shipped, other, "{name}");
}
