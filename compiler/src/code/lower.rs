//! Translates statements to instructions.

use std::collections::{BTreeMap, BTreeSet};

use lang::program::{
    Expr, LocationId, MessageTarget, NodeId, Peer, Program, PutSource, RegisterId, Stmt, StmtKind,
    ThreadId, Towards, WorkId, each,
};
use lang::source::Span;

use super::{
    Code, CompileError, Instruction, MAX_NESTING, MessageSource, Operand, Operation, QueuePair,
    QueuePairId, ThreadCode,
};

pub(super) fn compile(program: &Program) -> Result<Code, CompileError> {
    let mut queue_pairs = Vec::new();
    let (mut threads, mut ranges) = (Vec::new(), Vec::new());
    let mut shared: BTreeMap<(NodeId, Towards), ThreadId> = BTreeMap::new();
    let mut named_shared = Vec::new();
    for (index, thread) in program.threads.iter().enumerate() {
        let id = ThreadId(index);
        let mut named = BTreeSet::new();
        collect_queue_pairs(program, &thread.body, 0, &mut named)?;
        named.extend(received_from(program, id));
        let first = queue_pairs.len();
        let (of_node, own): (Vec<Towards>, Vec<Towards>) =
            named.into_iter().partition(|towards| towards.is_shared());
        queue_pairs.extend(own.into_iter().map(|towards| pair(id, towards)));
        ranges.push(first..queue_pairs.len());
        for towards in &of_node {
            shared.entry((thread.node, *towards)).or_insert(id);
        }
        named_shared.push(of_node);
    }
    let first_shared = queue_pairs.len();
    queue_pairs.extend(shared.iter().map(|((_, towards), thread)| pair(*thread, *towards)));
    let place =
        |node: NodeId, towards: &Towards| first_shared + shared.range(..(node, *towards)).count();
    for ((thread, range), named) in program.threads.iter().zip(ranges).zip(named_shared) {
        let places = named.iter().map(|towards| (*towards, place(thread.node, towards)));
        let mut lowering = Lowering {
            program,
            node: thread.node,
            all: &queue_pairs,
            queue_pairs: &queue_pairs[range.clone()],
            first: range.start,
            shared: places.collect(),
            instructions: Vec::new(),
            spans: Vec::new(),
            breaks: Vec::new(),
        };
        lowering.block(&thread.body, 0)?;
        let Lowering { instructions, spans, shared, .. } = lowering;
        let (node, shared) = (thread.node, shared.into_values().collect());
        threads.push(ThreadCode { node, instructions, spans, queue_pairs: range, shared });
    }
    Ok(Code { threads, queue_pairs })
}

fn pair(thread: ThreadId, towards: Towards) -> QueuePair {
    QueuePair { thread, node: towards.node, number: towards.queue_pair }
}

/// The queue pairs of a thread of which others post or poll receives.
fn received_from(program: &Program, sender: ThreadId) -> BTreeSet<Towards> {
    let mut named = BTreeSet::new();
    for thread in &program.threads {
        each(&thread.body, &mut |stmt| {
            if let StmtKind::Receive { from, .. } | StmtKind::PollReceive { from, .. } = stmt.kind
                && from.thread == sender
            {
                named.insert(Towards { node: thread.node, queue_pair: from.queue_pair });
            }
        });
    }
    named
}

/// Collects the queue pairs of a thread's operations, polls and remote fences.
fn collect_queue_pairs(
    program: &Program,
    body: &[Stmt],
    depth: usize,
    named: &mut BTreeSet<Towards>,
) -> Result<(), CompileError> {
    for statement in body {
        lang::limits::look();
        let span = statement.span;
        if depth > MAX_NESTING {
            return Err(CompileError::TooDeep(span));
        }
        let parts = statement.kind.parts();
        if let Some((remote, queue_pair)) = parts.remote {
            let node = home(program, remote, span)?;
            named.insert(Towards { node, queue_pair });
        }
        named.extend(parts.queue_pairs);
        named.extend(parts.sends);
        for block in parts.blocks {
            collect_queue_pairs(program, block, depth + 1, named)?;
        }
    }
    Ok(())
}

