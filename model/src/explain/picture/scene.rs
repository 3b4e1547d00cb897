//! What a picture shows, before it has places: lanes, events in rows, and arrows.

use std::collections::BTreeMap;

use lang::outcome::Observed;
use lang::program::{NodeId, ThreadId, Towards};
use skeleton::{Event, EventId, Stamp};

use super::super::words::Words;
use super::super::{Edge, Step};

/// The most characters of a statement that are shown with an event.
const LONGEST: usize = 34;

/// How an arrow is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// Program order.
    Program,
    /// From a write to a read.
    ReadsFrom,
    /// The order of writes.
    Memory,
    /// From an operation to what waits for it.
    Completion,
    /// From a read to a later write, and other orders.
    Other,
    /// Program order that the model does not keep.
    NotKept,
    /// A step of what breaks an axiom.
    Bad,
}

/// How an event is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Look {
    /// As most are.
    Plain,
    /// One of those that the explanation is about.
    Marked,
    /// An initial write.
    Initial,
}

/// What a picture shows.
#[derive(Clone, Debug, Default)]
pub struct Scene {
    pub title: String,
    /// The names of threads.
    pub groups: Vec<String>,
    pub lanes: Vec<Lane>,
    pub cards: Vec<Card>,
    pub arrows: Vec<Arrow>,
}

/// A lane: of a thread's CPU, or of its operations towards a node.
#[derive(Clone, Debug)]
pub struct Lane {
    pub group: usize,
    pub name: String,
}

/// An event.
#[derive(Clone, Debug)]
pub struct Card {
    pub lane: usize,
    pub row: usize,
    pub label: String,
    pub detail: String,
    pub title: String,
    pub look: Look,
}

/// An arrow between events, which are indices into [`Scene::cards`].
#[derive(Clone, Debug)]
pub struct Arrow {
    pub from: usize,
    pub to: usize,
    pub name: String,
    pub kind: Kind,
}

/// An arrow before it is known which events are shown.
pub struct Link {
    pub edge: Edge,
    pub name: String,
    pub kind: Kind,
}

impl Scene {
    /// The events at the ends of an arrow.
    pub fn ends(&self, arrow: &Arrow) -> (&Card, &Card) {
        (&self.cards[arrow.from], &self.cards[arrow.to])
    }

    /// The scene of an execution: the events of its program, the arrows, and what arrows touch of the initial
    /// writes, above all, and of what a crash leaves, below all.
    pub fn new(title: String, words: &Words<'_>, links: &[Link], steps: &[Step]) -> Self {
        let skeleton = &words.question.skeleton;
        let touched =
            |event: EventId| links.iter().any(|link| [link.edge.0, link.edge.1].contains(&event));
        let happen = words.execution.events.iter().map(|happening| happening.event);
        let (own, initial): (Vec<EventId>, Vec<EventId>) =
            happen.partition(|event| skeleton.event(*event).thread.is_some());
        let observed = |event: EventId| {
            let location = skeleton.event(event).location.map(Observed::Location);
            let shown = &words.question.test.observables;
            shown.iter().any(|one| Some(one.what) == location)
        };
        let is_left = |event: EventId| skeleton.event(event).stamp == Stamp::Recovery;
        let matters = |event: EventId| touched(event) || is_left(event) && observed(event);
        let shown = initial.into_iter().filter(|event| matters(*event));
        let (initial, left): (Vec<EventId>, Vec<EventId>) =
            shown.partition(|event| skeleton.event(*event).stamp == Stamp::Init);
        let mut scene = Self { title, ..Self::default() };
        let lanes = scene.add_lanes(words, &own);
        let lane_of =
            |event: EventId| lanes.get(&place(words, skeleton.event(event))).copied().unwrap_or(0);
        // An event of no thread stands in the lane of one that it has to do with.
        let lane = |event: EventId| match skeleton.event(event).thread {
            Some(_) => lane_of(event),
            None => {
                let others = links.iter().filter_map(|link| match link.edge {
                    (from, to) if from == event => Some(to),
                    (from, to) if to == event => Some(from),
                    _ => None,
                });
                others
                    .filter(|other| skeleton.event(*other).thread.is_some())
                    .map(lane_of)
                    .next()
                    .unwrap_or(0)
            }
        };
        let mut taken: BTreeMap<usize, usize> = BTreeMap::new();
        let mut rows: BTreeMap<EventId, usize> = BTreeMap::new();
        for event in &initial {
            let row = taken.entry(lane(*event)).or_default();
            rows.insert(*event, *row);
            *row += 1;
        }
        let first = taken.values().max().copied().unwrap_or(0);
        add_rows(words, &own, links, first, &mut rows);
        let below = rows.values().max().map_or(0, |last| last + 1);
        rows.extend(left.iter().copied().zip(below..));
        let is_marked = |event: EventId| {
            let in_steps = steps.iter().any(|step| [step.from, step.to].contains(&event));
            let is_not_kept = |link: &Link| {
                link.kind == Kind::NotKept && [link.edge.0, link.edge.1].contains(&event)
            };
            in_steps || links.iter().any(is_not_kept)
        };
        let mut index: BTreeMap<EventId, usize> = BTreeMap::new();
        for event in initial.into_iter().chain(own).chain(left) {
            index.insert(event, scene.cards.len());
            let is_initial = skeleton.event(event).stamp == Stamp::Init;
            let has_statement = skeleton.event(event).thread.is_some();
            scene.cards.push(Card {
                lane: lane(event),
                row: rows.get(&event).copied().unwrap_or(first),
                label: words.short_label(event),
                detail: if has_statement {
                    shortened(&words.statement_text(event))
                } else {
                    String::new()
                },
                title: format!("{} ({})", words.action(event), words.statement(event)),
                look: match (is_marked(event), is_initial) {
                    (true, _) => Look::Marked,
                    (false, true) => Look::Initial,
                    (false, false) => Look::Plain,
                },
            });
        }
        let arrows = links.iter().filter_map(|link| {
            let (from, to) = (*index.get(&link.edge.0)?, *index.get(&link.edge.1)?);
            (from != to).then(|| Arrow { from, to, name: link.name.clone(), kind: link.kind })
        });
        scene.arrows = arrows.collect();
        scene
    }

