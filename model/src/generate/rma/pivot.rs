//! Finds executions that one application of a rule forbids: this is how coreRMA's authors find tests.
//!
//! "We require that the hb cycle contains an edge induced by a rule in Figure 4 and that removing this edge
//! renders hb acyclic. We call this edge a pivot." (Dan, Lam, Hoefler, Vechev, OOPSLA 2016, §6.1.)

use lang::cat::model::{
    Axiom, AxiomKind, Base, Definition, DefinitionId, DefinitionKind, Expr, Model, UNDEFINED_READS,
    UNDEFINED_WRITES,
};
use lang::source::Span;
use skeleton::{self, Skeleton, Stamp};

pub use super::executions::Instance;
use super::executions::Search;
use super::program::Program;
use crate::relation::Relation;
use crate::smt::plan::{self, Op, Plan};
use crate::smt::theory::{Evaluation, Facts};

/// The rules of a coreRMA model: the parts that its recursive relation unites.
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

/// A rule of a model, prepared to examine its single applications.
pub struct Pivot {
    /// The model with a changed rule: the rule lacks the pairs of `pf`. `pf` is empty in this dialect, so the
    /// search can set it freely. The last axiom is the rule itself.
    model: Model,
}

impl Pivot {
    /// Prepares a rule of a model.
    pub fn new(model: &Model, rule: DefinitionId) -> Self {
        let mut model = model.clone();
        let lacking = |body: &mut Expr| {
            let removed = Box::new(Expr::Base(Base::PollsFrom));
            *body = Expr::Difference(Box::new(body.clone()), removed);
        };
        match model.definition_mut(rule.definition).map(|changed| &mut changed.kind) {
            Some(DefinitionKind::Let { body, .. }) => lacking(body),
            Some(DefinitionKind::Rec(bodies)) => lacking(&mut bodies[rule.body].body),
            Some(DefinitionKind::Choice { .. } | DefinitionKind::Table(_)) | None => {}
        }
        let observed = Axiom {
            name: String::new(),
            kind: AxiomKind::Empty,
            body: Expr::Defined(rule),
            comment: None,
            span: Span::default(),
        };
        model.axioms.push(observed);
        // The search does not need to know whether a value is ⊤.
        for name in [UNDEFINED_READS, UNDEFINED_WRITES] {
            let defined = model.defined(name).and_then(|id| model.definition_mut(id.definition));
            if let Some(Definition { kind: DefinitionKind::Let { body, .. }, .. }) = defined {
                *body = Expr::Empty;
            }
        }
        Self { model }
    }

    /// The first execution of a program that one application of the rule forbids and that `wanted` accepts. A
    /// local read sees every writer's value, and all values are determined.
    pub fn instance(
        &self,
        program: &Program,
        wanted: &dyn Fn(&Instance) -> bool,
    ) -> Option<Instance> {
        if !self.may_apply(program) {
            return None;
        }
        self.search(program, true, wanted)
    }

    /// Like [`Self::instance`]. With `shortcuts`, drops early what cannot become an instance.
    fn search(
        &self,
        program: &Program,
        shortcuts: bool,
        wanted: &dyn Fn(&Instance) -> bool,
    ) -> Option<Instance> {
        let (skeleton, plan) = self.laid_out(program)?;
        let mut evaluation = Evaluation::new(&plan, Facts::all_events(&plan));
        let (rule, axioms) = plan.axioms.split_last()?;
        let kinds = self.model.axioms.iter().map(|axiom| axiom.kind);
        let axioms: Vec<(usize, AxiomKind)> = axioms.iter().copied().zip(kinds).collect();
        let is_monotone = shortcuts && is_monotone(&plan);
        let removals = removals(&mut evaluation, &plan, *rule, &axioms, is_monotone);
        let mut search = Search::new(program, &skeleton, &plan, axioms, evaluation, is_monotone);
        removals.into_iter().find_map(|removed| {
            search.removed = removed;
            search.sources(wanted)
        })
    }

    /// The events of a program, and the model's relations over them.
    fn laid_out(&self, program: &Program) -> Option<(Skeleton, Plan)> {
        let skeleton = skeleton::build(&program.test().program, 1).ok()?;
        let plan = Plan::new(&self.model, &skeleton).ok()?;
        Some((skeleton, plan))
    }

    /// Whether the program has the kinds of events that the rule needs.
    fn may_apply(&self, program: &Program) -> bool {
        let Some(rule) = self.model.axioms.last() else { return false };
        let statements = program.processes.iter().flatten();
        let stamps: Vec<Stamp> = statements.flat_map(|one| one.stamps()).copied().collect();
        self.may_hold(&rule.body, &|stamp| stamp == Stamp::Init || stamps.contains(&stamp))
    }

