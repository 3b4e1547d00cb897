//! Finds executions of a program that one application of a rule forbids, by trying every choice.

use lang::cat::model::AxiomKind;
use skeleton::{Skeleton, Stamp};

use super::program::{Program, Statement};
use crate::relation::Relation;
use crate::smt::plan::Plan;
use crate::smt::theory::{Evaluation, Facts};

/// An execution that one application of the rule forbids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instance {
    /// The value of each local read, in order.
    pub outcome: Vec<u64>,
    /// For a cas: whether its comparison succeeded, if the rule was applied to a cas.
    pub compared: Option<bool>,
}

/// A search over all choices: the source of each read, and the order of the writes.
pub struct Search<'a> {
    program: &'a Program,
    skeleton: &'a Skeleton,
    plan: &'a Plan,
    /// The axioms, as nodes of the plan with their kinds.
    axioms: Vec<(usize, AxiomKind)>,
    evaluation: Evaluation<'a>,
    is_monotone: bool,
    /// The pairs that are removed from the rule in this search.
    pub removed: Relation,
    /// The reads, local ones first, each with the writes that it can take its value from.
    reads: Vec<(usize, Vec<usize>)>,
    /// How many of the reads are local.
    locals: usize,
    /// For each place, its initial write. Initial writes are the first events, in the order of locations.
    initial: Vec<usize>,
    /// For each place, its writes except the initial one.
    writes: Vec<Vec<usize>>,
    /// The chosen write for each of the first reads of [`Search::reads`].
    sources: Vec<usize>,
}

impl<'a> Search<'a> {
    /// A search in which nothing is chosen, and nothing is removed from the rule.
    pub fn new(
        program: &'a Program,
        skeleton: &'a Skeleton,
        plan: &'a Plan,
        axioms: Vec<(usize, AxiomKind)>,
        evaluation: Evaluation<'a>,
        is_monotone: bool,
    ) -> Self {
        let events = &skeleton.events;
        let same = |a: usize, b: usize| events[a].location == events[b].location;
        let writers = |read: usize| {
            (0..events.len())
                .filter(|write| events[*write].writes() && *write != read && same(read, *write))
                .collect()
        };
        // Local reads come first: then it is known early which writes no local read sees.
        let is_local = |event: usize| events[event].stamp == Stamp::CpuRead;
        let all = (0..events.len()).filter(|event| events[*event].reads());
        let mut reads: Vec<(usize, Vec<usize>)> = all.map(|read| (read, writers(read))).collect();
        reads.sort_by_key(|(read, _)| !is_local(*read));
        let locals = reads.iter().filter(|(read, _)| is_local(*read)).count();
        let initial = program.locations();
        let of_place = |location: &usize| {
            let is_of = |event: &usize| {
                let event = &events[*event];
                event.writes()
                    && event.stamp != Stamp::Init
                    && event.location.is_some_and(|known| known.0 == *location)
            };
            (0..events.len()).filter(is_of).collect()
        };
        let writes = initial.iter().map(of_place).collect();
        let (sources, removed) = (Vec::new(), Relation::empty(plan.size));
        Self {
            program,
            skeleton,
            plan,
            axioms,
            evaluation,
            is_monotone,
            removed,
            reads,
            locals,
            initial,
            writes,
            sources,
        }
    }

    /// The first wanted execution that continues the choices so far. Tries every source of the next read.
    pub fn sources(&mut self, wanted: &dyn Fn(&Instance) -> bool) -> Option<Instance> {
        let done = self.sources.len();
        if !self.can_be_seen() || self.is_monotone && done > 0 && self.is_hopeless(&[]) {
            return None;
        }
        let Some((_, writers)) = self.reads.get(done) else {
            return self.ordered(&mut Vec::new(), wanted);
        };
        for write in writers.clone() {
            self.sources.push(write);
            let found = self.sources(wanted);
            self.sources.pop();
            if found.is_some() {
                return found;
            }
        }
        None
    }

    /// Whether enough local reads are left for each write to be seen.
    fn can_be_seen(&self) -> bool {
        let (sources, events) = (&self.sources, &self.skeleton.events);
        let seen = &sources[..sources.len().min(self.locals)];
        let left = self.reads[seen.len()..self.locals].iter();
        let left: Vec<_> = left.map(|(read, _)| events[*read].location).collect();
        self.writes.iter().all(|writes| {
            let Some(first) = writes.first() else { return true };
            let unseen = writes.iter().filter(|write| !seen.contains(write)).count();
            unseen <= left.iter().filter(|place| **place == events[*first].location).count()
        })
    }

    /// Whether the choices so far are inconsistent even without what is removed from the rule.
    fn is_hopeless(&mut self, orders: &[Vec<usize>]) -> bool {
        let polls_from = self.removed.clone();
        self.evaluation.update(Facts { polls_from, ..self.facts(orders) });
        !self.is_consistent()
    }

