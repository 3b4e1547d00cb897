//! Logs as herd7 and litmus7 write them: blocks `Test … Histogram … Observation …`.
//!
//! Written so that tools for such logs (mcompare7, mlog2cond7, …) work on our records, and read so that ours
//! work on theirs. A log has no programs: they are looked for by the tests' names.

use std::fmt::Write;

use lang::Test;
use lang::outcome::{Claim, Observed, Outcome};
use serde_json::{Map, Value as Json};

use crate::observation::Observations;
use crate::record::{
    Header, ModelIdentity, Record, SCHEMA, StateCount, Status, TestRecord, hash_text,
};

/// A test as a block of a log.
pub fn block(test: &Test, hash: &str, seen: &Observations) -> String {
    let claim = test.expectations.iter().find_map(|expectation| match &expectation.claim {
        Claim::Allowed(condition) => Some(("Allowed", "exists", condition, &expectation.text)),
        Claim::Forbidden(condition) => Some(("Forbidden", "~exists", condition, &expectation.text)),
        Claim::Always(condition) => Some(("Required", "forall", condition, &expectation.text)),
        Claim::Exactly { .. } => None,
    });
    let holds =
        |outcome: &Outcome| claim.is_some_and(|(_, _, condition, _)| condition.holds(outcome));
    let kind = claim.map_or("Allowed", |(kind, ..)| kind);
    let some = || seen.outcomes.iter().filter(|(_, count)| **count > 0);
    let positive: u64 = some()
        .filter(|(outcome, _)| holds(outcome))
        .map(|(_, count)| *count)
        .fold(0, u64::saturating_add);
    let negative = seen.finished() - positive;
    let validated = match kind {
        "Required" => negative == 0,
        kind => (positive > 0) == (kind == "Allowed"),
    };
    let mut out = String::new();
    let name = &test.name;
    // Writing into a string cannot fail.
    let _ = writeln!(out, "Test {name} {kind}\nHistogram ({} states)", some().count());
    for (outcome, count) in some() {
        let mark = if holds(outcome) { '*' } else { ':' };
        let _ = writeln!(out, "{count:<8}{mark}>{}", state(test, outcome));
    }
    let _ = writeln!(out, "{}\n", if validated { "Ok" } else { "No" });
    let _ = writeln!(out, "Witnesses\nPositive: {positive}, Negative: {negative}");
    let (quantifier, text) =
        claim.map_or(("exists", "true"), |(_, quantifier, _, text)| (quantifier, text.as_str()));
    let verdict = if validated { "is validated" } else { "is NOT validated" };
    // A question of herd's has its quantifier already.
    let condition = match text.starts_with(quantifier) {
        true => text.to_owned(),
        false => format!("{quantifier} ({text})"),
    };
    let _ = writeln!(out, "Condition {condition} {verdict}\nHash={hash}");
    let word = match (positive, negative) {
        (0, _) => "Never",
        (_, 0) => "Always",
        _ => "Sometimes",
    };
    let _ = writeln!(out, "Observation {name} {word} {positive} {negative}\n");
    out
}

/// `0:a=1; x=0;`: registers with their threads, counted from 0 as in those tools.
fn state(test: &Test, outcome: &Outcome) -> String {
    let pairs = test.observables.iter().zip(&outcome.0).map(|(observable, value)| {
        let name = &observable.name;
        match observable.what {
            Observed::Register(register) => {
                let thread = test.program.registers[register.0].thread.0;
                format!("{thread}:{name}={value};")
            }
            _ => format!("{name}={value};"),
        }
    });
    pairs.collect::<Vec<_>>().join(" ")
}

/// A block of a log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogTest {
    /// The test's name.
    pub name: String,
    /// How often each state was seen; 1 each in logs of herd7, which count nothing.
    pub states: Vec<(Vec<(String, String)>, u64)>,
    /// What identifies the program, if the log says.
    pub hash: Option<String>,
}

/// Whether a text is such a log.
pub fn is_log(text: &[u8]) -> bool {
    let start = text.iter().position(|byte| !byte.is_ascii_whitespace()).unwrap_or(0);
    // Some tools write machine or parameter lines first; a record begins with an object.
    text.get(start).is_some_and(|first| *first != b'{')
        && text
            .windows(6)
            .take(1 << 16)
            .any(|part| part == b"\nTest " || part.starts_with(b"Test "))
}

/// Reads a log. What is in no block is skipped.
///
/// # Errors
/// The line, from 1, and what is wrong with it.
pub fn parse(text: &str) -> Result<Vec<LogTest>, (usize, String)> {
    let mut tests: Vec<LogTest> = Vec::new();
    let mut states_left = 0_usize;
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        let wrong = |what: &str| (index + 1, format!("expected {what}, found `{line}`"));
        if let Some(rest) = line.strip_prefix("Test ") {
            let name = rest.split_whitespace().next().ok_or_else(|| wrong("a test's name"))?;
            tests.push(LogTest { name: name.to_owned(), ..LogTest::default() });
            states_left = 0;
            continue;
        }
        let Some(test) = tests.last_mut() else { continue };
        let count = line
            .strip_prefix("Histogram (")
            .and_then(|rest| rest.split_whitespace().next())
            .or_else(|| line.strip_prefix("States "));
        if let Some(count) = count {
            states_left = count.parse().map_err(|_| wrong("a number of states"))?;
        } else if states_left > 0 {
            let state =
                parse_state(line).ok_or_else(|| wrong("a state like `12 :>0:a=1; x=0;`"))?;
            test.states.push(state);
            states_left -= 1;
        } else if let Some(hash) = line.strip_prefix("Hash=") {
            test.hash = Some(hash.trim().to_owned());
        }
    }
    if states_left > 0 {
        let name = tests.last().map_or("", |test| test.name.as_str());
        let last = text.lines().count();
        return Err((last, format!("expected {states_left} more states of {name}, found the end")));
    }
    Ok(tests)
}

