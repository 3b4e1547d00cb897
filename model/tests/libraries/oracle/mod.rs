//! All outcomes of a straight-line program over libraries, by enumeration of executions.
//!
//! Written from the definitions in the papers and from nothing else: RDMA^WAIT_RMW [RMW §3], MOWGLI [LOCO
//! §3.3], SV [LOCO §3.4], BAL [§4.1], RBL [§5.1], the locks [RMW §4] and RDMA^SC_RMW [RMW §5].

mod order;

use std::collections::{BTreeMap, BTreeSet};

use lang::Test;
use lang::outcome::Value;
use lang::program::{Call, Expr, PutSource, StmtKind};

pub type Outcomes = BTreeSet<Vec<Value>>;

/// More executions than this are not enumerated.
const MOST: u64 = 400_000;

const BOTTOM: u64 = lang::program::BOTTOM;

/// A place in memory.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Loc {
    Plain(usize),
    Object(String, u32),
}

/// Where a value comes from.
#[derive(Clone, Debug)]
enum Source {
    Known(u64),
    /// What an event reads.
    Read(usize),
    /// An expression over registers at a point.
    Expr(Expr, BTreeMap<usize, Source>),
    /// Two added.
    Sum(Box<Source>, Box<Source>),
}

/// A subevent.
#[derive(Clone, Debug)]
struct Event {
    thread: usize,
    /// The call it is of; 0 for initial writes.
    call: usize,
    stamp: &'static str,
    node: u32,
    /// Which of the thread's queue pairs to the node.
    queue_pair: u32,
    library: &'static str,
    object: String,
    loc: Option<Loc>,
    reads: bool,
    writes: Option<Source>,
    id: Option<usize>,
    /// For barriers: which call of the thread it is.
    rank: usize,
    /// Submit or Acq, for which the other events of its library look.
    is_first: bool,
}

impl Event {
    /// The node that it goes to, and the queue pair.
    fn on(&self) -> (u32, u32) {
        (self.node, self.queue_pair)
    }
}

/// An execution with results of calls chosen.
#[derive(Default)]
struct Candidate {
    events: Vec<Event>,
    registers: BTreeMap<usize, Source>,
    /// What must be equal, or must not.
    conditions: Vec<(Source, Source, bool)>,
    calls: usize,
}

/// All outcomes; nothing if there are too many executions.
pub fn outcomes(test: &Test) -> Option<Outcomes> {
    let test = &compiler::library::bound(test, model::library::shipped()).expect("it is right");
    let mut choices = 0;
    let mut all = Outcomes::new();
    let mut budget = MOST;
    let first = build(test, &mut |_| {
        choices += 1;
        false
    });
    drop(first);
    if choices > 6 {
        return None;
    }
    for bits in 0..1_u32 << choices {
        let candidate = build(test, &mut |index| bits >> index & 1 == 1);
        candidate.explore(test, &mut all, &mut budget)?;
    }
    Some(all)
}

/// The events of a program; `choose` says how each call with two results ends.
fn build(test: &Test, choose: &mut impl FnMut(usize) -> bool) -> Candidate {
    let program = &test.program;
    let mut candidate = Candidate::default();
    let mut made = 0;
    let mut choose = || {
        made += 1;
        choose(made - 1)
    };
    for (index, location) in program.locations.iter().enumerate() {
        candidate.init(Loc::Plain(index), "base", location.initial);
    }
    for object in &program.objects {
        let initial = object.initial.first().copied().unwrap_or(0);
        match object.class.as_str() {
            "SVar" => (1..=program.nodes).for_each(|n| {
                candidate.init(Loc::Object(object.name.clone(), n), "SV", initial);
            }),
            "SC" => candidate.init(Loc::Object(object.name.clone(), 0), "SC", initial),
            _ => {}
        }
    }
    for (thread, code) in program.threads.iter().enumerate() {
        let mut at = At { thread, node: code.node.0, queue_pair: 0, ranks: BTreeMap::new() };
        for stmt in &code.body {
            candidate.calls += 1;
            candidate.statement(test, &mut at, &stmt.kind, &mut choose);
        }
    }
    candidate
}

struct At {
    thread: usize,
    node: u32,
    /// The queue pair of the statement at hand.
    queue_pair: u32,
    ranks: BTreeMap<String, usize>,
}

