//! Generates a C function for each thread.

use std::collections::BTreeSet;
use std::fmt::Write;

use lang::program::{
    Expr, LocationId, NodeId, Peer, PutSource, RegisterId, Stmt, StmtKind, Towards, Words, WorkId,
};
use lang::source::Span;

use super::Generator;
use super::expression::Term;
use super::names::quote;
use crate::plan::{FinalPlace, RequestKind};

impl Generator<'_> {
    /// The function of one thread.
    pub(super) fn thread(&self, index: usize) -> String {
        let thread = &self.plan.program.threads[index];
        let first = self.plan.request_of[index].iter().flatten().copied().min();
        let mut body = Body {
            generator: self,
            thread: index,
            text: String::new(),
            depth: 1,
            next_request: first.unwrap_or(0),
            turns: Vec::new(),
            read: BTreeSet::new(),
            last: None,
        };
        body.block(&thread.body);
        let finish = body.finish();
        let declarations = body.declarations();
        let uses_thread = body.text.contains("(t") || finish.contains("t->");
        let unused = if uses_thread { "" } else { "\t(void)t;\n" };
        let (number, node) = (index + 1, thread.node.0);
        format!(
            "/* Thread {number} on node {node}. */\n\
             static enum status thread_{number}(struct thread *t)\n{{\n{declarations}{unused}{}{finish}\treturn FINISHED;\n}}\n\n",
            body.text
        )
    }
}

struct Body<'a> {
    generator: &'a Generator<'a>,
    thread: usize,
    text: String,
    /// The depth of the indentation.
    depth: usize,
    /// The index of the next request to be posted. Requests are in the order of the text.
    next_request: usize,
    /// The requests that put a value from several words in turn.
    turns: Vec<usize>,
    /// The registers whose value is used.
    read: BTreeSet<RegisterId>,
    /// The statement that the last comment quotes. Several C statements for one statement share a comment.
    last: Option<Span>,
}

