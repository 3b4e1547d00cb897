//! Symbolic execution of each thread into events, values and conditions.

mod cas;
mod cpu;
mod crash;
mod messages;
mod rma;
mod words;

use lang::limits;
use std::collections::BTreeMap;

use lang::program::{
    BinaryOp, Connection, Expr, LocationId, NodeId, Owner, Program, PutSource, Receive, RegisterId,
    Stmt, StmtKind, ThreadId, Towards, WorkId,
};
use lang::source::Span;
use rustc_hash::FxHashMap;

use super::{
    Condition, Cut, Event, EventId, Guard, Operation, Origin, Point, Requirement, Skeleton, Stamp,
    Value, ValueId, library::Users, spin,
};
use compiler::calls::call_name;
use compiler::library::{Libraries, Prepared};

/// A statement that cannot be translated: a call that no library defines, or that a library's text does not
/// fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsupported {
    /// The name of the statement.
    pub call: String,
    /// The place of the statement.
    pub span: Span,
    /// The reason, unless the statement is simply not defined.
    pub reason: Option<String>,
}

/// Builds the skeleton of a program, with loops unrolled `loop_bound` times.
///
/// # Errors
/// Fails at the first library call.
pub fn build(program: &Program, loop_bound: u32) -> Result<Skeleton, Unsupported> {
    build_with_switches(program, &[], loop_bound)
}

/// Builds the skeleton of a program in which some registers hold at first what whoever asks chooses: 1 or 0.
/// Each is a switch, by its place in the list.
///
/// # Errors
/// As [`build`].
pub fn build_with_switches(
    program: &Program,
    switches: &[RegisterId],
    loop_bound: u32,
) -> Result<Skeleton, Unsupported> {
    let owners = vec![0; program.locations.len()];
    build_with(program, switches, (&owners, &Libraries::default(), &[]), loop_bound)
}

/// Builds the skeleton of a program that uses libraries.
///
/// # Errors
/// Fails at the first statement that no library defines, or that its library's text does not fit.
pub fn build_prepared(
    prepared: &Prepared,
    libraries: &Libraries,
    loop_bound: u32,
) -> Result<Skeleton, Unsupported> {
    let program = &prepared.test.program;
    build_with(program, &[], (&prepared.owners, libraries, &prepared.used), loop_bound)
}

fn build_with(
    program: &Program,
    switches: &[RegisterId],
    (owners, libraries, used): (&[usize], &Libraries, &[usize]),
    loop_bound: u32,
) -> Result<Skeleton, Unsupported> {
    let mut builder = Builder::new(program, libraries, used, loop_bound);
    builder.switches(switches);
    builder.initial_writes(program, owners);
    for (index, thread) in program.threads.iter().enumerate() {
        builder.thread = ThreadId(index);
        builder.own_node = Some(thread.node);
        builder.live = Guard::TRUE;
        builder.block(&thread.body)?;
        builder.thread_ends();
    }
    builder.program_ends();
    if let Some(crash) = program.crash {
        builder.crash(crash);
    }
    builder.skeleton.registers = builder.registers;
    Ok(builder.skeleton)
}

/// The most times that a loop is unrolled if it certainly continues.
const LONGEST_LOOP: u32 = 64;

/// Values of all registers at a point of a thread.
type Registers = Vec<ValueId>;

pub(super) struct Builder<'a> {
    pub(super) program: &'a Program,
    pub(super) libraries: &'a Libraries,
    pub(super) used: &'a [usize],
    /// How threads use objects of libraries with rules.
    pub(super) users: Users,
    /// The origin of the events of the current statement.
    pub(super) origin: Origin,
    pub(super) skeleton: Skeleton,
    pub(super) value_ids: FxHashMap<Value, ValueId>,
    pub(super) condition_ids: FxHashMap<Condition, usize>,
    pub(super) thread: ThreadId,
    /// The node of the current thread.
    own_node: Option<NodeId>,
    /// The condition that control is at the current point.
    pub(super) live: Guard,
    pub(super) registers: Registers,
    /// For each loop that is being unrolled: the conditions under which control left it, and the registers
    /// there.
    exits: Vec<Vec<(Guard, Registers)>>,
    pub(super) choices: usize,
    operations: usize,
    /// The receives of each queue pair.
    receives: BTreeMap<Connection, Vec<Receive>>,
    /// How many receives of a queue pair are posted before the current point of the thread that posts them.
    posted: BTreeMap<Connection, usize>,
    /// How many messages on a queue pair come before the current point of the thread that sends them.
    consumed: BTreeMap<Connection, messages::Used>,
    /// How many polls of a queue pair's receives come before the current point of the thread that polls them.
    polled: BTreeMap<Connection, messages::Used>,
}

