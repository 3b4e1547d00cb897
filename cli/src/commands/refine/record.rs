//! How far a check has come, in a file: a journal with a line for each client.

use std::path::Path;

use campaign::digest::fnv1a;
use campaign::journal::{Journal, ReadError};
use campaign::shard::ShardOf;
use model::refine::{Answer, Bounds, Refinement};
use serde::{Deserialize, Serialize};

use super::{Arguments, Tally};
use crate::output::Failure;

/// The format of records that this version writes and reads.
pub const SCHEMA: &str = "litmus-refine-record/4";

/// The first line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Head {
    pub schema: String,
    /// What is checked.
    of: Identity,
    /// How many clients there are.
    pub clients: usize,
    /// Which part of the check it is, if it is not the whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<ShardOf>,
}

/// What a record must be of to go on with it: the texts, and the bounds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Identity {
    library: String,
    texts: String,
    threads: usize,
    calls: usize,
    nodes: u32,
    values: Option<u8>,
    plain: usize,
    objects: Option<u8>,
    size: usize,
    loops: u32,
    version: String,
}

/// Each other line: a client, by its number among all, and what came of it. The last line of a client counts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Checked {
    pub client: usize,
    #[serde(flatten)]
    pub came: ClientResult,
}

/// What came of a client.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "kebab-case")]
pub enum ClientResult {
    Holds {
        outcomes: usize,
        cut_off: bool,
    },
    Nothing,
    IllFormed,
    Unknown {
        reason: String,
    },
    /// How is not kept: it is checked again.
    Refuted,
}

impl ClientResult {
    /// What is known of an answer when it is read again.
    pub fn of(answer: &Answer) -> Self {
        match answer {
            Answer::Holds { outcomes, cut_off } => {
                Self::Holds { outcomes: *outcomes, cut_off: *cut_off }
            }
            Answer::Nothing => Self::Nothing,
            Answer::IllFormed => Self::IllFormed,
            Answer::Unknown(reason) => Self::Unknown { reason: reason.clone() },
            Answer::Refuted(_) => Self::Refuted,
        }
    }

    /// Whether the client need not be checked again.
    pub fn is_decided(&self) -> bool {
        matches!(self, Self::Holds { .. } | Self::Nothing | Self::IllFormed)
    }
}

/// The first line of a check's record.
pub fn head(
    arguments: &Arguments,
    refinement: &Refinement,
    clients: usize,
    shard: Option<ShardOf>,
) -> Head {
    let Bounds { threads, calls, nodes, plain, size, .. } = arguments.bounds();
    let of = Identity {
        library: refinement.library().name.clone(),
        texts: format!("{:016x}", fnv1a(&refinement.texts())),
        threads,
        calls,
        nodes,
        values: arguments.values,
        plain,
        objects: arguments.objects,
        size,
        loops: arguments.loops,
        version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    Head { schema: SCHEMA.to_owned(), of, clients, shard }
}

/// Begins a record, or opens the one to go on with, if the arguments name one; and what is known by it.
///
/// # Errors
/// Why it cannot be used.
pub fn open(arguments: &Arguments, head: &Head) -> Result<(Option<Journal>, Tally), Failure> {
    if let Some(path) = &arguments.resume {
        let (journal, tally) =
            resume(path, head).map_err(|why| Failure::Unusable(path.clone(), why.to_string()))?;
        return Ok((Some(journal), tally));
    }
    let Some(path) = &arguments.record else { return Ok((None, Tally::default())) };
    let journal = Journal::create(path, head).map_err(|why| Failure::unwritable(path, why))?;
    Ok((Some(journal), Tally::default()))
}

fn resume(path: &Path, head: &Head) -> Result<(Journal, Tally), ReadError> {
    let mut tally = Tally::default();
    let journal = Journal::resume(path, SCHEMA, |known: &Head, items: Vec<Checked>| {
        if known.of != head.of || known.clients != head.clients {
            return Err("is of other libraries, another implementation or other bounds".to_owned());
        }
        if known.shard != head.shard {
            return Err("is of another part of the check".to_owned());
        }
        for Checked { client, came } in items {
            if !head.has(client) {
                return Err(format!("has a client {client}, which is not in the check"));
            }
            tally.known.insert(client, came);
        }
        Ok(())
    })?;
    Ok((journal, tally))
}

impl Head {
    /// Whether a client of this number is checked.
    pub fn has(&self, client: usize) -> bool {
        match &self.shard {
            Some(shard) => shard.items.binary_search_by_key(&client, |(item, _)| *item).is_ok(),
            None => client < self.clients,
        }
    }

    /// The numbers of the clients that are checked.
    pub fn numbers(&self) -> impl Iterator<Item = usize> {
        let all = if self.shard.is_none() { 0..self.clients } else { 0..0 };
        let own = self.shard.iter().flat_map(|shard| &shard.items).map(|(item, _)| *item);
        all.chain(own)
    }
}
