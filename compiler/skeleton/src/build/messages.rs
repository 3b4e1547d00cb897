//! Messages, and the receives that they consume.
//!
//! Receives stand outside of blocks, so which is the k-th of a queue pair is known. Which message consumes it
//! may depend on branches: a message has an alternative for each receive that it may consume.

use lang::program::{
    Connection, Expr, LocationId, MessageTarget, PENDING, Peer, PutSource, Receive, RegisterId,
    Stmt, StmtKind,
};

use super::super::{Guard, Operation, Stamp, Value, ValueId};
use super::{Builder, Shape};

/// How many of a queue pair's receives are used: the condition for each number.
pub(super) type Used = Vec<Guard>;

impl Builder<'_> {
    fn receives_of(&self, connection: Connection) -> Vec<Receive> {
        self.receives.get(&connection).cloned().unwrap_or_default()
    }

    /// The receives that the next message or poll may take, each with the condition that it does. If it takes
    /// none, the execution does not end.
    fn next_receive(&mut self, used: &mut Used, receives: &[Receive]) -> Vec<(usize, Guard)> {
        if used.is_empty() {
            used.push(Guard::TRUE);
        }
        let live = self.live;
        let takes: Vec<Guard> = used.iter().map(|guard| self.and(*guard, live)).collect();
        let mut next = vec![Guard::FALSE; used.len() + 1];
        for (count, guard) in used.iter().enumerate() {
            let stays = self.and(*guard, !live);
            next[count] = self.or(next[count], stays);
            next[count + 1] = self.or(next[count + 1], takes[count]);
        }
        while next.last() == Some(&Guard::FALSE) {
            next.pop();
        }
        *used = next;
        let mut alternatives = Vec::new();
        for (index, guard) in takes.into_iter().enumerate() {
            if guard == Guard::FALSE {
                continue;
            }
            match receives.get(index) {
                Some(_) => alternatives.push((index, guard)),
                None => self.require(guard, Guard::FALSE),
            }
        }
        alternatives
    }

    /// The NIC's read of a put's source: of a location, or of a private one that holds a known value.
    pub(super) fn source_read(
        &mut self,
        shape: Shape,
        location: Option<LocationId>,
        known: Option<ValueId>,
    ) -> ValueId {
        let read = self.event(shape, Stamp::NicLocalRead, self.live, location, None);
        match known {
            Some(value) => {
                self.skeleton.events[read.0].read = Some(value);
                value
            }
            None => self.value(Value::Read(read)),
        }
    }

    /// `Send`, `SendImm`, `PutImm`: the NIC reads the source, writes the data at the target, and then the
    /// completion of the receive.
    pub(super) fn message(&mut self, stmt: &Stmt) {
        let StmtKind::Message { target, source, immediate, id, .. } = &stmt.kind else { return };
        let (Some(towards), Some(connection)) =
            (self.program.towards(&stmt.kind), self.program.connection(self.thread, &stmt.kind))
        else {
            return;
        };
        let immediate = match immediate {
            Some(value) => self.expression(value),
            None => self.expression(&Expr::Bottom),
        };
        let (location, known) = match source {
            PutSource::Location(location) => (Some(*location), None),
            PutSource::Value(value) => (None, Some(self.expression(value))),
        };
        let live = self.live;
        let shape = self.shape_on(stmt.span, towards, *id);
        let value = self.source_read(shape, location, known);
        if let MessageTarget::Location(target) = target {
            self.event(shape, Stamp::NicRemoteWrite, live, Some(*target), Some(value));
        }
        let receives = self.receives_of(connection);
        let mut used = self.consumed.remove(&connection).unwrap_or_default();
        for (index, guard) in self.next_receive(&mut used, &receives) {
            let receive = receives[index];
            let number = Some((connection, index));
            if let MessageTarget::Receive(_) = target {
                let buffer = Some(receive.buffer);
                let write = self.event(shape, Stamp::NicRemoteWrite, guard, buffer, Some(value));
                self.skeleton.events[write.0].receive = number;
            }
            let entry = Some(receive.entry);
            let completion =
                self.event(shape, Stamp::NicRemoteCompletion, guard, entry, Some(immediate));
            self.skeleton.events[completion.0].receive = number;
            self.skeleton.operations.push(Operation {
                thread: self.thread,
                towards,
                owner: self.owner(towards),
                completion,
                further: Vec::new(),
                unsignaled: stmt.unsignaled,
                guard,
            });
        }
        self.consumed.insert(connection, used);
    }

    /// `Recv`
    pub(super) fn receive(&mut self, stmt: &Stmt, from: Peer) {
        let Some(node) = self.own_node else { return };
        let connection = (from, node);
        let count = self.posted.entry(connection).or_default();
        let number = *count;
        *count += 1;
        let shape = self.shape(stmt.span, None, None);
        let event = self.event(shape, Stamp::ReceivePosted, self.live, None, None);
        self.skeleton.events[event.0].receive = Some((connection, number));
    }

    /// `PollRecv`: reads the completion of the next receive, once it is there.
    pub(super) fn poll_receive(&mut self, stmt: &Stmt, from: Peer, register: Option<RegisterId>) {
        let Some(node) = self.own_node else { return };
        let connection = (from, node);
        let receives = self.receives_of(connection);
        let mut used = self.polled.remove(&connection).unwrap_or_default();
        let shape = self.shape(stmt.span, None, None);
        let pending = self.constant(PENDING);
        let mut result = None;
        for (index, guard) in self.next_receive(&mut used, &receives) {
            let read = self.read(shape, Stamp::CpuRead, guard, receives[index].entry);
            if let Some(event) = self.skeleton.events.last_mut() {
                event.receive = Some((connection, index));
            }
            let is_pending = self.equal(read, pending);
            self.require(guard, !is_pending);
            result = Some(match result {
                None => read,
                Some(other) => self.select(guard, read, other),
            });
        }
        self.polled.insert(connection, used);
        if let (Some(register), Some(result)) = (register, result) {
            self.registers[register.0] = result;
        }
    }
}
