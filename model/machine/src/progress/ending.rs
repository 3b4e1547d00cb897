//! Decides whether every execution of a program ends, and where threads wait if they wait forever.

use std::collections::{BTreeMap, BTreeSet};

use compiler::code::{CompileError, Instruction, Operation, ThreadCode};
use lang::Test;
use lang::program::{Program, Stmt, StmtKind};
use lang::source::Span;

use super::super::exploration::Exploration;
use super::super::explore::{Effort, Explorer, explore};
use super::super::fault::FaultSet;
use super::super::footprint::Footprints;
use super::super::limits::Limits;
use super::super::queue_pair::has_receive;
use super::super::rules::{Agent, Machine, Variant, in_requests};
use super::super::state::State;
use super::{Graph, counted, state, stuck_states};

/// Something that never completes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// A statement, at which a thread waits.
    Thread(Span),
    /// The first message of a thread that waits for a receive. The thread itself is done.
    Message(Span),
    /// The same, or another message of the same queue pair: branches hide which of them was sent.
    SomeMessage(Span),
}

impl Place {
    /// The statement.
    pub fn at(self) -> Span {
        let (Self::Thread(at) | Self::Message(at) | Self::SomeMessage(at)) = self;
        at
    }
}

/// By thread, what it never completes; `None` if that is nothing.
pub type Places = Vec<Option<Place>>;

/// Whether every execution can end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Ending {
    /// From each state that the program reaches, steps lead to an end.
    Always,
    /// No end can be reached from some states. The set has ways to wait forever; it is empty if a limit was
    /// reached before one was found.
    NotAlways(BTreeSet<Places>),
    /// Not known: a limit was reached.
    #[default]
    Unknown,
}

/// The most states that are explored to find where threads wait forever.
const STATES: u64 = 50_000;

/// Whether a program always ends, as far as its text shows; `None` if that does not decide it.
pub fn always_ends(program: &Program) -> Option<bool> {
    counted::always_ends(program).or_else(|| none_waits(program).then_some(true))
}

/// Whether every execution ends and counts, as far as a look at each statement shows.
pub(in super::super) fn always_counts(program: &Program) -> bool {
    let excludes =
        |stmt: &StmtKind| matches!(stmt, StmtKind::Assume(_) | StmtKind::OutOfRange { .. });
    !has(program, excludes) && none_waits(program)
}

fn none_waits(program: &Program) -> bool {
    !program.threads.iter().any(|thread| may_wait_in(program, &thread.body))
}

/// Whether some statement may wait forever: a loop, or a poll that may come before the operation it polls.
/// All other statements complete. Without branches and assumptions, this is exact.
pub fn may_wait(program: &Program) -> bool {
    always_ends(program) != Some(true)
}

/// Whether some statement, or a call of a library, may wait forever, as far as the program's text shows.
pub fn never_comes_back(program: &Program) -> bool {
    may_wait(program) || has(program, |stmt| matches!(stmt, StmtKind::Call(_)))
}

/// The reason why a program has no outcome, in words, as far as its text shows. `ends` says that each of its
/// executions is known to end.
pub fn why_nothing(program: &Program, ends: bool) -> &'static str {
    let assumes = has(program, |stmt| matches!(stmt, StmtKind::Assume(_)));
    let indices = has(program, |stmt| matches!(stmt, StmtKind::OutOfRange { .. }));
    match (!ends && never_comes_back(program), assumes, indices) {
        (true, true, _) => "no execution ends and meets its assumptions",
        (true, false, true) => "no execution ends and keeps its indices in range",
        (true, false, false) => "no execution ends",
        (false, true, true) if ends => {
            "each execution fails an `assume` or has an index out of range"
        }
        (false, true, false) if ends => "every execution fails an `assume`",
        (false, false, true) if ends => "in every execution, an index is out of range",
        (false, true, _) => "the model allows no execution that meets its assumptions",
        (false, false, true) => "the model allows no execution that keeps its indices in range",
        (false, false, false) => "the model allows no execution",
    }
}

/// Whether a program has a statement of a kind.
fn has(program: &Program, is_meant: impl Fn(&StmtKind) -> bool) -> bool {
    let mut open: Vec<&Stmt> = program.threads.iter().flat_map(|thread| &thread.body).collect();
    while let Some(stmt) = open.pop() {
        match &stmt.kind {
            kind if is_meant(kind) => return true,
            kind => kind.parts().blocks.into_iter().for_each(|block| open.extend(block)),
        }
    }
    false
}

fn may_wait_in(program: &Program, body: &[Stmt]) -> bool {
    let (mut branches, mut polls) = (false, false);
    // For each queue pair, how many operations are issued and not polled yet.
    let mut sent = BTreeMap::new();
    let mut is_short = false;
    let mut open: Vec<&Stmt> = body.iter().rev().collect();
    while let Some(stmt) = open.pop() {
        let target = match &stmt.kind {
            // A message waits for a receive, and a receive for a message.
            StmtKind::Loop(_) | StmtKind::Message { .. } | StmtKind::PollReceive { .. } => {
                return true;
            }
            StmtKind::If { then, otherwise, .. } => {
                branches = true;
                open.extend(then.iter().chain(otherwise));
                continue;
            }
            StmtKind::Poll(pairs) => {
                polls = true;
                match (pairs.as_slice(), pairs.first().and_then(|one| sent.get_mut(one))) {
                    ([one], Some(left)) if *left > 0 && !one.is_shared() => *left -= 1,
                    // Of several, it may take one that a later poll lacks; and other threads may take from a
                    // shared one.
                    _ => is_short = true,
                }
                continue;
            }
            // A poll never takes the completion of an unsignaled one, which has none.
            _ if stmt.unsignaled => None,
            kind => program.towards(kind),
        };
        if let Some(towards) = target {
            *sent.entry(towards).or_insert(0_usize) += 1;
        }
    }
    is_short || (polls && branches)
}

