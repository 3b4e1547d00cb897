//! Which operation each poll answers for.

use rustc_hash::FxHashMap;

use super::super::cnf::Lit;
use super::Encoder;

impl Encoder<'_> {
    /// Each poll that happens answers for one earlier operation of its thread towards its node, and no two polls for the
    /// same; for which is chosen. A poll without an earlier operation waits for ever.
    pub(super) fn polls(&mut self) -> FxHashMap<(usize, usize), Lit> {
        let mut polls_from = FxHashMap::default();
        let mut of_operation: Vec<Vec<Lit>> = vec![Vec::new(); self.skeleton.operations.len()];
        for poll in self.skeleton.event_ids() {
            // pf is within po [RMW, Definition 18]: no later operation answers.
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
