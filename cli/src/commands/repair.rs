//! `litmus repair`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use lang::source::Source;
use lang::{Dialect, Test, herd};
use model::repair::{Answer, Costs, Kind, Repair, Repaired};
use serde_json::{Value as Json, json};

use crate::engine::Request;
use crate::exit::Exit;
use crate::input::{self, Input, load_test_within};
use crate::inputs::{self, Workers};
use crate::libraries::{LibraryOption, Uses};
use crate::models::{LoadedModel, Models};
use crate::options::{FormatOption, JobsOption, ModelOption, SolverOptions};
use crate::problem::{Problem, problems};
use crate::sink::{Sink, Skip, Status};
use crate::table::count;
use crate::terminal::Terminal;

/// Find the least synchronization that makes a program right
///
/// What is repaired are the verdicts of the file that fail: outcomes that it forbids and the model allows. A
/// repair is a set of changes after which these outcomes are forbidden; no part of it alone does that. All
/// outcomes that the file claims to be allowed stay, and a program that always ends still does. Of changes
/// that rewrite statements (rcas, exchange), a repair has at most one. A repair is right under all models
/// given with --model; without, under those of the header that have the same way to wait.
#[derive(Args)]
pub struct Arguments {
    /// Tests, folders of tests, or - for a test on standard input
    #[arg(required = true, value_name = "FILE|DIR")]
    paths: Vec<PathBuf>,
    /// Forbid these outcomes, as verdicts are written: 'a=1, b=0'
    #[arg(long, value_name = "OUTCOME")]
    forbid: Option<String>,
    #[command(flatten)]
    models: ModelOption,
    #[command(flatten)]
    libraries: LibraryOption,
    /// Which changes may be made: poll, wait, rfence, gfence, mfence, flush, rcas, exchange [default: all]
    #[arg(long, value_name = "CHANGE,…", value_delimiter = ',', value_parser = kind)]
    only: Vec<Kind>,
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
    // What hinders it has been told.
    let _ = repair_all(arguments, &mut sink);
    sink.finish(&[], Some(["repaired or right", "not repaired", "unknown"]))
}

fn repair_all(arguments: &Arguments, sink: &mut Sink<'_>) -> Option<()> {
    let models = arguments.models.load(sink)?;
    let costs = arguments.cost.clone().unwrap_or_default();
    let libraries = arguments.libraries.choose(sink)?;
    let request = Request { libraries: Some(libraries), ..arguments.solver.request() };
    let uses = Uses::new(libraries, &arguments.libraries, false);
    let inputs = inputs::find(&arguments.paths, &["litmus"], sink);
    let workers = Workers { jobs: arguments.jobs.count(), ..Workers::default() };
    let work = |input: &Input| repair_one(input, arguments, &models, &request, &uses);
    workers.work(&inputs, sink, work, |_, found, sink| {
        sink.problems(found.problems);
        sink.exit.raise(found.exit);
        found.skips.into_iter().for_each(|skip| sink.skip(skip));
        for result in &found.results {
            let verbose = sink.look().verbose > 0;
            sink.result(result.status(), || result.json(&costs), || result.text(&costs, verbose));
        }
    });
    uses.tell(sink.terminal);
    Some(())
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
    answer: Answer,
    size: usize,
    /// Whether there is anything that could be wrong.
    claims: bool,
}

fn repair_one(
    input: &Input,
    arguments: &Arguments,
    models: &Models,
    request: &Request,
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
            Ok(answer) => of_file.results.push(OfModels {
                test: test.name.clone(),
                file: input.name(),
                models: group.iter().map(|model| model.name().to_owned()).collect(),
                answer,
                size: usize::from(arguments.size),
                claims: arguments.forbid.is_some() || !test.expectations.is_empty(),
            }),
            Err(wrong) => of_file.problems.extend(problems(&source, wrong)),
        }
    }
    of_file
}

/// Why a program cannot be repaired yet.
fn why_not(test: &Test, source: &Source) -> Option<&'static str> {
    if test.dialect == Dialect::CoreRma || herd::architecture(&source.text).is_some() {
        return Some("coreRMA programs and files of herd7 cannot be repaired yet");
    }
    // Candidates are polls and fences of queue pair 0, so "every candidate was refuted" would mislead.
    let has_others = test.program.other_queue_pair().is_some();
    has_others.then_some("programs with several queue pairs to a node cannot be repaired yet")
}

