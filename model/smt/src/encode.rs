//! Encodes the skeleton as a formula: which events happen, which write each read takes, what values follow,
//! and the free choices of the model's orders. The formula does not contain the axioms; [`super::theory`]
//! checks them.

mod conditions;
mod orders;
mod polls;
pub mod values;

use lang::outcome::{Condition, Observable, Outcome, Value};
use rustc_hash::FxHashMap;
use skeleton::{EventId, Skeleton};

use super::cnf::{Cnf, Lit};
use super::plan::Plan;
use super::solver::Assignment;
use super::theory::{Facts, Literals};
use crate::relation::Relation;
use orders::OrderLiterals;
use values::{Domain, Extra, Values};

/// Why a program cannot be encoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EncodeError {
    /// The test observes final values of memory, and the model has no order of writes named `mo` (or `co`).
    NoModificationOrder,
}

/// The formula and what its variables mean.
#[derive(Clone, Debug)]
pub struct Encoding {
    /// The clauses.
    pub cnf: Cnf,
    /// The possible final values of each observable.
    pub observables: Vec<Domain>,
    /// For each condition that is asked about: true iff the outcome meets it. `None` if it computes too many
    /// values.
    pub conditions: Vec<Option<Lit>>,
    /// True iff some loop is left by the bound.
    pub exceeded: Lit,
    /// For each misuse of the skeleton: true iff it happens.
    pub misused: Vec<Lit>,
    /// True iff some misuse happens.
    pub any_misuse: Lit,
    /// Polls that no operation can answer in any execution.
    pub unanswered: Vec<EventId>,
    /// The values of expressions, and rf.
    pub values: Values,
    /// By event: true iff the write leaves ⊤ in memory when it is the last write.
    pub undefined_writes: Vec<Lit>,
    executed: Vec<Lit>,
    polls_from: FxHashMap<(usize, usize), Lit>,
    choices: Vec<OrderLiterals>,
    /// rf, pf and the orders, as candidates are read from them.
    pairs: Vec<Pairs>,
    size: usize,
}

/// A relation as literals.
#[derive(Clone, Debug)]
struct Pairs {
    /// The pairs that every candidate has in which both events happen.
    certain: Relation,
    /// The pairs that the solver chooses.
    open: Vec<(usize, usize, Lit)>,
}

impl Pairs {
    /// Those that are certain, and those of a map.
    fn of(certain: Relation, map: &FxHashMap<(usize, usize), Lit>) -> Self {
        let mut pairs = Self { certain, open: Vec::new() };
        for ((from, to), literal) in map {
            match *literal {
                Lit::TRUE => pairs.certain.insert(*from, *to),
                Lit::FALSE => {}
                literal => pairs.open.push((*from, *to, literal)),
            }
        }
        pairs
    }

    /// The relation in a candidate with these events.
    fn chosen(&self, executed: &Relation, is_all: bool, is_true: &dyn Fn(Lit) -> bool) -> Relation {
        let mut relation = self.certain.clone();
        for (from, to, literal) in &self.open {
            if is_true(*literal) {
                relation.insert(*from, *to);
            }
        }
        if is_all { relation } else { relation.restricted_to(executed) }
    }
}

/// What is known of a model's executions before any is looked for.
#[derive(Clone, Debug)]
pub struct Known {
    /// Pairs of the model's orders that the axioms decide ([`super::plan::forced`]). They need no variable.
    pub forced: Vec<Relation>,
    /// The reads whose value may be ⊤, as an identity relation.
    pub undefined_reads: Relation,
    /// The writes that may leave ⊤ in memory, in the same way.
    pub undefined_writes: Relation,
}

