//! Reports as files: what a record's reader gets, and what CI gets.
#![allow(clippy::unwrap_used, reason = "a test's helpers fail by panicking")]

mod common;
mod comparing;
mod faults;
mod judging;
mod records;
mod styles;

use crate::scratch::Scratch;
use std::path::Path;
use std::time::Instant;

use serde_json::{Value as Json, json};

use common::*;

#[test]
fn a_violation_is_on_the_first_page_and_nothing_is_run() {
    let scratch = Scratch::new();
    let evil = "</title><script>alert(1)</script>\"'&`|*";
    let title = "<script>alert(2)</script> `|*";
    let text = program("MP", 1, title);
    scratch.write("r.jsonl", record(&header(evil), &[line("MP", &text, WRONG)]));
    let output = scratch.litmus(&["report", "r.jsonl", "-o", "out", "--mutants", "50"]);
    assert_eq!(code(&output), 1, "{}", stderr(&output));
    let first = "VIOLATION · 1 of 1 program that forbids something shows 1 forbidden outcome\n";
    assert!(stdout(&output).starts_with(first), "{}", stdout(&output));
    let html = scratch.read("out/report.html");
    for part in ["<script>alert", "</title><script>"] {
        assert!(!html.contains(part), "{part} is not escaped");
    }
    let at = |part: &str| html.find(part).unwrap_or_else(|| panic!("no {part}"));
    for what in ["oppo[nrW, nrW]", "batch 2, round 3, instance 5"] {
        assert!(at(what) < at("id=\"tested\"") && at(what) < at("id=\"configuration\""), "{what}");
    }
    assert!(html.contains("<svg") && html.contains("&lt;script&gt;alert(2)"));
    let outside = ["http://", "https://", "src=", "url("];
    let rest = html.replace("http://www.w3.org/2000/svg", "");
    assert!(outside.iter().all(|part| !rest.contains(part)), "it must need nothing else");
    let markdown = scratch.read("out/report.md");
    let is_raw = |line: &&str| line.contains("<script>") && !line.contains('`');
    assert_eq!(markdown.lines().find(is_raw), None, "only code may have it");
    is_valid_junit(&scratch.0.join("out/junit.xml"));
    is_well_formed(&scratch.0.join("out/report.html"));
    let json: Json = serde_json::from_str(&scratch.read("out/report.json")).unwrap();
    assert_eq!(json["schema"], "litmus-report/2");
    assert_eq!(json["findings"][0]["outcome"], "a=1, b=0");
}

#[test]
fn a_baseline_decides_what_is_new() {
    let scratch = Scratch::new();
    let other = line("Other", &program("Other", 2, "another"), &[(0, 0, 990), (1, 2, 10)]);
    let header = header("mlx5_0");
    scratch.write("clean.jsonl", record(&header, &[mp(CLEAN), other.clone()]));
    scratch.write("wrong.jsonl", record(&header, &[mp(WRONG), other]));
    scratch.write("part.jsonl", record(&header, &[mp(CLEAN)]));
    let run = |baseline: &str, now: &str| {
        code(&scratch.litmus(&["report", now, "--baseline", baseline, "--mutants", "0"]))
    };
    assert_eq!(run("clean.jsonl", "wrong.jsonl"), 1);
    assert_eq!(run("wrong.jsonl", "wrong.jsonl"), 0, "a known violation does not fail CI");
    assert_eq!(run("wrong.jsonl", "clean.jsonl"), 0);
    assert_eq!(run("clean.jsonl", "part.jsonl"), 2, "a test is missing");
    let both =
        scratch.litmus(&["report", "clean.jsonl", "wrong.jsonl", "-o", "out", "--mutants", "0"]);
    assert_eq!(code(&both), 1);
    assert!(scratch.read("out/report.html").contains("id=\"comparison\""));
    let counts = "New violations against A: 1; known: 0; not seen again: 0";
    assert!(scratch.read("out/report.md").contains(counts), "{}", scratch.read("out/report.md"));
    is_valid_junit(&scratch.0.join("out/junit.xml"));
}

