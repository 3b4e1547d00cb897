//! The backend `mpi`: tests as C programs over MPI's one-sided communication, built and started here.
//!
//! A program is what `litmus compile --target mpi-c` writes, without a model's verdicts. It prints a
//! histogram, which is read. Programs run one at a time, as each has several processes that busily wait for
//! one another.

mod output;
mod process;

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::str::FromStr;
use std::sync::Mutex;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use compiler::c::fabric::{self, Fabric};
use lang::mutex::lock;
use lang::source::Source;
use serde_json::{Map, Value};

use crate::backend::{Backend, Control, Job, Refusal};
use crate::temporary::private_folder;
use evidence::observation::Observations;
use evidence::record::{Header, fnv1a};

/// How many runs one start of the program makes. Between two, the backend may be stopped.
const RUNS: u64 = 5_000;
/// How long one start may take.
const PATIENCE: Duration = Duration::from_secs(300);
/// How long a compiler may take.
const BUILD_PATIENCE: Duration = Duration::from_secs(60);
/// How long a program may take to say its version.
const VERSION_PATIENCE: Duration = Duration::from_secs(20);

/// Whether somebody wants the work to end.
type IsOver<'a> = &'a dyn Fn() -> bool;

/// What starts programs, with its options, such as `mpirun --mca osc sm`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launcher {
    /// As it was given.
    text: String,
    program: String,
    options: Vec<String>,
    /// What builds programs for it.
    compiler: String,
}

impl FromStr for Launcher {
    type Err = String;

    /// Words are divided as by a shell.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut words =
            shlex::split(text).ok_or("expected a command, found a quote that is not closed")?;
        if words.is_empty() {
            return Err("expected a command, found none".to_owned());
        }
        let program = words.remove(0);
        let compiler = compiler_of(&program).ok_or_else(|| {
            format!("expected mpirun or mpiexec, perhaps with a suffix, as in mpirun.mpich, found {program}")
        })?;
        Ok(Self { text: text.to_owned(), program, options: words, compiler })
    }
}

/// An MPI that is installed.
#[derive(Debug)]
pub struct Mpi {
    launcher: Launcher,
    /// The first line that the launcher says of its version.
    version: String,
    /// Where programs are built.
    folder: PathBuf,
    /// Held while a program runs.
    turn: Mutex<()>,
}

/// What keeps MPI from being used.
#[derive(Debug)]
pub enum MpiError {
    /// What is missing, and how to get it.
    Missing(String),
    /// The folder for programs cannot be made.
    Folder(PathBuf, io::Error),
    /// Somebody wants the work to end.
    Stopped,
}

impl Mpi {
    /// The MPI of a launcher.
    ///
    /// # Errors
    /// Its launcher or its compiler cannot be run, or there is no place for programs.
    pub fn new(launcher: &Launcher, is_over: &dyn Fn() -> bool) -> Result<Self, MpiError> {
        let Launcher { program, compiler, .. } = launcher;
        let missing = |what: String| match is_over() {
            true => MpiError::Stopped,
            false => MpiError::Missing(format!("{what}; {HINT}")),
        };
        let said = version(program, is_over)
            .map_err(|why| missing(format!("there is no MPI: {program}: {why}")))?;
        version(compiler, is_over).map_err(|why| {
            missing(format!(
                "{program} is there, and the compiler of its MPI is not: {compiler}: {why}"
            ))
        })?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().subsec_nanos();
        let folder = std::env::temp_dir().join(format!("{}{now}", folder_prefix()));
        private_folder(&folder).map_err(|error| MpiError::Folder(folder.clone(), error))?;
        let version = version_in(&said);
        Ok(Self { launcher: launcher.clone(), version, folder, turn: Mutex::new(()) })
    }

