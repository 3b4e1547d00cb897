//! Clients of a library: all programs up to a bound that call it, each once up to symmetry, the smallest
//! first.
//!
//! Global fences with nothing before or after them in their thread are left out too. Symmetric are clients
//! that differ in the order of threads, in the numbers of nodes, in names of locations and values, and, if
//! nothing shows that (`super::symmetry`), in where threads are. Left out are those in which some plain
//! location is not written by one statement and looked at by another, for what such a location shows the same
//! client without it shows too.

mod calls;
mod objects;
mod symmetry;
mod usage;

use lang::cat::model::Base;
use lang::library::{Case, Item, Library, RuleKind};
use rustc_hash::FxHashSet;

use super::bounds::{Bounds, OWN};
use crate::library::mentions;
use objects::object_sets;
use symmetry::{Coder, Key, permutations};
use usage::{own_values, shows};

/// More clients than were asked for at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooMany;

/// More clients than can be kept.
pub const MOST: usize = 4_000_000;

/// A client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Client {
    /// How many nodes there are.
    pub nodes: u32,
    /// Each thread's node and statements.
    pub threads: Vec<(u32, Vec<Op>)>,
    /// Objects.
    pub objects: Vec<ObjectText>,
    /// The nodes of plain locations.
    pub homes: Vec<u32>,
    /// Whether the first thread does nothing and takes part in no object.
    pub ahead: bool,
}

impl Client {
    /// How many statements it has.
    pub fn size(&self) -> usize {
        self.threads.iter().map(|(_, body)| body.len()).sum()
    }
}

/// An object of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectText {
    /// Its class.
    pub class: String,
    /// Its node, if that matters.
    pub home: Option<u32>,
    /// Its writer, by the thread's index, if it has one.
    pub writer: Option<usize>,
    /// Its size, if that matters.
    pub size: Option<u64>,
    /// Its initial value.
    pub initial: u64,
}

/// A statement of a client.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// A call.
    Call {
        /// The method's number.
        method: usize,
        /// Objects passed.
        objects: Vec<usize>,
        /// Plain locations passed, to methods of the base.
        locations: Vec<usize>,
        /// Values passed.
        values: Vec<u64>,
        /// Whether the one work id is passed.
        id: bool,
        /// Nodes passed.
        nodes: Option<Vec<u32>>,
    },
    /// CPU write.
    Write(usize, u64),
    /// CPU read.
    Read(usize),
    /// A put of a value.
    Put(usize, u64),
    /// A get.
    Get(usize),
}

impl Op {
    /// A call that takes nodes alone.
    pub fn call_at(method: usize, nodes: &[u32]) -> Self {
        let (objects, locations, values) = (Vec::new(), Vec::new(), Vec::new());
        Self::Call { method, objects, locations, values, id: false, nodes: Some(nodes.to_vec()) }
    }
}

/// All clients of some families, the smallest first, if they are at most a given number.
///
/// # Errors
/// [`TooMany`]
pub fn clients(
    library: &Library,
    families: &[Bounds],
    most: usize,
) -> Result<Vec<Client>, TooMany> {
    let (seen, coder) = (FxHashSet::default(), Coder::default());
    let mut found = Collected { seen, coder, clients: Vec::new(), most };
    families.iter().try_for_each(|bounds| family(library, bounds, &mut found))?;
    found.clients.sort_by_key(|client| {
        let active = client.threads.iter().filter(|(_, ops)| !ops.is_empty()).count();
        (client.size(), active)
    });
    Ok(found.clients)
}

/// Clients that are being collected.
struct Collected {
    /// One key of each.
    seen: FxHashSet<Key>,
    /// Computes them.
    coder: Coder,
    clients: Vec<Client>,
    /// How many there may be.
    most: usize,
}

/// The most clients that default bounds make.
const MOST_BY_DEFAULT: usize = 50_000;

