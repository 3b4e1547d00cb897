//! Records: what was observed, as JSON lines that are appended while a run goes on.
//!
//! The first line is a [`Header`], with everything that may differ between two equal runs; each other line is
//! a [`TestRecord`], or says when the run ended, and how many lines with which digest there are before it.
//! Readers ignore fields and kinds of lines that they do not know, and a last line that was cut off, and say
//! so. Lines of one test and machine are added up if their program is the same.

mod file;
mod host;
mod writer;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use lang::Test;
use lang::outcome::{Outcome, Value};

use crate::device::FabricInfo;
use crate::observation::{Observations, Occurrence};

pub use campaign::digest::{Digest, fnv1a, hash_text};
pub use campaign::shard::ShardOf;
pub use file::{End, ReadError, Record};
pub use host::{Host, NodeInfo, iso8601};
pub use writer::{Ended, RecordWriter, write_whole};

/// The format of records that this version writes and reads.
pub const SCHEMA: &str = "litmus-record/1";

/// A model's name and text.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ModelIdentity {
    /// Its name.
    pub name: String,
    /// [`hash_text`] of its text, included files and all.
    pub hash: String,
}

/// A library of a file, so that programs that use it can be judged again without the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LibraryText {
    /// The file, as `--library` named it.
    pub path: String,
    /// [`hash_text`] of its text.
    pub hash: String,
    /// Its text.
    pub text: String,
}

/// The first line of a record.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Header {
    /// [`SCHEMA`].
    pub schema: String,
    /// The version of litmus that wrote it.
    pub tool: String,
    /// The backend's name.
    pub backend: String,
    /// The seed.
    pub seed: u64,
    /// How many runs of each test were asked for.
    pub iterations: u64,
    /// Deliberate faults.
    #[serde(default)]
    pub faults: Vec<String>,
    /// Whatever else the backend's observations depend on.
    #[serde(default)]
    pub parameters: Map<String, Json>,
    /// The models that the command line named; empty if each test named its own.
    #[serde(default)]
    pub models: Vec<ModelIdentity>,
    /// The arguments of `litmus`, from `run` on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<String>,
    /// The libraries of files that were used besides the shipped ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub libraries: Vec<LibraryText>,
    /// The machine that ran it.
    #[serde(default)]
    pub host: Option<Host>,
    /// The machines and devices that took part, on backends that have some.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<NodeInfo>,
    /// When the run began, in UTC as ISO 8601.
    #[serde(default)]
    pub started: Option<String>,
    /// Which part of a run it is, if it is not the whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<ShardOf>,
    /// When it ended; no line of its own, but that of the record's last `end` line.
    #[serde(skip)]
    pub ended: Option<String>,
    /// What the process exited with, of a part of a run; of that line too.
    #[serde(skip)]
    pub exit: Option<u8>,
}

impl Header {
    /// The backend's name in what was read from a log of herd7 or litmus7, which says nothing of how it was
    /// made.
    pub const LOG: &str = "log";
    /// The name of the backend that simulates machines.
    pub const SIMULATOR: &str = "sim";
    /// The name of the backend of real machines.
    pub const HARDWARE: &str = "verbs";
    /// The name of the backend of real machines that libfabric reaches.
    pub const OFI: &str = "ofi";
    /// The name of the backend of programs over MPI.
    pub const MPI: &str = "mpi";

    /// Whether simulated machines ran the tests.
    pub fn is_simulated(&self) -> bool {
        self.backend == Self::SIMULATOR
    }

    /// Whether real machines ran the tests. Of a log, neither is known.
    pub fn is_hardware(&self) -> bool {
        self.backend == Self::HARDWARE || self.is_ofi()
    }

    /// The provider of libfabric that the first machine used.
    pub fn provider(&self) -> Option<&FabricInfo> {
        self.nodes.iter().find_map(|node| node.device.fabric.as_ref())
    }

    /// The version of the MPI that ran the tests.
    pub fn mpi(&self) -> Option<&str> {
        self.parameters.get("mpi").and_then(serde_json::Value::as_str)
    }

    /// Whether real machines ran the tests, by libfabric.
    pub fn is_ofi(&self) -> bool {
        self.backend == Self::OFI
    }