#[test]
fn a_baseline_takes_nothing_for_an_answer() {
    let scratch = Scratch::new();
    let header = header("mlx5_0");
    let with = |status: &str| {
        let mut line = mp(&[]);
        line["status"] = json!(status);
        line["reason"] = json!("the queue pair broke");
        record(&header, &[line])
    };
    let elsewhere = |counts: &[(u64, u64, u64)]| {
        let mut line = mp(counts);
        line["file"] = json!("other/MP.litmus");
        line
    };
    let changed = line("MP", &program("MP", 1, "changed"), WRONG);
    let more = line("Other", &program("Other", 1, "another"), CLEAN);
    let records = [
        ("clean.jsonl", record(&header, &[mp(CLEAN)])),
        ("wrong.jsonl", record(&header, &[mp(WRONG)])),
        ("more.jsonl", record(&header, &[mp(CLEAN), more])),
        ("failed.jsonl", with("failed")),
        ("interrupted.jsonl", with("interrupted")),
        ("skipped.jsonl", with("skipped")),
        ("empty.jsonl", record(&header, &[])),
        ("changed.jsonl", record(&header, &[changed])),
        ("both.jsonl", record(&header, &[mp(CLEAN), elsewhere(CLEAN)])),
        ("first.jsonl", record(&header, &[mp(WRONG), elsewhere(CLEAN)])),
    ];
    records.iter().for_each(|(name, text)| scratch.write(name, text));
    let run = |baseline: &str, new: &[&str]| {
        let mut arguments = vec!["report", "--baseline", baseline, "--mutants", "0", "-o", "out"];
        arguments.extend(new);
        code(&scratch.litmus(&arguments))
    };
    for nothing in ["failed.jsonl", "interrupted.jsonl", "skipped.jsonl", "empty.jsonl"] {
        assert_eq!(run("clean.jsonl", &[nothing]), 2, "{nothing}");
        assert_eq!(run("clean.jsonl", &["clean.jsonl", nothing]), 2, "{nothing}");
        assert_eq!(run("empty.jsonl", &[nothing]), 2, "{nothing}");
    }
    assert_eq!(run("clean.jsonl", &["wrong.jsonl", "clean.jsonl"]), 1, "every record is new");
    assert_eq!(run("clean.jsonl", &["changed.jsonl"]), 1, "a violation of another program is new");
    assert_eq!(run("wrong.jsonl", &["changed.jsonl"]), 1);
    assert_eq!(run("both.jsonl", &["first.jsonl"]), 1, "two files with tests of one name");
    assert_eq!(run("first.jsonl", &["both.jsonl"]), 0);
    assert_eq!(run("clean.jsonl", &["more.jsonl"]), 0, "a new test is judged like any other");
    assert_eq!(run("wrong.jsonl", &["clean.jsonl"]), 0);
    // What is counted is what is new.
    let html = scratch.read("out/report.html");
    let title = "<title>litmus: conforms · 1 program that forbids something: 0 violations</title>";
    assert!(html.contains(title), "{html}");
    assert!(scratch.read("out/junit.xml").contains("tests=\"1\" failures=\"0\" errors=\"0\""));
    is_valid_junit(&scratch.0.join("out/junit.xml"));
}

#[test]
fn small_things_of_the_command_line() {
    let scratch = Scratch::new();
    let header = header("mlx5_0");
    scratch.write("wrong.jsonl", record(&header, &[mp(WRONG)]));
    scratch.write("clean.jsonl", record(&header, &[mp(CLEAN)]));
    scratch.write("file", "");
    // A folder that cannot be made.
    let output = scratch.litmus(&["report", "clean.jsonl", "-o", "file/out", "--mutants", "0"]);
    assert_eq!(code(&output), 74, "{}", stderr(&output));
    assert!(!stdout(&output).contains("written:") && stderr(&output).contains("unwritable-file"));
    // JSON has its results, whatever else is asked for.
    for more in [&["-o", "out"][..], &["--baseline", "wrong.jsonl"]] {
        let plain = ["report", "wrong.jsonl", "--format", "json", "--mutants", "0"];
        let output = scratch.litmus(&[&plain[..], more].concat());
        let json: Json = serde_json::from_str(&stdout(&output)).unwrap();
        assert_eq!(json["results"].as_array().map(Vec::len), Some(2), "{more:?}");
        assert_eq!(code(&output), i32::from(more[0] == "-o"), "{more:?}: {}", stderr(&output));
    }
    // A log is a log.
    let log = ["report", "wrong.jsonl", "--format", "log", "-o", "out", "--mutants", "0"];
    let output = scratch.litmus(&log);
    assert!(stdout(&output).starts_with("Test MP") && !stdout(&output).contains("VIOLATION"));
    // Nothing in a record commands the terminal, and no time of it breaks JUnit.
    let mut evil = mp(WRONG);
    evil["test"] = json!("a\u{1b}]0;x\u{7}");
    evil["models"] = json!([]);
    let mut later = header.clone();
    later["started"] = json!("later");
    scratch.write("evil.jsonl", record(&later, &[evil.clone(), evil]));
    let plain = scratch.litmus(&["report", "evil.jsonl", "-v"]);
    assert_eq!(code(&plain), 2);
    assert!(stdout(&plain).contains("names no model for it"), "{}", stdout(&plain));
    let full = scratch.litmus(&["report", "evil.jsonl", "-o", "out", "--mutants", "0"]);
    for output in [plain, full] {
        assert!(!stdout(&output).contains('\u{1b}') && !stderr(&output).contains('\u{1b}'));
    }
    is_valid_junit(&scratch.0.join("out/junit.xml"));
    assert!(scratch.read("out/junit.xml").contains("no model judged it"));
}

