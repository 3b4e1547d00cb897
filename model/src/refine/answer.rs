//! What came of a client, and the evidence for it.

use lang::Test;
use lang::diagnostic::Diagnostic;
use lang::outcome::{Outcome, Value};
use lang::source::Source;

use compiler::library::{Depth, inline};

use super::clients::Client;
use super::steps::numbered;
use super::text::text;
use super::{Asked, Refinement};
use crate::asking::{Refused, first_message};
use crate::explain::{Reason, explain};

/// What came of a client.
#[derive(Clone, Debug)]
pub enum Answer {
    /// Every outcome of the implementation is allowed, and every execution of it can end.
    Holds {
        /// How many outcomes the specification allows.
        outcomes: usize,
        /// Some loop goes round more often than was followed over the specifications of lower libraries. All
        /// its rounds were followed over their implementations.
        cut_off: bool,
    },
    /// By its specification no execution ends, and no execution of the implementation does.
    Nothing,
    /// The program is not a well-formed client.
    IllFormed,
    /// A limit was reached.
    Unknown(String),
    /// The implementation does what the specification forbids.
    Refuted(Box<Counterexample>),
}

/// A client that tells an implementation from its specification.
#[derive(Clone, Debug)]
pub struct Counterexample {
    /// What the implementation does wrong.
    pub wrong: Wrong,
    /// The client as a litmus test; if an outcome is wrong, with the verdict that the implementation breaks.
    pub program: String,
    /// The outcome, or what the calls have returned that came back before the client was stuck: names and
    /// values.
    pub outcome: Vec<(String, Value)>,
    /// The implementation's execution, in words.
    pub execution: String,
    /// Why the specification forbids it, in words.
    pub forbidden: String,
}

/// What an implementation does wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// It shows an outcome that is forbidden.
    Outcome,
    /// Its calls return what the sequential object returns in no order that keeps to real time.
    History,
    /// It does not let the client end, and the specification does.
    Stuck,
    /// It uses a lower library as that library's rules exclude.
    Misuse,
}

impl Wrong {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Outcome => "outcome",
            Self::History => "history",
            Self::Stuck => "stuck",
            Self::Misuse => "misuse",
        }
    }
}

impl Counterexample {
    /// That of a client at whose call a body misuses a lower library.
    pub(super) fn misuse(program: &str, found: &Diagnostic) -> Self {
        let line = Source::new("client", program).line_column(found.span.start).0;
        let call = program.get(found.span.range()).unwrap_or_default();
        Self {
            wrong: Wrong::Misuse,
            program: program.to_owned(),
            outcome: Vec::new(),
            execution: format!("{}: in the body of `{call}` (line {line})", found.message),
            forbidden: format!("The rule `{}` of the lower library excludes it.", found.code),
        }
    }
}

impl Refinement {
    /// The counterexample of an outcome that the specification forbids; `steps` are the machine's, if it has
    /// shown it.
    pub(super) fn other_outcome(
        &self,
        asked: &Asked<'_>,
        outcome: &Outcome,
        steps: &[String],
    ) -> Result<Answer, String> {
        let options = asked.options;
        let (test, source, shown) = self.with_verdict(asked.client, outcome)?;
        let index = |name: &str| test.observables.iter().position(|o| o.name == name);
        let values = shown.iter().filter_map(|(name, value)| Some((index(name)?, *value)));
        let wanted = lang::outcome::Asked::values(&test.observables, values);
        let first = |errors: Vec<Diagnostic>| first_message(&errors);
        let lowered = inline(&test, &self.libraries, Depth::Only(self.number)).map_err(first)?;
        let lower = self.implementation(&lowered, options).map_err(Refused::message)?;
        let found = explain(&lower, options, &wanted).map_err(Refused::message)?;
        let execution = match found.reason {
            Reason::Witness(_) => found.text(&source),
            // Beyond the bound on loops, or not over the specifications of lower libraries.
            _ => format!(
                "allowed by the implementations of all libraries; the machine shows it:\n\n{}",
                numbered(steps)
            ),
        };
        let spec = self.specification(&test, options).map_err(Refused::message)?;
        let forbidden = explain(&spec, options, &wanted).map_err(Refused::message)?.text(&source);
        let (wrong, program, outcome) = (Wrong::Outcome, source.text.clone(), shown);
        let found = Counterexample { wrong, program, outcome, execution, forbidden };
        Ok(Answer::Refuted(Box::new(found)))
    }

    /// The client once more with the verdict in the text, so that places are those of the text that is shown.
    fn with_verdict(&self, client: &Client, outcome: &Outcome) -> Result<WithVerdict, String> {
        let bare = text(client, self.library(), None);
        let (test, _) = lang::litmus::load(&Source::new("client", bare));
        let test = test.ok_or("the client cannot be read again")?;
        let names = test.observables.iter().map(|observable| observable.name.clone());
        let shown: Vec<(String, Value)> = names.zip(outcome.0.iter().copied()).collect();
        let program = text(client, self.library(), Some(&shown));
        let source = Source::new("client", program);
        let (test, errors) = lang::litmus::load(&source);
        Ok((test.ok_or_else(|| first_message(&errors))?, source, shown))
    }
}

type WithVerdict = (Test, Source, Vec<(String, Value)>);
