//! What a run is made of: backend, seed, iterations, and the record it goes into.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::interrupt::stop_on_signal;
use crate::shell::quote;
use campaign::shard::ShardOf;
use evidence::record::{Header, Host, ModelIdentity, Record, RecordWriter, SCHEMA, iso8601};
use executor::backend::Backend;
use executor::mpi::{Mpi, MpiError};
use executor::nodes::Verbs;
use executor::rdma::{Interface, ofi};
use executor::sim::{Sim, UnknownFault};
use lang::diagnostic::{Code, nearest};

use super::{Arguments, BackendName};
use crate::exit::Exit;
use crate::output;
use crate::problem::Problem;
use crate::sink::Sink;
use crate::terminal::Terminal;

/// How often a test is run if nobody says.
const ITERATIONS: u64 = 10_000;

/// What all tests of a run have in common.
pub struct Plan {
    /// What runs them.
    pub backend: Box<dyn Backend>,
    /// The record's first line.
    pub header: Header,
    /// The record to go on with.
    pub previous: Option<Record>,
    /// Where new lines go.
    pub writer: Option<RecordWriter>,
    new_record: Option<PathBuf>,
    record_path: Option<PathBuf>,
    /// Whether a report is made of it.
    is_reported: bool,
    /// Set by Ctrl-C, if that is waited for already.
    stop: Option<Arc<AtomicBool>>,
}

impl Plan {
    /// What the arguments say, and the record that they go on with. If they make no sense, that has been
    /// said.
    pub fn new(arguments: &Arguments, terminal: &mut Terminal) -> Result<Self, Exit> {
        let (mut previous, mut writer) = (None, None);
        if let Some(path) = &arguments.resume {
            match RecordWriter::resume(path) {
                Ok((record, more)) => (previous, writer) = (Some(record), Some(more)),
                Err(error) => return Err(refuse(path, &error.to_string(), terminal)),
            }
        }
        let old = previous.as_ref().map(|record| &record.header);
        let faults = match old {
            Some(old) if arguments.faults.is_empty() => old.faults.clone(),
            _ => arguments.faults.clone(),
        };
        let sim = Sim::new(&faults).map_err(|error| unknown_fault(&error, terminal))?;
        let mut stop = None;
        let backend: Box<dyn Backend> = match arguments.backend {
            BackendName::Sim => Box::new(sim),
            BackendName::Verbs => Box::new(connect(arguments, &Interface::Verbs, terminal)?),
            BackendName::Ofi => Box::new(connect(arguments, &arguments.verbs.ofi(), terminal)?),
            BackendName::Mpi => {
                let stop = &*stop.insert(stop_on_signal());
                let is_over = || stop.load(Ordering::Relaxed);
                let mpi = Mpi::new(&arguments.mpirun, &is_over);
                Box::new(mpi.map_err(|why| no_mpi(why, terminal))?)
            }
        };
        let header = Header {
            schema: SCHEMA.to_owned(),
            tool: env!("CARGO_PKG_VERSION").to_owned(),
            backend: backend.name().to_owned(),
            seed: arguments.seed.or(old.map(|old| old.seed)).unwrap_or_else(random_seed),
            iterations: arguments
                .iterations
                .or(old.map(|old| old.iterations))
                .unwrap_or(ITERATIONS),
            faults: backend.faults(),
            parameters: backend.parameters(),
            models: Vec::new(),
            arguments: command_line(),
            libraries: arguments.libraries.texts(),
            nodes: backend.nodes(),
            host: Some(Host::here()),
            started: now(),
            shard: None,
            ended: None,
            exit: None,
        };
        if let (Some(old), Some(path)) = (old, &arguments.resume)
            && let Err(reason) = old.compatible(&header)
        {
            return Err(refuse(
                path,
                &format!("this run cannot go on with it: {reason}"),
                terminal,
            ));
        }
        let new_record = arguments.new_record();
        let record_path = new_record.clone().or_else(|| arguments.resume.clone());
        let is_reported = arguments.output.is_some();
        Ok(Self { backend, header, previous, writer, new_record, record_path, is_reported, stop })
    }

