//! Finds what the programs of a model can contain at all. For example, a model without remote RMWs may have
//! rows and parts for them, and no program of the model can show their effect.
//!
//! Expressions are evaluated over kinds of events instead of events. The result says which kinds may be in a
//! set, or related by a relation. It is an over-approximation: it contains everything that a program can
//! have.

use lang::cat::model::{Base, Cell, DefinitionKind, Expr, Model, Type};

/// A set of kinds, one bit each.
type Kinds = u32;

/// Kinds of events: the stamps. Writes by the NIC have one kind for each statement that causes them.
const INITIAL: Kinds = 1;
const READ: Kinds = 1 << 1;
const WRITE: Kinds = 1 << 2;
const CAS: Kinds = 1 << 3;
const FENCE: Kinds = 1 << 4;
const POLL: Kinds = 1 << 5;
const WAIT: Kinds = 1 << 6;
const PUT_READ: Kinds = 1 << 7;
const PUT_WRITE: Kinds = 1 << 8;
const GET_READ: Kinds = 1 << 9;
const GET_WRITE: Kinds = 1 << 10;
const RMW_READ: Kinds = 1 << 11;
const RMW_WRITE: Kinds = 1 << 12;
const RMW_RESULT: Kinds = 1 << 13;
const REMOTE_FENCE: Kinds = 1 << 14;
const GLOBAL_FENCE: Kinds = 1 << 15;
const FETCH_OP: Kinds = 1 << 16;
const COMPARE_SWAP: Kinds = 1 << 17;
const FLUSH: Kinds = 1 << 18;
const SEND_WRITE: Kinds = 1 << 19;
const COMPLETION: Kinds = 1 << 20;
const RECEIVE: Kinds = 1 << 21;
const ATOMIC_WRITE: Kinds = 1 << 22;
const NIC_FLUSH: Kinds = 1 << 23;
const NIC_PERSIST: Kinds = 1 << 24;
const RECOVERY: Kinds = 1 << 25;
const SHARED_POST: Kinds = 1 << 26;
const COUNT: usize = 27;

/// The kinds of each NIC operation.
const OPERATIONS: [Kinds; 4] = [
    PUT_READ | PUT_WRITE,
    GET_READ | GET_WRITE,
    RMW_READ | RMW_WRITE | RMW_RESULT,
    PUT_READ | FETCH_OP | COMPARE_SWAP | GET_WRITE,
];
/// The kinds of events without a NIC: those of CPUs, including polls and waits, and initial writes.
const OF_CPU: Kinds = INITIAL | READ | WRITE | CAS | FENCE | POLL | WAIT;
/// The kinds that each stamp stands for.
const STAMPS: [(Base, Kinds); 23] = [
    (Base::InitialWrites, INITIAL),
    (Base::CpuRead, READ),
    (Base::CpuWrite, WRITE),
    (Base::CpuRmw, CAS),
    (Base::Fence, FENCE),
    (Base::Wait, POLL | WAIT),
    (Base::NicLocalRead, PUT_READ),
    (Base::NicRemoteWrite, PUT_WRITE | RMW_WRITE | SEND_WRITE),
    (Base::NicRemoteCompletion, COMPLETION),
    (Base::NicAtomicWrite, ATOMIC_WRITE),
    (Base::NicFlush, NIC_FLUSH),
    (Base::NicPersist, NIC_PERSIST),
    (Base::Recovery, RECOVERY),
    (Base::ReceivePosted, RECEIVE),
    (Base::Posted, SHARED_POST),
    (Base::NicAtomicRead, RMW_READ),
    (Base::NicRemoteRead, GET_READ),
    (Base::NicLocalWrite, GET_WRITE | RMW_RESULT),
    (Base::RemoteFence, REMOTE_FENCE),
    (Base::GlobalFence, GLOBAL_FENCE),
    (Base::NicFetchOp, FETCH_OP),
    (Base::NicCompareSwap, COMPARE_SWAP),
    (Base::Flush, FLUSH),
];
const NIC: Kinds = OPERATIONS[0]
    | OPERATIONS[1]
    | OPERATIONS[2]
    | OPERATIONS[3]
    | SEND_WRITE
    | COMPLETION
    | ATOMIC_WRITE
    | NIC_FLUSH
    | NIC_PERSIST;
