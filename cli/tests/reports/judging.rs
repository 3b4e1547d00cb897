//! `litmus run` and every form of `litmus report` judge alike.

use crate::scratch::Scratch;
use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value as Json, json};

use super::common::*;

/// Test, model and judgement.
type Judged = BTreeSet<(String, String, String)>;

/// A record that the simulator makes of the tests in `suite`, each with this program; `change` changes the
/// lines.
fn recorded(scratch: &Scratch, programs: &[(&str, String)], change: impl Fn(usize, &mut Json)) {
    std::fs::create_dir(scratch.0.join("suite")).unwrap();
    for (name, text) in programs {
        scratch.write(&format!("suite/{name}.litmus"), text);
    }
    let run = "run suite -n 20 --seed 1 --model rdma-tso-rmw --record made.jsonl";
    let output = scratch.litmus(&run.split(' ').collect::<Vec<_>>());
    assert_eq!(code(&output), 0, "{}{}", stdout(&output), stderr(&output));
    let text = scratch.read("made.jsonl");
    let lines = text.lines().map(|line| serde_json::from_str::<Json>(line).unwrap());
    let mut lines: Vec<Json> = lines.collect();
    lines.pop();
    let header = lines.remove(0);
    lines.iter_mut().enumerate().for_each(|(index, line)| change(index, line));
    scratch.write("r.jsonl", record(&header, &lines));
}

fn triples(results: &Json) -> Judged {
    let text = |json: &Json| json.as_str().unwrap().to_owned();
    let one = |json: &Json| (text(&json["test"]), text(&json["model"]), text(&json["judgement"]));
    results.as_array().unwrap().iter().map(one).collect()
}

/// The judgements of a report, and its cases of JUnit with a failure, an error and none.
fn of_report(scratch: &Scratch, folder: &str) -> Judged {
    let report: Json =
        serde_json::from_str(&scratch.read(&format!("{folder}/report.json"))).unwrap();
    let mut judged = Judged::new();
    let was_run = |test: &&Json| test["iterations"] != 0;
    for test in report["tests"].as_array().unwrap().iter().filter(was_run) {
        for result in test["results"].as_array().unwrap() {
            for model in result["models"].as_array().unwrap() {
                let [test, model, judgement] = [&test["name"], model, &result["judgement"]]
                    .map(|json| json.as_str().unwrap().to_owned());
                judged.insert((test, model, judgement));
            }
        }
    }
    let junit = scratch.read(&format!("{folder}/junit.xml"));
    is_valid_junit(&scratch.0.join(folder).join("junit.xml"));
    let is_violated = judged.iter().any(|(.., judgement)| judgement == "violation");
    assert_eq!(junit.contains("<failure"), is_violated, "{junit}");
    judged
}

/// Judges `r.jsonl` in every way: the exit code, and the judgements.
fn reported(scratch: &Scratch, options: &[&str]) -> (i32, Judged) {
    let report = |more: &[&str]| {
        let arguments = [&["report", "r.jsonl", "--mutants", "0"], options, more].concat();
        let output = scratch.litmus(&arguments);
        (code(&output), stdout(&output), stderr(&output))
    };
    let (exit, out, _) = report(&["--format", "json"]);
    let json: Json = serde_json::from_str(&out).unwrap();
    let judged = triples(&json["results"]);
    for (number, more) in [
        &[][..],
        &["-v"],
        &["--only", "violation"],
        &["-q"],
        &["-o", "a"],
        &["-o", "b", "--format", "json"],
    ]
    .into_iter()
    .enumerate()
    {
        let (found, out, error) = report(more);
        assert_eq!(found, exit, "{number} {more:?}: {out}{error}");
    }
    assert_eq!(of_report(scratch, "a"), judged);
    assert_eq!(scratch.read("a/report.json"), scratch.read("b/report.json"));
    (exit, judged)
}

