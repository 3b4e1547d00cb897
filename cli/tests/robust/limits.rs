//! Limits of time and memory, wherever work is long. What a limit keeps from being known is unknown, and no
//! verdict.

#[cfg(target_os = "linux")]
use std::process::{Command, Stdio};

use super::common::MP;
use crate::scratch::Scratch;

/// Two threads that write often to one location: few outcomes, and a formula that takes long to make.
fn writes(name: &str, count: usize) -> String {
    let rows = |number: usize| format!("  x := {number}  |  x := {}\n", number + 10_000);
    let rows: String = (1..count).map(rows).collect();
    format!("litmus {name}\nmodel rdma-tso\n\n  x = 0\n  ---\n{rows}\n  x = 1 ✗\n")
}

/// Values of which there are more and more.
fn polynomials() -> String {
    let row = |number: usize| format!("  a := a * a + a % 7 - x  |  x := {number}\n");
    let rows: String = (1..15).map(row).collect();
    format!("litmus polynomials\nmodel tso\n\n  x = 0, a = 0\n  ---\n{rows}\n  a = 1 ✗\n")
}

/// A broadcast from each of this many nodes.
fn broadcasts(nodes: usize) -> String {
    let row = |cell: &str| vec![cell; nodes].join(" || ");
    let (heads, calls) = (row(" "), row("Bcast(x)"));
    format!(
        "litmus broadcasts\nmodel rdma-wait-rmw\n\n  SVar x = 0\n {heads}\n  ---\n  {calls}\n\n  x@1 = 1 ✗\n"
    )
}

/// A program that takes long to read.
fn statements(count: usize) -> String {
    format!(
        "litmus read\nmodel rdma-wait\n\n  x = 0\n  ---\n{}\n  x = 1 ✗\n",
        "  x := 1\n".repeat(count)
    )
}

/// A program of coreRMA with long chains of what is before what.
fn ring(nodes: usize) -> String {
    let row =
        |cell: &dyn Fn(usize) -> String| (0..nodes).map(cell).collect::<Vec<_>>().join(" || ");
    let next = |node: usize, by: usize| (node + by) % nodes;
    let rows = [
        row(&|n| format!("put(X{}^{}, Y{n})", next(n, 1), next(n, 1) + 1)),
        row(&|n| format!("Y{n} = get(X{}^{})", next(n, 2), next(n, 2) + 1)),
        row(&|n| format!("X{n}.n = 3")),
        row(&|n| format!("a{n} = X{n}.n")),
    ];
    let heads = row(&|n| format!("X{n} = 0, Y{n} = {n}"));
    format!(
        "litmus ring\ndialect corerma\nmodel corerma\n\n  {heads}\n  ---\n  {}\n\n  a1 = 7 ✗\n",
        rows.join("\n  ")
    )
}

/// A library whose body goes round often, and does nothing.
const ROUNDS: &str = "\
library rounds
class Flag
memory Flag.f at home
call Raise(Flag f) { aGF(f.home) }
consistency { let so = id \\ id }
implementation over rdma-wait-rmw {
  call Raise(Flag f) { for i in 0 .. 1024 { for j in 0 .. 1024 { for k in 0 .. 1024 { } } } }
}
";

fn large() -> Scratch {
    let scratch = Scratch::new();
    scratch.write("writes.litmus", writes("writes", 300));
    scratch.write("long.litmus", writes("long", 3000));
    scratch.write("polynomials.litmus", polynomials());
    scratch.write("broadcasts.litmus", broadcasts(48));
    scratch.write("ring.litmus", ring(64));
    scratch.write("read.litmus", statements(60_000));
    scratch.write("rounds.lib", ROUNDS);
    scratch
}

/// Commands that give up, each with a way to say so: exit code 2 and the limit, and no verdict.
fn all_give_up(scratch: &Scratch, option: &str, limit: &str, commands: &[&str]) {
    for command in commands {
        let command = format!("{command} {option}");
        let (code, text, error) = scratch.run(&command);
        assert_eq!(code, 2, "{command}: {text}{error}");
        let all = format!("{text}{error}");
        assert!(all.contains(limit), "{command}: {all}");
        assert!(!all.contains("forbidden: ") && !all.contains("FAIL"), "{command}: {all}");
    }
}

#[test]
fn time_ends_any_work() {
    let scratch = large();
    let commands = [
        "allowed writes.litmus",
        "allowed writes.litmus --solver z3",
        "allowed writes.litmus --verdict-only",
        "allowed long.litmus",
        "allowed polynomials.litmus",
        "allowed ring.litmus",
        "explain ring.litmus",
        "allowed broadcasts.litmus --inline",
        "explain writes.litmus --outcome x=1",
        "explain long.litmus --outcome x=1",
        "explain long.litmus",
        "allowed writes.litmus --format json",
        "allowed read.litmus",
        "check read.litmus",
        "check rounds.lib",
        "fmt read.litmus",
        "compile read.litmus --target plan",
        "coverage read.litmus --model rdma-wait",
        "compare rdma-wait rdma-wait-rmw read.litmus",
        "compare rdma-tso sc writes.litmus",
        "compare rdma-verbs verbs",
        "gen pivot -o pivot",
        "gen cycles --size 10 -o cycles",
        "run broadcasts.litmus -n 1000000000",
    ];
    all_give_up(&scratch, "--timeout 0.2", "the time limit was reached", &commands);
}

