//! What is shown of what the mouse is on.

use lang::cat::model::{Base, Type};
use lang::library::Words;
use lang::program::{Origin, Program};
use lang::source::Span;
use model::library::shipped;

use crate::documents::{Known, What};
use crate::library::LibraryText;
use crate::models::{ModelText, defining};
use crate::names::{Occurrence, Space};
use crate::program::ProgramText;
use crate::{shipped as texts, wire};

/// What to show, and of what place.
pub fn hover(known: &Known, offset: usize) -> Option<(String, Span)> {
    let name = known.names.at(offset);
    match &known.what {
        What::Program(program) => of_program(known, program, name, offset),
        What::Model(model) => {
            let name = name?;
            Some((of_model(known, model, name)?, name.span))
        }
        What::Library(library) => {
            let name = name?;
            Some((of_library(library, name)?, name.span))
        }
    }
}

fn of_program(
    known: &Known,
    program: &ProgramText,
    name: Option<&Occurrence>,
    offset: usize,
) -> Option<(String, Span)> {
    let mut parts = Vec::new();
    if let Some(name) = name {
        if name.space == Space::Model {
            return Some((model(&name.name)?, name.span));
        }
        parts.extend(program.test().and_then(|test| of_name(&test.program, name)));
    }
    let test = program.test();
    let stmt = test.and_then(|test| wire::statements_at(&test.program, offset).pop());
    if let (Some(test), Some(stmt)) = (test, stmt) {
        let text = known.source.text.get(stmt.span.range()).unwrap_or_default();
        let head = text.lines().next().unwrap_or_default();
        parts.push(format!("```litmus\n{head}\n```"));
        if let Some(wire) = wire::on_the_wire(&test.program, stmt) {
            parts.push(format!("On the wire: {wire}."));
        }
        if let lang::program::StmtKind::Call(call) = &stmt.kind {
            parts.extend(of_method(shipped().words(), &call.method));
        }
        let events = wire::events(program, stmt);
        if !events.is_empty() {
            let lines: Vec<String> = events.iter().map(|event| format!("- {event}")).collect();
            parts.push(format!("In the model, its events in this order:\n\n{}", lines.join("\n")));
        }
    }
    let span = match (name, stmt) {
        (Some(name), _) => name.span,
        (None, Some(stmt)) => stmt.span,
        (None, None) => return None,
    };
    (!parts.is_empty()).then(|| (parts.join("\n\n"), span))
}

/// What a name of a program means.
fn of_name(program: &Program, name: &Occurrence) -> Option<String> {
    let text = &name.name;
    if name.space == Space::WorkId {
        return Some(format!(
            "`{text}`: a work id. `Wait({text})` waits for operations that have it."
        ));
    }
    if let Some(location) = program.locations.iter().find(|one| one.name == *text) {
        let (node, initial) = (location.node.0, location.initial);
        return Some(match location.origin {
            Origin::Declared => format!("`{text}`: a location of node {node}, {initial} at first"),
            _ => format!("`{text}`: a location of node {node} that takes results of the NIC"),
        });
    }
    let is_it = |one: &&lang::program::Register| one.name.as_deref() == Some(text);
    if let Some(register) = program.registers.iter().find(is_it) {
        return Some(format!("`{text}`: a register of thread {}", register.thread.number()));
    }
    let object = program.objects.iter().find(|one| one.name == *text)?;
    let at = object.node.map(|node| format!(", on node {}", node.0)).unwrap_or_default();
    Some(format!("`{text}`: an object of the class `{}`{at}", object.class))
}

/// The title of a model, and what it judges.
fn model(name: &str) -> Option<String> {
    let model = texts::model(name)?;
    let model = &model.loaded.model;
    let title = model.title.clone().unwrap_or_default();
    let axioms: Vec<String> =
        model.axioms.iter().map(|axiom| format!("`{}`", axiom.name)).collect();
    Some(format!("`{name}`: {title}\n\nAxioms: {}", axioms.join(", ")))
}

fn of_method(words: Words<'_>, method: &str) -> Option<String> {
    let called = words.method(method)?;
    let usage = called.method.usage().unwrap_or_else(|| method.to_owned());
    let title = called.library.title.clone().unwrap_or_default();
    Some(format!("`{usage}`, of the library `{}`: {title}", called.library.name))
}

fn of_model(known: &Known, model: &ModelText, name: &Occurrence) -> Option<String> {
    match name.space {
        Space::Model => return self::model(name.name.trim_end_matches(".cat")),
        Space::Call => {
            return Some(format!("`{}`: a kind of statement that programs may use", name.name));
        }
        _ => {}
    }
    let mut parts = Vec::new();
    let own = known.names.definition(&name.name, &name.space);
    let own = own.map(|found| (found.span, &model.tree, known.source.text.as_str(), None));
    let others = || {
        model.included.iter().find_map(|one| {
            let found = one.names.definition(&name.name, &name.space)?;
            Some((found.span, &one.tree, one.source.text.as_str(), Some(&one.source.name)))
        })
    };
    if let Some((span, tree, text, file)) = own.or_else(others) {
        let statement = defining(tree, span)?;
        let text = text.get(statement.span.range()).unwrap_or_default();
        parts.push(format!("```cat\n{text}\n```"));
        parts.extend(file.map(|file| format!("in {file}")));
    } else if let Some(base) = Base::ALL.iter().find(|base| base.name() == name.name) {
        let kind = if base.ty() == Type::Set { "set" } else { "relation" };
        parts.push(format!("`{}`: a {kind} that every execution comes with", name.name));
    }
    parts.extend(model.says(&name.name));
    (!parts.is_empty()).then(|| parts.join("\n\n"))
}

fn of_library(library: &LibraryText, name: &Occurrence) -> Option<String> {
    if let Some(base) = Base::ALL.iter().find(|base| base.name() == name.name) {
        return Some(format!("`{}`: {}", name.name, base.meaning()));
    }
    let library = library.library.as_ref()?;
    let method = library.methods.iter().find(|method| method.name == name.name)?;
    let usage = method.usage().unwrap_or_else(|| method.name.clone());
    Some(format!("`{usage}`, of the library `{}`", library.name))
}
