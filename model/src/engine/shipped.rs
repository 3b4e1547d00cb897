//! Which models are known to mean what their machines do: the shipped ones, and copies of them under other
//! names.

use std::sync::{Arc, LazyLock};

use lang::cat::model::{Definition, DefinitionKind, Hardware, Model, READ_BY_NAME};
use lang::source::Span;

use crate::models;

/// Whether a model is a shipped one, or differs from one in names and words alone.
pub fn is_shipped(model: &Model) -> bool {
    if models::loaded(&model.name).is_some_and(|shipped| shipped.model == *model) {
        return true;
    }
    SHIPPED.contains(&nameless(model))
}

static SHIPPED: LazyLock<Vec<Model>> = LazyLock::new(|| {
    let shipped = models::SHIPPED.iter().filter_map(|(name, _)| models::loaded(name));
    shipped.map(|shipped| nameless(&shipped.model)).collect()
});

/// A model without what does not change its meaning: names, but for those that the language reads, words, and
/// places.
fn nameless(model: &Model) -> Model {
    let mut model = model.clone();
    model.name.clear();
    model.title = None;
    model.words = Default::default();
    model.hardware = Hardware::Itself;
    model.definitions.iter_mut().map(Arc::make_mut).for_each(unname);
    for axiom in &mut model.axioms {
        axiom.name.clear();
        axiom.comment = None;
        axiom.span = Span::default();
    }
    model
}

fn unname(definition: &mut Definition) {
    let clear = |name: &mut String| {
        if !READ_BY_NAME.contains(&name.as_str()) {
            name.clear();
        }
    };
    definition.span = Span::default();
    match &mut definition.kind {
        DefinitionKind::Let { name, .. } | DefinitionKind::Choice { name, .. } => clear(name),
        DefinitionKind::Rec(bodies) => bodies.iter_mut().for_each(|body| clear(&mut body.name)),
        DefinitionKind::Table(table) => {
            clear(&mut table.name);
            table.letters.iter_mut().for_each(|(name, _)| name.clear());
            table.columns.iter_mut().for_each(|(name, _)| name.clear());
            table.rows.iter_mut().for_each(|(name, ..)| name.clear());
        }
    }
}
