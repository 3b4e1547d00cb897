//! Symbolic execution of each thread into events, values and conditions.

mod cas;
mod rma;

use lang::program::{
    BinaryOp, Expr, LocationId, NodeId, Program, PutSource, RegisterId, Stmt, StmtKind, ThreadId,
    WorkId,
};
use lang::source::Span;
use rustc_hash::FxHashMap;

use super::{
    Condition, Event, EventId, Guard, Operation, Requirement, Skeleton, Stamp, Value, ValueId,
    calls::call_name, spin,
};

/// A statement that has no events of its own: a library's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsupported {
    /// The statement's name.
    pub call: String,
    /// Its place.
    pub span: Span,
}

/// The skeleton of a program whose loops are unrolled `loop_bound` times.
///
/// # Errors
/// The first statement that is a library call.
pub fn build(program: &Program, loop_bound: u32) -> Result<Skeleton, Unsupported> {
    let mut builder = Builder::new(program, loop_bound);
    builder.initial_writes(program);
    for (index, thread) in program.threads.iter().enumerate() {
        builder.thread = ThreadId(index);
        builder.own_node = Some(thread.node);
        builder.live = Guard::TRUE;
        builder.block(&thread.body)?;
    }
    builder.skeleton.registers = builder.registers;
    Ok(builder.skeleton)
}

/// Values of all registers at a point of a thread.
type Registers = Vec<ValueId>;

struct Builder {
    skeleton: Skeleton,
    /// The home node of each location.
    homes: Vec<NodeId>,
    value_ids: FxHashMap<Value, ValueId>,
    condition_ids: FxHashMap<Condition, usize>,
    thread: ThreadId,
    /// The node that the thread runs on.
    own_node: Option<NodeId>,
    /// When control is at the current point.
    live: Guard,
    registers: Registers,
    /// For each loop that is being unrolled: where control left it, and with which registers.
    exits: Vec<Vec<(Guard, Registers)>>,
    choices: usize,
    operations: usize,
}

/// What the events of one operation share.
#[derive(Clone, Copy)]
struct Shape {
    operation: usize,
    node: Option<NodeId>,
    id: Option<WorkId>,
    span: Span,
}

impl Builder {
    fn new(program: &Program, loop_bound: u32) -> Self {
        let mut builder = Self {
            skeleton: Skeleton { loop_bound, ..Skeleton::default() },
            homes: program.locations.iter().map(|location| location.node).collect(),
            value_ids: FxHashMap::default(),
            condition_ids: FxHashMap::default(),
            thread: ThreadId(0),
            own_node: None,
            live: Guard::TRUE,
            registers: Vec::new(),
            exits: Vec::new(),
            choices: 0,
            operations: 0,
        };
        builder.condition(Condition::True);
        let zero = builder.constant(0);
        builder.registers = vec![zero; program.registers.len()];
        builder
    }

    fn initial_writes(&mut self, program: &Program) {
        for (index, location) in program.locations.iter().enumerate() {
            let written = Some(self.constant(location.initial));
            let operation = self.next_operation();
            self.skeleton.events.push(Event {
                stamp: Stamp::Init,
                thread: None,
                location: Some(LocationId(index)),
                written,
                read: None,
                node: None,
                operation,
                id: None,
                atomic: true,
                loopback: false,
                guard: Guard::TRUE,
                span: location.span,
            });
        }
    }

    fn next_operation(&mut self) -> usize {
        self.operations += 1;
        self.operations - 1
    }

    // Values and conditions, each node once.

    fn value(&mut self, value: Value) -> ValueId {
        if let Some(id) = self.value_ids.get(&value) {
            return *id;
        }
        let id = ValueId(self.skeleton.values.len());
        self.skeleton.values.push(value.clone());
        self.value_ids.insert(value, id);
        id
    }

    fn constant(&mut self, value: u64) -> ValueId {
        self.value(Value::Constant(value))
    }

    fn known(&self, id: ValueId) -> Option<u64> {
        match self.skeleton.values[id.0] {
            Value::Constant(value) => Some(value),
            _ => None,
        }
    }

    fn condition(&mut self, condition: Condition) -> Guard {
        let next = self.skeleton.conditions.len();
        let index = *self.condition_ids.entry(condition).or_insert(next);
        if index == next {
            self.skeleton.conditions.push(condition);
        }
        Guard { condition: index, negated: false }
    }

    fn and(&mut self, left: Guard, right: Guard) -> Guard {
        match (left, right) {
            (Guard::TRUE, other) | (other, Guard::TRUE) => other,
            _ if left == right => left,
            _ if left == Guard::FALSE || right == Guard::FALSE || left == !right => Guard::FALSE,
            _ => self.condition(Condition::And(left.min(right), left.max(right))),
        }
    }

    fn or(&mut self, left: Guard, right: Guard) -> Guard {
        !self.and(!left, !right)
    }

