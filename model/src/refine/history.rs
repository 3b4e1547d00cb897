//! Is an implementation linearizable? Of each client: is each history one of the sequential object?
//!
//! A history is what calls return, and which call returned before another began, in the order of the
//! machine's steps, with the implementations of all libraries. It is linearizable if the calls, one after
//! another in some order, return the same; a call that returned before another began comes first. If the
//! client cannot end, the sequential object must be stuck too: after the calls that returned, none of those
//! that do not come back may take place.

mod order;
mod picture;

use std::collections::HashMap;
use std::ops::ControlFlow;

use compiler::library::{Depth, inline};
use lang::Test;
use lang::diagnostic::Diagnostic;
use lang::outcome::{Observed, Outcome, Value};
use lang::program::RegisterId;
use lang::source::{Source, Span};

use super::answer::{Answer, Counterexample, Wrong};
use super::clients::{Client, Op};
use super::steps::numbered;
use super::stuck::{SERVICE_STUCK, STATES, where_stuck};
use super::text::{kept, text};
use super::{NOT_CLIENTS, Refinement};
use crate::allowed::Options;
use crate::asking::{Refused, first_message};
use crate::machine::{Exploration, Histories, Limits, Stuck, Variant, Witness};
use crate::sequential::object::{Call, Objects};
use order::{Happened, History, Progress};
use picture::{Drawn, picture};

/// Why a history is wrong.
const NO_ORDER: &str = "No order of the calls gives these results, if a call that returned before another began comes first.";

/// A call in a client's text.
struct Written {
    call: Call,
    /// The thread, by its position in the text.
    thread: usize,
    /// Its place in the text.
    span: Span,
    /// The register that takes its result.
    result: Option<RegisterId>,
    /// The calls of its thread before it.
    earlier: Vec<usize>,
    /// For other threads: the register that has how many of their calls returned before it began.
    after: Vec<(usize, RegisterId)>,
    /// It is the so-manieth of its thread that takes steps, from 1; 0 if it takes none.
    ordinal: usize,
}

/// A client whose histories are looked at.
struct Timed<'a> {
    source: &'a Source,
    test: &'a Test,
    objects: Objects<'a>,
    written: Vec<Written>,
    histories: &'a Histories,
    /// By register: what outcomes show it as.
    shown: HashMap<RegisterId, usize>,
}

impl Refinement {
    /// Checks the histories of one client.
    pub(super) fn by_histories(
        &self,
        client: &Client,
        options: &Options,
    ) -> Result<Answer, String> {
        let program = text(client, self.library(), None);
        let source = Source::new("client", program.clone());
        let wrong = |errors: Vec<Diagnostic>| format!("{}, in\n{program}", first_message(&errors));
        let (test, errors) = lang::litmus::load(&source);
        let Some(test) = test else {
            return match errors.iter().any(|error| NOT_CLIENTS.contains(&error.code)) {
                true => Ok(Answer::IllFormed),
                false => Err(wrong(errors)),
            };
        };
        if let Some(found) = self.misuse_of_lower(&test, options) {
            return Ok(Answer::Refuted(Box::new(Counterexample::misuse(&program, &found))));
        }
        let full = inline(&test, &self.libraries, Depth::Full).map_err(wrong)?;
        let Some(variant) = self.lower.machine.as_deref().and_then(Variant::from_name) else {
            return Ok(Answer::Unknown(format!("the model `{}` has no machine", self.lower.name)));
        };
        let histories = match Histories::of(&full, variant) {
            Ok(histories) => histories,
            Err(error) => return Err(error.diagnostic().message),
        };
        let objects = Objects::new(self.library(), &test.program);
        let written = self.written(client, &test, &histories);
        let registers = histories.observables().iter().enumerate();
        let registers = registers.filter_map(|(index, observable)| match observable.what {
            Observed::Register(register) => Some((register, index)),
            _ => None,
        });
        let shown = registers.collect();
        let (source, test, histories) = (&source, &test, &histories);
        let timed = Timed { source, test, objects, written, histories, shown };
        timed.check(options)
    }

