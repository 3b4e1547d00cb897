//! Random executions: the machine under a seeded scheduler.
//!
//! Every execution is one of the machine's, so every outcome is allowed (unless faults are set). The scheduler
//! gives each agent a weight and redraws the weights in every run, so that one run starves an agent for a long time
//! and the next runs it eagerly: long delays are what makes weak outcomes.

use std::collections::BTreeMap;
use std::ops::Range;

use compiler::code::{CompileError, Instruction};
use lang::Test;
use lang::outcome::{Outcome, Value};
use rustc_hash::FxHashMap;

use super::fault::FaultSet;
use super::random::Random;
use super::rma;
use super::rules::{Agent, Effect, Machine, Transition, Variant};
use super::state::State;

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Run {
    /// With an outcome; its number in the order in which the simulator first saw them.
    Outcome(usize),
    /// Some thread waits forever.
    Blocked,
    /// `assume` failed.
    AssumeFailed,
    /// The bound on steps was hit, or a queue was full.
    Unfinished,
}

/// How often runs ended how.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    /// Runs per outcome.
    pub outcomes: BTreeMap<Outcome, u64>,
    /// Runs in which some thread waited forever.
    pub blocked: u64,
    /// Runs in which an `assume` failed.
    pub assume_failed: u64,
    /// Runs that hit the bound on steps, or in which a queue was full.
    pub unfinished: u64,
}

/// Runs a test's program again and again.
#[derive(Clone, Debug)]
pub struct Simulator {
    inner: Inner,
    step_bound: u32,
}

#[derive(Clone, Debug)]
enum Inner {
    Queues(Box<Queues>),
    Rma(Box<rma::Simulator>),
}

/// The machine of store buffers and queue pairs under a scheduler.
#[derive(Clone, Debug)]
struct Queues {
    machine: Machine,
    state: State,
    agents: Vec<AgentState>,
    /// By thread, its agents.
    threads: Vec<Range<usize>>,
    /// Whether a step of one thread can enable or disable another's agent: RMWs lock nodes.
    coupled: bool,
    /// Observed values, to look up without allocating.
    key: Vec<u64>,
    numbers: FxHashMap<Box<[u64]>, usize>,
}

#[derive(Clone, Copy, Debug)]
struct AgentState {
    agent: Agent,
    /// Where it can move.
    slots: u64,
    weight: u32,
}

/// Weights go from 1 to 2 to the power of this, less one.
const WEIGHTS: u32 = 11;
/// How many steps it takes until weights are drawn again; spinning on what a starved agent has must end.
const REDRAW: u32 = 256;

impl Simulator {
    /// How many steps a run takes at most, unless [`Simulator::set_step_bound`] says otherwise.
    pub const STEP_BOUND: u32 = 10_000;

    /// A simulator of a test's program.
    ///
    /// # Errors
    /// Statements without operational meaning in this variant.
    pub fn new(test: &Test, variant: Variant, faults: FaultSet) -> Result<Self, CompileError> {
        let inner = match variant {
            Variant::CoreRma(rules) => {
                rma::check_faults(faults)?;
                Inner::Rma(Box::new(rma::Simulator::new(test, rules)?))
            }
            _ => Inner::Queues(Box::new(Queues::new(test, variant, faults)?)),
        };
        Ok(Self { inner, step_bound: Self::STEP_BOUND })
    }

    /// Sets how many steps a run takes at most.
    pub fn set_step_bound(&mut self, steps: u32) {
        self.step_bound = steps;
    }

    /// Runs the program once. The same generator state gives the same run.
    pub fn run_once(&mut self, random: &mut Random) -> Run {
        match &mut self.inner {
            Inner::Queues(queues) => queues.run_once(random, self.step_bound),
            Inner::Rma(machine) => machine.run_once(random, self.step_bound),
        }
    }

    /// Runs the program many times.
    pub fn run(&mut self, random: &mut Random, iterations: u64) -> Histogram {
        let mut histogram = Histogram::default();
        let mut counts: Vec<u64> = Vec::new();
        for _ in 0..iterations {
            match self.run_once(random) {
                Run::Outcome(number) => {
                    if number >= counts.len() {
                        counts.resize(number + 1, 0);
                    }
                    counts[number] += 1;
                }
                Run::Blocked => histogram.blocked += 1,
                Run::AssumeFailed => histogram.assume_failed += 1,
                Run::Unfinished => histogram.unfinished += 1,
            }
        }
        for (number, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            if let Some(outcome) = self.outcome(number) {
                histogram.outcomes.insert(outcome, *count);
            }
        }
        histogram
    }

    /// The outcome of that number.
    pub fn outcome(&self, number: usize) -> Option<Outcome> {
        match &self.inner {
            Inner::Queues(queues) => queues.outcome(number),
            Inner::Rma(machine) => machine.outcome(number),
        }
    }
}

