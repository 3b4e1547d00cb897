//! Reports of records that are made here.

mod tested;

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

use evidence::judge::{Answers, Judge, ModelSays, NotJudged};
use evidence::record::{
    Header, Host, ModelIdentity, Record, SCHEMA, StateCount, Status, TestRecord, hash_text,
};
use evidence::reports::data::{CellEvidence, Lost, Report, VerdictWord};
use evidence::reports::rejudge::judge_lines;
use evidence::reports::{Request, Shell, Source, compute, logs};
use executor::backend::{Backend, Control, Job, measure};
use executor::sim::Sim;
use lang::Test;
use model::allowed::{Options, Question};
use model::machine::{Contents, FAULTS, FaultSet, Limits, Random, Simulator, Variant};
use model::models::{SHIPPED, load_shipped};

/// Words nothing: that is for whoever has a command line.
struct Silent;

impl Shell for Silent {
    fn again(&self, _: &Source) -> String {
        String::new()
    }

    fn parameters(&self, _: &Header) -> String {
        String::new()
    }

    fn run(&self, _: &Header, _: &str, _: &str) -> String {
        String::new()
    }

    fn explain(&self, _: &Header, _: &str, _: &str, _: &str) -> String {
        String::new()
    }
}

const MP: &str = "\
litmus MP+put-put+po
\"Two puts, <script>alert(1)</script>\"
model rdma-tso-rmw rdma-wait-rmw

            ||  x = 0, y = 0
  --------------------------
  x^2 := 1  ||  a := y
  y^2 := 1  ||  b := x

  (a, b) = (1, 0) ✗
";

fn judges() -> &'static [(String, Arc<Judge>)] {
    static JUDGES: OnceLock<Vec<(String, Arc<Judge>)>> = OnceLock::new();
    JUDGES.get_or_init(|| {
        let load = |(name, text): &(&str, &str)| {
            let model = load_shipped(name).expect("shipped").expect("it loads").model;
            let identity = ModelIdentity { name: (*name).to_owned(), hash: hash_text(text) };
            let argument = (*name).to_owned();
            ((*name).to_owned(), Arc::new(Judge { identity, model, argument, is_own: false }))
        };
        SHIPPED.iter().map(load).collect()
    })
}

fn shipped(name: &str) -> Option<Arc<Judge>> {
    judges().iter().find(|(known, _)| known == name).map(|(_, judge)| Arc::clone(judge))
}

fn report_with(sources: &[Source], examined: usize, mutant_runs: u64) -> Report {
    let answers = Answers::new(|test, model, libraries| {
        let options = Options::default();
        let wrong = |refused: model::asking::Refused| NotJudged::Wrong(refused.diagnostics());
        let asking = Question::of(test, model).libraries(libraries);
        let question = asking.question().map_err(wrong)?;
        let found = question.allowed(&options).map_err(wrong)?;
        Ok(ModelSays::of(|| Some(question), &options, found))
    });
    let request = Request {
        chosen: Vec::new(),
        shipped: &shipped,
        answers: &answers,
        options: &Options::default,
        shell: &Silent,
        tool: "0.0.0".to_owned(),
        examined,
        mutant_runs,
        mutant_budget: Request::MUTANT_BUDGET,
        has_baseline: false,
    };
    compute(sources, judge_lines(sources, &request), &request)
}

fn report(sources: &[Source]) -> Report {
    report_with(sources, Request::EXAMINED, 0)
}

fn header(backend: &str, iterations: u64, faults: &[&str]) -> Header {
    Header {
        schema: SCHEMA.to_owned(),
        tool: "0.0.0".to_owned(),
        backend: backend.to_owned(),
        seed: 1,
        iterations,
        faults: faults.iter().map(|fault| (*fault).to_owned()).collect(),
        host: Some(Host::default()),
        ..Header::default()
    }
}

fn load(text: &str) -> Test {
    let (test, diagnostics) = lang::litmus::load(&lang::source::Source::new("test", text));
    test.unwrap_or_else(|| panic!("{diagnostics:?}"))
}

