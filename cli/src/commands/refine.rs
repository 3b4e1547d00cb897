//! `litmus refine`: is a library's implementation one, for all small clients?

mod change;
pub mod record;
mod show;
mod tally;

use std::collections::BTreeSet;
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use campaign::journal::Journal;
use clap::Args;
use compiler::library::Libraries;
use lang::cat::model::Model;
use lang::library::Library;
use lang::limits::Limits;
use lang::mutex::{into_inner, lock};
use model::allowed::Options;
use model::models::UNDER_LIBRARIES;
use model::refine::{Answer, Bounds, Client, MOST, OWN, Refinement, Symmetry, by_default, clients};
use model::smt::solver::SolverKind;
use serde_json::Value as Json;

use crate::exit::Exit;
use crate::interrupt::stop_on_signal;
use crate::libraries::{LibraryOption, by_name, wrong_in_bodies};
use crate::memory;
use crate::models::Models;
use crate::options::{Format, FormatOption, JobsOption, seconds};
use crate::ordered::{Broken, map_in_order};
use crate::output;
use crate::problem::Problem;
use crate::shard::ShardOption;
use crate::sink::Sink;
use crate::terminal::Terminal;
use record::{Checked, ClientResult};
use show::Ended;
use tally::Tally;

/// Check a library's implementation against its specification, for all small clients
///
/// Every client up to the bounds is built once up to symmetry, the smallest first: do calls replaced by the
/// implementation show only what the specification allows? The first that shows more is printed.
#[derive(Args)]
pub struct Arguments {
    /// A shipped library, or a file
    #[arg(value_name = "LIB|FILE.lib")]
    library: String,
    /// Check the implementation in this file, which has a whole library, instead of the library's own
    #[arg(long = "impl", value_name = "FILE.lib")]
    implementation: Option<String>,
    /// Threads
    #[arg(long, value_name = "N", default_value = "2", value_parser = clap::value_parser!(u8).range(1..=4))]
    threads: u8,
    /// Calls of the library per thread
    #[arg(long, value_name = "N", default_value = "2", value_parser = clap::value_parser!(u8).range(1..=6))]
    calls: u8,
    /// Nodes [default: as many as threads, and 2 at least]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=4))]
    nodes: Option<u8>,
    /// Values that are written [default: every statement writes one of its own]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=4))]
    values: Option<u8>,
    /// Plain accesses in all: CPU reads and writes, puts and gets; one alone shows nothing, so 1 is 0
    /// [default: 2; where that makes more than 50,000 clients, those with plain accesses have fewer
    /// statements]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(0..=6))]
    plain: Option<u8>,
    /// Objects of each class [default: as many as a method takes]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=3))]
    objects: Option<u8>,
    /// Statements per client, in all; no bound by default
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    size: Option<u16>,
    /// How often loops of implementations are unrolled
    #[arg(long, value_name = "N", default_value = "2", value_parser = clap::value_parser!(u32).range(1..=100))]
    loops: u32,
    /// How long one client may take
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = seconds)]
    timeout: Duration,
    /// Write how far the check has come to a new file, while it runs and when it ends
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Go on where the check of a record ended; what was undecided or refuted is checked again
    #[arg(long, value_name = "RECORD", conflicts_with = "record")]
    resume: Option<PathBuf>,
    /// Find the least additions of waits and fences that make the implementation sound
    #[arg(long, conflicts_with_all = ["record", "resume", "shard", "weaken"])]
    repair: bool,
    /// Say instead what may go: all largest sets of waits and fences without which it stays sound
    #[arg(long, conflicts_with_all = ["record", "resume", "shard"])]
    weaken: bool,
    /// The most additions of one repair [default: 2]
    #[arg(long, value_name = "N", requires = "repair", value_parser = clap::value_parser!(u8).range(1..=3))]
    additions: Option<u8>,
    #[command(flatten)]
    libraries: LibraryOption,
    #[command(flatten)]
    format: FormatOption,
    #[command(flatten)]
    jobs: JobsOption,
    #[command(flatten)]
    shard: ShardOption,
}

/// Checks.
pub fn run(arguments: &Arguments, terminal: &mut Terminal) -> Exit {
    let prepared = match prepare(arguments, terminal) {
        Ok(prepared) => prepared,
        Err(exit) => return exit,
    };
    let refinement = &prepared.refinement;
    let Some((families, all)) = arguments.clients(refinement) else {
        return terminal.usage_error("there are more than 4 million clients; lower the bounds");
    };
    if all.is_empty() {
        return terminal.usage_error(
            "no client is that small; calls that come in pairs, as Acq and Rel, need --calls 2",
        );
    }
    if arguments.repair || arguments.weaken {
        return change::run(arguments, &prepared, &families, &all, terminal);
    }
    if let Some(path) = arguments.record.as_ref().filter(|path| path.exists()) {
        let path = path.display();
        return terminal.usage_error(&format!(
            "{path} exists already; go on with it by --resume {path}, or record in another file"
        ));
    }
    if arguments.shard.shard.is_some() && arguments.record.is_none() && arguments.resume.is_none() {
        return terminal.usage_error("--shard needs --record, which `litmus merge` reads");
    }
    check_all(arguments, refinement, (&families, &all), terminal)
}

