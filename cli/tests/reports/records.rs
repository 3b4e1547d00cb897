//! What records are read, what is said of them, and what is kept.

use crate::scratch::Scratch;
use std::path::Path;

use serde_json::{Value as Json, json};

use super::common::*;

#[test]
fn odd_records_are_read_and_it_is_said() {
    let scratch = Scratch::new();
    let mut newer = mp(WRONG);
    newer["spin"] = json!(0.5);
    let mut text = record(&header("mlx5_0"), &[mp(CLEAN), newer, json!({ "kind": "weather" })]);
    text.push_str("{\"kind\":\"test\",\"test\":\"cut");
    scratch.write("r.jsonl", &text);
    let output = scratch.litmus(&["report", "r.jsonl", "-o", "out", "--mutants", "0"]);
    assert_eq!(code(&output), 1, "lines of a test are added up: {}", stderr(&output));
    let said = stderr(&output);
    for part in
        ["line 6, the last one, was cut off", "spin", "weather", "whose counts are added: MP"]
    {
        assert!(said.contains(part), "{part}: {said}");
    }
    let html = scratch.read("out/report.html");
    assert!(html.contains("cut off") && html.contains("spin"));
    let mut other = header("mlx5_0");
    other["schema"] = json!("litmus-record/2");
    scratch.write("two.jsonl", record(&other, &[]));
    let refused = scratch.litmus(&["report", "two.jsonl", "-o", "out"]);
    assert_eq!(code(&refused), 65);
    assert!(stderr(&refused).contains("expected the format litmus-record/1"));
    let mut changed = mp(CLEAN);
    changed["program"] = json!(program("MP", 3, "changed"));
    scratch.write("changed.jsonl", record(&header("mlx5_0"), &[changed]));
    let output = scratch.litmus(&["report", "changed.jsonl"]);
    assert!(stderr(&output).contains("not the one that was hashed"), "{}", stderr(&output));
}

#[test]
fn a_run_makes_its_report_and_reads_all_that_it_wrote() {
    let scratch = Scratch::new();
    scratch.write("MP.litmus", program("MP", 1, "two puts"));
    let run = scratch.litmus(&["run", "MP.litmus", "-n", "50", "--seed", "1", "-o", "out"]);
    assert_eq!(code(&run), 0, "{}{}", stdout(&run), stderr(&run));
    assert!(stdout(&run).contains("written: out/report.html"), "{}", stdout(&run));
    let output = scratch.litmus(&["report", "out/record.jsonl", "--mutants", "0"]);
    assert_eq!(code(&output), 0, "{}{}", stdout(&output), stderr(&output));
    assert_eq!(stderr(&output), "", "nothing of it is odd");
    assert!(stdout(&output).contains("confidence: "), "{}", stdout(&output));
}

#[test]
fn last_lines_count_unless_they_are_cut_off() {
    let scratch = Scratch::new();
    let text = record(&header("mlx5_0"), &[mp(CLEAN), line("Bad", &program("Bad", 1, "x"), WRONG)]);
    let whole = text.trim_end();
    scratch.write("whole.jsonl", whole);
    scratch.write("marked.jsonl", format!("\u{feff}{text}"));
    scratch.write("windows.jsonl", text.replace('\n', "\r\n"));
    for name in ["whole.jsonl", "marked.jsonl", "windows.jsonl"] {
        let output = scratch.litmus(&["report", name]);
        assert_eq!(code(&output), 1, "{name}: {}", stderr(&output));
        assert!(!stderr(&output).contains("cut off"), "{name}");
    }
    // Without its end, and in the midst of the line before it.
    let (lines, _) = whole.rsplit_once('\n').unwrap();
    let cut = &lines[..lines.len() - 20];
    for (name, text) in [("cut.jsonl", cut.to_owned()), ("cut-n.jsonl", format!("{cut}\n\n"))] {
        scratch.write(name, &text);
        let output = scratch.litmus(&["report", name]);
        assert_eq!(code(&output), 2, "{name}: {}", stderr(&output));
        assert!(stderr(&output).contains("line 3, the last one, was cut off"), "{name}");
    }
    let more = format!("{}\n", mp(CLEAN));
    scratch.write("middle.jsonl", format!("{cut}\n{more}"));
    let output = scratch.litmus(&["report", "middle.jsonl"]);
    assert_eq!(code(&output), 65);
    assert!(stderr(&output).contains("line 3: the line is cut off"), "{}", stderr(&output));
}

