//! Two bridges over real TCP on loopback, and processes that are only their sockets.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};

use super::frame::Frame;
use super::local::greeting;
use super::*;

const SECRET: &str = "a secret for tests";

/// A host: its folder, its bridge, and what the bridge has told.
struct Host {
    folder: PathBuf,
    bridge: Bridge,
    told: Receiver<BridgeEvent>,
}

impl Drop for Host {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.folder));
    }
}

fn start(listens: bool, peers: Vec<String>, secret: &str) -> Result<Host, String> {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let name = format!("litmus-bridge-{}-{number}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    std::fs::create_dir(&folder).unwrap();
    let listen = listens.then(|| "127.0.0.1:0".to_owned());
    let secret = Secret::from_text(secret).unwrap();
    let options = BridgeOptions { folder: folder.clone(), listen, peers, secret, ports: (1, 1) };
    let (sender, told) = channel();
    let sender = Mutex::new(sender);
    let bridge = Bridge::new(options, Arc::new(move |event| drop(lock(&sender).send(event))));
    match bridge {
        Ok(bridge) => Ok(Host { folder, bridge, told }),
        Err(error) => {
            std::fs::remove_dir_all(&folder).unwrap();
            Err(error)
        }
    }
}

/// One that listens, and one that has called it.
fn two() -> (Host, Host) {
    let one = start(true, Vec::new(), SECRET).unwrap();
    let two = start(false, vec![one.bridge.address().unwrap().to_string()], SECRET).unwrap();
    assert_ne!(one.bridge.host(), two.bridge.host());
    (one, two)
}

impl Host {
    /// A process at a place, as far as it hears.
    fn process(&self, place: u16) -> UnixListener {
        UnixListener::bind(self.folder.join(place.to_string())).unwrap()
    }

    /// A process at a place, as far as it speaks.
    fn speaker(&self, place: u16) -> UnixStream {
        let mut stream = UnixStream::connect(self.folder.join("0")).unwrap();
        stream.write_all(&greeting(place)).unwrap();
        stream
    }
}

/// A message with some bytes behind who it is from and for.
fn message(to: (u32, u16), from: (u32, u16), content: &[u8]) -> Vec<u8> {
    let number = |place: u16| (u32::from(place) << 14) | 3;
    let mut bytes = Vec::new();
    for word in [20 + content.len() as u32, to.0, number(to.1), from.0, number(from.1), 9] {
        bytes.extend(word.to_le_bytes());
    }
    bytes.extend(content);
    bytes
}

/// The bridge's connection to a process.
fn hear(process: &UnixListener) -> UnixStream {
    let mut stream = process.accept().unwrap().0;
    let mut said = [0; 8];
    stream.read_exact(&mut said).unwrap();
    assert_eq!(said.to_vec(), greeting(0));
    stream
}

fn next(stream: &mut UnixStream, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    stream.read_exact(&mut bytes).unwrap();
    bytes
}

#[test]
fn processes_of_two_hosts_hear_each_other_and_who_is_gone() {
    let (one, two) = two();
    let (a, b) = ((one.bridge.host(), 7), (two.bridge.host(), 9));
    let (at_a, at_b) = (one.process(7), two.process(9));
    let (mut from_a, mut from_b) = (one.speaker(7), two.speaker(9));
    // More than a record, and than a socket holds.
    let long = message(b, a, &vec![5; 3_000_000]);
    from_a.write_all(&long).unwrap();
    from_a.write_all(&message(b, a, &[6])).unwrap();
    let mut heard_by_b = hear(&at_b);
    assert!(next(&mut heard_by_b, long.len()) == long);
    assert_eq!(next(&mut heard_by_b, 25), message(b, a, &[6]));
    from_b.write_all(&message(a, b, &[7])).unwrap();
    let mut heard_by_a = hear(&at_a);
    assert_eq!(next(&mut heard_by_a, 25), message(a, b, &[7]));
    // The process ends, and then its host.
    drop(from_b);
    assert_eq!(next(&mut heard_by_a, 25), Frame::gone(a.0, b.0, b.1).bytes);
    two.bridge.inner.links.lock().unwrap().iter().for_each(|link| link.close());
    assert_eq!(next(&mut heard_by_a, 25), Frame::gone(a.0, b.0, 0).bytes);
}

#[test]
fn who_is_spoken_to_before_it_speaks_keeps_its_connection() {
    let (one, two) = two();
    let (a, b) = ((one.bridge.host(), 7), (two.bridge.host(), 9));
    let (at_a, at_b) = (one.process(7), two.process(9));
    let mut from_b = two.speaker(9);
    from_b.write_all(&message(a, b, &[1])).unwrap();
    let mut heard_by_a = hear(&at_a);
    assert_eq!(next(&mut heard_by_a, 25), message(a, b, &[1]));
    let mut from_a = one.speaker(7);
    from_a.write_all(&message(b, a, &[2])).unwrap();
    let mut heard_by_b = hear(&at_b);
    assert_eq!(next(&mut heard_by_b, 25), message(b, a, &[2]));
    from_b.write_all(&message(a, b, &[3])).unwrap();
    assert_eq!(next(&mut heard_by_a, 25), message(a, b, &[3]));
    // Another process at this place has a connection of its own.
    drop((from_a, at_a, heard_by_a));
    assert_eq!(next(&mut heard_by_b, 25), Frame::gone(b.0, a.0, a.1).bytes);
    std::fs::remove_file(one.folder.join("7")).unwrap();
    let at_a = one.process(7);
    let mut from_a = one.speaker(7);
    from_a.write_all(&message(b, a, &[4])).unwrap();
    assert_eq!(next(&mut heard_by_b, 25), message(b, a, &[4]));
    from_b.write_all(&message(a, b, &[5])).unwrap();
    assert_eq!(next(&mut hear(&at_a), 25), message(a, b, &[5]));
}

#[test]
fn a_process_that_speaks_for_another_is_cut_off() {
    let (one, two) = two();
    let (a, b) = ((one.bridge.host(), 7), (two.bridge.host(), 9));
    let at_b = two.process(9);
    for from in [(a.0, 8), (b.0, 7), (0, 7)] {
        let mut liar = one.speaker(7);
        liar.write_all(&message(b, from, &[1])).unwrap();
        assert_eq!(liar.read(&mut [0]).unwrap_or(0), 0, "{from:?}");
    }
    // What no message is, too.
    let mut garbled = one.speaker(7);
    garbled.write_all(&[255; 40]).unwrap();
    assert_eq!(garbled.read(&mut [0]).unwrap_or(0), 0);
    one.speaker(7).write_all(&message(b, a, &[2])).unwrap();
    assert_eq!(next(&mut hear(&at_b), 25), message(b, a, &[2]), "nothing came before it");
}

#[test]
fn what_was_said_last_arrives() {
    let (one, two) = two();
    let (a, b) = ((one.bridge.host(), 7), (two.bridge.host(), 9));
    let at_b = two.process(9);
    for _ in 0..100 {
        one.speaker(7).write_all(&message(b, a, &[3])).unwrap();
    }
    one.bridge.finish();
    let mut heard = hear(&at_b);
    for _ in 0..100 {
        assert_eq!(next(&mut heard, 25)[24..], [3]);
    }
}

#[test]
fn who_does_not_know_the_secret_is_refused_on_both_sides() {
    let one = start(true, Vec::new(), SECRET).unwrap();
    let address = one.bridge.address().unwrap().to_string();
    let why = start(false, vec![address.clone()], "another secret, as long").err().unwrap();
    assert_eq!(why, format!("{address}: it refuses: secret: it is not the same on both sides"));
    assert!(matches!(one.told.recv().unwrap(), BridgeEvent::Listening(_)));
    let BridgeEvent::Refused(_, why) = one.told.recv().unwrap() else { panic!("a refusal") };
    assert_eq!(why, "secret: it is not the same on both sides");
    // Nor is an agent's coordinator one of its callers.
    let mut stream = TcpStream::connect(&address).unwrap();
    let secret = Secret::from_text(SECRET).unwrap();
    let why = crate::nodes::handshake::greet(&mut stream, &secret, &crate::nodes::handshake::AGENT);
    assert_eq!(why.err().unwrap(), "it is not an agent of litmus");
    let why = start(false, vec![address], SECRET).map(|host| host.bridge.host());
    assert!(why.is_ok(), "{why:?}");
}

#[test]
fn a_host_that_comes_later_is_called_again() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = free.local_addr().unwrap().to_string();
    drop(free);
    let early = start(false, vec![address.clone()], SECRET).unwrap();
    assert!(matches!(early.told.recv().unwrap(), BridgeEvent::Away(who, _) if who == address));
    let folder = early.folder.with_extension("late");
    std::fs::create_dir(&folder).unwrap();
    let secret = Secret::from_text(SECRET).unwrap();
    let listen = Some(address.clone());
    let options =
        BridgeOptions { folder: folder.clone(), listen, peers: Vec::new(), secret, ports: (1, 1) };
    let late = Bridge::new(options, Arc::new(|_| {})).unwrap();
    assert_eq!(early.told.recv().unwrap(), BridgeEvent::Met(address));
    assert!(late.address().is_some());
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn hosts_with_other_ports_and_the_host_itself_are_refused() {
    let one = start(true, Vec::new(), SECRET).unwrap();
    let address = one.bridge.address().unwrap().to_string();
    let folder = one.folder.with_extension("other");
    std::fs::create_dir(&folder).unwrap();
    let secret = Secret::from_text(SECRET).unwrap();
    let options = BridgeOptions {
        folder: folder.clone(),
        listen: None,
        peers: vec![address.clone()],
        secret,
        ports: (2, 1),
    };
    let why = Bridge::new(options, Arc::new(|_| {})).err().unwrap();
    let expected = "expected --devices 2 --ports 1, found --devices 1 --ports 1";
    assert_eq!(why, format!("{address}: {expected}"));
    std::fs::remove_dir_all(folder).unwrap();
    let why = link::call(&one.bridge.inner, address.clone()).err().unwrap();
    assert_eq!(why, format!("{address}: it is this host itself"));
}
