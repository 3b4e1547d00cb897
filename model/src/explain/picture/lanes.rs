//! Which lane and which row an event is drawn in.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use compiler::skeleton::{Event, EventId, Stamp};
use lang::program::ThreadId;

use super::super::words::Words;
use super::{Arrow, CHARACTER, ROW, TOP, escape};

/// The smallest width of a lane.
const NARROWEST: f64 = 96.0;
/// The room between an event and the lane's border, for names of arrows.
const MARGIN: f64 = 34.0;
/// How far an arrow within a lane reaches out beside the boxes, where its name is, and some air.
const BULGE: f64 = 48.0;

/// A lane: of a node, what is there, and which thread's it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Cpu(ThreadId),
    Nic,
    Memory,
}

type Lane = (u32, Place);

/// An event's box: its middle, and its width.
#[derive(Clone, Copy, Debug)]
pub struct Placed {
    pub x: f64,
    pub y: f64,
    pub width: f64,
}

/// Where everything is.
pub struct Lanes {
    pub width: f64,
    pub height: f64,
    pub events: Vec<(EventId, Placed)>,
    /// Name, left border and width.
    heads: Vec<(String, f64, f64)>,
    /// Name, left border and width of nodes.
    nodes: Vec<(String, f64, f64)>,
}

impl Lanes {
    pub fn new(words: &Words<'_>, arrows: &[Arrow]) -> Self {
        let skeleton = &words.question.skeleton;
        let touched: BTreeSet<EventId> = arrows.iter().flat_map(|one| [one.from, one.to]).collect();
        let happen = words.execution.events.iter().map(|happening| happening.event);
        let shown: Vec<EventId> = happen
            .filter(|event| skeleton.event(*event).thread.is_some() || touched.contains(event))
            .collect();
        let lane = |event: EventId| lane(words, skeleton.event(event));
        let rows = rows(words, &shown, arrows, &lane);
        let width_of =
            |event: EventId| words.label(event).chars().count() as f64 * CHARACTER + 18.0;
        let mut boxes: BTreeMap<Lane, f64> = BTreeMap::new();
        for event in &shown {
            let width = boxes.entry(lane(*event)).or_insert(NARROWEST - 2.0 * MARGIN);
            *width = width.max(width_of(*event));
        }
        let margins = margins(arrows, &rows, &lane);
        let margin = |lane: &Lane| margins.get(lane).copied().unwrap_or((MARGIN, MARGIN));
        let widths: BTreeMap<Lane, f64> = boxes
            .iter()
            .map(|(lane, width)| (*lane, width + margin(lane).0 + margin(lane).1))
            .collect();
        let mut lefts: BTreeMap<Lane, f64> = BTreeMap::new();
        let (mut heads, mut nodes) = (Vec::new(), Vec::<(String, f64, f64)>::new());
        let (mut left, mut node) = (8.0, None);
        for (lane, width) in &widths {
            if node.is_some_and(|node| node != lane.0) {
                left += 14.0;
            }
            let name = format!("node {}", lane.0);
            match nodes.last_mut() {
                Some(last) if node == Some(lane.0) => last.2 = left + width - last.1,
                _ => nodes.push((name, left, *width)),
            }
            node = Some(lane.0);
            heads.push((head(lane.1), left, *width));
            lefts.insert(*lane, left);
            left += width;
        }
        let events = shown.iter().map(|event| {
            let lane = lane(*event);
            let middle = lefts.get(&lane).copied().unwrap_or(0.0)
                + margin(&lane).0
                + boxes.get(&lane).copied().unwrap_or(NARROWEST) / 2.0;
            let row = rows.get(event).copied().unwrap_or(0);
            let y = TOP + row as f64 * ROW + ROW / 2.0;
            (*event, Placed { x: middle, y, width: width_of(*event) })
        });
        let events: Vec<(EventId, Placed)> = events.collect();
        let count = rows.values().max().map_or(0, |last| last + 1);
        Self { width: left + 8.0, height: TOP + count as f64 * ROW + 10.0, events, heads, nodes }
    }

    pub fn place(&self, event: EventId) -> Option<Placed> {
        self.events.iter().find(|(known, _)| *known == event).map(|(_, place)| *place)
    }