/// What `litmus run` says about the same observations: it goes on with the record, which has all of them.
fn resumed(scratch: &Scratch, options: &[&str]) -> (i32, Judged) {
    std::fs::copy(scratch.0.join("r.jsonl"), scratch.0.join("again.jsonl")).unwrap();
    let fixed = ["run", "suite", "--resume", "again.jsonl", "-o", "again", "--format", "json"];
    let output = scratch.litmus(&[&fixed, options].concat());
    let json: Json = serde_json::from_str(&stdout(&output)).unwrap();
    let judged = triples(&json["results"]);
    if !judged.is_empty() {
        assert_eq!(of_report(scratch, "again"), judged, "run and the report that it makes");
    }
    (code(&output), judged)
}

/// A record: its name, its programs, how the simulator's lines are changed, options for all commands, the
/// exit code, and the judgements of each test by the models in their order; none if a model does not judge.
type Row<'a> = (
    &'a str,
    &'a [(&'a str, String)],
    &'a dyn Fn(usize, &mut Json),
    &'a [&'a str],
    i32,
    &'a [(&'a str, &'a str, &'a str)],
);

const TSO: &str = "rdma-tso-rmw";
const BOTH: &[&str] = &["--model", "rdma-wait-rmw", "--model", TSO];

#[test]
fn run_and_all_reports_of_a_record_agree() {
    let mp = ("MP", program("MP", 1, "two puts"));
    let plain = std::slice::from_ref(&mp);
    // A poll, which no rdma-wait model defines.
    let polls =
        ("Polls", program("Polls", 1, "a poll").replace("y^2 := 1  ||", "y^2 := 1; Poll(2)  ||"));
    let polling = std::slice::from_ref(&polls);
    let two = [mp.clone(), polls.clone()];
    let as_is: &dyn Fn(usize, &mut Json) = &|_, _| {};
    let wrong: &dyn Fn(usize, &mut Json) = &|_, line| {
        line["outcomes"] = json!([{ "state": { "a": 1, "b": 0 }, "count": 20 }]);
    };
    let blocked: &dyn Fn(usize, &mut Json) = &|_, line| {
        (line["outcomes"], line["finished"], line["blocked"]) = (json!([]), json!(0), json!(20));
    };
    let seen: &dyn Fn(usize, &mut Json) = &|_, line| {
        let states = [(0, 0), (0, 1), (1, 1)]
            .map(|(a, b)| json!({ "state": { "a": a, "b": b }, "count": 7 }));
        line["outcomes"] = json!(states);
    };
    let rows: [Row<'_>; 8] = [
        ("conforms", plain, seen, &[], 0, &[("MP", TSO, "conforms")]),
        ("violates", plain, wrong, &[], 1, &[("MP", TSO, "violation")]),
        ("inconclusive", plain, blocked, &[], 2, &[("MP", TSO, "inconclusive")]),
        ("not defined by one of two models", polling, seen, BOTH, 0, &[("Polls", TSO, "conforms")]),
        ("violates where one defines it", polling, wrong, BOTH, 1, &[("Polls", TSO, "violation")]),
        ("not defined by any", polling, as_is, &["--model", "rdma-wait-rmw"], 2, &[]),
        (
            "one test of two is not defined",
            &two,
            seen,
            &["--model", "rdma-wait-rmw"],
            0,
            &[("MP", "rdma-wait-rmw", "conforms")],
        ),
        (
            "all of two models and two tests",
            &two,
            seen,
            BOTH,
            0,
            &[
                ("MP", TSO, "conforms"),
                ("MP", "rdma-wait-rmw", "conforms"),
                ("Polls", TSO, "conforms"),
            ],
        ),
    ];
    for (name, programs, change, options, exit, expected) in rows {
        let scratch = Scratch::new();
        recorded(&scratch, programs, change);
        let options = if options.is_empty() { &["--model", TSO] } else { options };
        let owned = |(test, model, word): &(&str, &str, &str)| {
            ((*test).to_owned(), (*model).to_owned(), (*word).to_owned())
        };
        let expected: Judged = expected.iter().map(owned).collect();
        assert_eq!(reported(&scratch, options), (exit, expected.clone()), "{name}: report");
        assert_eq!(resumed(&scratch, options), (exit, expected), "{name}: run");
    }
}

