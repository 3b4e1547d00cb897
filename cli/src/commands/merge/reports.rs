//! Reports in JSON: of `allowed` and `run`.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value as Json;

use super::parts::Part;
use crate::exit::Exit;
use crate::report::{Report, Status};

/// The fields before the results, which all parts have in common.
pub fn head(parts: &[Part<Json>]) -> Vec<(String, Json)> {
    let fields = parts.first().and_then(|part| part.content.as_object());
    let fields = fields.into_iter().flatten();
    let head = fields.take_while(|(name, _)| *name != "results");
    head.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// What reports list; the first are the results.
const LISTS: [&str; 4] = ["results", "errors", "warnings", "skipped"];

/// What an input came to, list by list.
type Found = [Vec<Json>; LISTS.len()];

/// Tells the report what the parts have, in the order of the inputs; of the parts remains what is not in these lists.
pub fn fill(parts: &mut [Part<Json>], report: &mut Report<'_>) {
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
        if let Some(exit) = part.content["exit"].as_u64() {
            report.exit.raise(Exit::of_code(exit));
        }
    }
    for [results, errors, warnings, skipped] in std::iter::once(general).chain(inputs.into_values())
    {
        for json in results {
            // Results of `allowed` have a status, those of `run` a judgement.
            let word = json["status"].as_str().or_else(|| json["judgement"].as_str());
            let word = word.unwrap_or("unknown").to_owned();
            let status = match word.as_str() {
                "ok" | "conforms" | "unseen" => Status::Good,
                "fail" | "violation" => Status::Bad,
                _ => Status::Open,
            };
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
