//! The interface of backends, which run tests: the simulator and real machines.

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
    /// The name of the test's file, for messages.
    pub file: &'a str,
    /// The file's text.
    pub program: &'a str,
    /// The libraries whose implementations have replaced the test's calls.
    pub libraries: &'a Libraries,
    /// The machine whose behavior is requested, by its name in models (`machine rdma-tso`).
    pub machine: &'a str,
    /// The least number of runs. Backends may run only whole rounds, so there may be more.
    pub iterations: u64,
    /// How many of them were done before, by the run that this one goes on from; on backends that no seed
    /// repeats.
    pub done: u64,
    /// The seed of all random choices, together with the program and the machine.
    pub seed: u64,
}

/// How to watch and stop a backend's work on a job.
#[derive(Clone, Copy)]
pub struct Control<'a> {
    /// If this is set, the backend returns what it has.
    pub stop: &'a AtomicBool,
    /// Called with the number of runs since the last call.
    pub progress: &'a (dyn Fn(u64) + Sync),
    /// Called with what was seen since the last call, by backends that no seed repeats. Whoever keeps it has
    /// it even if the process is killed.
    pub keep: &'a (dyn Fn(&Observations) + Sync),
}

/// The reason why there are no observations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The backend cannot run this kind of test. This is not an error.
    Skip(String),
    /// The backend tried, and failed.
    Error(String),
    /// The backend failed during the run. The observations until then are kept.
    Broken(String, Box<Observations>),
}

/// Something that runs tests.
pub trait Backend: Sync {
    /// The name on the command line and in records.
    fn name(&self) -> &'static str;

    /// The names of the deliberate faults that are switched on.
    fn faults(&self) -> Vec<String>;

    /// Everything else that observations depend on, for the record's header. Two runs with the same
    /// parameters, seed and iterations can be merged.
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

/// Runs a job, and makes a line of a record from the result. `models` are the models that will judge it.
pub fn measure(
    backend: &dyn Backend,
    job: &Job<'_>,
    models: Vec<ModelIdentity>,
    control: Control<'_>,
) -> (TestRecord, Observations) {
    let (status, reason, seen) = match backend.run(job, control) {
        Ok(seen) if job.done.saturating_add(seen.iterations()) < job.iterations => {
            (Status::Interrupted, None, seen)
        }
        Ok(seen) => (Status::Complete, None, seen),
        Err(Refusal::Skip(reason)) => (Status::Skipped, Some(reason), Observations::default()),
        Err(Refusal::Error(reason)) => (Status::Failed, Some(reason), Observations::default()),
        Err(Refusal::Broken(reason, seen)) => (Status::Failed, Some(reason), *seen),
    };
    (line(job, models, (status, reason), &seen), seen)
}

/// A line of a record, of observations of a job.
pub fn line(
    job: &Job<'_>,
    models: Vec<ModelIdentity>,
    (status, reason): (Status, Option<String>),
    seen: &Observations,
) -> TestRecord {
    TestRecord {
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
        outcomes: states(job.test, seen),
        part: false,
    }
}