fn home(program: &Program, location: LocationId, span: Span) -> Result<NodeId, CompileError> {
    let location = program.locations.get(location.0);
    location.map(|location| location.node).ok_or(CompileError::Malformed { span, what: "location" })
}

struct Lowering<'a> {
    program: &'a Program,
    /// The thread's node.
    node: NodeId,
    /// The queue pairs of all threads.
    all: &'a [QueuePair],
    /// The thread's queue pairs, and the index of the first one in the program's list.
    queue_pairs: &'a [QueuePair],
    first: usize,
    /// The queue pairs that the thread names and threads share, by their index in the program's list.
    shared: BTreeMap<Towards, usize>,
    instructions: Vec<Instruction>,
    spans: Vec<Span>,
    /// For each open loop, the jumps that leave it.
    breaks: Vec<Vec<usize>>,
}

impl Lowering<'_> {
    fn block(&mut self, body: &[Stmt], depth: usize) -> Result<(), CompileError> {
        for statement in body {
            if depth > MAX_NESTING {
                return Err(CompileError::TooDeep(statement.span));
            }
            self.statement(statement, depth)?;
        }
        Ok(())
    }

    fn statement(&mut self, statement: &Stmt, depth: usize) -> Result<(), CompileError> {
        let span = statement.span;
        match &statement.kind {
            StmtKind::If { condition, then, otherwise } => {
                self.branch(span, condition, then, otherwise, depth)
            }
            StmtKind::Loop(body) => self.repeat(span, body, depth),
            StmtKind::Break => {
                let jump = self.emit(span, Instruction::Jump(usize::MAX));
                let open = self.breaks.last_mut();
                open.ok_or(CompileError::Malformed { span, what: "loop to break out of" })?
                    .push(jump);
                Ok(())
            }
            _ => {
                let instruction = self.simple(statement)?;
                self.emit(span, instruction);
                Ok(())
            }
        }
    }

    fn simple(&self, stmt: &Stmt) -> Result<Instruction, CompileError> {
        let span = stmt.span;
        Ok(match &stmt.kind {
            StmtKind::Assign { register, value } => Instruction::Assign {
                register: self.register(span, *register)?,
                value: self.operand(span, value)?,
            },
            StmtKind::Read { register, location } => Instruction::Read {
                register: self.register(span, *register)?,
                location: self.location(span, *location)?,
            },
            StmtKind::Write { location, value } => Instruction::Write {
                location: self.location(span, *location)?,
                value: self.operand(span, value)?,
            },
            StmtKind::Cas { register, location, expected, desired } => Instruction::Cas {
                register: register.map(|register| self.register(span, register)).transpose()?,
                location: self.location(span, *location)?,
                expected: self.operand(span, expected)?,
                desired: self.operand(span, desired)?,
            },
            StmtKind::Faa { register, location, addend } => Instruction::Faa {
                register: register.map(|register| self.register(span, register)).transpose()?,
                location: self.location(span, *location)?,
                addend: self.operand(span, addend)?,
            },
            StmtKind::Exchange { register, location, value } => Instruction::Exchange {
                register: register.map(|register| self.register(span, register)).transpose()?,
                location: self.location(span, *location)?,
                value: self.operand(span, value)?,
            },
            StmtKind::Fence => Instruction::Fence,
            StmtKind::Receive { from, receive } => Instruction::Receive {
                queue_pair: self.peer(span, *from)?,
                buffer: self.location(span, receive.buffer)?,
            },
            StmtKind::PollReceive { from, register } => Instruction::PollReceive {
                queue_pair: self.peer(span, *from)?,
                register: register.map(|register| self.register(span, register)).transpose()?,
            },
            StmtKind::Poll(pairs) => Instruction::Poll(
                pairs.iter().map(|one| self.queue_pair(span, *one)).collect::<Result<_, _>>()?,
            ),
            StmtKind::Wait(id) => Instruction::Wait(self.work_id(span, *id)?),
            StmtKind::Assume(condition) => Instruction::Assume(self.operand(span, condition)?),
            StmtKind::OutOfRange { .. } => Instruction::Assume(Operand::Constant(0)),
            _ => return self.issue(stmt),
        })
    }

    fn issue(&self, stmt: &Stmt) -> Result<Instruction, CompileError> {
        let (span, kind) = (stmt.span, &stmt.kind);
        let (operation, id) = match kind {
            StmtKind::Put { target, source: PutSource::Location(source), id, .. } => {
                (Operation::Put { target: *target, source: *source }, id)
            }
            StmtKind::Put { target, source: PutSource::Value(value), id, inline, .. } => {
                let value = self.operand(span, value)?;
                (Operation::PutValue { target: *target, value, inline: *inline }, id)
            }
            StmtKind::Get { target, source, id, .. } => {
                (Operation::Get { target: *target, source: *source }, id)
            }
            StmtKind::Words(words) => {
                let moves = words.moves().collect();
                (Operation::Words { is_put: words.is_put, moves }, &words.id)
            }
            StmtKind::Rcas { result, target, expected, desired, id, .. } => {
                let (expected, desired) =
                    (self.operand(span, expected)?, self.operand(span, desired)?);
                let operation =
                    Operation::Rcas { result: *result, target: *target, expected, desired };
                (operation, id)
            }
            StmtKind::Rfaa { result, target, addend, id, .. } => {
                let addend = self.operand(span, addend)?;
                (Operation::Rfaa { result: *result, target: *target, addend }, id)
            }
            StmtKind::Message { target, source, immediate, id, .. } => {
                let target = match target {
                    MessageTarget::Location(target) => Some(*target),
                    MessageTarget::Receive(_) => None,
                };
                let source = self.source(span, source)?;
                let immediate =
                    immediate.as_ref().map(|value| self.operand(span, value)).transpose()?;
                (Operation::Message { target, source, immediate }, id)
            }
            StmtKind::AtomicWrite { target, value, id, .. } => {
                let value = self.operand(span, value)?;
                (Operation::AtomicWrite { target: *target, value }, id)
            }
            StmtKind::Flush { is_persistent, id, .. } => {
                (Operation::Flush { is_persistent: *is_persistent }, id)
            }
            StmtKind::RemoteFence(towards) => {
                let queue_pair = self.queue_pair(span, *towards)?;
                return Ok(Instruction::Issue {
                    queue_pair,
                    operation: Operation::Fence,
                    id: None,
                    unsignaled: false,
                });
            }
            kind => {
                let statement = unsupported_name(kind);
                return Err(CompileError::Unsupported { span, statement });
            }
        };
        for location in operation.locations() {
            self.location(span, location)?;
        }
        let towards = self.program.towards(kind);
        let towards = towards.ok_or(CompileError::Malformed { span, what: "location" })?;
        let queue_pair = self.queue_pair(span, towards)?;
        let id = id.map(|id| self.work_id(span, id)).transpose()?;
        Ok(Instruction::Issue { queue_pair, operation, id, unsignaled: stmt.unsignaled })
    }

    fn branch(
        &mut self,
        span: Span,
        condition: &Expr,
        then: &[Stmt],
        otherwise: &[Stmt],
        depth: usize,
    ) -> Result<(), CompileError> {
        let condition = self.operand(span, condition)?;
        let skip = self.emit(span, Instruction::JumpIfZero { condition, target: usize::MAX });
        self.block(then, depth + 1)?;
        if otherwise.is_empty() {
            self.land(skip);
            return Ok(());
        }
        let end = self.emit(span, Instruction::Jump(usize::MAX));
        self.land(skip);
        self.block(otherwise, depth + 1)?;
        self.land(end);
        Ok(())
    }

    fn repeat(&mut self, span: Span, body: &[Stmt], depth: usize) -> Result<(), CompileError> {
        let start = self.instructions.len();
        self.breaks.push(Vec::new());
        self.block(body, depth + 1)?;
        self.emit(span, Instruction::Jump(start));
        for jump in self.breaks.pop().unwrap_or_default() {
            self.land(jump);
        }
        Ok(())
    }

    fn emit(&mut self, span: Span, instruction: Instruction) -> usize {
        self.instructions.push(instruction);
        self.spans.push(span);
        self.instructions.len() - 1
    }

    /// Sets the target of a jump to the next instruction that will be emitted.
    fn land(&mut self, jump: usize) {
        let here = self.instructions.len();
        match &mut self.instructions[jump] {
            Instruction::Jump(target) | Instruction::JumpIfZero { target, .. } => *target = here,
            _ => {}
        }
    }

    fn source(&self, span: Span, source: &PutSource) -> Result<MessageSource, CompileError> {
        Ok(match source {
            PutSource::Location(source) => MessageSource::Location(*source),
            PutSource::Value(value) => MessageSource::Value(self.operand(span, value)?),
        })
    }

    fn operand(&self, span: Span, expression: &Expr) -> Result<Operand, CompileError> {
        let operand = Operand::new(expression);
        for register in operand.registers() {
            self.register(span, register)?;
        }
        Ok(operand)
    }

    fn register(&self, span: Span, register: RegisterId) -> Result<RegisterId, CompileError> {
        let known = register.0 < self.program.registers.len();
        known.then_some(register).ok_or(CompileError::Malformed { span, what: "register" })
    }

    fn location(&self, span: Span, location: LocationId) -> Result<LocationId, CompileError> {
        home(self.program, location, span).map(|_| location)
    }

    fn work_id(&self, span: Span, id: WorkId) -> Result<WorkId, CompileError> {
        let known = id.0 < self.program.work_ids.len();
        known.then_some(id).ok_or(CompileError::Malformed { span, what: "work id" })
    }

    /// The queue pair of another thread, to this thread's node.
    fn peer(&self, span: Span, from: Peer) -> Result<QueuePairId, CompileError> {
        let is_it = |pair: &QueuePair| {
            (pair.thread, pair.node, pair.number) == (from.thread, self.node, from.queue_pair)
        };
        let index = self.all.iter().position(is_it);
        index.map(QueuePairId).ok_or(CompileError::Malformed { span, what: "queue pair" })
    }

    fn queue_pair(&self, span: Span, towards: Towards) -> Result<QueuePairId, CompileError> {
        if let Some(shared) = self.shared.get(&towards) {
            return Ok(QueuePairId(*shared));
        }
        let index = self.queue_pairs.iter().position(|pair| pair.towards() == towards);
        index
            .map(|index| QueuePairId(self.first + index))
            .ok_or(CompileError::Malformed { span, what: "queue pair" })
    }
}

