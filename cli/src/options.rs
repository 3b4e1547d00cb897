//! Options that several commands share.

use std::num::NonZero;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use lang::diagnostic::Code;
use lang::limits::{Limits, give_up};
use model::engine::{Engine, Request};

use model::smt::solver::SolverKind;

use crate::memory::{self, MemoryOption};
use crate::models::{ChoiceError, Models};
use crate::sink::Sink;

/// How results are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
    #[default]
    Table,
    /// For programs; see the `schema` in it.
    Json,
}

/// How to print.
#[derive(Args)]
pub struct FormatOption {
    /// How to print results
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub format: Format,
}

/// How results of runs are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum RecordFormat {
    /// For people.
    #[default]
    Table,
    /// For programs; see the `schema` in it.
    Json,
    /// As herd7 and litmus7 write logs.
    Log,
}

/// How to print results of runs.
#[derive(Args)]
pub struct RecordFormatOption {
    /// How to print results
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    format: RecordFormat,
}

impl RecordFormatOption {
    /// As other commands have it; a log goes its own way.
    pub fn report(&self) -> Format {
        match self.format {
            RecordFormat::Json => Format::Json,
            RecordFormat::Table | RecordFormat::Log => Format::Table,
        }
    }

    /// Whether a log is wanted.
    pub fn is_log(&self) -> bool {
        self.format == RecordFormat::Log
    }
}

/// How many workers, and how much memory.
#[derive(Args)]
pub struct JobsOption {
    /// How many workers; all cores by default. Results do not depend on it
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
    #[command(flatten)]
    memory: MemoryOption,
}

impl JobsOption {
    /// The number of workers.
    pub fn count(&self) -> usize {
        let cores = || std::thread::available_parallelism().map_or(1, NonZero::get);
        self.jobs.map_or_else(cores, usize::from)
    }
}

/// Which models.
#[derive(Args)]
pub struct ModelOption {
    /// Ask about this model, instead of those that the test's header names; can be repeated
    #[arg(long = "model", value_name = "NAME|FILE.cat")]
    pub models: Vec<String>,
}

impl ModelOption {
    /// See [`choose_models`].
    pub fn load(&self, sink: &mut Sink<'_>) -> Option<Models> {
        choose_models(&self.models, sink)
    }
}

/// Which engine computes outcomes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum EngineName {
    /// Explore where it soon knows all outcomes, and else smt; both where a loop may exceed its bound.
    #[default]
    Auto,
    /// The model's axioms, by a solver.
    Smt,
    /// The operational machine, by exploring all its states.
    Explore,
    /// Both, compared.
    Both,
}

impl From<EngineName> for Engine {
    fn from(name: EngineName) -> Self {
        match name {
            EngineName::Auto => Self::Auto,
            EngineName::Smt => Self::Smt,
            EngineName::Explore => Self::Explore,
            EngineName::Both => Self::Both,
        }
    }
}

/// Which solver the engine smt uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum SolverName {
    /// A SAT solver in Rust.
    #[default]
    Batsat,
    /// Z3.
    #[cfg(feature = "z3")]
    Z3,
}

impl From<SolverName> for SolverKind {
    fn from(name: SolverName) -> Self {
        match name {
            SolverName::Batsat => Self::Batsat,
            #[cfg(feature = "z3")]
            SolverName::Z3 => Self::Z3,
        }
    }
}

/// How to ask the engine smt.
#[derive(Args)]
pub struct SolverOptions {
    /// The solver of the engine smt
    #[arg(long, value_name = "SOLVER", default_value = "batsat")]
    solver: SolverName,
    /// How long a test under a model may take
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    timeout: Option<Duration>,
    /// How often loops are unrolled, instead of as the test says [default: 4]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=1000))]
    loops: Option<u32>,
}

impl SolverOptions {
    /// Whether something is said that only the engine smt heeds.
    pub fn is_about_smt(&self) -> bool {
        self.loops.is_some() || self.solver != SolverName::default()
    }

    /// As a request to the engine smt.
    pub fn request(&self) -> Request<'static> {
        Request {
            engine: Engine::Axioms,
            solver: self.solver.into(),
            timeout: self.timeout,
            limits: memory::limits(),
            memory: memory::given(),
            loops: self.loops,
            max_states: None,
            libraries: None,
        }
    }
}

/// How long one thing may take, for commands that do one after another.
#[derive(Args)]
pub struct TimeoutOption {
    /// How long each file, rule or program may take; what takes longer stays unknown
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    timeout: Option<Duration>,
}

impl TimeoutOption {
    /// Does some work in that time, or gives up, as `lang::limits` does.
    pub fn within<R>(&self, work: impl FnOnce() -> R) -> R {
        let deadline = self.timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let limits = Limits { deadline, ..memory::limits() };
        limits.within(work).unwrap_or_else(|reached| give_up(reached))
    }
}

/// A time in seconds, as options take it.
pub fn seconds(text: &str) -> Result<Duration, String> {
    let wrong = || "expected a positive number of seconds".to_owned();
    let seconds: f64 = text.parse().map_err(|_| wrong())?;
    if seconds <= 0.0 {
        return Err(wrong());
    }
    Duration::try_from_secs_f64(seconds).map_err(|_| wrong())
}

/// The models of these names and files. If that fails, the sink has the reason, and the command ends.
pub fn choose_models(names: &[String], sink: &mut Sink<'_>) -> Option<Models> {
    match Models::choose(names) {
        Ok((models, warnings)) => {
            sink.problems(warnings);
            return Some(models);
        }
        Err(ChoiceError::Unknown(message)) => sink.usage_error(Code::UnknownModel, &message),
        Err(ChoiceError::Bad(problems)) => sink.problems(problems),
    }
    None
}
