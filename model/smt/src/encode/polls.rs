//! Encodes which operation each poll answers for.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use skeleton::{EventId, Guard, Operation};

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
            // pf is contained in po [RMW, Definition 18], so no later operation can answer, except one of
            // another thread on a queue pair that they share.
            let Some(earlier) = self.skeleton.polled_by(poll) else { continue };
            let mut answers = Vec::new();
            for index in earlier {
                let literal = self.answer(&self.skeleton.operations[index], poll, &mut polls_from);
                of_operation[index].push(literal);
                answers.push(literal);
            }
            let happens = self.values.guard(self.skeleton.event(poll).guard);
            self.cnf.implies(&[happens], &answers);
            self.cnf.at_most_one(&answers);
            if answers.is_empty() {
                self.unanswered.push(poll);
            }
        }
        for polls in &of_operation {
            self.cnf.at_most_one(polls);
        }
        self.unsignaled(&mut polls_from);
        self.shared_unsignaled(&mut polls_from);
        polls_from
    }

    /// That a poll answers for an operation, which the solver may choose if both happen.
    fn answer(
        &mut self,
        operation: &Operation,
        poll: EventId,
        polls_from: &mut FxHashMap<(usize, usize), Lit>,
    ) -> Lit {
        let literal = self.cnf.variable();
        let completes = self.values.guard(operation.guard);
        let happens = self.values.guard(self.skeleton.event(poll).guard);
        self.cnf.implies(&[literal], &[completes]);
        self.cnf.implies(&[literal], &[happens]);
        for completion in operation.completions() {
            polls_from.insert((completion.0, poll.0), literal);
        }
        literal
    }

    /// For unsignaled operations on queue pairs that threads share, the solver chooses which polls answer for
    /// them: the model asks for one that is early enough, and more of them only exclude executions.
    fn shared_unsignaled(&mut self, polls_from: &mut FxHashMap<(usize, usize), Lit>) {
        let skeleton = self.skeleton;
        let is_it = |one: &&Operation| one.unsignaled && one.towards.is_shared();
        for operation in skeleton.operations.iter().filter(is_it) {
            for poll in skeleton.event_ids().filter(|poll| skeleton.may_answer(*poll, operation)) {
                self.answer(operation, poll, polls_from);
            }
        }
    }

    /// A poll that answers for an operation also answers for the unsignaled ones before it.
    fn unsignaled(&mut self, polls_from: &mut FxHashMap<(usize, usize), Lit>) {
        let mut covering: BTreeMap<(usize, usize), (Guard, Vec<Lit>)> = BTreeMap::new();
        for (index, operation) in self.skeleton.operations.iter().enumerate() {
            for earlier in self.skeleton.completed_with(index) {
                let polls =
                    polls_from.iter().filter(|((from, _), _)| *from == operation.completion.0);
                for ((_, poll), literal) in polls {
                    for completion in earlier.completions() {
                        let pair = (completion.0, *poll);
                        let all = covering.entry(pair).or_insert((earlier.guard, Vec::new()));
                        all.1.push(*literal);
                    }
                }
            }
        }
        for (pair, (guard, covering)) in covering {
            let literal = self.cnf.variable();
            let completes = self.values.guard(guard);
            self.cnf.implies(&[literal], &[completes]);
            self.cnf.implies(&[literal], &covering);
            for later in covering {
                self.cnf.implies(&[later, completes], &[literal]);
            }
            polls_from.insert(pair, literal);
        }
    }
}
