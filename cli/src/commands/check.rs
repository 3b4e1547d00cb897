//! `litmus check`.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use clap::Args;
use compiler::library::Libraries;
use lang::diagnostic::Diagnostic;
use lang::litmus;
use lang::outcome::{Observable, Observed};
use model::allowed::{Question, undefined_calls};
use serde_json::json;

use crate::exit::Exit;
use crate::input::{self, Input};
use crate::libraries::{LibraryOption, load_file as load_library, wrong_at_calls};
use crate::models::{self, Models};
use crate::options::{Format, FormatOption, JobsOption, TimeoutOption};
use crate::ordered::{Broken, map_in_order};
use crate::problem::{Problem, problems};
use crate::select::SelectOption;
use crate::table::count;
use crate::terminal::Terminal;

/// Say what is wrong with tests and models, without running anything
#[derive(Args)]
pub struct Arguments {
    /// Tests (.litmus), models (.cat), libraries (.lib), folders of them, or - for a test on standard input
    #[arg(required = true, value_name = "FILE|DIR")]
    paths: Vec<PathBuf>,
    /// Take warnings as errors
    #[arg(long)]
    deny_warnings: bool,
    #[command(flatten)]
    libraries: LibraryOption,
    #[command(flatten)]
    select: SelectOption,
    #[command(flatten)]
    timeout: TimeoutOption,
    #[command(flatten)]
    format: FormatOption,
    #[command(flatten)]
    jobs: JobsOption,
}

/// Checks all files.
pub fn run(arguments: &Arguments, terminal: &mut Terminal) -> Exit {
    if arguments.select.list {
        let format = arguments.format.format;
        return arguments.select.list(&arguments.paths, &[], format, terminal);
    }
    let (mut inputs, unreadable) = input::collect(&arguments.paths, &["litmus", "cat", "lib"]);
    let shipped = Models::default();
    let libraries = match arguments.libraries.choose(terminal) {
        Ok(libraries) => libraries,
        Err(exit) => return exit,
    };
    if let Err(message) = arguments.select.keep(&mut inputs, &shipped) {
        return terminal.usage_error(&message);
    }
    let mut tally = Tally::default();
    let format = arguments.format.format;
    unreadable.into_iter().for_each(|problem| tally.add(problem, format, terminal));
    let work = |input: &Input| arguments.timeout.within(|| check(input, &shipped, libraries));
    let each = |input: &Input, result: Result<Vec<Problem>, Broken>| {
        let broken = |broken| vec![Problem::of_broken(&input.name(), &broken)];
        let problems = result.unwrap_or_else(broken);
        problems.into_iter().for_each(|problem| tally.add(problem, format, terminal));
        if terminal.is_closed() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    map_in_order(&inputs, arguments.jobs.count(), &AtomicBool::new(false), work, each);
    let Tally { errors, warnings, exit, .. } = tally;
    match format {
        Format::Json => {
            let json = json!({
                "schema": "litmus-check/1",
                "files": inputs.len(),
                "errors": tally.json_errors,
                "warnings": tally.json_warnings,
            });
            terminal.out(&format!("{json}\n"));
        }
        Format::Table => {
            let [files, errors, warnings] =
                [(inputs.len(), "file"), (errors, "error"), (warnings, "warning")]
                    .map(|(number, what)| count(number, what));
            if !terminal.look.quiet {
                terminal.out(&format!("{files}: {errors}, {warnings}\n"));
            }
        }
    }
    match () {
        () if arguments.deny_warnings && warnings > 0 => exit.max(Exit::BadInput),
        () => exit,
    }
}

#[derive(Default)]
struct Tally {
    errors: usize,
    warnings: usize,
    exit: Exit,
    json_errors: Vec<serde_json::Value>,
    json_warnings: Vec<serde_json::Value>,
}

impl Tally {
    fn add(&mut self, problem: Problem, format: Format, terminal: &mut Terminal) {
        self.exit.raise(problem.exit());
        let (number, list) = if problem.diagnostic.is_error() {
            (&mut self.errors, &mut self.json_errors)
        } else {
            (&mut self.warnings, &mut self.json_warnings)
        };
        *number += 1;
        match format {
            Format::Json => list.push(json!(problem.told())),
            Format::Table => {
                let text = problem.render(terminal.look.error_color);
                terminal.err(&text);
            }
        }
    }
}

fn check(input: &Input, shipped: &Models, libraries: &Libraries) -> Vec<Problem> {
    if input.has_extension("lib") {
        return match load_library(&input.name()) {
            Ok(library) => wrong_at_calls(&library, libraries, shipped),
            Err(problems) => problems,
        };
    }
    if input.has_extension("cat") {
        return match models::load_file(&input.name()) {
            Ok((_, warnings)) => warnings,
            Err(problems) => problems,
        };
    }
    let source = match input.read() {
        Ok(source) => source,
        Err(problem) => return vec![*problem],
    };
    let (test, mut diagnostics) = litmus::load(&source);
    if let Some(test) = test {
        match shipped.of_test(&test, &source) {
            Ok(models) => {
                let undefined: Vec<Diagnostic> = models
                    .iter()
                    .flat_map(|model| undefined_calls(&test, model.model(), libraries))
                    .collect();
                let is_defined = undefined.is_empty();
                diagnostics.extend(undefined);
                // Rules of libraries are kept whatever the model, so one is enough to see.
                let is_shown = |one: &Observable| matches!(one.what, Observed::Copy(..));
                let has_objects = !libraries.used(&test.program).is_empty()
                    || test.observables.iter().any(is_shown);
                if let (true, true, Some(model)) = (is_defined, has_objects, models.first())
                    && let Err(errors) = Question::new(&test, model.model(), libraries, None)
                {
                    diagnostics.extend(errors);
                }
            }
            Err(unknown) => diagnostics.extend(unknown),
        }
    }
    problems(&source, diagnostics)
}