#[test]
fn what_is_not_decided_is_named_with_its_reason() {
    let scratch = Scratch::new();
    let header = header("mlx5_0");
    let text = "litmus spin\nmodel rdma-tso-rmw\n\n  x = 0  || y = 0\n  -----\n  loop { a := RFAA(x^1, 1); if a = 3 { break } } || b := y\n\n  a = 7 ✗\n";
    let spin = line("spin", text, &[(7, 0, 10)]);
    let mut stopped = mp(CLEAN);
    stopped["status"] = json!("interrupted");
    scratch.write("r.jsonl", record(&header, &[stopped, spin]));
    scratch.litmus(&["report", "r.jsonl", "-o", "out", "--mutants", "0", "--loops", "2"]);
    for name in ["out/report.html", "out/report.md"] {
        let page = scratch.read(name);
        assert!(page.contains("Not decided, skipped, errors"), "{page}");
        assert!(page.contains("a loop can run more than 2 times"), "{page}");
        assert!(page.contains("stopped early, after 1000 runs"), "{page}");
    }
    // The program that needs a look is listed first.
    let html = scratch.read("out/report.html");
    let listed = html.split("<details class=\"t ").nth(1).unwrap();
    assert!(listed.starts_with("inconclusive\"><summary><b>spin</b>"), "{listed}");
}

#[test]
fn few_runs_bound_nothing() {
    let scratch = Scratch::new();
    scratch.write("r.jsonl", record(&header("mlx5_0"), &[mp(&[(0, 0, 3)])]));
    let output = scratch.litmus(&["report", "r.jsonl", "--mutants", "0"]);
    let text = stdout(&output).replace("\n", " ");
    assert!(
        text.contains("too few runs to bound anything") && !text.contains("below 100 %"),
        "{text}"
    );
}

/// Names of files can be anything, and JUnit's readers get them back.
#[test]
fn names_survive_junit() {
    let scratch = Scratch::new();
    let mut hostile = mp(WRONG);
    hostile["file"] = json!("sub dir/new\nline\t\"a<b>&'c☃.litmus");
    scratch.write("r.jsonl", record(&header("mlx5_0"), &[hostile]));
    scratch.litmus(&["report", "r.jsonl", "-o", "out", "--mutants", "0"]);
    let junit = scratch.read("out/junit.xml");
    let name = "file=\"sub dir/new&#10;line&#9;&quot;a&lt;b&gt;&amp;&#39;c☃.litmus\"";
    assert!(junit.contains(name), "{junit}");
    is_valid_junit(&scratch.0.join("out/junit.xml"));
    is_well_formed(&scratch.0.join("out/report.html"));
}

#[test]
fn ten_thousand_different_tests_fit_in_twenty_megabytes_with_violations() {
    let scratch = Scratch::new();
    let lines: Vec<Json> = (0..10_000)
        .map(|number| {
            let name = format!("MP+number-{number}");
            let b = if number % 63 == 0 { 0 } else { number + 1 };
            let seen = [(0, 0, 990), (1, b, 10)];
            line(&name, &program(&name, number + 1, "one of many"), &seen)
        })
        .collect();
    scratch.write("r.jsonl", record(&header("mlx5_0"), &lines));
    let started = Instant::now();
    let output = scratch.litmus(&["report", "r.jsonl", "-o", "out"]);
    let elapsed = started.elapsed();
    assert_eq!(code(&output), 1, "{}", stderr(&output));
    assert!(stdout(&output).starts_with("VIOLATION · 159 of 10000 programs that forbid something"));
    let size = std::fs::metadata(scratch.0.join("out/report.html")).unwrap().len();
    println!("10,000 tests: {elapsed:?}, {size} bytes of HTML");
    assert!(size < 20_000_000, "{size}");
    // In an optimized build it is below 10 s; a loaded machine must not fail this.
    assert!(elapsed.as_secs() < 400, "{elapsed:?}");
    is_valid_junit(&scratch.0.join("out/junit.xml"));
}

