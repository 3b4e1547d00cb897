//! coreRMA by brute force: every choice of rf and of an order on atomic writes, and the rules of the paper's
//! Fig. 4 word for word. Nothing here is the engine's.

#![allow(
    clippy::needless_range_loop,
    reason = "relations are written as they are in the rules, over events"
)]

use std::collections::BTreeSet;

use super::program::{Access, Program, Statement};

/// A value; `None` is ⊤.
pub type Value = Option<u64>;

/// The variants of §5 and §7.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    Stock,
    Verbs,
    SmallPut,
    AtomicRga,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// r, w; also initial writes.
    Local,
    /// er, ew, erw, and of which statement.
    External(Of),
    Flush,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Of {
    Put,
    Get,
    Rga,
    Cas,
}

#[derive(Clone, Copy, Debug)]
struct Action {
    /// `None` for initial writes.
    process: Option<usize>,
    statement: usize,
    kind: Kind,
    reads: Option<usize>,
    writes: Option<usize>,
    atomic: bool,
    /// The process that the statement names.
    target: Option<usize>,
    /// It touches the process that the statement names.
    remote: bool,
}

/// How many combinations of choices are looked at before a program is given up.
const LIMIT: u64 = 8_000;

/// The outcomes: values of all registers in order, then of all locations. `None` if there is too much to try.
pub fn outcomes(program: &Program, variant: Variant) -> Option<BTreeSet<Vec<Value>>> {
    let oracle = Oracle::new(program, variant);
    let readers: Vec<usize> = oracle.where_action(|a| a.reads.is_some());
    let sources: Vec<Vec<usize>> = readers
        .iter()
        .map(|r| oracle.where_action_at(|id, a| id != *r && a.writes == oracle.actions[*r].reads))
        .collect();
    let orders: Vec<Vec<Vec<usize>>> =
        (0..program.locations.len()).map(|x| oracle.write_orders(x)).collect();
    let counts: Vec<usize> =
        sources.iter().map(Vec::len).chain(orders.iter().map(Vec::len)).collect();
    let mut total: u64 = 1;
    for count in &counts {
        total = total.checked_mul(*count as u64).filter(|total| *total <= LIMIT)?;
    }
    let mut found = BTreeSet::new();
    let mut choice = vec![0; counts.len()];
    for _ in 0..total {
        let mut rf = vec![None; oracle.actions.len()];
        for (index, reader) in readers.iter().enumerate() {
            rf[*reader] = Some(sources[index][choice[index]]);
        }
        let order: Vec<&Vec<usize>> =
            orders.iter().zip(&choice[readers.len()..]).map(|(all, pick)| &all[*pick]).collect();
        oracle.try_choice(&rf, &order, &mut found);
        for (digit, count) in choice.iter_mut().zip(&counts) {
            *digit += 1;
            if *digit < *count {
                break;
            }
            *digit = 0;
        }
    }
    Some(found)
}

struct Oracle<'a> {
    program: &'a Program,
    variant: Variant,
    actions: Vec<Action>,
    /// The static rules: LO, PG, GA, CAS, F1-F3, IR.
    rules: Vec<(usize, usize)>,
}

impl<'a> Oracle<'a> {
    fn new(program: &'a Program, variant: Variant) -> Self {
        let mut actions: Vec<Action> = (0..program.locations.len())
            .map(|x| Action {
                process: None,
                statement: usize::MAX - x,
                kind: Kind::Local,
                reads: None,
                writes: Some(x),
                atomic: true,
                target: None,
                remote: false,
            })
            .collect();
        for (process, body) in program.processes.iter().enumerate() {
            for (index, statement) in body.iter().enumerate() {
                translate(program, process, process * 100 + index, statement, &mut actions);
            }
        }
        let mut oracle = Self { program, variant, actions, rules: Vec::new() };
        for a in 0..oracle.actions.len() {
            for b in 0..oracle.actions.len() {
                if oracle.rule(a, b) {
                    oracle.rules.push((a, b));
                }
            }
        }
        oracle
    }

    fn where_action(&self, holds: impl Fn(&Action) -> bool) -> Vec<usize> {
        self.where_action_at(|_, action| holds(action))
    }

