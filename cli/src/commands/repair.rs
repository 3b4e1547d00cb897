//! `litmus repair`.

mod json;
mod show;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use lang::diagnostic::Code;
use lang::source::Source;
use lang::{Dialect, Test, herd};
use model::engine::Request;
use model::repair::{Costs, Kind, Rejected, Repair, Repairs, Weakened};
use serde_json::json;

use crate::exit::Exit;
use crate::input::{self, Input, load_test_within};
use crate::inputs::{self, Workers};
use crate::libraries::{LibraryOption, Uses};
use crate::models::{LoadedModel, Models};
use crate::options::{FormatOption, JobsOption, ModelOption, SolverOptions};
use crate::output;
use crate::problem::{Problem, problems};
use crate::sink::{Sink, Skip};
use crate::terminal::Terminal;
use show::Shown;

/// Find the least synchronization that makes a program right, or what a program does without
///
/// What is repaired are the verdicts of the file that fail: outcomes that it forbids and the model allows. A
/// repair is a set of changes after which these outcomes are forbidden; no part of it alone does that. All
/// outcomes that the file claims to be allowed stay, and a program that always ends still does. Of changes
/// that rewrite statements (rcas, exchange, queue-pair, signal, inline), a repair has at most one. A repair
/// is right under all models given with --model; without, under those of the header that have the same way to
/// wait. A line with the comment `// keep` stays as it is.
#[derive(Args)]
pub struct Arguments {
    /// Tests, folders of tests, or - for a test on standard input
    #[arg(required = true, value_name = "FILE|DIR")]
    paths: Vec<PathBuf>,
    /// Forbid these outcomes, as verdicts are written: 'a=1, b=0'. `forall (c)` forbids those in which c is
    /// false
    #[arg(long, value_name = "OUTCOME")]
    forbid: Option<String>,
    #[command(flatten)]
    models: ModelOption,
    #[command(flatten)]
    libraries: LibraryOption,
    /// Which changes may be made: poll, poll-recv, wait, rfence, gfence, mfence, flush, rcas, exchange,
    /// queue-pair, signal, inline [default: all]
    #[arg(long, value_name = "CHANGE,…", value_delimiter = ',', value_parser = kind)]
    only: Vec<Kind>,
    /// Say instead what may go: all largest sets of waits, fences and gets of unused values without which all
    /// verdicts still hold
    #[arg(long, conflicts_with = "size")]
    weaken: bool,
    /// Show also what is near the repairs and is none: each change alone, and each repair without one of its
    /// changes, with an outcome that is still allowed
    #[arg(long, conflicts_with = "weaken")]
    neighbors: bool,
    /// Show what changes as a diff of the file in its normal form
    #[arg(long)]
    diff: bool,
    /// Change the files: make the cheapest repair, or with --weaken remove what costs most
    #[arg(long, short)]
    write: bool,
    /// The most changes of one repair
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u8).range(1..=6))]
    size: u8,
    /// What changes cost: lines of a word and a number
    #[arg(long, value_name = "FILE", value_parser = costs)]
    cost: Option<Costs>,
    #[command(flatten)]
    solver: SolverOptions,
    #[command(flatten)]
    format: FormatOption,
    #[command(flatten)]
    jobs: JobsOption,
}

fn kind(word: &str) -> Result<Kind, String> {
    Kind::of(word).ok_or_else(|| Kind::unknown(word))
}

/// Looks for repairs.
pub fn run(arguments: &Arguments, terminal: &mut Terminal) -> Exit {
    let head = [("schema", json!("litmus-repair/1"))];
    let mut sink = Sink::new(terminal, arguments.format.format, &head);
    // What prevents it has been reported.
    let _ = repair_all(arguments, &mut sink);
    let words = match arguments.weaken {
        true => ["answered", "not right as they are", "unknown"],
        false => ["right or with a repair", "without a repair", "unknown"],
    };
    sink.finish(&[], Some(words))
}

