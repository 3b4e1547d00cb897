//! Explores all outcomes of a test: every reachable state, depth first.

mod rounds;
mod store;

use compiler::code::CompileError;
use lang::Test;
use lang::program::Program;

use super::encode::Live;
use super::exploration::Exploration;
use super::fault::FaultSet;
use super::footprint::Footprints;
use super::limits::Limits;
use super::past::Past;
use super::progress::{Graph, always_counts};
use super::reduce::Settled;
use super::rma;
use super::rules::{Effect, Machine, QUEUE_LIMIT, Transition, Variant, in_requests};
use super::seen::StateSet;
use super::state::State;
use super::steps::Steps;
use super::stubborn::{Choice, Layout, Places, Reduction, Round, Step, View};
use super::witness::Search;
use rounds::Latest;

/// How much of the state space to leave out. Outcomes do not depend on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Effort {
    /// Every transition of the rules, every state.
    None,
    /// Steps that no other agent can see are taken at once or together with one that others can.
    Eager,
    /// Additionally, only stubborn sets of the remaining steps are taken.
    Stubborn,
    /// Additionally, values that nothing will read are left out, or kept beside the states (`past`), and
    /// writes that nobody reads in between come to memory together (`stubborn::merging`).
    Values,
    /// Additionally, steps sleep while others are taken in their place (`stubborn::sleep`).
    #[default]
    Full,
}

/// Explores all outcomes of a test on the correct machine.
///
/// # Errors
/// Fails if a statement has no operational meaning in this variant.
pub fn explore(test: &Test, variant: Variant, limits: Limits) -> Result<Exploration, CompileError> {
    explore_with(test, variant, FaultSet::NONE, Effort::Full, limits)
}

/// Like [`explore`], with a chosen effort and on a machine that may be broken. Broken machines are explored
/// without reduction.
///
/// # Errors
/// Fails if a statement has no operational meaning in this variant.
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
    let test = &*in_requests(test)?;
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
    /// By stored state, what is to be taken from it.
    rounds: Vec<Round>,
    /// Where steps without an alternative stop.
    pub goal: Goal,
    /// Set when the caller asks how an outcome comes about.
    pub search: Option<Search>,
    /// Set when the caller asks from which states executions can end.
    pub graph: Option<Graph>,
    /// Every execution ends, with all assumptions met and all indices in range.
    always_counts: bool,
    /// What executions have shown, if states leave that out.
    past: Option<Past>,
    pub steps_taken: Steps<'a>,
    /// The encoding of the last state, and what mattered of it.
    key: Vec<u8>,
    live: Live,
    choices: Vec<Choice>,
    latest: Latest,
    found: Exploration,
}

/// Where steps without an alternative stop, at the latest where there is one.
#[derive(Clone, Copy, Debug)]
pub(super) enum Goal {
    /// At any state that is stored.
    AnyState,
    /// At this one, to repeat the steps that led to it. States on the way may have been stored later.
    State(usize),
    /// At an end, in the same way.
    End,
}

/// A callback that sees the state after each step. True stops the search.
pub(super) type Done<'d, 'a> = &'d mut dyn FnMut(&Explorer<'a>, &State) -> bool;

/// The most steps without an alternative that are taken before the state is stored.
const CHAIN: usize = 1000;

/// The number of such steps after which it is looked whether they go round, as those of a thread that waits
/// for what no one will write.
const ROUND: usize = 16;

impl<'a> Explorer<'a> {
    /// An explorer that is ready to run. Broken machines are explored without reduction, and so are those
    /// that may crash: that can happen in each state.
    pub fn new(
        test: &'a Test,
        machine: &'a Machine,
        footprints: &'a Footprints,
        effort: Effort,
        limits: Limits,
    ) -> Self {
        let program = &test.program;
        let is_plain = !machine.faults.is_empty() || machine.crashes;
        let effort = if is_plain { Effort::None } else { effort };
        Self {
            machine,
            footprints,
            effort,
            limits,
            seen: StateSet::default(),
            stack: Vec::new(),
            rounds: Vec::new(),
            goal: Goal::AnyState,
            search: None,
            graph: None,
            always_counts: always_counts(program),
            past: if effort >= Effort::Values { Past::new(machine) } else { None },
            steps_taken: Steps { machine, program, count: 0, words: None, brief: false },
            key: Vec::new(),
            live: Live::ALL,
            choices: Vec::new(),
            latest: Latest::default(),
            found: Exploration::default(),
        }
    }