fn parse_state(line: &str) -> Option<(Vec<(String, String)>, u64)> {
    let (count, state) = match line.split_once('>') {
        Some((head, state)) if head.trim_end().ends_with([':', '*']) => {
            let digits = head.trim_end().trim_end_matches([':', '*']).trim();
            (digits.parse().ok()?, state)
        }
        _ => (1, line),
    };
    let mut pairs = Vec::new();
    for part in state.split(';').map(str::trim).filter(|part| !part.is_empty()) {
        // As programs of `litmus compile` say it.
        if part.starts_with("forbidden by ") {
            continue;
        }
        let (name, value) = part.split_once('=')?;
        // `[x]` is a location, as herd7 writes it, and `x[0]` a word of an array.
        let name = name.trim();
        let name = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
        // `0:a` is thread 0's register a.
        let plain = match name.split_once(':') {
            Some((thread, rest)) if thread.chars().all(|c| c.is_ascii_digit()) => rest,
            _ => name,
        };
        pairs.push((plain.to_owned(), value.trim().to_owned()));
    }
    Some((pairs, count))
}

/// A test's file and text, and the models that judge it.
pub type Program = ((String, String), Vec<ModelIdentity>);

/// A log as a record. `find` gives the file and text of a test by its name; tests that it does not know, or
/// of which it knows another program, are skipped with the reason.
pub fn to_record(
    tests: Vec<LogTest>,
    tool: &str,
    find: &dyn Fn(&str) -> Option<Program>,
) -> Record {
    let header = Header {
        schema: SCHEMA.to_owned(),
        tool: tool.to_owned(),
        backend: Header::LOG.to_owned(),
        seed: 0,
        iterations: tests.iter().map(total).max().unwrap_or(0),
        faults: Vec::new(),
        parameters: Map::new(),
        models: Vec::new(),
        host: None,
        nodes: Vec::new(),
        arguments: Vec::new(),
        libraries: Vec::new(),
        started: None,
        shard: None,
        ended: None,
        exit: None,
    };
    let tests = tests.into_iter().map(|test| {
        let found = find(&test.name);
        let skipped = |reason: &str| Some(reason.to_owned());
        let (reason, file, program, models) = match found {
            None => (
                skipped("a log has no programs, and --tests has none of this name"),
                String::new(),
                String::new(),
                Vec::new(),
            ),
            Some(((file, program), models)) => {
                // Other tools' hashes are of another kind and cannot be compared with ours.
                let differs = test
                    .hash
                    .as_ref()
                    .is_some_and(|hash| hash.len() == 16 && *hash != hash_text(&program));
                let reason = differs.then(|| {
                    "the log's program is another than that of this name in --tests".to_owned()
                });
                (reason, file, program, models)
            }
        };
        let finished = total(&test);
        let outcomes = test.states.iter().map(|(pairs, count)| StateCount {
            state: pairs.iter().map(|(name, value)| (name.clone(), value_of(value))).collect(),
            count: *count,
            places: Vec::new(),
        });
        TestRecord {
            test: test.name.clone(),
            file,
            machine: "hardware".to_owned(),
            models,
            program_hash: hash_text(&program),
            program,
            status: if reason.is_some() { Status::Skipped } else { Status::Complete },
            reason,
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
    });
    let remarks = vec!["a log: it says nothing of device, parameters and seed".to_owned()];
    let mut record = Record::new(header, tests.collect());
    record.remarks = remarks;
    record
}

fn total(test: &LogTest) -> u64 {
    test.states.iter().map(|(_, count)| *count).fold(0, u64::saturating_add)
}

fn value_of(text: &str) -> Json {
    let number = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    };
    match (number, text) {
        (Some(number), _) => number.into(),
        (None, "⊤") => "undefined".into(),
        (None, _) => Json::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::{is_log, parse};

    #[test]
    fn logs_of_litmus7_are_read() {
        let text = "Test SB Allowed\nHistogram (2 states)\n1784  *>0:EAX=0; 1:EAX=0;\n998216:>0:EAX=1; 1:EAX=1; [x]=1;\nOk\n\n\
                Witnesses\nPositive: 1784, Negative: 998216\nCondition exists (0:EAX=0) is validated\n\
                Hash=2d53e83cd627ba17ab11c875525e078b\nObservation SB Sometimes 1784 998216\nTime SB 0.55\n";
        assert!(is_log(text.as_bytes()));
        let tests = parse(text).expect("it is a log");
        assert_eq!((tests[0].states.len(), tests[0].states[1].1), (2, 998_216));
        assert_eq!(tests[0].states[1].0[2], ("x".to_owned(), "1".to_owned()));
        let herd = "Test SB Allowed\nStates 1\n0:EAX=0; 1:EAX=1;\nOk\n";
        assert_eq!(parse(herd).expect("it is a log")[0].states[0].1, 1);
        let words = "Test W Allowed\nHistogram (1 states)\n5 :>x[0]=1; [x[1]]=2;\n";
        let word = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let expected = [word("x[0]", "1"), word("x[1]", "2")];
        assert_eq!(parse(words).expect("it is a log")[0].states[0].0, expected);
        assert_eq!(parse("Test SB Allowed\nHistogram (2 states)\n1 :>x=1;\n").unwrap_err().0, 3);
        assert!(parse("Test SB Allowed\nHistogram (many states)\n").is_err());
    }
}