    fn where_action_at(&self, holds: impl Fn(usize, &Action) -> bool) -> Vec<usize> {
        (0..self.actions.len()).filter(|id| holds(*id, &self.actions[*id])).collect()
    }

    /// Whether a rule that looks at the program only orders a before b.
    fn rule(&self, ia: usize, ib: usize) -> bool {
        let (a, b) = (&self.actions[ia], &self.actions[ib]);
        // Initial writes are local actions, before all others in po.
        if a.process.is_none() {
            return b.process.is_some();
        }
        let po = a.process == b.process && ia < ib;
        if !po {
            return false;
        }
        let is_local = |action: &Action| {
            let small_put = self.variant == Variant::SmallPut
                && action.kind == Kind::External(Of::Put)
                && action.reads.is_some();
            action.kind == Kind::Local || small_put
        };
        let is_external = |action: &Action| matches!(action.kind, Kind::External(_));
        let same_target = a.target.is_some() && a.target == b.target;
        let lo = is_local(a);
        let within = a.statement == b.statement
            && match a.kind {
                Kind::External(Of::Put | Of::Get | Of::Rga) => true,
                // The two er of a cas are in po only.
                Kind::External(Of::Cas) => b.writes.is_some(),
                _ => false,
            };
        let f1 = a.kind == Kind::Flush && is_local(b);
        let f2 = is_external(a) && b.kind == Kind::Flush && same_target;
        let f3 = a.kind == Kind::Flush && is_external(b) && same_target;
        let routed = a.remote && b.remote && same_target && a.target != a.process;
        let ir = routed
            && match self.variant {
                Variant::Verbs => {
                    a.kind == b.kind && matches!(a.kind, Kind::External(Of::Put | Of::Get))
                }
                _ => true,
            };
        lo || within || f1 || f2 || f3 || ir
    }

    /// Every order of the atomic writes of a location; the initial one, which is before all, comes first.
    fn write_orders(&self, location: usize) -> Vec<Vec<usize>> {
        let mut orders = vec![vec![location]];
        for write in
            self.where_action(|a| a.process.is_some() && a.atomic && a.writes == Some(location))
        {
            orders = orders
                .iter()
                .flat_map(|order| {
                    (1..=order.len()).map(move |at| {
                        let mut longer = order.clone();
                        longer.insert(at, write);
                        longer
                    })
                })
                .collect();
        }
        orders
    }

    fn try_choice(
        &self,
        rf: &[Option<usize>],
        orders: &[&Vec<usize>],
        found: &mut BTreeSet<Vec<Value>>,
    ) {
        let Some(hb) = self.happens_before(rf, orders) else { return };
        let conflict = |a: usize, b: usize| {
            let (x, y) = (&self.actions[a], &self.actions[b]);
            let places = |action: &Action| [action.reads, action.writes];
            let same = places(x).iter().any(|p| p.is_some() && places(y).contains(p));
            let one_writes = x.writes.is_some() || y.writes.is_some();
            a != b && same && one_writes && !(x.atomic && y.atomic) && !hb[a][b] && !hb[b][a]
        };
        let writers: Vec<usize> = self.where_action(|a| a.writes.is_some());
        let damaged: Vec<bool> =
            (0..self.actions.len()).map(|a| writers.iter().any(|w| conflict(a, *w))).collect();
        let cas: Vec<usize> = self.where_action(|a| {
            a.kind == Kind::External(Of::Cas) && a.reads.is_some() && a.writes.is_some()
        });
        // How a comparison with ⊤ comes out is free.
        for guesses in 0..1_u32 << cas.len() {
            let guess = |erw: usize| {
                cas.iter()
                    .position(|known| *known == erw)
                    .is_some_and(|bit| guesses >> bit & 1 == 1)
            };
            let mut values = Values {
                oracle: self,
                rf,
                damaged: &damaged,
                guess: &guess,
                read: vec![Progress::Unknown; self.actions.len()],
            };
            if let Some(outcome) = values.outcome(&hb) {
                found.insert(outcome);
            }
        }
    }

