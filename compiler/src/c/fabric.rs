//! Generates C over MPI's one-sided communication or OpenSHMEM: a node is a process, and a thread's requests
//! are calls.
//!
//! The generated parts are those of [`super::generate`], with other names. The fixed parts are in `fabric/`:
//! `statements.c` has what both have in common, `mpi.c` and `shmem.c` the calls that statements are,
//! `rounds.c` and `main.c` what is around them. What does not map is refused, with the reason.

use std::fmt::Write;

use lang::Test;
use lang::diagnostic::{Code, Diagnostic};
use lang::program::{LocationId, Program, PutSource, Stmt, StmtKind, each};
use lang::source::{Source, Span};

use super::names::{Names, string};
use super::{Calls, Generator, Verdicts};
use crate::code::CompileError;
use crate::plan::Plan;

/// What the program is written over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fabric {
    /// MPI-3's one-sided communication.
    Mpi,
    /// OpenSHMEM 1.4.
    Shmem,
}

const CALLS: Calls = Calls {
    stride: 1,
    put: "put",
    put_inline: "put",
    get: "get",
    compare_and_swap: "compare_and_swap",
    fetch_and_add: "fetch_and_add",
    remote_fence: "remote_fence",
    is_tso: false,
};

/// MPI has nothing less that orders, and `shmem_fence` does not order gets.
const FLUSHING: Calls = Calls { remote_fence: "flush", ..CALLS };

impl Fabric {
    fn name(self) -> &'static str {
        match self {
            Self::Mpi => "MPI",
            Self::Shmem => "OpenSHMEM",
        }
    }

    /// Header, launcher and compiler.
    fn tools(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Mpi => ("mpi.h", "mpirun", "mpicc"),
            Self::Shmem => ("shmem.h", "oshrun", "oshcc"),
        }
    }
}

/// The plan of a test for a fabric.
///
/// # Errors
/// The first statement that is nothing there, and why.
pub fn plan(fabric: Fabric, test: &Test) -> Result<Plan, Box<Diagnostic>> {
    if let Some(span) = test.program.crash {
        return Err(Box::new(CompileError::Crash(span).diagnostic()));
    }
    match unfit(fabric, &test.program) {
        Some(found) => Err(Box::new(found)),
        None => Plan::for_fabric(test).map_err(|error| Box::new(error.diagnostic())),
    }
}

/// Generates the program of a plan from [`plan`]. The text is deterministic and compiles without warnings.
pub fn generate(
    fabric: Fabric,
    plan: &Plan,
    test: &Test,
    source: &Source,
    verdicts: Option<&Verdicts>,
) -> String {
    let mut names = Names::new(plan);
    // A process has one connection to each node, and none of its own.
    names.queue_pairs =
        plan.code.queue_pairs.iter().map(|pair| format!("NODE_{}", pair.node.0)).collect();
    let mut generator = Generator { plan, test, source, names, calls: &CALLS };
    let mut out = generator.fabric_head(fabric);
    out.push_str(include_str!("fabric/types.c"));
    out.push_str(include_str!("common.c"));
    out.push_str(include_str!("fabric/statements.c"));
    out.push_str(match fabric {
        Fabric::Mpi => include_str!("fabric/mpi.c"),
        Fabric::Shmem => include_str!("fabric/shmem.c"),
    });
    let _ = write!(out, "\n/* ---- The test {} */\n\n", "-".repeat(97));
    out.push_str(&generator.words());
    out.push_str(&generator.nodes());
    for (index, thread) in plan.program.threads.iter().enumerate() {
        let flushes = fabric == Fabric::Mpi || has_gets(&thread.body);
        generator.calls = if flushes { &FLUSHING } else { &CALLS };
        out.push_str(&generator.thread(index));
    }
    out.push_str(&generator.tables());
    out.push_str(&generator.claims(verdicts));
    out.push_str(include_str!("fabric/rounds.c"));
    out.push_str(include_str!("histogram.c"));
    out.push_str(include_str!("fabric/main.c"));
    out
}

