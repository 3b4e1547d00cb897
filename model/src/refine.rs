//! Is a library's implementation one? For all small clients: are the outcomes of the client with calls replaced by
//! the implementation among those that the specification allows?
//!
//! Soundness of implementations [LOCO, Definition 3.12], checked up to a bound and not proved. The lower libraries
//! keep their specifications, as in the definition.

mod bounds;
mod clients;
mod text;

use std::sync::Arc;

use compiler::library::{Depth, Libraries, inline, wrong_bodies};
use lang::Test;
use lang::cat::model::Model;
use lang::diagnostic::Diagnostic;
use lang::library::Library;
use lang::outcome::{Outcome, Value};
use lang::source::Source;

use crate::allowed::{LIMIT, MISUSES, Options, Question};
use crate::bound::Loops;
use crate::explain::explain;
use crate::smt::Found;

pub use bounds::Bounds;
pub use clients::{Client, MOST, TooMany, clients};
pub use text::text;

/// A library and the implementation that is to be checked.
#[derive(Clone, Debug)]
pub struct Refinement {
    /// The libraries; of the one checked, with the implementation to be checked.
    libraries: Libraries,
    /// The text of its specification.
    specification: Source,
    /// Its number.
    number: usize,
    /// The model of the specification.
    model: Model,
    /// The model of the implementation.
    lower: Model,
}

/// What came of a client.
#[derive(Clone, Debug)]
pub enum Answer {
    /// Every outcome of the implementation is allowed.
    Holds {
        /// How many outcomes the specification allows.
        outcomes: usize,
        /// Some loop of the implementation was cut off, so this is not known of longer ones.
        cut_off: bool,
    },
    /// No execution of the implementation ends within the bounds, so there is nothing to compare.
    Nothing,
    /// The program is no well-formed client.
    IllFormed,
    /// A limit was reached.
    Unknown(String),
    /// The implementation has an outcome that the specification forbids.
    Refuted(Box<Counterexample>),
}

/// A client that tells an implementation from its specification.
#[derive(Clone, Debug)]
pub struct Counterexample {
    /// The client, as a litmus test with the verdict that the implementation breaks.
    pub program: String,
    /// The outcome: names and values.
    pub outcome: Vec<(String, Value)>,
    /// The implementation's execution, in words.
    pub execution: String,
    /// Why the specification forbids it, in words.
    pub forbidden: String,
}

impl Refinement {
    /// The check of a library's implementation, or of another's.
    ///
    /// # Errors
    /// Why there is nothing to check.
    pub fn new(
        libraries: &Libraries,
        library: &Library,
        implementation: Option<&Library>,
        model: &Model,
        load: impl Fn(&str) -> Option<Model>,
    ) -> Result<Self, String> {
        let specification = library.source.clone();
        let mut library = library.clone();
        if let Some(other) = implementation {
            if other.implementation.is_none() {
                return Err(format!("the library `{}` has no implementation", other.name));
            }
            library.implementation.clone_from(&other.implementation);
            library.source.clone_from(&other.source);
        }
        let name = &library.name;
        let text = library.implementation.as_ref();
        let text = text.ok_or_else(|| format!("the library `{name}` has no implementation"))?;
        let named = |name: &Option<String>, default: &Model| match name {
            Some(name) => load(name).ok_or_else(|| format!("there is no model `{name}`")),
            None => Ok(default.clone()),
        };
        let spec = named(&library.base, model)?;
        let over = text.over.as_ref().map(|(name, _)| name.clone());
        let lower = named(&over, &spec)?;
        let mut libraries = libraries.clone();
        libraries.all.retain(|known| known.name != library.name);
        libraries.all.push(Arc::new(library));
        let number = libraries.all.len() - 1;
        Ok(Self { libraries, specification, number, model: spec, lower })
    }

    /// The library.
    pub fn library(&self) -> &Library {
        &self.libraries.all[self.number]
    }

    /// All texts that an answer follows from.
    pub fn texts(&self) -> Vec<&str> {
        let all = self.libraries.all.iter().map(|library| &library.source);
        all.chain([&self.specification]).map(|source| source.text.as_str()).collect()
    }

