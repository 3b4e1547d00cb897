//! `litmus coverage`: which rules of a model a suite tests.

pub mod report;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::Args;
use compiler::library::Libraries;
use evidence::record::hash_text;
use lang::Test;
use model::changes::Change;
use model::coverage::{IMPLIED, Implied, Suite, implied};
use model::generate::distinguish::Undecided;
use model::generate::draft::Draft;
use model::generate::pivot::{Pivot, Tried};
use model::generate::search::{Bounds, Known, Vocabulary};
use serde_json::json;

use super::compare::{BoundsOptions, bounds_of, load};
use super::generate::{make, suite};
use crate::exit::Exit;
use crate::input::{Input, load_test};
use crate::inputs::{self, Workers};
use crate::libraries::{LibraryOption, Uses};
use crate::models::{LoadedModel, Models};
use crate::options::{FormatOption, JobsOption, TimeoutOption};
use crate::ordered::{Broken, map_in_order};
use crate::output::Failure;
use crate::select::SelectOption;
use crate::shard::ShardOption;
use crate::sink::Sink;
use crate::terminal::Terminal;

/// Show which axioms, rules and table cells of a model a suite tests
///
/// A rule is tested if some verdict of the suite is wrong once the rule is changed: an axiom dropped, a part
/// of a union left out, a cell of an order table made its opposite. What no test can notice of the shipped
/// models is known, with the reason; what is about statements that the model does not define, no program has.
/// What else is not tested is a hole: --missing looks for the smallest tests that would fill it. Where a
/// limit kept a test from saying, it is unknown whether the rule is tested. The exit code is 0 if there is no
/// hole, 1 if there is, and 2 if something is unknown, or for each hole the search ended at its bounds.
#[derive(Args)]
pub struct Arguments {
    /// Tests, or folders of tests
    #[arg(required = true, value_name = "FILE|DIR")]
    paths: Vec<PathBuf>,
    /// The model whose rules are changed
    #[arg(long, value_name = "NAME|FILE.cat", default_value = "rdma-tso-rmw")]
    model: String,
    /// Look for the smallest tests that fill the holes
    #[arg(long)]
    missing: bool,
    /// Write those tests into this folder
    #[arg(short, long, value_name = "DIR", requires = "missing")]
    output: Option<PathBuf>,
    #[command(flatten)]
    libraries: LibraryOption,
    #[command(flatten)]
    select: SelectOption,
    #[command(flatten)]
    bounds: BoundsOptions,
    #[command(flatten)]
    format: FormatOption,
    #[command(flatten)]
    timeout: TimeoutOption,
    #[command(flatten)]
    jobs: JobsOption,
    #[command(flatten)]
    shard: ShardOption,
}

/// What is known of a rule.
#[derive(Clone, Debug)]
pub enum Status {
    /// This test notices a change of it.
    Tested(String),
    /// No test can, for this reason.
    Implied(String),
    /// No program can, since the model does not define the statements that it is about.
    Impossible,
    /// No test of the suite does.
    Hole,
    /// No test of the suite does, but this one would.
    Missing(Box<(Draft, suite::Made)>),
    /// Nor does any program that was tried; what kept the search from its end, if something did.
    Searched(Tried, Option<String>),
    /// A limit kept some test from saying, and no other notices.
    Unknown(String),
    /// It is of another part of the whole.
    Elsewhere,
}

