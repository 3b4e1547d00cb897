//! Treats the model as a theory: is a candidate execution consistent, and if not, which choices are to blame?
//!
//! The solver proposes a complete candidate; the model's relations are evaluated on it, and each
//! violation of an axiom is traced back to the few literals that cause it. Their negation is a clause
//! that every consistent execution satisfies, so the answer "no more" of the solver is a proof.

mod reasons;

use lang::limits;
use skeleton::Skeleton;

use super::cnf::Lit;
use super::plan::{NodeIndex, Op, Plan, apply, bounds};
use crate::relation::Relation;

/// The facts of a candidate execution, from which all relations follow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// The events that happen, as an identity relation.
    pub executed: Relation,
    /// rf: from each write to the reads that take its value.
    pub reads_from: Relation,
    /// pf: from each operation's completion to the poll that answers for it.
    pub polls_from: Relation,
    /// The existential orders of the model, by their number in the plan.
    pub choices: Vec<Relation>,
}

impl Facts {
    /// The facts if every event happens and nothing is chosen.
    pub fn all_events(plan: &Plan) -> Self {
        Self {
            executed: Relation::identity(plan.size),
            reads_from: Relation::empty(plan.size),
            polls_from: Relation::empty(plan.size),
            choices: Vec::new(),
        }
    }
}

/// The literals that stand for the facts. A pair that no choice can relate has [`Lit::FALSE`].
pub trait Literals {
    /// True iff the event happens.
    fn executed(&self, event: usize) -> Lit;
    /// True iff the read takes the write's value.
    fn reads_from(&self, write: usize, read: usize) -> Lit;
    /// True iff the poll answers for the operation that ends with this event.
    fn polls_from(&self, completion: usize, poll: usize) -> Lit;
    /// True iff the order relates the two events.
    fn choice(&self, choice: usize, from: usize, to: usize) -> Lit;
}

/// The values of all nodes of a plan for one candidate.
pub struct Evaluation<'p> {
    plan: &'p Plan,
    facts: Facts,
    /// The row that has the events that happen.
    happening: Vec<u64>,
    values: Vec<Relation>,
    /// For each recursive name and pair: the iteration that found the pair, from 1; 0 if none did.
    /// `size * size` numbers for each name.
    stages: Vec<Vec<u32>>,
    /// By node, if it is needed: a superset of what it relates in any execution. Empty before
    /// [`Evaluation::bound`].
    at_most: Vec<Relation>,
}

impl<'p> Evaluation<'p> {
    /// Evaluates all nodes for these facts.
    pub fn new(plan: &'p Plan, facts: Facts) -> Self {
        let mut evaluation = Self::of_all_events(plan);
        evaluation.statics();
        evaluation.update(facts);
        evaluation
    }

    /// Finds what nodes relate at most, which explanations need.
    pub fn bound(&mut self, skeleton: &Skeleton) {
        let nodes = &self.plan.nodes;
        self.at_most = bounds::at_most(self.plan, skeleton, |node| nodes[node].is_needed);
    }

    /// Whether no node relates more than its bound says.
    pub fn is_bounded(&self) -> bool {
        let values = self.values.iter().zip(&self.at_most);
        values.filter(|(_, bound)| bound.size() > 0).all(|(value, bound)| value.is_within(bound))
    }

    /// A superset of the events that are in a set in some execution, as an identity relation.
    pub fn members(&self, set: Option<NodeIndex>) -> Relation {
        set.map_or_else(|| Relation::empty(self.plan.size), |node| self.at_most[node].clone())
    }

    /// The value of a static node when all events happen. Only its operands are evaluated.
    pub fn constant(plan: &'p Plan, node: NodeIndex) -> Relation {
        if let Some(known) = plan.constant(node) {
            return known.clone();
        }
        let mut is_wanted = vec![false; node + 1];
        is_wanted[node] = true;
        for node in (0..=node).rev() {
            if is_wanted[node] {
                plan.nodes[node].op.operands().for_each(|operand| is_wanted[operand] = true);
            }
        }
        let mut evaluation = Self::of_all_events(plan);
        (0..=node).filter(|node| is_wanted[*node]).for_each(|node| evaluation.compute(node));
        std::mem::take(&mut evaluation.values[node])
    }

