//! Segments are the pieces of tests: one thread, from an access at which another thread can reach it to an
//! access from which it can reach another thread. A model orders the two, and every statement is needed for
//! that.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use lang::cat::model::Model;
use lang::limits;

use super::orders::{Edge, Ordered, Port};
use super::shape::{Completion, Shape, Thread};
use super::step::{Access, Step};

/// One thread, and a path through it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// A shape of one thread, in which every access has a location of its own.
    pub shape: Shape,
    /// Where the path enters.
    pub entry: Port,
    /// Where the path leaves. This is not before the entry in program order.
    pub exit: Port,
    /// What the model orders between the two.
    pub edges: BTreeSet<Edge>,
}

impl Segment {
    /// The number of steps.
    pub fn size(&self) -> usize {
        self.shape.size()
    }

    /// The access of a port.
    pub fn access(&self, port: Port) -> Option<Access> {
        access(&self.shape, port)
    }

    /// What neighbors can see of the segment. For each signature, the smallest segments are kept.
    fn signature(&self) -> Option<(Access, Access, &BTreeSet<Edge>)> {
        let anywhere = |access: Access| Access { place: 0, ..access };
        let (first, last) = (self.access(self.entry)?, self.access(self.exit)?);
        Some((anywhere(first), anywhere(last), &self.edges))
    }

    /// Whether the segment consists of CPU reads, writes and fences only.
    pub fn is_plain(&self) -> bool {
        let is_plain =
            |step: &Step| matches!(step, Step::Read { .. } | Step::Write { .. } | Step::Fence);
        self.shape.threads.iter().all(|thread| thread.body.iter().all(is_plain))
    }
}

fn access(shape: &Shape, port: Port) -> Option<Access> {
    let step = shape.threads.first()?.body.get(port.step)?;
    step.accesses().find(|access| access.side == port.side)
}

/// All threads of at most `longest` steps over these statements.
pub fn words(longest: usize, calls: &[&str], completion: Completion) -> Vec<Shape> {
    let mut all = Vec::new();
    let mut last = vec![Shape { threads: vec![Thread::default()], ..Shape::default() }];
    for length in 1..=longest {
        let longer = |shape: &Shape| extended(shape, calls, completion, length, longest);
        // In a long thread, the statements in the middle must be there to order its ends.
        let can_grow = |shape: &&Shape| length < 4 || shape.threads[0].body[1..].iter().all(orders);
        last = last.iter().filter(can_grow).flat_map(longer).collect();
        all.extend(last.iter().cloned());
    }
    let ends = |shape: &Shape| {
        let body = &shape.threads[0].body;
        let reaches =
            |step: Option<&Step>| step.is_some_and(|step| step.accesses().next().is_some());
        reaches(body.first()) && reaches(body.last()) && shape.waits_for_something(completion)
    };
    all.retain(ends);
    all
}

/// Whether a statement is there to order others, rather than to be seen by other threads.
fn orders(step: &Step) -> bool {
    matches!(
        step,
        Step::Fence
            | Step::Await { .. }
            | Step::RemoteFence { .. }
            | Step::Get { .. }
            | Step::PutValue { .. }
            | Step::Flush { .. }
            | Step::AtomicWrite { .. }
            | Step::Rfaa { .. }
    )
}

/// All threads with one more step.
fn extended(
    shape: &Shape,
    calls: &[&str],
    completion: Completion,
    length: usize,
    longest: usize,
) -> Vec<Shape> {
    limits::look();
    let body = &shape.threads[0].body;
    let next = shape.homes.len() as u8;
    let has_target = body.iter().any(|step| shape.node_of(*step).is_some());
    // A second remote node appears in short threads only: orders across queue pairs do not need longer ones.
    let nodes: &[u8] = if has_target && longest.min(length) <= 3 { &[1, 2] } else { &[1] };
    let mut found = Vec::new();
    let mut add = |step: Step, homes: &[u8]| {
        let mut longer = shape.clone();
        longer.threads[0].body.push(step);
        longer.homes.extend(homes);
        found.push(longer);
    };
    let knows = |call: &str| calls.contains(&call);
    let cpu =
        [Step::Write { at: next }, Step::Read { at: next }, Step::Cas { at: next, hits: true }];
    for step in cpu.into_iter().filter(|step| step.call().is_some_and(knows)) {
        add(step, &[0]);
    }
    if !knows("CAS") && knows("FAA") {
        add(Step::Faa { at: next }, &[0]);
    }
    if knows("Mfence") && !body.is_empty() {
        add(Step::Fence, &[]);
    }
    for node in nodes {
        let (at, into) = (next, next + 1);
        let remote = [
            (Step::PutValue { to: at }, 1),
            (Step::Put { to: at, from: into }, 2),
            (Step::Get { from: at, into }, 2),
            (Step::Rcas { at, into, hits: true }, 2),
            (Step::Rcas { at, into, hits: false }, 2),
            (Step::Rfaa { at, into }, 2),
        ];
        for (step, places) in remote {
            if step.call().is_some_and(knows) {
                add(step, &[*node, 0][..places]);
            }
        }
        if knows("Rfence") && has_target {
            add(Step::RemoteFence { node: *node }, &[]);
        }
    }
    if completion != Completion::Never {
        for (at, step) in body.iter().enumerate().filter(|(_, step)| step.target().is_some()) {
            let wait = Step::Await { step: at as u8 };
            if !body.contains(&wait) && step.target().is_some() {
                add(wait, &[]);
            }
        }
    }
    found
}

