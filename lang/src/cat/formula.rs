//! Expressions of checked models as text: definitions by their names, functions by what they stand for.

use super::model::{DefinitionKind, Expr, Model};

const UNION: usize = 1;
const SEQUENCE: usize = 2;
const DIFFERENCE: usize = 3;
const INTERSECTION: usize = 4;
const PRODUCT: usize = 5;
const COMPLEMENT: usize = 6;
const POSTFIX: usize = 7;

impl Model {
    /// An expression of this model as its text may write it, with no more parentheses than needed.
    pub fn text_of(&self, expr: &Expr) -> String {
        self.formula(expr).0
    }

    /// The text, and how tightly its outermost operator binds.
    fn formula(&self, expr: &Expr) -> (String, usize) {
        // Chains group to the left, as they are read.
        let infix = |left: &Expr, operator: &str, right: &Expr, strength: usize| {
            let (left, right) = (self.within(left, strength), self.within(right, strength + 1));
            (format!("{left}{operator}{right}"), strength)
        };
        let word = |text: String| (text, POSTFIX);
        let postfix = |inner: &Expr, operator: &str| {
            word(format!("{}{operator}", self.within(inner, POSTFIX)))
        };
        match expr {
            Expr::Base(base) => word(base.name().to_owned()),
            Expr::Defined(id) => word(match &self.definitions[id.definition].kind {
                DefinitionKind::Let { name, .. } | DefinitionKind::Choice { name, .. } => {
                    name.clone()
                }
                DefinitionKind::Table(table) => table.name.clone(),
                DefinitionKind::Rec(bodies) => bodies[id.body].name.clone(),
            }),
            Expr::Empty => word("0".to_owned()),
            Expr::Universe => word("_".to_owned()),
            Expr::Union(left, right) => infix(left, " | ", right, UNION),
            Expr::Intersection(left, right) => infix(left, " & ", right, INTERSECTION),
            Expr::Difference(left, right) => infix(left, " \\ ", right, DIFFERENCE),
            Expr::Product(left, right) => infix(left, " * ", right, PRODUCT),
            Expr::Sequence(left, right) => infix(left, "; ", right, SEQUENCE),
            Expr::Complement(_, inner) => {
                (format!("~{}", self.within(inner, COMPLEMENT)), COMPLEMENT)
            }
            Expr::Identity(inner) => word(format!("[{}]", self.text_of(inner))),
            Expr::Inverse(inner) => postfix(inner, "^-1"),
            Expr::Plus(inner) => postfix(inner, "+"),
            Expr::Star(inner) => postfix(inner, "*"),
            Expr::Optional(inner) => postfix(inner, "?"),
            Expr::Domain(inner) => word(format!("domain({})", self.text_of(inner))),
            Expr::Range(inner) => word(format!("range({})", self.text_of(inner))),
        }
    }

    /// The text, in parentheses if its outermost operator binds less tightly than `least`.
    fn within(&self, expr: &Expr, least: usize) -> String {
        let (text, strength) = self.formula(expr);
        if strength < least { format!("({text})") } else { text }
    }
}
