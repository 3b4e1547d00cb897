//! Files on full disks, and in places that cannot be written.

use super::common::MP;
use crate::scratch::Scratch;

/// A limit on the size of files, in blocks of 512 or 1024 bytes: what is beyond it cannot be written, as on a
/// full disk.
fn limited(blocks: u32, command: &str) -> String {
    format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$LITMUS\" {command}")
}

#[test]
fn a_full_disk_leaves_the_old_file_or_the_new() {
    let scratch = Scratch::new();
    scratch.tests(3);
    let mut long = "litmus long\n\n  x = 0\n  ---\n".to_owned();
    (0..400).for_each(|index| long += &format!("  x := {index};x := 1\n"));
    scratch.write("long.litmus", &long);
    let (code, _, error) = scratch.shell(&limited(1, "fmt --write long.litmus"));
    assert!(code == 74 && error.contains("cannot be written"), "{code}: {error}");
    assert_eq!(scratch.read("long.litmus"), long);
    scratch.write("old.svg", "old");
    for command in [
        "explain T0.litmus --outcome a=1,b=1 --svg old.svg",
        "compile T0.litmus --target verbs-c -o old.svg --force",
    ] {
        let (code, _, error) = scratch.shell(&limited(1, command));
        assert!(code == 74 && !error.contains("bug"), "{command}: {code}: {error}");
        assert_eq!(scratch.read("old.svg"), "old", "{command}");
    }
    scratch.write("report.html", "");
    let run = "run T0.litmus T1.litmus T2.litmus -n 50 --seed 1 --format json --record r.jsonl";
    assert_eq!(scratch.run(run).0, 0);
    let (code, _, error) = scratch.shell(&limited(1, "report r.jsonl -o report --mutants 0"));
    assert!(code == 74 && !error.contains("bug"), "{code}: {error}");
    let names = scratch.names(".");
    assert!(!names.iter().any(|name| name.contains("litmus-tmp")), "{names:?}");
}

/// A record on a full disk keeps whole lines, and can be gone on with.
#[test]
fn a_record_on_a_full_disk_keeps_what_it_has() {
    let scratch = Scratch::new();
    scratch.tests(40);
    let run = |record: &str| format!("run . -n 20 --seed 1 --format json --record {record}");
    assert_eq!(scratch.run(&run("whole.jsonl")).0, 0);
    let blocks = scratch.read("whole.jsonl").len() as u32 / 1024 / 2;
    let (code, _, error) = scratch.shell(&limited(blocks, &run("r.jsonl")));
    assert!(code == 74 && !error.contains("bug"), "{code}: {error}");
    let text = scratch.read("r.jsonl");
    assert!(text.ends_with('\n') && text.lines().count() > 2, "{text}");
    let (code, text, error) = scratch.run("report r.jsonl");
    assert!(code == 2 && error.contains("no end"), "{code}: {text}{error}");
    let (code, _, error) = scratch.run("run . --resume r.jsonl --format json");
    assert_eq!(code, 0, "{error}");
    let lines =
        |name: &str| scratch.read(name).lines().skip(1).map(str::to_owned).collect::<Vec<_>>();
    let tests = |name: &str| {
        lines(name)
            .into_iter()
            .filter(|line| line.contains("\"kind\":\"test\""))
            .collect::<Vec<_>>()
    };
    assert_eq!(tests("r.jsonl"), tests("whole.jsonl"));
}

/// One exit code for all that cannot be written, by whatever command.
#[test]
fn output_that_cannot_be_written_has_one_exit_code() {
    let scratch = Scratch::new();
    scratch.write("MP.litmus", MP);
    scratch.write("herd.litmus", "X86 a\n{}\n P0 ;\n MOV [x],$1 ;\nexists (x=1)\n");
    scratch.write("file", "");
    assert_eq!(scratch.run("run MP.litmus -n 5 --seed 1 --format json --record r.jsonl").0, 0);
    for part in 1..=2 {
        let line = format!(
            "run MP.litmus -n 5 --seed 1 --format json --shard {part}/2 --record {part}.jsonl"
        );
        assert_eq!(scratch.run(&line).0 % 2, 0);
        let line = format!("gen random --count 65 --shard {part}/2 -o part{part}");
        assert_eq!(scratch.run(&line).0, 0);
    }
    for command in [
        "run MP.litmus -n 5 --record none/r.jsonl",
        "report r.jsonl -o file/report",
        "report r.jsonl -o file",
        "gen random --count 1 -o file",
        "gen random --count 1 -o file/suite",
        "gen random --count 1 --shard 1/2 -o file",
        "coverage MP.litmus --missing --size 2 -o file",
        "explain MP.litmus --outcome a=1,b=1 --dot none/a.dot",
        "explain MP.litmus --outcome a=1,b=1 --svg none/a.svg",
        "compile MP.litmus --target plan -o none/a.plan",
        "compile MP.litmus herd.litmus --target plan -o file/folder",
        "fmt --to litmus herd.litmus -o file",
        "merge 1.jsonl 2.jsonl -o none/r.jsonl",
        "merge part1 part2 -o file/suite",
        "refine wlock --size 3 --record none/r.json",
        "gen cycles --size 2 -o file",
        "compare rdma-tso sc --size 3 -o file",
    ] {
        let (code, text, error) = scratch.run(command);
        assert_eq!(code, 74, "{command}: {text}{error}");
        assert!(
            error.contains("cannot be written") && !error.contains("bug"),
            "{command}: {error}"
        );
    }
    for command in [
        "allowed MP.litmus",
        "--help",
        "--version",
        "allowed --help",
        "help gen random",
        "man",
        "man run",
        "completions bash",
        "models",
        "models sc",
        "explain-code syntax",
        "fmt MP.litmus",
        "check MP.litmus",
        "coverage MP.litmus --format json",
        "report r.jsonl",
    ] {
        let (code, _, error) = scratch.shell(&format!("\"$LITMUS\" {command} > /dev/full"));
        assert!(code == 74 && error.contains("<stdout>"), "{command}: {code}: {error}");
    }
}
