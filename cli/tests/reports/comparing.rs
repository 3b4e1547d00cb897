//! Records side by side, and against a baseline.

use crate::scratch::Scratch;
use std::path::Path;

use serde_json::{Value as Json, json};

use super::common::*;

fn made(scratch: &Scratch, arguments: &[&str]) -> (i32, String, Json) {
    let more = ["-o", "out", "--mutants", "0"];
    let output = scratch.litmus(&[&["report"], arguments, &more].concat());
    let json = serde_json::from_str(&scratch.read("out/report.json")).unwrap();
    is_valid_junit(&scratch.0.join("out/junit.xml"));
    is_well_formed(&scratch.0.join("out/report.html"));
    (code(&output), stdout(&output), json)
}

/// A test that one of three records does not have is compared between the other two, whichever it is.
#[test]
fn a_test_that_one_record_lacks_is_compared_between_the_others() {
    let scratch = Scratch::new();
    let header = header("mlx5_0");
    let other = |counts| line("Other", &program("Other", 1, "another"), counts);
    let (seldom, often) = (&[(0, 0, 990), (1, 1, 10)][..], &[(0, 0, 500), (1, 1, 500)][..]);
    for lacking in 0..3 {
        let mut counts = [seldom, often].into_iter();
        for run in 0..3 {
            let mut lines = vec![mp(CLEAN)];
            lines.extend((run != lacking).then(|| other(counts.next().unwrap())));
            scratch.write(&format!("{run}.jsonl"), record(&header, &lines));
        }
        let (exit, text, json) = made(&scratch, &["0.jsonl", "1.jsonl", "2.jsonl"]);
        let comparison = &json["comparison"];
        assert_eq!((&comparison["common"], &comparison["partly"]), (&json!(1), &json!(1)));
        let rows = comparison["rows"].as_array().unwrap();
        assert_eq!(rows.len(), 2, "{comparison}");
        for row in rows {
            assert_eq!((&row["test"], &row["change"]), (&json!("Other"), &json!("rate")));
            let cells = row["cells"].as_array().unwrap();
            assert_eq!(cells.len(), 3);
            for (run, cell) in cells.iter().enumerate() {
                assert_eq!(cell.is_null(), run == lacking, "{row}");
            }
        }
        let keys = ["A", "B", "C"];
        let between: Vec<&str> =
            (0..3).filter(|run| *run != lacking).map(|run| keys[run]).collect();
        let reason =
            format!("not run in {}; compared between {}", keys[lacking], between.join(", "));
        assert_eq!(comparison["refused"][0]["reason"], json!(reason));
        assert!(text.contains("2 tests compared, and 0 not"), "{text}");
        assert_eq!(exit, 0, "{text}");
        for page in ["out/report.html", "out/report.md"] {
            assert!(scratch.read(page).contains("not run"), "{page}");
        }
    }
}

/// Of the same healthy machine, runs with other seeds differ by chance, which is not reported as more.
#[test]
fn seeds_of_one_machine_do_not_differ() {
    let scratch = Scratch::new();
    let suite = Path::new(env!("CARGO_MANIFEST_DIR")).join("../litmus-suite/put-get");
    let suite = suite.to_str().unwrap();
    let names: Vec<String> = (1..=6).map(|seed| format!("{seed}.jsonl")).collect();
    for (seed, name) in names.iter().enumerate() {
        let seed = seed.to_string();
        let run = ["run", suite, "-n", "300", "-q", "--record", name, "--seed", &seed];
        assert_eq!(code(&scratch.litmus(&run)), 0);
    }
    let mut false_alarms = 0;
    for pair in names.chunks(2) {
        let (exit, text, json) = made(&scratch, &[&pair[0], &pair[1]]);
        assert_eq!(exit, 0, "{text}");
        let comparison = &json["comparison"];
        assert!(comparison["compared"].as_u64() > Some(200), "{comparison}");
        false_alarms += usize::from(comparison["rows"] != json!([]));
    }
    // At 5 %, two of three by chance would be a bug in all likelihood.
    assert!(false_alarms < 2, "{false_alarms} of 3 pairs");
}

/// Known violations are not failures, in no output; a record compared with itself differs in nothing.
#[test]
fn what_is_known_is_no_failure() {
    let scratch = Scratch::new();
    let header = header("mlx5_0");
    let more = |counts| line("More", &program("More", 2, "more"), counts);
    let clean = [(0, 0, 990), (1, 2, 10)];
    let wrong = [(0, 0, 990), (1, 0, 10)];
    scratch.write("known.jsonl", record(&header, &[mp(WRONG), more(&clean)]));
    scratch.write("worse.jsonl", record(&header, &[mp(WRONG), more(&wrong)]));
    let (exit, text, json) = made(&scratch, &["known.jsonl", "--baseline", "known.jsonl"]);
    assert_eq!(exit, 0);
    assert!(text.starts_with("no new violation · 1 known"), "{text}");
    assert!(text.contains("  0 of ") && !text.contains("VIOLATION in"), "{text}");
    assert_eq!(
        (&json["comparison"]["rows"], &json["verdict"]["word"]),
        (&json!([]), &json!("known"))
    );
    let html = scratch.read("out/report.html");
    assert!(html.contains("<header class=\"known\">") && !html.contains("class=\"card bad\""));
    assert!(html.contains("<h1>no new violation · 1 known"), "{html}");
    let junit = scratch.read("out/junit.xml");
    assert!(junit.contains("failures=\"0\"") && !junit.contains("<failure"), "{junit}");
    // One that is new fails, and the known one beside it does not.
    let (exit, text, json) = made(&scratch, &["worse.jsonl", "--baseline", "known.jsonl"]);
    assert_eq!(exit, 1, "{text}");
    assert_eq!(json["comparison"]["new_violations"], json!(["More: a=1, b=0"]));
    assert_eq!(json["comparison"]["known_violations"], json!(["MP: a=1, b=0"]));
    let junit = scratch.read("out/junit.xml");
    assert!(junit.contains("failures=\"1\"") && junit.matches("<failure").count() == 1, "{junit}");
    let html = scratch.read("out/report.html");
    assert!(html.contains("card bad") && html.contains("card known"), "{html}");
}

