//! Generates C: a plan as one C file that runs the test through libibverbs and needs nothing else.
//!
//! The fixed parts are C texts: `statements.c` has what a thread can do; `setup.c` devices and connections;
//! `rounds.c` many instances, `histogram.c` their histogram, and `nodes.c` nodes and options. The generated
//! parts are specific to the test: its words, its queue pairs, one function per thread, and what a model
//! allows. [`fabric`] does the same over MPI and OpenSHMEM.

mod claims;
mod expression;
pub mod fabric;
mod names;
mod thread;

use std::collections::BTreeSet;
use std::fmt::Write;

use lang::Test;
use lang::outcome::Outcome;
use lang::program::{BOTTOM, ThreadId};
use lang::source::Source;

use crate::code::QueuePairId;
use crate::plan::{FinalPlace, NodePlan, Plan, Role, Word};

use names::{Names, comment, quote, string};

/// The first words of every file from [`generate`].
pub const MARK: &str = "/* made by litmus";

/// A model's verdict on outcomes, so that the C program can judge what it sees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdicts {
    /// The name of the model.
    pub model: String,
    /// The outcomes that the model allows, over all observables of the test.
    pub allowed: BTreeSet<Outcome>,
    /// The reason, if there may be more outcomes. Then the program judges nothing.
    pub incomplete: Option<String>,
}

/// The default TCP port of node 1: 18515, the usual port of RDMA tools, plus the node's number.
const TCP_PORT: u32 = 18516;

/// Generates the program. The text is deterministic and compiles without warnings.
pub fn generate(plan: &Plan, test: &Test, source: &Source, verdicts: Option<&Verdicts>) -> String {
    let generator = Generator { plan, test, source, names: Names::new(plan), calls: &VERBS };
    let mut out = generator.head();
    out.push_str(include_str!("c/types.c"));
    out.push_str(include_str!("c/common.c"));
    if plan.placements().any() {
        out.push_str(include_str!("c/placement.c"));
    }
    out.push_str(include_str!("c/statements.c"));
    if plan.program.first_message().is_some() {
        out.push_str(include_str!("c/messages.c"));
    }
    out.push_str("\n/* ---- The test ");
    out.push_str(&"-".repeat(97));
    out.push_str(" */\n\n");
    out.push_str(&generator.words());
    out.push_str(&generator.queue_pairs());
    for thread in 0..plan.code.threads.len() {
        out.push_str(&generator.thread(thread));
    }
    out.push_str(&generator.tables());
    out.push_str(&generator.claims(verdicts));
    out.push_str(include_str!("c/setup.c"));
    out.push_str(include_str!("c/rounds.c"));
    out.push_str(include_str!("c/histogram.c"));
    out.push_str(include_str!("c/nodes.c"));
    out
}

/// The names of the functions that post requests.
struct Calls {
    put: &'static str,
    put_inline: &'static str,
    get: &'static str,
    compare_and_swap: &'static str,
    fetch_and_add: &'static str,
    remote_fence: &'static str,
    /// The distance of words in memory that do not follow each other, in units of the program.
    stride: usize,
    /// Whether what a model allows is about CPUs that are TSO.
    is_tso: bool,
}

const VERBS: Calls = Calls {
    put: "rdma_write",
    put_inline: "rdma_write_inline",
    get: "rdma_read",
    compare_and_swap: "rdma_cas",
    fetch_and_add: "rdma_faa",
    remote_fence: "remote_fence",
    // Of 8 bytes: a cache line.
    stride: 8,
    is_tso: true,
};

struct Generator<'a> {
    plan: &'a Plan,
    test: &'a Test,
    source: &'a Source,
    names: Names,
    calls: &'static Calls,
}

