//! Records and logs as they are read.

use std::path::Path;

use compiler::library::Libraries;
use evidence::record::{ModelIdentity, Record};
use evidence::reports::{self, Source as Recorded, logs};
use lang::diagnostic::Code;

use super::Arguments;
use crate::input;
use crate::inputs;
use crate::libraries::{self, Uses};
use crate::models::Models;
use crate::problem::Problem;
use crate::sink::Sink;

/// What is odd about a record.
pub fn tell_remarks(source: &Recorded, sink: &mut Sink<'_>) {
    for remark in &source.record.remarks {
        sink.terminal.note(&format!("{}: {remark}", source.name));
    }
    if let Some(remark) = reports::other_tool(source, env!("CARGO_PKG_VERSION")) {
        sink.terminal.note(&remark);
    }
}

/// Reads a record or a log.
pub fn read(
    path: &Path,
    arguments: &Arguments,
    models: &Models,
    sink: &mut Sink<'_>,
) -> Option<Recorded> {
    let name = path.to_string_lossy().into_owned();
    let mut refuse = |message: String| {
        sink.problem(Problem::of_file(&name, Code::UnusableRecord, message));
    };
    let bytes = match input::bytes(path) {
        Ok(bytes) => bytes,
        Err(message) => {
            refuse(message);
            return None;
        }
    };
    if !logs::is_log(&bytes) {
        let is_asked = !arguments.tests.is_empty();
        if is_asked && arguments.records.len() == 1 && arguments.baseline.is_none() {
            let message =
                format!("--tests is for logs, and {name} is a record, which has its programs");
            sink.usage_error(Code::MeaninglessOption, &message);
            return None;
        }
        return parse(name, &bytes, sink);
    }
    let tests = match logs::parse(&String::from_utf8_lossy(&bytes)) {
        Ok(tests) => tests,
        Err((line, message)) => {
            refuse(format!("line {line}: {message}"));
            return None;
        }
    };
    let libraries = arguments.libraries.choose(sink)?;
    let programs = programs(arguments, libraries, sink);
    let find = |name: &str| {
        let (_, file, text, names) = programs.iter().find(|(known, ..)| known == name)?;
        let models = names.iter().filter_map(|name| models.shipped(name));
        let models: Vec<ModelIdentity> = models.map(|model| model.identity.clone()).collect();
        Some(((file.clone(), text.clone()), models))
    };
    let mut record = logs::to_record(tests, env!("CARGO_PKG_VERSION"), &find);
    record.header.libraries = arguments.libraries.texts();
    Some(Recorded { name, record, libraries: libraries.clone() })
}

/// Reads a record, and no log.
pub fn read_record(path: &Path, sink: &mut Sink<'_>) -> Option<Recorded> {
    let name = path.to_string_lossy().into_owned();
    match input::bytes(path) {
        Ok(bytes) => parse(name, &bytes, sink),
        Err(message) => {
            sink.problem(Problem::of_file(&name, Code::UnusableRecord, message));
            None
        }
    }
}

/// A record and the libraries that it was made with.
fn parse(name: String, bytes: &[u8], sink: &mut Sink<'_>) -> Option<Recorded> {
    let mut record = match Record::parse(bytes) {
        Ok(record) => record,
        Err(error) => {
            sink.problem(Problem::of_file(&name, Code::UnusableRecord, error.to_string()));
            return None;
        }
    };
    match libraries::recorded(&record.header.libraries) {
        Ok((libraries, remarks)) => {
            record.remarks.extend(remarks);
            Some(Recorded { name, record, libraries })
        }
        Err(problems) => {
            problems.into_iter().for_each(|problem| sink.problem(problem));
            None
        }
    }
}

/// Name, file, text and models of the tests that --tests names.
fn programs(
    arguments: &Arguments,
    libraries: &Libraries,
    sink: &mut Sink<'_>,
) -> Vec<(String, String, String, Vec<String>)> {
    let mut programs = Vec::new();
    let uses = Uses::new(libraries, &arguments.libraries, false);
    for input in inputs::find(&arguments.tests, &["litmus"], sink) {
        let (loaded, found) = input::load_test(&input, libraries);
        sink.problems(found);
        if let Some((test, source)) = loaded {
            uses.take(&test);
            programs.push((test.name, source.name.clone(), source.text.clone(), test.models));
        }
    }
    uses.tell(sink.terminal);
    programs
}
