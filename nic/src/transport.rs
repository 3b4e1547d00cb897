//! Connects the NICs of a host: each process has a local socket, named after its place in the network. At the
//! first place is what connects hosts, if anything does (`litmus nic --listen`): to others, this is the way.
//!
//! The upper bits of a queue pair's number are the place of its process, so the number says which socket to
//! connect to. Only processes of the same user can connect. When a process ends, its sockets close, and its
//! peers notice.

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, ErrorKind, IoSlice};
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::path::Path;

use crate::config::Config;
use crate::ffi::{read_into, same_user, wait, write_from};
use crate::spare;
use crate::wire::{Address, Message, Read};

/// The low bits of a queue pair's number, which count within a process.
pub const INDEX_BITS: u32 = 14;
/// The most processes in a network.
const PLACES: u16 = (1 << (24 - INDEX_BITS)) - 1;
/// The place of what connects this host with others.
const BRIDGE: u16 = 0;
/// The most bytes that are read from a connection before others have their turn.
const MOST_AT_ONCE: usize = 1 << 20;
/// How many bytes are read at once, unless it is known that data follows.
const INPUT: usize = 1 << 13;
/// Data of at least this length is written from where it is, and not copied before that.
const LONG: usize = 1 << 12;
/// The most pieces that are written at once.
const PIECES: usize = 32;
/// The first bytes of a connection. The place of the connecting process follows.
const GREETING: [u8; 6] = *b"litmus";

/// The place in the network of the process that has this queue pair.
pub fn place_of(queue_pair: u32) -> u16 {
    ((queue_pair & 0xff_ffff) >> INDEX_BITS) as u16
}

/// What is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gone {
    /// The process at a place of a host.
    Process(u32, u16),
    /// All processes of a host.
    Host(u32),
    /// All processes of all hosts but this one.
    Others(u32),
}

impl Gone {
    /// Whether this queue pair is gone.
    pub fn has(self, peer: Address) -> bool {
        match self {
            Self::Process(host, place) => peer.host == host && place_of(peer.queue_pair) == place,
            Self::Host(host) => peer.host == host,
            Self::Others(host) => peer.host != host,
        }
    }
}

/// The sockets of a process.
pub struct Transport {
    host: u32,
    /// The place of the process in the network.
    pub place: u16,
    names: Names,
    listener: UnixListener,
    outgoing: BTreeMap<u16, Stream>,
    incoming: Vec<Stream>,
}

/// A connection. Messages go only from the connecting process to the listening one.
struct Stream {
    socket: UnixStream,
    /// The place of the other process, once it is known.
    place: Option<u16>,
    input: Vec<u8>,
    /// A message of which some data has not come, and how much.
    partial: Option<(Message, usize)>,
    output: Output,
    broken: bool,
}

/// What is to be written.
#[derive(Default)]
struct Output {
    /// Long data, and what is between it.
    pieces: VecDeque<Vec<u8>>,
    /// What comes after them.
    tail: Vec<u8>,
    /// How much of the first piece is written, or, if there is none, of the tail.
    written: usize,
}

/// The parts of the sockets' names.
struct Names {
    network: String,
    folder: Option<String>,
}

impl Names {
    fn address(&self, place: u16) -> io::Result<SocketAddr> {
        match &self.folder {
            Some(folder) => SocketAddr::from_pathname(Path::new(folder).join(place.to_string())),
            None => SocketAddr::from_abstract_name(format!("litmus-nic/{}/{place}", self.network)),
        }
    }
}

/// What came from other processes.
pub struct Exchanged {
    /// Their messages.
    pub messages: Vec<Message>,
    /// Which of them are gone.
    pub gone: Vec<Gone>,
    /// Whether a new one has come. A thread that sleeps does not listen to it yet.
    pub met: bool,
}

