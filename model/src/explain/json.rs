//! Explanations as JSON.

use lang::source::Source;
use serde_json::json;

use super::text::named_relations;
use super::weak::Weakness;
use super::words::Words;
use super::{Between, Broken, Explanation, Reason, Shape, Step};
use crate::execution::Execution;

impl Explanation<'_> {
    /// The explanation as JSON: verdict; axiom and steps, or what makes the outcome weak; events and
    /// relations.
    pub fn json(&self, source: &Source) -> serde_json::Value {
        let mut value = match &self.reason {
            Reason::Witness(execution) => self.witness_json(source, execution),
            Reason::NoCandidate(_) => json!({ "verdict": "forbidden", "reason": "no-candidate" }),
            Reason::NothingEnds(_) => json!({ "verdict": "forbidden", "reason": "nothing-ends" }),
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
        if self.by_machine {
            value["proved_by"] = json!("explore");
        }
        value["asked"] = json!(self.asked.text);
        value["test"] = json!(self.question.test.name);
        value["model"] = json!(self.question.model.name);
        if let Reason::Witness(execution) | Reason::Broken(Broken { execution, .. }) = &self.reason
        {
            value["execution"] = self.execution_json(source, execution);
        }
        value
    }

    fn witness_json(&self, source: &Source, execution: &Execution) -> serde_json::Value {
        let words = self.words(source, execution);
        let Some(Weakness { cycle, not_kept, order }) = self.weakness() else {
            return json!({ "verdict": "allowed" });
        };
        let cycle: Vec<_> = cycle.iter().map(|step| step_json(step, &words)).collect();
        let not_kept = not_kept.iter().map(|lost| {
            let mut value = json!({
                "from": lost.step.from.0,
                "to": lost.step.to.0,
                "relation": lost.step.relation,
                "because": words.why_not_kept(lost),
            });
            if let Some(cell) = &lost.cell {
                value["cell"] = json!(format!("{}[{}, {}]", cell.table, cell.row, cell.column));
            }
            value
        });
        let not_kept: Vec<_> = not_kept.collect();
        let order: Vec<usize> = order.iter().map(|event| event.0).collect();
        let mut json =
            json!({ "verdict": "allowed", "not_kept": not_kept, "cycle": cycle, "order": order });
        let between = self.between();
        if !between.is_empty() {
            let halves = |one: &Between| {
                let Between { read, other, write } = one;
                json!({ "read": read.0, "other": other.0, "write": write.0 })
            };
            json["between"] = between.iter().map(halves).collect();
        }
        json
    }

    fn broken_json(&self, source: &Source, broken: &Broken) -> serde_json::Value {
        let words = self.words(source, &broken.execution);
        let shape = broken.shape();
        let steps = broken.steps.iter().filter(|_| shape != Shape::Event);
        let steps: Vec<_> = steps.map(|step| step_json(step, &words)).collect();
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

fn step_json(step: &Step, words: &Words<'_>) -> serde_json::Value {
    json!({
        "from": step.from.0,
        "to": step.to.0,
        "relation": step.relation,
        "because": words.because(step),
    })
}
