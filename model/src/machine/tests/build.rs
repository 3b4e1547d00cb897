//! Tests built in Rust.

use std::collections::BTreeSet;

use lang::outcome::{Observable, Observed, Outcome, Value};
use lang::program::{
    Expr, Location, LocationId, NodeId, Origin, Program, PutSource, Register, RegisterId, Stmt,
    StmtKind, Thread, ThreadId, WorkId,
};
use lang::source::Span;
use lang::{Dialect, Test};

use crate::machine::{
    Effort, Exploration, Fault, FaultSet, Limits, Variant, explore, explore_with,
};

/// A program under construction. Locations and registers are named by single letters; a thread's statements are
/// made by the functions below.
pub struct Build {
    pub program: Program,
}

impl Build {
    /// Locations as `name@node=initial`, separated by blanks.
    pub fn new(locations: &str) -> Self {
        let mut program = Program { nodes: 4, ..Program::default() };
        for text in locations.split_whitespace() {
            let (name, rest) = text.split_once('@').unwrap();
            let (node, initial) = rest.split_once('=').unwrap_or((rest, "0"));
            program.locations.push(Location {
                name: name.to_owned(),
                node: NodeId(node.parse().unwrap()),
                initial: initial.parse().unwrap(),
                origin: Origin::Declared,
                span: Span::default(),
            });
        }
        program.work_ids = vec!["d".to_owned(), "e".to_owned(), "f".to_owned()];
        Self { program }
    }

    /// One more thread; statements in a small notation, separated by semicolons (see [`Build::statement`]).
    pub fn thread(mut self, node: u32, text: &str) -> Self {
        let thread = ThreadId(self.program.threads.len());
        let body = text.split(';').map(str::trim).filter(|text| !text.is_empty());
        let mut position = 0;
        let body = body
            .map(|text| {
                position += 1;
                let span = Span::new(10 * thread.0 + position, 10 * thread.0 + position + 1);
                Stmt { kind: self.statement(thread, text), span }
            })
            .collect();
        self.program.threads.push(Thread { node: NodeId(node), body });
        self
    }

    /// `x = 1`, `a = x`, `put x y d`, `put x 1`, `get y x`, `rcas z x 0 1`, `rfaa z x 1`, `cas a x 0 1`,
    /// `faa a x 1`, `poll 2`, `wait d`, `rfence 2`, `mfence`, `assume a 1`, `until a x 1` (spin).
    fn statement(&mut self, thread: ThreadId, text: &str) -> StmtKind {
        let words: Vec<&str> = text.split_whitespace().collect();
        let location = |name: &str| {
            let position = self.program.locations.iter().position(|known| known.name == name);
            position.map(LocationId)
        };
        let value = |word: &str| Expr::Constant(word.parse().unwrap());
        let id = |word: Option<&&str>| {
            word.map(|word| WorkId(self.program.work_ids.iter().position(|id| id == word).unwrap()))
        };
        let node = |word: &str| NodeId(word.parse().unwrap());
        match words.as_slice() {
            ["mfence"] => StmtKind::Fence,
            ["poll", number] => StmtKind::Poll(node(number)),
            ["rfence", number] => StmtKind::RemoteFence(node(number)),
            ["wait", name] => StmtKind::Wait(id(Some(name)).unwrap()),
            ["put", target, source, rest @ ..] => StmtKind::Put {
                target: location(target).unwrap(),
                source: match location(source) {
                    Some(source) => PutSource::Location(source),
                    None => PutSource::Value(value(source)),
                },
                id: id(rest.first()),
            },
            ["get", target, source, rest @ ..] => StmtKind::Get {
                target: location(target).unwrap(),
                source: location(source).unwrap(),
                id: id(rest.first()),
            },
            ["rcas", result, target, expected, desired, rest @ ..] => StmtKind::Rcas {
                result: location(result).unwrap(),
                target: location(target).unwrap(),
                expected: value(expected),
                desired: value(desired),
                id: id(rest.first()),
            },
            ["rfaa", result, target, addend, rest @ ..] => StmtKind::Rfaa {
                result: location(result).unwrap(),
                target: location(target).unwrap(),
                addend: value(addend),
                id: id(rest.first()),
            },
            ["cas", register, target, expected, desired] => StmtKind::Cas {
                location: location(target).unwrap(),
                expected: value(expected),
                desired: value(desired),
                register: Some(self.register(thread, register)),
            },
            ["faa", register, target, addend] => StmtKind::Faa {
                location: location(target).unwrap(),
                addend: value(addend),
                register: Some(self.register(thread, register)),
            },
            ["assume", register, number] => {
                let number = value(number);
                StmtKind::Assume(equal(self.register(thread, register), number))
            }
            ["until", register, source, number] => {
                let (source, number) = (location(source).unwrap(), value(number));
                spin(self.register(thread, register), source, number)
            }
            [target, "=", source] => match (location(target), location(source)) {
                (Some(location), _) => StmtKind::Write { location, value: value(source) },
                (None, Some(location)) => {
                    StmtKind::Read { register: self.register(thread, target), location }
                }
                (None, None) => panic!("{text}"),
            },
            _ => panic!("{text}"),
        }
    }

