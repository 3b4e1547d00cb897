//! The handshake: both sides prove that they know the secret, without sending it.
//!
//! It consists of three lines of text, so that `nc` shows what is wrong. The agent sends its name, its
//! version and a nonce. The coordinator answers with its version, a nonce and a proof: an HMAC-SHA256 of both
//! nonces under the secret. The agent answers with its own proof, or with `NO` and the reason. The messages
//! after the handshake are not encrypted, so run agents only on networks that you trust.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant};

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// The version of litmus and its protocol. Both sides must have the same version.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
const AGENT: &str = "LITMUS-AGENT";
const COORDINATOR: &str = "LITMUS-COORDINATOR";
/// The most bytes of a line.
const LONGEST: usize = 512;
/// The time limit of a handshake, from its first byte to its last.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);
/// The shortest secret, in bytes.
const SHORTEST: usize = 16;

/// The secret that the agents and coordinators of a site share.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Vec<u8>);

impl std::fmt::Debug for Secret {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Secret")
    }
}

impl Secret {
    /// A new random secret.
    ///
    /// # Errors
    /// Fails if the system has no random numbers.
    pub fn random() -> Result<Self, String> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).map_err(|error| error.to_string())?;
        Ok(Self(hex(&bytes).into_bytes()))
    }

    /// A secret from text. Blanks around it are ignored.
    ///
    /// # Errors
    /// Fails if it is too short.
    pub fn from_text(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text.len() < SHORTEST {
            let found = text.len();
            return Err(format!(
                "expected a secret of at least {SHORTEST} characters, found {found}"
            ));
        }
        Ok(Self(text.as_bytes().to_vec()))
    }

    /// Reads a secret from a file.
    ///
    /// # Errors
    /// Fails if the file cannot be read, or if the secret is too short.
    pub fn read(path: &Path) -> Result<Self, String> {
        let mut text = String::new();
        // The file may be a device without an end, so the read is limited.
        std::fs::File::open(path)
            .and_then(|file| file.take(1 << 16).read_to_string(&mut text))
            .map_err(|error| format!("the secret in {} cannot be read: {error}", path.display()))?;
        Self::from_text(&text).map_err(|error| format!("{}: {error}", path.display()))
    }

    /// The secret as text, to pass to a process that is started.
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }

    fn mac(&self, side: &str, agent: &str, coordinator: &str) -> Hmac<Sha256> {
        // HMAC takes keys of any length, so this cannot fail. An empty key would prove nothing.
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).unwrap_or_else(|_| unreachable!());
        for part in [side, VERSION, agent, coordinator] {
            mac.update(part.as_bytes());
            mac.update(b"\n");
        }
        mac
    }
}

/// The agent's side of the handshake.
///
/// # Errors
/// The reason why the other side was refused. The other side has been told.
pub(super) fn accept(stream: &mut TcpStream, secret: &Secret) -> Result<(), String> {
    let nonce = nonce()?;
    let until = start(stream).map_err(|error| error.to_string())?;
    let say = |stream: &mut TcpStream, line: String| {
        stream.write_all(line.as_bytes()).map_err(|error| error.to_string())
    };
    say(stream, format!("{AGENT} {VERSION} {nonce}\n"))?;
    let line = read_line(stream, until).map_err(|error| match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
            format!("it did not say who it is in {} s", PATIENCE.as_secs())
        }
        io::ErrorKind::UnexpectedEof => "it said nothing".to_owned(),
        _ => error.to_string(),
    })?;
    let parts: Vec<&str> = line.split_whitespace().collect();
    let verdict = match parts.as_slice() {
        [COORDINATOR, version, ..] if *version != VERSION => {
            Err(format!("version: expected litmus {VERSION}, found {version:.20?}"))
        }
        [COORDINATOR, _, theirs, proof] => unhex(proof)
            .filter(|proof| secret.mac(COORDINATOR, &nonce, theirs).verify_slice(proof).is_ok())
            .map(|_| secret.mac(AGENT, &nonce, theirs))
            .ok_or_else(|| "secret: it is not the same on both sides".to_owned()),
        _ => Err("protocol: this is an agent of litmus, and that was no coordinator".to_owned()),
    };
    match verdict {
        Ok(mac) => {
            say(stream, format!("OK {}\n", hex(&mac.finalize().into_bytes())))?;
            stream.set_read_timeout(None).map_err(|error| error.to_string())
        }
        Err(reason) => {
            say(stream, format!("NO {reason}\n"))?;
            Err(reason)
        }
    }
}

/// The coordinator's side of the handshake.
///
/// # Errors
/// The reason why the agent cannot be used.
pub(super) fn greet(stream: &mut TcpStream, secret: &Secret) -> Result<(), String> {
    let own = nonce()?;
    let gone = |error: io::Error| match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
            "it does not answer; is that an agent of litmus?".to_owned()
        }
        io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset => {
            "it hangs up; too many may be connecting to it".to_owned()
        }
        _ => error.to_string(),
    };
    let until = start(stream).map_err(gone)?;
    let line = read_line(stream, until).map_err(gone)?;
    let parts: Vec<&str> = line.split_whitespace().collect();
    let theirs = match parts.as_slice() {
        [AGENT, version, nonce] if *version == VERSION => (*nonce).to_owned(),
        [AGENT, version, _] => {
            return Err(format!("the agent is litmus {version}, and this is litmus {VERSION}"));
        }
        ["NO", ..] => return Err(format!("it refuses: {}", line.trim_start_matches("NO "))),
        _ => return Err("it is no agent of litmus".to_owned()),
    };
    let proof = hex(&secret.mac(COORDINATOR, &theirs, &own).finalize().into_bytes());
    let line = format!("{COORDINATOR} {VERSION} {own} {proof}\n");
    stream.write_all(line.as_bytes()).map_err(gone)?;
    let line = read_line(stream, until).map_err(gone)?;
    match line.split_whitespace().collect::<Vec<_>>().as_slice() {
        ["OK", proof] => {
            let mac = secret.mac(AGENT, &theirs, &own);
            unhex(proof)
                .filter(|proof| mac.verify_slice(proof).is_ok())
                .map(|_| ())
                .ok_or_else(|| "the agent does not know the secret".to_owned())
        }
        ["NO", ..] => Err(format!("it refuses: {}", line.trim_start_matches("NO "))),
        _ => Err("it is no agent of litmus".to_owned()),
    }
}

/// Sets the timeouts. Returns the time at which the handshake must be over.
fn start(stream: &TcpStream) -> io::Result<Instant> {
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.set_nodelay(true)?;
    Ok(Instant::now() + PATIENCE)
}

/// Reads one byte at a time, so that nothing after the handshake is consumed. A slow sender does not extend
/// the time limit.
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
    Ok(String::from_utf8_lossy(&line).trim().to_owned())
}

fn nonce() -> Result<String, String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| error.to_string())?;
    Ok(hex(&bytes))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    if !text.is_ascii() || !text.len().is_multiple_of(2) {
        return None;
    }
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).ok()).collect()
}
