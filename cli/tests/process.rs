//! What cannot be said as a command and its output: files that are written, pipes, signals, equal runs.
#![allow(clippy::unwrap_used, reason = "a test's helpers fail by panicking")]

use crate::scratch::Scratch;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const MP: &str = "\
litmus MP
model rdma-tso rdma-tso-rmw

            ||  x = 0, y = 0
  --------------------------
  x^2 := 1  ||  a := y
  y^2 := 1  ||  b := x

  (a, b) = (1, 0) ✗
";

impl Scratch {
    fn output(&self, arguments: &str) -> Output {
        self.command(arguments).output().unwrap()
    }
}

fn code(output: &Output) -> i32 {
    output.status.code().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn suite() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cmd/allowed.in/folder")
}

#[test]
fn a_record_is_begun_kept_and_gone_on_with() {
    let scratch = Scratch::new();
    for name in ["A", "B", "C"] {
        scratch
            .write(&format!("{name}.litmus"), MP.replace("litmus MP", &format!("litmus {name}")));
    }
    let run = scratch.output("run . -n 1500 --seed 4 --record r.jsonl --format json");
    assert_eq!(code(&run), 0, "{}", stderr(&run));
    let whole = scratch.read("r.jsonl");
    assert_eq!(whole.lines().count(), 5, "a header, a line for each test, and an end: {whole}");

    let again = scratch.output("run . -n 1500 --seed 4 --record r.jsonl");
    assert_eq!(code(&again), 64);
    assert!(stderr(&again).contains("r.jsonl exists already; go on with it by --resume"));
    assert_eq!(scratch.read("r.jsonl"), whole);
    scratch.write("other.jsonl", "not a record");
    let other = scratch.output("run . -n 1500 --seed 4 --record other.jsonl");
    assert_eq!(code(&other), 64);
    assert!(stderr(&other).contains("other.jsonl exists already, and is no record of a run"));
    assert_eq!(scratch.read("other.jsonl"), "not a record");

    // As if it had been killed while it wrote the third line.
    let (tests, _) = whole.trim_end().rsplit_once('\n').unwrap();
    scratch.write("r.jsonl", &tests[..tests.len() - 20]);
    let resumed = scratch.output("run . --resume r.jsonl --format json");
    assert_eq!(code(&resumed), 0, "{}", stderr(&resumed));
    assert!(scratch.read("r.jsonl").starts_with(tests));
    assert_eq!(stdout(&resumed), stdout(&run));
}

#[test]
fn what_does_not_fit_a_record_is_refused() {
    let scratch = Scratch::new();
    scratch.write("MP.litmus", MP);
    assert_eq!(code(&scratch.output("run MP.litmus -n 10 --seed 4 --record r.jsonl")), 0);
    for (arguments, reason) in [
        ("run MP.litmus --resume r.jsonl --seed 5", "its seed is 4"),
        ("run MP.litmus --resume r.jsonl -n 11", "its number of iterations is 10"),
        ("run MP.litmus --resume r.jsonl --fault poll-early", "its list of faults is none"),
        ("run MP.litmus --resume MP.litmus", "line 1"),
    ] {
        let output = scratch.output(arguments);
        assert_eq!(code(&output), 65, "{arguments}");
        assert!(stderr(&output).contains(reason), "{arguments}: {}", stderr(&output));
    }
    scratch.write("MP.litmus", MP.replace("x^2 := 1", "x^2 := 2"));
    let changed = scratch.output("run MP.litmus --resume r.jsonl");
    assert_eq!(code(&changed), 65);
    assert!(stderr(&changed).contains("has changed since it was recorded"), "{}", stderr(&changed));
}

#[test]
fn output_does_not_depend_on_the_number_of_workers() {
    let scratch = Scratch::new();
    for index in 0..30 {
        let name = format!("T{index}");
        scratch
            .write(&format!("{name}.litmus"), MP.replace("litmus MP", &format!("litmus {name}")));
    }
    for command in ["allowed .", "run . -n 2100 --seed 11", "check ."] {
        let output =
            |jobs: usize| stdout(&scratch.output(&format!("{command} --format json -j {jobs}")));
        let one = output(1);
        assert!(one.lines().count() > 0);
        assert_eq!(one, output(2), "{command}");
        assert_eq!(one, output(9), "{command}");
    }
}

