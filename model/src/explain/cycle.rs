//! Cycles as chains of named edges, from the plain evaluator's relations.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use lang::cat::model::{
    AxiomKind, Base, Definition, DefinitionId, DefinitionKind, Expr, Model, RecBody, Table,
    UNDEFINED_READS, UNDEFINED_WRITES,
};
use skeleton::EventId;

use crate::allowed::Question;
use crate::check::{Evaluator, Pairs, Value};
use crate::execution::Execution;

/// An edge of a cycle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Where it starts.
    pub from: EventId,
    /// Where it ends.
    pub to: EventId,
    /// The relation's name in the model; a table's cell as `oppo[nrW, nrW]`.
    pub relation: String,
}

/// A way in which an execution breaks an axiom, or has ⊤ where the model has not.
pub struct Way {
    /// The axiom's name.
    pub axiom: String,
    /// Its condition.
    pub kind: AxiomKind,
    /// A cycle or chain.
    pub steps: Vec<Step>,
}

/// The ways in which an execution breaks axioms, a shortest one for each event from which it does, as far as
/// they do not follow from one another; where it breaks none, those in which it has ⊤ where the model has
/// not.
pub fn ways(question: &Question<'_>, execution: &Execution) -> Vec<Way> {
    let (skeleton, model) = (&question.skeleton, &*question.model);
    let finder = |evaluator| Finder { evaluator, definitions: &model.definitions };
    let first = finder(Evaluator::until_cycles(skeleton, model, execution));
    let found = broken_axioms(&first, model);
    if !found.is_empty() {
        return found;
    }
    let finder = finder(Evaluator::new(skeleton, model, execution));
    let found = broken_axioms(&finder, model);
    if found.is_empty() { misjudged(&finder, model, execution) } else { found }
}

fn broken_axioms(finder: &Finder<'_>, model: &Model) -> Vec<Way> {
    let ways = model.axioms.iter().flat_map(|axiom| {
        let ways = finder.violations(axiom.kind, &axiom.body).into_iter();
        ways.map(|steps| Way { axiom: axiom.name.clone(), kind: axiom.kind, steps })
    });
    ways.collect()
}

fn misjudged(finder: &Finder<'_>, model: &Model, execution: &Execution) -> Vec<Way> {
    let sets = [
        (UNDEFINED_READS, &execution.undefined_reads),
        (UNDEFINED_WRITES, &execution.undefined_writes),
    ];
    let ways = sets.into_iter().flat_map(|(name, claimed)| {
        let set = model.defined(name);
        let ways = set.map(|set| finder.misjudged(set, name, claimed)).unwrap_or_default();
        ways.into_iter().map(move |steps| Way {
            axiom: name.to_owned(),
            kind: AxiomKind::Empty,
            steps,
        })
    });
    ways.collect()
}

struct Finder<'a> {
    evaluator: Evaluator<'a>,
    definitions: &'a [Arc<Definition>],
}

