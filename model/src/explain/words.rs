//! Events and edges in words that an engineer follows.

use std::collections::BTreeMap;

use compiler::library::pack;
use lang::cat::model::Base;
use lang::cat::words::{LOCATION, READS_BEFORE};
use lang::outcome::Value;
use lang::program::{LocationId, PENDING, Towards};
use lang::source::Source;
use skeleton::{Event, EventId, Stamp};

use super::names::names;
use super::{NotKept, Step, weak};
use crate::allowed::Question;
use crate::execution::Execution;

/// What is needed to name events.
pub struct Words<'a> {
    pub question: &'a Question<'a>,
    pub source: &'a Source,
    pub execution: &'a Execution,
    names: BTreeMap<EventId, String>,
}

impl<'a> Words<'a> {
    /// Words for an execution of a question whose test has this text.
    pub fn new(question: &'a Question<'a>, source: &'a Source, execution: &'a Execution) -> Self {
        Self { question, source, execution, names: names(question, execution) }
    }

    /// What the model calls an event.
    pub fn name(&self, id: EventId) -> &str {
        self.names.get(&id).map_or_else(|| self.event(id).stamp.name(), String::as_str)
    }

    fn event(&self, id: EventId) -> &Event {
        self.question.skeleton.event(id)
    }

    fn location(&self, event: &Event) -> String {
        match event.location {
            Some(location) => self.question.test.program.locations[location.0].name.clone(),
            None => "a private word".to_owned(),
        }
    }

    /// The node whose CPU or memory is concerned.
    fn home(&self, event: &Event) -> u32 {
        let program = &self.question.test.program;
        match (event.location, event.thread) {
            (Some(location), _) => program.locations[location.0].node.0,
            (None, Some(thread)) => program.threads[thread.0].node.0,
            (None, None) => 0,
        }
    }

    /// The values that an event reads and writes.
    fn values(&self, id: EventId) -> (Option<String>, Option<String>) {
        let happening = self.execution.events.iter().find(|happening| happening.event == id);
        let words = self.event(id).location.map_or(1, |location| self.words(location));
        let show = |value: Option<Value>| match value {
            Some(Value::Int(PENDING)) => Some("pending".to_owned()),
            other => other.map(|value| value.show(words)),
        };
        happening.map_or((None, None), |one| (show(one.read), show(one.written)))
    }

    /// How many words a location's values have: those of an object that calls write as a whole have all of
    /// the object's.
    fn words(&self, location: LocationId) -> u32 {
        let program = &self.question.test.program;
        let lang::program::Location { name, initial, .. } = &program.locations[location.0];
        let is_of_calls =
            |event: &Event| event.location == Some(location) && event.origin.method.is_some();
        let object = name.split_once('.').map_or(name.as_str(), |(object, _)| object);
        let mut objects = program.objects.iter();
        let object = objects.find(|one| one.name == object && pack(&one.initial) == *initial);
        match object {
            Some(object) if self.question.skeleton.events.iter().any(is_of_calls) => {
                u32::try_from(object.initial.len()).unwrap_or(1)
            }
            _ => 1,
        }
    }

    /// An event in short: `nrW z=1`, by the model's name for it.
    pub fn label(&self, id: EventId) -> String {
        let event = self.event(id);
        let name = self.name(id);
        let place = event.location.map_or(String::new(), |_| self.location(event));
        match self.values(id) {
            (Some(read), Some(written)) => format!("{name} {place}:{read}→{written}"),
            (Some(value), None) | (None, Some(value)) if place.is_empty() => {
                format!("{name} {value}")
            }
            (Some(value), None) | (None, Some(value)) => format!("{name} {place}={value}"),
            (None, None) if event.origin.method.is_some() => format!("{name} {}", self.call(id)),
            (None, None) => match (event.towards(), event.id) {
                (Some(towards), _) => format!("{name}({towards})"),
                (None, Some(work)) => {
                    format!("{name}({})", self.question.test.program.work_ids[work.0])
                }
                (None, None) => name.to_owned(),
            },
        }
    }

    /// The same for who sees the statement too: calls are not said twice.
    pub fn short_label(&self, id: EventId) -> String {
        let label = self.label(id);
        let is_call = self.event(id).origin.method.is_some();
        if is_call && label == format!("{} {}", self.name(id), self.call(id)) {
            self.name(id).to_owned()
        } else {
            label
        }
    }

