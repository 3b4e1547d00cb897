//! `litmus refine`: is a library's implementation one, for all small clients?

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use clap::Args;
use executor::record::fnv1a;
use lang::outcome::Value;
use model::allowed::Options;
use model::refine::{Answer, Bounds, Client, Counterexample, Refinement, clients};
use model::smt::solver::{Limits, SolverKind};
use serde_json::{Value as Json, json};

use crate::exit::Exit;
use crate::interrupt::stop_on_signal;
use crate::libraries::{LibraryOption, by_name};
use crate::models::Models;
use crate::options::{Format, FormatOption, JobsOption, show_problems};
use crate::ordered::map_in_order;
use crate::terminal::Terminal;

/// Check a library's implementation against its specification, for all small clients
///
/// Every client up to the bounds is built once up to symmetry, the smallest first: do calls replaced by the
/// implementation show only what the specification allows? The first that shows more is printed.
#[derive(Args)]
pub struct Arguments {
    /// A shipped library, or a file
    #[arg(value_name = "LIB|FILE.lib")]
    library: String,
    /// Check the implementation in this file instead of the library's own
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
    /// Values that are written
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u8).range(1..=4))]
    values: u8,
    /// Plain accesses in all: CPU reads and writes, puts and gets
    #[arg(long, value_name = "N", default_value = "2", value_parser = clap::value_parser!(u8).range(0..=6))]
    plain: u8,
    /// Objects of the library
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u8).range(1..=3))]
    objects: u8,
    /// Statements per client, in all; no bound by default
    #[arg(long, value_name = "N")]
    size: Option<u16>,
    /// How often loops of implementations are unrolled
    #[arg(long, value_name = "N", default_value = "2", value_parser = clap::value_parser!(u32).range(1..=100))]
    loops: u32,
    /// How long one client may take
    #[arg(long, value_name = "SECONDS", default_value = "60")]
    timeout: u32,
    /// Write how far the check has come to a file, when it ends or is interrupted
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Go on where the check of a record ended
    #[arg(long, value_name = "RECORD", conflicts_with = "record")]
    resume: Option<PathBuf>,
    #[command(flatten)]
    libraries: LibraryOption,
    #[command(flatten)]
    format: FormatOption,
    #[command(flatten)]
    jobs: JobsOption,
}

/// What has been found so far.
#[derive(Default)]
struct Tally {
    checked: usize,
    ill_formed: usize,
    outcomes: usize,
    cut_off: usize,
    unknown: usize,
    reason: Option<String>,
    refuted: Option<Box<Counterexample>>,
    wrong: Option<String>,
}

/// Checks.
pub fn run(arguments: &Arguments, terminal: &mut Terminal) -> Exit {
    let refinement = match prepare(arguments, terminal) {
        Ok(refinement) => refinement,
        Err(exit) => return exit,
    };
    let bounds = bounds(arguments);
    let began = Instant::now();
    let Ok(all) = clients(refinement.library(), &bounds) else {
        return terminal.usage_error("there are more than 4 million clients; lower the bounds");
    };
    if all.is_empty() {
        return terminal.usage_error(
            "no client is that small; calls that come in pairs, as Acq and Rel, need --calls 2",
        );
    }
    let identity = identity(arguments, &refinement);
    let (mut tally, first) = match &arguments.resume {
        None => (Tally::default(), 0),
        Some(path) => match read(path, &identity) {
            Ok(known) => known,
            Err(message) => {
                terminal.err(&format!("error: {}: {message}\n", path.display()));
                return Exit::BadInput;
            }
        },
    };
    let rest = all.get(first..).unwrap_or_default();
    let stop = stop_on_signal();
    terminal.begin_progress(rest.len());
    let done = check_all(arguments, &refinement, rest, &stop, terminal, &mut tally);
    terminal.progress().finish_and_clear();
    let was_stopped = stop.load(Ordering::Relaxed);
    let took = began.elapsed();
    if let Some(path) = arguments.record.as_ref().or(arguments.resume.as_ref())
        && let Err(error) = write(path, &identity, &tally, first + done, all.len())
    {
        terminal.err(&format!("error: cannot write {}: {error}\n", path.display()));
        return Exit::BadInput;
    }
    if let Some(wrong) = &tally.wrong {
        terminal.err(&format!("error: the library cannot be checked: {wrong}\n"));
        return Exit::BadInput;
    }
    let name = &refinement.library().name;
    let text = match arguments.format.format {
        Format::Table => table(name, arguments, &tally, (first + done, all.len()), done, took),
        Format::Json => {
            let json = json(name, arguments, &tally, (first + done, all.len()), took, was_stopped);
            format!("{json}\n")
        }
    };
    terminal.out(&text);
    if was_stopped && let Some(path) = arguments.record.as_ref().or(arguments.resume.as_ref()) {
        let path = path.display();
        terminal.note(&format!("interrupted; to go on: the same command with --resume {path}"));
    }
    match () {
        () if tally.refuted.is_some() => Exit::Violation,
        () if was_stopped || tally.unknown > 0 => Exit::Unknown,
        () => Exit::Fine,
    }
}