impl Encoding {
    /// Encodes a skeleton with the orders of a model. Domains must list the `extra` values. Conditions are
    /// about the observables, by their indices.
    ///
    /// # Errors
    /// See [`EncodeError`].
    pub fn new(
        skeleton: &Skeleton,
        plan: &Plan,
        (observables, conditions): (&[Observable], &[Condition]),
        extra: &Extra,
        known: &Known,
    ) -> Result<Self, EncodeError> {
        let mut cnf = Cnf::default();
        let values = Values::new(skeleton, extra, &known.undefined_reads, &mut cnf);
        let damaged = &known.undefined_writes;
        let undefined_writes = (0..skeleton.events.len())
            .map(|id| if damaged.contains(id, id) { cnf.variable() } else { Lit::FALSE })
            .collect();
        let mut encoder =
            Encoder { skeleton, cnf, values, undefined_writes, unanswered: Vec::new() };
        for requirement in &skeleton.requirements {
            let (when, then) =
                (encoder.values.guard(requirement.when), encoder.values.guard(requirement.then));
            encoder.cnf.implies(&[when], &[then]);
        }
        let polls_from = encoder.polls();
        let choices = encoder.orders(plan, &known.forced);
        let executed: Vec<Lit> =
            skeleton.events.iter().map(|event| encoder.values.guard(event.guard)).collect();
        let exceeded: Vec<Lit> =
            skeleton.exceeded.iter().map(|cut| encoder.values.guard(cut.guard)).collect();
        let exceeded = encoder.cnf.or_all(&exceeded);
        let order = modification_order(plan, &choices);
        let misused: Vec<Lit> =
            skeleton.misuses.iter().map(|misuse| encoder.values.guard(misuse.guard)).collect();
        let any_misuse = encoder.cnf.or_all(&misused);
        let observables: Vec<Domain> = observables
            .iter()
            .map(|observable| encoder.observable(observable.what, order.as_ref(), &executed))
            .collect::<Result<_, _>>()?;
        let conditions = conditions.iter().map(|one| encoder.condition(one, &observables));
        let conditions = conditions.collect();
        let size = skeleton.events.len();
        let none = Relation::empty(size);
        let pairs = [(&none, &encoder.values.reads_from), (&none, &polls_from)].into_iter();
        let pairs = pairs.chain(choices.iter().map(|order| (&order.certain, &order.open)));
        let pairs = pairs.map(|(certain, map)| Pairs::of(certain.clone(), map)).collect();
        Ok(Self {
            cnf: encoder.cnf,
            observables,
            conditions,
            exceeded,
            misused,
            any_misuse,
            unanswered: encoder.unanswered,
            values: encoder.values,
            undefined_writes: encoder.undefined_writes,
            executed,
            polls_from,
            choices,
            pairs,
            size,
        })
    }

    /// The clause that excludes all executions with a known outcome, where ⊤ in `known` stands for every
    /// value. `None` if some observable cannot have its value: then nothing shows the outcome, and there is
    /// nothing to exclude.
    pub fn other_than(&self, known: &Outcome) -> Option<Vec<Lit>> {
        let shown = self.observables.iter().zip(&known.0);
        let shown = shown.filter(|(_, value)| **value != Value::Undefined);
        let literals: Option<Vec<Lit>> =
            shown.map(|(domain, value)| domain.showing(*value)).collect();
        literals.map(negated)
    }

    /// For each thread, the literals of what its reads and polls take.
    pub fn taken_by_thread(&self, skeleton: &Skeleton) -> Vec<Vec<Lit>> {
        let mut threads: FxHashMap<_, Vec<Lit>> = FxHashMap::default();
        for ((_, taker), literal) in self.values.reads_from.iter().chain(&self.polls_from) {
            if let Some(thread) = skeleton.events[*taker].thread {
                threads.entry(thread).or_default().push(*literal);
            }
        }
        threads.into_values().collect()
    }

    /// The candidate execution that an assignment describes.
    pub fn facts(&self, is_true: impl Fn(Lit) -> bool) -> Facts {
        let mut executed = Relation::empty(self.size);
        let happening = self.executed.iter().enumerate().filter(|(_, literal)| is_true(**literal));
        let mut count = 0;
        for (event, _) in happening {
            executed.insert(event, event);
            count += 1;
        }
        let chosen = |pairs: &Pairs| pairs.chosen(&executed, count == self.size, &is_true);
        let mut relations = self.pairs.iter().map(chosen);
        let (reads_from, polls_from) = (relations.next(), relations.next());
        Facts {
            reads_from: reads_from.unwrap_or_default(),
            polls_from: polls_from.unwrap_or_default(),
            choices: relations.collect(),
            executed,
        }
    }
}

/// The order of all writes to each location. It joins the base order and the libraries' orders on their own
/// memory.
fn modification_order(plan: &Plan, choices: &[OrderLiterals]) -> Option<OrderLiterals> {
    let orders = plan.choices.iter().zip(choices);
    let mut orders = orders.filter(|(choice, _)| {
        ["mo", "co"].contains(&choice.name.rsplit('.').next().unwrap_or(&choice.name))
    });
    let (_, first) = orders.next()?;
    let mut all = first.clone();
    orders.for_each(|(_, order)| all.join(order));
    Some(all)
}

