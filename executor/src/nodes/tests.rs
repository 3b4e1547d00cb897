//! Agents in this process, on the device without hardware, over real TCP on loopback.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use compiler::library::{Depth, Libraries, inline};
use lang::Test;
use lang::outcome::Value;
use lang::source::Source;

use super::*;
use crate::backend::{Backend, Control, Job, Refusal, measure};
use crate::rdma::memory::MemoryDevice;
use crate::rounds::Parameters;
use evidence::record::Status;

mod between;
mod messages;

type Log = Arc<Mutex<Vec<AgentEvent>>>;

const SECRET: &str = "a secret for tests";

fn secret() -> Secret {
    Secret::from_text(SECRET).unwrap()
}

/// Starts an agent that serves until the process ends.
fn agent() -> (SocketAddr, Log) {
    let log = Log::default();
    (agent_with(Limits { bytes: 64 << 20, queue_pairs: 64 }, Arc::clone(&log)), log)
}

fn agent_with(limits: Limits, log: Log) -> SocketAddr {
    agent_on(MemoryDevice::default().0, limits, log)
}

fn agent_on(device: crate::rdma::DeviceInfo, limits: Limits, log: Log) -> SocketAddr {
    let options =
        AgentOptions { listen: "127.0.0.1:0".to_owned(), secret: secret(), limits, once: false };
    let open: Arc<OpenDevice> = Arc::new(move |_| Ok(Arc::new(MemoryDevice(device.clone()))));
    let agent = Agent::new(options, open, Arc::new(move |event| log.lock().unwrap().push(event)));
    let agent = agent.unwrap();
    let address = agent.address().unwrap();
    std::thread::spawn(move || agent.serve());
    address
}

fn node(address: &str) -> Node {
    let (name, address) = (address.to_owned(), address.to_owned());
    Node { name, address, selection: Selection::default() }
}

fn cluster(nodes: &[SocketAddr], secret: Secret) -> Result<Cluster, cluster::Trouble> {
    Cluster::new(ClusterOptions {
        nodes: nodes.iter().map(|address| node(&address.to_string())).collect(),
        launch: Launch::None,
        secret,
    })
}

fn verbs(machines: usize) -> Verbs {
    let nodes: Vec<SocketAddr> = (0..machines).map(|_| agent().0).collect();
    let parameters = Parameters { instances: 8, rounds: 8, ..Parameters::default() };
    Verbs::new(cluster(&nodes, secret()).unwrap(), parameters)
}

fn load(text: &str) -> Test {
    let (test, diagnostics) = lang::litmus::load(&Source::new("T", text));
    test.unwrap_or_else(|| panic!("{diagnostics:?}"))
}

fn run(
    verbs: &Verbs,
    text: &str,
    iterations: u64,
) -> Result<evidence::observation::Observations, Refusal> {
    let test = load(text);
    let libraries = model::library::shipped();
    let job = job(&test, text, libraries, iterations);
    verbs.run(&job, Control { stop: &AtomicBool::new(false), progress: &|_| {}, keep: &|_| {} })
}

fn job<'a>(test: &'a Test, program: &'a str, libraries: &'a Libraries, iterations: u64) -> Job<'a> {
    Job { test, file: "T", program, libraries, machine: "rdma-tso", iterations, done: 0, seed: 7 }
}

const RING: &str = "\
litmus T
  y = 0     ||  x = 0           ||  z = 0
  -----------------------------------------
  x^2 := 1  ||  a := x          ||  RFAA(c, x^2, 2)
  Poll(2)   ||  z^3 := a + 5    ||  Poll(2)
  b := x^2  ||  Poll(3)         ||
  Poll(2)   ||                  ||
  observe a, b, z, x
";

#[test]
fn threads_that_run_each_other_s_code_have_their_own_results() {
    // Of one node, and of two, whose memory is not the same.
    threads_have_their_own_results("|", "x = 0, y = 0, z = 0, u = 0");
    threads_have_their_own_results("||", "x = 0, y = 0, v = 0 || u = 0, z = 0");
}

