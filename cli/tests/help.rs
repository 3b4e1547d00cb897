//! The examples at the end of every `--help` run.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test's helpers fail by panicking")]

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Commands that run until they are stopped: that they do is how they succeed.
const ENDLESS: [&str; 2] = ["litmus watch", "litmus agent"];
/// How long the others may take.
const PATIENCE: Duration = Duration::from_secs(120);

fn help(path: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_litmus"));
    let output = command.args(path).arg("--help").output().unwrap();
    assert!(output.status.success(), "{path:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The names in the list of subcommands of a help text.
fn subcommands(help: &str) -> Vec<String> {
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let lines = lines.take_while(|line| !line.is_empty());
    let names = lines.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    names.filter(|name| !name.is_empty() && *name != "help").map(str::to_owned).collect()
}

/// The examples of a command and of those below it.
fn examples(path: &[&str], found: &mut Vec<String>) {
    let help = help(path);
    if let Some((_, examples)) = help.split_once("\nExamples:\n") {
        let lines = examples.lines().map(str::trim).take_while(|line| *line != "Exit codes:");
        found.extend(
            lines.filter(|line| !line.starts_with('#') && !line.is_empty()).map(str::to_owned),
        );
    }
    for name in subcommands(&help) {
        examples(&[path, &[&name]].concat(), found);
    }
}

/// A folder as the examples think of it: beside the suite, and with litmus on the path.
fn scene() -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("help");
    drop(std::fs::remove_dir_all(&folder));
    std::fs::create_dir_all(&folder).unwrap();
    let suite = Path::new(env!("CARGO_MANIFEST_DIR")).join("../litmus-suite");
    std::os::unix::fs::symlink(suite, folder.join("litmus-suite")).unwrap();
    // The software NIC makes a trace only where it has been built.
    let trace = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cmd/nic.in/steps.jsonl");
    std::fs::copy(trace, folder.join("steps.jsonl")).unwrap();
    folder
}

fn start(line: &str, folder: &Path) -> Child {
    let bin = Path::new(env!("CARGO_BIN_EXE_litmus")).parent().unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let mut shell = Command::new("sh");
    // A command that replaces the shell can be killed by the shell's number.
    let line = if line.contains('|') { line.to_owned() } else { format!("exec {line}") };
    shell.args(["-c", &line]).current_dir(folder).env("PATH", path);
    shell.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Waits for its end; kills it if it does not come.
fn end(mut child: Child, patience: Duration) -> (bool, Output) {
    let began = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if began.elapsed() > patience {
            child.kill().unwrap();
            return (false, child.wait_with_output().unwrap());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    (true, child.wait_with_output().unwrap())
}

#[test]
fn all_examples_run() {
    let mut lines = Vec::new();
    examples(&[], &mut lines);
    assert!(lines.len() > 30, "{lines:?}");
    let folder = scene();
    for line in lines {
        let is_endless = ENDLESS.iter().any(|command| line.starts_with(command));
        let patience = if is_endless { Duration::from_secs(2) } else { PATIENCE };
        let (has_ended, output) = end(start(&line, &folder), patience);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(has_ended, !is_endless, "{line}\n{said}");
        // 1 and 2 are answers: a violation was asked for, and no device is here.
        let code = output.status.code();
        assert!(is_endless || matches!(code, Some(0..=2)), "{line}: {code:?}\n{said}");
    }
}
