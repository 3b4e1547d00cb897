//! `litmus nic trace`: what the NIC did, in words.

use std::collections::HashMap;
use std::path::PathBuf;

use clap::Args;
use lang::diagnostic::Code;

use super::lines::{Issued, Line, Name, Step, Unreadable, merge, of_folder};
use crate::exit::Exit;
use crate::problem::Problem;
use crate::terminal::Terminal;

/// Print a trace of `litmus nic --trace` in words
///
/// Times are microseconds since the trace began. A request is named by its queue pair and its number there.
#[derive(Args)]
pub struct Arguments {
    /// The trace, or the folder with its parts that a command left which was killed
    #[arg(value_name = "TRACE")]
    trace: PathBuf,
    /// Only steps around a time, in microseconds
    #[arg(long, value_name = "US", value_parser = microseconds)]
    at: Option<f64>,
    /// How far from that time, in microseconds
    #[arg(long, value_name = "US", default_value_t = 20.0, requires = "at", value_parser = microseconds)]
    within: f64,
    /// Only requests that reach a byte of memory, as any process names it
    #[arg(long, value_name = "HEX", value_parser = address)]
    address: Option<u64>,
    /// Only requests of a queue pair
    #[arg(long, value_name = "N", value_parser = queue_pair)]
    queue_pair: Option<u32>,
}

fn microseconds(text: &str) -> Result<f64, String> {
    let read = text.parse().ok().filter(|time: &f64| time.is_finite() && *time >= 0.0);
    read.ok_or_else(|| format!("expected microseconds, found {text}"))
}

fn address(text: &str) -> Result<u64, String> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    u64::from_str_radix(digits, 16).map_err(|_| format!("expected an address, found {text}"))
}

/// As programs print them: decimal, or hexadecimal after `0x`.
fn queue_pair(text: &str) -> Result<u32, String> {
    let read = match text.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => text.parse(),
    };
    read.map_err(|_| format!("expected the number of a queue pair, found {text}"))
}

/// Prints the trace.
pub fn run(arguments: &Arguments, terminal: &mut Terminal) -> Exit {
    let path = &arguments.trace;
    let files = match path.is_dir() {
        true => of_folder(path),
        false => Ok(vec![path.clone()]),
    };
    let files = match files {
        Ok(files) => files,
        Err(error) => {
            return refuse(
                &Unreadable { path: path.clone(), why: format!("cannot be read: {error}") },
                terminal,
            );
        }
    };
    let mut printed = Printed::default();
    let read = merge(&files, |_, line| {
        printed.line(arguments, line, terminal);
        Ok(())
    });
    if let Err(unreadable) = read {
        return refuse(&unreadable, terminal);
    }
    terminal.note(&format!("{} of {} steps", printed.shown, printed.steps));
    Exit::Fine
}

fn refuse(unreadable: &Unreadable, terminal: &mut Terminal) -> Exit {
    let Unreadable { path, why } = unreadable;
    let problem = Problem::of_file(&path.to_string_lossy(), Code::UnreadableFile, why);
    let text = problem.render(terminal.look.error_color);
    terminal.err(&text);
    Exit::BadInput
}

/// What is known of the requests so far.
#[derive(Default)]
struct Printed {
    start: Option<u64>,
    /// What was asked for, by the requests that are under way.
    issued: HashMap<Name, Issued>,
    steps: usize,
    shown: usize,
}

impl Printed {
    fn line(&mut self, arguments: &Arguments, line: Line, terminal: &mut Terminal) {
        self.steps += 1;
        let start = *self.start.get_or_insert(line.time);
        let time = line.time.saturating_sub(start) as f64 / 1000.0;
        if let Step::Issued(issued) = &line.step {
            self.issued.insert(line.name, issued.clone());
        }
        let issued = self.issued.get(&line.name);
        let reaches = |address| issued.is_some_and(|issued| issued.reaches(address));
        let is_wanted = arguments.at.is_none_or(|at| (time - at).abs() <= arguments.within)
            && arguments.queue_pair.is_none_or(|wanted| wanted == line.name.queue_pair)
            && arguments.address.is_none_or(reaches);
        if is_wanted {
            let Name { queue_pair, request, .. } = line.name;
            let words = words(&line.step, issued);
            let process = line.process;
            terminal.show(&format!(
                "{time:>12.3} us  process {process}  {queue_pair:#08x}#{request}  {words}\n"
            ));
            self.shown += 1;
        }
        if matches!(line.step, Step::Completed { .. }) {
            self.issued.remove(&line.name);
        }
    }
}