#[test]
fn what_cannot_be_used_is_no_success() {
    let scratch = Scratch::new();
    let header = header("mlx5_0");
    let mut lacking = line("Lacking", &program("Lacking", 1, "x"), CLEAN);
    lacking["outcomes"] = json!([{ "state": { "a": 1 }, "count": 1000 }]);
    let broken = line("Broken", "litmus Broken\n{", CLEAN);
    scratch.write("good.jsonl", record(&header, &[mp(CLEAN), lacking.clone(), broken.clone()]));
    scratch.write("bad.jsonl", record(&header, &[mp(WRONG), lacking, broken]));
    let output = scratch.litmus(&["report", "good.jsonl", "-o", "out", "--mutants", "0"]);
    assert_eq!(code(&output), 2, "{}", stderr(&output));
    assert!(stdout(&output).contains("2 programs unusable"), "{}", stdout(&output));
    for part in ["without a value of `b`", "Broken: line 2"] {
        assert!(stderr(&output).contains(part), "{part}: {}", stderr(&output));
    }
    assert!(scratch.read("out/report.html").contains("2 programs unusable"));
    is_valid_junit(&scratch.0.join("out/junit.xml"));
    assert_eq!(code(&scratch.litmus(&["report", "good.jsonl"])), 2);
    let output = scratch.litmus(&["report", "bad.jsonl", "-o", "out", "--mutants", "0"]);
    assert_eq!(code(&output), 1, "a violation weighs more");
    // Neither can what is not there.
    let mut stopped = mp(CLEAN);
    stopped["status"] = json!("interrupted");
    let mut huge = mp(CLEAN);
    huge["outcomes"][0]["count"] = json!(u64::MAX);
    let records = [(vec![], 2), (vec![stopped], 2), (vec![huge], 0)];
    for (lines, expected) in records {
        scratch.write("r.jsonl", record(&header, &lines));
        for more in [&[][..], &["-o", "out", "--mutants", "0"]] {
            let output = scratch.litmus(&[&["report", "r.jsonl"][..], more].concat());
            assert_eq!(code(&output), expected, "{lines:?} {more:?}: {}", stderr(&output));
        }
    }
}

#[test]
fn no_line_of_a_test_drops_a_violation() {
    let scratch = Scratch::new();
    let changed = line("MP", &program("MP", 1, "changed"), CLEAN);
    let mut simulated = header("mlx5_0");
    simulated["backend"] = json!("sim");
    simulated["nodes"] = json!([]);
    for (header, what) in [(header("mlx5_0"), "machine"), (simulated, "simulator")] {
        for (lines, said) in [
            ([mp(WRONG), mp(CLEAN)], "whose counts are added: MP"),
            ([mp(CLEAN), mp(WRONG)], ": MP"),
            ([mp(WRONG), changed.clone()], "judged as tests of their own: MP"),
            ([changed.clone(), mp(WRONG)], "judged as tests of their own: MP"),
        ] {
            scratch.write("r.jsonl", record(&header, &lines));
            let output = scratch.litmus(&["report", "r.jsonl"]);
            assert_eq!(code(&output), 1, "{what}: {}", stdout(&output));
            assert!(stderr(&output).contains(said), "{what}: {}", stderr(&output));
        }
    }
}

#[test]
fn other_versions_are_said_everywhere() {
    let scratch = Scratch::new();
    let mut old = header("mlx5_0");
    old["tool"] = json!("0.0.9");
    scratch.write("r.jsonl", record(&old, &[mp(CLEAN)]));
    let said = ["made by litmus 0.0.9", "rdma-tso-rmw is another text now"];
    let plain = scratch.litmus(&["report", "r.jsonl"]);
    let full = scratch.litmus(&["report", "r.jsonl", "-o", "out", "--mutants", "0"]);
    let html = scratch.read("out/report.html");
    for part in said {
        assert!(stderr(&plain).contains(part), "{part}: {}", stderr(&plain));
        assert!(stderr(&full).contains(part), "{part}: {}", stderr(&full));
        assert!(html.contains(part), "{part}");
    }
}

#[test]
fn the_command_to_repeat_is_the_one_that_was_given() {
    let scratch = Scratch::new();
    scratch.write("MP.litmus", program("MP", 1, "two puts"));
    std::fs::create_dir_all(scratch.0.join("more")).unwrap();
    scratch.write("more/Other.litmus", program("Other", 2, "another"));
    let run = ["run", "MP.litmus", "more", "--model", "rdma-tso-rmw", "--record", "r.jsonl", "-q"];
    assert_eq!(code(&scratch.litmus(&run)), 0);
    scratch.litmus(&["report", "r.jsonl", "-o", "out", "--mutants", "0"]);
    let json: Json = serde_json::from_str(&scratch.read("out/report.json")).unwrap();
    let command = json["runs"][0]["command"].as_str().unwrap();
    let start = "litmus run MP.litmus more --model rdma-tso-rmw --seed ";
    assert!(command.starts_with(start) && command.ends_with(" -n 10000"), "{command}");
    // Records that have no arguments: made of what is known.
    let mut stressed = header("mlx5_0");
    stressed["parameters"] = json!({ "stress": 3, "shuffle": false, "pin": true });
    stressed["models"] = json!([{ "name": "mine", "hash": "x" }]);
    let mut elsewhere = line("Other", &program("Other", 2, "another"), CLEAN);
    elsewhere["file"] = json!("more/Other.litmus");
    scratch.write("old.jsonl", record(&stressed, &[mp(WRONG), elsewhere]));
    scratch.litmus(&["report", "old.jsonl", "-o", "out", "--mutants", "0"]);
    let json: Json = serde_json::from_str(&scratch.read("out/report.json")).unwrap();
    let command = json["runs"][0]["command"].as_str().unwrap();
    let parts = [
        "more/Other.litmus suite/put-get/MP.litmus",
        "--no-shuffle --pin --stress 3",
        "--model mine.cat",
    ];
    for part in parts {
        assert!(command.contains(part), "{part}: {command}");
    }
    let again = json["findings"][0]["reproduce"].as_str().unwrap();
    assert!(again.contains("--no-shuffle --pin --stress 3"), "{again}");
    // A log says nothing of how it was made, and nothing is made up.
    let log = scratch.litmus(&["report", "old.jsonl", "--format", "log"]);
    scratch.write("r.log", stdout(&log));
    scratch.litmus(&["report", "r.log", "--tests", "MP.litmus", "-o", "out", "--mutants", "0"]);
    let json: Json = serde_json::from_str(&scratch.read("out/report.json")).unwrap();
    assert!(json["runs"][0]["command"].as_str().unwrap().starts_with("not known"));
    let again = json["findings"][0]["reproduce"].as_str().unwrap();
    assert_eq!(again, "litmus run MP.litmus --model rdma-tso-rmw");
}

