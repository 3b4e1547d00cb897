//! Turns a shape into a program for the engines.

use lang::outcome::{Observable, Observed};
use lang::program::{
    Expr, Location, LocationId, NodeId, Origin, Program, PutSource, Register, RegisterId, Stmt,
    StmtKind, ThreadId, WorkId,
};
use lang::source::Span;
use lang::{Dialect, Test};

use super::shape::{Completion, Place, Shape, Step};

/// The names and values that a shape leaves open.
#[derive(Clone, Debug)]
pub struct Naming {
    /// The name of each location.
    pub places: Vec<String>,
    /// For each location, whether it is only the target of one remote operation. Such locations are not
    /// declared.
    pub fresh: Vec<bool>,
    /// For each thread and step, the name of the register that it assigns, if any.
    pub registers: Vec<Vec<Option<String>>>,
    /// For each thread and step, the work id, if some wait uses it.
    pub ids: Vec<Vec<Option<String>>>,
    /// For each thread and step, the value that it writes or adds, or 0.
    pub values: Vec<Vec<u64>>,
    /// A value that no location ever holds, unless copies are added up.
    pub never: u64,
}

const PLACES: [&str; 12] = ["x", "y", "z", "w", "u", "v", "s", "t", "p", "q", "r", "o"];
const RESULTS: [&str; 12] = ["a", "b", "c", "h", "i", "j", "k", "l", "m", "n", "aa", "bb"];
const IDS: [&str; 4] = ["d", "e", "f", "g"];

/// The name of a place, register or id. After the last name of the list, names get numbers: `x1`.
pub(super) fn pick(names: &[&str], index: usize) -> String {
    match names.get(index) {
        Some(name) => (*name).to_owned(),
        None => format!("{}{}", names[index % names.len()], index / names.len()),
    }
}

impl Naming {
    /// The names and values of a shape.
    pub fn new(shape: &Shape) -> Self {
        let count = shape.homes.len();
        let mut accesses = vec![0; count];
        let mut is_result = vec![false; count];
        let mut writes = vec![0_u32; count];
        for (thread, step, access) in shape.accesses() {
            accesses[usize::from(access.place)] += 1;
            is_result[usize::from(access.place)] = matches!(
                shape.threads[thread].body[step],
                Step::Get { into, .. } | Step::Rcas { into, .. } | Step::Rfaa { into, .. }
                    if into == access.place
            );
        }
        let fresh: Vec<bool> = (0..count).map(|at| accesses[at] == 1 && is_result[at]).collect();
        let mut naming = Self {
            places: vec![String::new(); count],
            fresh,
            registers: Vec::new(),
            ids: Vec::new(),
            values: Vec::new(),
            never: 8,
        };
        let declared: Vec<usize> = (0..count).filter(|at| !naming.fresh[*at]).collect();
        for (number, at) in declared.into_iter().enumerate() {
            naming.places[at] = pick(&PLACES, number);
        }
        let (mut results, mut ids) = (0, 0);
        for thread in &shape.threads {
            let (registers, values) = naming.thread(thread, &mut results, &mut writes);
            let awaited = |at: usize| thread.body.contains(&Step::Await { step: at as u8 });
            let mut id = |at: usize| {
                ids += usize::from(awaited(at));
                awaited(at).then(|| pick(&IDS, ids - 1))
            };
            naming.ids.push((0..thread.body.len()).map(&mut id).collect());
            naming.registers.push(registers);
            naming.values.push(values);
        }
        let most = writes.into_iter().max().unwrap_or(0);
        naming.never = 8.max(1_u64.checked_shl(most).unwrap_or(u64::MAX - 1));
        naming
    }

    fn thread(
        &mut self,
        thread: &super::shape::Thread,
        results: &mut usize,
        writes: &mut [u32],
    ) -> (Vec<Option<String>>, Vec<u64>) {
        let mut result = || {
            *results += 1;
            pick(&RESULTS, *results - 1)
        };
        let mut registers = Vec::new();
        let mut values = Vec::new();
        for step in &thread.body {
            let assigns = matches!(step, Step::Read { .. } | Step::Cas { .. } | Step::Faa { .. });
            registers.push(assigns.then(&mut result));
            for access in step.accesses() {
                let at = usize::from(access.place);
                if self.fresh[at] {
                    self.places[at] = result();
                }
            }
            let written = match *step {
                Step::Write { at }
                | Step::Cas { at, hits: true }
                | Step::Faa { at }
                | Step::PutValue { to: at }
                | Step::Rcas { at, hits: true, .. }
                | Step::Rfaa { at, .. } => Some(&mut writes[usize::from(at)]),
                _ => None,
            };
            // Values are powers of two, so that their sums differ too.
            values.push(written.map_or(0, |count| {
                *count += 1;
                1_u64.checked_shl(*count - 1).unwrap_or(u64::MAX)
            }));
        }
        (registers, values)
    }
}

/// The program of a shape. The span of each statement encodes its thread and step; see [`step_span`].
pub fn program(shape: &Shape, naming: &Naming, completion: Completion) -> Program {
    let mut program =
        Program { nodes: shape.nodes() as u32, locations: Vec::new(), ..Program::default() };
    for (index, name) in naming.places.iter().enumerate() {
        program.locations.push(Location {
            name: name.clone(),
            node: NodeId(u32::from(shape.homes[index]) + 1),
            initial: 0,
            origin: if naming.fresh[index] { Origin::Fresh } else { Origin::Declared },
            span: Span::default(),
        });
    }
    for (index, thread) in shape.threads.iter().enumerate() {
        let mut body = Vec::new();
        let polls = shape.polls(thread);
        let mut writer = Writer { shape, naming, completion, index, program: &mut program };
        for (at, step) in thread.body.iter().enumerate() {
            let span = step_span(index, at);
            let kinds = writer.statements(at, *step, polls[at]);
            body.extend(kinds.into_iter().map(|kind| Stmt { kind, span }));
        }
        let node = NodeId(u32::from(thread.node) + 1);
        program.threads.push(lang::program::Thread { node, body });
    }
    program
}

