//! When two clients are the same up to names: by a code that forgets names, of the least order of threads.

use super::super::symmetry::Symmetry;
use super::{Frame, Op};

/// What comes next in a code: a method's number says how much follows it.
const THREAD: u64 = 1;
const CALL: u64 = 2;
const WRITE: u64 = 3;
const PUT: u64 = 4;
const READ: u64 = 5;
const GET: u64 = 6;

/// A code in as few bytes as tell it from others: clients by the million are kept by theirs.
pub(super) type Key = Box<[u8]>;

/// Each number in groups of seven bits, of which all but the last are marked.
fn packed(code: &[u64]) -> Key {
    let mut bytes = Vec::with_capacity(2 * code.len());
    for number in code {
        let mut rest = *number;
        while rest >= 0x80 {
            bytes.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        bytes.push(rest as u8);
    }
    bytes.into_boxed_slice()
}

/// Computes keys, with memory that is used again: millions of codes are compared for some libraries.
#[derive(Default)]
pub(super) struct Coder {
    names: Names,
    least: Vec<u64>,
    candidate: Vec<u64>,
}

impl Coder {
    /// The same for symmetric clients, and for no others.
    pub(super) fn key(&mut self, frame: &Frame<'_>, threads: &[&[Op]]) -> Key {
        self.least.clear();
        for order in frame.orders {
            self.candidate.clear();
            self.names.clear();
            frame.code(threads, order, &mut self.names, &mut self.candidate);
            if self.least.is_empty() || self.candidate < self.least {
                std::mem::swap(&mut self.least, &mut self.candidate);
            }
        }
        packed(&self.least)
    }
}

impl Frame<'_> {
    /// The client in words, with threads in that order and everything numbered as it comes.
    fn code(&self, threads: &[&[Op]], order: &[usize], names: &mut Names, code: &mut Vec<u64>) {
        code.push(u64::from(self.bounds.ahead));
        // Threads that do nothing are not there, unless an object names them.
        let has_places = self.has_places();
        let named = self.objects.iter().any(|object| object.writer.is_some());
        for thread in order.iter().filter(|thread| named || !threads[**thread].is_empty()) {
            code.push(THREAD);
            code.extend(has_places.then(|| names.node(self.nodes[*thread])));
            for op in threads[*thread] {
                self.op_code(op, order, names, code);
            }
        }
    }

    /// Whether it matters where threads are, and locations that only CPUs access.
    fn has_places(&self) -> bool {
        self.bounds.symmetry == Symmetry::Names
    }

    fn op_code(&self, op: &Op, order: &[usize], names: &mut Names, code: &mut Vec<u64>) {
        let has_places = self.has_places();
        let place = |location: usize, names: &mut Names, code: &mut Vec<u64>| {
            code.push(names.location(location));
            let is_target = has_places || matches!(op, Op::Put(..) | Op::Get(_));
            code.extend(is_target.then(|| names.node(self.homes[location])));
        };
        match op {
            Op::Call { method, objects, locations, values, id, nodes } => {
                code.extend([CALL, *method as u64]);
                for object in objects {
                    code.push(names.object(*object));
                    let text = &self.objects[*object];
                    // Without a node of its own, what it consists of is on node 1.
                    let home = text.home.or((!has_places).then_some(1));
                    code.push(home.map_or(0, |home| names.node(home)));
                    let writer = text.writer.and_then(|w| order.iter().position(|t| *t == w));
                    code.push(writer.map_or(0, |writer| writer as u64 + 1));
                    code.extend([text.size.unwrap_or(0), text.initial]);
                }
                locations.iter().for_each(|location| place(*location, names, code));
                code.extend(values.iter().enumerate().map(|(at, value)| {
                    if self.is_free(*method, at) { names.value(*value) } else { *value }
                }));
                code.push(u64::from(*id));
                code.push(nodes.as_ref().map_or(0, |nodes| nodes.len() as u64));
                let first = code.len();
                code.extend(nodes.iter().flatten().map(|node| names.node(*node)));
                code[first..].sort_unstable();
            }
            Op::Write(location, value) | Op::Put(location, value) => {
                code.push(if matches!(op, Op::Write(..)) { WRITE } else { PUT });
                place(*location, names, code);
                code.push(names.value(*value));
            }
            Op::Read(location) | Op::Get(location) => {
                code.push(if matches!(op, Op::Read(_)) { READ } else { GET });
                place(*location, names, code);
            }
        }
    }
}

/// Names in the order in which they come.
#[derive(Default)]
struct Names {
    nodes: Vec<u32>,
    locations: Vec<usize>,
    objects: Vec<usize>,
    values: Vec<u64>,
}

fn number<T: PartialEq + Copy>(known: &mut Vec<T>, one: T) -> u64 {
    let index = known.iter().position(|other| *other == one).unwrap_or_else(|| {
        known.push(one);
        known.len() - 1
    });
    index as u64 + 1
}

impl Names {
    fn clear(&mut self) {
        self.nodes.clear();
        self.locations.clear();
        self.objects.clear();
        self.values.clear();
    }

    fn node(&mut self, node: u32) -> u64 {
        number(&mut self.nodes, node)
    }

    fn location(&mut self, location: usize) -> u64 {
        number(&mut self.locations, location)
    }

    fn object(&mut self, object: usize) -> u64 {
        number(&mut self.objects, object)
    }

    fn value(&mut self, value: u64) -> u64 {
        if value == 0 { 0 } else { number(&mut self.values, value) }
    }
}

/// All orders of that many threads.
pub(super) fn permutations(count: usize) -> Vec<Vec<usize>> {
    let mut all: Vec<Vec<usize>> = vec![Vec::new()];
    for _ in 0..count {
        let longer = all.iter().flat_map(|known| {
            let rest = (0..count).filter(move |next| !known.contains(next));
            rest.map(move |next| [known.as_slice(), &[next]].concat())
        });
        all = longer.collect();
    }
    all
}

#[cfg(test)]
mod tests {
    use super::packed;

    #[test]
    fn codes_are_told_apart() {
        let numbers = [0, 1, 2, 127, 128, 129, 255, 256, 16_383, 16_384, u64::MAX];
        let mut codes: Vec<Vec<u64>> = vec![Vec::new()];
        for _ in 0..3 {
            let longer =
                codes.iter().flat_map(|code| numbers.map(|n| [code.as_slice(), &[n]].concat()));
            let longer: Vec<Vec<u64>> = longer.collect();
            codes.extend(longer);
            codes.sort();
            codes.dedup();
        }
        let count = codes.len();
        let mut keys: Vec<_> = codes.iter().map(|code| packed(code)).collect();
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), count);
    }
}
