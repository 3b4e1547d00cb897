//! All outcomes of a test: every reachable state, depth first.

use std::collections::BTreeSet;

use compiler::code::CompileError;
use lang::Test;
use lang::limits::{self, Size};
use lang::outcome::Outcome;
use lang::program::{Program, ThreadId};
use lang::source::Span;

use super::describe::{describe, is_control};
use super::encode::Dead;
use super::fault::FaultSet;
use super::footprint::Footprints;
use super::progress::Graph;
use super::reduce::Settled;
use super::rma;
use super::rules::{Effect, Machine, QUEUE_LIMIT, Transition, Variant};
use super::seen::StateSet;
use super::state::State;
use super::stubborn::{Part, Reduction};

/// When to give up.
#[derive(Clone, Debug)]
pub struct Limits {
    /// How many states may be stored.
    pub states: u64,
    /// How many bytes they may take.
    pub memory: usize,
    /// The limits of everything.
    pub until: limits::Limits,
}

impl Default for Limits {
    /// 50 million states, 4 GiB.
    fn default() -> Self {
        Self { states: 50_000_000, memory: 4 << 30, until: limits::Limits::default() }
    }
}

/// How much of the state space to leave out; outcomes do not depend on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Effort {
    /// Every transition of the rules, every state.
    None,
    /// Steps that touch no memory are taken at once or together with one that does.
    Eager,
    /// Also only stubborn sets of the others.
    Stubborn,
    /// Also without values that nothing will look at.
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

impl Exploration {
    /// Notes that a limit was hit.
    pub(super) fn is_cut_off(&mut self, reason: String) {
        self.complete = false;
        self.reason.get_or_insert(reason);
    }
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
pub fn explore(test: &Test, variant: Variant, limits: Limits) -> Result<Exploration, CompileError> {
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
    limits: Limits,
) -> Result<Exploration, CompileError> {
    if let Variant::CoreRma(rules) = variant {
        rma::check_faults(faults)?;
        return rma::explore(test, rules, limits);
    }
    let machine = Machine::new(test, variant, faults)?;
    let footprints = Footprints::of(test, &machine);
    let mut explorer = Explorer::new(test, &machine, &footprints, effort, limits);
    let stopped = explorer.run();
    Ok(explorer.take_found(stopped))
}

pub(super) struct Explorer<'a> {
    pub machine: &'a Machine,
    footprints: &'a Footprints,
    effort: Effort,
    limits: Limits,
    pub seen: StateSet,
    /// Stored states that are not expanded yet.
    stack: Vec<usize>,
    /// Set if somebody wants to know how an outcome comes about.
    pub search: Option<Search>,
    /// Set if somebody wants to know from where executions can end.
    pub graph: Option<Graph>,
    pub steps_taken: Steps<'a>,
    key: Vec<u8>,
    choices: Vec<Part>,
    found: Exploration,
}

/// The search for an outcome.
pub(super) struct Search {
    pub outcome: Outcome,
    /// By stored state, the one that it was reached from; itself for the first.
    pub parents: Vec<usize>,
    /// The state that is being expanded.
    pub current: usize,
    /// Whether the outcome has been reached, from the current state.
    pub reached: bool,
}

/// Counts steps, and puts them into words if there is somewhere to put them.
pub(super) struct Steps<'a> {
    machine: &'a Machine,
    program: &'a Program,
    pub count: u64,
    pub words: Option<Vec<String>>,
    /// Leaves out steps of control: jumps, and variables that no program names.
    pub brief: bool,
}

impl Steps<'_> {
    fn note(&mut self, state: &State, transition: Transition) {
        self.count += 1;
        if let Some(words) = &mut self.words
            && !(self.brief && is_control(self.program, self.machine, state, transition))
        {
            words.push(describe(self.program, self.machine, state, transition));
        }
    }
}

/// What looks at each state that a step has come to; true to look at no more.
pub(super) type Done<'d, 'a> = &'d mut dyn FnMut(&Explorer<'a>, &State) -> bool;

/// How many steps that have no alternative are taken before their state is stored.
const CHAIN: usize = 1000;

