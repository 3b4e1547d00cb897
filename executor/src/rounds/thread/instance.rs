//! Runs a thread's code once.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering, fence};
use std::time::{Duration, Instant};

use compiler::code::{Instruction, Operation, QueuePairId, ThreadCode};
use compiler::plan::{self, Plan};
use lang::mutex::lock;
use lang::program::{LocationId, RegisterId, ThreadId};
use model::machine::Random;

use super::super::backlog::Backlog;
use super::super::pace::{self, Pace};
use super::connection::poll_one;
use super::{Connection, End, Halt, Patience, Receiver, Stop, ThreadRun};
use crate::rdma::{Request, RequestKind};
use crate::rounds::Layout;

/// How a thread's part of an instance ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Ending {
    /// The thread reached its end.
    Finished,
    /// The thread polls for an operation that it never posted, or waits for a message that is never sent, or
    /// sends one for which there is no receive.
    Blocked,
    /// An `assume` failed.
    AssumeFailed,
    /// The thread waited too long for another thread.
    GivenUp,
}

impl Ending {
    /// The ending for a number. An unknown number counts as given up.
    pub fn from_number(number: u8) -> Self {
        match number {
            0 => Self::Finished,
            1 => Self::Blocked,
            2 => Self::AssumeFailed,
            _ => Self::GivenUp,
        }
    }
}

/// How an instance runs.
pub(super) struct How<'a> {
    /// Whose code it is.
    pub thread: ThreadId,
    pub pace: Pace,
    /// The longest delay of this batch, in ns.
    pub spread: u32,
    pub random: &'a mut Random,
    /// Fills the store buffer before each write, if there is one.
    pub backlog: Option<&'a mut Backlog>,
}

/// Reusable memory for running instances.
pub(super) struct Scratch {
    /// The registers of the whole program. A thread uses only its own.
    pub registers: Vec<u64>,
    /// For each work id and queue pair: the numbers of the requests of this instance with this id, from 1,
    /// which no Wait has waited for.
    with_id: Vec<Vec<u64>>,
    pairs: usize,
    /// For each request: how often it was posted in this instance, and the sequence number of the last use of
    /// each copy.
    uses: Vec<(usize, [u64; plan::LOOP_COPIES])>,
}

impl Scratch {
    pub(super) fn new(plan: &Plan, thread: ThreadId) -> Self {
        let pairs = plan.code.threads[thread.0].pairs().count();
        Self {
            registers: vec![0; plan.program.registers.len()],
            with_id: vec![Vec::new(); plan.program.work_ids.len() * pairs],
            pairs,
            uses: vec![(0, [0; plan::LOOP_COPIES]); plan.requests.len()],
        }
    }

    fn clear(&mut self) {
        self.registers.fill(0);
        self.with_id.iter_mut().for_each(Vec::clear);
        self.uses.fill((0, [0; plan::LOOP_COPIES]));
    }
}

/// An instruction of an instance. Borrowed: counting references would drain the store buffer.
struct Step<'a> {
    plan: &'a Plan,
    layout: &'a Layout,
    slot: u32,
    /// Which instruction of the thread.
    here: usize,
}

/// The steps that a thread takes before it checks the time.
const STEPS: u32 = 1024;

impl ThreadRun {
    pub(super) fn instance(
        &mut self,
        slot: u32,
        scratch: &mut Scratch,
        how: How<'_>,
        stop: &Stop<'_>,
        patience: Duration,
    ) -> Result<Ending, End> {
        scratch.clear();
        self.connections.iter_mut().for_each(|connection| connection.begin(patience));
        self.receivers.iter_mut().for_each(Receiver::begin);
        let (mut meets, later) = (how.pace.meets, how.pace.later);
        let ending = match self.steps(slot, scratch, (how, &mut meets), stop, patience) {
            Ok(ending) => ending,
            Err(Halt::GivenUp) => Ending::GivenUp,
            Err(Halt::End(end)) => return Err(end),
        };
        if meets.is_some() {
            // It ended early, and the others wait for it.
            for _ in 0..1 + u32::from(later) {
                self.barrier.meet(None, &mut Patience::at_barrier(stop), stop)?;
            }
        }
        // Receives come first: others may wait for them before they fill ours.
        for receiver in &mut self.receivers {
            receiver.settle((slot, &self.layout), stop)?;
        }
        for connection in &mut self.connections {
            connection.settle(ending, stop)?;
        }
        Ok(ending)
    }