/// Every path through two statements, ordered or not.
pub fn two_steps(calls: &[&str], completion: Completion) -> Vec<Segment> {
    let all = words(2, calls, completion);
    let two = all.into_iter().filter(|shape| shape.size() == 2);
    let ways = |shape: Shape| {
        let all = ports(&shape).into_iter();
        all.map(move |(entry, exit)| Segment {
            shape: shape.clone(),
            entry,
            exit,
            edges: BTreeSet::new(),
        })
    };
    two.flat_map(ways).collect()
}

/// The segments of a model.
#[derive(Clone, Debug)]
pub struct Library {
    /// Every segment in which all statements are needed, by size.
    pub segments: Vec<Segment>,
    /// What the model orders in every thread, including threads with unneeded statements.
    ordered: HashMap<Shape, Option<Ordered>>,
    completion: Completion,
}

impl Library {
    /// The segments of a model among threads from [`words`]. `ordered` has what the model orders in each of
    /// them.
    pub fn new(
        words: &[Shape],
        completion: Completion,
        model: &Model,
        ordered: HashMap<Shape, Option<Ordered>>,
    ) -> Self {
        let mut segments = Vec::new();
        let mut more: HashMap<Shape, Option<Ordered>> = HashMap::new();
        for shape in words {
            let Some(Some(known)) = ordered.get(shape) else { continue };
            for (entry, exit) in ports(shape) {
                limits::look();
                let edges = known.between(entry, exit);
                if edges.is_empty() {
                    continue;
                }
                let segment = Segment { shape: shape.clone(), entry, exit, edges };
                let mut smaller = |shape: &Shape, entry: Port, exit: Port| {
                    let shape = renumbered(shape);
                    if let Some(known) = ordered.get(&shape) {
                        return known.as_ref().map(|known| known.between(entry, exit));
                    }
                    let known = more
                        .entry(shape)
                        .or_insert_with_key(|shape| Ordered::new(shape, completion, model));
                    known.as_ref().map(|known| known.between(entry, exit))
                };
                if is_minimal(&segment, completion, &mut smaller) {
                    segments.push(segment);
                }
            }
        }
        segments.sort_by_key(Segment::size);
        Self { segments, ordered, completion }
    }

    /// The smallest segments for each way of meeting neighbors.
    pub fn simplest(&self) -> Vec<Segment> {
        let mut least = BTreeMap::new();
        for segment in &self.segments {
            let size = least.entry(segment.signature()).or_insert(segment.size());
            *size = segment.size().min(*size);
        }
        let is_least =
            |segment: &&Segment| least.get(&segment.signature()) == Some(&segment.size());
        self.segments.iter().filter(is_least).cloned().collect()
    }

    /// The segments that a weaker model orders less.
    pub fn lost(&self, weaker: &Model) -> Vec<Segment> {
        let mut known: HashMap<&Shape, Option<Ordered>> = HashMap::new();
        let mut lost = Vec::new();
        for segment in &self.segments {
            let ordered = known
                .entry(&segment.shape)
                .or_insert_with(|| Ordered::new(&segment.shape, self.completion, weaker));
            let Segment { edges, entry, exit, .. } = segment;
            // If the weaker model has no execution of the thread, there is nothing to compare.
            if ordered.as_ref().is_some_and(|known| !known.keeps(edges, *entry, *exit)) {
                lost.push(segment.clone());
            }
        }
        lost
    }

