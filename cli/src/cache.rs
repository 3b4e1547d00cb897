//! `--cache DIR`: what engines found before, a file per question.
//!
//! A file says the whole question, so nothing depends on hashes that differ, and is written beside its
//! place and renamed, so that others see all of it or nothing. What cannot be read, or answers another
//! question, is as if it were not there. Only complete and undisputed answers are kept.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use campaign::files::Unfinished;
use evidence::record::{LibraryText, hash_text, value_from_json, value_to_json};
use lang::outcome::{Outcome, Value};
use lang::source::{Source, Span};
use model::allowed::Allowed;
use model::bound::Complete;
use model::engine::{Engine, Found, Request};
use model::machine::{Ending, Place, Places};
use model::smt::Statistics;
use serde_json::{Value as Json, json};

use crate::models::LoadedModel;

/// A folder of answers.
pub struct Cache {
    folder: PathBuf,
    /// What answers depend on besides test, model and request: this very program.
    engine: String,
    libraries: String,
}

/// What is asked.
pub struct Asked<'a> {
    /// The test's text.
    pub source: &'a Source,
    /// The model.
    pub model: &'a LoadedModel,
    /// The engine, and what it may do.
    pub request: &'a Request<'a>,
    /// Whether implementations of libraries stand for their calls.
    pub inline: bool,
}

impl Cache {
    /// The cache in a folder, which is made if it is not there; `libraries` are those of files that tests may
    /// use.
    ///
    /// # Errors
    /// Why the folder cannot be used.
    pub fn open(folder: &Path, libraries: &[LibraryText]) -> Result<Self, String> {
        if folder.is_file() {
            return Err("expected a folder for the cache, found a file".to_owned());
        }
        fs::create_dir_all(folder)
            .map_err(|error| format!("cannot be used as a cache: {error}"))?;
        // Where nothing can be kept, that is known before anything is asked.
        Unfinished::new(folder.join("probe"))
            .map(drop)
            .map_err(|error| format!("cannot be written: {error}"))?;
        // The version is not enough where litmus itself is changed.
        let built = std::env::current_exe().and_then(fs::metadata).ok().map(|file| {
            let time = file.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
            format!("{} bytes of {:?}", file.len(), time.unwrap_or_default())
        });
        let engine = format!("{} {}", env!("CARGO_PKG_VERSION"), built.unwrap_or_default());
        let libraries: Vec<&str> = libraries.iter().map(|one| one.hash.as_str()).collect();
        let libraries = libraries.join(" ");
        Ok(Self { folder: folder.to_owned(), engine, libraries })
    }

    fn question(&self, Asked { source, model, request, inline }: &Asked<'_>) -> Json {
        json!({
            "engine": self.engine, "libraries": self.libraries, "inline": inline,
            "model": { "name": model.name(), "hash": model.identity.hash },
            "request": [request.engine.name(), format!("{:?}", request.solver)],
            "loops": request.loops, "program": source.text,
        })
    }

    fn path(&self, question: &Json) -> PathBuf {
        let name = hash_text(&question.to_string());
        self.folder.join(&name[..2]).join(format!("{}.json", &name[2..]))
    }

    /// What was found of a test with this many observables, if this was asked before.
    pub fn get(&self, asked: &Asked<'_>, observables: usize) -> Option<Found> {
        let question = self.question(asked);
        let text = fs::read(self.path(&question)).ok()?;
        let json: Json = serde_json::from_slice(&text).ok()?;
        let answer = &json["answer"];
        if json["question"] != question || json["sum"] != hash_text(&answer.to_string()) {
            return None;
        }
        let found = found(answer)?;
        let fits = |outcome: &Outcome| outcome.0.len() == observables;
        found.allowed.outcomes.iter().all(fits).then_some(found)
    }

