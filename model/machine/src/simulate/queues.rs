//! The machine with store buffers and queue pairs, under a scheduler.

use compiler::code::{CompileError, Instruction};
use lang::Test;
use lang::outcome::{Outcome, Value};
use rustc_hash::FxHashMap;

use super::Run;
use super::chart::{ASSUME_FAILED, Chart, Edge, Move, Number, QUEUE_FULL};
use crate::encode::Live;
use crate::fault::FaultSet;
use crate::random::Random;
use crate::rules::{Agent, Effect, Machine, Transition, Variant, in_requests};
use crate::state::State;

/// The machine with store buffers and queue pairs, under a scheduler.
#[derive(Clone, Debug)]
pub(super) struct Queues {
    machine: Machine,
    state: State,
    agents: Vec<AgentState>,
    /// By agent.
    weights: Vec<u32>,
    /// The sum of the weights of all agents that can move.
    total: u32,
    pub(super) chart: Chart,
    /// A buffer for the encodings of states.
    encoding: Vec<u8>,
    /// Whether a step of a queue pair can enable or disable an agent of another thread.
    locks_nodes: bool,
    /// Whether queue pairs are of two threads: there are receives (messages wait for their posts, and polls
    /// of receives for messages, each in another thread), or threads share one.
    has_other_ends: bool,
    /// Whether a step of a thread can enable or disable any agent of the thread, not only the agents next to
    /// the one that moved.
    looks_at_all: bool,
    /// A buffer for the observed values, so that the lookup allocates nothing.
    key: Vec<u64>,
    numbers: FxHashMap<Box<[u64]>, usize>,
}

/// How far a run came in the chart: to its end, or to a step that the chart does not know. The state before
/// it is the current one then.
enum InChart {
    Ended(Run),
    Left((usize, usize)),
}

#[derive(Clone, Copy, Debug)]
struct AgentState {
    agent: Agent,
    /// The slots at which the agent can move, one bit each.
    slots: u64,
    /// The slots at which it can move in the initial state.
    initial: u64,
    /// The weight if the agent can move, else 0.
    live: u32,
    /// The range of the agents of its thread: the CPU, the store buffer, then three agents for each queue
    /// pair.
    siblings: (usize, usize),
}

impl AgentState {
    fn new(machine: &Machine, agent: Agent, siblings: (usize, usize)) -> Self {
        let initial = machine.slots(machine.initial(), agent);
        Self { agent, slots: initial, initial, live: 0, siblings }
    }

    #[inline]
    fn weigh(&mut self, weight: u32) {
        self.live = if self.slots == 0 { 0 } else { weight };
    }
}

/// Each weight is a power of two: 2^0 up to 2^(this - 1).
const WEIGHTS: u32 = 11;
/// Weights are drawn again after this many steps, so that spinning on a starved agent ends.
const REDRAW: u32 = 256;

impl Queues {
    pub(super) fn new(
        test: &Test,
        variant: Variant,
        faults: FaultSet,
    ) -> Result<Self, CompileError> {
        let test = &*in_requests(test)?;
        let machine = Machine::new(test, variant, faults)?;
        let mut agents = Vec::new();
        for (thread, code) in machine.code.threads.iter().enumerate() {
            let first = agents.len();
            let last = first + 2 + 3 * code.queue_pairs.len();
            let mut add = |agent| agents.push(AgentState::new(&machine, agent, (first, last)));
            add(Agent::Cpu(thread));
            add(Agent::StoreBuffer(thread));
            for pair in code.queue_pairs.clone() {
                add(Agent::Pipe(pair));
                add(Agent::RemoteBuffer(pair));
                add(Agent::LocalBuffer(pair));
            }
        }
        let end = agents.len();
        for pair in (0..machine.code.queue_pairs.len()).filter(|pair| machine.is_shared(*pair)) {
            for agent in [Agent::Pipe(pair), Agent::RemoteBuffer(pair), Agent::LocalBuffer(pair)] {
                agents.push(AgentState::new(&machine, agent, (end, end)));
            }
        }
        Ok(Self {
            state: machine.initial().clone(),
            locks_nodes: machine.has_remote_rmw(),
            has_other_ends: machine.receiver.iter().any(Option::is_some)
                || machine.code.queue_pairs.iter().any(|pair| pair.is_shared()),
            looks_at_all: variant == Variant::Sc || faults != FaultSet::NONE,
            machine,
            weights: vec![1; agents.len()],
            agents,
            total: 0,
            chart: Chart::default(),
            encoding: Vec::new(),
            key: Vec::new(),
            numbers: FxHashMap::default(),
        })
    }

