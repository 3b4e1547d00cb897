//! The ways of arrows: in channels and gaps, each by itself.

use super::geometry::{Area, Curve, Point, at};
use super::layout::Grid;
use super::scene::{Arrow, Card, Scene};

/// The room beside arrows that go around within a lane.
pub const BOW: f64 = 14.0;

/// How an arrow goes.
#[derive(Clone, Copy, Debug)]
enum Route {
    /// Straight down, or up, within a column.
    Straight,
    /// Around what lies between, within a column: on the right?
    Around(bool),
    /// Through the channel between two columns.
    Channel,
    /// Through the gap above a row.
    Gap(usize),
}

/// A side of an event.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Above,
    Right,
    Below,
    Left,
}

/// Finds the ways of a scene's arrows.
pub struct Router<'a> {
    scene: &'a Scene,
    grid: &'a Grid,
    areas: &'a [Area],
    routes: Vec<Route>,
}

impl<'a> Router<'a> {
    /// A router for events with these places.
    pub fn new(scene: &'a Scene, grid: &'a Grid, areas: &'a [Area]) -> Self {
        let mut router = Self { scene, grid, areas, routes: Vec::new() };
        for (index, arrow) in scene.arrows.iter().enumerate() {
            let route = router.route(index, arrow);
            router.routes.push(route);
        }
        router
    }

    fn route(&self, index: usize, arrow: &Arrow) -> Route {
        let (from, to) = self.scene.ends(arrow);
        if from.lane.abs_diff(to.lane) == 1 {
            return Route::Channel;
        }
        if from.lane == to.lane {
            let rows = from.row.min(to.row) + 1..from.row.max(to.row);
            let is_between = |card: &Card| card.lane == from.lane && rows.contains(&card.row);
            let same = |other: &Arrow| {
                [(arrow.from, arrow.to), (arrow.to, arrow.from)].contains(&(other.from, other.to))
            };
            let is_taken = self.scene.arrows[..index].iter().any(same);
            let is_free = !is_taken && !self.scene.cards.iter().any(is_between);
            return if is_free { Route::Straight } else { Route::Around(from.row <= to.row) };
        }
        // The gap with least in it; of these, the nearest to where the arrow starts.
        let (low, high) =
            (from.row.min(to.row) + 1, from.row.max(to.row).max(from.row.min(to.row) + 1));
        let used = |gap: usize| {
            self.routes
                .iter()
                .filter(|route| matches!(route, Route::Gap(known) if *known == gap))
                .count()
        };
        let gap = (low..=high).min_by_key(|gap| (used(*gap), gap.abs_diff(from.row)));
        Route::Gap(gap.unwrap_or(low))
    }

    /// The ways of all arrows.
    pub fn paths(&self) -> Vec<Vec<Curve>> {
        let mut depths: Vec<(usize, bool, f64, f64, f64)> = Vec::new();
        let paths = self.scene.arrows.iter().enumerate().map(|(index, arrow)| {
            let (from, to) = (self.port(index, true), self.port(index, false));
            match self.routes[index] {
                Route::Straight => vec![Curve::line(from, to)],
                Route::Around(is_right) => {
                    let lane = self.scene.cards[arrow.from].lane;
                    let (top, bottom) = (from.y.min(to.y), from.y.max(to.y));
                    let overlapping = depths.iter().filter(|(known, side, above, below, _)| {
                        (*known, *side) == (lane, is_right) && *above < bottom && top < *below
                    });
                    let depth = overlapping.map(|known| known.4).fold(4.0, f64::max) + BOW;
                    depths.push((lane, is_right, top, bottom, depth));
                    vec![Curve::bow(from, to, if is_right { depth } else { -depth })]
                }
                Route::Channel => {
                    let is_level = (from.y - to.y).abs() < 0.01;
                    vec![if is_level { Curve::line(from, to) } else { Curve::swing(from, to) }]
                }
                Route::Gap(gap) => self.through(index, gap, from, to),
            }
        });
        paths.collect()
    }

    /// Through a gap, past the columns between.
    fn through(&self, index: usize, gap: usize, from: Point, to: Point) -> Vec<Curve> {
        let same = |other: &usize| matches!(self.routes[*other], Route::Gap(known) if known == gap);
        let mates: Vec<usize> = (0..self.routes.len()).filter(same).collect();
        let place = mates.iter().position(|mate| *mate == index).unwrap_or(0);
        let (top, bottom) = self.grid.gap(gap);
        let y = top + (bottom - top) * (place + 1) as f64 / (mates.len() + 1) as f64;
        let lanes = [true, false].map(|start| {
            let arrow = &self.scene.arrows[index];
            self.scene.cards[if start { arrow.from } else { arrow.to }].lane
        });
        // From the border of the next column to that of the last one before the end.
        let (near, far) = if lanes[0] < lanes[1] {
            (self.grid.columns[lanes[0] + 1].0, self.grid.columns[lanes[1] - 1].1)
        } else {
            (self.grid.columns[lanes[0] - 1].1, self.grid.columns[lanes[1] + 1].0)
        };
        let (near, far) = (at(near, y), at(far, y));
        vec![Curve::swing(from, near), Curve::line(near, far), Curve::swing(far, to)]
    }

    /// Which side of an event an arrow touches.
    fn side(&self, index: usize, is_start: bool) -> Side {
        let (from, to) = self.scene.ends(&self.scene.arrows[index]);
        match self.routes[index] {
            Route::Straight if (from.row < to.row) == is_start => Side::Below,
            Route::Straight => Side::Above,
            Route::Around(true) => Side::Right,
            Route::Around(false) => Side::Left,
            Route::Channel | Route::Gap(_) if (from.lane < to.lane) == is_start => Side::Right,
            Route::Channel | Route::Gap(_) => Side::Left,
        }
    }

    /// Where an arrow touches an event. Those on one side are in the order in which they lead up and down.
    fn port(&self, index: usize, is_start: bool) -> Point {
        let arrow = &self.scene.arrows[index];
        let card = if is_start { arrow.from } else { arrow.to };
        let side = self.side(index, is_start);
        let area = &self.areas[card];
        let middle = area.middle();
        let x = match side {
            Side::Above => return at(middle.x, area.top),
            Side::Below => return at(middle.x, area.bottom()),
            Side::Right => area.right(),
            Side::Left => area.left,
        };
        let mut mates: Vec<(f64, f64, usize, bool)> = Vec::new();
        for (other, arrow) in self.scene.arrows.iter().enumerate() {
            for start in [true, false] {
                let touched = if start { arrow.from } else { arrow.to };
                if touched == card && self.side(other, start) == side {
                    let far = self.areas[if start { arrow.to } else { arrow.from }].middle();
                    let leads_to = match self.routes[other] {
                        Route::Gap(gap) => {
                            let (top, bottom) = self.grid.gap(gap);
                            (top + bottom) / 2.0
                        }
                        _ => far.y,
                    };
                    // A far column's arrow bends less at the same height.
                    mates.push((leads_to, (far.x - middle.x).abs(), other, start));
                }
            }
        }
        mates.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)).then(a.2.cmp(&b.2)));
        let own = mates.iter().position(|mate| (mate.2, mate.3) == (index, is_start)).unwrap_or(0);
        let count = mates.len() as f64;
        let pitch =
            if count > 1.0 { ((area.height - 10.0) / (count - 1.0)).min(10.0) } else { 0.0 };
        let y = middle.y + (own as f64 - (count - 1.0) / 2.0) * pitch;
        at(x, y)
    }
}