fn prepare(arguments: &Arguments, terminal: &mut Terminal) -> Result<Refinement, Exit> {
    let mut refuse = |problems: &[_]| {
        show_problems(problems, terminal);
        Exit::BadInput
    };
    let libraries = arguments.libraries.load().map_err(|wrong| refuse(&wrong))?;
    let library = by_name(&arguments.library).map_err(|wrong| refuse(&wrong))?;
    let other = arguments.implementation.as_ref();
    let other = other.map(|path| by_name(path)).transpose().map_err(|wrong| refuse(&wrong))?;
    let models = Models::default();
    let load = |name: &str| models.shipped(name).map(|model| model.model().clone());
    let Some(base) = load("rdma-wait-rmw") else { return Err(Exit::Internal) };
    Refinement::new(libraries, &library, other.as_ref(), &base, load)
        .map_err(|message| terminal.usage_error(&message))
}

fn bounds(arguments: &Arguments) -> Bounds {
    Bounds {
        threads: usize::from(arguments.threads),
        calls: usize::from(arguments.calls),
        nodes: u32::from(arguments.nodes.unwrap_or(arguments.threads.max(2))),
        values: u64::from(arguments.values),
        plain: usize::from(arguments.plain),
        objects: usize::from(arguments.objects),
        size: usize::from(arguments.size.unwrap_or(0)),
    }
}

/// Checks clients until one refutes, or a signal comes; how many were done in order.
fn check_all(
    arguments: &Arguments,
    refinement: &Refinement,
    clients: &[Client],
    stop: &AtomicBool,
    terminal: &Terminal,
    tally: &mut Tally,
) -> usize {
    let options = || Options {
        solver: SolverKind::default(),
        limits: Limits {
            deadline: Instant::now().checked_add(Duration::from_secs(arguments.timeout.into())),
            stop: None,
        },
        loop_bound: Some(arguments.loops),
    };
    let mut done = 0;
    let progress = terminal.progress();
    let each = |_: &Client, answer: Result<Result<Answer, String>, String>| {
        progress.inc(1);
        done += 1;
        tally.checked += 1;
        match answer.and_then(|answer| answer) {
            Ok(Answer::Holds { outcomes, cut_off }) => {
                tally.outcomes += outcomes;
                tally.cut_off += usize::from(cut_off);
            }
            Ok(Answer::IllFormed) => tally.ill_formed += 1,
            Ok(Answer::Unknown(reason)) => {
                tally.unknown += 1;
                tally.reason.get_or_insert(reason);
            }
            Ok(Answer::Refuted(found)) => {
                tally.refuted = Some(found);
                return ControlFlow::Break(());
            }
            Err(message) => {
                tally.wrong = Some(message);
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    };
    let work = |client: &Client| refinement.check(client, &options());
    map_in_order(clients, arguments.jobs.count(), stop, work, each);
    done
}

/// What a record must be of to go on with it.
fn identity(arguments: &Arguments, refinement: &Refinement) -> Json {
    let library = refinement.library();
    let Bounds { threads, calls, nodes, values, plain, objects, size } = bounds(arguments);
    let hash = format!("{:016x}", fnv1a(&[library.source.text.as_str()]));
    json!({
        "library": library.name, "implementation": hash, "threads": threads, "calls": calls,
        "nodes": nodes, "values": values, "plain": plain, "objects": objects, "size": size,
        "loops": arguments.loops,
    })
}

fn write(
    path: &Path,
    identity: &Json,
    tally: &Tally,
    done: usize,
    all: usize,
) -> std::io::Result<()> {
    let json = json!({
        "schema": "litmus-refine-record/1", "of": identity, "done": done, "clients": all,
        "ill_formed": tally.ill_formed, "outcomes": tally.outcomes, "cut_off": tally.cut_off,
        "unknown": tally.unknown,
    });
    std::fs::write(path, format!("{json:#}\n"))
}

fn read(path: &Path, identity: &Json) -> Result<(Tally, usize), String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("cannot be read: {error}"))?;
    let json: Json =
        serde_json::from_str(&text).map_err(|error| format!("is no record: {error}"))?;
    if json["of"] != *identity {
        return Err("is of another library, implementation or bounds".to_owned());
    }
    let number = |name: &str| {
        let number = json[name].as_u64().and_then(|number| usize::try_from(number).ok());
        number.ok_or_else(|| format!("lacks `{name}`"))
    };
    let done = number("done")?;
    let tally = Tally {
        checked: done,
        ill_formed: number("ill_formed")?,
        outcomes: number("outcomes")?,
        cut_off: number("cut_off")?,
        unknown: number("unknown")?,
        ..Tally::default()
    };
    Ok((tally, done))
}

