//! Makes random shapes. The same seed gives the same shapes on every machine.

use std::collections::BTreeMap;

use super::search::{Bounds, Vocabulary};
use super::shape::{Completion, Location, Shape, Thread};
use super::step::{Access, Post, SHARED, Step, is_shared};
use crate::machine::Random;

/// The relative frequency of each kind of statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Weights(Vec<(&'static str, u32)>);

/// The kinds of statements and their default weights.
pub const KINDS: [(&str, u32); 22] = [
    ("w", 4),
    ("r", 5),
    ("cas", 1),
    ("faa", 1),
    ("mfence", 1),
    ("put", 4),
    ("copy", 2),
    ("get", 4),
    ("rcas", 2),
    ("rfaa", 2),
    ("wait", 4),
    ("rfence", 1),
    ("inline", 0),
    ("flush", 0),
    ("atomicwrite", 0),
    ("persist", 0),
    ("send", 0),
    ("sendimm", 0),
    ("putimm", 0),
    ("wput", 0),
    ("wget", 0),
    ("index", 0),
];

impl Default for Weights {
    fn default() -> Self {
        Self(KINDS.to_vec())
    }
}

impl std::str::FromStr for Weights {
    type Err = String;

    /// Parses `put=8,get=0`. Kinds that are not named keep their weight.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut weights = Self::default();
        for part in text.split(',').filter(|part| !part.trim().is_empty()) {
            let (name, number) = part.split_once('=').unwrap_or((part, ""));
            let number: u32 =
                number.trim().parse().ok().filter(|number| *number <= 1000).ok_or(format!(
                    "expected `{} = NUMBER` with a number up to 1000, found `{part}`",
                    name.trim()
                ))?;
            let known = weights.0.iter_mut().find(|(known, _)| *known == name.trim());
            let names: Vec<&str> = KINDS.iter().map(|(name, _)| *name).collect();
            let unknown =
                || format!("expected one of {}, found `{}`", names.join(", "), name.trim());
            known.ok_or_else(unknown)?.1 = number;
        }
        if weights.0.iter().all(|(_, weight)| *weight == 0) {
            return Err("expected some weight above 0, found none".to_owned());
        }
        Ok(weights)
    }
}

impl std::fmt::Display for Weights {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let parts: Vec<String> =
            self.0.iter().map(|(name, weight)| format!("{name}={weight}")).collect();
        f.write_str(&parts.join(","))
    }
}

/// The kinds that a model must define, with its names for what they need.
const NEEDS: [(&str, &str); 8] = [
    ("persist", "Crash"),
    ("flush", "Flush"),
    ("atomicwrite", "AtomicWrite"),
    ("send", "Send"),
    ("sendimm", "Immediate"),
    ("putimm", "Immediate"),
    ("wput", "Words"),
    ("wget", "Words"),
];

impl Weights {
    /// Why no program can have all that is asked for, if none can.
    pub fn refused(&self, vocabulary: &Vocabulary) -> Option<String> {
        let is_lacking =
            |(kind, call): &&(&str, &str)| self.takes(&[kind]) && !vocabulary.calls.contains(call);
        if let Some((kind, call)) = NEEDS.iter().find(is_lacking) {
            return Some(format!("expected `{kind}=0`, as the model does not define `{call}`"));
        }
        let others = ["send", "sendimm", "putimm", "index"];
        let found = others.iter().find(|kind| self.takes(&["persist"]) && self.takes(&[kind]))?;
        Some(format!(
            "expected `persist=0` or `{found}=0`: programs with a crash have no messages and indices"
        ))
    }

    /// Whether some of these kinds are taken.
    fn takes(&self, kinds: &[&str]) -> bool {
        self.0.iter().any(|(name, weight)| kinds.contains(name) && *weight > 0)
    }
}

/// How many programs are tried for a seed and number before the search gives up.
const ATTEMPTS: usize = 200;

/// What random choices derive from: a seed, and a number for each program of the seed.
#[derive(Clone, Copy, Debug)]
pub struct Seed {
    /// The seed.
    pub seed: u64,
    /// The number of the program.
    pub number: u64,
}

/// How remote operations are posted.
#[derive(Clone, Copy, Debug)]
pub struct Posting {
    /// The most queue pairs of a thread to a node.
    pub queue_pairs: u8,
    /// Of how many requests one is unsignaled, on average; 0 for none.
    pub unsignaled: u8,
    /// Of how many requests one is on a queue pair that threads share, on average; 0 for none.
    pub shared: u8,
}

/// The shape for a seed. `None` if no attempt gave one that the models define and in which threads meet.
pub fn random(
    Seed { seed, number }: Seed,
    posting: Posting,
    weights: &Weights,
    vocabulary: &Vocabulary,
    bounds: &Bounds,
) -> Option<Shape> {
    let mut random = Random::stream(seed, number);
    (0..ATTEMPTS).find_map(|_| attempt(&mut random, posting, weights, vocabulary, bounds))
}

