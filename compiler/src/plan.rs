//! Work plans: what each node, queue pair and thread does when a program runs on real RDMA.
//!
//! A plan is [`code`] with places. Every location is a word in its node's memory, and every RDMA operation is
//! a work request from a word to a word. One *instance* is one run of the program; backends run many, each on
//! its own words. The mapping is: put = RDMA WRITE, get = RDMA READ, RCAS and RFAA = atomics, `Rfence` = a
//! fence flag on the next request, `Send` = SEND, `PutImm` = RDMA WRITE WITH IMM, `Recv` = a posted receive,
//! `GFence` = a READ from each node and a wait for it [MOWGLI §3.2]. coreRMA statements are first translated
//! to these; see `expand`.

mod bottom;
mod expand;
mod requests;
mod text;

use std::fmt;

use lang::outcome::Observed;
use lang::program::{LocationId, NodeId, Program, RegisterId, ThreadId, WorkId, array_of};
use lang::source::{Source, Span};
use lang::{Dialect, Test};

use crate::code::{self, Code, CompileError, Instruction, Operand, QueuePairId};

/// How many words hold, in turn, a value that is computed in a loop and put. When all have been used, the
/// next put waits until the NIC is done with the oldest: a source that is overwritten too early would look
/// like a weak outcome.
pub const LOOP_COPIES: usize = 4;

/// How many instances start together after a barrier, unless somebody chooses another number.
pub const PER_ROUND: u32 = 16;

/// A program, ready to run on real machines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The program. `GFence` and coreRMA statements are replaced by what implements them, and every node has
    /// a thread.
    pub program: Program,
    /// The instructions of the threads.
    pub code: Code,
    /// One plan for each node of the program, in order.
    pub nodes: Vec<NodePlan>,
    /// Every statement that posts a work request, in the order of the text.
    pub requests: Vec<Request>,
    /// For each thread and instruction, the index of the request that it posts.
    pub request_of: Vec<Vec<Option<usize>>>,
    /// For each location, the index of its word in its node's memory.
    pub word_of: Vec<usize>,
    /// For each observable of the test, where its value is found.
    pub observed: Vec<FinalPlace>,
}

/// A node's memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodePlan {
    /// The number of the node.
    pub node: NodeId,
    /// The words that one instance uses.
    pub words: Vec<Word>,
}

/// A word of 8 bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// The purpose of the word.
    pub role: Role,
    /// The value when an instance starts.
    pub initial: u64,
    /// Whether it stands in memory directly behind the word before it, as the words of an array do.
    pub follows: bool,
}

/// The purpose of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A location of the program.
    Location(LocationId),
    /// The value that a request puts. Nothing writes it while the request needs it.
    Source {
        /// Index into [`Plan::requests`].
        request: usize,
    },
}

/// A work request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The queue pair that it goes to.
    pub queue_pair: QueuePairId,
    /// The kind of request.
    pub kind: RequestKind,
    /// The index of the word on the thread's node that it reads or writes. A flush has no use for it.
    pub local: usize,
    /// The index of the word on the queue pair's node that it reads or writes. A send or flush names none.
    pub remote: Option<usize>,
    /// The value that the CPU stores in the local word before it posts the request.
    pub store: Option<Operand>,
    /// How many words it reads and writes, from `local` and `remote` on.
    pub words: usize,
    /// The immediate that it leaves with the receive that it consumes.
    pub immediate: Option<Operand>,
    /// How many words, from `local` on, take turns as the local word.
    pub copies: usize,
    /// Whether the CPU copies the local word into the request when it posts it (`IBV_SEND_INLINE`).
    pub inline: bool,
    /// The work id, if any.
    pub id: Option<WorkId>,
    /// Whether it has no completion of its own (no `IBV_SEND_SIGNALED`).
    pub unsignaled: bool,
    /// The statement that posts the request.
    pub span: Span,
}

impl Request {
    /// Whether it consumes a receive.
    pub fn is_message(&self) -> bool {
        self.kind == RequestKind::Send || self.immediate.is_some()
    }
}