/// What no run can be made to show: tests that a record has as skipped, broken, interrupted, or under models
/// that are not there.
#[test]
fn all_reports_of_an_odd_record_agree() {
    let good = |name: &str| line(name, &program(name, 1, "two puts"), CLEAN);
    let with = |field: &str, value: Json| {
        let mut line = good("Odd");
        line[field] = value;
        line
    };
    let named = |names: &[&str]| {
        let one = |name: &&str| json!({ "name": name, "hash": "x" });
        with("models", names.iter().map(one).collect())
    };
    let polls = program("Polls", 1, "x").replace("y^2 := 1  ||", "y^2 := 1; Poll(2)  ||");
    let empty = |status: &str| {
        let mut line = with("status", json!(status));
        (line["outcomes"], line["finished"], line["iterations"]) = (json!([]), json!(0), json!(0));
        line["reason"] = json!("no such device");
        line
    };
    let rows = [
        ("skipped", vec![good("MP"), empty("skipped")], 0),
        ("all skipped", vec![empty("skipped")], 2),
        ("interrupted", vec![good("MP"), with("status", json!("interrupted"))], 2),
        ("failed", vec![good("MP"), with("status", json!("failed"))], 2),
        ("failed at once", vec![good("MP"), empty("failed")], 2),
        ("one model lacks a statement", vec![line("Polls", &polls, CLEAN)], 0),
        ("one model is not there", vec![named(&[TSO, "mine"])], 2),
        ("no model", vec![named(&[])], 2),
        ("no program", vec![good("MP"), with("program", json!("litmus Odd\n{"))], 2),
    ];
    for (name, lines, exit) in rows {
        let scratch = Scratch::new();
        scratch.write("r.jsonl", record(&header("mlx5_0"), &lines));
        let (found, judged) = reported(&scratch, &[]);
        assert_eq!(found, exit, "{name}: {judged:?}");
        // A violation weighs more than all of this.
        let bad = line("Bad", &program("Bad", 1, "x"), WRONG);
        scratch.write("r.jsonl", record(&header("mlx5_0"), &[&lines[..], &[bad]].concat()));
        let (found, judged) = reported(&scratch, &[]);
        assert_eq!(found, 1, "{name}: {judged:?}");
    }
}

#[test]
fn a_statement_that_a_model_does_not_define_is_a_skip() {
    let scratch = Scratch::new();
    let polls = program("Polls", 1, "x").replace("y^2 := 1  ||", "y^2 := 1; Poll(2)  ||");
    scratch.write("Polls.litmus", &polls);
    scratch.write("r.jsonl", record(&header("mlx5_0"), &[line("Polls", &polls, CLEAN)]));
    let why = "the model `rdma-wait-rmw` does not define `Poll`";
    for arguments in [
        &["run", "Polls.litmus", "-n", "20", "--seed", "1", "--format", "json"][..],
        &["report", "r.jsonl", "--format", "json"],
    ] {
        let output = scratch.litmus(arguments);
        assert_eq!(code(&output), 0, "{arguments:?}: {}", stderr(&output));
        let json: Json = serde_json::from_str(&stdout(&output)).unwrap();
        assert_eq!(json["errors"], json!([]), "{arguments:?}");
        assert_eq!(json["skipped"][0]["reason"], why, "{arguments:?}");
    }
    // Who names the test is shown the place, too.
    let output = scratch.litmus(&["run", "Polls.litmus", "-n", "20", "--seed", "1"]);
    assert!(stderr(&output).contains("[undefined-call] Warning"), "{}", stderr(&output));
    // If no model judges it, nothing is known.
    let alone = ["run", "Polls.litmus", "-n", "20", "--seed", "1", "--model", "rdma-wait-rmw"];
    assert_eq!(code(&scratch.litmus(&alone)), 2);
}

