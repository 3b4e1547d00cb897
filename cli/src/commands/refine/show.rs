//! What a check found, as text and as JSON.

use std::time::Duration;

use lang::outcome::Value;
use model::refine::{Bounds, STATEMENTS, Wrong};
use serde_json::{Value as Json, json};

use super::record::Head;
use super::{Arguments, Tally};

/// A check that has ended.
pub struct Ended<'a> {
    pub name: &'a str,
    pub arguments: &'a Arguments,
    /// Whether its specification is a sequential object.
    pub is_sequential: bool,
    /// The bounds in words.
    pub up_to: &'a str,
    pub tally: &'a Tally,
    /// What is checked.
    pub head: &'a Head,
    /// How many clients that are.
    pub clients: usize,
    /// How many were checked now, and how long that took.
    pub checked: usize,
    pub took: Duration,
    pub was_stopped: bool,
}

impl Ended<'_> {
    /// In words.
    pub fn table(&self) -> String {
        let Self { name, tally, up_to, clients, .. } = self;
        let done = tally.decided();
        let mut out = match &tally.refuted {
            Some((client, _)) => {
                let position = self.head.numbers().take_while(|number| number <= client).count();
                format!("{name}: refuted by client {position} of {clients}\n")
            }
            None if tally.compared() == 0 && done == *clients => {
                format!("{name}: nothing to compare in clients of up to {up_to}\n")
            }
            None if done < *clients => {
                format!("{name}: holds for {done} of {clients} clients of up to {up_to}\n")
            }
            None if !tally.uncalled.is_empty() => {
                let calls = tally.uncalled.join("`, `");
                format!(
                    "{name}: holds where no `{calls}` is called, of which nothing is known, up to {up_to}\n"
                )
            }
            None if !tally.never.is_empty() => {
                format!("{name}: sound, and never does what it may, up to {up_to}\n")
            }
            None => format!("{name}: holds up to {up_to}\n"),
        };
        let seconds = self.took.as_secs_f64();
        let rate = self.checked as f64 / seconds.max(0.001);
        out.push_str(&format!(
            "  {} clients up to symmetry, {} {}; {seconds:.1} s, {rate:.0} clients per second\n",
            tally.compared() + tally.nothing(),
            tally.outcomes(),
            if self.is_sequential { "histories" } else { "outcomes of their specifications" },
        ));
        out.push_str(&self.left_open());
        for never in &tally.never {
            out.push_str(&format!(
                "  `{}` never returned more than 0 or ⊥ in clients of up to {STATEMENTS} statements, and the specification lets it:\n\n{}\n",
                never.method, never.program.trim_end()
            ));
        }
        if let Some((_, found)) = &tally.refuted {
            let part = |title: &str, text: &str| format!("\n{title}\n\n{}\n", text.trim_end());
            let titles = match found.wrong {
                Wrong::Outcome => [
                    "The client, with the outcome that it should not have:",
                    "The implementation shows it:",
                    "The specification forbids it:",
                ],
                Wrong::History => [
                    "The client, with a history that it should not have:",
                    "The implementation shows it:",
                    "The history is not linearizable:",
                ],
                Wrong::Stuck => [
                    "The client, which the implementation does not let end:",
                    "The implementation is stuck:",
                    "The specification is not:",
                ],
                Wrong::Misuse => [
                    "The client:",
                    "The implementation misuses a lower library:",
                    "Which must not be:",
                ],
            };
            for (title, text) in
                titles.iter().zip([&found.program, &found.execution, &found.forbidden])
            {
                out.push_str(&part(title, text));
            }
        }
        out
    }

    /// What the answer is not about.
    fn left_open(&self) -> String {
        let tally = self.tally;
        let mut out = String::new();
        if tally.ill_formed() > 0 {
            out.push_str(&format!("  {} left out: not well formed\n", tally.ill_formed()));
        }
        if tally.nothing() > 0 {
            let (count, of) = (tally.nothing(), tally.compared() + tally.nothing());
            out.push_str(&format!(
                "  {count} of {of} clients do not end, by their specifications, and did not\n"
            ));
        }
        if tally.cut_off() > 0 {
            let (count, loops) = (tally.cut_off(), self.arguments.loops);
            out.push_str(&format!("  in {count}, a loop goes round more often than {loops} times; further rounds were followed over the implementations of lower libraries\n"));
        }
        if tally.undecided() > 0 {
            let reason = tally.reason().unwrap_or("a limit was reached");
            out.push_str(&format!("  {} unknown: {reason}\n", tally.undecided()));
        }
        out
    }

    /// As JSON.
    pub fn json(&self) -> Json {
        let Self { name, arguments, tally, .. } = self;
        let Bounds { threads, calls, nodes, plain, size, .. } = arguments.bounds();
        let done = tally.decided();
        let verdict = match () {
            () if tally.refuted.is_some() => "refuted",
            () if self.was_stopped || done < self.clients || tally.compared() == 0 => "unknown",
            () if !tally.never.is_empty() || !tally.uncalled.is_empty() => "unknown",
            () => "holds",
        };
        let value = |value: &Value| serde_json::to_value(value).unwrap_or(Json::Null);
        let found = tally.refuted.as_ref().map(|(_, found)| {
            let outcome: serde_json::Map<String, Json> =
                found.outcome.iter().map(|(name, v)| (name.clone(), value(v))).collect();
            json!({
                "wrong": found.wrong.name(), "program": found.program, "outcome": outcome,
                "execution": found.execution, "forbidden": found.forbidden,
            })
        });
        let never = tally.never.iter();
        let never: Vec<Json> =
            never.map(|n| json!({ "method": n.method, "program": n.program })).collect();
        json!({
            "schema": "litmus-refine/1", "library": name, "verdict": verdict,
            "bounds": {
                "threads": threads, "calls": calls, "nodes": nodes, "values": arguments.values, "plain": plain,
                "objects": arguments.objects, "size": size, "loops": arguments.loops,
            },
            "up_to": self.up_to,
            "clients": self.clients, "checked": done, "ill_formed": tally.ill_formed(),
            "nothing_to_compare": tally.nothing(), "outcomes": tally.outcomes(),
            "cut_off": tally.cut_off(), "unknown": tally.undecided(),
            "reason": tally.reason(), "interrupted": self.was_stopped,
            "never": never, "uncalled": tally.uncalled, "seconds": self.took.as_secs_f64(), "counterexample": found,
        })
    }
}