    /// The least relation; `None` if it has a cycle.
    fn happens_before(
        &self,
        rf: &[Option<usize>],
        orders: &[&Vec<usize>],
    ) -> Option<Vec<Vec<bool>>> {
        let n = self.actions.len();
        let mut hb = vec![vec![false; n]; n];
        for (a, b) in &self.rules {
            hb[*a][*b] = true;
        }
        for order in orders {
            for pair in order.windows(2) {
                hb[pair[0]][pair[1]] = true;
            }
        }
        let atomic = |id: usize| self.actions[id].atomic;
        for (reader, source) in rf.iter().enumerate() {
            if let Some(write) = source.filter(|write| atomic(*write) && atomic(reader)) {
                hb[write][reader] = true;
            }
        }
        loop {
            let before = hb.clone();
            for middle in 0..n {
                for from in 0..n {
                    if hb[from][middle] {
                        for to in 0..n {
                            hb[from][to] |= hb[middle][to];
                        }
                    }
                }
            }
            if (0..n).any(|a| hb[a][a]) {
                return None;
            }
            for (reader, source) in rf.iter().enumerate() {
                let Some(first) = source.filter(|write| atomic(*write) && atomic(reader)) else {
                    continue;
                };
                for later in 0..n {
                    let same = self.actions[later].writes == self.actions[first].writes;
                    if later != reader && same && atomic(later) && hb[first][later] {
                        hb[reader][later] = true;
                    }
                }
            }
            if self.variant == Variant::AtomicRga {
                self.one_step(&mut hb);
            }
            if hb == before {
                return Some(hb);
            }
        }
    }

    /// What is before, or after, one action of an rga is before, or after, each of them.
    fn one_step(&self, hb: &mut [Vec<bool>]) {
        let n = self.actions.len();
        for a in self.where_action(|a| a.kind == Kind::External(Of::Rga)) {
            for b in (0..n).filter(|b| self.actions[*b].statement == self.actions[a].statement) {
                for other in 0..n {
                    if self.actions[other].statement != self.actions[a].statement {
                        hb[other][b] |= hb[other][a];
                        hb[b][other] |= hb[a][other];
                    }
                }
            }
        }
    }
}

#[derive(Clone, Copy)]
enum Progress {
    Unknown,
    Busy,
    Known(Value),
}

struct Values<'a> {
    oracle: &'a Oracle<'a>,
    rf: &'a [Option<usize>],
    damaged: &'a [bool],
    guess: &'a dyn Fn(usize) -> bool,
    read: Vec<Progress>,
}

