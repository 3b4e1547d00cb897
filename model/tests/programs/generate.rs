//! The program of a seed.
//!
//! Small on purpose: what is wrong with a model or an engine shows in a few statements, and there every
//! combination of statements comes up.

use model::machine::Random;

use super::features::Features;
use super::{Program, Statement};

/// Which completions a program asks for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// No network at all.
    Cpu,
    Polls,
    Waits,
}

/// The program of a seed with some features.
pub fn program(seed: u64, features: Features) -> Program {
    let mut random = Random::new(seed);
    let words = features.words;
    let is_plain = features == Features { queue_pairs: 1, ..Features::default() };
    let kind = match random.below(8) {
        0 if is_plain => Kind::Cpu,
        0..=4 => Kind::Polls,
        _ if features.messages || features.shared_polls || features.shared_posts => Kind::Polls,
        _ => Kind::Waits,
    };
    let rmws = random.below(3) > 0;
    let nodes = 2 + random.below(2);
    let names = if words { 2 } else { 1 + random.below(2) };
    let mut declared = Vec::new();
    for node in 1..=nodes {
        let value = |random: &mut Random| random.below(4) / 3;
        if words {
            let values = (value(&mut random), value(&mut random));
            declared.push(vec![format!("m{node}[2] = ({}, {})", values.0, values.1)]);
            continue;
        }
        let mut names: Vec<String> =
            LOCATIONS[..names as usize].iter().map(|name| format!("{name}{node}")).collect();
        names.iter_mut().for_each(|name| *name = format!("{name} = {}", value(&mut random)));
        declared.push(names);
    }
    let threads = 2 + random.below(3);
    let mut budget = match (features.messages, features.crash) {
        (true, _) => 6,
        // A crash may come in every state, so none is left out.
        (_, true) => 5,
        _ => 8,
    };
    let mut sent = Vec::new();
    let mut bodies = Vec::new();
    for thread in 1..=threads {
        let node = if features.shared_posts && thread != 2 && random.below(4) > 0 {
            1
        } else if thread <= nodes && kind != Kind::Cpu {
            thread
        } else {
            1 + random.below(nodes.min(2))
        };
        let count = (2 + random.below(3)).min(budget);
        budget -= count;
        let scope = Scope { kind, rmws, nodes, names, node, thread, features };
        let mut writer = Writer {
            random: &mut random,
            scope,
            registers: 0,
            fresh: 0,
            issued: Vec::new(),
            sent: Vec::new(),
        };
        bodies.push((node as usize, (0..count).map(|_| writer.statement(0)).collect()));
        sent.extend(writer.sent.into_iter().map(|(node, pair)| (thread, node, pair)));
    }
    receives(&mut random, &sent, &mut bodies);
    let (name, crash) = (format!("random-{seed}"), features.crash);
    Program { name, loops: 3, crash, nodes: declared, threads: bodies }
}

/// Adds receives for most messages (by thread, node and queue pair), and polls of receives.
fn receives(random: &mut Random, sent: &[(u32, u32, u32)], bodies: &mut [(usize, Vec<Statement>)]) {
    let mut connections = sent.to_vec();
    connections.sort_unstable();
    connections.dedup();
    for (index, (thread, node, pair)) in connections.into_iter().enumerate() {
        let messages = sent.iter().filter(|one| **one == (thread, node, pair)).count();
        let at_node = |(_, body): &(usize, &mut (usize, Vec<Statement>))| body.0 == node as usize;
        let Some((number, (_, body))) = bodies.iter_mut().enumerate().find(at_node) else {
            continue;
        };
        let from = if pair == 0 { thread.to_string() } else { format!("{thread}/{pair}") };
        let mut first = 0;
        for _ in 0..messages + usize::from(random.below(8) == 0) {
            if random.below(16) == 0 {
                continue;
            }
            let buffer = match random.below(4) {
                0 => "_".to_owned(),
                _ => format!("{}{node}", LOCATIONS[0]),
            };
            let at = first + random.below((body.len() - first) as u32 + 1) as usize;
            body.insert(at, Statement::Line(format!("Recv({from}, {buffer})")));
            first = if random.below(4) == 0 { 0 } else { at + 1 };
        }
        for poll in 0..random.below(messages as u32 + 1) {
            let at = random.below(body.len() as u32 + 1) as usize;
            let text = format!("p{}_{index}_{poll} := PollRecv({from})", number + 1);
            body.insert(at, Statement::Line(text));
        }
    }
}

