//! The program of a shape, as the language's tree: the printer makes the text of it, and the checker what the
//! engines are asked about.

use lang::Test;
use lang::library::Words;
use lang::litmus::ast::build::{self, Column, access, assign, call, number, statement};
use lang::litmus::ast::{
    Argument, Expr, File, Observed, Place, ResultKind, ResultLine, Statement, Value, Via,
};
use lang::litmus::methods::Method;
use lang::source::{Source, Span};

use super::draft::Shown;
use super::shape::{Completion, Shape, Step};

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

    /// The name of what shows a value.
    pub fn name(&self, shown: Shown) -> Option<&str> {
        let name = match shown {
            Shown::Step(thread, step) => self.registers.get(thread)?.get(step)?.as_ref(),
            Shown::Location(place) => self.places.get(usize::from(place)),
        };
        name.map(String::as_str)
    }

    /// What shows its value under a name.
    pub fn shown(&self, name: &str) -> Option<Shown> {
        let is_it = |known: &Option<String>| known.as_deref() == Some(name);
        let mut threads = self.registers.iter().enumerate();
        let step = threads.find_map(|(thread, registers)| {
            Some(Shown::Step(thread, registers.iter().position(is_it)?))
        });
        let place = || self.places.iter().position(|known| known == name);
        step.or_else(|| Some(Shown::Location(place()? as u8)))
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
                | Step::AtomicWrite { to: at }
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

/// The program of a shape. The span of each statement says its thread and step; see [`step_span`].
pub fn tree(shape: &Shape, naming: &Naming, completion: Completion) -> File {
    // Not the number of nodes: a twin that lacks a statement may leave a node unused between others.
    let steps = shape.threads.iter().flat_map(|thread| &thread.body);
    let used = shape.threads.iter().map(|thread| thread.node).chain(shape.homes.iter().copied());
    let last = used.chain(steps.filter_map(|step| shape.node_of(*step))).max().unwrap_or(0);
    let mut columns = Vec::new();
    for node in 0..=last {
        let own =
            (0..shape.homes.len()).filter(|at| shape.homes[*at] == node && !naming.fresh[*at]);
        let declare = |at: usize| build::location(&naming.places[at], 0, Place::default());
        let mut declarations = own.map(declare).collect();
        let threads = (0..shape.threads.len()).filter(|index| shape.threads[*index].node == node);
        let mut bodies: Vec<_> =
            threads.map(|index| statements(shape, naming, completion, index)).collect();
        // A node without threads is an empty column.
        bodies.resize_with(bodies.len().max(1), Vec::new);
        columns.extend(bodies.into_iter().map(|statements| Column {
            node: u32::from(node) + 1,
            declarations: std::mem::take(&mut declarations),
            statements,
        }));
    }
    build::columns(columns)
}

/// The span of the statements and events of a step.
pub fn step_span(thread: usize, step: usize) -> Span {
    Span::new(thread << 8 | step, thread << 8 | step)
}

fn statements(
    shape: &Shape,
    naming: &Naming,
    completion: Completion,
    thread: usize,
) -> Vec<Statement> {
    let body = &shape.threads[thread].body;
    let polls = shape.polls(&shape.threads[thread]);
    let mut all = Vec::new();
    for (at, step) in body.iter().enumerate() {
        let here = Place { span: step_span(thread, at), line: 0 };
        let post = shape.threads[thread].post(at);
        let number = |value: u64| number(value, here);
        let node = |node: u8| u64::from(node) + 1;
        let own = |place: u8| access(&naming.places[usize::from(place)], None, here);
        let far = |place: u8| {
            let home = shape.homes[usize::from(place)];
            let far = access(&naming.places[usize::from(place)], Some(node(home)), here);
            build::on_queue_pair(far, post.queue_pair.into())
        };
        let awaited = |step: usize| match completion {
            Completion::Wait => naming.ids[thread][step].as_ref(),
            _ => None,
        };
        let id = awaited(at).map(|id| build::name(id, here));
        let last = awaited(at).map(|id| build::named(id, here));
        let via = id.map_or(Via::Plain, |id| Via::Id(Some(id)));
        let register =
            || access(naming.registers[thread][at].as_deref().unwrap_or_default(), None, here);
        let value = || number(naming.values[thread][at]);
        let compared = |hits: bool| match hits {
            true => vec![number(0), value()],
            false => vec![number(naming.never), number(naming.never + 1)],
        };
        let cpu = |method, at, values: Vec<Expr>| {
            let arguments = std::iter::once(own(at).into()).chain(values);
            assign(register(), Via::Plain, call(method, arguments, here))
        };
        let nic = |method, into, at, values: Vec<Expr>| {
            let first: [Expr; 2] = [own(into).into(), far(at).into()];
            statement(call(method, first.into_iter().chain(values).chain(last.clone()), here))
        };
        let mut one = match *step {
            Step::Write { at } => assign(own(at), Via::Plain, value()),
            Step::Read { at } => assign(register(), Via::Plain, Expr::from(own(at))),
            Step::Cas { at, hits } => cpu(Method::Cas, at, compared(hits)),
            Step::Faa { at } => cpu(Method::Faa, at, vec![value()]),
            Step::Fence => statement(call(Method::Mfence, [], here)),
            Step::PutValue { to } => assign(far(to), via, value()),
            Step::Put { to, from } if post.inline => {
                assign(far(to), via, Value::Inline(own(from).into()))
            }
            Step::Put { to, from } => assign(far(to), via, Expr::from(own(from))),
            Step::Get { from, into } => assign(own(into), via, Expr::from(far(from))),
            Step::Rcas { at, into, hits } => nic(Method::Rcas, into, at, compared(hits)),
            Step::Rfaa { at, into } => nic(Method::Rfaa, into, at, vec![value()]),
            Step::RemoteFence { node: to } => {
                let pair = post.queue_pair.into();
                statement(build::towards(Method::Rfence, node(to), pair, here))
            }
            Step::Flush { node: to } => {
                let pair = post.queue_pair.into();
                let mut flush = build::towards(Method::Flush, node(to), pair, here);
                flush.arguments.extend(last.clone().map(Argument::Expr));
                statement(flush)
            }
            Step::AtomicWrite { to } => {
                let first = [far(to).into(), value()];
                statement(call(Method::AtomicWrite, first.into_iter().chain(last.clone()), here))
            }
            Step::Await { step } => {
                let step = usize::from(step);
                match (completion, awaited(step), shape.node_of(body[step])) {
                    (Completion::Wait, Some(id), _) => {
                        statement(call(Method::Wait, [build::named(id, here)], here))
                    }
                    (_, _, Some(to)) => {
                        let pair = shape.threads[thread].post(step).queue_pair;
                        let poll = build::towards(Method::Poll, node(to), pair.into(), here);
                        let poll = statement(poll);
                        all.extend(vec![poll; polls[at]]);
                        continue;
                    }
                    _ => continue,
                }
            }
        };
        one.unsignaled = post.unsignaled;
        all.push(one);
    }
    all
}

/// The test of a shape, without verdicts. It observes every register, and every location whose final value
/// differs between executions.
pub fn test(shape: &Shape, completion: Completion) -> Test {
    let naming = Naming::new(shape);
    checked(tree(shape, &naming, completion), &observed(shape, &naming))
}

/// What the test of a shape observes.
pub(super) fn observed(shape: &Shape, naming: &Naming) -> Vec<String> {
    let is_fixed = |place: &usize| {
        let writers = shape
            .accesses()
            .filter(|(.., access)| usize::from(access.place) == *place && access.writes);
        let steps: Vec<Step> =
            writers.map(|(thread, step, _)| shape.threads[thread].body[step]).collect();
        match steps[..] {
            [] => true,
            [one] => matches!(
                one,
                Step::Write { .. }
                    | Step::PutValue { .. }
                    | Step::AtomicWrite { .. }
                    | Step::Faa { .. }
            ),
            _ => false,
        }
    };
    let places = (0..naming.places.len()).filter(|place| !is_fixed(place));
    let places = places.map(|place| &naming.places[place]);
    let mut names: Vec<String> =
        naming.registers.iter().flatten().flatten().chain(places).cloned().collect();
    names.sort_by_cached_key(|name| {
        let result = RESULTS.iter().position(|known| known == name);
        (result.unwrap_or(usize::MAX), name.clone())
    });
    names
}

/// What the checker makes of a generated program that has no verdicts.
pub(super) fn checked(mut file: File, observed: &[String]) -> Test {
    let place = Place::default();
    file.name = build::name("generated", place);
    let observed =
        observed.iter().map(|name| Observed { name: build::name(name, place), copy: None });
    let kind = ResultKind::Observe(observed.collect());
    file.results = vec![ResultLine { kind, place, end: place }];
    let (test, diagnostics) = lang::litmus::check(&file, &Source::new("", ""), Words::default());
    test.unwrap_or_else(|| {
        let text = lang::litmus::print(&file);
        unreachable!("the checker refuses a generated program: {diagnostics:?}\n{text}")
    })
}