    fn non_zero(&mut self, value: ValueId) -> Guard {
        match self.skeleton.values[value.0] {
            Value::Constant(constant) => {
                if constant == 0 {
                    Guard::FALSE
                } else {
                    Guard::TRUE
                }
            }
            Value::Binary(BinaryOp::Equal, left, right) => self.equal(left, right),
            Value::Binary(BinaryOp::NotEqual, left, right) => !self.equal(left, right),
            Value::Binary(BinaryOp::And, left, right) => {
                let (left, right) = (self.non_zero(left), self.non_zero(right));
                self.and(left, right)
            }
            Value::Binary(BinaryOp::Or, left, right) => {
                let (left, right) = (self.non_zero(left), self.non_zero(right));
                self.or(left, right)
            }
            _ => self.condition(Condition::NonZero(value)),
        }
    }

    fn equal(&mut self, left: ValueId, right: ValueId) -> Guard {
        let pair = [(left, right), (right, left)];
        for (one, other) in pair {
            if let Value::Select(guard, then, otherwise) = self.skeleton.values[one.0]
                && self.known(other).is_some()
            {
                let then = self.equal(then, other);
                let otherwise = self.equal(otherwise, other);
                let (then, otherwise) = (self.and(guard, then), self.and(!guard, otherwise));
                return self.or(then, otherwise);
            }
        }
        match (self.known(left), self.known(right)) {
            _ if left == right => Guard::TRUE,
            (Some(left), Some(right)) if left != right => Guard::FALSE,
            _ => self.condition(Condition::Equal(left.min(right), left.max(right))),
        }
    }

    fn select(&mut self, guard: Guard, then: ValueId, otherwise: ValueId) -> ValueId {
        match guard {
            Guard::TRUE => then,
            Guard::FALSE => otherwise,
            _ if then == otherwise => then,
            _ => self.value(Value::Select(guard, then, otherwise)),
        }
    }

    fn binary(&mut self, op: BinaryOp, left: ValueId, right: ValueId) -> ValueId {
        match (self.known(left), self.known(right)) {
            (Some(left), Some(right)) => self.constant(op.apply(left, right)),
            _ => self.value(Value::Binary(op, left, right)),
        }
    }

    fn expression(&mut self, expr: &Expr) -> ValueId {
        match expr {
            Expr::Constant(value) => self.constant(*value),
            // Only library calls make ⊥, and their statements are refused.
            Expr::Bottom => self.constant(u64::MAX),
            Expr::Register(RegisterId(index)) => self.registers[*index],
            Expr::Not(inner) => {
                let inner = self.expression(inner);
                let zero = self.constant(0);
                self.binary(BinaryOp::Equal, inner, zero)
            }
            Expr::Binary(op, left, right) => {
                let left = self.expression(left);
                let right = self.expression(right);
                self.binary(*op, left, right)
            }
        }
    }

    // Control.

