//! Explanations as pictures: a lane for each CPU thread and for each of its queue pairs, program order
//! downwards.
//!
//! [`scene`] says what is shown, [`layout`] where, and [`svg`] how that is written.

mod geometry;
mod labels;
mod layout;
mod routes;
mod scene;
mod svg;
mod tikz;

use lang::source::Source;

use super::text::named_relations;
use super::weak::Weakness;
use super::words::Words;
use super::{Broken, Edge, Explanation, Reason, Step};
use crate::execution::Execution;
pub use geometry::{Area, Curve, Point};
pub use layout::{Drawing, DrawnArrow, DrawnCard};
pub(super) use scene::Link;
use scene::Scene;
pub use scene::{Kind, Look};
pub(super) use svg::pen;
pub use svg::{STYLE, escape_xml};

impl Explanation<'_> {
    /// The execution as a picture that stands for itself; `None` if there is none to draw.
    pub fn svg(&self, source: &Source) -> Option<String> {
        Some(svg::svg(&self.drawing(source)?, false))
    }

    /// The same for a page that has [`STYLE`].
    pub fn svg_for_page(&self, source: &Source) -> Option<String> {
        Some(svg::svg(&self.drawing(source)?, true))
    }

    /// The execution as a picture in TikZ, for LaTeX; `None` if there is none to draw.
    pub fn tikz(&self, source: &Source) -> Option<String> {
        Some(tikz::tikz(&self.drawing(source)?))
    }

    /// The execution as a picture with all its places; `None` if there is none to draw.
    pub fn drawing(&self, source: &Source) -> Option<Drawing> {
        let (execution, steps) = self.shown()?;
        let words = Words::new(self.question, source, execution);
        let title = match &self.reason {
            Reason::Broken(broken) => {
                format!("{}: an execution that breaks {}", self.question.test.name, broken.axiom)
            }
            _ => format!("{}: an execution", self.question.test.name),
        };
        let weakness = self.weakness();
        let links = self.links(execution, steps, weakness.as_ref());
        Some(layout::lay_out(&Scene::new(title, &words, &links, steps)))
    }

    /// The execution that there is to draw, and the steps by which it breaks an axiom.
    pub(super) fn shown(&self) -> Option<(&Execution, &[Step])> {
        match &self.reason {
            Reason::Witness(execution) => Some((execution, &[])),
            Reason::Broken(Broken { execution, steps, .. }) => Some((execution, steps)),
            _ => None,
        }
    }

    /// What is drawn: program order, rf, pf, the order of writes, and the steps that break an axiom, or those
    /// by which an outcome is weak.
    pub(super) fn links(
        &self,
        execution: &Execution,
        steps: &[Step],
        weakness: Option<&Weakness>,
    ) -> Vec<Link> {
        let mut links: Vec<Link> = Vec::new();
        let mut push = |edge: Edge, name: &str, kind| {
            links.push(Link { edge, name: name.to_owned(), kind });
        };
        for step in steps {
            push((step.from, step.to), &step.relation, Kind::Bad);
        }
        let thread = |event| self.question.skeleton.event(event).thread;
        let mut others: Vec<(Edge, &str)> = Vec::new();
        for pair in execution.events.windows(2) {
            let edge = (pair[0].event, pair[1].event);
            if thread(edge.0).is_some() && thread(edge.0) == thread(edge.1) {
                others.push((edge, "po"));
            }
        }
        for step in weakness.iter().flat_map(|weakness| &weakness.not_kept) {
            let edge = (step.step.from, step.step.to);
            let name = format!("{}, not kept", step.step.relation);
            push(edge, &name, Kind::NotKept);
            others.retain(|other| *other != (edge, step.step.relation.as_str()));
        }
        let named = named_relations(execution);
        for (name, pairs) in &named {
            // Who reads an initial value shows it; that it was first needs no arrow.
            let pairs = pairs.iter().filter(|edge| thread(edge.0).is_some());
            others.extend(pairs.map(|edge| (*edge, *name)));
        }
        for step in weakness.iter().flat_map(|weakness| &weakness.cycle) {
            let edge = (step.from, step.to);
            if step.relation != "po"
                && !others
                    .iter()
                    .any(|(known, name)| (*known, *name) == (edge, step.relation.as_str()))
            {
                others.push((edge, &step.relation));
            }
        }
        for (edge, name) in others {
            let Some(kind) = kind(name) else { continue };
            let is_said = |link: &Link| name == "po" || link.name.starts_with(name);
            match links
                .iter_mut()
                .find(|link| link.edge == edge && (is_said(link) || link.kind == Kind::Bad))
            {
                Some(link) if is_said(link) => {}
                // One arrow says both.
                Some(link) => link.name = format!("{}, {name}", link.name),
                None => links.push(Link { edge, name: name.to_owned(), kind }),
            }
        }
        links
    }
}

/// How a relation is drawn. Orders whose pairs mostly do not affect the outcome are not drawn.
fn kind(name: &str) -> Option<Kind> {
    Some(match name.rsplit('.').next().unwrap_or(name) {
        "po" => Kind::Program,
        "rf" => Kind::ReadsFrom,
        "mo" | "co" => Kind::Memory,
        "pf" => Kind::Completion,
        "rb" | "fr" | "so" => Kind::Other,
        _ => return None,
    })
}
