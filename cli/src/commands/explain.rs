//! `litmus explain`.

mod outcome;

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use lang::Test;
use lang::diagnostic::Diagnostic;
use lang::source::Source;
use model::allowed::{LIMIT, Question};
use model::explain::{Explanation, Reason, explain};
use serde_json::json;

use crate::engine::Request;
use crate::exit::Exit;
use crate::input::{Input, load_test};
use crate::libraries::{InlineOption, LibraryOption, inlined_if_sound};
use crate::models::LoadedModel;
use crate::options::{Format, FormatOption, SolverOptions, choose_models, show_problems};
use crate::output;
use crate::problem::problems;
use crate::terminal::Terminal;

/// Show an execution with an outcome, or the cycle that forbids it
#[derive(Args)]
pub struct Arguments {
    /// The test, or - for standard input
    #[arg(value_name = "FILE")]
    path: PathBuf,
    /// The outcome, or a part of it: 'a=1, b=0' or '(a, b) = (1, 0)'
    #[arg(long, value_name = "OUTCOME")]
    outcome: String,
    /// The model; the first that the test's header names by default
    #[arg(long, value_name = "NAME|FILE.cat")]
    model: Option<String>,
    #[command(flatten)]
    libraries: LibraryOption,
    #[command(flatten)]
    inline: InlineOption,
    #[command(flatten)]
    solver: SolverOptions,
    /// Draw the execution into an SVG file, or - for standard output
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Draw the execution as a TikZ picture for LaTeX
    #[arg(long, value_name = "FILE")]
    tikz: Option<PathBuf>,
    /// Write the execution as a graph in the DOT language
    #[arg(long, value_name = "FILE")]
    dot: Option<PathBuf>,
    #[command(flatten)]
    format: FormatOption,
}

/// Explains.
pub fn run(arguments: &Arguments, terminal: &mut Terminal) -> Exit {
    let drawings = [&arguments.svg, &arguments.tikz, &arguments.dot];
    let is_stdout =
        |path: &&&Option<PathBuf>| path.as_ref().is_some_and(|path| path.as_os_str() == "-");
    if drawings.iter().filter(is_stdout).count() > 1 {
        return terminal
            .usage_error("only one of --svg, --tikz and --dot can be written to standard output");
    }
    let models = match choose_models(arguments.model.as_slice(), terminal) {
        Ok(models) => models,
        Err(exit) => return exit,
    };
    let input = Input { path: arguments.path.clone(), is_named: true };
    let (loaded, diagnostics) = load_test(&input);
    show_problems(&diagnostics, terminal);
    let Some((mut test, source)) = loaded else { return Exit::BadInput };
    let libraries = match arguments.libraries.load() {
        Ok(libraries) => libraries,
        Err(wrong) => {
            show_problems(&wrong, terminal);
            return Exit::BadInput;
        }
    };
    let request = Request { libraries: Some(libraries), ..arguments.solver.request() };
    if arguments.inline.inline {
        let (inlined, wrong) = inlined_if_sound(&test, &source, libraries, &models, &request);
        show_problems(&wrong, terminal);
        let Some(inlined) = inlined else { return Exit::BadInput };
        test = inlined;
    }
    let model = match models.of_test(&test, &source) {
        Ok(models) => models.into_iter().next(),
        Err(errors) => return refuse(&source, errors, terminal),
    };
    let Some(model) = model else {
        return refuse(&source, Vec::new(), terminal);
    };
    explain_under(arguments, &request, &test, &source, &model, terminal)
}

fn refuse(source: &Arc<Source>, errors: Vec<Diagnostic>, terminal: &mut Terminal) -> Exit {
    let has = |code: &str| errors.iter().any(|error| error.code == code);
    let exit = match () {
        () if has("engine-unsound") => Exit::Internal,
        () if has(LIMIT) => Exit::Unknown,
        () => Exit::BadInput,
    };
    show_problems(&problems(source, errors), terminal);
    exit
}

fn explain_under(
    arguments: &Arguments,
    request: &Request,
    test: &Test,
    source: &Arc<Source>,
    model: &LoadedModel,
    terminal: &mut Terminal,
) -> Exit {
    let wanted = match outcome::parse(&arguments.outcome, test) {
        Ok(wanted) => wanted,
        Err(message) => return terminal.usage_error(&message),
    };
    let libraries = request.libraries();
    let question = match Question::new(test, model.model(), libraries, request.loops) {
        Ok(question) => question,
        Err(errors) => return refuse(source, errors, terminal),
    };
    let explanation = match explain(&question, &request.options(), &wanted) {
        Ok(explanation) => explanation,
        Err(errors) => return refuse(source, errors, terminal),
    };
    if arguments.model.is_none() && test.models.len() > 1 {
        let others = test.models[1..].join(", ");
        terminal.note(&format!("explained under {}; the test also names {others}", model.name()));
    }
    let mut exit = match explanation.reason {
        Reason::Unknown(_) => Exit::Unknown,
        _ => Exit::Fine,
    };
    exit.raise(show(arguments, &explanation, source, terminal));
    exit
}

fn show(
    arguments: &Arguments,
    explanation: &Explanation<'_>,
    source: &Source,
    terminal: &mut Terminal,
) -> Exit {
    let mut exit = Exit::Fine;
    let mut is_text_wanted = true;
    type Draw<'q> = fn(&Explanation<'q>, &Source) -> Option<String>;
    let drawings: [(&Option<PathBuf>, Draw<'_>); 3] = [
        (&arguments.svg, Explanation::svg),
        (&arguments.tikz, Explanation::tikz),
        (&arguments.dot, Explanation::dot),
    ];
    for (path, draw) in drawings {
        let Some(path) = path else { continue };
        let Some(drawing) = draw(explanation, source) else {
            terminal.note("there is no execution to draw");
            continue;
        };
        if path.as_os_str() == "-" {
            is_text_wanted = false;
            terminal.out(&drawing);
        } else {
            exit.raise(output::write(path, &drawing, terminal));
        }
    }
    if is_text_wanted {
        let text = match arguments.format.format {
            Format::Table => explanation.text(source),
            Format::Json => {
                let mut json = json!({ "schema": "litmus-explain/1", "file": source.name });
                if let (Some(json), serde_json::Value::Object(more)) =
                    (json.as_object_mut(), explanation.json(source))
                {
                    json.extend(more);
                }
                format!("{json}\n")
            }
        };
        terminal.out(&text);
    }
    exit
}
