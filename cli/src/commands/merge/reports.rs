//! Reports in JSON: of `allowed` and `run`.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value as Json;

use super::Failure;
use super::parts::{self, Part};
use crate::exit::Exit;
use crate::options::Format;
use crate::report::{Report, Status};
use crate::terminal::Terminal;

pub fn merge(
    found: Vec<Part<Json>>,
    format: Format,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let mut parts = parts::whole(found, terminal)?;
    let found = taken(&mut parts);
    // What stands before and after the lists is of the whole.
    let fields = || parts.first().and_then(|part| part.content.as_object()).into_iter().flatten();
    let head = fields().take_while(|(name, _)| *name != LISTS[0]);
    let head: Vec<(&str, Json)> =
        head.map(|(name, value)| (name.as_str(), value.clone())).collect();
    let mut report = Report::new(terminal, format, &head);
    for exit in parts.iter().filter_map(|part| part.content["exit"].as_u64()) {
        report.exit.raise(Exit::of_code(exit));
    }
    found.into_iter().for_each(|found| tell(found, &mut report));
    let tail = fields().skip_while(|(name, _)| *name != LISTS[3]).skip(1);
    let tail = tail.filter(|(name, _)| !["exit", "counts"].contains(&name.as_str()));
    let tail = tail.map(|(name, value)| {
        // Whether something was interrupted is so of the whole if of a part.
        let any = parts.iter().any(|part| part.content[name] == Json::Bool(true));
        (name.as_str(), if value.is_boolean() { Json::Bool(any) } else { value.clone() })
    });
    let tail: Vec<(&str, Json)> = tail.collect();
    Ok(report.finish(&tail, Some(["good", "BAD", "unknown"])))
}

/// What reports list; the first are the results.
const LISTS: [&str; 4] = ["results", "errors", "warnings", "skipped"];

/// What an input came to, list by list.
type Found = [Vec<Json>; LISTS.len()];

/// What the parts list, in the order of the inputs: of the parts remains the rest.
fn taken(parts: &mut [Part<Json>]) -> Vec<Found> {
    let mut inputs: BTreeMap<usize, Found> = BTreeMap::new();
    // What is of no input is in every part, and counts once.
    let mut general = Found::default();
    for part in parts {
        let names = part.shard.items.iter().map(|(number, name)| (name.as_str(), *number));
        let numbers: HashMap<&str, usize> = names.collect();
        for (index, name) in LISTS.into_iter().enumerate() {
            // Taken, not copied: a million tests are gigabytes.
            let Json::Array(list) = part.content[name].take() else { continue };
            for json in list {
                let file = json["file"].as_str().unwrap_or_default();
                match numbers.get(file) {
                    Some(number) => inputs.entry(*number).or_default()[index].push(json),
                    None if general[index].contains(&json) => {}
                    None => general[index].push(json),
                }
            }
        }
    }
    std::iter::once(general).chain(inputs.into_values()).collect()
}

/// Tells the report what an input came to.
fn tell([results, errors, warnings, skipped]: Found, report: &mut Report<'_>) {
    for json in results {
        // Results of `allowed` have a status, those of `run` a judgement.
        let word = json["status"].as_str().or_else(|| json["judgement"].as_str());
        let word = word.unwrap_or("unknown").to_owned();
        let status = match word.as_str() {
            "ok" | "conforms" | "unseen" => Status::Good,
            "yes" => Status::Yes,
            "no" => Status::No,
            "unchecked" => Status::Unchecked,
            "fail" | "violation" => Status::Bad,
            _ => Status::Open,
        };
        let line = || {
            let text = |name: &str| json[name].as_str().unwrap_or_default().to_owned();
            let of = if text("machine").is_empty() { text("model") } else { text("machine") };
            format!("{word}  {}  {of}\n", text("test"))
        };
        let is_told = matches!(status, Status::Bad | Status::Open);
        let draw = || if is_told { line() } else { String::new() };
        report.result(status, || json.clone(), draw);
    }
    report.known(errors, warnings, skipped);
}
