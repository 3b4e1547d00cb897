//! How far a check has come, in a file.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use executor::files;
use executor::record::{ShardOf, fnv1a};
use model::refine::{Bounds, Refinement};
use serde_json::{Value as Json, json};

use super::{Arguments, Tally};
use crate::output::Failure;
use crate::{input, sealed};

/// The format of records that this version writes and reads.
pub const SCHEMA: &str = "litmus-refine-record/3";

/// How often the file is written while the check runs.
const EVERY: Duration = Duration::from_secs(5);

/// A record that is kept up to date.
pub struct Record {
    path: PathBuf,
    identity: Json,
    clients: usize,
    /// Which part of the check it is, if it is not the whole.
    shard: Option<ShardOf>,
    written: Instant,
}

/// What a record must be of to go on with it: the texts, and the bounds.
fn identity(arguments: &Arguments, refinement: &Refinement) -> Json {
    let Bounds { threads, calls, nodes, plain, size, .. } = arguments.bounds();
    let hash = format!("{:016x}", fnv1a(&refinement.texts()));
    json!({
        "library": refinement.library().name, "texts": hash, "threads": threads, "calls": calls,
        "nodes": nodes, "values": arguments.values, "plain": plain, "objects": arguments.objects, "size": size,
        "loops": arguments.loops, "version": env!("CARGO_PKG_VERSION"),
    })
}

impl Record {
    /// Begins a record, or reads the one to go on with; what is known by it.
    ///
    /// # Errors
    /// Why there is none, with the path.
    pub fn open(
        arguments: &Arguments,
        refinement: &Refinement,
        clients: usize,
        shard: Option<ShardOf>,
    ) -> Result<(Option<Self>, Tally), Failure> {
        let identity = identity(arguments, refinement);
        let record = |path: &Path| Self {
            path: path.to_owned(),
            identity: identity.clone(),
            clients,
            shard: shard.clone(),
            written: Instant::now(),
        };
        if let Some(path) = &arguments.resume {
            let tally = read(path, &identity, clients, shard.as_ref());
            let tally = tally.map_err(|message| Failure::Unusable(path.clone(), message))?;
            return Ok((Some(record(path)), tally));
        }
        let Some(path) = &arguments.record else { return Ok((None, Tally::default())) };
        let record = record(path);
        match files::create(path, record.text(&Tally::default()).as_bytes()) {
            Ok(()) => Ok((Some(record), Tally::default())),
            Err(error) => Err(Failure::unwritable(path, error)),
        }
    }

    /// Writes what is known, if the last time is a while ago.
    pub fn update(&mut self, tally: &Tally) {
        if self.written.elapsed() >= EVERY {
            // The last write says what is wrong with the file.
            drop(self.write(tally));
            self.written = Instant::now();
        }
    }

    /// Writes what is known.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, tally: &Tally) -> io::Result<()> {
        files::replace(&self.path, self.text(tally).as_bytes())
    }

    fn text(&self, tally: &Tally) -> String {
        let mut json = json!({
            "schema": SCHEMA, "of": self.identity, "clients": self.clients,
            "done": tally.next, "undecided": tally.undecided, "reason": tally.reason,
            "ill_formed": tally.ill_formed, "nothing": tally.nothing, "outcomes": tally.outcomes,
            "cut_off": tally.cut_off,
        });
        if let Some(shard) = &self.shard {
            json["refuted"] = json!(tally.refuted.is_some());
            json["shard"] = json!(shard);
        }
        sealed::seal(&mut json);
        format!("{json:#}\n")
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

fn read(
    path: &Path,
    identity: &Json,
    clients: usize,
    shard: Option<&ShardOf>,
) -> Result<Tally, String> {
    let bytes = input::bytes(path)?;
    let mut json: Json =
        serde_json::from_slice(&bytes).map_err(|error| format!("is no record: {error}"))?;
    sealed::unseal(&mut json)?;
    if json["schema"] != SCHEMA {
        return Err("is no record of `litmus refine`".to_owned());
    }
    if json["of"] != *identity {
        return Err("is of other libraries, another implementation or other bounds".to_owned());
    }
    if json["shard"] != json!(shard) {
        return Err("is of another part of the check".to_owned());
    }
    let clients = shard.map_or(clients, |shard| shard.items.len());
    let value = |json: &Json| json.as_u64().and_then(|number| usize::try_from(number).ok());
    let number = |name: &str| value(&json[name]).ok_or_else(|| format!("lacks `{name}`"));
    let undecided = json["undecided"].as_array();
    let undecided: Option<Vec<usize>> = undecided.and_then(|all| all.iter().map(value).collect());
    let tally = Tally {
        next: number("done")?,
        undecided: undecided.ok_or("lacks `undecided`")?,
        ill_formed: number("ill_formed")?,
        nothing: number("nothing")?,
        outcomes: number("outcomes")?,
        cut_off: number("cut_off")?,
        ..Tally::default()
    };
    let is_known = |index: &usize| *index < tally.next;
    if tally.next > clients || !tally.undecided.iter().all(is_known) {
        return Err("speaks of clients that there are not".to_owned());
    }
    Ok(tally)
}
