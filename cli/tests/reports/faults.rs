//! What a report blames for each fault of the simulator, where an engineer of NICs will look first.

use std::fmt::Write as _;
use std::path::Path;

use model::machine::FAULTS;

use super::common::{code, stderr, stdout};
use crate::scratch::Scratch;

/// Programs that show each fault, and some that do not.
const PROGRAMS: [(&str, &str); 20] = [
    ("puts-reordered", "put-get/CoWW+put-put put-get/MP+put-put+po put-get/2+2W+puts"),
    ("put-reads-reordered", "put-get/CoRR+w+put-put put-get/MP+w-w+put-put"),
    (
        "put-reads-early",
        "store-buffer/CoWR+w-put rfence/CoWR+get-rfence-put put-get/MP+w-w+put-put",
    ),
    ("put-overtakes-rmw", "remote-rmw/CoWW+rfaa-put remote-rmw/Lock+rcas-put-put+rcas"),
    (
        "completion-at-issue",
        "rmw-paper/CoRW+put-poll-w rmw-paper/CoRW+put-wait-w rmw-paper/CoRW+put-put-wait-w \
         poll-wait/CoWR+get-put-poll-r rmw-paper/CoRW+put-put-polls-w",
    ),
    ("completions-reordered", "poll-wait/CoWR+get-put-poll-r rmw-paper/CoRW+put-put-polls-w"),
    (
        "remote-buffer-not-fifo",
        "put-get/CoWW+put-put put-get/MP+put-put+po remote-rmw/CoWW+rfaa-put",
    ),
    ("local-buffer-not-fifo", "put-get/CoWW+get-get remote-rmw/CoWW+rfaa-rfaa-result"),
    (
        "gets-do-not-flush",
        "put-get/CoWR+put-get put-get/SB+put-get+put-get remote-rmw/CoWR+rfaa-get",
    ),
    ("get-overtakes-put-read", "put-get/CoWR+put-get put-get/SB+put-get+put-get"),
    ("read-overtakes-local-write", "rfence/CoWR+get-rfence-put rfence/MP+get-rfence-rfaa"),
    (
        "poll-early",
        "poll-wait/CoWR+get-poll-r poll-wait/CoWR+get-wait-r poll-wait/CoWW+get-poll-w \
         poll-wait/CoWW+get-wait-w poll-wait/MP+get-poll-w+po poll-wait/MP+get-wait-w+po \
         poll-wait/CoWR+get-wait-put-other-node",
    ),
    (
        "rfence-ignored",
        "rfence/CoWR+get-rfence-put rfence/MP+get-rfence-rfaa rfence/MP+w-w+get-rfence-get",
    ),
    ("rmw-not-exclusive", "remote-rmw/RFAA+rfaas remote-rmw/RCAS+rcas-rcas"),
    ("rmw-does-not-flush", "remote-rmw/CoWR+put-rfaa"),
    (
        "persist-keeps-nothing",
        "crashes/Crash+put-persist-polls-w crashes/Crash+rfaa-persist-polls-w \
         crashes/Crash+put-persist-atomicwrite crashes/Crash+put-flush-polls-w",
    ),
    ("store-buffer-not-fifo", "cpu-classics/MP cpu-classics/S cpu-classics/2+2W"),
    ("issue-overtakes-writes", "store-buffer/CoWR+w-put put-get/CoWW+w-get put-get/MP+w-w+get-get"),
    ("fence-ignored", "cpu-classics/SB+mfences cpu-classics/R+po+mfence"),
    ("cas-does-not-drain", "cpu-classics/SB+w-faa-r+w-faa-r cpu-classics/SB+w-failed-cass"),
];

/// Each fault with the rule that it breaks and what the report names.
#[test]
fn faults_are_looked_for_where_they_are() {
    let suite = Path::new(env!("CARGO_MANIFEST_DIR")).join("../litmus-suite");
    let mut table = String::new();
    for info in FAULTS {
        let scratch = Scratch::new();
        let (_, programs) = PROGRAMS.iter().find(|(name, _)| *name == info.name).expect(info.name);
        let file = |name: &str| suite.join(name).display().to_string() + ".litmus";
        let files: Vec<String> = programs.split_whitespace().map(file).collect();
        let mut run = vec!["run", "-q", "-n", "2000", "--seed", "7", "--record", "r.jsonl"];
        run.extend(["--fault", info.name]);
        run.extend(files.iter().map(String::as_str));
        let run = scratch.litmus(&run);
        assert_eq!(code(&run), 1, "{}: {}{}", info.name, stdout(&run), stderr(&run));
        let report = scratch.litmus(&["report", "r.jsonl", "--mutants", "0"]);
        writeln!(table, "{}\n  {}", info.name, info.breaks).expect("a string takes all");
        let text = stdout(&report);
        for line in text.lines().filter(|line| {
            line.contains("The machine behaves as") || line.contains("No variant of")
        }) {
            writeln!(table, "{line}").expect("a string takes all");
        }
    }
    expect_test::expect_file!["faults.txt"].assert_eq(&table);
}