pub fn run(arguments: &Arguments, terminal: &mut Terminal) -> Exit {
    if arguments.select.list {
        let (paths, format) = (&arguments.paths, arguments.format.format);
        let asked = (&[][..], &arguments.libraries);
        return arguments.select.list(paths, &["litmus"], asked, format, terminal);
    }
    let model = match load(&arguments.model, terminal) {
        Ok(model) => model,
        Err(exit) => return exit,
    };
    let mut sink = Sink::plain(terminal);
    let Some(libraries) = arguments.libraries.choose(&mut sink) else { return sink.exit };
    let tests = Arc::new(tests(arguments, libraries, &mut sink));
    let mut exit = sink.exit;
    if tests.is_empty() {
        return exit;
    }
    let suite = Suite::new(model.model().clone(), &tests, libraries, model.is_own);
    // A test checks that the list can be read.
    let implied = implied(IMPLIED).unwrap_or_default();
    let names: Vec<String> = suite.changes.iter().map(|change| change.name.clone()).collect();
    // Every rule is asked of every test.
    let asked = asked_hash(&tests, &arguments.libraries);
    let settings = format!("{}\n{asked}", model.identity.hash);
    let shard = arguments.shard.items(&names, &vec![1; names.len()], &settings);
    let all = || (0..names.len()).collect();
    let own = shard
        .as_ref()
        .map_or_else(all, |shard| shard.items.iter().map(|(item, _)| *item).collect::<Vec<_>>());
    let bounds = bounds_of(&arguments.bounds);
    let open = |folder: &PathBuf| open(folder, &model, bounds, &asked);
    let folder = arguments.output.as_ref().map(open).transpose();
    let mut folder = match folder {
        Ok(folder) => folder,
        Err(failure) => return failure.tell(terminal),
    };
    let mut found = statuses(arguments, &model, &suite, &implied, &own, (terminal, &mut exit));
    if arguments.missing {
        let folder = folder.as_mut();
        let asked = (bounds, arguments);
        let searched = search(&mut found, &model, &suite, asked, folder, (terminal, &mut exit));
        if let Err(failure) = searched {
            return failure.tell(terminal);
        }
    }
    let has = |is_it: fn(&Status) -> bool| found.iter().any(is_it);
    if has(|status| matches!(status, Status::Hole | Status::Missing(_))) {
        exit.raise(Exit::Violation);
    } else if has(|status| matches!(status, Status::Searched(..) | Status::Unknown(_))) {
        exit.raise(Exit::Unknown);
    }
    let shard = shard.map(|shard| (shard, exit));
    report::Report { suite: &suite, found: &found, bounds, shard }
        .show(arguments.format.format, terminal);
    exit
}

fn tests(arguments: &Arguments, libraries: &Libraries, sink: &mut Sink<'_>) -> Vec<Test> {
    let headers = Models::with(libraries);
    let uses = Uses::new(libraries, &arguments.libraries, false);
    let (paths, select) = (&arguments.paths, &arguments.select);
    let inputs = inputs::choose(paths, &["litmus"], select, &headers, sink).unwrap_or_default();
    let workers = Workers { jobs: arguments.jobs.count(), ..Workers::default() };
    let mut tests = Vec::new();
    let load = |input: &Input| arguments.timeout.within(|| load_test(input, libraries));
    workers.work(&inputs, sink, load, |_, (loaded, problems), sink| {
        sink.problems(problems);
        tests.extend(loaded.map(|(test, _)| test).inspect(|test| uses.take(test)));
    });
    uses.tell(sink.terminal);
    tests
}

/// One number for the tests, whatever their order of lines, and for the libraries of files.
fn asked_hash(tests: &[Test], libraries: &LibraryOption) -> String {
    let tests = tests.iter().map(|test| format!("{test:?}\n"));
    let libraries = libraries.texts().into_iter().map(|library| library.hash);
    hash_text(&tests.chain(libraries).collect::<String>())
}

fn statuses(
    arguments: &Arguments,
    model: &LoadedModel,
    suite: &Suite,
    implied: &Implied,
    own: &[usize],
    (terminal, exit): (&mut Terminal, &mut Exit),
) -> Vec<Status> {
    terminal.begin_progress(own.len());
    let mut found = vec![Status::Elsewhere; suite.changes.len()];
    let reason = |change: &usize| {
        let key = (model.name().to_owned(), suite.changes[*change].name.clone());
        // A file of the user's may have the name of a shipped model, and say something else.
        implied.get(&key).filter(|_| !model.is_own)
    };
    let status = |change: &usize| match (reason(change), suite.noticed(*change)) {
        (_, Ok(Some(test))) => Status::Tested(test),
        (Some(reason), _) => Status::Implied(reason.clone()),
        (None, _) if !suite.changes[*change].is_possible(model.model()) => Status::Impossible,
        (None, Ok(None)) => Status::Hole,
        (None, Err(Undecided(why))) => Status::Unknown(why),
    };
    let work = |change: &usize| arguments.timeout.within(|| status(change));
    let each = |change: &usize, status: Result<Status, Broken>| {
        terminal.progress().inc(1);
        found[*change] = status.unwrap_or_else(|broken| Status::Unknown(broken.why(exit)));
        ControlFlow::Continue(())
    };
    map_in_order(own, arguments.jobs.count(), &AtomicBool::new(false), work, each);
    found
}