impl Finder<'_> {
    fn violations(&self, kind: AxiomKind, body: &Expr) -> Vec<Vec<Step>> {
        if kind == AxiomKind::Empty {
            return match self.evaluator.value(body) {
                Value::Relation(pairs) => {
                    let steps = |(a, b): &(usize, usize)| {
                        Some(or_alone(self.steps(body, *a, *b, None)?, *a))
                    };
                    pairs.iter().filter_map(steps).collect()
                }
                Value::Set(set) => set.iter().map(|event| or_alone(Vec::new(), *event)).collect(),
            };
        }
        let pairs = self.evaluator.pairs(body);
        let events: BTreeSet<usize> = pairs.iter().map(|(a, _)| *a).collect();
        let cycle = |event: usize| {
            let steps = match kind {
                AxiomKind::Acyclic => self.path(body, &pairs, event, event),
                _ if pairs.contains(&(event, event)) => self.steps(body, event, event, None),
                _ => None,
            };
            Some(or_alone(steps?, event))
        };
        events.into_iter().filter_map(cycle).collect()
    }

    /// A shortest chain of edges from a to b, each replaced by its named steps.
    fn path(&self, body: &Expr, pairs: &Pairs, a: usize, b: usize) -> Option<Vec<Step>> {
        let events = chain(pairs, a, b)?;
        let edges = events.windows(2).map(|edge| self.steps(body, edge[0], edge[1], None));
        Some(edges.collect::<Option<Vec<_>>>()?.concat())
    }

    /// The same through a recursive relation; edges of a name of its own group are not taken apart.
    fn recursive(&self, group: usize, body: &RecBody, a: usize, b: usize) -> Option<Vec<Step>> {
        let Expr::Plus(inner) = &body.body else { return Some(vec![step(a, b, &body.name)]) };
        let events = chain(&self.evaluator.pairs(inner), a, b)?;
        let edges = events.windows(2).map(|edge| self.part(inner, group, body, edge[0], edge[1]));
        Some(edges.collect::<Option<Vec<_>>>()?.concat())
    }

    fn part(
        &self,
        expr: &Expr,
        group: usize,
        body: &RecBody,
        a: usize,
        b: usize,
    ) -> Option<Vec<Step>> {
        if !self.evaluator.pairs(expr).contains(&(a, b)) {
            return None;
        }
        match expr {
            Expr::Union(x, y) => {
                shorter(self.part(x, group, body, a, b), self.part(y, group, body, a, b))
            }
            Expr::Defined(id) if id.definition == group => {
                let DefinitionKind::Rec(bodies) = &self.definitions[group].kind else {
                    return None;
                };
                Some(vec![step(a, b, &bodies[id.body].name)])
            }
            Expr::Defined(_) => self.steps(expr, a, b, None),
            _ => Some(vec![step(a, b, &body.name)]),
        }
    }

    /// Why a value is not what the model says: an event that is in a set of undefined ones and does not show
    /// it, or the other way round.
    fn misjudged(&self, set: DefinitionId, name: &str, claimed: &[EventId]) -> Vec<Vec<Step>> {
        let Value::Set(events) = self.evaluator.defined(set) else { return Vec::new() };
        let conflict = self.conflict(set);
        let conflicts =
            conflict.map_or_else(Pairs::new, |id| self.evaluator.pairs(&Expr::Defined(id)));
        let conflict = conflict.and_then(|id| self.definitions[id.definition].name());
        let conflict = conflict.unwrap_or_default();
        let with = |event: usize| conflicts.iter().find(|(_, other)| *other == event);
        let sources = self.evaluator.pairs(&Expr::Base(Base::ReadsFrom));
        let chain = |event: usize| {
            if let Some((write, _)) = with(event) {
                return vec![step(*write, event, conflict)];
            }
            let source = sources.iter().find(|(_, read)| *read == event);
            match source.and_then(|(source, _)| Some((*source, with(*source)?.0))) {
                Some((source, write)) => {
                    vec![step(write, source, conflict), step(source, event, "rf")]
                }
                None => vec![step(event, event, name)],
            }
        };
        let claimed: BTreeSet<usize> = claimed.iter().map(|event| event.0).collect();
        let missing = events.difference(&claimed).map(|event| chain(*event));
        let others = claimed.difference(events).map(|event| vec![step(*event, *event, name)]);
        missing.chain(others).collect()
    }

    /// The relation whose range a set of undefined values has: a conflict.
    fn conflict(&self, set: DefinitionId) -> Option<DefinitionId> {
        fn find(expr: &Expr) -> Option<DefinitionId> {
            match expr {
                Expr::Range(of) => match **of {
                    Expr::Defined(id) => Some(id),
                    _ => None,
                },
                Expr::Union(left, right) | Expr::Intersection(left, right) => {
                    find(left).or_else(|| find(right))
                }
                Expr::Difference(whole, _) => find(whole),
                _ => None,
            }
        }
        let DefinitionKind::Let { body, .. } = &self.definitions[set.definition].kind else {
            return None;
        };
        match body {
            Expr::Defined(id) => self.conflict(*id),
            body => find(body),
        }
    }

    /// The named steps that take an expression from a to b; `None` if it does not relate them.
    /// `name` is the definition that the expression stands in, if what it relates is in that definition.
    fn steps(&self, expr: &Expr, a: usize, b: usize, name: Option<&str>) -> Option<Vec<Step>> {
        if !self.evaluator.pairs(expr).contains(&(a, b)) {
            return None;
        }
        let named = |text: &str| Some(vec![step(a, b, text)]);
        match expr {
            Expr::Base(Base::Identity) | Expr::Identity(_) => Some(Vec::new()),
            Expr::Base(base) => match base {
                Base::ReadsFrom | Base::PollsFrom | Base::Rmw => named(base.name()),
                _ => named(name.unwrap_or(base.name())),
            },
            Expr::Defined(id) => self.definition(id.definition, id.body, a, b),
            Expr::Union(x, y) => {
                let left = self.steps(x, a, b, name);
                let right = self.steps(y, a, b, name);
                shorter(left, right)
            }
            Expr::Intersection(x, y) => {
                let (x, y) = if self.is_chosen(x) || !self.is_chosen(y) { (x, y) } else { (y, x) };
                self.steps(x, a, b, name).or_else(|| self.steps(y, a, b, name))
            }
            Expr::Difference(x, _) => self.steps(x, a, b, name),
            Expr::Sequence(x, y) => {
                let name = name.filter(|_| is_restriction(expr));
                let first = self.evaluator.pairs(x);
                let middles = first.range((a, 0)..=(a, usize::MAX)).map(|(_, m)| *m);
                let joined = middles.filter_map(|m| {
                    let mut steps = self.steps(x, a, m, name)?;
                    steps.extend(self.steps(y, m, b, name)?);
                    Some(steps)
                });
                joined.min_by_key(Vec::len)
            }
            Expr::Inverse(x) => {
                let mut steps = self.steps(x, b, a, None)?;
                steps.reverse();
                Some(steps.into_iter().map(Step::inverse).collect())
            }
            Expr::Plus(x) => self.path(x, &self.evaluator.pairs(x), a, b),
            Expr::Star(_) | Expr::Optional(_) if a == b => Some(Vec::new()),
            Expr::Star(x) => self.path(x, &self.evaluator.pairs(x), a, b),
            Expr::Optional(x) => self.steps(x, a, b, name),
            _ => named(name.unwrap_or("order")),
        }
    }

    fn definition(&self, definition: usize, body: usize, a: usize, b: usize) -> Option<Vec<Step>> {
        match &self.definitions[definition].kind {
            DefinitionKind::Let { name, body, .. } => match body {
                // What is put together from other relations is shown by its parts.
                Expr::Union(..)
                | Expr::Plus(_)
                | Expr::Star(_)
                | Expr::Optional(_)
                | Expr::Defined(_) => self.steps(body, a, b, Some(name)),
                Expr::Sequence(..) if !is_restriction(body) => self.steps(body, a, b, Some(name)),
                _ => Some(vec![step(a, b, name)]),
            },
            DefinitionKind::Rec(bodies) => self.recursive(definition, &bodies[body], a, b),
            DefinitionKind::Choice { name, .. } => Some(vec![step(a, b, name)]),
            DefinitionKind::Table(table) => Some(vec![step(a, b, &self.cell(table, a, b))]),
        }
    }

    /// The name of a cell that orders two events.
    fn cell(&self, table: &Table, a: usize, b: usize) -> String {
        match self.evaluator.cells(table).get(&(a, b)) {
            Some((row, column)) => {
                format!("{}[{}, {}]", table.name, table.rows[*row].0, table.columns[*column].0)
            }
            None => table.name.clone(),
        }
    }

    /// Whether a choice occurs in an expression: then it says more than what is static.
    fn is_chosen(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Base(base) => matches!(base, Base::ReadsFrom | Base::PollsFrom),
            Expr::Defined(id) => match &self.definitions[id.definition].kind {
                DefinitionKind::Let { body, .. } => self.is_chosen(body),
                DefinitionKind::Choice { .. } | DefinitionKind::Rec(_) => true,
                DefinitionKind::Table(_) => false,
            },
            Expr::Empty | Expr::Universe => false,
            Expr::Union(x, y)
            | Expr::Intersection(x, y)
            | Expr::Difference(x, y)
            | Expr::Product(x, y)
            | Expr::Sequence(x, y) => self.is_chosen(x) || self.is_chosen(y),
            Expr::Complement(_, x)
            | Expr::Identity(x)
            | Expr::Inverse(x)
            | Expr::Plus(x)
            | Expr::Star(x)
            | Expr::Optional(x)
            | Expr::Domain(x)
            | Expr::Range(x) => self.is_chosen(x),
        }
    }
}

