//! Transitions in words, for traces.

use compiler::code::Instruction;
use lang::outcome::Value;
use lang::program::{LocationId, Program, RegisterId};

use super::rules::{Agent, Machine, Transition, operation_name};
use super::state::{Item, LocalEntry, Source, State};

/// Describes an enabled transition, given the state before it:
/// `rule 3: put's remote write x := 1 leaves the pipe (thread 1 to node 2)`.
pub fn describe(
    program: &Program,
    machine: &Machine,
    state: &State,
    transition: Transition,
) -> String {
    let words = Words { program, machine, state };
    match transition.agent {
        Agent::Cpu(thread) => words.cpu(thread, transition.slot),
        Agent::StoreBuffer(thread) => words.store_buffer(thread, transition.slot),
        Agent::Pipe(pair) => {
            format!("{} ({})", words.pipe(pair, transition.slot), words.pair(pair))
        }
        Agent::RemoteBuffer(pair) => {
            let write = &state.pairs[pair].remote[transition.slot];
            let pair = words.pair(pair);
            let completes = match write.completes {
                Some(_) => "; the receive is complete",
                None => "",
            };
            let Some(target) = write.target else {
                return format!("rule 4: the receive is complete ({pair})");
            };
            let (target, value) = (words.location(target), shown(write.value));
            let rule = if write.atomic { "rule 13: RMW" } else { "rule 4: put" };
            let rule = if write.completes.is_some() { "rule 4: send" } else { rule };
            format!("{rule}'s remote write {target} := {value} reaches memory{completes} ({pair})")
        }
        Agent::LocalBuffer(pair) => match &state.pairs[pair].local[transition.slot] {
            LocalEntry::Write { target, value, .. } => format!(
                "rule 8: local write {} := {} reaches memory ({})",
                words.location(*target),
                shown(*value),
                words.pair(pair)
            ),
            LocalEntry::Notice => "notice".to_owned(),
        },
    }
}

/// Whether a transition is a jump, or an assignment to a variable that no program names.
pub(super) fn is_control(
    program: &Program,
    machine: &Machine,
    state: &State,
    transition: Transition,
) -> bool {
    let Agent::Cpu(thread) = transition.agent else { return false };
    match machine.next_instruction(state, thread) {
        Some(Instruction::Jump(_) | Instruction::JumpIfZero { .. }) => true,
        Some(Instruction::Assign { register, .. }) => program.registers[register.0].name.is_none(),
        _ => false,
    }
}

/// Converts a word to the value that users see.
fn shown(word: u64) -> Value {
    Value::of_word(word)
}

struct Words<'a> {
    program: &'a Program,
    machine: &'a Machine,
    state: &'a State,
}

