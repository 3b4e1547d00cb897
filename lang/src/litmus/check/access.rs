//! Which location an access means, and whether it may be accessed so.

use crate::diagnostic::{Code, Diagnostic};
use crate::program::{LocationId, NodeId, RegisterId};
use crate::source::Span;

use super::super::ast::{Access, Home, Target};
use super::Meaning;
use super::lower::Lowerer;

impl Lowerer<'_, '_> {
    /// The location of the own node that an operation of the NIC writes.
    pub fn result(&mut self, target: &Target, code: Code) -> Option<LocationId> {
        let access = match target {
            Target::Nobody(place) => {
                return Some(self.checker.unnamed_location(self.node, place.span));
            }
            Target::Access(access) => access,
        };
        let name = &access.name.text;
        match self.checker.meaning(&access.name)? {
            Meaning::Location(location) => {
                let home = self.checker.location(location).node;
                if access.home.is_own() && home == self.node {
                    return Some(location);
                }
                let message = format!(
                    "expected a location of node {}, found `{name}` of node {}",
                    self.node.0, home.0
                );
                let help = "the NIC writes the result into the memory of the thread's own node";
                self.fail(code, access.place, message, help)
            }
            _ => {
                let message = format!("expected a location for the result, found `{name}`");
                self.fail(Code::NotALocation, access.place, message, "")
            }
        }
    }

    /// A location accessed through the NIC, `x^2` or `~x`.
    pub fn remote(&mut self, access: &Access) -> Option<LocationId> {
        let Meaning::Location(location) = self.checker.meaning(&access.name)? else {
            let message = format!("expected a location, found `{}`", access.name.text);
            let help = "only locations are accessed through the NIC";
            return self.fail(Code::NotALocation, access.place, message, help);
        };
        self.remote_home(access, location)
    }

    /// The same, if it is known which location that is.
    pub fn remote_home(&mut self, access: &Access, location: LocationId) -> Option<LocationId> {
        let home = self.checker.location(location).node;
        let name = &access.name.text;
        match access.home {
            Home::Own => {
                let message = format!("expected a remote location, found `{name}`");
                let error = Diagnostic::error(Code::MissingNodeMark, access.place.span, message);
                let marked = format!("{name}^{}", home.0);
                let error = error.help(format!("write `{marked}`"));
                self.checker.sink.push(error.replace(access.name.place.span, marked));
                None
            }
            Home::Inferred => Some(location),
            Home::Node(number) => {
                let node = self.checker.node(number)?;
                if node != home {
                    return self.wrong_home(access, home, self.checker.location(location).span);
                }
                Some(location)
            }
        }
    }

    /// Reports `x^n` for an x of another node.
    pub fn wrong_home<T>(&mut self, access: &Access, home: NodeId, declared: Span) -> Option<T> {
        let name = &access.name.text;
        let place = if let Home::Node(number) = access.home { number.place } else { access.place };
        let message = format!("`{name}` is on node {}", home.0);
        let error = Diagnostic::error(Code::WrongHomeNode, place.span, message);
        let error = error.related(declared, format!("`{name}` is declared here"));
        let error = error.help(format!("write `{name}^{}`", home.0));
        self.checker.sink.push(match access.home {
            Home::Node(number) => {
                let span = Span::new(access.name.place.span.end, number.place.span.end);
                error.fixed(format!("write `{name}^{}`", home.0), span, format!("^{}", home.0))
            }
            Home::Own | Home::Inferred => error,
        });
        None
    }

    /// A register of this thread.
    pub fn own_register(&mut self, access: &Access, register: RegisterId) -> Option<RegisterId> {
        let owner = self.checker.program.registers[register.0].thread;
        if owner == self.thread || self.checker.clashing.contains(&access.name.text) {
            return Some(register);
        }
        let message = format!("`{}` is a register of thread {}", access.name.text, owner.number());
        let help = "threads share locations only; declare one above the rule";
        self.fail(Code::RegisterOfAnotherThread, access.place, message, help)
    }

    /// A location that the CPU accesses: it must be on the thread's node.
    pub fn own(&mut self, access: &Access, location: LocationId) -> Option<LocationId> {
        self.own_or(access, location, false)
    }

    /// The same, for `x := e`.
    pub fn own_target(&mut self, access: &Access, location: LocationId) -> Option<LocationId> {
        self.own_or(access, location, true)
    }

    fn own_or(
        &mut self,
        access: &Access,
        location: LocationId,
        is_written: bool,
    ) -> Option<LocationId> {
        let home = self.checker.location(location).node;
        if home == self.node {
            return Some(location);
        }
        self.remote_cpu_access(access, home, is_written)
    }

    /// Reports a CPU access to another node.
    pub fn remote_cpu_access<T>(
        &mut self,
        access: &Access,
        home: NodeId,
        is_written: bool,
    ) -> Option<T> {
        let name = &access.name.text;
        let message = format!(
            "expected a location of node {}, found `{name}` of node {}",
            self.node.0, home.0
        );
        let marked = format!("{name}^{}", home.0);
        let help = format!("a CPU reaches its own node only; through the NIC it is `{marked}`");
        let error = Diagnostic::error(Code::RemoteCpuAccess, access.place.span, message).help(help);
        // A put takes what a write does. A get needs a location for its result, which a read does not name.
        self.checker.sink.push(match (access.home, is_written) {
            (Home::Own, true) => error.replace(access.name.place.span, marked),
            _ => error,
        });
        None
    }
}
