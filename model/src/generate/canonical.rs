//! Chooses one of the shapes that are equal up to the order of threads and the numbers of nodes and
//! locations.

use super::shape::{Post, Shape, Step, Thread};

/// If there are more threads, their order is not permuted.
const MOST_PERMUTED: usize = 6;

/// One way to write a shape, and how it relates to the original.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrangement {
    /// The rearranged shape.
    pub shape: Shape,
    /// For each of its threads, the index in the original.
    pub threads: Vec<usize>,
    /// For each of its locations, the number in the original.
    pub places: Vec<u8>,
}

impl Shape {
    /// The smallest of all shapes that are equal to this one. The threads of a node are adjacent, nodes and
    /// locations are numbered by first occurrence, and every location is used.
    #[must_use]
    pub fn canonical(&self) -> Self {
        let all = self.arrangements();
        all.into_iter().map(|arrangement| arrangement.shape).min().unwrap_or_default()
    }

    /// Every order of the threads, each with nodes and locations numbered by first occurrence.
    pub fn arrangements(&self) -> Vec<Arrangement> {
        let threads: Vec<usize> =
            (0..self.threads.len()).filter(|index| !self.threads[*index].body.is_empty()).collect();
        if threads.len() > MOST_PERMUTED {
            let mut order = threads;
            order.sort_by_key(|index| self.threads[*index].node);
            return vec![self.renumbered(order)];
        }
        let orders = permutations(threads.len()).into_iter();
        let orders = orders.map(|order| order.iter().map(|at| threads[*at]).collect::<Vec<_>>());
        let ordered = orders.filter(|order| together(&self.threads, order));
        ordered.map(|order| self.renumbered(order)).collect()
    }

    fn renumbered(&self, order: Vec<usize>) -> Arrangement {
        let mut nodes: Vec<u8> = Vec::new();
        let mut places: Vec<u8> = Vec::new();
        for index in &order {
            number(&mut nodes, self.threads[*index].node);
        }
        for step in order.iter().flat_map(|index| &self.threads[*index].body) {
            for access in step.accesses() {
                number(&mut places, access.place);
                number(&mut nodes, self.homes[usize::from(access.place)]);
            }
            if let Step::RemoteFence { node } | Step::Flush { node } = step {
                number(&mut nodes, *node);
            }
        }
        let index = |list: &[u8], wanted: u8| {
            list.iter().position(|known| *known == wanted).unwrap_or_default() as u8
        };
        let place = |place: u8| index(&places, place);
        let node = |node: u8| index(&nodes, node);
        let thread = |index: &usize| {
            let old = &self.threads[*index];
            let body = old.body.iter().map(|step| step.renamed(&place, &node)).collect();
            Thread { body, ..Thread::new(node(old.node)) }.posted(self.posts(old))
        };
        let shape = Self {
            threads: order.iter().map(thread).collect(),
            homes: places.iter().map(|place| node(self.homes[usize::from(*place)])).collect(),
        };
        Arrangement { shape, threads: order, places }
    }
}

impl Shape {
    /// How a thread's steps are posted, with the queue pairs to each node numbered by first occurrence.
    fn posts(&self, thread: &Thread) -> Vec<Post> {
        let mut known: Vec<(u8, u8)> = Vec::new();
        let steps = (0..thread.body.len()).map(|step| {
            let Some(pair) = self.queue_pair_of(thread, step) else { return Post::default() };
            if !known.contains(&pair) {
                known.push(pair);
            }
            let to_node = known.iter().filter(|(node, _)| *node == pair.0);
            let queue_pair = to_node.clone().position(|other| *other == pair).unwrap_or_default();
            Post { queue_pair: queue_pair as u8, ..thread.post(step) }
        });
        steps.collect()
    }
}

fn number(list: &mut Vec<u8>, new: u8) {
    if !list.contains(&new) {
        list.push(new);
    }
}

/// Whether the threads of each node are adjacent in this order.
fn together(threads: &[Thread], order: &[usize]) -> bool {
    let nodes: Vec<u8> = order.iter().map(|index| threads[*index].node).collect();
    let starts = (0..nodes.len()).filter(|at| *at == 0 || nodes[*at] != nodes[*at - 1]);
    let starts: Vec<usize> = starts.collect();
    starts.iter().all(|start| !nodes[..*start].contains(&nodes[*start]))
}

fn permutations(count: usize) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for _ in 0..count {
        let longer = |order: Vec<usize>| {
            let rest: Vec<usize> = (0..count).filter(|index| !order.contains(index)).collect();
            rest.into_iter().map(move |index| [&order[..], &[index]].concat())
        };
        all = all.into_iter().flat_map(longer).collect();
    }
    all
}
