//! What a model calls the events of an execution: `nrW` or `aNRW`, as its tables and definitions do.

use std::collections::BTreeMap;
use std::sync::Arc;

use lang::cat::model::{Base, Definition, DefinitionKind, Expr};
use skeleton::EventId;

use crate::allowed::Question;
use crate::check::{Evaluator, Value};
use crate::execution::Execution;

/// A name for each event that happens: of a row or column of the model's tables; or else the first defined
/// set of stamps that has it; or else its stamp.
pub fn names(question: &Question<'_>, execution: &Execution) -> BTreeMap<EventId, String> {
    let evaluator = Evaluator::new(&question.skeleton, &question.model, execution);
    let definitions = &question.model.definitions;
    let mut names = BTreeMap::new();
    let mut call = |name: &str, events: &mut dyn Iterator<Item = usize>| {
        for event in events {
            names.entry(EventId(event)).or_insert_with(|| name.to_owned());
        }
    };
    let initial = evaluator.set(&Expr::Base(Base::InitialWrites));
    call("init", &mut initial.into_iter());
    for definition in definitions {
        let DefinitionKind::Table(table) = &definition.kind else { continue };
        let rows = table.rows.iter().map(|(name, set, _)| (name, set));
        for (name, set) in rows.chain(table.columns.iter().map(|(name, set)| (name, set))) {
            call(name, &mut evaluator.set(set).into_iter());
        }
    }
    for (index, definition) in definitions.iter().enumerate() {
        let DefinitionKind::Let { name, body, .. } = &definition.kind else { continue };
        let id = lang::cat::model::DefinitionId { definition: index, body: 0 };
        if let Value::Set(set) = evaluator.defined(id)
            && is_of_stamps(body, definitions)
        {
            call(name, &mut set.iter().copied());
        }
    }
    for happening in &execution.events {
        let stamp = question.skeleton.event(happening.event).stamp.name();
        call(stamp, &mut std::iter::once(happening.event.0));
    }
    names
}

/// Whether a set is put together from stamps alone, or from sets that are.
fn is_of_stamps(expr: &Expr, definitions: &[Arc<Definition>]) -> bool {
    match expr {
        Expr::Base(base) => base.name().starts_with('a'),
        Expr::Union(left, right) => {
            is_of_stamps(left, definitions) && is_of_stamps(right, definitions)
        }
        Expr::Defined(id) => match &definitions[id.definition].kind {
            DefinitionKind::Let { body, .. } => is_of_stamps(body, definitions),
            _ => false,
        },
        _ => false,
    }
}
