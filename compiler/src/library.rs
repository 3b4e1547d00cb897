//! Programs that use libraries: which library defines each call, where objects have their memory, and what
//! the names in a library's text stand for.
//!
//! [`Prepared`] is a test with its objects' memory added to its locations; `skeleton` translates it to
//! events. [`inline()`] replaces calls by their implementations.

mod bind;
mod bound;
mod inline;
mod layout;
pub mod misuse;

use std::sync::Arc;

use lang::library::notation::WORDS;
use lang::library::{Collection, Library, Method, ParameterKind, Words};
use lang::program::{Call, Program, StmtKind};

pub use bind::{Bound, Environment, pack};
pub use bound::bound;
pub use inline::{Depth, inline, wrong_bodies};
pub use layout::{Prepared, observe, prepare};

/// The libraries that programs may use. If two define the same class, the later one applies.
#[derive(Clone, Debug, Default)]
pub struct Libraries {
    /// The libraries in order. The number of a library is its index.
    pub all: Collection,
}

/// A method of a library.
#[derive(Clone, Copy, Debug)]
pub struct Resolved<'a> {
    /// The number of the library.
    pub number: usize,
    /// The library.
    pub library: &'a Library,
    /// The index of the method in the library.
    pub method_number: usize,
    /// The method.
    pub method: &'a Method,
}

impl Libraries {
    /// The words that they give to programs.
    pub fn words(&self) -> Words<'_> {
        Words::of(&self.all)
    }

    /// The library that defines a class, with its number; [`WORDS`] is that of locations of several words.
    pub fn of_class(&self, class: &str) -> Option<(usize, &Library)> {
        let all = self.all.iter().enumerate().rev();
        let mut defining = all.filter(|(_, library)| match class {
            WORDS => library.words.is_some(),
            class => library.classes.iter().any(|known| known == class),
        });
        defining.next().map(|(number, library)| (number, library.as_ref()))
    }

    /// The method that a call refers to.
    pub fn resolve(&self, program: &Program, call: &Call) -> Option<Resolved<'_>> {
        if let Some(name) = &call.object {
            let object = program.objects.iter().find(|object| object.name == *name)?;
            let (number, library) = self.of_class(&object.class)?;
            let (method_number, method) = library.method(&call.method)?;
            return Some(Resolved { number, library, method_number, method });
        }
        self.all.iter().enumerate().rev().find_map(|(number, library)| {
            let (method_number, method) = library.method(&call.method)?;
            let has_object = method.parameters.iter().any(|parameter| {
                matches!(parameter.kind, ParameterKind::Object(_) | ParameterKind::Location)
            });
            (!has_object).then_some(Resolved { number, library, method_number, method })
        })
    }

    /// The classes on whose objects there is a method, if there are any.
    pub fn having(&self, method: &str) -> Option<String> {
        let has = |library: &&Arc<Library>| library.method(method).is_some();
        let classes = self.all.iter().filter(has).flat_map(|library| library.classes.clone());
        classes.reduce(|all, class| format!("{all} or {class}"))
    }

    /// The numbers of the libraries whose methods a program calls, in increasing order.
    pub fn used(&self, program: &Program) -> Vec<usize> {
        let mut used = Vec::new();
        each_call(program, &mut |_, call, _| {
            used.extend(self.resolve(program, call).map(|resolved| resolved.number));
        });
        used.sort_unstable();
        used.dedup();
        used
    }
}

/// The statement as a library call, if it is one.
pub fn as_call(kind: &StmtKind) -> Option<Call> {
    match kind {
        StmtKind::Call(call) => Some(call.clone()),
        StmtKind::GlobalFence(nodes) => Some(Call {
            method: "GFence".to_owned(),
            object: None,
            source: None,
            register: None,
            arguments: Vec::new(),
            nodes: Some(nodes.clone()),
            id: None,
            at: None,
        }),
        _ => None,
    }
}

/// Visits all library calls of a program, with the calling thread.
pub fn each_call(
    program: &Program,
    visit: &mut impl FnMut(lang::program::ThreadId, &Call, lang::source::Span),
) {
    for (index, thread) in program.threads.iter().enumerate() {
        lang::program::each(&thread.body, &mut |stmt| {
            if let Some(call) = as_call(&stmt.kind) {
                visit(lang::program::ThreadId(index), &call, stmt.span);
            }
        });
    }
}