/// An outcome of a program counts once, as in the headline: new, if it is on some machine.
#[test]
fn an_outcome_is_new_or_known_and_not_both() {
    let scratch = Scratch::new();
    let on = |machine: &str, counts| {
        let mut line = mp(counts);
        line["machine"] = json!(machine);
        line
    };
    let header = header("mlx5_0");
    let both = |one, other| record(&header, &[on("rdma-tso", one), on("rdma-wait", other)]);
    scratch.write("old.jsonl", both(WRONG, CLEAN));
    scratch.write("new.jsonl", both(WRONG, WRONG));
    scratch.write("other.jsonl", both(CLEAN, WRONG));
    let counts = |new: &str, base: &str| {
        let (_, text, json) = made(&scratch, &[new, "--baseline", base]);
        let count = |name: &str| json["comparison"][name].as_array().map_or(0, Vec::len);
        assert_eq!(json["verdict"]["violations"], count("new_violations"), "{text}");
        assert_eq!(json["verdict"]["known"], count("known_violations"), "{text}");
        ["new_violations", "known_violations", "gone_violations"].map(count)
    };
    assert_eq!(counts("new.jsonl", "old.jsonl"), [1, 0, 0]);
    assert_eq!(counts("old.jsonl", "new.jsonl"), [0, 1, 0]);
    assert_eq!(counts("other.jsonl", "old.jsonl"), [1, 0, 0]);
    let (_, text, _) = made(&scratch, &["new.jsonl", "--baseline", "old.jsonl"]);
    assert!(text.contains("new: MP on rdma-wait: a=1, b=0"), "{text}");
}

/// With several records, violations come before the list of all that differs.
#[test]
fn causes_come_before_the_list_of_differences() {
    let scratch = Scratch::new();
    let header = header("mlx5_0");
    scratch.write("a.jsonl", record(&header, &[mp(CLEAN)]));
    scratch.write("b.jsonl", record(&header, &[mp(WRONG)]));
    made(&scratch, &["a.jsonl", "b.jsonl"]);
    let html = scratch.read("out/report.html");
    let at = |part: &str| html.find(part).unwrap_or_else(|| panic!("no {part}"));
    let order = ["id=\"comparison\"", "id=\"violations\"", "id=\"differences\"", "id=\"tested\""];
    assert!(order.map(at).is_sorted(), "{:?}", order.map(at));
    assert!(html.contains("href=\"#differences\""));
    // Readers of JUnit may take all properties for one set.
    let junit = scratch.read("out/junit.xml");
    let mut names: Vec<&str> = junit
        .lines()
        .filter_map(|line| line.strip_prefix("<property ")?.split('"').nth(1))
        .collect();
    let all = names.len();
    names.sort_unstable();
    names.dedup();
    assert!(all > 0 && names.len() == all, "{junit}");
}

/// A variant says which violations it does not explain; values that no model allows stand apart and spoil no
/// diagnosis.
#[test]
fn a_diagnosis_says_what_it_does_not_explain() {
    let scratch = Scratch::new();
    let header = header("mlx5_0");
    let own = "litmus CoWR\n\"A thread reads what it wrote\"\nmodel rdma-tso-rmw rdma-wait-rmw\n\n  \
         x = 0, b = 0\n  ------------\n  x := 1\n  a := x\n\n  (a, b) = (0, 0) ✗\n";
    // A value that nothing writes.
    let mp = mp(&[(0, 0, 980), (1, 0, 10), (7, 1, 10)]);
    let lines = [mp, line("CoWR", own, &[(0, 0, 10), (1, 0, 990)])];
    scratch.write("r.jsonl", record(&header, &lines));
    let (exit, text, json) = made(&scratch, &["r.jsonl"]);
    assert_eq!(exit, 1);
    let findings = json["findings"].as_array().unwrap();
    let of = |test: &str, outcome: &str| {
        let found = findings.iter().find(|one| one["test"] == test && one["outcome"] == outcome);
        found.unwrap_or_else(|| panic!("{test}: {outcome}: {findings:?}"))
    };
    assert_eq!(of("MP", "a=7, b=1")["nature"], json!("impossible"));
    assert_eq!(of("MP", "a=1, b=0")["nature"], json!("weaker"));
    let lines: Vec<&str> = json["diagnoses"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|one| one["line"].as_str())
        .collect();
    let lines = lines.join("\n");
    assert!(lines.contains("explains 1 of 2 forbidden outcomes; not: CoWR: a=0, b=0"), "{lines}");
    assert!(!lines.contains("not: MP: a=7"), "{lines}");
    assert!(json["causes"].as_array().unwrap().iter().any(|one| one["nature"] == "impossible"));
    assert!(text.contains("explains 1 of 2"), "{text}");
    let html = scratch.read("out/report.html");
    assert!(html.contains("class=\"cause impossible\""), "{html}");
}
