//! The program of a shape, as the language's tree: the printer makes the text of it, and the checker what the
//! engines are asked about.

use lang::Test;
use lang::library::Words;
use lang::litmus::ast::build::{self, Column, access, assign, call, number, statement};
use lang::litmus::ast::{
    Access, Argument, Declaration, DeclarationKind, Expr, File, HeaderKind, HeaderLine, Index,
    Number, Observed, Place, ResultKind, ResultLine, Statement, Value, Via,
};
use lang::litmus::methods::Method;
use lang::source::{Source, Span};

use super::naming::{Naming, RESULTS};
use super::shape::{Completion, Shape};
use super::step::Step;

/// The program of a shape. The span of each statement says its thread and step; see [`step_span`].
pub fn tree(shape: &Shape, naming: &Naming, completion: Completion) -> File {
    // Not the number of nodes: a twin that lacks a statement may leave a node unused between others.
    let used = shape.threads.iter().map(|thread| thread.node).chain(shape.homes.iter().copied());
    let last = used.chain(shape.steps().filter_map(|step| shape.node_of(*step))).max().unwrap_or(0);
    let mut columns = Vec::new();
    for node in 0..=last {
        let mut declarations = declarations(shape, naming, node);
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
    let mut file = build::columns(columns);
    let crash = HeaderLine { kind: HeaderKind::Crash, place: Place::default() };
    file.header.extend(shape.crash.then_some(crash));
    file
}

/// What a node declares.
fn declarations(shape: &Shape, naming: &Naming, node: u8) -> Vec<Declaration> {
    let own = (0..shape.homes.len()).filter(|at| shape.homes[*at] == node && !naming.fresh[*at]);
    let place = Place::default();
    let arrays = shape.arrays();
    let declare = |at: usize| match arrays.of(at as u8) {
        None => Some(build::location(&naming.places[at], 0, place)),
        Some((first, words)) if usize::from(first) == at => {
            let number = |value| Number { value, place };
            let kind =
                DeclarationKind::Mixed { size: number(words.into()), initial: vec![number(0)] };
            Some(Declaration { name: build::name(naming.array(first), place), kind, home: None })
        }
        // The other words of an array.
        Some(_) => None,
    };
    own.filter_map(declare).collect()
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
        let remote = |name: &str, place: u8| {
            let home = shape.homes[usize::from(place)];
            let far = access(name, Some(node(home)), here);
            build::on_queue_pair(far, post.queue_pair.into())
        };
        let far = |place: u8| remote(&naming.places[usize::from(place)], place);
        let array = |first: u8| access(naming.array(first), None, here);
        let far_array = |first: u8| remote(naming.array(first), first);
        let towards = |method, to| build::towards(method, node(to), post.queue_pair.into(), here);
        let indexed = |array: Access, step: u8| {
            let index = naming.registers[thread][usize::from(step)].as_deref().unwrap_or_default();
            let index = Index::Value(Box::new(build::named(index, here)));
            Access { index: Some(Box::new(index)), ..array }
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
            Step::PutValue { to } | Step::Put { to, .. } if post.immediate => {
                let data = match *step {
                    Step::Put { from, .. } => own(from).into(),
                    _ => value(),
                };
                let all = [far(to).into(), data, value()];
                statement(call(Method::PutImm, all.into_iter().chain(last.clone()), here))
            }
            Step::PutValue { to } => assign(far(to), via, value()),
            Step::Put { to, from } if post.inline => {
                assign(far(to), via, Value::Inline(own(from).into()))
            }
            Step::Put { to, from } => assign(far(to), via, Expr::from(own(from))),
            Step::Get { from, into } => assign(own(into), via, Expr::from(far(from))),
            Step::Rcas { at, into, hits } => nic(Method::Rcas, into, at, compared(hits)),
            Step::Rfaa { at, into } => nic(Method::Rfaa, into, at, vec![value()]),
            Step::RemoteFence { node: to } => statement(towards(Method::Rfence, to)),
            Step::Send { node: to, from } => {
                let method = if post.immediate { Method::SendImm } else { Method::Send };
                let mut send = towards(method, to);
                let immediate = post.immediate.then(value);
                let data = from.map_or_else(value, |from| own(from).into());
                let rest = std::iter::once(data).chain(immediate).chain(last.clone());
                send.arguments.extend(rest.map(Argument::Expr));
                statement(send)
            }
            Step::Receive { thread: from, into } => {
                let mut receive = towards(Method::Recv, from);
                let buffer = into.map(|into| Argument::Expr(own(into).into()));
                receive.arguments.push(buffer.unwrap_or(Argument::Nobody(here)));
                statement(receive)
            }
            Step::PollReceive { thread: from } => {
                assign(register(), Via::Plain, towards(Method::PollRecv, from))
            }
            Step::PutWords { to, from, .. } => assign(far_array(to), via, Expr::from(array(from))),
            Step::GetWords { from, into, .. } => {
                assign(array(into), via, Expr::from(far_array(from)))
            }
            Step::PutAt { to, index, .. } => assign(indexed(far_array(to), index), via, value()),
            Step::ReadAt { at, index, .. } => {
                assign(register(), Via::Plain, Expr::from(indexed(array(at), index)))
            }
            Step::Flush { is_persistent, node: to } => {
                let method = if is_persistent { Method::Persist } else { Method::Flush };
                let mut flush = towards(method, to);
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
    // A crash loses registers, and may leave any value of a location that is written.
    if shape.crash {
        let is_written = |place: &usize| {
            shape
                .accesses()
                .any(|(.., access)| usize::from(access.place) == *place && access.writes)
        };
        let places = (0..naming.places.len()).filter(is_written);
        return places.map(|place| naming.places[place].clone()).collect();
    }
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