impl Transport {
    /// Takes a free place in the network, and listens there.
    ///
    /// # Errors
    /// Fails if no place is free, or if sockets cannot be made.
    pub fn new(config: &Config) -> io::Result<Self> {
        let names = Names { network: config.network.clone(), folder: config.folder.clone() };
        let first = (std::process::id() % u32::from(PLACES)) as u16;
        for offset in 0..PLACES {
            let place = (first + offset) % PLACES + 1;
            let address = names.address(place)?;
            if let Some(path) = address.as_pathname()
                && UnixStream::connect(path)
                    .is_err_and(|e| e.kind() == ErrorKind::ConnectionRefused)
            {
                // A process that has ended left this socket.
                let _ = std::fs::remove_file(path);
            }
            match UnixListener::bind_addr(&address) {
                Ok(listener) => {
                    listener.set_nonblocking(true)?;
                    let (outgoing, incoming) = (BTreeMap::new(), Vec::new());
                    let host = config.host;
                    return Ok(Self { host, place, names, listener, outgoing, incoming });
                }
                Err(error) if error.kind() == ErrorKind::AddrInUse => {}
                Err(error) => return Err(error),
            }
        }
        Err(ErrorKind::AddrInUse.into())
    }

    /// The descriptors to wait for, each with whether there is something to write.
    pub fn fds(&self) -> Vec<(RawFd, bool)> {
        let stream = |stream: &'_ Stream| !stream.output.is_empty();
        let mut fds = vec![(self.listener.as_raw_fd(), false)];
        fds.extend(self.outgoing.values().map(|one| (one.socket.as_raw_fd(), stream(one))));
        fds.extend(self.incoming.iter().map(|one| (one.socket.as_raw_fd(), false)));
        fds
    }

    /// Whether a queue pair is one of this process.
    pub fn is_here(&self, address: Address) -> bool {
        self.way(address) == self.place
    }

    /// The place that messages for a queue pair go to.
    fn way(&self, address: Address) -> u16 {
        if address.host == self.host { place_of(address.queue_pair) } else { BRIDGE }
    }

    /// Queues a message for sending. If no process is at the place, the message is lost.
    pub fn send(&mut self, message: Message) {
        let place = self.way(message.to);
        if !self.outgoing.contains_key(&place) {
            let Ok(stream) = self.connect(place) else { return };
            self.outgoing.insert(place, stream);
        }
        if let Some(stream) = self.outgoing.get_mut(&place) {
            stream.output.push(message);
        }
    }

    fn connect(&self, place: u16) -> io::Result<Stream> {
        let socket = UnixStream::connect_addr(&self.names.address(place)?)?;
        if !same_user(socket.as_fd()) {
            return Err(ErrorKind::PermissionDenied.into());
        }
        socket.set_nonblocking(true)?;
        let mut stream = Stream { place: Some(place), ..Stream::new(socket) };
        stream.output.tail.extend(GREETING);
        stream.output.tail.extend(self.place.to_le_bytes());
        Ok(stream)
    }

    /// Writes and reads as much as possible.
    pub fn exchange(&mut self) -> Exchanged {
        let mut ready = wait(&self.fds(), Some(0)).into_iter();
        let knocks = ready.next().unwrap_or(false);
        for stream in self.outgoing.values_mut().filter(|_| ready.next().unwrap_or(false)) {
            // An outgoing connection receives nothing but its end.
            let read = read_into(stream.socket.as_fd(), &mut stream.input, INPUT);
            stream.broken |= match read {
                Ok(count) => count == 0,
                Err(error) => error.kind() != ErrorKind::WouldBlock,
            };
            stream.input.clear();
        }
        let (mut messages, mut gone) = (Vec::new(), Vec::new());
        for stream in self.incoming.iter_mut().filter(|_| ready.next().unwrap_or(false)) {
            stream.hear(self.host, &mut messages);
        }
        let known = self.incoming.len();
        while knocks && let Ok((socket, _)) = self.listener.accept() {
            if same_user(socket.as_fd()) && socket.set_nonblocking(true).is_ok() {
                self.incoming.push(Stream::new(socket));
            }
        }
        let met = self.incoming.len() > known;
        for stream in self.outgoing.values_mut() {
            stream.flush();
        }
        // Nobody is at queue pair 0: this is about the sender's whole process, or host.
        for end in messages.extract_if(.., |message| message.to.queue_pair == 0) {
            let Address { host, queue_pair } = end.from;
            gone.push(match place_of(queue_pair) {
                BRIDGE => Gone::Host(host),
                place => Gone::Process(host, place),
            });
        }
        let host = self.host;
        let end = |place| match place {
            BRIDGE => Gone::Others(host),
            place => Gone::Process(host, place),
        };
        self.incoming.retain(|stream| {
            gone.extend(stream.place.filter(|_| stream.broken).map(end));
            !stream.broken
        });
        self.outgoing.retain(|place, stream| {
            gone.extend(stream.broken.then_some(end(*place)));
            !stream.broken
        });
        Exchanged { messages, gone, met }
    }