    /// A statement without what its result is assigned to: `Acq(l)`.
    fn call(&self, id: EventId) -> String {
        let text = self.statement_text(id);
        match text.split_once(":=") {
            Some((target, call)) if !target.contains('(') => call.trim().to_owned(),
            _ => text,
        }
    }

    /// The text of an event's statement.
    pub fn statement_text(&self, id: EventId) -> String {
        let text = self.source.text.get(self.event(id).span.range()).unwrap_or_default();
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// What happens, without who does it: "the NIC writes z = 1 on node 2".
    pub fn action(&self, id: EventId) -> String {
        let event = self.event(id);
        let (read, written) = self.values(id);
        let value = written.as_ref().or(read.as_ref()).map_or("?", String::as_str);
        let place = self.location(event);
        let home = self.home(event);
        if event.origin.method.is_some() && event.location.is_none() {
            return match event.node {
                Some(node) => format!("the call takes effect towards node {}", node.0),
                None => "the call takes effect".to_owned(),
            };
        }
        match event.stamp {
            Stamp::Init => format!("{place} is initially {value}"),
            Stamp::CpuRead => format!("the CPU reads {place} = {value}"),
            Stamp::CpuWrite => format!("the CPU writes {place} = {value}"),
            Stamp::CpuRmw => {
                let old = read.as_deref().unwrap_or("?");
                format!("the CPU atomically changes {place} from {old} to {value}")
            }
            Stamp::Fence => "the CPU waits for its store buffer to drain".to_owned(),
            Stamp::Wait => match (event.node, event.polls.is_empty()) {
                (Some(_), _) => format!("a poll towards {} returns", towards(event)),
                (None, false) => "a poll of several queue pairs returns".to_owned(),
                (None, true) => "the wait ends".to_owned(),
            },
            Stamp::NicLocalRead => format!("the NIC reads {place} = {value} on its own node"),
            Stamp::NicRemoteWrite => format!("the NIC writes {place} = {value} on node {home}"),
            Stamp::NicRemoteCompletion => {
                format!("the NIC completes the receive with {value} on node {home}")
            }
            Stamp::NicAtomicWrite => {
                format!("the NIC writes {place} = {value} on node {home}, atomically")
            }
            Stamp::NicFlush => format!("the flush towards {} takes effect", towards(event)),
            Stamp::NicPersist => {
                format!("the flush to persistent memory towards {} takes effect", towards(event))
            }
            Stamp::Recovery => format!("the crash leaves {place} = {value}"),
            Stamp::ReceivePosted => "the receive is posted".to_owned(),
            Stamp::Posted => {
                format!("the request comes to the queue pair towards {}", towards(event))
            }
            Stamp::NicAtomicRead => {
                format!("the NIC reads {place} = {value} on node {home}, for an atomic operation")
            }
            Stamp::NicRemoteRead => format!("the NIC reads {place} = {value} on node {home}"),
            Stamp::NicLocalWrite => format!("the NIC writes {place} = {value} on its own node"),
            Stamp::RemoteFence => "the remote fence takes effect".to_owned(),
            Stamp::GlobalFence => "the global fence takes effect".to_owned(),
            Stamp::NicFetchOp | Stamp::NicCompareSwap => {
                let old = read.as_deref().unwrap_or("?");
                format!("the NIC changes {place} from {old} to {value} on node {home}")
            }
            Stamp::Flush => "the flush ends".to_owned(),
        }
    }

    /// The statement of an event, with its line.
    pub fn statement(&self, id: EventId) -> String {
        let event = self.event(id);
        let (line, _) = self.source.line_column(event.span.start);
        let text = self.statement_text(id);
        match event.thread {
            Some(thread) => format!("thread {}, line {line}: `{text}`", thread.number()),
            None if event.stamp == Stamp::Recovery => "after the crash".to_owned(),
            None => "before the program starts".to_owned(),
        }
    }

    /// A pair of events in brackets, with their statements: `[nrW x → lR y]  thread 1: …`.
    pub fn pair(&self, step: &Step) -> String {
        let short = |id: EventId| match self.event(id).location {
            Some(_) => format!("{} {}", self.name(id), self.location(self.event(id))),
            None => self.label(id),
        };
        let place = |id: EventId| {
            let (line, _) = self.source.line_column(self.event(id).span.start);
            format!("`{}` (line {line})", self.statement_text(id))
        };
        let (from, to) = (step.from, step.to);
        let threads = [from, to].map(|id| self.event(id).thread);
        let both = match threads {
            [Some(one), Some(other)] if one != other => {
                format!(
                    "thread {}: {}; thread {}: {}",
                    one.number(),
                    place(from),
                    other.number(),
                    place(to)
                )
            }
            [Some(one), Some(_)] if self.event(from).operation == self.event(to).operation => {
                format!("thread {}: {}", one.number(), place(from))
            }
            [Some(one), _] => {
                format!("thread {}: {}, then {}", one.number(), place(from), place(to))
            }
            _ => String::new(),
        };
        format!("[{} → {}]  {both}", short(from), short(to))
    }

    /// Why the model does not keep a pair in order.
    pub fn why_not_kept(&self, lost: &NotKept) -> String {
        let (from, to) = (self.event(lost.step.from), self.event(lost.step.to));
        let model = &self.question.model.name;
        let Some(cell) = &lost.cell else {
            return match lost.step.relation.rsplit('.').next().unwrap_or_default() {
                "po" => format!("no rule of {model} keeps these in program order"),
                "rf" if from.thread == to.thread => {
                    "rf within a thread: it reads its own write before others do".to_owned()
                }
                relation => format!("{model} does not order events by this {relation}"),
            };
        };
        let name = format!("{}[{}, {}]", cell.table, cell.row, cell.column);
        let Some((letter, relation)) = &cell.only_where else {
            return format!("{name} is `·`: never kept");
        };
        let why = match (from.node, to.node) {
            (Some(one), Some(other)) if one != other => {
                format!("different queue pairs, towards node {} and node {}", one.0, other.0)
            }
            (Some(node), Some(_)) if from.queue_pair != to.queue_pair => {
                let number = |event: &Event| event.towards().map_or(String::new(), Towards::number);
                let (one, other) = (number(from), number(to));
                format!("different queue pairs towards node {}, {one} and {other}", node.0)
            }
            (None, _) | (_, None) => "one of them is on no queue pair".to_owned(),
            _ => format!("{relation} does not relate them"),
        };
        format!("{name} is `{letter}`, kept only within {relation}: {why}")
    }

    /// Why the first event of a step comes before the second.
    pub fn because(&self, step: &Step) -> String {
        let (from, to) = (self.event(step.from), self.event(step.to));
        let place = self.location(to);
        if let Some(forward) = step.relation.strip_suffix("^-1") {
            if forward == Base::Rmw.name() {
                return "both are of one RMW, which nothing divides".to_owned();
            }
            let relation = forward.to_owned();
            let forward = Step { from: step.to, to: step.from, relation };
            return format!("the other way round: {}", self.because(&forward));
        }
        let name = step.relation.as_str();
        if let Some((table, cell)) = name.split_once('[') {
            let (row, column) = cell.trim_end_matches(']').split_once(", ").unwrap_or_default();
            let queue_pair = match to.on().filter(|on| from.on() == Some(*on)) {
                Some(_) => format!(", on the queue pair towards {}", towards(to)),
                None => String::new(),
            };
            // Only what goes over a queue pair that threads share is in an order without a common thread.
            let order = match from.thread == to.thread {
                true => "program order",
                false => "order of posts and polls",
            };
            return format!("{table} keeps the {order} of {row} and {column}{queue_pair}");
        }
        let said = self.question.model.says(name);
        let said = said.unwrap_or_else(|| match weak::is_reads_before(name) {
            true => READS_BEFORE.to_owned(),
            false => format!("the model's {name} orders them"),
        });
        said.replace(LOCATION, &place)
    }
}

/// `node 2`, with the number of the queue pair if there may be others.
fn towards(event: &Event) -> String {
    let node = event.node.map_or(0, |node| node.0);
    match event.towards().filter(|towards| towards.queue_pair != 0) {
        None => format!("node {node}"),
        Some(towards) => format!("node {node}, queue pair {}", towards.number()),
    }
}
