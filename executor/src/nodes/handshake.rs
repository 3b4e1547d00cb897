//! The handshake: both sides prove that they know the secret, and agree on keys for everything after it.
//!
//! It is the pattern `NNpsk0` of Noise, with a key that is made from the secret ([`Secret::key`]). It has
//! three lines of text, so that `nc` shows what is wrong. The listener (an agent, or a host of software NICs)
//! sends its name, its version and a nonce. The caller (a coordinator, or another host) answers with its
//! version and the first message of Noise, and the listener with the second, or with `NO` and the reason. The
//! names, the versions and the nonce are part of what the messages prove: whoever changes
//! them, or plays a recorded handshake again, is refused like one that does not know the secret.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use snow::{Builder, HandshakeState};

use super::protocol::PROTOCOL;
use super::records::{Incoming, Outgoing, halves};
use super::secret::{Secret, hex, random, unhex};

const NOISE: &str = "Noise_NNpsk0_25519_ChaChaPoly_BLAKE2s";
/// Who meets: the words for the one that listens and the one that calls, first those on the wire.
pub(super) struct Parties {
    listener: [&'static str; 2],
    caller: [&'static str; 2],
}

/// An agent and a coordinator.
pub(super) const AGENT: Parties = Parties {
    listener: ["LITMUS-AGENT", "an agent of litmus"],
    caller: ["LITMUS-COORDINATOR", "a coordinator"],
};
/// The software NICs of two hosts.
pub(super) const HOSTS: Parties = Parties {
    listener: ["LITMUS-NIC", "a `litmus nic --listen`"],
    caller: ["LITMUS-NIC-PEER", "another `litmus nic`"],
};
/// The most bytes of a line.
const LONGEST: usize = 512;
/// The time limit of a handshake, from its first byte to its last.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);
const OTHER_SECRET: &str = "secret: it is not the same on both sides";

/// The version of litmus and of its protocol. Both sides must have the same.
fn version() -> String {
    format!("{}/{PROTOCOL}", env!("CARGO_PKG_VERSION"))
}

/// A version in words. The first protocol had no number.
fn in_words(version: &str) -> String {
    let (litmus, protocol) = version.split_once('/').unwrap_or((version, "1"));
    format!("litmus {litmus:.20}, protocol {protocol:.20}")
}

/// Either side's state, before the first message. What was said in the clear belongs to it.
fn noise(
    secret: &Secret,
    parties: &Parties,
    hello: &str,
    listens: bool,
) -> Result<HandshakeState, String> {
    let said = format!("{hello}\n{} {}\n", parties.caller[0], version());
    let key = secret.key()?;
    let build = || {
        let builder = Builder::new(NOISE.parse()?).psk(0, &key)?.prologue(said.as_bytes())?;
        if listens { builder.build_responder() } else { builder.build_initiator() }
    };
    build().map_err(|error: snow::Error| error.to_string())
}

/// The side of the handshake that listens.
///
/// # Errors
/// The reason why the other side was refused. The other side has been told.
pub(super) fn accept(
    stream: &mut TcpStream,
    secret: &Secret,
    parties: &Parties,
) -> Result<(Incoming, Outgoing), String> {
    let hello = format!("{} {} {}", parties.listener[0], version(), hex(&random::<16>()?));
    let until = start(stream).map_err(|error| error.to_string())?;
    let say = |stream: &mut TcpStream, line: String| {
        stream.write_all(line.as_bytes()).map_err(|error| error.to_string())
    };
    say(stream, format!("{hello}\n"))?;
    let line = read_line(stream, until).map_err(|error| match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
            format!("it did not say who it is in {} s", PATIENCE.as_secs())
        }
        io::ErrorKind::UnexpectedEof => "it said nothing".to_owned(),
        _ => error.to_string(),
    })?;
    let mut noise = noise(secret, parties, &hello, true)?;
    match answer(&line, parties, &mut noise) {
        Ok(message) => {
            say(stream, format!("OK {}\n", hex(&message)))?;
            halves(stream, noise)
        }
        Err(reason) => {
            say(stream, format!("NO {reason}\n"))?;
            Err(reason)
        }
    }
}

