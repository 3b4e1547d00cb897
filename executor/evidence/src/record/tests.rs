use lang::outcome::{Observable, Observed};
use lang::program::{Program, RegisterId};
use lang::{Dialect, Test};

use super::*;

fn header() -> Header {
    Header {
        nodes: Vec::new(),
        schema: SCHEMA.to_owned(),
        tool: "0.1.0".to_owned(),
        backend: "sim".to_owned(),
        seed: u64::MAX,
        iterations: 10,
        faults: Vec::new(),
        parameters: Map::new(),
        models: vec![ModelIdentity { name: "sc".to_owned(), hash: hash_text("sc") }],
        host: Some(Host::here()),
        arguments: Vec::new(),
        libraries: Vec::new(),
        started: None,
        shard: None,
        ended: None,
        exit: None,
    }
}

fn test() -> Test {
    let observable =
        |(index, name): (usize, &str)| Observable::new(name, Observed::Register(RegisterId(index)));
    Test {
        name: "T".to_owned(),
        title: None,
        source: None,
        models: vec!["sc".to_owned()],
        tags: Vec::new(),
        loop_bound: None,
        dialect: Dialect::Rdma,
        program: Program::default(),
        observables: ["a", "x@2"].into_iter().enumerate().map(observable).collect(),
        shown: 1,
        expectations: Vec::new(),
    }
}

fn observations() -> Observations {
    let outcomes = [
        (Outcome(vec![Value::Int(u64::MAX), Value::Bottom]), 3),
        (Outcome(vec![Value::Int(0), Value::Undefined]), 4),
    ];
    Observations {
        outcomes: outcomes.into(),
        blocked: 1,
        assume_failed: 2,
        unfinished: 0,
        ..Observations::default()
    }
}

fn line(file: &str, status: Status) -> TestRecord {
    let seen = observations();
    TestRecord {
        notes: Vec::new(),
        test: "T".to_owned(),
        file: file.to_owned(),
        machine: "tso".to_owned(),
        models: Vec::new(),
        program_hash: hash_text("litmus T\n…"),
        program: "litmus T\n…".to_owned(),
        status,
        reason: None,
        iterations: seen.iterations(),
        finished: seen.finished(),
        blocked: seen.blocked,
        assume_failed: seen.assume_failed,
        unfinished: seen.unfinished,
        seconds: None,
        outcomes: states(&test(), &seen),
        part: false,
    }
}

