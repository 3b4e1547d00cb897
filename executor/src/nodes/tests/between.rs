//! Whoever sits between a coordinator and an agent can end their connection, and nothing else.

use std::io::{BufRead, BufReader};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::*;
use crate::nodes::cores::Place;
use crate::nodes::handshake::AGENT;
use crate::nodes::protocol::{Ask, PROTOCOL, Program, Reply, Wiring, receive, send};
use crate::nodes::records::{Incoming, Outgoing};
use crate::rdma::Device;
use evidence::observation::Observations;
use evidence::record::{Host, fnv1a};

/// Which side a record comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Agent,
    Coordinator,
}

/// What becomes of a record on its way.
type Tamper = Arc<dyn Fn(Side, Vec<u8>) -> Vec<Vec<u8>> + Send + Sync>;

/// All that has passed.
type Kept = Arc<Mutex<Vec<(Side, Vec<u8>)>>>;

/// Listens as if it were the agent, passes the handshake on, and then tampers with records. Keeps every byte
/// that passes.
fn between(agent: SocketAddr, tamper: Tamper) -> (SocketAddr, Kept) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let log = Kept::default();
    let kept = Arc::clone(&log);
    std::thread::spawn(move || {
        for coordinator in listener.incoming() {
            let coordinator = coordinator.unwrap();
            let agent = TcpStream::connect(agent).unwrap();
            for side in [Side::Agent, Side::Coordinator] {
                let (from, to) = match side {
                    Side::Agent => (&agent, &coordinator),
                    Side::Coordinator => (&coordinator, &agent),
                };
                let (from, to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                let (tamper, log) = (Arc::clone(&tamper), Arc::clone(&log));
                std::thread::spawn(move || {
                    let keep = |bytes: &[u8]| log.lock().unwrap().push((side, bytes.to_vec()));
                    drop(pass(side, &from, &to, &*tamper, &keep));
                    drop(to.shutdown(std::net::Shutdown::Both));
                    drop(from.shutdown(std::net::Shutdown::Both));
                });
            }
        }
    });
    (address, kept)
}

fn pass(
    side: Side,
    from: &TcpStream,
    mut to: &TcpStream,
    tamper: &(dyn Fn(Side, Vec<u8>) -> Vec<Vec<u8>> + Send + Sync),
    keep: &dyn Fn(&[u8]),
) -> std::io::Result<()> {
    let mut from = BufReader::new(from);
    for _ in 0..if side == Side::Agent { 2 } else { 1 } {
        let mut line = Vec::new();
        from.read_until(b'\n', &mut line)?;
        keep(&line);
        to.write_all(&line)?;
    }
    loop {
        let mut record = vec![0; 2];
        from.read_exact(&mut record)?;
        record.resize(2 + usize::from(u16::from_le_bytes([record[0], record[1]])), 0);
        from.read_exact(&mut record[2..])?;
        keep(&record);
        for record in tamper(side, record) {
            to.write_all(&record)?;
        }
    }
}

/// What becomes of one record.
type Change = fn(Vec<u8>) -> Vec<Vec<u8>>;

fn honest() -> Tamper {
    Arc::new(|_, record| vec![record])
}

/// Runs until someone tampers with one record of this side, which happens after the second batch. Returns
/// what was said of it, what was measured, how many iterations were reported as done, and the agent's log.
fn run_into(side: Side, change: Change) -> (String, Observations, usize, Log) {
    let (agent, log) = agent();
    let done = Arc::new(AtomicUsize::new(0));
    let (seen, over) = (Arc::clone(&done), AtomicBool::new(false));
    let tamper: Tamper = Arc::new(move |from, record| {
        let is_due = from == side && seen.load(Ordering::SeqCst) >= 128;
        if is_due && !over.swap(true, Ordering::SeqCst) { change(record) } else { vec![record] }
    });
    let (address, _) = between(agent, tamper);
    let parameters = Parameters { instances: 8, rounds: 8, ..Parameters::default() };
    let verbs = Verbs::new(cluster(&[address], secret()).unwrap(), parameters);
    let (test, libraries) = (load(RING), model::library::shipped());
    let count = |more| {
        done.fetch_add(more as usize, Ordering::SeqCst);
    };
    let control = Control { stop: &AtomicBool::new(false), progress: &count, keep: &|_| {} };
    let broken = verbs.run(&job(&test, RING, libraries, 1_000_000), control);
    let Err(Refusal::Broken(reason, seen)) = broken else { panic!("{broken:?}") };
    // The next connection is as good as new, once the agent has noticed the end of this one.
    let until = Instant::now() + Duration::from_secs(20);
    while !run(&verbs, RING, 100).is_ok_and(|seen| seen.finished() == 100) {
        assert!(Instant::now() < until, "the machine does not come back");
        std::thread::sleep(Duration::from_millis(100));
    }
    (reason, *seen, done.load(Ordering::SeqCst), log)
}