/// The listener's message, if the caller's line proves that it knows the secret.
fn answer(line: &str, parties: &Parties, noise: &mut HandshakeState) -> Result<Vec<u8>, String> {
    let (expected, mut buffer) = (version(), [0; LONGEST]);
    match line.split_whitespace().collect::<Vec<_>>().as_slice() {
        [caller, found, ..] if *caller == parties.caller[0] && *found != expected => {
            let (expected, found) = (in_words(&expected), in_words(found));
            Err(format!("version: expected {expected}, found {found}"))
        }
        [caller, _, message] if *caller == parties.caller[0] => unhex(message)
            .filter(|message| noise.read_message(message, &mut buffer).is_ok())
            .and_then(|_| noise.write_message(&[], &mut buffer).ok())
            .map(|length| buffer[..length].to_vec())
            .ok_or_else(|| OTHER_SECRET.to_owned()),
        _ => {
            let [listener, caller] = [parties.listener[1], parties.caller[1]];
            Err(format!("protocol: this is {listener}, and that was not {caller}"))
        }
    }
}

/// The side of the handshake that calls.
///
/// # Errors
/// The reason why the listener cannot be used.
pub(super) fn greet(
    stream: &mut TcpStream,
    secret: &Secret,
    parties: &Parties,
) -> Result<(Incoming, Outgoing), String> {
    let listener = parties.listener[1];
    let gone = |error: io::Error| match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
            format!("it does not answer; is that {listener}?")
        }
        io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset => {
            "it hangs up; too many may be connecting to it".to_owned()
        }
        _ => error.to_string(),
    };
    let stranger = || Err(format!("it is not {listener}"));
    let refused = |line: &str| Err(format!("it refuses: {}", line.trim_start_matches("NO ")));
    let own = version();
    let until = start(stream).map_err(gone)?;
    let hello = read_line(stream, until).map_err(gone)?;
    match hello.split_whitespace().collect::<Vec<_>>().as_slice() {
        [name, version, _] if *name == parties.listener[0] && *version == own => {}
        [name, version, ..] if *name == parties.listener[0] => {
            let (found, own) = (in_words(version), in_words(&own));
            return Err(format!("it is {found}, and this is {own}"));
        }
        ["NO", ..] => return refused(&hello),
        _ => return stranger(),
    }
    let mut noise = noise(secret, parties, &hello, false)?;
    let mut buffer = [0; LONGEST];
    let length = noise.write_message(&[], &mut buffer).map_err(|error| error.to_string())?;
    let line = format!("{} {own} {}\n", parties.caller[0], hex(&buffer[..length]));
    stream.write_all(line.as_bytes()).map_err(gone)?;
    let line = read_line(stream, until).map_err(gone)?;
    match line.split_whitespace().collect::<Vec<_>>().as_slice() {
        ["OK", message] => {
            let message = unhex(message);
            let message = message.filter(|bytes| noise.read_message(bytes, &mut buffer).is_ok());
            message.ok_or("it does not know the secret")?;
            halves(stream, noise)
        }
        ["NO", ..] => refused(&line),
        _ => stranger(),
    }
}

/// Sets the timeouts. Returns the time at which the handshake must be over.
fn start(stream: &TcpStream) -> io::Result<Instant> {
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.set_nodelay(true)?;
    Ok(Instant::now() + PATIENCE)
}

/// Reads one byte at a time, so that nothing after the handshake is consumed. A slow sender does not extend
/// the time limit. The line may end up on a terminal, so nothing in it moves a cursor.
fn read_line(stream: &mut TcpStream, until: Instant) -> io::Result<String> {
    let mut line = Vec::new();
    while line.len() < LONGEST && line.last() != Some(&b'\n') {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        let mut byte = [0];
        if stream.read(&mut byte)? == 0 {
            break;
        }
        line.extend(byte);
    }
    if line.is_empty() {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let line = String::from_utf8_lossy(&line);
    Ok(line.trim().replace(|letter: char| letter.is_control(), "?"))
}