impl Generator<'_> {
    fn fabric_head(&self, fabric: Fabric) -> String {
        let (plan, (header, launcher, compiler)) = (self.plan, fabric.tools());
        let nodes = plan.nodes.len();
        let build = format!("{compiler} -O2 FILE.c -o FILE");
        let mut out = self.opening(&build, &format!("{launcher} -n {nodes} ./FILE"));
        out.push_str(&self.definitions(&[
            ("LAUNCHER", string(launcher), ""),
            ("THREADS", plan.code.threads.len().to_string(), "one at each node"),
        ]));
        let _ = writeln!(out, "#define _GNU_SOURCE\n#include <{header}>\n");
        out
    }

    /// The nodes as C counts them, and the work ids.
    fn nodes(&self) -> String {
        let nodes = self.plan.nodes.iter().map(|node| format!("NODE_{}", node.node.0));
        let mut out = String::from("/* Nodes, as ranks. */\n");
        let _ = writeln!(out, "enum {{ {} }};\n", nodes.collect::<Vec<_>>().join(", "));
        out + &self.work_ids()
    }
}

fn has_gets(body: &[Stmt]) -> bool {
    let mut found = false;
    each(body, &mut |statement| found |= matches!(statement.kind, StmtKind::Get { .. }));
    found
}

/// The first thing of a program that the fabric has nothing for.
fn unfit(fabric: Fabric, program: &Program) -> Option<Diagnostic> {
    let name = fabric.name();
    for (index, thread) in program.threads.iter().enumerate() {
        if let Some(first) = program.threads[..index].iter().find(|one| one.node == thread.node) {
            let place = |body: &[Stmt]| body.first().map_or_else(Span::default, |one| one.span);
            let node = thread.node.0;
            let message = format!("a node is one process of {name}, and this one has two threads");
            return Some(
                Diagnostic::error(Code::UnsupportedStatement, place(&thread.body), message)
                    .label(format!("the second thread of node {node}"))
                    .related(place(&first.body), "the first")
                    .help("a flush completes what all threads of a process have under way, so that threads \
                           would wait for each other's operations"),
            );
        }
        let mut found = None;
        each(&thread.body, &mut |statement| {
            if found.is_none() {
                found = reason(&statement.kind, statement.unsignaled)
                    .map(|(what, why)| (statement.span, what, why));
            }
        });
        if let Some((span, what, why)) = found {
            let message = format!("{what} has no counterpart in {name}");
            return Some(Diagnostic::error(Code::UnsupportedStatement, span, message).help(why));
        }
    }
    if fabric == Fabric::Mpi { mixed_atomics(program) } else { None }
}