/// The clients of the largest of the default families that are few enough to be checked in minutes, and the
/// families. Where there are too many, those with plain accesses have fewer statements, and then the others
/// too.
///
/// # Errors
/// [`TooMany`]
pub fn by_default(asked: Bounds, library: &Library) -> Result<(Vec<Bounds>, Vec<Client>), TooMany> {
    let mut tried = vec![asked.families(library)];
    // An access, a call, and an access are the least in which the NIC's own node shows.
    let asked = Bounds { near: asked.near.min(3), ..asked };
    tried.push(asked.families(library));
    let without = Bounds { plain: 0, ..asked };
    for size in (4..=6).rev() {
        let mut families = without.families(library);
        // What statements of the base do, only accesses show; those of one thread are few.
        for alone in families.iter_mut().filter(|family| is_base(library) && family.threads == 1) {
            alone.plain = asked.plain;
        }
        families.insert(1, Bounds { size, near: 0, ..asked });
        tried.push(families);
    }
    tried.push(without.families(library));
    tried.extend((2..=4).rev().map(|size| Bounds { size, ..without }.families(library)));
    for families in tried {
        if let Ok(all) = clients(library, &families, MOST_BY_DEFAULT) {
            return Ok((families, all));
        }
    }
    let families = asked.families(library);
    clients(library, &families, MOST).map(|all| (families, all))
}

fn family(library: &Library, bounds: &Bounds, found: &mut Collected) -> Result<(), TooMany> {
    let orders = permutations(bounds.threads);
    for nodes in placements(bounds.threads, bounds.nodes) {
        for objects in object_sets(library, bounds, &nodes) {
            // A location shows something only if there are two accesses; methods of the base take two.
            let shown = if bounds.guarded { 1 } else { 2 };
            let locations = if is_base(library) { 2 } else { (bounds.plain / 2).min(shown) };
            for homes in tuples(locations, bounds.nodes) {
                let (nodes, objects, homes) = (&nodes, &objects, &homes);
                let frame = Frame { library, bounds, nodes, objects, homes, orders: &orders };
                frame.fill(found)?;
            }
        }
    }
    Ok(())
}

fn is_base(library: &Library) -> bool {
    library.base.is_some()
}

/// Nodes of threads: the first is 1, and a new one is the next.
fn placements(threads: usize, nodes: u32) -> Vec<Vec<u32>> {
    let mut all: Vec<Vec<u32>> = vec![Vec::new()];
    for _ in 0..threads {
        let extended = all.iter().flat_map(|known| {
            let next = known.iter().max().copied().unwrap_or(0) + 1;
            (1..=next.min(nodes)).map(move |node| [known.as_slice(), &[node]].concat())
        });
        all = extended.collect();
    }
    all
}

fn tuples(length: usize, nodes: u32) -> Vec<Vec<u32>> {
    let mut all: Vec<Vec<u32>> = vec![Vec::new()];
    for _ in 0..length {
        let extended = all
            .iter()
            .flat_map(|known| (1..=nodes).map(move |node| [known.as_slice(), &[node]].concat()));
        all = extended.collect();
    }
    all
}

/// What a thread may do.
#[derive(Clone)]
struct Sequence {
    ops: Vec<Op>,
    /// How many of these are accesses of plain locations. The others are calls.
    accesses: usize,
}

/// Everything but the statements.
struct Frame<'a> {
    library: &'a Library,
    bounds: &'a Bounds,
    nodes: &'a [u32],
    objects: &'a [ObjectText],
    homes: &'a [u32],
    /// The orders of its threads.
    orders: &'a [Vec<usize>],
}

