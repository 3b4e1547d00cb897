//! Joins segments to cycles: each segment meets the next at a location.

use lang::limits;
use lang::outcome::Value;

use super::draft::{Claim, Draft, Shown};
use super::naming::Naming;
use super::orders::Port;
use super::segments::Segment;
use super::shape::{Shape, Thread};
use super::step::Step;

/// The program in which each segment leaves at the location where the next segment enters. The last one meets
/// the first. `None` if two segments that meet both only read, or if there would be too many nodes.
pub fn closed(segments: &[&Segment], most_nodes: usize) -> Option<Shape> {
    let shape = joined(segments)?.canonical();
    (shape.nodes() <= most_nodes).then_some(shape)
}

/// Joins without renumbering: threads are in the order of the segments, and the numbers of nodes and
/// locations have gaps.
fn joined(segments: &[&Segment]) -> Option<Shape> {
    limits::look();
    let mut threads = Vec::new();
    let mut homes = Vec::new();
    let mut nodes = 0;
    let mut first_places = Vec::new();
    for segment in segments {
        let (place_base, node_base) = (homes.len() as u8, nodes);
        first_places.push(place_base);
        let thread = &segment.shape.threads[0];
        let step = thread
            .body
            .iter()
            .map(|step| step.renamed(&|place| place + place_base, &|node| node + node_base));
        let (node, body) = (thread.node + node_base, step.collect());
        threads.push(Thread { node, body, posts: thread.posts.clone() });
        homes.extend(segment.shape.homes.iter().map(|node| node + node_base));
        // A thread's own node is 0, and the thread uses at most two other nodes.
        nodes += 3;
    }
    let mut place_classes: Vec<u8> = (0..homes.len() as u8).collect();
    let mut node_classes: Vec<u8> = (0..nodes).collect();
    for (index, segment) in segments.iter().enumerate() {
        let next = (index + 1) % segments.len();
        let exit = segment.access(segment.exit)?;
        let entry = segments[next].access(segments[next].entry)?;
        if !exit.writes && !entry.writes {
            return None;
        }
        let (from, to) = (exit.place + first_places[index], entry.place + first_places[next]);
        unite(&mut place_classes, from, to);
        unite(&mut node_classes, homes[usize::from(from)], homes[usize::from(to)]);
    }
    let place = |place: u8| place_classes[usize::from(place)];
    let node = |node: u8| node_classes[usize::from(node)];
    let renamed = |thread: &Thread| Thread {
        node: node(thread.node),
        body: thread.body.iter().map(|step| step.renamed(&place, &node)).collect(),
        posts: thread.posts.clone(),
    };
    Some(Shape {
        threads: threads.iter().map(renamed).collect(),
        homes: homes.iter().map(|home| node(*home)).collect(),
        crash: false,
    })
}

/// The test of a cycle. A read that a write leads to takes its value. A read that leads to a write has the
/// initial value. If two writes meet, the second one is last.
pub fn draft(segments: &[&Segment], most_nodes: usize) -> Option<Draft> {
    let shape = joined(segments)?;
    if shape.nodes() > most_nodes {
        return None;
    }
    let values = Naming::new(&shape).values;
    let mut claim: Claim = Vec::new();
    for (index, segment) in segments.iter().enumerate() {
        let next = (index + 1) % segments.len();
        let (exit, entry) = (segment.exit, segments[next].entry);
        let (from, to) = (segment.access(exit)?, segments[next].access(entry)?);
        let step = |thread: usize, port: Port| shape.threads[thread].body[port.step];
        let value = |thread: usize, port: Port| Value::Int(values[thread][port.step]);
        // A put copies the value of its source, and the test does not fix that value. Such cycles are left
        // out.
        let is_copy = |thread: usize, port: Port| matches!(step(thread, port), Step::Put { .. });
        let shown = |thread: usize, port: Port| shown(step(thread, port), thread, port);
        match (from.writes, to.reads, to.writes) {
            (true, true, _) if !is_copy(index, exit) => {
                claim.push((shown(next, entry)?, value(index, exit)));
            }
            (false, _, true) => claim.push((shown(index, exit)?, Value::Int(0))),
            (true, false, true) if !is_copy(next, entry) => {
                let place =
                    step(next, entry).accesses().find(|access| access.side == entry.side)?;
                claim.push((Shown::Location(place.place), value(next, entry)));
            }
            _ => return None,
        }
    }
    claim.sort_unstable();
    claim.dedup();
    let contradicts = claim.windows(2).any(|pair| pair[0].0 == pair[1].0);
    (!contradicts).then(|| Draft { shape, claim }.canonical())
}

/// Where the value of a read shows.
fn shown(step: Step, thread: usize, port: Port) -> Option<Shown> {
    Some(match step {
        Step::Read { .. } | Step::Cas { .. } | Step::Faa { .. } => Shown::Step(thread, port.step),
        Step::Put { to, .. } => Shown::Location(to),
        Step::Get { into, .. } | Step::Rcas { into, .. } | Step::Rfaa { into, .. } => {
            Shown::Location(into)
        }
        _ => return None,
    })
}

fn unite(classes: &mut [u8], a: u8, b: u8) {
    let (a, b) = (classes[usize::from(a)], classes[usize::from(b)]);
    let (low, high) = (a.min(b), a.max(b));
    classes.iter_mut().filter(|class| **class == high).for_each(|class| *class = low);
}