fn table(
    name: &str,
    arguments: &Arguments,
    tally: &Tally,
    (done, all): (usize, usize),
    checked_now: usize,
    took: Duration,
) -> String {
    let Bounds { threads, calls, nodes, values, plain, objects, .. } = bounds(arguments);
    let up_to = format!(
        "{threads} threads of {calls} calls, {plain} plain accesses, {nodes} nodes, {values} values, {objects} objects"
    );
    let mut out = match &tally.refuted {
        Some(_) => format!("{name}: refuted by client {done} of {all}\n"),
        None if done < all => {
            format!("{name}: holds for {done} of {all} clients of up to {up_to}\n")
        }
        None => format!("{name}: holds up to {up_to}\n"),
    };
    let seconds = took.as_secs_f64();
    let rate = checked_now as f64 / seconds.max(0.001);
    out.push_str(&format!(
        "  {} clients up to symmetry, {} outcomes of their specifications; {seconds:.1} s, {rate:.0} clients per second\n",
        tally.checked - tally.ill_formed,
        tally.outcomes,
    ));
    if tally.ill_formed > 0 {
        out.push_str(&format!("  {} left out: not well formed\n", tally.ill_formed));
    }
    if tally.cut_off > 0 {
        let (count, loops) = (tally.cut_off, arguments.loops);
        out.push_str(&format!("  in {count}, a loop can go round more often than the {loops} times that were followed\n"));
    }
    if tally.unknown > 0 {
        let reason = tally.reason.as_deref().unwrap_or("a limit was reached");
        out.push_str(&format!("  {} unknown: {reason}\n", tally.unknown));
    }
    if let Some(found) = &tally.refuted {
        let part = |title: &str, text: &str| format!("\n{title}\n\n{}\n", text.trim_end());
        out.push_str(&part(
            "The client, with the outcome that it should not have:",
            &found.program,
        ));
        out.push_str(&part("The implementation shows it:", &found.execution));
        out.push_str(&part("The specification forbids it:", &found.forbidden));
    }
    out
}

fn json(
    name: &str,
    arguments: &Arguments,
    tally: &Tally,
    (done, all): (usize, usize),
    took: Duration,
    was_stopped: bool,
) -> Json {
    let Bounds { threads, calls, nodes, values, plain, objects, size } = bounds(arguments);
    let verdict = match () {
        () if tally.refuted.is_some() => "refuted",
        () if was_stopped || tally.unknown > 0 || done < all => "unknown",
        () => "holds",
    };
    let value = |value: &Value| serde_json::to_value(value).unwrap_or(Json::Null);
    let found = tally.refuted.as_ref().map(|found| {
        let outcome: serde_json::Map<String, Json> =
            found.outcome.iter().map(|(name, v)| (name.clone(), value(v))).collect();
        json!({
            "program": found.program, "outcome": outcome,
            "execution": found.execution, "forbidden": found.forbidden,
        })
    });
    json!({
        "schema": "litmus-refine/1", "library": name, "verdict": verdict,
        "bounds": {
            "threads": threads, "calls": calls, "nodes": nodes, "values": values, "plain": plain,
            "objects": objects, "size": size, "loops": arguments.loops,
        },
        "clients": all, "checked": done, "ill_formed": tally.ill_formed,
        "outcomes": tally.outcomes, "cut_off": tally.cut_off, "unknown": tally.unknown,
        "reason": tally.reason, "interrupted": was_stopped, "seconds": took.as_secs_f64(),
        "counterexample": found,
    })
}
