//! Drawings as SVG, with plain attributes that every program understands.

use std::fmt::Write;

use super::geometry::{Curve, Point};
use super::layout::{Drawing, DrawnArrow, DrawnCard};
use super::scene::{Kind, Look};

/// What colors the parts of pictures in a page have, in light and dark surroundings; a picture that stands
/// for itself needs none of this.
pub const STYLE: &str = "\
.xg{--ink:#1b1f24;--soft:#57606a;--line:#d0d7de;--page:#fff;--rf:#1a7f37;--mo:#0969da;--pf:#8250df;--rb:#9a6700;--bad:#cf222e;max-width:100%;height:auto}\
@media(prefers-color-scheme:dark){.xg{--ink:#e6edf3;--soft:#8b949e;--line:#30363d;--page:#0d1117;--rf:#3fb950;--mo:#58a6ff;--pf:#bc8cff;--rb:#d29922;--bad:#ff7b72}}\
.xg .f-page{fill:var(--page)}.xg .f-ink{fill:var(--ink)}.xg .f-soft{fill:var(--soft)}.xg .f-rf{fill:var(--rf)}.xg .f-mo{fill:var(--mo)}.xg .f-pf{fill:var(--pf)}.xg .f-rb{fill:var(--rb)}.xg .f-bad{fill:var(--bad)}\
.xg .s-line{stroke:var(--line)}.xg .s-soft{stroke:var(--soft)}.xg .s-rf{stroke:var(--rf)}.xg .s-mo{stroke:var(--mo)}.xg .s-pf{stroke:var(--pf)}.xg .s-rb{stroke:var(--rb)}.xg .s-bad{stroke:var(--bad)}";

const FONT: &str = "'DejaVu Sans Mono', Menlo, Consolas, 'Liberation Mono', monospace";

/// A color by its name in pages, and as it is printed.
#[derive(Clone, Copy)]
pub struct Color {
    pub name: &'static str,
    pub value: &'static str,
}

const PAGE: Color = Color { name: "page", value: "#ffffff" };
const INK: Color = Color { name: "ink", value: "#1b1f24" };
const SOFT: Color = Color { name: "soft", value: "#57606a" };
const LINE: Color = Color { name: "line", value: "#d0d7de" };

/// The color, the width and the dashes of an arrow.
pub fn pen(kind: Kind) -> (Color, f64, &'static str) {
    let color = |name, value| Color { name, value };
    match kind {
        Kind::Program => (SOFT, 1.0, "3 3"),
        Kind::ReadsFrom => (color("rf", "#1a7f37"), 1.4, ""),
        Kind::Memory => (color("mo", "#0969da"), 1.4, ""),
        Kind::Completion => (color("pf", "#8250df"), 1.4, "6 3"),
        Kind::Other => (color("rb", "#9a6700"), 1.4, "8 2 2 2"),
        Kind::NotKept => (color("bad", "#cf222e"), 1.8, "2 3"),
        Kind::Bad => (color("bad", "#cf222e"), 2.0, ""),
    }
}

/// A drawing as SVG. In a page, colors are those of [`STYLE`] where it is there.
pub fn svg(drawing: &Drawing, is_in_page: bool) -> String {
    let mut out = Writer { out: String::new(), is_in_page };
    out.head(drawing);
    for (area, name) in &drawing.groups {
        let (left, top, width, height) = (area.left, area.top, area.width, area.height);
        out.write(format_args!(
            "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"8\"{}{}/>",
            " fill=\"none\"",
            out.stroke(LINE, 1.0),
        ));
        out.text(area.middle().x, 23.0, 12.0, "bold", INK, name);
    }
    for (point, name) in &drawing.lanes {
        out.text(point.x, point.y, 10.5, "normal", SOFT, name);
    }
    drawing.arrows.iter().for_each(|arrow| out.arrow(arrow));
    drawing.cards.iter().for_each(|card| out.card(card));
    drawing.arrows.iter().filter(|arrow| !arrow.name.is_empty()).for_each(|arrow| out.name(arrow));
    out.out.push_str("</svg>");
    if !is_in_page {
        out.out.push('\n');
    }
    out.out
}

struct Writer {
    out: String,
    is_in_page: bool,
}

impl Writer {
    fn write(&mut self, text: std::fmt::Arguments<'_>) {
        // Writing into a string cannot fail.
        let _ = self.out.write_fmt(text);
        if !self.is_in_page {
            self.out.push('\n');
        }
    }

