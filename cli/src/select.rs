//! Which tests and results a command is about: `-k`, `--list`, `-x` and `--only`, the same everywhere.

mod pattern;

use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use clap::{Args, ValueEnum};
use lang::Test;
use lang::diagnostic::nearest;
use lang::source::Source;
use serde_json::json;

use crate::exit::Exit;
use crate::input::{Input, load_test};
use crate::inputs;
use crate::libraries::LibraryOption;
use crate::models::{LoadedModel, Models};
use crate::options::{Format, choose_models};
use crate::shard::ShardOption;
use crate::sink::Sink;
use crate::table::{count, pad};
use crate::terminal::Terminal;

pub use pattern::{Pattern, Subject};

/// Which tests.
#[derive(Args)]
pub struct SelectOption {
    /// Only what this selects: a glob such as 'MP*', or a part of a name, that is looked for in names,
    /// folders, tags and models; `and`, `or` and `not` join several. Can be repeated
    #[arg(short = 'k', long = "filter", value_name = "PATTERN")]
    patterns: Vec<Asked>,
    /// Only list what is selected
    #[arg(long)]
    pub list: bool,
}

/// A pattern and how it was typed.
#[derive(Clone, Debug)]
struct Asked {
    text: String,
    pattern: Pattern,
}

impl FromStr for Asked {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Ok(Self { text: text.to_owned(), pattern: text.parse()? })
    }
}

/// When to stop.
#[derive(Args)]
pub struct StopOption {
    /// Stop at the first test that fails
    #[arg(short = 'x', long, conflicts_with = "shard")]
    fail_fast: bool,
}

/// Which results are printed.
#[derive(Args)]
pub struct OnlyOption {
    /// Only print results of these kinds; all are counted
    #[arg(long, value_name = "KIND", value_delimiter = ',')]
    only: Vec<Kind>,
}

/// How a result came out, as `--only` takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// Something forbidden was seen, or a verdict of the file is wrong.
    #[value(alias = "fail")]
    Violation,
    /// Something is not known.
    #[value(alias = "inconclusive")]
    Unknown,
    /// Something allowed was never seen.
    Unseen,
    /// Nothing claimed: a question, and its answer.
    Answered,
    /// Verdicts, but none of them of the model.
    Unchecked,
    /// As expected.
    #[value(aliases = ["conforms", "good"])]
    Ok,
}

impl StopOption {
    /// Whether a command that came to this so far ends now.
    pub fn ends(&self, exit: Exit) -> bool {
        self.fail_fast && matches!(exit, Exit::Violation | Exit::BadInput | Exit::Internal)
    }
}

impl OnlyOption {
    /// Whether a result is printed. People are shown those that are not as expected, or all of them in full;
    /// programs all.
    pub fn shows(&self, kind: Kind, report: &Sink<'_>, in_full: bool) -> bool {
        let look = report.look();
        match self.only.as_slice() {
            [] if report.format == Format::Json => true,
            [] if look.quiet => matches!(kind, Kind::Violation | Kind::Unknown),
            [] => in_full || look.verbose > 0 || kind != Kind::Ok,
            only => only.contains(&kind),
        }
    }

    /// Whether the command line says which.
    pub fn is_some(&self) -> bool {
        !self.only.is_empty()
    }

    /// Refuses to leave results out of a part, which would be none then.
    pub fn refuse_in(&self, shard: &ShardOption) -> Result<(), &'static str> {
        let is_whole = shard.shard.is_none() || self.only.is_empty();
        if is_whole { Ok(()) } else { Err("--only leaves out results, which a part must have") }
    }
}

impl SelectOption {
    /// Whether some are left out.
    pub fn is_some(&self) -> bool {
        !self.patterns.is_empty()
    }

    /// Whether one of the patterns selects it; what depends on a model that is not known is selected.
    pub fn selects(&self, subject: Subject<'_>) -> bool {
        let selects = |asked: &Asked| asked.pattern.selects(subject) != Some(false);
        self.patterns.is_empty() || self.patterns.iter().any(selects)
    }

    /// Whether a model's rule is selected, by its name.
    pub fn selects_rule(&self, name: &str) -> bool {
        self.selects(Subject { name, model: Some(""), ..Subject::default() })
    }

