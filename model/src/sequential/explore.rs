//! All orders of the calls of a program.

use std::collections::{BTreeMap, BTreeSet};

use compiler::library::Libraries;
use lang::Test;
use lang::diagnostic::Diagnostic;
use lang::outcome::{Condition, Outcome};
use lang::program::ThreadId;
use lang::source::Span;
use rustc_hash::FxHashMap;

use super::program::{Program, State, Step};
use crate::allowed::as_warning;
use crate::engine::{Found, Refusal};
use crate::machine::{Blocked, Ending, Exploration, Limits, Place, Places};

/// A call that took place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    /// Its thread.
    pub thread: ThreadId,
    /// Its place.
    pub span: Span,
    /// What it returned, if something.
    pub result: Option<u64>,
}

/// Is there an order of the calls that gives an outcome?
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// One that does.
    Found(Vec<Taken>),
    /// None does: all states were visited.
    None {
        /// How many.
        states: usize,
        /// Some other order ends.
        ends: bool,
        /// Rules of libraries that orders break; these are left out.
        misuses: Vec<Diagnostic>,
    },
    /// A limit was reached.
    Unknown(String),
}

/// All outcomes of a test.
///
/// # Errors
/// What is wrong with a call or with a sequential object.
pub fn explore(test: &Test, libraries: &Libraries, limits: &Limits) -> Result<Found, Refusal> {
    let program = Program::new(test, libraries)?;
    let mut search = Search::new(&program, None);
    search.run(limits)?;
    search.found()
}

/// Looks for an order of the calls whose outcome is one of those asked about.
///
/// # Errors
/// As [`explore`].
pub fn order(
    test: &Test,
    libraries: &Libraries,
    (wanted, limits): (&Condition, &Limits),
) -> Result<Order, Refusal> {
    let program = Program::new(test, libraries)?;
    let mut search = Search::new(&program, Some(wanted));
    search.run(limits)?;
    let stopped = search.stopped.take();
    Ok(match (search.witness, stopped) {
        (Some(end), _) => Order::Found(search.way(end)),
        (None, Some(why)) => Order::Unknown(why),
        (None, None) => Order::None {
            states: search.before.len(),
            ends: !search.outcomes.is_empty(),
            misuses: search.misuses.into_values().map(as_warning).collect(),
        },
    })
}

/// The graph of states.
struct Search<'a> {
    program: &'a Program<'a>,
    numbers: FxHashMap<State, usize>,
    /// For each state, those from which a step leads there.
    before: Vec<Vec<usize>>,
    /// For each state, how it was reached first.
    from: Vec<Option<(usize, Taken)>>,
    /// The outcomes to look for, and the state that has one of them.
    wanted: Option<&'a Condition>,
    witness: Option<usize>,
    /// States from which there is no more to wait for: ends, and executions that are left out.
    ends: BTreeSet<usize>,
    outcomes: BTreeSet<Outcome>,
    misuses: BTreeMap<Span, Diagnostic>,
    transitions: u64,
    stopped: Option<String>,
}

impl<'a> Search<'a> {
    fn new(program: &'a Program<'a>, wanted: Option<&'a Condition>) -> Self {
        Self {
            program,
            numbers: FxHashMap::default(),
            before: Vec::new(),
            from: Vec::new(),
            wanted,
            witness: None,
            ends: BTreeSet::new(),
            outcomes: BTreeSet::new(),
            misuses: BTreeMap::new(),
            transitions: 0,
            stopped: None,
        }
    }