impl Values<'_> {
    /// `None` if a value is made of itself.
    fn read(&mut self, action: usize) -> Option<Value> {
        match self.read[action] {
            Progress::Known(value) => return Some(value),
            Progress::Busy => return None,
            Progress::Unknown => self.read[action] = Progress::Busy,
        }
        let source = self.rf[action]?;
        let value = if self.damaged[action] || self.damaged_by_write(source) {
            None
        } else {
            self.written(source)?
        };
        self.read[action] = Progress::Known(value);
        Some(value)
    }

    /// A write in conflict with another write.
    fn damaged_by_write(&self, write: usize) -> bool {
        self.damaged[write]
    }

    fn written(&mut self, action: usize) -> Option<Value> {
        let Action { process, statement, kind, .. } = self.oracle.actions[action];
        let Some(process) = process else {
            return Some(Some(self.oracle.program.locations[action].initial));
        };
        let own: Vec<usize> = self.oracle.where_action(|a| a.statement == statement);
        let Kind::External(of) = kind else {
            return self.local(process, &self.oracle.program.processes[process][statement % 100]);
        };
        match (of, action - own[0]) {
            (Of::Put | Of::Get, _) => self.read(own[0]),
            (Of::Rga, 1) => {
                let (addend, old) = (self.read(own[0])?, self.read(action)?);
                Some(addend.zip(old).map(|(addend, old)| addend.wrapping_add(old)))
            }
            (Of::Cas, 2) => {
                let (expected, desired, old) =
                    (self.read(own[0])?, self.read(own[1])?, self.read(action)?);
                let equal = match expected.zip(old) {
                    Some((expected, old)) => expected == old,
                    None => (self.guess)(action),
                };
                Some(if equal { desired } else { old })
            }
            // An ew writes what the erw before it has read.
            _ => self.read(action - 1),
        }
    }

    /// What `X = e` writes; a register holds what the last read into it before has read.
    fn local(&mut self, process: usize, statement: &Statement) -> Option<Value> {
        let Statement::Write(_, register, constant) = statement else { return None };
        let Some(register) = register else { return Some(Some(*constant)) };
        let value = self.register(process, *register)?;
        Some(value.map(|value| value.wrapping_add(*constant)))
    }

    /// Each register is read into once.
    fn register(&mut self, process: usize, register: usize) -> Option<Value> {
        let body = &self.oracle.program.processes[process];
        let at = body.iter().position(|s| matches!(s, Statement::Read(r, _) if *r == register))?;
        let reads = self.oracle.where_action(|a| a.statement == process * 100 + at);
        self.read(reads[0])
    }

    fn outcome(&mut self, hb: &[Vec<bool>]) -> Option<Vec<Value>> {
        let mut outcome = Vec::new();
        // Every action has a value, be it shown or not.
        for action in 0..self.oracle.actions.len() {
            if self.oracle.actions[action].reads.is_some() {
                self.read(action)?;
            }
        }
        for register in 0..self.oracle.program.registers {
            let process = (0..self.oracle.program.processes.len()).find(|process| {
                let body = &self.oracle.program.processes[*process];
                body.iter().any(|s| matches!(s, Statement::Read(r, _) if *r == register))
            });
            outcome.push(self.register(process?, register)?);
        }
        for location in 0..self.oracle.program.locations.len() {
            let writes = self.oracle.where_action(|a| a.writes == Some(location));
            let is_last = |w: &&usize| writes.iter().all(|other| !hb[**w][*other]);
            let last: Vec<usize> = writes.iter().filter(is_last).copied().collect();
            outcome.push(match last[..] {
                [one] => self.written(one)?,
                _ => None,
            });
        }
        Some(outcome)
    }
}

/// Table 3: the actions of a statement.
fn translate(
    program: &Program,
    process: usize,
    number: usize,
    statement: &Statement,
    actions: &mut Vec<Action>,
) {
    let action = |kind, reads: Option<Access>, writes: Option<Access>, target, remote| Action {
        process: Some(process),
        statement: number,
        kind,
        reads: reads.map(|(x, _)| x),
        writes: writes.map(|(x, _)| x),
        atomic: reads.or(writes).is_none_or(|(_, atomic)| atomic),
        target,
        remote,
    };
    let home = |(x, _): Access| Some(program.locations[x].home);
    let add: Vec<Action> = match *statement {
        Statement::Read(_, x) => vec![action(Kind::Local, Some(x), None, None, false)],
        Statement::Write(x, ..) => vec![action(Kind::Local, None, Some(x), None, false)],
        Statement::Flush(target) => vec![action(Kind::Flush, None, None, Some(target), false)],
        Statement::Put(z, x) => {
            let (kind, target) = (Kind::External(Of::Put), home(z));
            vec![
                action(kind, Some(x), None, target, false),
                action(kind, None, Some(z), target, true),
            ]
        }
        Statement::Get(x, z) => {
            let (kind, target) = (Kind::External(Of::Get), home(z));
            vec![
                action(kind, Some(z), None, target, true),
                action(kind, None, Some(x), target, false),
            ]
        }
        Statement::Rga(x, z, y) => {
            let (kind, target) = (Kind::External(Of::Rga), home(z));
            vec![
                action(kind, Some(y), None, target, false),
                action(kind, Some(z), Some(z), target, true),
                action(kind, None, Some(x), target, false),
            ]
        }
        Statement::Cas(x, z, y, w) => {
            let (kind, target) = (Kind::External(Of::Cas), home(z));
            vec![
                action(kind, Some(y), None, target, false),
                action(kind, Some(w), None, target, false),
                action(kind, Some(z), Some(z), target, true),
                action(kind, None, Some(x), target, false),
            ]
        }
    };
    actions.extend(add);
}