fn flipped(mut record: Vec<u8>) -> Vec<Vec<u8>> {
    let middle = 2 + (record.len() - 2) / 2;
    record[middle] ^= 1;
    vec![record]
}

#[test]
fn a_changed_answer_ends_the_session_and_loses_nothing_measured() {
    let long = |record: Vec<u8>| {
        let claims_more = [u16::MAX.to_le_bytes().to_vec(), record[2..].to_vec()].concat();
        vec![claims_more]
    };
    let changes: [(&str, Change); 5] = [
        ("flipped", flipped),
        ("sent twice", |record| vec![record.clone(), record]),
        ("injected", |record| vec![vec![20, 0, 7, 7, 7, 7], [[9; 16].to_vec(), record].concat()]),
        ("empty", |record| vec![vec![0, 0], record]),
        ("short", |record| vec![[&[3, 0][..], &record[2..5]].concat(), record]),
    ];
    for (name, change) in changes {
        let (reason, seen, done, _) = run_into(Side::Agent, change);
        assert!(reason.contains("changed or injected"), "{name}: {reason}");
        assert!(seen.iterations() >= 128, "{name}: {seen:?}");
        assert_eq!(seen.iterations(), done as u64, "{name}");
    }
    // The coordinator waits for the rest, in vain.
    let (reason, seen, done, _) = run_into(Side::Agent, long);
    assert!(reason.contains("said nothing") || reason.contains("changed"), "{reason}");
    assert_eq!(seen.iterations(), done as u64);
    // A record that is missing is noticed by the next one, or because it is missing.
    let (reason, seen, done, _) = run_into(Side::Agent, |_| Vec::new());
    assert!(reason.contains("said nothing") || reason.contains("changed"), "{reason}");
    assert_eq!(seen.iterations(), done as u64);
}

#[test]
fn an_agent_obeys_no_changed_and_no_repeated_question() {
    let changes: [Change; 2] = [flipped, |record| vec![record.clone(), record]];
    for change in changes {
        let (reason, seen, done, log) = run_into(Side::Coordinator, change);
        assert!(reason.contains("the agent is gone"), "{reason}");
        assert_eq!(seen.iterations(), done as u64);
        let log = log.lock().unwrap();
        let is_told = |event: &AgentEvent| matches!(event, AgentEvent::Failed(reason) if reason.contains("changed or injected"));
        assert!(log.iter().any(is_told), "{log:?}");
    }
}

#[test]
fn nothing_can_be_read_on_the_way() {
    let (address, kept) = between(agent().0, honest());
    let verbs = Verbs::new(cluster(&[address], secret()).unwrap(), Parameters::default());
    assert_eq!(run(&verbs, RING, 100).unwrap().finished(), 100);
    let kept: Vec<u8> = kept.lock().unwrap().iter().flat_map(|(_, bytes)| bytes.clone()).collect();
    assert!(kept.len() > 1000);
    for word in [SECRET, "litmus T", "RFAA", "memory"] {
        assert!(!kept.windows(word.len()).any(|bytes| bytes == word.as_bytes()), "{word}");
    }
}

