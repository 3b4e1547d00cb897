//! `litmus allowed`: which outcomes models allow, checked against the verdicts in the files.
//!
//! The way of a test is [`ask_about`]: load, choose models, ask engines, check verdicts. `result` says how it
//! is shown, `waiting` what of threads that wait for ever. `across` judges on all networks.

mod across;
mod result;
mod waiting;

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use lang::Test;
use lang::diagnostic::Code;
use lang::outcome;
use lang::source::Source;
use model::allowed::{Allowed, Question};
use model::engine::{self, Engine, Found, Refusal, Request, Verdicts};
use model::explain::explain;
use model::sequential;
use model::verdict;
use serde_json::json;

use super::explain::orders::Orders;
use crate::cache::{self, Cache};
use crate::exit::Exit;
use crate::groups::Groups;
use crate::input::{Input, load_test_within};
use crate::inputs::{self, Workers};
use crate::libraries::{InlineOption, LibraryOption, Uses, inlined_if_sound};
use crate::models::{LoadedModel, Models};
use crate::options::{EngineName, Format, FormatOption, JobsOption, ModelOption, SolverOptions};
use crate::problem::{Problem, problems};
use crate::select::{OnlyOption, SelectOption, StopOption};
use crate::shard::ShardOption;
use crate::sink::{Failures, Sink, Skip, Status};
use crate::terminal::Terminal;

use result::{Claims, Layout, TestResult, Witness};

/// Compute the outcomes that memory models allow, and check the verdicts of the tests
#[derive(Args)]
pub struct Arguments {
    /// Tests, folders of tests, or - for a test on standard input
    #[arg(required = true, value_name = "FILE|DIR")]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    models: ModelOption,
    #[command(flatten)]
    libraries: LibraryOption,
    #[command(flatten)]
    inline: InlineOption,
    /// Which engine computes outcomes
    #[arg(long, value_name = "ENGINE", default_value = "auto")]
    engine: EngineName,
    #[command(flatten)]
    solver: SolverOptions,
    /// How many states the engine explore may store [default: 50000000; for auto 20000 and ten for each
    /// statement, or 200 for verdicts only, or 1000000 where these have many outcomes or a loop may exceed
    /// its bound]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    max_states: Option<u64>,
    /// Show an execution for each outcome
    #[arg(long)]
    witness: bool,
    /// Only check verdicts, without finding all outcomes; tests without verdicts are skipped
    #[arg(long, conflicts_with = "witness")]
    verdict_only: bool,
    /// Keep results in this folder, and take those that are there of the same program, model and engine
    #[arg(long, value_name = "DIR", conflicts_with = "verdict_only")]
    cache: Option<PathBuf>,
    /// On which networks is the program safe? Judges what must not be (✗) by the models of all networks, or
    /// by those of --model
    #[arg(
        long,
        conflicts_with_all =
            ["inline", "engine", "max_states", "witness", "verdict_only", "cache", "only", "shard"]
    )]
    across: bool,
    #[command(flatten)]
    select: SelectOption,
    #[command(flatten)]
    stop: StopOption,
    #[command(flatten)]
    only: OnlyOption,
    #[command(flatten)]
    format: FormatOption,
    #[command(flatten)]
    jobs: JobsOption,
    #[command(flatten)]
    shard: ShardOption,
}

impl Arguments {
    /// The files and folders that results depend on.
    pub fn files(&self) -> Vec<PathBuf> {
        let models = self.models.models.iter().map(PathBuf::from);
        let models = models.filter(|path| path.extension().is_some_and(|ending| ending == "cat"));
        let libraries = self.libraries.paths().map(PathBuf::from);
        self.paths.iter().cloned().chain(models).chain(libraries).collect()
    }
}

/// How many tests there may be for each to get a block of lines instead of one line.
const FEW: usize = 4;

