//! What a user waits for: whole commands, with the start of the program.
//!
//! `cargo bench -p cli --bench commands` prints tables in Markdown; the arguments `start`, `suite`, `large`,
//! `simulator`, `reports`, `repair` and `refine` restrict them.

#![allow(clippy::print_stdout, reason = "the tables are the result")]

#[path = "../../model/benches/shared/markdown.rs"]
mod markdown;

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a crate of a workspace");
    std::env::set_current_dir(root).expect("the root is there");
    let wanted: Vec<String> = std::env::args().skip(1).filter(|one| one != "--bench").collect();
    let parts: [(&str, fn()); 7] = [
        ("start", start),
        ("suite", suite),
        ("large", large),
        ("simulator", simulator),
        ("reports", reports),
        ("repair", repairs),
        ("refine", refinement),
    ];
    for (name, part) in parts {
        if wanted.is_empty() || wanted.iter().any(|one| one == name) {
            part();
        }
    }
}

/// What a command took.
struct Took {
    time: Duration,
    /// The most memory, in KiB; what was seen while it ran.
    peak: u64,
    output: Value,
}

/// Runs `litmus` with JSON as its output.
fn litmus(arguments: &[&str]) -> Took {
    let began = Instant::now();
    let mut child = Command::new(env!("CARGO_BIN_EXE_litmus"))
        .args(arguments)
        .args(["--format", "json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("litmus starts");
    let mut pipe = child.stdout.take().expect("it is piped");
    let reader = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        pipe.read_to_end(&mut bytes).map(|_| bytes)
    });
    let status = PathBuf::from(format!("/proc/{}/status", child.id()));
    let mut peak = 0;
    while !reader.is_finished() {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let seen = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
        peak = peak.max(seen.unwrap_or(0));
        std::thread::sleep(Duration::from_millis(2));
    }
    child.wait().expect("litmus ends");
    let time = began.elapsed();
    let bytes = reader.join().expect("a reader").expect("its output can be read");
    let output = serde_json::from_slice(&bytes);
    let output = output.unwrap_or_else(|error| panic!("litmus {}: {error}", arguments.join(" ")));
    Took { time, peak, output }
}

/// The median of three runs.
fn thrice(arguments: &[&str]) -> Took {
    let mut runs: Vec<Took> = (0..3).map(|_| litmus(arguments)).collect();
    runs.sort_by_key(|run| run.time);
    runs.swap_remove(1)
}

/// One test: what a user or an editor waits for at least.
fn start() {
    const STARTS: usize = 200;
    let mut rows = Vec::new();
    for command in [
        "allowed litmus-suite/put-get/MP+put-put+po.litmus",
        "allowed litmus-suite/objects/Kv+update.litmus",
        "check litmus-suite/put-get/MP+put-put+po.litmus",
    ] {
        let words: Vec<&str> = command.split(' ').collect();
        let mut times: Vec<Duration> = (0..STARTS)
            .map(|_| {
                let mut litmus = Command::new(env!("CARGO_BIN_EXE_litmus"));
                litmus.args(&words).stdout(Stdio::null());
                let began = Instant::now();
                assert!(litmus.status().expect("litmus starts").success(), "{command}");
                began.elapsed()
            })
            .collect();
        times.sort();
        rows.push(vec![
            format!("`litmus {command}`"),
            markdown::milliseconds(times[STARTS / 2]),
            markdown::milliseconds(times[STARTS * 9 / 10]),
        ]);
    }
    markdown::print(&["command", "median, ms", "90 %, ms"], &rows);
    println!("\nFrom exec to exit, {STARTS} times each.");
}

/// A report of many tests.
fn reports() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("reports");
    if folder.exists() {
        std::fs::remove_dir_all(&folder).expect("the folder of the last time can be removed");
    }
    let path = |name: &str| folder.join(name).display().to_string();
    let (tests, runs, report) = (path("tests"), path("runs"), path("report"));
    let made = ["gen", "random", "--count", "10000", "--seed", "3", "-o", &tests];
    let commands: [(&str, &[&str]); 3] = [
        ("litmus gen random --count 10000 --seed 3 -o TESTS", &made),
        (
            "litmus run TESTS -n 200 --seed 1 -o RUNS",
            &["run", &tests, "-n", "200", "--seed", "1", "-o", &runs],
        ),
        (
            "litmus report RUNS/record.jsonl -o REPORT",
            &["report", &format!("{runs}/record.jsonl"), "-o", &report],
        ),
    ];
    let mut rows = Vec::new();
    for (command, arguments) in commands {
        let took = litmus(arguments);
        rows.push(vec![
            format!("`{command}`"),
            format!("{:.1}", took.time.as_secs_f64()),
            markdown::count(took.peak.div_ceil(1024)),
        ]);
    }
    markdown::print(&["command", "seconds", "MiB"], &rows);
    println!("\nThe folder has {} tests.", markdown::count(walk(Path::new(&tests)).len() - 1));
}

