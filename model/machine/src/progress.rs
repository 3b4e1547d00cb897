//! Decides whether every execution can still end. A reachable state is *stuck* if no path leads from it to an
//! end: a thread waits forever there, or repeats a loop that nothing can stop.
//!
//! The reduced state space is enough to find stuck states. From each of its states, the same ends can be
//! reached as without reduction (`reduce`, `stubborn`). Assume that a sequence of steps leads to a stuck
//! state. Follow the reduced space towards an end. If a step taken there is one of the sequence, it may be
//! taken first, and the rest of the sequence is shorter. Otherwise the step commutes with the whole sequence,
//! and the state after both is reachable from the stuck state. An end allows no steps. So before the sequence
//! is used up, some state of the reduced space is stuck, and from it steps lead to where that sequence led.
//! (Valmari, "Stop it, and be stubborn!".)
//!
//! The reduced space does not show what threads do in stuck states, because it may leave out the steps of
//! some threads forever. So from stuck states all steps are taken, up to all sets of states that only lead to
//! each other.

mod counted;
mod ending;
mod graph;

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use compiler::code::CompileError;
use lang::Test;
use lang::source::Span;

use super::exploration::Exploration;
use super::explore::{Effort, Explorer};
use super::fault::FaultSet;
use super::footprint::Footprints;
use super::limits::Limits;
use super::rules::{Machine, Variant, in_requests};
use super::state::State;
use super::witness::retrace_path;
pub(super) use ending::always_counts;
#[cfg(test)]
pub(super) use ending::ends_with;
pub use ending::{
    Ending, Place, Places, always_ends, explore_to_ends, may_wait, never_comes_back, why_nothing,
};
pub(super) use graph::Graph;

/// A state from which no execution ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stuck {
    /// By thread, the statement that it never completes; `None` if the thread is done.
    pub at: Vec<Option<Span>>,
    /// The values of all registers, by register id.
    pub registers: Vec<u64>,
    /// The steps from the initial state, in words.
    pub steps: Vec<String>,
}

/// Explores all outcomes of a test. Then calls `tell` for each way to be stuck, until it returns `Break`. If
/// a limit was reached, outcomes and ways may be missing, and the exploration is not complete.
///
/// # Errors
/// Fails if a statement has no operational meaning in this variant.
pub fn progress(
    test: &Test,
    variant: Variant,
    effort: Effort,
    limits: Limits,
    tell: impl FnMut(&Exploration, Stuck) -> ControlFlow<()>,
) -> Result<Exploration, CompileError> {
    let test = &*in_requests(test)?;
    let machine = Machine::new(test, variant, FaultSet::NONE)?;
    Ok(progress_of(test, &machine, effort, limits, tell))
}

/// The same on a machine that is made.
pub(super) fn progress_of(
    test: &Test,
    machine: &Machine,
    effort: Effort,
    limits: Limits,
    mut tell: impl FnMut(&Exploration, Stuck) -> ControlFlow<()>,
) -> Exploration {
    let footprints = Footprints::of(test, machine);
    let explorer = |effort| {
        let mut explorer = Explorer::new(test, machine, &footprints, effort, limits.clone());
        explorer.graph = Some(Graph::default());
        explorer.steps_taken.brief = true;
        explorer
    };
    let mut reduced = explorer(effort);
    let stopped = reduced.run();
    let mut found = reduced.take_found(stopped);
    if stuck_states(&reduced).is_empty() {
        return found;
    }
    // Stuck states are reported with all their values, so the reduction that drops values is not used.
    if effort >= Effort::Values {
        reduced = explorer(Effort::Stubborn);
        if let Some(reason) = reduced.run() {
            found.is_cut_off(reason);
        }
    }
    let stuck = stuck_states(&reduced);
    let all = explorer(Effort::Eager);
    let mut ways = Ways { test, reduced, all, roots: Vec::new(), reported: BTreeSet::new() };
    // One stuck state is enough to refute. The others are followed only if `tell` continues.
    let (one, others) = stuck.split_at(stuck.len().min(1));
    for roots in [one, others] {
        if ways.follow(roots, &mut found, &mut tell).is_break() {
            break;
        }
    }
    found
}

/// The numbers of an explorer's stored states that are stuck.
fn stuck_states(explorer: &Explorer<'_>) -> Vec<usize> {
    let graph = explorer.graph.as_ref();
    graph.map(|graph| graph.stuck(explorer.seen.len(), explorer.open())).unwrap_or_default()
}

/// Finds the different ways to be stuck.
struct Ways<'a> {
    test: &'a Test,
    /// The reduced state space.
    reduced: Explorer<'a>,
    /// The states that all steps reach from stuck states.
    all: Explorer<'a>,
    /// For each stuck state that was followed: its number in `all`, and its number in `reduced`.
    roots: Vec<(usize, usize)>,
    /// The ways that were already reported: where threads are, and the values of registers that the program
    /// names.
    reported: BTreeSet<(Vec<Option<Span>>, Vec<u64>)>,
}

impl Ways<'_> {
    /// Takes all steps from some stuck states, and reports where they lead.
    fn follow(
        &mut self,
        roots: &[usize],
        found: &mut Exploration,
        tell: &mut impl FnMut(&Exploration, Stuck) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        for root in roots {
            let first = self.all.seen.len();
            let stopped = self.all.run_from(state(&self.reduced, *root));
            // Else, steps from another stuck state lead here.
            if self.all.seen.len() > first {
                self.roots.push((first, *root));
            }
            if let Some(reason) = stopped {
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
            if !self.reported.insert((at.clone(), named.map(|(_, value)| *value).collect())) {
                continue;
            }
            let steps = self.steps(number);
            tell(found, Stuck { at, registers: last.registers, steps })?;
        }
        ControlFlow::Continue(())
    }

    /// The steps that lead to a state of `all`, in words.
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

/// Decodes a stored state.
fn state(explorer: &Explorer<'_>, number: usize) -> State {
    let mut state = explorer.machine.initial().clone();
    explorer.machine.decode(explorer.seen.get(number), &mut state);
    state
}