/// What a statement is that has no counterpart in the fabric, and why.
fn reason(kind: &StmtKind, unsignaled: bool) -> Option<(&'static str, &'static str)> {
    let parts = kind.parts();
    let polled = parts.queue_pairs.iter().map(|towards| towards.queue_pair);
    let queue_pair = parts.remote.map(|(_, number)| number).into_iter().chain(polled).max();
    if unsignaled {
        let why = "operations have no completions of their own there: a flush is about all of them; write it \
                   without `unsignaled`";
        return Some(("`unsignaled`", why));
    }
    if queue_pair.is_some_and(|number| number > 0) {
        let why = "nothing is between a process and its target but the target; use queue pair 0";
        return Some(("a second queue pair", why));
    }
    if is_one_word(kind) {
        let why = "it writes the word that it reads, so the outcome is undefined there; use a \
                   second word";
        return Some(("a request with one word as source and target", why));
    }
    match kind {
        StmtKind::Poll(pairs) if pairs.len() > 1 => {
            let why = "a flush is about all operations to a target, and none takes the first completion of \
                       several; poll each by itself";
            Some(("a poll of several queue pairs", why))
        }
        StmtKind::Cas { .. } | StmtKind::Faa { .. } | StmtKind::Exchange { .. } => {
            let why = "its atomics are not atomic with instructions of the CPU; `RCAS` and `RFAA` on a location \
                       of the thread's own node are the atomics of the process's own memory";
            Some(("a read-modify-write of the CPU", why))
        }
        StmtKind::Message { .. } | StmtKind::Receive { .. } | StmtKind::PollReceive { .. } => {
            let why = "one-sided operations complete no receives; send a put, and wait for its value in a loop";
            Some(("a message or a receive", why))
        }
        StmtKind::Flush { is_persistent: true, .. } => {
            let why = "it has no such request, and its flush does not reach persistent memory";
            Some(("a flush to persistent memory", why))
        }
        StmtKind::AtomicWrite { .. } | StmtKind::Flush { .. } => {
            let why = "it has no such request; write a put, and `Rfence(2)` for a flush";
            Some(("a flush or an atomic write", why))
        }
        StmtKind::Words(_) => {
            let why = "only operations of one word are generated; write a put or get for each word";
            Some(("a request of several words", why))
        }
        StmtKind::Rma(_) => {
            let why = "only the dialect of RDMA is generated: write `put` as `x^2 := y`, and `flush(2)` as `Rfence(2)`";
            Some(("a statement of coreRMA", why))
        }
        StmtKind::Assign { .. }
        | StmtKind::Read { .. }
        | StmtKind::Write { .. }
        | StmtKind::Fence
        | StmtKind::Put { .. }
        | StmtKind::Get { .. }
        | StmtKind::Rcas { .. }
        | StmtKind::Rfaa { .. }
        | StmtKind::RemoteFence(_)
        | StmtKind::GlobalFence(_)
        | StmtKind::Poll(_)
        | StmtKind::Wait(_)
        | StmtKind::Call(_)
        | StmtKind::If { .. }
        | StmtKind::Loop(_)
        | StmtKind::Break
        | StmtKind::Assume(_)
        | StmtKind::OutOfRange { .. } => None,
    }
}

/// Whether a request moves a word to itself, or puts its result where it works.
fn is_one_word(kind: &StmtKind) -> bool {
    match kind {
        StmtKind::Put { target, source: PutSource::Location(source), .. }
        | StmtKind::Get { target, source, .. } => target == source,
        StmtKind::Rcas { result, target, .. } | StmtKind::Rfaa { result, target, .. } => {
            result == target
        }
        _ => false,
    }
}

/// MPI promises atomicity of accumulates on one location only if they are of one operation (the window's
/// `accumulate_ops`, whose default is `same_op_no_op`).
fn mixed_atomics(program: &Program) -> Option<Diagnostic> {
    let mut swaps: Vec<(LocationId, Span)> = Vec::new();
    let mut sums = swaps.clone();
    for thread in &program.threads {
        each(&thread.body, &mut |statement| match &statement.kind {
            StmtKind::Rcas { target, .. } => swaps.push((*target, statement.span)),
            StmtKind::Rfaa { target, .. } => sums.push((*target, statement.span)),
            _ => {}
        });
    }
    let pair = sums.iter().find_map(|sum| Some((sum, swaps.iter().find(|swap| swap.0 == sum.0)?)));
    pair.map(|((location, sum), (_, swap))| {
        let name = &program.locations[location.0].name;
        let message = format!("`{name}` is the target of an RCAS and of an RFAA");
        Diagnostic::error(Code::UnsupportedStatement, *sum, message)
            .label("MPI_Fetch_and_op with MPI_SUM")
            .related(*swap, "MPI_Compare_and_swap")
            .help("MPI promises nothing of concurrent accumulates of different operations on one location \
                   (accumulate_ops is same_op_no_op); use one of the two")
    })
}

#[cfg(test)]
mod tests;