    /// An evaluation without values. Nodes that are not needed then take no memory.
    fn of_all_events(plan: &'p Plan) -> Self {
        let names = plan.groups.iter().map(|group| group.bodies.len()).sum();
        let facts = Facts::all_events(plan);
        Self {
            plan,
            happening: facts.executed.members(),
            facts,
            values: vec![Relation::default(); plan.nodes.len()],
            stages: vec![Vec::new(); names],
            at_most: Vec::new(),
        }
    }

    /// The facts of the current candidate.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// The value of a node for the current candidate.
    pub fn value(&self, node: NodeIndex) -> &Relation {
        &self.values[node]
    }

    /// Evaluates again for other facts. Values that depend only on which events happen are kept if those are
    /// the same.
    pub fn update(&mut self, facts: Facts) {
        let same_events = facts.executed == self.facts.executed;
        self.facts = facts;
        if !same_events {
            self.statics();
        }
        let mut groups = self.plan.groups.iter().peekable();
        let mut node = 0;
        while node < self.plan.nodes.len() {
            if let Some(group) = groups.next_if(|group| group.first == node) {
                self.fixpoint(group);
                node = group.last;
                continue;
            }
            // Nodes that depend on choices and are needed.
            if !self.plan.nodes[node].is_static && self.plan.nodes[node].is_needed {
                self.compute(node);
            }
            node += 1;
        }
    }

    fn statics(&mut self) {
        self.happening = self.facts.executed.members();
        for node in 0..self.plan.nodes.len() {
            if self.plan.nodes[node].is_static && self.plan.nodes[node].is_needed {
                self.compute(node);
            }
        }
    }

    fn fixpoint(&mut self, group: &super::plan::Group) {
        let size = self.plan.size;
        for (name, _) in &group.bodies {
            self.values[*name].clear(size);
            if let Op::Recursive(index) = self.plan.nodes[*name].op {
                limits::need(size * size * size_of::<u32>());
                self.stages[index].clear();
                self.stages[index].resize(size * size, 0);
            }
        }
        group.fixed.iter().for_each(|node| self.compute(*node));
        for stage in 1.. {
            group.growing.iter().for_each(|node| self.compute(*node));
            let mut changed = false;
            for (name, body) in &group.bodies {
                let Op::Recursive(index) = self.plan.nodes[*name].op else { continue };
                let mut grown = self.values[*body].clone();
                grown.subtract(&self.values[*name]);
                for (from, to) in grown.pairs() {
                    self.stages[index][from * size + to] = stage;
                    changed = true;
                }
                self.values[*name].unite(&grown);
            }
            if !changed {
                break;
            }
        }
    }

    /// Evaluates one node from its operands, and reuses the memory of the value before.
    fn compute(&mut self, node: NodeIndex) {
        // For small relations, the check of the limit costs more than the relation.
        if self.plan.size > 64 {
            limits::need(self.plan.size * self.plan.size / 8);
        }
        let mut result = std::mem::take(&mut self.values[node]);
        self.compute_into(&mut result, node);
        self.values[node] = result;
    }

    fn compute_into(&self, result: &mut Relation, node: NodeIndex) {
        let executed = &self.facts.executed;
        match &self.plan.nodes[node].op {
            Op::Constant(_) => match self.plan.constant(node) {
                Some(value) => result.set_restricted(value, &self.happening),
                None => result.clear(self.plan.size),
            },
            Op::ReadsFrom => result.clone_from(&self.facts.reads_from),
            Op::PollsFrom => result.clone_from(&self.facts.polls_from),
            Op::Choice(choice) => match self.facts.choices.get(*choice) {
                Some(order) => result.clone_from(order),
                None => result.clear(self.plan.size),
            },
            // Names are set by the iteration over their group.
            op => apply(op, result, executed, |node| &self.values[node]),
        }
    }
}
