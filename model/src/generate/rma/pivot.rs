//! Executions that one application of a rule forbids: coreRMA's way to find tests.
//!
//! "We require that the hb cycle contains an edge induced by a rule in Figure 4 and that removing this edge renders hb
//! acyclic. We call this edge a pivot." (Dan, Lam, Hoefler, Vechev, OOPSLA 2016, §6.1.)

use compiler::skeleton::{self, Skeleton, Stamp};
use lang::cat::model::{
    Axiom, AxiomKind, Base, DefinitionId, DefinitionKind, Expr, Model, UNDEFINED_READS,
    UNDEFINED_WRITES,
};
use lang::source::Span;

use super::program::{Program, Statement};
use crate::relation::Relation;
use crate::smt::plan::{Op, Plan};
use crate::smt::theory::{Evaluation, Facts};

/// The rules of a model of coreRMA: what its recursive relation unites.
pub fn rules(model: &Model) -> Vec<(String, DefinitionId)> {
    let mut names = Vec::new();
    for definition in &model.definitions {
        let DefinitionKind::Rec(bodies) = &definition.kind else { continue };
        for body in bodies {
            if let Expr::Plus(inner) = &body.body {
                united(inner, &mut names);
            }
        }
    }
    names.into_iter().filter_map(|id| Some((name(model, id)?, id))).collect()
}

fn united(expr: &Expr, found: &mut Vec<DefinitionId>) {
    match expr {
        Expr::Union(a, b) => {
            united(a, found);
            united(b, found);
        }
        Expr::Defined(id) => found.push(*id),
        _ => {}
    }
}

fn name(model: &Model, id: DefinitionId) -> Option<String> {
    match &model.definitions.get(id.definition)?.kind {
        DefinitionKind::Rec(bodies) => bodies.get(id.body).map(|body| body.name.clone()),
        DefinitionKind::Let { name, .. } => Some(name.clone()),
        DefinitionKind::Choice { .. } | DefinitionKind::Table(_) => None,
    }
}

/// A rule whose single applications are examined.
pub struct Pivot {
    /// The model, whose rule lacks the pairs of `pf`: a relation that is empty in this dialect, and so free to be set. Its
    /// last axiom is the rule itself.
    model: Model,
}

/// An execution that one application of the rule forbids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instance {
    /// What each local read gives, in order.
    pub outcome: Vec<u64>,
    /// How the comparison of the statement that the rule was applied to came out, if it is a cas.
    pub compared: Option<bool>,
}

impl Pivot {
    /// Of a rule of a model.
    pub fn new(model: &Model, rule: DefinitionId) -> Self {
        let mut model = model.clone();
        let lacking = |body: &mut Expr| {
            let removed = Box::new(Expr::Base(Base::PollsFrom));
            *body = Expr::Difference(Box::new(body.clone()), removed);
        };
        match &mut model.definitions[rule.definition].kind {
            DefinitionKind::Let { body, .. } => lacking(body),
            DefinitionKind::Rec(bodies) => lacking(&mut bodies[rule.body].body),
            DefinitionKind::Choice { .. } | DefinitionKind::Table(_) => {}
        }
        let observed = Axiom {
            name: String::new(),
            kind: AxiomKind::Empty,
            body: Expr::Defined(rule),
            span: Span::default(),
        };
        model.axioms.push(observed);
        // Whether a value is ⊤ is not asked.
        for definition in &mut model.definitions {
            if let DefinitionKind::Let { name, body, .. } = &mut definition.kind
                && (name == UNDEFINED_READS || name == UNDEFINED_WRITES)
            {
                *body = Expr::Empty;
            }
        }
        Self { model }
    }

    /// The first execution of a program that one application of the rule forbids, of those that `wanted` takes: every
    /// writer's value is seen by a local read, and all values are determined.
    pub fn instance(
        &self,
        program: &Program,
        wanted: &dyn Fn(&Instance) -> bool,
    ) -> Option<Instance> {
        let test = program.test();
        let skeleton = skeleton::build(&test.program, 1).ok()?;
        let plan = Plan::new(&self.model, &skeleton).ok()?;
        let evaluation = Evaluation::new(&plan, Facts::all_events(&plan));
        let (rule, axioms) = plan.axioms.split_last()?;
        // A rule that no choice is in applies to the program or not; what it lacks is a choice.
        let body = match plan.nodes[*rule].op {
            Op::Difference(body, _) => body,
            _ => *rule,
        };
        if plan.nodes[body].is_static && evaluation.value(body).is_empty() {
            return None;
        }
        let kinds = self.model.axioms.iter().map(|axiom| axiom.kind);
        let axioms = axioms.iter().copied().zip(kinds).collect();
        let is_monotone = is_monotone(&plan);
        Search::new(program, &skeleton, &plan, axioms, evaluation, is_monotone).sources(wanted)
    }
}

/// Whether what is chosen only ever adds to the relations, but for what the rule lacks: then a part of the choices
/// that is inconsistent stays so.
fn is_monotone(plan: &Plan) -> bool {
    let is_fixed = |node: &usize| {
        let node = &plan.nodes[*node];
        node.is_static || node.op == Op::PollsFrom
    };
    plan.nodes.iter().all(|node| match &node.op {
        Op::Difference(_, b) => is_fixed(b),
        Op::Complement(_, a) => is_fixed(a),
        _ => true,
    })
}

