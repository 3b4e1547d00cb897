//! `litmus compile`: tests as something else, to be read or built by others.
//!
//! The way of a test is [`compile`]: load, plan, and for C, ask which outcomes a model allows, so that the
//! program can judge what it sees. herd's files need no plan: [`lang::herd::write()`] knows what fits into
//! them.

mod output;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use clap::{Args, ValueEnum};
use compiler::c::fabric::{self, Fabric};
use compiler::c::{self, Verdicts};
use compiler::library::{Libraries, each_call};
use compiler::plan::Plan;
use lang::diagnostic::Diagnostic;
use lang::limits::Reached;
use lang::source::Source;
use lang::{Test, herd};
use model::engine::{self, Refusal, Request};

use crate::exit::Exit;
use crate::input::{Input, load_test_within};
use crate::inputs::{self, Workers};
use crate::libraries::{InlineOption, LibraryOption, Uses, inlined_if_sound};
use crate::models::{LoadedModel, MPI, Models};
use crate::options::{Format, JobsOption, SolverOptions, choose_models};
use crate::ordered::Broken;
use crate::problem::{Problem, problems};
use crate::select::SelectOption;
use crate::sink::Sink;
use crate::table::count;
use crate::terminal::Terminal;

use output::Output;

/// Turn tests into programs that run them, into files for herd7, or into plans
///
/// A program in C needs libibverbs and nothing else; it says itself how it is built and run. herd7 and
/// litmus7 get tests of one node without remote operations.
#[derive(Args)]
pub struct Arguments {
    /// Tests, folders of tests, or - for a test on standard input
    #[arg(required = true, value_name = "FILE|DIR")]
    paths: Vec<PathBuf>,
    /// What to make
    #[arg(long, value_name = "TARGET")]
    target: Target,
    /// Where to write it, instead of standard output; a folder gets a file for each test
    #[arg(short, long, value_name = "FILE|DIR")]
    output: Option<PathBuf>,
    /// Write over files that were not made by this command
    #[arg(long)]
    force: bool,
    /// The model by which a program judges what it sees, instead of the first of the test's header that is
    /// made for NICs
    #[arg(long, value_name = "NAME|FILE.cat")]
    model: Option<String>,
    #[command(flatten)]
    select: SelectOption,
    #[command(flatten)]
    libraries: LibraryOption,
    #[command(flatten)]
    inline: InlineOption,
    #[command(flatten)]
    solver: SolverOptions,
    #[command(flatten)]
    jobs: JobsOption,
}

/// What tests are turned into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Target {
    /// What each node, queue pair and thread does, for people.
    Plan,
    /// A program in C over libibverbs, in one file.
    VerbsC,
    /// A program in C over MPI's one-sided communication, in one file.
    MpiC,
    /// A program in C over OpenSHMEM, in one file.
    ShmemC,
    /// A file for herd7 and litmus7, of a test of one node: assembly of x86, and the test's first verdict on
    /// x86-TSO.
    Herd,
}

impl Target {
    /// What names of files end with.
    fn extension(self) -> &'static str {
        match self {
            Self::Plan => "plan",
            Self::VerbsC | Self::MpiC | Self::ShmemC => "c",
            Self::Herd => "litmus",
        }
    }

    /// Whether a file that begins so was made by this command.
    fn has_made(self, start: &str) -> bool {
        match self {
            Self::Plan => start.starts_with("plan of "),
            Self::VerbsC | Self::MpiC | Self::ShmemC => start.starts_with(c::MARK),
            Self::Herd => start.lines().any(|line| line == herd::MARK),
        }
    }
}

/// Compiles all tests; wrong ones do not keep it from compiling the others.
pub fn run(arguments: &Arguments, terminal: &mut Terminal) -> Exit {
    if arguments.select.list {
        let asked = (arguments.model.as_slice(), &arguments.libraries);
        return arguments.select.list(
            &arguments.paths,
            &["litmus"],
            asked,
            Format::Table,
            terminal,
        );
    }
    let mut sink = Sink::plain(terminal);
    // What prevents it has been reported.
    let _ = compile_all(arguments, &mut sink);
    sink.exit
}