    /// Checks one client.
    ///
    /// # Errors
    /// What is wrong with the library's text, found at a call of this client.
    pub fn check(&self, client: &Client, options: &Options) -> Result<Answer, String> {
        let program = text(client, self.library(), None);
        let source = Source::new("client", program.clone());
        let (test, errors) = lang::litmus::load(&source);
        let Some(test) = test else {
            if errors.iter().any(|error| NOT_CLIENTS.contains(&error.code)) {
                return Ok(Answer::IllFormed);
            }
            let reason = errors.first().map(|error| error.message.clone()).unwrap_or_default();
            return Err(format!("{reason}, in\n{program}"));
        };
        let first = |errors: Vec<Diagnostic>| {
            let with_help = |error: &Diagnostic| match &error.help {
                Some(help) => format!("{} ({help})", error.message),
                None => error.message.clone(),
            };
            let reason = errors.first().map(with_help).unwrap_or_default();
            format!("{reason}, in\n{program}")
        };
        let bound = options.loop_bound;
        let spec = match Question::new(&test, &self.model, &self.libraries, bound) {
            Ok(spec) => spec,
            Err(errors) if errors.iter().any(|error| MISUSES.contains(&error.code)) => {
                return Ok(Answer::IllFormed);
            }
            Err(errors) => return Err(first(errors)),
        };
        let is_limit = |errors: &[Diagnostic]| errors.iter().any(|error| error.code == LIMIT);
        let allowed = match spec.allowed(options) {
            Err(errors) if is_limit(&errors) => return Ok(Answer::Unknown(first(errors))),
            allowed => allowed.map_err(first)?,
        };
        if !allowed.complete {
            return Ok(Answer::Unknown(allowed.reason.unwrap_or_default()));
        }
        let lowered = inline(&test, &self.libraries, Depth::Only(self.number)).map_err(first)?;
        let lower = Question::new(&lowered, &self.lower, &self.libraries, bound).map_err(first)?;
        let mut session = match lower.session(options, |_| true) {
            Err(errors) if is_limit(&errors) => return Ok(Answer::Unknown(first(errors))),
            session => session.map_err(first)?,
        };
        let loops = match lower.loops(options) {
            Err(errors) if is_limit(&errors) => return Ok(Answer::Unknown(first(errors))),
            loops => loops.map_err(first)?,
        };
        let cut_off = !matches!(loops, Loops::Within(_));
        let within = session.counted();
        if matches!(session.find(&within), Found::Nothing) {
            return Ok(Answer::Nothing);
        }
        for outcome in &allowed.outcomes {
            session.block(outcome);
        }
        Ok(match session.find(&within) {
            Found::Nothing => Answer::Holds { outcomes: allowed.outcomes.len(), cut_off },
            Found::Unknown => Answer::Unknown("the time limit was reached".to_owned()),
            Found::Execution(execution) => {
                let found = self.counterexample(client, &execution.outcome, options)?;
                Answer::Refuted(Box::new(found))
            }
        })
    }

    fn counterexample(
        &self,
        client: &Client,
        outcome: &Outcome,
        options: &Options,
    ) -> Result<Counterexample, String> {
        // Once more with the verdict in the text, so that places are those of the text that is shown.
        let bare = text(client, self.library(), None);
        let (test, _) = lang::litmus::load(&Source::new("client", bare));
        let test: Test = test.ok_or("the client cannot be read again")?;
        let names = test.observables.iter().map(|observable| observable.name.clone());
        let shown: Vec<(String, Value)> = names.zip(outcome.0.iter().copied()).collect();
        let program = text(client, self.library(), Some(&shown));
        let source = Source::new("client", program.clone());
        let (test, errors) = lang::litmus::load(&source);
        let first = |errors: Vec<Diagnostic>| {
            errors.first().map(|error| error.message.clone()).unwrap_or_default()
        };
        let test = test.ok_or_else(|| first(errors))?;
        let index = |name: &str| test.observables.iter().position(|o| o.name == name);
        let wanted: Vec<(usize, Value)> =
            shown.iter().filter_map(|(name, value)| Some((index(name)?, *value))).collect();
        let bound = options.loop_bound;
        let lowered = inline(&test, &self.libraries, Depth::Only(self.number)).map_err(first)?;
        let lower = Question::new(&lowered, &self.lower, &self.libraries, bound).map_err(first)?;
        let execution = explain(&lower, options, &wanted).map_err(first)?.text(&source);
        let spec = Question::new(&test, &self.model, &self.libraries, bound).map_err(first)?;
        let forbidden = explain(&spec, options, &wanted).map_err(first)?.text(&source);
        Ok(Counterexample { program, outcome: shown, execution, forbidden })
    }
}

/// What is wrong with a library's text that only calls show: of bodies at the statement, of specifications at the method.
pub fn wrong_at_calls(libraries: &Libraries, library: &Library, model: &Model) -> Vec<Diagnostic> {
    let mut libraries = libraries.clone();
    libraries.all.push(Arc::new(library.clone()));
    let number = libraries.all.len() - 1;
    let mut found: Vec<Diagnostic> = Vec::new();
    let bounds = Bounds { plain: 0, size: 2, ..Bounds::default() };
    for client in clients(library, &[bounds], MOST).unwrap_or_default() {
        let source = Source::new("client", text(&client, library, None));
        let (Some(test), _) = lang::litmus::load(&source) else { continue };
        for (span, reason) in wrong_bodies(&test, &libraries, number) {
            found.push(Diagnostic::error("wrong-body", span, reason));
        }
        let Err(errors) = Question::new(&test, model, &libraries, Some(1)) else { continue };
        for error in errors.into_iter().filter(|error| error.code == "library-not-usable") {
            let method = library.methods.iter().find(|m| error.message.contains(&m.name));
            let span = method.map(|method| method.span).unwrap_or_default();
            found.push(Diagnostic { span, ..error });
        }
    }
    found.sort_by(|a, b| (a.span.start, &a.message).cmp(&(b.span.start, &b.message)));
    found.dedup_by(|a, b| a.span == b.span && a.message == b.message);
    found
}

/// Errors of programs that reach for what is on another node.
const NOT_CLIENTS: [&str; 3] = ["remote-cpu-access", "put-source-remote", "get-target-remote"];
