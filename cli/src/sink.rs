//! Where results and problems go while a command works: results in the order of the inputs, then what was
//! wrong, then a summary.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use campaign::sealed::Seal;
use campaign::shard::ShardOf;
use lang::diagnostic::Code;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use crate::exit::Exit;
use crate::input::Input;
use crate::options::Format;
use crate::ordered::Broken;
use crate::problem::{Problem, Reported};
use crate::table::count;
use crate::terminal::{Look, Terminal, Tint};

/// How one test under one model came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    /// As expected.
    Good,
    /// It only asks, and the answer is herd's `Ok`.
    Yes,
    /// It only asks, and the answer is herd's `No`.
    No,
    /// It claims something, but nothing of this model.
    Unchecked,
    /// Something unknown.
    Open,
    /// Wrong.
    Bad,
}

/// How many ways of coming out there are.
const STATUSES: usize = Status::Bad as usize + 1;

/// A test that was not asked or not run, and why.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Skip {
    /// The test's name.
    pub test: String,
    /// Its file.
    pub file: String,
    /// The model under which it would have been asked.
    pub model: String,
    /// Why not.
    pub reason: String,
}

/// What failed, to be reported at the end: the smallest programs first.
#[derive(Default)]
pub struct Failures(Vec<(usize, String)>);

impl Failures {
    /// One more, of a program with this many statements.
    pub fn add(&mut self, size: usize, text: String) {
        self.0.push((size, text));
    }

    /// All of them.
    pub fn into_text(mut self) -> String {
        self.0.sort_by_key(|(size, _)| *size);
        self.0.into_iter().map(|(_, text)| text).collect()
    }
}

/// Prints results one by one and keeps what is said at the end.
pub struct Sink<'t> {
    /// Where it goes.
    pub terminal: &'t mut Terminal,
    /// What it is printed as.
    pub format: Format,
    /// What the work comes to so far.
    pub exit: Exit,
    /// Errors so far.
    pub errors: Vec<Reported>,
    /// Warnings so far.
    pub warnings: Vec<Reported>,
    /// Whether warnings are what is asked for, so that `--quiet` shows them too.
    pub shows_warnings: bool,
    /// Whether nothing more is to be done.
    is_over: bool,
    skipped: Vec<Skip>,
    skip_reasons: BTreeMap<String, usize>,
    counts: [usize; STATUSES],
    /// Whether JSON ends with how many results came out how.
    is_counted: bool,
    printed: usize,
    /// Of all that was printed as JSON.
    seal: Seal,
    /// Which part of a whole it is of.
    pub shard: Option<ShardOf>,
}

impl<'t> Sink<'t> {
    /// Begins the output. `head` are the first fields of the JSON object, the schema first.
    pub fn new(terminal: &'t mut Terminal, format: Format, head: &[(&str, Json)]) -> Self {
        let mut seal = Seal::default();
        if format == Format::Json {
            head.iter().for_each(|(name, value)| seal.field(name, value));
            seal.array("results");
            let fields: Vec<String> =
                head.iter().map(|(name, value)| format!("{}:{value}", json!(name))).collect();
            terminal.out(&format!("{{{},\n\"results\":[", fields.join(",")));
        }
        let is_counted = head.iter().any(|(_, schema)| *schema == "litmus-allowed/1");
        Self { seal, is_counted, ..Self::of_problems(terminal, format) }
    }

    /// For a command that prints its results in its own way.
    pub fn of_problems(terminal: &'t mut Terminal, format: Format) -> Self {
        Self {
            terminal,
            format,
            exit: Exit::Fine,
            errors: Vec::new(),
            warnings: Vec::new(),
            shows_warnings: false,
            is_over: false,
            skipped: Vec::new(),
            skip_reasons: BTreeMap::new(),
            counts: [0; STATUSES],
            is_counted: false,
            printed: 0,
            seal: Seal::default(),
            shard: None,
        }
    }

    /// For a command that says on stderr what is wrong, whatever it prints.
    pub fn plain(terminal: &'t mut Terminal) -> Self {
        Self::of_problems(terminal, Format::Table)
    }

    /// How to write.
    pub fn look(&self) -> Look {
        self.terminal.look
    }

    /// A result: counted, and printed in the report's format.
    pub fn result<J: Serialize>(
        &mut self,
        status: Status,
        json: impl FnOnce() -> J,
        table: impl FnOnce() -> String,
    ) {
        self.count(status);
        self.print(json, table);
    }

