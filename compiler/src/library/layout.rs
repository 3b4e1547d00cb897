//! Decides where objects have their memory.

use std::collections::HashMap;

use lang::Test;
use lang::diagnostic::{Code, Diagnostic, nearest};
use lang::library::notation::shown;
use lang::library::{Library, Memory, Shape};
use lang::outcome::Observed;
use lang::program::{Call, Location, LocationId, NodeId, Object, Origin, Program, ThreadId};
use lang::source::Span;

use super::bind::base_name;
use super::{Bound, Environment, Libraries, each_call};

pub use lang::library::MOST_WORDS;

/// A test, with the memory of its objects added.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// The test. Its own locations come first, then the memory of objects.
    pub test: Test,
    /// For each location: 0 if it belongs to the base, else its library's number plus 1.
    pub owners: Vec<usize>,
    /// The numbers of the libraries that the program uses.
    pub used: Vec<usize>,
}

/// Adds the memory that the specifications of the libraries need for a test's objects.
///
/// # Errors
/// Returns a diagnostic for each object of a class that no library defines, and for each call that none
/// defines or that its thread must not make.
pub fn prepare(test: &Test, libraries: &Libraries) -> Result<Prepared, Vec<Diagnostic>> {
    let mut test = super::bound(test, libraries)?;
    let errors = wrong_calls(&test.program, libraries);
    if !errors.is_empty() {
        return Err(errors);
    }
    let used = libraries.used(&test.program);
    let mut owners = vec![0; test.program.locations.len()];
    for index in 0..test.program.objects.len() {
        let class = test.program.objects[index].class.clone();
        let Some((number, library)) = libraries.of_class(&class) else { continue };
        for memory in library.memory.iter().filter(|memory| memory.class.as_ref() == Some(&class)) {
            add(&mut test.program, library, memory, Some(index), Span::default())
                .map_err(|error| vec![*error])?;
        }
        owners.resize(test.program.locations.len(), number + 1);
    }
    for number in &used {
        let library = &libraries.all[*number];
        for memory in library.memory.iter().filter(|memory| memory.class.is_none()) {
            add(&mut test.program, library, memory, None, Span::default())
                .map_err(|error| vec![*error])?;
        }
        owners.resize(test.program.locations.len(), number + 1);
    }
    observe(&mut test, |library: &Library| library.memory.as_slice(), libraries)?;
    Ok(Prepared { test, owners, used })
}

/// Replaces observables of objects' copies by the memory that holds the copies.
///
/// # Errors
/// Fails if the library of an observed object has no memory to show.
pub fn observe<'l>(
    test: &mut Test,
    memory: impl Fn(&'l Library) -> &'l [Memory],
    libraries: &'l Libraries,
) -> Result<(), Vec<Diagnostic>> {
    for observable in &mut test.observables {
        let Observed::Copy(index, node) = observable.what else { continue };
        let object = &test.program.objects[index];
        let shown = libraries.of_class(&object.class).and_then(|(_, library)| {
            let of_class = |memory: &&Memory| {
                memory.class.as_ref() == Some(&object.class)
                    && memory.object.is_none()
                    && library.shows.as_ref() == Some(&memory.name)
            };
            let first = memory(library).iter().find(of_class)?;
            let base = base_name(&test.program, &library.name, Some(index), &first.name);
            let name = match first.shape {
                Shape::EachNode => format!("{base}@{}", node.0),
                // There is one, on the object's node.
                _ if object.node.is_some_and(|home| home != node) => return None,
                _ => base,
            };
            test.program.locations.iter().position(|location| location.name == name)
        });
        let Some(location) = shown else {
            let message = format!("an object of class {} has no value to show", object.class);
            return Err(vec![Diagnostic::error(Code::NotObservable, object.span, message)]);
        };
        observable.what = Observed::Location(LocationId(location));
    }
    Ok(())
}

