//! A program with its objects: what a step of a thread does.

use compiler::code::Flow;
use compiler::library::Libraries;
use lang::Test;
use lang::diagnostic::{Code, Diagnostic};
use lang::outcome::{Observed, Outcome, Value};

use super::calls::{Called, steps};
use super::object::{Objects, State as Words};
use super::rules::Kept;
use crate::engine::Refusal;
use crate::machine::{Place, Places};

/// The most steps that a thread takes without a call.
const STRETCH: usize = 1_000_000;

/// A state: each thread is at a call, at its end, or goes round for ever without a call.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State {
    /// Where each thread is in its steps.
    pub at: Vec<usize>,
    pub registers: Vec<u64>,
    /// The words of the objects of each library.
    pub words: Vec<Words>,
    pub kept: Kept,
}

/// How a step of a thread ends.
pub enum Step {
    /// The state after it, and what the call returned.
    Next(State, Option<u64>),
    /// The call does not return from there.
    Waits,
    /// The execution does not count.
    LeftOut,
    /// It breaks a rule of a library.
    Misuse(Box<Diagnostic>),
}

/// A program with its objects.
pub struct Program<'a> {
    pub test: &'a Test,
    pub libraries: &'a Libraries,
    pub threads: Vec<Vec<Flow<Called>>>,
    /// The libraries that are called, by their numbers, and their objects.
    objects: Vec<(usize, Objects<'a>)>,
}

impl<'a> Program<'a> {
    /// The program, with the libraries that it calls.
    ///
    /// # Errors
    /// Statements that are nested too deeply.
    pub fn new(test: &'a Test, libraries: &'a Libraries) -> Result<Self, Refusal> {
        let threads = steps(&test.program, libraries)
            .map_err(|error| Refusal::Bad(vec![error.diagnostic()]))?;
        let used = libraries.used(&test.program).into_iter();
        let of = |number: usize| Objects::new(&libraries.all[number], &test.program);
        let objects = used.map(|number| (number, of(number))).collect();
        Ok(Self { test, libraries, threads, objects })
    }

    /// The first state, where each thread is at its first call.
    ///
    /// # Errors
    /// As [`Program::step`].
    pub fn start(&self) -> Result<Step, Refusal> {
        let mut state = State {
            at: vec![0; self.threads.len()],
            registers: vec![0; self.test.program.registers.len()],
            words: self.objects.iter().map(|(_, objects)| objects.initial.clone()).collect(),
            kept: Kept::default(),
        };
        for thread in 0..self.threads.len() {
            if !self.advance(&mut state, thread)? {
                return Ok(Step::LeftOut);
            }
        }
        Ok(Step::Next(state, None))
    }

    /// Takes a thread to its next call, or to its end; or to where it goes round for ever. Whether the
    /// execution counts.
    fn advance(&self, state: &mut State, thread: usize) -> Result<bool, Refusal> {
        let mut known = (usize::MAX, Vec::new());
        for step in 0..STRETCH {
            if known.0 == state.at[thread] && known.1 == state.registers {
                return Ok(true);
            }
            if step.is_power_of_two() {
                known = (state.at[thread], state.registers.clone());
            }
            match self.threads[thread].get(state.at[thread]) {
                None | Some(Flow::Action(_)) => return Ok(true),
                Some(step) => {
                    if !step.take(&mut state.at[thread], &mut state.registers) {
                        return Ok(false);
                    }
                }
            }
        }
        Err(Refusal::Unsupported(format!("a thread takes {STRETCH} steps without a call")))
    }

    /// The call at which a thread is, unless it has ended.
    pub fn call(&self, state: &State, thread: usize) -> Option<&Called> {
        match self.threads[thread].get(state.at[thread]) {
            Some(Flow::Action(called)) => Some(called),
            _ => None,
        }
    }

    /// Lets a thread's call take place, and the thread go on to its next one.
    ///
    /// # Errors
    /// What is wrong with the sequential object, or too many steps without a call.
    pub fn step(&self, state: &State, thread: usize, called: &Called) -> Result<Step, Refusal> {
        let Some(library) = self.objects.iter().position(|(one, _)| *one == called.library) else {
            return Ok(Step::Waits);
        };
        let mut next = state.clone();
        let kept = next.kept.call((thread, called), (&self.test.program, self.libraries));
        if let Err(misuse) = kept {
            return Ok(Step::Misuse(misuse));
        }
        let call = called.with(&state.registers);
        let taken = self.objects[library].1.take(&call, &mut next.words[library]);
        let taken = taken.map_err(|wrong| {
            let message = format!("`{}`: {wrong}", called.method);
            Refusal::Bad(vec![Diagnostic::error(Code::LibraryNotUsable, called.span, message)])
        })?;
        let Some(result) = taken else { return Ok(Step::Waits) };
        if let (Some(register), Some(result)) = (called.register, result) {
            next.registers[register.0] = result;
        }
        next.at[thread] += 1;
        Ok(if self.advance(&mut next, thread)? { Step::Next(next, result) } else { Step::LeftOut })
    }

    /// Whether all threads have ended.
    pub fn has_ended(&self, state: &State) -> bool {
        self.threads.iter().zip(&state.at).all(|(steps, at)| *at == steps.len())
    }

    /// The values of the test's observables.
    pub fn outcome(&self, state: &State) -> Outcome {
        let value = |observed: Observed| match observed {
            Observed::Register(register) => Value::of_word(state.registers[register.0]),
            // Nobody writes it: programs with accesses are refused.
            Observed::Location(location) => {
                Value::of_word(self.test.program.locations[location.0].initial)
            }
            Observed::Copy(..) => Value::Bottom,
        };
        Outcome(self.test.observables.iter().map(|observable| value(observable.what)).collect())
    }

    /// Where the threads are that have not ended.
    pub fn places(&self, state: &State) -> Places {
        let at = |thread| self.call(state, thread).map(|called| Place::Thread(called.span));
        (0..self.threads.len()).map(at).collect()
    }
}
