//! Points, areas and paths.

/// A point, from the left and from the top.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// From the left.
    pub x: f64,
    /// From the top.
    pub y: f64,
}

/// A point.
pub fn at(x: f64, y: f64) -> Point {
    Point { x, y }
}

/// A rectangle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Area {
    /// Its left border.
    pub left: f64,
    /// Its upper border.
    pub top: f64,
    /// From its left to its right border.
    pub width: f64,
    /// From its upper to its lower border.
    pub height: f64,
}

impl Area {
    /// The rectangle around a middle.
    pub fn around(middle: Point, width: f64, height: f64) -> Self {
        Self { left: middle.x - width / 2.0, top: middle.y - height / 2.0, width, height }
    }

    /// The smallest rectangle that has all of some points, and a little more.
    pub fn of(points: &[Point]) -> Self {
        let fold = |pick: fn(&Point) -> f64, start: f64, join: fn(f64, f64) -> f64| {
            points.iter().map(pick).fold(start, join)
        };
        let left = fold(|point| point.x, f64::INFINITY, f64::min);
        let top = fold(|point| point.y, f64::INFINITY, f64::min);
        let right = fold(|point| point.x, f64::NEG_INFINITY, f64::max);
        let bottom = fold(|point| point.y, f64::NEG_INFINITY, f64::max);
        Self { left, top, width: right - left, height: bottom - top }.grown(1.0)
    }

    /// Its right border.
    pub fn right(&self) -> f64 {
        self.left + self.width
    }

    /// Its lower border.
    pub fn bottom(&self) -> f64 {
        self.top + self.height
    }

    /// Its middle.
    pub fn middle(&self) -> Point {
        at(self.left + self.width / 2.0, self.top + self.height / 2.0)
    }

    /// The same with that much more, or less, on each side.
    pub fn grown(&self, by: f64) -> Self {
        Self {
            left: self.left - by,
            top: self.top - by,
            width: self.width + 2.0 * by,
            height: self.height + 2.0 * by,
        }
    }

    /// Whether two rectangles share more than a border.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.left < other.right()
            && other.left < self.right()
            && self.top < other.bottom()
            && other.top < self.bottom()
    }

    /// Whether a point is inside.
    pub fn has(&self, point: Point) -> bool {
        self.left < point.x
            && point.x < self.right()
            && self.top < point.y
            && point.y < self.bottom()
    }
}

/// A cubic curve: its ends are the first and the last point, and the others are its controls.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Curve(pub [Point; 4]);

impl Curve {
    /// A straight line.
    pub fn line(from: Point, to: Point) -> Self {
        let part =
            |share: f64| at(from.x + (to.x - from.x) * share, from.y + (to.y - from.y) * share);
        Self([from, part(1.0 / 3.0), part(2.0 / 3.0), to])
    }

    /// From one point to another, horizontal at both ends.
    pub fn swing(from: Point, to: Point) -> Self {
        let middle = (from.x + to.x) / 2.0;
        Self([from, at(middle, from.y), at(middle, to.y), to])
    }

    /// From one point to another on the same side of a column, that far out.
    pub fn bow(from: Point, to: Point, depth: f64) -> Self {
        // A cubic curve goes three quarters of the way to its controls.
        let out = |point: Point| at(point.x + depth / 0.75, point.y);
        Self([from, out(from), out(to), to])
    }

    /// Whether it is straight.
    pub fn is_line(&self) -> bool {
        let [a, b, c, d] = self.0;
        let off = |point: Point| (d.x - a.x) * (point.y - a.y) - (d.y - a.y) * (point.x - a.x);
        off(b).abs() < 0.01 && off(c).abs() < 0.01
    }

    /// The point at a share of the way.
    pub fn point(&self, share: f64) -> Point {
        let rest = 1.0 - share;
        let weights = [
            rest * rest * rest,
            3.0 * rest * rest * share,
            3.0 * rest * share * share,
            share * share * share,
        ];
        let sum = |pick: fn(&Point) -> f64| -> f64 {
            self.0.iter().zip(weights).map(|(point, weight)| pick(point) * weight).sum()
        };
        at(sum(|point| point.x), sum(|point| point.y))
    }

    /// Points along the curve, its ends included.
    pub fn samples(&self) -> impl Iterator<Item = Point> + '_ {
        const SAMPLES: u32 = 40;
        (0..=SAMPLES).map(|step| self.point(f64::from(step) / f64::from(SAMPLES)))
    }
}