/// The kinds of work requests.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "fields are named as in lang::program::StmtKind")]
pub enum RequestKind {
    /// `IBV_WR_RDMA_WRITE`; with an immediate, `IBV_WR_RDMA_WRITE_WITH_IMM`.
    Write,
    /// `IBV_WR_SEND`; with an immediate, `IBV_WR_SEND_WITH_IMM`.
    Send,
    /// `IBV_WR_RDMA_READ`.
    Read,
    /// `IBV_WR_ATOMIC_CMP_AND_SWP`.
    CompareAndSwap { expected: Operand, desired: Operand },
    /// `IBV_WR_ATOMIC_FETCH_AND_ADD`.
    FetchAndAdd { addend: Operand },
    /// `ibv_wr_atomic_write`.
    AtomicWrite,
    /// `ibv_wr_flush` of all memory that the queue pair reaches.
    Flush { is_persistent: bool },
}

/// What a plan needs of the memory placement extensions of the InfiniBand specification (annex A19), which
/// `ibv_post_send` does not have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Placements {
    /// Flushes, of any kind.
    pub flush: bool,
    /// Flushes to persistent memory.
    pub persist: bool,
    /// Atomic writes.
    pub atomic_write: bool,
}

impl Placements {
    /// Whether it is anything at all.
    pub fn any(self) -> bool {
        self.flush || self.atomic_write
    }
}

/// Where an observable's final value is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FinalPlace {
    /// In a register of a thread.
    Register(ThreadId, RegisterId),
    /// In a word of a node, after all threads and operations are done.
    Word(NodeId, usize),
}

/// A coreRMA test as it runs on verbs: with RDMA operations and waits in place of coreRMA's statements.
/// `None` for other tests.
///
/// # Errors
/// As [`code::compile`].
pub fn on_verbs(test: &Test) -> Result<Option<Test>, CompileError> {
    if test.dialect != Dialect::CoreRma {
        return Ok(None);
    }
    let program = expand::implemented(&test.program)?;
    Ok(Some(Test { program, dialect: Dialect::Rdma, ..test.clone() }))
}

impl Plan {
    /// Makes the plan of a test.
    ///
    /// # Errors
    /// As [`code::compile`]; and fails for a test about a crash, and where hardware would compute with `⊥`.
    pub fn new(test: &Test) -> Result<Self, CompileError> {
        if let Some(span) = test.program.crash {
            return Err(CompileError::Crash(span));
        }
        if let Some(stmt) = bottom::computed(&test.program) {
            return Err(CompileError::Bottom(stmt.span));
        }
        let mut program = expand::implemented(&test.program)?;
        expand::threads_everywhere(&mut program);
        let code = code::compile(&program)?;
        let nodes = (1..=program.nodes).map(|n| NodePlan { node: NodeId(n), words: Vec::new() });
        let mut plan = Self {
            nodes: nodes.collect(),
            requests: Vec::new(),
            request_of: Vec::new(),
            word_of: Vec::new(),
            observed: Vec::new(),
            program,
            code,
        };
        for id in 0..plan.program.locations.len() {
            let (node, initial) =
                (plan.program.locations[id].node, plan.program.locations[id].initial);
            let word = plan.add_word(node, Role::Location(LocationId(id)), initial);
            plan.word_of.push(word);
        }
        plan.join_arrays();
        for thread in 0..plan.code.threads.len() {
            plan.add_requests(thread);
        }
        plan.observed = test
            .observables
            .iter()
            .map(|observable| plan.place(observable.what))
            .collect::<Result<_, _>>()?;
        Ok(plan)
    }

    /// Makes the plan of a test for MPI and OpenSHMEM: `GFence` stays in the program, as these have calls
    /// that do what it does. Its code has an `Rfence` there, which is no request either.
    ///
    /// # Errors
    /// As [`Plan::new`].
    pub fn for_fabric(test: &Test) -> Result<Self, CompileError> {
        let mut fenced = test.clone();
        for thread in &mut fenced.program.threads {
            expand::with_remote_fences(&mut thread.body);
        }
        let mut plan = Self::new(&fenced)?;
        plan.program = test.program.clone();
        expand::threads_everywhere(&mut plan.program);
        Ok(plan)
    }