    /// Whether programs over MPI ran the tests.
    pub fn is_mpi(&self) -> bool {
        self.backend == Self::MPI
    }

    /// Whether it stands for a log.
    pub fn is_log(&self) -> bool {
        self.backend == Self::LOG
    }

    /// Why shipped models cannot judge what is seen, if so.
    pub fn unjudgeable(&self) -> Option<String> {
        unjudgeable(&self.nodes)
    }

    /// Whether observations made under the two headers can be put together.
    ///
    /// # Errors
    /// The first thing that differs.
    pub fn compatible(&self, other: &Self) -> Result<(), String> {
        let differs = |what: &str, ours: &dyn std::fmt::Display, theirs: &dyn std::fmt::Display| {
            Err(format!("its {what} is {ours}, and that of this run is {theirs}"))
        };
        let list = |faults: &[String]| {
            if faults.is_empty() { "none".to_owned() } else { faults.join(", ") }
        };
        if self.backend != other.backend {
            return differs("backend", &self.backend, &other.backend);
        }
        if self.tool != other.tool {
            return differs("version of litmus", &self.tool, &other.tool);
        }
        if self.seed != other.seed {
            return differs("seed", &self.seed, &other.seed);
        }
        if self.iterations != other.iterations {
            return differs("number of iterations", &self.iterations, &other.iterations);
        }
        if self.faults != other.faults {
            return differs("list of faults", &list(&self.faults), &list(&other.faults));
        }
        let hashes =
            |header: &Self| header.libraries.iter().map(|one| one.hash.clone()).collect::<Vec<_>>();
        if hashes(self) != hashes(other) {
            return Err("it was made with other libraries than this run's".to_owned());
        }
        let machines = |header: &Self| -> Vec<_> {
            let one = |node: &NodeInfo| {
                let (device, host) = (&node.device, &node.host);
                let device = (device.name.clone(), device.part_id, device.firmware.clone());
                (node.name.clone(), device, host.cpu.clone(), host.os.clone())
            };
            header.nodes.iter().map(one).collect()
        };
        if machines(self) != machines(other) {
            return Err("it was made on other machines than this run's".to_owned());
        }
        let mut names = self.parameters.keys().chain(other.parameters.keys());
        match names.find(|name| self.parameters.get(*name) != other.parameters.get(*name)) {
            Some(name) => Err(format!("its parameter `{name}` differs from this run's")),
            None => Ok(()),
        }
    }
}

/// How far a test got.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// All iterations were done.
    Complete,
    /// The run was stopped before.
    Interrupted,
    /// The backend cannot run it.
    Skipped,
    /// It broke.
    Failed,
}

/// A state and how often it was seen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StateCount {
    /// The value of each observable by its name; `⊥` is null.
    pub state: Map<String, Json>,
    /// In how many runs.
    pub count: u64,
    /// Where it was seen first, on backends that no seed repeats.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<Occurrence>,
}

/// A line of a record: one test on one machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TestRecord {
    /// The test's name.
    pub test: String,
    /// The file it was read from.
    pub file: String,
    /// The machine whose behavior was asked for.
    pub machine: String,
    /// The models it was judged under when it was recorded.
    #[serde(default)]
    pub models: Vec<ModelIdentity>,
    /// [`hash_text`] of the program.
    pub program_hash: String,
    /// The file's text, so that it can be judged again without the file.
    pub program: String,
    /// How far it got.
    pub status: Status,
    /// Why, if it was skipped or failed.
    #[serde(default)]
    pub reason: Option<String>,
    /// How many runs there were.
    pub iterations: u64,
    /// How many of them ended with an outcome.
    pub finished: u64,
    /// In how many some thread waited forever.
    #[serde(default)]
    pub blocked: u64,
    /// In how many an `assume` failed.
    #[serde(default)]
    pub assume_failed: u64,
    /// How many were given up.
    #[serde(default)]
    pub unfinished: u64,
    /// How long it was run; nothing if nobody measured it, or if records are to be the same each time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// What else a reader should know: which machines ran it, say.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// What was seen, sorted.
    pub outcomes: Vec<StateCount>,
    /// Whether it is a part of what one run saw, written before the test was over. Lines of the same program
    /// have the rest, unless the run was killed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub part: bool,
}