fn line(text: &str, counts: &[(&str, u64)]) -> TestRecord {
    let test = load(text);
    let identity = |name: &String| ModelIdentity { name: name.clone(), hash: "?".to_owned() };
    let outcomes = counts.iter().map(|(state, count)| StateCount {
        state: serde_json::from_str(state).expect("it is JSON"),
        count: *count,
        places: Vec::new(),
    });
    let finished = counts.iter().map(|(_, count)| count).sum();
    TestRecord {
        test: test.name.clone(),
        file: format!("suite/put-get/{}.litmus", test.name),
        machine: "hardware".to_owned(),
        models: test.models.iter().map(identity).collect(),
        program_hash: hash_text(text),
        program: text.to_owned(),
        status: Status::Complete,
        reason: None,
        iterations: finished,
        finished,
        blocked: 0,
        assume_failed: 0,
        unfinished: 0,
        seconds: None,
        notes: Vec::new(),
        outcomes: outcomes.collect(),
        part: false,
    }
}

fn source(name: &str, tests: Vec<TestRecord>) -> Source {
    let header = header("verbs", 1000, &[]);
    Source {
        name: name.to_owned(),
        record: Record::new(header, tests),
        libraries: model::library::shipped().clone(),
    }
}

fn violated() -> TestRecord {
    line(MP, &[(r#"{"a":0,"b":0}"#, 990), (r#"{"a":1,"b":0}"#, 3), (r#"{"a":1,"b":1}"#, 7)])
}

fn clean() -> TestRecord {
    line(MP, &[(r#"{"a":0,"b":0}"#, 990), (r#"{"a":1,"b":1}"#, 10)])
}

#[test]
fn a_violation_made_by_hand_has_its_cycle_and_its_cell() {
    let report = report(&[source("r", vec![violated()])]);
    assert_eq!(report.verdict.word, VerdictWord::Violation);
    assert_eq!(
        report.verdict.line,
        "VIOLATION · 1 of 1 program that forbids something shows 1 forbidden outcome"
    );
    let [finding] = &report.findings[..] else { panic!("{:?}", report.findings) };
    assert_eq!((finding.outcome.as_str(), finding.count, finding.finished), ("a=1, b=0", 3, 1000));
    assert_eq!(finding.axiom.as_deref(), Some("observed-before"));
    let relations: Vec<&str> = finding.steps.iter().map(|step| step.relation.as_str()).collect();
    assert_eq!(relations, ["oppo[nrW, nrW]", "rfe", "oppo[lR, lR]", "rb"]);
    assert!(finding.lost.iter().any(|lost| lost.name == "oppo[nrW, nrW]"), "{:?}", finding.lost);
    assert!(finding.picture.as_ref().is_some_and(|svg| svg.contains("oppo[nrW, nrW]")));
    let table = report.tables.iter().find(|table| table.model == "rdma-tso-rmw").expect("judged");
    let index = |name: &str| table.columns.iter().position(|column| column == name).expect("there");
    let row = table.rows.iter().find(|row| row.name == "nrW").expect("there");
    assert_eq!(row.cells[index("nrW")].evidence, CellEvidence::Broken);
}

#[test]
fn only_what_the_nearest_variant_leaves_out_is_broken() {
    let report = report(&[source("r", vec![violated()])]);
    for table in &report.tables {
        let [diagnosis] = &report.diagnoses[..] else { panic!("{:?}", report.diagnoses) };
        let mut models = diagnosis.models.iter();
        let variant = models.find(|without| without.model == table.model);
        let variant = variant.expect("both models forbid it");
        assert!(variant.explains == variant.of && variant.dropped.len() == 1, "{diagnosis:?}");
        let count = |evidence: CellEvidence| {
            let cells = table.rows.iter().flat_map(|row| &row.cells);
            cells.filter(|cell| cell.evidence == evidence).count()
        };
        assert_eq!(count(CellEvidence::Broken), 1, "{}", table.model);
        // The CPU that reads may as well have read early.
        assert!(count(CellEvidence::Explains) > 0, "{}", table.model);
    }
}

#[test]
fn a_variant_is_of_all_violations_of_its_model() {
    let both = MP.replace("model rdma-tso-rmw rdma-wait-rmw", "model rdma-tso rdma-tso-rmw");
    let cpu = "litmus S+cpu\nmodel rdma-tso-rmw\n\n  x = 0, y = 0  |\n  -----------------------\n  \
               x := 2        |  a := y\n  y := 1        |  x := 1\n\n  (a, x) = (1, 2) ✗\n";
    let mp = line(&both, &[(r#"{"a":0,"b":0}"#, 990), (r#"{"a":1,"b":0}"#, 3)]);
    let name = |index: usize| load(cpu).observables[index].name.clone();
    let s = line(cpu, &[(&format!("{{\"{}\":1,\"{}\":2}}", name(0), name(1)), 3)]);
    let report = report(&[source("r", vec![mp, s])]);
    let mut models = report.diagnoses.iter().flat_map(|diagnosis| &diagnosis.models);
    let variant = models.find(|without| without.model == "rdma-tso-rmw").expect("it forbids both");
    let dropped: Vec<&str> = variant.dropped.iter().map(|lost| lost.name.as_str()).collect();
    // Only the second violation is of this model alone; the sentence is about both.
    assert_eq!((variant.explains, variant.of), (2, 2));
    assert!(dropped.iter().any(|name| !name.contains(", lW]")), "{dropped:?}");
    assert!(dropped.iter().any(|name| name.contains(", lW]")), "{dropped:?}");
}

#[test]
fn silence_is_not_proof() {
    let report = report(&[source("r", vec![clean()])]);
    assert_eq!(report.verdict.word, VerdictWord::Conforms);
    assert_eq!(report.verdict.line, "conforms · 1 program that forbids something: 0 violations");
    let [run] = &report.runs[..] else { panic!("{:?}", report.runs) };
    assert_eq!(run.unseen[0].bound, Some(0.003));
    assert!(run.cannot_tell.iter().any(|point| point.contains("0.3 %")), "{:?}", run.cannot_tell);
    assert!(run.cannot_tell.iter().any(|point| point.contains("take runs for independent")));
}

#[test]
fn nothing_is_nothing() {
    let report = report(&[source("r", Vec::new())]);
    assert_eq!(report.verdict.word, VerdictWord::NothingTested);
}

#[test]
fn a_broken_program_is_an_error_and_others_are_judged() {
    let mut broken = clean();
    broken.program = "litmus x\n{".to_owned();
    broken.file = "other".to_owned();
    let report = report(&[source("r", vec![broken, violated()])]);
    assert_eq!((report.errors.len(), report.findings.len()), (1, 1));
}

#[test]
fn records_side_by_side() {
    let (before, after) = (source("a", vec![clean()]), source("b", vec![violated()]));
    let comparison = report(&[before.clone(), after.clone()]).comparison.expect("there are two");
    assert_eq!(comparison.new_violations, ["MP+put-put+po: a=1, b=0"]);
    assert!(comparison.gone_violations.is_empty());
    let back = report(&[after.clone(), before]).comparison.expect("there are two");
    assert_eq!((back.new_violations.len(), back.gone_violations.len()), (0, 1));
    let same = report(&[after.clone(), after]).comparison.expect("there are two");
    assert!(same.new_violations.is_empty() && same.common == 1);
}

#[test]
fn different_programs_of_one_name_are_not_compared() {
    let mut other = violated();
    other.program = other.program.replace(":= 1  ||  a", ":= 2  ||  a");
    other.program_hash = hash_text(&other.program);
    let comparison =
        report(&[source("a", vec![clean()]), source("b", vec![other])]).comparison.expect("two");
    assert_eq!((comparison.common, comparison.refused.len()), (0, 1));
    assert!(comparison.refused[0].reason.contains("different programs"));
}

/// The suite's tests, without those that take long.
fn suite() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../litmus-suite");
    let mut found = Vec::new();
    let mut folders = vec![folder];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("the suite is readable").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "litmus") {
                let text = std::fs::read_to_string(&path).expect("the suite is readable");
                found.push((path.display().to_string(), text));
            }
        }
    }
    found.sort();
    found
}

/// Runs the suite on a broken simulator, for the models that only CPU and RDMA^TSO or RDMA^WAIT with RMWs
/// have.
fn faulty(fault: &str, suite: &[(String, String)]) -> Source {
    let sim = Sim::new(&[fault.to_owned()]).expect("there is such a fault");
    let stop = AtomicBool::new(false);
    let mut tests = Vec::new();
    for (file, text) in suite {
        let test = load(text);
        // Only tests about a crash show that nothing is kept.
        let judges: &[(&str, &str)] = match test.program.crash {
            Some(_) => &[("rdma-tso", "rdma-verbs")],
            None => &[("rdma-tso", "rdma-tso-rmw"), ("rdma-wait", "rdma-wait-rmw")],
        };
        for (machine, name) in judges.iter().copied() {
            let Some(judge) = shipped(name).filter(|_| test.models.iter().any(|one| one == name))
            else {
                continue;
            };
            let job = Job {
                test: &test,
                file,
                program: text,
                libraries: model::library::shipped(),
                machine,
                iterations: 600,
                done: 0,
                seed: 7,
            };
            let control = Control { stop: &stop, progress: &|_| {}, keep: &|_| {} };
            tests.push(measure(&sim, &job, vec![judge.identity.clone()], control).0);
        }
    }
    let header = Header { faults: sim.faults(), ..header("sim", 600, &[]) };
    Source {
        name: fault.to_owned(),
        record: Record::new(header, tests),
        libraries: model::library::shipped().clone(),
    }
}

/// For each fault: names of which the report must say one as what is not kept, in words of the models. A poll
/// that returns too early is one that does not order what follows: no model has a cell from a write to a
/// poll.
const BROKEN_BY: &[(&str, &[&str])] = &[
    ("puts-reordered", &["[nrW, nrW]", "[aNRW, aNRW]"]),
    ("put-reads-reordered", &["[nlR, nlR]", "[aNLR, aNLR]"]),
    ("put-reads-early", &["[lW, nlR]", "[aCW, aNLR]"]),
    ("put-overtakes-rmw", &["[narR, nrW]", "[narW, nrW]", "[aNAR, aNRW]"]),
    ("completion-at-issue", &["pf"]),
    // pf too, since the completion of a later request no longer stands for an unsignaled one.
    ("completions-reordered", &["completions-in-order", "pf"]),
    ("remote-buffer-not-fifo", &["[nrW, nrW]", "[aNRW, aNRW]"]),
    ("local-buffer-not-fifo", &["[nlW, nlW]", "[aNLW, aNLW]"]),
    ("gets-do-not-flush", &["[nrW, nrR]", "[aNRW, aNRR]"]),
    ("get-overtakes-put-read", &["[nlR, nrR]", "[nrW, nrR]", "[aNRW, aNRR]"]),
    (
        "read-overtakes-local-write",
        &["nfo", "[nlW, nF]", "[nF, nlR]", "[aNLW, aRF]", "[aRF, aNLR]"],
    ),
    ("poll-early", &["pf"]),
    ("rfence-ignored", &["nF]", "[nF", "aRF"]),
    ("rmw-not-exclusive", &["rao"]),
    ("rmw-does-not-flush", &["[nrW, narR]", "[aNRW, aNAR]"]),
    ("persist-keeps-nothing", &["persisted", "lost"]),
    ("store-buffer-not-fifo", &["[lW, lW]", "[aCW, aCW]"]),
    ("issue-overtakes-writes", &["[lW, n", "[aCW, aN"]),
    ("fence-ignored", &["F]", "[F", "aMF"]),
    ("cas-does-not-drain", &["CAS"]),
];

/// A cell that another one has too, as `ippo+oppo[nrW, nrR]` has `oppo[nrW, nrR]`.
fn said_twice(dropped: &[Lost]) -> Option<&str> {
    let parts = |lost: &Lost| -> (Vec<String>, String) {
        let (tables, cell) = lost.name.split_once('[').unwrap_or((&lost.name, ""));
        (tables.split('+').map(str::to_owned).collect(), cell.to_owned())
    };
    let is_in = |one: &Lost, other: &Lost| {
        let ((tables, cell), (more, other)) = (parts(one), parts(other));
        cell == other && tables.iter().all(|table| more.contains(table))
    };
    let pairs = (0..dropped.len()).flat_map(|i| (0..dropped.len()).map(move |j| (i, j)));
    let mut found = pairs.filter(|(i, j)| i != j && is_in(&dropped[*i], &dropped[*j]));
    found.next().map(|(i, _)| dropped[i].name.as_str())
}

#[test]
fn every_fault_is_named() {
    let suite = suite();
    let names: Vec<&str> = BROKEN_BY.iter().map(|(fault, _)| *fault).collect();
    let all: Vec<&str> = FAULTS.iter().map(|info| info.name).collect();
    assert_eq!(names, all, "each fault has its line");
    let mut wrong = Vec::new();
    for (fault, expected) in BROKEN_BY {
        // Evidence for cells takes time, and is not what this is about.
        let report = report_with(&[faulty(fault, &suite)], 0, 0);
        let models = report.diagnoses.iter().flat_map(|diagnosis| &diagnosis.models);
        let lost: Vec<&str> =
            models.flat_map(|one| &one.dropped).map(|lost| lost.name.as_str()).collect();
        let all = report.diagnoses.iter().all(|diagnosis| diagnosis.explains == diagnosis.of);
        if report.findings.is_empty()
            || !lost.iter().any(|lost| expected.iter().any(|one| lost.contains(one)))
        {
            let found = report.findings.len();
            wrong.push(format!("{fault}: {lost:?} (explains all: {all}) of {found} findings"));
        }
        for diagnosis in &report.diagnoses {
            println!("{fault}: {}", diagnosis.line);
            for one in &diagnosis.models {
                let twice = said_twice(&one.dropped);
                wrong
                    .extend(twice.map(|name| format!("{fault}: {name} twice: {}", diagnosis.line)));
            }
            // A cell of two tables is one thing to say, and so in words.
            let words: std::collections::BTreeSet<&String> = diagnosis.dropped.iter().collect();
            if words.len() < diagnosis.dropped.len() {
                wrong.push(format!("{fault}: words twice: {:?}", diagnosis.dropped));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn faults_that_concern_nothing_in_a_program_change_nothing() {
    let mut compared = 0;
    let variants = [Variant::RdmaTso, Variant::RdmaWait];
    for ((file, text), variant) in
        suite().iter().flat_map(|one| variants.map(move |variant| (one, variant)))
    {
        let test = load(text);
        let limits = Limits { states: 20_000, ..Limits::default() };
        let Ok(all) = model::machine::explore(&test, variant, limits) else { continue };
        if !all.complete {
            continue;
        }
        let contents = Contents::of(&test);
        for info in FAULTS.iter().filter(|info| !info.fault.concerns(&contents)) {
            let faults = FaultSet::NONE.with(info.fault);
            let mut simulator = Simulator::new(&test, variant, faults).expect("it is explored");
            let seen = simulator.run(&mut Random::stream(1, 0), 100);
            compared += 1;
            for outcome in seen.outcomes.keys() {
                assert!(all.outcomes.contains(outcome), "{file}: {}", info.name);
            }
        }
    }
    assert!(compared > 500, "{compared}");
}

#[test]
fn logs_are_written_and_read() {
    let recorded = violated();
    let test = load(&recorded.program);
    let seen = recorded.observations(&test).expect("it has all values");
    let text = logs::block(&test, &recorded.program_hash, &seen);
    assert!(text.contains("Observation MP+put-put+po Sometimes 3 997"), "{text}");
    assert!(text.contains("3       *>1:a=1; 1:b=0;") && text.contains("\nNo\n"), "{text}");
    let read = logs::parse(&text).expect("it is a log");
    let find =
        |_: &str| Some((("f".to_owned(), recorded.program.clone()), recorded.models.clone()));
    let record = logs::to_record(read.clone(), "0", &find);
    assert_eq!(record.tests[0].outcomes.len(), 3);
    assert_eq!(
        report(&[Source {
            name: "log".to_owned(),
            record,
            libraries: model::library::shipped().clone()
        }])
        .findings
        .len(),
        1
    );
    let other = |_: &str| Some((("f".to_owned(), format!("{}\n", recorded.program)), Vec::new()));
    let refused = logs::to_record(read, "0", &other);
    assert_eq!(refused.tests[0].status, Status::Skipped);
}

/// The files in docs, made anew by `LITMUS_BLESS=1`.
fn schema(file: &str, schema: &schemars::Schema, instance: &serde_json::Value) {
    let text = serde_json::to_string_pretty(schema).expect("it is JSON") + "\n";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/schemas").join(file);
    if std::env::var_os("LITMUS_BLESS").is_some() {
        std::fs::write(&path, &text).expect("docs can be written");
    }
    let known = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(known == text, "{file} is not what the code says; LITMUS_BLESS=1 makes it anew");
    let parsed = serde_json::from_str(&text).expect("it is JSON");
    let validator = jsonschema::validator_for(&parsed).expect("it is a schema");
    if let Err(error) = validator.validate(instance) {
        panic!("{file}: {error} at {}", error.instance_path());
    }
}

#[test]
fn reports_fit_their_schema() {
    let made = report_with(&[source("a", vec![clean()]), source("b", vec![violated()])], 1, 100);
    let json = serde_json::to_value(&made).expect("it is JSON");
    schema("litmus-report-2.json", &schemars::schema_for!(Report), &json);
}

#[test]
fn records_fit_their_schema() {
    let header = serde_json::to_value(header("verbs", 5, &[])).expect("it is JSON");
    schema("litmus-record-1-header.json", &schemars::schema_for!(Header), &header);
    let test = serde_json::to_value(violated()).expect("it is JSON");
    schema("litmus-record-1-test.json", &schemars::schema_for!(TestRecord), &test);
}