fn attempt(
    random: &mut Random,
    posting: Posting,
    weights: &Weights,
    vocabulary: &Vocabulary,
    bounds: &Bounds,
) -> Option<Shape> {
    let mut below = |bound: usize| random.below(bound.max(1) as u32) as usize;
    let threads = 1 + below(bounds.threads);
    let nodes = if bounds.nodes < 2 { 1 } else { 2 + below(bounds.nodes - 1) };
    let per_node = 1 + below(2);
    let mut homes: Vec<u8> = (0..nodes * per_node).map(|place| (place % nodes) as u8).collect();
    let arrays = homes.len() as Location;
    if weights.takes(&["wput", "wget", "index"]) {
        homes.extend((0..nodes as u8).flat_map(|node| [node; WORDS as usize]));
    }
    let crash = weights.takes(&["persist"]);
    let mut shape = Shape { threads: Vec::new(), homes, crash };
    let mut left = bounds.size;
    for index in 0..threads {
        let node = if index < nodes { index } else { below(nodes) };
        let length = (1 + below(bounds.thread)).min(left);
        left -= length;
        shape.threads.push(Thread::new(node as u8));
        let Posting { queue_pairs, unsignaled, shared } = posting;
        for _ in 0..length {
            let kind = pick(&mut below, weights);
            let drawn = step(&mut below, kind, &mut shape, (index, nodes, arrays));
            if let Some(step) = drawn {
                // Without a choice nothing is drawn, so that seeds keep their programs.
                let has_choice = queue_pairs > 1 && shape.node_of(step).is_some();
                let queue_pair = if has_choice { below(queue_pairs.into()) as u8 } else { 0 };
                let unsignaled =
                    unsignaled > 0 && step.is_operation() && below(unsignaled.into()) == 0;
                let immediate = matches!(kind, "sendimm" | "putimm");
                // Messages go on queue pairs of one thread.
                let is_message = immediate || kind == "send";
                let on_shared = shared > 0
                    && !is_message
                    && shape.node_of(step).is_some()
                    && below(shared.into()) == 0;
                let queue_pair = if on_shared { SHARED } else { queue_pair };
                let post = Post { queue_pair, unsignaled, inline: kind == "inline", immediate };
                shape.threads[index].body.push(step);
                shape.threads[index].posts.push(post);
            }
        }
        let thread = std::mem::take(&mut shape.threads[index]);
        let posts = thread.posts.clone();
        shape.threads[index] = thread.posted(posts);
    }
    receives(&mut below, &mut shape);
    let completion = vocabulary.completion;
    let defined =
        shape.steps().all(|step| step.call().is_none_or(|call| vocabulary.calls.contains(&call)));
    let mut posts = shape.threads.iter().flat_map(|thread| &thread.posts);
    let has = |call: &str| vocabulary.calls.contains(&call);
    let defined = defined
        && (has("Crash") || !crash)
        && (has("Words") || !shape.has_requests_of_words())
        && posts.all(|post| {
            (has("Unsignaled") || !post.unsignaled)
                && (has("Immediate") || !post.immediate)
                && (has("SharedPost") || !is_shared(post.queue_pair))
        });
    let shape = shape.canonical();
    let meet = shape.accesses().any(|(thread, _, access)| {
        let meets = |(other, _, found): (usize, usize, Access)| {
            other != thread && found.place == access.place && (found.writes || access.writes)
        };
        shape.accesses().any(meets)
    });
    let is_good = defined
        && (meet || crash || shape.has_messages() || shape.has_flushes())
        && bounds.hold(&shape)
        && !(crash && shape.has_what_crashes_do_not())
        && (completion != Completion::Never || !has_wait(&shape))
        && shape.waits_for_something(completion);
    is_good.then_some(shape)
}

