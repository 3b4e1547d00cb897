//! Processes that are killed while they write, and two that write one thing.

use std::process::Stdio;
use std::time::{Duration, Instant};

use super::common::MP;
use crate::scratch::Scratch;

/// How often each command is killed.
const KILLS: u32 = 6;

/// Runs a command, and kills it after a while; whether it was killed before its end.
fn killed(scratch: &Scratch, command: &str, after: Duration) -> bool {
    let mut child =
        scratch.command(command).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    std::thread::sleep(after);
    let is_over = child.try_wait().unwrap().is_some();
    if !is_over {
        child.kill().unwrap();
    }
    child.wait().unwrap();
    !is_over
}

/// A command, and how long it takes.
fn timed(scratch: &Scratch, command: &str) -> Duration {
    let began = Instant::now();
    let (code, _, error) = scratch.run(command);
    assert!(code <= 2, "{command}: {code}: {error}");
    began.elapsed()
}

/// Moments within a time, scattered over it; the same fractions each time.
fn moments(within: Duration) -> impl Iterator<Item = Duration> {
    (1..=KILLS).map(move |round| within.mul_f64(f64::from(round * 37 % 101) / 101.0))
}

/// What is in a file or in the files of a folder.
fn content(scratch: &Scratch, path: &str) -> Vec<(String, String)> {
    if !scratch.0.join(path).is_dir() {
        return vec![(String::new(), scratch.read(path))];
    }
    let names = scratch.names(path).into_iter();
    names.map(|name| (name.clone(), scratch.read(&format!("{path}/{name}")))).collect()
}

/// Nothing is there of what killed processes left, neither in a folder nor beside it.
fn nothing_is_unfinished(scratch: &Scratch, path: &str, command: &str) {
    for folder in [".", path].into_iter().filter(|folder| scratch.0.join(folder).is_dir()) {
        let mut names = scratch.names(folder).into_iter();
        let is_of_it = |name: &str| folder == path || name.starts_with(path);
        let found = names.find(|name| is_of_it(name) && is_unfinished(name));
        assert_eq!(found, None, "{command}");
    }
}

fn is_unfinished(name: &str) -> bool {
    name.ends_with(".litmus-tmp")
}

/// A record, or a folder's journal.
fn journal(scratch: &Scratch, path: &str) -> Option<String> {
    let names = ["", "/suite.jsonl", "/part.jsonl", "/record.jsonl"];
    names
        .map(|name| format!("{path}{name}"))
        .into_iter()
        .find(|path| scratch.0.join(path).is_file())
}

/// The lines of items of a record or of a folder's journal.
fn items(scratch: &Scratch, path: &str) -> Vec<String> {
    let text = journal(scratch, path).map(|path| scratch.read(&path)).unwrap_or_default();
    let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
    let is_item = |line: &&str| !line.contains("\"end\":") && !line.contains("\"kind\":\"end\"");
    whole.lines().skip(1).filter(is_item).map(str::to_owned).collect()
}

/// A command that can be gone on with is killed again and again: what was finished stays, and at the end all
/// is as if nobody had killed it. `{}` is where it writes; `more` is the command that goes on.
fn goes_on(scratch: &Scratch, begin: &str, more: &str) {
    let long = timed(scratch, &begin.replace("{}", "whole"));
    let (mut kills, mut known) = (0, Vec::new());
    // Each time less is left to be done.
    for moment in moments(long / 3) {
        let command = if journal(scratch, "cut").is_some() { more } else { begin };
        kills += u32::from(killed(scratch, &command.replace("{}", "cut"), moment));
        let now = items(scratch, "cut");
        // Of several workers, one may be done before an earlier one.
        let lost = known.iter().find(|item| !now.contains(item));
        assert_eq!(lost, None, "{begin}: an item was lost");
        known = now;
    }
    assert!(kills > 0, "{begin}: it was never killed");
    let command = if journal(scratch, "cut").is_some() { more } else { begin };
    timed(scratch, &command.replace("{}", "cut"));
    assert_eq!(items(scratch, "cut"), items(scratch, "whole"), "{begin}");
    assert!(items(scratch, "cut").len() > 3, "{begin}");
    nothing_is_unfinished(scratch, "cut", begin);
    if !begin.starts_with("run") {
        assert_eq!(content(scratch, "cut"), content(scratch, "whole"), "{begin}");
    }
}