fn threads_have_their_own_results(bar: &str, locations: &str) {
    let own = format!(
        "litmus T\n  {locations}\n  ---\n  \
         x := 1  |  y := 2  {bar}  z := 3  |  u := 4\n  \
         a := x  |  b := y  {bar}  c := z  |  d := u + 1\n  observe a, b, c, d\n"
    );
    let nodes = [agent().0];
    // With that many streams beside them, four threads are more than a usual machine has cores for.
    let parameters = Parameters { instances: 8, rounds: 8, stress: 16, ..Parameters::default() };
    let verbs = Verbs::new(cluster(&nodes, secret()).unwrap(), parameters);
    let seen = run(&verbs, &own, 1000).unwrap();
    assert_eq!((seen.finished(), seen.outcomes.len()), (1000, 1), "{seen:?}");
    let values = [1, 2, 3, 5].map(Value::Int);
    assert!(seen.outcomes.keys().all(|outcome| *outcome.0 == values), "{seen:?}");
}

#[test]
fn values_travel_on_any_number_of_machines() {
    for machines in 1..=3 {
        let seen = run(&verbs(machines), RING, 500).unwrap();
        assert_eq!(seen.iterations(), 500, "{seen:?}");
        assert_eq!(seen.finished(), 500, "{seen:?}");
        for outcome in seen.outcomes.keys() {
            let [Value::Int(a), Value::Int(b), Value::Int(z), Value::Int(x)] = *outcome.0 else {
                panic!("{outcome:?}")
            };
            assert!(
                a <= 3 && (1..=3).contains(&b) && z == a + 5 && (x == 1 || x == 3),
                "{outcome:?}"
            );
        }
        assert_eq!(
            seen.notes.len(),
            3 - machines.max(1) - usize::from(machines == 1),
            "{machines}"
        );
        let places = seen.places.values().flatten();
        assert!(places.into_iter().all(|place| place.round < 64 && place.instance < 8));
    }
}

/// What is kept on the way is what is seen in the end, and a run that goes on does what is left with other
/// random choices.
#[test]
fn a_run_goes_on_where_another_one_was_killed() {
    let verbs = verbs(2);
    let (test, libraries) = (load(RING), model::library::shipped());
    let run = |done: u64, stop_after: u64| {
        let (stop, kept) = (AtomicBool::new(false), Mutex::new(Vec::new()));
        let keep = |more: &evidence::observation::Observations| {
            let mut kept = kept.lock().unwrap();
            kept.push(more.clone());
            let runs: u64 = kept.iter().map(|part| part.iterations()).sum();
            stop.store(runs >= stop_after, std::sync::atomic::Ordering::Relaxed);
        };
        let control = Control { stop: &stop, progress: &|_| {}, keep: &keep };
        let seen = verbs.run(&Job { done, ..job(&test, RING, libraries, 500) }, control).unwrap();
        let kept = kept.into_inner().unwrap();
        let merged = kept.into_iter().reduce(|one, other| one.merge(other)).unwrap();
        assert_eq!(merged, seen);
        let first = seen.places.values().flatten().map(|place| place.batch).min();
        (seen.iterations(), first)
    };
    assert_eq!(run(0, 192), (192, Some(0)));
    // A batch has 64 runs.
    assert_eq!(run(192, u64::MAX), (308, Some(3)));
}

#[test]
fn a_node_without_threads_waits_for_the_others() {
    let text = "\
litmus T
      ||  x = 0
  -------------

thread 1 @ 1 {
  x^2 := 1
}

  x = 1 ✓
";
    let seen = run(&verbs(2), text, 2000).unwrap();
    assert_eq!((seen.finished(), seen.outcomes.len()), (2000, 1), "{seen:?}");
}

#[test]
fn whoever_says_a_byte_now_and_then_is_not_waited_for() {
    let (address, _) = agent();
    let mut slow = TcpStream::connect(address).unwrap();
    let began = std::time::Instant::now();
    while slow.write_all(b"x").is_ok() && began.elapsed() < 3 * handshake::PATIENCE {
        std::thread::sleep(std::time::Duration::from_millis(200));
    }
    assert!(began.elapsed() < 2 * handshake::PATIENCE);
}

