//! Cycles written down: `rfe oppo[nrW, nrW] rfe po`, as diy takes them.
//!
//! Communications (rf, rb, mo) lead from thread to thread, all else from an event to a later one of its thread. Where two
//! that stand side by side do not fit (rfe ends in a read, `oppo[nrW, nrW]` begins with a write), the one's event comes before
//! the other's in program order.

use std::collections::BTreeSet;

use lang::cat::model::{DefinitionKind, Model};

use super::orders::Port;
use super::segments::Segment;
use super::shape::{Completion, Shape, Side, Step, Thread};

/// An event of a cycle, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    /// Whatever fits.
    Any,
    /// A read: of the CPU, if nothing else is said.
    Read,
    /// A write: of the CPU, if nothing else is said.
    Write,
    Kind(Kind),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    CpuRead,
    CpuWrite,
    CpuRmw,
    Fence,
    Wait,
    NicLocalRead,
    NicRemoteWrite,
    NicAtomicRead,
    NicAtomicWrite,
    NicRemoteRead,
    NicLocalWrite,
    RemoteFence,
}

impl Kind {
    /// By a name of a model's table, or a stamp.
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "lR" | "aCR" => Self::CpuRead,
            "lW" | "aCW" => Self::CpuWrite,
            "CAS" | "aCAS" => Self::CpuRmw,
            "F" | "aMF" => Self::Fence,
            "P" | "aWT" => Self::Wait,
            "nlR" | "aNLR" => Self::NicLocalRead,
            "nrW" | "aNRW" => Self::NicRemoteWrite,
            "narR" | "aNAR" => Self::NicAtomicRead,
            "narW" => Self::NicAtomicWrite,
            "nrR" | "aNRR" => Self::NicRemoteRead,
            "nlW" | "aNLW" => Self::NicLocalWrite,
            "nF" | "aRF" => Self::RemoteFence,
            _ => return None,
        })
    }

    fn reads(self) -> bool {
        matches!(
            self,
            Self::CpuRead
                | Self::CpuRmw
                | Self::NicLocalRead
                | Self::NicAtomicRead
                | Self::NicRemoteRead
        )
    }

    fn writes(self) -> bool {
        matches!(
            self,
            Self::CpuWrite
                | Self::CpuRmw
                | Self::NicRemoteWrite
                | Self::NicAtomicWrite
                | Self::NicLocalWrite
        )
    }

    fn side(self) -> Side {
        match self {
            Self::NicRemoteWrite | Self::NicRemoteRead => Side::Remote,
            Self::NicAtomicRead | Self::NicAtomicWrite => Side::Remote,
            _ => Side::Local,
        }
    }
}

/// One relaxation.
#[derive(Clone, Copy, Debug)]
struct Relaxation {
    /// Whether it leads to another thread.
    leaves: bool,
    from: Event,
    to: Event,
}

/// The segments of a cycle that is written down, in the model's names.
///
/// # Errors
/// What is wrong with the text.
pub fn parse(text: &str, model: &Model, completion: Completion) -> Result<Vec<Segment>, String> {
    let mut relaxations = Vec::new();
    for word in words(text) {
        relaxations.push(relaxation(&word, model)?);
    }
    let Some(last) = relaxations.iter().rposition(|relaxation| relaxation.leaves) else {
        return Err(
            "expected a communication (rf, rb or mo) that closes the cycle, found none".to_owned()
        );
    };
    // The cycle begins where a thread does.
    relaxations.rotate_left(last + 1);
    let mut segments = Vec::new();
    let mut run: Vec<Relaxation> = Vec::new();
    let mut entry = relaxations.last().map_or(Event::Any, |relaxation| relaxation.to);
    for relaxation in relaxations {
        if relaxation.leaves {
            segments.push(thread(entry, &run, relaxation.from, completion)?);
            run.clear();
            entry = relaxation.to;
        } else {
            run.push(relaxation);
        }
    }
    Ok(segments)
}