impl TestRecord {
    /// Whether an earlier line has nothing that this one does not have as often.
    fn has_all_of(&self, earlier: &Self) -> bool {
        let has = |old: &StateCount| {
            self.outcomes.iter().any(|own| own.state == old.state && own.count >= old.count)
        };
        earlier.outcomes.iter().all(|old| old.count == 0 || has(old))
    }

    /// Adds what an earlier line of the same program on the same machines has.
    pub fn add_earlier(&mut self, earlier: &Self) {
        let add = |own: &mut u64, other: u64| *own = own.saturating_add(other);
        add(&mut self.iterations, earlier.iterations);
        add(&mut self.finished, earlier.finished);
        add(&mut self.blocked, earlier.blocked);
        add(&mut self.assume_failed, earlier.assume_failed);
        add(&mut self.unfinished, earlier.unfinished);
        let times = [self.seconds, earlier.seconds].into_iter().flatten();
        self.seconds = times.reduce(|one, other| one + other);
        for old in &earlier.outcomes {
            match self.outcomes.iter_mut().find(|own| own.state == old.state) {
                Some(own) => {
                    add(&mut own.count, old.count);
                    own.places.extend(&old.places);
                    own.places.sort_unstable();
                    own.places.truncate(Observations::KEPT);
                }
                None => self.outcomes.push(old.clone()),
            }
        }
        for note in &earlier.notes {
            if !self.notes.contains(note) {
                self.notes.push(note.clone());
            }
        }
    }

    /// The observations, for a test loaded from [`TestRecord::program`].
    ///
    /// # Errors
    /// The name of an observable of the test without a value in some state, or with no value at all.
    pub fn observations(&self, test: &Test) -> Result<Observations, String> {
        let mut seen = Observations {
            blocked: self.blocked,
            assume_failed: self.assume_failed,
            unfinished: self.unfinished,
            ..Observations::default()
        };
        seen.notes.clone_from(&self.notes);
        for StateCount { state, count, places } in &self.outcomes {
            let names = test.observables.iter().map(|observable| &observable.name);
            let values = names
                .map(|name| state.get(name).and_then(value_from_json).ok_or_else(|| name.clone()));
            let outcome = Outcome(values.collect::<Result<_, _>>()?);
            if !places.is_empty() {
                seen.places.entry(outcome.clone()).or_default().extend(places);
            }
            let known = seen.outcomes.entry(outcome).or_default();
            *known = known.saturating_add(*count);
        }
        Ok(seen)
    }
}

/// Why shipped models cannot judge what was seen on these machines, if so. Simulators have none.
pub fn unjudgeable(nodes: &[NodeInfo]) -> Option<String> {
    nodes.iter().find_map(|node| {
        let arch = node.host.arch.as_deref().filter(|arch| *arch != "x86_64")?;
        Some(format!("{} is {arch}, and the shipped models describe x86 CPUs (TSO)", node.name))
    })
}

/// The outcomes that were seen, by the names of the test's observables.
pub fn states(test: &Test, seen: &Observations) -> Vec<StateCount> {
    let state = |(outcome, count): (&Outcome, &u64)| StateCount {
        state: state_to_json(test, &outcome.0),
        count: *count,
        places: seen.places.get(outcome).cloned().unwrap_or_default(),
    };
    seen.outcomes.iter().map(state).collect()
}

/// Values of a test's first observables by name.
pub fn state_to_json(test: &Test, values: &[Value]) -> Map<String, Json> {
    let names = test.observables.iter().map(|observable| observable.name.clone());
    names.zip(values.iter().map(|value| value_to_json(*value))).collect()
}

/// A value as JSON shows it.
pub fn value_to_json(value: Value) -> Json {
    match value {
        Value::Int(value) => value.into(),
        Value::Bottom => Json::Null,
        Value::Undefined => "undefined".into(),
    }
}

/// The value of [`value_to_json`]'s JSON; `None` if it is not one.
pub fn value_from_json(json: &Json) -> Option<Value> {
    match json {
        Json::Null => Some(Value::Bottom),
        Json::String(text) if text == "undefined" => Some(Value::Undefined),
        _ => json.as_u64().map(Value::Int),
    }
}

#[cfg(test)]
mod tests;
