//! Outcomes, verdicts and explanations of a program.

use lang::Test;
use lang::cat::Loaded;
use lang::cat::model::Model;
use lang::diagnostic::Diagnostic;
use lang::library::Words;
use lang::litmus;
use lang::litmus::ast::HeaderKind;
use lang::outcome::{Asked, Claim, Expectation};
use lang::source::{Source, Span};
use model::allowed::{Allowed, Question, undefined_calls};
use model::asking::Refused;
use model::engine::{self, Request};
use model::explain::{Explanation, Reason};
use model::verdict::{self, Checked};
use serde_json::{Value as Json, json};

use crate::files::{self, Files, Wrong};
use crate::question::Program;

/// A program that was read.
pub struct Read {
    /// The models and libraries that it may use.
    pub files: Files,
    /// Its text.
    pub source: Source,
    /// What is odd about it.
    pub warnings: Vec<Diagnostic>,
    /// It.
    pub test: Test,
    /// The model to ask about: the one chosen, or the first that the program names.
    pub model: String,
    /// Whether the model was chosen, and is not from the program's header.
    is_chosen: bool,
    most_rows: usize,
}

impl Program {
    /// Reads the program.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn read(&self) -> Result<Read, Wrong> {
        let files = Files::of(&self.own);
        let source = Source::new("program", self.text.as_str());
        let (test, warnings) = litmus::load_with(&source, Words::of(&files.libraries.all));
        let Some(test) = test else { return Err(in_file(&source, warnings)) };
        if !files.wrong.is_empty() {
            return Err(files.wrong);
        }
        let first = || test.models.first().cloned().unwrap_or_default();
        let model = self.model.clone().unwrap_or_else(first);
        let is_chosen = self.model.is_some();
        Ok(Read { files, source, warnings, test, model, is_chosen, most_rows: self.rows })
    }
}

/// Diagnostics with the file that they are about.
pub fn in_file(source: &Source, diagnostics: Vec<Diagnostic>) -> Wrong {
    diagnostics.into_iter().map(|diagnostic| (source.clone(), diagnostic)).collect()
}

impl Read {
    /// What is asked, with the program's libraries.
    fn request(&self) -> Request<'_> {
        Request { libraries: Some(&self.files.libraries), ..Request::default() }
    }

    /// The model to ask about.
    ///
    /// # Errors
    /// That there is none of the name, at its place in the header if it stands there, or what is wrong with
    /// its text.
    pub fn model(&self) -> Result<Model, Wrong> {
        Ok(self.loaded()?.model)
    }

    /// The model to ask about, with its warnings.
    fn loaded(&self) -> Result<Loaded, Wrong> {
        if !self.is_chosen && self.files.find(&self.model).is_none() {
            let unknown = self.files.unknown(&self.model, self.place_in_header());
            return Err(in_file(&self.source, vec![unknown]));
        }
        self.files.model(&self.model)
    }

    /// Where the header names the first model.
    fn place_in_header(&self) -> Span {
        let (file, _) = litmus::parse(&self.source, Words::of(&self.files.libraries.all));
        let lines = file.iter().flat_map(|file| &file.header);
        let first = lines.filter_map(|line| match &line.kind {
            HeaderKind::Models(models) => models.first(),
            _ => None,
        });
        first.map(|name| name.place.span).next().unwrap_or_default()
    }

    /// The outcomes that a model allows.
    ///
    /// # Errors
    /// Why the question cannot be asked.
    fn allowed(&self, model: &Model) -> Result<Allowed, Wrong> {
        let found = engine::ask(&self.test, model, &self.request());
        let found = found.map_err(|refusal| in_file(&self.source, refusal.into_diagnostics()))?;
        Ok(found.allowed)
    }

    /// The results of the verdicts, where they stand, and whether each holds.
    fn verdicts(&self, allowed: &Allowed) -> Vec<Json> {
        let is_own = self.files.is_own(&self.model);
        let checked = verdict::check(&self.test, &self.model, is_own, allowed);
        let claims = self.test.expectations.iter();
        let claims = claims.filter(|one| verdict::applies(&self.test, one, &self.model, is_own));
        claims.zip(&checked).map(|(claim, checked)| self.verdict(claim, checked)).collect()
    }

    fn verdict(&self, claim: &Expectation, checked: &Checked) -> Json {
        let to_explain = match &claim.claim {
            Claim::Exactly { .. } => None,
            _ => Some(&checked.condition),
        };
        json!({
            "condition": checked.condition,
            "explain": to_explain,
            "expected": checked.expected.name(),
            "found": checked.verdict.name(),
            "holds": checked.holds(),
            "answer": checked.answer(),
            "line": self.source.line_column(claim.span.start).0,
        })
    }

    /// Outcomes as a table: the names that are shown, and the values in rows.
    fn table(&self, allowed: &Allowed) -> Json {
        let shown = &self.test.observables[..self.test.shown];
        let names: Vec<&str> = shown.iter().map(|observable| observable.name.as_str()).collect();
        let rows = allowed.shown(&self.test);
        let row = |row: &Vec<_>| -> Vec<String> {
            row.iter().zip(shown).map(|(value, observable)| observable.show(*value)).collect()
        };
        let count = rows.len();
        let rows: Vec<_> = rows.iter().take(self.most_rows).map(row).collect();
        json!({
            "names": names,
            "rows": rows,
            "count": count,
            "complete": allowed.complete.is_some(),
            "reason": allowed.reason,
        })
    }
}