    fn block(&mut self, body: &[Stmt]) -> Result<(), Unsupported> {
        for stmt in body {
            // What no execution reaches has no events.
            if self.live == Guard::FALSE {
                break;
            }
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
        for _ in 0..self.skeleton.loop_bound {
            let first = self.skeleton.events.len();
            self.block(body)?;
            if forgets && spin::is_idle(&self.skeleton, first, self.live) {
                // Executions that go round again show what those that do not show.
                self.require(self.live, Guard::FALSE);
                self.live = Guard::FALSE;
            }
        }
        if self.live != Guard::FALSE {
            self.skeleton.exceeded.push(self.live);
        }
        self.live = Guard::FALSE;
        for (guard, registers) in self.exits.pop().unwrap_or_default() {
            let current = std::mem::take(&mut self.registers);
            self.registers = self.merge(guard, &registers, &current);
            self.live = self.or(self.live, guard);
        }
        Ok(())
    }

    fn require(&mut self, when: Guard, then: Guard) {
        if when != Guard::FALSE && then != Guard::TRUE {
            self.skeleton.requirements.push(Requirement { when, then });
        }
    }

    // Statements.

    fn statement(&mut self, stmt: &Stmt) -> Result<(), Unsupported> {
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
                let call = call_name(&stmt.kind).unwrap_or_default().to_owned();
                return Err(Unsupported { call, span: stmt.span });
            }
            StmtKind::Put { .. }
            | StmtKind::Get { .. }
            | StmtKind::Rcas { .. }
            | StmtKind::Rfaa { .. } => self.nic_operation(stmt),
            _ => self.cpu_operation(stmt),
        }
        Ok(())
    }

    fn shape(&mut self, span: Span, node: Option<NodeId>, id: Option<WorkId>) -> Shape {
        Shape { operation: self.next_operation(), node, id, span }
    }

    fn event(
        &mut self,
        shape: Shape,
        stamp: Stamp,
        guard: Guard,
        location: Option<LocationId>,
        written: Option<ValueId>,
    ) -> EventId {
        let id = EventId(self.skeleton.events.len());
        let read = stamp.reads().then(|| self.value(Value::Read(id)));
        self.skeleton.events.push(Event {
            stamp,
            thread: Some(self.thread),
            location,
            written,
            read,
            node: shape.node,
            operation: shape.operation,
            id: shape.id,
            atomic: true,
            loopback: shape.node.is_some() && shape.node == self.own_node,
            guard,
            span: shape.span,
        });
        id
    }

    fn read(&mut self, shape: Shape, stamp: Stamp, guard: Guard, at: LocationId) -> ValueId {
        let event = self.event(shape, stamp, guard, Some(at), None);
        self.value(Value::Read(event))
    }

    fn cpu_operation(&mut self, stmt: &Stmt) {
        let live = self.live;
        match &stmt.kind {
            StmtKind::Read { register, location } => {
                let shape = self.shape(stmt.span, None, None);
                self.registers[register.0] = self.read(shape, Stamp::CpuRead, live, *location);
            }
            StmtKind::Write { location, value } => {
                let value = self.expression(value);
                let shape = self.shape(stmt.span, None, None);
                self.event(shape, Stamp::CpuWrite, live, Some(*location), Some(value));
            }
            StmtKind::Cas { register, location, expected, desired } => {
                let expected = self.expression(expected);
                let desired = self.expression(desired);
                let old = self.compare_and_swap(stmt.span, *location, expected, desired);
                if let Some(register) = register {
                    self.registers[register.0] = old;
                }
            }
            StmtKind::Faa { register, location, addend } => {
                let addend = self.expression(addend);
                self.fetch_and(stmt, *register, *location, |build, old| {
                    build.binary(BinaryOp::Add, old, addend)
                });
            }
            StmtKind::Exchange { register, location, value } => {
                let value = self.expression(value);
                self.fetch_and(stmt, *register, *location, |_, _| value);
            }
            StmtKind::Fence => {
                let shape = self.shape(stmt.span, None, None);
                self.event(shape, Stamp::Fence, live, None, None);
            }
            StmtKind::Poll(node) => {
                let shape = self.shape(stmt.span, Some(*node), None);
                self.event(shape, Stamp::Wait, live, None, None);
            }
            StmtKind::Wait(id) => {
                let shape = self.shape(stmt.span, None, Some(*id));
                self.event(shape, Stamp::Wait, live, None, None);
            }
            StmtKind::RemoteFence(node) => {
                let shape = self.shape(stmt.span, Some(*node), None);
                self.event(shape, Stamp::RemoteFence, live, None, None);
            }
            _ => {}
        }
    }

    /// A CPU RMW that always writes: one event.
    fn fetch_and(
        &mut self,
        stmt: &Stmt,
        register: Option<RegisterId>,
        location: LocationId,
        new: impl FnOnce(&mut Self, ValueId) -> ValueId,
    ) {
        let shape = self.shape(stmt.span, None, None);
        let event = self.event(shape, Stamp::CpuRmw, self.live, Some(location), None);
        let old = self.value(Value::Read(event));
        self.skeleton.events[event.0].written = Some(new(self, old));
        if let Some(register) = register {
            self.registers[register.0] = old;
        }
    }

    fn nic_operation(&mut self, stmt: &Stmt) {
        let live = self.live;
        let completion = match &stmt.kind {
            StmtKind::Put { target, source, id } => {
                let node = Some(self.homes[target.0]);
                let (location, known) = match source {
                    PutSource::Location(location) => (Some(*location), None),
                    PutSource::Value(value) => (None, Some(self.expression(value))),
                };
                let shape = self.shape(stmt.span, node, *id);
                let read = self.event(shape, Stamp::NicLocalRead, live, location, None);
                let value = match known {
                    Some(value) => {
                        self.skeleton.events[read.0].read = Some(value);
                        value
                    }
                    None => self.value(Value::Read(read)),
                };
                self.event(shape, Stamp::NicRemoteWrite, live, Some(*target), Some(value))
            }
            StmtKind::Get { target, source, id } => {
                let node = Some(self.homes[source.0]);
                let shape = self.shape(stmt.span, node, *id);
                let value = self.read(shape, Stamp::NicRemoteRead, live, *source);
                self.event(shape, Stamp::NicLocalWrite, live, Some(*target), Some(value))
            }
            StmtKind::Rcas { result, target, expected, desired, id } => {
                let expected = self.expression(expected);
                let desired = self.expression(desired);
                let shape = self.shape(stmt.span, Some(self.homes[target.0]), *id);
                let old = self.read(shape, Stamp::NicAtomicRead, live, *target);
                let equal = self.equal(old, expected);
                let succeeds = self.and(live, equal);
                self.event(shape, Stamp::NicRemoteWrite, succeeds, Some(*target), Some(desired));
                self.event(shape, Stamp::NicLocalWrite, live, Some(*result), Some(old))
            }
            StmtKind::Rfaa { result, target, addend, id } => {
                let addend = self.expression(addend);
                let shape = self.shape(stmt.span, Some(self.homes[target.0]), *id);
                let old = self.read(shape, Stamp::NicAtomicRead, live, *target);
                let new = self.binary(BinaryOp::Add, old, addend);
                self.event(shape, Stamp::NicRemoteWrite, live, Some(*target), Some(new));
                self.event(shape, Stamp::NicLocalWrite, live, Some(*result), Some(old))
            }
            _ => return,
        };
        if let Some(node) = self.skeleton.event(completion).node {
            let operation = Operation { thread: self.thread, node, completion, guard: live };
            self.skeleton.operations.push(operation);
        }
    }
}
