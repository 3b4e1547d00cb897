//! Arrows between events, and where their names stand.

use std::fmt::Write;

use super::lanes::Placed;
use super::{BOX, escape};

/// Width of a character of a name.
const CHARACTER: f64 = 6.7;

/// An arrow to be drawn.
pub struct Curve<'a> {
    pub from: Placed,
    pub to: Placed,
    pub name: &'a str,
    pub class: &'static str,
}

type Point = (f64, f64);
/// Left, top, right, bottom.
type Area = (f64, f64, f64, f64);

/// Draws all arrows, and returns the text of their names, which is to be drawn over everything else.
pub fn draw_edges(curves: &[Curve<'_>], boxes: &[Placed], out: &mut String) -> String {
    let mut names = String::new();
    let mut taken: Vec<Area> = boxes
        .iter()
        .map(|one| {
            let (half, high) = (one.width / 2.0, BOX / 2.0);
            (one.x - half, one.y - high, one.x + half, one.y + high)
        })
        .collect();
    let mut same: Vec<(u64, u64)> = Vec::new();
    for curve in curves {
        // Further arrows between the same places bend more, so that none hides another.
        let key = {
            let ends = [place_key(curve.from), place_key(curve.to)];
            (ends[0].min(ends[1]), ends[0].max(ends[1]))
        };
        let others = same.iter().filter(|other| **other == key).count();
        same.push(key);
        let points = bezier(curve, others as f64);
        let [a, b, c, d] = points;
        // Writing into a string cannot fail.
        let _ = write!(
            out,
            "<g class=\"{}\"><path d=\"M{:.1} {:.1}C{:.1} {:.1} {:.1} {:.1} {:.1} {:.1}\"/>{}</g>",
            curve.class,
            a.0,
            a.1,
            b.0,
            b.1,
            c.0,
            c.1,
            d.0,
            d.1,
            tip(c, d)
        );
        if curve.name.is_empty() {
            continue;
        }
        let half = curve.name.chars().count() as f64 * CHARACTER / 2.0 + 2.0;
        let (x, y) = free_spot(&points, half, &taken);
        taken.push((x - half, y - 8.0, x + half, y + 6.0));
        let _ = write!(
            names,
            "<g class=\"{}\"><text class=\"name\" x=\"{x:.1}\" y=\"{:.1}\">{}</text></g>",
            curve.class,
            y + 4.0,
            escape(curve.name)
        );
    }
    names
}

fn place_key(place: Placed) -> u64 {
    (place.x as u64) << 32 | place.y as u64
}

/// The four points of an arrow: straight across lanes, bent out of the way within one.
fn bezier(curve: &Curve<'_>, others: f64) -> [Point; 4] {
    let (from, to) = (curve.from, curve.to);
    let down = to.y >= from.y;
    if (from.x - to.x).abs() < 1.0 {
        // Within a lane: around what lies between. Down on the right, up on the left.
        let far = (to.y - from.y).abs();
        let side = if down { 1.0 } else { -1.0 };
        let near = far < 60.0 && others == 0.0 && curve.name.is_empty();
        if near {
            let (a, d) = ((from.x, from.y + BOX / 2.0), (to.x, to.y - BOX / 2.0));
            return [a, (a.0, a.1 + 6.0), (d.0, d.1 - 6.0), d];
        }
        let bulge = 20.0 + (far / 9.0).min(40.0) + 22.0 * others;
        let a = (from.x + side * from.width / 2.0, from.y);
        let d = (to.x + side * to.width / 2.0, to.y);
        let outer = if side > 0.0 { a.0.max(d.0) + bulge } else { a.0.min(d.0) - bulge };
        return [a, (outer, a.1), (outer, d.1), d];
    }
    let side = if to.x > from.x { 1.0 } else { -1.0 };
    let a = (from.x + side * from.width / 2.0, from.y + 5.0 * others);
    let d = (to.x - side * to.width / 2.0, to.y - 5.0 * others);
    let reach = ((d.0 - a.0).abs() * 0.45).max(24.0);
    let lift = others * 16.0;
    [a, (a.0 + side * reach, a.1 + lift), (d.0 - side * reach, d.1 + lift), d]
}

fn at(points: &[Point; 4], t: f64) -> Point {
    let s = 1.0 - t;
    let weights = [s * s * s, 3.0 * s * s * t, 3.0 * s * t * t, t * t * t];
    let sum = |pick: fn(&Point) -> f64| -> f64 {
        points.iter().zip(weights).map(|(point, weight)| pick(point) * weight).sum()
    };
    (sum(|point| point.0), sum(|point| point.1))
}

/// The place along the curve that covers least of what is there.
fn free_spot(points: &[Point; 4], half: f64, taken: &[Area]) -> Point {
    let tries = [0.5, 0.42, 0.58, 0.34, 0.66, 0.26, 0.74, 0.18, 0.82];
    let cover = |(x, y): Point| -> f64 {
        let mine = (x - half, y - 8.0, x + half, y + 6.0);
        let out_of_sight = (half - x).max(0.0) * 20.0;
        out_of_sight + taken.iter().map(|other| overlap(mine, *other)).sum::<f64>()
    };
    let shifts = [0.0, -14.0, 14.0, -26.0, 26.0];
    let mut best = (f64::INFINITY, at(points, 0.5));
    for shift in shifts {
        for t in tries {
            let (x, y) = at(points, t);
            let spot = (x.max(half + 2.0), y + shift);
            let cost = cover(spot) + f64::abs(shift) * 0.5 + (t - 0.5).abs();
            if cost < best.0 {
                best = (cost, spot);
            }
        }
    }
    best.1
}

fn overlap(a: Area, b: Area) -> f64 {
    let wide = a.2.min(b.2) - a.0.max(b.0);
    let high = a.3.min(b.3) - a.1.max(b.1);
    if wide > 0.0 && high > 0.0 { wide * high } else { 0.0 }
}

/// The head of an arrow that comes from a direction.
fn tip(from: Point, to: Point) -> String {
    let (mut dx, mut dy) = (to.0 - from.0, to.1 - from.1);
    let length = (dx * dx + dy * dy).sqrt().max(0.001);
    dx /= length;
    dy /= length;
    let (back, side) = (8.0, 4.0);
    let base = (to.0 - dx * back, to.1 - dy * back);
    format!(
        "<path class=\"tip\" d=\"M{:.1} {:.1}L{:.1} {:.1}L{:.1} {:.1}Z\"/>",
        to.0,
        to.1,
        base.0 - dy * side,
        base.1 + dx * side,
        base.0 + dy * side,
        base.1 - dx * side
    )
}