impl Candidate {
    fn init(&mut self, loc: Loc, library: &'static str, value: u64) {
        self.events.push(Event {
            thread: usize::MAX,
            call: 0,
            stamp: "init",
            node: 0,
            queue_pair: 0,
            library,
            object: String::new(),
            loc: Some(loc),
            reads: false,
            writes: Some(Source::Known(value)),
            id: None,
            rank: 0,
            is_first: false,
        });
    }

    /// Adds an event of the base; the library and object can be set afterwards.
    fn event(&mut self, at: &At, stamp: &'static str, node: u32) -> &mut Event {
        self.events.push(Event {
            thread: at.thread,
            call: self.calls,
            stamp,
            node,
            queue_pair: at.queue_pair,
            library: "base",
            object: String::new(),
            loc: None,
            reads: false,
            writes: None,
            id: None,
            rank: 0,
            is_first: false,
        });
        self.events.last_mut().expect("it was just added")
    }

    fn last(&self) -> usize {
        self.events.len() - 1
    }

    fn expr(&self, expr: &Expr) -> Source {
        Source::Expr(expr.clone(), self.registers.clone())
    }

    fn statement(
        &mut self,
        test: &Test,
        at: &mut At,
        kind: &StmtKind,
        choose: &mut impl FnMut() -> bool,
    ) {
        let home = |location: usize| test.program.locations[location].node.0;
        at.queue_pair = match kind {
            StmtKind::RemoteFence(towards) => towards.queue_pair,
            kind => test.program.towards(kind).map_or(0, |towards| towards.queue_pair),
        };
        match kind {
            StmtKind::Assign { register, value } => {
                let value = self.expr(value);
                self.registers.insert(register.0, value);
            }
            StmtKind::Write { location, value } => {
                let value = self.expr(value);
                let event = self.event(at, "aCW", 0);
                event.loc = Some(Loc::Plain(location.0));
                event.writes = Some(value);
            }
            StmtKind::Read { register, location } => {
                let event = self.event(at, "aCR", 0);
                event.loc = Some(Loc::Plain(location.0));
                event.reads = true;
                self.registers.insert(register.0, Source::Read(self.last()));
            }
            StmtKind::Fence => drop(self.event(at, "aMF", 0).clone()),
            StmtKind::Wait(id) => self.event(at, "aWT", 0).id = Some(id.0),
            StmtKind::RemoteFence(towards) => drop(self.event(at, "aRF", towards.node.0).clone()),
            StmtKind::Put { target, source, id, .. } => {
                let n = home(target.0);
                let value = match source {
                    PutSource::Value(value) => {
                        let value = self.expr(value);
                        self.event(at, "aNLR", n);
                        value
                    }
                    PutSource::Location(source) => {
                        let event = self.event(at, "aNLR", n);
                        event.loc = Some(Loc::Plain(source.0));
                        event.reads = true;
                        Source::Read(self.last())
                    }
                };
                let last = self.last();
                self.events[last].id = id.map(|id| id.0);
                let event = self.event(at, "aNRW", n);
                event.loc = Some(Loc::Plain(target.0));
                event.writes = Some(value);
                event.id = id.map(|id| id.0);
            }
            StmtKind::Get { target, source, id, .. } => {
                let n = home(source.0);
                let event = self.event(at, "aNRR", n);
                event.loc = Some(Loc::Plain(source.0));
                event.reads = true;
                event.id = id.map(|id| id.0);
                let value = Source::Read(self.last());
                let event = self.event(at, "aNLW", n);
                event.loc = Some(Loc::Plain(target.0));
                event.writes = Some(value);
                event.id = id.map(|id| id.0);
            }
            StmtKind::Rcas { result, target, expected, desired, id, .. } => {
                let succeeds = choose();
                let (expected, desired) = (self.expr(expected), self.expr(desired));
                let written = succeeds.then_some(desired);
                let old =
                    self.rmw(at, (result.0, target.0, home(target.0)), written, id.map(|id| id.0));
                self.conditions.push((old, expected, succeeds));
            }
            StmtKind::Rfaa { result, target, addend, id, .. } => {
                let addend = self.expr(addend);
                let old = Source::Read(self.events.len());
                let sum = Source::Sum(Box::new(old), Box::new(addend));
                self.rmw(at, (result.0, target.0, home(target.0)), Some(sum), id.map(|id| id.0));
            }
            StmtKind::GlobalFence(nodes) => {
                for node in nodes {
                    self.event(at, "aGF", node.0).library = "SV";
                }
            }
            StmtKind::Call(call) => self.call(test, at, call, choose),
            other => panic!("the oracle does not know {other:?}"),
        }
    }

