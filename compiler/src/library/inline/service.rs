//! Threads that implementations have of their own.
//!
//! Each object has one on each node. It does its rounds until all threads of the program have ended, which
//! it learns from words on its node, one for each thread: a thread's last statements put them to all nodes,
//! its own too. They are read before a round, which is the last if all are set. So that round sees whatever
//! the threads put to the node before they ended.

use std::collections::HashMap;

use lang::library::{ParameterKind, Service};
use lang::program::{
    Expr, Location, LocationId, NodeId, Origin, PutSource, Stmt, StmtKind, Thread, ThreadId,
};
use lang::source::Span;

use super::{Inliner, Refused, Site};
use crate::library::{Bound, Environment};

/// A thread that was added.
pub(super) struct Serving<'l> {
    thread: ThreadId,
    /// The number of the library.
    number: usize,
    /// The object, by its index in the program.
    object: usize,
    service: &'l Service,
}

impl<'l> Inliner<'l> {
    /// Adds the threads of the libraries that calls are replaced of; the words that end them too, if there
    /// were none.
    pub(super) fn add_services(&mut self, used: &[usize]) {
        let libraries = self.libraries;
        for object in 0..self.test.program.objects.len() {
            let class = self.test.program.objects[object].class.clone();
            let Some((number, library)) = libraries.of_class(&class) else { continue };
            let is_known = self.laid_out.contains(&(number, Some(object)));
            if is_known || !self.targets.contains(&number) || !used.contains(&number) {
                continue;
            }
            let services = library.implementation.iter().flat_map(|all| &all.services);
            let kind = ParameterKind::Object(class);
            for service in services.filter(|service| service.parameter.kind == kind) {
                for node in 1..=self.test.program.nodes {
                    self.end_services();
                    let program = &mut self.test.program;
                    let thread = ThreadId(program.threads.len());
                    program.threads.push(Thread { node: NodeId(node), body: Vec::new() });
                    program.services += 1;
                    self.serving.push(Serving { thread, number, object, service });
                }
            }
        }
    }

    /// Lets the program's threads tell all nodes when they have ended.
    fn end_services(&mut self) {
        let program = &mut self.test.program;
        if program.services > 0 {
            return;
        }
        for thread in 0..program.threads.len() {
            for node in (1..=program.nodes).map(NodeId) {
                let location = LocationId(program.locations.len());
                program.locations.push(Location {
                    name: ended(node, thread),
                    node,
                    initial: 0,
                    origin: Origin::Unnamed,
                    span: Span::default(),
                });
                let kind = StmtKind::Put {
                    target: location,
                    source: PutSource::Value(Expr::Constant(1)),
                    id: None,
                    queue_pair: 0,
                    inline: false,
                };
                program.threads[thread].body.push(plain(kind));
            }
        }
    }

    /// What the added threads do. Errors are at the object.
    pub(super) fn serve(&mut self) {
        for Serving { thread, number, object, service } in std::mem::take(&mut self.serving) {
            let place = self.test.program.objects[object].span;
            match self.rounds((thread, number), object, service) {
                Ok(body) => self.test.program.threads[thread.0].body = body,
                Err(reason) => {
                    let error = self.cannot(place, reason);
                    self.errors.push(error);
                }
            }
        }
    }

    fn rounds(
        &mut self,
        (thread, number): (ThreadId, usize),
        object: usize,
        service: &'l Service,
    ) -> Result<Vec<Stmt>, Refused> {
        let known = self.test.program.registers.len();
        let node = self.test.program.threads[thread.0].node;
        let is_last = self.register(thread);
        let value = Expr::Constant(1);
        let mut round = vec![plain(StmtKind::Assign { register: is_last, value })];
        for other in (0..self.test.program.own_threads()).rev() {
            let register = self.register(thread);
            let location = self.locations.get(&ended(node, other)).copied();
            let location = location.ok_or("expected a word that ends a service, found none")?;
            let then = std::mem::take(&mut round);
            let condition = Expr::Register(register);
            round = vec![
                plain(StmtKind::Read { register, location }),
                plain(StmtKind::If { condition, then, otherwise: Vec::new() }),
            ];
        }
        let name = self.test.program.objects[object].name.clone();
        let names = [(service.parameter.name.clone(), Bound::Object(object))];
        let mut site = Site {
            thread,
            span: Span::default(),
            number,
            library: &self.libraries.all[number],
            environment: Environment { thread, names: HashMap::from(names) },
            variables: HashMap::new(),
            result: self.register(thread),
            object: name,
            method: "service".to_owned(),
        };
        self.statements(&mut site, &service.statements, &mut round)?;
        let condition = Expr::Register(is_last);
        let then = vec![plain(StmtKind::Break)];
        round.push(plain(StmtKind::If { condition, then, otherwise: Vec::new() }));
        self.forget(known, thread, Span::default(), &mut round);
        Ok(vec![plain(StmtKind::Loop(round))])
    }
}

/// The word on a node that says whether a thread has ended.
fn ended(node: NodeId, thread: usize) -> String {
    format!("ended@{}[{}]", node.0, thread + 1)
}

/// A statement that is at no place of a program's text.
fn plain(kind: StmtKind) -> Stmt {
    Stmt { kind, unsignaled: false, span: Span::default() }
}
