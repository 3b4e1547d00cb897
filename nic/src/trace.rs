//! Traces what the NIC does: one line of JSON for each step of a request.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;

use crate::engine::pair::pieces;
use crate::request::{Operation, Payload, SendRequest, Status};

/// The name of a request: the queue pair that issued it, the session, and the number. The peer uses the same
/// name.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Name {
    /// The number of the requester's queue pair.
    pub queue_pair: u32,
    /// The session of the queue pair. Each reset begins a new session.
    pub session: u32,
    /// The number of the request in the session.
    pub request: u64,
}

/// A step of a request.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "step", rename_all = "kebab-case")]
pub enum Step {
    /// The NIC took it from the send queue into `pipe`.
    Issued {
        /// The operation: `write`, `send`, `read`, `compare-and-swap`, `fetch-and-add`, `atomic-write` or
        /// `flush`.
        operation: &'static str,
        /// The program's id for the request.
        id: u64,
        /// The first address of its remote memory.
        remote: Option<u64>,
        /// The pieces of its local memory: addresses and lengths.
        local: Vec<(u64, u32)>,
        /// The number of bytes that it moves.
        length: u64,
        /// Whether it waits for all earlier reads and atomics.
        fence: bool,
        /// Whether the program gets its completion.
        signaled: bool,
    },
    /// Rule 2: the NIC read its source.
    SourceRead {
        /// The first bytes of the source, as a number.
        value: u64,
        /// Whether earlier requests of the same queue pair are not done yet.
        early: bool,
    },
    /// It has arrived at the node of its remote memory.
    Arrived,
    /// Rules 3, 6 and 9 to 12: it was done at the remote node. The effect of a write is still pending, and
    /// not visible.
    Done {
        /// The value that a read or atomic has read.
        #[serde(skip_serializing_if = "Option::is_none")]
        value: Option<u64>,
        /// Whether earlier requests of the same queue pair are not done yet.
        early: bool,
    },
    /// Rules 4 and 13: its write is in remote memory.
    Visible {
        /// The first address.
        address: u64,
        /// The number of bytes.
        length: u64,
        /// The first bytes, as a number.
        value: u64,
    },
    /// Rules 5 and 7: it leaves `pipe`.
    Answered,
    /// Rule 8: the value that it has read is in local memory.
    Landed {
        /// The first address.
        address: u64,
        /// The number of bytes.
        length: u64,
        /// The first bytes, as a number.
        value: u64,
    },
    /// Its completion can be polled, if it is signaled.
    Completed {
        /// The status, as in `ibv_wc_status`.
        status: u8,
    },
}

/// The destination of the steps: none, or a file.
#[derive(Default)]
pub struct Trace {
    to: Option<To>,
}

struct To {
    file: File,
    lines: Vec<u8>,
    /// The time of the NIC's time 0, in nanoseconds since 1970.
    start: u64,
}

#[derive(Serialize)]
struct Line<'a> {
    /// The time in nanoseconds since 1970.
    time: u64,
    /// The id of the process in which the step happened.
    process: u32,
    #[serde(flatten)]
    name: Name,
    #[serde(flatten)]
    step: &'a Step,
}

impl Trace {
    /// A trace into the file of this process in a folder. Without a folder or a file, nothing is traced.
    pub fn new(folder: Option<&str>) -> Self {
        let open = |folder| {
            let path = Path::new(folder).join(format!("{}.jsonl", std::process::id()));
            let file = OpenOptions::new().create(true).append(true).open(path).ok()?;
            let start = SystemTime::now().duration_since(UNIX_EPOCH).ok()?.as_nanos() as u64;
            Some(To { file, lines: Vec::new(), start })
        };
        Self { to: folder.and_then(open) }
    }

    /// Records a step at a time of the NIC. `step` is called only if there is a trace.
    pub fn note(&mut self, now: u64, name: Name, step: impl FnOnce() -> Step) {
        let Some(to) = &mut self.to else { return };
        let (time, process) = (to.start + now, std::process::id());
        let line = Line { time, process, name, step: &step() };
        if serde_json::to_writer(&mut to.lines, &line).is_ok() {
            to.lines.push(b'\n');
        }
    }

    /// Writes the recorded steps to the file, because a process may end at any time. If the file cannot be
    /// written, the trace ends.
    pub fn flush(&mut self) {
        let Some(to) = &mut self.to else { return };
        if !to.lines.is_empty() && to.file.write_all(&to.lines).is_err() {
            self.to = None;
            return;
        }
        to.lines.clear();
    }
}

impl Step {
    /// The step "a request was issued".
    pub fn issued(request: &SendRequest) -> Self {
        let (operation, remote) = match request.operation {
            Operation::Send { .. } | Operation::Datagram { .. } => ("send", None),
            Operation::Write { remote, .. } => ("write", Some(remote)),
            Operation::Read { remote } => ("read", Some(remote)),
            Operation::CompareAndSwap { remote, .. } => ("compare-and-swap", Some(remote)),
            Operation::FetchAndAdd { remote, .. } => ("fetch-and-add", Some(remote)),
            Operation::AtomicWrite { remote } => ("atomic-write", Some(remote)),
            Operation::Flush { remote, .. } => ("flush", Some(remote)),
        };
        let sges = pieces(&request.payload);
        let inline = match &request.payload {
            Payload::Inline(bytes) => bytes.len(),
            Payload::Memory(_) => 0,
        };
        Self::Issued {
            operation,
            id: request.id,
            remote: remote.map(|remote| remote.address),
            local: sges.iter().map(|sge| (sge.address, sge.length)).collect(),
            length: crate::request::total(sges) + inline as u64,
            fence: request.fence,
            signaled: request.signaled,
        }
    }

    /// The step "a request has completed".
    pub fn completed(status: Status) -> Self {
        Self::Completed { status: status as u8 }
    }
}

/// The first bytes as a number, as a CPU of this machine would read them.
pub fn value(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    let length = bytes.len().min(8);
    word[..length].copy_from_slice(&bytes[..length]);
    u64::from_le_bytes(word)
}

#[cfg(test)]
mod tests {
    use super::{Name, Step, Trace, value};

    #[test]
    fn steps_are_lines_of_json() {
        let folder = std::env::temp_dir().join(format!("litmus-nic-trace-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder for temporary files");
        let mut trace = Trace::new(folder.to_str());
        let name = Name { queue_pair: 7, session: 1, request: 2 };
        trace.note(5, name, || Step::SourceRead { value: value(&[1, 2]), early: true });
        trace.note(6, name, || Step::Arrived);
        trace.flush();
        let file = folder.join(format!("{}.jsonl", std::process::id()));
        let text = std::fs::read_to_string(file).expect("the trace is there");
        std::fs::remove_dir_all(&folder).expect("it is ours");
        let lines: Vec<serde_json::Value> =
            text.lines().map(|line| serde_json::from_str(line).expect("it is JSON")).collect();
        assert_eq!(lines.len(), 2);
        assert_eq!((&lines[0]["step"], &lines[0]["value"]), (&"source-read".into(), &513.into()));
        assert_eq!((&lines[1]["request"], &lines[1]["queue_pair"]), (&2.into(), &7.into()));
        assert_eq!(
            lines[1]["time"].as_u64().zip(lines[0]["time"].as_u64()).map(|(b, a)| b - a),
            Some(1)
        );
    }

    #[test]
    fn nothing_is_made_that_nobody_wants() {
        let name = Name { queue_pair: 0, session: 0, request: 0 };
        Trace::new(None).note(0, name, || panic!("nobody wants it"));
    }
}
