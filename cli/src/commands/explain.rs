//! `litmus explain`.

pub mod orders;
mod subject;

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use lang::Test;
use lang::diagnostic::Diagnostic;
use lang::outcome::Asked;
use lang::source::Source;
use model::allowed::{DEFAULT_LOOP_BOUND, Question};
use model::asking::Refused;
use model::engine::{Refusal, Request, explained};
use model::explain::{Explanation, Reason};
use model::sequential;
use serde_json::{Value as Json, json};

use crate::exit::Exit;
use crate::input::{Input, load_test_within};
use crate::libraries::{InlineOption, LibraryOption, Uses, inlined_if_sound};
use crate::memory::MemoryOption;
use crate::options::{Format, FormatOption, SolverOptions, choose_models};
use crate::output;
use crate::problem::{Problem, problems};
use crate::sink::Sink;
use crate::terminal::Terminal;
use orders::Orders;
use subject::Subject;

/// The most rounds of loops in which an execution is looked for that exploring has found.
const MOST_ROUNDS: u32 = 64;

/// Show an execution with an outcome, or the cycle that forbids it
#[derive(Args)]
pub struct Arguments {
    /// The test, or - for standard input
    #[arg(value_name = "FILE")]
    path: PathBuf,
    /// What to explain, as verdicts are written: 'a=1, b=0', '(a, b) = (1, 0)', 'a != b or x % 2 = 1'. By
    /// default, the verdicts of the file that do not hold; where all hold, all of them
    #[arg(long, value_name = "OUTCOME")]
    outcome: Option<String>,
    /// The model. By default, the first that the test's header names; for verdicts that do not hold, all of
    /// them
    #[arg(long, value_name = "NAME|FILE.cat")]
    model: Option<String>,
    #[command(flatten)]
    libraries: LibraryOption,
    #[command(flatten)]
    inline: InlineOption,
    #[command(flatten)]
    solver: SolverOptions,
    #[command(flatten)]
    memory: MemoryOption,
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

impl Arguments {
    /// How many pictures go to standard output.
    fn drawn_to_stdout(&self) -> usize {
        let drawings = [&self.svg, &self.tikz, &self.dot].into_iter().flatten();
        drawings.filter(|path| path.as_os_str() == "-").count()
    }
}

/// Explains.
pub fn run(arguments: &Arguments, terminal: &mut Terminal) -> Exit {
    if arguments.drawn_to_stdout() > 1 {
        return terminal
            .usage_error("only one of --svg, --tikz and --dot can be written to standard output");
    }
    let mut sink = Sink::plain(terminal);
    // What prevents it has been reported.
    let _ = explain_all(arguments, &mut sink);
    sink.exit
}

fn explain_all(arguments: &Arguments, sink: &mut Sink<'_>) -> Option<()> {
    let models = choose_models(arguments.model.as_slice(), sink)?;
    let request = arguments.solver.request().begun();
    let input = Input { path: arguments.path.clone(), is_named: true };
    let libraries = arguments.libraries.choose(sink)?;
    let (loaded, diagnostics) = load_test_within(&input, libraries, &request.limits());
    sink.problems(diagnostics);
    let (mut test, source) = loaded?;
    let uses = Uses::new(libraries, &arguments.libraries, arguments.inline.inline);
    uses.take(&test);
    uses.tell(sink.terminal);
    let request = Request { libraries: Some(libraries), ..request };
    let asked = arguments.outcome.as_deref().map(|text| ask(text, &mut test)).transpose();
    let wrong_outcome = |problems: Vec<Problem>| {
        sink.problems(problems);
        sink.exit.raise(Exit::Usage);
    };
    let asked = asked.map_err(wrong_outcome).ok()?;
    if arguments.inline.inline {
        let (inlined, wrong) = inlined_if_sound(&test, &source, libraries, &models, &request);
        sink.problems(wrong);
        test = inlined?;
    }
    let models = models.of_test(&test, &source);
    let models = models.map_err(|errors| refuse(&source, errors, sink)).ok()?;
    let Some(first) = models.first() else {
        refuse(&source, Vec::new(), sink);
        return None;
    };
    let subjects = match asked {
        Some(asked) => Ok(vec![Subject { model: Arc::clone(first), asked, verdict: None }]),
        None => subject::of_verdicts(&test, &source, &models, &request),
    };
    let subjects = subjects.map_err(|errors| refuse(&source, errors, sink)).ok()?;
    if subjects.is_empty() {
        let message =
            "no verdict of the file is about the model: say what to explain with --outcome";
        sink.exit.raise(sink.terminal.usage_error(message));
        return None;
    }
    let others: Vec<&str> = models[1..].iter().map(|model| model.name()).collect();
    if !others.is_empty() && subjects.iter().all(|subject| !subject.is_wrong()) {
        let (name, others) = (first.name(), others.join(", "));
        sink.terminal.note(&format!("explained under {name}; the test also names {others}"));
    }
    let mut shown = Shown { arguments, source: &source, count: 0, is_drawn: false };
    let has_orders = sequential::is_called(&test, libraries);
    for subject in &subjects {
        if has_orders {
            let ordered = shown.orders(subject, &test, &request, sink);
            ordered.unwrap_or_else(|refusal| refuse(&source, refusal.into_diagnostics(), sink));
            continue;
        }
        let explained = explain_one(&mut shown, subject, &request, &test, sink);
        explained.unwrap_or_else(|refused| refuse(&source, refused.diagnostics(), sink));
    }
    let wrong = subjects.iter().find(|subject| subject.is_wrongly_allowed());
    if let Some(wrong) = wrong.filter(|_| !arguments.inline.inline) {
        shown.suggest((&test, &source), wrong, &request, sink.terminal);
    }
    shown.end(sink.terminal);
    Some(())
}

/// The outcome of the command line, as the test means it.
fn ask(text: &str, test: &mut Test) -> Result<Asked, Vec<Problem>> {
    let source = Arc::new(Source::new("--outcome", text));
    lang::litmus::ask(&source, test).map_err(|errors| problems(&source, errors))
}

fn refuse(source: &Arc<Source>, errors: Vec<Diagnostic>, sink: &mut Sink<'_>) {
    sink.problems(problems(source, errors));
    sink.exit.raise(Exit::Unknown);
}

/// Explains outcomes under a model. What exploring has found in more rounds of loops than the bound is looked
/// for with larger bounds, so that there is an execution to show.
///
/// # Errors
/// Why the model cannot be asked.
fn explain_one(
    shown: &mut Shown<'_>,
    subject: &Subject,
    request: &Request<'_>,
    test: &Test,
    sink: &mut Sink<'_>,
) -> Result<(), Refused> {
    let model = subject.model.model();
    let options = request.options();
    let question = Question::of(test, model).libraries(request.libraries()).options(&options);
    let question = question.question()?;
    let explanation = explained(&question, (test, model), &subject.asked, request)?;
    let rounds = request.loops.or(test.loop_bound).unwrap_or(DEFAULT_LOOP_BOUND);
    if explanation.in_more_rounds && rounds < MOST_ROUNDS {
        let request = Request { loops: Some(2 * rounds), ..request.clone() };
        return explain_one(shown, subject, &request, test, sink);
    }
    if !subject.is_told(&explanation.reason) {
        return Ok(());
    }
    if matches!(explanation.reason, Reason::Unknown(_)) || subject.is_vacuous() {
        sink.exit.raise(Exit::Unknown);
    }
    sink.exit.raise(shown.draw(&explanation, sink.terminal));
    let (text, json) = (explanation.text(shown.source), explanation.json(shown.source));
    shown.tell(subject, (text, json), sink.terminal);
    Ok(())
}

/// What is shown of explanations, one after the other.
struct Shown<'a> {
    arguments: &'a Arguments,
    source: &'a Arc<Source>,
    count: usize,
    is_drawn: bool,
}