/// An assignment of the encoding's variables, as the theory sees it.
#[derive(Clone, Copy)]
pub struct Candidate<'a> {
    /// The encoding that gives the variables their meaning.
    pub encoding: &'a Encoding,
    /// Which literals are true.
    pub is_true: Assignment<'a>,
}

impl Candidate<'_> {
    /// The values of all observables.
    pub fn outcome(&self) -> Outcome {
        self.values(self.encoding.observables.iter())
    }

    /// The values of some observables.
    pub fn outcome_of(&self, observables: &[usize]) -> Outcome {
        self.values(self.domains(observables))
    }

    fn values<'d>(&self, domains: impl Iterator<Item = &'d Domain>) -> Outcome {
        let value = |domain: &Domain| domain.chosen(self.is_true).unwrap_or(Value::Int(0));
        Outcome(domains.map(value).collect())
    }

    fn domains<'o>(&'o self, observables: &'o [usize]) -> impl Iterator<Item = &'o Domain> {
        observables.iter().map(|index| &self.encoding.observables[*index])
    }

    /// The clause that excludes this candidate and no other.
    pub fn apart(&self) -> Vec<Lit> {
        let encoding = self.encoding;
        let maps = [&encoding.values.reads_from, &encoding.polls_from];
        let orders = encoding.choices.iter().map(|order| &order.open);
        let chosen = maps.into_iter().chain(orders);
        let chosen = chosen.flat_map(|map| map.values().copied());
        let all = encoding.executed.iter().copied().chain(chosen);
        let damaged = encoding.undefined_writes.iter().copied();
        let all = all.chain(encoding.values.undefined()).chain(damaged);
        all.map(|literal| literal.negate_if((self.is_true)(literal))).collect()
    }

    /// The clause that excludes all executions with this candidate's outcome.
    pub fn other_outcome(&self) -> Vec<Lit> {
        negated(self.shown(self.encoding.observables.iter()))
    }

    /// The clause that excludes all executions with this candidate's values of some observables.
    pub fn other_outcome_of(&self, observables: &[usize]) -> Vec<Lit> {
        negated(self.shows(observables))
    }

    /// The literals that say which values of some observables the candidate has.
    pub fn shows(&self, observables: &[usize]) -> Vec<Lit> {
        self.shown(self.domains(observables))
    }

    /// Whether the candidate has a listed value, or ⊤, for each of some observables.
    pub fn shows_values(&self, observables: &[usize]) -> bool {
        let is_shown = |domain: &Domain| domain.chosen(self.is_true).is_some();
        self.domains(observables).all(|domain| domain.literals().is_empty() || is_shown(domain))
    }

    fn shown<'d>(&self, domains: impl Iterator<Item = &'d Domain>) -> Vec<Lit> {
        let mut shown = Vec::new();
        for domain in domains {
            let literals = domain.literals();
            match literals.iter().find(|literal| (self.is_true)(**literal)) {
                Some(literal) => shown.push(*literal),
                None => shown.extend(literals.into_iter().map(|literal| !literal)),
            }
        }
        shown
    }
}

/// The clause that one of the literals is false.
fn negated(literals: Vec<Lit>) -> Vec<Lit> {
    literals.into_iter().map(|literal| !literal).filter(|literal| *literal != Lit::FALSE).collect()
}

impl Literals for Candidate<'_> {
    fn executed(&self, event: usize) -> Lit {
        self.encoding.executed[event]
    }

    fn reads_from(&self, write: usize, read: usize) -> Lit {
        self.encoding.values.reads_from.get(&(write, read)).copied().unwrap_or(Lit::FALSE)
    }

    fn polls_from(&self, completion: usize, poll: usize) -> Lit {
        self.encoding.polls_from.get(&(completion, poll)).copied().unwrap_or(Lit::FALSE)
    }

    fn choice(&self, choice: usize, from: usize, to: usize) -> Lit {
        self.encoding.choices[choice].get(from, to).unwrap_or(Lit::FALSE)
    }
}

struct Encoder<'a> {
    skeleton: &'a Skeleton,
    cnf: Cnf,
    values: Values,
    undefined_writes: Vec<Lit>,
    unanswered: Vec<EventId>,
}
