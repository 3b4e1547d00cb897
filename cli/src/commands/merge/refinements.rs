//! Records of `refine`: clients in their order, the last that is known of each.

use std::collections::BTreeMap;
use std::path::Path;

use campaign::journal::{self, Contents};
use campaign::merge::{Flaw, Output, Refused, Whole};
use campaign::shard::ShardOf;

use super::Failure;
use crate::commands::refine::record::{Checked, ClientResult, Head, SCHEMA};
use crate::exit::Exit;
use crate::output;
use crate::terminal::Terminal;

/// A part of a check.
#[derive(PartialEq)]
pub struct Check(Contents<Head, Checked>);

impl Output for Check {
    type Item = ClientResult;

    fn read(path: &Path, bytes: &[u8]) -> Result<(ShardOf, Self), Refused> {
        let mut content: Contents<Head, Checked> = Contents::parse(bytes, SCHEMA)
            .map_err(|message| Refused::new(path, Flaw::ChangedPart, message))?;
        if let Some(wrong) = content.items.iter().find(|item| !content.head.has(item.client)) {
            let message = format!("has a client {}, which is not in the part", wrong.client);
            return Err(Refused::new(path, Flaw::NotAPart, message));
        }
        let shard = content.head.shard.take().ok_or_else(|| Refused::not_a_part(path))?;
        Ok((shard, Self(content)))
    }

    fn take(&mut self, _: &ShardOf) -> Vec<(usize, ClientResult)> {
        self.0.items.drain(..).map(|Checked { client, came }| (client, came)).collect()
    }
}

pub fn write(whole: Whole<Check>, place: &Path, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let Some(head) = whole.parts.first().map(|part| &part.content.0.head) else {
        return Ok(Exit::Fine);
    };
    let known: BTreeMap<usize, ClientResult> = whole.items.into_iter().collect();
    let items = known.iter().map(|(client, came)| Checked { client: *client, came: came.clone() });
    journal::replace(place, head, items)
        .map_err(|error| output::Failure::unwritable(place, error))?;
    let path = place.display();
    terminal.note(&format!(
        "{path}: the same command with --resume {path} for --record and --shard says what it comes to"
    ));
    let decided = known.values().filter(|came| came.is_decided()).count();
    Ok(match () {
        () if known.values().any(|came| *came == ClientResult::Refuted) => Exit::Violation,
        () if decided < head.clients => Exit::Unknown,
        () => Exit::Fine,
    })
}
