//! Simulates random executions: the machine under a seeded scheduler.
//!
//! Every execution is one of the machine's, so every outcome is allowed (unless faults are set). The
//! scheduler gives each agent a weight and draws new weights for every run. So one run starves an agent for a
//! long time, and the next runs it eagerly. Long delays cause weak outcomes.

use std::collections::BTreeMap;

use compiler::code::{CompileError, Instruction};
use lang::Test;
use lang::limits;
use lang::outcome::{Outcome, Value};
use rustc_hash::FxHashMap;

use super::fault::FaultSet;
use super::random::Random;
use super::rma;
use super::rules::{Agent, Effect, Machine, Transition, Variant, in_requests};
use super::state::State;

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Run {
    /// The run ended with this outcome. The number is the order in which the simulator first saw the outcome.
    Outcome(usize),
    /// Some thread waits forever.
    Blocked,
    /// An `assume` failed.
    AssumeFailed,
    /// The run reached the bound on steps, or a queue was full.
    Unfinished,
}

/// How many runs ended in which way.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    /// The number of runs for each outcome.
    pub outcomes: BTreeMap<Outcome, u64>,
    /// Runs in which some thread waited forever.
    pub blocked: u64,
    /// Runs in which an `assume` failed.
    pub assume_failed: u64,
    /// Runs that reached the bound on steps, or in which a queue was full.
    pub unfinished: u64,
}

/// Runs a test's program many times.
#[derive(Clone, Debug)]
pub struct Simulator {
    inner: Inner,
}

#[derive(Clone, Debug)]
enum Inner {
    Queues(Box<Queues>),
    Rma(Box<rma::Simulator>),
}

/// The machine with store buffers and queue pairs, under a scheduler.
#[derive(Clone, Debug)]
struct Queues {
    machine: Machine,
    state: State,
    agents: Vec<AgentState>,
    /// The sum of the weights of all agents that can move.
    total: u32,
    /// Whether a step of a queue pair can enable or disable an agent of another thread.
    locks_nodes: bool,
    /// Whether there are receives: messages wait for their posts, and polls of receives for messages, each in
    /// another thread.
    has_receives: bool,
    /// Whether a step of a thread can enable or disable any agent of the thread, not only the agents next to
    /// the one that moved.
    looks_at_all: bool,
    /// A buffer for the observed values, so that the lookup allocates nothing.
    key: Vec<u64>,
    numbers: FxHashMap<Box<[u64]>, usize>,
}

#[derive(Clone, Copy, Debug)]
struct AgentState {
    agent: Agent,
    /// The slots at which the agent can move, one bit each.
    slots: u64,
    /// The slots at which it can move in the initial state.
    initial: u64,
    weight: u32,
    /// The weight if the agent can move, else 0.
    live: u32,
    /// The range of the agents of its thread: the CPU, the store buffer, then three agents for each queue
    /// pair.
    siblings: (usize, usize),
}

impl AgentState {
    #[inline]
    fn weigh(&mut self) {
        self.live = if self.slots == 0 { 0 } else { self.weight };
    }
}

/// Each weight is a power of two: 2^0 up to 2^(this - 1).
const WEIGHTS: u32 = 11;
/// Weights are drawn again after this many steps, so that spinning on a starved agent ends.
const REDRAW: u32 = 256;

impl Simulator {
    /// The most steps of a run.
    pub const STEP_BOUND: u32 = 10_000;

    /// A simulator of a test's program.
    ///
    /// # Errors
    /// Fails if a statement has no operational meaning in this variant.
    pub fn new(test: &Test, variant: Variant, faults: FaultSet) -> Result<Self, CompileError> {
        let inner = match variant {
            Variant::CoreRma(rules) => {
                rma::check_faults(faults)?;
                Inner::Rma(Box::new(rma::Simulator::new(test, rules)?))
            }
            _ => Inner::Queues(Box::new(Queues::new(test, variant, faults)?)),
        };
        Ok(Self { inner })
    }