/// What the events of one operation have in common.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    pub(super) operation: usize,
    pub(super) word: usize,
    pub(super) node: Option<NodeId>,
    pub(super) queue_pair: u32,
    pub(super) id: Option<WorkId>,
    pub(super) span: Span,
}

impl<'a> Builder<'a> {
    fn new(
        program: &'a Program,
        libraries: &'a Libraries,
        used: &'a [usize],
        loop_bound: u32,
    ) -> Self {
        let mut builder = Self {
            program,
            libraries,
            used,
            users: Users::default(),
            origin: Origin::BASE,
            skeleton: Skeleton { loop_bound, ..Skeleton::default() },
            value_ids: FxHashMap::default(),
            condition_ids: FxHashMap::default(),
            thread: ThreadId(0),
            own_node: None,
            live: Guard::TRUE,
            registers: Vec::new(),
            exits: Vec::new(),
            choices: 0,
            operations: 0,
            receives: program.receives(),
            posted: BTreeMap::new(),
            consumed: BTreeMap::new(),
            polled: BTreeMap::new(),
        };
        builder.condition(Condition::True);
        let zero = builder.constant(0);
        builder.registers = vec![zero; program.registers.len()];
        builder
    }

    fn switches(&mut self, switches: &[RegisterId]) {
        let (off, on) = (self.constant(0), self.constant(1));
        for (number, register) in switches.iter().enumerate() {
            let switch = self.condition(Condition::Switch(number));
            self.registers[register.0] = self.select(switch, on, off);
        }
    }

    fn initial_writes(&mut self, program: &Program, owners: &[usize]) {
        for (index, location) in program.locations.iter().enumerate() {
            let written = Some(self.constant(location.initial));
            let operation = self.next_operation();
            let origin = Origin {
                libraries: 1 << owners.get(index).copied().unwrap_or(0).min(31),
                ..Origin::BASE
            };
            let plain = of_no_thread(Stamp::Init, LocationId(index), operation, location.span);
            self.skeleton.events.push(Event { written, origin, ..plain });
        }
    }

    fn next_operation(&mut self) -> usize {
        self.operations += 1;
        self.operations - 1
    }

    // Control.

    fn block(&mut self, body: &[Stmt]) -> Result<(), Unsupported> {
        for stmt in body {
            // Code that no execution reaches has no events.
            if self.live == Guard::FALSE {
                break;
            }
            limits::look();
            self.statement(stmt)?;
        }
        Ok(())
    }

    fn branch(&mut self, condition: &Expr, bodies: [&[Stmt]; 2]) -> Result<(), Unsupported> {
        let value = self.expression(condition);
        let taken = self.non_zero(value);
        let (live, before) = (self.live, self.registers.clone());
        self.live = self.and(live, taken);
        self.block(bodies[0])?;
        let (then_live, then_registers) =
            (self.live, std::mem::replace(&mut self.registers, before));
        self.live = self.and(live, !taken);
        self.block(bodies[1])?;
        let registers = std::mem::take(&mut self.registers);
        self.registers = self.merge(then_live, &then_registers, &registers);
        self.live = self.or(then_live, self.live);
        Ok(())
    }

    fn merge(&mut self, guard: Guard, then: &Registers, otherwise: &Registers) -> Registers {
        then.iter().zip(otherwise).map(|(a, b)| self.select(guard, *a, *b)).collect()
    }

    fn unroll(&mut self, body: &[Stmt]) -> Result<(), Unsupported> {
        self.exits.push(Vec::new());
        let forgets = spin::forgets(body);
        let entered = self.live;
        for round in 0..LONGEST_LOOP.max(self.skeleton.loop_bound) {
            // If a loop continues whatever is chosen, it cannot be left by the bound.
            if round >= self.skeleton.loop_bound && self.live != entered {
                break;
            }
            let first = self.skeleton.events.len();
            self.block(body)?;
            if forgets && spin::is_idle(&self.skeleton, first, self.live) {
                // Executions that continue the loop show nothing that the others do not show.
                self.require(self.live, Guard::FALSE);
                self.live = Guard::FALSE;
            }
        }
        if self.live != Guard::FALSE {
            let cut = Cut { guard: self.live, point: self.point() };
            self.skeleton.exceeded.push(cut);
        }
        self.live = Guard::FALSE;
        for (guard, registers) in self.exits.pop().unwrap_or_default() {
            let current = std::mem::take(&mut self.registers);
            self.registers = self.merge(guard, &registers, &current);
            self.live = self.or(self.live, guard);
        }
        Ok(())
    }

