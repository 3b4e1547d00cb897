//! Explanations as text and JSON.

use std::fmt::Write;

use lang::source::Source;

use super::words::Words;
use super::{Broken, Explanation, Reason, Shape};
use crate::execution::Execution;

impl Explanation<'_> {
    /// The explanation in words.
    pub fn text(&self, source: &Source) -> String {
        let mut out = String::new();
        // Writing into a string cannot fail.
        let _ = match &self.reason {
            Reason::Witness(execution) => self.witness(source, execution, &mut out),
            Reason::Broken(broken) => self.broken(source, broken, &mut out),
            Reason::NoCandidate(_) => writeln!(
                out,
                "forbidden: no execution of the program gives these values, whatever the memory model"
            ),
            Reason::Misused(misuse) => {
                let line = source.line_column(misuse.span.start).0;
                let statement = source.text.get(misuse.span.range()).unwrap_or_default();
                let help = misuse.help.as_deref().unwrap_or_default();
                writeln!(
                    out,
                    "excluded: {}\n  (line {line}: `{statement}`)\n{help}",
                    misuse.message
                )
            }
            Reason::Proved(_) => writeln!(
                out,
                "forbidden under {}: the solver proved it; no execution that would show it was found in time",
                self.question.model.name
            ),
            Reason::Unknown(why) => {
                writeln!(out, "unknown under {}: {why}", self.question.model.name)
            }
        };
        out
    }

    fn words<'a>(&'a self, source: &'a Source, execution: &'a Execution) -> Words<'a> {
        Words { question: self.question, source, execution }
    }

    fn outcome(&self, execution: &Execution) -> String {
        let names = self.question.test.observables.iter();
        let pairs = names
            .zip(&execution.outcome.0)
            .map(|(shown, value)| format!("{} = {}", shown.name, shown.show(*value)));
        pairs.collect::<Vec<_>>().join(", ")
    }

    fn witness(
        &self,
        source: &Source,
        execution: &Execution,
        out: &mut String,
    ) -> std::fmt::Result {
        let model = &self.question.model.name;
        writeln!(out, "allowed under {model}: {}\n", self.outcome(execution))?;
        writeln!(out, "This execution shows it:")?;
        self.events(source, execution, out)?;
        self.edges(source, execution, out)
    }

    fn broken(&self, source: &Source, broken: &Broken, out: &mut String) -> std::fmt::Result {
        let model = &self.question.model.name;
        let execution = &broken.execution;
        writeln!(out, "forbidden under {model}: {}\n", self.outcome(execution))?;
        writeln!(out, "The solver proved that no consistent execution gives this outcome.")?;
        let Some(chain) = self.chain(source) else { return Ok(()) };
        let (axiom, by) = (&chain.axiom, chain.shape.words());
        if broken.is_about_undefined() {
            writeln!(out, "In the nearest execution, ⊤ is not where the model says, `{axiom}`:")?;
        } else {
            writeln!(out, "The nearest execution breaks the axiom `{axiom}`, by {by}:")?;
        }
        if let Some(says) = &chain.says {
            writeln!(out, "\n  \"{says}\"")?;
        }
        writeln!(out)?;
        for step in &chain.steps {
            writeln!(out, "  {:<14} {}", step.event, step.action)?;
            writeln!(out, "  {:<14}   ({})", "", step.statement)?;
            writeln!(out, "    → {}: {}", step.relation, step.because)?;
        }
        let end = &chain.end;
        if chain.shape == Shape::Cycle {
            writeln!(out, "  {:<14} {}", end.event, end.ending)?;
        } else {
            writeln!(out, "  {:<14} {},", end.event, end.action)?;
            writeln!(out, "  {:<14}   ({})", "", end.statement)?;
            writeln!(out, "  {:<14} {}", "", end.ending)?;
        }
        writeln!(out, "\nAll events of that execution:")?;
        self.events(source, execution, out)?;
        self.edges(source, execution, out)
    }

    fn events(&self, source: &Source, execution: &Execution, out: &mut String) -> std::fmt::Result {
        let words = self.words(source, execution);
        let mut thread = None;
        for happening in &execution.events {
            let event = self.question.skeleton.event(happening.event);
            if thread != Some(event.thread) {
                thread = Some(event.thread);
                match event.thread {
                    None => writeln!(out, "  initially")?,
                    Some(id) => {
                        let node = self.question.test.program.threads[id.0].node.0;
                        writeln!(out, "  thread {} on node {node}", id.number())?;
                    }
                }
            }
            let label = words.label(happening.event);
            match event.thread {
                None => writeln!(out, "    {:>2}  {label}", happening.event.0)?,
                Some(_) => {
                    write!(out, "    {:>2}  {label:<16}", happening.event.0)?;
                    let text = source.text.get(event.span.range()).unwrap_or_default();
                    writeln!(out, "  {}", text.split_whitespace().collect::<Vec<_>>().join(" "))?;
                }
            }
        }
        Ok(())
    }

    fn edges(&self, source: &Source, execution: &Execution, out: &mut String) -> std::fmt::Result {
        let words = self.words(source, execution);
        for (name, pairs) in named_relations(execution) {
            if pairs.is_empty() {
                continue;
            }
            let shown: Vec<String> = pairs
                .iter()
                .map(|(a, b)| format!("{} {} → {} {}", a.0, words.label(*a), b.0, words.label(*b)))
                .collect();
            writeln!(out, "  {name}: {}", shown.join("; "))?;
        }
        Ok(())
    }

    /// The explanation as JSON: verdict, axiom, steps, events and relations.
    pub fn json(&self, source: &Source) -> serde_json::Value {
        use serde_json::json;
        let mut value = match &self.reason {
            Reason::Witness(_) => json!({ "verdict": "allowed" }),
            Reason::NoCandidate(_) => json!({ "verdict": "forbidden", "reason": "no-candidate" }),
            Reason::Proved(_) => json!({ "verdict": "forbidden", "reason": "proved" }),
            Reason::Misused(misuse) => json!({
                "verdict": "forbidden",
                "reason": "not-well-formed",
                "code": misuse.code,
                "message": misuse.message,
                "line": source.line_column(misuse.span.start).0,
            }),
            Reason::Unknown(why) => json!({ "verdict": "unknown", "reason": why }),
            Reason::Broken(broken) => self.broken_json(source, broken),
        };
        value["test"] = json!(self.question.test.name);
        value["model"] = json!(self.question.model.name);
        if let Reason::Witness(execution) | Reason::Broken(Broken { execution, .. }) = &self.reason
        {
            value["execution"] = self.execution_json(source, execution);
        }
        value
    }

    fn broken_json(&self, source: &Source, broken: &Broken) -> serde_json::Value {
        use serde_json::json;
        let words = self.words(source, &broken.execution);
        let shape = broken.shape();
        let steps = broken.steps.iter().filter(|_| shape != Shape::Event);
        let steps: Vec<_> = steps
            .map(|step| {
                json!({
                    "from": step.from.0,
                    "to": step.to.0,
                    "relation": step.relation,
                    "because": words.because(step),
                })
            })
            .collect();
        json!({
            "verdict": "forbidden",
            "reason": "axiom",
            "axiom": broken.axiom,
            "axioms": broken.all_axioms,
            "says": self.comment(broken),
            "shape": shape,
            "steps": steps,
            "end": broken.steps.last().map(|step| step.to.0),
            "ending": self.ending(broken),
        })
    }

    fn execution_json(&self, source: &Source, execution: &Execution) -> serde_json::Value {
        use serde_json::json;
        let words = self.words(source, execution);
        let events: Vec<_> = execution
            .events
            .iter()
            .map(|happening| {
                let event = self.question.skeleton.event(happening.event);
                json!({
                    "id": happening.event.0,
                    "label": words.label(happening.event),
                    "stamp": event.stamp.name(),
                    "thread": event.thread.map(lang::program::ThreadId::number),
                    "line": source.line_column(event.span.start).0,
                    "action": words.action(happening.event),
                })
            })
            .collect();
        let relations: serde_json::Map<String, serde_json::Value> = named_relations(execution)
            .into_iter()
            .map(|(name, pairs)| {
                let pairs: Vec<[usize; 2]> = pairs.iter().map(|(a, b)| [a.0, b.0]).collect();
                (name.to_owned(), json!(pairs))
            })
            .collect();
        let names = self.question.test.observables.iter().zip(&execution.outcome.0);
        let outcome: serde_json::Map<String, serde_json::Value> =
            names.map(|(name, value)| (name.name.clone(), json!(value))).collect();
        json!({ "outcome": outcome, "events": events, "relations": relations })
    }
}

/// rf, pf and the model's orders, without what transitivity gives.
pub(super) fn named_relations(execution: &Execution) -> Vec<(&str, Vec<super::Edge>)> {
    let mut named =
        vec![("rf", execution.reads_from.clone()), ("pf", execution.polls_from.clone())];
    for (name, pairs) in &execution.orders {
        let related = |a, b| pairs.contains(&(a, b));
        let through = |a, b| pairs.iter().any(|(x, m)| *x == a && related(*m, b));
        let direct = pairs.iter().copied().filter(|(a, b)| !through(*a, *b));
        named.push((name, direct.collect()));
    }
    named
}
