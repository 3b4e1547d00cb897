//! Runs the threads of a program that has no requests in the order of a few, where there are too few cores.
//!
//! Three threads on two cores hardly ever meet within the time that a store is in a store buffer: a change of
//! threads takes longer. So in some rounds, one thread runs the code of several, one instance after the
//! other, and drains its store buffer in between, as a change of threads on its core would do.

use std::sync::atomic::{Ordering, fence};
use std::sync::{Arc, Mutex};

use compiler::code::{Instruction, ThreadCode};
use compiler::plan::Plan;
use lang::mutex::lock;
use lang::program::ThreadId;
use model::machine::Random;

use super::instance::{How, Scratch};
use super::{Backlog, End, Ending, Pace, Patience, Stop, ThreadResult, ThreadRun, observed, pace};

/// The threads of a machine that run each other's code.
pub struct Fold {
    threads: Vec<usize>,
    /// For each thread of the program, what others ran for it, or it ran itself.
    results: Vec<Mutex<Vec<Ran>>>,
}

/// An instance that was run: how it ended, and the observed registers of its thread.
type Ran = (Ending, Vec<u64>);

/// How many threads run at once in a round that is folded.
const AT_ONCE: usize = 2;

impl Fold {
    /// Those of these threads, which are of one machine. `None` if they are too few, if one of them may wait,
    /// or if they are of several nodes, each with memory of its own.
    pub fn new(plan: &Plan, threads: &[usize]) -> Option<Self> {
        let codes = || threads.iter().map(|thread| &plan.code.threads[*thread]);
        let is_one_node = codes().all(|code| codes().all(|other| other.node == code.node));
        let is_alone = |code: &ThreadCode| code.queue_pairs.is_empty() && code.shared.is_empty();
        let fits = threads.len() > AT_ONCE
            && is_one_node
            && plan.requests.is_empty()
            && codes().all(|code| is_straight(code) && is_alone(code));
        let results = plan.code.threads.iter().map(|_| Mutex::default()).collect();
        fits.then(|| Self { threads: threads.to_vec(), results })
    }

    /// Draws who runs whose code in the next round. `None`: each its own. Threads that draw from the same
    /// numbers agree.
    pub(super) fn draw(&self, common: &mut Random) -> Option<[Vec<usize>; AT_ONCE]> {
        if common.below(2) == 0 {
            return None;
        }
        let mut groups: [Vec<usize>; AT_ONCE] = Default::default();
        // Every group has one at least: this one, or the other.
        let first = common.below(self.threads.len() as u32) as usize;
        for (at, thread) in self.threads.iter().enumerate() {
            let group = match (at + self.threads.len() - first) % self.threads.len() {
                0 => 0,
                1 => 1,
                _ => common.below(AT_ONCE as u32) as usize,
            };
            groups[group].push(*thread);
        }
        Some(groups)
    }
}

/// Whether a thread only accesses memory, one statement after the other.
fn is_straight(code: &ThreadCode) -> bool {
    use Instruction::{Assign, Cas, Exchange, Faa, Fence, Read, Write};
    let is_access = |one: &Instruction| match one {
        Assign { .. } | Read { .. } | Write { .. } | Cas { .. } | Faa { .. } | Exchange { .. } => {
            true
        }
        one => matches!(one, Fence),
    };
    code.instructions.iter().all(is_access)
}

impl ThreadRun {
    /// The thread's part of a round that is folded. The first of each group runs the code of all in it; the
    /// others do nothing.
    pub(super) fn folded(
        &mut self,
        round: &[u32],
        groups: &[Vec<usize>; AT_ONCE],
        (scratch, random): (&mut Scratch, &mut Random),
        mut backlog: Option<&mut Backlog>,
        stop: &Stop<'_>,
    ) -> Result<(), End> {
        let Some(own) = groups.iter().find(|group| group.first() == Some(&self.id.0)) else {
            self.barrier.skip(round.len());
            return Ok(());
        };
        let Some(fold) = self.fold.clone() else { return Ok(()) };
        let plan = Arc::clone(&self.plan);
        let seen: Vec<Vec<usize>> =
            own.iter().map(|thread| observed(&plan, ThreadId(*thread))).collect();
        let leaders: Vec<usize> =
            groups.iter().filter_map(|group| group.first().copied()).collect();
        let pace = Pace { pause: self.parameters.delay, ..Pace::default() };
        for slot in round {
            let patience = &mut Patience::at_barrier(stop);
            pace::stagger(self.barrier.meet(Some(&leaders), patience, stop)?, random);
            let first = random.below(own.len() as u32) as usize;
            for at in (0..own.len()).map(|at| (at + first) % own.len()) {
                // As a core does that goes on with another thread.
                fence(Ordering::SeqCst);
                let (thread, backlog) = (ThreadId(own[at]), backlog.as_deref_mut());
                let how = How { thread, pace, spread: 0, random, backlog };
                let ending =
                    self.instance(*slot, scratch, how, stop, self.parameters.patience())?;
                let registers = seen[at].iter().map(|at| scratch.registers[*at]).collect();
                lock(&fold.results[own[at]]).push((ending, registers));
            }
        }
        Ok(())
    }

    /// Takes what the last round had for this thread, if it was folded. All threads of that round have come
    /// to a barrier.
    pub(super) fn collect(&self, result: &mut ThreadResult) {
        let Some(fold) = &self.fold else { return };
        for (ending, registers) in lock(&fold.results[self.id.0]).drain(..) {
            result.ends.push(ending as u8);
            result.registers.extend(registers);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_thread_is_in_one_group_and_no_group_is_empty() {
        let fold = Fold { threads: vec![1, 2, 4, 7], results: Vec::new() };
        let mut common = Random::new(5);
        let mut seen = std::collections::HashSet::new();
        for _ in 0..400 {
            let Some(groups) = fold.draw(&mut common) else { continue };
            let mut all = groups.concat();
            all.sort_unstable();
            assert_eq!(all, [1, 2, 4, 7]);
            assert!(groups.iter().all(|group| !group.is_empty()), "{groups:?}");
            seen.insert(groups);
        }
        // Ordered pairs of groups: 2^4 - 2.
        assert_eq!(seen.len(), 14);
    }
}
