//! Encodes which operation each poll answers for.

use rustc_hash::FxHashMap;

use super::super::cnf::Lit;
use super::Encoder;

impl Encoder<'_> {
    /// Each poll that happens answers for one earlier operation of its queue pair. No two polls
    /// answer for the same operation. The solver chooses which. A poll without an earlier operation waits
    /// forever.
    pub(super) fn polls(&mut self) -> FxHashMap<(usize, usize), Lit> {
        let mut polls_from = FxHashMap::default();
        let mut of_operation: Vec<Vec<Lit>> = vec![Vec::new(); self.skeleton.operations.len()];
        for poll in self.skeleton.event_ids() {
            // pf is contained in po [RMW, Definition 18], so no later operation can answer.
            let Some(earlier) = self.skeleton.polled_by(poll) else { continue };
            let happens = self.values.guard(self.skeleton.event(poll).guard);
            let mut answers = Vec::new();
            for index in earlier {
                let operation = &self.skeleton.operations[index];
                let literal = self.cnf.variable();
                let completes = self.values.guard(operation.guard);
                self.cnf.implies(&[literal], &[completes]);
                self.cnf.implies(&[literal], &[happens]);
                polls_from.insert((operation.completion.0, poll.0), literal);
                of_operation[index].push(literal);
                answers.push(literal);
            }
            self.cnf.implies(&[happens], &answers);
            self.cnf.at_most_one(&answers);
            if answers.is_empty() {
                self.unanswered.push(poll);
            }
        }
        for polls in of_operation {
            self.cnf.at_most_one(&polls);
        }
        polls_from
    }
}