#[test]
fn loops_assumes_and_missing_completions() {
    let spin = "\
litmus T
  y = 0                          ||  x = 0
  ------------------------------------------
  x^2 := 1                       ||  loop { a := x; if a = 1 { break } }
  loop { b := y; if b = 2 { break } }  ||  y^1 := a + 1
  observe a, b
";
    let seen = run(&verbs(2), spin, 200).unwrap();
    assert_eq!((seen.finished(), seen.outcomes.len()), (200, 1), "{seen:?}");
    let blocked = "litmus T\n  y = 0    ||  x = 0\n  ----------------\n  Poll(2)  ||  a := x\n";
    assert_eq!(run(&verbs(2), blocked, 100).unwrap().blocked, 100);
    let assume =
        "litmus T\n  y = 0          ||  x = 0\n  ----------------\n  assume(0 = 1)  ||  a := x\n";
    assert_eq!(run(&verbs(2), assume, 100).unwrap().assume_failed, 100);
}

#[test]
fn what_waits_in_vain_is_given_up() {
    let text = "litmus T\n  y = 0    ||  x = 0\n  ------------------\n  a := y   ||  loop { b := x; if b = 1 { break } }\n";
    let parameters = Parameters { instances: 4, rounds: 2, patience: 5, ..Parameters::default() };
    let mut verbs = verbs(2);
    verbs.set_parameters(parameters);
    assert_eq!(run(&verbs, text, 8).unwrap().unfinished, 8);
}

#[test]
fn an_agent_that_dies_fails_one_test_and_the_rest_go_on() {
    let (good, _) = agent();
    // An agent that completes the handshake, describes itself, and disconnects when it gets a program.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let bad = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let (mut incoming, mut outgoing) =
            handshake::accept(&mut stream, &secret(), &handshake::AGENT).unwrap();
        let _: protocol::Ask = protocol::receive(&mut incoming).unwrap();
        let host = evidence::record::Host::here();
        let info = Box::new(crate::rdma::Device::info(&MemoryDevice::default()).clone());
        protocol::send(
            &mut outgoing,
            &protocol::Reply::Described(info, host, cores::Place::default()),
        )
        .unwrap();
        let _: protocol::Ask = protocol::receive(&mut incoming).unwrap();
    });
    let verbs = Verbs::new(cluster(&[good, bad], secret()).unwrap(), Parameters::default());
    let failed = run(&verbs, RING, 100);
    assert!(
        matches!(&failed, Err(Refusal::Broken(reason, _)) if reason.contains("gone")),
        "{failed:?}"
    );
    let seen = run(&verbs, RING, 100).unwrap();
    assert_eq!(seen.finished(), 100);
    assert!(seen.notes.iter().any(|note| note == "1 of 2 machines could be used"), "{seen:?}");
}