    /// Keeps what was found, if it is final. That it cannot be written is no reason to fail.
    pub fn put(&self, asked: &Asked<'_>, found: &Found) {
        let allowed = &found.allowed;
        let is_final = allowed.complete.is_some()
            && allowed.misuses.is_empty()
            && found.disagreement.is_none()
            && found.unsupported.is_none();
        if !is_final {
            return;
        }
        let question = self.question(asked);
        let path = self.path(&question);
        let answer = answer(found);
        let sum = hash_text(&answer.to_string());
        let text = json!({ "question": question, "answer": answer, "sum": sum }).to_string();
        drop(write(path, &text));
    }
}

fn write(path: PathBuf, text: &str) -> io::Result<()> {
    path.parent().map(fs::create_dir_all).transpose()?;
    let mut file = Unfinished::new(path)?;
    file.write_all(text.as_bytes())?;
    // The sum shows whether it was lost.
    file.replace_unsynced()
}

fn answer(found: &Found) -> Json {
    let outcome =
        |outcome: &Outcome| outcome.0.iter().map(|value| value_to_json(*value)).collect::<Json>();
    let Statistics { solves, lemmas } = found.allowed.statistics;
    let place = |place: &Option<Place>| match place {
        None => Json::Null,
        Some(Place::Thread(span)) => json!([span.start, span.end]),
        Some(Place::Message(span)) => json!([span.start, span.end, "this"]),
        Some(Place::SomeMessage(span)) => json!([span.start, span.end, "some"]),
    };
    let way = |places: &Places| places.iter().map(place).collect::<Json>();
    json!({
        "outcomes": found.allowed.outcomes.iter().map(outcome).collect::<Json>(),
        "blocked": found.allowed.blocked.iter().map(|span| json!([span.start, span.end])).collect::<Json>(),
        "by": found.by.name(),
        "statistics": [solves, lemmas],
        "explored": found.explored,
        "ending": match &found.ending {
            Ending::Unknown => Json::Null,
            Ending::Always => json!("always"),
            Ending::NotAlways(ways) => ways.iter().map(way).collect(),
        },
    })
}

/// `None` if it is not as [`answer`] makes it.
fn found(json: &Json) -> Option<Found> {
    let outcome = |json: &Json| {
        let values: Option<Vec<Value>> = json.as_array()?.iter().map(value_from_json).collect();
        values.map(Outcome)
    };
    let outcomes: Option<BTreeSet<_>> = json["outcomes"].as_array()?.iter().map(outcome).collect();
    let number = |json: &Json| json.as_u64();
    let pair = |json: &Json| number(&json[0]).zip(number(&json[1]));
    let span = |json: &Json| {
        let (start, end) = pair(json)?;
        Some(Span { start: usize::try_from(start).ok()?, end: usize::try_from(end).ok()? })
    };
    let blocked: Option<Vec<Span>> = json["blocked"].as_array()?.iter().map(span).collect();
    let place = |json: &Json| match (json.is_null(), json[2].as_str()) {
        (true, _) => Some(None),
        (false, None) => span(json).map(|span| Some(Place::Thread(span))),
        (false, Some("this")) => span(json).map(|span| Some(Place::Message(span))),
        (false, Some(_)) => span(json).map(|span| Some(Place::SomeMessage(span))),
    };
    let way = |json: &Json| json.as_array()?.iter().map(place).collect::<Option<Places>>();
    let ending = match &json["ending"] {
        Json::Array(ways) => Ending::NotAlways(ways.iter().map(way).collect::<Option<_>>()?),
        Json::String(_) => Ending::Always,
        _ => Ending::Unknown,
    };
    let by = Engine::from_name(json["by"].as_str()?)?;
    let (solves, lemmas) = pair(&json["statistics"])?;
    let allowed = Allowed {
        outcomes: outcomes?,
        complete: Some(Complete::on_trust()),
        blocked: blocked?,
        statistics: Statistics { solves, lemmas },
        ..Allowed::default()
    };
    Some(Found { allowed, by, explored: pair(&json["explored"]), ending, ..Found::default() })
}
