//! Drawings as TikZ, for LaTeX.

use std::fmt::Write;

use super::geometry::{Area, Point};
use super::layout::{Drawing, DrawnArrow, DrawnCard};
use super::scene::{Kind, Look};
use super::svg::{head, pen};

/// How much of a pixel a unit of the picture is, in points. A character is then as wide as the layout says.
const POINTS: f64 = 0.72;

/// A drawing as a `tikzpicture`.
pub fn tikz(drawing: &Drawing) -> String {
    let mut out = String::new();
    // Writing into a string cannot fail, here and below.
    let _ = writeln!(out, "% {}", drawing.title);
    let _ = writeln!(
        out,
        "% Needs \\usepackage{{tikz}}. \\resizebox{{\\linewidth}}{{!}}{{\\input{{…}}}} fits it to a column."
    );
    let _ = writeln!(
        out,
        "\\begin{{tikzpicture}}[x={POINTS}pt,y=-{POINTS}pt,every node/.style={{inner sep=0pt}},"
    );
    let _ = writeln!(out, "  label/.style={{font=\\fontsize{{7.4}}{{8}}\\selectfont\\ttfamily}},");
    let _ = writeln!(
        out,
        "  event/.style={{font=\\fontsize{{8.6}}{{9}}\\selectfont\\ttfamily\\bfseries}}]"
    );
    for (name, value) in colors() {
        let _ = writeln!(out, "  \\definecolor{{{name}}}{{HTML}}{{{value}}}");
    }
    for (area, name) in &drawing.groups {
        let _ = writeln!(out, "  \\draw[litmusline,rounded corners=5pt] {};", rectangle(area));
        text(&mut out, "event", None, Point { x: area.middle().x, y: 19.0 }, name);
    }
    for (point, name) in &drawing.lanes {
        text(&mut out, "label", Some("litmussoft"), Point { y: point.y - 4.0, ..*point }, name);
    }
    drawing.arrows.iter().for_each(|one| arrow(&mut out, one));
    drawing.cards.iter().for_each(|one| card(&mut out, one));
    for arrow in drawing.arrows.iter().filter(|arrow| !arrow.name.is_empty()) {
        let area = &arrow.label;
        let _ = writeln!(out, "  \\fill[white,opacity=0.85] {};", rectangle(area));
        let color = color(pen(arrow.kind).0.name);
        text(&mut out, "label", Some(&color), area.middle(), &arrow.name);
    }
    out.push_str("\\end{tikzpicture}\n");
    out
}

/// The colors that a picture defines, each with a name that no one else has.
fn colors() -> Vec<(String, &'static str)> {
    let kinds =
        [Kind::Program, Kind::ReadsFrom, Kind::Memory, Kind::Completion, Kind::Other, Kind::Bad];
    let mut all: Vec<(String, &str)> = vec![(color("line"), "D0D7DE")];
    all.extend(kinds.map(|kind| {
        let used = pen(kind).0;
        (color(used.name), used.value.trim_start_matches('#'))
    }));
    all
}

fn color(name: &str) -> String {
    format!("litmus{name}")
}

fn rectangle(area: &Area) -> String {
    format!(
        "({:.1},{:.1}) rectangle ({:.1},{:.1})",
        area.left,
        area.top,
        area.right(),
        area.bottom()
    )
}

fn text(out: &mut String, style: &str, color: Option<&str>, middle: Point, text: &str) {
    if text.is_empty() {
        return;
    }
    let color = color.map_or(String::new(), |color| format!(",text={color}"));
    let (x, y) = (middle.x, middle.y);
    let _ =
        writeln!(out, "  \\node[{style}{color}] at ({x:.1},{y:.1}) {{\\strut {}}};", escape(text));
}

fn card(out: &mut String, card: &DrawnCard) {
    let (style, corners) = match card.look {
        Look::Plain => ("litmussoft", 3.0),
        Look::Initial => ("litmusline", 8.0),
        Look::Marked => ("litmusbad,line width=1.2pt", 3.0),
    };
    let place = rectangle(&card.area);
    let _ = writeln!(out, "  \\filldraw[{style},fill=white,rounded corners={corners}pt] {place};");
    let middle = card.area.middle();
    let below = |y: f64| Point { y: middle.y + y, ..middle };
    match &card.lines[..] {
        [label, detail] => {
            text(out, "event", None, below(-7.0), label);
            text(out, "label", Some("litmussoft"), below(8.0), detail);
        }
        lines => text(out, "label", Some("litmussoft"), middle, &lines.join(" ")),
    }
}

fn arrow(out: &mut String, arrow: &DrawnArrow) {
    let (used, width, dashes) = pen(arrow.kind);
    let Some((start, last)) = arrow.path.first().zip(arrow.path.last()) else { return };
    let color = color(used.name);
    let place = |point: &Point| format!("({:.1},{:.1})", point.x, point.y);
    let mut way = place(&start.0[0]);
    for curve in &arrow.path {
        let [_, b, c, d] = &curve.0;
        let _ = if curve.is_line() {
            write!(way, " -- {}", place(d))
        } else {
            write!(way, " .. controls {} and {} .. {}", place(b), place(c), place(d))
        };
    }
    let width_in_points = width * POINTS;
    let dashes: Vec<f64> = dashes.split(' ').filter_map(|part| part.parse().ok()).collect();
    let pattern: Vec<String> = dashes
        .chunks(2)
        .map(|pair| format!("on {}pt off {}pt", pair[0] * POINTS, pair[pair.len() - 1] * POINTS))
        .collect();
    let pattern = match pattern.is_empty() {
        true => String::new(),
        false => format!(",dash pattern={}", pattern.join(" ")),
    };
    let _ = writeln!(out, "  \\draw[{color},line width={width_in_points:.2}pt{pattern}] {way};");
    let corners = head(last, width).map(|corner| place(&corner)).join(" -- ");
    let _ = writeln!(out, "  \\fill[{color}] {corners} -- cycle;");
}

/// A text in LaTeX.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\\' => out.push_str("\\textbackslash{}"),
            '^' => out.push_str("\\textasciicircum{}"),
            '~' => out.push_str("\\textasciitilde{}"),
            '#' | '$' | '%' | '&' | '_' | '{' | '}' => {
                out.push('\\');
                out.push(character);
            }
            '→' => out.push_str("$\\to$"),
            '⊥' => out.push_str("$\\bot$"),
            '⊤' => out.push_str("$\\top$"),
            '≠' => out.push_str("$\\neq$"),
            '≤' => out.push_str("$\\leq$"),
            '≥' => out.push_str("$\\geq$"),
            '∧' => out.push_str("$\\wedge$"),
            '∨' => out.push_str("$\\vee$"),
            '¬' => out.push_str("$\\neg$"),
            '×' => out.push_str("$\\times$"),
            '…' => out.push_str("\\dots{}"),
            '<' => out.push_str("$<$"),
            '>' => out.push_str("$>$"),
            '|' => out.push_str("$|$"),
            // In fonts of eight bits, dashes join.
            '-' => out.push_str("{-}"),
            c if c.is_control() => {}
            c => out.push(c),
        }
    }
    out
}
