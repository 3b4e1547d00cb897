//! Changes that leave out an alternative of a union.

use lang::cat::model::{DefinitionKind, Expr, Model};

use super::{Change, Subject, dropped, signs};

/// A part of a model whose body can contain unions.
#[derive(Clone, Copy, Debug)]
pub(super) enum Holder {
    /// An axiom, by its index.
    Axiom(usize),
    /// A definition, by its index.
    Definition(usize),
    /// An equation of a recursive group: the index of the group, and the index of the equation in it.
    Equation(usize, usize),
}

/// The place of an alternative.
#[derive(Clone, Debug)]
pub(super) struct Site {
    holder: Holder,
    /// The path from the body to the alternative: the index of the operand at each step, from 0.
    path: Vec<usize>,
}

/// For each alternative in a body, in the order of the text: the change that leaves it out. Only where this
/// makes the whole body smaller.
pub(super) fn changes(model: &Model, name: &str, holder: Holder) -> Vec<Change> {
    let mut paths = Vec::new();
    if let Some(body) = holder.body(&mut model.clone()) {
        alternatives(body, &mut Vec::new(), &mut paths);
    }
    let takes_away = holder.takes_away(model);
    let change = |(number, path): (usize, Vec<usize>)| {
        let mut mutant = model.clone();
        let lost = leave_out(holder.body(&mut mutant)?, &path)?;
        let subject = Subject::Part(name.to_owned(), number + 1);
        let change = dropped(subject, lost, mutant);
        let allows_more = change.allows_more && !takes_away;
        Some(Change { site: Some(Site { holder, path }), allows_more, ..change })
    };
    paths.into_iter().enumerate().filter_map(change).collect()
}

impl Holder {
    /// Whether the model forbids less because of it, so that leaving out a part may forbid more.
    fn takes_away(self, model: &Model) -> bool {
        match self {
            Self::Axiom(_) => false,
            Self::Definition(index) | Self::Equation(index, _) => signs::taking_away(model)[index],
        }
    }

    fn body(self, model: &mut Model) -> Option<&mut Expr> {
        match self {
            Self::Axiom(index) => Some(&mut model.axioms.get_mut(index)?.body),
            Self::Definition(index) => match &mut model.definition_mut(index)?.kind {
                DefinitionKind::Let { body, .. }
                | DefinitionKind::Choice { total_on: body, .. } => Some(body),
                _ => None,
            },
            Self::Equation(index, equation) => match &mut model.definition_mut(index)?.kind {
                DefinitionKind::Rec(bodies) => Some(&mut bodies.get_mut(equation)?.body),
                _ => None,
            },
        }
    }
}

impl Site {
    /// Replaces the alternative by the empty relation. Returns whether the model has it.
    pub(super) fn empty(&self, model: &mut Model) -> bool {
        let part = self.holder.body(model).and_then(|body| at(body, &self.path));
        part.map(|part| *part = Expr::Empty).is_some()
    }
}

/// Collects the paths to the alternatives of an expression.
fn alternatives(expr: &Expr, path: &mut Vec<usize>, found: &mut Vec<Vec<usize>>) {
    let mut below = |operand: &Expr, number: usize, is_alternative: bool| {
        path.push(number);
        if is_alternative {
            found.push(path.clone());
        }
        alternatives(operand, path, found);
        path.pop();
    };
    match expr {
        Expr::Union(left, right) => {
            // The left side of `a | b | c` is itself a union. Its parts are left out one by one.
            below(left, 0, !matches!(**left, Expr::Union(..)));
            below(right, 1, true);
        }
        Expr::Intersection(left, right)
        | Expr::Product(left, right)
        | Expr::Sequence(left, right) => {
            below(left, 0, false);
            below(right, 1, false);
        }
        Expr::Difference(inner, _)
        | Expr::Identity(inner)
        | Expr::Inverse(inner)
        | Expr::Plus(inner) => below(inner, 0, false),
        _ => {}
    }
}

/// The expression at the end of a path.
fn at<'e>(expr: &'e mut Expr, path: &[usize]) -> Option<&'e mut Expr> {
    let Some((first, rest)) = path.split_first() else { return Some(expr) };
    let operand = match (expr, first) {
        (
            Expr::Union(left, _)
            | Expr::Intersection(left, _)
            | Expr::Product(left, _)
            | Expr::Sequence(left, _)
            | Expr::Difference(left, _)
            | Expr::Identity(left)
            | Expr::Inverse(left)
            | Expr::Plus(left),
            0,
        ) => left,
        (
            Expr::Union(_, right)
            | Expr::Intersection(_, right)
            | Expr::Product(_, right)
            | Expr::Sequence(_, right),
            1,
        ) => right,
        _ => return None,
    };
    at(operand, rest)
}

/// Removes an alternative from its union, and returns it.
fn leave_out(body: &mut Expr, path: &[usize]) -> Option<Expr> {
    let (last, above) = path.split_last()?;
    let union = at(body, above)?;
    let Expr::Union(left, right) = std::mem::replace(union, Expr::Empty) else { return None };
    let (kept, lost) = if *last == 0 { (right, left) } else { (left, right) };
    *union = *kept;
    Some(*lost)
}
