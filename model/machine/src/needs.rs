//! What a program must contain for a fault to have an effect.

use std::collections::BTreeSet;

use lang::Test;
use lang::program::{Program, Stmt, StmtKind, ThreadId, each};

use super::fault::Fault;
use super::rules::in_requests;

/// The kinds of statements that faults need.
#[derive(Clone, Copy, Debug)]
enum Needed {
    Put,
    /// A put, a message or a flush: its completion waits for no result.
    WithoutResult,
    /// A put or a remote RMW: a statement that writes at its target.
    RemoteWrite,
    /// Everything that goes through a queue pair, fences included.
    Operation,
    /// A get or a remote RMW: a statement that brings back a result.
    Result,
    Get,
    Rmw,
    /// A poll or wait.
    Completion,
    RemoteFence,
    CpuWrite,
    CpuFence,
    CpuRmw,
    Persist,
}

use Needed::{
    Completion, CpuFence, CpuRmw, CpuWrite, Get, Operation, Persist, Put, RemoteFence, RemoteWrite,
    Result, Rmw, WithoutResult,
};

/// All kinds that a statement is of.
fn kinds(kind: &StmtKind) -> &'static [Needed] {
    use StmtKind as S;
    match kind {
        // The machine moves messages by the rules of puts.
        S::Put { .. } | S::AtomicWrite { .. } | S::Message { .. } => {
            &[Put, WithoutResult, RemoteWrite, Operation]
        }
        S::Words(words) if words.is_put => &[Put, WithoutResult, RemoteWrite, Operation],
        S::Get { .. } | S::Words(_) => &[Operation, Result, Get],
        S::Rcas { .. } | S::Rfaa { .. } => &[RemoteWrite, Operation, Result, Rmw],
        S::Flush { is_persistent: true, .. } => &[WithoutResult, Operation, Get, Persist],
        S::Flush { .. } => &[WithoutResult, Operation, Get],
        S::RemoteFence(_) => &[Operation, RemoteFence],
        // Posting it waits for the CPU's writes, as posting a request does.
        S::Receive { .. } => &[Operation],
        S::Poll(_) | S::Wait(_) | S::PollReceive { .. } => &[Completion],
        S::Write { .. } => &[CpuWrite],
        S::Fence => &[CpuFence],
        S::Cas { .. } | S::Faa { .. } | S::Exchange { .. } => &[CpuRmw],
        _ => &[],
    }
}

impl Fault {
    /// The kinds of statements that one thread must contain, with the number of each. It must be one thread,
    /// because queue pairs and store buffers belong to a thread. Statements in loops count twice.
    fn needs(self) -> &'static [(Needed, usize)] {
        match self {
            Self::PutsReordered | Self::PutReadsReordered => &[(Put, 2)],
            Self::PutReadsEarly => &[(Put, 1)],
            Self::PutOvertakesRmw => &[(Put, 1), (Rmw, 1)],
            Self::CompletionAtIssue => &[(Put, 1), (Completion, 1)],
            Self::CompletionsReordered => &[(WithoutResult, 1), (Operation, 2), (Completion, 1)],
            Self::RemoteBufferNotFifo => &[(RemoteWrite, 2)],
            Self::LocalBufferNotFifo => &[(Result, 2)],
            Self::GetsDoNotFlush => &[(RemoteWrite, 1), (Get, 1)],
            Self::GetOvertakesPutRead => &[(Put, 1), (Get, 1)],
            Self::ReadOvertakesLocalWrite => &[(Put, 1), (Result, 1)],
            Self::PollEarly => &[(Result, 1), (Completion, 1)],
            Self::RfenceIgnored => &[(RemoteFence, 1)],
            Self::RmwNotExclusive => &[(Rmw, 1)],
            Self::RmwDoesNotFlush => &[(Rmw, 1), (RemoteWrite, 2)],
            Self::PersistKeepsNothing => &[(RemoteWrite, 1), (Persist, 1)],
            Self::StoreBufferNotFifo => &[(CpuWrite, 2)],
            Self::IssueOvertakesWrites => &[(CpuWrite, 1), (Operation, 1)],
            Self::FenceIgnored => &[(CpuFence, 1)],
            Self::CasDoesNotDrain => &[(CpuRmw, 1)],
        }
    }

    /// Whether a program has what the fault needs, as the machine with queues runs it. If not, the fault
    /// changes none of its outcomes there.
    pub fn concerns(self, contents: &Contents) -> bool {
        // What cannot be translated cannot be run either, and is reported where it is tried.
        let Some(known) = &contents.0 else { return true };
        if self == Self::PersistKeepsNothing && !known.has_crash {
            return false;
        }
        if self == Self::RmwNotExclusive {
            // Remote RMWs of one queue pair wait for each other even without the lock.
            return known.queue_pairs_of_rmws >= 2;
        }
        let is_enough = |counts: &Counts| {
            self.needs().iter().all(|(needed, number)| counts[*needed as usize] >= *number)
        };
        // What threads post on a queue pair that they share is on one queue pair.
        is_enough(&known.all)
            && (known.threads.iter().any(is_enough) || known.has_shared_queue_pair)
    }

    /// Whether the fault is in the CPU alone, so that no NIC can have it.
    pub fn is_of_cpu(self) -> bool {
        matches!(self, Self::StoreBufferNotFifo | Self::FenceIgnored | Self::CasDoesNotDrain)
    }
}