impl Queues {
    fn new(test: &Test, variant: Variant, faults: FaultSet) -> Result<Self, CompileError> {
        let machine = Machine::new(test, variant, faults)?;
        let mut agents = Vec::new();
        let mut threads = Vec::new();
        for (thread, code) in machine.code.threads.iter().enumerate() {
            let first = agents.len();
            let mut add = |agent| agents.push(AgentState { agent, slots: 0, weight: 1 });
            add(Agent::Cpu(thread));
            add(Agent::StoreBuffer(thread));
            for pair in code.queue_pairs.clone() {
                add(Agent::Pipe(pair));
                add(Agent::RemoteBuffer(pair));
                add(Agent::LocalBuffer(pair));
            }
            threads.push(first..agents.len());
        }
        Ok(Self {
            state: machine.initial().clone(),
            coupled: machine.has_remote_rmw(),
            machine,
            agents,
            threads,
            key: Vec::new(),
            numbers: FxHashMap::default(),
        })
    }

    fn run_once(&mut self, random: &mut Random, step_bound: u32) -> Run {
        self.state.assign(self.machine.initial());
        self.draw_weights(random);
        for thread in 0..self.threads.len() {
            self.refresh(thread);
        }
        let mut steps = 0;
        while let Some(transition) = self.pick(random) {
            steps += 1;
            if steps >= step_bound {
                return Run::Unfinished;
            }
            if steps % REDRAW == 0 {
                self.draw_weights(random);
            }
            match self.step(transition, &mut steps, step_bound) {
                Effect::Continue => {}
                Effect::AssumeFailed => return Run::AssumeFailed,
                Effect::QueueFull => return Run::Unfinished,
            }
        }
        if self.machine.is_final(&self.state) { Run::Outcome(self.number()) } else { Run::Blocked }
    }

    fn outcome(&self, number: usize) -> Option<Outcome> {
        self.numbers.iter().find(|(_, known)| **known == number).map(|(values, _)| outcome(values))
    }

    fn number(&mut self) -> usize {
        self.key.clear();
        self.key.extend(self.machine.observe(&self.state));
        if let Some(number) = self.numbers.get(self.key.as_slice()) {
            return *number;
        }
        let number = self.numbers.len();
        self.numbers.insert(self.key.clone().into_boxed_slice(), number);
        number
    }

    /// One run in four is fair; in the others weights differ by up to three orders of magnitude.
    fn draw_weights(&mut self, random: &mut Random) {
        if random.below(4) == 0 {
            for agent in &mut self.agents {
                agent.weight = 1;
            }
            return;
        }
        for agent in &mut self.agents {
            agent.weight = 1 << random.below(WEIGHTS);
        }
    }

    /// An enabled transition by weight, `None` if there is none.
    #[inline]
    fn pick(&self, random: &mut Random) -> Option<Transition> {
        let mut total = 0;
        for agent in &self.agents {
            total += if agent.slots == 0 { 0 } else { agent.weight };
        }
        if total == 0 {
            return None;
        }
        let mut point = random.below(total);
        for agent in &self.agents {
            if agent.slots == 0 {
                continue;
            }
            if point < agent.weight {
                let slot = pick_slot(agent.slots, random);
                return Some(Transition { agent: agent.agent, slot });
            }
            point -= agent.weight;
        }
        None
    }

    /// Takes a transition, and the thread's instructions after it that only compute.
    fn step(&mut self, transition: Transition, steps: &mut u32, step_bound: u32) -> Effect {
        let mut effect = self.machine.apply(&mut self.state, transition);
        let thread = match transition.agent {
            Agent::Cpu(thread) => {
                while effect == Effect::Continue
                    && *steps < step_bound
                    && self.only_computes(thread)
                {
                    *steps += 1;
                    effect = self.machine.apply(&mut self.state, transition);
                }
                thread
            }
            Agent::StoreBuffer(thread) => thread,
            Agent::Pipe(pair) | Agent::RemoteBuffer(pair) | Agent::LocalBuffer(pair) => {
                if self.coupled {
                    for thread in 0..self.threads.len() {
                        self.refresh(thread);
                    }
                    return effect;
                }
                self.machine.code.queue_pairs[pair].thread.0
            }
        };
        self.refresh(thread);
        effect
    }

    fn only_computes(&self, thread: usize) -> bool {
        matches!(
            self.machine.next_instruction(&self.state, thread),
            Some(
                Instruction::Assign { .. }
                    | Instruction::Jump(_)
                    | Instruction::JumpIfZero { .. }
                    | Instruction::Assume(_)
            )
        )
    }

    /// Looks again at where a thread's agents can move.
    fn refresh(&mut self, thread: usize) {
        for agent in &mut self.agents[self.threads[thread].clone()] {
            agent.slots = self.machine.slots(&self.state, agent.agent);
        }
    }
}

fn pick_slot(slots: u64, random: &mut Random) -> usize {
    let count = slots.count_ones();
    let mut rest = slots;
    if count > 1 {
        for _ in 0..random.below(count) {
            rest &= rest - 1;
        }
    }
    rest.trailing_zeros() as usize
}

fn outcome(values: &[u64]) -> Outcome {
    Outcome(values.iter().map(|value| Value::of_word(*value)).collect())
}
