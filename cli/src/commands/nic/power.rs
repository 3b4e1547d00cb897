//! `litmus nic power`: what tests find on a NIC in software, and how often.

mod device;
mod found;
mod page;
mod with;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use campaign::files;
use clap::Args;
use evidence::record::{End, Record};

use super::{Fault, Preset, fault, faults, library, preset_name};
use crate::exit::Exit;
use crate::input;
use crate::interrupt::{run_unless_stopped, stop_on_signal};
use crate::options::{ModelOption, SolverOptions};
use crate::output::Failure;
use crate::sink::Sink;
use crate::terminal::Terminal;
use with::{With, Words};

/// Runs of each test if nobody says.
const ITERATIONS: u64 = 1000;

/// Measure what tests find: the weak outcomes that models allow, and what broken NICs do
///
/// The tests run on the NIC in software with each preset, with other options, and with each fault, once for
/// each seed. Records go into the folder, and a page that sums them up: which weak outcomes were seen and
/// which never, in how many runs a fault is found, and what the report blames. Tests that are in the folder's
/// records are not run again.
#[derive(Args)]
pub struct Arguments {
    /// Tests, or folders of tests
    #[arg(required = true, value_name = "FILE|DIR")]
    tests: Vec<PathBuf>,
    /// The folder of the records, of power.md and of power.json
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// How often each test is run
    #[arg(short = 'n', long, value_name = "N", default_value_t = ITERATIONS)]
    iterations: u64,
    /// Measure weak outcomes with this preset; all, unless --nic, --run or --fault say otherwise
    #[arg(long = "preset", value_name = "NAME")]
    presets: Vec<Preset>,
    /// Measure weak outcomes with the preset `default` and these options of `litmus nic`
    #[arg(long = "nic", value_name = "OPTIONS", value_parser = with::of_nic, allow_hyphen_values = true)]
    nic: Vec<Words>,
    /// Measure weak outcomes with the preset `default` and these options of `litmus run`
    #[arg(long = "run", value_name = "OPTIONS", value_parser = with::of_run, allow_hyphen_values = true)]
    run: Vec<Words>,
    /// Measure how often this fault is found; all, unless --preset, --nic or --run say otherwise
    #[arg(long = "fault", value_name = "NAME", value_parser = fault_or_all)]
    faults: Vec<String>,
    /// Take the seeds 1 to N
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1000))]
    seeds: u64,
    /// The library; looked for beside litmus if not given
    #[arg(long, value_name = "FILE", env = "LITMUS_NIC_LIB", hide_env_values = true)]
    library: Option<PathBuf>,
    #[command(flatten)]
    models: ModelOption,
    #[command(flatten)]
    solver: SolverOptions,
}

/// Every fault.
const ALL: &str = "all";

fn fault_or_all(name: &str) -> Result<String, String> {
    if name == ALL { Ok(name.to_owned()) } else { fault(name) }
}

/// A NIC that tests are run on.
#[derive(Clone)]
pub struct Nic {
    preset: Preset,
    /// What else the tests run with.
    with: Option<With>,
    fault: Option<Fault>,
    seed: u64,
}

impl Nic {
    /// What differs but for the seed.
    fn kind(&self) -> String {
        match (&self.fault, &self.with) {
            (Some(fault), _) => fault.name.to_owned(),
            (None, Some(with)) => with.to_string(),
            (None, None) => preset_name(self.preset).to_owned(),
        }
    }

    /// The name of its record, without the ending.
    fn name(&self) -> String {
        let kind = self.with.as_ref().map_or(self.kind(), With::file_name);
        format!("{kind}-{}", self.seed)
    }
}

/// The NICs that the arguments ask for: without faults first.
fn nics(arguments: &Arguments) -> Vec<Nic> {
    let with = with::all(&arguments.nic, &arguments.run);
    let is_asked =
        !(arguments.presets.is_empty() && arguments.faults.is_empty() && with.is_empty());
    let presets = match (&arguments.presets[..], is_asked) {
        ([], false) => vec![Preset::Calm, Preset::Default, Preset::Storm],
        (presets, _) => presets.to_vec(),
    };
    let is_wanted = |fault: &Fault| {
        !is_asked || arguments.faults.iter().any(|name| name == ALL || name == fault.name)
    };
    let seeds = 1..=arguments.seeds;
    let of = |preset| Nic { preset, with: None, fault: None, seed: 0 };
    let plain = presets.into_iter().map(of);
    let other = with.into_iter().map(|with| Nic { with: Some(with), ..of(Preset::Default) });
    let broken = faults().filter(is_wanted);
    let broken = broken.map(|fault| Nic { fault: Some(fault), ..of(Preset::Default) });
    let all = plain.chain(other).chain(broken);
    all.flat_map(|nic| seeds.clone().map(move |seed| Nic { seed, ..nic.clone() })).collect()
}