    /// What chosen models need of a provider of libfabric, which it does not give.
    pub fn lacking(&self) -> Vec<String> {
        let Some(fabric) = self.header.provider() else { return Vec::new() };
        let lack = |model: &ModelIdentity| {
            let lacks = ofi::lacks(&model.name, fabric);
            (!lacks.is_empty()).then(|| {
                format!(
                    "{} needs {}, which {} does not give here: what is seen may be no fault",
                    model.name,
                    lacks.join(", "),
                    fabric.provider
                )
            })
        };
        self.header.models.iter().filter_map(lack).collect()
    }

    /// The flag that Ctrl-C sets.
    pub fn stop(&mut self) -> Arc<AtomicBool> {
        self.stop.take().unwrap_or_else(stop_on_signal)
    }

    /// Begins a new record, if one is wanted; whether that worked.
    pub fn begin_record(&mut self, sink: &mut Sink<'_>) -> bool {
        let Some(path) = &self.new_record else { return true };
        if let Some(folder) = path.parent().filter(|_| self.is_reported)
            && let Err(error) = std::fs::create_dir_all(folder)
        {
            sink.problem(output::problem(folder, &error));
            return false;
        }
        match RecordWriter::create(path, &self.header) {
            Ok(writer) => {
                self.writer = Some(writer);
                true
            }
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                let is_record = Record::read(path).is_ok();
                let path = path.display();
                let message = if is_record {
                    format!(
                        "{path} exists already; go on with it by --resume {path}, or record in another file"
                    )
                } else {
                    format!(
                        "{path} exists already, and is no record of a run; record in another file"
                    )
                };
                sink.usage_error(Code::RecordExists, &message);
                false
            }
            Err(error) => {
                sink.problem(self.unwritable(&error));
                false
            }
        }
    }

    /// Which part of a run this is, if it is not the whole.
    ///
    /// # Errors
    /// The record that this run goes on with is of another part.
    pub fn take_shard(&mut self, shard: Option<ShardOf>) -> Result<Option<ShardOf>, String> {
        let other = self.previous.as_ref().filter(|old| old.header.shard != shard);
        if let (Some(_), Some(path)) = (other, &self.record_path) {
            return Err(format!(
                "{} is of another part of the run, or of other inputs",
                path.display()
            ));
        }
        self.header.shard.clone_from(&shard);
        Ok(shard)
    }

    /// That the record cannot be written.
    pub fn unwritable(&self, error: &std::io::Error) -> Problem {
        output::problem(self.record_path.as_deref().unwrap_or(Path::new("")), error)
    }

    /// Whether real machines run the tests, and not simulated ones.
    pub fn is_hardware(&self) -> bool {
        self.header.is_hardware() || self.header.is_mpi()
    }

    /// The last line of a table.
    pub fn describe(&self) -> String {
        let Header { backend, seed, iterations, faults, .. } = &self.header;
        let faults = match faults.as_slice() {
            [] => String::new(),
            faults => format!(", with {}", faults.join(", ")),
        };
        let is_set =
            |name| self.header.parameters.get(name) == Some(&serde_json::Value::Bool(true));
        let other = [
            ("inline", "; puts are inline"),
            ("relaxed_ordering", "; memory has relaxed ordering"),
        ];
        let other: String =
            other.iter().filter(|(name, _)| is_set(*name)).map(|pair| pair.1).collect();
        let what = match self.header.provider() {
            Some(of) => {
                let chosen: Vec<&str> =
                    self.header.models.iter().map(|model| model.name.as_str()).collect();
                let judges =
                    if chosen.is_empty() { of.model.clone() } else { chosen.join(" and ") };
                format!(" ({} {}, judged by {judges})", of.provider, of.provider_version)
            }
            None => self.header.mpi().map_or_else(String::new, |mpi| format!(" ({mpi})")),
        };
        format!("{iterations} runs of each test on {backend}{what}{faults}, seed {seed}{other}\n")
    }

    /// The record's file.
    pub fn record(&self) -> Option<&Path> {
        self.record_path.as_deref()
    }

    /// Where the record is, and what to do with it. A report needs the models that are not shipped again: the
    /// record has their hashes and not their texts.
    pub fn where_recorded(&self, own_models: &[String]) -> String {
        let Some(path) = &self.record_path else { return String::new() };
        let path = quote(&path.to_string_lossy());
        if self.is_reported {
            return format!("record: {path}\n");
        }
        let models: String =
            own_models.iter().map(|model| format!(" --model {}", quote(model))).collect();
        format!("record: {path}; `litmus report {path}{models} -o DIR` makes a report of it\n")
    }

    /// What to say after an interruption.
    pub fn how_to_resume(&self) -> String {
        match &self.record_path {
            Some(path) => {
                let path = path.display();
                format!("interrupted; to go on: the same command with --resume {path} for --record")
            }
            None => {
                let seed = self.header.seed;
                format!("interrupted; nothing was recorded, and --seed {seed} repeats the run")
            }
        }
    }
}

