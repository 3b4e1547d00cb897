//! Judging with the models and engines of the command line. `evidence::judge` decides what follows.

use compiler::library::Libraries;
use evidence::judge::{Answers, Conclusion, ModelSays, NotJudged};
use lang::Test;
use lang::cat::model::Model;
use model::allowed::Question;
use model::engine::{self, Refusal, Request};
use model::sequential;

use crate::exit::Exit;

/// What models allow, by the engines that a request names; each model is asked once about each program.
pub fn answers(request: Request<'static>) -> Answers<'static> {
    Answers::new(move |test, model, libraries| ask(test, model, libraries, &request))
}

/// What a model says about a test.
///
/// # Errors
/// Why it says nothing.
pub fn ask(
    test: &Test,
    model: &Model,
    libraries: &Libraries,
    request: &Request<'_>,
) -> Result<ModelSays, NotJudged> {
    let request = Request { libraries: Some(libraries), ..request.clone() };
    match engine::ask_with_question(test, model, &request) {
        // A call of a sequential object may return anything, if nothing makes it linearizable.
        Ok((found, _)) if sequential::is_called(test, libraries) => {
            Ok(ModelSays::of_calls(found.allowed))
        }
        Ok((found, question)) => {
            let options = request.options();
            let asking = Question::of(test, model).libraries(libraries).options(&options);
            let question = || question.or_else(|| asking.question().ok());
            Ok(ModelSays::of(question, &options, found.allowed))
        }
        Err(Refusal::Unsupported(reason)) => Ok(ModelSays::unknown(reason)),
        Err(Refusal::Undefined(errors)) => Err(NotJudged::Undefined(errors)),
        Err(Refusal::Bad(errors)) => Err(NotJudged::Wrong(errors)),
    }
}

impl From<Conclusion> for Exit {
    fn from(conclusion: Conclusion) -> Self {
        match conclusion {
            Conclusion::Holds => Self::Fine,
            Conclusion::Unknown => Self::Unknown,
            Conclusion::Violated => Self::Violation,
        }
    }
}
