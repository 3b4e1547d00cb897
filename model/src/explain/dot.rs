//! Explanations in the DOT language.

use std::collections::BTreeMap;
use std::fmt::Write;

use compiler::skeleton::EventId;
use lang::program::ThreadId;
use lang::source::Source;

use super::text::named_relations;
use super::words::Words;
use super::{Broken, Explanation, Reason};

impl Explanation<'_> {
    /// The execution as a graph in the DOT language; `None` if there is none to draw.
    pub fn dot(&self, source: &Source) -> Option<String> {
        let (execution, steps) = match &self.reason {
            Reason::Witness(execution) => (execution, &[][..]),
            Reason::Broken(Broken { execution, steps, .. }) => (execution, &steps[..]),
            _ => return None,
        };
        let words = Words { question: self.question, source, execution };
        let mut out = String::new();
        // Writing into a string cannot fail.
        let _ = writeln!(out, "digraph execution {{\n  node [shape=box];");
        let mut threads: BTreeMap<Option<ThreadId>, Vec<EventId>> = BTreeMap::new();
        for happening in &execution.events {
            let event = self.question.skeleton.event(happening.event);
            threads.entry(event.thread).or_default().push(happening.event);
            let owner = event.thread.map_or(String::new(), |id| format!("T{}: ", id.number()));
            let label = escape(&format!("{owner}{}", words.label(happening.event)));
            let _ = writeln!(out, "  e{} [label=\"{label}\"];", happening.event.0);
        }
        let mut edges: Vec<(EventId, EventId, String, &str)> = Vec::new();
        for (_, events) in threads.iter().filter(|(thread, _)| thread.is_some()) {
            edges
                .extend(events.windows(2).map(|pair| (pair[0], pair[1], "po".to_owned(), "black")));
        }
        for (name, pairs) in named_relations(execution) {
            let color = color(name);
            edges.extend(pairs.into_iter().map(|(a, b)| (a, b, name.to_owned(), color)));
        }
        for step in steps {
            edges.retain(|(a, b, name, _)| (*a, *b, name) != (step.from, step.to, &step.relation));
            edges.push((step.from, step.to, step.relation.clone(), "red"));
        }
        for (from, to, name, color) in edges {
            let name = escape(&name);
            let _ =
                writeln!(out, "  e{} -> e{} [label=\"{name}\", color=\"{color}\"];", from.0, to.0);
        }
        out.push_str("}\n");
        Some(out)
    }
}

fn color(relation: &str) -> &'static str {
    match relation {
        "rf" => "forestgreen",
        "mo" | "co" => "blue",
        "pf" => "purple",
        _ => "orange",
    }
}

fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}