fn refuse(path: &Path, message: &str, terminal: &mut Terminal) -> Exit {
    let problem = Problem::of_file(&path.to_string_lossy(), Code::UnusableRecord, message);
    let text = problem.render(terminal.look.error_color);
    terminal.err(&text);
    Exit::BadInput
}

/// Without machines there is nothing wrong with the tests, and nothing known of them.
pub fn connect(
    arguments: &Arguments,
    interface: &Interface,
    terminal: &mut Terminal,
) -> Result<Verbs, Exit> {
    if !arguments.faults.is_empty() {
        return Err(
            terminal.usage_error("--fault is for the simulator; real machines bring their own")
        );
    }
    let parameters = match arguments.verbs.parameters() {
        Ok(parameters) => parameters,
        Err(message) => return Err(terminal.usage_error(&message)),
    };
    arguments.verbs.connect(parameters, interface).map_err(|message| no_backend(&message, terminal))
}

fn no_backend(message: &str, terminal: &mut Terminal) -> Exit {
    terminal.err(&format!("[{}] Error: {message}\n", Code::NoBackend));
    Exit::Unknown
}

fn no_mpi(why: MpiError, terminal: &mut Terminal) -> Exit {
    match why {
        MpiError::Missing(message) => no_backend(&message, terminal),
        MpiError::Folder(path, error) => output::refuse(&path, &error, terminal),
        MpiError::Stopped => Exit::Unknown,
    }
}

fn unknown_fault(UnknownFault(name): &UnknownFault, terminal: &mut Terminal) -> Exit {
    let hint = match nearest(name, Sim::faults_known().iter().map(|fault| fault.name)) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "`litmus run --list-faults` lists them".to_owned(),
    };
    terminal.usage_error(&format!("there is no fault `{name}`; {hint}"))
}

/// The arguments of litmus. Bytes that are not UTF-8 are replaced.
fn command_line() -> Vec<String> {
    std::env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned()).collect()
}

/// Short enough to be typed again.
pub fn random_seed() -> u64 {
    RandomState::new().build_hasher().finish() >> 32
}

/// The time that reproducible builds set.
fn fixed_time() -> Option<u64> {
    std::env::var("SOURCE_DATE_EPOCH").ok().and_then(|text| text.parse().ok())
}

/// Whether outputs are to be the same each time.
pub fn is_reproducible() -> bool {
    fixed_time().is_some()
}

/// Now, or the time that reproducible builds set.
pub fn now() -> Option<String> {
    let fixed = fixed_time();
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).ok().map(|since| since.as_secs());
    fixed.or_else(now).map(iso8601)
}