#[test]
fn a_suite_whose_maker_is_killed_goes_on_to_the_same_bytes() {
    for command in
        ["gen random --count 256 -j 1 -o {}", "gen random --count 512 -j 1 --shard 1/2 -o {}"]
    {
        goes_on(&Scratch::new(), command, command);
    }
}

#[test]
fn no_test_that_was_found_missing_is_lost() {
    let scratch = Scratch::new();
    scratch.write("MP.litmus", MP);
    let missing = "coverage MP.litmus --model sc --missing --size 2 -j 1 -o {}";
    goes_on(&scratch, missing, missing);
}

#[test]
fn no_finished_test_of_a_killed_run_is_lost() {
    for jobs in [1, 2] {
        let scratch = Scratch::new();
        scratch.tests(60);
        let run = format!("run . -n 2000 -j {jobs} --seed 1 --format json");
        goes_on(&scratch, &format!("{run} --record {{}}"), &format!("{run} --resume {{}}"));
    }
}

/// A result that waits for that of an earlier test is in the record.
#[test]
fn what_is_finished_waits_for_nothing() {
    let scratch = Scratch::new();
    scratch.tests(12);
    let slow = "litmus A\nmodel rdma-tso\n\n  x = 0\n  ---\n  while a < 2000 { a := a + 1 }\n  x := a\n\n  \
                observe x\n";
    scratch.write("A.litmus", slow);
    let command = "run . -n 100000 -j 2 --seed 1 --record cut";
    let mut child =
        scratch.command(command).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let began = Instant::now();
    while items(&scratch, "cut").is_empty() && began.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(50));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!items(&scratch, "cut").is_empty());
}

#[test]
fn no_finished_test_of_a_killed_run_with_a_report_is_lost() {
    let scratch = Scratch::new();
    scratch.tests(60);
    let run = "run . -n 2000 -j 1 --seed 1 -o {}";
    goes_on(&scratch, run, &format!("{run} --resume {{}}/record.jsonl"));
    assert!(scratch.read("cut/report.json").contains("\"conforms\""));
}

#[test]
fn no_finished_client_of_a_killed_check_is_lost() {
    for part in ["-j 1", "-j 1 --shard 1/2", "-j 2"] {
        let scratch = Scratch::new();
        let check = format!("refine bal --threads 1 {part}");
        goes_on(&scratch, &format!("{check} --record {{}}"), &format!("{check} --resume {{}}"));
    }
}

/// What a killed process left in a cache changes no answer.
#[test]
fn a_cache_whose_writer_is_killed_says_the_same() {
    let scratch = Scratch::new();
    scratch.tests(40);
    let allowed = "allowed . -j 1 --format json";
    let plain = scratch.run(allowed).1;
    let long = timed(&scratch, &format!("{allowed} --cache whole"));
    for moment in moments(long) {
        killed(&scratch, &format!("{allowed} --cache cut"), moment);
    }
    assert_eq!(scratch.run(&format!("{allowed} --cache cut")).1, plain);
}