    /// Explores. Returns the reason if a limit stopped it.
    pub fn run(&mut self) -> Option<String> {
        let stopped = self.run_from(self.machine.initial().clone());
        if !self.past.as_ref().is_some_and(|past| past.is_full) {
            return stopped;
        }
        // Some observable has too many values to be kept beside the states.
        self.past = None;
        self.graph = self.graph.as_ref().map(|_| Graph::default());
        (self.seen, self.found) = (StateSet::default(), Exploration::default());
        self.stack.clear();
        self.rounds.clear();
        self.latest = Latest::default();
        self.steps_taken.count = 0;
        self.run_from(self.machine.initial().clone())
    }

    /// Explores from a state. Returns the reason if a limit stopped it.
    pub fn run_from(&mut self, mut state: State) -> Option<String> {
        let mut next = state.clone();
        let mut reduction = Reduction::default();
        reduction.merges = self.merges();
        let may_sleep = reduction.merges && self.effort == Effort::Full;
        reduction.layout = may_sleep.then(|| Layout::of(self.machine)).flatten();
        self.forget_current();
        if let Err(reason) = self.arrive(&mut next, &mut reduction, 0) {
            return Some(reason);
        }
        while let Some(number) = self.stack.pop() {
            if let Some(graph) = &mut self.graph {
                graph.current = Some(number);
            }
            if let Some(past) = &mut self.past {
                past.begins_in(Some(number));
            }
            if let Some(search) = &mut self.search {
                if search.reached {
                    return None;
                }
                search.current = number;
            }
            let expanded = self.limit(number).map_or(Ok(()), Err).and_then(|()| {
                let round = self.begin_round(number);
                if let Some(choices) = self.latest.recall(number, round, &mut state) {
                    return self.take(
                        choices,
                        &state,
                        &mut next,
                        (&mut reduction, &mut |_, _| false),
                    );
                }
                self.machine.decode(self.seen.get(number), &mut state);
                self.expand(&mut state, &mut next, (&mut reduction, round), &mut |_, _| false)
            });
            if let Err(reason) = expanded {
                self.stack.push(number);
                return Some(reason);
            }
        }
        None
    }

    /// Whether several writes may be a step: not where steps are shown or states are asked for an end; and
    /// locations must have bits of their own.
    fn merges(&self) -> bool {
        let is_plain = self.graph.is_none() && self.search.is_none();
        let machine = self.machine;
        let has_buffers = machine.variant != Variant::Sc;
        self.effort >= Effort::Values
            && is_plain
            && has_buffers
            && machine.initial().memory.len() <= 64
    }

    /// Takes every step, or every chosen step, from a state. `next` holds the state after each step. Stops
    /// when `done` returns true.
    pub fn expand(
        &mut self,
        state: &mut State,
        next: &mut State,
        (reduction, round): (&mut Reduction, Round),
        done: Done<'_, 'a>,
    ) -> Result<(), String> {
        if self.effort == Effort::None {
            return self.expand_plainly(state, next, done);
        }
        match self.settle(state) {
            Settled::Yes => {}
            Settled::NotYet => {
                self.store(state, round.asleep);
                done(self, state);
                return Ok(());
            }
            Settled::AssumeFailed => {
                self.does_not_count();
                return Ok(());
            }
            Settled::QueueFull => return Err(queue_full()),
        }
        if !reduction.look(self.view(state)) {
            self.terminal(state);
            return Ok(());
        }
        self.choose(reduction, state, round);
        let choices = std::mem::take(&mut self.choices);
        self.take(choices, state, next, (reduction, done))
    }

