//! Whether the waits of a program without branches come to an end, by counting completions and receives.
//!
//! Each counter has one thread that takes from it, and all others only add to it. So the order in which
//! threads run does not matter: where one run ends, all do, under every model.

use std::collections::BTreeMap;

use lang::program::{Connection, NodeId, Peer, Program, Stmt, StmtKind, ThreadId, Towards, WorkId};

/// Whether a program always ends. `None` if its text does not show it: it has branches, loops, calls of
/// libraries, polls of several queue pairs, which take from one or from another, or polls of a queue pair
/// that threads share.
pub fn always_ends(program: &Program) -> Option<bool> {
    let is_counted = |stmt: &Stmt| match &stmt.kind {
        StmtKind::Poll(pairs) => matches!(pairs.as_slice(), [one] if !one.is_shared()),
        kind => !matches!(
            kind,
            StmtKind::If { .. } | StmtKind::Loop(_) | StmtKind::Call(_) | StmtKind::Rma(_)
        ),
    };
    if !program.threads.iter().all(|thread| thread.body.iter().all(is_counted)) {
        return None;
    }
    let mut run = Run::new(program);
    while (0..program.threads.len()).any(|thread| run.step(thread)) {}
    let mut threads = program.threads.iter().zip(&run.next);
    Some(threads.all(|(thread, next)| *next == thread.body.len()))
}

/// An operation on a queue pair, in the order in which they were posted.
struct Posted {
    is_message: bool,
    is_signaled: bool,
    id: Option<WorkId>,
}

struct Run<'p> {
    program: &'p Program,
    /// By thread, the index of the statement that comes next.
    next: Vec<usize>,
    posted: BTreeMap<Connection, Vec<Posted>>,
    receives: BTreeMap<Connection, usize>,
    polled: BTreeMap<Connection, usize>,
    receives_polled: BTreeMap<Connection, usize>,
}

impl<'p> Run<'p> {
    fn new(program: &'p Program) -> Self {
        Self {
            program,
            next: vec![0; program.threads.len()],
            posted: BTreeMap::new(),
            receives: BTreeMap::new(),
            polled: BTreeMap::new(),
            receives_polled: BTreeMap::new(),
        }
    }

    /// Runs the next statement of a thread, if there is one and it does not wait.
    fn step(&mut self, thread: usize) -> bool {
        let of = &self.program.threads[thread];
        let Some(stmt) = of.body.get(self.next[thread]) else { return false };
        let id = ThreadId(thread);
        if !self.passes(stmt, id, of.node) {
            return false;
        }
        if let Some(towards) = self.program.towards(&stmt.kind) {
            let posted = Posted {
                is_message: matches!(stmt.kind, StmtKind::Message { .. }),
                is_signaled: !stmt.unsignaled,
                id: stmt.kind.work_id(),
            };
            self.posted.entry(connection(id, towards)).or_default().push(posted);
        }
        self.next[thread] += 1;
        true
    }

    /// Whether a statement does not wait now; what it takes is taken.
    fn passes(&mut self, stmt: &Stmt, thread: ThreadId, node: NodeId) -> bool {
        match &stmt.kind {
            StmtKind::Receive { from, .. } => {
                *self.receives.entry((*from, node)).or_default() += 1;
                true
            }
            StmtKind::PollReceive { from, .. } => {
                let all = self.complete(&(*from, node));
                let messages = all.iter().filter(|one| one.is_message).count();
                take(&mut self.receives_polled, (*from, node), messages)
            }
            StmtKind::Poll(pairs) => pairs.iter().any(|towards| {
                let at = connection(thread, *towards);
                let signaled = self.complete(&at).iter().filter(|one| one.is_signaled).count();
                take(&mut self.polled, at, signaled)
            }),
            StmtKind::Wait(id) => self.of_thread(thread).all(|(at, posted)| {
                posted[self.complete(at).len()..].iter().all(|one| one.id != Some(*id))
            }),
            StmtKind::GlobalFence(nodes) => self.of_thread(thread).all(|(at, posted)| {
                !nodes.contains(&at.1) || self.complete(at).len() == posted.len()
            }),
            _ => true,
        }
    }

    fn of_thread(&self, thread: ThreadId) -> impl Iterator<Item = (&Connection, &Vec<Posted>)> {
        self.posted.iter().filter(move |((peer, _), _)| peer.thread == thread)
    }

    /// What is complete of a queue pair: all before the first message that finds no receive.
    fn complete(&self, at: &Connection) -> &[Posted] {
        let posted = self.posted.get(at).map_or(&[][..], Vec::as_slice);
        let receives = self.receives.get(at).copied().unwrap_or_default();
        let messages = posted.iter().enumerate().filter(|(_, one)| one.is_message);
        let first_without = messages.map(|(index, _)| index).nth(receives);
        &posted[..first_without.unwrap_or(posted.len())]
    }
}

fn connection(thread: ThreadId, towards: Towards) -> Connection {
    (Peer { thread, queue_pair: towards.queue_pair }, towards.node)
}

/// Takes one of a number of completions, if one is left.
fn take(taken: &mut BTreeMap<Connection, usize>, at: Connection, of: usize) -> bool {
    let taken = taken.entry(at).or_default();
    let is_left = *taken < of;
    *taken += usize::from(is_left);
    is_left
}