const LIBRARY: &str = "litmus MP+mine\nmodel rdma-wait-rmw\n\n  Mine x = 0\n                     ||  z = 0\n  \
    --------------------------------\n  z^2 := 1           ||  a :=SV x\n  x :=SV 1           ||  b := z\n  \
    Bcast(x, _, {2})   ||\n\n  (a, b) = (1, 0) ✗\n";

#[test]
fn records_hold_the_libraries_of_files() {
    let scratch = Scratch::new();
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("../model/libraries/sv.lib");
    let shipped = std::fs::read_to_string(shipped).unwrap();
    scratch
        .write("mine.lib", shipped.replace("library sv", "library mine").replace("SVar", "Mine"));
    scratch.write("sv.lib", format!("{shipped}\n// mine\n"));
    scratch.write("t.litmus", LIBRARY);
    let run = ["run", "t.litmus", "--library", "mine.lib", "--library", "sv.lib", "-n", "50"];
    let output = scratch.litmus(&[&run[..], &["--record", "r.jsonl"]].concat());
    assert_eq!(code(&output), 0, "{}{}", stdout(&output), stderr(&output));
    // The files are gone, and the record is enough.
    std::fs::remove_file(scratch.0.join("mine.lib")).unwrap();
    std::fs::remove_file(scratch.0.join("sv.lib")).unwrap();
    for arguments in [&["report", "r.jsonl"][..], &["report", "r.jsonl", "-o", "out"]] {
        let output = scratch.litmus(arguments);
        assert_eq!(code(&output), 0, "{}{}", stdout(&output), stderr(&output));
        let said = "the library `sv` is that of sv.lib, another text than the shipped one";
        assert!(stderr(&output).contains(said), "{}", stderr(&output));
    }
    assert!(scratch.read("out/report.html").contains("mine.lib"));
}

#[test]
fn what_a_machine_depends_on_is_shown_or_not_known() {
    let scratch = Scratch::new();
    let mut known = header("mlx5_0");
    known["nodes"][0]["host"]["rdma_core"] = json!("50.0");
    known["nodes"][0]["device"]["iommu"] = json!("DMA-FQ");
    scratch.write("r.jsonl", record(&known, &[mp(CLEAN)]));
    scratch.litmus(&["report", "r.jsonl", "-o", "out", "--mutants", "0"]);
    let markdown = scratch.read("out/report.md");
    for part in ["IOMMU: DMA-FQ · rdma-core: 50.0", "not known: board, PCIe link, NUMA node"] {
        assert!(markdown.contains(part), "{part}");
    }
}

#[test]
fn logs_go_out_and_come_back() {
    let scratch = Scratch::new();
    scratch.write("MP.litmus", program("MP", 1, "two puts"));
    scratch.write("r.jsonl", record(&header("mlx5_0"), &[mp(WRONG)]));
    let log = scratch.litmus(&["report", "r.jsonl", "--format", "log"]);
    let text = stdout(&log);
    assert!(text.starts_with("Test MP Forbidden\nHistogram (3 states)\n"), "{text}");
    scratch.write("r.log", &text);
    let back =
        scratch.litmus(&["report", "r.log", "--tests", "MP.litmus", "-o", "out", "--mutants", "0"]);
    assert_eq!(code(&back), 1, "{}", stderr(&back));
    let unknown = scratch.litmus(&["report", "r.log", "-o", "out", "--mutants", "0"]);
    assert_eq!(code(&unknown), 2, "{}", stderr(&unknown));
    let run = scratch.litmus(&["run", "MP.litmus", "-n", "100", "--seed", "1", "--format", "log"]);
    assert!(stdout(&run).starts_with("Test MP Forbidden"), "{}", stdout(&run));
}