    pub(super) fn run_once(&mut self, random: &mut Random, step_bound: u32) -> Run {
        self.draw_weights(random);
        let mut steps = 0;
        // A crash may come at any step, and shows more than memory.
        let mut left = None;
        if self.machine.crashes || !self.chart.is_of_use() {
            self.state.assign(self.machine.initial());
            self.agents.iter_mut().for_each(|agent| agent.slots = agent.initial);
            self.weigh();
        } else {
            match self.run_in_chart(&mut steps, random, step_bound) {
                InChart::Ended(run) => {
                    self.chart.count(steps, false);
                    return run;
                }
                InChart::Left(next) => left = Some(next),
            }
            self.refresh(0, self.agents.len());
        }
        let run = self.run_on(left, &mut steps, random, step_bound);
        self.chart.count(steps, left.is_some());
        run
    }

    /// Runs from the current state to the end. The first step may be picked already.
    fn run_on(
        &mut self,
        picked: Option<(usize, usize)>,
        steps: &mut u32,
        random: &mut Random,
        step_bound: u32,
    ) -> Run {
        let crash = self.machine.crashes.then(|| self.machine.crash_time(random));
        let mut next = picked.or_else(|| self.pick(random));
        while let Some((index, slot)) = next {
            *steps += 1;
            if crash.is_some_and(|crash| *steps > crash) {
                break;
            }
            if *steps >= step_bound {
                return Run::Unfinished;
            }
            if (*steps).is_multiple_of(REDRAW) {
                self.draw_weights(random);
                self.weigh();
            }
            match self.step(index, slot, steps, step_bound) {
                Effect::Continue => {}
                Effect::AssumeFailed => return Run::AssumeFailed,
                Effect::QueueFull => return Run::Unfinished,
            }
            next = self.pick(random);
        }
        if self.machine.crashes {
            self.key.clear();
            self.machine.crash(&self.state, random, &mut self.key);
            return Run::Outcome(self.number());
        }
        self.end()
    }

    /// How a run ends in the current state, where no agent can move.
    fn end(&mut self) -> Run {
        if !self.machine.is_final(&self.state) {
            return Run::Blocked;
        }
        self.key.clear();
        self.key.extend(self.machine.observe(&self.state));
        Run::Outcome(self.number())
    }

    /// Runs as long as the chart knows, or may learn, where steps lead.
    fn run_in_chart(&mut self, steps: &mut u32, random: &mut Random, step_bound: u32) -> InChart {
        if self.chart.len() == 0 {
            self.state.assign(self.machine.initial());
            self.number_state();
        }
        let mut at: Number = 0;
        loop {
            let Some((by, slot)) = self.pick_in_chart(at, random) else {
                return InChart::Ended(self.chart.end(at));
            };
            let mut edge = self.chart.edge(by, slot);
            if !edge.is_known() && self.chart.may_grow() {
                edge = self.learn(at, by, slot, step_bound);
            }
            // Close to the bound, each step counts.
            if *steps + 1 + edge.computing >= step_bound {
                self.machine.decode(self.chart.encoding(at), &mut self.state);
                return InChart::Left((by.agent as usize, slot));
            }
            *steps += 1;
            if (*steps).is_multiple_of(REDRAW) {
                self.draw_weights(random);
            }
            *steps += edge.computing;
            at = match edge.to {
                ASSUME_FAILED => return InChart::Ended(Run::AssumeFailed),
                QUEUE_FULL => return InChart::Ended(Run::Unfinished),
                to => to,
            };
        }
    }