    pub fn places(&self) -> impl Iterator<Item = Placed> + '_ {
        self.events.iter().map(|(_, place)| *place)
    }

    pub fn draw_background(&self, out: &mut String) {
        for (name, left, width) in &self.nodes {
            // Writing into a string cannot fail.
            let _ = write!(
                out,
                "<rect class=\"node\" x=\"{left:.1}\" y=\"4\" width=\"{width:.1}\" height=\"{:.1}\" rx=\"8\"/><text class=\"head\" x=\"{:.1}\" y=\"22\">{name}</text>",
                self.height - 8.0,
                left + width / 2.0,
            );
        }
        for (name, left, width) in &self.heads {
            let _ = write!(
                out,
                "<rect class=\"lane\" x=\"{:.1}\" y=\"30\" width=\"{:.1}\" height=\"{:.1}\" rx=\"6\"/><text x=\"{:.1}\" y=\"47\">{}</text>",
                left + 3.0,
                width - 6.0,
                self.height - 38.0,
                left + width / 2.0,
                escape(name),
            );
        }
    }
}

fn head(place: Place) -> String {
    match place {
        Place::Cpu(thread) => format!("CPU, thread {}", thread.number()),
        Place::Nic => "NIC".to_owned(),
        Place::Memory => "memory".to_owned(),
    }
}

/// On the left and on the right of a lane's boxes, the room for arrows within the lane and their names.
fn margins(
    arrows: &[Arrow],
    rows: &BTreeMap<EventId, usize>,
    lane: &impl Fn(EventId) -> Lane,
) -> BTreeMap<Lane, (f64, f64)> {
    let mut margins: BTreeMap<Lane, (f64, f64)> = BTreeMap::new();
    for arrow in arrows.iter().filter(|arrow| !arrow.name.is_empty()) {
        let (Some(from), Some(to)) = (rows.get(&arrow.from), rows.get(&arrow.to)) else { continue };
        if lane(arrow.from) == lane(arrow.to) {
            let (left, right) = margins.entry(lane(arrow.from)).or_insert((MARGIN, MARGIN));
            let side = if to >= from { right } else { left };
            *side = side.max(BULGE + arrow.name.chars().count() as f64 * CHARACTER / 2.0);
        }
    }
    margins
}

/// What a NIC does to a node's memory is drawn there; what it does for itself, in its lane.
fn lane(words: &Words<'_>, event: &Event) -> Lane {
    let program = &words.question.test.program;
    let own = event.thread.map_or(0, |thread| program.threads[thread.0].node.0);
    let home = event.location.map_or(own, |location| program.locations[location.0].node.0);
    match (event.stamp, event.thread) {
        (Stamp::Init, _) | (_, None) => (home, Place::Memory),
        (
            Stamp::CpuRead | Stamp::CpuWrite | Stamp::CpuRmw | Stamp::Fence | Stamp::Wait,
            Some(thread),
        ) => (own, Place::Cpu(thread)),
        (Stamp::NicLocalRead | Stamp::RemoteFence | Stamp::GlobalFence, _) => (own, Place::Nic),
        (Stamp::NicLocalWrite, _) if event.location.is_none() => (own, Place::Nic),
        (_, _) => (home, Place::Memory),
    }
}

/// Rows such that program order goes down, and other arrows too where they can. Initial writes share the first row,
/// as far as they have different lanes.
fn rows(
    words: &Words<'_>,
    shown: &[EventId],
    arrows: &[Arrow],
    lane: &impl Fn(EventId) -> Lane,
) -> BTreeMap<EventId, usize> {
    let skeleton = &words.question.skeleton;
    let mut rows: BTreeMap<EventId, usize> = BTreeMap::new();
    let mut used: BTreeMap<Lane, usize> = BTreeMap::new();
    let mut threads: BTreeMap<ThreadId, Vec<EventId>> = BTreeMap::new();
    for event in shown {
        match skeleton.event(*event).thread {
            Some(thread) => threads.entry(thread).or_default().push(*event),
            None => {
                let row = used.entry(lane(*event)).or_default();
                rows.insert(*event, *row);
                *row += 1;
            }
        }
    }
    let mut row = used.values().max().copied().unwrap_or(0);
    let mut next: BTreeMap<ThreadId, usize> = threads.keys().map(|thread| (*thread, 0)).collect();
    loop {
        let candidates = threads.iter().filter_map(|(thread, events)| {
            let event = *events.get(*next.get(thread)?)?;
            let waits = arrows.iter().filter(|arrow| {
                arrow.to == event && arrow.from != event && !rows.contains_key(&arrow.from)
            });
            Some((waits.count(), *thread, event))
        });
        let Some((_, thread, event)) = candidates.min() else { break };
        rows.insert(event, row);
        row += 1;
        *next.entry(thread).or_default() += 1;
    }
    rows
}