/// A recorded session proves nothing the second time, and the agent is free for others meanwhile.
#[test]
fn a_recorded_session_is_refused() {
    let (agent, log) = agent();
    let (address, kept) = between(agent, honest());
    let verbs = Verbs::new(cluster(&[address], secret()).unwrap(), Parameters::default());
    assert_eq!(run(&verbs, RING, 100).unwrap().finished(), 100);
    drop(verbs);
    let mut again = TcpStream::connect(agent).unwrap();
    let kept = kept.lock().unwrap();
    let said = kept.iter().filter(|(side, _)| *side == Side::Coordinator);
    // The agent may refuse before everything is written.
    said.for_each(|(_, bytes)| drop(again.write_all(bytes)));
    let mut lines = BufReader::new(&again).lines();
    assert!(lines.next().unwrap().unwrap().starts_with("LITMUS-AGENT"));
    assert_eq!(lines.next().unwrap().unwrap(), "NO secret: it is not the same on both sides");
    assert!(cluster(&[agent], secret()).is_ok());
    let log = log.lock().unwrap();
    let begun = log.iter().filter(|event| matches!(event, AgentEvent::Begun(_))).count();
    assert_eq!(begun, 2, "{log:?}");
    // Nor does a recorded agent.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let said: Vec<u8> = kept
        .iter()
        .filter(|(side, _)| *side == Side::Agent)
        .flat_map(|(_, bytes)| bytes.clone())
        .collect();
    std::thread::spawn(move || listener.accept().unwrap().0.write_all(&said));
    let refused = cluster(&[address], secret()).err().unwrap();
    assert!(refused.message.contains("does not know the secret"), "{refused}");
}

/// What is said in the clear is part of what both sides prove.
#[test]
fn the_lines_of_the_handshake_cannot_be_changed() {
    let (agent, _) = agent();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let (mut coordinator, agent) =
            (listener.accept().unwrap().0, TcpStream::connect(agent).unwrap());
        let (mut hello, mut line) = (String::new(), String::new());
        BufReader::new(&agent).read_line(&mut hello).unwrap();
        // Another nonce.
        let nonce = hello.rsplit(' ').next().unwrap().trim().to_owned();
        let other = if nonce.starts_with('0') { "1" } else { "0" };
        coordinator
            .write_all(hello.replace(&nonce, &format!("{other}{}", &nonce[1..])).as_bytes())
            .unwrap();
        BufReader::new(&coordinator).read_line(&mut line).unwrap();
        (&agent).write_all(line.as_bytes()).unwrap();
        drop(std::io::copy(&mut &agent, &mut coordinator));
    });
    let refused = cluster(&[address], secret()).err().unwrap();
    assert!(refused.message.contains("it refuses: secret"), "{refused}");
}

#[test]
fn versions_are_told() {
    let (version, address) = (env!("CARGO_PKG_VERSION"), agent().0);
    let own = format!("litmus {version}, protocol {PROTOCOL}");
    let agents = [
        (
            format!("LITMUS-AGENT {version} 0123456789abcdef\n"),
            format!("litmus {version}, protocol 1"),
        ),
        ("LITMUS-AGENT 9.8.7/65 00\n".to_owned(), "litmus 9.8.7, protocol 65".to_owned()),
        ("LITMUS-AGENT \x1b[2J\x07/9 00\n".to_owned(), "litmus ?[2J?, protocol 9".to_owned()),
    ];
    for (hello, found) in agents {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || listener.accept().unwrap().0.write_all(hello.as_bytes()));
        let refused = cluster(&[address], secret()).err().unwrap();
        assert_eq!(refused.message, format!("it is {found}, and this is {own}"));
    }
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(format!("LITMUS-COORDINATOR {version} 00 00\n").as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let refused = format!("NO version: expected {own}, found litmus {version}, protocol 1\n");
    assert!(answer.ends_with(&refused), "{answer}");
}

/// Both ends of a connection whose handshake is over: the agent's, and the coordinator's.
fn connected() -> [(Incoming, Outgoing); 2] {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let agent = std::thread::spawn(move || {
        handshake::accept(&mut listener.accept().unwrap().0, &secret(), &AGENT).unwrap()
    });
    let greeted =
        handshake::greet(&mut TcpStream::connect(address).unwrap(), &secret(), &AGENT).unwrap();
    [agent.join().unwrap(), greeted]
}