const READS: Kinds =
    READ | CAS | PUT_READ | GET_READ | RMW_READ | FETCH_OP | COMPARE_SWAP | RECOVERY;
const WRITES: Kinds = INITIAL
    | WRITE
    | CAS
    | PUT_WRITE
    | SEND_WRITE
    | ATOMIC_WRITE
    | COMPLETION
    | GET_WRITE
    | RMW_WRITE
    | RMW_RESULT
    | FETCH_OP
    | COMPARE_SWAP;

/// The kinds of events of a statement, by the statement's name in [`Model::calls`].
fn of_call(call: &str) -> Kinds {
    match call {
        "Write" => WRITE,
        "Read" => READ,
        "CAS" => CAS | FENCE | READ,
        "FAA" => CAS,
        "Mfence" => FENCE,
        "SharedPost" => SHARED_POST,
        "Put" => OPERATIONS[0],
        "Get" => OPERATIONS[1],
        "RCAS" | "RFAA" => OPERATIONS[2],
        "Rfence" => REMOTE_FENCE,
        "Poll" => POLL,
        "Wait" => WAIT,
        "GFence" => GLOBAL_FENCE,
        // It is about requests, and has no events of its own.
        "Unsignaled" | "Words" | "SharedPoll" => 0,
        "Send" => PUT_READ | SEND_WRITE | COMPLETION,
        "Immediate" => COMPLETION,
        "AtomicWrite" => PUT_READ | ATOMIC_WRITE,
        "Flush" => NIC_FLUSH,
        "Persist" => NIC_PERSIST,
        "Crash" => RECOVERY,
        "Recv" => RECEIVE,
        "PollRecv" => READ,
        "Rma" => READ | WRITE | OPERATIONS[0] | OPERATIONS[1] | OPERATIONS[3] | FLUSH,
        // An unknown statement may have events of every kind.
        _ => (1 << COUNT) - 1,
    }
}

/// Whether a NIC takes part in the pairs that an expression relates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// In all pairs, a NIC performs at least one of the two events.
    Nic,
    /// In all pairs, CPUs perform both events.
    Cpu,
    /// There are pairs with a NIC's event, and pairs of CPU events only.
    Both,
}

/// The stamps of the events that an expression contains or relates in a model's programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Whether a NIC takes part.
    pub side: Side,
    /// The stamps of the first events of pairs. For a set: the stamps of its events.
    pub from: Vec<&'static str>,
    /// The stamps of the second events of pairs.
    pub to: Vec<&'static str>,
}

impl Extent {
    /// Whether the expression is empty in every execution of every program.
    pub fn is_empty(&self) -> bool {
        self.from.is_empty()
    }
}

/// The extent of an expression in the model's programs.
pub fn extent(model: &Model, expr: &Expr) -> Extent {
    let all = model.calls.iter().fold(INITIAL, |all, call| all | of_call(call));
    let mut kinds = OverKinds { model, all, known: Vec::new() };
    kinds.definitions();
    let value = kinds.value(expr);
    let with_nic =
        |(kind, to): (usize, &Kinds)| if OF_CPU >> kind & 1 == 1 { to & !OF_CPU } else { *to };
    let rows = || value.may.iter().enumerate();
    let has_nic = rows().any(|row| with_nic(row) != 0);
    let has_cpu = rows().any(|row| with_nic(row) != *row.1);
    let side = match (has_nic, has_cpu) {
        (true, true) => Side::Both,
        (true, false) => Side::Nic,
        _ => Side::Cpu,
    };
    let stamps = |of: Kinds| {
        STAMPS.iter().filter(|(_, kinds)| kinds & of != 0).map(|(base, _)| base.name()).collect()
    };
    Extent { side, from: stamps(value.domain()), to: stamps(value.range()) }
}