/// Asks about all tests; wrong ones do not keep it from asking about the others.
pub fn run(arguments: &Arguments, terminal: &mut Terminal) -> Exit {
    if arguments.verdict_only && !matches!(arguments.engine, EngineName::Auto | EngineName::Smt) {
        return terminal.usage_error(
            "--verdict-only is of the engines auto and smt; others find all outcomes",
        );
    }
    if arguments.select.list {
        let asked = (&*arguments.models.models, &arguments.libraries);
        let format = arguments.format.format;
        return arguments.select.list(&arguments.paths, &["litmus"], asked, format, terminal);
    }
    if let Err(message) = arguments.only.refuse_in(&arguments.shard) {
        return terminal.usage_error(message);
    }
    if arguments.across {
        return across::run(arguments, terminal);
    }
    let head = [("schema", json!("litmus-allowed/1"))];
    let mut sink = Sink::new(terminal, arguments.format.format, &head);
    // What prevents it has been reported.
    let _ = ask_about_all(arguments, &mut sink);
    sink.finish(&[], Some(["ok", "FAIL", "unknown"]))
}

fn ask_about_all(arguments: &Arguments, sink: &mut Sink<'_>) -> Option<()> {
    let mut models = arguments.models.load(sink)?;
    models.libraries = Some(arguments.libraries.known().clone());
    let models = &models;
    let (paths, select) = (&arguments.paths, &arguments.select);
    let mut inputs = inputs::choose(paths, &["litmus"], select, models, sink)?;
    let texts = arguments.libraries.texts();
    inputs::take_part(&mut inputs, &arguments.shard, models, &texts, sink)?;
    let max_states = arguments.max_states;
    let engine = match arguments.engine.into() {
        Engine::Auto if arguments.solver.is_about_smt() => Engine::Axioms,
        engine => engine,
    };
    let libraries = arguments.libraries.choose(sink)?;
    let uses = Uses::new(libraries, &arguments.libraries, arguments.inline.inline);
    let libraries = Some(libraries);
    let request = Request { engine, max_states, libraries, ..arguments.solver.request() };
    let look = sink.look();
    let is_few = inputs.len() <= FEW;
    let in_full = !look.quiet && (is_few || arguments.witness || look.verbose > 0);
    let layout = Layout::new(look, in_full, &inputs);
    let cache = arguments.cache.as_ref().map(|folder| {
        let unusable = |message: String| {
            sink.problem(Problem::of_file(&folder.to_string_lossy(), Code::UnwritableFile, message))
        };
        Cache::open(folder, &texts).map_err(unusable)
    });
    let cache = cache.transpose().ok()?;
    let work =
        |input: &Input| ask_about(input, models, &request, cache.as_ref(), (arguments, &uses));
    let mut summary = Summary::default();
    let workers = Workers {
        jobs: arguments.jobs.count(),
        fail_fast: Some(&arguments.stop),
        ..Workers::default()
    };
    workers.work(&inputs, sink, work, |_, answer, sink| {
        summary.answer(answer, &arguments.only, &layout, sink);
    });
    sink.tell(&summary.failures.into_text());
    if !look.quiet {
        let columns = ["ok", "Ok", "No", "not checked", "unknown", "FAIL"];
        sink.tell(&summary.groups.draw(look, &columns));
    }
    // Another part may make use of it.
    if sink.shard.is_none() {
        uses.tell(sink.terminal);
    }
    Some(())
}

/// What is printed at the end.
#[derive(Default)]
struct Summary {
    failures: Failures,
    groups: Groups,
}

impl Summary {
    /// Prints what came of a file, or keeps it for the end.
    fn answer(
        &mut self,
        answer: Answer,
        options: &OnlyOption,
        layout: &Layout,
        sink: &mut Sink<'_>,
    ) {
        sink.problems(answer.problems);
        for result in &answer.results {
            sink.count(result.status());
            self.groups.add(&result.file, "", result.status() as usize);
        }
        let is_shown = |result: &&TestResult| options.shows(result.kind(), sink, layout.in_full);
        let shown: Vec<&TestResult> = answer.results.iter().filter(is_shown).collect();
        for (index, result) in shown.iter().enumerate() {
            let mut text = String::new();
            if sink.format == Format::Table {
                text = layout.draw(&shown, index);
            }
            if result.status() == Status::Bad && !layout.in_full && sink.format == Format::Table {
                self.failures.add(result.size, text);
            } else {
                sink.print(|| result.json(), || text);
            }
        }
        answer.skips.into_iter().for_each(|skip| sink.skip(skip));
    }
}

