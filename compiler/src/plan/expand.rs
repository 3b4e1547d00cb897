//! Makes programs explicit: expands statements that stand for several, and adds threads that do nothing.
//!
//! `GFence({n, …})` is a get from each n, and a wait for all of them [MOWGLI §3.2]: a response pushes the
//! NIC's earlier writes ahead of it, on both sides. In coreRMA, a put is an RDMA WRITE and a get a READ. An
//! rga is a FETCH_AND_ADD and a cas a CMP_AND_SWP; the CPU reads their operands when it posts them. A local
//! write is followed by a fence, because coreRMA's processes have no store buffers. `flush(p)` is a READ from
//! p, and a wait for it and for all earlier operations to p.

use lang::program::{
    Expr, Location, LocationId, NodeId, Origin, Program, PutSource, Register, RegisterId, RmaKind,
    RmaStmt, Stmt, StmtKind, Thread, ThreadId, Towards, WorkId,
};
use lang::source::Span;

use crate::code::{CompileError, MAX_NESTING};

/// The program, in statements that are each a single request, poll or CPU instruction.
pub(super) fn implemented(program: &Program) -> Result<Program, CompileError> {
    let mut expanded = program.clone();
    for thread in 0..program.threads.len() {
        let node = program.threads[thread].node;
        let body = std::mem::take(&mut expanded.threads[thread].body);
        let mut expansion = Expansion { program: &mut expanded, thread: ThreadId(thread), node };
        let body = expansion.block(body, 0)?;
        expanded.threads[thread].body = body;
    }
    Ok(expanded)
}

/// Adds a thread that does nothing for every node without threads. The barriers of threads synchronize the
/// machines. A machine without threads would reset its memory while others write it, and read it before they
/// are done.
pub(super) fn threads_everywhere(program: &mut Program) {
    for node in (1..=program.nodes).map(NodeId) {
        if program.threads.iter().all(|thread| thread.node != node) {
            program.threads.push(Thread { node, body: Vec::new() });
        }
    }
}

/// Replaces each `GFence` by an `Rfence` for each of its nodes. Blocks are nested as deep as the parser
/// allows.
pub(super) fn with_remote_fences(body: &mut Vec<Stmt>) {
    for mut statement in std::mem::take(body) {
        lang::limits::look();
        match &mut statement.kind {
            StmtKind::GlobalFence(nodes) => {
                let (unsignaled, span) = (statement.unsignaled, statement.span);
                let towards = nodes.iter().map(|node| Towards { node: *node, queue_pair: 0 });
                let fences = towards.map(StmtKind::RemoteFence);
                body.extend(fences.map(|kind| Stmt { kind, unsignaled, span }));
            }
            StmtKind::If { then, otherwise, .. } => {
                with_remote_fences(then);
                with_remote_fences(otherwise);
                body.push(statement);
            }
            StmtKind::Loop(inner) => {
                with_remote_fences(inner);
                body.push(statement);
            }
            _ => body.push(statement),
        }
    }
}

struct Expansion<'a> {
    program: &'a mut Program,
    thread: ThreadId,
    node: NodeId,
}