/// The reads and writes of a program, and a choice for each.
struct Search<'a> {
    program: &'a Program,
    skeleton: &'a Skeleton,
    plan: &'a Plan,
    /// The axioms' nodes.
    axioms: Vec<(usize, AxiomKind)>,
    evaluation: Evaluation<'a>,
    is_monotone: bool,
    /// Reads, local ones first, with the writes that each can take its value from.
    reads: Vec<(usize, Vec<usize>)>,
    /// How many of the reads are local.
    locals: usize,
    /// Writes of each location but the initial one.
    writes: Vec<Vec<usize>>,
    /// The write that each read of [`Search::reads`] takes its value from.
    sources: Vec<usize>,
}

impl<'a> Search<'a> {
    fn new(
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
        // Local reads come first: what they leave unseen is soon known.
        let is_local = |event: usize| events[event].stamp == Stamp::CpuRead;
        let all = (0..events.len()).filter(|event| events[*event].reads());
        let mut reads: Vec<(usize, Vec<usize>)> = all.map(|read| (read, writers(read))).collect();
        reads.sort_by_key(|(read, _)| !is_local(*read));
        let locals = reads.iter().filter(|(read, _)| is_local(*read)).count();
        let of_place = |place: usize| {
            let is_of = |event: &usize| {
                let event = &events[*event];
                event.writes()
                    && event.stamp != Stamp::Init
                    && event.location.is_some_and(|location| location.0 == place)
            };
            (0..events.len()).filter(is_of).collect()
        };
        let writes = (0..program.homes.len()).map(of_place).collect();
        let sources = Vec::new();
        Self {
            program,
            skeleton,
            plan,
            axioms,
            evaluation,
            is_monotone,
            reads,
            locals,
            writes,
            sources,
        }
    }

    /// Goes on with every source of the next read.
    fn sources(&mut self, wanted: &dyn Fn(&Instance) -> bool) -> Option<Instance> {
        let done = self.sources.len();
        if done == self.locals && !self.all_seen() {
            return None;
        }
        if self.is_monotone && done >= self.locals && self.is_hopeless() {
            return None;
        }
        let Some((_, writers)) = self.reads.get(done) else {
            return self.ordered(0, &mut Vec::new(), wanted);
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

    /// Whether some local read sees each write; to be asked when all local reads have their sources.
    fn all_seen(&self) -> bool {
        let seen = &self.sources[..self.locals];
        self.writes.iter().flatten().all(|write| seen.contains(write))
    }

    /// Whether what was chosen so far is inconsistent even without the rule.
    fn is_hopeless(&mut self) -> bool {
        let mut facts = self.facts(&[]);
        facts.polls_from = Relation::from_fn(self.plan.size, |_, _| true);
        self.evaluation.update(facts);
        !self.is_consistent()
    }

    /// Goes on with every order of the writes of the next location.
    fn ordered(
        &mut self,
        place: usize,
        chosen: &mut Vec<Vec<usize>>,
        wanted: &dyn Fn(&Instance) -> bool,
    ) -> Option<Instance> {
        let Some(writes) = self.writes.get(place) else {
            let facts = self.facts(chosen);
            return self.examine(facts).filter(|instance| wanted(instance));
        };
        for order in permutations(writes) {
            chosen.push(order);
            let found = self.ordered(place + 1, chosen, wanted);
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
                // Initial writes are the first events, in the order of locations.
                order.insert(place, *later);
                writes[..index].iter().for_each(|earlier| order.insert(*earlier, *later));
            }
        }
        // There is one order, that of writes.
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

    /// What the execution shows, if it is forbidden, and is not without some application of the rule.
    fn examine(&mut self, facts: Facts) -> Option<Instance> {
        self.evaluation.update(facts.clone());
        if self.is_consistent() {
            return None;
        }
        let rule = self.plan.axioms.last()?;
        let applications: Vec<(usize, usize)> = self.evaluation.value(*rule).pairs().collect();
        let without = |removed: Relation| Facts { polls_from: removed, ..facts.clone() };
        self.evaluation.update(without(Relation::from_fn(self.plan.size, |_, _| true)));
        if self.is_monotone && !self.is_consistent() {
            return None;
        }
        for (from, to) in applications {
            let mut removed = Relation::empty(self.plan.size);
            removed.insert(from, to);
            self.evaluation.update(without(removed));
            if self.is_consistent()
                && let Some(instance) = self.values(from)
            {
                return Some(instance);
            }
        }
        None
    }

    /// The values of the execution, if they do not depend on themselves; `pivot` is an event of the rule's application.
    fn values(&self, pivot: usize) -> Option<Instance> {
        let count = self.skeleton.events.len();
        let mut read: Vec<Option<u64>> = vec![None; count];
        let mut written: Vec<Option<u64>> = vec![None; count];
        for (place, value) in written.iter_mut().enumerate().take(self.program.homes.len()) {
            *value = Some(self.program.initial(place as u8));
        }
        let mut compared = None;
        // Each round settles at least one event, if any can be.
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

/// Every order of the items.
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