/// Runs what is not yet in the folder, and sums up.
pub fn run(arguments: &Arguments, terminal: &mut Terminal) -> Exit {
    let library = match library(arguments.library.as_deref()) {
        Ok(library) => library,
        Err(message) => {
            terminal.err(&format!("error: {message}\n"));
            return Exit::Unknown;
        }
    };
    if let Err(error) = std::fs::create_dir_all(&arguments.output) {
        return Failure::unwritable(&arguments.output, error).tell(terminal);
    }
    let nics = nics(arguments);
    let mut names: Vec<String> = nics.iter().map(Nic::name).collect();
    names.sort_unstable();
    if let Some(same) = names.windows(2).find(|two| two[0] == two[1]) {
        let message =
            format!("two measurements have the name {}: ask for them one by one", same[0]);
        return terminal.usage_error(&message);
    }
    let stop = stop_on_signal();
    for (index, nic) in nics.iter().enumerate() {
        let record = arguments.output.join(nic.name() + ".jsonl");
        let known = match whole(&record) {
            Some(known) if !is_of(arguments, &known) => {
                let (folder, name) = (arguments.output.display(), nic.name());
                let message =
                    format!("{folder} has another measurement with {name}: name another folder");
                return terminal.usage_error(&message);
            }
            known => known.is_some(),
        };
        if !known {
            terminal.note(&format!("{} ({} of {})", nic.name(), index + 1, nics.len()));
            if let Err(exit) = start(arguments, nic, &record, &library, &stop, terminal) {
                return exit;
            }
        }
        if stop.load(Ordering::Relaxed) {
            terminal.note("interrupted; the same command goes on");
            return Exit::Unknown;
        }
    }
    sum_up(arguments, &nics, terminal)
}

/// A record that has all of its run.
fn whole(record: &Path) -> Option<Record> {
    let bytes = input::bytes(record).ok()?;
    Record::parse(&bytes).ok().filter(|record| record.end == End::Whole)
}

/// Whether a record is of a run that these arguments ask for.
fn is_of(arguments: &Arguments, record: &Record) -> bool {
    let tests = arguments.tests.iter().map(|path| path.to_string_lossy().into_owned());
    let tests: Vec<String> = std::iter::once("--".to_owned()).chain(tests).collect();
    let header = &record.header;
    header.iterations == arguments.iterations && header.arguments.ends_with(&tests)
}

/// Runs the tests on a NIC, by two processes: `litmus nic`, and in it `litmus run`.
fn start(
    arguments: &Arguments,
    nic: &Nic,
    record: &Path,
    library: &Path,
    stop: &AtomicBool,
    terminal: &mut Terminal,
) -> Result<(), Exit> {
    let bug = |error: std::io::Error| Failure::Bug(format!("cannot start litmus: {error}"));
    let own = std::env::current_exe().map_err(|error| bug(error).tell(terminal))?;
    let seed = nic.seed.to_string();
    let mut command = Command::new(&own);
    // A network of its own: other programs on this machine are not met.
    let network = format!("power-{}", std::process::id());
    command.args(["-q", "nic", "--preset", preset_name(nic.preset), "--seed", &seed]);
    command.args(["--network", &network]).arg("--library").arg(library);
    command.args(nic.fault.iter().flat_map(|fault| ["--fault", fault.name]));
    command.args(nic.with.iter().flat_map(With::of_nic));
    command.arg("--").arg(own).args(["-q", "run", "--backend", "verbs", "--seed", &seed]);
    command.args(nic.with.iter().flat_map(With::of_run));
    command.args(["-n", &arguments.iterations.to_string()]);
    let is_new = !record.exists();
    command.arg(if is_new { "--record" } else { "--resume" }).arg(record);
    command.arg("--").args(&arguments.tests).stdout(Stdio::null());
    let status =
        run_unless_stopped(&mut command, stop).map_err(|error| bug(error).tell(terminal))?;
    // A violation is an answer, and so is a test that one limit or another kept from its end.
    match status.code() {
        Some(0..=2) => Ok(()),
        _ if stop.load(Ordering::Relaxed) => Ok(()),
        code => {
            // Nothing ran. With other tests or options, the same name is free.
            if is_new && matches!(code, Some(64 | 65)) {
                drop(std::fs::remove_file(record));
            }
            let code = code.map_or("a signal".to_owned(), |code| format!("exit code {code}"));
            terminal.err(&format!("error: the run with {} ended by {code}\n", nic.name()));
            Err(Exit::Unknown)
        }
    }
}

/// Judges all records, and writes and shows what they have.
fn sum_up(arguments: &Arguments, nics: &[Nic], terminal: &mut Terminal) -> Exit {
    let mut report = Sink::plain(terminal);
    let Some(models) = arguments.models.load(&mut report) else { return report.finish(&[], None) };
    let request = arguments.solver.request();
    let Some(found) = found::judge(nics, &arguments.output, &models, request, &mut report) else {
        return report.finish(&[], None);
    };
    let page = page::of(&found, arguments.iterations);
    let json = serde_json::to_string_pretty(&found).unwrap_or_default() + "\n";
    let name = |name: &str| arguments.output.join(name);
    let written = [(name("power.md"), page.as_bytes()), (name("power.json"), json.as_bytes())];
    if let Err((path, error)) = files::replace_all(&written) {
        return Failure::unwritable(&path, error).tell(report.terminal);
    }
    if !report.look().quiet {
        report.terminal.out(&page);
    }
    report.exit.raise(found.exit());
    report.exit
}
