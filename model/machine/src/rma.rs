//! A machine for coreRMA. It performs the actions of remote statements one at a time, in any order that the
//! rules allow.
//!
//! The paper describes no machine. This one is derived from the axioms in its Fig. 4. A thread performs its
//! local actions itself. A remote statement waits after it is issued. Each of its actions is performed when
//! the rules that depend only on the program (PG, GA, CAS, F1-F3, IR) allow it. An action reads the current
//! value in memory, and writes to memory.
//!
//! Every execution of the machine is one of the model's: the order of the actions contains happens-before,
//! because a read takes the last write performed before it. The converse holds if all accesses are atomic.
//! Then happens-before of a consistent execution orders every read and write of a location with every other
//! write of it (R1, R2, WS), so any sequence of the actions that respects it gives the same outcome. So
//! exploration finds all outcomes of programs with only atomic accesses, and refuses other programs. For
//! those, simulation shows some outcomes, each with a number where the model may have ⊤.

mod code;
mod explore;
mod simulate;

use compiler::code::CompileError;
use lang::Test;
use lang::outcome::{Observed, Outcome, Value};
use lang::program::{BinaryOp, RegisterId, RmaKind, RmaStmt};
use lang::source::Span;

use super::fault::FaultSet;
use super::rules::Effect;
use code::{Code, Instruction};

pub use explore::explore;
pub use simulate::Simulator;

/// The variants of the rules [coreRMA §5, §7].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rules {
    /// The rules of Fig. 4.
    Stock,
    /// Routing keeps only the order of puts among themselves, and of gets among themselves.
    Verbs,
    /// A put reads its source as soon as it is issued.
    SmallPuts,
    /// All actions of an rga happen at once.
    AtomicRga,
}

