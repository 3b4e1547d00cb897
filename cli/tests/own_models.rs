//! Models of users: named by the headers of tests, by `gen` and by `compare`.
#![allow(clippy::unwrap_used, reason = "a test's helpers fail by panicking")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A NIC that does not keep the order of puts.
const LOOSE: &str = "\
\"puts in any order\"
include \"rdma-tso\"
set oppo[nrW, nrW] = ·
set ippo[nrW, nrW] = ·
";

const MP: &str = "\
litmus MP
model rdma-tso \"models/loose.cat\"

            ||  x = 0, y = 0
  --------------------------
  x^2 := 1  ||  a := y
  y^2 := 1  ||  b := x

  rdma-tso: (a, b) = (1, 0) ✗
  loose: (a, b) = (1, 0) ✓
  a = 2 ✗
";

/// A folder with a test, and its model in a folder below.
fn folder(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("own-{name}"));
    drop(std::fs::remove_dir_all(&path));
    std::fs::create_dir_all(path.join("suite/models")).unwrap();
    std::fs::write(path.join("suite/models/loose.cat"), LOOSE).unwrap();
    std::fs::write(path.join("suite/MP.litmus"), MP).unwrap();
    path
}

fn litmus(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_litmus"));
    command.args(arguments).current_dir(folder).output().unwrap()
}

fn said(output: &Output) -> String {
    let [out, err] = [&output.stdout, &output.stderr];
    format!("{}{}", String::from_utf8_lossy(out), String::from_utf8_lossy(err))
}

/// Everything that reads tests finds the model from the test's folder, wherever it is run.
#[test]
fn a_header_names_a_model_by_its_file() {
    let root = folder("header");
    for (from, path) in [(&root, "suite/MP.litmus"), (&root.join("suite"), "MP.litmus")] {
        let run = |arguments: &[&str]| {
            let output = litmus(from, arguments);
            (output.status.code(), said(&output))
        };
        let (code, text) = run(&["allowed", path]);
        assert!(code == Some(0) && text.contains("MP under loose"), "{text}");
        let (code, text) = run(&["check", path]);
        assert!(code == Some(0) && text.contains("0 warnings"), "{text}");
        let (code, text) = run(&["run", path, "--seed", "1", "-n", "500"]);
        assert!(code == Some(0) && text.contains("MP under loose"), "{text}");
        let (code, text) = run(&["explain", path, "--model", "rdma-tso", "--outcome", "a=1,b=0"]);
        assert!(code == Some(0) && text.contains("forbidden under rdma-tso"), "{text}");
        let (code, text) = run(&["allowed", "--list", path, "-k", "model:loose"]);
        assert!(code == Some(0) && text.contains("loose") && !text.contains("rdma-tso"), "{text}");
    }
    let other =
        MP.replace("rdma-tso \"models", "\"models").replace("  rdma-tso: (a", "  loose: (a");
    std::fs::write(root.join("suite/MP.litmus"), other).unwrap();
    let alone = litmus(&root, &["run", "suite/MP.litmus", "--seed", "1", "-n", "500"]);
    assert!(said(&alone).contains("MP under loose, 500 runs on sim"), "{}", said(&alone));
    let failed = litmus(&root, &["allowed", "suite/MP.litmus"]);
    assert_eq!(failed.status.code(), Some(1), "{}", said(&failed));
}

/// A record is judged by the models that judged it, as long as they are there, and says if they have changed.
#[test]
fn a_record_is_judged_by_them_again() {
    let root = folder("record");
    let run = ["run", "suite/MP.litmus", "--seed", "1", "-n", "500", "--record", "r.jsonl"];
    assert_eq!(litmus(&root, &run).status.code(), Some(0));
    let report = ["report", "r.jsonl", "--format", "json"];
    let judged = litmus(&root, &report);
    let json: serde_json::Value = serde_json::from_slice(&judged.stdout).unwrap();
    assert_eq!(judged.status.code(), Some(0), "{}", said(&judged));
    assert_eq!(json["results"][1]["model"], "loose", "{json}");
    let full = litmus(&root, &["report", "r.jsonl", "-o", "report", "--mutants", "0"]);
    assert_eq!(full.status.code(), Some(0), "{}", said(&full));
    let path = root.join("suite/models/loose.cat");
    std::fs::write(&path, format!("{LOOSE}drop issued-before\n")).unwrap();
    let changed = litmus(&root, &["report", "r.jsonl"]);
    assert!(said(&changed).contains("loose is another text now"), "{}", said(&changed));
    std::fs::remove_file(&path).unwrap();
    let missing = litmus(&root, &report);
    assert_eq!(missing.status.code(), Some(2), "{}", said(&missing));
    assert!(said(&missing).contains("name its file with --model"), "{}", said(&missing));
}

/// What is wrong with the file is said at the header, the same for every test and number of workers.
#[test]
fn a_model_that_cannot_be_used_is_an_error_at_the_header() {
    let root = folder("wrong");
    for number in 0..20 {
        let text = MP.replace("litmus MP", &format!("litmus T{number}"));
        std::fs::write(root.join(format!("suite/T{number}.litmus")), text).unwrap();
    }
    let path = root.join("suite/models/loose.cat");
    for (text, reason) in [
        (None, "cannot be read"),
        (Some("include \"rdma-tso\"\nacyclic nothing\n"), "loose.cat:2:9"),
        (Some("\u{0}"), "loose.cat:1:1"),
    ] {
        match text {
            Some(text) => std::fs::write(&path, text).unwrap(),
            None => std::fs::remove_file(&path).unwrap(),
        }
        for command in ["allowed", "run", "check"] {
            let output = |jobs: &str| litmus(&root, &[command, "suite", "-j", jobs, "-k", "T*"]);
            let one = output("1");
            assert_eq!(one.status.code(), Some(65), "{command}: {}", said(&one));
            assert!(said(&one).contains("[unusable-model-file]"), "{}", said(&one));
            assert!(said(&one).contains(reason), "{reason}: {}", said(&one));
            assert!(said(&one).contains("T0.litmus:2:17"), "{}", said(&one));
            assert_eq!(said(&one), said(&output("7")), "{command}");
        }
    }
}

