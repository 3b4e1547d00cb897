//! `litmus nic`.

mod counts;
mod hosts;
mod lines;
mod power;
mod trace;

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{BufWriter, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use crate::exit::Exit;
use crate::interrupt;
use crate::output::Failure;
use crate::terminal::Terminal;
use clap::{Args, Subcommand, ValueEnum};
use counts::Counts;

/// Start a verbs program on a NIC in software, as weak as the models allow
///
/// COMMAND and all that it starts find devices of this NIC instead of the machine's. Programs that are
/// started by several `litmus nic` reach each other. At the end, a line on standard error says what the NIC
/// has done.
#[derive(Args)]
#[command(
    arg_required_else_help = true,
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true
)]
pub struct Arguments {
    #[command(subcommand)]
    action: Option<Action>,
    /// How weak it is: in order, with some delays, or with many and long ones
    #[arg(long, value_name = "NAME", default_value = "default")]
    preset: Preset,
    /// Where random choices begin; random if not given
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// The longest delay of a rule, in nanoseconds; as the preset has it if not given
    #[arg(long, value_name = "NS", value_parser = clap::value_parser!(u64).range(..=1_000_000_000))]
    delay: Option<u64>,
    /// How many rules of a hundred are delayed; as the preset has it if not given
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(..=100))]
    delay_percent: Option<u8>,
    /// Access messages of several words in pieces, in any order
    #[arg(long)]
    tear: bool,
    /// Break a rule (see --list-faults)
    #[arg(long, value_name = "NAME", value_parser = fault)]
    fault: Option<String>,
    /// List what can be broken
    #[arg(long, conflicts_with_all = ["fault", "command"])]
    list_faults: bool,
    /// How many devices there are
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=64))]
    devices: u16,
    /// How many ports each device has
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=8))]
    ports: u16,
    /// Ports are Ethernet's, and addressed by GID only
    #[arg(long)]
    ethernet: bool,
    /// Only programs in the same network reach each other
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true, value_parser = network)]
    network: String,
    #[command(flatten)]
    hosts: hosts::HostOptions,
    /// Write each step of each request to a file, for `litmus nic trace`
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// The library; looked for beside litmus if not given
    #[arg(long, value_name = "FILE", env = "LITMUS_NIC_LIB", hide_env_values = true)]
    library: Option<PathBuf>,
    /// The program and its arguments
    #[arg(
        value_name = "COMMAND",
        trailing_var_arg = true,
        required_unless_present = "list_faults"
    )]
    command: Vec<OsString>,
}

#[derive(Subcommand)]
enum Action {
    Power(power::Arguments),
    Trace(trace::Arguments),
}

/// How weak it is.
#[derive(Clone, Copy, ValueEnum)]
enum Preset {
    Calm,
    Default,
    Storm,
}

fn preset_name(preset: Preset) -> &'static str {
    match preset {
        Preset::Calm => "calm",
        Preset::Default => "default",
        Preset::Storm => "storm",
    }
}

/// Names and descriptions, a line each: the library reads the same file.
const FAULTS: &str = include_str!("../../../nic/faults.txt");

/// A fault of the NIC.
#[derive(Clone, Copy)]
struct Fault {
    /// Its name.
    name: &'static str,
    /// What it breaks, and in parentheses the orders of models that this is.
    breaks: &'static str,
}

/// All faults.
fn faults() -> impl Iterator<Item = Fault> {
    let lines = FAULTS.lines().filter_map(|line| line.split_once(": "));
    lines.map(|(name, breaks)| Fault { name, breaks })
}

fn fault(name: &str) -> Result<String, String> {
    match faults().find(|known| known.name == name) {
        Some(_) => Ok(name.to_owned()),
        None => {
            let near = lang::diagnostic::nearest(name, faults().map(|known| known.name));
            let hint = near.map_or(String::new(), |near| format!("; did you mean {near}?"));
            Err(format!("there is no such fault{hint} (--list-faults lists them)"))
        }
    }
}

/// A name that fits into those of sockets.
fn network(name: &str) -> Result<String, String> {
    const MOST: usize = 64;
    match name.len() {
        0..=MOST => Ok(name.to_owned()),
        length => Err(format!("expected at most {MOST} bytes, found {length}")),
    }
}