    fn register(&mut self, thread: ThreadId, name: &str) -> RegisterId {
        let registers = &mut self.program.registers;
        let known = |register: &Register| register.name.as_deref() == Some(name);
        let position = registers.iter().position(known).unwrap_or_else(|| {
            registers.push(Register { name: Some(name.to_owned()), thread });
            registers.len() - 1
        });
        RegisterId(position)
    }

    /// The test that observes these registers and locations.
    pub fn observe(self, names: &str) -> Test {
        let program = self.program;
        let observables: Vec<Observable> = names
            .split_whitespace()
            .map(|name| {
                let register = |known: &Register| known.name.as_deref() == Some(name);
                let location = |known: &Location| known.name == name;
                let what = match program.registers.iter().position(register) {
                    Some(index) => Observed::Register(RegisterId(index)),
                    None => Observed::Location(LocationId(
                        program.locations.iter().position(location).unwrap(),
                    )),
                };
                Observable { name: name.to_owned(), what }
            })
            .collect();
        test(program, observables)
    }
}

fn equal(register: RegisterId, value: Expr) -> Expr {
    Expr::Binary(
        lang::program::BinaryOp::Equal,
        Box::new(Expr::Register(register)),
        Box::new(value),
    )
}

/// `loop { a := x; if a = v { break } }`
fn spin(register: RegisterId, location: LocationId, value: Expr) -> StmtKind {
    let statement = |kind| Stmt { kind, span: Span::default() };
    StmtKind::Loop(vec![
        statement(StmtKind::Read { register, location }),
        statement(StmtKind::If {
            condition: equal(register, value),
            then: vec![statement(StmtKind::Break)],
            otherwise: Vec::new(),
        }),
    ])
}

pub fn test(program: Program, observables: Vec<Observable>) -> Test {
    Test {
        name: "t".to_owned(),
        title: None,
        source: None,
        models: Vec::new(),
        tags: Vec::new(),
        loop_bound: None,
        dialect: Dialect::Rdma,
        program,
        shown: observables.len(),
        observables,
        expectations: Vec::new(),
    }
}

/// An outcome of numbers.
pub fn outcome(values: &[u64]) -> Outcome {
    Outcome(values.iter().map(|value| Value::Int(*value)).collect())
}

/// All outcomes, which must be complete.
pub fn outcomes(test: &Test, variant: Variant) -> BTreeSet<Outcome> {
    complete(explore(test, variant, Limits::default()).unwrap())
}

/// All outcomes of a broken machine.
pub fn faulty(test: &Test, variant: Variant, fault: Fault) -> BTreeSet<Outcome> {
    let faults = FaultSet::NONE.with(fault);
    complete(explore_with(test, variant, faults, Effort::Full, Limits::default()).unwrap())
}

pub fn complete(found: Exploration) -> BTreeSet<Outcome> {
    assert!(found.complete, "{:?}", found.reason);
    found.outcomes
}
