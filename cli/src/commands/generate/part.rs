//! A part of a suite, as `--shard` makes it: units with their tests before they have names. `litmus merge` gives these.

use std::path::Path;

use campaign::journal::Journal;
use executor::record::ShardOf;
use model::generate::text::{Content, Words};
use serde_json::{Value as Json, json};

use super::journal;
use super::suite::{Counts, Made, Origin, Unit, hold};
use crate::models::LoadedModel;
use crate::output::Failure;
use crate::sealed;

/// The file's name in the part's folder.
pub const PART: &str = "part.jsonl";

/// A part that is being made.
pub struct Part<'m> {
    journal: Journal,
    model: &'m LoadedModel,
    models: Vec<String>,
    source: String,
    /// The units of this part.
    pub items: Vec<usize>,
    /// What is there.
    pub counts: Counts,
}

impl<'m> Part<'m> {
    /// Opens a folder for a part: a new one, or one that the same command began.
    ///
    /// # Errors
    /// Why it cannot be used.
    pub fn open(folder: &Path, origin: &Origin<'m>, shard: &ShardOf) -> Result<Self, Failure> {
        let mut head = origin.head();
        head["schema"] = json!("litmus-suite-part/1");
        head["models"] = json!(origin.models());
        head["source"] = json!(origin.source());
        head["shard"] = json!(shard);
        sealed::seal(&mut head);
        let (journal, lines) = journal::open(folder, PART, &head)?;
        let mut counts = Counts::default();
        for line in lines {
            let (_, unit) = read_line(&line).map_err(|error| {
                Failure::Usage(format!("{}: {error}", journal.path().display()))
            })?;
            take(&mut counts, &unit);
        }
        let items = shard.items.iter().map(|(item, _)| *item).collect();
        let (model, models, source) = (origin.model, origin.models(), origin.source());
        Ok(Self { journal, model, models, source, items, counts })
    }

    /// Adds what a unit came to.
    ///
    /// # Errors
    /// What cannot be written, or a test that is not as the engine said.
    pub fn add(&mut self, index: usize, unit: &Unit) -> Result<(), Failure> {
        for made in &unit.made {
            let twin = made.twin.as_ref().map(|(content, verdicts)| (content, verdicts));
            for (content, verdicts) in twin.into_iter().chain([(&made.content, &made.verdicts)]) {
                let words = Words {
                    name: content.name.clone(),
                    title: unit.title.clone(),
                    source: self.source.clone(),
                    models: self.models.clone(),
                    comments: Vec::new(),
                    verdicts: verdicts.clone(),
                    twin: None,
                };
                hold(&content.name, &content.file(&words), self.model).map_err(Failure::Bug)?;
            }
        }
        take(&mut self.counts, unit);
        journal::add(&mut self.journal, &line(index, unit))
    }
}

/// Counts a unit, and its tests as files of their own: which are equal is seen when parts are merged.
fn take(counts: &mut Counts, unit: &Unit) {
    counts.take(unit);
    counts.files +=
        unit.made.iter().map(|made| 1 + usize::from(made.twin.is_some())).sum::<usize>();
}

fn line(index: usize, unit: &Unit) -> Json {
    let test = |content: &Content, verdicts: &[String]| {
        let Content { key, name, dialect, body } = content;
        json!({ "key": key, "name": name, "dialect": dialect, "body": body, "verdicts": verdicts })
    };
    let made = |made: &Made| {
        let twin = made.twin.as_ref().map(|(content, verdicts)| test(content, verdicts));
        json!({ "test": test(&made.content, &made.verdicts), "twin": twin })
    };
    let Unit { name, title, tried, undecided, unlisted, .. } = unit;
    let mut line = json!({
        "index": index, "unit": name, "title": title, "tried": tried, "undecided": undecided,
        "unlisted": unlisted, "made": unit.made.iter().map(made).collect::<Vec<_>>(),
    });
    sealed::seal(&mut line);
    line
}

/// A unit of a part's file, and its number among all.
///
/// # Errors
/// A line that is no unit.
pub fn read_line(line: &str) -> Result<(usize, Unit), String> {
    let wrong = || "a line cannot be read".to_owned();
    let mut json: Json = serde_json::from_str(line).map_err(|_| wrong())?;
    if !sealed::unseal(&mut json)? {
        return Err(wrong());
    }
    let text = |json: &Json| json.as_str().map(str::to_owned).ok_or_else(wrong);
    let test = |json: &Json| -> Result<(Content, Vec<String>), String> {
        let content = Content {
            key: text(&json["key"])?,
            name: text(&json["name"])?,
            dialect: json["dialect"].as_str().map(str::to_owned),
            body: text(&json["body"])?,
        };
        let verdicts = json["verdicts"].as_array().ok_or_else(wrong)?;
        Ok((content, verdicts.iter().map(text).collect::<Result<_, _>>()?))
    };
    let made = |json: &Json| -> Result<Made, String> {
        let (content, verdicts) = test(&json["test"])?;
        let twin = &json["twin"];
        let twin = if twin.is_null() { None } else { Some(test(twin)?) };
        Ok(Made { content, verdicts, twin })
    };
    let number = |name: &str| json[name].as_u64().ok_or_else(wrong);
    let unit = Unit {
        name: text(&json["unit"])?,
        title: text(&json["title"])?,
        made: json["made"]
            .as_array()
            .ok_or_else(wrong)?
            .iter()
            .map(made)
            .collect::<Result<_, _>>()?,
        tried: number("tried")?,
        undecided: number("undecided")?,
        unlisted: number("unlisted")?,
    };
    Ok((usize::try_from(number("index")?).map_err(|_| wrong())?, unit))
}