/// Models that are asked together: those of the command line; of the header, those that wait in the same way.
fn groups(models: Vec<Arc<LoadedModel>>, are_chosen: bool) -> Vec<Vec<Arc<LoadedModel>>> {
    if are_chosen {
        return vec![models];
    }
    let words =
        |model: &LoadedModel| ["Poll", "Wait"].map(|word| model.model().calls.contains(&word));
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
    request: &Request,
) -> Result<Answer, Vec<lang::diagnostic::Diagnostic>> {
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
    repair.find()
}

impl OfModels {
    fn status(&self) -> Status {
        let Answer { repairs, is_right, hopeless, open, .. } = &self.answer;
        match () {
            () if !hopeless.is_empty() => Status::Bad,
            () if *is_right || !repairs.is_empty() => Status::Good,
            () if !open.is_empty() => Status::Open,
            () => Status::Bad,
        }
    }

    /// The repairs with their costs, the cheapest first.
    fn sorted(&self, costs: &Costs) -> Vec<(u64, &Repaired)> {
        let repairs = self.answer.repairs.iter();
        let mut sorted: Vec<(u64, &Repaired)> =
            repairs.map(|repair| (costs.of(repair), repair)).collect();
        sorted.sort_by_key(|(cost, repair)| (*cost, repair.kinds.len()));
        sorted
    }

    fn json(&self, costs: &Costs) -> Json {
        let Answer { is_right, hopeless, open, asked, candidates, .. } = &self.answer;
        let repairs = self.sorted(costs).into_iter().map(|(cost, repair)| {
            let Repaired { changes, text, why, .. } = repair;
            json!({ "cost": cost, "changes": changes, "program": text, "why": why })
        });
        json!({
            "test": self.test, "file": self.file, "models": self.models, "right": is_right,
            "repairs": repairs.collect::<Vec<_>>(), "complete": open.is_empty(),
            "size": self.size, "candidates": candidates, "asked": asked,
            "undecided": open, "not_allowed": hopeless,
        })
    }

    fn text(&self, costs: &Costs, verbose: bool) -> String {
        let Answer { repairs, is_right, hopeless, open, candidates, asked } = &self.answer;
        let mut text = format!("{}  {}: ", self.test, self.models.join(", "));
        let bound = format!("of up to {}", count(self.size, "change"));
        text.push_str(&match (*is_right, repairs.is_empty()) {
            (true, _) if !self.claims => {
                "nothing to repair: the file claims nothing; say what to forbid with --forbid"
                    .to_owned()
            }
            (true, _) => "nothing to repair: no outcome that must not be is allowed".to_owned(),
            (_, true) if !open.is_empty() => "not decided".to_owned(),
            (_, true) if !hopeless.is_empty() => "no repair".to_owned(),
            (_, true) => format!("no repair {bound}: every candidate was refuted"),
            (_, false) => format!("{} {bound}", count(repairs.len(), "minimal repair")),
        });
        text.push('\n');
        for what in hopeless {
            text.push_str(&format!(
                "  `{what}` is claimed to be allowed and is forbidden: no synchronization helps\n"
            ));
        }
        open.iter().for_each(|why| text.push_str(&format!("  not decided: {why}\n")));
        for (index, (cost, repair)) in self.sorted(costs).into_iter().enumerate() {
            text.push_str(&format!("\n  {}. cost {cost}\n", index + 1));
            repair.changes.iter().for_each(|change| text.push_str(&format!("     {change}\n")));
            if index == 0 || verbose {
                text.push('\n');
                let told = [&repair.text, &repair.why];
                let lines = told.into_iter().flat_map(|part| part.lines().chain([""]));
                for line in lines {
                    text.push_str(format!("     {line}").trim_end());
                    text.push('\n');
                }
            }
        }
        if verbose {
            text.push_str(&format!("  {candidates} candidates, {asked} programs asked about\n"));
        }
        text
    }
}