/// Adds the words, or the objects, that a memory declaration describes.
///
/// # Errors
/// Fails if there are more words than [`MOST_WORDS`].
pub fn add(
    program: &mut Program,
    library: &Library,
    memory: &Memory,
    object: Option<usize>,
    span: Span,
) -> Result<(), Box<Diagnostic>> {
    let span = object.map_or(span, |object| program.objects[object].span);
    let home = object.and_then(|object| program.objects[object].node).unwrap_or(NodeId(1));
    let places: Vec<(String, NodeId)> = match memory.shape {
        Shape::Home => vec![(String::new(), home)],
        Shape::EachNode => {
            (1..=program.nodes).map(|node| (format!("@{node}"), NodeId(node))).collect()
        }
        Shape::EachThread => {
            let all = program.threads.iter().enumerate();
            all.map(|(index, thread)| (format!("[{}]", index + 1), thread.node)).collect()
        }
    };
    let mut environment: Environment<u64> =
        Environment { thread: ThreadId(0), names: HashMap::new() };
    // The declaration may use any name for the object; there is only one object.
    let names: Vec<String> = memory.objects_named();
    for name in names {
        environment.names.extend(object.map(|object| (name, Bound::Object(object))));
    }
    let count = memory.count.as_ref().and_then(|count| environment.number(program, count));
    let base = base_name(program, &library.name, object, &memory.name);
    if count.is_some_and(|count| count > MOST_WORDS) {
        let message = format!(
            "expected at most {MOST_WORDS} words of `{base}`, found {}",
            count.unwrap_or_default()
        );
        return Err(Box::new(Diagnostic::error(Code::TooMuchMemory, span, message)));
    }
    for (suffix, node) in places {
        for index in 0..count.unwrap_or(1) {
            let name = match count {
                Some(_) => format!("{base}{suffix}[{index}]"),
                None => format!("{base}{suffix}"),
            };
            environment.names.insert("i".to_owned(), Bound::Number(index));
            let initial = memory.initial.as_ref();
            let initial =
                initial.and_then(|initial| environment.number(program, initial)).unwrap_or(0);
            match &memory.object {
                None => {
                    let origin = Origin::Unnamed;
                    program.locations.push(Location { name, node, initial, origin, span });
                }
                Some(class) => program.objects.push(Object {
                    name,
                    class: class.clone(),
                    class_span: Span::default(),
                    node: Some(node),
                    initial: vec![initial],
                    threads: object.map_or(Vec::new(), |o| program.objects[o].threads.clone()),
                    writer: object.and_then(|object| program.objects[object].writer),
                    size: object.and_then(|object| program.objects[object].size),
                    span,
                }),
            }
        }
    }
    Ok(())
}

/// An error for each object of a class that no library defines, called or not.
pub(super) fn unknown_classes(program: &Program, libraries: &Libraries) -> Vec<Diagnostic> {
    let is_unknown = |object: &&Object| libraries.of_class(&object.class).is_none();
    let all = program.objects.iter().filter(is_unknown);
    all.map(|object| unknown_class(libraries, object)).collect()
}

fn wrong_calls(program: &Program, libraries: &Libraries) -> Vec<Diagnostic> {
    let mut errors = unknown_classes(program, libraries);
    each_call(program, &mut |thread, call, span| {
        let object = call.object.as_ref();
        let object = object.and_then(|name| program.objects.iter().find(|o| o.name == *name));
        let Some(resolved) = libraries.resolve(program, call) else {
            errors.extend(unresolved(libraries, call, object, span));
            return;
        };
        let parameters = &resolved.method.parameters;
        match Environment::of_arguments(program, thread, parameters, call) {
            Err(message) => errors.push(Diagnostic::error(Code::WrongArguments, span, message)),
            Ok(environment) => {
                let callers = resolved.method.callers.as_ref();
                let callers = callers.map(|callers| environment.threads(program, callers));
                if let Some(Ok(callers)) = callers
                    && !callers.contains(&thread)
                {
                    let (thread, method) = (thread.number(), shown(&call.method));
                    let message = format!("thread {thread} must not call `{method}`");
                    let error = Diagnostic::error(Code::NotAParticipant, span, message);
                    let error = match callers.is_empty() {
                        true => error.help("declare who writes and who reads: `x 1 -> {2}`"),
                        false => error,
                    };
                    errors.push(match object {
                        Some(object) => error.related(object.span, "its threads are declared here"),
                        None => error,
                    });
                }
            }
        }
    });
    errors
}

/// The error of a call that no library resolves. None if the class of its object is unknown: that is an error
/// of the object, whatever is called.
fn unresolved(
    libraries: &Libraries,
    call: &Call,
    object: Option<&Object>,
    span: Span,
) -> Option<Diagnostic> {
    let method = &shown(&call.method);
    let known = object.and_then(|object| libraries.of_class(&object.class));
    Some(match (object, known) {
        (Some(_), None) => return None,
        (Some(Object { class, span: declared, .. }), Some(_))
            if let Some(classes) = libraries.having(&call.method) =>
        {
            let message =
                format!("expected an object of class {classes}, found one of class {class}");
            let error = Diagnostic::error(Code::WrongObjectClass, span, message);
            error.related(*declared, "it is declared here")
        }
        (_, Some((_, library))) => {
            let message = format!("the library `{}` has no method `{method}`", library.name);
            let methods = library.methods.iter().map(|method| method.name.as_str());
            let methods: Vec<&str> = methods.collect();
            Diagnostic::error(Code::UndefinedCall, span, message)
                .help(format!("it has {}", methods.join(", ")))
        }
        (None, None) => {
            let message = format!("no library defines `{method}`");
            Diagnostic::error(Code::UndefinedCall, span, message)
        }
    })
}

/// The error of a class that no library defines: at its name, or at the object if a library declares that.
fn unknown_class(libraries: &Libraries, object: &Object) -> Diagnostic {
    let Object { class, class_span, .. } = object;
    let span = if *class_span == Span::default() { object.span } else { *class_span };
    let message = format!("no library defines the class `{class}`");
    let error = Diagnostic::error(Code::UnknownClass, span, message);
    let classes = libraries.all.iter().flat_map(|library| &library.classes);
    match nearest(class, classes.map(String::as_str)) {
        Some(near) if span == *class_span => error.did_you_mean(near),
        Some(near) => error.help(format!("did you mean `{near}`?")),
        None => error.help("--library FILE.lib reads a library"),
    }
}