/// Suites that are made for a user's model name it, and hold where they are.
#[test]
fn made_suites_name_it() {
    let root = folder("gen");
    let model = "suite/models/loose.cat";
    let random = ["gen", "random", "--model", model, "--count", "30", "-o", "made/deep"];
    let made = litmus(&root, &random);
    assert_eq!(made.status.code(), Some(0), "{}", said(&made));
    let files: Vec<PathBuf> = std::fs::read_dir(root.join("made/deep"))
        .unwrap()
        .map(|file| file.unwrap().path())
        .collect();
    let tests: Vec<&PathBuf> =
        files.iter().filter(|path| path.extension().is_some_and(|end| end == "litmus")).collect();
    assert!(tests.len() > 5);
    for test in tests {
        let text = std::fs::read_to_string(test).unwrap();
        assert!(text.contains("model \"../../suite/models/loose.cat\"\n"), "{text}");
    }
    let held = litmus(&root, &["allowed", "made"]);
    assert_eq!(held.status.code(), Some(0), "{}", said(&held));
    assert!(!said(&held).contains("no verdict"), "{}", said(&held));
    // Parts that are merged name it alike.
    let part = |number: &str, folder: &str| {
        let mut arguments = random.to_vec();
        arguments.truncate(arguments.len() - 1);
        arguments.extend([folder, "--shard", number]);
        litmus(&root, &arguments)
    };
    assert_eq!(part("1/2", "parts/1").status.code(), Some(0));
    assert_eq!(part("2/2", "parts/2").status.code(), Some(0));
    let merged = litmus(&root, &["merge", "parts/1", "parts/2", "-o", "made/merged"]);
    assert_eq!(merged.status.code(), Some(0), "{}", said(&merged));
    for path in files {
        let other = root.join("made/merged").join(path.file_name().unwrap());
        let [one, two] = [&path, &other].map(|path| std::fs::read_to_string(path).unwrap());
        assert_eq!(one, two);
    }
}

/// The programs of a comparison have names of their own, and are tests that hold.
#[test]
fn compared_programs_are_tests() {
    let root = folder("compare");
    let compare = ["compare", "rdma-tso", "suite/models/loose.cat", "--count", "4"];
    let bounds = ["--size", "4", "--exhaustive", "0", "-o", "found"];
    let found = litmus(&root, &[&compare[..], &bounds].concat());
    assert_eq!(found.status.code(), Some(1), "{}", said(&found));
    let names: Vec<String> = std::fs::read_dir(root.join("found"))
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(names.len(), 4, "{names:?}");
    let held = litmus(&root, &["allowed", "found", "--format", "json"]);
    assert_eq!(held.status.code(), Some(0), "{}", said(&held));
    let json: serde_json::Value = serde_json::from_slice(&held.stdout).unwrap();
    assert_eq!(json["warnings"].as_array().unwrap().len(), 0, "{json}");
    assert_eq!(json["results"].as_array().unwrap().len(), 8);
    // The same again finds its files there; another file is not written over.
    let again = litmus(&root, &[&compare[..], &bounds].concat());
    assert_eq!(again.status.code(), Some(1), "{}", said(&again));
    let own = root.join("found").join(&names[0]);
    std::fs::write(&own, "own").unwrap();
    let again = litmus(&root, &[&compare[..], &bounds].concat());
    assert_eq!(again.status.code(), Some(74), "{}", said(&again));
    assert_eq!(std::fs::read_to_string(&own).unwrap(), "own");
    // All are printed, each once.
    let printed = litmus(&root, &[&compare[..], &bounds[..4]].concat());
    for name in names {
        let line = format!("litmus {}\n", name.trim_end_matches(".litmus"));
        assert_eq!(said(&printed).matches(&line).count(), 1, "{line}{}", said(&printed));
    }
}

/// What is about statements that the model lacks is not a hole.
#[test]
fn coverage_counts_what_programs_can_have() {
    let root = folder("coverage");
    let puts = "include \"rdma-tso\"\nuncall Get Rfence Poll CAS FAA Mfence\n";
    std::fs::write(root.join("puts.cat"), puts).unwrap();
    let covered = litmus(&root, &["coverage", "suite", "--model", "puts.cat", "--format", "json"]);
    assert_eq!(covered.status.code(), Some(1), "{}", said(&covered));
    let json: serde_json::Value = serde_json::from_slice(&covered.stdout).unwrap();
    let of = |word: &str| {
        let changes = json["changes"].as_array().unwrap().iter();
        let names = changes.filter(|change| change["status"] == word);
        names.map(|change| change["change"].as_str().unwrap()).collect::<Vec<_>>()
    };
    let lacks = ["nrR", "nlW", "nF", "[P, ", " P]", "CAS", "[F, ", " F]"];
    let is_lacking = |name: &&str| lacks.iter().any(|event| name.contains(event));
    assert!(!of("hole").is_empty() && !of("hole").iter().any(is_lacking), "{json}");
    assert!(of("impossible").contains(&"drop part 3 of ib"), "{json}");
    assert!(of("impossible").iter().filter(|name| name.contains('[')).all(is_lacking));
    let table = litmus(&root, &["coverage", "suite", "--model", "puts.cat"]);
    let line = "drop part 3 of ib (pf)    no statement of the model has it";
    assert!(said(&table).contains(line), "{}", said(&table));
}
