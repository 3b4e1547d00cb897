//! What runs tests: the simulator, and machines.

use std::sync::atomic::AtomicBool;

use compiler::library::Libraries;
use lang::Test;
use serde_json::{Map, Value};

use evidence::observation::Observations;
use evidence::record::NodeInfo;
use evidence::record::{ModelIdentity, Status, TestRecord, hash_text, states};

/// A test to be run.
#[derive(Clone, Copy, Debug)]
pub struct Job<'a> {
    /// The test.
    pub test: &'a Test,
    /// The file it is from, as messages name it.
    pub file: &'a str,
    /// The file's text.
    pub program: &'a str,
    /// The libraries by whose implementations its calls have been replaced.
    pub libraries: &'a Libraries,
    /// The machine whose behavior is asked for, by the name that models give it (`machine rdma-tso`).
    pub machine: &'a str,
    /// How many runs, at least; backends may do whole rounds only.
    pub iterations: u64,
    /// What all random choices derive from, with the program and the machine.
    pub seed: u64,
}

/// How a backend's work on a job can be watched and stopped.
#[derive(Clone, Copy)]
pub struct Control<'a> {
    /// When this is set, the backend returns what it has.
    pub stop: &'a AtomicBool,
    /// Told how many runs have been done since it was told last.
    pub progress: &'a (dyn Fn(u64) + Sync),
}

/// Why there are no observations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The backend cannot run such a test. Nothing is wrong.
    Skip(String),
    /// It tried, and something broke.
    Error(String),
    /// Something broke on the way; this was seen before.
    Broken(String, Box<Observations>),
}

/// Something that runs tests.
pub trait Backend: Sync {
    /// The name on the command line and in records.
    fn name(&self) -> &'static str;

    /// The deliberate faults that are switched on, by name.
    fn faults(&self) -> Vec<String>;

    /// All else that observations depend on, for the record's header. Two runs with the same parameters, seed
    /// and iterations can be put together.
    fn parameters(&self) -> Map<String, Value>;

    /// The machines that take part, if there are any.
    fn nodes(&self) -> Vec<NodeInfo> {
        Vec::new()
    }

    /// Runs a test.
    ///
    /// # Errors
    /// See [`Refusal`].
    fn run(&self, job: &Job<'_>, control: Control<'_>) -> Result<Observations, Refusal>;
}

/// Runs a job, and puts what came of it into a line of a record. `models` is who it will be judged by.
pub fn measure(
    backend: &dyn Backend,
    job: &Job<'_>,
    models: Vec<ModelIdentity>,
    control: Control<'_>,
) -> (TestRecord, Observations) {
    let (status, reason, seen) = match backend.run(job, control) {
        Ok(seen) if seen.iterations() < job.iterations => (Status::Interrupted, None, seen),
        Ok(seen) => (Status::Complete, None, seen),
        Err(Refusal::Skip(reason)) => (Status::Skipped, Some(reason), Observations::default()),
        Err(Refusal::Error(reason)) => (Status::Failed, Some(reason), Observations::default()),
        Err(Refusal::Broken(reason, seen)) => (Status::Failed, Some(reason), *seen),
    };
    let record = TestRecord {
        test: job.test.name.clone(),
        file: job.file.to_owned(),
        machine: job.machine.to_owned(),
        models,
        program_hash: hash_text(job.program),
        program: job.program.to_owned(),
        status,
        reason,
        iterations: seen.iterations(),
        finished: seen.finished(),
        blocked: seen.blocked,
        assume_failed: seen.assume_failed,
        unfinished: seen.unfinished,
        seconds: None,
        notes: seen.notes.clone(),
        outcomes: states(job.test, &seen),
    };
    (record, seen)
}
