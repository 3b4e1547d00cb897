//! Enumerates every program of a size once up to symmetry: for proofs by exhaustion, at small sizes.

use lang::limits;

use super::search::{Bounds, Vocabulary};
use super::shape::{Completion, Location, Shape, Thread};
use super::step::Step;

/// Calls `each` with every canonical shape of a size, until it returns false. The order has no
/// meaning, but is always the same. There are at most `places` locations. Programs in which some thread
/// shares no location with the others are left out: they are really two programs.
pub fn every(
    size: usize,
    places: usize,
    vocabulary: &Vocabulary,
    bounds: &Bounds,
    each: &mut impl FnMut(Shape) -> bool,
) -> bool {
    for count in 1..=bounds.threads.min(size) {
        let mut sizes = vec![0; count];
        if !partitions(size, &mut sizes, 0, bounds.thread, &mut |sizes| {
            let mut writer =
                Writer { shape: Shape::default(), nodes: 0, places, vocabulary, bounds, each };
            writer.threads(sizes, 0)
        }) {
            return false;
        }
    }
    true
}

/// All ways to write a size as a sum of non-increasing parts.
fn partitions(
    rest: usize,
    sizes: &mut Vec<usize>,
    at: usize,
    most: usize,
    each: &mut impl FnMut(&[usize]) -> bool,
) -> bool {
    let parts = sizes.len() - at;
    if parts == 0 {
        return rest > 0 || each(sizes);
    }
    for part in (1..=most.min(rest)).rev() {
        if rest - part < parts - 1 {
            continue;
        }
        sizes[at] = part;
        if !partitions(rest - part, sizes, at + 1, part, each) {
            return false;
        }
    }
    true
}

struct Writer<'a, F> {
    shape: Shape,
    nodes: u8,
    places: usize,
    vocabulary: &'a Vocabulary,
    bounds: &'a Bounds,
    each: &'a mut F,
}

