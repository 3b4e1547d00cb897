//! The execution that comes nearest to being consistent, of those that show an outcome that is forbidden.
//!
//! Axioms are dropped, as few as may be. Each execution that is found then is asked how it breaks them; what
//! has nothing to do with the outcome, and what is wrong with the writes of one location alone, is excluded
//! from those that come next.

use std::collections::BTreeSet;

use lang::cat::model::AxiomKind;
use lang::outcome::{Asked, Observed};
use skeleton::{EventId, Skeleton, Value, ValueId};

use super::cycle::{Way, ways};
use super::{Broken, Reason, check, found, unsound};
use crate::allowed::{Options, Question};
use crate::asking::Refused;
use crate::bound::Complete;
use crate::check::broken_axioms;
use crate::execution::Execution;
use crate::smt::solver::Answer;
use crate::smt::{Consistent, Next};

/// How many executions are compared for each set of axioms that are dropped.
const CANDIDATES: usize = 12;

/// How many axioms are dropped together before all are.
const TOGETHER: usize = 2;

/// How far an execution is from being consistent; the least is the nearest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Distance {
    /// How many axioms it breaks.
    axioms: usize,
    /// Something is wrong with the accesses of one location alone.
    is_incoherent: bool,
    /// How much of what the outcome names is not on the way that is shown.
    unnamed: usize,
    /// How many events are on other ways.
    others: usize,
    /// How many pairs of one thread's accesses of a location its orders turn round, which puzzles who reads
    /// them.
    reversed: usize,
    /// How long the way is.
    steps: usize,
}

/// Why an outcome is forbidden, by the nearest execution.
pub fn nearest(
    question: &Question<'_>,
    options: &Options,
    asked: &Asked,
    proof: Complete,
) -> Result<Reason, Refused> {
    // The one past the last is what the model says of ⊤.
    let count = question.model.axioms.len() + 1;
    let named = named_events(question, asked);
    let mut search = Search { question, options, asked, named, best: None };
    // Executions found before a limit are as good as others.
    let mut is_limited = false;
    for size in 1..=TOGETHER.min(count) {
        for dropped in subsets(count, size) {
            if !is_limited {
                match found(options, || search.without(&dropped)) {
                    Ok(searched) => {
                        searched?;
                    }
                    Err(_) => is_limited = true,
                }
            }
        }
        if let Some((_, broken)) = search.best {
            return Ok(Reason::Broken(broken));
        }
    }
    let all: Vec<usize> = (0..count).collect();
    let is_all = match found(options, || search.without(&all)) {
        Ok(searched) => searched?,
        Err(_) => false,
    };
    // Under another model, a loop might run longer.
    let is_all = is_all && question.skeleton.exceeded.is_empty();
    let without = if is_all { Reason::NoCandidate(proof) } else { Reason::Proved(proof) };
    Ok(search.best.map_or(without, |(_, broken)| Reason::Broken(broken)))
}

/// The subsets of the numbers below a count that have a size of 1 or 2.
fn subsets(count: usize, size: usize) -> Vec<Vec<usize>> {
    let all = 0..count;
    match size {
        1 => all.map(|one| vec![one]).collect(),
        _ => all.flat_map(|one| (one + 1..count).map(move |other| vec![one, other])).collect(),
    }
}

struct Search<'q> {
    question: &'q Question<'q>,
    options: &'q Options,
    asked: &'q Asked,
    /// For each thing that the outcome names, the events that it is about.
    named: Vec<BTreeSet<EventId>>,
    best: Option<(Distance, Broken)>,
}