/// The words of a list; blanks between brackets are no ends.
fn words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut depth = 0;
    for c in text.chars() {
        match c {
            '[' => depth += 1,
            ']' => depth -= 1,
            _ => {}
        }
        if c.is_whitespace() && depth <= 0 {
            words.push(String::new());
        } else if let (false, Some(word)) = (c.is_whitespace(), words.last_mut()) {
            word.push(c);
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

fn relaxation(word: &str, model: &Model) -> Result<Relaxation, String> {
    let (name, events) = match word.split_once('[') {
        Some((name, rest)) => (name, Some(rest.trim_end_matches(']'))),
        None => (word, None),
    };
    let inner = |from, to| Ok(Relaxation { leaves: false, from, to });
    let outer = |from, to| Ok(Relaxation { leaves: true, from, to });
    match (name, events) {
        ("rf" | "rfe", None) => outer(Event::Write, Event::Read),
        ("rb" | "rbe" | "fr" | "fre", None) => outer(Event::Read, Event::Write),
        ("mo" | "moe" | "co" | "coe" | "ws" | "wse", None) => outer(Event::Write, Event::Write),
        ("po", None) => inner(Event::Any, Event::Any),
        (_, Some(events)) => {
            let is_table = |definition: &lang::cat::model::Definition| matches!(&definition.kind, DefinitionKind::Table(table) if table.name == name);
            if name != "po" && !model.definitions.iter().any(is_table) {
                return Err(format!(
                    "expected `po` or an order table of {}, found `{name}`",
                    model.name
                ));
            }
            let (from, to) = events.split_once(',').unwrap_or((events, ""));
            inner(event(from)?, event(to)?)
        }
        _ => {
            Err(format!("expected rf, rb, mo, po or a cell as in `oppo[nrW, nrW]`, found `{word}`"))
        }
    }
}

fn event(name: &str) -> Result<Event, String> {
    match name.trim() {
        "R" => Ok(Event::Read),
        "W" => Ok(Event::Write),
        "_" | "*" => Ok(Event::Any),
        name => {
            let unknown = || format!("expected an event as `nrW`, `R` or `W`, found `{name}`");
            Kind::named(name).map(Event::Kind).ok_or_else(unknown)
        }
    }
}

/// One event that is both, if there can be one.
fn both(one: Event, other: Event) -> Option<Event> {
    match (one, other) {
        (Event::Any, event) | (event, Event::Any) => Some(event),
        (Event::Kind(a), Event::Kind(b)) => (a == b).then_some(one),
        (Event::Kind(kind), Event::Read) | (Event::Read, Event::Kind(kind)) => {
            kind.reads().then_some(Event::Kind(kind))
        }
        (Event::Kind(kind), Event::Write) | (Event::Write, Event::Kind(kind)) => {
            kind.writes().then_some(Event::Kind(kind))
        }
        (a, b) => (a == b).then_some(a),
    }
}

/// Goes on from the last event: at it, if it can be this one too, or else at a later one.
fn join(events: &mut Vec<Event>, event: Event) {
    match events.last_mut() {
        Some(last) if both(*last, event).is_some() => *last = both(*last, event).unwrap_or(event),
        _ => events.push(event),
    }
}

/// A thread that is entered at one event, goes through a run of relaxations, and is left at another.
fn thread(
    entry: Event,
    run: &[Relaxation],
    exit: Event,
    completion: Completion,
) -> Result<Segment, String> {
    let mut events = vec![entry];
    for relaxation in run {
        join(&mut events, relaxation.from);
        // A relaxation leads to another event, even to one of the same kind.
        events.push(relaxation.to);
    }
    join(&mut events, exit);
    let mut shape = Shape { threads: vec![Thread::default()], homes: Vec::new() };
    let kinds = events.iter().map(|event| match event {
        Event::Kind(kind) => *kind,
        Event::Write => Kind::CpuWrite,
        Event::Read | Event::Any => Kind::CpuRead,
    });
    let kinds: Vec<Kind> = kinds.collect();
    kinds.iter().try_for_each(|kind| add(&mut shape, *kind))?;
    let step = kinds.len() - 1;
    let (first, last) = (kinds[0], kinds[step]);
    if !shape.waits_for_something(completion) && completion != Completion::Never {
        return Err("a wait waits for nothing that an earlier one did not wait for".to_owned());
    }
    Ok(Segment {
        shape,
        entry: Port { step: 0, side: first.side() },
        exit: Port { step, side: last.side() },
        edges: BTreeSet::new(),
    })
}

/// Puts the statement of an event at the thread's end; its other events have locations of their own.
fn add(shape: &mut Shape, kind: Kind) -> Result<(), String> {
    let at = shape.homes.len() as u8;
    let into = at + 1;
    let body = &shape.threads[0].body;
    let (step, homes): (Step, &[u8]) = match kind {
        Kind::CpuRead => (Step::Read { at }, &[0]),
        Kind::CpuWrite => (Step::Write { at }, &[0]),
        Kind::CpuRmw => (Step::Cas { at, hits: true }, &[0]),
        Kind::Fence => (Step::Fence, &[]),
        Kind::NicLocalRead => (Step::Put { to: at, from: into }, &[1, 0]),
        Kind::NicRemoteWrite => (Step::PutValue { to: at }, &[1]),
        Kind::NicAtomicRead | Kind::NicAtomicWrite => (Step::Rfaa { at, into }, &[1, 0]),
        Kind::NicRemoteRead | Kind::NicLocalWrite => (Step::Get { from: at, into }, &[1, 0]),
        Kind::RemoteFence => (Step::RemoteFence { node: 1 }, &[]),
        Kind::Wait => {
            let operation = body.iter().rposition(|step| step.target().is_some());
            let operation =
                operation.ok_or("expected a remote operation before a wait, found none")?;
            (Step::Await { step: operation as u8 }, &[])
        }
    };
    shape.threads[0].body.push(step);
    shape.homes.extend(homes);
    Ok(())
}