    /// Runs the program once. The same generator state gives the same run.
    pub fn run_once(&mut self, random: &mut Random) -> Run {
        match &mut self.inner {
            Inner::Queues(queues) => queues.run_once(random, Self::STEP_BOUND),
            Inner::Rma(machine) => machine.run_once(random, Self::STEP_BOUND),
        }
    }

    /// Runs the program many times.
    pub fn run(&mut self, random: &mut Random, iterations: u64) -> Histogram {
        let mut histogram = Histogram::default();
        let mut counts: Vec<u64> = Vec::new();
        for _ in 0..iterations {
            limits::look();
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

    /// The outcome with this number, as in [`Run::Outcome`].
    pub fn outcome(&self, number: usize) -> Option<Outcome> {
        match &self.inner {
            Inner::Queues(queues) => queues.outcome(number),
            Inner::Rma(machine) => machine.outcome(number),
        }
    }
}

impl Queues {
    fn new(test: &Test, variant: Variant, faults: FaultSet) -> Result<Self, CompileError> {
        let test = &*in_requests(test)?;
        let machine = Machine::new(test, variant, faults)?;
        let mut agents = Vec::new();
        for (thread, code) in machine.code.threads.iter().enumerate() {
            let first = agents.len();
            let last = first + 2 + 3 * code.queue_pairs.len();
            let mut add = |agent| {
                let initial = machine.slots(machine.initial(), agent);
                let (slots, siblings) = (initial, (first, last));
                agents.push(AgentState { agent, slots, initial, weight: 1, live: 0, siblings });
            };
            add(Agent::Cpu(thread));
            add(Agent::StoreBuffer(thread));
            for pair in code.queue_pairs.clone() {
                add(Agent::Pipe(pair));
                add(Agent::RemoteBuffer(pair));
                add(Agent::LocalBuffer(pair));
            }
        }
        Ok(Self {
            state: machine.initial().clone(),
            locks_nodes: machine.has_remote_rmw(),
            has_receives: machine.receiver.iter().any(Option::is_some),
            looks_at_all: variant == Variant::Sc || faults != FaultSet::NONE,
            machine,
            agents,
            total: 0,
            key: Vec::new(),
            numbers: FxHashMap::default(),
        })
    }

    fn run_once(&mut self, random: &mut Random, step_bound: u32) -> Run {
        self.state.assign(self.machine.initial());
        self.agents.iter_mut().for_each(|agent| agent.slots = agent.initial);
        self.draw_weights(random);
        let mut steps = 0;
        let crash = self.machine.crashes.then(|| self.machine.crash_time(random));
        while let Some((index, slot)) = self.pick(random) {
            steps += 1;
            if crash.is_some_and(|crash| steps > crash) {
                break;
            }
            if steps >= step_bound {
                return Run::Unfinished;
            }
            if steps % REDRAW == 0 {
                self.draw_weights(random);
            }
            match self.step(index, slot, &mut steps, step_bound) {
                Effect::Continue => {}
                Effect::AssumeFailed => return Run::AssumeFailed,
                Effect::QueueFull => return Run::Unfinished,
            }
        }
        self.key.clear();
        if self.machine.crashes {
            self.machine.crash(&self.state, random, &mut self.key);
        } else if self.machine.is_final(&self.state) {
            self.key.extend(self.machine.observe(&self.state));
        } else {
            return Run::Blocked;
        }
        Run::Outcome(self.number())
    }

    fn outcome(&self, number: usize) -> Option<Outcome> {
        self.numbers.iter().find(|(_, known)| **known == number).map(|(values, _)| outcome(values))
    }

    /// The number of the outcome in `key`.
    fn number(&mut self) -> usize {
        if let Some(number) = self.numbers.get(self.key.as_slice()) {
            return *number;
        }
        let number = self.numbers.len();
        self.numbers.insert(self.key.clone().into_boxed_slice(), number);
        number
    }

    /// One run in four gives all agents the same weight. In the others, weights differ by up to three orders
    /// of magnitude.
    fn draw_weights(&mut self, random: &mut Random) {
        let is_fair = random.below(4) == 0;
        self.total = 0;
        for agent in &mut self.agents {
            agent.weight = if is_fair { 1 } else { 1 << random.below(WEIGHTS) };
            agent.weigh();
            self.total += agent.live;
        }
    }

    /// Picks an agent that can move, at random by weight, and its slot. `None` if no agent can move.
    #[inline]
    fn pick(&self, random: &mut Random) -> Option<(usize, usize)> {
        if self.total == 0 {
            return None;
        }
        let mut point = random.below(self.total);
        for (index, agent) in self.agents.iter().enumerate() {
            if point < agent.live {
                return Some((index, pick_slot(agent.slots, random)));
            }
            point -= agent.live;
        }
        None
    }

    /// Lets an agent move. Afterwards its thread takes the steps that only compute.
    fn step(&mut self, index: usize, slot: usize, steps: &mut u32, step_bound: u32) -> Effect {
        let AgentState { agent, siblings: (first, last), .. } = self.agents[index];
        let transition = Transition { agent, slot };
        let mut effect = self.machine.apply(&mut self.state, transition);
        if let Agent::Cpu(thread) = agent {
            while effect == Effect::Continue && *steps < step_bound && self.only_computes(thread) {
                *steps += 1;
                effect = self.machine.apply(&mut self.state, transition);
            }
        }
        let is_of_pair = !matches!(agent, Agent::Cpu(_) | Agent::StoreBuffer(_));
        match agent {
            _ if self.has_receives || self.locks_nodes && is_of_pair => {
                self.refresh(0, self.agents.len());
            }
            _ if self.looks_at_all => self.refresh(first, last),
            Agent::Cpu(thread) => {
                self.look(first, Agent::Cpu(thread));
                self.look(first + 1, Agent::StoreBuffer(thread));
            }
            // The store buffer may hand operations to its pipes.
            Agent::StoreBuffer(thread) => {
                self.look(first, Agent::Cpu(thread));
                self.look(first + 1, Agent::StoreBuffer(thread));
                let pairs = self.machine.code.threads[thread].queue_pairs.clone();
                for (place, pair) in pairs.enumerate() {
                    self.look(first + 2 + 3 * place, Agent::Pipe(pair));
                }
            }
            // A pipe affects its buffers, and polls and waits.
            Agent::Pipe(pair) => {
                self.look(index, Agent::Pipe(pair));
                self.look(index + 1, Agent::RemoteBuffer(pair));
                self.look(index + 2, Agent::LocalBuffer(pair));
                self.look(first, Agent::Cpu(self.machine.code.queue_pairs[pair].thread.0));
            }
            // Gets wait until wbR is empty.
            Agent::RemoteBuffer(pair) => {
                self.look(index - 1, Agent::Pipe(pair));
                self.look(index, Agent::RemoteBuffer(pair));
            }
            // Puts wait until wbL is empty. Polls and waits look at it too.
            Agent::LocalBuffer(pair) => {
                self.look(index - 2, Agent::Pipe(pair));
                self.look(index, Agent::LocalBuffer(pair));
                self.look(first, Agent::Cpu(self.machine.code.queue_pairs[pair].thread.0));
            }
        }
        debug_assert!(
            self.agents
                .iter()
                .all(|known| { known.slots == self.machine.slots(&self.state, known.agent) })
        );
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

    /// Updates where the agents of a range can move.
    fn refresh(&mut self, first: usize, last: usize) {
        (first..last).for_each(|index| self.look(index, self.agents[index].agent));
    }

    /// Updates where the agent with this index can move. The agent is a parameter, so that inlining
    /// specializes this code for its kind.
    #[inline(always)]
    fn look(&mut self, index: usize, agent: Agent) {
        let slots = self.machine.slots(&self.state, agent);
        let known = &mut self.agents[index];
        self.total -= known.live;
        known.slots = slots;
        known.weigh();
        self.total += known.live;
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