impl Words<'_> {
    fn location(&self, location: LocationId) -> &str {
        &self.program.locations[location.0].name
    }

    fn register(&self, register: RegisterId) -> &str {
        self.program.registers[register.0].name.as_deref().unwrap_or("_")
    }

    fn pair(&self, pair: usize) -> String {
        let pair = self.machine.code.queue_pairs[pair];
        let (thread, node) = (pair.thread.number(), pair.node.0);
        let whose = match pair.is_shared() {
            true => format!("node {}", self.program.threads[pair.thread.0].node.0),
            false => format!("thread {thread}"),
        };
        match pair.number {
            0 => format!("{whose} to node {node}"),
            _ => format!("{whose} to node {node}, queue pair {}", pair.towards().number()),
        }
    }

    /// The node of a queue pair, and its number if there may be others.
    fn towards(&self, pair: usize) -> String {
        self.machine.code.queue_pairs[pair].towards().to_string()
    }

    fn cpu(&self, thread: usize, slot: usize) -> String {
        let text = match self.machine.next_instruction(self.state, thread) {
            None => "is done".to_owned(),
            Some(Instruction::Assign { register, value }) => {
                format!("{} := {}", self.register(*register), shown(self.state.value(value)))
            }
            Some(Instruction::Read { location, .. })
                if let Some(other) = self.machine.clock(*location) =>
            {
                let calls = self.state.memory[location.0];
                format!("a call begins; thread {} has returned from {calls}", other + 1)
            }
            Some(Instruction::Write { location, value })
                if self.machine.clock(*location).is_some() =>
            {
                format!(
                    "call {} returns, of which a write enters the store buffer",
                    self.state.value(value)
                )
            }
            Some(Instruction::Read { register, location }) => format!(
                "{} := {} reads {}",
                self.register(*register),
                self.location(*location),
                shown(self.state.cpu_read(thread, *location))
            ),
            Some(Instruction::Write { location, value }) => {
                let value = shown(self.state.value(value));
                format!("{} := {value} enters the store buffer", self.location(*location))
            }
            Some(Instruction::Cas { location, expected, .. }) => {
                let old = self.state.memory[location.0];
                let word = if old == self.state.value(expected) { "succeeds" } else { "fails" };
                format!("CAS on {} reads {} and {word}", self.location(*location), shown(old))
            }
            Some(Instruction::Faa { location, .. }) => {
                let old = self.state.memory[location.0];
                format!("FAA on {} reads {}", self.location(*location), shown(old))
            }
            Some(Instruction::Exchange { location, .. }) => {
                let old = self.state.memory[location.0];
                format!("XCHG on {} reads {}", self.location(*location), shown(old))
            }
            Some(Instruction::Fence) => "Mfence".to_owned(),
            Some(Instruction::Issue { operation, queue_pair, .. }) => {
                let node = self.towards(queue_pair.0);
                format!("{} to node {node} enters the store buffer", operation_name(operation))
            }
            Some(Instruction::Receive { queue_pair, buffer }) => {
                let (buffer, pair) = (self.location(*buffer), self.pair(queue_pair.0));
                format!("a receive into {buffer} enters the store buffer ({pair})")
            }
            Some(Instruction::PollReceive { queue_pair, .. }) => {
                let arrived = self.state.pairs[queue_pair.0].arrived.first();
                let value =
                    arrived.map_or_else(String::new, |value| format!(" gets {}", shown(*value)));
                format!("PollRecv{value} ({})", self.pair(queue_pair.0))
            }
            Some(Instruction::Poll(pairs)) => {
                let taken = pairs.get(slot).map(|pair| self.towards(pair.0)).unwrap_or_default();
                match pairs.len() {
                    1 => format!("Poll({taken})"),
                    _ => format!("Poll of several queue pairs takes a completion of {taken}"),
                }
            }
            Some(Instruction::Wait(id)) => {
                let name = &self.program.work_ids[id.0];
                match self.machine.awaited(self.state, thread, *id) {
                    Some((pair, _)) => {
                        format!("Wait({name}) polls node {}", self.towards(pair))
                    }
                    None => format!("Wait({name})"),
                }
            }
            Some(Instruction::Jump(_) | Instruction::JumpIfZero { .. }) => "jumps".to_owned(),
            Some(Instruction::Assume(_)) => "assume".to_owned(),
        };
        format!("thread {}: {text}", thread + 1)
    }

    fn store_buffer(&self, thread: usize, slot: usize) -> String {
        let number = thread + 1;
        let entry = &self.state.threads[thread].buffer[slot];
        match &entry.item {
            Item::Write { target, value } if self.machine.clock(*target).is_some() => {
                format!(
                    "store buffer: others may know that call {value} returned (thread {number})"
                )
            }
            Item::Write { target, value } => {
                let target = self.location(*target);
                let value = shown(*value);
                format!("store buffer: {target} := {value} reaches memory (thread {number})")
            }
            item => {
                let pair = self.pair(entry.pair);
                format!("store buffer: {} goes to the NIC ({pair})", self.item(item))
            }
        }
    }

    fn item(&self, item: &Item) -> String {
        match item {
            Item::Put { target, source: Source::Location(source), .. } => {
                format!("put {} := {}", self.location(*target), self.location(*source))
            }
            Item::Put { target, source: Source::Value(value), .. } => {
                format!("put {} := {}", self.location(*target), shown(*value))
            }
            Item::Get { target, source } => {
                format!("get {} := {}", self.location(*target), self.location(*source))
            }
            Item::Message { target, source, .. } => {
                let source = match source {
                    Source::Location(source) => self.location(*source).to_owned(),
                    Source::Value(value) => shown(*value).to_string(),
                };
                self.message(*target, source)
            }
            Item::MessageWrite { target, value, .. } => {
                self.message(*target, shown(*value).to_string())
            }
            Item::Completion { .. } => "completion".to_owned(),
            Item::Receive { buffer } => format!("a receive into {}", self.location(*buffer)),
            Item::Rcas { target, .. } => format!("RCAS on {}", self.location(*target)),
            Item::Rfaa { target, .. } => format!("RFAA on {}", self.location(*target)),
            Item::Fence => "Rfence".to_owned(),
            Item::Flush { is_persistent: false } => "flush".to_owned(),
            Item::Flush { is_persistent: true } => "persistent flush".to_owned(),
            Item::Ack => "ack".to_owned(),
            Item::Write { target, value }
            | Item::RemoteWrite { target, value, .. }
            | Item::LocalWrite { target, value }
            | Item::AtomicWrite { target, value } => {
                format!("{} := {}", self.location(*target), shown(*value))
            }
        }
    }

    fn message(&self, target: Option<LocationId>, value: String) -> String {
        match target {
            Some(target) => format!("put {} := {value}", self.location(target)),
            None => format!("send of {value}"),
        }
    }

    fn pipe(&self, pair: usize, slot: usize) -> String {
        let item = &self.state.pairs[pair].pipe[slot].item;
        let words = self.item(item);
        let memory = |location: &LocationId| self.state.memory[location.0];
        match item {
            Item::Message { source, .. } => {
                let value = match source {
                    Source::Location(source) => memory(source),
                    Source::Value(value) => *value,
                };
                format!("rule 2: {words} reads {}", shown(value))
            }
            Item::MessageWrite { .. } => format!("rule 3: {words} leaves the pipe"),
            Item::Completion { .. } => {
                "rule 3: the put's completion takes a receive and leaves the pipe".to_owned()
            }
            Item::Fence | Item::Write { .. } | Item::Receive { .. } => {
                "rule 1: Rfence leaves the pipe".to_owned()
            }
            Item::Put { source, .. } => {
                let value = match source {
                    Source::Location(source) => memory(source),
                    Source::Value(value) => *value,
                };
                format!("rule 2: {words} reads {}", shown(value))
            }
            Item::RemoteWrite { .. } => {
                format!("rule 3: put's remote write {words} leaves the pipe")
            }
            Item::Flush { .. } => "rule 6: the flush takes effect".to_owned(),
            Item::Ack => "rule 5: ack becomes a completion notice".to_owned(),
            Item::Get { source, .. } => format!("rule 6: {words} reads {}", shown(memory(source))),
            Item::LocalWrite { .. } => format!("rule 7: local write {words} leaves the pipe"),
            Item::Rcas { target, expected, .. } => {
                let old = memory(target);
                if old == *expected {
                    format!("rule 10: {words} reads {} and succeeds", shown(old))
                } else {
                    format!("rule 9: {words} reads {} and fails", shown(old))
                }
            }
            Item::Rfaa { target, .. } => {
                format!("rule 11: {words} reads {}", shown(memory(target)))
            }
            Item::AtomicWrite { .. } => {
                format!("rule 12: RMW's remote write {words} leaves the pipe")
            }
        }
    }
}
