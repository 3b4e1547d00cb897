//! Programs of `litmus compile --target verbs-c`: every test of the suite builds without warnings, and some
//! run, on a stand-in for libibverbs (`fake_verbs.c`).
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test fails by panicking, and says what it skips"
)]

use crate::scratch::Scratch;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// Whether C programs can be built here. If not, that is a failure, unless somebody has said that it is
/// known.
fn can_build() -> bool {
    let known = std::env::var_os("LITMUS_WITHOUT_VERBS_HEADERS").is_some_and(|set| set == "1");
    let probe = Command::new("gcc")
        .args(["-fsyntax-only", "-include", "infiniband/verbs.h", "-x", "c", "/dev/null"])
        .output();
    match probe {
        Ok(output) if output.status.success() => true,
        _ if known => {
            println!(
                "SKIPPED: infiniband/verbs.h or gcc is missing, as LITMUS_WITHOUT_VERBS_HEADERS=1 says"
            );
            false
        }
        Ok(output) => panic!(
            "infiniband/verbs.h cannot be included: install libibverbs-dev, or set LITMUS_WITHOUT_VERBS_HEADERS=1 \
             to go without these tests\n{}",
            String::from_utf8_lossy(&output.stderr)
        ),
        Err(error) => panic!("gcc cannot be run: {error}"),
    }
}

fn litmus(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_litmus"));
    command.args(arguments).current_dir(root()).output().unwrap()
}