/// Starts the command, and waits for it.
pub fn run(arguments: &Arguments, terminal: &mut Terminal) -> Exit {
    match &arguments.action {
        Some(Action::Power(arguments)) => return power::run(arguments, terminal),
        Some(Action::Trace(arguments)) => return trace::run(arguments, terminal),
        None => {}
    }
    if arguments.list_faults {
        terminal.out(FAULTS);
        return Exit::Fine;
    }
    let Some((program, rest)) = arguments.command.split_first() else {
        return terminal.usage_error("expected a command");
    };
    if !cfg!(target_os = "linux") {
        let here = std::env::consts::OS;
        terminal.err(&format!(
            "error: expected Linux, whose loader puts the NIC in a program, found {here}\n"
        ));
        return Exit::Unknown;
    }
    let library = match library(arguments.library.as_deref()) {
        Ok(library) => library,
        Err(message) => {
            terminal.err(&format!("error: {message}\n"));
            return Exit::Unknown;
        }
    };
    let counts = match Counts::new() {
        Ok(counts) => counts,
        Err(error) => {
            terminal.err(&format!("error: cannot make a temporary folder: {error}\n"));
            return Exit::Unwritable;
        }
    };
    let traced = match arguments.trace.as_deref().map(Traced::new).transpose() {
        Ok(traced) => traced,
        Err(failure) => return failure.tell(terminal),
    };
    let ports = (arguments.devices, arguments.ports);
    let hosts = match hosts::Hosts::new(&arguments.hosts, ports, &counts.folder, terminal) {
        Ok(hosts) => hosts,
        Err(exit) => return exit,
    };
    let seed = arguments.seed.unwrap_or_else(random_seed);
    let mut command = Command::new(program);
    command.args(rest);
    set_environment(&mut command, arguments, &library, &counts, seed);
    if let Some(hosts) = &hosts {
        hosts.set_environment(&mut command);
    }
    match &traced {
        Some(traced) => command.env("LITMUS_NIC_TRACE", &traced.parts),
        None => command.env_remove("LITMUS_NIC_TRACE"),
    };
    let status = match interrupt::run(&mut command) {
        Ok(status) => status,
        Err(error) => {
            traced.iter().for_each(Traced::abandon);
            return terminal.usage_error(&format!("cannot start {}: {error}", program.display()));
        }
    };
    if let Some(hosts) = &hosts {
        hosts.finish();
    }
    if counts.wanted_manager() {
        terminal.note(
            "nic: librdmacm was asked for devices, and finds none here; use the program's own exchange of \
             addresses, if it has one (perftest without -R)",
        );
    }
    terminal.note(&format!("nic: {}seed {seed}", counts.summary()));
    let mut exit = exit(status);
    if let Some(traced) = traced {
        exit.raise(traced.finish(terminal));
    }
    exit
}

fn exit(status: ExitStatus) -> Exit {
    #[cfg(unix)]
    let signal: Option<i32> = std::os::unix::process::ExitStatusExt::signal(&status);
    #[cfg(not(unix))]
    let signal: Option<i32> = None;
    // As shells have it.
    let code = status.code().or(signal.map(|number| 128 + number));
    let code = code.and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX);
    if code == 0 { Exit::Fine } else { Exit::Command(code) }
}

fn random_seed() -> u64 {
    let time = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    time.map_or(0, |time| u64::from(time.subsec_nanos()) ^ u64::from(std::process::id()) << 32)
}