    /// Keeps the inputs that are selected.
    ///
    /// # Errors
    /// That there are none.
    pub fn keep(&self, inputs: &mut Vec<Input>, models: &Models) -> Result<(), String> {
        if !self.is_some() || inputs.is_empty() {
            return Ok(());
        }
        if inputs.iter().any(Input::is_stdin) {
            return Err("-k selects among files; standard input is one test".to_owned());
        }
        let names: Vec<String> = inputs.iter().map(Input::stem).collect();
        inputs.retain(|input| self.is_kept(input, models));
        let names = names.iter().map(String::as_str);
        if inputs.is_empty() { Err(self.nothing("test", names)) } else { Ok(()) }
    }

    /// Whether a file is selected under some model. One that cannot be read goes by its name.
    fn is_kept(&self, input: &Input, models: &Models) -> bool {
        let path = path(input);
        let Some((test, source)) = load_test(input, models.libraries()).0 else {
            let (name, path) = (&*input.stem(), &*path);
            return self.selects(Subject { name, path, ..Subject::default() });
        };
        match models.of_test(&test, &source) {
            Ok(asked) => !self.models(&test, input, asked).is_empty(),
            Err(_) => self.selects(subject(&test, &path, None)),
        }
    }

    /// Those of a test's models under which it is selected.
    pub fn models(
        &self,
        test: &Test,
        input: &Input,
        mut asked: Vec<Arc<LoadedModel>>,
    ) -> Vec<Arc<LoadedModel>> {
        if self.is_some() {
            let path = path(input);
            asked.retain(|model| self.selects(subject(test, &path, Some(model.name()))));
        }
        asked
    }

    /// What to say if none of these is selected.
    pub fn nothing<'n>(&self, what: &str, names: impl Iterator<Item = &'n str>) -> String {
        let texts: Vec<&str> = self.patterns.iter().map(|asked| asked.text.as_str()).collect();
        let hint = match texts.as_slice() {
            [text] => nearest(text, names).map(|near| format!("did you mean `{near}`?")),
            _ => None,
        };
        let hint = hint.unwrap_or("--list without -k lists them all".to_owned());
        format!("no {what} matches `{}`; {hint}", texts.join("` or `"))
    }

    /// `--list`: the files that are selected, of those with one of the endings, with the models under which.
    pub fn list(
        &self,
        paths: &[PathBuf],
        endings: &[&str],
        (models, libraries): (&[String], &LibraryOption),
        format: Format,
        terminal: &mut Terminal,
    ) -> Exit {
        let mut sink = Sink::plain(terminal);
        let Some(mut models) = choose_models(models, &mut sink) else { return sink.exit };
        models.libraries = libraries.choose(&mut sink).cloned();
        if models.libraries.is_none() {
            return sink.exit;
        }
        let inputs = inputs::choose(paths, endings, self, &models, &mut sink);
        let (Some(inputs), exit) = (inputs, sink.exit) else { return sink.exit };
        let row = |input: &Input| {
            let names = |(test, source): (Test, Arc<Source>)| {
                let asked = self.models(&test, input, models.of_test(&test, &source).ok()?);
                let names = asked.iter().map(|model| model.name().to_owned());
                Some((test.name, names.collect()))
            };
            let (name, models) = load_test(input, models.libraries())
                .0
                .and_then(names)
                .unwrap_or((input.stem(), Vec::new()));
            (name, input.name(), models)
        };
        let rows: Vec<Row> = inputs.iter().map(row).collect();
        show(&rows, format, terminal);
        exit
    }
}

/// A test's name, file and models.
pub type Row = (String, String, Vec<String>);

/// Lists tests with their files and models: a line each, or JSON.
pub fn show(rows: &[Row], format: Format, terminal: &mut Terminal) {
    if format == Format::Json {
        let test =
            |(name, file, models): &Row| json!({ "test": name, "file": file, "models": models });
        let tests: Vec<_> = rows.iter().map(test).collect();
        terminal.out(&format!("{}\n", json!({ "schema": "litmus-list/1", "tests": tests })));
        return;
    }
    let width = rows.iter().map(|row| row.1.chars().count()).max().unwrap_or(0).min(72);
    for (_, file, models) in rows {
        let line = format!("{}  {}", pad(file, width), models.join(" "));
        terminal.show(&format!("{}\n", line.trim_end()));
    }
    terminal.note(&count(rows.len(), "test"));
}

fn subject<'a>(test: &'a Test, path: &'a str, model: Option<&'a str>) -> Subject<'a> {
    Subject { name: &test.name, path, tags: &test.tags, model }
}

/// A file's path as patterns see it.
fn path(input: &Input) -> String {
    let path = input.path.with_extension("");
    path.components().map(|part| part.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/")
}
