//! `litmus allowed --across`: on which networks is a program safe? Its models are `verbs` and
//! those that include it. A program is safe there if the model forbids what the file says must not be.

use std::sync::Arc;

use lang::Test;
use lang::outcome::{Claim, Expectation};
use lang::source::Source;
use model::engine::{self, Refusal, Request};
use model::verdict::{Answered, Checked, Verdict};
use serde_json::{Value as Json, json};

use crate::exit::Exit;
use crate::input::{Input, load_test_within};
use crate::inputs::{self, Workers};
use crate::libraries::Uses;
use crate::models::{LoadedModel, Models};
use crate::problem::{Problem, problems};
use crate::sink::{Sink, Status};
use crate::table::{count, draw};
use crate::terminal::{Look, Terminal, Tint};

use super::{Arguments, FEW};

/// Why a test cannot be judged.
const NOTHING: &str =
    "the file says of no outcome that it must not be (`✗`, `forall` or a question)";

/// Judges all tests on all networks.
pub fn run(arguments: &Arguments, terminal: &mut Terminal) -> Exit {
    let head = [("schema", json!("litmus-across/1"))];
    let mut sink = Sink::new(terminal, arguments.format.format, &head);
    // What prevents it has been reported.
    let _ = judge_all(arguments, &mut sink);
    sink.finish(&[], Some(["safe on all", "not safe on all", "unknown"]))
}

fn judge_all(arguments: &Arguments, sink: &mut Sink<'_>) -> Option<()> {
    let mut models = arguments.models.load(sink)?;
    models.libraries = Some(arguments.libraries.known().clone());
    if models.chosen.is_empty() {
        models.chosen = models.networks();
    }
    let models = &models;
    let inputs = inputs::choose(&arguments.paths, &["litmus"], &arguments.select, models, sink)?;
    let libraries = arguments.libraries.choose(sink)?;
    let uses = Uses::new(libraries, &arguments.libraries, false);
    let request = Request { libraries: Some(libraries), ..arguments.solver.request() };
    let in_full = inputs.len() <= FEW || sink.look().verbose > 0;
    let workers = Workers {
        jobs: arguments.jobs.count(),
        fail_fast: Some(&arguments.stop),
        ..Workers::default()
    };
    let work = |input: &Input| judge(input, models, &request, (arguments, &uses));
    workers.work(&inputs, sink, work, |_, (judged, problems), sink| {
        sink.problems(problems);
        let Some(judged) = judged else { return };
        let look = sink.look();
        let text = || if in_full { judged.block(look) } else { judged.line(look) };
        sink.result(judged.status(), || judged.json(), text);
    });
    uses.tell(sink.terminal);
    Some(())
}

/// A test on all networks.
struct Judged {
    test: String,
    file: String,
    /// Each network with what its model says.
    networks: Vec<(String, Answer)>,
}

/// What a model says of a test.
enum Answer {
    /// Of each outcome that must not be, whether it is forbidden.
    Checked(Answered),
    /// The network has not all of the program's statements.
    Lacks(String),
    /// It is not known.
    Unknown(String),
}