    /// Builds the program of a job, and says how many processes it needs. `None` if it is over before.
    fn build(
        &self,
        job: &Job<'_>,
        is_over: IsOver<'_>,
    ) -> Result<Option<(PathBuf, usize)>, Refusal> {
        let plan = fabric::plan(Fabric::Mpi, job.test)
            .map_err(|diagnostic| Refusal::Skip(diagnostic.message.clone()))?;
        let source = Source::new(job.file, job.program);
        let text = fabric::generate(Fabric::Mpi, &plan, job.test, &source, None);
        let name = format!("{:016x}", fnv1a(&[job.file, job.program]));
        let (file, program) = (self.folder.join(format!("{name}.c")), self.folder.join(name));
        std::fs::write(&file, text).map_err(|error| {
            Refusal::Error(format!("{} cannot be written: {error}", file.display()))
        })?;
        let mut command = Command::new(&self.launcher.compiler);
        command.arg("-O2").arg(&file).arg("-o").arg(&program);
        let ended = process::run(&mut command, BUILD_PATIENCE, is_over)
            .map_err(|why| Refusal::Error(format!("{}: {why}", self.launcher.compiler)))?;
        if ended.is_stopped {
            return Ok(None);
        }
        match ended.code {
            Some(0) => Ok(Some((program, plan.nodes.len()))),
            _ => Err(Refusal::Error(format!(
                "{} failed: {}",
                self.launcher.compiler,
                telling(&ended.errors)
            ))),
        }
    }

    /// Starts a program once.
    fn start(
        &self,
        program: &Path,
        (nodes, runs, seed): (usize, u64, u64),
        job: &Job<'_>,
        is_over: IsOver<'_>,
    ) -> Result<Option<Observations>, String> {
        let _turn = lock(&self.turn);
        let mut command = Command::new(&self.launcher.program);
        command.args(&self.launcher.options).args(["-n", &nodes.to_string()]).arg(program);
        command.args(["-n", &runs.to_string(), "-s", &seed.to_string()]);
        let ended = process::run(&mut command, PATIENCE, is_over)
            .map_err(|why| format!("{}: {why}", self.launcher.program))?;
        if ended.is_stopped {
            return Ok(None);
        }
        // What the program printed before a crash at its end is not the whole.
        if ended.code != Some(0) {
            return Err(output::trouble(&ended, &self.launcher.program));
        }
        output::read(&ended.output, job.test, runs).map(Some)
    }
}

/// What the names of a process's folders begin with.
fn folder_prefix() -> String {
    format!("litmus-mpi-{}-", std::process::id())
}