impl Issued {
    fn reaches(&self, address: u64) -> bool {
        let is_in = |start: u64, length: u64| {
            (start..start.saturating_add(length.max(1))).contains(&address)
        };
        let local = self.local.iter().any(|(start, length)| is_in(*start, u64::from(*length)));
        local || self.remote.is_some_and(|start| is_in(start, self.length))
    }

    fn words(&self) -> String {
        let Self { operation, id, length, .. } = self;
        let local: Vec<String> =
            self.local.iter().map(|(start, _)| format!("{start:#x}")).collect();
        let local = if local.is_empty() { "inline data".to_owned() } else { local.join(", ") };
        let remote = self.remote.map(|start| format!("{start:#x}"));
        let way = match (remote, operation.as_str()) {
            (Some(remote), "flush") => format!(" of writes to the region of {remote} there"),
            (Some(remote), "write" | "atomic-write") => {
                format!(", {length} bytes of {local} here to {remote} there")
            }
            (Some(remote), _) => format!(", {length} bytes of {remote} there into {local} here"),
            (None, _) => format!(", {length} bytes of {local} here"),
        };
        let fence = if self.fence { ", fenced" } else { "" };
        let signaled = if self.signaled { "" } else { ", unsignaled" };
        format!("issued: {operation}{way}, wr_id {id}{fence}{signaled}")
    }
}

/// A step in words, with the rule of the operational semantics.
fn words(step: &Step, issued: Option<&Issued>) -> String {
    let before = |early: bool| if early { ", before earlier requests are done" } else { "" };
    match step {
        Step::Issued(issued) => issued.words(),
        Step::SourceRead { value, early } => {
            format!("its source is read: {value:#x}{} (rule 2)", before(*early))
        }
        Step::Arrived => "has arrived at its remote memory".to_owned(),
        Step::Done { value: Some(value), early } => {
            format!("remote memory is read: {value:#x}{} (rules 6, 9 to 11)", before(*early))
        }
        Step::Done { value: None, early } => {
            format!("done there, and not yet visible{} (rule 3)", before(*early))
        }
        Step::Visible { address, length, value } => {
            format!("visible: {value:#x} at {address:#x}, {length} bytes (rules 4 and 13)")
        }
        Step::Answered => "the answer is here (rules 5 and 7)".to_owned(),
        Step::Landed { address, length, value } => {
            format!(
                "what was read is in memory: {value:#x} at {address:#x}, {length} bytes (rule 8)"
            )
        }
        Step::Completed { status: 0 } => match issued {
            Some(Issued { signaled: false, .. }) => "ends without a completion".to_owned(),
            _ => "its completion can be polled".to_owned(),
        },
        Step::Completed { status } => {
            format!("its completion can be polled: failed with ibv_wc_status {status}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Issued;

    #[test]
    fn requests_are_put_into_words() {
        let words = |operation: &str, length, local: &[(u64, u32)]| {
            let (remote, local) = (Some(0x80), local.to_vec());
            let operation = operation.to_owned();
            Issued { operation, id: 1, remote, local, length, fence: false, signaled: true }.words()
        };
        assert_eq!(
            words("write", 8, &[(0x10, 8)]),
            "issued: write, 8 bytes of 0x10 here to 0x80 there, wr_id 1"
        );
        assert_eq!(
            words("read", 8, &[(0x10, 8)]),
            "issued: read, 8 bytes of 0x80 there into 0x10 here, wr_id 1"
        );
        assert_eq!(
            words("atomic-write", 8, &[]),
            "issued: atomic-write, 8 bytes of inline data here to 0x80 there, wr_id 1"
        );
        assert_eq!(
            words("flush", 0, &[]),
            "issued: flush of writes to the region of 0x80 there, wr_id 1"
        );
    }
}
