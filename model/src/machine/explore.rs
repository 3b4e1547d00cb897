//! All outcomes of a test: every reachable state, depth first.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use compiler::code::CompileError;
use lang::Test;
use lang::outcome::Outcome;
use lang::program::ThreadId;
use lang::source::Span;

use super::encode::{Dead, StateSet};
use super::fault::FaultSet;
use super::footprint::Footprints;
use super::reduce::{Part, Reduction, Settled};
use super::rules::{Effect, Machine, QUEUE_LIMIT, Transition, Variant};
use super::state::State;

/// When to give up.
#[derive(Clone, Copy, Debug)]
pub struct Limits<'a> {
    /// How many states may be stored.
    pub states: u64,
    /// How many bytes they may take.
    pub memory: usize,
    /// When to stop at the latest.
    pub deadline: Option<Instant>,
    /// Stop when somebody sets this.
    pub stop: Option<&'a AtomicBool>,
}

impl Default for Limits<'_> {
    /// 50 million states, 4 GiB, no deadline.
    fn default() -> Self {
        Self { states: 50_000_000, memory: 4 << 30, deadline: None, stop: None }
    }
}

/// How much of the state space to leave out; outcomes do not depend on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Effort {
    /// Every transition of the rules, every state.
    None,
    /// Steps that touch no memory are taken at once or together with one that does.
    Eager,
    /// Also only stubborn sets of the others, and without values that nothing will look at.
    #[default]
    Full,
}

/// What exploration found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exploration {
    /// Outcomes over the test's observables.
    pub outcomes: BTreeSet<Outcome>,
    /// Whether these are all.
    pub complete: bool,
    /// If not, which limit was hit.
    pub reason: Option<String>,
    /// How many states were stored.
    pub states: u64,
    /// How many transitions were taken.
    pub transitions: u64,
    /// Statements at which some execution waits forever, by thread.
    pub blocked: BTreeSet<Blocked>,
}

/// A statement that waits forever in some execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Blocked {
    /// Whose.
    pub thread: ThreadId,
    /// The statement.
    pub span: Span,
}

/// All outcomes of a test on the correct machine.
///
/// # Errors
/// Statements without operational meaning in this variant.
pub fn explore(
    test: &Test,
    variant: Variant,
    limits: Limits<'_>,
) -> Result<Exploration, CompileError> {
    explore_with(test, variant, FaultSet::NONE, Effort::Full, limits)
}

/// The same on a machine that may be broken, with less reduction. Broken machines are not reduced.
///
/// # Errors
/// Statements without operational meaning in this variant.
pub fn explore_with(
    test: &Test,
    variant: Variant,
    faults: FaultSet,
    effort: Effort,
    limits: Limits<'_>,
) -> Result<Exploration, CompileError> {
    let machine = Machine::new(test, variant, faults)?;
    let owners: Vec<usize> =
        test.program.registers.iter().map(|register| register.thread.0).collect();
    let footprints = Footprints::new(&machine.code, &owners, &machine.lock, &machine.observed);
    let effort = if faults.is_empty() { effort } else { Effort::None };
    let mut explorer = Explorer {
        machine: &machine,
        footprints: &footprints,
        effort,
        limits,
        seen: StateSet::default(),
        stack: Vec::new(),
        key: Vec::new(),
        found: Exploration::default(),
    };
    let stopped = explorer.run();
    let mut found = explorer.found;
    found.states = explorer.seen.len() as u64;
    found.complete = stopped.is_none();
    found.reason = stopped;
    Ok(found)
}

struct Explorer<'a> {
    machine: &'a Machine,
    footprints: &'a Footprints,
    effort: Effort,
    limits: Limits<'a>,
    seen: StateSet,
    stack: Vec<usize>,
    key: Vec<u8>,
    found: Exploration,
}

/// How many steps that have no alternative are taken before their state is stored.
const CHAIN: usize = 1000;

