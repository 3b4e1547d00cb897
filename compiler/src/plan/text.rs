//! Prints plans for people.

use std::fmt;

use lang::Test;
use lang::program::{RegisterId, ThreadId};
use lang::source::{Source, Span};

use super::{FinalPlace, Plan, Request, RequestKind, Role};
use crate::code::{Instruction, Operation, QueuePairId};

pub(super) struct Description<'a> {
    pub plan: &'a Plan,
    pub test: &'a Test,
    pub source: &'a Source,
}

impl fmt::Display for Description<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, "plan of {}", self.test.name)?;
        for node in &self.plan.nodes {
            self.node(out, node.node.0)?;
        }
        for thread in 0..self.plan.code.threads.len() {
            self.thread(out, thread)?;
        }
        writeln!(out, "\nrecorded at the end of an instance")?;
        for (observable, place) in self.test.observables.iter().zip(&self.plan.observed) {
            let from = match place {
                FinalPlace::Register(thread, _) => {
                    format!("register of thread {}", thread.number())
                }
                FinalPlace::Word(node, word) => format!("node {}, word {word}", node.0),
            };
            writeln!(out, "  {:<8} {from}", observable.name)?;
        }
        Ok(())
    }
}

impl Description<'_> {
    fn node(&self, out: &mut fmt::Formatter<'_>, number: u32) -> fmt::Result {
        let words = &self.plan.nodes[number as usize - 1].words;
        writeln!(out, "\nnode {number}: {} of memory per instance", count(words.len(), "word"))?;
        for (index, word) in words.iter().enumerate() {
            let what = match word.role {
                Role::Location(id) => self.plan.program.locations[id.0].name.clone(),
                Role::Source { request } => {
                    format!("source of `{}`", self.quote(self.plan.requests[request].span))
                }
            };
            writeln!(out, "  word {index:<3} = {:<4} {what}", word.initial)?;
        }
        Ok(())
    }

    fn thread(&self, out: &mut fmt::Formatter<'_>, thread: usize) -> fmt::Result {
        let code = &self.plan.code.threads[thread];
        writeln!(out, "\nthread {} on node {}", ThreadId(thread).number(), code.node.0)?;
        for id in code.pairs().map(QueuePairId) {
            let pair = self.plan.code.queue_pairs[id.0];
            let to = pair.node.0;
            let back = if to == code.node.0 { ", looped back" } else { "" };
            let named = match pair.number {
                0 => String::new(),
                _ => format!(" (`{}`)", pair.towards()),
            };
            let whose = match pair.is_shared() {
                true => "which the threads of the node share",
                false => "own completion queue",
            };
            writeln!(out, "  queue pair {}: RC to node {to}{named}{back}, {whose}", id.0)?;
        }
        for (at, instruction) in code.instructions.iter().enumerate() {
            let statement = self.quote(code.spans[at]);
            let request = self.plan.request_of[thread][at].map(|id| &self.plan.requests[id]);
            let action = self.action(instruction, request);
            writeln!(out, "  {at:>3}  {statement:<24} {action}")?;
        }
        Ok(())
    }

    fn action(&self, instruction: &Instruction, request: Option<&Request>) -> String {
        let word = |location: &lang::program::LocationId| self.plan.word_of[location.0];
        match instruction {
            Instruction::Assign { register, .. } => format!("set {}", self.register(*register)),
            Instruction::Read { register, location } => {
                format!("load word {} into {}", word(location), self.register(*register))
            }
            Instruction::Write { location, .. } => format!("store to word {}", word(location)),
            Instruction::Cas { location, .. } => {
                format!("lock cmpxchg on word {}", word(location))
            }
            Instruction::Faa { location, .. } => format!("lock xadd on word {}", word(location)),
            Instruction::Exchange { location, .. } => format!("xchg on word {}", word(location)),
            Instruction::Fence => "mfence".to_owned(),
            Instruction::Issue { queue_pair, operation: Operation::Fence, .. } => {
                format!("the next request on queue pair {} carries the fence flag", queue_pair.0)
            }
            Instruction::Issue { .. } => {
                request.map_or(String::new(), |request| self.post(request))
            }
            Instruction::Receive { queue_pair, buffer } => {
                let pair = queue_pair.0;
                format!("post receive into word {} on queue pair {pair}", word(buffer))
            }
            Instruction::PollReceive { queue_pair, .. } => {
                format!("poll one completion of a receive of queue pair {}", queue_pair.0)
            }
            Instruction::Poll(pairs) => {
                let pairs: Vec<String> = pairs.iter().map(|pair| pair.0.to_string()).collect();
                format!("poll one completion of queue pair {}", pairs.join(" or "))
            }
            Instruction::Wait(id) => format!(
                "poll until all requests with work id {} have completed",
                self.plan.program.work_ids[id.0]
            ),
            Instruction::Jump(target) => format!("go to {target}"),
            Instruction::JumpIfZero { target, .. } => format!("if not, go to {target}"),
            Instruction::Assume(_) => "if not, this instance does not count".to_owned(),
        }
    }

    fn post(&self, request: &Request) -> String {
        let to = self.plan.ends(request.queue_pair).1.0;
        let (local, remote) = (request.local, request.remote);
        let (verb, arrow) = match request.kind {
            RequestKind::Write => ("RDMA WRITE", "→"),
            RequestKind::Send => ("SEND", "→"),
            RequestKind::Read => ("RDMA READ", "←"),
            RequestKind::CompareAndSwap { .. } => ("ATOMIC CMP_AND_SWP", "←"),
            RequestKind::FetchAndAdd { .. } => ("ATOMIC FETCH_AND_ADD", "←"),
            RequestKind::AtomicWrite => ("ATOMIC WRITE", "→"),
            RequestKind::Flush { is_persistent: false } => ("FLUSH", "of"),
            RequestKind::Flush { is_persistent: true } => ("FLUSH for persistence", "of"),
        };
        let words = match (request.copies, request.words) {
            _ if matches!(request.kind, RequestKind::Flush { .. }) => String::new(),
            (1, 1) => format!(" word {local}"),
            (1, several) => format!(" words {local} to {}", local + several - 1),
            (copies, _) => format!(" words {local} to {} in turn", local + copies - 1),
        };
        let remote = match (remote, request.words) {
            (None, _) => String::new(),
            (Some(remote), 1) => format!(" word {remote}"),
            (Some(remote), several) => format!(" words {remote} to {}", remote + several - 1),
        };
        let immediate = if request.immediate.is_some() { " WITH IMM" } else { "" };
        let store = if request.store.is_some() { "store the value, " } else { "" };
        let inline = if request.inline { "inline " } else { "" };
        let unsignaled = if request.unsignaled { ", unsignaled" } else { "" };
        let id = request
            .id
            .map_or(String::new(), |id| format!(", work id {}", self.plan.program.work_ids[id.0]));
        let pair = request.queue_pair.0;
        format!(
            "{store}post {inline}{verb}{immediate}{words} {arrow} node {to}{remote} on queue pair {pair}{id}{unsignaled}"
        )
    }

    fn register(&self, id: RegisterId) -> String {
        let name = self.plan.program.registers[id.0].name.clone();
        name.unwrap_or_else(|| format!("register {}", id.0))
    }

    /// The statement's text, on one line.
    fn quote(&self, span: Span) -> String {
        let text = self.source.text.get(span.start..span.end).unwrap_or_default();
        let mut words: Vec<&str> = text.split_whitespace().collect();
        if words.len() > 12 {
            words.truncate(12);
            words.push("…");
        }
        words.join(" ")
    }
}

fn count(number: usize, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}