    /// Writes as much as possible.
    pub fn flush(&mut self) {
        self.outgoing.values_mut().for_each(Stream::flush);
    }
}

impl Output {
    fn is_empty(&self) -> bool {
        self.pieces.is_empty() && self.tail.is_empty()
    }

    fn push(&mut self, message: Message) {
        let data = message.write(&mut self.tail);
        if data.len() < LONG {
            self.tail.extend(data);
        } else {
            self.pieces.extend([std::mem::take(&mut self.tail), data]);
        }
    }

    /// Writes some of it. Returns how much.
    fn write(&self, socket: &UnixStream) -> io::Result<usize> {
        let mut slices = [IoSlice::new(&[]); PIECES];
        let (mut count, mut written) = (0, self.written);
        for (slice, piece) in slices.iter_mut().zip(self.pieces.iter().chain([&self.tail])) {
            *slice = IoSlice::new(&piece[std::mem::take(&mut written)..]);
            count += 1;
        }
        write_from(socket.as_fd(), &slices[..count])
    }

    /// So much more is written.
    fn advance(&mut self, count: usize) {
        self.written += count;
        while let Some(first) = self.pieces.front()
            && self.written >= first.len()
            && let Some(first) = self.pieces.pop_front()
        {
            self.written -= first.len();
            spare::give(first);
        }
        if self.pieces.is_empty() && self.written >= self.tail.len() {
            self.tail.clear();
            self.written = 0;
        }
    }
}

impl Stream {
    fn new(socket: UnixStream) -> Self {
        let (input, partial, output) = (Vec::new(), None, Output::default());
        Self { socket, place: None, input, partial, output, broken: false }
    }

    fn flush(&mut self) {
        while !self.output.is_empty() && !self.broken {
            match self.output.write(&self.socket) {
                Ok(0) => self.broken = true,
                Ok(count) => self.output.advance(count),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => self.broken = true,
            }
        }
    }

    /// Reads what is there, up to a limit. What comes before the end still counts.
    fn hear(&mut self, host: u32, messages: &mut Vec<Message>) {
        let mut left = MOST_AT_ONCE;
        while left > 0 && !self.broken {
            let socket = self.socket.as_fd();
            let partial = self.partial.as_mut();
            let rest = partial.and_then(|(message, rest)| Some((message.body.data()?, *rest)));
            let (into, most) = rest.unwrap_or((&mut self.input, INPUT));
            let count = match read_into(socket, into, most) {
                Ok(0) => return self.broken = true,
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(_) => return self.broken = true,
            };
            left = left.saturating_sub(count);
            match self.partial.take() {
                Some((message, rest)) if rest > count => {
                    self.partial = Some((message, rest - count));
                }
                Some((message, _)) => self.keep(message, host, messages),
                None => self.parse(host, messages),
            }
        }
    }

    /// Messages count only if they come from queue pairs of the process at this place, or of other hosts.
    fn keep(&self, message: Message, host: u32, messages: &mut Vec<Message>) {
        let from = message.from;
        let is_own = match self.place {
            Some(BRIDGE) => from.host != host,
            place => from.host == host && Some(place_of(from.queue_pair)) == place,
        };
        if is_own {
            messages.push(message);
        }
    }

    fn parse(&mut self, host: u32, messages: &mut Vec<Message>) {
        let mut at = 0;
        if self.place.is_none() {
            let Some(greeting) = self.input.first_chunk::<8>() else { return };
            let place = u16::from_le_bytes([greeting[6], greeting[7]]);
            self.broken |= greeting[..6] != GREETING || place > PLACES;
            self.place = Some(place);
            at = 8;
        }
        while !self.broken {
            match Message::read(&self.input[at..]) {
                Ok(Some(Read { message, length, missing })) => {
                    at += length;
                    match missing {
                        0 => self.keep(message, host, messages),
                        _ => self.partial = Some((message, missing)),
                    }
                }
                Ok(None) => break,
                Err(_) => self.broken = true,
            }
        }
        self.input.drain(..at);
    }
}

