//! A test in the words of its libraries: which method an assignment of theirs is, what a class without a name
//! is called, and who takes part in objects whose declarations leave that open.

use lang::Test;
use lang::diagnostic::{Code, Diagnostic};
use lang::library::notation::WORDS;
use lang::library::{Expr, Library};
use lang::program::{Program, Stmt, StmtKind, ThreadId};

use super::{Libraries, each_call};

/// The test with methods and classes by the names that libraries give them.
///
/// # Errors
/// Objects that nobody writes, or not one thread alone, where the library asks for one.
pub fn bound(test: &Test, libraries: &Libraries) -> Result<Test, Vec<Diagnostic>> {
    let mut test = test.clone();
    if let Some(class) = libraries.of_class(WORDS).and_then(|(_, library)| library.words.as_ref()) {
        let of_words = test.program.objects.iter_mut().filter(|object| object.class == WORDS);
        of_words.for_each(|object| object.class.clone_from(class));
    }
    let program = test.program.clone();
    for thread in &mut test.program.threads {
        methods(&mut thread.body, &program, libraries);
    }
    let wrong = participants(&mut test.program, libraries);
    if wrong.is_empty() { Ok(test) } else { Err(wrong) }
}

fn methods(body: &mut [Stmt], program: &Program, libraries: &Libraries) {
    for stmt in body {
        match &mut stmt.kind {
            StmtKind::If { then, otherwise, .. } => {
                methods(then, program, libraries);
                methods(otherwise, program, libraries);
            }
            StmtKind::Loop(body) => methods(body, program, libraries),
            StmtKind::Call(call) => {
                if let Some(resolved) = libraries.resolve(program, call) {
                    call.method.clone_from(&resolved.method.name);
                }
            }
            _ => {}
        }
    }
}

/// Gives objects without a list of threads those that call them, if their library asks who takes part.
fn participants(program: &mut Program, libraries: &Libraries) -> Vec<Diagnostic> {
    let mut wrong = Vec::new();
    for index in 0..program.objects.len() {
        let object = &program.objects[index];
        let Some((_, library)) = libraries.of_class(&object.class) else { continue };
        let asks = library.attributes();
        let is_open = object.threads.is_empty() && object.writer.is_none();
        if !is_open || !(asks.contains("threads") || asks.contains("writer")) {
            continue;
        }
        let (mut writers, mut others) = (Vec::new(), Vec::new());
        each_call(program, &mut |thread, call, _| {
            if call.object.as_ref() == Some(&object.name) {
                let of =
                    if is_of_writer(library, &call.method) { &mut writers } else { &mut others };
                of.push(thread);
            }
        });
        writers.dedup();
        others.dedup();
        if library.methods.iter().any(|method| is_of_writer(library, &method.name)) {
            wrong.extend(one_writer(program, index, &writers, &others));
            program.objects[index].writer = writers.first().copied();
        }
        program.objects[index].threads = others;
    }
    wrong
}

/// Whether only the writer of an object may call a method.
fn is_of_writer(library: &Library, method: &str) -> bool {
    let callers = library.method(method).and_then(|(_, method)| method.callers.as_ref());
    matches!(callers, Some(Expr::Place(place)) if place.object.is_some() && place.name == "writer")
}

fn one_writer(
    program: &Program,
    index: usize,
    writers: &[ThreadId],
    others: &[ThreadId],
) -> Option<Diagnostic> {
    let object = &program.objects[index];
    let (class, name) = (object.class.to_lowercase(), &object.name);
    let message = match writers {
        [] => format!("no thread writes the {class} `{name}`"),
        [one] if others.contains(one) => {
            format!("thread {} both writes and reads this {class}", one.number())
        }
        [_] => return None,
        [one, other, ..] => {
            format!("threads {} and {} both write `{name}`", one.number(), other.number())
        }
    };
    let error = Diagnostic::error(Code::NotAParticipant, object.span, message);
    let help =
        format!("a {class} has one writer, and others read it: `{} x 1 -> {{2}}`", object.class);
    Some(error.help(help))
}
