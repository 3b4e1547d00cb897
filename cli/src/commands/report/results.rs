//! Results of records test by test: as JSON, as a log, and with `-v` or `--only` as `litmus run` shows them.

use std::path::PathBuf;
use std::sync::Arc;

use compiler::library::Libraries;
use evidence::judge::JudgedBy;
use evidence::record::{Record, TestRecord};
use evidence::reports::rejudge::JudgedLine;
use evidence::reports::{Source as Recorded, logs};
use lang::diagnostic::Code;
use lang::litmus;
use lang::source::Source;

use crate::commands::run::FEW;
use crate::commands::run::result::{Layout, RunResult};
use crate::input::Input;
use crate::problem::{Problem, problems};
use crate::select::OnlyOption;
use crate::sink::{Sink, Skip};

/// The record as blocks of a log.
pub fn log(record: &Record, libraries: &Libraries, sink: &mut Sink<'_>) {
    for recorded in &record.tests {
        let source = Arc::new(Source::new(recorded.file.as_str(), recorded.program.as_str()));
        let (test, diagnostics) = litmus::load_with(&source, libraries.words());
        let Some(test) = test else {
            problems(&source, diagnostics).into_iter().for_each(|problem| sink.problem(problem));
            continue;
        };
        match recorded.observations(&test) {
            Ok(seen) if seen.finished() > 0 => {
                let block = logs::block(&test, &recorded.program_hash, &seen);
                sink.terminal.out(&block);
            }
            Ok(_) => {}
            Err(name) => {
                let message = format!("the record has a state without a value of `{name}`");
                sink.problem(Problem::of_file(&recorded.file, Code::UnusableRecord, message));
            }
        }
    }
}

/// Lists each test of the records from `first` on, as `litmus run` shows it. The report decides the exit
/// code, since a baseline may have the violations too.
pub fn list(
    sources: &[Recorded],
    first: usize,
    lines: &[JudgedLine<'_>],
    only: &OnlyOption,
    sink: &mut Sink<'_>,
) {
    for (run, source) in sources.iter().enumerate().skip(first) {
        let record = &source.record;
        let input = |test: &TestRecord| Input { path: PathBuf::from(&test.file), is_named: true };
        let inputs: Vec<Input> = record.tests.iter().map(input).collect();
        let mut layout = Layout::new(sink.look(), inputs.len() <= FEW, &inputs);
        for line in lines.iter().filter(|line| line.run == run) {
            tell_problems(line, sink);
            let Some(test) = line.test.as_ref().filter(|_| line.recorded.iterations > 0) else {
                continue;
            };
            let measured = (line.recorded, record.header.backend.as_str());
            let result = |by: &JudgedBy| RunResult::new(&test.test, measured, by);
            let results: Vec<RunResult> = test.by.iter().map(result).collect();
            results.iter().for_each(|result| sink.tally(result.status()));
            layout.print(&results, only, sink);
        }
    }
}

/// Shows what broke, what cannot be used, and what was not run or not judged.
fn tell_problems(line: &JudgedLine<'_>, sink: &mut Sink<'_>) {
    let TestRecord { test, file, models, .. } = line.recorded;
    if let Some((source, diagnostics)) = &line.diagnostics {
        problems(source, diagnostics.clone()).into_iter().for_each(|one| sink.failure(one));
    }
    // The others have a place in the text, and were shown above.
    for error in
        line.errors.iter().filter(|error| error.is_of_backend() || line.diagnostics.is_none())
    {
        sink.failure(Problem::of_file(file, error.shown_code(), error.message.clone()));
    }
    for skipped in &line.skipped {
        let names = match &skipped.model {
            Some(model) => vec![model.clone()],
            None => models.iter().map(|model| model.name.clone()).collect(),
        };
        for model in names {
            let (test, file, reason) = (test.clone(), file.clone(), skipped.reason.clone());
            sink.skip(Skip { test, file, model, reason });
        }
    }
}
