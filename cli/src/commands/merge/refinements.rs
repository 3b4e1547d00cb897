//! Records of `refine`: numbers that add up, and clients that are to be asked again.

use std::path::Path;

use executor::files;
use serde_json::{Value as Json, json};

use super::parts::{self, Part};
use super::{Failure, Refused};
use crate::exit::Exit;
use crate::output;
use crate::sealed;
use crate::terminal::Terminal;

pub fn merge(
    found: Vec<Part<Json>>,
    place: &Path,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let parts = parts::whole(found, terminal)?;
    let Some(mut merged) = parts.first().map(|part| part.content.clone()) else {
        return Ok(Exit::Fine);
    };
    for name in ["ill_formed", "nothing", "outcomes", "cut_off"] {
        let number = |part: &Part<Json>| part.content[name].as_u64().unwrap_or(0);
        merged[name] = json!(parts.iter().map(number).sum::<u64>());
    }
    let mut undecided = Vec::new();
    for Part { path, shard, content } in &parts {
        let wrong = || Refused::new(path, "not-a-part", "speaks of clients that there are not");
        let number = |json: &Json| json.as_u64().and_then(|number| usize::try_from(number).ok());
        let done = number(&content["done"]).ok_or_else(wrong)?;
        let open = content["undecided"].as_array().into_iter().flatten();
        let open: Vec<usize> = open.filter_map(number).chain(done..shard.items.len()).collect();
        for position in open {
            undecided.push(shard.items.get(position).ok_or_else(wrong)?.0);
        }
    }
    undecided.sort_unstable();
    let open = undecided.len();
    merged["reason"] = parts
        .iter()
        .map(|part| part.content["reason"].clone())
        .find(|reason| !reason.is_null())
        .unwrap_or_default();
    if let Some(fields) = merged.as_object_mut() {
        fields.shift_remove("refuted");
    }
    merged["done"] = merged["clients"].clone();
    merged["undecided"] = json!(undecided);
    sealed::seal(&mut merged);
    files::replace(place, format!("{merged:#}\n").as_bytes())
        .map_err(|error| output::Failure::unwritable(place, error))?;
    let path = place.display();
    terminal.note(&format!(
        "{path}: the same command with --resume {path} for --record and --shard says what it comes to"
    ));
    let is_refuted = parts.iter().any(|part| part.content["refuted"] == true);
    Ok(match () {
        () if is_refuted => Exit::Violation,
        () if open > 0 => Exit::Unknown,
        () => Exit::Fine,
    })
}