/// Looks for tests that fill the holes, and writes each as soon as it is found, if there is a folder.
fn search(
    found: &mut [Status],
    model: &LoadedModel,
    suite: &Suite,
    (bounds, arguments): (Bounds, &Arguments),
    mut folder: Option<&mut suite::Suite>,
    (terminal, exit): (&mut Terminal, &mut Exit),
) -> Result<(), Failure> {
    let jobs = arguments.jobs.count();
    let is_hole = |at: &usize| matches!(found[*at], Status::Hole);
    let holes: Vec<usize> = (0..found.len()).filter(is_hole).collect();
    if holes.is_empty() {
        return Ok(());
    }
    let vocabulary = Vocabulary::of(&[model.model()]);
    let timeout = &arguments.timeout;
    let known = timeout.within(|| Known::new(model.model(), &vocabulary, &bounds, jobs));
    let look = |hole: &usize| {
        let change = &suite.changes[*hole];
        let pivot = Pivot::new(&known, change, &vocabulary, bounds, 1);
        let mut tried = Tried::default();
        let Some(found) = pivot.smallest(bounds.size, &mut tried) else { return Err(tried) };
        let draft = Draft::new(&found.shape, &found.test, &found.condition).canonical();
        let made = make(draft.clone(), vocabulary.completion, model.model(), change.allows_more);
        let made = match made {
            Ok(suite::Tried::Made(made)) => Some((draft, *made)),
            Ok(_) | Err(_) => None,
        };
        Ok(made)
    };
    let work = |hole: &usize| timeout.within(|| look(hole));
    terminal.begin_progress(holes.len());
    let mut written = Ok(());
    let each = |hole: &usize, result: Result<_, Broken>| {
        terminal.progress().inc(1);
        if let (Some(folder), Ok(Ok(Some((_, made))))) = (folder.as_mut(), &result) {
            written = write(folder, made, &suite.changes[*hole], model);
            if written.is_err() {
                return ControlFlow::Break(());
            }
        }
        found[*hole] = match result {
            Ok(Ok(Some(made))) => Status::Missing(Box::new(made)),
            Ok(Ok(None)) => Status::Hole,
            Ok(Err(tried)) => Status::Searched(tried, None),
            Err(broken) => Status::Searched(Tried::default(), Some(broken.why(exit))),
        };
        ControlFlow::Continue(())
    };
    map_in_order(&holes, jobs, &AtomicBool::new(false), work, each);
    written
}

/// The folder for the tests that are missing: before they are looked for, which takes long. It is new, or the
/// same command began it.
fn open(
    folder: &Path,
    model: &LoadedModel,
    bounds: Bounds,
    asked: &str,
) -> Result<suite::Suite, Failure> {
    let origin = suite::Origin {
        command: "coverage --missing".to_owned(),
        choices: Some(json!({ "tests": asked })),
        bounds: bounds.to_string(),
        model,
    };
    suite::Suite::open(folder, &origin)
}

fn write(
    folder: &mut suite::Suite,
    made: &suite::Made,
    change: &Change,
    model: &LoadedModel,
) -> Result<(), Failure> {
    if folder.has(&change.name) {
        return Ok(());
    }
    folder.add(&suite::Unit {
        name: change.name.clone(),
        title: format!("{}: {}", model.name(), change.described()),
        made: vec![made.clone()],
        ..suite::Unit::default()
    })
}