    fn run(&mut self, limits: &Limits) -> Result<(), Refusal> {
        let Step::Next(start, _) = self.program.start()? else { return Ok(()) };
        let mut open = vec![(start.clone(), self.number(&start, None).0)];
        while let Some((state, number)) = open.pop() {
            self.stopped = exceeded(limits, self.before.len(), &state);
            if self.stopped.is_some() {
                return Ok(());
            }
            if self.program.has_ended(&state) {
                self.end(&state, number);
            }
            if self.witness.is_some() {
                return Ok(());
            }
            for thread in 0..self.program.threads.len() {
                let Some(called) = self.program.call(&state, thread) else { continue };
                match self.program.step(&state, thread, called)? {
                    Step::Waits => {}
                    Step::LeftOut => {
                        self.ends.insert(number);
                    }
                    Step::Misuse(misuse) => self.misused(number, *misuse),
                    Step::Next(next, result) => {
                        self.transitions += 1;
                        let thread = ThreadId(thread);
                        let taken = Taken { thread, span: called.span, result };
                        let (after, is_new) = self.number(&next, Some((number, taken)));
                        self.before[after].push(number);
                        if is_new {
                            open.push((next, after));
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// The number of a state, and whether it is new.
    fn number(&mut self, state: &State, from: Option<(usize, Taken)>) -> (usize, bool) {
        if let Some(known) = self.numbers.get(state) {
            return (*known, false);
        }
        let number = self.before.len();
        self.numbers.insert(state.clone(), number);
        self.before.push(Vec::new());
        self.from.push(from);
        (number, true)
    }

    fn end(&mut self, state: &State, number: usize) {
        let Program { test, libraries, .. } = self.program;
        match state.kept.end(&test.program, libraries) {
            Ok(()) => {
                self.ends.insert(number);
                let outcome = self.program.outcome(state);
                if self.wanted.is_some_and(|wanted| wanted.holds(&outcome)) {
                    self.witness = Some(number);
                }
                self.outcomes.insert(outcome);
            }
            Err(misuse) => self.misused(number, *misuse),
        }
    }

    /// The calls that lead to a state.
    fn way(&self, end: usize) -> Vec<Taken> {
        let mut way = Vec::new();
        let mut at = end;
        while let Some((earlier, taken)) = &self.from[at] {
            way.push(taken.clone());
            at = *earlier;
        }
        way.reverse();
        way
    }

    fn misused(&mut self, number: usize, misuse: Diagnostic) {
        self.ends.insert(number);
        self.misuses.entry(misuse.span).or_insert(misuse);
    }

    fn found(self) -> Result<Found, Refusal> {
        let complete = self.stopped.is_none();
        let stuck = if complete { self.stuck() } else { BTreeSet::new() };
        if complete && self.outcomes.is_empty() && stuck.is_empty() && !self.misuses.is_empty() {
            return Err(Refusal::Bad(self.misuses.into_values().collect()));
        }
        let at = |(thread, place): (usize, &Option<Place>)| {
            Some(Blocked { thread: ThreadId(thread), span: (*place)?.at() })
        };
        let blocked = stuck.iter().flat_map(|way| way.iter().enumerate().filter_map(at)).collect();
        let ending = match (complete, stuck.is_empty()) {
            (false, _) => Ending::Unknown,
            (true, true) => Ending::Always,
            (true, false) => Ending::NotAlways(stuck),
        };
        let (states, transitions) = (self.before.len() as u64, self.transitions);
        let (outcomes, reason) = (self.outcomes, self.stopped);
        let all = Exploration { outcomes, complete, reason, states, transitions, blocked };
        let mut found = Found::explored(all, ending);
        found.allowed.misuses = self.misuses.into_values().map(as_warning).collect();
        Ok(found)
    }

    /// Where threads wait in states from which no steps lead to an end: in those without any step, or else in
    /// one of those that go round for ever.
    fn stuck(&self) -> BTreeSet<Places> {
        let mut ends = vec![false; self.before.len()];
        let mut open: Vec<usize> = self.ends.iter().copied().collect();
        while let Some(number) = open.pop() {
            if !std::mem::replace(&mut ends[number], true) {
                open.extend(&self.before[number]);
            }
        }
        let mut has_step = vec![false; self.before.len()];
        self.before.iter().flatten().for_each(|number| has_step[*number] = true);
        let lost = self.numbers.iter().filter(|(_, number)| !ends[**number]);
        let halted = lost.clone().filter(|(_, number)| !has_step[**number]);
        let mut places: BTreeSet<Places> =
            halted.map(|(state, _)| self.program.places(state)).collect();
        if places.is_empty()
            && let Some((state, _)) = lost.max_by_key(|(_, number)| **number)
        {
            places.insert(self.program.places(state));
        }
        places
    }
}

/// The limit of stored states that is reached, if one is. Calls look at the others.
fn exceeded(limits: &Limits, states: usize, state: &State) -> Option<String> {
    let words: usize = state.words.iter().map(Vec::len).sum();
    // A state is stored once, and may be in the list of those to go on from; lists take twice their content.
    let size = 4 * size_of::<State>() + 32 * (state.registers.len() + words + state.at.len() + 8);
    limits.exceeded_by(states, size)
}