/// Complete outcomes of the suite's tests under each model of their headers.
fn suite() {
    let mut commands: Vec<String> = [
        "litmus-suite -j 1",
        "litmus-suite -j 2",
        "litmus-suite -j 1 --verdict-only",
        "litmus-suite -j 1 --engine smt",
        "litmus-suite -j 1 --engine smt --solver z3",
        "litmus-suite -j 1 --engine explore",
    ]
    .map(str::to_owned)
    .into();
    let entries = std::fs::read_dir("litmus-suite").expect("the suite can be read").flatten();
    let mut folders: Vec<PathBuf> =
        entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    folders.sort();
    commands.extend(folders.iter().map(|folder| format!("{} -j 1", folder.display())));
    let mut rows = Vec::new();
    for command in commands {
        let words: Vec<&str> = ["allowed"].into_iter().chain(command.split(' ')).collect();
        let took = thrice(&words);
        let results = took.output["results"].as_array().map_or(&[][..], Vec::as_slice);
        let is_complete = |result: &&Value| result["complete"] == true;
        let complete = match command.contains("--verdict-only") {
            true => "-".to_owned(),
            false => markdown::count(results.iter().filter(is_complete).count()),
        };
        rows.push(vec![
            format!("`litmus allowed {command}`"),
            markdown::count(results.len()),
            complete,
            format!("{:.2}", took.time.as_secs_f64()),
            markdown::milliseconds(took.time.div_f64(results.len().max(1) as f64)),
            markdown::count(took.peak.div_ceil(1024)),
        ]);
    }
    markdown::print(
        &["command", "questions", "answered in full", "seconds", "ms per question", "MiB"],
        &rows,
    );
    println!(
        "\nA question is a test under a model. Medians of three runs, with the start of the program."
    );
}

/// A program of many statements or nodes.
struct Large {
    what: String,
    declarations: String,
    statements: String,
    observed: &'static str,
}

impl Large {
    /// A thread that does the same again and again, and nobody else.
    fn alone(count: usize, does: &str, statement: &str) -> Self {
        Self {
            what: format!("a thread that {does} {} times", markdown::count(count)),
            declarations: "x = 0 || y = 0".to_owned(),
            statements: vec![format!("{statement} ||"); count].join("\n"),
            observed: "x, y",
        }
    }

    fn puts(count: usize) -> Self {
        let read = |value: usize| if value == 1 { "a := x" } else { "" };
        let put = |value: usize| format!("x^2 := {value} || {}", read(value));
        Self {
            what: format!("{} puts, and a CPU that reads once", markdown::count(count)),
            declarations: "|| x = 0".to_owned(),
            statements: (1..=count).map(put).collect::<Vec<_>>().join("\n"),
            observed: "a",
        }
    }

    fn broadcasts(calls: usize, nodes: usize) -> Self {
        let call = |node: usize| if node < calls { "Bcast(x)" } else { "" };
        Self {
            what: format!("{calls} of {nodes} nodes broadcast"),
            declarations: format!("SVar x = 0\n{}", vec![" "; nodes].join("||")),
            statements: (0..nodes).map(call).collect::<Vec<_>>().join(" || "),
            observed: "x@1",
        }
    }
}

/// Programs of many statements or nodes.
fn large() {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("large.litmus").display().to_string();
    let cases = [
        (Large::alone(20_000, "writes", "x := 1"), "auto"),
        (Large::alone(20_000, "puts", "y^2 := x"), "auto"),
        (Large::alone(20_000, "gets", "x := y^2"), "auto"),
        (Large::alone(20_000, "fetches and adds", "x := RFAA(y^2, 1)"), "auto"),
        (Large::alone(10_000, "puts and waits", "y^2 :=^d x; Wait(d)"), "auto"),
        (Large::puts(1000), "auto"),
        (Large::puts(10_000), "auto"),
        (Large::alone(5000, "writes", "x := 1"), "smt"),
        (Large::alone(20_000, "writes", "x := 1"), "smt"),
        (Large::alone(50, "gets and puts", "x := y^2; y^2 := x"), "smt"),
        (Large::alone(100, "gets and puts", "x := y^2; y^2 := x"), "smt"),
        (Large::puts(400), "smt"),
        (Large::puts(800), "smt"),
        (Large::broadcasts(1, 32), "auto"),
        (Large::broadcasts(32, 32), "auto"),
        (Large::broadcasts(48, 48), "auto"),
    ];
    let mut rows = Vec::new();
    for (Large { what, declarations, statements, observed }, engine) in cases {
        let header = "litmus large\nmodel rdma-wait-rmw\n";
        let text = format!("{header}\n{declarations}\n---\n{statements}\n\nobserve {observed}\n");
        std::fs::write(&path, text).expect("a program can be written");
        let took = litmus(&["allowed", &path, "--engine", engine]);
        let result = &took.output["results"][0];
        assert_eq!(result["complete"], true, "{what}");
        rows.push(vec![
            what,
            format!("*{}*", result["engine"].as_str().unwrap_or_default()),
            markdown::count(result["outcomes"].as_array().map_or(0, Vec::len)),
            format!("{:.2}", took.time.as_secs_f64()),
            markdown::count(took.peak.div_ceil(1024)),
        ]);
    }
    markdown::print(&["program", "by", "outcomes", "seconds", "MiB"], &rows);
    println!("\n`litmus allowed` under `rdma-wait-rmw`, with the start of the program.");
}