    /// Prints the plan for people. Statements are quoted from the source.
    pub fn describe<'a>(&'a self, test: &'a Test, source: &'a Source) -> impl fmt::Display + 'a {
        text::Description { plan: self, test, source }
    }

    /// The words of a node.
    pub fn words(&self, node: NodeId) -> &[Word] {
        self.nodes.get(node.0 as usize - 1).map_or(&[], |plan| &plan.words)
    }

    /// Whether the plan needs atomics of the NIC.
    pub fn has_atomics(&self) -> bool {
        let atomic = |request: &Request| {
            use RequestKind::{CompareAndSwap, FetchAndAdd};
            matches!(request.kind, CompareAndSwap { .. } | FetchAndAdd { .. })
        };
        self.requests.iter().any(atomic)
    }

    /// What the plan needs of the memory placement extensions.
    pub fn placements(&self) -> Placements {
        let mut all = Placements::default();
        for request in &self.requests {
            match request.kind {
                RequestKind::Flush { is_persistent } => {
                    all.flush = true;
                    all.persist |= is_persistent;
                }
                RequestKind::AtomicWrite => all.atomic_write = true,
                RequestKind::Write
                | RequestKind::Send
                | RequestKind::Read
                | RequestKind::CompareAndSwap { .. }
                | RequestKind::FetchAndAdd { .. } => {}
            }
        }
        all
    }

    /// The words of the receives that are posted for messages of a queue pair, in order. Each instance posts
    /// all of them, since receives stand outside of blocks.
    pub fn receives(&self, queue_pair: QueuePairId) -> Vec<usize> {
        let all = self.code.threads.iter().flat_map(|thread| &thread.instructions);
        let words = all.filter_map(|instruction| match instruction {
            Instruction::Receive { queue_pair: of, buffer } if *of == queue_pair => {
                Some(self.word_of[buffer.0])
            }
            _ => None,
        });
        words.collect()
    }

    /// The queue pairs of which a thread posts receives, or polls them.
    pub fn received_by(&self, thread: ThreadId) -> Vec<QueuePairId> {
        let mut found = Vec::new();
        for instruction in &self.code.threads[thread.0].instructions {
            if let Instruction::Receive { queue_pair, .. }
            | Instruction::PollReceive { queue_pair, .. } = instruction
                && !found.contains(queue_pair)
            {
                found.push(*queue_pair);
            }
        }
        found
    }

    /// Whether a thread has anything to do: statements, or messages to send in place of those that others
    /// post receives for.
    pub fn is_busy(&self, thread: usize) -> bool {
        let code = &self.code.threads[thread];
        // Without statements, it has only queue pairs that others receive from.
        code.has_statements() || !code.queue_pairs.is_empty()
    }

    /// Whether the plan has inline requests.
    pub fn has_inline(&self) -> bool {
        self.requests.iter().any(|request| request.inline)
    }

    /// The node of a queue pair's thread, and the node that the queue pair leads to.
    pub fn ends(&self, queue_pair: QueuePairId) -> (NodeId, NodeId) {
        let pair = self.code.queue_pairs[queue_pair.0];
        (self.code.threads[pair.thread.0].node, pair.node)
    }

    fn add_word(&mut self, node: NodeId, role: Role, initial: u64) -> usize {
        let words = &mut self.nodes[node.0 as usize - 1].words;
        words.push(Word { role, initial, follows: false });
        words.len() - 1
    }

    fn word(&self, location: LocationId) -> usize {
        self.word_of[location.0]
    }

    /// Marks the words of arrays, which are one behind the other.
    fn join_arrays(&mut self) {
        for (index, pair) in self.program.locations.windows(2).enumerate() {
            let (first, second) = (array_of(&pair[0].name), array_of(&pair[1].name));
            let next = first.map(|(array, number)| (array, number + 1));
            if next.is_some() && next == second && pair[0].node == pair[1].node {
                let node = pair[1].node.0 as usize - 1;
                self.nodes[node].words[self.word_of[index + 1]].follows = true;
            }
        }
    }

    fn place(&self, observed: Observed) -> Result<FinalPlace, CompileError> {
        let malformed = |what| CompileError::Malformed { span: Span::default(), what };
        match observed {
            Observed::Register(id) => {
                let register = self.program.registers.get(id.0).ok_or(malformed("register"))?;
                Ok(FinalPlace::Register(register.thread, id))
            }
            Observed::Location(id) => {
                let location = self.program.locations.get(id.0).ok_or(malformed("location"))?;
                Ok(FinalPlace::Word(location.node, self.word_of[id.0]))
            }
            Observed::Copy(object, _) => {
                let object = self.program.objects.get(object).ok_or(malformed("object"))?;
                Err(CompileError::Unsupported {
                    span: object.span,
                    statement: object.class.clone(),
                })
            }
        }
    }
}

#[cfg(test)]
mod tests;