impl Shown<'_> {
    /// Draws the first that can be drawn.
    fn draw(&mut self, explanation: &Explanation<'_>, terminal: &mut Terminal) -> Exit {
        let mut exit = Exit::Fine;
        type Draw<'q> = fn(&Explanation<'q>, &Source) -> Option<String>;
        let Arguments { svg, tikz, dot, .. } = self.arguments;
        let drawings: [(&Option<PathBuf>, Draw<'_>); 3] =
            [(svg, Explanation::svg), (tikz, Explanation::tikz), (dot, Explanation::dot)];
        let is_drawn = self.is_drawn;
        for (path, draw) in drawings {
            let Some(path) = path.as_ref().filter(|_| !is_drawn) else { continue };
            let Some(drawing) = draw(explanation, self.source) else { continue };
            self.is_drawn = true;
            if path.as_os_str() == "-" {
                terminal.out(&drawing);
            } else {
                exit.raise(output::write(path, &drawing, terminal));
            }
        }
        exit
    }

    /// Explains a program that calls sequential objects.
    ///
    /// # Errors
    /// What is wrong with the test.
    fn orders(
        &mut self,
        subject: &Subject,
        test: &Test,
        request: &Request<'_>,
        sink: &mut Sink<'_>,
    ) -> Result<(), Refusal> {
        let orders = Orders::of(&subject.asked, (test, subject.model.model()), request)?;
        if !subject.is_told_of(orders.is_allowed()) {
            return Ok(());
        }
        if orders.is_allowed().is_none() || subject.is_vacuous() {
            sink.exit.raise(Exit::Unknown);
        }
        sink.problems(problems(self.source, orders.misuses()));
        let model = subject.model.name();
        let (text, json) = (orders.text(self.source, model), orders.json(self.source, model));
        self.tell(subject, (text, json), sink.terminal);
        Ok(())
    }

    /// Shows an explanation, of which there is the text and the JSON.
    fn tell(&mut self, subject: &Subject, (text, more): (String, Json), terminal: &mut Terminal) {
        self.count += 1;
        if self.arguments.drawn_to_stdout() > 0 {
            return;
        }
        let text = match self.arguments.format.format {
            Format::Table => {
                let gap = if self.count > 1 { "\n" } else { "" };
                let head = subject.head().map(|head| format!("{gap}{head}\n"));
                head.unwrap_or_default() + &text
            }
            Format::Json => {
                let mut json = json!({ "schema": "litmus-explain/1", "file": self.source.name });
                if let (Some(json), Json::Object(more)) = (json.as_object_mut(), more) {
                    json.extend(more);
                    json.extend(subject.json().map(|verdict| ("of".to_owned(), verdict)));
                }
                format!("{json}\n")
            }
        };
        terminal.out(&text);
    }

    /// Says what would make the program right.
    fn suggest(
        &self,
        (test, source): (&Test, &Source),
        wrong: &Subject,
        request: &Request<'_>,
        terminal: &mut Terminal,
    ) {
        if self.arguments.drawn_to_stdout() > 0 || self.arguments.format.format != Format::Table {
            return;
        }
        let changes = super::repair::suggestion((test, source), &wrong.model, request);
        if let Some(changes) = changes {
            let changes = changes.join("; ");
            let (model, path) = (wrong.model.name(), self.arguments.path.display());
            let text = format!("A repair under {model}: {changes}");
            terminal.out(&format!("\n{text}\n`litmus repair {path}` lists all.\n"));
        }
    }

    /// Says what of the explanations is not in the picture.
    fn end(&self, terminal: &mut Terminal) {
        let Arguments { svg, tikz, dot, .. } = self.arguments;
        if svg.is_some() || tikz.is_some() || dot.is_some() {
            if !self.is_drawn {
                terminal.note("there is no execution to draw");
            } else if self.count > 1 {
                terminal.note(&format!(
                    "the picture is of the first of {} explanations; --outcome picks another",
                    self.count
                ));
            }
        }
    }
}
