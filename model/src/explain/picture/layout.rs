//! Where everything is drawn.
//!
//! Events stand in columns and rows, with channels between columns and gaps between rows. Arrows leave their
//! column at once and stay in channels and gaps, so none crosses an event that it does not end at. What does
//! not fit gets more room.

use super::geometry::{Area, Curve, Point, at};
use super::labels::{Labels, place_labels};
use super::routes::{BOW, Router};
use super::scene::{Card, Kind, Look, Scene};

/// The height of an event.
const CARD: f64 = 38.0;
/// The height of an initial write.
const INITIAL: f64 = 22.0;
/// The width of a character of an event, and of its statement and of names of arrows.
const WIDE: f64 = 7.3;
const NARROW: f64 = 6.4;
/// The height of the names of threads and lanes.
const HEAD: f64 = 48.0;
/// The most attempts to find room for all names.
const ATTEMPTS: u32 = 16;

/// A picture of an execution with all its places, in pixels, for whoever draws it.
#[derive(Clone, Debug)]
pub struct Drawing {
    /// What it shows, for those who cannot see it.
    pub title: String,
    /// Its width.
    pub width: f64,
    /// Its height.
    pub height: f64,
    /// Threads: an outline each, with a name.
    pub groups: Vec<(Area, String)>,
    /// Names of lanes, at their middles.
    pub lanes: Vec<(Point, String)>,
    /// Events.
    pub cards: Vec<DrawnCard>,
    /// Arrows.
    pub arrows: Vec<DrawnArrow>,
}

/// An event with its place.
#[derive(Clone, Debug)]
pub struct DrawnCard {
    /// Its place.
    pub area: Area,
    /// The event in short, and its statement.
    pub lines: Vec<String>,
    /// What happens, in words.
    pub title: String,
    /// How it is drawn.
    pub look: Look,
}

/// An arrow with its places.
#[derive(Clone, Debug)]
pub struct DrawnArrow {
    /// The event that it starts from, by its index.
    pub from: usize,
    /// The event that it leads to.
    pub to: usize,
    /// Its way, piece by piece.
    pub path: Vec<Curve>,
    /// Its name, and where that stands.
    pub name: String,
    /// The place of the name.
    pub label: Area,
    /// How it is drawn.
    pub kind: Kind,
}

/// Lays a scene out.
pub fn lay_out(scene: &Scene) -> Drawing {
    let mut room = Room::new(scene);
    room.make_way(scene);
    let worth = |labels: &Labels| (labels.nowhere.len(), labels.hiding.len());
    let (mut best, mut labels) = attempt(scene, &room);
    let mut least = worth(&labels);
    for _ in 1..ATTEMPTS {
        let more: Vec<usize> = labels.nowhere.iter().chain(&labels.hiding).copied().collect();
        if more.is_empty() {
            break;
        }
        more.into_iter().for_each(|arrow| room.widen(scene, arrow));
        let (drawing, found) = attempt(scene, &room);
        if worth(&found) < least {
            (best, least) = (drawing, worth(&found));
        }
        labels = found;
    }
    best
}

/// The sizes that may grow.
struct Room {
    /// The width of each channel: that left of each column, and that right of the last.
    channels: Vec<f64>,
    /// The height of the gap above each row, and below the last.
    gaps: Vec<f64>,
}

impl Room {
    fn new(scene: &Scene) -> Self {
        let columns = scene.lanes.len();
        let rows = scene.cards.iter().map(|card| card.row + 1).max().unwrap_or(0);
        let mut room = Self { channels: vec![46.0; columns + 1], gaps: vec![30.0; rows + 1] };
        (room.channels[0], room.channels[columns]) = (22.0, 22.0);
        (room.gaps[0], room.gaps[rows]) = (6.0, 10.0);
        for column in 1..columns {
            if scene.lanes[column].group == scene.lanes[column - 1].group {
                room.channels[column] = 40.0;
            }
        }
        room
    }

    /// Channels as wide as the arrows that go around in them.
    fn make_way(&mut self, scene: &Scene) {
        let grid = Grid::new(scene, self);
        let areas: Vec<Area> = scene.cards.iter().map(|card| grid.area(card)).collect();
        let router = Router::new(scene, &grid, &areas);
        for (arrow, path) in scene.arrows.iter().zip(router.paths()) {
            let lane = scene.cards[arrow.from].lane;
            if lane != scene.cards[arrow.to].lane {
                continue;
            }
            let (left, right) = grid.columns[lane];
            for point in path.iter().flat_map(Curve::samples) {
                let is_right = point.x > right;
                let out = if is_right { point.x - right } else { left - point.x };
                let width = &mut self.channels[lane + usize::from(is_right)];
                *width = width.max(out + BOW);
            }
        }
    }

    /// More room along an arrow whose name has found no place.
    fn widen(&mut self, scene: &Scene, arrow: usize) {
        let (from, to) = scene.ends(&scene.arrows[arrow]);
        let wanted = width_of_name(&scene.arrows[arrow].name) + 14.0;
        let beside = |card: &Card| [card.lane, card.lane + 1];
        for channel in beside(from).into_iter().chain(beside(to)) {
            let is_between = from.lane.min(to.lane) < channel && channel <= from.lane.max(to.lane);
            // What goes straight down needs height.
            let is_around = from.lane == to.lane
                && from.row + 1 != to.row
                && channel == from.lane + usize::from(from.row < to.row);
            let width = &mut self.channels[channel];
            if (is_between || is_around) && *width < wanted {
                *width = (*width + 24.0).min(wanted);
            }
        }
        for gap in from.row.min(to.row) + 1..=from.row.max(to.row) {
            self.gaps[gap] += 6.0;
        }
    }
}

