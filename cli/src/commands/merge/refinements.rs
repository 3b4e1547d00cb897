//! Records of `refine`: clients in their order, the last that is known of each.

use std::collections::BTreeMap;
use std::path::Path;

use campaign::journal::{self, Contents};

use super::parts::{self, Part};
use super::{Failure, Refused};
use crate::commands::refine::record::{Came, Checked, Head, SCHEMA};
use crate::exit::Exit;
use crate::output;
use crate::terminal::Terminal;

/// A part of a check.
pub fn read(path: &Path, bytes: &[u8]) -> Result<Part<Contents<Head, Checked>>, Refused> {
    let mut content: Contents<Head, Checked> = Contents::parse(bytes, SCHEMA)
        .map_err(|message| Refused::new(path, "changed-part", message))?;
    let head = content.head.clone();
    if let Some(wrong) = content.items.iter().find(|item| !head.has(item.client)) {
        let message = format!("has a client {}, which is not in the part", wrong.client);
        return Err(Refused::new(path, "not-a-part", message));
    }
    let shard = content.head.shard.take();
    let message = "expected an output of a command with --shard";
    let shard = shard.ok_or_else(|| Refused::new(path, "not-a-part", message))?;
    Ok(Part { path: path.to_owned(), shard, content })
}

pub fn merge(
    found: Vec<Part<Contents<Head, Checked>>>,
    place: &Path,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let parts = parts::whole(found, terminal)?;
    let Some(head) = parts.first().map(|part| part.content.head.clone()) else {
        return Ok(Exit::Fine);
    };
    let items = parts.into_iter().flat_map(|part| part.content.items);
    let known: BTreeMap<usize, Came> = items.map(|item| (item.client, item.came)).collect();
    let items = known.iter().map(|(client, came)| Checked { client: *client, came: came.clone() });
    journal::replace(place, &head, items)
        .map_err(|error| output::Failure::unwritable(place, error))?;
    let path = place.display();
    terminal.note(&format!(
        "{path}: the same command with --resume {path} for --record and --shard says what it comes to"
    ));
    let decided = known.values().filter(|came| came.is_decided()).count();
    Ok(match () {
        () if known.values().any(|came| *came == Came::Refuted) => Exit::Violation,
        () if decided < head.clients => Exit::Unknown,
        () => Exit::Fine,
    })
}
