//! Why an allowed outcome is weak: what of the program's order the model does not keep, and an order that it
//! allows.

use std::collections::{BTreeMap, BTreeSet};

use lang::cat::model::{AxiomKind, Cell, DefinitionId, DefinitionKind, Expr, Model, Table};
use lang::cat::words::is_memory_order;
use skeleton::EventId;

use super::{Edge, Explanation, Reason, Step};
use crate::allowed::Question;
use crate::check::{Evaluator, Pairs, closure};
use crate::execution::Execution;

/// What there is to say of a consistent execution.
#[derive(Clone, Debug)]
pub struct Weakness {
    /// A cycle of program order and of what events have to do with each other; empty if steps one after the
    /// other, as in the program, give the same.
    pub cycle: Vec<Step>,
    /// The steps of the cycle that the model does not keep.
    pub not_kept: Vec<NotKept>,
    /// All events in an order that the model allows.
    pub order: Vec<EventId>,
}

/// A pair of events that the model does not keep in order.
#[derive(Clone, Debug)]
pub struct NotKept {
    /// The pair, with the relation that it is in.
    pub step: Step,
    /// The cell of a table that would order them, if the model has tables of orders.
    pub cell: Option<TableCell>,
}

/// A cell of a table, and why it orders nothing here.
#[derive(Clone, Debug)]
pub struct TableCell {
    /// The table.
    pub table: String,
    /// Its row.
    pub row: String,
    /// Its column.
    pub column: String,
    /// The relation that the cell asks for, by letter and name; `None` if it never orders.
    pub only_where: Option<(String, String)>,
}

impl Explanation<'_> {
    /// Why the outcome is weak, and in which order its events may happen; `None` if it is not allowed.
    pub fn weakness(&self) -> Option<Weakness> {
        match &self.reason {
            Reason::Witness(execution) => Some(weakness(self.question, execution)),
            _ => None,
        }
    }
}

/// Looks at a consistent execution of a question.
fn weakness(question: &Question<'_>, execution: &Execution) -> Weakness {
    let (skeleton, model) = (&question.skeleton, &*question.model);
    let evaluator = Evaluator::new(skeleton, model, execution);
    let related = related(question, execution, &evaluator);
    // What an axiom keeps in order; the last one is what is observed.
    let kept = model.axioms.iter().filter(|axiom| axiom.kind != AxiomKind::Empty);
    let kept = kept.map(|axiom| closure(&evaluator.pairs(&axiom.body)));
    let mut kept: Vec<Pairs> = kept.filter(|pairs| pairs.iter().all(|(a, b)| a != b)).collect();
    kept.reverse();
    let found = kept.iter().enumerate();
    let found = found.filter_map(|(index, kept)| Some((cheapest(&related, kept)?, index)));
    let best = found.min_by_key(|((cost, _), index)| (*cost, *index));
    let kept_by = best.as_ref().map_or(0, |(_, index)| *index);
    let order = order(question, execution, kept.get(kept_by).unwrap_or(&Pairs::new()));
    let Some(((_, events), _)) = best else {
        return Weakness { cycle: Vec::new(), not_kept: Vec::new(), order };
    };
    let kept = &kept[kept_by];
    let mut cycle = Vec::new();
    for pair in events.windows(2) {
        let edge = (pair[0], pair[1]);
        let relation = related.get(&edge).cloned().unwrap_or_default();
        cycle.push(Step { from: EventId(edge.0), to: EventId(edge.1), relation });
    }
    let lost = cycle.iter().filter(|step| !kept.contains(&(step.from.0, step.to.0)));
    let not_kept = lost.map(|step| {
        let is_program = step.relation == "po";
        let cell = is_program.then(|| cell(model, &evaluator, kept, step)).flatten();
        NotKept { step: step.clone(), cell }
    });
    let not_kept = not_kept.collect();
    Weakness { cycle, not_kept, order }
}

/// Program order, and how events have to do with each other, by the name of the relation.
fn related(
    question: &Question<'_>,
    execution: &Execution,
    evaluator: &Evaluator<'_>,
) -> BTreeMap<(usize, usize), String> {
    let mut related = BTreeMap::new();
    let mut add = |(from, to): Edge, name: &str| {
        if from != to {
            related.entry((from.0, to.0)).or_insert_with(|| name.to_owned());
        }
    };
    let pairs = |edges: &[Edge], name: &str, add: &mut dyn FnMut(Edge, &str)| {
        edges.iter().for_each(|edge| add(*edge, name));
    };
    pairs(&execution.reads_from, "rf", &mut add);
    for (name, edges) in &execution.orders {
        if !is_memory_order(name) {
            continue;
        }
        pairs(edges, name, &mut add);
        let before = format!("{}rb", name.strip_suffix("mo").unwrap_or_default());
        for (write, read) in &execution.reads_from {
            let later = edges.iter().filter(|(earlier, _)| earlier == write);
            later.for_each(|(_, later)| add((*read, *later), &before));
        }
    }
    // What libraries say of their calls.
    for (index, definition) in question.model.definitions.iter().enumerate() {
        if let Some(name) = definition.name()
            && name.ends_with(".so")
        {
            let id = DefinitionId { definition: index, body: 0 };
            for (from, to) in evaluator.pairs(&Expr::Defined(id)) {
                add((EventId(from), EventId(to)), name);
            }
        }
    }
    for (place, one) in execution.events.iter().enumerate() {
        for other in &execution.events[place + 1..] {
            if question.skeleton.in_program_order(one.event, other.event) {
                add((one.event, other.event), "po");
            }
        }
    }
    related
}

