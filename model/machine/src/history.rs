//! Histories: which calls of a program return before others begin.
//!
//! A thread tells others that it has returned from a call by a word, its clock: right behind each call, it
//! counts the call there, by a CPU write like any other. Right before the first step of a call, the clocks of
//! all other threads are read, of other nodes too, which no program can do. So a call is before another if
//! its thread could have told the other's, on the fastest of ways: whatever else a thread tells behind a call
//! leaves it behind the clock's write, and arrives later.
//!
//! The clocks touch nothing that the program touches. So the outcomes are those of the program, each with
//! what its calls have read. Clocks may be read too early, and then two calls seem to overlap though one
//! ended first; but of each execution there is a run in which they are read at the last moment.

use std::ops::ControlFlow;

use compiler::code::CompileError;
use lang::Test;
use lang::outcome::{Observable, Observed, Outcome};
use lang::program::{
    Expr, Location, LocationId, Origin, Register, RegisterId, Stmt, StmtKind, ThreadId,
};
use lang::source::Span;

use super::exploration::Exploration;
use super::explore::Effort;
use super::fault::FaultSet;
use super::limits::Limits;
use super::progress::{Stuck, progress_of};
use super::rules::{Machine, Variant};
use super::witness::{Witness, witness_of};

/// A program whose calls are timed, on a machine.
pub struct Histories {
    pub(super) test: Test,
    pub(super) machine: Machine,
    /// What each call has read, thread by thread and call by call.
    pub calls: Vec<Vec<Timed>>,
}

/// A call: which registers have what it read when it began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timed {
    /// The statement that it comes from.
    pub span: Span,
    /// For other threads: the register that has how many of their calls had returned.
    pub after: Vec<(ThreadId, RegisterId)>,
}

impl Histories {
    /// The histories of a test. All statements of one place in the text are one call; the test has no others.
    ///
    /// # Errors
    /// Fails if a statement has no operational meaning in this variant.
    pub fn of(test: &Test, variant: Variant) -> Result<Self, CompileError> {
        let mut test = test.clone();
        // Services make no calls.
        let threads = test.program.own_threads();
        let is_call = |stmt: &Stmt| !stmt.span.is_nowhere();
        let has_calls: Vec<bool> =
            test.program.threads.iter().map(|thread| thread.body.iter().any(is_call)).collect();
        let clock = |thread: usize| Location {
            name: format!("clock {}", thread + 1),
            node: test.program.threads[thread].node,
            initial: 0,
            origin: Origin::Unnamed,
            span: Span::default(),
        };
        let first = test.program.locations.len();
        let added: Vec<Location> = (0..threads).map(clock).collect();
        test.program.locations.extend(added);
        let clocks: Vec<LocationId> = (first..first + threads).map(LocationId).collect();
        let mut calls = Vec::new();
        for thread in 0..threads {
            let others = (0..threads).filter(|other| *other != thread && has_calls[*other]);
            let others: Vec<usize> = others.collect();
            calls.push(timed(&mut test, ThreadId(thread), &others, &clocks));
        }
        for (_, register) in calls.iter().flatten().flat_map(|call: &Timed| &call.after) {
            let name = format!("clock read {}", register.0);
            test.observables.push(Observable::new(name, Observed::Register(*register)));
        }
        let mut machine = Machine::new(&test, variant, FaultSet::NONE)?;
        machine.clocks = clocks;
        Ok(Self { test, machine, calls })
    }

    /// What outcomes show: first what the program shows, then what calls read.
    pub fn observables(&self) -> &[Observable] {
        &self.test.observables
    }

    /// Explores all outcomes, and all ways to be stuck, as [`super::progress()`] does.
    pub fn explore(
        &self,
        limits: Limits,
        tell: impl FnMut(&Exploration, Stuck) -> ControlFlow<()>,
    ) -> Exploration {
        progress_of(&self.test, &self.machine, Effort::Full, limits, tell)
    }

    /// An execution with an outcome, step by step.
    pub fn witness(&self, outcome: &Outcome, limits: Limits) -> Witness {
        witness_of(&self.test, &self.machine, outcome, limits, true)
    }
}

/// Times the calls of a thread.
fn timed(test: &mut Test, thread: ThreadId, others: &[usize], clocks: &[LocationId]) -> Vec<Timed> {
    let mut body = std::mem::take(&mut test.program.threads[thread.0].body);
    // What ends services comes last, and is not a call.
    let last = body.iter().rposition(|stmt| !stmt.span.is_nowhere());
    let rest = body.split_off(last.map_or(0, |last| last + 1));
    let mut calls: Vec<Timed> = Vec::new();
    let mut out = Vec::new();
    let step = |span: Span, kind: StmtKind| Stmt { kind, unsignaled: false, span };
    let end = |calls: &[Timed], out: &mut Vec<Stmt>| {
        if let Some(last) = calls.last() {
            let (location, value) = (clocks[thread.0], Expr::Constant(calls.len() as u64));
            out.push(step(last.span, StmtKind::Write { location, value }));
        }
    };
    for stmt in body {
        if calls.last().is_none_or(|call| call.span != stmt.span) {
            end(&calls, &mut out);
            let mut after = Vec::new();
            for other in others {
                let register = RegisterId(test.program.registers.len());
                test.program.registers.push(Register { name: None, thread });
                let location = clocks[*other];
                out.push(step(stmt.span, StmtKind::Read { register, location }));
                after.push((ThreadId(*other), register));
            }
            calls.push(Timed { span: stmt.span, after });
        }
        out.push(stmt);
    }
    end(&calls, &mut out);
    out.extend(rest);
    test.program.threads[thread.0].body = out;
    calls
}
