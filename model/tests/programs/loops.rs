//! Random programs in which threads wait for each other in loops: spins, tickets, retries, barriers,
//! counters.
//!
//! The bound on loops is small, so that many of them come to it, and threads need what others do after their
//! loops.

use model::machine::Random;

use super::{Program, Statement};

/// The program of a seed: 2 or 3 threads on 1 or 2 nodes, 1 to 3 pieces each.
pub fn looping(seed: u64) -> Program {
    let mut random = Random::new(seed);
    let threads = 2 + random.below(2);
    let nodes = 1 + random.below(2);
    let network = nodes == 2 && random.below(2) == 0;
    let mut bodies = Vec::new();
    for thread in 1..=threads {
        // Without a network, all memory that is used is on one node.
        let node = if network { 1 + (thread - 1) % 2 } else { 1 };
        let count = 1 + random.below(if threads == 3 { 2 } else { 3 });
        let mut writer = Writer { random: &mut random, thread, node, threads, network };
        let pieces = (0..count).flat_map(|_| writer.piece());
        bodies.push((node as usize, pieces.collect()));
    }
    let declared = (1..=nodes).map(|node| vec![format!("x{node} = 0"), format!("y{node} = 0")]);
    Program {
        crash: false,
        name: format!("loops-{seed}"),
        loops: 1 + random.below(3),
        nodes: declared.collect(),
        threads: bodies,
    }
}

struct Writer<'a> {
    random: &'a mut Random,
    thread: u32,
    node: u32,
    threads: u32,
    network: bool,
}

fn line(text: String) -> Statement {
    Statement::Line(text)
}

fn block(head: String, body: Vec<Statement>) -> Statement {
    Statement::Block(head, body, Vec::new())
}

fn leave(condition: String) -> Statement {
    block(format!("if {condition}"), vec![line("break".to_owned())])
}

impl Writer<'_> {
    fn below(&mut self, bound: u32) -> u32 {
        self.random.below(bound)
    }

    fn location(&mut self) -> String {
        format!("{}{}", ["x", "y"][self.below(2) as usize], self.node)
    }

    /// A location of the other node, and its node.
    fn remote(&mut self) -> (String, u32) {
        let node = 3 - self.node;
        (format!("{}{node}", ["x", "y"][self.below(2) as usize]), node)
    }

    fn register(&mut self) -> String {
        format!("{}{}", ["a", "b"][self.below(2) as usize], self.thread)
    }

    fn operator(&mut self) -> &'static str {
        ["=", "=", "≠", "<", "≥"][self.below(5) as usize]
    }

    fn piece(&mut self) -> Vec<Statement> {
        match self.below(if self.network { 16 } else { 11 }) {
            0 | 1 => vec![self.plain()],
            2 => vec![self.spin()],
            3 => vec![self.reading()],
            4 => self.ticket(),
            5 => vec![self.retry()],
            6 => self.barrier(),
            7..=9 => vec![self.counter()],
            10 => vec![self.bounded()],
            11..=13 => self.operation(),
            _ => vec![self.remote_counter()],
        }
    }

    fn plain(&mut self) -> Statement {
        let (location, value) = (self.location(), 1 + self.below(2));
        match self.below(3) {
            0 => line(format!("{} := {location}", self.register())),
            _ => line(format!("{location} := {value}")),
        }
    }

    fn spin(&mut self) -> Statement {
        let (location, operator, value) = (self.location(), self.operator(), self.below(2));
        block(format!("while {location} {operator} {value}"), vec![line("skip".to_owned())])
    }

    fn reading(&mut self) -> Statement {
        let (location, register) = (self.location(), self.register());
        let (operator, value) = (self.operator(), self.below(3));
        let read = line(format!("{register} := {location}"));
        block("loop".to_owned(), vec![read, leave(format!("{register} {operator} {value}"))])
    }

    fn ticket(&mut self) -> Vec<Statement> {
        let (counter, served, ticket) = (self.location(), self.location(), self.register());
        let wait = block(format!("while {served} ≠ {ticket}"), vec![line("skip".to_owned())]);
        let mut all = vec![line(format!("{ticket} := FAA({counter}, 1)")), wait];
        if self.below(2) == 0 {
            all.push(line(format!("{served} := {ticket} + 1")));
        }
        all
    }

    fn retry(&mut self) -> Statement {
        let (location, register) = (self.location(), self.register());
        let (expected, desired) = (self.below(2), self.below(3));
        let swap = line(format!("{register} := CAS({location}, {expected}, {desired})"));
        block("loop".to_owned(), vec![swap, leave(format!("{register} = {expected}"))])
    }

    fn barrier(&mut self) -> Vec<Statement> {
        let (location, register) = (self.location(), self.register());
        let enter = line(format!("{register} := FAA({location}, 1)"));
        let wait =
            block(format!("while {location} < {}", self.threads), vec![line("skip".to_owned())]);
        vec![enter, wait]
    }

    /// A loop that writes in every round.
    fn counter(&mut self) -> Statement {
        let (location, register) = (self.location(), self.register());
        let (operator, value) = (self.operator(), self.below(4));
        let add = line(format!("{register} := FAA({location}, 1)"));
        match self.below(3) {
            0 => block(format!("while {register} < {value}"), vec![add]),
            1 => {
                let other = self.plain();
                let body = vec![add, other, leave(format!("{register} {operator} {value}"))];
                block("loop".to_owned(), body)
            }
            _ => {
                block("loop".to_owned(), vec![add, leave(format!("{register} {operator} {value}"))])
            }
        }
    }

    /// A loop that counts rounds, and may end before.
    fn bounded(&mut self) -> Statement {
        let (location, register) = (self.location(), format!("c{}", self.thread));
        let write = line(format!("{location} := {register} + 1"));
        let count = line(format!("{register} := {register} + 1"));
        let rounds = 1 + self.below(4);
        let other = self.location();
        let mut body = vec![write, count];
        if self.below(2) == 0 {
            body.push(leave(format!("{other} = 1")));
        }
        block(format!("while {register} < {rounds}"), body)
    }

    fn operation(&mut self) -> Vec<Statement> {
        let (own, (remote, node)) = (self.location(), self.remote());
        let value = 1 + self.below(2);
        let operation = match self.below(3) {
            0 => format!("{remote}^{node} := {value}"),
            1 => format!("{remote}^{node} := {own}"),
            _ => format!("{own} := {remote}^{node}"),
        };
        let mut all = vec![line(operation)];
        if self.below(2) == 0 {
            all.push(line(format!("Poll({node})")));
        }
        all
    }

    fn remote_counter(&mut self) -> Statement {
        let (own, (remote, node)) = (self.location(), self.remote());
        let (register, value) = (self.register(), self.below(3));
        let operation = match self.below(3) {
            0 => format!("RFAA({own}, {remote}^{node}, 1)"),
            1 => format!("RCAS({own}, {remote}^{node}, {value}, {})", value + 1),
            _ => format!("{own} := {remote}^{node}"),
        };
        let operator = self.operator();
        let mut body = vec![line(operation), line(format!("Poll({node})"))];
        body.push(line(format!("{register} := {own}")));
        body.push(leave(format!("{register} {operator} {value}")));
        block("loop".to_owned(), body)
    }
}
