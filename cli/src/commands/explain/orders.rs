//! Explanations of programs that call sequential objects: an order of the calls, or that there is none.

use std::fmt::Write;

use lang::Test;
use lang::cat::model::Model;
use lang::diagnostic::Diagnostic;
use lang::outcome::{Asked, Value};
use lang::source::Source;
use model::allowed::undefined_calls;
use model::engine::{Refusal, Request};
use model::sequential::{self, Order, Taken};
use serde_json::{Value as Json, json};

/// Why an outcome of such a program is allowed, or is not.
pub struct Orders {
    /// What was asked about, for people.
    asked: String,
    order: Order,
}

impl Orders {
    /// Asks.
    ///
    /// # Errors
    /// What is wrong with the test.
    pub fn of(
        asked: &Asked,
        (test, model): (&Test, &Model),
        request: &Request<'_>,
    ) -> Result<Self, Refusal> {
        let undefined = undefined_calls(test, model, request.libraries());
        if !undefined.is_empty() {
            return Err(Refusal::Undefined(undefined));
        }
        let order = sequential::order(test, request, &asked.condition)?;
        Ok(Self { asked: asked.text.clone(), order })
    }

    /// Whether there is an order; `None` if a limit was reached.
    pub fn is_allowed(&self) -> Option<bool> {
        match self.order {
            Order::Found(_) => Some(true),
            Order::None { .. } => Some(false),
            Order::Unknown(_) => None,
        }
    }

    /// The rules of libraries that some orders break.
    pub fn misuses(&self) -> Vec<Diagnostic> {
        match &self.order {
            Order::None { misuses, .. } => misuses.clone(),
            _ => Vec::new(),
        }
    }

    /// For people.
    pub fn text(&self, source: &Source, model: &str) -> String {
        let asked = &self.asked;
        match &self.order {
            Order::Found(calls) => {
                let mut text = format!(
                    "allowed under {model}: {asked}\n\nThe calls give this outcome in this order, each at once:\n\n"
                );
                for (number, taken) in calls.iter().enumerate() {
                    let (thread, call) = (taken.thread.number(), described(taken, source));
                    // Writing to a string cannot fail.
                    let _ = writeln!(text, "  {:>3}  thread {thread}: {call}", number + 1);
                }
                text
            }
            Order::None { states, ends, misuses } => {
                let kept =
                    if misuses.is_empty() { "" } else { "that keeps the rules of the libraries " };
                let none = match ends {
                    true => "gives this outcome",
                    false => "comes to an end, so there is no outcome",
                };
                format!(
                    "forbidden under {model}: {asked}\n\nNo order of the calls {kept}{none}, if each takes place at \
                     once and those of one thread come in program order: all {states} states were visited.\n"
                )
            }
            Order::Unknown(why) => format!("not known under {model}: {asked}\n\n{why}\n"),
        }
    }

    /// For programs.
    pub fn json(&self, source: &Source, model: &str) -> Json {
        let verdict = match self.is_allowed() {
            Some(true) => "allowed",
            Some(false) => "forbidden",
            None => "unknown",
        };
        let mut json = json!({ "model": model, "outcome": self.asked, "verdict": verdict });
        match &self.order {
            Order::Found(calls) => {
                let call = |taken: &Taken| {
                    let mut call = json!({
                        "thread": taken.thread.number(),
                        "line": source.line_column(taken.span.start).0,
                        "call": source.text[taken.span.range()],
                    });
                    if let Some(result) = taken.result {
                        call["result"] = json!(Value::of_word(result));
                    }
                    call
                };
                json["calls"] = calls.iter().map(call).collect();
            }
            Order::None { states, .. } => json["states"] = json!(states),
            Order::Unknown(why) => json["reason"] = json!(why),
        }
        json
    }
}

/// The call as the text has it, with its line and what it returned.
fn described(taken: &Taken, source: &Source) -> String {
    let (line, call) = (source.line_column(taken.span.start).0, &source.text[taken.span.range()]);
    match taken.result {
        Some(result) => format!("`{call}` (line {line}) returns {}", Value::of_word(result)),
        None => format!("`{call}` (line {line})"),
    }
}
