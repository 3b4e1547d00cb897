//! Can every execution still end? A reachable state from which no way leads to an end is *stuck*: a thread waits for ever
//! there, or goes round a loop that nothing can stop.
//!
//! The reduced state space is enough. From each of its states the same ends can be reached as without reduction (`reduce`,
//! `stubborn`). Say that from all of its states some end can be reached, and yet some sequence of steps leads from
//! one of them to a stuck state. Follow the reduced space towards an end: each step taken is either one of the
//! sequence, which may be taken first, so that less of the sequence is left; or it commutes with all of it, and what
//! the sequence leads to then is stuck too. An end allows no steps, so the sequence is used up before: a state of the
//! reduced space is stuck, against what was said. (Valmari, "Stop it, and be stubborn!".)
//!
//! What threads do there, the reduced space does not tell, since it may leave out the steps of some for ever. So from a
//! stuck state all steps are taken, to where nothing but going round is left.

use compiler::code::CompileError;
use lang::Test;
use lang::source::Span;

use super::explore::{Effort, Exploration, Explorer, Limits};
use super::fault::FaultSet;
use super::footprint::Footprints;
use super::rules::{Machine, Variant};
use super::state::State;
use super::witness::retrace_path;

/// A state from which no execution ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stuck {
    /// By thread, the statement that it does not come back from; `None` if it is done.
    pub at: Vec<Option<Span>>,
    /// The values of registers.
    pub registers: Vec<u64>,
    /// The steps that lead there, in words.
    pub steps: Vec<String>,
}

/// All outcomes of a test, and a stuck state if there is one. If a limit was hit, there may be one that was not seen.
///
/// # Errors
/// Statements without operational meaning in this variant.
pub fn progress(
    test: &Test,
    variant: Variant,
    effort: Effort,
    limits: Limits<'_>,
) -> Result<(Exploration, Option<Stuck>), CompileError> {
    let machine = Machine::new(test, variant, FaultSet::NONE)?;
    let footprints = Footprints::of(test, &machine);
    let explorer = |effort| {
        let mut explorer = Explorer::new(test, &machine, &footprints, effort, limits);
        explorer.graph = Some(Graph::default());
        explorer.steps_taken.brief = true;
        explorer
    };
    let mut reduced = explorer(effort);
    let stopped = reduced.run();
    let found = reduced.take_found(stopped);
    let Some((first, path)) = stuck_state(&mut reduced) else { return Ok((found, None)) };
    // What is shown has all values, also those that nothing looks at.
    let effort = if effort == Effort::Full { Effort::Stubborn } else { effort };
    let mut shown = explorer(effort);
    shown.run();
    let (first, path) = stuck_state(&mut shown).unwrap_or((first, path));
    let initial = machine.initial().clone();
    let mut steps = retrace_path(&mut shown, initial, &path, None).unwrap_or_default();
    let mut all = explorer(Effort::Eager);
    all.run_from(first.clone());
    let (last, path) = all.graph.take().unwrap_or_default().innermost(all.seen.len());
    let mut state = first.clone();
    if let Some(last) = last {
        machine.decode(all.seen.get(last), &mut state);
        steps.extend(retrace_path(&mut all, first, &path, None).unwrap_or_default());
    }
    let threads = machine.code.threads.iter().zip(&state.threads);
    let at = threads.map(|(code, thread)| code.spans.get(thread.pc).copied()).collect();
    Ok((found, Some(Stuck { at, registers: state.registers, steps })))
}

/// A stored state that is stuck, and the stored states on the way to it.
fn stuck_state(explorer: &mut Explorer<'_>) -> Option<(State, Vec<usize>)> {
    let graph = explorer.graph.take()?;
    let number = graph.stuck(explorer.seen.len(), explorer.open())?;
    let mut state = explorer.machine.initial().clone();
    explorer.machine.decode(explorer.seen.get(number), &mut state);
    Some((state, graph.path(number)))
}

/// Which stored state leads to which, and from which an execution ends.
#[derive(Default)]
pub(super) struct Graph {
    /// The state that is being expanded.
    pub current: Option<usize>,
    /// By state, the one that it was first reached from; itself for the first.
    parents: Vec<usize>,
    edges: Vec<(u32, u32)>,
    ends: Vec<usize>,
}

impl Graph {
    /// Notes that the current state leads to one.
    pub fn leads_to(&mut self, number: usize, is_new: bool) {
        if is_new {
            self.parents.push(self.current.unwrap_or(number));
        }
        if let Some(current) = self.current {
            self.edges.push((current as u32, number as u32));
        }
    }

    /// Notes that an execution ends from the current state.
    pub fn ends(&mut self) {
        self.ends.extend(self.current);
    }

    /// The first state from which no way leads to an end, nor to a state that is not expanded.
    fn stuck(&self, states: usize, open: &[usize]) -> Option<usize> {
        let before = Neighbors::new(states, self.edges.iter().map(|(from, to)| (*to, *from)));
        let reached = before.reach(self.ends.iter().chain(open).copied());
        reached.iter().position(|reached| !reached)
    }

    /// A state from which all that can be reached leads back to it, and the way there.
    fn innermost(&self, states: usize) -> (Option<usize>, Vec<usize>) {
        if states == 0 {
            return (None, Vec::new());
        }
        let after = Neighbors::new(states, self.edges.iter().copied());
        let before = Neighbors::new(states, self.edges.iter().map(|(from, to)| (*to, *from)));
        let mut at = 0;
        loop {
            let (forward, back) = (after.reach([at]), before.reach([at]));
            // One that does not lead back can reach less.
            match (0..states).rev().find(|state| forward[*state] && !back[*state]) {
                Some(further) => at = further,
                None => return (Some(at), self.path(at)),
            }
        }
    }

    fn path(&self, number: usize) -> Vec<usize> {
        let mut path = vec![number];
        while let Some(last) = path.last()
            && let Some(parent) = self.parents.get(*last)
            && parent != last
        {
            path.push(*parent);
        }
        path.reverse();
        path
    }
}

/// By state, its neighbors.
struct Neighbors {
    first: Vec<usize>,
    all: Vec<u32>,
}

impl Neighbors {
    fn new(states: usize, edges: impl Iterator<Item = (u32, u32)> + Clone) -> Self {
        let mut first = vec![0; states + 1];
        edges.clone().for_each(|(from, _)| first[from as usize + 1] += 1);
        for state in 0..states {
            first[state + 1] += first[state];
        }
        let mut next = first.clone();
        let mut all = vec![0; first[states]];
        for (from, to) in edges {
            all[next[from as usize]] = to;
            next[from as usize] += 1;
        }
        Self { first, all }
    }

    /// By state, whether it can be reached.
    fn reach(&self, from: impl IntoIterator<Item = usize>) -> Vec<bool> {
        let mut reached = vec![false; self.first.len() - 1];
        let mut open = Vec::new();
        let mut take = |state: usize, open: &mut Vec<usize>| {
            if !reached[state] {
                reached[state] = true;
                open.push(state);
            }
        };
        from.into_iter().for_each(|state| take(state, &mut open));
        while let Some(state) = open.pop() {
            let next = &self.all[self.first[state]..self.first[state + 1]];
            next.iter().for_each(|state| take(*state as usize, &mut open));
        }
        reached
    }
}
