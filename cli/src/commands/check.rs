//! `litmus check`.

use std::path::PathBuf;

use clap::Args;
use compiler::library::Libraries;
use lang::litmus;
use model::asking::wrong_under;
use serde_json::json;

use crate::exit::Exit;
use crate::input::Input;
use crate::inputs::{self, Workers};
use crate::libraries::{LibraryOption, Uses, load_file as load_library, wrong_at_calls};
use crate::models::{self, Models};
use crate::options::{Format, FormatOption, JobsOption, TimeoutOption};
use crate::problem::{Problem, problems};
use crate::select::SelectOption;
use crate::sink::Sink;
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

/// What files that are checked end with.
const ENDINGS: [&str; 3] = ["litmus", "cat", "lib"];

/// Checks all files.
pub fn run(arguments: &Arguments, terminal: &mut Terminal) -> Exit {
    if arguments.select.list {
        let format = arguments.format.format;
        let asked = (&[][..], &arguments.libraries);
        return arguments.select.list(&arguments.paths, &ENDINGS, asked, format, terminal);
    }
    let format = arguments.format.format;
    let mut sink = Sink::of_problems(terminal, format);
    sink.shows_warnings = true;
    let files = check_all(arguments, &mut sink);
    let (errors, warnings) = (sink.errors.len(), sink.warnings.len());
    match (format, files) {
        (Format::Json, files) => {
            let json = json!({
                "schema": "litmus-check/1",
                "files": files.unwrap_or(0),
                "errors": sink.errors,
                "warnings": sink.warnings,
            });
            sink.terminal.out(&format!("{json}\n"));
        }
        (Format::Table, Some(files)) if !sink.look().quiet => {
            let [files, errors, warnings] =
                [(files, "file"), (errors, "error"), (warnings, "warning")]
                    .map(|(number, what)| count(number, what));
            sink.terminal.out(&format!("{files}: {errors}, {warnings}\n"));
        }
        (Format::Table, _) => {}
    }
    if arguments.deny_warnings && warnings > 0 {
        sink.exit.raise(Exit::BadInput);
    }
    sink.exit
}

/// How many files were checked, if it came to that.
fn check_all(arguments: &Arguments, sink: &mut Sink<'_>) -> Option<usize> {
    let shipped = Models::default();
    let inputs = inputs::choose(&arguments.paths, &ENDINGS, &arguments.select, &shipped, sink)?;
    let libraries = arguments.libraries.choose(sink)?;
    let workers = Workers { jobs: arguments.jobs.count(), ..Workers::default() };
    let uses = Uses::new(libraries, &arguments.libraries, false);
    let work =
        |input: &Input| arguments.timeout.within(|| check(input, &shipped, libraries, &uses));
    workers.work(&inputs, sink, work, |_, problems, sink| sink.problems(problems));
    uses.tell(sink.terminal);
    Some(inputs.len())
}

fn check(input: &Input, shipped: &Models, libraries: &Libraries, uses: &Uses<'_>) -> Vec<Problem> {
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
    let (test, mut diagnostics) = litmus::load_with(&source, libraries.words());
    if let Some(test) = test {
        uses.take(&test);
        match shipped.of_test(&test, &source) {
            Ok(models) => {
                let models: Vec<_> = models.iter().map(|model| model.model()).collect();
                diagnostics.extend(wrong_under(&test, &models, libraries));
            }
            Err(unknown) => diagnostics.extend(unknown),
        }
    }
    problems(&source, diagnostics)
}