#[test]
fn long_messages_are_cut_and_put_together() {
    let [(_, mut outgoing), (mut incoming, _)] = connected();
    let messages: Vec<Vec<u64>> = [0, 1, 8_187, 8_188, 65_519, 300_000]
        .map(|length| (0..length).map(|word| word * 0x0101_0101_0101).collect())
        .into();
    let sent = messages.clone();
    let sender = std::thread::spawn(move || {
        sent.iter().for_each(|message| send(&mut outgoing, message).unwrap());
        // A message that claims to be longer than any allocates nothing.
        outgoing.write_all(&u32::MAX.to_le_bytes()).unwrap();
        assert!(
            send(&mut outgoing, &vec![0_u64; 5 << 20].iter().map(|_| u64::MAX).collect::<Vec<_>>())
                .is_err()
        );
    });
    for message in messages {
        assert_eq!(receive::<Vec<u64>>(&mut incoming).unwrap(), message);
    }
    let refused = receive::<Vec<u64>>(&mut incoming).unwrap_err();
    assert!(refused.to_string().contains("expected at most"), "{refused}");
    sender.join().unwrap();
}

#[test]
fn a_handshake_takes_no_time_that_others_need() {
    let (agent, _) = agent();
    let began = Instant::now();
    let silent: Vec<TcpStream> = (0..32).map(|_| TcpStream::connect(agent).unwrap()).collect();
    assert!(cluster(&[agent], secret()).is_ok());
    assert!(began.elapsed() < handshake::PATIENCE - Duration::from_secs(1));
    drop(silent);
}

/// The number of the protocol is raised if a message becomes another one on the wire.
#[test]
fn the_protocol_has_a_number_of_its_own() {
    let key = crate::rdma::RegionKey { address: 1, key: 2, words: 3 };
    let address = crate::rdma::Address {
        queue_pair: 1,
        sequence: 2,
        lid: 3,
        gid: [4; 16],
        mtu: 5,
        responder_reads: 6,
        name: vec![7],
    };
    let (ends, regions) = (vec![((1, 2), address.clone())], vec![(1, key)]);
    let wiring = Wiring {
        memories: vec![(1, key)],
        requesters: vec![(1, address.clone())],
        responders: vec![(2, address)],
        arrivals: regions.clone(),
        senders: ends.clone(),
        receivers: ends.clone(),
        grounds: regions,
        sources: ends.clone(),
        sinks: ends,
    };
    let program = Program {
        name: "name".to_owned(),
        text: "text".to_owned(),
        hash: 1,
        machines: vec![0],
        own: 0,
        count: 1,
        cores: vec![2],
        crowded: true,
        parameters: Parameters::default(),
        libraries: vec![("name".to_owned(), "text".to_owned())],
    };
    let device = Box::new(MemoryDevice::default().info().clone());
    let asks = [
        Ask::Describe(Selection::default()),
        Ask::Prepare(Box::new(program)),
        Ask::Connect(Box::new(wiring.clone())),
        Ask::Run { batch: 1, seed: 2 },
        Ask::Stop,
        Ask::Release,
    ];
    let seen = protocol::Seen { ends: vec![(1, vec![2])], values: vec![(3, vec![4])] };
    let answers = [
        Reply::Described(device, Host::default(), Place { system: "s".to_owned(), cores: vec![1] }),
        Reply::Prepared(Box::new(wiring)),
        Reply::Done,
        Reply::Alive,
        Reply::Seen(seen),
        Reply::Failed(None, "message".to_owned()),
    ];
    let mut bytes = Vec::new();
    asks.iter().for_each(|ask| send(&mut bytes, ask).unwrap());
    answers.iter().for_each(|answer| send(&mut bytes, answer).unwrap());
    // What is read is what was sent. Postcard has no names, so a field that is left out moves all others.
    let (mut rest, mut again) = (bytes.as_slice(), Vec::new());
    for _ in &asks {
        send(&mut again, &receive::<Ask>(&mut rest).unwrap()).unwrap();
    }
    for _ in &answers {
        send(&mut again, &receive::<Reply>(&mut rest).unwrap()).unwrap();
    }
    assert_eq!(again, bytes);
    let found = fnv1a(&[&bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>()]);
    assert_eq!(
        (PROTOCOL, found),
        (10, 12_186_985_469_728_810_847),
        "raise PROTOCOL, and write both numbers here"
    );
}
