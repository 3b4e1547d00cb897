//! Random programs by seed.

use lang::Test;

use super::load::test;
use crate::{Random, Variant};

/// The size of the programs.
#[derive(Clone, Copy)]
pub struct Shape {
    pub nodes: u32,
    pub threads: u32,
    /// The least and the most statements per thread.
    pub statements: (u32, u32),
    pub locations_per_node: u32,
    pub variant: Variant,
    /// Whether threads may have loops that spin.
    pub loops: bool,
    /// Whether polls may be of the queue pairs to two nodes.
    pub shared_polls: bool,
    /// Whether threads may share queue pairs.
    pub shared_posts: bool,
    /// Whether most statements are gets and remote fences.
    pub fences: bool,
}

/// Two threads on two nodes, with loops and a few statements.
pub const SMALL: Shape = Shape {
    nodes: 2,
    threads: 2,
    statements: (1, 4),
    locations_per_node: 1,
    variant: Variant::RdmaTso,
    loops: true,
    shared_polls: false,
    shared_posts: false,
    fences: false,
};

/// Makes the program of a seed. It observes some of its locations and registers.
pub fn program(seed: u64, shape: Shape) -> Test {
    let mut random = Random::new(seed);
    let names =
        |node: u32| (0..shape.locations_per_node).map(move |index| format!("x{node}{index}"));
    let columns: Vec<String> = (1..=shape.nodes)
        .map(|node| {
            let values = names(node)
                .zip(0..)
                .map(|(name, index)| format!("{name} = {}", if shape.fences { index } else { 0 }));
            values.collect::<Vec<_>>().join(", ")
        })
        .collect();
    let mut observed: Vec<String> = (1..=shape.nodes).flat_map(names).collect();
    let mut threads = String::new();
    for thread in 0..shape.threads {
        let node = if thread < shape.nodes { thread + 1 } else { random.below(shape.nodes) + 1 };
        let (least, most) = shape.statements;
        let count = least + random.below(most - least + 1);
        let random = &mut random;
        let mut writer = Writer { random, shape, node, thread, registers: 0, issued: vec![0; 9] };
        let statements: Vec<String> = (0..count).map(|_| writer.statement()).collect();
        observed.extend((0..writer.registers).map(|register| format!("r{thread}{register}")));
        let (number, body) = (thread + 1, statements.join("; "));
        threads.push_str(&format!("thread {number} @ {node} {{ {body} }}\n"));
    }
    let all = observed.len();
    while observed.len() > 1 && observed.len() > all / 3 && random.below(4) > 0 {
        observed.swap_remove(random.below(observed.len() as u32) as usize);
    }
    test(&columns.join(" || "), &threads, &observed.join(", "))
}

struct Writer<'a> {
    random: &'a mut Random,
    shape: Shape,
    node: u32,
    thread: u32,
    registers: u32,
    issued: Vec<u32>,
}

/// What is added to a node's number for the queue pair to it that threads share.
const SHARED: u32 = 4;

/// A queue pair by its number in [`Writer::issued`].
fn pair(number: usize) -> String {
    match number.checked_sub(SHARED as usize) {
        Some(node) => format!("{node}/s0"),
        None => number.to_string(),
    }
}

impl Writer<'_> {
    fn location(&mut self, node: u32) -> String {
        format!("x{node}{}", self.random.below(self.shape.locations_per_node))
    }

    fn local(&mut self) -> String {
        self.location(self.node)
    }

    fn register(&mut self) -> String {
        self.registers += 1;
        format!("r{}{}", self.thread, self.registers - 1)
    }

    /// A node for operations to go to: usually another node.
    fn remote(&mut self) -> u32 {
        let node = self.random.below(self.shape.nodes) + 1;
        if node == self.node && self.random.below(4) > 0 {
            node % self.shape.nodes + 1
        } else {
            node
        }
    }

    fn statement(&mut self) -> String {
        let node = self.remote();
        let (x, y, v) = (self.location(node), self.local(), self.random.below(2) + 1);
        let on = match self.shape.shared_posts && self.random.below(4) > 0 {
            true => node + SHARED,
            false => node,
        };
        let x = format!("{x}^{}", pair(on as usize));
        let wait = self.waits();
        let id = if wait { ["", "d", "e"][self.random.below(3) as usize] } else { "" };
        let (assign, last) = match id {
            "" => (":=".to_owned(), String::new()),
            id => (format!(":=^{id}"), format!(", {id}")),
        };
        let kind = match self.shape.fences && self.random.below(4) > 0 {
            true => [8, 8, 8, 13, 13][self.random.below(5) as usize],
            false => self.random.below(if self.shape.loops { 21 } else { 20 }),
        };
        if (4..13).contains(&kind) {
            self.issued[on as usize] += 1;
        }
        match kind {
            0 | 1 => format!("{y} := {v}"),
            2 | 3 => format!("{} := {y}", self.register()),
            4..=6 => format!("{x} {assign} {y}"),
            7 => format!("{x} {assign} {v}"),
            8..=10 => format!("{y} {assign} {x}"),
            11 => format!("RCAS({y}, {x}, {}, {v}{last})", self.random.below(2)),
            12 => format!("RFAA({y}, {x}, {v}{last})"),
            13 => format!("Rfence({})", pair(on as usize)),
            14 => "Mfence".to_owned(),
            15 => format!("{} := CAS({y}, 0, {v})", self.register()),
            20 => {
                let register = self.register();
                format!("loop {{ {register} := {y}; if {register} = {v} {{ break }} }}")
            }
            _ if wait => format!("Wait({})", ["d", "e"][self.random.below(2) as usize]),
            _ => match self.issued.iter().position(|issued| *issued > 0) {
                // Sometimes what another thread has posted.
                Some(_) if on >= SHARED && self.random.below(3) == 0 => {
                    format!("Poll({})", pair(on as usize))
                }
                Some(node) => {
                    self.issued[node] -= 1;
                    let other = self.issued.iter().rposition(|issued| *issued > 0);
                    match other.filter(|_| self.shape.shared_polls) {
                        Some(other) if other != node => {
                            format!("Poll({{{}, {}}})", pair(node), pair(other))
                        }
                        _ => format!("Poll({})", pair(node)),
                    }
                }
                None => format!("{} := {y}", self.register()),
            },
        }
    }

    fn waits(&self) -> bool {
        matches!(self.shape.variant, Variant::RdmaWait | Variant::RdmaWaitPolls)
    }
}
