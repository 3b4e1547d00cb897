//! The engine `smt`: outcomes by satisfiability of the skeleton's formula modulo the model's axioms.
//!
//! Sound and complete up to the bound on loops: an outcome is reported iff some consistent execution
//! shows it, and the enumeration ends only when the solver has proved that there is no other.

pub mod batsat;
pub mod cnf;
mod consistent;
pub mod encode;
mod enumerate;
mod judge;
pub mod plan;
pub mod prefix;
pub mod relation;
pub mod solver;
pub mod theory;
#[cfg(feature = "z3")]
pub mod z3;

use std::collections::BTreeSet;

use lang::cat::model::{AxiomKind, Model};
use lang::limits::{Limits, Reached};
use lang::outcome::{Condition, Observable, Outcome, Value};
use rustc_hash::FxHashSet;
use skeleton::{EventId, Skeleton};

use cnf::Lit;
pub use consistent::Consistent;
use encode::values::Extra;
use encode::{Candidate, EncodeError, Encoding, Known};
pub use enumerate::{Sizes, enumerate, enumerate_by};
use judge::Judge;
use plan::{NodeIndex, Op, Plan};
use skeleton::execution::Execution;
use solver::{Answer, Solver, SolverKind};
use theory::{Evaluation, Facts};

pub use judge::Statistics;

/// One test under one model, encoded for one solver.
pub struct Session<'a> {
    judge: Judge<'a>,
    solver: Box<dyn Solver>,
    kind: SolverKind,
    limits: Limits,
    shown: &'a [Observable],
    conditions: Vec<Condition>,
    /// Values that the encoding must list in domains, because an execution needed them and they were missing.
    extra: Extra,
    known: Known,
    /// A limit was reached before every domain was complete.
    incomplete: bool,
    /// The limit that was reached. The search was cut off there, so the session asks the solver nothing more.
    given_up: Option<Reached>,
}

/// The result of one search.
pub enum Found {
    /// A consistent execution.
    Execution(Box<Execution>),
    /// The solver proved that there is none.
    Nothing,
    /// A limit was reached first.
    Unknown,
}