/// Whether a name is the one that is used here for reads before later writes, whatever a model calls them.
pub fn is_reads_before(name: &str) -> bool {
    name.rsplit('.').next() == Some("rb")
}

/// What a step costs that the model does not keep; more than all the others together.
const LOST: usize = 10_000;

/// The cycle with fewest steps that are not kept, and of these with fewest steps, and its cost.
fn cheapest(
    related: &BTreeMap<(usize, usize), String>,
    kept: &Pairs,
) -> Option<(usize, Vec<usize>)> {
    let cost = |edge: &(usize, usize)| if kept.contains(edge) { 1 } else { LOST };
    let mut after: BTreeMap<usize, Vec<(usize, usize)>> = BTreeMap::new();
    for edge in related.keys() {
        after.entry(edge.0).or_default().push((edge.1, cost(edge)));
    }
    let from = |start: usize| {
        let mut best: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
        let mut open = BTreeSet::from([(0, start)]);
        while let Some((so_far, event)) = open.pop_first() {
            if event == start && so_far > 0 {
                break;
            }
            for (next, cost) in after.get(&event).into_iter().flatten() {
                let cost = so_far + cost;
                if best.get(next).is_none_or(|(known, _)| cost < *known) {
                    best.insert(*next, (cost, event));
                    open.insert((cost, *next));
                }
            }
        }
        let (cost, _) = *best.get(&start)?;
        let mut events = vec![start];
        loop {
            let (_, before) = *best.get(events.last()?)?;
            events.push(before);
            if before == start {
                break;
            }
        }
        events.reverse();
        Some((cost, events))
    };
    after.keys().filter_map(|start| from(*start)).min()
}

/// The cell that would keep a step of program order: of a table whose orders are kept.
fn cell(model: &Model, evaluator: &Evaluator<'_>, kept: &Pairs, step: &Step) -> Option<TableCell> {
    let found = |table: &Table| {
        let has = |set: &Expr, event: EventId| evaluator.set(set).contains(&event.0);
        let row = table.rows.iter().find(|(_, set, _)| has(set, step.from))?;
        let column = table.columns.iter().position(|(_, set)| has(set, step.to))?;
        let only_where = match row.2.get(column)? {
            Cell::Unordered => None,
            Cell::Ordered => return None,
            Cell::Where(letter) => {
                let (name, relation) = &table.letters[*letter];
                Some((name.clone(), name_of(relation, model)?))
            }
        };
        let (row, column) = (row.0.clone(), table.columns[column].0.clone());
        Some(TableCell { table: table.name.clone(), row, column, only_where })
    };
    model.definitions.iter().rev().find_map(|definition| {
        let DefinitionKind::Table(table) = &definition.kind else { return None };
        let is_kept = evaluator.cells(table).keys().all(|pair| kept.contains(pair));
        if is_kept { found(table) } else { None }
    })
}

/// The name of a relation, if it is one.
fn name_of(relation: &Expr, model: &Model) -> Option<String> {
    match relation {
        Expr::Base(base) => Some(base.name().to_owned()),
        Expr::Defined(id) => model.definitions[id.definition].name().map(str::to_owned),
        // Over the events of one library.
        Expr::Intersection(inner, _) => name_of(inner, model),
        _ => None,
    }
}

/// All events in an order that has what is kept, and otherwise as far as it can what the program has, and
/// values before they are read.
fn order(question: &Question<'_>, execution: &Execution, kept: &Pairs) -> Vec<EventId> {
    let thread = |event: EventId| question.skeleton.event(event).thread;
    let mut waiting: Vec<EventId> = execution.events.iter().map(|one| one.event).collect();
    let mut order: Vec<EventId> = Vec::new();
    while !waiting.is_empty() {
        let rank = |event: &EventId| {
            let own = |other: &&EventId| *other < event && thread(**other) == thread(*event);
            let skipped = match thread(*event) {
                Some(_) => waiting.iter().filter(own).count(),
                None => 0,
            };
            let source = execution.reads_from.iter().find(|(_, read)| read == event);
            let is_early = source.is_some_and(|(source, _)| waiting.contains(source));
            let goes_on = order.last().is_some_and(|last| thread(*last) == thread(*event));
            (skipped + usize::from(is_early), !goes_on, *event)
        };
        let is_free =
            |event: &&EventId| waiting.iter().all(|other| !kept.contains(&(other.0, event.0)));
        // What is kept has no cycle, so something is free.
        let Some(next) = waiting.iter().filter(is_free).min_by_key(|event| rank(event)).copied()
        else {
            break;
        };
        waiting.retain(|event| *event != next);
        order.push(next);
    }
    order
}