#[test]
fn equal_programs_of_different_names_run_differently() {
    let scratch = Scratch::new();
    scratch.write("A.litmus", MP.replace("litmus MP", "litmus A"));
    scratch.write("B.litmus", MP.replace("litmus MP", "litmus B"));
    let json: serde_json::Value =
        serde_json::from_str(&stdout(&scratch.output("run . --seed 1 --format json"))).unwrap();
    assert_ne!(json["results"][0]["outcomes"], json["results"][2]["outcomes"]);
    assert_eq!(json["results"][0]["outcomes"], json["results"][1]["outcomes"]);
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let scratch = Scratch::new();
    for index in 0..300 {
        let name = format!("T{index}");
        scratch
            .write(&format!("{name}.litmus"), MP.replace("litmus MP", &format!("litmus {name}")));
    }
    for (arguments, expected) in [
        // The summary at the end comes after all files.
        ("allowed .", 0),
        ("allowed . --format json", 2),
        ("run . -n 10 --format json", 2),
        ("fmt .", 2),
        ("models", 0),
        ("man", 0),
    ] {
        let mut child = scratch
            .command(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut first = [0];
        child.stdout.as_mut().unwrap().read_exact(&mut first).unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        // What was not looked at is unknown.
        assert_eq!((code(&output), stderr(&output).as_str()), (expected, ""), "{arguments}");
    }
}

#[test]
fn what_cannot_be_read_is_told_where_nothing_matches_too() {
    let scratch = Scratch::new();
    scratch.write("MP.litmus", MP);
    std::fs::create_dir(scratch.0.join("empty")).unwrap();
    for command in
        ["allowed", "check", "compare sc tso", "compile --target plan", "coverage", "run --seed 1"]
    {
        let output = scratch.output(&format!("{command} MP.litmus empty -k nothing-of-this"));
        let told = stderr(&output);
        assert_eq!(code(&output), 64, "{command}: {told}");
        let places =
            ["[no-files] Error: empty", "error: no test matches"].map(|one| told.find(one));
        assert!(places[0].is_some() && places[0] < places[1], "{command}: {told}");
    }
}

#[test]
fn standard_input_is_read() {
    let scratch = Scratch::new();
    for (arguments, expected) in [
        ("allowed - --format json", "\"file\":\"<stdin>\""),
        ("fmt -", "litmus MP"),
        ("fmt --write -", "litmus MP"),
        ("check -", "1 file: 0 errors"),
        ("run - -n 10 --seed 1", "MP under rdma-tso, rdma-tso-rmw"),
        ("explain - --outcome a=1,b=0", "forbidden under rdma-tso"),
    ] {
        let mut command = scratch.command(arguments);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(MP.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(code(&output), 0, "{arguments}: {}", stderr(&output));
        assert!(stdout(&output).contains(expected), "{arguments}: {}", stdout(&output));
    }
}

#[test]
fn files_are_formatted_in_place_and_then_left_alone() {
    let scratch = Scratch::new();
    scratch.write("SB.litmus", "litmus SB\nx=0|y=0\n---\nx:=1|y:=1\n");
    assert_eq!(code(&scratch.output("fmt --check .")), 1);
    assert_eq!(code(&scratch.output("fmt --write .")), 0);
    assert_eq!(code(&scratch.output("fmt --check .")), 0);
    let text = scratch.read("SB.litmus");
    assert!(text.contains("x := 1  |  y := 1"), "{text}");
    let again = scratch.output("fmt --write .");
    assert_eq!((scratch.read("SB.litmus"), stderr(&again)), (text, String::new()));
}

#[test]
fn odd_inputs_are_refused_with_a_reason() {
    let scratch = Scratch::new();
    scratch.write("empty.litmus", "");
    scratch.write("large.litmus", "x".repeat(2 << 20));
    std::fs::write(scratch.0.join("bytes.litmus"), b"litmus x\n\xff\n").unwrap();
    std::fs::create_dir(scratch.0.join("folder.litmus")).unwrap();
    for (input, reason) in [
        ("empty.litmus", "empty-file"),
        ("large.litmus", "file-too-large"),
        ("bytes.litmus", "not-utf8"),
        ("folder.litmus", "no-files"),
        ("nothing.litmus", "unreadable-file"),
    ] {
        for command in ["allowed", "run", "check", "fmt"] {
            let output = scratch.output(&format!("{command} {input}"));
            assert_eq!(code(&output), 65, "{command} {input}");
            assert!(stderr(&output).contains(reason), "{command} {input}: {}", stderr(&output));
        }
    }
    scratch.write("folder.litmus/MP.litmus", MP);
    assert_eq!(code(&scratch.output("allowed folder.litmus")), 0);
}

#[test]
fn a_model_file_includes_files_beside_it_and_shipped_models() {
    let scratch = Scratch::new();
    scratch.write("MP.litmus", MP);
    scratch.write("part.cat", "include \"rdma-tso.cat\"\n");
    scratch.write("own.cat", "\"own\"\ninclude \"part.cat\"\n");
    // A changed copy may have the name of what it includes.
    scratch.write("rdma-tso.cat", "\"own too\"\ninclude \"rdma-tso.cat\"\n");
    for model in ["own.cat", "rdma-tso.cat"] {
        let output = scratch.output(&format!("allowed MP.litmus --model {model} --format json"));
        assert_eq!(code(&output), 0, "{model}: {}", stdout(&output));
        assert!(stdout(&output).contains("\"holds\":true"), "{model}: {}", stdout(&output));
    }
}

#[test]
fn color_is_for_those_who_want_it() {
    let folder = suite();
    let scratch = Scratch::new();
    let run = |color: &str| {
        let mut command = scratch.command(&format!("allowed --color {color}"));
        stdout(&command.arg(&folder).output().unwrap())
    };
    assert!(run("always").contains("\u{1b}["));
    assert!(!run("never").contains("\u{1b}["));
    assert!(!run("auto").contains("\u{1b}["));
}

#[test]
#[cfg(unix)]
fn an_interrupted_run_keeps_what_it_has() {
    let scratch = Scratch::new();
    scratch.write("MP.litmus", MP);
    let child = scratch
        .command("run MP.litmus -n 1000000000000 --seed 1 --record r.jsonl")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The record's header is written when the handler is about to be there.
    let begun = || std::fs::metadata(scratch.0.join("r.jsonl")).is_ok_and(|file| file.len() > 0);
    while !begun() {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    std::thread::sleep(std::time::Duration::from_millis(1000));
    let kill = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(kill.success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(code(&output), 2, "{}", stderr(&output));
    assert!(stderr(&output).contains("--resume r.jsonl"), "{}", stderr(&output));
    assert!(stdout(&output).contains("interrupted after"), "{}", stdout(&output));
    assert!(scratch.read("r.jsonl").contains("\"status\":\"interrupted\""));
}

/// What there is depends on the machine; that there is an answer does not.
#[test]
fn devices_are_listed_or_their_lack_is_explained() {
    let scratch = Scratch::new();
    let output = scratch.output("devices --format json");
    let json: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(json["schema"], "litmus-devices/1");
    let [devices, errors] =
        ["devices", "errors"].map(|name| json[name].as_array().unwrap().is_empty());
    assert_ne!(devices, errors, "{json}");
    assert_eq!(code(&output), if devices { 2 } else { 0 });
}

/// What was refuted is refuted again, and what other texts say is not gone on with.
#[test]
fn a_refinement_is_gone_on_with_from_what_it_found() {
    let scratch = Scratch::new();
    let broken = Path::new(env!("CARGO_MANIFEST_DIR")).join("../model/tests/broken");
    let text = std::fs::read_to_string(broken.join("flag-no-fence.lib")).unwrap();
    scratch.write("flag.lib", &text);
    let check = "refine flag.lib --calls 1 --format json";
    let first = scratch.output(&format!("{check} --record r.json"));
    assert_eq!(code(&first), 1, "{}", stderr(&first));
    let again = scratch.output(&format!("{check} --record r.json"));
    assert_eq!(code(&again), 64);
    assert!(stderr(&again).contains("exists already"), "{}", stderr(&again));
    let resumed = scratch.output(&format!("{check} --resume r.json"));
    assert_eq!(code(&resumed), 1, "{}", stderr(&resumed));
    let found = |output: &Output| {
        let json: serde_json::Value = serde_json::from_str(&stdout(output)).unwrap();
        (json["verdict"].clone(), json["checked"].clone(), json["counterexample"].clone())
    };
    assert_eq!(found(&first), found(&resumed));
    assert_eq!(found(&first).0, "refuted");
    scratch.write("flag.lib", text.replace("aCR reads", "aCAS reads"));
    let other = scratch.output(&format!("{check} --resume r.json"));
    assert_eq!(code(&other), 65);
    assert!(stderr(&other).contains("other libraries"), "{}", stderr(&other));
}

/// All files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

#[test]
fn a_cache_changes_nothing_and_damage_is_as_if_it_were_empty() {
    let scratch = Scratch::new();
    scratch.write("mp.litmus", MP);
    let plain = stdout(&scratch.output("allowed mp.litmus --format json"));
    let cached = || stdout(&scratch.output("allowed mp.litmus --format json --cache kept"));
    assert_eq!(cached(), plain);
    let kept = files(&scratch.0.join("kept"));
    assert_eq!(kept.len(), 2, "one file for each model");
    assert_eq!(cached(), plain);
    // What is kept is what is shown: nobody computes it again.
    for path in &kept {
        let text = std::fs::read_to_string(path).unwrap();
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(json["answer"]["outcomes"].as_array().unwrap().len(), 3, "{text}");
    }
    for damage in ["", "{", "[]", "{\"question\":1}"] {
        kept.iter().for_each(|path| std::fs::write(path, damage).unwrap());
        assert_eq!(cached(), plain, "{damage}");
    }
    // A changed answer has another sum.
    for path in &kept {
        let text = std::fs::read_to_string(path).unwrap();
        let changed = text.replacen("\"outcomes\":[[0,0],", "\"outcomes\":[[1,0],", 1);
        assert_ne!(text, changed);
        std::fs::write(path, changed).unwrap();
    }
    assert_eq!(cached(), plain);
    // Another program of the same name is another question.
    scratch.write("mp.litmus", MP.replace("✗", "✓"));
    assert_eq!(code(&scratch.output("allowed mp.litmus --cache kept")), 1);
    scratch.write("file", "");
    assert_eq!(code(&scratch.output("allowed mp.litmus --cache file")), 74);
}

#[test]
fn many_may_use_a_cache_at_once() {
    let scratch = Scratch::new();
    scratch.write("mp.litmus", MP);
    let start = || {
        let mut command = scratch.command("allowed mp.litmus --format json --cache kept");
        command.stdout(Stdio::piped()).spawn().unwrap()
    };
    let all: Vec<_> = (0..8).map(|_| start()).collect();
    let outputs: Vec<String> =
        all.into_iter().map(|one| stdout(&one.wait_with_output().unwrap())).collect();
    assert!(outputs.iter().all(|output| *output == outputs[0] && output.contains("\"ok\"")));
    assert_eq!(files(&scratch.0.join("kept")).len(), 2, "nothing is left beside");
}

/// Whatever is printed fits the terminal, as COLUMNS says.
#[test]
fn lines_are_as_wide_as_the_terminal() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let scratch = Scratch::new();
    for arguments in [
        "allowed litmus-suite/rmw-paper",
        "allowed litmus-suite/rmw-paper -v",
        "allowed litmus-suite/rmw-paper/RCAS+rcas+w.litmus",
        "allowed litmus-suite/rmw-paper --model sc",
        "run litmus-suite/rmw-paper --seed 1 -n 100 --fault completion-at-issue",
        "run litmus-suite/rmw-paper --seed 1 -n 100 --fault completion-at-issue -v",
        "run litmus-suite/three-nodes --seed 1 -n 20",
        "run --list-faults",
        "models",
    ] {
        for width in [60, 80, 100] {
            let mut command = scratch.command(arguments);
            command.current_dir(&root).env("COLUMNS", width.to_string());
            let text = stdout(&command.output().unwrap());
            assert!(!text.is_empty(), "{arguments}");
            let wide = text.lines().find(|line| line.chars().count() > width);
            assert_eq!(wide, None, "{arguments}, {width} columns");
        }
    }
}

/// What a shell joins again is the command that was meant.
#[test]
fn a_command_that_is_wrapped_can_be_run() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let scratch = Scratch::new();
    let arguments =
        "run litmus-suite/rmw-paper -k CoRW+put-poll-w --seed 1 -n 100 --fault completion-at-issue";
    let mut command = scratch.command(arguments);
    let text = stdout(&command.current_dir(&root).env("COLUMNS", "50").output().unwrap());
    let (_, why) = text.split_once("why: litmus ").unwrap();
    let mut words = Vec::new();
    for line in why.lines() {
        words.push(line.trim_end_matches('\\').trim());
        if !line.ends_with('\\') {
            break;
        }
    }
    assert!(words.len() > 1, "{text}");
    let program = env!("CARGO_BIN_EXE_litmus");
    let shell = format!("{program} {}", words.join(" \\\n"));
    let output = Command::new("sh").args(["-c", &shell]).current_dir(&root).output().unwrap();
    assert!(
        stdout(&output).starts_with("forbidden under rdma-tso"),
        "{shell}\n{}",
        stderr(&output)
    );
}

/// The suite that is shipped is without a warning.
#[test]
fn the_suite_says_nothing_against_itself() {
    let scratch = Scratch::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut command = scratch.command("check litmus-suite --deny-warnings");
    let output = command.current_dir(root).output().unwrap();
    assert_eq!((code(&output), stderr(&output)), (0, String::new()));
}

/// A page names those of the commands below its own: they must be there.
#[test]
fn all_pages_of_the_manual_are_written() {
    let scratch = Scratch::new();
    let script = "\"$LITMUS\" man -o pages && cd pages && ls && cat * | tr -d '\\\\' | grep '^litmus-.*(1)$'";
    let (code, text, error) = scratch.shell(script);
    assert_eq!(code, 0, "{error}");
    let named: Vec<&str> = text.lines().filter_map(|line| line.strip_suffix("(1)")).collect();
    assert!(named.len() > 20, "expected that pages name others: {text}");
    for name in named {
        assert!(text.lines().any(|line| line == format!("{name}.1")), "{name}: {text}");
    }
}