#[test]
fn a_suite_on_a_broken_simulator_names_what_is_broken() {
    let scratch = Scratch::new();
    let suite = Path::new(env!("CARGO_MANIFEST_DIR")).join("../litmus-suite/put-get");
    let suite = suite.to_str().unwrap();
    let run = scratch.litmus(&[
        "run",
        suite,
        "-n",
        "500",
        "--seed",
        "1",
        "--fault",
        "gets-do-not-flush",
        "--record",
        "r.jsonl",
    ]);
    assert_eq!(code(&run), 1);
    let text = stdout(&run);
    assert!(text.contains("VIOLATION · ") && text.contains("record: r.jsonl"), "{text}");
    assert!(text.contains("—oppo[nrW, nrR]→") || text.contains("—nfo→"), "{text}");
    let output = scratch.litmus(&["report", "r.jsonl", "-o", "out", "--mutants", "0"]);
    assert!(stdout(&output).contains("[nrW, nrR]"), "{}", stdout(&output));
}

/// The files in docs, made anew by `LITMUS_BLESS=1`. What they say is compared, but for the explanations and
/// pictures, which have tests of their own.
fn is_example(scratch: &Scratch, folder: &Path) {
    if std::env::var_os("LITMUS_BLESS").is_some() {
        for name in ["report.html", "report.md", "report.json", "junit.xml"] {
            std::fs::copy(scratch.0.join("out").join(name), folder.join(name)).unwrap();
        }
    }
    is_valid_junit(&scratch.0.join("out/junit.xml"));
    let markdown = |text: &str| {
        let (head, rest) = text.split_once("<a id=").unwrap_or((text, ""));
        let tail = rest.split_once("## What was tested").map_or("", |(_, tail)| tail);
        format!("{head}{tail}")
    };
    let junit = |text: &str| -> String {
        let is_told = |line: &&str| line.starts_with("<test") || line.starts_with("<failure");
        let told = text.lines().filter(is_told);
        told.map(|line| line.split('>').next().unwrap_or_default().to_owned() + "\n").collect()
    };
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap_or_default();
    let again = format!("{} is another; LITMUS_BLESS=1 makes it anew", folder.display());
    assert!(markdown(&scratch.read("out/report.md")) == markdown(&read("report.md")), "{again}");
    assert!(junit(&scratch.read("out/junit.xml")) == junit(&read("junit.xml")), "{again}");
    // One line of the other pages stands for them all.
    let title =
        |text: &str| text.lines().find(|line| line.starts_with("<title>")).map(str::to_owned);
    assert_eq!(title(&scratch.read("out/report.html")), title(&read("report.html")), "{again}");
}

/// A folder in which the files of the repository have the names that the docs give them.
fn repository(scratch: &Scratch) {
    let root = docs().join("..");
    for name in ["litmus-suite", "docs"] {
        std::os::unix::fs::symlink(root.join(name), scratch.0.join(name)).unwrap();
    }
}

#[test]
fn the_example_of_the_docs_is_made_by_its_command() {
    let scratch = Scratch::new();
    repository(&scratch);
    let output = scratch.litmus(&["report", "docs/example/record.jsonl", "-o", "out"]);
    assert_eq!(code(&output), 0, "{}{}", stdout(&output), stderr(&output));
    is_example(&scratch, &docs().join("example"));
}

#[test]
fn the_example_with_a_violation_is_made_by_its_commands() {
    let scratch = Scratch::new();
    repository(&scratch);
    let folder = docs().join("example/violation");
    let run =
        "run litmus-suite/put-get --fault puts-reordered -n 1000 --seed 1 -q --record r.jsonl";
    let run: Vec<&str> = run.split(' ').collect();
    let output = scratch.litmus(&run);
    assert_eq!(code(&output), 1, "{}{}", stdout(&output), stderr(&output));
    if std::env::var_os("LITMUS_BLESS").is_some() {
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::copy(scratch.0.join("r.jsonl"), folder.join("record.jsonl")).unwrap();
    }
    // All but what depends on time and place.
    let tests = |text: &str| -> Vec<Json> {
        let lines = text.lines().map(|line| serde_json::from_str::<Json>(line).unwrap());
        let mut tests: Vec<Json> = lines.filter(|line| line["kind"] == "test").collect();
        tests.iter_mut().for_each(|test| test["seconds"] = Json::Null);
        tests
    };
    let known = std::fs::read_to_string(folder.join("record.jsonl")).unwrap_or_default();
    assert!(tests(&known) == tests(&scratch.read("r.jsonl")), "LITMUS_BLESS=1 makes it anew");
    let output = scratch.litmus(&["report", "docs/example/violation/record.jsonl", "-o", "out"]);
    assert_eq!(code(&output), 1, "{}{}", stdout(&output), stderr(&output));
    is_example(&scratch, &folder);
}