impl Found {
    /// The result of a search that stops at the first execution.
    fn first(search: impl FnOnce(&mut dyn FnMut(&Consistent<'_>) -> Next) -> Answer) -> Self {
        let mut found = None;
        let answer = search(&mut |at| {
            found = Some(Box::new(at.execution()));
            Next::Stop
        });
        match (answer, found) {
            (Answer::Satisfiable, Some(execution)) => Self::Execution(execution),
            (Answer::Unsatisfiable, _) => Self::Nothing,
            _ => Self::Unknown,
        }
    }
}

/// What a search looks for after an execution was found.
pub enum Next {
    /// Nothing: the search ends.
    Stop,
    /// An execution with another outcome.
    OtherOutcome,
    /// Any other execution.
    OtherExecution,
    /// An execution that satisfies these clauses too.
    Without(Vec<Vec<Lit>>),
}

impl<'a> Session<'a> {
    /// Starts a session with those axioms of the model for which `keep(index)` is true.
    /// `keep(number of axioms)` says whether the model also decides which reads and writes are undefined (⊤).
    /// Executions show the observables, and can be asked for by the conditions.
    ///
    /// # Errors
    /// See [`EncodeError`].
    pub fn new(
        skeleton: &'a Skeleton,
        model: &Model,
        plan: &'a Plan,
        (observables, conditions): (&'a [Observable], Vec<Condition>),
        solver: (SolverKind, &Limits),
        keep: impl Fn(usize) -> bool,
    ) -> Result<Self, EncodeError> {
        Self::start((skeleton, plan), model, (observables, conditions), solver, keep, false)
    }

    /// Starts a session about executions that reach the bound on loops. `prefixes` is a skeleton of prefixes.
    ///
    /// # Errors
    /// See [`EncodeError`].
    pub fn beyond_bound(
        prefixes: &'a Skeleton,
        model: &Model,
        plan: &'a Plan,
        solver: (SolverKind, &Limits),
        keep: impl Fn(usize) -> bool,
    ) -> Result<Self, EncodeError> {
        Self::start((prefixes, plan), model, (&[], Vec::new()), solver, keep, true)
    }

    fn start(
        (skeleton, plan): (&'a Skeleton, &'a Plan),
        model: &Model,
        (shown, conditions): (&'a [Observable], Vec<Condition>),
        (kind, limits): (SolverKind, &Limits),
        keep: impl Fn(usize) -> bool,
        is_beyond: bool,
    ) -> Result<Self, EncodeError> {
        let mut axioms = partial_orders(plan);
        let orders = axioms.len();
        for (index, axiom) in model.axioms.iter().enumerate() {
            if keep(index) {
                axioms.push((axiom.kind, plan.axioms[index]));
            }
        }
        let judges_undefined = keep(model.axioms.len());
        let mut evaluation = Evaluation::new(plan, Facts::all_events(plan));
        evaluation.bound(skeleton);
        let known = Known {
            forced: plan::forced(plan, &axioms),
            undefined_reads: evaluation.members(plan.undefined_reads),
            undefined_writes: evaluation.members(plan.undefined_writes),
        };
        let extra = Extra::new();
        let encoding = Encoding::new(skeleton, plan, (shown, &conditions), &extra, &known)?;
        let solver = start(&encoding, kind, limits);
        let judge = Judge {
            skeleton,
            plan,
            encoding,
            evaluation,
            axioms,
            orders,
            judges_undefined,
            is_beyond,
            lemmas: Vec::new(),
            known: FxHashSet::default(),
            broken: BTreeSet::new(),
            statistics: Statistics::default(),
        };
        let mut session = Self {
            judge,
            solver,
            kind,
            limits: limits.clone(),
            shown,
            conditions,
            extra,
            known,
            incomplete: false,
            given_up: None,
        };
        session.complete_domains()?;
        Ok(session)
    }

    /// Counters of the session so far.
    pub fn statistics(&self) -> Statistics {
        self.judge.statistics
    }

    /// Outcomes of executions that break some axiom, a few of those that searches came upon. Other executions
    /// may show them too.
    pub fn broken(&self) -> &BTreeSet<Outcome> {
        &self.judge.broken
    }

    /// How many clauses the formula has, before any is learned.
    pub fn clauses(&self) -> usize {
        self.judge.encoding.cnf.clauses.len()
    }

    /// Encodes again until the domains list every value that a consistent execution has. This includes
    /// executions that misuse a library.
    fn complete_domains(&mut self) -> Result<(), EncodeError> {
        while self.judge.encoding.values.other != Lit::FALSE {
            let exceeded = self.judge.encoding.exceeded.negate_if(!self.judge.is_beyond);
            let other = [exceeded, self.judge.encoding.values.other];
            let mut missing = Extra::new();
            let answer = self.search(&other, &mut |at| {
                let Candidate { encoding, is_true } = at.candidate;
                missing = encoding.values.missing(at.skeleton, is_true);
                if missing.is_empty() { vec![at.candidate.apart()] } else { Vec::new() }
            });
            match answer {
                Answer::Satisfiable => {}
                Answer::Unsatisfiable => break,
                Answer::Unknown => {
                    self.incomplete = true;
                    break;
                }
            }
            for (value, values) in missing {
                self.extra.entry(value).or_default().extend(values);
            }
            self.judge.encoding = Encoding::new(
                self.judge.skeleton,
                self.judge.plan,
                (self.shown, &self.conditions),
                &self.extra,
                &self.known,
            )?;
            self.judge.lemmas.clear();
            self.judge.known.clear();
            self.renew();
        }
        Ok(())
    }

    /// Begins again with a new solver, which knows the formula and what was learned of it, but not what was
    /// excluded. Returns the solver before.
    fn renew(&mut self) -> Box<dyn Solver> {
        let mut solver = start(&self.judge.encoding, self.kind, &self.limits);
        self.judge.lemmas.iter().for_each(|lemma| solver.add_clause(lemma));
        std::mem::replace(&mut self.solver, solver)
    }

    /// Looks for a consistent execution in which the assumptions hold.
    pub fn find(&mut self, assumptions: &[Lit]) -> Found {
        Found::first(|take| self.each(assumptions, take))
    }

    /// The result of a question about values that no domain lists.
    pub fn nothing(&self) -> Found {
        if self.incomplete { Found::Unknown } else { Found::Nothing }
    }

    /// Looks for consistent executions under the assumptions, one after another, until `take` stops. What
    /// `take` excludes stays excluded. The answer is `Unsatisfiable` if the solver proved that no others
    /// exist.
    pub fn each(
        &mut self,
        assumptions: &[Lit],
        take: &mut dyn FnMut(&Consistent<'_>) -> Next,
    ) -> Answer {
        let mut assumptions = assumptions.to_vec();
        assumptions.push(!self.judge.encoding.values.other);
        let answer = self.search(&assumptions, &mut |at| match take(at) {
            Next::Stop => Vec::new(),
            Next::OtherOutcome => vec![at.candidate.other_outcome()],
            Next::OtherExecution => vec![at.candidate.apart()],
            Next::Without(clauses) => clauses,
        });
        match answer {
            Answer::Unsatisfiable if self.incomplete => Answer::Unknown,
            answer => answer,
        }
    }

    /// Like [`Session::each`], also for executions with values that no domain lists. `take` returns clauses
    /// that exclude the execution it gets, or no clauses to stop.
    fn search(
        &mut self,
        assumptions: &[Lit],
        take: &mut dyn FnMut(&Consistent<'_>) -> Vec<Vec<Lit>>,
    ) -> Answer {
        if self.given_up.is_some() {
            return Answer::Unknown;
        }
        let judge = &mut self.judge;
        let limits = &self.limits;
        // The solver checks the limits itself, but judging one candidate may take long.
        let answer = limits.within(|| {
            self.solver.solve(assumptions, &mut |is_true| match judge.judge(is_true) {
                lemmas if lemmas.is_empty() => take(&judge.consistent(is_true)),
                lemmas => lemmas,
            })
        });
        let answer = answer.unwrap_or_else(|reached| {
            self.given_up = Some(reached);
            Answer::Unknown
        });
        if answer == Answer::Unknown {
            self.given_up = self.given_up.or_else(|| limits.reached());
        }
        self.judge.statistics.solves += u64::from(answer != Answer::Satisfiable);
        answer
    }

    /// The assumptions that make an execution count: it misuses no library, and no loop is left by the bound.
    /// In a session about the bound, some loop is left by it instead.
    pub fn counted(&self) -> Vec<Lit> {
        self.judge.counted()
    }

    /// The literal of a switch of the skeleton, if something depends on it.
    pub fn switch(&self, number: usize) -> Option<Lit> {
        self.judge.skeleton.switch(number).map(|guard| self.judge.encoding.values.guard(guard))
    }

    /// The indices of the skeleton's misuses that some execution has. Misuses that a limit hides are missing.
    pub fn misuses(&mut self) -> Vec<usize> {
        let misusing = self.misusing().into_iter().enumerate();
        let mut found = Vec::new();
        for (index, assumptions) in misusing {
            if let Found::Execution(_) = self.find(&assumptions) {
                found.push(index);
            }
        }
        found
    }

    /// For each misuse of the skeleton, the assumptions under which an execution has it within the bound on
    /// loops.
    pub fn misusing(&self) -> Vec<[Lit; 2]> {
        let literals = self.judge.encoding.misused.iter();
        literals.map(|literal| [*literal, !self.judge.encoding.exceeded]).collect()
    }

    /// The assumption that the outcome meets a condition of the session, by its index. ⊤ stands for every
    /// value. `None` if the condition computes too many values.
    pub fn meeting(&self, condition: usize) -> Option<Lit> {
        self.judge.encoding.conditions[condition]
    }

    /// As [`Session::each`], for executions whose outcome meets a condition. If there is no assumption that
    /// it does, other outcomes are excluded one by one, and stay excluded.
    pub fn each_meeting(
        &mut self,
        condition: usize,
        assumptions: &[Lit],
        take: &mut dyn FnMut(&Consistent<'_>) -> Next,
    ) -> Answer {
        if let Some(literal) = self.meeting(condition) {
            return self.each(&[assumptions, &[literal]].concat(), take);
        }
        let condition = self.conditions[condition].clone();
        self.each(assumptions, &mut |at| {
            let outcome = at.outcome();
            match condition.holds(&outcome) {
                true => take(at),
                // Excluding an outcome with ⊤ would exclude it with every value.
                false if outcome.0.contains(&Value::Undefined) => Next::OtherExecution,
                false => Next::OtherOutcome,
            }
        })
    }

    /// Looks for a consistent execution in which the assumptions hold, and whose outcome meets a condition,
    /// as [`Session::each_meeting`].
    pub fn find_meeting(&mut self, condition: usize, assumptions: &[Lit]) -> Found {
        Found::first(|take| self.each_meeting(condition, assumptions, take))
    }

    /// The assumptions under which an outcome shows, where ⊤ of an execution stands for every value. `None`
    /// if an observable can have neither.
    pub fn covering(&self, outcome: &Outcome) -> Option<Vec<Lit>> {
        let pairs = self.judge.encoding.observables.iter().zip(&outcome.0);
        let all: Option<Vec<Vec<Lit>>> =
            pairs.map(|(domain, value)| domain.covering(*value)).collect();
        all.map(|all| all.concat())
    }

    /// Excludes all executions with this outcome, where ⊤ stands for every value.
    pub fn block(&mut self, outcome: &Outcome) {
        if let Some(clause) = self.judge.encoding.other_than(outcome) {
            self.solver.add_clause(&clause);
        }
    }

    /// The reason for an unknown answer, for users.
    pub fn why_unknown(&self) -> String {
        self.given_up.map_or_else(|| "the solver gave up".to_owned(), |reached| reached.to_string())
    }

    /// Polls that no operation can answer in any execution.
    pub fn unanswered(&self) -> &[EventId] {
        &self.judge.encoding.unanswered
    }
}

fn start(encoding: &Encoding, kind: SolverKind, limits: &Limits) -> Box<dyn Solver> {
    let mut solver = kind.start(limits);
    solver.add(&encoding.cnf);
    solver
}

/// Axioms that the encoding leaves out: each order of the model must be an order.
fn partial_orders(plan: &Plan) -> Vec<(AxiomKind, NodeIndex)> {
    let mut axioms = Vec::new();
    for (node, entry) in plan.nodes.iter().enumerate() {
        let Op::Choice(choice) = entry.op else { continue };
        let mut both_ways = plan.choices[choice].total_on.clone();
        both_ways.unite(&both_ways.inverse());
        // If the order is total on whole classes, the clauses on triples already exclude all cycles.
        if !both_ways.is_total_on_classes() {
            axioms.push((AxiomKind::Acyclic, node));
        }
    }
    axioms
}