    /// Whether an expression can be nonempty if only some kinds of events exist.
    fn may_hold(&self, expr: &Expr, is_there: &dyn Fn(Stamp) -> bool) -> bool {
        let may = |expr: &Expr| self.may_hold(expr, is_there);
        match expr {
            Expr::Empty => false,
            Expr::Base(base) => plan::stamp(*base).is_none_or(is_there),
            Expr::Defined(id) => match &self.model.definitions[id.definition].kind {
                DefinitionKind::Let { body, .. } => may(body),
                _ => true,
            },
            Expr::Union(a, b) => may(a) || may(b),
            Expr::Intersection(a, b) | Expr::Product(a, b) | Expr::Sequence(a, b) => {
                may(a) && may(b)
            }
            Expr::Difference(a, _)
            | Expr::Identity(a)
            | Expr::Inverse(a)
            | Expr::Plus(a)
            | Expr::Domain(a)
            | Expr::Range(a) => may(a),
            Expr::Universe | Expr::Complement(..) | Expr::Star(_) | Expr::Optional(_) => true,
        }
    }
}

/// What to remove from the rule, in sequence, to find its pivots. If the rule contains no choice: each pair
/// that the other rules do not imply. Otherwise: everything, and then each execution determines its pairs.
fn removals(
    evaluation: &mut Evaluation<'_>,
    plan: &Plan,
    rule: usize,
    axioms: &[(usize, AxiomKind)],
    is_monotone: bool,
) -> Vec<Relation> {
    let body = match plan.nodes[rule].op {
        Op::Empty => return Vec::new(),
        Op::Difference(body, _) if plan.nodes[body].is_static => Some(body),
        _ => None,
    };
    let body = body.map(|body| evaluation.value(body).clone());
    match body {
        Some(body) if body.is_empty() => Vec::new(),
        Some(body) if is_monotone => {
            // A rule is a part of a recursive relation, so it orders events through such relations.
            let names = plan.groups.iter().flat_map(|group| &group.bodies).map(|(name, _)| name);
            let all: Vec<usize> =
                axioms.iter().map(|(node, _)| node).chain(names).copied().collect();
            let ordered = |evaluation: &Evaluation<'_>| -> Vec<Relation> {
                all.iter().map(|node| evaluation.value(*node).clone()).collect()
            };
            let with = ordered(evaluation);
            // What holds without any choice always holds.
            let mut is_there_anyway = |removed: &Relation| {
                let polls_from = removed.clone();
                evaluation.update(Facts { polls_from, ..Facts::all_events(plan) });
                ordered(evaluation) == with
            };
            let single = |(from, to)| {
                let mut removed = Relation::empty(plan.size);
                removed.insert(from, to);
                removed
            };
            let mut singles: Vec<Relation> = body.pairs().map(single).collect();
            singles.retain(|removed| !is_there_anyway(removed));
            singles
        }
        _ => vec![Relation::from_fn(plan.size, |_, _| true)],
    }
}

/// Whether choices only add pairs to the relations that axioms depend on, except for what the rule lacks.
/// Then a partial choice that is inconsistent stays inconsistent.
fn is_monotone(plan: &Plan) -> bool {
    let is_fixed = |node: &usize| {
        let node = &plan.nodes[*node];
        node.is_static || node.op == Op::PollsFrom
    };
    plan.nodes.iter().filter(|node| node.is_needed).all(|node| match &node.op {
        Op::Difference(_, b) => is_fixed(b),
        Op::Complement(_, a) => is_fixed(a),
        _ => true,
    })
}

#[cfg(test)]
mod tests {
    use super::super::enumerate::{Bounds, programs};
    use super::*;

    /// The shortcuts lose no test, and they are taken: without them, large programs take many times as long.
    #[test]
    fn shortcuts_find_the_same_programs() {
        let loaded = crate::models::load_shipped("corerma").expect("a shipped model");
        let model = loaded.unwrap_or_else(|_| panic!("a model without errors")).model;
        let mut found = 0;
        for (rule, id) in rules(&model) {
            let pivot = Pivot::new(&model, id);
            for (processes, size) in [(1, 7), (2, 8)] {
                programs(Bounds { processes, size }, &mut |program| {
                    let (_, plan) = pivot.laid_out(&program).expect("coreRMA defines it");
                    assert!(is_monotone(&plan), "{rule}: {program:?}");
                    let quick = pivot.instance(&program, &|_| true).is_some();
                    let slow = pivot.search(&program, false, &|_| true).is_some();
                    assert_eq!(quick, slow, "{rule}: {program:?}");
                    found += usize::from(quick);
                });
            }
        }
        assert!(found > 1000, "{found} tests");
    }
}