/// A program in C is there to be run, whether or not it can judge what it sees.
#[test]
#[cfg(target_os = "linux")]
fn programs_are_written_without_a_judgement_too() {
    let scratch = Scratch::new();
    scratch.write("writes.litmus", writes("writes", 300));
    std::fs::create_dir(scratch.0.join("folder")).unwrap();
    scratch.write("folder/writes.litmus", writes("writes", 300));
    for (option, limit) in [
        ("--timeout 0.2", "the time limit was reached"),
        ("--memory 60M", "the memory limit of 60 MiB was reached"),
        ("--memory 60M -q", "the memory limit of 60 MiB was reached"),
    ] {
        let note = format!("writes.litmus: the program will judge nothing: {limit}");
        let command = format!("compile writes.litmus --target verbs-c {option}");
        let (code, text, error) = scratch.run(&command);
        assert_eq!(code, 2, "{command}: {error}");
        assert!(error.contains(&note) && !error.contains("[limit-reached]"), "{command}: {error}");
        assert!(text.starts_with("/* made by litmus") && text.contains(limit), "{command}");
        let (code, _, error) =
            scratch.run(&format!("compile folder --target verbs-c -o o {option}"));
        assert!(code == 2 && error.contains(&note), "{option}: {code}, {error}");
        assert!(scratch.0.join("o/writes.c").is_file(), "{option}");
        std::fs::remove_dir_all(scratch.0.join("o")).unwrap();
    }
}

#[test]
#[cfg(target_os = "linux")]
fn memory_ends_any_work() {
    let scratch = large();
    let commands = [
        "allowed writes.litmus",
        "allowed writes.litmus --solver z3",
        "allowed writes.litmus --verdict-only",
        "allowed long.litmus",
        "explain writes.litmus --outcome x=1",
        "explain long.litmus --outcome x=1",
        "allowed writes.litmus --format json",
        "allowed broadcasts.litmus",
        "check many.litmus",
        "check many.litmus --format json",
    ];
    scratch.write("many.litmus", broadcasts(64));
    all_give_up(&scratch, "--memory 60M", "the memory limit of 60 MiB was reached", &commands);
    scratch.write("few.litmus", broadcasts(24));
    let (code, text, error) = scratch.run("check few.litmus --memory 60M");
    assert_eq!(code, 0, "what is checked takes little: {text}{error}");
}

/// The most memory that a command took, in bytes, as far as its last millisecond was seen.
#[cfg(target_os = "linux")]
fn peak(mut command: Command) -> u64 {
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let mut peak = 0;
    while child.try_wait().unwrap().is_none() {
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id()));
        let status = status.unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let size = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
        peak = peak.max(size.unwrap_or(0) << 10);
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    peak
}

/// A limit of memory is passed by a tenth at most, and most of it is used before work is given up.
#[test]
#[cfg(target_os = "linux")]
fn the_limit_of_memory_is_kept() {
    let scratch = large();
    scratch.write("many.litmus", broadcasts(64));
    for command in ["allowed broadcasts.litmus", "check many.litmus", "explain long.litmus"] {
        for mebibytes in [100, 200] {
            let command = format!("{command} --memory {mebibytes}M -q");
            let peak = peak(scratch.command(&command)) >> 20;
            let expected = mebibytes * 3 / 4..=mebibytes * 11 / 10;
            assert!(expected.contains(&peak), "{command}: it took {peak} MiB");
        }
    }
}

/// A rule of which a limit keeps a test from telling is not a hole.
#[test]
fn coverage_that_is_cut_off_is_unknown() {
    let scratch = large();
    let command = "coverage polynomials.litmus --model tso --timeout 0.3";
    let (_, json, error) = scratch.run(&format!("{command} --format json"));
    assert!(json.contains("\"status\":\"unknown\""), "{json}{error}");
    assert!(json.contains("the time limit was reached"), "{json}");
    let (_, text, _) = scratch.run(command);
    assert!(text.contains("! unknown") && text.contains("unknown: "), "{text}");
}

/// One test that is too large keeps no other from its answer.
#[test]
#[cfg(target_os = "linux")]
fn others_go_on() {
    let scratch = Scratch::new();
    scratch.tests(12);
    scratch.write("T5-large.litmus", writes("large", 400));
    for jobs in [1, 3] {
        let command = format!("allowed . -j {jobs} --memory 200M --format json");
        let (code, text, error) = scratch.run(&command);
        assert_eq!(code, 2, "{command}: {text}{error}");
        let count = |status: &str| text.matches(&format!("\"status\":\"{status}\"")).count();
        assert_eq!((count("ok"), count("unknown")), (12, 1), "{command}: {text}");
        assert!(text.contains("the memory limit of 200 MiB was reached"), "{command}: {text}");
    }
}

#[test]
fn sizes_are_checked() {
    let scratch = Scratch::new();
    scratch.write("MP.litmus", MP);
    for size in ["0", "5", "-5M", "many", "1M"] {
        let (code, text, error) = scratch.run(&format!("allowed MP.litmus --memory={size}"));
        assert_eq!(code, 64, "{size}: {text}{error}");
        assert!(error.contains("expected"), "{size}: {error}");
    }
    for command in ["allowed", "check"] {
        let (code, _, error) = scratch.run(&format!("{command} MP.litmus --memory 1.5GiB"));
        assert_eq!(code, 0, "{command}: {error}");
    }
}