    fn head(&mut self, drawing: &Drawing) {
        let (width, height) = (drawing.width.ceil(), drawing.height.ceil());
        let class = if self.is_in_page { " class=\"xg\"" } else { "" };
        self.write(format_args!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\"{class} role=\"img\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" font-family=\"{FONT}\"><title>{}</title>",
            escape_xml(&drawing.title),
        ));
        let fill = self.fill(PAGE);
        self.write(format_args!("<rect width=\"{width}\" height=\"{height}\"{fill}/>"));
    }

    fn fill(&self, color: Color) -> String {
        let class =
            if self.is_in_page { format!(" class=\"f-{}\"", color.name) } else { String::new() };
        format!("{class} fill=\"{}\"", color.value)
    }

    fn stroke(&self, color: Color, width: f64) -> String {
        let class =
            if self.is_in_page { format!(" class=\"s-{}\"", color.name) } else { String::new() };
        format!("{class} stroke=\"{}\" stroke-width=\"{width}\"", color.value)
    }

    fn text(&mut self, x: f64, y: f64, size: f64, weight: &str, color: Color, text: &str) {
        if text.is_empty() {
            return;
        }
        let fill = self.fill(color);
        let weight = if weight == "bold" { " font-weight=\"bold\"" } else { "" };
        self.write(format_args!(
            "<text x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"{size}\"{weight} text-anchor=\"middle\"{fill}>{}</text>",
            escape_xml(text)
        ));
    }

    fn card(&mut self, card: &DrawnCard) {
        let area = &card.area;
        let (color, width) = match card.look {
            Look::Plain => (SOFT, 1.0),
            Look::Initial => (LINE, 1.0),
            Look::Marked => (pen(Kind::Bad).0, 2.0),
        };
        let radius = if card.look == Look::Initial { area.height / 2.0 } else { 4.0 };
        self.write(format_args!("<g><title>{}</title>", escape_xml(&card.title)));
        // Two rectangles: an element has one class, and so one color that pages change.
        let (left, top, wide, high) = (area.left, area.top, area.width, area.height);
        let place = format!(
            "x=\"{left:.1}\" y=\"{top:.1}\" width=\"{wide:.1}\" height=\"{high:.1}\" rx=\"{radius}\""
        );
        let (fill, stroke) = (self.fill(PAGE), self.stroke(color, width));
        self.write(format_args!("<rect {place}{fill}/><rect {place} fill=\"none\"{stroke}/>"));
        let middle = area.middle();
        match &card.lines[..] {
            [label, detail] => {
                self.text(middle.x, middle.y - 3.0, 12.0, "bold", INK, label);
                self.text(middle.x, middle.y + 12.0, 10.5, "normal", SOFT, detail);
            }
            lines => self.text(middle.x, middle.y + 4.0, 11.0, "normal", SOFT, &lines.join(" ")),
        }
        self.write(format_args!("</g>"));
    }

    fn arrow(&mut self, arrow: &DrawnArrow) {
        let (color, width, dashes) = pen(arrow.kind);
        let Some((start, tip)) = arrow.path.first().zip(arrow.path.last()) else { return };
        let mut way = format!("M{:.1} {:.1}", start.0[0].x, start.0[0].y);
        for curve in &arrow.path {
            let [_, b, c, d] = curve.0;
            let _ = if curve.is_line() {
                write!(way, "L{:.1} {:.1}", d.x, d.y)
            } else {
                write!(way, "C{:.1} {:.1} {:.1} {:.1} {:.1} {:.1}", b.x, b.y, c.x, c.y, d.x, d.y)
            };
        }
        let stroke = self.stroke(color, width);
        let dashes = match dashes {
            "" => String::new(),
            dashes => format!(" stroke-dasharray=\"{dashes}\""),
        };
        self.write(format_args!("<path d=\"{way}\" fill=\"none\"{stroke}{dashes}/>"));
        let fill = self.fill(color);
        let [a, b, c] = head(tip, width);
        self.write(format_args!(
            "<path d=\"M{:.1} {:.1}L{:.1} {:.1}L{:.1} {:.1}Z\"{fill}/>",
            a.x, a.y, b.x, b.y, c.x, c.y
        ));
    }

    fn name(&mut self, arrow: &DrawnArrow) {
        let area = &arrow.label;
        let fill = self.fill(PAGE);
        self.write(format_args!(
            "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill-opacity=\"0.85\"{fill}/>",
            area.left, area.top, area.width, area.height
        ));
        let middle = area.middle();
        let weight =
            if matches!(arrow.kind, Kind::Bad | Kind::NotKept) { "bold" } else { "normal" };
        self.text(middle.x, middle.y + 3.5, 10.5, weight, pen(arrow.kind).0, &arrow.name);
    }
}

/// The three corners of the head of an arrow whose last piece this is.
pub fn head(last: &Curve, width: f64) -> [Point; 3] {
    let [_, _, before, end] = last.0;
    let (dx, dy) = (end.x - before.x, end.y - before.y);
    let length = dx.hypot(dy).max(0.001);
    let (dx, dy) = (dx / length, dy / length);
    let (back, side) = (6.5 + width, 2.6 + width / 2.0);
    let base = Point { x: end.x - dx * back, y: end.y - dy * back };
    let corner = |sign: f64| Point { x: base.x - dy * side * sign, y: base.y + dx * side * sign };
    [end, corner(1.0), corner(-1.0)]
}

/// A text in XML and HTML. Characters that XML cannot have, not even escaped, are replaced.
pub fn escape_xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(character),
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}