/// A path that no other test uses; the file is removed when it goes.
struct Scratch(std::path::PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let file = format!("litmus-record-{}-{name}.jsonl", std::process::id());
        let path = std::env::temp_dir().join(file);
        let _ = std::fs::remove_file(&path);
        Self(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn round_trip() {
    let scratch = Scratch::new("round-trip");
    let mut writer = RecordWriter::create(&scratch.0, &header()).unwrap();
    writer.append(&line("a.litmus", Status::Complete)).unwrap();
    writer.append(&line("b.litmus", Status::Interrupted)).unwrap();
    let record = Record::read(&scratch.0).unwrap();
    assert_eq!(record.header, header());
    assert_eq!(
        record.tests,
        [line("a.litmus", Status::Complete), line("b.litmus", Status::Interrupted)]
    );
    assert_eq!(record.tests[0].observations(&test()), Ok(observations()));
}

#[test]
fn nothing_is_overwritten() {
    let scratch = Scratch::new("overwrite");
    RecordWriter::create(&scratch.0, &header()).unwrap();
    let error = RecordWriter::create(&scratch.0, &header()).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::AlreadyExists);
}

#[test]
fn a_cut_off_line_is_ignored_and_replaced() {
    let scratch = Scratch::new("cut-off");
    let mut writer = RecordWriter::create(&scratch.0, &header()).unwrap();
    writer.append(&line("a.litmus", Status::Complete)).unwrap();
    writer.append(&line("b.litmus", Status::Complete)).unwrap();
    drop(writer);
    let whole = std::fs::read(&scratch.0).unwrap();
    let header_ends = whole.iter().position(|byte| *byte == b'\n').unwrap();
    for length in 0..whole.len() {
        let found = Record::parse(&whole[..length]);
        assert_eq!(found.is_ok(), length >= header_ends, "{length} bytes");
    }
    std::fs::write(&scratch.0, &whole[..whole.len() - 5]).unwrap();
    let (record, mut writer) = RecordWriter::resume(&scratch.0).unwrap();
    assert_eq!(record.tests, [line("a.litmus", Status::Complete)]);
    writer.append(&line("b.litmus", Status::Complete)).unwrap();
    assert_eq!(std::fs::read(&scratch.0).unwrap(), whole);
}

/// A record of two tests, as it is written.
fn written(scratch: &Scratch) -> String {
    let mut writer = RecordWriter::create(&scratch.0, &header()).unwrap();
    writer.append(&line("a.litmus", Status::Complete)).unwrap();
    writer.append(&line("b.litmus", Status::Complete)).unwrap();
    writer.end(Ended { at: None, is_complete: true, exit: None }).unwrap();
    std::fs::read_to_string(&scratch.0).unwrap()
}

#[test]
fn a_record_cut_anywhere_is_not_whole() {
    let scratch = Scratch::new("not-whole");
    let whole = written(&scratch);
    let record = Record::parse(whole.as_bytes()).unwrap();
    assert_eq!((record.end, record.remarks.len()), (End::Whole, 0));
    // Without the last end of line, the last line is whole.
    for length in (0..whole.len() - 1).filter(|length| whole.is_char_boundary(*length)) {
        if let Ok(record) = Record::parse(&whole.as_bytes()[..length]) {
            assert_eq!(record.end, End::Missing, "{length} bytes");
            assert!(record.remarks.iter().any(|remark| remark.contains("no end")));
        }
    }
    // Going on makes it whole again.
    let (lines, _) = whole.trim_end().rsplit_once('\n').unwrap();
    std::fs::write(&scratch.0, format!("{lines}\n")).unwrap();
    let (_, mut writer) = RecordWriter::resume(&scratch.0).unwrap();
    writer.end(Ended { at: None, is_complete: false, exit: None }).unwrap();
    assert_eq!(Record::read(&scratch.0).unwrap().end, End::Early);
    drop(writer);
    let (_, mut writer) = RecordWriter::resume(&scratch.0).unwrap();
    writer.append(&line("c.litmus", Status::Complete)).unwrap();
    assert_eq!(Record::read(&scratch.0).unwrap().end, End::Missing);
    writer.end(Ended { at: None, is_complete: true, exit: None }).unwrap();
    assert_eq!(Record::read(&scratch.0).unwrap().end, End::Whole);
}

#[test]
fn a_changed_record_is_refused() {
    let scratch = Scratch::new("changed");
    let whole = written(&scratch);
    let lines: Vec<&str> = whole.lines().collect();
    let wrong = |lines: &[&str]| {
        let text = lines.join("\n") + "\n";
        Record::parse(text.as_bytes()).map(|_| ()).unwrap_err().to_string()
    };
    let [head, one, two, end] = lines[..] else { panic!("{whole}") };
    assert!(wrong(&[head, one, end]).contains("expected 2 lines of tests"));
    assert!(wrong(&[head, one, one, two, end]).contains("found 3"));
    assert!(wrong(&[head, two, one, end]).contains("digest"), "another order");
    assert!(wrong(&[head, &one.replace("complete", "skipped"), two, end]).contains("digest"));
    assert!(wrong(&[&head.replace("\"sim\"", "\"verbs\""), one, two, end]).contains("digest"));
    // Editors may change the ends of lines, and put a mark before the first.
    let marked = format!("\u{feff}{}", whole.replace('\n', "\r\n"));
    assert_eq!(Record::parse(marked.as_bytes()).unwrap().end, End::Whole);
}

#[test]
fn a_record_written_in_one_is_the_same() {
    let (one, other) = (Scratch::new("by-line"), Scratch::new("in-one"));
    let text = written(&one);
    let tests = [line("a.litmus", Status::Complete), line("b.litmus", Status::Complete)];
    write_whole(&other.0, &header(), &tests, true).unwrap();
    assert_eq!(std::fs::read_to_string(&other.0).unwrap(), text);
    let error = write_whole(&other.0, &header(), &[], true).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::AlreadyExists);
}

#[test]
fn a_record_has_one_writer() {
    let scratch = Scratch::new("locked");
    let writer = RecordWriter::create(&scratch.0, &header()).unwrap();
    let error = RecordWriter::resume(&scratch.0).unwrap_err();
    assert!(error.to_string().contains("another process"), "{error}");
    drop(writer);
    assert!(RecordWriter::resume(&scratch.0).is_ok());
}

#[test]
fn what_later_versions_add_is_ignored() {
    let header = r#"{"schema":"litmus-record/1","tool":"9","backend":"sim","seed":1,"iterations":1,"moon":"full"}"#;
    let test = r#"{"kind":"test","test":"T","file":"f","machine":"m","program_hash":"0","program":"","status":"complete","iterations":0,"finished":0,"outcomes":[],"weather":{}}"#;
    let text = format!("{header}\n{{\"kind\":\"note\",\"text\":\"hello\"}}\n{test}\n");
    let record = Record::parse(text.as_bytes()).unwrap();
    assert_eq!(record.tests.len(), 1);
}

#[test]
fn what_is_wrong_is_named() {
    let error = |text: &str| Record::parse(text.as_bytes()).unwrap_err().to_string();
    let good = serde_json::to_string(&header()).unwrap();
    assert!(error("").contains("line 1: expected a header"));
    assert!(error("{}\n").contains("litmus-record/1"));
    assert!(error("{\"schema\":\"litmus-record/2\"}\n").contains("found litmus-record/2"));
    assert!(error(&format!("{good}\nnonsense\n{{}}\n")).starts_with("line 2: "));
    assert!(error(&format!("{good}\n{{\"kind\":\"test\"}}\n")).contains("missing field"));
}

