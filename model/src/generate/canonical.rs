//! Chooses one of the shapes that are equal up to the order of threads and the numbers of nodes and
//! locations.

use super::shape::{Arrays, Shape, Thread};
use super::step::{Post, Step, is_shared};

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
        let arrays = self.arrays();
        let threads: Vec<usize> =
            (0..self.threads.len()).filter(|index| !self.threads[*index].body.is_empty()).collect();
        if threads.len() > MOST_PERMUTED {
            let mut order = threads;
            order.sort_by_key(|index| self.threads[*index].node);
            return vec![self.renumbered(order, &arrays)];
        }
        let orders = permutations(threads.len()).into_iter();
        let orders = orders.map(|order| order.iter().map(|at| threads[*at]).collect::<Vec<_>>());
        let ordered = orders.filter(|order| together(&self.threads, order));
        ordered.map(|order| self.renumbered(order, &arrays)).collect()
    }

    fn renumbered(&self, order: Vec<usize>, arrays: &Arrays) -> Arrangement {
        let mut nodes: Vec<u8> = Vec::new();
        let mut places: Vec<u8> = Vec::new();
        for index in &order {
            number(&mut nodes, self.threads[*index].node);
        }
        for step in order.iter().flat_map(|index| &self.threads[*index].body) {
            for access in step.accesses() {
                // The words of an array stay together.
                let (first, words) = arrays.of(access.place).unwrap_or((access.place, 1));
                (first..first + words).for_each(|word| number(&mut places, word));
                number(&mut nodes, self.homes[usize::from(access.place)]);
            }
            if let Some(node) = self.node_of(*step) {
                number(&mut nodes, node);
            }
        }
        let index = |list: &[u8], wanted: u8| {
            list.iter().position(|known| *known == wanted).unwrap_or_default() as u8
        };
        let place = |place: u8| index(&places, place);
        let node = |node: u8| index(&nodes, node);
        let from = |old: u8| {
            order.iter().position(|known| *known == usize::from(old)).unwrap_or_default() as u8
        };
        let thread = |index: &usize| {
            let old = &self.threads[*index];
            let renamed = |step: &Step| step.renamed(&place, &node).received_from(&from);
            let body = old.body.iter().map(renamed).collect();
            Thread { body, ..Thread::new(node(old.node)) }.posted(self.posts(old))
        };
        let shape = Self {
            threads: order.iter().map(thread).collect(),
            homes: places.iter().map(|place| node(self.homes[usize::from(*place)])).collect(),
            crash: self.crash,
        };
        Arrangement { shape, threads: order, places }
    }
}

impl Shape {
    /// How a thread's steps are posted, with the queue pairs to each node numbered by first occurrence.
    fn posts(&self, thread: &Thread) -> Vec<Post> {
        let own = self.pairs(thread);
        let steps = (0..thread.body.len()).map(|step| {
            let post = thread.post(step);
            let number = match thread.body[step].sender() {
                // Receives name the queue pair as its sender does.
                Some(sender) => {
                    let pairs = self.pairs(&self.threads[usize::from(sender)]);
                    position(&pairs, (thread.node, post.queue_pair))
                }
                None => match self.queue_pair_of(thread, step) {
                    Some(pair) => position(&own, pair),
                    None => return Post::default(),
                },
            };
            Post { queue_pair: number, ..post }
        });
        steps.collect()
    }

    /// The queue pairs of a thread by first occurrence: the node and number of each.
    fn pairs(&self, thread: &Thread) -> Vec<(u8, u8)> {
        let mut pairs = Vec::new();
        for pair in (0..thread.body.len()).filter_map(|step| self.queue_pair_of(thread, step)) {
            if !pairs.contains(&pair) {
                pairs.push(pair);
            }
        }
        pairs
    }
}

/// The number of a queue pair among the thread's own to its node. One that threads share keeps its number.
fn position(pairs: &[(u8, u8)], pair: (u8, u8)) -> u8 {
    if is_shared(pair.1) {
        return pair.1;
    }
    let to_node = pairs.iter().filter(|(node, number)| *node == pair.0 && !is_shared(*number));
    let before = to_node.take_while(|known| **known != pair);
    before.count() as u8
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