impl<'a> Explorer<'a> {
    /// Ready to run; broken machines are not reduced.
    pub fn new(
        test: &'a Test,
        machine: &'a Machine,
        footprints: &'a Footprints,
        effort: Effort,
        limits: Limits,
    ) -> Self {
        let program = &test.program;
        Self {
            machine,
            footprints,
            effort: if machine.faults.is_empty() { effort } else { Effort::None },
            limits,
            seen: StateSet::default(),
            stack: Vec::new(),
            search: None,
            graph: None,
            steps_taken: Steps { machine, program, count: 0, words: None, brief: false },
            key: Vec::new(),
            choices: Vec::new(),
            found: Exploration::default(),
        }
    }

    /// Explores; what stopped it before it was done.
    pub fn run(&mut self) -> Option<String> {
        self.run_from(self.machine.initial().clone())
    }

    /// Explores from a state on.
    pub fn run_from(&mut self, mut state: State) -> Option<String> {
        let mut next = state.clone();
        let mut reduction = Reduction::default();
        self.forget_current();
        if let Err(reason) = self.arrive(&mut next, &mut reduction) {
            return Some(reason);
        }
        while let Some(number) = self.stack.pop() {
            if let Some(graph) = &mut self.graph {
                graph.current = Some(number);
            }
            if let Some(search) = &mut self.search {
                if search.reached {
                    return None;
                }
                search.current = number;
            }
            let expanded = self.limit(number).map_or(Ok(()), Err).and_then(|()| {
                self.machine.decode(self.seen.get(number), &mut state);
                self.expand(&mut state, &mut next, &mut reduction, &mut |_, _| false)
            });
            if let Err(reason) = expanded {
                self.stack.push(number);
                return Some(reason);
            }
        }
        None
    }

    /// Takes every step, or every chosen one, from a state, in `next`; until `done` says so of what a step has
    /// come to.
    pub fn expand(
        &mut self,
        state: &mut State,
        next: &mut State,
        reduction: &mut Reduction,
        done: Done<'_, 'a>,
    ) -> Result<(), String> {
        if self.effort == Effort::None {
            return self.expand_plainly(state, next, done);
        }
        match self.settle(state) {
            Settled::Yes => {}
            Settled::NotYet => {
                self.store(state);
                done(self, state);
                return Ok(());
            }
            Settled::AssumeFailed => {
                self.does_not_count();
                return Ok(());
            }
            Settled::QueueFull => return Err(queue_full()),
        }
        if !reduction.look(self.machine, self.footprints, state) {
            self.terminal(state);
            return Ok(());
        }
        let mut choices = std::mem::take(&mut self.choices);
        self.choose(reduction, &mut choices);
        for part in &choices {
            next.assign(state);
            if self.step(next, part)? {
                self.arrive(next, reduction)?;
                if done(self, next) {
                    break;
                }
            }
        }
        self.choices = choices;
        Ok(())
    }

    fn expand_plainly(
        &mut self,
        state: &State,
        next: &mut State,
        done: Done<'_, 'a>,
    ) -> Result<(), String> {
        let mut terminal = true;
        for agent in self.machine.agents() {
            let mut slots = self.machine.slots(state, agent);
            terminal &= slots == 0;
            while slots != 0 {
                let transition = Transition { agent, slot: slots.trailing_zeros() as usize };
                slots &= slots - 1;
                next.assign(state);
                self.steps_taken.note(next, transition);
                match self.machine.apply(next, transition) {
                    Effect::Continue => self.store(next),
                    Effect::AssumeFailed => self.does_not_count(),
                    Effect::QueueFull => return Err(queue_full()),
                }
                if done(self, next) {
                    return Ok(());
                }
            }
        }
        if terminal {
            self.terminal(state);
        }
        Ok(())
    }

    fn settle(&mut self, state: &mut State) -> Settled {
        let steps = &mut self.steps_taken;
        self.machine.settle(state, &mut |state, transition| steps.note(state, transition))
    }

    fn choose(&self, reduction: &mut Reduction, choices: &mut Vec<Part>) {
        choices.clear();
        if self.effort == Effort::Eager {
            choices.extend(reduction.all());
        } else {
            reduction.choose(self.footprints, choices);
        }
    }