/// An answer in which nothing is wrong, or what is.
pub fn told(answer: Result<Json, Wrong>) -> Json {
    answer.unwrap_or_else(|wrong| json!({ "diagnostics": files::located(&wrong) }))
}

/// The outcomes of a program, and what its verdicts come to.
pub fn judge(program: &Program) -> Json {
    told(program.read().and_then(|read| {
        let loaded = read.loaded()?;
        let allowed = read.allowed(&loaded.model)?;
        let mut diagnostics = files::diagnostics(&read.source, &read.warnings);
        diagnostics
            .extend(loaded.warnings.iter().map(|(source, warning)| files::one(source, warning)));
        diagnostics.extend(files::diagnostics(&read.source, &allowed.misuses));
        Ok(json!({
            "name": read.test.name,
            "title": read.test.title,
            "models": read.test.models,
            "model": read.model,
            "outcomes": read.table(&allowed),
            "verdicts": read.verdicts(&allowed),
            "diagnostics": diagnostics,
        }))
    }))
}

/// Why outcomes are allowed or forbidden.
pub fn explained(program: &Program, outcome: &str) -> Json {
    told(program.read().and_then(|mut read| {
        let condition = Source::new("outcome", outcome);
        let asked =
            litmus::ask(&condition, &mut read.test).map_err(|wrong| in_file(&condition, wrong))?;
        let model = read.model()?;
        let request = read.request();
        let undefined = undefined_calls(&read.test, &model, request.libraries());
        if !undefined.is_empty() {
            return Err(in_file(&read.source, undefined));
        }
        let asking = Question::of(&read.test, &model).libraries(request.libraries());
        let wrong = |refused: Refused| in_file(&read.source, refused.diagnostics());
        let question = asking.question().map_err(wrong)?;
        let explained = engine::explained(&question, (&read.test, &model), &asked, &request);
        Ok(explanation_json(&explained.map_err(wrong)?, &read, &asked))
    }))
}

fn explanation_json(explanation: &Explanation<'_>, read: &Read, asked: &Asked) -> Json {
    json!({
        "model": read.model,
        "outcome": asked.text,
        "verdict": match explanation.reason {
            Reason::Witness(_) => "allowed",
            Reason::Unknown(_) => "unknown",
            _ => "forbidden",
        },
        "text": explanation.text(&read.source),
        "picture": explanation.svg_for_page(&read.source),
    })
}

/// The outcomes that only one of two models allows.
pub fn compared(program: &Program, with: &str) -> Json {
    told(program.read().and_then(|read| {
        let (first, second) = (read.model()?, read.files.model(with)?.model);
        let (first, second) = (read.allowed(&first)?, read.allowed(&second)?);
        let only = |one: &Allowed, other: &Allowed| {
            let outcomes = one.outcomes.iter().filter(|outcome| !other.contains(outcome));
            let outcomes = outcomes.cloned().collect();
            let mut table = read.table(&Allowed { outcomes, ..Allowed::default() });
            table["complete"] = json!(other.complete.is_some());
            table
        };
        Ok(json!({
            "models": [read.model, with],
            "complete": first.complete.and(second.complete).is_some(),
            "only": [only(&first, &second), only(&second, &first)],
            "diagnostics": files::diagnostics(&read.source, &read.warnings),
        }))
    }))
}