    /// Tries every order of the writes of the next location.
    fn ordered(
        &mut self,
        chosen: &mut Vec<Vec<usize>>,
        wanted: &dyn Fn(&Instance) -> bool,
    ) -> Option<Instance> {
        let Some(writes) = self.writes.get(chosen.len()) else {
            return self.examine(chosen).filter(|instance| wanted(instance));
        };
        let is_free = writes.len() > 1;
        for order in permutations(writes) {
            chosen.push(order);
            let is_hopeless = self.is_monotone && is_free && self.is_hopeless(chosen);
            let found = if is_hopeless { None } else { self.ordered(chosen, wanted) };
            chosen.pop();
            if found.is_some() {
                return found;
            }
        }
        None
    }

    fn facts(&self, orders: &[Vec<usize>]) -> Facts {
        let mut facts = Facts::all_events(self.plan);
        for ((read, _), write) in self.reads.iter().zip(&self.sources) {
            facts.reads_from.insert(*write, *read);
        }
        let mut order = Relation::empty(self.plan.size);
        for (place, writes) in orders.iter().enumerate() {
            for (index, later) in writes.iter().enumerate() {
                order.insert(self.initial[place], *later);
                writes[..index].iter().for_each(|earlier| order.insert(*earlier, *later));
            }
        }
        // The model has one order, the order of writes.
        facts.choices = vec![order; self.plan.choices.len()];
        facts
    }

    fn is_consistent(&self) -> bool {
        let is_irreflexive =
            |value: &Relation| (0..self.plan.size).all(|event| !value.contains(event, event));
        self.axioms.iter().all(|(node, kind)| {
            let value = self.evaluation.value(*node);
            match kind {
                AxiomKind::Irreflexive => is_irreflexive(value),
                AxiomKind::Acyclic => is_irreflexive(&value.closure()),
                AxiomKind::Empty => value.is_empty(),
            }
        })
    }

    /// What the execution shows, if the rule forbids it, and would not without one application.
    fn examine(&mut self, orders: &[Vec<usize>]) -> Option<Instance> {
        if self.is_monotone && self.is_hopeless(orders) {
            return None;
        }
        let facts = self.facts(orders);
        self.evaluation.update(facts.clone());
        if self.is_consistent() {
            return None;
        }
        let rule = self.plan.axioms.last()?;
        let mut applications = self.evaluation.value(*rule).clone();
        applications.intersect(&self.removed);
        for (from, to) in applications.pairs() {
            let mut polls_from = Relation::empty(self.plan.size);
            polls_from.insert(from, to);
            self.evaluation.update(Facts { polls_from, ..facts.clone() });
            if self.is_consistent()
                && let Some(instance) = self.values(from)
            {
                return Some(instance);
            }
        }
        None
    }

    /// The values of the execution, if they do not depend on themselves. `pivot` is an event of the rule's
    /// application.
    fn values(&self, pivot: usize) -> Option<Instance> {
        let count = self.skeleton.events.len();
        let mut read: Vec<Option<u64>> = vec![None; count];
        let mut written: Vec<Option<u64>> = vec![None; count];
        for (place, event) in self.initial.iter().enumerate() {
            written[*event] = Some(self.program.initial(place as u8));
        }
        let mut compared = None;
        // Each round determines the value of at least one more event, if any can be determined.
        for _ in 0..count {
            for ((event, _), write) in self.reads.iter().zip(&self.sources) {
                read[*event] = written[*write];
            }
            let (mut event, mut writes) = (self.program.homes.len(), 0);
            for (_, statement) in self.program.statements() {
                match statement {
                    Statement::Write { .. } => {
                        written[event] = Some(self.program.written(writes));
                        writes += 1;
                    }
                    Statement::Put { .. } | Statement::Get { .. } => {
                        written[event + 1] = read[event];
                    }
                    Statement::Rga { .. } => {
                        let sum = read[event].zip(read[event + 1]);
                        written[event + 1] = sum.map(|(addend, old)| old.wrapping_add(addend));
                        written[event + 2] = read[event + 1];
                    }
                    Statement::Cas { .. } => {
                        let (expected, desired) = (read[event], read[event + 1]);
                        let old = read[event + 2];
                        let equal = old.zip(expected).map(|(old, expected)| old == expected);
                        written[event + 2] = equal.and_then(|is| if is { desired } else { old });
                        written[event + 3] = old;
                        if (event..event + 4).contains(&pivot) {
                            compared = equal;
                        }
                    }
                    Statement::Read { .. } | Statement::Flush { .. } => {}
                }
                event += statement.size();
            }
        }
        let locals = (0..count).filter(|at| self.skeleton.events[*at].stamp == Stamp::CpuRead);
        let outcome = locals.map(|at| read[at]).collect::<Option<Vec<u64>>>()?;
        Some(Instance { outcome, compared })
    }
}

/// All permutations of the items.
fn permutations(items: &[usize]) -> Vec<Vec<usize>> {
    let Some((first, rest)) = items.split_first() else { return vec![Vec::new()] };
    let with = |order: Vec<usize>| {
        (0..=order.len()).map(move |at| {
            let mut longer = order.clone();
            longer.insert(at, *first);
            longer
        })
    };
    permutations(rest).into_iter().flat_map(with).collect()
}