    /// A rule of a lower library that a body breaks whatever happens.
    fn misuse_of_lower(&self, test: &Test, options: &Options) -> Option<Diagnostic> {
        let lowered = inline(test, &self.libraries, Depth::Only(self.number)).ok()?;
        if self.libraries.used(&lowered.program).is_empty() {
            return None;
        }
        match self.implementation(&lowered, options) {
            Err(refused @ Refused::Misuse(_)) => refused.misuse().cloned(),
            _ => None,
        }
    }

    fn written(&self, client: &Client, test: &Test, histories: &Histories) -> Vec<Written> {
        let mut all: Vec<Written> = Vec::new();
        for (thread, number) in kept(client).into_iter().enumerate() {
            let mut earlier = Vec::new();
            let body = &test.program.threads[thread].body;
            for (op, stmt) in client.threads[number].1.iter().zip(body) {
                let Op::Call { method, objects, values, .. } = op else { continue };
                let lang::program::StmtKind::Call(called) = &stmt.kind else { continue };
                let position = |object: &Option<String>| {
                    let mut known = test.program.objects.iter();
                    known.position(|known| Some(&known.name) == object.as_ref())
                };
                let named = [&called.object, &called.source].into_iter().filter_map(position);
                let timed = histories.calls[thread].iter();
                let ordinal = timed.clone().position(|call| call.span == stmt.span);
                let after = ordinal.map_or(&[][..], |at| &histories.calls[thread][at].after);
                let call = Call {
                    method: self.library().methods[*method].name.clone(),
                    objects: named.take(objects.len()).collect(),
                    values: values.clone(),
                };
                let number = all.len();
                all.push(Written {
                    call,
                    thread,
                    span: stmt.span,
                    result: called.register,
                    earlier: earlier.clone(),
                    after: after.iter().map(|(other, register)| (other.0, *register)).collect(),
                    ordinal: ordinal.map_or(0, |at| at + 1),
                });
                earlier.push(number);
            }
        }
        all
    }
}

