//! Changes that leave out a relation as a whole: what a machine loses that does not keep it anywhere.

use std::collections::BTreeSet;

use lang::cat::model::{DefinitionKind, Expr, Model, Type};

use super::{Change, Subject, dropped};
use crate::library::{map, map_definition};

/// Each relation left out that some union of the model has as an alternative, if it has a name and is neither an order that is
/// chosen nor a table: those have changes of their own. [`super::of`] has none of these: it has each such alternative.
pub fn relations(model: &Model) -> Vec<Change> {
    let mut changes = Vec::new();
    let mut known: BTreeSet<String> = BTreeSet::new();
    for part in super::of(model).into_iter().filter(Change::is_of_a_name) {
        let is_let = match &part.lost {
            Expr::Defined(id) => matches!(
                model.definitions[id.definition].kind,
                DefinitionKind::Let { ty: Type::Relation, .. }
            ),
            Expr::Base(base) => base.ty() == Type::Relation,
            _ => false,
        };
        let name = model.text_of(&part.lost);
        if is_let && known.insert(name.clone()) {
            let mut mutant = model.clone();
            empty(&part.lost, &mut mutant);
            changes.push(dropped(Subject::Relation(name), part.lost, mutant));
        }
    }
    changes
}

/// Leaves nothing of a relation. Which events there are, and of what kind, stays as it is.
pub(super) fn empty(relation: &Expr, model: &mut Model) {
    let emptied = |expr: &Expr| map(expr, &|part| (part == relation).then_some(Expr::Empty));
    for definition in &mut model.definitions {
        if !matches!(definition.kind, DefinitionKind::Let { ty: Type::Set, .. }) {
            *definition = map_definition(definition, &emptied);
        }
    }
    for axiom in &mut model.axioms {
        axiom.body = emptied(&axiom.body);
    }
}
