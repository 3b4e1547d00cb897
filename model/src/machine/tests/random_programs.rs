//! Random programs by seed.

use lang::Test;

use super::build::Build;
use crate::machine::{Random, Variant};

/// How large programs get.
#[derive(Clone, Copy)]
pub struct Shape {
    pub nodes: u32,
    pub threads: u32,
    /// Statements per thread, at least and at most.
    pub statements: (u32, u32),
    pub locations_per_node: u32,
    pub variant: Variant,
    /// Whether threads may spin.
    pub loops: bool,
}

/// The program of a seed; it observes every location and register.
pub fn program(seed: u64, shape: Shape) -> Test {
    let mut random = Random::new(seed);
    let names: Vec<String> = (0..shape.nodes * shape.locations_per_node)
        .map(|index| format!("x{}{}", index % shape.nodes + 1, index / shape.nodes))
        .collect();
    let declarations: Vec<String> = (0..names.len())
        .map(|index| format!("{}@{}", names[index], index as u32 % shape.nodes + 1))
        .collect();
    let mut build = Build::new(&declarations.join(" "));
    let mut observed = names.join(" ");
    for thread in 0..shape.threads {
        let node = if thread < shape.nodes { thread + 1 } else { random.below(shape.nodes) + 1 };
        let (least, most) = shape.statements;
        let count = least + random.below(most - least + 1);
        let mut writer =
            Writer { random: &mut random, shape, node, thread, registers: 0, issued: vec![0; 9] };
        let statements: Vec<String> = (0..count).map(|_| writer.statement()).collect();
        let registers = writer.registers;
        build = build.thread(node, &statements.join("; "));
        for register in 0..registers {
            observed.push_str(&format!(" r{thread}{register}"));
        }
    }
    build.observe(&observed)
}

struct Writer<'a> {
    random: &'a mut Random,
    shape: Shape,
    node: u32,
    thread: u32,
    registers: u32,
    issued: Vec<u32>,
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

    /// A node that operations go to: mostly another one.
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
        let wait = self.shape.variant == Variant::RdmaWait;
        let id = if wait { ["", " d", " e"][self.random.below(3) as usize] } else { "" };
        let kind = self.random.below(if self.shape.loops { 21 } else { 20 });
        if (4..13).contains(&kind) {
            self.issued[node as usize] += 1;
        }
        match kind {
            0 | 1 => format!("{y} = {v}"),
            2 | 3 => format!("{} = {y}", self.register()),
            4..=6 => format!("put {x} {y}{id}"),
            7 => format!("put {x} {v}{id}"),
            8..=10 => format!("get {y} {x}{id}"),
            11 => format!("rcas {y} {x} {} {v}{id}", self.random.below(2)),
            12 => format!("rfaa {y} {x} {v}{id}"),
            13 => format!("rfence {node}"),
            14 => "mfence".to_owned(),
            15 => format!("cas {} {y} 0 {v}", self.register()),
            20 => format!("until {} {y} {v}", self.register()),
            _ if wait => format!("wait {}", ["d", "e"][self.random.below(2) as usize]),
            _ => match self.issued.iter().position(|issued| *issued > 0) {
                Some(node) => {
                    self.issued[node] -= 1;
                    format!("poll {node}")
                }
                None => format!("{} = {y}", self.register()),
            },
        }
    }
}