    fn rmw(
        &mut self,
        at: &At,
        (result, target, n): (usize, usize, u32),
        written: Option<Source>,
        id: Option<usize>,
    ) -> Source {
        let event = self.event(at, "aNAR", n);
        event.loc = Some(Loc::Plain(target));
        event.reads = true;
        event.id = id;
        let old = Source::Read(self.last());
        if let Some(written) = written {
            let event = self.event(at, "aNRW", n);
            event.loc = Some(Loc::Plain(target));
            event.writes = Some(written);
            event.id = id;
        }
        let event = self.event(at, "aNLW", n);
        event.loc = Some(Loc::Plain(result));
        event.writes = Some(old.clone());
        event.id = id;
        old
    }

    fn call(&mut self, test: &Test, at: &mut At, call: &Call, choose: &mut impl FnMut() -> bool) {
        let program = &test.program;
        let name = call.object.clone().unwrap_or_default();
        let object = program.objects.iter().find(|object| object.name == name);
        let class = object.map_or("SVar", |object| object.class.as_str());
        let nodes_of = |threads: &[lang::program::ThreadId]| -> BTreeSet<u32> {
            threads.iter().map(|thread| program.threads[thread.0].node.0).collect()
        };
        let argument = |this: &Self, index: usize| this.expr(&call.arguments[index]);
        let here = Loc::Object(name.clone(), at.node);
        let first = self.events.len();
        let mut result = None;
        match (class, call.method.as_str()) {
            ("SVar", "Write") => {
                let value = argument(self, 0);
                let event = self.event(at, "aCW", 0);
                event.loc = Some(here);
                event.writes = Some(value);
            }
            ("SVar", "Read") => {
                let event = self.event(at, "aCR", 0);
                event.loc = Some(here);
                event.reads = true;
                result = Some(Source::Read(self.last()));
            }
            ("SVar", "Bcast") => {
                let all: Vec<u32> = match &call.nodes {
                    Some(nodes) => nodes.iter().map(|node| node.0).collect(),
                    None => (1..=program.nodes).filter(|node| *node != at.node).collect(),
                };
                for n in all {
                    let event = self.event(at, "aNLR", n);
                    event.loc = Some(here.clone());
                    event.reads = true;
                    let value = Source::Read(self.last());
                    let event = self.event(at, "aNRW", n);
                    event.loc = Some(Loc::Object(name.clone(), n));
                    event.writes = Some(value);
                }
            }
            ("SVar", "WaitSV") => drop(self.event(at, "aWT", 0).clone()),
            ("Barrier", _) => {
                let rank = at.ranks.entry(name.clone()).or_default();
                *rank += 1;
                let rank = *rank;
                let threads = object.map(|object| object.threads.clone()).unwrap_or_default();
                for n in nodes_of(&threads) {
                    self.event(at, "aGF", n).rank = rank;
                }
                self.event(at, "aCR", 0).rank = rank;
            }
            ("Ring", "Submit") => {
                let succeeds = choose();
                if succeeds {
                    let value = argument(self, 0);
                    let readers = object.map(|object| object.threads.clone()).unwrap_or_default();
                    let event = self.event(at, "aCW", 0);
                    event.loc = Some(here);
                    event.writes = Some(value.clone());
                    for n in nodes_of(&readers).into_iter().filter(|n| *n != at.node) {
                        let event = self.event(at, "aNRW", n);
                        event.loc = Some(Loc::Object(name.clone(), n));
                        event.writes = Some(value.clone());
                    }
                } else {
                    self.event(at, "aWT", 0);
                }
                result = Some(Source::Known(u64::from(succeeds)));
            }
            ("Ring", _) => {
                if choose() {
                    let event = self.event(at, "aCR", 0);
                    event.loc = Some(here);
                    event.reads = true;
                    result = Some(Source::Read(self.last()));
                } else {
                    self.event(at, "aWT", 0).loc = Some(here);
                    result = Some(Source::Known(BOTTOM));
                }
            }
            (_, "Acq") => self.event(at, "aMF", 0).is_first = true,
            ("WLock", _) => drop(self.event(at, "aCW", 0).clone()),
            ("SLock", _) => {
                for n in 1..=program.nodes {
                    self.event(at, "aGF", n);
                }
            }
            ("NLock", _) => {
                let n = object.and_then(|object| object.node).map_or(1, |node| node.0);
                self.event(at, "aRF", n);
                self.event(at, "aNRW", n);
            }
            ("SC", method) => {
                let loc = Some(Loc::Object(name.clone(), 0));
                let index = self.events.len();
                let old = Source::Read(index);
                let written = match method {
                    "Write" => Some(argument(self, 0)),
                    "FAA" => Some(Source::Sum(Box::new(old.clone()), Box::new(argument(self, 0)))),
                    "CAS" => {
                        let succeeds = choose();
                        let (expected, desired) = (argument(self, 0), argument(self, 1));
                        self.conditions.push((old.clone(), expected, succeeds));
                        succeeds.then_some(desired)
                    }
                    _ => None,
                };
                let event = self.event(at, "aMF", 0);
                event.loc = loc;
                event.reads = method != "Write";
                event.writes = written;
                if method != "Write" {
                    result = Some(old);
                }
            }
            other => panic!("the oracle does not know {other:?}"),
        }
        let library = match class {
            "SVar" => "SV",
            "Barrier" => "BAL",
            "Ring" => "RBL",
            "WLock" => "WLOCK",
            "SLock" => "SLOCK",
            "NLock" => "NLOCK",
            _ => "SC",
        };
        for event in &mut self.events[first..] {
            event.library = library;
            event.object.clone_from(&name);
            event.id = call.id.map(|id| id.0);
        }
        if let (Some(register), Some(result)) = (call.register, result) {
            self.registers.insert(register.0, result);
        }
    }