fn compile_all(arguments: &Arguments, sink: &mut Sink<'_>) -> Option<()> {
    let mut models = choose_models(arguments.model.as_slice(), sink)?;
    let libraries = arguments.libraries.choose(sink)?;
    models.libraries = Some(libraries.clone());
    let models = &models;
    let uses = Uses::new(libraries, &arguments.libraries, arguments.inline.inline);
    let request = &Request { libraries: Some(libraries), ..arguments.solver.request() };
    let (paths, select) = (&arguments.paths, &arguments.select);
    let inputs = inputs::choose(paths, &["litmus"], select, models, sink)?;
    let is_many = inputs.len() > 1 || paths.iter().any(|path| path.is_dir());
    let output = Output::new(arguments.output.as_deref(), is_many, arguments.force);
    let mut output = output.map_err(|failure| sink.exit.raise(failure.tell(sink.terminal))).ok()?;
    let (mut made, mut unwritten) = (0, 0);
    let mut skips: BTreeMap<String, usize> = BTreeMap::new();
    let work = |input: &Input| compile(input, (arguments, &uses), models, request);
    let each = |input: &Input, answer: Answer, sink: &mut Sink<'_>| {
        sink.problems(answer.problems);
        if let Some((reason, problem)) = answer.skip {
            // Of all tests below a folder, those are meant that can be compiled.
            if input.is_named {
                sink.failure(problem);
            }
            *skips.entry(reason).or_default() += 1;
        }
        if let Some(text) = answer.text {
            let written = output.write(input, arguments.target, &text, sink.terminal);
            *(if written == Exit::Fine { &mut made } else { &mut unwritten }) += 1;
            sink.exit.raise(written);
        }
        match answer.note {
            Some(Note { text, is_unknown: true }) => {
                sink.terminal.err(&format!("litmus: {text}\n"));
                sink.exit.raise(Exit::Unknown);
            }
            Some(note) if input.is_named => sink.terminal.note(&note.text),
            _ => {}
        }
    };
    let workers = Workers { jobs: arguments.jobs.count(), ..Workers::default() };
    workers.work(&inputs, sink, work, each);
    uses.tell(sink.terminal);
    let skipped: usize = skips.values().sum();
    if made + unwritten == 0 && skipped > 0 {
        sink.exit.raise(Exit::Unknown);
    }
    if inputs.len() > 1 {
        let lost =
            if unwritten == 0 { String::new() } else { format!(", {unwritten} not written") };
        let made = count(made, "test");
        sink.terminal.note(&format!("compiled {made}, skipped {skipped}{lost}"));
        for (reason, number) in &skips {
            sink.terminal.note(&format!("  skipped {number}: {reason}"));
        }
    }
    Some(())
}

/// What came of a file.
#[derive(Default)]
struct Answer {
    problems: Vec<Problem>,
    text: Option<String>,
    /// Why it cannot be compiled, without being wrong.
    skip: Option<(String, Problem)>,
    note: Option<Note>,
}

/// What is good to know of a program that was made.
struct Note {
    text: String,
    /// Whether a limit or bound left it unknown what the model allows; `--quiet` shows that too.
    is_unknown: bool,
}

