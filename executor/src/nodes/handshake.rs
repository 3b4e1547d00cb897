//! The handshake: both sides prove that they know the secret, and agree on keys for everything after it.
//!
//! It is the pattern `NNpsk0` of Noise, with a key that is made from the secret ([`Secret::key`]). It has
//! three lines of text, so that `nc` shows what is wrong. The agent sends its name, its version and a nonce.
//! The coordinator answers with its version and the first message of Noise, and the agent with the second, or
//! with `NO` and the reason. The versions and the nonce are part of what the messages prove: whoever changes
//! them, or plays a recorded handshake again, is refused like one that does not know the secret.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use snow::{Builder, HandshakeState};

use super::protocol::PROTOCOL;
use super::records::{Incoming, Outgoing, halves};
use super::secret::{Secret, hex, random, unhex};

const NOISE: &str = "Noise_NNpsk0_25519_ChaChaPoly_BLAKE2s";
const AGENT: &str = "LITMUS-AGENT";
const COORDINATOR: &str = "LITMUS-COORDINATOR";
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
fn noise(secret: &Secret, hello: &str, is_agent: bool) -> Result<HandshakeState, String> {
    let said = format!("{hello}\n{COORDINATOR} {}\n", version());
    let key = secret.key()?;
    let build = || {
        let builder = Builder::new(NOISE.parse()?).psk(0, &key)?.prologue(said.as_bytes())?;
        if is_agent { builder.build_responder() } else { builder.build_initiator() }
    };
    build().map_err(|error: snow::Error| error.to_string())
}

/// The agent's side of the handshake.
///
/// # Errors
/// The reason why the other side was refused. The other side has been told.
pub(super) fn accept(
    stream: &mut TcpStream,
    secret: &Secret,
) -> Result<(Incoming, Outgoing), String> {
    let hello = format!("{AGENT} {} {}", version(), hex(&random::<16>()?));
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
    let mut noise = noise(secret, &hello, true)?;
    match answer(&line, &mut noise) {
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

/// The agent's message, if the coordinator's line proves that it knows the secret.
fn answer(line: &str, noise: &mut HandshakeState) -> Result<Vec<u8>, String> {
    let (expected, mut buffer) = (version(), [0; LONGEST]);
    match line.split_whitespace().collect::<Vec<_>>().as_slice() {
        [COORDINATOR, found, ..] if *found != expected => {
            let (expected, found) = (in_words(&expected), in_words(found));
            Err(format!("version: expected {expected}, found {found}"))
        }
        [COORDINATOR, _, message] => unhex(message)
            .filter(|message| noise.read_message(message, &mut buffer).is_ok())
            .and_then(|_| noise.write_message(&[], &mut buffer).ok())
            .map(|length| buffer[..length].to_vec())
            .ok_or_else(|| OTHER_SECRET.to_owned()),
        _ => Err("protocol: this is an agent of litmus, and that was not a coordinator".to_owned()),
    }
}

/// The coordinator's side of the handshake.
///
/// # Errors
/// The reason why the agent cannot be used.
pub(super) fn greet(
    stream: &mut TcpStream,
    secret: &Secret,
) -> Result<(Incoming, Outgoing), String> {
    let gone = |error: io::Error| match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
            "it does not answer; is that an agent of litmus?".to_owned()
        }
        io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset => {
            "it hangs up; too many may be connecting to it".to_owned()
        }
        _ => error.to_string(),
    };
    let stranger = || Err("it is not an agent of litmus".to_owned());
    let refused = |line: &str| Err(format!("it refuses: {}", line.trim_start_matches("NO ")));
    let own = version();
    let until = start(stream).map_err(gone)?;
    let hello = read_line(stream, until).map_err(gone)?;
    match hello.split_whitespace().collect::<Vec<_>>().as_slice() {
        [AGENT, version, _] if *version == own => {}
        [AGENT, version, ..] => {
            let (found, own) = (in_words(version), in_words(&own));
            return Err(format!("the agent is {found}, and this is {own}"));
        }
        ["NO", ..] => return refused(&hello),
        _ => return stranger(),
    }
    let mut noise = noise(secret, &hello, false)?;
    let mut buffer = [0; LONGEST];
    let length = noise.write_message(&[], &mut buffer).map_err(|error| error.to_string())?;
    let line = format!("{COORDINATOR} {own} {}\n", hex(&buffer[..length]));
    stream.write_all(line.as_bytes()).map_err(gone)?;
    let line = read_line(stream, until).map_err(gone)?;
    match line.split_whitespace().collect::<Vec<_>>().as_slice() {
        ["OK", message] => {
            let message = unhex(message);
            let message = message.filter(|bytes| noise.read_message(bytes, &mut buffer).is_ok());
            message.ok_or("the agent does not know the secret")?;
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