impl Generator<'_> {
    /// The opening comment, and the constants for all sizes.
    fn head(&self) -> String {
        let plan = self.plan;
        let build = "gcc -O2 FILE.c -o FILE -libverbs (and -lpthread, with glibc before 2.34)";
        let mut out = self.opening(build, "./FILE -h says how");
        let atomics = u8::from(plan.has_atomics());
        let needed = plan.placements();
        let placements = u8::from(needed.flush)
            | u8::from(needed.persist) << 1
            | u8::from(needed.atomic_write) << 2;
        let receives = self.receives();
        let shared = plan.program.shared_queue_pair().is_some();
        out.push_str(&self.definitions(&[
            ("TCP_PORT", format!("\"{TCP_PORT}\""), "of node 1"),
            ("THREADS", plan.code.threads.len().to_string(), "on all nodes"),
            ("QUEUE_PAIRS", plan.code.queue_pairs.len().to_string(), "of all threads"),
            ("NEEDS_ATOMICS", atomics.to_string(), "of the NIC"),
            ("INLINE_BYTES", if plan.has_inline() { "8" } else { "0" }.to_owned(), "of a request"),
            ("PLACEMENTS", placements.to_string(), "1: FLUSH, 2: for persistence, 4: ATOMIC_WRITE"),
            ("MESSAGES", u8::from(self.has_bottom()).to_string(), "whether there are any"),
            ("SHARED", u8::from(shared).to_string(), "whether threads share queue pairs"),
            ("RECEIVES", receives.to_string(), "of an instance, at the queue pair with most"),
        ]));
        out
    }

    /// Macros for the constants of every program, then for those of one kind: name, value, and what it is.
    fn definitions(&self, of_kind: &[(&str, String, &str)]) -> String {
        let plan = self.plan;
        let of_node = |node: &NodePlan| self.places(&node.words).last().map_or(1, |last| last + 1);
        let words = plan.nodes.iter().map(of_node).max().unwrap_or(1);
        let (copies, per_round) = (crate::plan::LOOP_COPIES, crate::plan::PER_ROUND);
        let mut all = vec![
            ("TEST", string(&self.test.name), ""),
            ("PROGRAM", format!("{:#018x}ull", hash(&self.source.text)), "hash of the text above"),
            ("NODES", plan.nodes.len().to_string(), ""),
            ("WORDS", words.to_string(), "of an instance, at the node that has most"),
            ("WORK_IDS", plan.program.work_ids.len().to_string(), ""),
            ("OBSERVED", plan.observed.len().to_string(), "values per instance"),
            ("PER_ROUND", per_round.to_string(), "instances, unless -r says otherwise"),
            ("COPIES", copies.to_string(), "of a value that a loop puts"),
            ("BOTTOM", format!("UINT64_C({BOTTOM})"), "what no number is"),
        ];
        all.extend_from_slice(of_kind);
        let mut out = String::new();
        for (name, value, what) in all {
            let line = format!("#define {name:<14} {value}");
            let what = if what.is_empty() { String::new() } else { format!("/* {what} */") };
            let _ = writeln!(out, "{}", format!("{line:<30} {what}").trim_end());
        }
        out.push('\n');
        out
    }

    /// The opening comment: the test, and how its program is built and run.
    fn opening(&self, build: &str, run: &str) -> String {
        let name = comment(&self.test.name);
        let mut out = format!("{MARK} {} of the test {name} */\n/*\n", env!("CARGO_PKG_VERSION"));
        for line in self.source.text.trim_end().lines() {
            out.push_str(format!(" * {}", comment(line)).trim_end());
            out.push('\n');
        }
        for line in [String::new(), format!("Build: {build}"), format!("Run:   {run}")] {
            out.push_str(format!(" * {line}").trim_end());
            out.push('\n');
        }
        out.push_str(" */\n\n");
        out
    }

    /// The words of every node, and their initial values.
    fn words(&self) -> String {
        let mut out = String::new();
        let mut initial = String::new();
        for (node, names) in self.plan.nodes.iter().zip(&self.names.words) {
            if node.words.is_empty() {
                initial.push_str("\t{ 0 },\n");
                continue;
            }
            let _ = writeln!(out, "/* Node {}: the words of an instance. */\nenum {{", node.node.0);
            let values: Vec<String> =
                node.words.iter().map(|word| word.initial.to_string()).collect();
            let places = self.places(&node.words);
            for ((word, name), place) in node.words.iter().zip(names).zip(places) {
                let what = match word.role {
                    Role::Location(id) => comment(&self.plan.program.locations[id.0].name),
                    Role::Source { request } => {
                        let span = self.plan.requests[request].span;
                        format!("the value of `{}`", quote(self.source, span))
                    }
                };
                let _ = writeln!(out, "\t{name} = {place},\t/* {what} */");
            }
            out.push_str("};\n\n");
            let pairs = names.iter().zip(&values);
            let pairs: Vec<String> =
                pairs.map(|(name, value)| format!("[{name}] = {}", constant(value))).collect();
            let _ = writeln!(initial, "\t{{ {} }},", pairs.join(", "));
        }
        let _ = write!(
            out,
            "/* What they hold when an instance starts. */\n\
             static const uint64_t initial[NODES][WORDS] = {{\n{initial}}};\n\n"
        );
        out
    }

    /// Where the words of a node are, in words from the first of an instance. Each has a cache line of its
    /// own, except those that follow another.
    fn places(&self, words: &[Word]) -> Vec<usize> {
        let mut places: Vec<usize> = Vec::new();
        for word in words {
            let next = places.last().map_or(0, |last| last + 1);
            let is_behind = word.follows && !places.is_empty();
            places.push(if is_behind { next } else { next.next_multiple_of(self.calls.stride) });
        }
        places
    }

    /// Whether values may be `⊥`: a message without an immediate leaves it.
    fn has_bottom(&self) -> bool {
        self.plan.program.first_message().is_some()
    }

    /// The most receives that an instance posts for one queue pair.
    fn receives(&self) -> usize {
        let pairs = (0..self.plan.code.queue_pairs.len()).map(QueuePairId);
        pairs.map(|pair| self.plan.receives(pair).len()).max().unwrap_or(0)
    }

    /// The queue pairs of the threads, and the work ids.
    fn queue_pairs(&self) -> String {
        let mut out = String::new();
        let pairs = &self.plan.code.queue_pairs;
        if !pairs.is_empty() {
            out.push_str("/* Queue pairs: each thread has its own to each node that it speaks to. */\nenum {\n");
            for name in &self.names.queue_pairs {
                let _ = writeln!(out, "\t{name},");
            }
            out.push_str("};\n\n");
        }
        out.push_str("static const struct queue_pair queue_pairs[QUEUE_PAIRS + 1] = {\n");
        for (index, (pair, name)) in pairs.iter().zip(&self.names.queue_pairs).enumerate() {
            let (thread, node) = (pair.thread.0, pair.node.0 - 1);
            let receives = self.receives_of(QueuePairId(index));
            let shared = if pair.is_shared() { ", .is_shared = 1" } else { "" };
            let _ = writeln!(
                out,
                "\t[{name}] = {{ .thread = {thread}, .node = {node}{shared}{receives} }},"
            );
        }
        out.push_str("\t[QUEUE_PAIRS] = { 0 },\n};\n\n");
        out + &self.work_ids()
    }

    /// The receives of a queue pair, in its row of the table.
    fn receives_of(&self, pair: QueuePairId) -> String {
        let names = &self.names.words[self.plan.ends(pair).1.0 as usize - 1];
        let buffers: Vec<&str> =
            self.plan.receives(pair).into_iter().map(|word| names[word].as_str()).collect();
        let mut threads = (0..self.plan.code.threads.len()).map(ThreadId);
        match threads.find(|thread| self.plan.received_by(*thread).contains(&pair)) {
            Some(receiver) if !buffers.is_empty() => format!(
                ", .receiver = {}, .receives = {}, .buffers = {{ {} }}",
                receiver.0,
                buffers.len(),
                buffers.join(", ")
            ),
            _ => String::new(),
        }
    }

    fn work_ids(&self) -> String {
        match self.names.ids.as_slice() {
            [] => String::new(),
            ids => format!("/* Work ids. */\nenum {{ {} }};\n\n", ids.join(", ")),
        }
    }

    /// The tables that the fixed parts use: threads and observables.
    fn tables(&self) -> String {
        let mut out = String::from(
            "static const struct { int node; enum status (*run)(struct thread *); } threads[THREADS] = {\n",
        );
        for (index, thread) in self.plan.code.threads.iter().enumerate() {
            let _ = writeln!(out, "\t{{ {}, thread_{} }},", thread.node.0 - 1, index + 1);
        }
        out.push_str("};\n\n/* What is observed: registers, for which node is -1, and words at the end. */\n");
        out.push_str("static const struct { const char *name; int node, word; } observed[OBSERVED + 1] = {\n");
        for (observable, place) in self.test.observables.iter().zip(&self.plan.observed) {
            let place = match place {
                FinalPlace::Register(..) => "-1, 0".to_owned(),
                FinalPlace::Word(node, word) => {
                    let node = node.0 as usize - 1;
                    format!("{node}, {}", self.names.words[node][*word])
                }
            };
            let _ = writeln!(out, "\t{{ {}, {place} }},", string(&observable.name));
        }
        out.push_str("\t{ NULL, -1, 0 },\n};\n\n");
        out
    }
}

/// A decimal number as a C constant, whatever its size.
fn constant(decimal: &str) -> String {
    if decimal.len() < 10 { decimal.to_owned() } else { format!("UINT64_C({decimal})") }
}

/// FNV-1a. Nodes compare this hash to check that they run the same program.
fn hash(text: &str) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, step)
}

#[cfg(test)]
mod tests;