impl Timed<'_> {
    fn check(&self, options: &Options) -> Result<Answer, String> {
        let limits = Limits { states: STATES, until: options.limits.clone(), ..Limits::default() };
        let mut judged: Result<Option<Answer>, String> = Ok(None);
        let found = self.histories.explore(limits.clone(), |found, stuck| {
            if found.outcomes.is_empty() || found.outcomes.iter().all(|one| self.is_right(one)) {
                judged = self.is_stuck(&stuck);
            }
            match judged {
                Ok(None) => ControlFlow::Continue(()),
                _ => ControlFlow::Break(()),
            }
        });
        for outcome in &found.outcomes {
            if self.history_of(outcome).order(false)?.is_none() {
                return Ok(Answer::Refuted(Box::new(self.counterexample(outcome, limits))));
            }
        }
        match (judged?, found) {
            (Some(answer), _) => Ok(answer),
            (None, Exploration { reason: Some(reason), .. }) => Ok(Answer::Unknown(reason)),
            (None, found) if found.outcomes.is_empty() => Ok(Answer::Nothing),
            (None, found) => Ok(Answer::Holds { outcomes: found.outcomes.len(), cut_off: false }),
        }
    }

    /// What is wrong with the sequential object itself is reported later.
    fn is_right(&self, outcome: &Outcome) -> bool {
        !matches!(self.history_of(outcome).order(false), Ok(None))
    }

    fn history_of(&self, outcome: &Outcome) -> History<'_> {
        let word = |register: RegisterId| {
            let index = self.shown.get(&register)?;
            outcome.0.get(*index)?.word()
        };
        self.history(word, |_| Progress::Returned)
    }

    /// The history with these values of registers, in which calls came so far.
    fn history(
        &self,
        word: impl Fn(RegisterId) -> Option<u64>,
        came: impl Fn(&Written) -> Progress,
    ) -> History<'_> {
        let happened = self.written.iter().map(|written| {
            let returned = |(other, register): &(usize, RegisterId)| {
                let count = word(*register).unwrap_or(0) as usize;
                let calls = self.written.iter().enumerate();
                let calls = calls.filter(move |(_, call)| {
                    call.thread == *other && (1..=count).contains(&call.ordinal)
                });
                calls.map(|(number, _)| number).collect::<Vec<usize>>()
            };
            let mut after = written.earlier.clone();
            after.extend(written.after.iter().flat_map(returned));
            let result = written.result.and_then(&word);
            Happened { call: written.call.clone(), result, after, came: came(written) }
        });
        History { objects: &self.objects, calls: happened.collect() }
    }

    fn counterexample(&self, outcome: &Outcome, limits: Limits) -> Counterexample {
        let history = self.history_of(outcome);
        let steps = match self.histories.witness(outcome, limits) {
            Witness::Steps(steps) => numbered(&steps),
            _ => "  (a limit was reached before its steps were found again)\n".to_owned(),
        };
        let forbidden = format!("{}\n{NO_ORDER}", self.picture(&history));
        let names = self.test.observables.iter().map(|observable| observable.name.clone());
        Counterexample {
            wrong: Wrong::History,
            program: self.source.text.clone(),
            outcome: names.zip(outcome.0.iter().copied()).collect(),
            execution: format!(
                "the machine, with the implementations of all libraries:\n\n{steps}"
            ),
            forbidden,
        }
    }

    fn label(&self, written: &Written, happened: &Happened) -> String {
        let call = &self.source.text[written.span.range()];
        match happened.result {
            Some(result) => format!("{call} → {}", Value::of_word(result)),
            None => call.to_owned(),
        }
    }

    fn picture(&self, history: &History<'_>) -> String {
        let all = self.written.iter().zip(&history.calls);
        let drawn = all.map(|(written, happened)| Drawn {
            thread: written.thread + 1,
            label: self.label(written, happened),
            after: happened.after.clone(),
        });
        picture(&drawn.collect::<Vec<_>>())
    }

    /// What a state from which no execution ends says; nothing if the sequential object is stuck there too.
    fn is_stuck(&self, stuck: &Stuck) -> Result<Option<Answer>, String> {
        let line = |span: Span| self.source.line_column(span.start).0;
        let came = |written: &Written| match stuck.at[written.thread] {
            // Behind its calls, a thread ends services.
            Some(at) if at.is_nowhere() => Progress::Returned,
            Some(at) if line(written.span) == line(at) => Progress::Begun,
            Some(at) if line(written.span) > line(at) => Progress::NotBegun,
            _ => Progress::Returned,
        };
        let word = |register: RegisterId| stuck.registers.get(register.0).copied();
        let mut history = self.history(word, came);
        // What calls read that did not return, and what they will, nothing says.
        for (happened, written) in history.calls.iter_mut().zip(&self.written) {
            if happened.came != Progress::Returned {
                happened.after.clone_from(&written.earlier);
                happened.result = None;
            }
        }
        if self.written.iter().all(|written| came(written) == Progress::Returned) {
            return Ok(Some(self.stuck(stuck, came, SERVICE_STUCK.to_owned())));
        }
        // What they have returned may be wrong already.
        if history.order(false)?.is_none() {
            let forbidden = format!("{}\n{NO_ORDER}", self.picture(&history));
            return Ok(Some(self.stuck(stuck, came, forbidden)));
        }
        let Some(order) = history.order(true)? else { return Ok(None) };
        let ways = order
            .iter()
            .map(|call| format!("  {}\n", self.label(&self.written[*call], &history.calls[*call])));
        let forbidden = format!(
            "With what has been returned, the sequential object lets one more call return, in this \
             order:\n\n{}",
            ways.collect::<String>()
        );
        Ok(Some(self.stuck(stuck, came, forbidden)))
    }

    /// A state from which no execution ends, and why that refutes the implementation.
    fn stuck(
        &self,
        stuck: &Stuck,
        came: impl Fn(&Written) -> Progress,
        forbidden: String,
    ) -> Answer {
        let word = |register: RegisterId| stuck.registers.get(register.0).copied();
        let returned = self.test.observables.iter().filter_map(|observable| {
            let Observed::Register(register) = observable.what else { return None };
            let of =
                |one: &&Written| one.result == Some(register) && came(one) == Progress::Returned;
            self.written.iter().find(of)?;
            Some((observable.name.clone(), Value::of_word(word(register)?)))
        });
        Answer::Refuted(Box::new(Counterexample {
            wrong: Wrong::Stuck,
            program: self.source.text.clone(),
            outcome: returned.collect(),
            execution: where_stuck(self.source, stuck),
            forbidden,
        }))
    }
}
