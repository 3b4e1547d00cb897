//! Explanations as text.

use std::fmt::Write;

use lang::source::Source;
use skeleton::{EventId, Stamp};

use super::weak::Weakness;
use super::words::Words;
use super::{Broken, Explanation, Reason, Shape};
use crate::execution::Execution;
use crate::machine::{never_comes_back, why_nothing};

impl Explanation<'_> {
    /// The explanation in words.
    pub fn text(&self, source: &Source) -> String {
        let mut out = String::new();
        // Writing into a string cannot fail.
        let _ = match &self.reason {
            Reason::Witness(execution) => self.witness(source, execution, &mut out),
            Reason::Broken(broken) => self.broken(source, broken, &mut out),
            Reason::NoCandidate(_) => {
                let ends =
                    if never_comes_back(&self.question.test.program) { " and ends" } else { "" };
                writeln!(
                    out,
                    "forbidden: no execution of the program gives {}{ends}, whatever the memory model",
                    self.asked.text
                )
            }
            Reason::NothingEnds(_) => {
                let (model, asked) = (&self.question.model.name, &self.asked.text);
                let why = self.why_nothing();
                writeln!(
                    out,
                    "forbidden under {model}, as every outcome is: {asked}\n\nThis is not evidence against {asked}: {why}."
                )
            }
            Reason::Misused(misuse) => {
                let line = source.line_column(misuse.span.start).0;
                let statement = source.text.get(misuse.span.range()).unwrap_or_default();
                let help = misuse.help.as_deref().unwrap_or_default();
                writeln!(
                    out,
                    "excluded: {}\n\n{}\n  (line {line}: `{statement}`)\n{help}",
                    self.asked.text, misuse.message
                )
            }
            Reason::Proved(_) => writeln!(
                out,
                "forbidden under {}: {}\n\n{} No execution that would show it was found.",
                self.question.model.name,
                self.asked.text,
                self.proved()
            ),
            Reason::Unknown(why) => {
                let (model, asked) = (&self.question.model.name, &self.asked.text);
                writeln!(out, "unknown under {model}: {asked}\n\nNot known, because {why}.")
            }
        };
        out
    }

    /// What proved that an outcome is forbidden.
    fn proved(&self) -> &'static str {
        match self.by_machine {
            false => "The solver proved that no consistent execution gives this outcome.",
            true => "Exploring the model's machine proved that no execution gives this outcome.",
        }
    }

    /// Why there is no execution at all, in words.
    pub fn why_nothing(&self) -> &'static str {
        why_nothing(&self.question.test.program, false)
    }

    pub(super) fn words<'a>(&'a self, source: &'a Source, execution: &'a Execution) -> Words<'a> {
        Words::new(self.question, source, execution)
    }

    pub(super) fn outcome(&self, execution: &Execution) -> String {
        let names = self.question.test.observables.iter();
        let pairs = names
            .zip(&execution.outcome.0)
            .map(|(shown, value)| format!("{} = {}", shown.name, shown.show(*value)));
        pairs.collect::<Vec<_>>().join(", ")
    }

    /// The outcome of an execution, where more was left open.
    fn example(&self, execution: &Execution) -> Option<String> {
        let fixed = self.asked.condition.fixed();
        let shown = execution.outcome.0.iter().copied();
        let is_open = shown.enumerate().any(|value| !fixed.contains(&value));
        is_open.then(|| self.outcome(execution))
    }

    fn witness(
        &self,
        source: &Source,
        execution: &Execution,
        out: &mut String,
    ) -> std::fmt::Result {
        let model = &self.question.model.name;
        let example = self.example(execution).map(|outcome| format!("\nfor example: {outcome}"));
        let example = example.unwrap_or_default();
        writeln!(out, "allowed under {model}: {}{example}\n", self.asked.text)?;
        self.tell_between(&self.words(source, execution), out)?;
        if let Some(weakness) = self.weakness() {
            self.weak(source, execution, &weakness, out)?;
        }
        writeln!(out, "\nAll events of this execution, thread by thread:")?;
        self.events(source, execution, out)?;
        self.edges(source, execution, out)
    }

    fn weak(
        &self,
        source: &Source,
        execution: &Execution,
        weakness: &Weakness,
        out: &mut String,
    ) -> std::fmt::Result {
        let words = self.words(source, execution);
        if weakness.cycle.is_empty() {
            writeln!(out, "Steps one after the other, as in the program, give it:\n")?;
            return self.order(&words, weakness, out);
        }
        writeln!(
            out,
            "Steps one after the other, as in the program, do not give it. Not kept in order:\n"
        )?;
        for lost in &weakness.not_kept {
            writeln!(out, "  {}", words.pair(&lost.step))?;
            writeln!(out, "    {}", words.why_not_kept(lost))?;
        }
        let mut way = String::new();
        for step in &weakness.cycle {
            write!(way, "{} →{} ", words.label(step.from), step.relation)?;
        }
        let first = weakness.cycle.first().map(|step| words.label(step.from));
        writeln!(out, "\nIf it were, this would be a cycle:\n")?;
        writeln!(out, "  {way}{}\n", first.unwrap_or_default())?;
        writeln!(out, "An order of all events that the model allows:\n")?;
        self.order(&words, weakness, out)
    }

    fn order(&self, words: &Words<'_>, weakness: &Weakness, out: &mut String) -> std::fmt::Result {
        let own = |event: &EventId| self.question.skeleton.event(*event).thread;
        let width = width(words, weakness.order.iter().copied());
        let mut done: Vec<EventId> = Vec::new();
        for event in &weakness.order {
            if self.question.skeleton.event(*event).stamp == Stamp::Recovery {
                let label = words.label(*event);
                writeln!(
                    out,
                    "      crash     {label:<width$}  is written back for the last time"
                )?;
            } else if let Some(thread) = own(event) {
                let (label, text) = (words.label(*event), words.statement_text(*event));
                let number = done.iter().filter(|event| own(event).is_some()).count() + 1;
                write!(out, "  {number:>2}  thread {}  {label:<width$}  {text}", thread.number())?;
                // What the program has later, and has happened already.
                let overtaken = |other: &&EventId| *other > event && own(other) == Some(thread);
                let earlier = done.iter().filter(overtaken).min();
                let note = earlier.map(|earlier| format!("  (after {})", words.label(*earlier)));
                writeln!(out, "{}", note.unwrap_or_default())?;
            }
            done.push(*event);
        }
        Ok(())
    }

    fn broken(&self, source: &Source, broken: &Broken, out: &mut String) -> std::fmt::Result {
        let model = &self.question.model.name;
        let execution = &broken.execution;
        writeln!(out, "forbidden under {model}: {}\n", self.asked.text)?;
        writeln!(out, "{}", self.proved())?;
        if self.by_machine {
            writeln!(out, "What is shown here is an execution within the bound on loops.")?;
        }
        let Some(chain) = self.chain(source) else { return Ok(()) };
        let (axiom, by) = (&chain.axiom, chain.shape.words());
        let shows = self.example(execution).map(|outcome| format!(", with {outcome},"));
        let shows = shows.unwrap_or_default();
        if broken.is_about_undefined() {
            let shows = shows.trim_end_matches(',');
            writeln!(
                out,
                "In the nearest execution{shows}, ⊤ is not where the model says, `{axiom}`:"
            )?;
        } else {
            let others: Vec<String> = broken
                .all_axioms
                .iter()
                .filter(|other| *other != axiom)
                .map(|other| format!("`{other}`"))
                .collect();
            let others = match others.split_last() {
                None => String::new(),
                Some((last, [])) => format!("; it breaks {last} too"),
                Some((last, some)) => format!("; it breaks {} and {last} too", some.join(", ")),
            };
            writeln!(
                out,
                "The nearest execution{shows} breaks the axiom `{axiom}`, by {by}{others}:"
            )?;
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
        let width = width(&words, execution.events.iter().map(|happening| happening.event));
        let mut thread = None;
        for happening in &execution.events {
            let event = self.question.skeleton.event(happening.event);
            if thread != Some(event.thread) {
                thread = Some(event.thread);
                match event.thread {
                    None if event.stamp == Stamp::Init => writeln!(out, "  initially")?,
                    None => writeln!(out, "  after the crash")?,
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
                    write!(out, "    {:>2}  {label:<width$}", happening.event.0)?;
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
}

/// How wide a column of events is: as most of them need.
fn width(words: &Words<'_>, events: impl Iterator<Item = EventId>) -> usize {
    let widths = events.map(|event| words.label(event).chars().count());
    widths.max().unwrap_or(0).clamp(16, 32)
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