    /// The current point of the current thread.
    pub(super) fn point(&self) -> Point {
        Point { thread: Some(self.thread), events: self.skeleton.events.len() }
    }

    pub(super) fn require(&mut self, when: Guard, then: Guard) {
        if when != Guard::FALSE && then != Guard::TRUE {
            let point = self.point();
            self.skeleton.requirements.push(Requirement { when, then, point });
        }
    }

    // Statements.

    fn statement(&mut self, stmt: &Stmt) -> Result<(), Unsupported> {
        self.origin = self.base_origin(call_name(&stmt.kind));
        match &stmt.kind {
            StmtKind::Assign { register, value } => {
                self.registers[register.0] = self.expression(value);
            }
            StmtKind::If { condition, then, otherwise } => {
                self.branch(condition, [then, otherwise])?;
            }
            StmtKind::Loop(body) => self.unroll(body)?,
            StmtKind::Break => {
                let exit = (self.live, self.registers.clone());
                if let Some(exits) = self.exits.last_mut() {
                    exits.push(exit);
                }
                self.live = Guard::FALSE;
            }
            StmtKind::Assume(condition) => {
                let value = self.expression(condition);
                let holds = self.non_zero(value);
                self.require(self.live, holds);
            }
            StmtKind::Rma(rma) => self.rma(rma, stmt.span),
            StmtKind::GlobalFence(_) | StmtKind::Call(_) => {
                return self.library_call(stmt);
            }
            StmtKind::OutOfRange { array, words } => self.out_of_range(array, *words, stmt.span),
            StmtKind::Words(words) => self.words(words, stmt),
            StmtKind::Put { .. }
            | StmtKind::Get { .. }
            | StmtKind::Rcas { .. }
            | StmtKind::Rfaa { .. }
            | StmtKind::AtomicWrite { .. }
            | StmtKind::Flush { .. } => self.nic_operation(stmt),
            StmtKind::Message { .. } => self.message(stmt),
            StmtKind::Receive { from, .. } => self.receive(stmt, *from),
            StmtKind::PollReceive { from, register } => self.poll_receive(stmt, *from, *register),
            StmtKind::Read { .. }
            | StmtKind::Write { .. }
            | StmtKind::Cas { .. }
            | StmtKind::Faa { .. }
            | StmtKind::Exchange { .. }
            | StmtKind::Fence
            | StmtKind::Poll(_)
            | StmtKind::Wait(_)
            | StmtKind::RemoteFence(_) => self.cpu_operation(stmt),
        }
        Ok(())
    }

    pub(super) fn shape(&mut self, span: Span, node: Option<NodeId>, id: Option<WorkId>) -> Shape {
        Shape { operation: self.next_operation(), word: 0, node, queue_pair: 0, id, span }
    }

    fn shape_on(&mut self, span: Span, towards: Towards, id: Option<WorkId>) -> Shape {
        let Towards { node, queue_pair } = towards;
        Shape { queue_pair, ..self.shape(span, Some(node), id) }
    }

    /// What the events of a request have in common. If threads share its queue pair, its place among their
    /// requests is an event of its own.
    fn request(&mut self, span: Span, towards: Towards, id: Option<WorkId>) -> Shape {
        let shape = self.shape_on(span, towards, id);
        if towards.is_shared() {
            self.event(shape, Stamp::Posted, self.live, None, None);
        }
        shape
    }

    /// Whose a queue pair of the current thread is.
    pub(super) fn owner(&self, towards: Towards) -> Owner {
        self.program.owner(self.thread, towards)
    }