/// The span of the events of a step.
pub fn step_span(thread: usize, step: usize) -> Span {
    Span::new(thread << 8 | step, thread << 8 | step)
}

struct Writer<'a> {
    shape: &'a Shape,
    naming: &'a Naming,
    completion: Completion,
    index: usize,
    program: &'a mut Program,
}

impl Writer<'_> {
    fn statements(&mut self, at: usize, step: Step, polls: usize) -> Vec<StmtKind> {
        let place = |place: Place| LocationId(usize::from(place));
        let value = Expr::Constant(self.naming.values[self.index][at]);
        let never = self.naming.never;
        let compared = |hits: bool| match hits {
            true => (Expr::Constant(0), value.clone()),
            false => (Expr::Constant(never), Expr::Constant(never + 1)),
        };
        let id = self.work_id(at);
        let register = self.register(at);
        vec![match step {
            Step::Write { at } => StmtKind::Write { location: place(at), value },
            Step::Read { at } => {
                StmtKind::Read { register: register.unwrap_or(RegisterId(0)), location: place(at) }
            }
            Step::Cas { at, hits } => {
                let (expected, desired) = compared(hits);
                StmtKind::Cas { register, location: place(at), expected, desired }
            }
            Step::Faa { at } => StmtKind::Faa { register, location: place(at), addend: value },
            Step::Fence => StmtKind::Fence,
            Step::PutValue { to } => {
                StmtKind::Put { target: place(to), source: PutSource::Value(value), id }
            }
            Step::Put { to, from } => {
                let source = PutSource::Location(place(from));
                StmtKind::Put { target: place(to), source, id }
            }
            Step::Get { from, into } => {
                StmtKind::Get { target: place(into), source: place(from), id }
            }
            Step::Rcas { at, into, hits } => {
                let (expected, desired) = compared(hits);
                StmtKind::Rcas { result: place(into), target: place(at), expected, desired, id }
            }
            Step::Rfaa { at, into } => {
                StmtKind::Rfaa { result: place(into), target: place(at), addend: value, id }
            }
            Step::RemoteFence { node } => StmtKind::RemoteFence(NodeId(u32::from(node) + 1)),
            Step::Await { step } => return self.awaits(usize::from(step), polls),
        }]
    }

    fn awaits(&mut self, step: usize, polls: usize) -> Vec<StmtKind> {
        let operation = self.shape.threads[self.index].body[step];
        let node = self.shape.node_of(operation).map(|node| NodeId(u32::from(node) + 1));
        match (self.completion, node, self.work_id(step)) {
            (Completion::Poll, Some(node), _) => vec![StmtKind::Poll(node); polls],
            (Completion::Wait, _, Some(id)) => vec![StmtKind::Wait(id)],
            _ => Vec::new(),
        }
    }

    fn work_id(&mut self, at: usize) -> Option<WorkId> {
        let name = self.naming.ids[self.index][at].as_ref()?;
        if self.completion != Completion::Wait {
            return None;
        }
        let ids = &mut self.program.work_ids;
        let known = ids.iter().position(|known| known == name);
        Some(WorkId(known.unwrap_or_else(|| {
            ids.push(name.clone());
            ids.len() - 1
        })))
    }

    fn register(&mut self, at: usize) -> Option<RegisterId> {
        let name = self.naming.registers[self.index][at].clone()?;
        let thread = ThreadId(self.index);
        self.program.registers.push(Register { name: Some(name), thread });
        Some(RegisterId(self.program.registers.len() - 1))
    }
}

/// The test of a shape, without verdicts. It observes every register, and every location whose final value
/// differs between executions.
pub fn test(shape: &Shape, completion: Completion) -> Test {
    let naming = Naming::new(shape);
    let program = program(shape, &naming, completion);
    let mut observables: Vec<Observable> = Vec::new();
    for (index, register) in program.registers.iter().enumerate() {
        let name = register.name.clone().unwrap_or_default();
        let what = Observed::Register(RegisterId(index));
        observables.push(Observable::new(name, what));
    }
    for (index, location) in program.locations.iter().enumerate() {
        let writers = shape
            .accesses()
            .filter(|(.., access)| usize::from(access.place) == index && access.writes);
        let steps: Vec<Step> =
            writers.map(|(thread, step, _)| shape.threads[thread].body[step]).collect();
        let fixed = match steps[..] {
            [] => true,
            [one] => matches!(one, Step::Write { .. } | Step::PutValue { .. } | Step::Faa { .. }),
            _ => false,
        };
        if !fixed {
            let what = Observed::Location(LocationId(index));
            observables.push(Observable::new(location.name.clone(), what));
        }
    }
    observables.sort_by_key(|observable| {
        let result = RESULTS.iter().position(|name| *name == observable.name);
        (result.unwrap_or(usize::MAX), observable.name.clone())
    });
    generated(Dialect::Rdma, program, observables)
}

/// A program as a test without verdicts.
pub(super) fn generated(dialect: Dialect, program: Program, observables: Vec<Observable>) -> Test {
    Test {
        name: "generated".to_owned(),
        title: None,
        source: None,
        models: Vec::new(),
        tags: Vec::new(),
        loop_bound: None,
        dialect,
        program,
        shown: observables.len(),
        observables,
        expectations: Vec::new(),
    }
}