/// What an engine says of a test.
enum Asked {
    /// Everything.
    Outcomes(Box<Found>),
    /// Verdicts, and misuses of libraries.
    Verdicts(Verdicts),
}

/// What came of a file.
#[derive(Default)]
struct Answer {
    problems: Vec<Problem>,
    results: Vec<TestResult>,
    skips: Vec<Skip>,
}

fn ask_about(
    input: &Input,
    models: &Models,
    request: &Request<'_>,
    cache: Option<&Cache>,
    (arguments, uses): (&Arguments, &Uses<'_>),
) -> Answer {
    let mut answer = Answer::default();
    let (loaded, diagnostics) = load_test_within(input, request.libraries(), &request.limits());
    answer.problems = diagnostics;
    let Some((mut test, source)) = loaded else { return answer };
    uses.take(&test);
    let written = test.clone();
    if arguments.inline.inline {
        let libraries = request.libraries();
        let (inlined, wrong) = inlined_if_sound(&test, &source, libraries, models, request);
        answer.problems.extend(wrong);
        let Some(inlined) = inlined else { return answer };
        test = inlined;
    }
    let asked = match models.of_test(&test, &source) {
        Ok(asked) => arguments.select.models(&test, input, asked),
        Err(unknown) => {
            answer.problems.extend(problems(&source, unknown));
            return answer;
        }
    };
    let asking = Asking { test: &test, written: &written, source: &source, request, cache };
    for model in asked {
        asking.ask(&model, (arguments, models), input, &mut answer);
    }
    answer.problems.extend(waiting::no_outcome(&answer.results, &source));
    answer.problems.extend(waiting::may_not_end(&answer.results, &source));
    answer
}

/// A test that models are asked about.
struct Asking<'a> {
    test: &'a Test,
    /// With the calls that are replaced in `test`.
    written: &'a Test,
    source: &'a Arc<Source>,
    request: &'a Request<'a>,
    cache: Option<&'a Cache>,
}

impl Asking<'_> {
    /// Asks a model, and adds what it says.
    fn ask(
        &self,
        model: &Arc<LoadedModel>,
        (arguments, models): (&Arguments, &Models),
        input: &Input,
        answer: &mut Answer,
    ) {
        let Self { test, written, source, request, .. } = *self;
        let skip = |reason: String| Skip {
            test: test.name.clone(),
            file: input.name(),
            model: model.name().to_owned(),
            reason,
        };
        let asked = if arguments.verdict_only {
            engine::verdicts(test, (model.model(), model.is_own), request).map(Asked::Verdicts)
        } else {
            self.outcomes(model, arguments.inline.inline)
                .map(|found| Asked::Outcomes(Box::new(found)))
        };
        match asked {
            Ok(Asked::Outcomes(found)) => answer.add((test, written), source, model, *found),
            Ok(Asked::Verdicts(verdicts)) if verdicts.answered.checked.is_empty() => {
                let reason = match test.expectations.is_empty() {
                    true => "the test has no verdicts",
                    false => "no verdict of the test is about the model",
                };
                return answer.skips.push(skip(reason.to_owned()));
            }
            Ok(Asked::Verdicts(Verdicts { answered, misuses, by })) => {
                answer.problems.extend(problems(source, misuses));
                let result = TestResult::of_verdicts(test, source, model.name(), (answered, by));
                answer.results.push(result);
            }
            Err(Refusal::Unsupported(reason)) => {
                let allowed = Allowed { reason: Some(reason.clone()), ..Allowed::default() };
                let by = request.engine.refusing();
                let found = Found { allowed, by, unsupported: Some(reason), ..Found::default() };
                return answer.add((test, written), source, model, found);
            }
            // Of all tests below a folder, those are meant that the model is about.
            Err(Refusal::Undefined(undefined)) if !models.chosen.is_empty() && !input.is_named => {
                return answer.skips.push(skip(undefined[0].message.clone()));
            }
            Err(Refusal::Undefined(errors) | Refusal::Bad(errors)) => {
                return answer.problems.extend(problems(source, errors));
            }
        }
        if arguments.witness
            && let Some(result) = answer.results.last_mut()
        {
            match witnesses(test, source, model, request, result) {
                Ok(found) => result.witnesses = found,
                Err(errors) => answer.problems.extend(errors),
            }
        }
    }

    /// What a model allows, from the cache if it is there.
    fn outcomes(&self, model: &Arc<LoadedModel>, inline: bool) -> Result<Found, Refusal> {
        let Self { test, source, request, cache, .. } = *self;
        let asked = cache::Asked { source, model, request, inline };
        if let Some(known) = cache.and_then(|cache| cache.get(&asked, test.observables.len())) {
            return Ok(known);
        }
        let found = engine::ask(test, model.model(), request)?;
        cache.iter().for_each(|cache| cache.put(&asked, &found));
        Ok(found)
    }
}