/// Explores all outcomes of a test, and whether its executions end. For coreRMA, endings are unknown.
///
/// # Errors
/// Fails if a statement has no operational meaning in this variant.
pub fn explore_to_ends(
    test: &Test,
    variant: Variant,
    limits: Limits,
) -> Result<(Exploration, Ending), CompileError> {
    if !may_wait(&test.program) {
        return Ok((explore(test, variant, limits)?, Ending::Always));
    }
    if let Variant::CoreRma(_) = variant {
        return Ok((explore(test, variant, limits)?, Ending::Unknown));
    }
    ends_with(test, variant, (Effort::Full, Effort::Eager), limits)
}

/// Like [`explore_to_ends`], with one effort to find stuck states, and one to follow them.
pub(in super::super) fn ends_with(
    test: &Test,
    variant: Variant,
    (find, follow): (Effort, Effort),
    limits: Limits,
) -> Result<(Exploration, Ending), CompileError> {
    let test = &*in_requests(test)?;
    let machine = Machine::new(test, variant, FaultSet::NONE)?;
    let footprints = Footprints::of(test, &machine);
    let explorer = |effort, limits| {
        let mut explorer = Explorer::new(test, &machine, &footprints, effort, limits);
        explorer.graph = Some(Graph::default());
        explorer
    };
    let mut reduced = explorer(find, limits.clone());
    let stopped = reduced.run();
    let found = reduced.take_found(stopped);
    let roots = stuck_states(&reduced);
    let ending = match (roots.is_empty(), found.complete) {
        (true, true) => Ending::Always,
        (true, false) => Ending::Unknown,
        (false, _) => {
            let limits = Limits { states: limits.states.min(STATES), ..limits };
            Ending::NotAlways(places(&reduced, &roots, explorer(follow, limits)))
        }
    };
    Ok((found, ending))
}

/// Follows some stuck states of a reduced state space, and returns where threads wait.
fn places(reduced: &Explorer<'_>, roots: &[usize], mut all: Explorer<'_>) -> BTreeSet<Places> {
    for root in roots {
        if all.run_from(state(reduced, *root)).is_some() {
            break;
        }
    }
    let Some(graph) = &all.graph else { return BTreeSet::new() };
    let components = graph.innermost(all.seen.len(), all.open());
    components.iter().map(|component| places_in(&all, component)).collect()
}

/// Where each thread is, in a set of states that only lead to each other.
fn places_in(all: &Explorer<'_>, component: &[usize]) -> Places {
    let machine = all.machine;
    let states: Vec<_> = component.iter().map(|number| state(all, *number)).collect();
    let place = |(thread, code): (usize, &ThreadCode)| {
        let goes_round = states.iter().any(|state| machine.slots(state, Agent::Cpu(thread)) != 0);
        let at = states.iter().map(|state| state.threads[thread].pc);
        let (first, last) = (at.clone().min()?, at.max()?);
        if goes_round {
            // Outside of a loop, it has steps left that another thread's loop hides.
            return loop_around(code, first, last).map(Place::Thread);
        }
        let message = || without_receive(code, states.first()?);
        code.spans.get(first).copied().map(Place::Thread).or_else(message)
    };
    machine.code.threads.iter().enumerate().map(place).collect()
}

/// The first message of a thread that is done for which no receive is posted.
fn without_receive(code: &ThreadCode, state: &State) -> Option<Place> {
    let of = |at: usize| match &code.instructions[at] {
        Instruction::Issue { queue_pair, operation: Operation::Message { .. }, .. } => {
            Some(queue_pair.0)
        }
        _ => None,
    };
    let all = (0..code.instructions.len()).filter_map(|at| Some((at, of(at)?)));
    let waits = |pair: usize| {
        let pipe = &state.pairs[pair].pipe;
        let left = pipe.iter().filter(|entry| entry.item.is_message());
        let is_short = pipe.iter().any(|entry| !has_receive(state, pair, entry));
        is_short.then(|| left.count())
    };
    // Messages that the text has after each other leave in this order.
    let by_pair = |pair: usize| all.clone().filter(move |(_, of)| *of == pair);
    let first = all.clone().filter_map(|(_, pair)| {
        let sent: Vec<usize> = by_pair(pair).map(|(at, _)| at).collect();
        sent.get(sent.len().saturating_sub(waits(pair)?)).copied()
    });
    let span = code.spans.get(first.min()?).copied()?;
    let branches = code
        .instructions
        .iter()
        .any(|one| matches!(one, Instruction::Jump(_) | Instruction::JumpIfZero { .. }));
    Some(if branches { Place::SomeMessage(span) } else { Place::Message(span) })
}

/// The innermost loop that contains these instructions.
fn loop_around(code: &ThreadCode, first: usize, last: usize) -> Option<Span> {
    let around = code.instructions.iter().enumerate().skip(last);
    let mut around = around.filter(
        |(_, instruction)| matches!(instruction, Instruction::Jump(start) if *start <= first),
    );
    around.next().map(|(at, _)| code.spans[at])
}