#[cfg(test)]
mod tests {
    use super::{
        BRIDGE, Exchanged, GREETING, Gone, INDEX_BITS, Names, PLACES, Transport, place_of,
    };
    use crate::config::Config;
    use crate::wire::{Address, Body, Message};

    fn config(network: &str) -> Config {
        let name = format!("test-{network}-{}", std::process::id());
        Config { network: name, ..Config::read(|_| None).0 }
    }

    /// A queue pair of a process.
    fn number(transport: &Transport) -> Address {
        Address { host: transport.host, queue_pair: u32::from(transport.place) << INDEX_BITS | 1 }
    }

    #[test]
    fn processes_of_a_network_take_different_places_and_hear_each_other() {
        let config = config("hear");
        let mut one = Transport::new(&config).expect("a place is free");
        let mut two = Transport::new(&config).expect("another place is free");
        assert_ne!(one.place, two.place);
        let (to, from) = (number(&two), number(&one));
        assert_eq!(place_of(to.queue_pair), two.place);
        let bytes = vec![7; 3_000_000];
        let message = Message { to, from, session: 5, body: Body::Done { number: 1, bytes } };
        one.send(message.clone());
        let mut heard = Vec::new();
        while heard.is_empty() {
            one.exchange();
            heard = two.exchange().messages;
        }
        assert_eq!(heard, [message]);
        one.send(Message { to, from, session: 6, body: Body::Welcome });
        one.flush();
        let place = one.place;
        drop(one);
        let Exchanged { messages: last, gone, .. } = two.exchange();
        let end = Gone::Process(0, place);
        assert_eq!((last.len(), gone), (1, vec![end]), "it is gone, and was heard to the end");
    }

    #[test]
    fn nobody_speaks_for_another_and_a_message_to_nobody_is_lost() {
        let config = config("alone");
        let mut one = Transport::new(&config).expect("a place is free");
        let mut two = Transport::new(&config).expect("another place is free");
        let (to, at) = (number(&two), |host, queue_pair| Address { host, queue_pair });
        let other = one.place % PLACES + 1;
        for (to, from) in [
            (to, at(0, u32::from(other) << INDEX_BITS)),
            (to, at(1, u32::from(one.place) << INDEX_BITS)),
            (at(0, 77), to),
            (at(1, to.queue_pair), to),
        ] {
            one.send(Message { to, from, session: 0, body: Body::Welcome });
        }
        for _ in 0..10 {
            one.exchange();
            assert!(two.exchange().messages.is_empty());
        }
    }

    #[test]
    fn the_bridge_speaks_for_other_hosts_only_and_says_which_are_gone() {
        use std::io::Write;
        use std::os::unix::net::UnixStream;
        let config = Config { host: 7, ..config("bridge") };
        let mut one = Transport::new(&config).expect("a place is free");
        let names = Names { network: config.network.clone(), folder: None };
        let address = names.address(one.place).expect("it is a name");
        let mut bridge = UnixStream::connect_addr(&address).expect("it listens");
        let mut said = GREETING.to_vec();
        said.extend(BRIDGE.to_le_bytes());
        let at = |host, queue_pair| Address { host, queue_pair };
        let mut say = |to, from| {
            let data = Message { to, from, session: 3, body: Body::Absent }.write(&mut said);
            assert!(data.is_empty());
        };
        let (to, other) = (number(&one), 5 << INDEX_BITS | 2);
        say(to, at(8, other));
        say(to, at(7, other));
        say(at(7, 0), at(8, other));
        say(at(7, 0), at(9, 0));
        bridge.write_all(&said).expect("it reads");
        drop(bridge);
        let (mut heard, mut gone) = (Vec::new(), Vec::new());
        while gone.len() < 3 {
            let Exchanged { messages: more, gone: ended, .. } = one.exchange();
            heard.extend(more);
            gone.extend(ended);
        }
        assert_eq!(heard.iter().map(|message| message.from).collect::<Vec<_>>(), [at(8, other)]);
        assert_eq!(gone, [Gone::Process(8, 5), Gone::Host(9), Gone::Others(7)]);
        let has = |gone: Gone| [at(7, other), at(8, other), at(9, 1)].map(|peer| gone.has(peer));
        assert_eq!(has(gone[0]), [false, true, false]);
        assert_eq!(has(gone[1]), [false, false, true]);
        assert_eq!(has(gone[2]), [false, true, true]);
    }
}
