//! Reports in JSON: of `allowed` and `run`.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use super::parts::Part;
use crate::exit::Exit;
use crate::report::{Report, Status};

/// The fields before the results, which all parts have in common.
pub fn head(parts: &[Part<Json>]) -> Vec<(&str, Json)> {
    let fields = parts.first().and_then(|part| part.content.as_object());
    let fields = fields.into_iter().flatten();
    let head = fields.take_while(|(name, _)| *name != "results");
    head.map(|(name, value)| (name.as_str(), value.clone())).collect()
}

/// What reports list; the first are the results.
const LISTS: [&str; 4] = ["results", "errors", "warnings", "skipped"];

/// What an input came to, list by list.
type Found = [Vec<Json>; LISTS.len()];

/// Tells the report what the parts have, in the order of the inputs.
pub fn fill(parts: &[Part<Json>], report: &mut Report<'_>) {
    let mut inputs: BTreeMap<usize, Found> = BTreeMap::new();
    // What is of no input is in every part, and counts once.
    let mut general = Found::default();
    for part in parts {
        let number = |json: &Json| {
            let mut items = part.shard.items.iter();
            items.find(|(_, name)| json["file"] == name.as_str()).map(|(number, _)| *number)
        };
        for (index, name) in LISTS.into_iter().enumerate() {
            for json in part.content[name].as_array().into_iter().flatten() {
                match number(json) {
                    Some(number) => inputs.entry(number).or_default()[index].push(json.clone()),
                    None if general[index].contains(json) => {}
                    None => general[index].push(json.clone()),
                }
            }
        }
        if let Some(exit) = part.content["exit"].as_u64() {
            report.exit.raise(Exit::of_code(exit));
        }
    }
    for [results, errors, warnings, skipped] in std::iter::once(general).chain(inputs.into_values())
    {
        for json in results {
            let status = match json["status"].as_str() {
                Some("ok" | "as allowed") => Status::Good,
                Some("fail" | "violation") => Status::Bad,
                _ => Status::Open,
            };
            let word = json["status"].as_str().unwrap_or("unknown").to_owned();
            let line = || {
                let text = |name: &str| json[name].as_str().unwrap_or_default().to_owned();
                let of = if text("machine").is_empty() { text("model") } else { text("machine") };
                format!("{word}  {}  {of}\n", text("test"))
            };
            let draw = || if status == Status::Good { String::new() } else { line() };
            report.result(status, || json.clone(), draw);
        }
        report.known(errors, warnings, skipped);
    }
}

/// Ends the report with the fields that all parts have in common.
pub fn finish(parts: &[Part<Json>], report: Report<'_>) -> Exit {
    let fields = parts.first().and_then(|part| part.content.as_object());
    let fields = fields.into_iter().flatten();
    let tail = fields.skip_while(|(name, _)| *name != "skipped").skip(1);
    let tail: Vec<(&str, Json)> = tail
        .filter(|(name, _)| *name != "exit")
        .map(|(name, value)| {
            // Whether something was interrupted is so of the whole if of a part.
            let any = parts.iter().any(|part| part.content[name] == Json::Bool(true));
            (name.as_str(), if value.is_boolean() { Json::Bool(any) } else { value.clone() })
        })
        .collect();
    report.finish(&tail, ["good", "BAD", "unknown"])
}