/// A relation between kinds, by row. A set is the identity on its kinds.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Value {
    may: [Kinds; COUNT],
    /// For a set: the kinds whose events are all in it.
    must: Kinds,
}

impl Value {
    fn empty() -> Self {
        Self { may: [0; COUNT], must: 0 }
    }

    fn set(may: Kinds, must: Kinds) -> Self {
        let mut value = Self::empty();
        (0..COUNT).for_each(|kind| value.may[kind] = may & 1 << kind);
        Self { must, ..value }
    }

    fn product(from: Kinds, to: Kinds) -> Self {
        let mut value = Self::empty();
        (0..COUNT).filter(|kind| from >> kind & 1 == 1).for_each(|kind| value.may[kind] = to);
        value
    }

    fn domain(&self) -> Kinds {
        (0..COUNT).filter(|kind| self.may[*kind] != 0).fold(0, |all, kind| all | 1 << kind)
    }

    fn range(&self) -> Kinds {
        self.may.iter().fold(0, |all, row| all | row)
    }

    fn with(&self, other: &Self, row: fn(Kinds, Kinds) -> Kinds) -> [Kinds; COUNT] {
        std::array::from_fn(|kind| row(self.may[kind], other.may[kind]))
    }

    fn or(&self, other: &Self) -> Self {
        Self { may: self.with(other, |a, b| a | b), must: self.must | other.must }
    }

    fn and(&self, other: &Self) -> Self {
        Self { may: self.with(other, |a, b| a & b), must: self.must & other.must }
    }

    fn then(&self, other: &Self) -> Self {
        let mut value = Self::empty();
        for (row, to) in value.may.iter_mut().zip(&self.may) {
            *row = (0..COUNT)
                .filter(|kind| to >> kind & 1 == 1)
                .fold(0, |all, kind| all | other.may[kind]);
        }
        value
    }

    fn inverse(&self) -> Self {
        let column = |kind: usize| {
            (0..COUNT)
                .filter(|from| self.may[*from] >> kind & 1 == 1)
                .fold(0, |all, from| all | 1 << from)
        };
        Self { may: std::array::from_fn(column), must: 0 }
    }

    fn closure(&self) -> Self {
        let mut value = Self { must: 0, ..self.clone() };
        loop {
            let longer = value.or(&value.then(self));
            if longer == value {
                return value;
            }
            value = longer;
        }
    }
}

struct OverKinds<'m> {
    model: &'m Model,
    /// The kinds of events of all statements of the model.
    all: Kinds,
    /// For each definition, the values of its bodies.
    known: Vec<Vec<Value>>,
}

