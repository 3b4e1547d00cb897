//! When two clients are the same up to names: by a code that forgets names, of the least order of threads.

use std::hash::{Hash, Hasher};

use rustc_hash::FxHasher;

use super::{Frame, Op};

impl Frame<'_> {
    /// The same for symmetric clients, and for no others.
    pub(super) fn key(&self, threads: &[&[Op]]) -> u128 {
        let mut least: Option<Vec<u64>> = None;
        for order in permutations(threads.len()) {
            let code = self.code(threads, &order);
            if least.as_ref().is_none_or(|least| code < *least) {
                least = Some(code);
            }
        }
        let least = least.unwrap_or_default();
        let half = |salt: u64| {
            let mut hasher = FxHasher::default();
            (salt, &least).hash(&mut hasher);
            hasher.finish()
        };
        u128::from(half(1)) << 64 | u128::from(half(2))
    }

    /// The client in words, with threads in that order and everything numbered as it comes.
    fn code(&self, threads: &[&[Op]], order: &[usize]) -> Vec<u64> {
        let mut names = Names::default();
        let mut code = Vec::new();
        // Threads that do nothing are not there.
        for thread in order.iter().filter(|thread| !threads[**thread].is_empty()) {
            code.push(1 << 32 | names.node(self.nodes[*thread]));
            for op in threads[*thread] {
                self.op_code(op, order, &mut names, &mut code);
            }
        }
        code
    }

    fn op_code(&self, op: &Op, order: &[usize], names: &mut Names, code: &mut Vec<u64>) {
        let place = |location: usize, names: &mut Names, code: &mut Vec<u64>| {
            code.push(names.location(location));
            code.push(names.node(self.homes[location]));
        };
        match op {
            Op::Call { method, objects, locations, values, id, nodes } => {
                code.push(2 << 32 | *method as u64);
                for object in objects {
                    code.push(names.object(*object));
                    let text = &self.objects[*object];
                    code.push(text.home.map_or(0, |home| names.node(home)));
                    let writer = text.writer.and_then(|w| order.iter().position(|t| *t == w));
                    code.push(writer.map_or(0, |writer| writer as u64 + 1));
                    code.push(text.size.unwrap_or(0));
                }
                locations.iter().for_each(|location| place(*location, names, code));
                values.iter().for_each(|value| code.push(names.value(*value)));
                code.push(u64::from(*id));
                let mut nodes: Vec<u64> =
                    nodes.iter().flatten().map(|node| names.node(*node)).collect();
                nodes.sort_unstable();
                code.push(nodes.len() as u64);
                code.extend(nodes);
            }
            Op::Write(location, value) | Op::Put(location, value) => {
                code.push(if matches!(op, Op::Write(..)) { 3 } else { 4 } << 32);
                place(*location, names, code);
                code.push(names.value(*value));
            }
            Op::Read(location) | Op::Get(location) => {
                code.push(if matches!(op, Op::Read(_)) { 5 } else { 6 } << 32);
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

fn permutations(count: usize) -> Vec<Vec<usize>> {
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