impl Operation {
    /// Every location that the operation accesses.
    pub fn locations(&self) -> impl Iterator<Item = LocationId> {
        let moves = if let Self::Words { moves, .. } = self { moves.as_slice() } else { &[] };
        let (first, second) = match *self {
            Self::Put { target, source } | Self::Get { target, source } => {
                (Some(target), Some(source))
            }
            Self::Rcas { result, target, .. } | Self::Rfaa { result, target, .. } => {
                (Some(target), Some(result))
            }
            Self::PutValue { target, .. } | Self::AtomicWrite { target, .. } => {
                (Some(target), None)
            }
            Self::Message { target, source: MessageSource::Location(source), .. } => {
                (Some(source), target)
            }
            Self::Message { target, .. } => (target, None),
            Self::Flush { .. } | Self::Fence | Self::Words { .. } => (None, None),
        };
        let moved: Vec<LocationId> = moves.iter().flat_map(|(from, to)| [*from, *to]).collect();
        first.into_iter().chain(second).chain(moved)
    }
}

fn unsupported_name(kind: &StmtKind) -> String {
    match kind {
        StmtKind::GlobalFence(_) => "GFence".to_owned(),
        StmtKind::Call(call) => call.method.clone(),
        StmtKind::Rma(statement) => format!("{:?}", statement.kind).to_lowercase(),
        _ => "statement".to_owned(),
    }
}