#[test]
fn the_last_line_of_a_test_counts() {
    let lines = [
        serde_json::to_string(&header()).unwrap(),
        format!(
            "{{\"kind\":\"test\",{}",
            &serde_json::to_string(&line("a", Status::Interrupted)).unwrap()[1..]
        ),
        format!(
            "{{\"kind\":\"test\",{}",
            &serde_json::to_string(&line("a", Status::Complete)).unwrap()[1..]
        ),
    ];
    let record = Record::parse((lines.join("\n") + "\n").as_bytes()).unwrap();
    assert_eq!(record.tests, [line("a", Status::Complete)]);
}

#[test]
fn completed_tests_are_found_unless_their_program_changed() {
    let tests = vec![line("a", Status::Complete), line("b", Status::Interrupted)];
    let record = Record::new(header(), tests);
    let hash = hash_text("litmus T\n…");
    assert!(record.completed(("T", "a", "tso"), &hash).unwrap().is_some());
    assert!(record.completed(("T", "b", "tso"), &hash).unwrap().is_none());
    assert!(record.completed(("T", "a", "rdma-tso"), &hash).unwrap().is_none());
    assert!(record.completed(("T", "c", "tso"), &hash).unwrap().is_none());
    let error = record.completed(("T", "a", "tso"), &hash_text("other")).unwrap_err();
    assert!(error.contains("changed"), "{error}");
}

#[test]
fn headers_that_do_not_fit_say_why() {
    let with = |change: &dyn Fn(&mut Header)| {
        let mut other = header();
        change(&mut other);
        header().compatible(&other)
    };
    assert_eq!(with(&|other| other.host = None), Ok(()));
    assert!(with(&|other| other.seed = 1).unwrap_err().contains("seed"));
    assert!(with(&|other| other.iterations = 1).unwrap_err().contains("iterations"));
    assert!(with(&|other| other.tool = "0".to_owned()).unwrap_err().contains("version"));
    let faults = |other: &mut Header| other.faults = vec!["poll-early".to_owned()];
    assert!(with(&faults).unwrap_err().contains("none, and that of this run is poll-early"));
    let parameters =
        |other: &mut Header| drop(other.parameters.insert("chunk".to_owned(), 7.into()));
    assert!(with(&parameters).unwrap_err().contains("`chunk`"));
}

#[test]
fn hashes_are_those_of_fnv() {
    // FNV-1a of "a\xff", computed apart.
    assert_eq!(fnv1a(&["a"]), 0x089b_c907_b544_c769_u64);
    assert_ne!(fnv1a(&["a", "b"]), fnv1a(&["ab", ""]));
}

#[test]
fn what_machines_showed_before_an_interruption_counts() {
    let earlier = TestRecord { notes: vec!["b lost".to_owned()], ..line("a", Status::Interrupted) };
    let mut later = line("a", Status::Complete);
    later.outcomes.truncate(1);
    let text = |header: Header, earlier: &TestRecord, later: &TestRecord| {
        let lines = [
            serde_json::to_string(&header).unwrap(),
            format!("{{\"kind\":\"test\",{}", &serde_json::to_string(earlier).unwrap()[1..]),
            format!("{{\"kind\":\"test\",{}", &serde_json::to_string(later).unwrap()[1..]),
        ];
        lines.join("\n") + "\n"
    };
    let real = Header { backend: "verbs".to_owned(), ..header() };
    let record = Record::parse(text(real.clone(), &earlier, &later).as_bytes()).unwrap();
    let [merged] = record.tests.as_slice() else { panic!("{:?}", record.tests) };
    assert_eq!(merged.status, Status::Complete);
    assert_eq!(merged.iterations, 2 * earlier.iterations);
    assert_eq!(merged.notes, ["b lost"]);
    let counts: Vec<u64> = merged.outcomes.iter().map(|one| one.count).collect();
    assert_eq!(counts.len(), 2);
    assert_eq!(counts.iter().sum::<u64>(), later.outcomes[0].count + earlier.finished);
    let added = |record: &Record| record.remarks.iter().any(|one| one.contains("are added"));
    assert!(added(&record), "{:?}", record.remarks);
    // A part that was written before the test was over is nothing odd.
    let part = TestRecord { part: true, ..earlier.clone() };
    let record = Record::parse(text(real, &part, &later).as_bytes()).unwrap();
    assert!(!record.tests[0].part && !added(&record), "{:?}", record.remarks);
    assert_eq!(record.tests[0].iterations, 2 * earlier.iterations);
    // The simulator's seed repeats what was interrupted.
    let repeated = line("a", Status::Complete);
    let simulated = Record::parse(text(header(), &earlier, &repeated).as_bytes()).unwrap();
    assert_eq!(simulated.tests, [repeated]);
    // What it does not repeat was another run, and was seen.
    let simulated = Record::parse(text(header(), &earlier, &later).as_bytes()).unwrap();
    assert_eq!(simulated.tests[0].outcomes.len(), 2);
}
