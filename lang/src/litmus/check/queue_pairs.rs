//! Which queue pair an access or poll names.

use crate::Dialect;
use crate::diagnostic::{Code, Diagnostic};
use crate::program::QUEUE_PAIRS;

use super::super::ast::{Access, Home, PairNumber};
use super::super::parse::uses::uses;
use super::lower::Lowerer;
use super::{Checker, Meaning};

impl Checker<'_> {
    /// The index of a queue pair, which is 0 if none is named.
    pub fn queue_pair(&mut self, number: Option<PairNumber>) -> Option<u32> {
        let Some(number) = number else { return Some(0) };
        let known = number.index();
        if known.is_none() {
            let last = QUEUE_PAIRS - 1;
            let found = match number.value {
                u64::MAX => "a larger one".to_owned(),
                _ => number.to_string(),
            };
            let (first, last, who) = match number.is_shared {
                true => ("s0", format!("s{last}"), "the threads of a node share"),
                false => ("0", last.to_string(), "a thread has"),
            };
            let message = format!("expected a queue pair from {first} to {last}, found {found}");
            let help = format!("{who} at most {QUEUE_PAIRS} queue pairs to a node");
            self.error(Code::NoSuchQueuePair, number.place, message, help);
        }
        known
    }
}

impl Lowerer<'_, '_> {
    /// The number of the queue pair of an access through the NIC.
    pub fn queue_pair(&mut self, access: &Access) -> Option<u32> {
        self.checker.queue_pair(access.queue_pair)
    }
}

/// Reports queue pairs that are named where there is none to choose.
pub fn unexpected(checker: &mut Checker<'_>) {
    let file = checker.file;
    for one in uses(file) {
        let Some(number) = one.queue_pair else { continue };
        let name = &one.name.text;
        let (message, help) = match (file.dialect(), checker.meanings.get(name), one.home) {
            (Dialect::CoreRma, ..) => (
                format!("expected an access, found `{name}` with a queue pair"),
                "coreRMA knows of no queue pairs; leave it out".to_owned(),
            ),
            (_, Some(Meaning::Object(_)), _) => (
                format!("expected an object, found `{name}` with a queue pair"),
                "calls of libraries use the queue pairs 0; leave it out".to_owned(),
            ),
            (_, meaning, Home::Own) => (
                format!("expected an access through the NIC, found `{name}` with a queue pair"),
                match meaning {
                    Some(Meaning::Location(location)) => {
                        let node = checker.location(*location).node.0;
                        format!("through the NIC it is `{name}^{node}/{number}`")
                    }
                    _ => "only accesses through the NIC use queue pairs; leave it out".to_owned(),
                },
            ),
            _ => continue,
        };
        let error = Diagnostic::error(Code::UnexpectedQueuePair, number.place.span, message);
        checker.sink.push(error.help(help));
    }
}
