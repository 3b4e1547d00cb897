//! Whether the verdicts of a program hold, computed by a thread of its own.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crossbeam_channel::Sender;
use lang::Test;
use lang::limits::Limits;
use lsp_types::{InlayHint, InlayHintLabel, InlayHintTooltip, Uri};
use model::engine::{self, Request, Verdicts};
use model::verdict::{Checked, applies};

use crate::server::Done;
use crate::shipped::ReadyModel;
use crate::text::Text;

/// How long all models of a program are asked in all.
const LIMIT: Duration = Duration::from_secs(10);

/// What is known of a verdict under one model.
#[derive(Clone, Debug)]
pub struct Under {
    /// The model.
    pub model: String,
    /// Whether it holds; `None` if that is not known.
    pub holds: Option<bool>,
    /// What was found.
    pub found: String,
}

/// A verdict: where it ends, and whether it holds.
#[derive(Clone, Debug)]
pub struct Judged {
    /// Where it ends.
    pub end: usize,
    /// What is known under each model that it is about.
    pub under: Vec<Under>,
}

/// Verdicts that are being computed; that ends when this is dropped.
pub struct Work(Arc<AtomicBool>);

impl Drop for Work {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Computes the verdicts of a program, and sends them with the text and the number of this work.
pub fn start(
    (uri, number): (Uri, u64),
    test: Test,
    models: Vec<Arc<ReadyModel>>,
    done: Sender<Done>,
) -> Work {
    let stop = Arc::new(AtomicBool::new(false));
    let work = Work(Arc::clone(&stop));
    std::thread::spawn(move || {
        let limits = Limits { stop: Some(stop), ..Limits::of_time(LIMIT) };
        // The server answers whatever happens here.
        let judged = catch_unwind(AssertUnwindSafe(|| judged(&test, &models, &limits)));
        // If nobody waits for it any more, nothing is lost.
        let _ = done.send(Done::Verdicts { uri, number, judged: judged.unwrap_or_default() });
    });
    work
}

fn judged(test: &Test, models: &[Arc<ReadyModel>], limits: &Limits) -> Vec<Judged> {
    let ends = test.expectations.iter().map(|one| Judged { end: one.span.end, under: Vec::new() });
    let mut all: Vec<Judged> = ends.collect();
    for model in models {
        let name = model.loaded.model.name.as_str();
        let concerned =
            |index: &usize| applies(test, &test.expectations[*index], name, model.is_own);
        let indices = (0..all.len()).filter(concerned);
        let request = Request { limits: limits.clone(), ..Request::default() };
        let answered = engine::verdicts(test, (&model.loaded.model, model.is_own), &request);
        let model = name.to_owned();
        match answered {
            Ok(Verdicts { answered, .. }) => {
                for (index, checked) in indices.zip(&answered.checked) {
                    let reason = answered.reason.as_deref();
                    all[index].under.push(under(model.clone(), checked, reason));
                }
            }
            Err(why) => {
                let found = why.message();
                indices.for_each(|index| {
                    let (model, found) = (model.clone(), found.clone());
                    all[index].under.push(Under { model, holds: None, found });
                });
            }
        }
    }
    all
}

fn under(model: String, checked: &Checked, reason: Option<&str>) -> Under {
    let found = match (checked.answer(), checked.holds(), reason) {
        (Some(answer), ..) => answer.to_owned(),
        (None, None, Some(reason)) => format!("{} ({reason})", checked.verdict.name()),
        _ => checked.verdict.name().to_owned(),
    };
    Under { model, holds: checked.holds(), found }
}

/// What is shown behind verdicts.
pub fn hints(judged: &[Judged], text: &Text) -> Vec<InlayHint> {
    let hint = |one: &Judged| {
        let label = label(one)?;
        let lines = one.under.iter().map(|under| format!("{}: {}", under.model, under.found));
        Some(InlayHint {
            position: text.position(one.end),
            label: InlayHintLabel::String(label),
            kind: None,
            text_edits: None,
            tooltip: Some(InlayHintTooltip::String(lines.collect::<Vec<_>>().join("\n"))),
            padding_left: Some(true),
            padding_right: None,
            data: None,
        })
    };
    judged.iter().filter_map(hint).collect()
}

/// What a verdict that holds says: the same under all models.
fn claimed(verdict: &str) -> &str {
    match verdict {
        "allowed" => "found",
        "forbidden" => "never",
        other => other,
    }
}

/// One mark for all models: broken under one is broken.
fn label(judged: &Judged) -> Option<String> {
    let all = &judged.under;
    let broken: Vec<&str> = all
        .iter()
        .filter(|under| under.holds == Some(false))
        .map(|under| under.model.as_str())
        .collect();
    if all.is_empty() {
        return None;
    }
    Some(match broken.as_slice() {
        [] if all.iter().any(|under| under.holds.is_none()) => "? unknown".to_owned(),
        [] if all.iter().all(|under| matches!(&*under.found, "Ok" | "No")) => {
            let answers: Vec<&str> = all.iter().map(|under| under.found.as_str()).collect();
            format!("✓ {}", if answers.contains(&"No") { "No" } else { "Ok" })
        }
        [] => format!("✓ {}", claimed(&all[0].found)),
        some if some.len() == all.len() => "✗ violated".to_owned(),
        some => format!("✗ violated under {}", some.join(", ")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_that_holds_says_what_it_claims() {
        let under =
            |found: &str, holds| Under { model: found.to_owned(), holds, found: found.to_owned() };
        let label = |under: &[Under]| label(&Judged { end: 0, under: under.to_vec() });
        for (found, shown) in [
            ("allowed", "✓ found"),
            ("forbidden", "✓ never"),
            ("always", "✓ always"),
            ("No", "✓ No"),
        ] {
            assert_eq!(label(&[under(found, Some(true))]).as_deref(), Some(shown));
        }
        let both = [under("forbidden", Some(true)), under("allowed", Some(false))];
        assert_eq!(label(&both).as_deref(), Some("✗ violated under allowed"));
        assert_eq!(label(&[under("unknown", None)]).as_deref(), Some("? unknown"));
        assert_eq!(label(&[]), None);
    }
}
