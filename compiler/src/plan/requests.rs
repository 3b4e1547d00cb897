//! Makes the work requests of a program's operations.

use lang::program::NodeId;
use lang::source::Span;

use super::{LOOP_COPIES, Plan, Request, RequestKind, Role};
use crate::code::{Instruction, MessageSource, Operand, Operation, QueuePairId};

impl Plan {
    /// Adds the requests of a thread.
    pub(super) fn add_requests(&mut self, thread: usize) {
        let code = &self.code.threads[thread];
        let (node, looping) = (code.node, in_loops(&code.instructions));
        let instructions = code.instructions.clone();
        let spans = code.spans.clone();
        let mut request_of = vec![None; instructions.len()];
        for (at, instruction) in instructions.into_iter().enumerate() {
            lang::limits::look();
            let Instruction::Issue { queue_pair, operation, id, unsignaled } = instruction else {
                continue;
            };
            let index = self.requests.len();
            let copies = if looping[at] { LOOP_COPIES } else { 1 };
            if let Some(request) = self.request(index, node, queue_pair, operation, copies) {
                request_of[at] = Some(index);
                self.requests.push(Request { id, unsignaled, span: spans[at], ..request });
            }
        }
        self.request_of.push(request_of);
    }

    /// The request for an operation. `None` for a fence, which becomes a flag of the next request.
    fn request(
        &mut self,
        index: usize,
        node: NodeId,
        queue_pair: QueuePairId,
        operation: Operation,
        copies: usize,
    ) -> Option<Request> {
        let inline = matches!(operation, Operation::PutValue { inline: true, .. });
        let words = if let Operation::Words { moves, .. } = &operation { moves.len() } else { 1 };
        let mut message = None;
        let (kind, local, remote, store) = match operation {
            Operation::Put { target, source } => {
                (RequestKind::Write, self.word(source), Some(self.word(target)), None)
            }
            Operation::PutValue { target, value, .. } => {
                let (local, store) = self.source(index, node, value, copies);
                (RequestKind::Write, local, Some(self.word(target)), store)
            }
            Operation::Message { target, source, immediate } => {
                message = immediate;
                let kind = target.map_or(RequestKind::Send, |_| RequestKind::Write);
                let (local, store) = match source {
                    MessageSource::Location(source) => (self.word(source), None),
                    MessageSource::Value(value) => self.source(index, node, value, copies),
                };
                (kind, local, target.map(|target| self.word(target)), store)
            }
            Operation::AtomicWrite { target, value } => {
                // The CPU copies it into the request, so one word is enough.
                let (local, store) = self.source(index, node, value, 1);
                (RequestKind::AtomicWrite, local, Some(self.word(target)), store)
            }
            Operation::Flush { is_persistent } => {
                (RequestKind::Flush { is_persistent }, 0, None, None)
            }
            Operation::Get { target, source } => {
                (RequestKind::Read, self.word(target), Some(self.word(source)), None)
            }
            Operation::Words { is_put, moves } => {
                // The others are behind the first, at both ends.
                let (source, target) = *moves.first()?;
                match is_put {
                    true => (RequestKind::Write, self.word(source), Some(self.word(target)), None),
                    false => (RequestKind::Read, self.word(target), Some(self.word(source)), None),
                }
            }
            Operation::Rcas { result, target, expected, desired } => {
                let kind = RequestKind::CompareAndSwap { expected, desired };
                (kind, self.word(result), Some(self.word(target)), None)
            }
            Operation::Rfaa { result, target, addend } => (
                RequestKind::FetchAndAdd { addend },
                self.word(result),
                Some(self.word(target)),
                None,
            ),
            Operation::Fence => return None,
        };
        let is_copied = kind == RequestKind::AtomicWrite;
        let copies = if store.is_some() && !is_copied { copies } else { 1 };
        let span = Span::default();
        let unsignaled = false;
        Some(Request {
            queue_pair,
            kind,
            local,
            remote,
            store,
            words,
            immediate: message,
            copies,
            inline,
            id: None,
            unsignaled,
            span,
        })
    }

    /// The words that hold a value while requests put it, and the value, if the CPU stores it there.
    fn source(
        &mut self,
        request: usize,
        node: NodeId,
        value: Operand,
        copies: usize,
    ) -> (usize, Option<Operand>) {
        let role = Role::Source { request };
        let (initial, store, copies) = match value {
            Operand::Constant(value) => (value, None, 1),
            value => (0, Some(value), copies),
        };
        let local = self.add_word(node, role, initial);
        for _ in 1..copies {
            self.add_word(node, role, initial);
        }
        (local, store)
    }
}

/// For each instruction, whether it may execute more than once: whether a jump goes back over it.
fn in_loops(instructions: &[Instruction]) -> Vec<bool> {
    let mut looping = vec![false; instructions.len()];
    for (at, instruction) in instructions.iter().enumerate() {
        if let Instruction::Jump(target) | Instruction::JumpIfZero { target, .. } = instruction
            && *target <= at
        {
            looping[*target..=at].fill(true);
        }
    }
    looping
}
