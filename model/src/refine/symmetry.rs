//! What clients are the same up to.
//!
//! Of the node that a request goes to, models know whether other requests go there too, and which of them are
//! of the same thread, on one queue pair. Of the node of the thread that makes it they know nothing, but for
//! `loopback`; nor does the machine. So if all that calls do goes to the nodes of their objects, and no body
//! computes with numbers of nodes and threads, the node of a thread shows in nothing but in which plain
//! locations its CPU reaches, and that, the statements say.

use std::collections::BTreeSet;

use compiler::library::Libraries;
use lang::cat::model::{Base, Model};
use lang::library::{Library, STATEMENTS};

use super::Refinement;
use crate::library::mentions;

/// What clients are the same up to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Symmetry {
    /// The order of threads, and the names of nodes, locations and values.
    #[default]
    Names,
    /// Also the nodes of threads, and of locations that only CPUs access.
    Places,
}

impl Refinement {
    /// What clients of the library are the same up to: they have the same outcomes, by the specification and
    /// by the implementation, and are stuck in the same states.
    pub fn symmetry(&self) -> Symmetry {
        let sees_threads = |model: &Model| mentions(model, &[Base::Loopback]);
        let used = used(self.library(), &self.libraries);
        let consistencies = used.iter().filter_map(|library| library.consistency.as_ref());
        let is_blind = !consistencies.chain([&self.model, &self.lower]).any(sees_threads);
        // Histories are of threads that read each other's clocks.
        let is_sequential = used.iter().any(|library| library.sequential.is_some());
        let goes_home = used.iter().all(|library| library.goes_home_only());
        // Bodies that call statements mean these, if no library has such methods without an object. A base
        // library has the statements of models for methods.
        let has_statement = |library: &Library| {
            let mut methods = STATEMENTS.iter().filter_map(|name| library.method(name));
            library.base.is_none() && methods.any(|(_, method)| !method.has_object())
        };
        let has_own = self.libraries.all.iter().any(|library| has_statement(library));
        match is_blind && !is_sequential && goes_home && !has_own {
            true => Symmetry::Places,
            false => Symmetry::Names,
        }
    }
}

/// A library, those whose objects its implementation has, and so on.
fn used<'a>(library: &'a Library, libraries: &'a Libraries) -> Vec<&'a Library> {
    let mut found = vec![library];
    let mut known = BTreeSet::from([library.name.as_str()]);
    let mut next = 0;
    while let Some(library) = found.get(next).copied() {
        next += 1;
        let memory = library.implementation.iter().flat_map(|of_it| &of_it.memory);
        let classes: Vec<&String> = memory.filter_map(|memory| memory.object.as_ref()).collect();
        for other in libraries.all.iter() {
            let is_used = other.classes.iter().any(|class| classes.contains(&class));
            if is_used && known.insert(&other.name) {
                found.push(other);
            }
        }
    }
    found
}