/// Puts the programs of a folder of tests into a folder, and says how many there are.
fn compile(tests: &str, folder: &Path) -> usize {
    let folder_name = folder.to_str().unwrap();
    let output = litmus(&["compile", tests, "--target", "verbs-c", "-o", folder_name]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    std::fs::read_dir(folder).unwrap().count()
}

/// Does something with every item on all cores; what it returns is what is wrong.
fn each<T: Sync>(items: &[T], work: impl Fn(&T) -> Option<String> + Sync) {
    let (next, wrong) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
                    wrong.lock().unwrap().extend(work(item));
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn gcc(arguments: &[&str]) -> Option<String> {
    let flags = ["-std=gnu11", "-Wall", "-Wextra", "-Werror"];
    let output = Command::new("gcc").args(flags).args(arguments).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    (!output.status.success()).then_some(text)
}

#[test]
fn every_program_of_the_suite_builds_without_warnings() {
    if !can_build() {
        return;
    }
    let scratch = Scratch::new();
    let count = compile("litmus-suite", &scratch.0);
    assert!(count > 250, "only {count} programs");
    let files: Vec<PathBuf> =
        std::fs::read_dir(&scratch.0).unwrap().map(|entry| entry.unwrap().path()).collect();
    each(&files, |file| gcc(&["-fsyntax-only", file.to_str().unwrap()]));
}

/// A test and, per line, what its program must print. What the model forbids makes the program fail.
const RUN: [(&str, &str); 12] = [
    // The weak outcomes are frequent on the stand-in, or the only ones.
    ("rmw-paper/CoRW+put-w", ":>z=1;"),
    ("cpu-classics/SB", "Observation SB "),
    ("put-get/MP+put-put+po", "Observation MP+put-put+po Never 0 3000"),
    ("rmw-paper/LB+get-put+po", "Model rdma-tso: 0 of"),
    ("rfence/CoWR+get-rfence-put", "Model rdma-tso: 0 of"),
    ("remote-rmw/RFAA+rfaas", "Observation RFAA+rfaas Never 0 3000"),
    ("rmw-paper/RCAS+rcas+rfaa", "Model rdma-tso-rmw: 0 of"),
    ("loop-back/SB+puts-loop", "Model rdma-tso: 0 of"),
    ("control-flow/Loop+put-counted", "Observation Loop+put-counted Always 3000 0"),
    ("control-flow/MP+put-put+assume-r", "do not count: an assumption was false"),
    ("cells/LB+get-poll-cas+r-put", "Model rdma-tso: 0 of"),
    ("three-nodes/3.SB+put-waits", "Model rdma-wait: 0 of"),
];

#[test]
fn programs_run_and_stay_inside_their_models() {
    if !can_build() {
        return;
    }
    let scratch = Scratch::new();
    let library = scratch.0.join("fake_verbs.o");
    let library = library.to_str().unwrap();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fake_verbs.c");
    assert_eq!(gcc(&["-O1", "-c", source.to_str().unwrap(), "-o", library]), None);
    each(&RUN, |(test, expected)| {
        let stem = test.rsplit('/').next()?;
        let (source, program) = (scratch.0.join(format!("{stem}.c")), scratch.0.join(stem));
        let (source, program) = (source.to_str()?, program.to_str()?);
        let path = format!("litmus-suite/{test}.litmus");
        let compiled = litmus(&["compile", &path, "--target", "verbs-c", "-o", source]);
        if !compiled.status.success() {
            return Some(String::from_utf8_lossy(&compiled.stderr).into_owned());
        }
        let built = gcc(&["-O1", source, library, "-lpthread", "-o", program]);
        if built.is_some() {
            return built;
        }
        let run = Command::new(program).args(["-n", "3000", "-s", "7"]).output().unwrap();
        let (shown, errors) =
            (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
        // No test of these has a Poll that waits for nothing.
        let fine = run.status.success() && shown.contains(expected) && !shown.contains("blocked");
        (!fine).then(|| format!("{test}: {}\n{shown}{errors}", run.status))
    });
}

#[test]
fn a_state_that_the_model_forbids_is_a_violation() {
    if !can_build() {
        return;
    }
    let scratch = Scratch::new();
    let path = |name: &str| scratch.0.join(name).to_str().unwrap().to_owned();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fake_verbs.c");
    let test = "litmus-suite/rmw-paper/CoRW+put-w.litmus";
    let arguments = ["compile", test, "--model", "sc", "--target", "verbs-c", "-o", &path("w.c")];
    assert!(litmus(&arguments).status.success());
    assert_eq!(gcc(&[&path("w.c"), source.to_str().unwrap(), "-lpthread", "-o", &path("w")]), None);
    let run = Command::new(path("w")).args(["-n", "3000"]).output().unwrap();
    let shown = String::from_utf8_lossy(&run.stdout);
    assert_eq!(run.status.code(), Some(1), "{shown}");
    assert!(shown.contains("*>z=1; forbidden by sc\n"), "{shown}");
    assert!(shown.contains("Model sc: 1 of 2 observed states forbidden\n"), "{shown}");
    assert!(shown.contains(" 3000 instances, 16 per round"), "as the executor's default\n{shown}");
    let other = Command::new(path("w")).args(["-d", "usnic0"]).output().unwrap();
    assert_eq!(other.status.code(), Some(2));
    let text = String::from_utf8_lossy(&other.stderr).into_owned();
    assert!(text.contains("usnic0 is not InfiniBand or RoCE"), "{text}");
    let refused = Command::new(path("w")).args(["-n", "0"]).output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("expected a number from 1 to"));
}

/// Node 1 of a program listens where it is told to, and nowhere else.
#[test]
fn a_program_listens_on_loopback_unless_asked() {
    if !can_build() {
        return;
    }
    let scratch = Scratch::new();
    let path = |name: &str| scratch.0.join(name).to_str().unwrap().to_owned();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fake_verbs.c");
    let test = "litmus-suite/put-get/MP+put-put+po.litmus";
    assert!(litmus(&["compile", test, "--target", "verbs-c", "-o", &path("l.c")]).status.success());
    assert_eq!(gcc(&[&path("l.c"), source.to_str().unwrap(), "-lpthread", "-o", &path("l")]), None);
    for (options, is_wide) in [(&[][..], false), (&["-l", "0.0.0.0"][..], true)] {
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let mut program = Command::new(path("l"));
        program.args(options).args(["1", &format!("127.0.0.1:{port}")]);
        let mut program = program.stderr(Stdio::null()).spawn().unwrap();
        let until = Instant::now() + Duration::from_secs(20);
        let mut listens = false;
        while !listens && Instant::now() < until {
            listens = TcpStream::connect(("127.0.0.1", port)).is_ok();
            thread::sleep(Duration::from_millis(10));
        }
        // Another address of this host: whoever listens on all of them is there too.
        let elsewhere = TcpStream::connect(("127.0.0.2", port)).is_ok();
        program.kill().unwrap();
        program.wait().unwrap();
        assert_eq!((listens, elsewhere), (true, is_wide), "{options:?}");
    }
}

#[test]
fn files_of_others_are_left_alone() {
    let scratch = Scratch::new();
    let file = scratch.0.join("CoRW+put-w.c");
    let test = "litmus-suite/rmw-paper/CoRW+put-w.litmus";
    let folder = scratch.0.to_str().unwrap();
    let arguments = ["compile", test, "--target", "verbs-c", "-o", folder];
    std::fs::write(&file, "int main(void) {}\n").unwrap();
    let refused = litmus(&arguments);
    assert_eq!(refused.status.code(), Some(64));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("was not made by this command"));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "int main(void) {}\n");
    assert!(litmus(&[&arguments[..], &["--force"]].concat()).status.success());
    let made = std::fs::read_to_string(&file).unwrap();
    assert!(made.starts_with("/* made by litmus "));
    assert!(litmus(&arguments).status.success());
    assert_eq!(std::fs::read_to_string(&file).unwrap(), made, "the same text, the same bytes");
    let many = litmus(&["compile", "litmus-suite", "--target", "plan"]);
    assert_eq!(many.status.code(), Some(64));
}

#[test]
fn what_has_no_plan_is_skipped() {
    let scratch = Scratch::new();
    let file = scratch.0.join("Lib.litmus");
    std::fs::write(
        &file,
        "litmus Lib\nmodel rdma-wait\n  SVar x = 0\n  ----------\n  x :=SV 1  ||  a :=SV x\n",
    )
    .unwrap();
    let named = litmus(&["compile", file.to_str().unwrap(), "--target", "verbs-c"]);
    assert_eq!(named.status.code(), Some(2));
    let shown = String::from_utf8_lossy(&named.stderr).into_owned();
    assert!(shown.contains("unsupported-statement") && shown.contains("Lib.litmus:5"), "{shown}");
    assert!(named.stdout.is_empty());
}