impl Search<'_> {
    /// Compares executions that the other axioms allow; whether there were no more.
    fn without(&mut self, dropped: &[usize]) -> Result<bool, Refused> {
        let (question, asked) = (self.question, self.asked);
        let conditions = vec![asked.condition.clone()];
        let keep = |axiom| !dropped.contains(&axiom);
        let mut session = question.session_about(conditions, self.options, keep)?;
        let counted = session.counted();
        let (mut count, mut wrong) = (0, Ok(()));
        let answer = session.each_meeting(0, &counted, &mut |at| {
            count += 1;
            match self.compare(at, dropped) {
                Ok(next) if count < CANDIDATES => next,
                Ok(_) => Next::Stop,
                Err(errors) => {
                    wrong = Err(errors);
                    Next::Stop
                }
            }
        });
        wrong.map(|()| answer != Answer::Unknown)
    }

    /// Keeps an execution if none was nearer; what to look for next.
    fn compare(&mut self, at: &Consistent<'_>, dropped: &[usize]) -> Result<Next, Refused> {
        let execution = at.execution();
        let ways = ways(self.question, &execution);
        let (skeleton, model) = (&self.question.skeleton, &*self.question.model);
        let all_axioms = broken_axioms(skeleton, model, &execution);
        let axioms = all_axioms.len();
        let reversed = reversed(skeleton, &execution);
        let distance = |way| self.distance(way, &ways, (axioms, reversed));
        let measured = ways.iter().map(|way| (distance(way), way));
        let Some((distance, way)) = measured.min_by_key(|(distance, _)| *distance) else {
            return Err(unsound("a candidate that the engine excludes breaks no axiom"));
        };
        let next = self.away(at, dropped, way, &ways);
        if self.best.as_ref().is_none_or(|(known, _)| distance < *known) {
            check(self.question, &execution)?;
            let Way { axiom, kind, steps } = way;
            let (axiom, kind, steps) = (axiom.clone(), *kind, steps.clone());
            self.best = Some((distance, Broken { execution, axiom, kind, steps, all_axioms }));
        }
        Ok(next)
    }

    fn distance(&self, way: &Way, ways: &[Way], (axioms, reversed): (usize, usize)) -> Distance {
        let own = events(way);
        let all: BTreeSet<EventId> = ways.iter().flat_map(events).collect();
        Distance {
            axioms,
            is_incoherent: ways.iter().any(|way| self.is_incoherent(way)),
            unnamed: self.unnamed(&own),
            others: all.difference(&own).count(),
            reversed,
            steps: way.steps.len(),
        }
    }

    fn unnamed(&self, events: &BTreeSet<EventId>) -> usize {
        self.named.iter().filter(|named| named.is_disjoint(events)).count()
    }

    /// Whether all accesses on a cycle are of one location.
    fn is_incoherent(&self, way: &Way) -> bool {
        let skeleton: &Skeleton = &self.question.skeleton;
        let locations = events(way).into_iter().filter_map(|id| skeleton.event(id).location);
        way.kind != AxiomKind::Empty && locations.collect::<BTreeSet<_>>().len() == 1
    }

    /// Executions that break axioms in other ways: without those that nobody wants to see; or else without
    /// the one that is the best of this execution.
    fn away(&self, at: &Consistent<'_>, dropped: &[usize], best: &Way, ways: &[Way]) -> Next {
        let start = |way: &Way| way.steps.first().map(|step| step.from);
        let is_apart =
            |way: &Way| !self.named.is_empty() && self.unnamed(&events(way)) == self.named.len();
        let is_unwanted = |way: &&Way| self.is_incoherent(way) || is_apart(way);
        let unwanted: BTreeSet<_> = ways.iter().filter(is_unwanted).map(start).collect();
        let chosen = if unwanted.is_empty() { BTreeSet::from([start(best)]) } else { unwanted };
        let model = &self.question.model;
        let clauses = dropped.iter().filter_map(|axiom| Some((*axiom, model.axioms.get(*axiom)?)));
        let clauses = clauses.flat_map(|(index, axiom)| at.apart_from_ways(axiom.kind, index));
        let clauses = clauses.filter(|(event, clause)| {
            // An empty one would exclude everything.
            chosen.contains(&Some(*event)) && !clause.is_empty()
        });
        let clauses: Vec<_> = clauses.map(|(_, clause)| clause).collect();
        if clauses.is_empty() { Next::OtherExecution } else { Next::Without(clauses) }
    }
}

/// How many pairs of one thread's accesses of a location the model's orders have against program order.
fn reversed(skeleton: &Skeleton, execution: &Execution) -> usize {
    let place = |id: EventId| {
        let event = skeleton.event(id);
        event.thread.zip(event.location)
    };
    let pairs = execution.orders.iter().flat_map(|(_, pairs)| pairs);
    pairs
        .filter(|(from, to)| from > to && place(*from).is_some_and(|at| place(*to) == Some(at)))
        .count()
}

fn events(way: &Way) -> BTreeSet<EventId> {
    way.steps.iter().flat_map(|step| [step.from, step.to]).collect()
}

/// For each thing that an outcome names, the events whose values it shows: what a register's value was
/// computed from, and the writes of a location.
fn named_events(question: &Question<'_>, asked: &Asked) -> Vec<BTreeSet<EventId>> {
    let skeleton = &question.skeleton;
    let events = |index: usize| -> BTreeSet<EventId> {
        let ids = || skeleton.event_ids();
        match question.test.observables[index].what {
            Observed::Register(register) => behind(skeleton, skeleton.registers[register.0]),
            Observed::Location(location) => ids()
                .filter(|id| skeleton.event(*id).location == Some(location))
                .filter(|id| skeleton.event(*id).writes())
                .collect(),
            Observed::Copy(object, _) => {
                ids().filter(|id| skeleton.event(*id).origin.object == Some(object)).collect()
            }
        }
    };
    asked.condition.named().into_iter().map(events).filter(|events| !events.is_empty()).collect()
}

/// The reads from which a value is computed.
fn behind(skeleton: &Skeleton, value: ValueId) -> BTreeSet<EventId> {
    let (mut open, mut seen, mut reads) = (vec![value], BTreeSet::new(), BTreeSet::new());
    while let Some(value) = open.pop() {
        if !seen.insert(value) {
            continue;
        }
        match &skeleton.values[value.0] {
            Value::Constant(_) => {}
            Value::Read(event) => {
                reads.insert(*event);
            }
            Value::Binary(_, left, right) => open.extend([*left, *right]),
            Value::Select(guard, yes, no) => {
                open.extend([*yes, *no]);
                open.extend(skeleton.values_behind(*guard));
            }
        }
    }
    reads
}