    /// Counts a result that something else decides the exit code of.
    pub fn tally(&mut self, status: Status) {
        self.counts[status as usize] += 1;
    }

    /// Counts a result.
    pub fn count(&mut self, status: Status) {
        self.tally(status);
        self.exit.raise(match status {
            Status::Good | Status::Yes | Status::No | Status::Unchecked => Exit::Fine,
            Status::Open => Exit::Unknown,
            Status::Bad => Exit::Violation,
        });
    }

    /// Prints a result that was counted.
    pub fn print<J: Serialize>(
        &mut self,
        json: impl FnOnce() -> J,
        table: impl FnOnce() -> String,
    ) {
        self.printed += 1;
        match self.format {
            Format::Json => {
                let separator = if self.printed == 1 { "\n" } else { ",\n" };
                // It may have millions of outcomes, so it is in memory once, and as text.
                let mut text = serde_json::to_string(&json()).expect("results are objects");
                self.seal.element(&text);
                text.insert_str(0, separator);
                self.terminal.out(&text);
            }
            Format::Table => self.terminal.show(&table()),
        }
    }

    /// An error or warning: on stderr, or at the end of JSON.
    pub fn problem(&mut self, problem: Problem) {
        self.exit.raise(problem.exit());
        self.tell_problem(&problem);
    }

    fn tell_problem(&mut self, problem: &Problem) {
        let is_printed = self.shows_warnings || problem.is_printed(self.look().quiet);
        if self.format == Format::Table && is_printed {
            let text = problem.render(self.look().error_color);
            self.terminal.err(&text);
        }
        self.keep(problem.reported());
    }

    /// Several errors and warnings.
    pub fn problems(&mut self, problems: impl IntoIterator<Item = Problem>) {
        problems.into_iter().for_each(|problem| self.problem(problem));
    }

    /// Keeps a problem for the end.
    fn keep(&mut self, reported: Reported) {
        let list = if reported.is_error() { &mut self.errors } else { &mut self.warnings };
        list.push(reported);
    }

    /// A test that broke for no fault of its own: something stays unknown.
    pub fn failure(&mut self, problem: Problem) {
        self.exit.raise(Exit::Unknown);
        self.tell_problem(&problem);
    }

    /// A panic of a worker: a bug, which other inputs need not suffer from.
    pub fn internal_error(&mut self, file: &str, message: &str) {
        self.problem(Problem::of_broken(file, &Broken::Panic(message.to_owned())));
    }

    /// An error of the command line.
    pub fn usage_error(&mut self, code: Code, message: &str) {
        self.exit.raise(Exit::Usage);
        match self.format {
            Format::Table => self.terminal.err(&format!("error: {message}\n")),
            Format::Json => self.keep(Problem::of_file("", code, message).reported()),
        }
    }

    /// A skip, counted by its reason.
    pub fn skip(&mut self, skip: Skip) {
        *self.skip_reasons.entry(skip.reason.clone()).or_default() += 1;
        match self.format {
            Format::Json => self.skipped.push(skip),
            Format::Table if self.look().verbose > 0 => {
                let word = self.look().paint(Tint::Open, "skip");
                let Skip { test, model, reason, .. } = skip;
                self.terminal.show(&format!("{word}  {test}  {model}: {reason}\n"));
            }
            Format::Table => {}
        }
    }

    /// Skips what is left of the inputs after a failure.
    pub fn skip_rest(&mut self, inputs: &[Input]) {
        for input in inputs {
            self.skip(Skip {
                test: input.stem(),
                file: input.name(),
                model: "any".to_owned(),
                reason: "after the first failure".to_owned(),
            });
        }
    }

    /// A problem of another output, which has raised the exit code already.
    pub fn reported(&mut self, reported: Reported) {
        if self.format == Format::Json {
            return self.keep(reported);
        }
        let Reported { file, line, severity, code, message, .. } = reported;
        self.terminal.err(&format!("{file}:{line}: {severity}[{code}]: {message}\n"));
    }

    /// A skip of another output.
    pub fn known_skip(&mut self, skip: Skip) {
        *self.skip_reasons.entry(skip.reason.clone()).or_default() += 1;
        self.skipped.push(skip);
    }

    /// Ends the work: the rest is unknown.
    pub fn end(&mut self) {
        self.is_over = true;
    }