const LOCATIONS: [&str; 2] = ["x", "y"];
const REGISTERS: [&str; 3] = ["a", "b", "c"];
const FRESH: [&str; 2] = ["u", "v"];
const WORK_IDS: [&str; 2] = ["d", "e"];

#[derive(Clone, Copy)]
struct Scope {
    kind: Kind,
    /// Whether there are remote read-modify-writes.
    rmws: bool,
    nodes: u32,
    /// Declared locations of each node.
    names: u32,
    node: u32,
    thread: u32,
    features: Features,
}

struct Writer<'a> {
    random: &'a mut Random,
    scope: Scope,
    /// How many of the names are in use.
    registers: u32,
    fresh: u32,
    /// The queue pairs of the operations that are not polled yet.
    issued: Vec<String>,
    /// The nodes and queue pairs of messages.
    sent: Vec<(u32, u32)>,
}

impl Writer<'_> {
    fn below(&mut self, bound: u32) -> u32 {
        self.random.below(bound)
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.random.below(from.len() as u32) as usize]
    }

    fn declared(&mut self, node: u32) -> String {
        let name = self.below(self.scope.names);
        if self.scope.features.words {
            // The last ones may be out of range.
            return match self.below(8) {
                0 if self.registers > 0 => {
                    let index = self.below(self.registers);
                    format!("m{node}[{}{}]", REGISTERS[index as usize], self.scope.thread)
                }
                _ => format!("m{node}[{name}]"),
            };
        }
        format!("{}{node}", LOCATIONS[name as usize])
    }

    /// An array, or all of its words.
    fn array(&mut self, node: u32) -> String {
        if self.below(3) == 0 { format!("m{node}[0..2]") } else { format!("m{node}") }
    }

    /// A location of the thread's node.
    fn local(&mut self) -> String {
        match self.below(8) {
            0 if self.fresh > 0 => {
                let name = self.below(self.fresh);
                format!("{}{}", FRESH[name as usize], self.scope.thread)
            }
            _ => self.declared(self.scope.node),
        }
    }

    /// Where the result of a get or of a remote RMW goes.
    fn result(&mut self) -> String {
        if self.below(2) == 0 {
            return self.local();
        }
        let name = self.below((self.fresh + 1).min(FRESH.len() as u32));
        self.fresh = self.fresh.max(name + 1);
        format!("{}{}", FRESH[name as usize], self.scope.thread)
    }

    /// A register to assign: mostly a new one.
    fn register(&mut self) -> String {
        let most = REGISTERS.len() as u32;
        let reuse = self.registers == most || self.registers > 0 && self.below(4) == 0;
        let name = if reuse { self.below(self.registers) } else { self.registers };
        self.registers = self.registers.max(name + 1);
        format!("{}{}", REGISTERS[name as usize], self.scope.thread)
    }

    /// Something that has a value already.
    fn operand(&mut self) -> String {
        match self.below(4) {
            0 => self.local(),
            _ if self.registers > 0 => {
                let name = self.below(self.registers);
                format!("{}{}", REGISTERS[name as usize], self.scope.thread)
            }
            _ => self.below(3).to_string(),
        }
    }

    fn value(&mut self) -> String {
        let operand = self.operand();
        match self.below(8) {
            0 => format!("{operand} + 1"),
            1 => format!("1 - {operand}"),
            2 => {
                let (other, operator) = (self.operand(), self.pick(&["+", "*", "-"]));
                format!("{operand} {operator} {other}")
            }
            3 => self.condition(),
            4 => operand,
            _ => (1 + self.below(2)).to_string(),
        }
    }

    fn condition(&mut self) -> String {
        let (mut operand, value) = (self.operand(), self.below(2));
        if operand.parse::<u32>().is_ok() && self.below(8) > 0 {
            operand = self.local();
        }
        let operator = self.pick(&["=", "=", "≠", "<", "≥"]);
        match self.below(6) {
            0 => operand,
            1 => format!("not {operand} = {value}"),
            2 => format!("{operand} = {value} ∨ {} = 1", self.operand()),
            _ => format!("{operand} {operator} {value}"),
        }
    }

    /// The mark of a work id, and the same as a last argument.
    fn work_id(&mut self) -> (String, String) {
        match self.below(4) {
            0 | 1 if self.scope.kind == Kind::Waits => {
                let id = self.pick(&WORK_IDS);
                (format!(":=^{id}"), format!(", {id}"))
            }
            _ => (":=".to_owned(), String::new()),
        }
    }

    fn statement(&mut self, depth: u32) -> Statement {
        match self.below(24) {
            0 | 1 if depth < 2 => self.conditional(depth),
            2 if depth == 0 && !self.scope.features.crash => self.looping(),
            3..=8 => Statement::Line(self.cpu()),
            _ if self.scope.kind == Kind::Cpu => Statement::Line(self.cpu()),
            9..=12 => Statement::Line(self.completion()),
            _ => Statement::Line(self.operation()),
        }
    }

    fn cpu(&mut self) -> String {
        match self.below(16) {
            0..=3 => format!("{} := {}", self.local(), self.value()),
            4..=8 => {
                let location = self.local();
                format!("{} := {location}", self.register())
            }
            9 => format!("{} := {}", self.local(), self.local()),
            10 if self.registers > 0 => {
                let value = format!("{}{} + 1", REGISTERS[0], self.scope.thread);
                format!("{} := {value}", self.register())
            }
            10 | 11 => "Mfence".to_owned(),
            12 | 13 => {
                let (location, expected, desired) = (self.local(), self.below(2), self.value());
                format!("{} := CAS({location}, {expected}, {desired})", self.register())
            }
            14 => {
                let (location, addend) = (self.local(), self.value());
                format!("{} := FAA({location}, {addend})", self.register())
            }
            _ => {
                let condition = self.condition();
                if self.below(3) == 0 && !self.scope.features.crash {
                    format!("assume({condition})")
                } else {
                    format!("{} := {}", self.local(), self.value())
                }
            }
        }
    }

    /// A queue pair to a node: `2` or `2/1`.
    fn towards(&mut self, node: u32) -> String {
        if self.scope.features.shared_posts && self.below(4) > 0 {
            return format!("{node}/s{}", self.below(8) / 7);
        }
        match self.scope.features.queue_pairs {
            1 => node.to_string(),
            count => match self.below(count) {
                0 => node.to_string(),
                number => format!("{node}/{number}"),
            },
        }
    }

    /// A queue pair that something was issued on, if there is another than this one.
    fn other(&mut self, one: &str) -> String {
        let others: Vec<&String> = self.issued.iter().filter(|other| *other != one).collect();
        match others.len() as u32 {
            0 => self.towards(self.scope.node),
            count => {
                let at = self.random.below(count) as usize;
                others[at].clone()
            }
        }
    }

    fn operation(&mut self) -> String {
        let (operation, towards, has_id) = self.request();
        if self.scope.features.unsignaled && !has_id && self.below(2) == 0 {
            return format!("unsignaled {operation}");
        }
        self.issued.push(towards);
        operation
    }

    /// A put, get or remote RMW; its queue pair; and whether it has an id.
    fn request(&mut self) -> (String, String, bool) {
        let own = self.scope.node;
        let node = if self.below(6) == 0 { own } else { own % self.scope.nodes + 1 };
        let node = if self.scope.nodes == 3 && node != own && self.below(3) == 0 {
            node % 3 + 1
        } else {
            node
        };
        let towards = self.towards(node);
        let remote = format!("{}^{towards}", self.declared(node));
        if self.scope.features.messages && self.below(2) == 0 {
            let pair = towards.split_once('/').map_or(0, |(_, pair)| pair.parse().unwrap_or(0));
            self.sent.push((node, pair));
            let source = if self.below(2) == 0 { self.local() } else { self.value() };
            let request = match self.below(3) {
                0 => format!("Send({towards}, {source})"),
                1 => format!("SendImm({towards}, {source}, {})", self.value()),
                _ => format!("PutImm({remote}, {source}, {})", self.value()),
            };
            return (request, towards, false);
        }
        let (assign, last) = self.work_id();
        if self.scope.features.flushes && self.below(3) > 0 {
            let has_id = !last.is_empty();
            let request = match self.below(5) {
                0 | 1 if self.scope.features.crash => format!("Persist({towards}{last})"),
                0 | 1 => format!("Flush({towards}{last})"),
                2 => format!("AtomicWrite({remote}, {}{last})", self.value()),
                _ => format!("AtomicWrite({remote}, {}{last})", self.local()),
            };
            return (request, towards, has_id);
        }
        let has_id = assign != ":=";
        if self.scope.features.words && self.below(2) == 0 {
            // A part says that the array is one of words, and so is what is copied from or to it.
            let (far, near) = (format!("m{node}[0..2]^{towards}"), self.array(own));
            let request = match self.below(2) {
                0 => format!("{far} {assign} {near}"),
                _ => format!("{near} {assign} {far}"),
            };
            return (request, towards, has_id);
        }
        let request = match self.below(if self.scope.rmws { 16 } else { 10 }) {
            0..=2 if self.scope.features.inline && self.below(3) > 0 => {
                format!("{remote} {assign} inline {}", self.local())
            }
            0..=2 => format!("{remote} {assign} {}", self.local()),
            3..=5 => format!("{remote} {assign} {}", self.value()),
            6..=9 => format!("{} {assign} {remote}", self.result()),
            10 | 11 => {
                let (expected, desired) = (self.below(2), self.value());
                format!("RCAS({}, {remote}, {expected}, {desired}{last})", self.result())
            }
            12 => format!(
                "{} {assign} RCAS({remote}, {}, {})",
                self.result(),
                self.value(),
                self.below(3)
            ),
            13 => format!("RFAA(_, {remote}, {}{last})", self.value()),
            _ => format!("RFAA({}, {remote}, {}{last})", self.result(), self.value()),
        };
        (request, towards, has_id)
    }

    /// A fence or a wait for an operation that there is; now and then for one that there is not.
    fn completion(&mut self) -> String {
        if self.below(5) == 0 {
            let node = 1 + self.below(self.scope.nodes);
            return format!("Rfence({})", self.towards(node));
        }
        if self.scope.kind == Kind::Waits {
            return format!("Wait({})", self.pick(&WORK_IDS));
        }
        if self.scope.features.shared_posts && self.below(8) == 0 {
            let node = 1 + self.below(self.scope.nodes);
            return format!("Poll({})", self.towards(node));
        }
        if self.issued.is_empty() && self.below(32) > 0 {
            return self.operation();
        }
        if self.issued.is_empty() {
            let node = 1 + self.below(self.scope.nodes);
            return format!("Poll({})", self.towards(node));
        }
        // On several queue pairs, in any order.
        let most = if self.scope.features.queue_pairs == 1 { 1 } else { self.issued.len() as u32 };
        let at = if most == 1 { 0 } else { self.below(most) };
        let one = self.issued.remove(at as usize);
        if self.scope.features.shared_polls && self.below(3) > 0 {
            let node = 1 + self.below(self.scope.nodes);
            let other = if self.below(2) == 0 { self.towards(node) } else { self.other(&one) };
            return format!("Poll({{{one}, {other}}})");
        }
        format!("Poll({one})")
    }

    fn conditional(&mut self, depth: u32) -> Statement {
        let head = format!("if {}", self.condition());
        let body = (0..1 + self.below(2)).map(|_| self.statement(depth + 1)).collect();
        let otherwise = (0..self.below(2)).map(|_| self.statement(depth + 1)).collect();
        Statement::Block(head, body, otherwise)
    }

    /// A loop: spinning, counting, or trying again.
    fn looping(&mut self) -> Statement {
        let line = |text: String| Statement::Line(text);
        let leave = |condition: String| {
            Statement::Block(format!("if {condition}"), vec![line("break".to_owned())], Vec::new())
        };
        // Most locations begin with 0: a loop that waits for another value may wait for ever.
        let (location, value) = (self.local(), self.below(4) / 3);
        let block = |head: &str, body| Statement::Block(head.to_owned(), body, Vec::new());
        match self.below(8) {
            0 | 1 => {
                block(&format!("while {location} = {}", 1 - value), vec![line("skip".to_owned())])
            }
            2 | 3 => {
                let register = self.register();
                let read = line(format!("{register} := {location}"));
                block("loop", vec![read, leave(format!("{register} = {value}"))])
            }
            4 => {
                let register = self.register();
                let swap = line(format!("{register} := CAS({location}, {value}, 2)"));
                block("loop", vec![swap, leave(format!("{register} = {value}"))])
            }
            5 => {
                let register = self.register();
                let (body, count) =
                    (self.statement(2), line(format!("{register} := {register} + 1")));
                block(&format!("while {register} < 2"), vec![body, count])
            }
            6 => {
                let register = self.register();
                let (read, work) = (line(format!("{register} := {location}")), self.statement(2));
                block("loop", vec![read, leave(format!("{register} = {value}")), work])
            }
            _ => {
                let (work, condition) = (self.statement(1), self.condition());
                block("loop", vec![work, leave(condition)])
            }
        }
    }
}