fn judge(
    input: &Input,
    models: &Models,
    request: &Request<'_>,
    (arguments, uses): (&Arguments, &Uses<'_>),
) -> (Option<Judged>, Vec<Problem>) {
    let (loaded, mut wrong) = load_test_within(input, request.libraries(), &request.limits());
    let Some((mut test, source)) = loaded else { return (None, wrong) };
    uses.take(&test);
    let networks = arguments.select.models(&test, input, models.chosen.clone());
    let claims = must_not_be(&test);
    test.models = networks.iter().map(|model| model.name().to_owned()).collect();
    test.expectations = claims;
    let mut judged = Judged { test: test.name.clone(), file: input.name(), networks: Vec::new() };
    for model in &networks {
        match ask(&test, &source, model, request) {
            Ok((answer, misuses)) => {
                wrong.extend(misuses);
                judged.networks.push((model.name().to_owned(), answer));
            }
            Err(errors) => {
                wrong.extend(errors);
                return (None, wrong);
            }
        }
    }
    (Some(judged), wrong)
}

/// What must not be: the outcomes with ✗, whatever model the line names, and those that the file asks about.
fn must_not_be(test: &Test) -> Vec<Expectation> {
    let mut claims: Vec<Expectation> = Vec::new();
    for expectation in &test.expectations {
        let claim = match &expectation.claim {
            Claim::Forbidden(_) | Claim::Always(_) => expectation.claim.clone(),
            Claim::Allowed(condition) if expectation.is_question => {
                Claim::Forbidden(condition.clone())
            }
            Claim::Allowed(_) | Claim::Exactly { .. } => continue,
        };
        if claims.iter().all(|known| known.claim != claim) {
            let expectation = expectation.clone();
            claims.push(Expectation { model: None, is_question: false, claim, ..expectation });
        }
    }
    claims
}

fn ask(
    test: &Test,
    source: &Arc<Source>,
    model: &LoadedModel,
    request: &Request<'_>,
) -> Result<(Answer, Vec<Problem>), Vec<Problem>> {
    if test.expectations.is_empty() {
        return Ok((Answer::Unknown(NOTHING.to_owned()), Vec::new()));
    }
    match engine::verdicts(test, (model.model(), model.is_own), request) {
        Ok(verdicts) => {
            let misuses = problems(source, verdicts.misuses);
            Ok((Answer::Checked(verdicts.answered), misuses))
        }
        Err(Refusal::Undefined(undefined)) => {
            let messages = undefined.iter().map(|undefined| undefined.message.clone());
            let mut messages: Vec<String> = messages.collect();
            messages.dedup();
            Ok((Answer::Lacks(messages.join("; ")), Vec::new()))
        }
        Err(Refusal::Unsupported(reason)) => Ok((Answer::Unknown(reason), Vec::new())),
        Err(Refusal::Bad(errors)) => Err(problems(source, errors)),
    }
}

impl Answer {
    /// Whether the program is safe; `None` if that is not known.
    fn is_safe(&self) -> Option<bool> {
        let checked = match self {
            Self::Checked(answered) => &answered.checked,
            Self::Lacks(_) => return Some(false),
            Self::Unknown(_) => return None,
        };
        let holds = || checked.iter().map(Checked::holds);
        if holds().any(|holds| holds == Some(false)) {
            return Some(false);
        }
        holds().all(|holds| holds == Some(true)).then_some(true)
    }

    fn word(&self) -> &'static str {
        match (self, self.is_safe()) {
            (Self::Lacks(_), _) => "-",
            (_, Some(true)) => "safe",
            (_, Some(false)) => "no",
            (_, None) => "unknown",
        }
    }

    /// Why it is not safe, or not known.
    fn why(&self) -> String {
        let Answered { checked, reason, .. } = match self {
            Self::Checked(answered) => answered,
            Self::Lacks(why) | Self::Unknown(why) => return why.clone(),
        };
        let is_open = |checked: &&Checked| checked.holds() != Some(true);
        let why =
            checked.iter().filter(is_open).map(
                |Checked { condition, verdict, .. }| match verdict {
                    Verdict::Vacuous => "no execution ends".to_owned(),
                    verdict => format!("{condition}: {}", verdict.name()),
                },
            );
        let reason = reason.iter().map(|reason| format!(" ({reason})"));
        why.collect::<Vec<_>>().join("; ") + &reason.collect::<String>()
    }

    fn json(&self, model: &str) -> Json {
        let mut json = json!({ "model": model, "safe": self.is_safe() });
        match self {
            Self::Checked(Answered { checked, reason, .. }) => {
                let outcome = |checked: &Checked| json!({ "condition": checked.condition, "verdict": checked.verdict.name() });
                json["outcomes"] = checked.iter().map(outcome).collect();
                if let Some(reason) = reason {
                    json["reason"] = json!(reason);
                }
            }
            Self::Lacks(why) | Self::Unknown(why) => json["reason"] = json!(why),
        }
        json
    }
}

impl Judged {
    /// Safe on all, or not.
    fn status(&self) -> Status {
        let safe = || self.networks.iter().map(|(_, answer)| answer.is_safe());
        match () {
            () if safe().any(|safe| safe == Some(false)) => Status::Bad,
            () if safe().any(|safe| safe.is_none()) || self.networks.is_empty() => Status::Open,
            () => Status::Good,
        }
    }

    fn head(&self, look: Look) -> String {
        let tint = match self.status() {
            Status::Good => Tint::Good,
            Status::Bad => Tint::Bad,
            _ => Tint::Open,
        };
        let all = count(self.networks.len(), "network");
        let (safe, unknown) = (self.that(Some(true)).len(), self.that(None).len());
        let unknown = if unknown == 0 { String::new() } else { format!(", {unknown} unknown") };
        let numbers = look.paint(tint, &format!("safe on {safe} of {all}{unknown}"));
        format!("{}: {numbers}", look.paint(Tint::Strong, &self.test))
    }

    fn block(&self, look: Look) -> String {
        let row = |(model, answer): &(String, Answer)| {
            vec![model.clone(), answer.word().to_owned(), answer.why()]
        };
        let rows: Vec<Vec<String>> = self.networks.iter().map(row).collect();
        format!("{}\n{}", self.head(look), draw(look, &["network", "safe", "why not"], rows, true))
    }

    fn line(&self, look: Look) -> String {
        let mut line = self.head(look);
        for (safe, words) in [(Some(false), ", not on"), (None, ", not known of")] {
            let networks = self.that(safe);
            if !networks.is_empty() {
                line.push_str(&format!("{words} {}", networks.join(", ")));
            }
        }
        look.fit(&line)
    }

    /// The networks on which it is safe, or is not, or of which that is not known.
    fn that(&self, safe: Option<bool>) -> Vec<&str> {
        let networks = self.networks.iter().filter(|(_, answer)| answer.is_safe() == safe);
        networks.map(|(model, _)| model.as_str()).collect()
    }

    /// As documented for `litmus-across/1`.
    fn json(&self) -> Json {
        let networks = self.networks.iter().map(|(model, answer)| answer.json(model));
        let safe = match self.status() {
            Status::Good => Some(true),
            Status::Bad => Some(false),
            _ => None,
        };
        json!({
            "test": self.test,
            "file": self.file,
            "safe": safe,
            "networks": networks.collect::<Vec<_>>(),
        })
    }
}
