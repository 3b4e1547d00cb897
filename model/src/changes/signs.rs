//! Whether a definition adds to what the axioms forbid, or takes away from it: `a` in `b \ a` takes away.

use lang::cat::model::{DefinitionKind, Expr, Model};

/// For each definition, whether some axiom forbids less because of it: it occurs to the right of `\` or under
/// `~`, be it in a definition that an axiom uses.
pub(super) fn taking_away(model: &Model) -> Vec<bool> {
    let mut signs = Signs { model, seen: vec![[false; 2]; model.definitions.len()] };
    model.axioms.iter().for_each(|axiom| signs.visit(&axiom.body, false));
    signs.seen.into_iter().map(|[_, takes_away]| takes_away).collect()
}

struct Signs<'m> {
    model: &'m Model,
    /// Whether each definition is known to occur where it adds, and where it takes away.
    seen: Vec<[bool; 2]>,
}

impl Signs<'_> {
    fn visit(&mut self, expr: &Expr, takes_away: bool) {
        match expr {
            Expr::Base(_) | Expr::Empty | Expr::Universe => {}
            Expr::Defined(id) => self.visit_definition(id.definition, takes_away),
            Expr::Difference(left, right) => {
                self.visit(left, takes_away);
                self.visit(right, !takes_away);
            }
            Expr::Complement(_, inner) => self.visit(inner, !takes_away),
            Expr::Union(left, right)
            | Expr::Intersection(left, right)
            | Expr::Product(left, right)
            | Expr::Sequence(left, right) => {
                self.visit(left, takes_away);
                self.visit(right, takes_away);
            }
            Expr::Identity(inner)
            | Expr::Inverse(inner)
            | Expr::Plus(inner)
            | Expr::Star(inner)
            | Expr::Optional(inner)
            | Expr::Domain(inner)
            | Expr::Range(inner) => self.visit(inner, takes_away),
        }
    }

    fn visit_definition(&mut self, definition: usize, takes_away: bool) {
        if std::mem::replace(&mut self.seen[definition][usize::from(takes_away)], true) {
            return;
        }
        match &self.model.definitions[definition].kind {
            DefinitionKind::Let { body, .. } => self.visit(body, takes_away),
            DefinitionKind::Rec(bodies) => {
                bodies.iter().for_each(|equation| self.visit(&equation.body, takes_away));
            }
            DefinitionKind::Choice { total_on, extends, .. } => {
                self.visit(total_on, takes_away);
                extends.iter().for_each(|extends| self.visit(extends, takes_away));
            }
            DefinitionKind::Table(table) => {
                let letters = table.letters.iter().map(|(_, relation)| relation);
                let columns = table.columns.iter().map(|(_, set)| set);
                let rows = table.rows.iter().map(|(_, set, _)| set);
                for part in [&table.on].into_iter().chain(letters).chain(columns).chain(rows) {
                    self.visit(part, takes_away);
                }
            }
        }
    }
}