/// Store buffering with puts and polls: the yardstick of the simulator.
const STORE_BUFFERING: &str = "litmus SB+put-polls\nmodel rdma-tso-rmw

  y = 0      || x = 0
  -----------------------
  x^2 := 1   || y^1 := 1
  Poll(2)    || Poll(1)
  a := y     || b := x

  observe a, b
";

fn simulator() {
    const ITERATIONS: u64 = 3_000_000;
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let file = folder.join("SB+put-polls.litmus");
    std::fs::write(&file, STORE_BUFFERING).expect("the folder can be written");
    let file = file.display().to_string();
    let mut rows = Vec::new();
    for jobs in ["1", "2", "16"] {
        let iterations = ITERATIONS.to_string();
        let took = thrice(&["run", &file, "-n", &iterations, "--seed", "7", "-j", jobs]);
        assert_eq!(took.output["results"][0]["finished"], ITERATIONS, "every iteration ends");
        rows.push(vec![
            format!("`litmus run SB+put-polls.litmus -n {ITERATIONS} --seed 7 -j {jobs}`"),
            format!("{:.2}", took.time.as_secs_f64()),
            markdown::count((ITERATIONS as f64 / took.time.as_secs_f64()) as u64),
            markdown::count(took.peak.div_ceil(1024)),
        ]);
    }
    markdown::print(&["command", "seconds", "iterations per second", "MiB"], &rows);
}

/// A test of the suite of which another one is a variant, and an outcome that only the other forbids.
struct Twin {
    file: PathBuf,
    outcome: String,
    model: String,
}

fn twins() -> Vec<Twin> {
    let files = walk(Path::new("litmus-suite"));
    let stem = |path: &Path| path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let mut twins = Vec::new();
    for path in &files {
        let text = std::fs::read_to_string(path).expect("a file of the suite can be read");
        let after = |start: &str| text.lines().find_map(|line| line.strip_prefix(start));
        let claim = text.lines().find_map(|line| line.strip_prefix("  ")?.strip_suffix(" ✗"));
        let model = after("model ").and_then(|models| models.split(' ').next());
        let file = after("// twin: ")
            .and_then(|name| files.iter().find(|file| stem(file).as_deref() == Some(name)));
        // A claim with a model before it is not about all of the header's.
        if let (Some(claim), Some(model), Some(file)) = (claim, model, file)
            && !claim.contains(':')
        {
            let (file, outcome, model) = (file.clone(), claim.to_owned(), model.to_owned());
            twins.push(Twin { file, outcome, model });
        }
    }
    assert!(twins.len() > 50, "too few twins to say anything");
    twins
}

/// The files of a folder and of those in it, in order.
fn walk(folder: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(folder).expect("it can be read").flatten().map(|e| e.path()).collect();
    entries.sort();
    let below = |path: PathBuf| if path.is_dir() { walk(&path) } else { vec![path] };
    entries.into_iter().flat_map(below).collect()
}

