//! A part of a suite, as `--shard` makes it: units with their tests before they have names. `litmus merge` gives these.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::Path;

use executor::record::ShardOf;
use model::generate::text::{Content, Words};
use serde_json::{Value as Json, json};

use super::suite::{Counts, Made, Origin, Unit, hold};
use crate::models::LoadedModel;

/// The file's name in the part's folder.
pub const PART: &str = "part.jsonl";

/// A part that is being made.
pub struct Part<'m> {
    file: File,
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
    pub fn open(folder: &Path, origin: &Origin<'m>, shard: &ShardOf) -> Result<Self, String> {
        let mut head = origin.head();
        head["schema"] = json!("litmus-suite-part/1");
        head["models"] = json!(origin.models());
        head["source"] = json!(origin.source());
        head["shard"] = json!(shard);
        let told = |error: std::io::Error| format!("{}: {error}", folder.display());
        fs::create_dir_all(folder).map_err(told)?;
        let path = folder.join(PART);
        if !path.exists() && fs::read_dir(folder).is_ok_and(|mut found| found.next().is_some()) {
            return Err(format!("{}: expected a new or empty folder", folder.display()));
        }
        let text =
            if path.exists() { fs::read_to_string(&path).map_err(told)? } else { String::new() };
        // A line that was not finished is of a unit that was not.
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        let mut lines = text[..whole].lines();
        if lines.next().is_some_and(|first| first != format!("{head}")) {
            return Err(format!("{}: expected a part made by the same command", folder.display()));
        }
        let mut counts = Counts::default();
        for line in lines {
            let (_, unit) =
                read_line(line).map_err(|error| format!("{}: {error}", path.display()))?;
            counts.take(&unit);
        }
        let mut file = OpenOptions::new().create(true).append(true).open(&path).map_err(told)?;
        file.set_len(whole as u64).map_err(told)?;
        if whole == 0 {
            writeln!(file, "{head}").map_err(told)?;
        }
        let items = shard.items.iter().map(|(item, _)| *item).collect();
        let (model, models, source) = (origin.model, origin.models(), origin.source());
        Ok(Self { file, model, models, source, items, counts })
    }

    /// Adds what a unit came to.
    ///
    /// # Errors
    /// What cannot be written, or a test that is not as the engine said.
    pub fn add(&mut self, index: usize, unit: &Unit) -> Result<(), String> {
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
                hold(&content.name, &content.file(&words), self.model)?;
            }
        }
        self.counts.take(unit);
        writeln!(self.file, "{}", line(index, unit)).map_err(|error| format!("{PART}: {error}"))
    }
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
    json!({
        "index": index, "unit": name, "title": title, "tried": tried, "undecided": undecided,
        "unlisted": unlisted, "made": unit.made.iter().map(made).collect::<Vec<_>>(),
    })
}

/// A unit of a part's file, and its number among all.
///
/// # Errors
/// A line that is no unit.
pub fn read_line(line: &str) -> Result<(usize, Unit), String> {
    let wrong = || "a line cannot be read".to_owned();
    let json: Json = serde_json::from_str(line).map_err(|_| wrong())?;
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