/// Adds receives for messages: one thread of the target has all of a queue pair.
fn receives(below: &mut impl FnMut(usize) -> usize, shape: &mut Shape) {
    let mut pairs: BTreeMap<(usize, (u8, u8)), usize> = BTreeMap::new();
    for (sender, thread) in shape.threads.iter().enumerate() {
        for at in (0..thread.body.len()).filter(|at| thread.is_message(*at)) {
            let Some(pair) = shape.queue_pair_of(thread, at) else { continue };
            *pairs.entry((sender, pair)).or_default() += 1;
        }
    }
    for ((sender, (node, queue_pair)), messages) in pairs {
        let at_node = |at: &usize| shape.threads[*at].node == node;
        let takers: Vec<usize> = (0..shape.threads.len()).filter(at_node).collect();
        let Some(taker) = takers.get(below(takers.len())) else { continue };
        let (sender, post) = (sender as u8, Post { queue_pair, ..Post::default() });
        let buffers: Vec<Location> = (0..shape.homes.len() as u8)
            .filter(|at| shape.homes[usize::from(*at)] == node)
            .collect();
        // Now and then one too few, which blocks, or one too many.
        let count = match below(16) {
            0 => messages - 1,
            1 => messages + 1,
            _ => messages,
        };
        let mut first = 0;
        for _ in 0..count {
            let into = buffers.get(below(buffers.len() + 1)).copied();
            let thread = &mut shape.threads[*taker];
            // Early more often than late: a receive that comes late only makes the message wait.
            let late = thread.body.len() - first;
            let at = first + below(late + 1).min(below(late + 1));
            thread.insert(at, Step::Receive { thread: sender, into }, post);
            first = at + 1;
        }
        for _ in 0..count.min(messages) {
            if below(4) == 0 {
                continue;
            }
            let thread = &mut shape.threads[*taker];
            let at = below(thread.body.len() + 1);
            thread.insert(at, Step::PollReceive { thread: sender }, post);
        }
    }
}

fn has_wait(shape: &Shape) -> bool {
    shape.steps().any(|step| matches!(step, Step::Await { .. }))
}

fn pick(below: &mut impl FnMut(usize) -> usize, weights: &Weights) -> &'static str {
    let total: u32 = weights.0.iter().map(|(_, weight)| weight).sum();
    let mut at = below(total as usize) as u32;
    for (name, weight) in &weights.0 {
        if at < *weight {
            return name;
        }
        at -= weight;
    }
    "r"
}

/// How many words the arrays have.
const WORDS: u8 = 2;

/// A step of a kind for a thread, given the number of nodes and the location of the first array: each node
/// has one.
fn step(
    below: &mut impl FnMut(usize) -> usize,
    kind: &str,
    shape: &mut Shape,
    (thread, nodes, arrays): (usize, usize, Location),
) -> Option<Step> {
    let array = |node: u8| arrays + node * WORDS;
    let own = shape.threads[thread].node;
    // One remote operation in eight goes to the thread's own node (loopback).
    let other = match nodes {
        1 => own,
        _ if below(8) == 0 => own,
        _ => ((usize::from(own) + 1 + below(nodes - 1)) % nodes) as u8,
    };
    let mut of = |shape: &Shape, node: u8| {
        let places: Vec<Location> = (0..shape.homes.len() as u8)
            .filter(|at| shape.homes[usize::from(*at)] == node)
            .collect();
        places.get(below(places.len())).copied()
    };
    let (at, to) = (of(shape, own)?, of(shape, other)?);
    let mut result = |shape: &mut Shape| {
        if below(3) == 0 {
            return at;
        }
        shape.homes.push(own);
        (shape.homes.len() - 1) as Location
    };
    Some(match kind {
        "w" => Step::Write { at },
        "cas" => Step::Cas { at, hits: true },
        "faa" => Step::Faa { at },
        "mfence" => Step::Fence,
        "put" => Step::PutValue { to },
        "copy" | "inline" => Step::Put { to, from: at },
        "get" => Step::Get { from: to, into: result(shape) },
        "rcas" => Step::Rcas { at: to, into: result(shape), hits: true },
        "rfaa" => Step::Rfaa { at: to, into: result(shape) },
        "rfence" => Step::RemoteFence { node: other },
        "flush" => Step::Flush { is_persistent: false, node: other },
        "atomicwrite" => Step::AtomicWrite { to },
        "persist" => Step::Flush { is_persistent: true, node: other },
        "send" | "sendimm" => Step::Send { node: other, from: (below(2) == 0).then_some(at) },
        "putimm" => Step::PutValue { to },
        "wput" => Step::PutWords { to: array(other), from: array(own), words: WORDS },
        "wget" => Step::GetWords { from: array(other), into: array(own), words: WORDS },
        "index" => {
            let body = &shape.threads[thread].body;
            let is_read = |at: &usize| matches!(body[*at], Step::Read { .. });
            let reads: Vec<usize> = (0..body.len()).filter(is_read).collect();
            let index = *reads.get(below(reads.len()))? as u8;
            match below(2) {
                0 => Step::ReadAt { at: array(own), words: WORDS, index },
                _ => Step::PutAt { to: array(other), words: WORDS, index },
            }
        }
        "wait" => {
            let thread = &shape.threads[thread];
            let waited = |step: usize| thread.body.contains(&Step::Await { step: step as u8 });
            let can_wait = |at: &usize| thread.completes(*at) && !waited(*at);
            let open: Vec<usize> = (0..thread.body.len()).filter(can_wait).collect();
            Step::Await { step: *open.get(below(open.len()))? as u8 }
        }
        _ => Step::Read { at },
    })
}
