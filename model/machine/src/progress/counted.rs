//! Whether the waits of a program without branches come to an end, by counting completions and receives.
//!
//! Each counter of a thread's own queue pair has one thread that takes from it, and all others only add to
//! it. So the order in which threads run does not matter: where one run ends, all do, under every model.
//! Polls of several queue pairs, and of those that threads share, make a difference: all ways are tried.

use std::collections::{BTreeMap, BTreeSet};

use lang::limits;
use lang::program::{NodeId, Owner, Peer, Program, Stmt, StmtKind, ThreadId, Towards, WorkId};

/// Of programs with choices, how many states of counters are looked at.
const STATES: usize = 20_000;

/// Whether a program always ends. `None` if its text does not show it: it has branches, loops or calls of
/// libraries, too many orders in which polls can take completions, or assumptions where it waits. Executions
/// that fail those do not count, and these may be the ones that wait.
pub fn always_ends(program: &Program) -> Option<bool> {
    let is_counted = |stmt: &Stmt| {
        !matches!(
            stmt.kind,
            StmtKind::If { .. } | StmtKind::Loop(_) | StmtKind::Call(_) | StmtKind::Rma(_)
        )
    };
    let stmts = || program.threads.iter().flat_map(|thread| &thread.body);
    if !stmts().all(is_counted) {
        return None;
    }
    let excludes =
        |stmt: &Stmt| matches!(stmt.kind, StmtKind::Assume(_) | StmtKind::OutOfRange { .. });
    let waits = || (!stmts().any(excludes)).then_some(false);
    let threads = 0..program.threads.len();
    let mut seen = BTreeSet::new();
    let mut open = vec![Run::new(program)];
    while let Some(mut run) = open.pop() {
        limits::look();
        while threads.clone().any(|thread| !run.competes(thread) && run.step(thread, 0)) {}
        if !seen.insert((run.next.clone(), run.polled.clone())) {
            continue;
        }
        if seen.len() > STATES {
            return None;
        }
        let mut is_last = true;
        for thread in threads.clone() {
            for choice in 0..run.polls(thread).len() {
                let mut next = run.clone();
                if next.step(thread, choice) {
                    open.push(next);
                    is_last = false;
                }
            }
        }
        if is_last && !run.is_over() {
            return waits();
        }
    }
    Some(true)
}

/// An operation on a queue pair, in the order in which they were posted.
#[derive(Clone)]
struct Posted {
    is_message: bool,
    is_signaled: bool,
    id: Option<WorkId>,
    thread: ThreadId,
}

/// A queue pair, and to which node.
type Pair = (Owner, Towards);

#[derive(Clone)]
struct Run<'p> {
    program: &'p Program,
    /// By thread, the index of the statement that comes next.
    next: Vec<usize>,
    posted: BTreeMap<Pair, Vec<Posted>>,
    receives: BTreeMap<Pair, usize>,
    polled: BTreeMap<Pair, usize>,
    receives_polled: BTreeMap<Pair, usize>,
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

    fn next_of(&self, thread: usize) -> Option<&'p Stmt> {
        self.program.threads[thread].body.get(self.next[thread])
    }

    /// The queue pairs of which a thread's next statement polls one, if it is a poll.
    fn polls(&self, thread: usize) -> &'p [Towards] {
        match self.next_of(thread).map(|stmt| &stmt.kind) {
            Some(StmtKind::Poll(pairs)) => pairs,
            _ => &[],
        }
    }

    /// Whether it matters when a thread's next statement runs, or in which way: a poll of several queue pairs
    /// takes from one of them, and one of a queue pair that threads share leaves nothing for another thread.
    fn competes(&self, thread: usize) -> bool {
        let pairs = self.polls(thread);
        pairs.len() > 1 || pairs.iter().any(|one| one.is_shared())
    }

    /// Runs the next statement of a thread in one of its ways, if it does not wait.
    fn step(&mut self, thread: usize, choice: usize) -> bool {
        let Some(stmt) = self.next_of(thread) else { return false };
        let id = ThreadId(thread);
        if !self.passes(stmt, id, choice) {
            return false;
        }
        if let Some(towards) = self.program.towards(&stmt.kind) {
            let posted = Posted {
                is_message: matches!(stmt.kind, StmtKind::Message { .. }),
                is_signaled: !stmt.unsignaled,
                id: stmt.kind.work_id(),
                thread: id,
            };
            self.posted.entry(self.pair(id, towards)).or_default().push(posted);
        }
        self.next[thread] += 1;
        true
    }

    /// Whether a statement does not wait now; what it takes is taken.
    fn passes(&mut self, stmt: &Stmt, thread: ThreadId, choice: usize) -> bool {
        let node = self.program.threads[thread.0].node;
        match &stmt.kind {
            StmtKind::Receive { from, .. } => {
                *self.receives.entry(arriving(*from, node)).or_default() += 1;
                true
            }
            StmtKind::PollReceive { from, .. } => {
                let all = self.complete(&arriving(*from, node));
                let messages = all.iter().filter(|one| one.is_message).count();
                take(&mut self.receives_polled, arriving(*from, node), messages)
            }
            StmtKind::Poll(pairs) => pairs.get(choice).is_some_and(|towards| {
                let at = self.pair(thread, *towards);
                let signaled = self.complete(&at).iter().filter(|one| one.is_signaled).count();
                take(&mut self.polled, at, signaled)
            }),
            StmtKind::Wait(id) => self.posted.iter().all(|(at, posted)| {
                let is_it = |one: &Posted| one.thread == thread && one.id == Some(*id);
                !posted[self.complete(at).len()..].iter().any(is_it)
            }),
            StmtKind::GlobalFence(nodes) => self.posted.iter().all(|(at, posted)| {
                let is_first = at.1.queue_pair == 0 && nodes.contains(&at.1.node);
                let is_it = |one: &Posted| one.thread == thread && is_first;
                !posted[self.complete(at).len()..].iter().any(is_it)
            }),
            _ => true,
        }
    }

    /// Whether all threads are done and all operations are complete.
    fn is_over(&self) -> bool {
        (0..self.next.len()).all(|thread| self.next_of(thread).is_none())
            && self.posted.iter().all(|(at, posted)| self.complete(at).len() == posted.len())
    }

    fn pair(&self, thread: ThreadId, towards: Towards) -> Pair {
        (self.program.owner(thread, towards), towards)
    }

    /// What is complete of a queue pair: all before the first message that finds no receive.
    fn complete(&self, at: &Pair) -> &[Posted] {
        let posted = self.posted.get(at).map_or(&[][..], Vec::as_slice);
        let receives = self.receives.get(at).copied().unwrap_or_default();
        let messages = posted.iter().enumerate().filter(|(_, one)| one.is_message);
        let first_without = messages.map(|(index, _)| index).nth(receives);
        &posted[..first_without.unwrap_or(posted.len())]
    }
}

/// The queue pair on which messages from a thread come to a node.
fn arriving(from: Peer, node: NodeId) -> Pair {
    (Owner::Thread(from.thread), Towards { node, queue_pair: from.queue_pair })
}

/// Takes one of a number of completions, if one is left.
fn take(taken: &mut BTreeMap<Pair, usize>, at: Pair, of: usize) -> bool {
    let is_left = taken.get(&at).copied().unwrap_or_default() < of;
    if is_left {
        *taken.entry(at).or_default() += 1;
    }
    is_left
}