/// A remote statement or flush that is issued and not complete.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Pending {
    /// The index of its instruction.
    at: usize,
    /// One bit for each action that has been performed.
    done: u8,
    /// The values that its actions have read.
    values: [u64; 3],
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Thread {
    at: usize,
    pending: Vec<Pending>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    memory: Vec<u64>,
    registers: Vec<u64>,
    threads: Vec<Thread>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Transition {
    /// The next local action of a thread.
    Local(usize),
    /// An action of a pending statement: the thread, the position among its pending statements, and the
    /// action.
    Remote(usize, usize, usize),
}

/// The most statements of a thread that may be pending at once; and the most instructions that a thread
/// executes without an action.
const PENDING: usize = 64;
const STRETCH: usize = 10_000;

/// A program on the machine.
#[derive(Clone, Debug)]
struct Machine {
    rules: Rules,
    code: Vec<Code>,
    observed: Vec<Observed>,
    initial: State,
    /// The place of a statement with an access that is not atomic, if there is one.
    non_atomic: Option<Span>,
}

/// Refuses faults: they change the rules of the other machine.
pub fn check_faults(faults: FaultSet) -> Result<(), CompileError> {
    if faults.is_empty() {
        return Ok(());
    }
    Err(CompileError::Faults)
}

/// The number of a statement's actions, and the index of the action at the process that the statement names.
fn shape(kind: RmaKind) -> (usize, usize) {
    match kind {
        RmaKind::Put => (2, 1),
        RmaKind::Get => (2, 0),
        RmaKind::Rga => (3, 1),
        RmaKind::Cas => (4, 2),
        RmaKind::Flush | RmaKind::LocalRead | RmaKind::LocalWrite => (1, 0),
    }
}

impl Machine {
    fn new(test: &Test, rules: Rules) -> Result<Self, CompileError> {
        let observed: Vec<Observed> = test.observables.iter().map(|shown| shown.what).collect();
        let (code, non_atomic) = code::compile(&test.program)?;
        let initial = State {
            memory: test.program.locations.iter().map(|location| location.initial).collect(),
            registers: vec![0; test.program.registers.len()],
            threads: vec![Thread::default(); code.len()],
        };
        Ok(Self { rules, code, observed, initial, non_atomic })
    }

    fn statement(&self, thread: usize, at: usize) -> Option<&RmaStmt> {
        match self.code[thread].instructions.get(at) {
            Some(Instruction::Action(statement)) => Some(statement),
            _ => None,
        }
    }

    /// Lets a thread continue to its next local action. Issues the remote statements before that action.
    fn advance(&self, state: &mut State, thread: usize) -> Effect {
        for _ in 0..STRETCH {
            let at = state.threads[thread].at;
            match self.code[thread].instructions.get(at) {
                None => return Effect::Continue,
                Some(Instruction::Action(statement)) => {
                    if self.is_local(statement) {
                        return Effect::Continue;
                    }
                    if state.threads[thread].pending.len() == PENDING {
                        return Effect::QueueFull;
                    }
                    issue(&mut state.threads[thread], at);
                    state.threads[thread].at += 1;
                }
                Some(step) => {
                    let State { threads, registers, .. } = state;
                    if !step.take(&mut threads[thread].at, registers) {
                        return Effect::AssumeFailed;
                    }
                }
            }
        }
        Effect::QueueFull
    }

    /// Whether the thread itself performs the first action: rules LO and F1.
    fn is_local(&self, statement: &RmaStmt) -> bool {
        match statement.kind {
            RmaKind::LocalRead | RmaKind::LocalWrite => true,
            RmaKind::Put => self.rules == Rules::SmallPuts,
            _ => false,
        }
    }

    fn enabled(&self, state: &State) -> Vec<Transition> {
        let mut enabled = Vec::new();
        for (index, thread) in state.threads.iter().enumerate() {
            let flushing = |pending: &Pending| {
                self.statement(index, pending.at).is_some_and(|s| s.kind == RmaKind::Flush)
            };
            // F1. The end of the program is not an action.
            let ends = self.statement(index, thread.at).is_none();
            if !ends && !thread.pending.iter().any(flushing) {
                enabled.push(Transition::Local(index));
            }
            for (position, pending) in thread.pending.iter().enumerate() {
                let Some(statement) = self.statement(index, pending.at) else { continue };
                let ready = (0..shape(statement.kind).0)
                    .filter(|action| self.may_happen(index, thread, position, statement, *action));
                enabled.extend(ready.map(|action| Transition::Remote(index, position, action)));
            }
        }
        enabled
    }

    fn may_happen(
        &self,
        index: usize,
        thread: &Thread,
        position: usize,
        statement: &RmaStmt,
        action: usize,
    ) -> bool {
        let done = thread.pending[position].done;
        let is_done = |action: usize| done >> action & 1 == 1;
        // PG, GA, CAS. The first two reads of a cas are not ordered.
        let before = match (statement.kind, action) {
            (RmaKind::Cas, 1) => true,
            (RmaKind::Cas, 2) => is_done(0) && is_done(1),
            (_, 0) => true,
            _ => is_done(action - 1),
        };
        if is_done(action) || !before {
            return false;
        }
        let routed =
            action == shape(statement.kind).1 && statement.process != Some(self.code[index].node);
        let one_step = self.rules == Rules::AtomicRga && statement.kind == RmaKind::Rga;
        if one_step && action > 0 {
            return false;
        }
        let routed = routed || (one_step && statement.process != Some(self.code[index].node));
        thread.pending[..position].iter().all(|earlier| {
            let Some(other) = self.statement(index, earlier.at) else { return true };
            if other.process != statement.process {
                return true;
            }
            match (other.kind, statement.kind) {
                (RmaKind::Flush, RmaKind::Flush) => true,
                // F3, F2: neither passes the other.
                (RmaKind::Flush, _) | (_, RmaKind::Flush) => false,
                (first, second) => {
                    let keeps = match self.rules {
                        Rules::Verbs => {
                            first == second && matches!(first, RmaKind::Put | RmaKind::Get)
                        }
                        _ => true,
                    };
                    // IR: routing keeps the order.
                    !routed || !keeps || earlier.done >> shape(first).1 & 1 == 1
                }
            }
        })
    }

    /// Takes a transition. Then the thread continues.
    fn apply(&self, state: &mut State, transition: Transition) -> Effect {
        match transition {
            Transition::Local(thread) => {
                let at = state.threads[thread].at;
                if let Some(statement) = self.statement(thread, at) {
                    self.local(state, thread, statement);
                }
                state.threads[thread].at += 1;
                self.advance(state, thread)
            }
            Transition::Remote(thread, position, action) => {
                let at = state.threads[thread].pending[position].at;
                let Some(statement) = self.statement(thread, at) else { return Effect::Continue };
                let actions = shape(statement.kind).0;
                let last = match (self.rules, statement.kind) {
                    (Rules::AtomicRga, RmaKind::Rga) => actions,
                    _ => action + 1,
                };
                for action in action..last {
                    act(state, thread, position, statement, action);
                }
                if state.threads[thread].pending[position].done == (1 << actions) - 1 {
                    state.threads[thread].pending.remove(position);
                }
                Effect::Continue
            }
        }
    }

    fn local(&self, state: &mut State, thread: usize, statement: &RmaStmt) {
        let location = statement.accesses.first().map(|(location, _)| location.0);
        match (statement.kind, location) {
            (RmaKind::LocalRead, Some(location)) => {
                if let Some(register) = statement.register {
                    state.registers[register.0] = state.memory[location];
                }
            }
            (RmaKind::LocalWrite, Some(location)) => {
                if let Some(value) = &statement.value {
                    let value = value.evaluate(&|id: RegisterId| state.registers[id.0]);
                    state.memory[location] = value;
                }
            }
            _ => {
                let at = state.threads[thread].at;
                issue(&mut state.threads[thread], at);
                let position = state.threads[thread].pending.len() - 1;
                act(state, thread, position, statement, 0);
            }
        }
    }

    /// The first state: every thread is at its first local action.
    fn start(&self) -> (State, Effect) {
        let mut state = self.initial.clone();
        for thread in 0..self.code.len() {
            let effect = self.advance(&mut state, thread);
            if effect != Effect::Continue {
                return (state, effect);
            }
        }
        (state, Effect::Continue)
    }

    fn outcome(&self, state: &State) -> Outcome {
        let value = |observed: &Observed| match observed {
            Observed::Register(register) => Value::Int(state.registers[register.0]),
            Observed::Location(location) => Value::Int(state.memory[location.0]),
            // coreRMA has no library calls, and an object that nobody calls has no value.
            Observed::Copy(..) => Value::Bottom,
        };
        Outcome(self.observed.iter().map(value).collect())
    }
}

fn issue(thread: &mut Thread, at: usize) {
    thread.pending.push(Pending { at, done: 0, values: [0; 3] });
}

/// Performs one action of a pending statement.
fn act(state: &mut State, thread: usize, position: usize, statement: &RmaStmt, action: usize) {
    let State { memory, threads, .. } = state;
    let pending = &mut threads[thread].pending[position];
    pending.done |= 1 << action;
    let place = |index: usize| statement.accesses[index].0.0;
    let values = &mut pending.values;
    match (statement.kind, action) {
        // put(Z^p, X)
        (RmaKind::Put, 0) => values[0] = memory[place(1)],
        (RmaKind::Put, _) => memory[place(0)] = values[0],
        // X = get(Z^p)
        (RmaKind::Get, 0) => values[0] = memory[place(1)],
        (RmaKind::Get, _) => memory[place(0)] = values[0],
        // X = rga(Z^p, Y)
        (RmaKind::Rga, 0) => values[0] = memory[place(2)],
        (RmaKind::Rga, 1) => {
            values[1] = memory[place(1)];
            memory[place(1)] = BinaryOp::Add.apply(values[0], values[1]);
        }
        (RmaKind::Rga, _) => memory[place(0)] = values[1],
        // X = cas(Z^p, Y, W)
        (RmaKind::Cas, 0) => values[0] = memory[place(2)],
        (RmaKind::Cas, 1) => values[1] = memory[place(3)],
        (RmaKind::Cas, 2) => {
            values[2] = memory[place(1)];
            if values[2] == values[0] {
                memory[place(1)] = values[1];
            }
        }
        (RmaKind::Cas, _) => memory[place(0)] = values[2],
        (RmaKind::Flush | RmaKind::LocalRead | RmaKind::LocalWrite, _) => {}
    }
}
