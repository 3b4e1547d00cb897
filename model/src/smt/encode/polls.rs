//! Which operation each poll answers for.

use std::collections::BTreeMap;

use compiler::skeleton::{EventId, Stamp};
use lang::program::{NodeId, ThreadId};
use rustc_hash::FxHashMap;

use super::super::cnf::Lit;
use super::Encoder;

impl Encoder<'_> {
    /// The k-th poll of a node answers for the k-th operation towards it; a poll without an earlier one waits
    /// for ever.
    pub(super) fn polls(&mut self) -> FxHashMap<(usize, usize), Lit> {
        let mut polls: BTreeMap<(ThreadId, NodeId), Vec<EventId>> = BTreeMap::new();
        for id in self.skeleton.event_ids() {
            let event = self.skeleton.event(id);
            if let (Stamp::Wait, Some(thread), Some(node)) = (event.stamp, event.thread, event.node)
            {
                polls.entry((thread, node)).or_default().push(id);
            }
        }
        let mut polls_from = FxHashMap::default();
        for ((thread, node), polls) in polls {
            let operations: Vec<_> = self
                .skeleton
                .operations
                .iter()
                .filter(|operation| (operation.thread, operation.node) == (thread, node))
                .collect();
            let operation_guards: Vec<Lit> =
                operations.iter().map(|operation| self.values.guard(operation.guard)).collect();
            let poll_guards: Vec<Lit> = polls
                .iter()
                .map(|poll| self.values.guard(self.skeleton.event(*poll).guard))
                .collect();
            let operation_ranks = self.ranks(&operation_guards);
            let poll_ranks = self.ranks(&poll_guards);
            for (poll, poll_rank) in polls.iter().zip(&poll_ranks) {
                let mut answers = Vec::new();
                // pf is within po [RMW, Definition 18]: no later operation answers.
                let earlier = operations.iter().zip(&operation_ranks);
                for (operation, rank) in earlier.filter(|(known, _)| known.completion < *poll) {
                    let same: Vec<Lit> =
                        rank.iter().zip(poll_rank).map(|(a, b)| self.cnf.and(*a, *b)).collect();
                    let literal = self.cnf.or_all(&same);
                    if literal != Lit::FALSE {
                        polls_from.insert((operation.completion.0, poll.0), literal);
                        answers.push(literal);
                    }
                }
                let happens = self.values.guard(self.skeleton.event(*poll).guard);
                self.cnf.implies(&[happens], &answers);
                if answers.is_empty() {
                    self.unanswered.push(*poll);
                }
            }
        }
        polls_from
    }

    /// For each of a sequence of things that may happen, literals for "it happens, and k before it do".
    fn ranks(&mut self, happens: &[Lit]) -> Vec<Vec<Lit>> {
        let mut ranks = Vec::new();
        let mut before = vec![Lit::TRUE];
        for literal in happens {
            ranks.push(before.iter().map(|count| self.cnf.and(*count, *literal)).collect());
            let mut after = vec![Lit::FALSE; before.len() + 1];
            for (count, known) in before.iter().enumerate() {
                let same = self.cnf.and(*known, !*literal);
                let more = self.cnf.and(*known, *literal);
                after[count] = self.cnf.or_all(&[after[count], same]);
                after[count + 1] = more;
            }
            before = after;
        }
        ranks
    }
}
