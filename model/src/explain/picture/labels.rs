//! Where the names of arrows stand: on their arrows or close to them, on no event and on no other name.

use super::geometry::{Area, Curve, Point, at};
use super::layout::width_of_name;
use super::scene::Arrow;

/// The height of a name.
const HEIGHT: f64 = 13.0;

/// How bad it is if a name hides most of its arrow.
const HIDING: f64 = 40.0;

/// Shares of an arrow's way at which its name may stand, the better ones first.
const SHARES: [f64; 15] =
    [0.5, 0.45, 0.55, 0.4, 0.6, 0.35, 0.65, 0.3, 0.7, 0.25, 0.75, 0.2, 0.8, 0.14, 0.86];

/// Places of names.
pub struct Labels {
    /// One for each arrow.
    pub areas: Vec<Area>,
    /// Arrows for whose names there was no place: they cover something.
    pub nowhere: Vec<usize>,
    /// Arrows whose names hide a part of another arrow, or most of their own.
    pub hiding: Vec<usize>,
}

/// A place for each name.
pub fn place_labels(arrows: &[Arrow], cards: &[Area], paths: &[Vec<Curve>], page: &Area) -> Labels {
    let lines: Vec<Vec<Point>> =
        paths.iter().map(|path| path.iter().flat_map(Curve::samples).collect()).collect();
    let extents: Vec<Area> = lines.iter().map(|line| Area::of(line)).collect();
    let mut order: Vec<usize> = (0..arrows.len()).collect();
    // Short arrows have least choice.
    let extent = |index: &usize| length(&lines[*index]) - 4.0 * arrows[*index].name.len() as f64;
    order.sort_by(|a, b| extent(a).total_cmp(&extent(b)).then(a.cmp(b)));
    let nowhere = Area::around(at(0.0, 0.0), 0.0, 0.0);
    let mut labels =
        Labels { areas: vec![nowhere; arrows.len()], nowhere: Vec::new(), hiding: Vec::new() };
    let mut taken = cards.to_vec();
    for index in order {
        let name = &arrows[index].name;
        if name.is_empty() {
            continue;
        }
        let spots = spots(&lines[index], width_of_name(name));
        let first = spots[0].1;
        let fits = |(_, area): &(f64, Area)| {
            let inside = page.left <= area.left
                && area.right() <= page.right()
                && page.top <= area.top
                && area.bottom() <= page.bottom();
            inside && !taken.iter().any(|other| other.overlaps(&area.grown(1.0)))
        };
        let crossed = |area: &Area| {
            let others = lines
                .iter()
                .zip(&extents)
                .enumerate()
                .filter(|(other, (_, extent))| *other != index && extent.overlaps(area));
            others.filter(|(_, (line, _))| line.iter().any(|point| area.has(*point))).count()
        };
        let mut spots: Vec<(f64, Area)> = spots.into_iter().filter(fits).collect();
        spots.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut best: Option<(f64, Area)> = None;
        for (far, area) in spots {
            // The others are farther, and no better for it.
            if best.is_some_and(|(cost, _)| cost <= far) {
                break;
            }
            let cost = far + 60.0 * crossed(&area) as f64;
            if best.is_none_or(|(known, _)| cost < known) {
                best = Some((cost, area));
            }
        }
        let area = match best {
            Some((cost, area)) => {
                labels.hiding.extend((cost >= HIDING).then_some(index));
                area
            }
            None => {
                labels.nowhere.push(index);
                first
            }
        };
        labels.areas[index] = area;
        taken.push(area);
    }
    labels
}

fn length(line: &[Point]) -> f64 {
    line.windows(2).map(|ends| (ends[1].x - ends[0].x).hypot(ends[1].y - ends[0].y)).sum()
}

/// Places for a name of that width, each with how bad it is.
fn spots(line: &[Point], width: f64) -> Vec<(f64, Area)> {
    let total = length(line);
    let mut spots = Vec::new();
    for (rank, share) in SHARES.iter().enumerate() {
        let (point, is_steep) = along(line, total * share);
        let far = rank as f64 * 1.5;
        // On the arrow, if enough of it is left to be seen; or beside it.
        let hidden = if is_steep { HEIGHT } else { width };
        let on = if hidden + 26.0 > total { HIDING } else { 0.0 };
        let beside = width / 2.0 + 4.0;
        let moves = [
            (on, 0.0, 0.0),
            (if is_steep { 4.0 } else { 14.0 }, beside, 0.0),
            (if is_steep { 5.0 } else { 15.0 }, -beside, 0.0),
            (if is_steep { on.max(30.0) } else { 6.0 }, 0.0, -10.0),
            (if is_steep { on.max(31.0) } else { 7.0 }, 0.0, 10.0),
        ];
        spots.extend(moves.map(|(worse, x, y)| {
            (far + worse, Area::around(at(point.x + x, point.y + y), width, HEIGHT))
        }));
    }
    spots
}

/// The point that far along a line, and whether the line goes up or down there rather than across.
fn along(line: &[Point], mut way: f64) -> (Point, bool) {
    for ends in line.windows(2) {
        let (dx, dy) = (ends[1].x - ends[0].x, ends[1].y - ends[0].y);
        let step = dx.hypot(dy);
        if step >= way && step > 0.0 {
            let share = way / step;
            return (at(ends[0].x + dx * share, ends[0].y + dy * share), dy.abs() > dx.abs());
        }
        way -= step;
    }
    (line.last().copied().unwrap_or(at(0.0, 0.0)), false)
}