impl Answer {
    /// Adds what was found of a test; what its file claims is more if calls were replaced.
    fn add(
        &mut self,
        (test, written): (&Test, &Test),
        source: &Arc<Source>,
        model: &LoadedModel,
        found: Found,
    ) {
        let checked = verdict::check(test, model.name(), model.is_own, &found.allowed);
        let misuses = found.allowed.misuses.clone();
        self.problems.extend(problems(source, misuses));
        let claims = || written.expectations.iter();
        let here =
            claims().filter(|one| verdict::applies(written, one, model.name(), model.is_own));
        let checked = (checked, Claims { all: claims().count(), here: here.count() });
        let result = TestResult::new(test, source, model.name(), found, checked);
        self.problems.extend(result.engines_disagree(source));
        self.results.push(result);
    }
}

/// An order of the calls of sequential objects for each outcome shown.
fn orders(
    test: &Test,
    source: &Source,
    model: &LoadedModel,
    request: &Request<'_>,
    result: &TestResult,
) -> Result<Vec<Witness>, Refusal> {
    let mut witnesses = Vec::new();
    for outcome in &result.outcomes {
        let asked = outcome::Asked::values(&test.observables, outcome.iter().copied().enumerate());
        let orders = Orders::of(&asked, (test, model.model()), request)?;
        let name = model.name();
        witnesses
            .push(Witness { text: orders.text(source, name), json: orders.json(source, name) });
    }
    Ok(witnesses)
}

/// An execution for each outcome shown.
fn witnesses(
    test: &Test,
    source: &Source,
    model: &LoadedModel,
    request: &Request<'_>,
    result: &TestResult,
) -> Result<Vec<Witness>, Vec<Problem>> {
    let shared = || Arc::new(source.clone());
    if sequential::is_called(test, request.libraries()) {
        return orders(test, source, model, request, result)
            .map_err(|refusal| problems(&shared(), refusal.into_diagnostics()));
    }
    let question = Question::of(test, model.model())
        .libraries(request.libraries())
        .options(&request.options())
        .question()
        .map_err(|refused| problems(&shared(), refused.diagnostics()))?;
    let mut witnesses = Vec::new();
    for outcome in &result.outcomes {
        let values = outcome.iter().copied().enumerate();
        let asked = outcome::Asked::values(&question.test.observables, values);
        let explanation = explain(&question, &request.options(), &asked)
            .map_err(|refused| problems(&shared(), refused.diagnostics()))?;
        witnesses.push(Witness { text: explanation.text(source), json: explanation.json(source) });
    }
    Ok(witnesses)
}