    /// The segments that another model orders less, for models between which [`Self::lost`] finds no
    /// difference: a statement that the order does not need may destroy it in the other model. Only the
    /// smallest are returned: without any one of their statements, the models order them alike.
    pub fn spoiled(&self, weaker: &Model) -> Vec<Segment> {
        let mut shapes: Vec<&Shape> = self.ordered.keys().collect();
        shapes.sort_by_cached_key(|shape| (shape.size(), (*shape).clone()));
        let mut spoiled: Vec<Segment> = Vec::new();
        let mut found: BTreeSet<(Shape, Port, Port)> = BTreeSet::new();
        for shape in shapes {
            let Some(Some(known)) = self.ordered.get(shape) else { continue };
            let Some(kept) = Ordered::new(shape, self.completion, weaker) else { continue };
            for (entry, exit) in ports(shape) {
                let edges = known.between(entry, exit);
                if kept.keeps(&edges, entry, exit) {
                    continue;
                }
                found.insert((shape.clone(), entry, exit));
                let is_smaller = |at: usize| {
                    let (smaller, moved) = shape.without(0, at, self.completion);
                    let port = |port: Port| moved[port.step].map(|step| Port { step, ..port });
                    port(entry).zip(port(exit)).is_some_and(|ports| {
                        found.contains(&(renumbered(&smaller), ports.0, ports.1))
                    })
                };
                if !(0..shape.threads[0].body.len()).any(is_smaller) {
                    spoiled.push(Segment { shape: shape.clone(), entry, exit, edges });
                }
            }
        }
        spoiled
    }
}

/// Every path through a thread, from its first step to its last.
fn ports(shape: &Shape) -> Vec<(Port, Port)> {
    let body = &shape.threads[0].body;
    let last = body.len() - 1;
    let mut found = Vec::new();
    for first in body[0].accesses() {
        for exit in body[last].accesses() {
            let entry = Port { step: 0, side: first.side };
            let exit_port = Port { step: last, side: exit.side };
            // A path of a single event can continue only if the event writes.
            if last > 0 || first.side != exit.side || exit.writes {
                found.push((entry, exit_port));
            }
        }
    }
    found
}

/// Numbers locations and nodes by their first occurrence, as [`words`] does.
fn renumbered(shape: &Shape) -> Shape {
    let mut places: Vec<u8> = Vec::new();
    let mut nodes: Vec<u8> = vec![shape.threads[0].node];
    for step in &shape.threads[0].body {
        for access in step.accesses() {
            if !places.contains(&access.place) {
                places.push(access.place);
            }
        }
        nodes.extend(shape.node_of(*step).filter(|node| !nodes.contains(node)));
    }
    let index = |list: &[u8], wanted: u8| {
        list.iter().position(|known| *known == wanted).unwrap_or_default() as u8
    };
    let step =
        |step: &Step| step.renamed(&|place| index(&places, place), &|node| index(&nodes, node));
    let (body, posts) =
        (shape.threads[0].body.iter().map(step).collect(), shape.threads[0].posts.clone());
    Shape {
        threads: vec![Thread { node: 0, body, posts }],
        homes: places.iter().map(|place| index(&nodes, shape.homes[usize::from(*place)])).collect(),
        crash: shape.crash,
    }
}

/// Whether every statement between the ends is needed for a part of what is ordered.
fn is_minimal(
    segment: &Segment,
    completion: Completion,
    ordered: &mut impl FnMut(&Shape, Port, Port) -> Option<BTreeSet<Edge>>,
) -> bool {
    let thread = &segment.shape.threads[0];
    for (at, step) in thread.body.iter().enumerate() {
        if at == segment.entry.step || at == segment.exit.step {
            continue;
        }
        let (smaller, moved) = segment.shape.without(0, at, completion);
        let port = |port: Port| moved[port.step].map(|step| Port { step, ..port });
        let (Some(entry), Some(exit)) = (port(segment.entry), port(segment.exit)) else { continue };
        if ordered(&smaller, entry, exit).is_some_and(|kept| segment.edges.is_subset(&kept)) {
            return false;
        }
        let Step::Await { step: awaited } = *step else { continue };
        for earlier in 0..awaited {
            let mut weaker = segment.shape.clone();
            weaker.threads[0].body[at] = Step::Await { step: earlier };
            let can = thread.completes(earlier.into()) && weaker.waits_for_something(completion);
            let kept = can.then(|| ordered(&weaker, segment.entry, segment.exit)).flatten();
            if kept.is_some_and(|kept| segment.edges.is_subset(&kept)) {
                return false;
            }
        }
    }
    true
}
