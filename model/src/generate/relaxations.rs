//! Parses cycles in diy's notation: `rfe oppo[nrW, nrW] rfe po`.
//!
//! Communications (rf, rb, mo) lead from thread to thread. All others lead from an event to a later event of
//! the same thread. If two adjacent relaxations do not fit (rfe ends in a read, `oppo[nrW, nrW]` begins with
//! a write), they are joined by program order.

use std::collections::BTreeSet;

use lang::cat::model::{DefinitionKind, Model};

use super::orders::Port;
use super::segments::Segment;
use super::shape::{Completion, Shape, Thread};
use super::step::{Side, Step};

/// What is known about an event of a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    /// Any event.
    Any,
    /// A read. It is a CPU read if nothing else is known.
    Read,
    /// A write. It is a CPU write if nothing else is known.
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
    /// The event kind for a name in a model's table, or for a stamp.
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

/// One relaxation of a cycle: an edge between two events.
#[derive(Clone, Copy, Debug)]
struct Relaxation {
    /// Whether it leads to another thread.
    leaves: bool,
    from: Event,
    to: Event,
}

/// Parses a cycle in the model's names, and returns its segments.
///
/// # Errors
/// Reports what is wrong with the text.
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
    // Rotates the cycle so that it begins where a thread begins.
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

/// Splits a list into words. Blanks inside brackets do not separate words.
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
            let is_table = |kind: &DefinitionKind| matches!(kind, DefinitionKind::Table(table) if table.name == name);
            if name != "po" && !model.definitions.iter().any(|one| is_table(&one.kind)) {
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

/// The event that fits both descriptions, if there is one.
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

/// Continues from the last event: merges `event` with it if one event can be both, and otherwise adds a later
/// event.
fn join(events: &mut Vec<Event>, event: Event) {
    match events.last_mut() {
        Some(last) if both(*last, event).is_some() => *last = both(*last, event).unwrap_or(event),
        _ => events.push(event),
    }
}

/// Builds a thread from its entry event, its relaxations, and its exit event.
fn thread(
    entry: Event,
    run: &[Relaxation],
    exit: Event,
    completion: Completion,
) -> Result<Segment, String> {
    let mut events = vec![entry];
    for relaxation in run {
        join(&mut events, relaxation.from);
        // A relaxation always leads to another event, even to one of the same kind.
        events.push(relaxation.to);
    }
    join(&mut events, exit);
    let mut shape = Shape { threads: vec![Thread::default()], ..Shape::default() };
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

/// Appends the statement that has an event of this kind. The statement's other events have locations of their
/// own.
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
