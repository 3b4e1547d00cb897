//! Explanations as pictures: a lane for each CPU thread, NIC and memory of each node, time downwards.
//!
//! Lanes fix where an event is from left to right, and an order of the events where it is from top to bottom; what
//! is left to lay out is curves and their names, which keep out of each other's way.

mod edges;
mod lanes;

use std::collections::BTreeSet;
use std::fmt::Write;

use compiler::skeleton::EventId;
use lang::source::Source;

use super::text::named_relations;
use super::words::Words;
use super::{Broken, Edge, Explanation, Reason};
use edges::{Curve, draw_edges};
use lanes::{Lanes, Placed};

/// The height of a row.
const ROW: f64 = 54.0;
/// The height of an event's box.
const BOX: f64 = 30.0;
/// Where the first row begins.
const TOP: f64 = 58.0;
/// The width of a character of an event's text.
const CHARACTER: f64 = 7.3;

/// What colors the parts of a picture have, in light and dark surroundings. A page that holds several pictures
/// needs this once; [`Explanation::svg`] has it in each.
pub const STYLE: &str = "\
.xg{--ink:#1b1f24;--soft:#8b949e;--lane:#f3f5f8;--box:#fff;--rf:#1a7f37;--mo:#0969da;--pf:#8250df;--rb:#bc4c00;--bad:#cf222e}\
@media(prefers-color-scheme:dark){.xg{--ink:#e6edf3;--soft:#7d8590;--lane:#161b22;--box:#0d1117;--rf:#3fb950;--mo:#58a6ff;--pf:#bc8cff;--rb:#f0883e;--bad:#ff7b72}}\
.xg text{font:12px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:var(--ink);text-anchor:middle}\
.xg .head{font-weight:600}.xg .lane{fill:var(--lane)}.xg .node{fill:none;stroke:var(--soft);stroke-dasharray:2 3}\
.xg .box{fill:var(--box);stroke:var(--soft)}.xg .in{stroke:var(--bad);stroke-width:2}\
.xg path{fill:none;stroke:var(--c);stroke-width:1.4}.xg path.tip{fill:var(--c);stroke:none}.xg .name{font-size:11px;fill:var(--c);paint-order:stroke;stroke:var(--lane);stroke-width:4px;stroke-linejoin:round}\
.xg .po{--c:var(--soft)}.xg .rf{--c:var(--rf)}.xg .mo{--c:var(--mo)}.xg .pf{--c:var(--pf)}.xg .other{--c:var(--rb)}.xg .bad{--c:var(--bad)}.xg .bad path{stroke-width:2.4}.xg .po path{stroke-dasharray:3 3}";

/// An arrow of a picture.
struct Arrow {
    from: EventId,
    to: EventId,
    name: String,
    class: &'static str,
}

impl Explanation<'_> {
    /// The execution as a picture that stands for itself; `None` if there is none to draw.
    pub fn svg(&self, source: &Source) -> Option<String> {
        self.picture(source, true)
    }

    /// The same for a page that has [`STYLE`].
    pub fn svg_for_page(&self, source: &Source) -> Option<String> {
        self.picture(source, false)
    }

    fn picture(&self, source: &Source, has_style: bool) -> Option<String> {
        let (execution, steps) = match &self.reason {
            Reason::Witness(execution) => (execution, &[][..]),
            Reason::Broken(Broken { execution, steps, .. }) => (execution, &steps[..]),
            _ => return None,
        };
        let words = Words { question: self.question, source, execution };
        let arrows = self.arrows();
        let cycle: BTreeSet<EventId> = steps.iter().flat_map(|step| [step.from, step.to]).collect();
        let lanes = Lanes::new(&words, &arrows);
        let title = match &self.reason {
            Reason::Broken(broken) => {
                format!("{}: a way around that breaks {}", self.question.test.name, broken.axiom)
            }
            _ => format!("{}: an execution", self.question.test.name),
        };
        let mut out = String::new();
        // Writing into a string cannot fail.
        let _ = write!(
            out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"xg\" role=\"img\" viewBox=\"0 0 {:.0} {:.0}\" width=\"{:.0}\" height=\"{:.0}\"><title>{}</title>",
            lanes.width,
            lanes.height,
            lanes.width,
            lanes.height,
            escape(&title)
        );
        if has_style {
            let _ = write!(
                out,
                "<style>{STYLE}</style><rect class=\"lane\" width=\"100%\" height=\"100%\"/>"
            );
        }
        lanes.draw_background(&mut out);
        let curves: Vec<Curve<'_>> = arrows
            .iter()
            .filter_map(|arrow| {
                let (from, to) = (lanes.place(arrow.from)?, lanes.place(arrow.to)?);
                Some(Curve { from, to, name: &arrow.name, class: arrow.class })
            })
            .collect();
        let boxes: Vec<Placed> = lanes.places().collect();
        let names = draw_edges(&curves, &boxes, &mut out);
        for (event, place) in &lanes.events {
            let class = if cycle.contains(event) { "box in" } else { "box" };
            let _ = write!(
                out,
                "<g><title>{}</title><rect class=\"{class}\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{BOX:.0}\" rx=\"5\"/><text x=\"{:.1}\" y=\"{:.1}\">{}</text></g>",
                escape(&format!("{} ({})", words.action(*event), words.statement(*event))),
                place.x - place.width / 2.0,
                place.y - BOX / 2.0,
                place.width,
                place.x,
                place.y + 4.0,
                escape(&words.label(*event)),
            );
        }
        out.push_str(&names);
        out.push_str("</svg>");
        if has_style {
            out.push('\n');
        }
        Some(out)
    }

    /// What is drawn: program order, rf, pf, the model's orders, and on top the steps of the cycle.
    fn arrows(&self) -> Vec<Arrow> {
        let (execution, steps) = match &self.reason {
            Reason::Broken(Broken { execution, steps, .. }) => (execution, &steps[..]),
            Reason::Witness(execution) => (execution, &[][..]),
            _ => return Vec::new(),
        };
        let is_step = |edge: Edge| steps.iter().any(|step| (step.from, step.to) == edge);
        let mut arrows: Vec<Arrow> = Vec::new();
        let mut push = |(from, to): Edge, name: &str, class| {
            arrows.push(Arrow { from, to, name: name.to_owned(), class });
        };
        let thread = |event: EventId| self.question.skeleton.event(event).thread;
        for pair in execution.events.windows(2) {
            let edge = (pair[0].event, pair[1].event);
            if thread(edge.0).is_some() && thread(edge.0) == thread(edge.1) && !is_step(edge) {
                push(edge, "", "po");
            }
        }
        for (name, pairs) in named_relations(execution) {
            let class = match name {
                "rf" => "rf",
                "mo" | "co" => "mo",
                "pf" => "pf",
                _ => "other",
            };
            for edge in pairs {
                // Initial writes come first; an arrow for each is of no use unless someone reads there.
                let is_initial = thread(edge.0).is_none() && name != "rf";
                if !is_initial && !is_step(edge) {
                    push(edge, name, class);
                }
            }
        }
        for step in steps {
            push((step.from, step.to), &step.relation, "bad");
        }
        arrows
    }
}

/// A text in XML.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // XML has no other control characters, not even escaped.
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}
