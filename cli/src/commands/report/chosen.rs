//! Which tests of records a report is about.

use std::path::{Path, PathBuf};

use evidence::record::{ModelIdentity, TestRecord};
use evidence::reports::Source as Recorded;
use lang::diagnostic::Code;
use lang::library::Words;
use lang::litmus;
use lang::source::Source;

use super::Arguments;
use super::records::read;
use crate::exit::Exit;
use crate::models::Models;
use crate::select::{self, SelectOption, Subject};
use crate::sink::Sink;
use crate::terminal::Terminal;

/// `--list`: the tests of the records that are selected.
pub fn list(arguments: &Arguments, terminal: &mut Terminal) -> Exit {
    let format = arguments.format.report();
    // Problems with a record are shown as always.
    let mut report = Sink::plain(terminal);
    let Some(models) = arguments.models.load(&mut report) else { return report.exit };
    let read = |path: &PathBuf| read(path, arguments, &models, &mut report);
    let mut sources: Vec<Recorded> = arguments.records.iter().filter_map(read).collect();
    if let Err(message) = keep(&mut sources, &arguments.select, &models) {
        report.usage_error(Code::NoTestMatches, &message);
    }
    let row = |test: &TestRecord| {
        let models = test.models.iter().map(|model| model.name.clone()).collect();
        (test.test.clone(), test.file.clone(), models)
    };
    let rows: Vec<select::Row> =
        sources.iter().flat_map(|source| &source.record.tests).map(row).collect();
    let exit = report.finish(&[], None);
    select::show(&rows, format, terminal);
    exit
}

/// Loads the models of files that headers of tests name, as far as they are there.
pub fn load_models(sources: &[Recorded], models: &Models) {
    let all = sources
        .iter()
        .flat_map(|recorded| recorded.record.tests.iter().map(move |test| (recorded, test)));
    for (recorded, test) in all {
        let is_shipped = |model: &ModelIdentity| models.shipped(&model.name).is_some();
        if !test.models.iter().all(is_shipped) {
            let source = Source::new(test.file.as_str(), test.program.as_str());
            // One that is not there is missed when it is to judge.
            let words = recorded.libraries.words();
            let test = litmus::load_with(&source, words).0;
            drop(test.map(|test| models.of_test(&test, &source)));
        }
    }
}

/// Keeps the tests that are selected; a record of which some are left out says so.
///
/// # Errors
/// That there are none.
pub fn keep(
    sources: &mut [Recorded],
    select: &SelectOption,
    models: &Models,
) -> Result<(), String> {
    let all = |sources: &[Recorded]| {
        let tests = sources.iter().flat_map(|source| &source.record.tests);
        tests.map(|test| test.test.clone()).collect::<Vec<String>>()
    };
    let names = all(sources);
    if !select.is_some() || names.is_empty() {
        return Ok(());
    }
    for Recorded { record, libraries, .. } in &mut *sources {
        let before = record.tests.len();
        record.tests.retain_mut(|test| is_kept(test, libraries.words(), select, models));
        let left = before - record.tests.len();
        if left > 0 {
            record.remarks.push(format!("{left} of {before} tests are left out by -k"));
        }
    }
    let names = names.iter().map(String::as_str);
    if all(sources).is_empty() { Err(select.nothing("test", names)) } else { Ok(()) }
}

/// Whether a test is selected under some model; models under which it is not are dropped.
fn is_kept(
    test: &mut TestRecord,
    words: Words<'_>,
    select: &SelectOption,
    models: &Models,
) -> bool {
    let source = Source::new(test.file.as_str(), test.program.as_str());
    let tags = litmus::load_with(&source, words).0.map(|test| test.tags).unwrap_or_default();
    let path = Path::new(&test.file).with_extension("");
    let path = path.to_string_lossy();
    let is_selected =
        |model| select.selects(Subject { name: &test.test, path: &path, tags: &tags, model });
    if !models.chosen.is_empty() {
        return models.chosen.iter().any(|model| is_selected(Some(model.name())));
    }
    if test.models.is_empty() {
        return is_selected(None);
    }
    let kept: Vec<ModelIdentity> =
        test.models.iter().filter(|model| is_selected(Some(&model.name))).cloned().collect();
    test.models = kept;
    !test.models.is_empty()
}