    /// Runs the code, up to its end or to where it cannot go on.
    fn steps(
        &mut self,
        slot: u32,
        scratch: &mut Scratch,
        (How { thread, pace, spread, random, mut backlog }, meets): (How<'_>, &mut Option<usize>),
        stop: &Stop<'_>,
        patience: Duration,
    ) -> Result<Ending, Halt> {
        let plan = Arc::clone(&self.plan);
        let code = &plan.code.threads[thread.0];
        let region = Arc::clone(&self.region);
        let words = region.words();
        let layout = self.layout.clone();
        let memory = |location: LocationId| &words[layout.word(slot, plan.word_of[location.0])];
        let mut long =
            (pace.long > 0).then(|| random.below(code.instructions.len() as u32) as usize);
        let (mut at, mut steps, mut since) = (0, 0u32, None);
        while let Some(instruction) = code.instructions.get(at) {
            let here = at;
            at += 1;
            if *meets == Some(here) {
                *meets = None;
                if here > 0 {
                    // Until what was posted has completed, perhaps. A NIC in software may need the core.
                    pace::wait(random.below(spread + 1), true);
                }
                if pace.later {
                    self.barrier.meet(None, &mut Patience::at_barrier(stop).yielding(), stop)?;
                }
                let patience = &mut Patience::at_barrier(stop);
                pace::stagger(self.barrier.meet(None, patience, stop)?, random);
            }
            if long == Some(here) {
                long = None;
                pace::wait(random.below(pace.long), stop.crowded);
            }
            if let (Some(backlog), Instruction::Write { .. }) = (&mut backlog, instruction) {
                backlog.fill(random);
            }
            match instruction {
                Instruction::Jump(target) => at = *target,
                Instruction::JumpIfZero { condition, target } => {
                    if condition.evaluate(&scratch.registers) == 0 {
                        at = *target;
                    }
                }
                Instruction::Assume(condition) => {
                    if condition.evaluate(&scratch.registers) == 0 {
                        return Ok(Ending::AssumeFailed);
                    }
                }
                _ if cpu_step(instruction, &mut scratch.registers, memory) => {}
                _ => {
                    let step = Step { plan: &plan, layout: &layout, slot, here };
                    if let Some(ending) = self.queue_step(step, scratch, random, stop, patience)? {
                        return Ok(ending);
                    }
                }
            }
            if at <= here && stop.crowded {
                std::thread::yield_now();
            }
            pace.pause(random, stop.crowded);
            steps += 1;
            if steps.is_multiple_of(STEPS) {
                if stop.flag.load(Ordering::Relaxed) {
                    return Err(Halt::End(End::Stopped));
                }
                std::thread::yield_now();
                if since.get_or_insert_with(Instant::now).elapsed() > patience {
                    return Ok(Ending::GivenUp);
                }
            }
        }
        Ok(Ending::Finished)
    }

    /// Takes the step of an instruction about queue pairs. Returns how the instance has ended, if it has.
    fn queue_step(
        &mut self,
        Step { plan, layout, slot, here }: Step<'_>,
        scratch: &mut Scratch,
        random: &mut Random,
        stop: &Stop<'_>,
        patience: Duration,
    ) -> Result<Option<Ending>, Halt> {
        let code = &plan.code.threads[self.id.0];
        let next = code.instructions.get(here + 1);
        match &code.instructions[here] {
            Instruction::Issue { queue_pair, operation: Operation::Fence, .. } => {
                let pair = place(code, *queue_pair);
                match pair.checked_sub(self.connections.len()) {
                    None => self.connections[pair].fence_next = true,
                    Some(at) => lock(&self.shared[at]).connection.fence_next = true,
                }
                self.ring_before(next, *queue_pair, pair)?;
            }
            Instruction::Issue { queue_pair, .. } => {
                let Some(request) = plan.request_of[self.id.0][here] else { return Ok(None) };
                let pair = place(code, *queue_pair);
                if plan.requests[request].is_message() && !self.connections[pair].has_receive() {
                    return Ok(Some(Ending::Blocked));
                }
                self.issue(pair, request, slot, scratch, stop)?;
                self.ring_before(next, *queue_pair, pair)?;
            }
            Instruction::Receive { queue_pair, .. } => {
                self.receiver(*queue_pair)?.post((slot, layout), stop)?;
            }
            Instruction::PollReceive { queue_pair, register } => {
                match self.receiver(*queue_pair)?.poll(patience, stop)? {
                    Ok(value) => set(&mut scratch.registers, *register, value),
                    Err(ending) => return Ok(Some(ending)),
                }
            }
            // Without lists: what is stored takes places in the store buffer.
            Instruction::Poll(pairs)
                if let [pair] = pairs[..]
                    && place(code, pair) < self.connections.len() =>
            {
                if !self.connections[place(code, pair)].poll_oldest(stop)? {
                    return Ok(Some(Ending::Blocked));
                }
            }
            Instruction::Poll(pairs) => {
                let pairs: Vec<usize> = pairs.iter().map(|pair| place(code, *pair)).collect();
                if pairs.iter().any(|pair| *pair >= self.connections.len()) {
                    self.poll_shared(&pairs, slot, random, stop, patience)?;
                } else if !poll_one(&mut self.connections, &pairs, random, stop)? {
                    return Ok(Some(Ending::Blocked));
                }
            }
            Instruction::Wait(id) => {
                let with_id = |pair| &scratch.with_id[id.0 * scratch.pairs + pair];
                self.each_connection(|pair, connection| {
                    with_id(pair).iter().try_for_each(|number| connection.wait(*number, stop))
                })?;
                let waited = &mut scratch.with_id[id.0 * scratch.pairs..][..scratch.pairs];
                waited.iter_mut().for_each(Vec::clear);
            }
            // They have been taken elsewhere.
            Instruction::Assign { .. }
            | Instruction::Read { .. }
            | Instruction::Write { .. }
            | Instruction::Cas { .. }
            | Instruction::Faa { .. }
            | Instruction::Exchange { .. }
            | Instruction::Fence
            | Instruction::Jump(_)
            | Instruction::JumpIfZero { .. }
            | Instruction::Assume(_) => {}
        }
        Ok(None)
    }

    fn receiver(&mut self, queue_pair: QueuePairId) -> Result<&mut Receiver, End> {
        let found = self.receivers.iter_mut().find(|receiver| receiver.queue_pair == queue_pair);
        found.ok_or_else(|| End::Hang(format!("queue pair {} has no receiving end", queue_pair.0)))
    }

    /// A poll of queue pairs of which threads share some: takes the oldest completion of this instance of one
    /// of them. Whether there is one to come, other threads may know.
    fn poll_shared(
        &mut self,
        pairs: &[usize],
        slot: u32,
        random: &mut Random,
        stop: &Stop<'_>,
        patience: Duration,
    ) -> Result<(), Halt> {
        let mut patience = Patience::within(patience, stop);
        let first = random.below(pairs.len() as u32) as usize;
        for pair in pairs.iter().cycle().skip(first) {
            let is_taken = match pair.checked_sub(self.connections.len()) {
                None => self.connections[*pair].take()?,
                Some(at) => lock(&self.shared[at]).take(slot)?,
            };
            if is_taken {
                break;
            }
            if patience.spin()?.is_some() {
                return Err(Halt::GivenUp);
            }
        }
        Ok(())
    }

    /// Posts what waits, unless the next instruction adds to it: nothing may come between requests that are
    /// posted by one call.
    fn ring_before(
        &mut self,
        next: Option<&Instruction>,
        queue_pair: QueuePairId,
        pair: usize,
    ) -> Result<(), End> {
        match next {
            Some(Instruction::Issue { queue_pair: same, .. }) if *same == queue_pair => Ok(()),
            _ => match self.connections.get_mut(pair) {
                Some(connection) => Ok(connection.ring()?),
                None => Ok(()), // requests to it do not wait
            },
        }
    }

    fn issue(
        &mut self,
        pair: usize,
        index: usize,
        slot: u32,
        scratch: &mut Scratch,
        stop: &Stop<'_>,
    ) -> Result<(), Halt> {
        let request = &self.plan.requests[index];
        let at = pair.checked_sub(self.connections.len());
        let mut shared = at.map(|at| lock(&self.shared[at]));
        let connection: &mut Connection = match &mut shared {
            Some(shared) => &mut shared.connection,
            None => &mut self.connections[pair],
        };
        let mut local = request.local;
        let copy = scratch.uses[index].0 % request.copies.max(1);
        if let Some(value) = &request.store {
            // The NIC may still need the value that the copy's last use stored.
            connection.wait(scratch.uses[index].1[copy], stop)?;
            local += copy;
            let value = value.evaluate(&scratch.registers);
            self.region.words()[self.layout.word(slot, local)].store(value, Ordering::Release);
        }
        let kind = match &request.kind {
            plan::RequestKind::Write => RequestKind::Write,
            plan::RequestKind::Send => RequestKind::Send,
            plan::RequestKind::Read => RequestKind::Read,
            plan::RequestKind::CompareAndSwap { expected, desired } => {
                RequestKind::CompareAndSwap {
                    expected: expected.evaluate(&scratch.registers),
                    desired: desired.evaluate(&scratch.registers),
                }
            }
            plan::RequestKind::FetchAndAdd { addend } => {
                RequestKind::FetchAndAdd { addend: addend.evaluate(&scratch.registers) }
            }
            plan::RequestKind::AtomicWrite => RequestKind::AtomicWrite,
            plan::RequestKind::Flush { is_persistent } => {
                RequestKind::Flush { is_persistent: *is_persistent }
            }
        };
        let start = (connection.remote.address, connection.remote.key);
        let remote = request.remote.map_or(start, |word| {
            (start.0 + 8 * connection.layout.word(slot, word) as u64, start.1)
        });
        let is_inline = self.parameters.inline || request.inline;
        let is_flush = matches!(kind, RequestKind::Flush { .. });
        let immediate = request.immediate.as_ref();
        let posted = Request {
            kind,
            local: self.layout.word(slot, local),
            words: if is_flush { 0 } else { request.words as u32 },
            // Its low bits: it has 32.
            immediate: immediate.map(|value| value.evaluate(&scratch.registers) as u32),
            remote,
            fence: std::mem::take(&mut connection.fence_next),
            inline: is_inline && matches!(kind, RequestKind::Write | RequestKind::Send),
            // Words that are used in turn are waited for, which takes a completion.
            signaled: !request.unsignaled || request.copies > 1,
        };
        connection.post(&posted, stop)?;
        let posted = connection.posted;
        if !request.unsignaled {
            match &mut shared {
                Some(shared) => shared.is_signaled(slot),
                None => self.connections[pair].unpolled.push_back(posted),
            }
        }
        let uses = &mut scratch.uses[index];
        uses.0 += 1;
        uses.1[copy] = posted;
        if let Some(id) = request.id {
            scratch.with_id[id.0 * scratch.pairs + pair].push(posted);
        }
        Ok(())
    }
}

/// The place of a queue pair among those of a thread: first its own, then those that it shares.
fn place(code: &ThreadCode, queue_pair: QueuePairId) -> usize {
    match code.queue_pairs.contains(&queue_pair.0) {
        true => queue_pair.0 - code.queue_pairs.start,
        false => {
            let shared = code.shared.iter().position(|shared| *shared == queue_pair.0);
            code.queue_pairs.len() + shared.unwrap_or_default()
        }
    }
}

/// Takes the step of an instruction that only the CPU takes part in; false for others.
#[inline]
fn cpu_step<'a>(
    instruction: &Instruction,
    registers: &mut [u64],
    memory: impl Fn(LocationId) -> &'a AtomicU64,
) -> bool {
    const ATOMIC: Ordering = Ordering::SeqCst;
    match instruction {
        Instruction::Assign { register, value } => {
            registers[register.0] = value.evaluate(registers);
        }
        // On x86 these are plain moves. The compiler may reorder them only as TSO may.
        Instruction::Read { register, location } => {
            registers[register.0] = memory(*location).load(Ordering::Acquire);
        }
        Instruction::Write { location, value } => {
            memory(*location).store(value.evaluate(registers), Ordering::Release);
        }
        Instruction::Cas { register, location, expected, desired } => {
            let (expected, desired) = (expected.evaluate(registers), desired.evaluate(registers));
            let (Ok(old) | Err(old)) =
                memory(*location).compare_exchange(expected, desired, ATOMIC, ATOMIC);
            set(registers, *register, old);
        }
        Instruction::Faa { register, location, addend } => {
            let old = memory(*location).fetch_add(addend.evaluate(registers), ATOMIC);
            set(registers, *register, old);
        }
        Instruction::Exchange { register, location, value } => {
            let old = memory(*location).swap(value.evaluate(registers), ATOMIC);
            set(registers, *register, old);
        }
        Instruction::Fence => fence(ATOMIC),
        _ => return false,
    }
    true
}

fn set(registers: &mut [u64], register: Option<RegisterId>, value: u64) {
    if let Some(register) = register {
        registers[register.0] = value;
    }
}
