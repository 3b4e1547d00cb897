//! Explanations in the DOT language.

use std::collections::BTreeMap;
use std::fmt::Write;

use lang::program::ThreadId;
use lang::source::Source;
use skeleton::EventId;

use super::Explanation;
use super::picture::{Kind, Link, pen};
use super::words::Words;

impl Explanation<'_> {
    /// The execution as a graph in the DOT language; `None` if there is none to draw.
    pub fn dot(&self, source: &Source) -> Option<String> {
        let (execution, steps) = self.shown()?;
        let words = Words::new(self.question, source, execution);
        let links = self.links(execution, steps, self.weakness().as_ref());
        let is_touched =
            |event: EventId| links.iter().any(|link| [link.edge.0, link.edge.1].contains(&event));
        let program = &self.question.test.program;
        let mut threads: BTreeMap<Option<ThreadId>, Vec<EventId>> = BTreeMap::new();
        for happening in &execution.events {
            let thread = self.question.skeleton.event(happening.event).thread;
            if thread.is_some() || is_touched(happening.event) {
                threads.entry(thread).or_default().push(happening.event);
            }
        }
        let mut out = String::new();
        // Writing into a string cannot fail, here and below.
        let _ = writeln!(out, "digraph execution {{\n  node [shape=box, fontname=monospace];");
        let _ = writeln!(out, "  edge [fontname=monospace];");
        for (thread, events) in &threads {
            let mut indent = "  ";
            if let Some(id) = thread {
                let (number, node) = (id.number(), program.threads[id.0].node.0);
                let _ = writeln!(out, "  subgraph cluster_{number} {{");
                let _ = writeln!(out, "    label=\"thread {number}, node {node}\";");
                indent = "    ";
            }
            for event in events {
                let mut label = escape(&words.short_label(*event));
                if thread.is_some() {
                    label = format!("{label}\\n{}", escape(&words.statement_text(*event)));
                }
                let _ = writeln!(out, "{indent}e{} [label=\"{label}\"];", event.0);
            }
            if thread.is_some() {
                let _ = writeln!(out, "  }}");
            }
        }
        for Link { edge, name, kind } in &links {
            let (color, _, dashes) = pen(*kind);
            let style = match (dashes.is_empty(), kind) {
                (_, Kind::Bad) => "bold",
                (true, _) => "solid",
                (false, _) => "dashed",
            };
            let (name, color) = (escape(name), color.value);
            let _ = writeln!(
                out,
                "  e{} -> e{} [label=\"{name}\", color=\"{color}\", fontcolor=\"{color}\", style={style}];",
                edge.0.0, edge.1.0
            );
        }
        out.push_str("}\n");
        Some(out)
    }
}

fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}
