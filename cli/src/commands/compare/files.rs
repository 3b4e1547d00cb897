//! Where given tests differ under two models.

use std::collections::BTreeSet;

use compiler::library::Libraries;
use lang::Test;
use lang::diagnostic::Code;
use lang::outcome::Value;
use model::allowed::Allowed;
use model::engine::{self, Engine, Refusal, Request};
use serde_json::{Value as Json, json};

use super::Arguments;
use crate::input::{Input, load_test};
use crate::inputs::{self, Workers};
use crate::libraries::Uses;
use crate::memory;
use crate::models::{LoadedModel, Models};
use crate::problem::{Problem, problems};
use crate::sink::{Sink, Skip, Status};
use crate::table;
use crate::terminal::Terminal;

/// What became of a test.
enum Answer {
    Bad(Vec<Problem>),
    Skipped(Skip),
    Compared(Box<Compared>),
}

struct Compared {
    name: String,
    file: String,
    names: Vec<String>,
    /// Outcomes of the first model only, of the second only; `None` if not all of the other's are known.
    only: [Option<Vec<Vec<Value>>>; 2],
    /// How many both have.
    both: usize,
    /// Why not all outcomes are known, for each model.
    reasons: [Option<String>; 2],
}

pub fn run(
    arguments: &Arguments,
    one: &LoadedModel,
    two: &LoadedModel,
    terminal: &mut Terminal,
) -> crate::exit::Exit {
    let head =
        [("schema", json!("litmus-compare-files/1")), ("models", json!([one.name(), two.name()]))];
    let mut sink = Sink::new(terminal, arguments.format.format, &head);
    let Some(libraries) = arguments.libraries.choose(&mut sink) else {
        return sink.finish(&[], None);
    };
    let uses = Uses::new(libraries, &arguments.libraries, false);
    let headers = Models::with(libraries);
    let (paths, select) = (&arguments.paths, &arguments.select);
    let inputs = inputs::choose(paths, &["litmus"], select, &headers, &mut sink);
    let models = [one, two];
    let each = |_: &Input, answer: Answer, sink: &mut Sink<'_>| match answer {
        Answer::Bad(problems) => sink.problems(problems),
        Answer::Skipped(skip) => sink.skip(skip),
        Answer::Compared(found) => {
            let status = match found.is_same() {
                Some(false) => Status::Bad,
                Some(true) => Status::Good,
                None => Status::Open,
            };
            sink.result(status, || found.json(models), || found.draw(models));
        }
    };
    let work =
        |input: &Input| arguments.timeout.within(|| compare(input, models, (libraries, &uses)));
    let workers = Workers { jobs: arguments.jobs.count(), ..Workers::default() };
    workers.work(&inputs.unwrap_or_default(), &mut sink, work, each);
    uses.tell(sink.terminal);
    sink.finish(&[], Some(["the same", "DIFFERENT", "unknown"]))
}