    /// Takes one step; whether the execution still counts.
    fn step(&mut self, state: &mut State, part: &Part) -> Result<bool, String> {
        let steps = &mut self.steps_taken;
        let log = &mut |state: &State, transition| steps.note(state, transition);
        match self.machine.apply_part(state, part, log) {
            Effect::Continue => Ok(true),
            Effect::AssumeFailed => {
                self.does_not_count();
                Ok(false)
            }
            Effect::QueueFull => Err(queue_full()),
        }
    }

    /// Settles a state and goes on while there is only one step to take; then stores what it has come to.
    pub fn arrive(&mut self, state: &mut State, reduction: &mut Reduction) -> Result<(), String> {
        if self.effort == Effort::None {
            self.store(state);
            return Ok(());
        }
        for _ in 0..CHAIN {
            match self.settle(state) {
                Settled::Yes => {}
                Settled::NotYet => break,
                Settled::AssumeFailed => {
                    self.does_not_count();
                    return Ok(());
                }
                Settled::QueueFull => return Err(queue_full()),
            }
            if self.effort == Effort::Eager {
                break;
            }
            if !reduction.look(self.machine, self.footprints, state) {
                self.terminal(state);
                return Ok(());
            }
            // `expand` has taken the choices that it is in the middle of.
            let mut choices = std::mem::take(&mut self.choices);
            self.choose(reduction, &mut choices);
            let only = if let [only] = choices[..] { Some(only) } else { None };
            self.choices = choices;
            let Some(only) = only else { break };
            if !self.step(state, &only)? {
                return Ok(());
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
        let (number, is_new) = self.seen.insert(&self.key);
        if let Some(graph) = &mut self.graph {
            graph.leads_to(number, is_new);
        }
        if is_new {
            self.stack.push(number);
            if let Some(search) = &mut self.search {
                search.parents.push(search.current);
            }
        }
    }

    /// Whether a state that has just been stored is the one of that number.
    pub fn stored_as(&self, number: usize) -> bool {
        self.key == self.seen.get(number)
    }

    /// A state from which no transition leads on.
    fn terminal(&mut self, state: &State) {
        if self.machine.is_final(state) {
            let outcome = self.machine.outcome(state);
            if let Some(search) = &mut self.search {
                search.reached |= search.outcome == outcome;
            }
            self.found.outcomes.insert(outcome);
            if let Some(graph) = &mut self.graph {
                graph.ends();
            }
            return;
        }
        if self.graph.is_some() {
            self.store(state);
        }
        for (index, code) in self.machine.code.threads.iter().enumerate() {
            if let Some(span) = code.spans.get(state.threads[index].pc) {
                self.found.blocked.insert(Blocked { thread: ThreadId(index), span: *span });
            }
        }
    }

    /// An `assume` has failed: nothing is asked of that execution.
    fn does_not_count(&mut self) {
        if let Some(graph) = &mut self.graph {
            graph.ends();
        }
    }

    /// What is stored next is not reached from a stored state.
    pub fn forget_current(&mut self) {
        if let Some(graph) = &mut self.graph {
            graph.current = None;
        }
    }

    /// What it has found so far.
    pub fn take_found(&mut self, stopped: Option<String>) -> Exploration {
        let mut found = std::mem::take(&mut self.found);
        found.states = self.seen.len() as u64;
        found.transitions = self.steps_taken.count;
        found.complete = stopped.is_none();
        found.reason = stopped;
        found
    }

    /// States that are stored and not expanded, or not wholly.
    pub fn open(&self) -> &[usize] {
        &self.stack
    }

    fn limit(&self, number: usize) -> Option<String> {
        if self.seen.len() as u64 > self.limits.states {
            return Some(format!("more than {} states", self.limits.states));
        }
        let graph = self.graph.as_ref().map_or(0, Graph::memory);
        if self.seen.memory() + graph > self.limits.memory {
            return Some(format!("states need more than {}", Size(self.limits.memory as u64)));
        }
        // Reading the clock costs about as much as a small state.
        if !number.is_multiple_of(64) {
            return None;
        }
        self.limits.until.reached().map(|reached| reached.to_string())
    }
}

fn queue_full() -> String {
    format!("a queue holds more than {QUEUE_LIMIT} entries")
}