    /// Whether to go on. Where nobody reads any more, the rest is unknown.
    pub fn flow(&mut self) -> ControlFlow<()> {
        if self.terminal.is_closed() || self.is_over {
            self.exit.raise(Exit::Unknown);
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }

    /// Something to be read by people; not in JSON.
    pub fn tell(&mut self, text: &str) {
        if self.format == Format::Table {
            self.terminal.show(text);
        }
    }

    /// How many skips there were, and how many results.
    pub fn counts(&self) -> (usize, usize) {
        (self.skip_reasons.values().sum(), self.counts.iter().sum())
    }

    /// How many files have errors.
    pub fn broken_files(&self) -> usize {
        self.errors.iter().map(|error| &error.file).collect::<BTreeSet<_>>().len()
    }

    /// Ends the output; `tail` are more fields of the JSON object. In a table, `words` are what good, bad and
    /// open results are called in the summary; without, it only says what was skipped.
    pub fn finish(mut self, tail: &[(&str, Json)], words: Option<[&str; 3]>) -> Exit {
        let mut tail = tail.to_vec();
        if let Some(shard) = &self.shard {
            tail.extend([("exit", json!(self.exit.code())), ("shard", json!(shard))]);
        }
        match self.format {
            Format::Json => {
                let mut text = "\n]".to_owned();
                let lists = [
                    ("errors", json!(self.errors)),
                    ("warnings", json!(self.warnings)),
                    ("skipped", json!(self.skipped)),
                ];
                for (name, list) in lists {
                    text.push_str(&format!(",\n\"{name}\":{list}"));
                    self.seal.field(name, &list);
                }
                if self.is_counted {
                    let counts = self.json_counts();
                    text.push_str(&format!(",\n\"counts\":{counts}"));
                    self.seal.field("counts", &counts);
                }
                for (name, value) in &tail {
                    text.push_str(&format!(",\n{}:{value}", json!(name)));
                    self.seal.field(name, value);
                }
                if self.shard.is_some() {
                    text.push_str(&format!(",\n{}", self.seal.text()));
                }
                text.push_str("\n}\n");
                self.terminal.out(&text);
            }
            Format::Table => {
                let summary = self.summary(words);
                self.terminal.show(&summary);
            }
        }
        self.exit
    }

    fn json_counts(&self) -> Json {
        let number = |status: Status| self.counts[status as usize];
        json!({
            "ok": number(Status::Good),
            "yes": number(Status::Yes),
            "no": number(Status::No),
            "fail": number(Status::Bad),
            "unknown": number(Status::Open),
            "unchecked": number(Status::Unchecked),
        })
    }

    fn summary(&self, words: Option<[&str; 3]>) -> String {
        let (skipped, results) = self.counts();
        let broken = self.broken_files();
        let look = self.look();
        let unchecked = self.counts[Status::Unchecked as usize];
        let is_wordy = results + skipped + broken > 1 || results == 0 && skipped > 0;
        // Silence would look as if the verdicts held.
        let is_open = look.quiet && unchecked > 0 && unchecked == results;
        if !is_open && (!is_wordy || look.quiet && self.exit == Exit::Fine) {
            return String::new();
        }
        let mut text = String::new();
        if let Some([good, bad, open]) = words {
            let number = |status: Status| self.counts[status as usize];
            let asks = number(Status::Yes) + number(Status::No) > 0;
            let reported = [
                (Status::Good, Tint::Good, good),
                (Status::Yes, Tint::Good, "answered Ok"),
                (Status::No, Tint::Strong, "answered No"),
                (Status::Bad, Tint::Bad, bad),
                (Status::Open, Tint::Open, open),
                (Status::Unchecked, Tint::Open, "with verdicts not checked"),
            ];
            let is_printed = |status| number(status) > 0 || status == Status::Good && !asks;
            let reported = reported.into_iter().filter(|(status, ..)| is_printed(*status));
            let parts: Vec<String> = reported
                .map(|(status, tint, word)| look.paint(tint, &format!("{} {word}", number(status))))
                .collect();
            text = format!("{}: {}", count(results, "result"), parts.join(", "));
            if skipped > 0 {
                text.push_str(&format!("; {skipped} skipped"));
            }
            if broken > 0 {
                let files = count(broken, "file");
                text.push_str(&look.paint(Tint::Bad, &format!("; {files} with errors")));
            }
            text.push('\n');
        }
        for (reason, number) in &self.skip_reasons {
            text.push_str(&look.fit(&format!("  skipped {number}: {reason}")));
        }
        text
    }
}