    pub(super) fn event(
        &mut self,
        shape: Shape,
        stamp: Stamp,
        guard: Guard,
        location: Option<LocationId>,
        written: Option<ValueId>,
    ) -> EventId {
        limits::look();
        let id = EventId(self.skeleton.events.len());
        let read = stamp.reads().then(|| self.value(Value::Read(id)));
        let towards = shape.node.map(|node| Towards { node, queue_pair: shape.queue_pair });
        self.skeleton.events.push(Event {
            stamp,
            thread: Some(self.thread),
            location,
            written,
            read,
            node: shape.node,
            queue_pair: shape.queue_pair,
            owner: towards.map(|towards| self.owner(towards)),
            polls: Vec::new(),
            operation: shape.operation,
            word: shape.word,
            id: shape.id,
            receive: None,
            atomic: true,
            loopback: shape.node.is_some() && shape.node == self.own_node,
            guard,
            origin: self.origin,
            span: shape.span,
        });
        id
    }

    fn read(&mut self, shape: Shape, stamp: Stamp, guard: Guard, at: LocationId) -> ValueId {
        let event = self.event(shape, stamp, guard, Some(at), None);
        self.value(Value::Read(event))
    }

    fn nic_operation(&mut self, stmt: &Stmt) {
        let live = self.live;
        let Some(towards) = self.program.towards(&stmt.kind) else { return };
        let completion = match &stmt.kind {
            StmtKind::Flush { is_persistent, id, .. } => {
                let shape = self.request(stmt.span, towards, *id);
                let stamp = if *is_persistent { Stamp::NicPersist } else { Stamp::NicFlush };
                self.event(shape, stamp, live, None, None)
            }
            StmtKind::Put { target, source, id, .. } => {
                let (location, known) = match source {
                    PutSource::Location(location) => (Some(*location), None),
                    PutSource::Value(value) => (None, Some(self.expression(value))),
                };
                let shape = self.request(stmt.span, towards, *id);
                let value = self.source_read(shape, location, known);
                self.event(shape, Stamp::NicRemoteWrite, live, Some(*target), Some(value))
            }
            StmtKind::AtomicWrite { target, value, id, .. } => {
                let known = self.expression(value);
                let shape = self.request(stmt.span, towards, *id);
                let value = self.source_read(shape, None, Some(known));
                self.event(shape, Stamp::NicAtomicWrite, live, Some(*target), Some(value))
            }
            StmtKind::Get { target, source, id, .. } => {
                let shape = self.request(stmt.span, towards, *id);
                let value = self.read(shape, Stamp::NicRemoteRead, live, *source);
                self.event(shape, Stamp::NicLocalWrite, live, Some(*target), Some(value))
            }
            StmtKind::Rcas { result, target, expected, desired, id, .. } => {
                let expected = self.expression(expected);
                let desired = self.expression(desired);
                let shape = self.request(stmt.span, towards, *id);
                let old = self.read(shape, Stamp::NicAtomicRead, live, *target);
                let equal = self.equal(old, expected);
                let succeeds = self.and(live, equal);
                self.event(shape, Stamp::NicRemoteWrite, succeeds, Some(*target), Some(desired));
                self.event(shape, Stamp::NicLocalWrite, live, Some(*result), Some(old))
            }
            StmtKind::Rfaa { result, target, addend, id, .. } => {
                let addend = self.expression(addend);
                let shape = self.request(stmt.span, towards, *id);
                let old = self.read(shape, Stamp::NicAtomicRead, live, *target);
                let new = self.binary(BinaryOp::Add, old, addend);
                self.event(shape, Stamp::NicRemoteWrite, live, Some(*target), Some(new));
                self.event(shape, Stamp::NicLocalWrite, live, Some(*result), Some(old))
            }
            _ => return,
        };
        self.operation(stmt, towards, completion, Vec::new());
    }

    fn operation(
        &mut self,
        stmt: &Stmt,
        towards: Towards,
        completion: EventId,
        further: Vec<EventId>,
    ) {
        let (thread, guard, unsignaled) = (self.thread, self.live, stmt.unsignaled);
        let owner = self.owner(towards);
        let operation =
            Operation { thread, towards, owner, completion, further, unsignaled, guard };
        self.skeleton.operations.push(operation);
    }
}

/// An event that no thread performs and that always happens, without a value.
pub(super) fn of_no_thread(
    stamp: Stamp,
    location: LocationId,
    operation: usize,
    span: Span,
) -> Event {
    Event {
        stamp,
        thread: None,
        location: Some(location),
        written: None,
        read: None,
        node: None,
        queue_pair: 0,
        owner: None,
        polls: Vec::new(),
        operation,
        word: 0,
        id: None,
        receive: None,
        atomic: true,
        loopback: false,
        guard: Guard::TRUE,
        origin: Origin::BASE,
        span,
    }
}