impl OverKinds<'_> {
    fn definitions(&mut self) {
        for definition in &self.model.definitions {
            let values = match &definition.kind {
                DefinitionKind::Let { body, .. } => vec![self.value(body)],
                DefinitionKind::Choice { total_on, .. } => {
                    let pairs = self.value(total_on);
                    vec![pairs.or(&pairs.inverse())]
                }
                DefinitionKind::Table(table) => {
                    let on = self.value(&table.on);
                    let mut all = Value::empty();
                    for (_, row, cells) in &table.rows {
                        let from = self.value(row).domain();
                        for ((_, column), cell) in table.columns.iter().zip(cells) {
                            let pairs = on.and(&Value::product(from, self.value(column).domain()));
                            all = match cell {
                                Cell::Unordered => all,
                                Cell::Ordered => all.or(&pairs),
                                Cell::Where(letter) => {
                                    all.or(&pairs.and(&self.value(&table.letters[*letter].1)))
                                }
                            };
                        }
                    }
                    vec![all]
                }
                DefinitionKind::Rec(bodies) => {
                    self.known.push(vec![Value::empty(); bodies.len()]);
                    loop {
                        let next: Vec<Value> =
                            bodies.iter().map(|body| self.value(&body.body)).collect();
                        let before = self.known.pop().unwrap_or_default();
                        if next == before {
                            break next;
                        }
                        self.known.push(next);
                    }
                }
            };
            self.known.push(values);
        }
    }

    fn value(&self, expr: &Expr) -> Value {
        match expr {
            Expr::Base(base) => self.base(*base),
            Expr::Defined(id) => self.known[id.definition][id.body].clone(),
            Expr::Empty => Value::empty(),
            Expr::Universe | Expr::Complement(Type::Set, _) => Value::set(self.all, self.all),
            Expr::Complement(Type::Relation, _) => Value::product(self.all, self.all),
            Expr::Union(left, right) => self.value(left).or(&self.value(right)),
            Expr::Intersection(left, right) => self.value(left).and(&self.value(right)),
            Expr::Difference(left, right) => {
                let (left, right) = (self.value(left), self.value(right));
                // For relations, it is not known what the difference removes, so it removes nothing.
                let may = std::array::from_fn(|kind| left.may[kind] & !(right.must & 1 << kind));
                Value { may, must: left.must & !right.domain() }
            }
            Expr::Product(left, right) => {
                Value::product(self.value(left).domain(), self.value(right).domain())
            }
            Expr::Identity(inner) => self.value(inner),
            Expr::Sequence(left, right) => self.value(left).then(&self.value(right)),
            Expr::Inverse(inner) => self.value(inner).inverse(),
            Expr::Plus(inner) => self.value(inner).closure(),
            Expr::Star(inner) | Expr::Optional(inner) => {
                self.value(inner).closure().or(&Value::set(self.all, 0))
            }
            Expr::Domain(inner) => Value::set(self.value(inner).domain(), 0),
            // The range of `rmw` contains every write of a remote RMW.
            Expr::Range(inner) => {
                let is_rmw = matches!(**inner, Expr::Base(Base::Rmw));
                let range = self.value(inner).range();
                Value::set(range, if is_rmw { range } else { 0 })
            }
        }
    }

    fn base(&self, base: Base) -> Value {
        let set = |kinds: Kinds| Value::set(kinds & self.all, kinds & self.all);
        let some = |kinds: Kinds| Value::set(kinds & self.all, 0);
        let pairs = |from: Kinds, to: Kinds| Value::product(from & self.all, to & self.all);
        let everything = Value::product(self.all, self.all);
        if let Some((_, kinds)) = STAMPS.iter().find(|(stamp, _)| *stamp == base) {
            return set(*kinds);
        }
        match base {
            Base::Reads => set(READS),
            Base::Writes => set(WRITES),
            Base::Memory => set(READS | WRITES),
            Base::Atomic => some(READS | WRITES),
            Base::Loopback => some(NIC),
            Base::Identity => Value::set(self.all, 0),
            Base::ProgramOrder => pairs(!INITIAL, !INITIAL),
            Base::SameLocation => pairs(READS | WRITES, READS | WRITES),
            Base::SameThread => pairs(!INITIAL, !INITIAL),
            Base::ReadsFrom => pairs(WRITES, READS),
            Base::Rmw => pairs(RMW_READ, RMW_WRITE),
            Base::SameOperation => {
                let others = [FENCE | READ, PUT_READ | PUT_WRITE | SEND_WRITE | COMPLETION];
                let calls = OPERATIONS.iter().chain(&others);
                let calls = calls.map(|kinds| pairs(*kinds, *kinds));
                let calls = calls.chain([
                    pairs(SHARED_POST, NIC | REMOTE_FENCE),
                    pairs(NIC | REMOTE_FENCE, SHARED_POST),
                ]);
                calls.fold(Value::set(self.all, 0), |all, one| all.or(&one))
            }
            Base::SameNode | Base::SameQueuePair => {
                let towards = NIC | SHARED_POST | POLL | REMOTE_FENCE | GLOBAL_FENCE | FLUSH;
                pairs(towards, towards)
            }
            Base::SameId => pairs(NIC, WAIT),
            Base::PollsFrom => pairs(PUT_WRITE | GET_WRITE | RMW_RESULT | COMPLETION, POLL),
            Base::SameReceive => {
                let all = SEND_WRITE | COMPLETION | RECEIVE | READ;
                pairs(all, all)
            }
            // Stamps were handled above.
            _ => everything,
        }
    }
}
