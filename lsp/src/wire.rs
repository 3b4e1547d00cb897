//! What a statement means: on the wire, and as the events of a model.

use std::collections::BTreeSet;

use lang::cat::model::Base;
use lang::program::{Program, PutSource, Stmt, StmtKind, Towards, each};
use lang::source::Span;
use model::allowed::Question;
use model::library;
use skeleton::{Event, Skeleton};

use crate::program::ProgramText;

/// The statements of a program at an offset, from the outermost to the innermost.
pub fn statements_at(program: &Program, offset: usize) -> Vec<&Stmt> {
    let mut found = Vec::new();
    for thread in &program.threads {
        each(&thread.body, &mut |stmt| {
            if stmt.span.start <= offset && offset <= stmt.span.end {
                found.push(stmt);
            }
        });
    }
    found.sort_by_key(|stmt| std::cmp::Reverse(stmt.span.end - stmt.span.start));
    found
}

/// What goes over the wire for a statement.
pub fn on_the_wire(program: &Program, stmt: &Stmt) -> Option<String> {
    let name = |id: &lang::program::LocationId| {
        let location = &program.locations[id.0];
        format!("`{}` on node {}", location.name, location.node.0)
    };
    let id = |id: &lang::program::WorkId| program.work_ids[id.0].clone();
    let towards = |towards: &Towards| match towards.queue_pair {
        0 => format!("node {}", towards.node.0),
        number => format!("node {}, on queue pair {number}", towards.node.0),
    };
    let text = match &stmt.kind {
        StmtKind::Put { target, source, inline, .. } => {
            let from = match source {
                PutSource::Location(source) => format!("the NIC reads {}", name(source)),
                PutSource::Value(_) => "the NIC takes the value".to_owned(),
            };
            let from =
                if *inline { "the CPU copies the value into the request".to_owned() } else { from };
            format!("`RDMA WRITE`: {from}, and the other NIC writes {}", name(target))
        }
        StmtKind::Get { target, source, .. } => format!(
            "`RDMA READ`: the other NIC reads {}, and the NIC writes the answer to {}",
            name(source),
            name(target)
        ),
        StmtKind::Rcas { target, result, .. } => format!(
            "`ATOMIC_CMP_AND_SWP` of {}; the old value comes back to {}",
            name(target),
            name(result)
        ),
        StmtKind::Rfaa { target, result, .. } => format!(
            "`ATOMIC_FETCH_AND_ADD` of {}; the old value comes back to {}",
            name(target),
            name(result)
        ),
        StmtKind::Poll(to) => format!(
            "nothing is sent: the CPU polls for the oldest completion of its operations towards {}",
            towards(to)
        ),
        StmtKind::Wait(wanted) => format!(
            "nothing is sent: the CPU polls until all earlier operations `{}` have completed",
            id(wanted)
        ),
        StmtKind::RemoteFence(to) => format!(
            "the next request towards {} has the flag `IBV_SEND_FENCE`: it waits for earlier reads and atomics",
            towards(to)
        ),
        StmtKind::GlobalFence(nodes) => {
            let nodes: Vec<String> = nodes.iter().map(|node| node.0.to_string()).collect();
            format!("an `RDMA READ` from each of the nodes {}, and a wait for it", nodes.join(", "))
        }
        StmtKind::Call(_) | StmtKind::Rma(_) => return None,
        _ => "nothing: it is the CPU's".to_owned(),
    };
    let signal = if stmt.unsignaled {
        "; it has no completion of its own"
    } else if stmt.kind.work_id().is_some() {
        "; a `Wait` for its id waits for its completion"
    } else {
        ""
    };
    Some(format!("{text}{signal}"))
}

/// The events of a statement, in words, one on each line.
pub fn events(program: &ProgramText, stmt: &Stmt) -> Vec<String> {
    let (Some(test), Some(model)) = (program.test(), program.models.first()) else {
        return Vec::new();
    };
    let asked = Question::of(test, &model.loaded.model).libraries(library::shipped()).question();
    let Ok(question) = asked else { return Vec::new() };
    let inner = inner(stmt);
    let is_own = |event: &&Event| {
        let within = |span: Span| span.start <= event.span.start && event.span.end <= span.end;
        event.thread.is_some() && within(stmt.span) && !inner.iter().any(|span| within(*span))
    };
    let skeleton: &Skeleton = &question.skeleton;
    let mut seen = BTreeSet::new();
    let mut lines = Vec::new();
    for event in skeleton.events.iter().filter(is_own) {
        let line = line(event, &question.test.program, program);
        if seen.insert(line.clone()) {
            lines.push(line);
        }
    }
    lines
}

/// The statements in a statement.
fn inner(stmt: &Stmt) -> Vec<Span> {
    let mut found = Vec::new();
    match &stmt.kind {
        StmtKind::If { then, otherwise, .. } => {
            found.extend(then.iter().chain(otherwise).map(|stmt| stmt.span));
        }
        StmtKind::Loop(body) => found.extend(body.iter().map(|stmt| stmt.span)),
        _ => {}
    }
    found.retain(|span| *span != stmt.span);
    found
}

fn line(event: &Event, program: &Program, text: &ProgramText) -> String {
    let name = event.stamp.name();
    let model = text.models.first().map(|model| &model.loaded.model);
    let base = Base::ALL.iter().find(|base| base.name() == name);
    let said = model.and_then(|model| model.says(name));
    let said = said.or_else(|| base.map(|base| base.meaning().to_owned())).unwrap_or_default();
    let place = event.location.map(|id| {
        let location = &program.locations[id.0];
        format!(", `{}` on node {}", location.name, location.node.0)
    });
    format!("`{name}`: {}{}", said.trim_end_matches('.'), place.unwrap_or_default())
}