impl Step {
    fn inverse(self) -> Self {
        let relation = match self.relation.strip_suffix("^-1") {
            Some(forward) => forward.to_owned(),
            None => format!("{}^-1", self.relation),
        };
        Self { from: self.to, to: self.from, relation }
    }
}

/// The steps, or where there are none the event alone.
fn or_alone(steps: Vec<Step>, event: usize) -> Vec<Step> {
    if steps.is_empty() { vec![step(event, event, Base::Identity.name())] } else { steps }
}

fn step(from: usize, to: usize, relation: &str) -> Step {
    Step { from: EventId(from), to: EventId(to), relation: relation.to_owned() }
}

fn shorter(left: Option<Vec<Step>>, right: Option<Vec<Step>>) -> Option<Vec<Step>> {
    match (left, right) {
        (Some(left), Some(right)) => Some(if right.len() < left.len() { right } else { left }),
        (left, right) => left.or(right),
    }
}

/// `[S]; r; [T]`: r between sets, which needs no parts.
fn is_restriction(expr: &Expr) -> bool {
    fn parts<'e>(expr: &'e Expr, found: &mut Vec<&'e Expr>) {
        if let Expr::Sequence(x, y) = expr {
            parts(x, found);
            parts(y, found);
        } else {
            found.push(expr);
        }
    }
    let mut found = Vec::new();
    parts(expr, &mut found);
    found.iter().filter(|part| !matches!(part, Expr::Identity(_))).count() <= 1
}

/// The events on a shortest chain of pairs from a to b.
fn chain(pairs: &Pairs, a: usize, b: usize) -> Option<Vec<usize>> {
    let mut before: BTreeMap<usize, usize> = BTreeMap::new();
    let mut queue = VecDeque::from([a]);
    while let Some(event) = queue.pop_front() {
        for (_, next) in pairs.range((event, 0)..=(event, usize::MAX)) {
            if let std::collections::btree_map::Entry::Vacant(entry) = before.entry(*next) {
                entry.insert(event);
                queue.push_back(*next);
            }
        }
    }
    let mut events = vec![b];
    loop {
        let event = *before.get(events.last()?)?;
        events.push(event);
        if event == a {
            break;
        }
    }
    events.reverse();
    Some(events)
}