impl Body<'_> {
    fn block(&mut self, body: &[Stmt]) {
        for (index, statement) in body.iter().enumerate() {
            lang::limits::look_now();
            // A read inside an expression is part of the statement after it.
            let (within, rest) = (statement.span, &body[index + 1..]);
            let whole = rest.iter().map(|later| later.span).find(|later| {
                *later != within && later.start <= within.start && within.end <= later.end
            });
            self.statement(statement, whole.unwrap_or(within));
        }
    }

    fn line(&mut self, text: &str) {
        let indent = "\t".repeat(self.depth);
        let _ = writeln!(self.text, "{indent}{text}");
    }

    /// Generates a statement. `whole` is the part of the test's text that it comes from.
    fn statement(&mut self, statement: &Stmt, whole: Span) {
        if self.last != Some(whole) && statement.kind != StmtKind::Break {
            self.last = Some(whole);
            let quoted = quote(self.generator.source, whole);
            if !quoted.is_empty() {
                self.line(&format!("/* {quoted} */"));
            }
        }
        match &statement.kind {
            StmtKind::If { condition, then, otherwise } => self.branch(condition, then, otherwise),
            StmtKind::Loop(body) => {
                self.line("for (;;) {");
                self.nested(body);
                self.depth += 1;
                self.line("if (!goes_on(t))");
                self.line("\treturn GIVEN_UP;");
                self.depth -= 1;
                self.line("}");
            }
            StmtKind::Break => self.line("break;"),
            StmtKind::Assume(condition) => {
                let failed = self.value(condition).not();
                self.line(&format!("if ({})", failed.text()));
                self.line("\treturn ASSUMED_FALSE;");
            }
            StmtKind::OutOfRange { .. } => self.line("return ASSUMED_FALSE;"),
            StmtKind::Poll(pairs) => {
                let names: Vec<String> = pairs.iter().map(|one| self.queue_pair(*one)).collect();
                let is_shared = |pair: &Towards| pair.is_shared();
                let call = match names.as_slice() {
                    [pair] if !pairs.iter().any(is_shared) => format!("poll_one(t, {pair})"),
                    all => {
                        let (number, all) = (all.len(), all.join(", "));
                        format!("poll_any(t, (const int[]) {{ {all} }}, {number})")
                    }
                };
                self.line(&format!("if (!{call})"));
                self.line("\treturn BLOCKED;");
            }
            // Only fabrics have it; elsewhere, it has been expanded.
            StmtKind::GlobalFence(nodes) => {
                nodes.iter().for_each(|node| self.line(&format!("flush(t, NODE_{});", node.0)));
            }
            StmtKind::Put { id, .. }
            | StmtKind::Get { id, .. }
            | StmtKind::Rcas { id, .. }
            | StmtKind::Rfaa { id, .. }
            | StmtKind::Words(Words { id, .. })
            | StmtKind::AtomicWrite { id, .. }
            | StmtKind::Flush { id, .. }
            | StmtKind::Message { id, .. } => self.request(&statement.kind, *id),
            kind => {
                let line = self.simple(kind);
                self.line(&line);
            }
        }
    }

    /// Generates a nested block, without braces.
    fn nested(&mut self, body: &[Stmt]) {
        self.depth += 1;
        self.block(body);
        self.depth -= 1;
    }

    fn branch(&mut self, condition: &Expr, then: &[Stmt], otherwise: &[Stmt]) {
        let condition = self.value(condition).truth();
        self.line(&format!("if ({}) {{", condition.text()));
        self.nested(then);
        if !otherwise.is_empty() {
            self.line("} else {");
            self.nested(otherwise);
        }
        self.line("}");
    }

    /// Generates a statement that is one line of C.
    fn simple(&mut self, kind: &StmtKind) -> String {
        match kind {
            StmtKind::Assign { register, value } => {
                let (register, value) = (self.register(*register), self.value(value));
                if value.text() == register {
                    return "/* (no effect) */".to_owned();
                }
                format!("{register} = {};", value.text())
            }
            StmtKind::Read { register, location } => {
                let (register, word) = (self.register(*register), self.word(*location));
                format!("{register} = cpu_read(t, {word});")
            }
            StmtKind::Write { location, value } => {
                let (word, value) = (self.word(*location), self.value(value));
                format!("cpu_write(t, {word}, {});", value.text())
            }
            StmtKind::Cas { register, location, expected, desired } => {
                let target = self.target(*register);
                let (word, expected, desired) =
                    (self.word(*location), self.value(expected), self.value(desired));
                format!("{target}cpu_cas(t, {word}, {}, {});", expected.text(), desired.text())
            }
            StmtKind::Faa { register, location, addend } => {
                let target = self.target(*register);
                let (word, addend) = (self.word(*location), self.value(addend));
                format!("{target}cpu_faa(t, {word}, {});", addend.text())
            }
            StmtKind::Exchange { register, location, value } => {
                let target = self.target(*register);
                let (word, value) = (self.word(*location), self.value(value));
                format!("{target}cpu_exchange(t, {word}, {});", value.text())
            }
            StmtKind::Fence => "cpu_fence(t);".to_owned(),
            StmtKind::RemoteFence(towards) => {
                let name = self.generator.calls.remote_fence;
                format!("{name}(t, {});", self.queue_pair(*towards))
            }
            StmtKind::Receive { from, .. } => {
                format!("post_receive(t, {});", self.received_queue_pair(*from))
            }
            StmtKind::PollReceive { from, register } => {
                let target = self.target(*register);
                format!("{target}poll_receive(t, {});", self.received_queue_pair(*from))
            }
            StmtKind::Wait(id) => format!("wait_for_id(t, {});", self.generator.names.ids[id.0]),
            // A program with other statements has no plan.
            _ => "#error a statement without a plan".to_owned(),
        }
    }

    fn request(&mut self, kind: &StmtKind, id: Option<WorkId>) {
        let (generator, index) = (self.generator, self.next_request);
        self.next_request += 1;
        let request = &generator.plan.requests[index];
        let pair = &generator.names.queue_pairs[request.queue_pair.0];
        let (here, there) = generator.plan.ends(request.queue_pair);
        let word = |node: NodeId, word: usize| &generator.names.words[node.0 as usize - 1][word];
        let mut local = word(here, request.local).clone();
        let remote = request.remote.map_or("", |remote| word(there, remote));
        if let StmtKind::Put { source: PutSource::Value(value), .. }
        | StmtKind::AtomicWrite { value, .. }
        | StmtKind::Message { source: PutSource::Value(value), .. } = kind
            && request.store.is_some()
        {
            let value = self.value(value);
            if request.copies > 1 {
                self.line(&format!("copy = {local} + next_copy(t, {pair}, &turn_{});", index + 1));
                self.turns.push(index);
                "copy".clone_into(&mut local);
            }
            self.line(&format!("set_source(t, {local}, {});", value.text()));
        }
        if request.unsignaled {
            let is_awaited = i32::from(request.copies > 1);
            self.line(&format!("unsignaled(t, {is_awaited});"));
        }
        let operands = format!("t, {pair}, {local}, {remote}");
        let calls = generator.calls;
        let immediate = match kind {
            StmtKind::Message { immediate: Some(immediate), .. } => Some(self.value(immediate)),
            _ => None,
        };
        let call = match (&request.kind, kind) {
            (RequestKind::Send, _) => match immediate {
                Some(value) => format!("rdma_send_imm(t, {pair}, {local}, {});", value.text()),
                None => format!("rdma_send(t, {pair}, {local});"),
            },
            (RequestKind::Write, StmtKind::Message { .. }) => {
                let value = immediate.unwrap_or_else(|| Term::constant(0));
                format!("rdma_write_imm({operands}, {});", value.text())
            }
            (RequestKind::Write, StmtKind::Words(words)) => {
                format!("rdma_write_words({operands}, {});", words.local.len())
            }
            (RequestKind::Read, StmtKind::Words(words)) => {
                format!("rdma_read_words({operands}, {});", words.local.len())
            }
            (RequestKind::AtomicWrite, _) => format!("rdma_atomic_write({operands});"),
            (RequestKind::Flush { is_persistent: false }, _) => format!("rdma_flush(t, {pair});"),
            (RequestKind::Flush { is_persistent: true }, _) => format!("rdma_persist(t, {pair});"),
            (RequestKind::Write, _) if request.inline => {
                format!("{}({operands});", calls.put_inline)
            }
            (RequestKind::Write, _) => format!("{}({operands});", calls.put),
            (RequestKind::Read, _) => format!("{}({operands});", calls.get),
            (RequestKind::CompareAndSwap { .. }, StmtKind::Rcas { expected, desired, .. }) => {
                let (expected, desired) = (self.value(expected), self.value(desired));
                let name = calls.compare_and_swap;
                format!("{name}({operands}, {}, {});", expected.text(), desired.text())
            }
            (RequestKind::FetchAndAdd { .. }, StmtKind::Rfaa { addend, .. }) => {
                format!("{}({operands}, {});", calls.fetch_and_add, self.value(addend).text())
            }
            _ => "#error a request of another kind than its statement".to_owned(),
        };
        self.line(&call);
        if let Some(id) = id {
            self.line(&format!("has_id(t, {pair}, {});", generator.names.ids[id.0]));
        }
    }

    /// The declarations at the start of the function: registers, and the turn of each value that has several
    /// words.
    fn declarations(&self) -> String {
        let registers = self.generator.plan.program.registers.iter().enumerate();
        let own: Vec<RegisterId> = registers
            .filter(|(_, register)| register.thread.0 == self.thread)
            .map(|(index, _)| RegisterId(index))
            .collect();
        let name = |id: &RegisterId| self.generator.names.registers[id.0].as_str();
        let mut out = String::new();
        if !own.is_empty() {
            let all: Vec<String> = own.iter().map(|id| format!("{} = 0", name(id))).collect();
            let _ = writeln!(out, "\tuint64_t {};", all.join(", "));
        }
        for index in &self.turns {
            let _ = writeln!(out, "\tstruct turn turn_{} = {{ 0 }};", index + 1);
        }
        if !self.turns.is_empty() {
            out.push_str("\tint copy;\n");
        }
        if !out.is_empty() {
            out.push('\n');
        }
        for unread in own.iter().filter(|id| !self.read.contains(id)) {
            let _ = writeln!(out, "\t(void){};\t/* nobody looks at it */", name(unread));
        }
        out
    }

    /// Stores the observed registers.
    fn finish(&mut self) -> String {
        let mut out = String::new();
        for (index, place) in self.generator.plan.observed.iter().enumerate() {
            if let FinalPlace::Register(thread, register) = place
                && thread.0 == self.thread
            {
                self.read.insert(*register);
                let name = &self.generator.names.registers[register.0];
                let _ = writeln!(out, "\tt->row[{index}] = {name};");
            }
        }
        if out.is_empty() { out } else { format!("\n{out}") }
    }

    fn value(&mut self, expression: &Expr) -> Term {
        self.read.extend(expression.registers());
        Term::new(expression, &self.generator.names.registers, self.generator.has_bottom())
    }

    fn register(&self, id: RegisterId) -> String {
        self.generator.names.registers[id.0].clone()
    }

    /// The left side `r_a = `, if a register takes the result.
    fn target(&self, register: Option<RegisterId>) -> String {
        register.map_or(String::new(), |register| format!("{} = ", self.register(register)))
    }

    fn word(&self, location: LocationId) -> String {
        let node = self.generator.plan.program.locations[location.0].node.0 as usize - 1;
        self.generator.names.words[node][self.generator.plan.word_of[location.0]].clone()
    }

    /// The queue pair of another thread that this thread posts receives for.
    fn received_queue_pair(&self, from: Peer) -> String {
        let code = &self.generator.plan.code;
        let here = code.threads[self.thread].node;
        let mut pairs = code.queue_pairs.iter().zip(&self.generator.names.queue_pairs);
        let found = pairs.find(|(pair, _)| {
            (pair.thread, pair.node, pair.number) == (from.thread, here, from.queue_pair)
        });
        found.map_or_else(String::new, |(_, name)| name.clone())
    }

    fn queue_pair(&self, towards: Towards) -> String {
        let code = &self.generator.plan.code;
        let mut own = code.threads[self.thread].pairs();
        let found = own.find(|pair| code.queue_pairs[*pair].towards() == towards);
        found.map_or_else(String::new, |pair| self.generator.names.queue_pairs[pair].clone())
    }
}