impl Explorer<'_> {
    /// Explores; what stopped it before it was done.
    fn run(&mut self) -> Option<String> {
        let mut state = self.machine.initial().clone();
        let mut next = state.clone();
        let mut reduction = Reduction::default();
        let mut choices = Vec::new();
        if let Err(reason) = self.arrive(&mut next, &mut reduction) {
            return Some(reason);
        }
        while let Some(number) = self.stack.pop() {
            if let Some(reason) = self.limit(number) {
                return Some(reason);
            }
            self.machine.decode(self.seen.get(number), &mut state);
            let result = if self.effort == Effort::None {
                self.expand_plainly(&state, &mut next)
            } else {
                self.expand(&mut state, &mut next, &mut reduction, &mut choices)
            };
            if let Err(reason) = result {
                return Some(reason);
            }
        }
        None
    }

    /// Every transition of the rules.
    fn expand_plainly(&mut self, state: &State, next: &mut State) -> Result<(), String> {
        let mut terminal = true;
        for agent in self.machine.agents() {
            let mut slots = self.machine.slots(state, agent);
            terminal &= slots == 0;
            while slots != 0 {
                let slot = slots.trailing_zeros() as usize;
                slots &= slots - 1;
                next.assign(state);
                self.found.transitions += 1;
                match self.machine.apply(next, Transition { agent, slot }) {
                    Effect::Continue => self.store(next),
                    Effect::AssumeFailed => {}
                    Effect::QueueFull => return Err(queue_full()),
                }
            }
        }
        if terminal {
            self.terminal(state);
        }
        Ok(())
    }

    /// The chosen steps of the reduced machine.
    fn expand(
        &mut self,
        state: &mut State,
        next: &mut State,
        reduction: &mut Reduction,
        choices: &mut Vec<Part>,
    ) -> Result<(), String> {
        let transitions = &mut self.found.transitions;
        let settled = self.machine.settle(state, &mut |_, _| *transitions += 1);
        match settled {
            Settled::Yes => {}
            Settled::NotYet => {
                self.store(state);
                return Ok(());
            }
            Settled::AssumeFailed => return Ok(()),
            Settled::QueueFull => return Err(queue_full()),
        }
        if !reduction.look(self.machine, self.footprints, state) {
            self.terminal(state);
            return Ok(());
        }
        self.choose(reduction, choices);
        for part in choices.iter() {
            next.assign(state);
            if self.step(next, part)? {
                self.arrive(next, reduction)?;
            }
        }
        Ok(())
    }

    fn choose(&self, reduction: &mut Reduction, choices: &mut Vec<Part>) {
        choices.clear();
        if self.effort == Effort::Full {
            choices.extend(reduction.choose(self.footprints));
        } else {
            choices.extend(reduction.all());
        }
    }

    /// Takes one step; whether the execution still counts.
    fn step(&mut self, state: &mut State, part: &Part) -> Result<bool, String> {
        let transitions = &mut self.found.transitions;
        match self.machine.apply_part(state, part, &mut |_, _| *transitions += 1) {
            Effect::Continue => Ok(true),
            Effect::AssumeFailed => Ok(false),
            Effect::QueueFull => Err(queue_full()),
        }
    }

    /// Settles a state and goes on while there is only one step to take; then stores what it has come to.
    fn arrive(&mut self, state: &mut State, reduction: &mut Reduction) -> Result<(), String> {
        if self.effort == Effort::None {
            self.store(state);
            return Ok(());
        }
        for _ in 0..CHAIN {
            let transitions = &mut self.found.transitions;
            match self.machine.settle(state, &mut |_, _| *transitions += 1) {
                Settled::Yes => {}
                Settled::NotYet => break,
                Settled::AssumeFailed => return Ok(()),
                Settled::QueueFull => return Err(queue_full()),
            }
            if self.effort != Effort::Full {
                break;
            }
            if !reduction.look(self.machine, self.footprints, state) {
                self.terminal(state);
                return Ok(());
            }
            let mut steps = reduction.choose(self.footprints);
            let (first, second) = (steps.next(), steps.next());
            drop(steps);
            match (first, second) {
                (Some(only), None) => {
                    if !self.step(state, &only)? {
                        return Ok(());
                    }
                }
                _ => break,
            }
        }
        self.store(state);
        Ok(())
    }

    fn store(&mut self, state: &State) {
        self.key.clear();
        let dead = Dead { footprints: self.footprints };
        let dead = (self.effort == Effort::Full).then_some(&dead);
        self.machine.encode(state, dead, &mut self.key);
        if let Some(number) = self.seen.insert(&self.key) {
            self.stack.push(number);
        }
    }

    /// A state from which no transition leads on.
    fn terminal(&mut self, state: &State) {
        if self.machine.is_final(state) {
            self.found.outcomes.insert(self.machine.outcome(state));
            return;
        }
        for (index, code) in self.machine.code.threads.iter().enumerate() {
            if let Some(span) = code.spans.get(state.threads[index].pc) {
                self.found.blocked.insert(Blocked { thread: ThreadId(index), span: *span });
            }
        }
    }

    fn limit(&self, number: usize) -> Option<String> {
        if self.seen.len() as u64 > self.limits.states {
            return Some(format!("more than {} states", self.limits.states));
        }
        if self.seen.memory() > self.limits.memory {
            return Some(format!("states need more than {} bytes", self.limits.memory));
        }
        if self.limits.stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
            return Some("stopped".to_owned());
        }
        // Reading the clock costs about as much as a small state.
        if number.is_multiple_of(64)
            && self.limits.deadline.is_some_and(|deadline| Instant::now() >= deadline)
        {
            return Some("out of time".to_owned());
        }
        None
    }
}

fn queue_full() -> String {
    format!("a queue holds more than {QUEUE_LIMIT} entries")
}