fn compile(
    input: &Input,
    (arguments, uses): (&Arguments, &Uses<'_>),
    models: &Models,
    request: &Request<'_>,
) -> Answer {
    let (loaded, problems) = load_test_within(input, request.libraries(), &request.limits());
    let mut answer = Answer { problems, ..Answer::default() };
    let Some((test, source)) = loaded else { return answer };
    uses.take(&test);
    let mut runnable = test.clone();
    if arguments.inline.inline {
        let (inlined, wrong) =
            inlined_if_sound(&test, &source, request.libraries(), models, request);
        answer.problems.extend(wrong);
        let Some(inlined) = inlined else { return answer };
        runnable = inlined;
        // Nobody calls them any more; what they have of memory are locations.
        runnable.program.objects.clear();
    }
    let hint = call_hint(&runnable, request.libraries());
    let with_hint = |found: Diagnostic| match hint {
        Some(hint) => Box::new(found.help(hint)),
        None => Box::new(found),
    };
    let plan = || Plan::new(&runnable).map_err(|error| with_hint(error.diagnostic()));
    let made = match arguments.target {
        Target::Plan => {
            within(request, || plan().map(|plan| plan.describe(&runnable, &source).to_string()))
        }
        Target::Herd => within(request, || {
            herd::write(&runnable).map(|written| written.text).map_err(|found| with_hint(*found))
        }),
        Target::VerbsC => {
            let program = |plan: &Plan, verdicts: Option<&Verdicts>| {
                c::generate(plan, &runnable, &source, verdicts)
            };
            in_c((input, request), plan, program, &mut answer, || {
                judged(&test, &source, models, request).map(Some)
            })
        }
        Target::MpiC | Target::ShmemC => {
            let of = if arguments.target == Target::MpiC { Fabric::Mpi } else { Fabric::Shmem };
            let plan = || fabric::plan(of, &runnable).map_err(|found| with_hint(*found));
            let program = |plan: &Plan, verdicts: Option<&Verdicts>| {
                fabric::generate(of, plan, &runnable, &source, verdicts)
            };
            in_c((input, request), plan, program, &mut answer, || {
                on_fabric(of, &test, &source, models, request)
            })
        }
    };
    match made {
        Ok(text) => answer.text = Some(text),
        Err(Hindrance::Limit(reached)) => {
            answer.problems.push(Problem::of_broken(&input.name(), &Broken::Limit(reached)));
        }
        Err(Hindrance::Unfit(diagnostic)) => {
            answer.skip = Some((diagnostic.message.clone(), Problem::at(&source, *diagnostic)));
        }
        Err(Hindrance::Wrong(problems)) => answer.problems.extend(problems),
    }
    answer
}

/// Makes a program in C. A limit that ends the judging ends nothing else: the program shows what it sees all
/// the same.
fn in_c(
    (input, request): (&Input, &Request<'_>),
    plan: impl FnOnce() -> Result<Plan, Box<Diagnostic>>,
    program: impl FnOnce(&Plan, Option<&Verdicts>) -> String,
    answer: &mut Answer,
    judged: impl FnOnce() -> Result<Option<Judged>, Vec<Problem>>,
) -> Result<String, Hindrance> {
    let plan = within(request, plan)?;
    let judged = judged().map_err(Hindrance::Wrong)?;
    let unjudged = judged.as_ref().and_then(|judged| {
        let reason = judged.verdicts.incomplete.as_ref()?;
        let text = format!("{}: the program will judge nothing: {reason}", input.name());
        Some(Note { text, is_unknown: judged.is_unknown })
    });
    answer.note = unjudged;
    let verdicts = judged.as_ref().map(|judged| &judged.verdicts);
    within(request, || Ok(program(&plan, verdicts)))
}

/// Why nothing is made of a file.
enum Hindrance {
    Limit(Reached),
    /// It is not wrong, and cannot be compiled.
    Unfit(Box<Diagnostic>),
    Wrong(Vec<Problem>),
}

/// Makes something within the limits of a request.
fn within<R>(
    request: &Request<'_>,
    make: impl FnOnce() -> Result<R, Box<Diagnostic>>,
) -> Result<R, Hindrance> {
    let made = request.limits().within(make).map_err(Hindrance::Limit)?;
    made.map_err(Hindrance::Unfit)
}

/// What helps where library calls are left, which nothing here has instructions for.
fn call_hint(test: &Test, libraries: &Libraries) -> Option<&'static str> {
    let mut hint = None;
    each_call(&test.program, &mut |_, call, _| {
        hint = Some(match libraries.resolve(&test.program, call) {
            Some(_) => "`--inline` replaces calls by their implementations",
            None => {
                "`--library FILE.lib` reads a library that defines it, and `--inline` replaces calls by their implementations"
            }
        });
    });
    hint
}

/// What the model allows, as far as that is known.
struct Judged {
    verdicts: Verdicts,
    /// Whether a limit or bound kept it from being known.
    is_unknown: bool,
}

/// What a fabric allows: what the model of MPI's standard does, unless the command line names another. There
/// is no model of OpenSHMEM's, so only that of the command line judges.
fn on_fabric(
    fabric: Fabric,
    test: &Test,
    source: &Arc<Source>,
    models: &Models,
    request: &Request<'_>,
) -> Result<Option<Judged>, Vec<Problem>> {
    if !models.chosen.is_empty() {
        return judged(test, source, models, request).map(Some);
    }
    match models.shipped(MPI).filter(|_| fabric == Fabric::Mpi) {
        Some(model) => judged_by(&[model], test, source, request).map(Some),
        None => Ok(None),
    }
}

fn judged(
    test: &Test,
    source: &Arc<Source>,
    models: &Models,
    request: &Request<'_>,
) -> Result<Judged, Vec<Problem>> {
    let asked = models.of_test(test, source).map_err(|unknown| problems(source, unknown))?;
    judged_by(&asked, test, source, request)
}

fn judged_by(
    asked: &[Arc<LoadedModel>],
    test: &Test,
    source: &Arc<Source>,
    request: &Request<'_>,
) -> Result<Judged, Vec<Problem>> {
    let judged = |model: &str, allowed, incomplete: Option<String>, is_unknown| {
        let verdicts = Verdicts { model: model.to_owned(), allowed, incomplete };
        Ok(Judged { verdicts, is_unknown })
    };
    let none = BTreeSet::new;
    // Real machines are weaker than `sc`, and ones with a NIC weaker than `tso`. Of equals, the first is
    // taken.
    let strength = |model: &&Arc<LoadedModel>| match model.model().machine.as_deref() {
        Some("sc") => 2,
        Some("tso") => 1,
        _ => 0,
    };
    let Some(model) = asked.iter().min_by_key(strength) else {
        return judged("none", none(), Some("the test names no model".to_owned()), false);
    };
    let name = model.name();
    let asked = request.limits().within(|| engine::ask(test, model.model(), request));
    match asked.unwrap_or_else(|reached| Err(Refusal::Unsupported(reached.to_string()))) {
        Ok(found) if !found.allowed.misuses.is_empty() => {
            judged(name, none(), Some(found.allowed.misuses[0].message.clone()), false)
        }
        Ok(found) if found.allowed.complete.is_some() => {
            judged(name, found.allowed.outcomes, None, false)
        }
        Ok(found) => {
            let reason = found.allowed.reason.unwrap_or_else(|| "a limit was hit".to_owned());
            judged(name, none(), Some(reason), true)
        }
        Err(Refusal::Unsupported(reason)) => judged(name, none(), Some(reason), true),
        Err(Refusal::Undefined(errors)) => {
            let reason = errors.first().map(|error| error.message.clone()).unwrap_or_default();
            judged(name, none(), Some(reason), false)
        }
        Err(Refusal::Bad(errors)) => Err(problems(source, errors)),
    }
}
