//! Makes random shapes. The same seed gives the same shapes on every machine.

use super::search::{Bounds, Vocabulary};
use super::shape::{Completion, Location, Post, Shape, Step, Thread};
use crate::machine::Random;

/// The relative frequency of each kind of statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Weights(Vec<(&'static str, u32)>);

/// The kinds of statements and their default weights.
pub const KINDS: [(&str, u32); 15] = [
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
    let homes: Vec<u8> = (0..nodes * per_node).map(|place| (place % nodes) as u8).collect();
    let mut shape = Shape { threads: Vec::new(), homes };
    let mut left = bounds.size;
    for index in 0..threads {
        let node = if index < nodes { index } else { below(nodes) };
        let length = (1 + below(bounds.thread)).min(left);
        left -= length;
        shape.threads.push(Thread::new(node as u8));
        let Posting { queue_pairs, unsignaled } = posting;
        for _ in 0..length {
            let kind = pick(&mut below, weights);
            if let Some(step) = step(&mut below, kind, &mut shape, index, nodes) {
                // Without a choice nothing is drawn, so that seeds keep their programs.
                let has_choice = queue_pairs > 1 && shape.node_of(step).is_some();
                let queue_pair = if has_choice { below(queue_pairs.into()) as u8 } else { 0 };
                let unsignaled =
                    unsignaled > 0 && step.is_operation() && below(unsignaled.into()) == 0;
                let post = Post { queue_pair, unsignaled, inline: kind == "inline" };
                shape.threads[index].body.push(step);
                shape.threads[index].posts.push(post);
            }
        }
        let thread = std::mem::take(&mut shape.threads[index]);
        let posts = thread.posts.clone();
        shape.threads[index] = thread.posted(posts);
    }
    let completion = vocabulary.completion;
    let defined = shape
        .threads
        .iter()
        .flat_map(|thread| &thread.body)
        .all(|step| step.call().is_none_or(|call| vocabulary.calls.contains(&call)));
    let mut posts = shape.threads.iter().flat_map(|thread| &thread.posts);
    let defined =
        defined && (vocabulary.calls.contains(&"Unsignaled") || !posts.any(|post| post.unsignaled));
    let shape = shape.canonical();
    let shared = shape.accesses().any(|(thread, _, access)| {
        let meets = |(other, _, found): (usize, usize, super::shape::Access)| {
            other != thread && found.place == access.place && (found.writes || access.writes)
        };
        shape.accesses().any(meets)
    });
    let is_good = defined
        && shared
        && shape.nodes() <= bounds.nodes
        && (completion != Completion::Never || !has_wait(&shape))
        && shape.waits_for_something(completion);
    is_good.then_some(shape)
}

fn has_wait(shape: &Shape) -> bool {
    let mut steps = shape.threads.iter().flat_map(|thread| &thread.body);
    steps.any(|step| matches!(step, Step::Await { .. }))
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

fn step(
    below: &mut impl FnMut(usize) -> usize,
    kind: &str,
    shape: &mut Shape,
    thread: usize,
    nodes: usize,
) -> Option<Step> {
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
        "flush" => Step::Flush { node: other },
        "atomicwrite" => Step::AtomicWrite { to },
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
