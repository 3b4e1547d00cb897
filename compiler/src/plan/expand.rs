//! What programs leave unsaid: statements that stand for several, and threads that do nothing.

use lang::program::{
    Location, LocationId, NodeId, Origin, Program, Stmt, StmtKind, Thread, ThreadId, WorkId,
};
use lang::source::Span;

use crate::code::{CompileError, MAX_NESTING};

/// The program with every `GFence({n, …})` as a get from each n, and a wait for them all [MOWGLI §3.2]: a response
/// pushes the NIC's earlier writes before it, on both sides.
pub(super) fn global_fences(program: &Program) -> Result<Program, CompileError> {
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

/// A thread that does nothing for every node without one. Machines meet in the barriers of their threads: one without
/// threads would reset its memory while others write it, and look at it before they are done.
pub(super) fn threads_everywhere(program: &mut Program) {
    for node in (1..=program.nodes).map(NodeId) {
        if program.threads.iter().all(|thread| thread.node != node) {
            program.threads.push(Thread { node, body: Vec::new() });
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
        for Stmt { kind, span } in body {
            if depth > MAX_NESTING {
                return Err(CompileError::TooDeep(span));
            }
            let kind = match kind {
                StmtKind::GlobalFence(nodes) => {
                    self.fence(&nodes, span, &mut all);
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
            all.push(Stmt { kind, span });
        }
        Ok(all)
    }

    fn fence(&mut self, nodes: &[NodeId], span: Span, all: &mut Vec<Stmt>) {
        let id = WorkId(self.program.work_ids.len());
        self.program.work_ids.push(format!("_fence{}", id.0));
        for &node in nodes {
            let target = self.location("result", self.node, span);
            let source = self.location("target", node, span);
            all.push(Stmt { kind: StmtKind::Get { target, source, id: Some(id) }, span });
        }
        all.push(Stmt { kind: StmtKind::Wait(id), span });
    }

    fn location(&mut self, what: &str, node: NodeId, span: Span) -> LocationId {
        let id = LocationId(self.program.locations.len());
        let name = format!("_fence-{what}-{}-{}", self.thread.number(), id.0);
        let origin = Origin::Unnamed;
        self.program.locations.push(Location { name, node, initial: 0, origin, span });
        id
    }
}
