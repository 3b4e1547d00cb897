//! Parts of commands, and what `litmus merge` makes of them: the bytes that the whole command writes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const PARTS: usize = 4;

/// A folder of its own for each test.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("shards").join(name);
    drop(fs::remove_dir_all(&folder));
    fs::create_dir_all(&folder).expect("a folder can be made");
    folder
}

fn litmus(arguments: &[&str]) -> Output {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut command = Command::new(env!("CARGO_BIN_EXE_litmus"));
    command.args(arguments).current_dir(root).env("SOURCE_DATE_EPOCH", "1");
    command.output().expect("litmus starts")
}

fn text(path: &Path) -> &str {
    path.to_str().expect("paths of tests are text")
}

/// The whole command's standard output, and the parts' in files.
fn printed(name: &str, arguments: &[&str]) -> (Vec<u8>, Vec<PathBuf>) {
    let folder = folder(name);
    let part = |number: usize| {
        let path = folder.join(format!("{number}.json"));
        let shard = format!("--shard={number}/{PARTS}");
        fs::write(&path, litmus(&[arguments, &[&shard]].concat()).stdout).expect("can be written");
        path
    };
    (litmus(arguments).stdout, (1..=PARTS).map(part).collect())
}

fn merged(parts: &[PathBuf], more: &[&str]) -> Output {
    let parts: Vec<&str> = parts.iter().map(|part| text(part)).collect();
    litmus(&[&["merge"], more, &parts].concat())
}