/// What a program has of all that some fault needs.
#[derive(Debug)]
pub struct Contents(Option<Known>);

#[derive(Debug)]
struct Known {
    threads: Vec<Counts>,
    /// Of all threads together.
    all: Counts,
    has_crash: bool,
    has_shared_queue_pair: bool,
    queue_pairs_of_rmws: usize,
}

/// How many statements there are of each kind, by the number of [`Needed`].
type Counts = [usize; KINDS];
/// The last kind is the one with the largest number.
const KINDS: usize = Persist as usize + 1;

impl Contents {
    /// What a test without library calls has.
    pub fn of(test: &Test) -> Self {
        let Ok(test) = in_requests(test) else { return Self(None) };
        let program = &test.program;
        let (mut threads, mut all) = (Vec::new(), [0; KINDS]);
        for thread in &program.threads {
            let mut counts = [0; KINDS];
            count(&thread.body, 1, &mut counts);
            (0..KINDS).for_each(|kind| all[kind] += counts[kind]);
            threads.push(counts);
        }
        Self(Some(Known {
            threads,
            all,
            has_crash: program.crash.is_some(),
            has_shared_queue_pair: program.shared_queue_pair().is_some(),
            queue_pairs_of_rmws: queue_pairs_of_rmws(program),
        }))
    }
}

/// How many queue pairs have remote RMWs. Those of one thread to different nodes count as one.
fn queue_pairs_of_rmws(program: &Program) -> usize {
    let mut found = BTreeSet::new();
    for (index, thread) in program.threads.iter().enumerate() {
        each(&thread.body, &mut |stmt| {
            if let StmtKind::Rcas { queue_pair, .. } | StmtKind::Rfaa { queue_pair, .. } =
                &stmt.kind
            {
                let owner =
                    program.towards(&stmt.kind).map(|to| program.owner(ThreadId(index), to));
                found.insert((owner, *queue_pair));
            }
        });
    }
    found.len()
}

/// Counts statements, each this many times. Those in loops count twice as often.
fn count(block: &[Stmt], times: usize, counts: &mut Counts) {
    for stmt in block {
        match &stmt.kind {
            StmtKind::If { then, otherwise, .. } => {
                count(then, times, counts);
                count(otherwise, times, counts);
            }
            StmtKind::Loop(body) => count(body, 2 * times, counts),
            kind => {
                // Its data and the completion of its receive are two writes.
                let writes = 1 + usize::from(matches!(kind, StmtKind::Message { .. }));
                for needed in kinds(kind) {
                    counts[*needed as usize] += writes * times;
                }
            }
        }
    }
}