/// Repairs of the suite's weak tests that forbid what their twins forbid.
fn repairs() {
    let (mut found, mut none, mut right) = (Vec::new(), Vec::new(), 0);
    for Twin { file, outcome, model } in twins() {
        let file = file.display().to_string();
        let took = litmus(&["repair", &file, "--forbid", &outcome, "--model", &model]);
        let Some(result) = took.output["results"].get(0) else { continue };
        match result["repairs"].as_array().is_some_and(|all| !all.is_empty()) {
            _ if result["right"] == true => right += 1,
            true => found.push((took.time, file)),
            false => none.push((took.time, file)),
        }
    }
    let mut rows = Vec::new();
    for (what, mut times) in [("repaired", found), ("no repair of up to 3 changes", none)] {
        times.sort();
        let Some((slowest, name)) = times.last() else { continue };
        rows.push(vec![
            what.to_owned(),
            markdown::count(times.len()),
            markdown::milliseconds(times[times.len() / 2].0),
            markdown::milliseconds(times[times.len() * 9 / 10].0),
            markdown::milliseconds(*slowest),
            name.clone(),
        ]);
    }
    markdown::print(
        &["weak tests", "number", "median, ms", "90 %, ms", "slowest, ms", "slowest"],
        &rows,
    );
    println!(
        "\n`litmus repair TEST --forbid OUTCOME --model MODEL`, with the start of the program: the outcome is the \
         first that the test's twin forbids, the model the first of its header. {right} more tests forbid it \
         already."
    );
    growth();
}

/// Data on one node and a flag on another, this many times, and a reader of both.
fn rounds(count: usize) -> String {
    let list = |names: &[&str]| {
        let all = (1..=count).flat_map(|n| names.iter().map(move |name| format!("{name}{n} = 0")));
        all.collect::<Vec<_>>().join(", ")
    };
    let mut text = format!(
        "litmus rounds\nmodel rdma-tso-rmw\n\n  || {} || {}\n  ---\n",
        list(&["x"]),
        list(&["f", "b"])
    );
    let each =
        |write: &dyn Fn(usize) -> Vec<String>| (1..=count).flat_map(write).collect::<Vec<_>>();
    let writer = each(&|n| vec![format!("x{n}^2 := 1"), format!("f{n}^3 := 1"), String::new()]);
    let reader =
        each(&|n| vec![format!("a{n} := f{n}"), format!("b{n} := x{n}^2"), "Poll(2)".to_owned()]);
    for (left, right) in writer.iter().zip(&reader) {
        text += &format!("  {left} || || {right}\n");
    }
    (1..=count).for_each(|n| text += &format!("\n  a{n} = 1 ∧ b{n} = 0 ✗"));
    text + "\n"
}

/// How repair grows with the program and with the size of repairs.
fn growth() {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("rounds.litmus");
    let name = file.display().to_string();
    let mut rows = Vec::new();
    for (count, size) in [(1, "1"), (1, "2"), (1, "3"), (2, "2"), (2, "3"), (3, "2"), (3, "3")] {
        std::fs::write(&file, rounds(count)).expect("the folder can be written");
        let took = litmus(&["repair", &name, "--size", size]);
        let result = &took.output["results"][0];
        let number = |key: &str| markdown::count(result[key].as_u64().unwrap_or(0));
        let found = result["repairs"].as_array().map_or(0, Vec::len);
        rows.push(vec![
            count.to_string(),
            size.to_owned(),
            number("candidates"),
            number("asked"),
            markdown::count(found),
            markdown::milliseconds(took.time),
        ]);
    }
    println!();
    markdown::print(
        &["rounds", "changes at most", "candidates", "programs asked about", "repairs", "ms"],
        &rows,
    );
    println!(
        "\nA round puts data to one node and then a flag to another; a reader must not see the flag alone. Each \
         needs a flush."
    );
}

/// Every shipped library at its default bounds.
fn refinement() {
    let mut rows = Vec::new();
    let libraries = model::library::SHIPPED.iter().map(|(name, _)| (*name, &[][..]));
    // Of those with two keys or more calls, all clients of three calls.
    let objects = model::library::OBJECTS.iter().map(|(name, _)| (*name, &["--size", "3"][..]));
    for (name, bounds) in libraries.chain(objects) {
        let took = litmus(&[&["refine", name, "-j", "2"], bounds].concat());
        let clients = took.output["clients"].as_u64().unwrap_or(0);
        rows.push((
            clients,
            vec![
                format!("`{name}`"),
                took.output["verdict"].as_str().unwrap_or("-").to_owned(),
                markdown::count(clients),
                format!("{:.1}", took.time.as_secs_f64()),
                markdown::count((clients as f64 / took.time.as_secs_f64()) as u64),
                markdown::count(took.peak.div_ceil(1024)),
            ],
        ));
    }
    rows.sort();
    let rows: Vec<Vec<String>> = rows.into_iter().map(|(_, row)| row).collect();
    markdown::print(
        &["library", "verdict", "clients up to symmetry", "seconds", "clients per second", "MiB"],
        &rows,
    );
    println!(
        "\n`litmus refine LIBRARY -j 2` at its default bounds; of the objects in model/objects, with `--size 3`."
    );
}