    /// Lanes of all threads that have events, by node.
    fn add_lanes(&mut self, words: &Words<'_>, events: &[EventId]) -> BTreeMap<Place, usize> {
        let program = &words.question.test.program;
        let events = events.iter().map(|event| place(words, words.question.skeleton.event(*event)));
        let mut lanes: BTreeMap<Place, usize> = events.map(|place| (place, 0)).collect();
        let mut group = None;
        let towards = |place: &Place| place.2.is_some();
        let has_nic = lanes.keys().any(towards);
        for (place, index) in &mut lanes {
            if group != Some(place.1) {
                group = Some(place.1);
                let node = program.threads[place.1.0].node.0;
                let name = format!("thread {}", place.1.number());
                let is_alone = program.nodes <= 1;
                self.groups.push(if is_alone { name } else { format!("{name}, node {node}") });
            }
            let name = match place.2 {
                None if has_nic => "CPU".to_owned(),
                None => String::new(),
                Some(towards) => format!("NIC to node {towards}"),
            };
            *index = self.lanes.len();
            self.lanes.push(Lane { group: self.groups.len() - 1, name });
        }
        lanes
    }
}

/// A lane's node and thread, and the queue pair on which the NIC acts in it.
type Place = (NodeId, ThreadId, Option<Towards>);

fn place(words: &Words<'_>, event: &Event) -> Place {
    let thread = event.thread.unwrap_or(ThreadId(0));
    let node = words.question.test.program.threads[thread.0].node;
    let towards = match event.stamp {
        Stamp::Init | Stamp::CpuRead | Stamp::CpuWrite | Stamp::CpuRmw => None,
        Stamp::Fence | Stamp::Wait | Stamp::Flush | Stamp::GlobalFence => None,
        _ => event.towards(),
    };
    (node, thread, towards)
}

/// Rows in which program order goes down, and values too where they can.
fn add_rows(
    words: &Words<'_>,
    own: &[EventId],
    links: &[Link],
    first: usize,
    rows: &mut BTreeMap<EventId, usize>,
) {
    let thread = |event: EventId| words.question.skeleton.event(event).thread;
    let mut waiting: BTreeMap<Option<ThreadId>, std::collections::VecDeque<EventId>> =
        BTreeMap::new();
    for event in own {
        waiting.entry(thread(*event)).or_default().push_back(*event);
    }
    let mut next: BTreeMap<Option<ThreadId>, usize> =
        waiting.keys().map(|key| (*key, first)).collect();
    let flows = |link: &&Link| {
        let is_order = !link.name.starts_with(['r', 'f']) || link.name.starts_with("rf");
        is_order && thread(link.edge.0) != thread(link.edge.1)
    };
    loop {
        let candidates = waiting.iter().filter_map(|(thread, events)| {
            let event = *events.front()?;
            let sources = links.iter().filter(flows).filter(|link| link.edge.1 == event);
            let missing = sources.filter(|link| !rows.contains_key(&link.edge.0)).count();
            Some((missing, next[thread], *thread, event))
        });
        let Some((_, row, thread, event)) = candidates.min() else { break };
        let sources = links.iter().filter(flows).filter(|link| link.edge.1 == event);
        let row = sources.filter_map(|link| rows.get(&link.edge.0)).copied().fold(row, usize::max);
        rows.insert(event, row);
        next.insert(thread, row + 1);
        waiting.entry(thread).or_default().pop_front();
    }
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", text[..end].trim_end()),
        None => text.to_owned(),
    }
}