impl<F: FnMut(Shape) -> bool> Writer<'_, F> {
    /// Chooses a node for each thread, then the bodies.
    fn threads(&mut self, sizes: &[usize], at: usize) -> bool {
        if at == sizes.len() {
            return self.steps(sizes, 0);
        }
        // The threads of a node are adjacent, and nodes are numbered in that order.
        let last = self.shape.threads.last().map(|thread| thread.node);
        let options = match last {
            None => vec![0],
            Some(last) => vec![last, last + 1],
        };
        for node in options {
            if usize::from(node) >= self.bounds.nodes {
                continue;
            }
            let nodes = self.nodes;
            self.nodes = self.nodes.max(node + 1);
            self.shape.threads.push(Thread::new(node));
            let go_on = self.threads(sizes, at + 1);
            self.shape.threads.pop();
            self.nodes = nodes;
            if !go_on {
                return false;
            }
        }
        true
    }

    fn steps(&mut self, sizes: &[usize], thread: usize) -> bool {
        if thread == sizes.len() {
            let is_whole =
                self.is_connected() && self.shape.waits_for_something(self.vocabulary.completion);
            // Of equal shapes, only the canonical one is used.
            return !is_whole
                || self.shape.canonical() != self.shape
                || (self.each)(self.shape.clone());
        }
        if self.shape.threads[thread].body.len() == sizes[thread] {
            return self.steps(sizes, thread + 1);
        }
        for (step, homes) in self.options(thread) {
            limits::look();
            let (places, nodes) = (self.shape.homes.len(), self.nodes);
            self.nodes = homes.iter().copied().map(|node| node + 1).fold(nodes, u8::max);
            if let Step::RemoteFence { node } = step {
                self.nodes = self.nodes.max(node + 1);
            }
            self.shape.homes.extend(homes);
            self.shape.threads[thread].body.push(step);
            let go_on = self.steps(sizes, thread);
            self.shape.threads[thread].body.pop();
            self.shape.homes.truncate(places);
            self.nodes = nodes;
            if !go_on {
                return false;
            }
        }
        true
    }

    /// The steps that a thread may take next, each with the homes of the locations that it introduces.
    fn options(&self, thread: usize) -> Vec<(Step, Vec<u8>)> {
        let own = self.shape.threads[thread].node;
        let body = &self.shape.threads[thread].body;
        let knows = |call: &str| self.vocabulary.calls.contains(&call);
        let mut found = Vec::new();
        for (at, homes) in self.local(own, &self.shape.homes) {
            let steps = [
                Step::Write { at },
                Step::Read { at },
                Step::Cas { at, hits: true },
                Step::Faa { at },
            ];
            let known = steps.into_iter().filter(|step| step.call().is_some_and(knows));
            found.extend(known.map(|step| (step, homes.clone())));
        }
        if knows("Mfence") {
            found.push((Step::Fence, Vec::new()));
        }
        for node in 0..(self.nodes + 1).min(self.bounds.nodes as u8) {
            for (to, homes) in self.local(node, &self.shape.homes) {
                self.remote(own, to, &homes, &mut found);
            }
            if knows("Rfence") && node < self.nodes {
                found.push((Step::RemoteFence { node }, Vec::new()));
            }
        }
        if self.vocabulary.completion != Completion::Never {
            for (at, _) in body.iter().enumerate().filter(|(_, step)| step.target().is_some()) {
                let wait = Step::Await { step: at as u8 };
                if !body.contains(&wait) {
                    found.push((wait, Vec::new()));
                }
            }
        }
        found
    }

    fn remote(&self, own: u8, to: Location, homes: &[u8], found: &mut Vec<(Step, Vec<u8>)>) {
        let knows = |call: &str| self.vocabulary.calls.contains(&call);
        let all: Vec<u8> = self.shape.homes.iter().chain(homes).copied().collect();
        if knows("Put") {
            found.push((Step::PutValue { to }, homes.to_vec()));
        }
        for (other, more) in self.local(own, &all) {
            let steps = [
                Step::Put { to, from: other },
                Step::Get { from: to, into: other },
                Step::Rcas { at: to, into: other, hits: true },
                Step::Rcas { at: to, into: other, hits: false },
                Step::Rfaa { at: to, into: other },
            ];
            let homes: Vec<u8> = homes.iter().copied().chain(more).collect();
            let known = steps.into_iter().filter(|step| step.call().is_some_and(knows));
            found.extend(known.map(|step| (step, homes.clone())));
        }
    }

    /// The locations of a node, and a new one if more are permitted.
    fn local(&self, node: u8, homes: &[u8]) -> Vec<(Location, Vec<u8>)> {
        let known = (0..homes.len()).filter(|at| homes[*at] == node);
        let mut found: Vec<(Location, Vec<u8>)> =
            known.map(|at| (at as Location, Vec::new())).collect();
        if homes.len() < self.places {
            found.push((homes.len() as Location, vec![node]));
        }
        found
    }

    /// Whether shared locations and the targets of remote operations connect all threads.
    fn is_connected(&self) -> bool {
        let mut reached = vec![false; self.shape.threads.len()];
        reached[0] = true;
        let touched = |thread: usize| {
            let body = self.shape.threads[thread].body.iter();
            body.flat_map(|step| step.accesses()).map(|access| access.place).collect::<Vec<_>>()
        };
        // Remote read-modify-writes to one node meet at that node, even at different locations.
        let atomics = |thread: usize| -> Vec<u8> {
            let body = self.shape.threads[thread].body.iter();
            let atomic = body.filter(|step| matches!(step, Step::Rcas { .. } | Step::Rfaa { .. }));
            atomic.filter_map(|step| self.shape.node_of(*step)).collect()
        };
        for _ in 0..reached.len() {
            for thread in 0..reached.len() {
                let meets = |other: usize| {
                    touched(other).iter().any(|place| touched(thread).contains(place))
                        || atomics(other).iter().any(|node| atomics(thread).contains(node))
                };
                reached[thread] |= (0..reached.len()).any(|other| reached[other] && meets(other));
            }
        }
        reached.into_iter().all(|reached| reached)
    }
}