/// Checks the clients, or a part of them, and says what came of it.
fn check_all(
    arguments: &Arguments,
    refinement: &Refinement,
    (families, all): (&[Bounds], &[Client]),
    terminal: &mut Terminal,
) -> Exit {
    let began = Instant::now();
    let names: Vec<String> = (0..all.len()).map(|client| client.to_string()).collect();
    let costs: Vec<u64> = all.iter().map(|client| client.size().pow(3) as u64).collect();
    let shard = arguments.shard.items(&names, &costs, &refinement.texts().concat());
    let head = record::head(arguments, refinement, all.len(), shard);
    let (mut record, mut tally) = match record::open(arguments, &head) {
        Ok(known) => known,
        Err(failure) => return failure.tell(terminal),
    };
    let stop = stop_on_signal();
    let check = Check { arguments, refinement, clients: all, stop: &stop };
    let rest: Vec<usize> = head.numbers().filter(|client| tally.is_open(*client)).collect();
    let checked = check.all(&rest, terminal, &mut tally, &mut record);
    let ended = record.as_mut().filter(|_| checked.is_ok()).map_or(Ok(()), Journal::end);
    let checked = match checked.and_then(|checked| ended.map(|()| checked)) {
        Ok(checked) => checked,
        Err(error) => {
            let path = record.as_ref().map_or(Path::new(""), Journal::path);
            terminal.progress().finish_and_clear();
            return output::refuse(path, &error, terminal);
        }
    };
    if tally.refuted.is_none() && tally.wrong.is_none() && !stop.load(Ordering::Relaxed) {
        match refinement.never(all, &arguments.options(&stop)) {
            Ok(never) => tally.never = never,
            Err(message) => tally.wrong = Some(message),
        }
        tally.uncalled = refinement.uncalled(all, &arguments.options(&stop));
    }
    terminal.progress().finish_and_clear();
    let was_stopped = stop.load(Ordering::Relaxed);
    let took = began.elapsed();
    if let Some(wrong) = &tally.wrong {
        terminal.err(&format!("error: the library cannot be checked: {wrong}\n"));
        return Exit::BadInput;
    }
    let up_to = Bounds::describe(families, refinement.library());
    let (name, clients) = (&refinement.library().name, head.numbers().count());
    let (up_to, tally) = (up_to.as_str(), &tally);
    let is_sequential = refinement.library().sequential.is_some();
    let head = &head;
    let ended = Ended {
        name,
        arguments,
        is_sequential,
        up_to,
        tally,
        head,
        clients,
        checked,
        took,
        was_stopped,
    };
    let text = match arguments.format.format {
        Format::Table => ended.table(),
        Format::Json => format!("{}\n", ended.json()),
    };
    terminal.out(&text);
    if was_stopped && let Some(record) = &record {
        let path = record.path().display();
        terminal.note(&format!("interrupted; to go on: the same command with --resume {path}"));
    }
    exit(tally, clients, was_stopped)
}

fn exit(tally: &Tally, clients: usize, was_stopped: bool) -> Exit {
    match () {
        () if tally.refuted.is_some() => Exit::Violation,
        // A part may have nothing to do.
        () if clients == 0 => Exit::Fine,
        () if was_stopped || tally.undecided() > 0 || tally.compared() == 0 => Exit::Unknown,
        () if !tally.never.is_empty() || !tally.uncalled.is_empty() => Exit::Unknown,
        () => Exit::Fine,
    }
}

/// What is checked, and what it is made of.
struct Prepared<'a> {
    refinement: Refinement,
    libraries: &'a Libraries,
    library: Library,
    other: Option<Library>,
    base: Model,
}

/// A shipped model.
fn load(name: &str) -> Option<Model> {
    Models::default().shipped(name).map(|model| model.model().clone())
}

fn prepare<'a>(arguments: &'a Arguments, terminal: &mut Terminal) -> Result<Prepared<'a>, Exit> {
    let mut sink = Sink::plain(terminal);
    let Some(libraries) = arguments.libraries.choose(&mut sink) else { return Err(sink.exit) };
    let mut refuse = |problems: Vec<Problem>| {
        sink.problems(problems);
        sink.exit
    };
    let library = by_name(&arguments.library).map_err(&mut refuse)?;
    let other = arguments.implementation.as_ref();
    let other = other.map(|path| by_name(path)).transpose().map_err(&mut refuse)?;
    // Clients pass few values; a branch that depends on others is looked at here.
    let wrong = wrong_in_bodies(other.as_ref().unwrap_or(&library), libraries);
    if !wrong.is_empty() {
        return Err(refuse(wrong));
    }
    let Some(base) = load(UNDER_LIBRARIES) else { return Err(Exit::Internal) };
    let refinement = Refinement::new(libraries, &library, other.as_ref(), &base, load)
        .map_err(|message| terminal.usage_error(&message))?;
    Ok(Prepared { refinement, libraries, library, other, base })
}