/// Whatever the moment at which it is killed, a command that writes at its end leaves whole files or none,
/// and can be done again.
#[test]
fn what_is_written_at_the_end_is_whole_or_not_there() {
    let scratch = Scratch::new();
    scratch.tests(40);
    for part in 1..=2 {
        let line =
            format!("run . -n 20 --seed 1 --format json --shard {part}/2 --record {part}.jsonl");
        assert!(scratch.run(&line).0 <= 2);
        let line = format!("gen random --count 200 --shard {part}/2 -o part{part}");
        assert_eq!(scratch.run(&line).0, 0);
        let line = format!("refine bal --threads 1 --shard {part}/2 --record {part}.refine");
        assert!(scratch.run(&line).0 <= 2);
    }
    scratch.write("herd.litmus", "X86 a\n{}\n P0 ;\n MOV [x],$1 ;\nexists (x=1)\n");
    scratch.write("MP.litmus", MP);
    for command in [
        "merge 1.jsonl 2.jsonl -o {}",
        "merge 1.refine 2.refine -o {}",
        "merge part1 part2 -o {}",
        "report 1.jsonl --mutants 0 -o {}",
        "compile MP.litmus --target verbs-c --force -o {}",
        "fmt --to litmus herd.litmus -o {}",
        "compare rdma-tso sc --size 2 -o {}",
    ] {
        let name = command.replace(['{', '}', ' ', '/'], "");
        let long = timed(&scratch, &command.replace("{}", &format!("whole-{name}")));
        let whole = content(&scratch, &format!("whole-{name}"));
        for (round, moment) in moments(long).enumerate() {
            let place = format!("{round}-{name}");
            let again = command.replace("{}", &place);
            killed(&scratch, &again, moment);
            let is_there = scratch.0.join(&place).exists();
            let mut found = if is_there { content(&scratch, &place) } else { Vec::new() };
            found.retain(|(name, _)| !is_unfinished(name));
            assert!(found.iter().all(|file| whole.contains(file)), "{again}: half a file");
            if found != whole {
                assert!(scratch.run(&again).0 <= 2, "{again}");
                assert_eq!(content(&scratch, &place), whole, "{again}");
                nothing_is_unfinished(&scratch, &place, &again);
            }
        }
    }
}

/// Of two processes that go on with one thing, one is refused, whichever came first.
#[test]
fn what_is_being_written_is_locked() {
    let scratch = Scratch::new();
    scratch.tests(20);
    let run = "run . -n 2000000 -j 1 --seed 1";
    killed(&scratch, &format!("{run} --record r.jsonl"), Duration::from_secs(1));
    killed(&scratch, &format!("{run} -o report"), Duration::from_secs(1));
    killed(&scratch, "refine wlock -j 1 --record f.jsonl", Duration::from_secs(2));
    for (command, path) in [
        ("gen random --count 64000 -j 1 -o suite", "suite/suite.jsonl"),
        ("gen random --count 64000 -j 1 --shard 1/2 -o part", "part/part.jsonl"),
        ("run . -j 1 --resume r.jsonl", "r.jsonl"),
        ("run . -j 1 --resume report/record.jsonl", "report/record.jsonl"),
        ("refine wlock -j 1 --resume f.jsonl", "f.jsonl"),
    ] {
        let spawn = || {
            let mut command = scratch.command(command);
            command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
        };
        let mut both = [spawn(), spawn()];
        let began = Instant::now();
        let refused = loop {
            let is_over = both.iter_mut().position(|child| child.try_wait().unwrap().is_some());
            if let Some(refused) = is_over {
                break refused;
            }
            assert!(began.elapsed() < Duration::from_secs(60), "{command}: nobody was refused");
            std::thread::sleep(Duration::from_millis(20));
        };
        let [one, two] = both;
        let (refused, mut other) = if refused == 0 { (one, two) } else { (two, one) };
        assert!(other.try_wait().unwrap().is_none(), "{command}: both ended");
        other.kill().unwrap();
        other.wait().unwrap();
        let refused = refused.wait_with_output().unwrap();
        let error = String::from_utf8_lossy(&refused.stderr);
        assert!(error.contains("another process is writing it"), "{command}: {error}");
        assert!(error.contains(path), "{command}: {error}");
        assert!(matches!(refused.status.code(), Some(65 | 74)), "{command}: {error}");
    }
}