#[test]
fn reports_are_byte_for_byte_the_whole() {
    let suite = "litmus-suite/corerma";
    for (name, command) in [
        ("allowed", vec!["allowed", suite, "--format", "json"]),
        ("run", vec!["run", suite, "--format", "json", "--seed", "7", "-n", "50"]),
        ("coverage", vec!["coverage", suite, "--model", "corerma", "--format", "json"]),
    ] {
        let (whole, mut parts) = printed(name, &command);
        assert!(whole.len() > 1000, "{name}: {}", String::from_utf8_lossy(&whole));
        parts.reverse();
        let output = merged(&parts, &["--format", "json"]);
        assert_eq!(output.stdout, whole, "{name}: {}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(output.status.code(), litmus(&command).status.code(), "{name}");
    }
}

/// A violation in one part is one of the whole, by name, in reports and records.
#[test]
fn what_is_wrong_in_a_part_is_wrong_in_the_whole() {
    let fault = ["run", "litmus-suite/rmw-paper", "--seed", "7", "-n", "500", "--fault"];
    let command = [&fault[..], &["completion-at-issue", "--format", "json"]].concat();
    let (whole, parts) = printed("violation", &command);
    let output = merged(&parts, &["--format", "json"]);
    assert_eq!((output.stdout, output.status.code()), (whole, Some(1)));
    let table = String::from_utf8_lossy(&merged(&parts, &[]).stdout).into_owned();
    assert!(table.contains("violation  CoRW+put-poll-w") && table.contains(" BAD"), "{table}");
    let folder = folder("violation-record");
    let record = |number: usize| {
        let path = folder.join(format!("{number}.jsonl"));
        let shard = format!("{number}/2");
        litmus(&[&command[..], &["--record", text(&path), "--shard", &shard]].concat());
        path
    };
    let parts = [record(1), record(2)];
    assert_eq!(merged(&parts, &["-o", text(&folder.join("all"))]).status.code(), Some(1));
    assert_eq!(merged(&parts, &["-o", text(&folder.join("all"))]).status.code(), Some(74));
}

/// A report of a part says so first, in every format; that of the whole has no trace of parts.
#[test]
fn a_report_of_a_part_says_so() {
    let folder = folder("part-report");
    let file = |name: &str| text(&folder.join(name)).to_owned();
    let command = ["run", "litmus-suite/cpu-classics", "--seed", "7", "-n", "50"];
    for number in ["1", "2"] {
        let (shard, record) = (format!("--shard={number}/2"), file(number));
        let output = litmus(&[&command[..], &[&shard, "--record", &record]].concat());
        let line = format!("conforms in part {number} of 2 · ");
        assert!(String::from_utf8_lossy(&output.stdout).contains(&line), "{output:?}");
    }
    litmus(&["merge", &file("1"), &file("2"), "-o", &file("whole")]);
    for (record, is_part) in [("1", true), ("whole", false)] {
        let out = file(&format!("{record}-report"));
        let output = litmus(&["report", &file(record), "-o", &out, "--mutants", "0"]);
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(printed.starts_with("conforms in part 1 of 2 · "), is_part, "{printed}");
        assert!(printed.starts_with("conforms"), "{printed}");
        for entry in fs::read_dir(&out).expect("a report") {
            let path = entry.expect("a file").path();
            let content = fs::read_to_string(&path).expect("text");
            assert_eq!(content.contains("part 1 of 2"), is_part, "{}", path.display());
        }
    }
    let whole = fs::read_to_string(folder.join("whole")).expect("a record");
    let header = whole.lines().next().expect("a header");
    assert!(header.contains("cpu-classics") && !header.contains("--shard"), "{header}");
    assert!(!header.contains("--record"), "{header}");
}

/// Parts must have read the same.
#[test]
fn parts_of_other_inputs_are_refused() {
    let folder = folder("edited");
    let path = folder.join("a.litmus");
    let program = "litmus A\nmodel tso\n\n  x = 0\n  ---\n  x := 1\n\n  x = 1 ✓\n";
    fs::write(&path, program).expect("");
    let part = |number: &str| {
        let output = litmus(&["allowed", text(&folder), "--format", "json", "--shard", number]);
        let path = folder.join(number.replace('/', "-"));
        fs::write(&path, output.stdout).expect("");
        path
    };
    let first = part("1/2");
    // As long as before.
    fs::write(&path, program.replace('✓', "✗")).expect("");
    let output = merged(&[first, part("2/2")], &["--format", "json"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("other-whole"));
    assert_eq!(output.status.code(), Some(65));
    let file = text(&path);
    for inputs in [vec![file, file], vec!["-"]] {
        let command = [&["allowed"], &inputs[..], &["--shard", "1/2"]].concat();
        assert_eq!(litmus(&command).status.code(), Some(64), "{inputs:?}");
    }
}

#[test]
fn what_is_missing_equal_or_in_conflict_is_said() {
    let command = ["allowed", "litmus-suite/cpu-classics", "--format", "json"];
    let (whole, parts) = printed("faulty", &command);
    let said = |parts: &[PathBuf], code: i32, words: &str| {
        let output = merged(parts, &["--format", "json"]);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{stderr}");
        assert!(stderr.contains(words), "{stderr}");
        output.stdout
    };
    let nothing = said(&[parts[0].clone(), parts[3].clone()], 65, "2 parts missing: 2/4, 3/4");
    assert!(nothing.is_empty(), "nothing is written");
    let twice = [parts.as_slice(), &parts[1..2]].concat();
    assert_eq!(said(&twice, 0, "part 2 is there twice, and equal"), whole);
    let other = parts[1].with_file_name("other.json");
    let content = fs::read_to_string(&parts[1]).expect("a part");
    fs::write(&other, content.replacen("\"complete\":true", "\"complete\":false", 1)).expect("");
    said(&[parts.as_slice(), std::slice::from_ref(&other)].concat(), 65, "changed-part");
    fs::write(&other, &content[..content.len() / 2]).expect("");
    said(&[parts[0].clone(), other.clone()], 65, "was cut off");
    let elsewhere = ["allowed", "litmus-suite/values", "--format", "json", "--shard", "2/4"];
    fs::write(&other, litmus(&elsewhere).stdout).expect("");
    said(&[parts[0].clone(), other], 65, "other-whole");
    said(&[PathBuf::from("README.md")], 65, "not-a-part");
}

/// A command that writes: whole, and in parts that are merged.
fn written(name: &str, arguments: &[&str], option: &str) -> (PathBuf, PathBuf) {
    let folder = folder(name);
    let (whole, all) = (folder.join("whole"), folder.join("merged"));
    litmus(&[arguments, &[option, text(&whole)]].concat());
    let part = |number: usize| {
        let path = folder.join(format!("part-{number}"));
        let shard = format!("--shard={number}/{PARTS}");
        litmus(&[arguments, &[option, text(&path), &shard]].concat());
        path
    };
    let parts: Vec<PathBuf> = (1..=PARTS).map(part).collect();
    let output = merged(&parts, &["-o", text(&all)]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    (whole, all)
}

/// What is in a file, or in all files of a folder.
fn content(path: &Path) -> Vec<(String, String)> {
    let read = |path: &Path| fs::read_to_string(path).expect("text");
    if !path.is_dir() {
        return vec![(String::new(), read(path))];
    }
    let files = fs::read_dir(path).expect("a folder").map(|entry| entry.expect("an entry"));
    let name = |entry: &fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
    let mut all: Vec<_> = files.map(|entry| (name(&entry), read(&entry.path()))).collect();
    all.sort();
    all
}

#[test]
fn suites_and_records_are_byte_for_byte_the_whole() {
    let (whole, all) = written("gen", &["gen", "random", "--seed", "3", "--count", "400"], "-o");
    assert!(content(&whole).len() > 100);
    assert_eq!(content(&whole), content(&all));
    let refine = ["refine", "bal", "--threads", "1", "--plain", "2"];
    let (whole, all) = written("refine", &refine, "--record");
    assert_eq!(content(&whole), content(&all));
    let run = ["run", "litmus-suite/corerma", "--seed", "7", "-n", "50"];
    let (whole, all) = written("record", &run, "--record");
    let lines = |path: &Path| {
        // The first line says which command it was, and the last has a digest of it too.
        let text = fs::read_to_string(path).expect("a record");
        let (tests, end) = text.trim_end().rsplit_once('\n').expect("lines");
        let (end, _) = end.split_once("\"digest\"").expect("a digest");
        tests.lines().skip(1).chain([end]).map(str::to_owned).collect::<Vec<_>>()
    };
    assert!(lines(&whole).len() > 10);
    assert_eq!(lines(&whole), lines(&all));
}

/// A hundred parts of fewer tests: most are empty, and the whole is the same.
#[test]
fn there_may_be_more_parts_than_work() {
    let folder = folder("many");
    let command = ["allowed", "litmus-suite/values", "--format", "json"];
    let part = |number: usize| {
        let path = folder.join(format!("{number}.json"));
        let shard = format!("{number}/100");
        fs::write(&path, litmus(&[&command[..], &["--shard", &shard]].concat()).stdout).expect("");
        path
    };
    let parts: Vec<PathBuf> = (1..=100).map(part).collect();
    assert_eq!(merged(&parts, &["--format", "json"]).stdout, litmus(&command).stdout);
}