impl Arguments {
    /// The clients, and the families that they are all of.
    fn clients(&self, refinement: &Refinement) -> Option<(Vec<Bounds>, Vec<Client>)> {
        let library = refinement.library();
        // What --repair adds may go to other nodes, and --weaken is to try the same clients.
        let is_changed = self.repair || self.weaken;
        let symmetry = if is_changed { Symmetry::Names } else { refinement.symmetry() };
        let asked = Bounds { symmetry, ..self.bounds() };
        if self.plain.is_none() && self.size.is_none() {
            return by_default(asked, library).ok();
        }
        let families = asked.families(library);
        clients(library, &families, MOST).ok().map(|all| (families, all))
    }

    /// How to ask about a client, from now on.
    fn options(&self, stop: &Arc<AtomicBool>) -> Options {
        Options {
            solver: SolverKind::default(),
            limits: Limits {
                deadline: Instant::now().checked_add(self.timeout),
                stop: Some(Arc::clone(stop)),
                ..memory::limits()
            },
            loop_bound: Some(self.loops),
        }
    }

    /// The bounds that the arguments give.
    fn bounds(&self) -> Bounds {
        let plain = usize::from(self.plain.unwrap_or(2));
        let near = if plain > 1 { Bounds::default().near } else { 0 };
        Bounds {
            threads: usize::from(self.threads),
            calls: usize::from(self.calls),
            nodes: u32::from(self.nodes.unwrap_or(self.threads.max(2))),
            values: self.values.map_or(OWN, u64::from),
            plain,
            near,
            objects: usize::from(self.objects.unwrap_or(0)),
            size: usize::from(self.size.unwrap_or(0)),
            ..Bounds::default()
        }
    }
}

/// What is checked, and how.
struct Check<'a> {
    arguments: &'a Arguments,
    refinement: &'a Refinement,
    clients: &'a [Client],
    stop: &'a Arc<AtomicBool>,
}

impl Check<'_> {
    /// Checks clients, by their numbers, until one refutes, or a signal comes; how many were checked. What
    /// came of each is recorded at once. In the end, the record has them in order, and none behind the last.
    fn all(
        &self,
        rest: &[usize],
        terminal: &mut Terminal,
        tally: &mut Tally,
        record: &mut Option<Journal>,
    ) -> io::Result<usize> {
        terminal.begin_progress(rest.len());
        let mut counted: BTreeSet<usize> =
            (0..self.clients.len()).filter(|client| !tally.is_open(*client)).collect();
        let mut done = 0;
        let progress = terminal.progress();
        let shared = Mutex::new((record.as_mut(), Ok(())));
        let keep = |client: usize, answer: &Result<Answer, String>| {
            let mut shared = lock(&shared);
            let ((Some(record), Ok(())), Ok(answer)) = (&mut *shared, answer) else { return };
            shared.1 = record.line(&Checked { client, came: ClientResult::of(answer) });
        };
        let is_cut = |answer: &Result<Answer, String>| {
            self.stop.load(Ordering::Relaxed) && matches!(answer, Ok(Answer::Unknown(_)))
        };
        let work = |client: &usize| {
            let answer = self.one(*client);
            if !is_cut(&answer) {
                keep(*client, &answer);
            }
            answer
        };
        let each = |client: &usize, answer: Result<Result<Answer, String>, Broken>| {
            let answer = answer.unwrap_or_else(|broken| match broken {
                Broken::Panic(message) => Err(message),
                Broken::Limit(reached) => {
                    let unknown = Ok(Answer::Unknown(reached.to_string()));
                    keep(*client, &unknown);
                    unknown
                }
            });
            let written = lock(&shared).1.is_ok();
            // What the signal cut short is as if it had not begun.
            if !written || is_cut(&answer) {
                return ControlFlow::Break(());
            }
            progress.inc(1);
            done += 1;
            counted.insert(*client);
            tally.take(*client, answer)
        };
        let jobs = self.arguments.jobs.count();
        map_in_order(rest, jobs, self.stop, work, each);
        into_inner(shared).1?;
        let client = |line: &Json| usize::try_from(line.get("client")?.as_u64()?).ok();
        let place = |line: &Json| client(line).filter(|client| counted.contains(client));
        record.as_mut().map_or(Ok(()), |record| record.arrange(place))?;
        Ok(done)
    }

    fn one(&self, client: usize) -> Result<Answer, String> {
        let options = self.arguments.options(self.stop);
        let client = self.clients.get(client).ok_or("there is no such client")?;
        let answer = options.limits.within(|| self.refinement.check(client, &options));
        answer.unwrap_or_else(|reached| Ok(Answer::Unknown(reached.to_string())))
    }
}