/// A program that misuses a library in every execution, as no run would record it.
#[test]
fn a_test_that_is_wrong_is_an_error_everywhere() {
    let scratch = Scratch::new();
    let program = "litmus Odd\nmodel rdma-wait-rmw\n\n  WLock l\n  x = 0\n  ---\n  Acq(l)\n  Acq(l)\n  \
                   Rel(l)\n  a := x\n";
    let mut odd = line("Odd", program, &[(0, 0, 1000)]);
    odd["models"] = json!([{ "name": "rdma-wait-rmw", "hash": "x" }]);
    odd["outcomes"][0]["state"]["x"] = json!(0);
    scratch.write("r.jsonl", record(&header("mlx5_0"), &[odd, mp(CLEAN)]));
    let (exit, judged) = reported(&scratch, &[]);
    assert_eq!(exit, 2);
    assert!(judged.iter().all(|(test, ..)| test == "MP"), "{judged:?}");
    let report: Json = serde_json::from_str(&scratch.read("a/report.json")).unwrap();
    assert_eq!(report["errors"][0]["code"], "already-held", "{}", report["errors"]);
    assert!(scratch.read("a/junit.xml").contains("<error type=\"error\""));
}

/// A run that is stopped, and the report of its record.
#[test]
fn an_interrupted_run_and_its_report_agree() {
    let scratch = Scratch::new();
    scratch.write("MP.litmus", program("MP", 1, "two puts"));
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_litmus"));
    let arguments = "run MP.litmus -n 1000000000 --seed 1 --model rdma-tso-rmw --record r.jsonl";
    command.current_dir(&scratch.0).args(arguments.split(' '));
    command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
    let mut child = command.spawn().unwrap();
    // The record has its first line before the first run begins.
    while !scratch.0.join("r.jsonl").exists() {
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(Duration::from_millis(500));
    let signal =
        std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(signal.unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(2));
    let (exit, judged) = reported(&scratch, &[]);
    assert_eq!(exit, 2);
    assert_eq!(judged.len(), 1, "what was seen until then is judged: {judged:?}");
}

/// Forbidden, and smt cannot know that within the bound of the loop, nor what would allow it.
const LOOP: &str = "\
litmus Loop
model MODEL

             ||  x = 0, f = 0, g = 0
  ----------------------------------
  x^2 := 1   ||  while a < 6 { a := FAA(g, 1) }
  f^2 := 1   ||  a := f
             ||  b := x

  (a, b) = (1, 0) ✗
";

fn looping(model: &str) -> Scratch {
    let scratch = Scratch::new();
    scratch.write("loop.litmus", LOOP.replace("MODEL", model));
    scratch
}

#[test]
fn a_limit_that_hides_what_is_forbidden_is_not_taken_for_nothing_forbidden() {
    let scratch = looping("rdma-wait-rmw");
    let output = scratch.litmus(&["run", "loop.litmus", "-n", "100", "--seed", "1", "-o", "r"]);
    let expected = "no violation · it is not known whether 1 program could have shown one";
    assert!(stdout(&output).contains(expected), "{}", stdout(&output));
    let markdown = scratch.read("r/report.md");
    assert!(markdown.contains("Confidence: not known: a limit"), "{markdown}");
    let junit = scratch.read("r/junit.xml");
    let expected = "it is not known whether this program could have shown a violation";
    assert!(junit.contains(expected), "{junit}");
    // With a higher bound it is known.
    let more = ["run", "loop.litmus", "-n", "100", "--seed", "1", "--loops", "8"];
    let output = scratch.litmus(&more);
    let expected = "conforms · 1 program that forbids something: 0 violations";
    assert!(stdout(&output).contains(expected), "{}", stdout(&output));
}

#[test]
fn a_limit_that_hides_what_is_lost_is_not_taken_for_no_explanation() {
    let scratch = looping("rdma-wait-rmw");
    let run = "run loop.litmus -n 5000 --seed 1 --fault puts-reordered -o r";
    let output = scratch.litmus(&run.split(' ').collect::<Vec<_>>());
    assert_eq!(code(&output), 1, "{}", stdout(&output));
    let markdown = scratch.read("r/report.md");
    for expected in [
        "It is not known which orders of rdma-wait-rmw the machine does not keep",
        "it is not known which orders of the models explain these: a limit was reached",
        "No test is known to show the loss of a promised cell",
    ] {
        assert!(markdown.contains(expected), "{expected}: {markdown}");
    }
    let report = ["report", "r/record.jsonl", "--loops", "8", "-o", "more", "--mutants", "0"];
    scratch.litmus(&report);
    let markdown = scratch.read("more/report.md");
    assert!(markdown.contains("behaves as rdma-wait-rmw without"), "{markdown}");
}

#[test]
fn an_outcome_that_is_not_known_to_be_allowed_makes_no_verdict_wrong() {
    // A model that is not known to mean what its machine does is asked by smt alone.
    let scratch = looping("rdma-wait-rmw");
    let model = stdout(&scratch.litmus(&["models", "rdma-wait-rmw"]));
    scratch.write("own.cat", format!("{model}empty 0 as nothing\n"));
    scratch.write("named.litmus", LOOP.replace("MODEL", "\"own.cat\""));
    let run = "run named.litmus -n 5000 --seed 1 --fault puts-reordered";
    let output = scratch.litmus(&run.split(' ').collect::<Vec<_>>());
    let text = stdout(&output);
    assert_eq!(code(&output), 2, "{text}");
    assert!(text.contains("inconclusive, the file says ✗"), "{text}");
    assert!(text.contains("no violation · 1 program inconclusive"), "{text}");
    assert!(!text.contains("verdict is wrong"), "{text}");
    // The record has the model's hash and not its text.
    let run = "run loop.litmus -n 50 --seed 1 --model own.cat --record r.jsonl";
    let text = stdout(&scratch.litmus(&run.split(' ').collect::<Vec<_>>()));
    assert!(text.contains("`litmus report r.jsonl --model own.cat -o DIR`"), "{text}");
    let output = scratch.litmus(&["report", "r.jsonl", "--mutants", "0"]);
    assert_eq!(code(&output), 2);
    assert!(stderr(&output).contains("name its file with --model"), "{}", stderr(&output));
}

#[test]
fn coverage_and_comparison_know_what_they_do_not_know() {
    let scratch = looping("rdma-wait-rmw");
    let coverage = ["coverage", "loop.litmus", "--model", "rdma-wait-rmw"];
    let before = stdout(&scratch.litmus(&coverage));
    assert!(before.contains(" unknown") && before.contains(": 0 tested"), "{before}");
    scratch.write("loop.litmus", LOOP.replace("MODEL", "rdma-wait-rmw\nbound loops = 8"));
    let after = stdout(&scratch.litmus(&coverage));
    assert!(!after.contains(" unknown") && !after.contains(": 0 tested"), "{after}");
    scratch.write("loop.litmus", LOOP.replace("MODEL", "rdma-wait-rmw"));
    scratch.write("own.cat", stdout(&scratch.litmus(&["models", "rdma-wait-rmw"])));
    let output = scratch.litmus(&["compare", "rdma-wait-rmw", "own.cat", "loop.litmus"]);
    let text = stdout(&output);
    assert_eq!(code(&output), 2, "{text}");
    assert!(text.contains("unknown, with") && !text.contains("the same"), "{text}");
}
