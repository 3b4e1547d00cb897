//! Changes that leave out a relation as a whole: what a machine loses if it does not keep the relation
//! anywhere.

use std::collections::BTreeSet;
use std::sync::Arc;

use lang::cat::model::{DefinitionKind, Expr, Model, Type};

use super::{Change, Subject, dropped};
use crate::library::{map, map_definition};

/// For each relation that is an alternative of some union of the model: the change that leaves it out
/// everywhere. The relation must have a name, and must not be a chosen order or a table, because those have
/// changes of their own. [`super::of`] does not include these changes: it leaves out each alternative by
/// itself.
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

/// Makes a relation empty everywhere. Which events exist, and their kinds, do not change.
pub(super) fn empty(relation: &Expr, model: &mut Model) {
    let emptied = |expr: &Expr| map(expr, &|part| (part == relation).then_some(Expr::Empty));
    for definition in &mut model.definitions {
        if !matches!(definition.kind, DefinitionKind::Let { ty: Type::Set, .. }) {
            *definition = Arc::new(map_definition(definition, &emptied));
        }
    }
    for axiom in &mut model.axioms {
        axiom.body = emptied(&axiom.body);
    }
}