/// Leaves nothing behind of what runs now, when this process must end at once.
pub fn abandon() {
    process::kill_all();
    let own = folder_prefix();
    for entry in std::fs::read_dir(std::env::temp_dir()).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(&own) {
            // Nothing is lost if it stays.
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

impl Drop for Mpi {
    fn drop(&mut self) {
        // Nothing is lost if it stays.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl Backend for Mpi {
    fn name(&self) -> &'static str {
        Header::MPI
    }

    fn faults(&self) -> Vec<String> {
        Vec::new()
    }

    fn parameters(&self) -> Map<String, Value> {
        let mut parameters = Map::new();
        parameters.insert("mpirun".to_owned(), self.launcher.text.clone().into());
        parameters.insert("mpi".to_owned(), self.version.clone().into());
        parameters
    }

    fn run(&self, job: &Job<'_>, control: Control<'_>) -> Result<Observations, Refusal> {
        let limits = lang::limits::current();
        let is_over = || control.stop.load(Ordering::Relaxed) || limits.reached().is_some();
        let mut seen = Observations::default();
        let Some((program, nodes)) = self.build(job, &is_over)? else { return Ok(seen) };
        let mut left = job.iterations.saturating_sub(job.done);
        while left > 0 && !is_over() {
            let (runs, done) = (left.min(RUNS), job.iterations - left);
            // Its options take numbers of 63 bits.
            let seed = (job.seed ^ fnv1a(&[job.program])).wrapping_add(done) >> 1;
            match self.start(&program, (nodes, runs, seed), job, &is_over) {
                Ok(Some(more)) => {
                    (control.keep)(&more);
                    (control.progress)(more.iterations());
                    seen = seen.merge(more);
                }
                Ok(None) => break,
                Err(reason) => return Err(Refusal::Broken(reason, Box::new(seen))),
            }
            left -= runs;
        }
        Ok(seen)
    }
}

/// The compiler that comes with a launcher: `mpicc.mpich` for `mpirun.mpich`.
fn compiler_of(launcher: &str) -> Option<String> {
    let (folder, name) = match launcher.rsplit_once('/') {
        Some((folder, name)) => (format!("{folder}/"), name),
        None => (String::new(), launcher),
    };
    let suffix = name.strip_prefix("mpirun").or_else(|| name.strip_prefix("mpiexec"))?;
    // MPICH's launcher has a name of its own.
    let suffix = if suffix == ".hydra" { ".mpich" } else { suffix };
    Some(format!("{folder}mpicc{suffix}"))
}

const HINT: &str = "install one, as by `./setup --fabrics`, or name its launcher by --mpirun";

/// What a program says of its version.
fn version(program: &str, is_over: IsOver<'_>) -> Result<String, String> {
    let mut command = Command::new(program);
    let ended = process::run(command.arg("--version"), VERSION_PATIENCE, is_over)?;
    match ended.code {
        Some(0) if ended.output.trim().is_empty() => Ok(ended.errors),
        Some(0) => Ok(ended.output),
        Some(code) => {
            let said = telling(&format!("{}\n{}", ended.errors, ended.output));
            Err(format!("--version ended with exit code {code}: {said}"))
        }
        None => Err("--version was ended by a signal".to_owned()),
    }
}

/// The version in what a launcher says.
fn version_in(text: &str) -> String {
    let lines = text.lines().map(str::trim);
    // MPICH's says it in a line behind the first.
    let named = lines.clone().find_map(|line| line.strip_prefix("Version:"));
    match named {
        Some(version) => format!("MPICH {}", version.trim()),
        None => lines.clone().find(|line| !line.is_empty()).unwrap_or("unknown").to_owned(),
    }
}

/// The most telling line of what a program says.
fn telling(text: &str) -> String {
    let lines = text.lines().map(str::trim).filter(|line| !line.contains("warning: "));
    let lines: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
    let words = ["undefined reference", "cannot find", "error: ", "error"];
    let said = output::with_first(&words, &lines).or(lines.first().copied());
    said.unwrap_or("it said nothing").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_launcher_has_its_compiler() {
        assert_eq!(compiler_of("mpirun").as_deref(), Some("mpicc"));
        assert_eq!(compiler_of("mpiexec.hydra").as_deref(), Some("mpicc.mpich"));
        assert_eq!(compiler_of("/opt/mpich/bin/mpirun").as_deref(), Some("/opt/mpich/bin/mpicc"));
        assert_eq!(compiler_of("srun"), None);
    }

    #[test]
    fn a_launcher_is_words_of_a_shell() {
        let launcher: Launcher = "'/opt/my mpi/mpirun' --mca 'osc'  sm".parse().unwrap();
        assert_eq!(launcher.program, "/opt/my mpi/mpirun");
        assert_eq!(launcher.options, ["--mca", "osc", "sm"]);
        assert_eq!(launcher.compiler, "/opt/my mpi/mpicc");
        for (text, why) in
            [(" ", "found none"), ("srun", "expected mpirun or mpiexec"), ("'mpirun", "a quote")]
        {
            let refused = text.parse::<Launcher>().expect_err(text);
            assert!(refused.contains(why), "{refused}");
        }
    }

    #[test]
    fn what_is_missing_is_said() {
        let of = |launcher: &str| match Mpi::new(&launcher.parse().unwrap(), &|| false) {
            Err(MpiError::Missing(why)) => why,
            other => panic!("{other:?}"),
        };
        let missing = of("/nowhere/mpirun");
        assert!(
            missing.starts_with("there is no MPI: /nowhere/mpirun: it cannot be run: "),
            "{missing}"
        );
        assert!(missing.ends_with(HINT), "{missing}");
    }

    #[test]
    fn versions_are_found() {
        assert_eq!(version_in("mpirun (Open MPI) 4.1.4\n\nReport bugs"), "mpirun (Open MPI) 4.1.4");
        assert_eq!(
            version_in("HYDRA build details:\n    Version:           4.0.2\n"),
            "MPICH 4.0.2"
        );
        assert_eq!(version_in(""), "unknown");
    }
}