    fn explore(&self, test: &Test, all: &mut Outcomes, budget: &mut u64) -> Option<()> {
        let reads: Vec<usize> = (0..self.events.len()).filter(|e| self.events[*e].reads).collect();
        let sources: Vec<Vec<usize>> = reads
            .iter()
            .map(|read| {
                let writes = (0..self.events.len()).filter(|write| {
                    let event = &self.events[*write];
                    write != read
                        && event.writes.is_some()
                        && event.loc == self.events[*read].loc
                        && !(event.library == "RBL" && event.call == 0)
                });
                writes.collect()
            })
            .collect();
        let mut chosen = vec![0; reads.len()];
        if sources.iter().any(Vec::is_empty) {
            return Some(());
        }
        loop {
            let rf: BTreeMap<usize, usize> = reads
                .iter()
                .enumerate()
                .map(|(index, read)| (*read, sources[index][chosen[index]]))
                .collect();
            self.orders(test, &rf, all, budget)?;
            let Some(next) = (0..chosen.len()).find(|i| chosen[*i] + 1 < sources[*i].len()) else {
                return Some(());
            };
            chosen[next] += 1;
            chosen[..next].fill(0);
        }
    }

    /// A value; nothing if it comes out of thin air.
    fn value(&self, source: &Source, rf: &BTreeMap<usize, usize>, depth: usize) -> Option<u64> {
        if depth > 40 {
            return None;
        }
        match source {
            Source::Known(value) => Some(*value),
            Source::Read(event) => {
                let write = &self.events[*rf.get(event)?];
                self.value(write.writes.as_ref()?, rf, depth + 1)
            }
            Source::Sum(a, b) => {
                Some(self.value(a, rf, depth + 1)?.wrapping_add(self.value(b, rf, depth + 1)?))
            }
            Source::Expr(expr, registers) => {
                let mut known = BTreeMap::new();
                for register in expr.registers() {
                    let value = match registers.get(&register.0) {
                        Some(source) => self.value(source, rf, depth + 1)?,
                        None => 0,
                    };
                    known.insert(register.0, value);
                }
                Some(expr.evaluate(&|register| known.get(&register.0).copied().unwrap_or(0)))
            }
        }
    }
}
