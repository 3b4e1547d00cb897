//! Lines below the program: what is shown, and verdicts.

use super::{Name, Number, Place};
use crate::program::BinaryOp;

/// A line below the program.
#[derive(Clone, Debug)]
pub struct ResultLine {
    /// What it says.
    pub kind: ResultKind,
    /// Where it begins.
    pub place: Place,
    /// Where its last line begins.
    pub end: Place,
}

/// The kinds of lines below the program.
#[derive(Clone, Debug)]
pub enum ResultKind {
    /// `observe a, x@2`
    Observe(Vec<Observed>),
    /// Verdicts, and the model they hold for.
    Verdicts(Option<Name>, Vec<Verdict>),
}

/// A name whose value an outcome shows.
#[derive(Clone, Debug)]
pub struct Observed {
    /// The name.
    pub name: Name,
    /// The node of `x@2`.
    pub copy: Option<Number>,
}

/// A verdict.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// What it claims.
    pub kind: VerdictKind,
    /// `… ?`: it only asks whether that is so.
    pub is_question: bool,
    /// Its place.
    pub place: Place,
}

/// What a verdict claims.
#[derive(Clone, Debug)]
pub enum VerdictKind {
    /// `… ✓`, `exists …`
    Allowed(Claim),
    /// `… ✗`, `~exists …`
    Forbidden(Claim),
    /// `forall …`
    Always(Claim),
    /// `exactly { … } for …`
    Exactly {
        /// The outcomes.
        outcomes: Vec<(Vec<Constant>, Place)>,
        /// What they are outcomes of.
        observed: Vec<Observed>,
    },
}

/// A condition on an outcome.
#[derive(Clone, Debug)]
pub enum Claim {
    /// `true`, `false`
    Truth(bool),
    /// `a = 1`, `(a, b) ≠ (0, 0)`
    Compare {
        /// One of the six comparisons.
        op: BinaryOp,
        /// One atom, or those of a tuple.
        left: Vec<Atom>,
        /// One atom, or those of a tuple.
        right: Vec<Atom>,
        /// The comparison's place.
        place: Place,
    },
    /// `… ∧ …`, two at least
    And(Vec<Claim>),
    /// `… ∨ …`, two at least
    Or(Vec<Claim>),
    /// `¬ …`
    Not(Box<Claim>),
}

impl ResultLine {
    /// The names in it.
    pub fn names(&self) -> Vec<&Observed> {
        let mut found = Vec::new();
        match &self.kind {
            ResultKind::Observe(names) => found.extend(names),
            ResultKind::Verdicts(_, verdicts) => {
                for verdict in verdicts {
                    match &verdict.kind {
                        VerdictKind::Allowed(claim)
                        | VerdictKind::Forbidden(claim)
                        | VerdictKind::Always(claim) => claim.names(&mut found),
                        VerdictKind::Exactly { observed, .. } => found.extend(observed),
                    }
                }
            }
        }
        found
    }
}

impl Claim {
    fn names<'c>(&'c self, found: &mut Vec<&'c Observed>) {
        match self {
            Self::Truth(_) => {}
            Self::Compare { left, right, .. } => {
                left.iter().chain(right).for_each(|atom| atom.names(found));
            }
            Self::And(all) | Self::Or(all) => all.iter().for_each(|inner| inner.names(found)),
            Self::Not(inner) => inner.names(found),
        }
    }

    /// Calls a function for each name in it.
    pub fn each_name(&mut self, visit: &mut impl FnMut(&mut Observed)) {
        match self {
            Self::Truth(_) => {}
            Self::Compare { left, right, .. } => {
                left.iter_mut().chain(right).for_each(|atom| atom.each_name(visit));
            }
            Self::And(all) | Self::Or(all) => {
                all.iter_mut().for_each(|inner| inner.each_name(visit))
            }
            Self::Not(inner) => inner.each_name(visit),
        }
    }
}

impl Atom {
    fn names<'c>(&'c self, found: &mut Vec<&'c Observed>) {
        match self {
            Self::Constant(_) => {}
            Self::Observed(observed) => found.push(observed),
            Self::Binary(_, left, right) => {
                left.names(found);
                right.names(found);
            }
        }
    }

    fn each_name(&mut self, visit: &mut impl FnMut(&mut Observed)) {
        match self {
            Self::Constant(_) => {}
            Self::Observed(observed) => visit(observed),
            Self::Binary(_, left, right) => {
                left.each_name(visit);
                right.each_name(visit);
            }
        }
    }
}

/// One side of a comparison, or a part of it.
#[derive(Clone, Debug)]
pub enum Atom {
    /// A value.
    Constant(Constant),
    /// A name.
    Observed(Observed),
    /// `a + 1`, by one of the four operators of arithmetic.
    Binary(BinaryOp, Box<Atom>, Box<Atom>),
}

/// A value in a condition.
#[derive(Clone, Debug)]
pub enum Constant {
    /// A number.
    Number(u64),
    /// `true`, `false`
    Truth(bool),
    /// `⊥`
    Bottom,
    /// `⊤`
    Undefined,
    /// `(1, 2)`, two words or more of one mixed-size value.
    Words(Vec<Number>),
}