impl Expansion<'_> {
    fn block(&mut self, body: Vec<Stmt>, depth: usize) -> Result<Vec<Stmt>, CompileError> {
        let mut all = Vec::with_capacity(body.len());
        for Stmt { kind, unsignaled, span } in body {
            if depth > MAX_NESTING {
                return Err(CompileError::TooDeep(span));
            }
            let kind = match kind {
                StmtKind::GlobalFence(nodes) => {
                    self.fence(&nodes, span, &mut all);
                    continue;
                }
                StmtKind::Rma(statement) => {
                    let kinds = self
                        .rma(statement)
                        .ok_or(CompileError::Malformed { span, what: "location" })?;
                    all.extend(kinds.into_iter().map(|kind| Stmt {
                        kind,
                        unsignaled: false,
                        span,
                    }));
                    continue;
                }
                StmtKind::If { condition, then, otherwise } => {
                    let then = self.block(then, depth + 1)?;
                    let otherwise = self.block(otherwise, depth + 1)?;
                    StmtKind::If { condition, then, otherwise }
                }
                StmtKind::Loop(body) => StmtKind::Loop(self.block(body, depth + 1)?),
                kind => kind,
            };
            all.push(Stmt { kind, unsignaled, span });
        }
        Ok(all)
    }

    fn fence(&mut self, nodes: &[NodeId], span: Span, all: &mut Vec<Stmt>) {
        let id = self.work_id(format!("_fence{}", self.program.work_ids.len()));
        for &node in nodes {
            let target = self.location("result", self.node, span);
            let source = self.location("target", node, span);
            all.push(Stmt {
                kind: StmtKind::Get { target, source, id: Some(id), queue_pair: 0 },
                unsignaled: false,
                span,
            });
        }
        all.push(Stmt { kind: StmtKind::Wait(id), unsignaled: false, span });
    }

    /// Expands a coreRMA statement. `None` if a location or process is missing, which the checker excludes.
    fn rma(&mut self, statement: RmaStmt) -> Option<Vec<StmtKind>> {
        let place = |index: usize| statement.accesses.get(index).map(|(location, _)| *location);
        if statement.kind == RmaKind::LocalRead {
            return Some(vec![StmtKind::Read {
                register: statement.register?,
                location: place(0)?,
            }]);
        }
        if statement.kind == RmaKind::LocalWrite {
            let write = StmtKind::Write { location: place(0)?, value: statement.value.clone()? };
            return Some(vec![write, StmtKind::Fence]);
        }
        let process = statement.process?;
        // All operations to a process share one id, so that a flush can wait for them.
        let wait = self.work_id(format!("_to{}", process.0));
        let id = Some(wait);
        Some(match statement.kind {
            RmaKind::Put => {
                let source = PutSource::Location(place(1)?);
                vec![StmtKind::Put { target: place(0)?, source, id, queue_pair: 0, inline: false }]
            }
            RmaKind::Get => {
                vec![StmtKind::Get { target: place(0)?, source: place(1)?, id, queue_pair: 0 }]
            }
            RmaKind::Rga => {
                let (addend, read) = self.read(place(2)?);
                let (result, target) = (place(0)?, place(1)?);
                vec![read, StmtKind::Rfaa { result, target, addend, id, queue_pair: 0 }]
            }
            RmaKind::Cas => {
                let (expected, first) = self.read(place(2)?);
                let (desired, second) = self.read(place(3)?);
                let (result, target) = (place(0)?, place(1)?);
                let swap = StmtKind::Rcas { result, target, expected, desired, id, queue_pair: 0 };
                vec![first, second, swap]
            }
            _ => {
                let span = Span::default();
                let target = self.location("result", self.node, span);
                let source = self.location("target", process, span);
                vec![StmtKind::Get { target, source, id, queue_pair: 0 }, StmtKind::Wait(wait)]
            }
        })
    }

    /// A CPU read into a new register.
    fn read(&mut self, location: LocationId) -> (Expr, StmtKind) {
        let register = RegisterId(self.program.registers.len());
        self.program.registers.push(Register { name: None, thread: self.thread });
        (Expr::Register(register), StmtKind::Read { register, location })
    }

    fn work_id(&mut self, name: String) -> WorkId {
        let known = self.program.work_ids.iter().position(|known| *known == name);
        WorkId(known.unwrap_or_else(|| {
            self.program.work_ids.push(name);
            self.program.work_ids.len() - 1
        }))
    }

    fn location(&mut self, what: &str, node: NodeId, span: Span) -> LocationId {
        let id = LocationId(self.program.locations.len());
        let name = format!("_fence-{what}-{}-{}", self.thread.number(), id.0);
        let origin = Origin::Unnamed;
        self.program.locations.push(Location { name, node, initial: 0, origin, span });
        id
    }
}