    /// As [`Self::pick`], in a state of the chart.
    #[inline]
    fn pick_in_chart(&self, at: Number, random: &mut Random) -> Option<(Move, usize)> {
        let moves = self.chart.moves(at);
        let weight = |by: &Move| self.weights[by.agent as usize];
        let total: u32 = moves.iter().map(weight).sum();
        if total == 0 {
            return None;
        }
        let point = random.below(total);
        // Which one it is cannot be foretold, so there is no branch: the processor would guess wrong.
        let (mut sum, mut index) = (0, 0);
        for by in &moves[..moves.len() - 1] {
            sum += weight(by);
            index += usize::from(point >= sum);
        }
        let by = moves[index];
        Some((by, pick_slot(by.slots, random)))
    }

    /// Takes a step, and adds it to the chart.
    fn learn(&mut self, at: Number, by: Move, slot: usize, step_bound: u32) -> Edge {
        self.machine.decode(self.chart.encoding(at), &mut self.state);
        let mut computing = 0;
        let effect = self.apply(by.agent as usize, slot, &mut computing, step_bound);
        let to = match effect {
            Effect::Continue => self.number_state(),
            Effect::AssumeFailed => ASSUME_FAILED,
            Effect::QueueFull => QUEUE_FULL,
        };
        let edge = Edge { to, computing };
        self.chart.add(by, slot, edge);
        edge
    }

    /// The number of the current state in the chart.
    fn number_state(&mut self) -> Number {
        self.encoding.clear();
        self.machine.encode(&self.state, &Live::ALL, &mut self.encoding);
        let (number, is_new) = self.chart.number(&self.encoding);
        if !is_new {
            return number;
        }
        for agent in &mut self.agents {
            agent.slots = self.machine.slots(&self.state, agent.agent);
        }
        let can_move = |agent: &(usize, &AgentState)| agent.1.slots != 0;
        if self.agents.iter().any(|agent| agent.slots != 0) {
            let moves = self.agents.iter().enumerate().filter(can_move);
            self.chart.describe(moves.map(|(index, agent)| (index, agent.slots)));
        } else {
            let end = self.end();
            self.chart.describe_end(end);
        }
        number
    }

    pub(super) fn outcome(&self, number: usize) -> Option<Outcome> {
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
        for weight in &mut self.weights {
            *weight = if is_fair { 1 } else { 1 << random.below(WEIGHTS) };
        }
    }

    /// Weighs the agents that can move, after other weights were drawn.
    fn weigh(&mut self) {
        self.total = 0;
        for (agent, weight) in self.agents.iter_mut().zip(&self.weights) {
            agent.weigh(*weight);
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
        let effect = self.apply(index, slot, steps, step_bound);
        let is_of_pair = !matches!(agent, Agent::Cpu(_) | Agent::StoreBuffer(_));
        match agent {
            _ if self.has_other_ends || self.locks_nodes && is_of_pair => {
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

    /// Takes a step, and then those of its thread that only compute, which are counted.
    fn apply(&mut self, index: usize, slot: usize, steps: &mut u32, step_bound: u32) -> Effect {
        let agent = self.agents[index].agent;
        let transition = Transition { agent, slot };
        let mut effect = self.machine.apply(&mut self.state, transition);
        if let Agent::Cpu(thread) = agent {
            while effect == Effect::Continue && *steps < step_bound && self.only_computes(thread) {
                *steps += 1;
                effect = self.machine.apply(&mut self.state, transition);
            }
        }
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
        known.weigh(self.weights[index]);
        self.total += known.live;
    }
}

fn pick_slot(slots: u64, random: &mut Random) -> usize {
    let mut rest = slots;
    if !slots.is_power_of_two() {
        for _ in 0..random.below(slots.count_ones()) {
            rest &= rest - 1;
        }
    }
    rest.trailing_zeros() as usize
}

fn outcome(values: &[u64]) -> Outcome {
    Outcome(values.iter().map(|value| Value::of_word(*value)).collect())
}