impl Frame<'_> {
    fn fill(&self, found: &mut Collected) -> Result<(), TooMany> {
        let sequences: Vec<Vec<Sequence>> =
            (0..self.nodes.len()).map(|thread| self.sequences(thread)).collect();
        let mut chosen: Vec<&[Op]> = Vec::new();
        self.choose(&sequences, (0, 0), &mut chosen, found)
    }

    /// Chooses what the next thread does. `size` and `plain` are the statements and accesses of those chosen.
    fn choose<'s>(
        &self,
        sequences: &'s [Vec<Sequence>],
        (size, plain): (usize, usize),
        chosen: &mut Vec<&'s [Op]>,
        found: &mut Collected,
    ) -> Result<(), TooMany> {
        let Some(of_thread) = sequences.get(chosen.len()) else {
            if self.is_sensible(chosen) && found.seen.insert(found.coder.key(self, chosen)) {
                if found.clients.len() >= found.most {
                    return Err(TooMany);
                }
                found.clients.push(self.client(chosen));
            }
            return Ok(());
        };
        for Sequence { ops, accesses } in of_thread {
            let (size, plain) = (size + ops.len(), plain + accesses);
            let is_large = self.bounds.size > 0 && size > self.bounds.size;
            if is_large || plain > self.bounds.plain {
                continue;
            }
            chosen.push(ops);
            self.choose(sequences, (size, plain), chosen, found)?;
            chosen.pop();
        }
        Ok(())
    }

    /// The client of these statements.
    fn client(&self, chosen: &[&[Op]]) -> Client {
        let threads = self.nodes.iter().zip(chosen);
        let mut threads: Vec<(u32, Vec<Op>)> =
            threads.map(|(node, ops)| (*node, ops.to_vec())).collect();
        if self.bounds.values == OWN {
            own_values(&mut threads, |method, position| self.is_written(method, position));
        }
        let mut objects = self.objects.to_vec();
        if self.bounds.ahead {
            threads.insert(0, (self.nodes[0], Vec::new()));
            let writers = objects.iter_mut().filter_map(|object| object.writer.as_mut());
            writers.for_each(|writer| *writer += 1);
        }
        let homes = self.homes.to_vec();
        Client { nodes: self.bounds.nodes, threads, objects, homes, ahead: self.bounds.ahead }
    }

    /// What a thread may do.
    fn sequences(&self, thread: usize) -> Vec<Sequence> {
        let (calls, plain) = (self.calls(thread), self.plain(thread));
        let mut all = vec![Sequence { ops: Vec::new(), accesses: 0 }];
        let mut first = 0;
        while first < all.len() {
            let Sequence { ops, accesses } = all[first].clone();
            first += 1;
            if ops.len() - accesses < self.bounds.calls {
                for call in calls.iter().filter(|call| self.may_follow(&ops, call)) {
                    let ops = [ops.as_slice(), std::slice::from_ref(call)].concat();
                    all.push(Sequence { ops, accesses });
                }
            }
            if accesses < self.bounds.plain && (!self.bounds.guarded || self.holds_any(&ops)) {
                for access in &plain {
                    let ops = [ops.as_slice(), std::slice::from_ref(access)].concat();
                    all.push(Sequence { ops, accesses: accesses + 1 });
                }
            }
        }
        all.retain(|sequence| self.ends_well(&sequence.ops));
        all
    }

    fn method_name(&self, op: &Op) -> Option<(&str, usize)> {
        match op {
            Op::Call { method, objects, .. } => {
                let name = self.library.methods[*method].name.as_str();
                Some((name, objects.first().copied().unwrap_or(usize::MAX)))
            }
            _ => None,
        }
    }

    /// Whether the thread holds the object by the rule of that pair.
    fn holds(&self, ops: &[Op], first: &str, object: usize) -> bool {
        let calls = ops.iter().rev().filter_map(|op| self.method_name(op));
        let mut of_object = calls.filter(|(_, known)| *known == object);
        of_object.next().is_some_and(|(name, _)| name == first)
    }

    /// Whether the thread holds some object by some rule.
    fn holds_any(&self, ops: &[Op]) -> bool {
        self.library.rules.iter().any(|rule| match &rule.kind {
            RuleKind::Alternate(first, _) => {
                (0..self.objects.len()).any(|object| self.holds(ops, first, object))
            }
            RuleKind::Equal(_) => false,
        })
    }

    fn may_follow(&self, ops: &[Op], call: &Op) -> bool {
        let Some((name, object)) = self.method_name(call) else { return true };
        let alternate = self.library.rules.iter().all(|rule| match &rule.kind {
            RuleKind::Alternate(first, second) => {
                let held = self.holds(ops, first, object);
                (name != first || !held) && (name != second || held)
            }
            RuleKind::Equal(_) => true,
        });
        // A wait for nothing waits for nothing.
        let waits = matches!(call, Op::Call { id: true, objects, values, nodes: None, locations, .. }
            if objects.is_empty() && values.is_empty() && locations.is_empty());
        let has_id = |op: &Op| matches!(op, Op::Call { id: true, .. });
        alternate && (!waits || ops.last().is_some_and(|_| ops.iter().any(has_id)))
    }

    /// Whether a call is a global fence that its library's consistency does not mention: all it does is to
    /// order what precedes it in its thread before what follows it.
    fn is_fence(&self, op: &Op) -> bool {
        let Op::Call { method, objects, .. } = op else { return false };
        fn only_fences(items: &[Item]) -> bool {
            items.iter().all(|item| match item {
                Item::For { items, .. } => only_fences(items),
                Item::Event(event) => event.stamp == "aGF" && event.at.is_none(),
            })
        }
        let cases = &self.library.methods[*method].cases;
        let speaks = self.library.consistency.as_ref().is_some_and(|model| {
            let number = u8::try_from(*method).unwrap_or(u8::MAX);
            mentions(model, &[Base::GlobalFence, Base::Method(0, number)])
        });
        let is_fence = |case: &Case| !case.items.is_empty() && only_fences(&case.items);
        objects.is_empty() && !speaks && cases.iter().all(is_fence)
    }

    fn ends_well(&self, ops: &[Op]) -> bool {
        // Nothing is before a first fence, or after a last one.
        let is_idle = ops.first().is_some_and(|op| self.is_fence(op))
            || ops.last().is_some_and(|op| self.is_fence(op));
        !is_idle
            && self.library.rules.iter().all(|rule| match &rule.kind {
                RuleKind::Alternate(first, _) => {
                    (0..self.objects.len()).all(|object| !self.holds(ops, first, object))
                }
                RuleKind::Equal(_) => true,
            })
    }

    fn plain(&self, thread: usize) -> Vec<Op> {
        let mut all = Vec::new();
        for (location, home) in self.homes.iter().enumerate() {
            let is_own = *home == self.nodes[thread];
            let by_nic = !is_base(self.library) && (!is_own || self.bounds.near > 0);
            if is_own {
                all.push(Op::Read(location));
                all.extend((1..=self.largest()).map(|value| Op::Write(location, value)));
            }
            if by_nic {
                all.push(Op::Get(location));
                all.extend((1..=self.largest()).map(|value| Op::Put(location, value)));
            }
        }
        all
    }

    /// Whether the client calls the library, and each plain location takes part in what it shows.
    fn is_sensible(&self, threads: &[&[Op]]) -> bool {
        let calls =
            || threads.iter().flat_map(|ops| ops.iter()).filter_map(|op| self.method_name(op));
        if calls().next().is_none() {
            return false;
        }
        let is_equal = self.library.rules.iter().all(|rule| match &rule.kind {
            RuleKind::Alternate(..) => true,
            RuleKind::Equal(name) => (0..self.objects.len()).all(|object| {
                let counts = threads.iter().map(|ops| {
                    let calls = ops.iter().filter_map(|op| self.method_name(op));
                    calls.filter(|(known, o)| known == name && *o == object).count()
                });
                let mut counts: Vec<usize> = counts.filter(|count| *count > 0).collect();
                counts.dedup();
                counts.len() <= 1
            }),
        });
        let used = |object: usize| calls().any(|(_, known)| known == object);
        let objects_in_order = (1..self.objects.len()).all(|object| {
            let is_same = self.objects[object].class == self.objects[object - 1].class;
            !used(object) || used(object - 1) || !is_same
        });
        is_equal
            && objects_in_order
            && (0..self.homes.len()).all(|location| shows(threads, location))
    }
}
