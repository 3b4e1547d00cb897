//! `litmus compile`: tests as something else, to be read or built by others.
//!
//! The way of a test is [`compile`]: load, plan, and for C, ask which outcomes a model allows, so that the
//! program can judge what it sees. herd's files need no plan: [`lang::herd::write()`] knows what fits into
//! them.

mod output;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use clap::{Args, ValueEnum};
use compiler::c::{self, Verdicts};
use compiler::library::{Libraries, each_call};
use compiler::plan::Plan;
use lang::diagnostic::Diagnostic;
use lang::source::Source;
use lang::{Test, herd};

use crate::engine::{self, Refusal, Request};
use crate::exit::Exit;
use crate::input::{Input, load_test_within};
use crate::inputs::{self, Workers};
use crate::libraries::{InlineOption, LibraryOption, inlined_if_sound};
use crate::models::{LoadedModel, Models};
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
    /// A file for herd7 and litmus7, of a test of one node: assembly of x86, and the test's first verdict on
    /// x86-TSO.
    Herd,
}

impl Target {
    /// What names of files end with.
    fn extension(self) -> &'static str {
        match self {
            Self::Plan => "plan",
            Self::VerbsC => "c",
            Self::Herd => "litmus",
        }
    }

    /// Whether a file that begins so was made by this command.
    fn has_made(self, start: &str) -> bool {
        match self {
            Self::Plan => start.starts_with("plan of "),
            Self::VerbsC => start.starts_with(c::MARK),
            Self::Herd => start.lines().any(|line| line == herd::MARK),
        }
    }
}

/// Compiles all tests; wrong ones do not keep it from compiling the others.
pub fn run(arguments: &Arguments, terminal: &mut Terminal) -> Exit {
    if arguments.select.list {
        let models = arguments.model.as_slice();
        return arguments.select.list(
            &arguments.paths,
            &["litmus"],
            models,
            Format::Table,
            terminal,
        );
    }
    let mut sink = Sink::plain(terminal);
    // What hinders it has been told.
    let _ = compile_all(arguments, &mut sink);
    sink.exit
}

fn compile_all(arguments: &Arguments, sink: &mut Sink<'_>) -> Option<()> {
    let models = &choose_models(arguments.model.as_slice(), sink)?;
    let libraries = arguments.libraries.choose(sink);
    let request = &Request { libraries: Some(libraries?), ..arguments.solver.request() };
    let (paths, select) = (&arguments.paths, &arguments.select);
    let inputs = inputs::choose(paths, &["litmus"], select, models, sink)?;
    let is_many = inputs.len() > 1 || paths.iter().any(|path| path.is_dir());
    let output = Output::new(arguments.output.as_deref(), is_many, arguments.force);
    let mut output = output.map_err(|failure| sink.exit.raise(failure.tell(sink.terminal))).ok()?;
    let mut made = 0;
    let mut skips: BTreeMap<String, usize> = BTreeMap::new();
    let work = |input: &Input| compile(input, arguments, models, request);
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
            made += 1;
            sink.exit.raise(output.write(input, arguments.target, &text, sink.terminal));
        }
        if let Some(note) = answer.note.filter(|_| input.is_named) {
            sink.terminal.note(&note);
        }
    };
    let workers = Workers { jobs: arguments.jobs.count(), ..Workers::default() };
    workers.work(&inputs, sink, work, each);
    let skipped: usize = skips.values().sum();
    if made == 0 && skipped > 0 {
        sink.exit.raise(Exit::Unknown);
    }
    if inputs.len() > 1 {
        sink.terminal.note(&format!("compiled {}, skipped {skipped}", count(made, "test")));
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
    /// What is good to know.
    note: Option<String>,
}

fn compile(input: &Input, arguments: &Arguments, models: &Models, request: &Request) -> Answer {
    let (loaded, problems) = load_test_within(input, &request.limits());
    let mut answer = Answer { problems, ..Answer::default() };
    let Some((test, source)) = loaded else { return answer };
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
    let made = request.limits().within(|| match arguments.target {
        Target::Plan => plan().map(|plan| Some(plan.describe(&runnable, &source).to_string())),
        Target::VerbsC => plan().map(|plan| match verdicts(&test, &source, models, request) {
            Ok(verdicts) => {
                answer.note = verdicts.incomplete.as_ref().map(|reason| {
                    format!("{}: the program will judge nothing: {reason}", input.name())
                });
                Some(c::generate(&plan, &runnable, &source, Some(&verdicts)))
            }
            Err(problems) => {
                answer.problems.extend(problems);
                None
            }
        }),
        Target::Herd => herd::write(&runnable)
            .map(|written| Some(written.text))
            .map_err(|found| with_hint(*found)),
    });
    let text = match made {
        Ok(text) => text,
        Err(reached) => {
            answer.problems.push(Problem::of_broken(&input.name(), &Broken::Limit(reached)));
            return answer;
        }
    };
    match text {
        Ok(text) => answer.text = text,
        Err(diagnostic) => {
            answer.skip = Some((diagnostic.message.clone(), Problem::at(&source, *diagnostic)));
        }
    }
    answer
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
fn verdicts(
    test: &Test,
    source: &Arc<Source>,
    models: &Models,
    request: &Request,
) -> Result<Verdicts, Vec<Problem>> {
    let asked = models.of_test(test, source).map_err(|unknown| problems(source, unknown))?;
    let unknown = |model: &str, reason: String| Verdicts {
        model: model.to_owned(),
        allowed: Default::default(),
        incomplete: Some(reason),
    };
    // Real machines are weaker than `sc`, and ones with a NIC weaker than `tso`. Of equals, the first is
    // taken.
    let strength = |model: &&Arc<LoadedModel>| match model.model().machine.as_deref() {
        Some("sc") => 2,
        Some("tso") => 1,
        _ => 0,
    };
    let Some(model) = asked.iter().min_by_key(strength) else {
        return Ok(unknown("none", "the test names no model".to_owned()));
    };
    match engine::ask(test, model.model(), request) {
        Ok(found) if !found.allowed.misuses.is_empty() => {
            let misuse = &found.allowed.misuses[0];
            Ok(unknown(model.name(), misuse.message.clone()))
        }
        Ok(found) if found.allowed.complete => Ok(Verdicts {
            model: model.name().to_owned(),
            allowed: found.allowed.outcomes,
            incomplete: None,
        }),
        Ok(found) => {
            let reason = found.allowed.reason.unwrap_or_else(|| "a limit was hit".to_owned());
            Ok(unknown(model.name(), reason))
        }
        Err(Refusal::Unsupported(reason)) => Ok(unknown(model.name(), reason)),
        Err(Refusal::Undefined(errors)) => {
            let reason = errors.first().map(|error| error.message.clone()).unwrap_or_default();
            Ok(unknown(model.name(), reason))
        }
        Err(Refusal::Bad(errors)) => Err(problems(source, errors)),
    }
}