fn repair_all(arguments: &Arguments, sink: &mut Sink<'_>) -> Option<()> {
    if arguments.write && arguments.paths.iter().any(|path| path.as_os_str() == "-") {
        let why = "--write changes files; a test on standard input is not in one";
        sink.exit.raise(sink.terminal.usage_error(why));
        return None;
    }
    if let Some(text) = &arguments.forbid
        && let Some(mark) =
            ["✓", "allowed"].into_iter().find(|mark| text.trim_end().ends_with(mark))
    {
        let why =
            format!("expected an outcome to forbid, found `{mark}`, which says it is allowed");
        sink.exit.raise(sink.terminal.usage_error(&why));
        return None;
    }
    let models = arguments.models.load(sink)?;
    let costs = arguments.cost.clone().unwrap_or_default();
    let libraries = arguments.libraries.choose(sink)?;
    let request = Request { libraries: Some(libraries), ..arguments.solver.request() };
    let uses = Uses::new(libraries, &arguments.libraries, false);
    let inputs = inputs::find(&arguments.paths, &["litmus"], sink);
    let workers = Workers { jobs: arguments.jobs.count(), ..Workers::default() };
    let work = |input: &Input| repair_one(input, arguments, &models, &request, &uses);
    workers.work(&inputs, sink, work, |input, found, sink| {
        sink.problems(found.problems);
        sink.exit.raise(found.exit);
        found.skips.into_iter().for_each(|skip| sink.skip(skip));
        let results = &found.results;
        let look = sink.look();
        let (verbose, quiet) = (look.verbose > 0, look.quiet);
        let shown = Shown { costs: &costs, diff: arguments.diff, verbose, quiet };
        for result in results {
            let json = || json!(result.json(&costs));
            sink.result(result.status(), json, || result.text(&shown));
        }
        if arguments.write && write(input, results, &costs, sink) && arguments.forbid.is_some() {
            sink.terminal
                .note("verdicts stay as they are: the file does not say what --forbid says");
        }
    });
    uses.tell(sink.terminal);
    Some(())
}

/// The cheapest repair of the verdicts of a file that fail, in words, if a short search finds one.
pub fn suggestion(
    (test, source): (&Test, &Source),
    model: &LoadedModel,
    request: &Request<'_>,
) -> Option<Vec<String>> {
    /// The most changes, and how long to look for them.
    const SHORT: (usize, Duration) = (2, Duration::from_secs(2));
    if why_not(test, source).is_some() {
        return None;
    }
    let libraries = request.libraries();
    let file = lang::litmus::parse(source, libraries.words()).0?;
    let mut options = request.options();
    let soon = Instant::now() + SHORT.1;
    let deadline = &mut options.limits.deadline;
    *deadline = Some(deadline.map_or(soon, |deadline| deadline.min(soon)));
    let repair = Repair {
        file: &file,
        source,
        libraries,
        models: vec![(model.model(), model.is_own)],
        forbid: None,
        kinds: Kind::ALL.iter().map(|(kind, _)| *kind).collect(),
        size: SHORT.0,
        options,
    };
    let answer = repair.find().ok()?;
    let (_, cheapest) = show::sorted(&answer, &Costs::default()).into_iter().next()?;
    Some(cheapest.changes.clone())
}

/// The costs of the table in a file.
fn costs(path: &str) -> Result<Costs, String> {
    /// The most bytes of a table of costs.
    const LARGEST: usize = 1 << 16;
    let bytes = input::small(Path::new(path), LARGEST)?;
    let text = String::from_utf8(bytes).map_err(|_| "expected UTF-8 text".to_owned())?;
    Costs::read(&text).map_err(|(line, why)| format!("line {line}: {why}"))
}

/// What came of a file.
#[derive(Default)]
struct OfFile {
    problems: Vec<Problem>,
    skips: Vec<Skip>,
    results: Vec<OfModels>,
    exit: Exit,
}

/// What came of a file under some models.
struct OfModels {
    test: String,
    file: String,
    models: Vec<String>,
    /// Whether the models have no way to wait that all of them know.
    waits_differ: bool,
    found: Found,
    /// The file in its normal form, which changes are shown against.
    normal: String,
    source: Arc<Source>,
}

/// What was looked for.
enum Found {
    /// Repairs of up to this many changes.
    Repairs {
        answer: Repairs,
        size: usize,
        /// Whether there is anything that could be wrong.
        claims: bool,
        /// What is near the repairs and is none, if asked for.
        neighbors: Vec<Rejected>,
    },
    /// What may go.
    Weakened(Weakened),
}

impl OfModels {
    /// The best change of the file, with its words and the program after it.
    fn best(&self, costs: &Costs) -> Option<(&[String], &str)> {
        match &self.found {
            Found::Repairs { answer, .. } => {
                let best = show::sorted(answer, costs).into_iter().next();
                best.map(|(_, repair)| (&repair.changes[..], &repair.text[..]))
            }
            Found::Weakened(weakened) => {
                let best = show::by_gain(weakened, costs).into_iter().next();
                best.map(|(_, set)| (&set.removed[..], &set.text[..]))
            }
        }
    }
}

/// Makes the best change in the file, if there is one way to change it; whether it did.
fn write(input: &Input, found: &[OfModels], costs: &Costs, sink: &mut Sink<'_>) -> bool {
    let changes: Vec<_> = found.iter().filter_map(|result| result.best(costs)).collect();
    let Some((words, text)) = changes.first() else { return false };
    let name = input.name();
    if changes.iter().any(|(_, other)| other != text) {
        let why = "the models of its header call for different changes";
        let problem = Problem::of_file(&name, Code::SeveralRepairs, why);
        sink.problem(problem.help("choose with --model"));
        return false;
    }
    let written = output::write(&input.path, text, sink.terminal);
    sink.exit.raise(written);
    if written == Exit::Fine {
        sink.terminal.note(&format!("changed {name}: {}", words.join("; ")));
    }
    written == Exit::Fine
}