/// Borders of columns and rows.
pub struct Grid {
    /// Left and right of each column.
    pub columns: Vec<(f64, f64)>,
    /// Top and bottom of each row.
    rows: Vec<(f64, f64)>,
    width: f64,
    height: f64,
}

impl Grid {
    fn new(scene: &Scene, room: &Room) -> Self {
        let mut widths = vec![40.0_f64; scene.lanes.len()];
        for (lane, width) in scene.lanes.iter().zip(&mut widths) {
            *width = width.max(lane.name.chars().count() as f64 * NARROW + 6.0);
        }
        let mut heights = vec![INITIAL; room.gaps.len() - 1];
        for card in &scene.cards {
            let width = card.label.chars().count() as f64 * WIDE;
            let detail = card.detail.chars().count() as f64 * NARROW;
            widths[card.lane] = widths[card.lane].max(width.max(detail) + 16.0);
            heights[card.row] = heights[card.row].max(height(card));
        }
        for (group, name) in scene.groups.iter().enumerate() {
            let own: Vec<usize> =
                (0..widths.len()).filter(|lane| scene.lanes[*lane].group == group).collect();
            let channels = own.iter().skip(1).map(|lane| room.channels[*lane]);
            let width = own.iter().map(|lane| widths[*lane]).chain(channels).sum::<f64>();
            let lacking = name.chars().count() as f64 * WIDE - 8.0 - width;
            let share = lacking.max(0.0) / own.len().max(1) as f64;
            own.into_iter().for_each(|lane| widths[lane] += share);
        }
        let mut x = 8.0;
        let mut columns = Vec::new();
        for (channel, width) in room.channels.iter().zip(widths) {
            x += channel;
            columns.push((x, x + width));
            x += width;
        }
        let width = x + room.channels[scene.lanes.len()] + 8.0;
        let mut y = HEAD;
        let mut rows = Vec::new();
        for (gap, height) in room.gaps.iter().zip(heights) {
            y += gap;
            rows.push((y, y + height));
            y += height;
        }
        let height = y + room.gaps[room.gaps.len() - 1] + 8.0;
        Self { columns, rows, width, height }
    }

    fn area(&self, card: &Card) -> Area {
        let (left, right) = self.columns[card.lane];
        let (top, bottom) = self.rows[card.row];
        let middle = at((left + right) / 2.0, (top + bottom) / 2.0);
        Area::around(middle, right - left, height(card))
    }

    /// Top and bottom of the gap above a row.
    pub fn gap(&self, gap: usize) -> (f64, f64) {
        let above = if gap == 0 { HEAD } else { self.rows[gap - 1].1 };
        (above, self.rows.get(gap).map_or(self.height - 8.0, |row| row.0))
    }
}

fn height(card: &Card) -> f64 {
    if card.detail.is_empty() { INITIAL } else { CARD }
}

/// The width of a name of an arrow.
pub fn width_of_name(name: &str) -> f64 {
    name.chars().count() as f64 * NARROW + 4.0
}

/// A layout with that much room, and where names are in it.
fn attempt(scene: &Scene, room: &Room) -> (Drawing, Labels) {
    let grid = Grid::new(scene, room);
    let areas: Vec<Area> = scene.cards.iter().map(|card| grid.area(card)).collect();
    let paths = Router::new(scene, &grid, &areas).paths();
    let heads = groups(scene, &grid);
    let labels = place_labels(&scene.arrows, &areas, &paths, &grid_area(&grid));
    let cards = scene.cards.iter().zip(&areas).map(|(card, area)| DrawnCard {
        area: *area,
        lines: [&card.label, &card.detail]
            .into_iter()
            .filter(|line| !line.is_empty())
            .cloned()
            .collect(),
        title: card.title.clone(),
        look: card.look,
    });
    let arrows = scene.arrows.iter().zip(paths).zip(&labels.areas).map(|((arrow, path), label)| {
        DrawnArrow {
            from: arrow.from,
            to: arrow.to,
            path,
            name: arrow.name.clone(),
            label: *label,
            kind: arrow.kind,
        }
    });
    let lanes = scene.lanes.iter().zip(&grid.columns);
    let lanes =
        lanes.map(|(lane, (left, right))| (at((left + right) / 2.0, 40.0), lane.name.clone()));
    let drawing = Drawing {
        title: scene.title.clone(),
        width: grid.width,
        height: grid.height,
        groups: heads,
        lanes: lanes.collect(),
        cards: cards.collect(),
        arrows: arrows.collect(),
    };
    (drawing, labels)
}

/// Where names may stand.
fn grid_area(grid: &Grid) -> Area {
    Area { left: 2.0, top: HEAD, width: grid.width - 4.0, height: grid.height - HEAD - 2.0 }
}

/// The outlines of threads.
fn groups(scene: &Scene, grid: &Grid) -> Vec<(Area, String)> {
    let outline = |(group, name): (usize, &String)| {
        let columns = scene.lanes.iter().zip(&grid.columns);
        let mut own = columns.filter(|(lane, _)| lane.group == group).map(|(_, column)| *column);
        let (left, first_right) = own.next()?;
        let right = own.next_back().map_or(first_right, |(_, right)| right);
        let area = Area {
            left: left - 14.0,
            top: 6.0,
            width: right - left + 28.0,
            height: grid.height - 12.0,
        };
        Some((area, name.clone()))
    };
    scene.groups.iter().enumerate().filter_map(outline).collect()
}
