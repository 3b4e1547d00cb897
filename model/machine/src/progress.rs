//! Can every execution still end? A reachable state from which no way leads to an end is *stuck*: a thread waits for ever
//! there, or goes round a loop that nothing can stop.
//!
//! The reduced state space is enough. From each of its states the same ends can be reached as without reduction (`reduce`,
//! `stubborn`). Say that some sequence of steps leads to a stuck state. Follow the reduced space towards an end: each step
//! taken is either one of the sequence, which may be taken first, so that less of the sequence is left; or it commutes with
//! all of it, and what the sequence leads to then is reached from that stuck state. An end allows no steps, so before the
//! sequence is used up, a state of the reduced space is stuck, and from it steps lead to where that sequence led. (Valmari,
//! "Stop it, and be stubborn!".)
//!
//! What threads do there, the reduced space does not tell, since it may leave out the steps of some for ever. So from
//! stuck states all steps are taken, to all places where nothing but going round is left.

mod ending;
mod graph;

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use compiler::code::CompileError;
use lang::Test;
use lang::source::Span;

use super::explore::{Effort, Exploration, Explorer, Limits};
use super::fault::FaultSet;
use super::footprint::Footprints;
use super::rules::{Machine, Variant};
use super::state::State;
use super::witness::retrace_path;
#[cfg(test)]
pub(super) use ending::ends_with;
pub use ending::{Ending, Places, explore_to_ends, may_wait, never_comes_back, why_nothing};
pub(super) use graph::Graph;

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

/// All outcomes of a test. Then `tell` is told of each way to be stuck, until it breaks. If a limit was hit, there may be
/// outcomes and ways that were not seen, and the exploration is not complete.
///
/// # Errors
/// Statements without operational meaning in this variant.
pub fn progress(
    test: &Test,
    variant: Variant,
    effort: Effort,
    limits: Limits,
    mut tell: impl FnMut(&Exploration, Stuck) -> ControlFlow<()>,
) -> Result<Exploration, CompileError> {
    let machine = Machine::new(test, variant, FaultSet::NONE)?;
    let footprints = Footprints::of(test, &machine);
    let explorer = |effort| {
        let mut explorer = Explorer::new(test, &machine, &footprints, effort, limits.clone());
        explorer.graph = Some(Graph::default());
        explorer.steps_taken.brief = true;
        explorer
    };
    let mut reduced = explorer(effort);
    let stopped = reduced.run();
    let mut found = reduced.take_found(stopped);
    if stuck_states(&reduced).is_empty() {
        return Ok(found);
    }
    // What is told has all values, also those that nothing looks at.
    if effort == Effort::Full {
        reduced = explorer(Effort::Stubborn);
        if let Some(reason) = reduced.run() {
            found.is_cut_off(reason);
        }
    }
    let stuck = stuck_states(&reduced);
    let all = explorer(Effort::Eager);
    let mut ways = Ways { test, reduced, all, roots: Vec::new(), told: BTreeSet::new() };
    // One is enough to refute: the others are followed if it is not.
    let (one, others) = stuck.split_at(stuck.len().min(1));
    for roots in [one, others] {
        if ways.follow(roots, &mut found, &mut tell).is_break() {
            break;
        }
    }
    Ok(found)
}

/// The stored states of an explorer that are stuck.
fn stuck_states(explorer: &Explorer<'_>) -> Vec<usize> {
    let graph = explorer.graph.as_ref();
    graph.map(|graph| graph.stuck(explorer.seen.len(), explorer.open())).unwrap_or_default()
}

/// The ways to be stuck.
struct Ways<'a> {
    test: &'a Test,
    /// The reduced state space.
    reduced: Explorer<'a>,
    /// All steps from stuck states of it.
    all: Explorer<'a>,
    /// The numbers of these states in both, those of `all` first.
    roots: Vec<(usize, usize)>,
    /// What was told: where threads are, and the values that programs name.
    told: BTreeSet<(Vec<Option<Span>>, Vec<u64>)>,
}

impl Ways<'_> {
    /// Takes all steps from some stuck states, and tells where they lead to.
    fn follow(
        &mut self,
        roots: &[usize],
        found: &mut Exploration,
        tell: &mut impl FnMut(&Exploration, Stuck) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        for root in roots {
            self.roots.push((self.all.seen.len(), *root));
            if let Some(reason) = self.all.run_from(state(&self.reduced, *root)) {
                found.is_cut_off(reason);
                break;
            }
        }
        let Some(graph) = &self.all.graph else { return ControlFlow::Continue(()) };
        for component in graph.innermost(self.all.seen.len(), self.all.open()) {
            let number = component[0];
            let last = state(&self.all, number);
            let threads = self.all.machine.code.threads.iter().zip(&last.threads);
            let at: Vec<_> =
                threads.map(|(code, thread)| code.spans.get(thread.pc).copied()).collect();
            let values = self.test.program.registers.iter().zip(&last.registers);
            let named = values.filter(|(register, _)| register.name.is_some());
            if !self.told.insert((at.clone(), named.map(|(_, value)| *value).collect())) {
                continue;
            }
            let steps = self.steps(number);
            tell(found, Stuck { at, registers: last.registers, steps })?;
        }
        ControlFlow::Continue(())
    }

    /// The steps to a state of `all`.
    fn steps(&mut self, number: usize) -> Vec<String> {
        let path = |explorer: &Explorer<'_>, number: usize| {
            explorer.graph.as_ref().map(|graph| graph.path(number)).unwrap_or_default()
        };
        let further = path(&self.all, number);
        let root = self.roots.iter().find(|(first, _)| further.first() == Some(first));
        let Some((_, root)) = root.copied() else { return Vec::new() };
        let way = path(&self.reduced, root);
        let initial = self.reduced.machine.initial().clone();
        let mut steps = retrace_path(&mut self.reduced, initial, &way, None).unwrap_or_default();
        let first = state(&self.reduced, root);
        steps.extend(retrace_path(&mut self.all, first, &further, None).unwrap_or_default());
        steps
    }
}

/// A stored state.
fn state(explorer: &Explorer<'_>, number: usize) -> State {
    let mut state = explorer.machine.initial().clone();
    explorer.machine.decode(explorer.seen.get(number), &mut state);
    state
}