#[test]
fn strangers_are_refused_and_the_agent_lives() {
    let (address, log) = agent();
    let wrong = Secret::from_text("another secret, as long").unwrap();
    let refused = cluster(&[address], wrong).err().unwrap();
    assert!(refused.message.contains("secret"), "{refused}");
    let say = |text: &[u8]| {
        let mut stream = TcpStream::connect(address).unwrap();
        // The agent may refuse before everything is written.
        drop(stream.write_all(text));
        drop(stream.shutdown(std::net::Shutdown::Write));
        let mut answer = String::new();
        drop(stream.read_to_string(&mut answer));
        answer
    };
    assert!(say(b"GET / HTTP/1.1\r\n\r\n").contains("NO protocol"));
    assert!(say(&[0xff; 4096]).contains("LITMUS-AGENT"));
    assert!(say(b"LITMUS-COORDINATOR 0.0.0 00 00\n").contains("NO version"));
    assert!(say(b"").contains("LITMUS-AGENT"));
    let flood: Vec<_> = (0..500).map(|_| TcpStream::connect(address)).collect();
    drop(flood);
    // The agent drops the connections in the handshake after the time limit, or at once if they are closed.
    let until = std::time::Instant::now() + handshake::PATIENCE + std::time::Duration::from_secs(5);
    while cluster(&[address], secret()).is_err() {
        assert!(std::time::Instant::now() < until, "the agent does not answer");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    let log = log.lock().unwrap();
    let refusals = log.iter().filter(|event| matches!(event, AgentEvent::Refused(..))).count();
    assert!(refusals >= 4, "{log:?}");
}

#[test]
fn an_agent_works_for_one_coordinator_and_bounds_memory() {
    let (address, _) = agent();
    let first = cluster(&[address], secret()).unwrap();
    let second = cluster(&[address], secret()).err().unwrap();
    assert!(second.message.contains("another coordinator"), "{second}");
    let huge = Parameters { instances: 4096, rounds: 16, stride: 512, ..Parameters::default() };
    let verbs = Verbs::new(first, huge);
    let refused = run(&verbs, RING, 100);
    assert!(
        matches!(&refused, Err(Refusal::Broken(reason, _)) if reason.contains("MiB")),
        "{refused:?}"
    );
    let mut verbs = verbs;
    verbs.set_parameters(Parameters { instances: 0, ..Parameters::default() });
    let refused = run(&verbs, RING, 100);
    assert!(
        matches!(&refused, Err(Refusal::Broken(reason, _)) if reason.contains("instances from 1")),
        "{refused:?}"
    );
}

#[test]
fn what_cannot_be_planned_is_skipped() {
    let text = "litmus T\nmodel rdma-wait\n  SVar x = 0\n  ----------\n  x :=SV 1  ||  a :=SV x\n";
    let test = load(text);
    let job = job(&test, text, model::library::shipped(), 1);
    let control = Control { stop: &AtomicBool::new(false), progress: &|_| {}, keep: &|_| {} };
    let (record, _) = measure(&verbs(1), &job, Vec::new(), control);
    assert_eq!(record.status, Status::Skipped);
}

#[test]
fn background_traffic_changes_nothing_and_ends() {
    for machines in 1..=3 {
        let nodes: Vec<SocketAddr> = (0..machines).map(|_| agent().0).collect();
        let parameters = Parameters { instances: 8, rounds: 8, stress: 2, ..Parameters::default() };
        let verbs = Verbs::new(cluster(&nodes, secret()).unwrap(), parameters);
        let seen = run(&verbs, RING, 300).unwrap();
        assert_eq!((seen.iterations(), seen.finished()), (300, 300), "{seen:?}");
    }
}

/// No queue pair is deeper than the device has it: not those of the barrier, and not those of streams.
#[test]
fn a_device_with_short_queues_is_enough() {
    let device = crate::rdma::DeviceInfo { queue_depth: 3, ..MemoryDevice::default().0 };
    let limits = Limits { bytes: 64 << 20, queue_pairs: 64 };
    let nodes = [(); 2].map(|()| agent_on(device.clone(), limits, Log::default()));
    let parameters = Parameters { instances: 8, rounds: 8, stress: 1, ..Parameters::default() };
    let verbs = Verbs::new(cluster(&nodes, secret()).unwrap(), parameters);
    assert_eq!(run(&verbs, RING, 300).unwrap().finished(), 300);
}

#[test]
fn machines_that_cannot_connect_are_refused() {
    let limits = Limits { bytes: 64 << 20, queue_pairs: 64 };
    let device = |kind| {
        let gid = crate::rdma::Gid { index: 0, kind, address: "10.0.0.1".to_owned() };
        let port = crate::rdma::PortInfo { number: 1, gids: vec![gid], ..Default::default() };
        let gid = Some((0, String::new()));
        crate::rdma::DeviceInfo { ports: vec![port], gid, ..MemoryDevice::default().0 }
    };
    let kinds = [crate::rdma::GidKind::RoceV2, crate::rdma::GidKind::RoceV1];
    let nodes = kinds.map(|kind| agent_on(device(kind), limits, Log::default()));
    let refused = cluster(&nodes, secret()).err().unwrap();
    assert!(refused.message.contains("choose GIDs of one type"), "{refused}");
}

/// Requests that are posted together are those that were posted one by one.
#[test]
fn lists_of_requests_change_nothing() {
    let text = "\
litmus T
  y = 0, z = 0  ||  x = 0, v = 0
  --------------------------------
  x^2 := 1      ||  loop { a := x; if a = 1 { break } }
  Rfence(2)     ||
  v^2 := 2      ||
  y := x^2      ||
  Poll(2)       ||
  Poll(2)       ||
  Poll(2)       ||
  b := y        ||
  loop { z := 3; v^2 := 3; if b = 1 { break } } ||
  observe a, b, v
";
    for (post_list, depth) in [(1, 128), (2, 128), (8, 128), (8, 2)] {
        let nodes: Vec<SocketAddr> = (0..2).map(|_| agent().0).collect();
        let settings = crate::rdma::Settings { depth, ..Default::default() };
        let parameters =
            Parameters { instances: 8, rounds: 8, post_list, settings, ..Parameters::default() };
        let verbs = Verbs::new(cluster(&nodes, secret()).unwrap(), parameters);
        let seen = run(&verbs, text, 200).unwrap();
        assert_eq!((seen.finished(), seen.outcomes.len()), (200, 1), "{post_list}: {seen:?}");
    }
}

#[test]
fn an_agent_with_a_slow_device_is_waited_for() {
    let limits = Limits { bytes: 64 << 20, queue_pairs: 64 };
    let options =
        AgentOptions { listen: "127.0.0.1:0".to_owned(), secret: secret(), limits, once: false };
    let open: Arc<OpenDevice> = Arc::new(|_| {
        std::thread::sleep(link::SILENCE + std::time::Duration::from_secs(1));
        Ok(Arc::new(MemoryDevice::default()))
    });
    let agent = Agent::new(options, open, Arc::new(|_| {})).unwrap();
    let address = agent.address().unwrap();
    std::thread::spawn(move || agent.serve());
    assert!(cluster(&[address], secret()).is_ok());
}

#[test]
fn an_agent_bounds_queue_pairs() {
    let (address, _) = agent();
    let parameters = Parameters { instances: 8, rounds: 8, stress: 16, ..Parameters::default() };
    let limits = Limits { bytes: 1 << 20, queue_pairs: 5 };
    let tight = agent_with(limits, Log::default());
    for (address, is_enough) in [(address, true), (tight, false)] {
        let verbs = Verbs::new(cluster(&[address], secret()).unwrap(), parameters.clone());
        match run(&verbs, RING, 10) {
            Ok(seen) => assert!(is_enough && seen.iterations() == 10),
            Err(Refusal::Broken(reason, _)) => {
                assert!(
                    !is_enough && reason.contains("queue pairs, and this agent gives 5"),
                    "{reason}"
                );
            }
            Err(other) => panic!("{other:?}"),
        }
    }
}

/// The coordinator sends the user's own libraries to the agents with the program.
#[test]
fn calls_of_ones_own_library_are_run() {
    let library = "\
library box
class Box
memory Box.word at home
call Fill(Box b, value v) { aCW writes v to b.word }
consistency { let so = po }
implementation over rdma-wait-rmw {
  memory Box.word at home
  memory Box.copy per thread
  call Fill(Box b, value v) { b.copy[me] := v; ~b.word :=^d b.copy[me]; Wait(d); x := b.copy[me] }
}
";
    let source = Source::new("box.lib", library);
    let loaded = model::library::load(&source);
    let loaded = loaded.unwrap_or_else(|errors| panic!("{:?}", errors[0].1));
    let mut libraries = model::library::shipped().clone();
    libraries.all.push(Arc::new(loaded));
    let text = "\
litmus T
model rdma-wait-rmw

  Box b@2
             ||  y = 0
  --------------------
  Fill(b, 7) ||  y := 1

  y = 1 ✓
";
    let test = inline(&load(text), &libraries, Depth::Full).unwrap();
    let stop = AtomicBool::new(false);
    let control = || Control { stop: &stop, progress: &|_| {}, keep: &|_| {} };
    let seen = verbs(2).run(&job(&test, text, &libraries, 200), control()).unwrap();
    assert_eq!((seen.finished(), seen.outcomes.len()), (200, 1), "{seen:?}");
    // If the libraries are not sent, the error names the unknown class.
    let refused = verbs(2).run(&job(&test, text, model::library::shipped(), 1), control());
    let Err(Refusal::Broken(reason, _)) = refused else { panic!("{refused:?}") };
    assert!(reason.contains("`Box`"), "{reason}");
}