    /// Takes the steps that were chosen in a state.
    fn take(
        &mut self,
        choices: Vec<Choice>,
        state: &State,
        next: &mut State,
        (reduction, done): (&mut Reduction, Done<'_, 'a>),
    ) -> Result<(), String> {
        for Choice { step, asleep } in &choices {
            next.assign(state);
            if self.step(next, step)? {
                self.arrive(next, reduction, *asleep)?;
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
        if self.machine.crashes {
            self.machine.after_crash(state)?.into_iter().for_each(|outcome| self.shows(outcome));
            if let Some(graph) = &mut self.graph {
                graph.ends();
            }
        }
        for agent in self.machine.agents() {
            let mut slots = self.machine.slots(state, agent);
            terminal &= slots == 0;
            while slots != 0 {
                let transition = Transition { agent, slot: slots.trailing_zeros() as usize };
                slots &= slots - 1;
                next.assign(state);
                self.steps_taken.note(next, transition);
                match self.machine.apply(next, transition) {
                    Effect::Continue => self.store(next, 0),
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

    /// Chooses the steps to take from a state. Returns whether its stubborn set is one part, so that a single
    /// step can be taken without storing the state.
    fn choose(&mut self, reduction: &mut Reduction, state: &State, round: Round) -> bool {
        let mut choices = std::mem::take(&mut self.choices);
        choices.clear();
        let is_one = if self.effort == Effort::Eager {
            choices.extend(reduction.all());
            false
        } else {
            reduction.choose(self.view(state), round, &mut choices)
        };
        self.choices = choices;
        is_one
    }

    /// Whether a chain of steps stops at a state, which is stored under a number.
    fn stops(&self, number: Option<usize>) -> bool {
        match self.goal {
            Goal::AnyState => number.is_some(),
            Goal::State(goal) => number == Some(goal),
            Goal::End => false,
        }
    }

    fn view<'s>(&'s self, state: &'s State) -> View<'s> {
        View { machine: self.machine, footprints: self.footprints, state }
    }

    /// Takes one step. Returns whether the execution still counts.
    fn step(&mut self, state: &mut State, step: &Step) -> Result<bool, String> {
        let steps = &mut self.steps_taken;
        let log = &mut |state: &State, transition| steps.note(state, transition);
        match self.machine.apply_step(state, step, log) {
            Effect::Continue => Ok(true),
            Effect::AssumeFailed => {
                self.does_not_count();
                Ok(false)
            }
            Effect::QueueFull => Err(queue_full()),
        }
    }

    /// Settles a state and continues as long as there is only one step to take. Then stores the state that
    /// was reached.
    pub fn arrive(
        &mut self,
        state: &mut State,
        reduction: &mut Reduction,
        mut asleep: Places,
    ) -> Result<(), String> {
        if self.effort == Effort::None {
            self.store(state, asleep);
            return Ok(());
        }
        let mut earlier = None;
        let began = section(state);
        for taken in 1..=CHAIN {
            if self.ends_decided(state) {
                return Ok(());
            }
            match self.settle(state) {
                Settled::Yes if section(state) != began => break,
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
            // To look for a state takes a fraction of the time that it takes to choose steps.
            self.encode(state);
            let known = self.seen.find(&self.key).ok();
            if self.stops(known) {
                self.keep(state, known, asleep);
                return Ok(());
            }
            if !reduction.look(self.view(state)) {
                self.terminal(state);
                return Ok(());
            }
            let is_one = self.choose(reduction, state, Round { asleep, ..Round::ALL });
            let only = match self.choices[..] {
                [] => return Ok(()), // all of them are asleep
                [only] if is_one => only,
                _ => {
                    self.keep(state, known, asleep);
                    self.remember(state, known.is_none(), asleep);
                    return Ok(());
                }
            };
            asleep = only.asleep;
            if !self.step(state, &only.step)? {
                return Ok(());
            }
            // The state after 16, 32, 64, … steps is kept; if it comes again, the steps go round (R. P.
            // Brent, An improved Monte Carlo factorization algorithm, 1980).
            if taken >= ROUND && taken.is_power_of_two() {
                earlier = Some(state.clone());
            } else if earlier.as_ref() == Some(state) {
                break;
            }
        }
        self.store(state, asleep);
        Ok(())
    }

    /// The program that is explored.
    pub fn program(&self) -> &Program {
        self.steps_taken.program
    }
}

/// Where threads are, roughly: in their code, and in loops that count their turns. Where this changes, a
/// state is stored, so that paths through a long program that come together are followed once from there.
fn section(state: &State) -> u64 {
    const STEPS: u64 = 64;
    let instructions = state.threads.iter().map(|thread| thread.pc as u64);
    let turns = state.registers.iter().copied();
    instructions.chain(turns).fold(0, u64::wrapping_add) / STEPS
}

fn queue_full() -> String {
    format!("a queue holds more than {QUEUE_LIMIT} entries")
}
