//! What is shown of what the mouse is on.

use lang::cat::model::{Base, Type};
use lang::library::notation::WORDS;
use lang::library::{Library, Method};
use lang::litmus::methods::lookup;
use lang::program::{Call, Location, Origin, Program, Stmt, ThreadId, array_of};
use lang::source::Span;
use lang::{Dialect, Test};
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
            Some((of_library(known, library, name)?, name.span))
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
        parts.extend(program.rest().and_then(|test| of_name(&test.program, name)));
    }
    let test = program.rest();
    let stmt = test.and_then(|test| wire::statements_at(&test.program, offset).pop());
    if let (Some(test), Some((thread, stmt))) = (test, stmt) {
        let text = known.source.text.get(stmt.span.range()).unwrap_or_default();
        let head = text.lines().next().unwrap_or_default();
        // Behind the head of a block of several rows stand the cells of other threads.
        let is_block = !stmt.kind.parts().blocks.is_empty();
        let head = head.find('{').filter(|_| is_block).map_or(head, |brace| &head[..=brace]);
        parts.push(format!("```litmus\n{head}\n```"));
        if let Some(wire) = wire::on_the_wire(&test.program, stmt) {
            parts.push(format!("On the wire: {wire}."));
        }
        if let lang::program::StmtKind::Call(call) = &stmt.kind {
            parts.extend(of_call(&test.program, call));
        }
        parts.extend(of_events(program, test, thread, stmt));
    }
    let span = match (name, stmt) {
        (Some(name), _) => name.span,
        (None, Some((_, stmt))) => stmt.span,
        (None, None) => return None,
    };
    (!parts.is_empty()).then(|| (parts.join("\n\n"), span))
}

/// The events of a thread's statement.
fn of_events(program: &ProgramText, test: &Test, thread: ThreadId, stmt: &Stmt) -> Option<String> {
    let model = &program.models.first()?.loaded.model;
    let Some(events) = program.events.of(test, model, (thread, stmt)) else {
        return Some("Its events in the model are not known.".to_owned());
    };
    let lines: Vec<String> = events.iter().map(|event| format!("- {event}")).collect();
    let lines = lines.join("\n");
    (!events.is_empty()).then(|| format!("In the model, its events in this order:\n\n{lines}"))
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
    let of_array =
        |one: &&Location| array_of(&one.name).is_some_and(|(array, _)| array == text.as_str());
    let words: Vec<_> = program.locations.iter().filter(of_array).collect();
    if let Some(first) = words.first() {
        let (count, node) = (words.len(), first.node.0);
        return Some(format!(
            "`{text}`: an array of {count} words on node {node}, `{text}[0]` first"
        ));
    }
    let is_it = |one: &&lang::program::Register| one.name.as_deref() == Some(text);
    if let Some(register) = program.registers.iter().find(is_it) {
        return Some(format!("`{text}`: a register of thread {}", register.thread.number()));
    }
    let object = program.objects.iter().find(|one| one.name == *text)?;
    let at = object.node.map(|node| format!(", on node {}", node.0)).unwrap_or_default();
    Some(match object.class.as_str() {
        WORDS => format!("`{text}`: an array of {} words{at}", object.initial.len()),
        class => format!("`{text}`: an object of the class `{class}`{at}"),
    })
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

/// The method that a call is of: that of its object's library.
fn of_call(program: &Program, call: &Call) -> Option<String> {
    let named = call.object.as_ref();
    let object = named.and_then(|name| program.objects.iter().find(|one| one.name == *name));
    let library = object.and_then(|object| shipped().words().library(&object.class));
    let own = library.and_then(|library| Some((library, library.method(&call.method)?.1)));
    let word = || shipped().words().method(&call.method).map(|it| (it.library, it.method));
    own.or_else(word).map(|(library, method)| of_method(library, method))
}

fn of_method(library: &Library, method: &Method) -> String {
    let usage = method.usage().unwrap_or_else(|| method.name.clone());
    let title = library.title.clone().unwrap_or_default();
    format!("`{usage}`, of the library `{}`: {title}", library.name)
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

/// What a name of a library means: what defines it says, or else what the languages below it say.
fn of_library(known: &Known, library: &LibraryText, name: &Occurrence) -> Option<String> {
    let text = known.source.text.as_str();
    let line = |offset: usize| {
        let start = text[..offset].rfind('\n').map_or(0, |at| at + 1);
        text[start..].lines().next().unwrap_or_default().trim()
    };
    let mut parts = Vec::new();
    let own = library.library.as_ref().filter(|_| name.space == Space::Value);
    if let Some((library, (_, method))) = own.and_then(|own| Some((own, own.method(&name.name)?))) {
        parts.push(of_method(library, method));
    }
    if let Some(defined) = known.names.definition(&name.name, &name.space) {
        parts.push(format!("```\n{}\n```", line(defined.span.start)));
    } else if let Some(base) = Base::ALL.iter().find(|base| base.name() == name.name) {
        parts.push(format!("`{}`: {}", name.name, base.meaning()));
    } else if let Some((word, meaning)) = BUILT_IN.iter().find(|(word, _)| *word == name.name) {
        parts.push(format!("`{word}`: {meaning}"));
    } else if let Some(row) =
        lookup(Dialect::Rdma, &name.name).map(lang::litmus::methods::Method::signature)
    {
        parts.push(format!("`{}`: a statement of programs", row.usage));
    } else if let Some(called) = shipped().words().method(&name.name) {
        parts.push(of_method(called.library, called.method));
    } else if let Some((library, class)) = shipped().words().class(&name.name) {
        let title = library.title.clone().unwrap_or_default();
        parts.push(format!("`{class}`: a class of the library `{}`: {title}", library.name));
    }
    (!parts.is_empty()).then(|| parts.join("\n\n"))
}

/// Words that mean something in every library.
const BUILT_IN: [(&str, &str); 14] = [
    ("here", "the node of the thread that calls"),
    ("me", "the thread that calls"),
    ("all", "all nodes"),
    (
        "threads",
        "all threads; with nodes in parentheses, the threads on those; of an object, its own",
    ),
    ("nodes", "the nodes of some threads"),
    ("node", "the node of a thread, or of a location"),
    ("count", "how many there are in a set"),
    ("pack", "values as one"),
    ("word", "one of the values that are packed"),
    ("home", "the object's node"),
    ("writer", "the thread that writes the object"),
    ("size", "the size of the object"),
    ("initial", "the object's value before the program starts"),
    ("so", "the order that the library exports"),
];