fn repair_one(
    input: &Input,
    arguments: &Arguments,
    models: &Models,
    request: &Request<'_>,
    uses: &Uses<'_>,
) -> OfFile {
    let mut of_file = OfFile::default();
    let request = &request.begun();
    let libraries = request.libraries();
    let (loaded, diagnostics) = load_test_within(input, libraries, &request.limits());
    of_file.problems = diagnostics;
    let Some((test, source)) = loaded else { return of_file };
    uses.take(&test);
    if let Some(reason) = why_not(&test, &source) {
        let (test, file, reason) = (test.name.clone(), input.name(), reason.to_owned());
        of_file.skips.push(Skip { test, file, model: "any".to_owned(), reason });
        of_file.exit.raise(Exit::Unknown);
        return of_file;
    }
    if let Some(text) = &arguments.forbid {
        let asked = Arc::new(Source::new("--forbid", text.as_str()));
        if let Err(wrong) = lang::litmus::ask(&asked, &mut test.clone()) {
            of_file.problems.extend(problems(&asked, wrong));
            of_file.exit.raise(Exit::Usage);
            return of_file;
        }
    }
    let asked = match models.of_test(&test, &source) {
        Ok(asked) => asked,
        Err(unknown) => {
            of_file.problems.extend(problems(&source, unknown));
            return of_file;
        }
    };
    for group in groups(asked, !models.chosen.is_empty()) {
        match repair(arguments, (&test, &source), &group, request) {
            Ok((found, normal)) => of_file.results.push(OfModels {
                test: test.name.clone(),
                file: input.name(),
                models: group.iter().map(|model| model.name().to_owned()).collect(),
                waits_differ: !["Poll", "Wait"]
                    .iter()
                    .any(|word| group.iter().all(|one| knows(one, word))),
                found,
                normal,
                source: source.clone(),
            }),
            Err(wrong) => of_file.problems.extend(problems(&source, wrong)),
        }
    }
    of_file
}

/// Why a program cannot be repaired yet.
fn why_not(test: &Test, source: &Source) -> Option<&'static str> {
    let is_other = test.dialect == Dialect::CoreRma || herd::architecture(&source.text).is_some();
    is_other.then_some("coreRMA programs and files of herd7 cannot be repaired yet")
}

fn knows(model: &LoadedModel, word: &str) -> bool {
    model.model().calls.contains(&word)
}

/// Models that are asked together: those of the command line; of the header, those that wait in the same way.
fn groups(models: Vec<Arc<LoadedModel>>, are_chosen: bool) -> Vec<Vec<Arc<LoadedModel>>> {
    if are_chosen {
        return vec![models];
    }
    let words = |model: &LoadedModel| ["Poll", "Wait"].map(|word| knows(model, word));
    let mut groups: Vec<Vec<Arc<LoadedModel>>> = Vec::new();
    for model in models {
        match groups.iter_mut().find(|group| words(&group[0]) == words(&model)) {
            Some(group) => group.push(model),
            None => groups.push(vec![model]),
        }
    }
    groups
}

fn repair(
    arguments: &Arguments,
    (test, source): (&Test, &Arc<Source>),
    models: &[Arc<LoadedModel>],
    request: &Request<'_>,
) -> Result<(Found, String), Vec<lang::diagnostic::Diagnostic>> {
    let libraries = request.libraries();
    for model in models {
        let undefined = model::allowed::undefined_calls(test, model.model(), libraries);
        if !undefined.is_empty() {
            return Err(undefined);
        }
    }
    let (file, wrong) = lang::litmus::parse(source, libraries.words());
    let file = file.ok_or(wrong)?;
    let all = || Kind::ALL.iter().map(|(kind, _)| *kind).collect();
    let kinds = if arguments.only.is_empty() { all() } else { arguments.only.clone() };
    let repair = Repair {
        file: &file,
        source,
        libraries,
        models: models.iter().map(|model| (model.model(), model.is_own)).collect(),
        forbid: arguments.forbid.as_deref(),
        kinds,
        size: usize::from(arguments.size),
        options: request.options(),
    };
    let found = if arguments.weaken {
        Found::Weakened(repair.weaken()?)
    } else {
        let claims = arguments.forbid.is_some() || !test.expectations.is_empty();
        let answer = repair.find()?;
        let neighbors = if arguments.neighbors { repair.neighbors(&answer)? } else { Vec::new() };
        Found::Repairs { answer, size: repair.size, claims, neighbors }
    };
    Ok((found, lang::litmus::print(&file)))
}
