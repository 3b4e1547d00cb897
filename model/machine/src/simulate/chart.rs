//! The states that runs of a simulator have been in, and where steps lead from them: a run among them looks
//! up its steps instead of taking them.
//!
//! Nothing depends on what a chart has: a run ends in the same way without one, by the same random numbers.

use super::Run;
use crate::seen::StateSet;

/// The number of a state.
pub(super) type Number = u32;

/// A chart keeps no more states than fit.
const MOST_MEMORY: usize = 16 << 20;
/// One step in this many may be added, beside the first ones: adding takes tens of times as long as a step.
const ADDED_OF: u64 = 32;
const ADDED_FIRST: u64 = 128;
/// After this many runs that left the chart, some runs do without it.
const LEFT: u32 = 8;
/// How many runs do without it the first time. The number doubles each time.
const WITHOUT: u32 = 64;
/// The most runs that do without it before the next one tries.
const MOST_WITHOUT: u32 = 4096;

#[derive(Clone, Debug, Default)]
pub(super) struct Chart {
    states: StateSet,
    nodes: Vec<Node>,
    moves: Vec<Move>,
    edges: Vec<Edge>,
    ends: Vec<Run>,
    /// How many edges are known, and how many steps runs have taken, with the chart or without.
    added: u64,
    steps: u64,
    /// Of the latest runs, how many more left the chart than ended in it.
    left: u32,
    /// How many of the next runs do without, and how often it came to that.
    without: u32,
    times: u32,
}

/// A state: the range of its moves, or, if no agent can move, the place of its end.
#[derive(Clone, Copy, Debug)]
struct Node {
    first: u32,
    count: u32,
}

/// An agent that can move, by index, the slots at which it can, and the place of the first slot's edge.
#[derive(Clone, Copy, Debug)]
pub(super) struct Move {
    pub(super) agent: u32,
    edges: u32,
    pub(super) slots: u64,
}

/// What comes of a step.
#[derive(Clone, Copy, Debug)]
pub(super) struct Edge {
    /// The state that it leads to, or [`ASSUME_FAILED`] or [`QUEUE_FULL`].
    pub(super) to: Number,
    /// How many steps that only compute follow it.
    pub(super) computing: u32,
}

/// Ends of a run that are no states.
pub(super) const ASSUME_FAILED: Number = Number::MAX - 1;
pub(super) const QUEUE_FULL: Number = Number::MAX - 2;

/// What comes of a step that no run has taken. So many computing steps are beyond every bound.
const UNKNOWN: Edge = Edge { to: Number::MAX, computing: u32::MAX >> 1 };

impl Edge {
    #[inline]
    pub(super) fn is_known(self) -> bool {
        self.to != UNKNOWN.to
    }
}

impl Chart {
    /// Whether the next run is to begin in the chart.
    pub(super) fn is_of_use(&mut self) -> bool {
        self.without = self.without.saturating_sub(1);
        self.without == 0
    }

    /// Whether another edge may be added.
    pub(super) fn may_grow(&self) -> bool {
        let most = ADDED_FIRST + self.steps / ADDED_OF;
        self.added < most && self.states.memory() + 8 * self.edges.len() < MOST_MEMORY
    }

    /// Counts the steps of a run, and whether it left the chart.
    pub(super) fn count(&mut self, steps: u32, has_left: bool) {
        self.steps += u64::from(steps);
        if !has_left {
            self.left = self.left.saturating_sub(1);
            return;
        }
        self.left += 1;
        if self.left == LEFT {
            self.left = 0;
            self.without = (WITHOUT << self.times.min(16)).min(MOST_WITHOUT);
            self.times += 1;
        }
    }

    /// Is not of use any more.
    #[cfg(test)]
    pub(super) fn disable(&mut self) {
        self.without = u32::MAX;
    }

    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// The number of a state by its encoding, and whether it is new; then [`Self::describe`] is next.
    pub(super) fn number(&mut self, encoding: &[u8]) -> (Number, bool) {
        let (number, is_new) = self.states.insert(encoding);
        (number as Number, is_new)
    }

    /// Says of the newest state which agents can move at which slots.
    pub(super) fn describe(&mut self, moves: impl Iterator<Item = (usize, u64)>) {
        let first = self.moves.len();
        for (agent, slots) in moves {
            let edges = self.edges.len();
            self.edges.resize(edges + slots.count_ones() as usize, UNKNOWN);
            self.moves.push(Move { agent: agent as u32, edges: edges as u32, slots });
        }
        let count = (self.moves.len() - first) as u32;
        self.nodes.push(Node { first: first as u32, count });
    }

    /// Says of the newest state, in which no agent can move, how a run ends there.
    pub(super) fn describe_end(&mut self, end: Run) {
        self.nodes.push(Node { first: self.ends.len() as u32, count: 0 });
        self.ends.push(end);
    }

    /// How a run ends in a state without moves.
    pub(super) fn end(&self, state: Number) -> Run {
        self.ends[self.nodes[state as usize].first as usize]
    }

    pub(super) fn encoding(&self, state: Number) -> &[u8] {
        self.states.get(state as usize)
    }

    #[inline]
    pub(super) fn moves(&self, state: Number) -> &[Move] {
        let node = self.nodes[state as usize];
        &self.moves[node.first as usize..][..node.count as usize]
    }

    /// What comes of a move at a slot.
    #[inline]
    pub(super) fn edge(&self, by: Move, slot: usize) -> Edge {
        self.edges[by.edge(slot)]
    }

    pub(super) fn add(&mut self, by: Move, slot: usize, edge: Edge) {
        self.added += 1;
        self.edges[by.edge(slot)] = edge;
    }
}

impl Move {
    #[inline]
    fn edge(self, slot: usize) -> usize {
        if self.slots.is_power_of_two() {
            return self.edges as usize;
        }
        let before = self.slots & ((1 << slot) - 1);
        self.edges as usize + before.count_ones() as usize
    }
}