fn compare(
    input: &Input,
    models: [&LoadedModel; 2],
    (libraries, uses): (&Libraries, &Uses<'_>),
) -> Answer {
    let (loaded, diagnostics) = load_test(input, libraries);
    let Some((test, source)) = loaded else { return Answer::Bad(diagnostics) };
    uses.take(&test);
    let libraries = Some(libraries);
    let request =
        Request { engine: Engine::Smt, libraries, limits: memory::limits(), ..Request::default() };
    let mut sets: Vec<BTreeSet<Vec<Value>>> = Vec::new();
    let mut reasons = [None, None];
    for (model, reason) in models.into_iter().zip(&mut reasons) {
        match engine::ask(&test, model.model(), &request) {
            Ok(found) => {
                sets.push(found.allowed.shown(&test).into_iter().collect());
                let Allowed { complete, reason: why, .. } = found.allowed;
                *reason = complete
                    .is_none()
                    .then(|| why.unwrap_or_else(|| "no reason is known".to_owned()));
            }
            Err(Refusal::Undefined(undefined)) if !input.is_named => {
                return Answer::Skipped(skip(&test, input, model, &undefined[0].message));
            }
            Err(Refusal::Unsupported(reason)) => {
                return Answer::Bad(vec![Problem::of_file(
                    &input.name(),
                    Code::LimitReached,
                    reason,
                )]);
            }
            Err(Refusal::Undefined(errors) | Refusal::Bad(errors)) => {
                return Answer::Bad(problems(&source, errors));
            }
        }
    }
    // What is not among the outcomes of a model is only known not to be one if all of them are known.
    let only = |these: usize, others: usize| {
        let difference = || sets[these].difference(&sets[others]).cloned().collect();
        reasons[others].is_none().then(difference)
    };
    Answer::Compared(Box::new(Compared {
        name: test.name.clone(),
        file: input.name(),
        names: test.observables[..test.shown].iter().map(|shown| shown.name.clone()).collect(),
        only: [only(0, 1), only(1, 0)],
        both: sets[0].intersection(&sets[1]).count(),
        reasons,
    }))
}

fn skip(test: &Test, input: &Input, model: &LoadedModel, reason: &str) -> Skip {
    Skip {
        test: test.name.clone(),
        file: input.name(),
        model: model.name().to_owned(),
        reason: reason.to_owned(),
    }
}

impl Compared {
    fn outcome(&self, values: &[Value]) -> String {
        let pairs = self.names.iter().zip(values);
        pairs.map(|(name, value)| format!("{name} = {value}")).collect::<Vec<_>>().join(", ")
    }

    /// Whether the models allow the same. Where no difference is known, and not all outcomes either, that is
    /// not known.
    fn is_same(&self) -> Option<bool> {
        match self.only.iter().flatten().all(Vec::is_empty) {
            true => self.reasons.iter().all(Option::is_none).then_some(true),
            false => Some(false),
        }
    }

    fn draw(&self, models: [&LoadedModel; 2]) -> String {
        let mut text = match self.is_same() {
            Some(true) => {
                format!("{}: the same {}\n", self.name, table::count(self.both, "outcome"))
            }
            None => format!(
                "{}: unknown, with {} in common\n",
                self.name,
                table::count(self.both, "known outcome")
            ),
            Some(false) => format!("{}: different\n", self.name),
        };
        for (model, only) in models.into_iter().zip(&self.only) {
            for outcome in only.iter().flatten() {
                text += &format!("  only under {}: {}\n", model.name(), self.outcome(outcome));
            }
        }
        for (model, reason) in models.into_iter().zip(&self.reasons) {
            if let Some(reason) = reason {
                text += &format!("  not all outcomes under {} are known: {reason}\n", model.name());
            }
        }
        text
    }

    fn json(&self, models: [&LoadedModel; 2]) -> Json {
        let list = |only: &Vec<Vec<Value>>| -> Vec<Json> {
            let outcome = |values: &Vec<Value>| -> Json {
                let pairs = self.names.iter().zip(values);
                pairs
                    .map(|(name, value)| (name.clone(), json!(value)))
                    .collect::<serde_json::Map<_, _>>()
                    .into()
            };
            only.iter().map(outcome).collect()
        };
        let only = models.into_iter().zip(&self.only);
        let only = only.map(
            |(model, only)| json!({ "model": model.name(), "outcomes": only.as_ref().map(list) }),
        );
        let reasons = models.into_iter().zip(&self.reasons).filter_map(|(model, reason)| {
            let reason = reason.as_ref()?;
            Some(json!({ "model": model.name(), "reason": reason }))
        });
        json!({
            "test": self.name,
            "file": self.file,
            "same": self.is_same(),
            "complete": self.reasons.iter().all(Option::is_none),
            "reasons": reasons.collect::<Vec<_>>(),
            "both": self.both,
            "only": only.collect::<Vec<_>>(),
        })
    }
}