fn set_environment(
    command: &mut Command,
    arguments: &Arguments,
    library: &Path,
    counts: &Counts,
    seed: u64,
) {
    let mut preload = library.as_os_str().to_owned();
    if let Some(known) = std::env::var_os("LD_PRELOAD").filter(|known| !known.is_empty()) {
        preload.push(OsStr::new(":"));
        preload.push(known);
    }
    command.env("LD_PRELOAD", preload);
    command.env("LITMUS_NIC_PRESET", preset_name(arguments.preset));
    command.env("LITMUS_NIC_SEED", seed.to_string());
    command.env("LITMUS_NIC_DEVICES", arguments.devices.to_string());
    command.env("LITMUS_NIC_PORTS", arguments.ports.to_string());
    command.env("LITMUS_NIC_LINK", if arguments.ethernet { "ethernet" } else { "infiniband" });
    command.env("LITMUS_NIC_NETWORK", &arguments.network);
    command.env("LITMUS_NIC_COUNTS", &counts.folder);
    let optional = [
        ("LITMUS_NIC_DELAY", arguments.delay.map(|delay| delay.to_string())),
        ("LITMUS_NIC_DELAY_PERCENT", arguments.delay_percent.map(|percent| percent.to_string())),
        ("LITMUS_NIC_TEAR", arguments.tear.then(|| "1".to_owned())),
        ("LITMUS_NIC_FAULT", arguments.fault.clone()),
    ];
    for (name, value) in optional {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
}

/// The library: the one that is given, or the one beside this program.
fn library(given: Option<&Path>) -> Result<PathBuf, String> {
    let found = find_library(given)?;
    let shown = found.display();
    // The loader only warns of a file that it cannot use, and a program would run on other devices.
    let is_nic = is_nic(&found).map_err(|error| format!("cannot read {shown}: {error}"))?;
    if !is_nic {
        return Err(format!("{shown}: expected libnic.so of this project, found another file"));
    }
    let path = found.as_os_str().as_encoded_bytes();
    if path.iter().any(|byte| matches!(byte, b' ' | b':')) {
        return Err(format!(
            "{shown}: expected a path without blanks and colons, since the loader (LD_PRELOAD) takes no other; \
             copy the library elsewhere, and give it with --library"
        ));
    }
    Ok(found)
}

/// Whether a file is the NIC's library. It has functions of libibverbs and librdmacm, with names near its
/// beginning.
fn is_nic(path: &Path) -> std::io::Result<bool> {
    const NAMES: [&[u8]; 2] = [b"\0ibv_get_device_list\0", b"\0rdma_create_event_channel\0"];
    let mut bytes = Vec::new();
    File::open(path)?.take(64 * 1024).read_to_end(&mut bytes)?;
    let has = |name: &[u8]| bytes.windows(name.len()).any(|window| window == name);
    Ok(NAMES.into_iter().all(has))
}

fn find_library(given: Option<&Path>) -> Result<PathBuf, String> {
    const NAME: &str = "libnic.so";
    if let Some(given) = given {
        let known = given.canonicalize();
        return known.map_err(|error| format!("cannot use {}: {error}", given.display()));
    }
    let own = std::env::current_exe().and_then(|path| path.canonicalize());
    let folder = own.ok().and_then(|path| path.parent().map(Path::to_owned)).unwrap_or_default();
    let places = [folder.join(NAME), folder.join("../lib/litmus").join(NAME)];
    places.iter().find_map(|place| place.canonicalize().ok()).ok_or_else(|| {
        let release = if cfg!(debug_assertions) { "" } else { " --release" };
        format!(
            "{NAME} is not in {}: build it with `cargo build{release} -p nic`, or give it with --library",
            folder.display()
        )
    })
}

/// A trace, and the folder beside it in which each process leaves its part. The folder stays if this command
/// is killed.
struct Traced {
    file: PathBuf,
    parts: PathBuf,
}

impl Traced {
    fn new(file: &Path) -> Result<Self, Failure> {
        let file = std::path::absolute(file).map_err(|error| Failure::unwritable(file, error))?;
        let mut parts = file.clone().into_os_string();
        parts.push(".parts");
        let parts = PathBuf::from(parts);
        std::fs::create_dir(&parts).map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => {
                let why = "a `litmus nic` writes it, or was killed: then remove it";
                Failure::unwritable(&parts, why)
            }
            _ => Failure::unwritable(&parts, error),
        })?;
        let traced = Self { file, parts };
        // The file is made now: what cannot be written should be known before.
        match File::create(&traced.file) {
            Ok(_) => Ok(traced),
            Err(error) => {
                traced.abandon();
                Err(Failure::unwritable(&traced.file, error))
            }
        }
    }

    /// Leaves nothing beside the file, if no process has written a part.
    fn abandon(&self) {
        drop(std::fs::remove_dir(&self.parts));
    }

    /// Puts the parts together.
    fn finish(&self, terminal: &mut Terminal) -> Exit {
        let write = || -> Result<usize, lines::Unreadable> {
            let wrong = |error: std::io::Error| lines::Unreadable {
                path: self.file.clone(),
                why: error.to_string(),
            };
            let mut out = BufWriter::new(File::create(&self.file).map_err(wrong)?);
            let files = lines::of_folder(&self.parts).map_err(wrong)?;
            let mut steps = 0;
            lines::merge(&files, |text, _| {
                steps += 1;
                out.write_all(text.as_bytes()).map_err(wrong)
            })?;
            out.flush().map_err(wrong)?;
            std::fs::remove_dir_all(&self.parts).map_err(wrong)?;
            Ok(steps)
        };
        match write() {
            Ok(steps) => {
                let file = self.file.display();
                terminal.note(&format!("nic: {steps} steps in {file} (litmus nic trace {file})"));
                Exit::Fine
            }
            Err(unreadable) => Failure::unwritable(&unreadable.path, unreadable.why).tell(terminal),
        }
    }
}
