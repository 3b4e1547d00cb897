//! A coordinator's connection to one agent.

use std::io;
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::mpsc::Sender;
use std::time::Duration;

use super::handshake::{self, PATIENCE};
use super::protocol::{Ask, DEFAULT_PORT, Reply, receive, send};
use super::records::Outgoing;
use super::secret::Secret;

/// An event of a connection: the machine, the number of the connection, and the answer or the error that
/// ended it.
pub(super) type Event = (usize, u32, io::Result<Reply>);

/// A connection to an agent.
pub(super) struct Link {
    outgoing: Outgoing,
    /// The number of this connection to the machine.
    pub epoch: u32,
}

impl Link {
    /// Connects and does the handshake. Afterwards, the agent's answers go to `events`.
    pub(super) fn new(
        machine: usize,
        name: &str,
        epoch: u32,
        secret: &Secret,
        events: Sender<Event>,
    ) -> Result<Self, String> {
        let mut stream = connect(name, DEFAULT_PORT)?;
        let (mut incoming, outgoing) = handshake::greet(&mut stream, secret, &handshake::AGENT)?;
        let listen = move || {
            loop {
                let said = receive::<Reply>(&mut incoming);
                let is_over = said.is_err();
                if events.send((machine, epoch, said)).is_err() || is_over {
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new().name(format!("litmus-node-{machine}"));
        thread.spawn(listen).map_err(|error| error.to_string())?;
        Ok(Self { outgoing, epoch })
    }

    pub(super) fn ask(&mut self, ask: &Ask) -> io::Result<()> {
        send(&mut self.outgoing, ask)
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        // The listener thread and the agent both notice the end.
        self.outgoing.close();
    }
}

/// Adds a port if the name has none.
pub(super) fn with_port(name: &str, port: u16) -> String {
    let has_port = match name.rfind(']') {
        Some(bracket) => name[bracket..].contains(':'),
        None => name.contains(':'),
    };
    if has_port { name.to_owned() } else { format!("{name}:{port}") }
}

/// The host and the port of an address, which has the default port if it names none.
pub fn host_and_port(address: &str) -> (String, String) {
    let address = with_port(address, DEFAULT_PORT);
    let (host, port) = address.rsplit_once(':').unwrap_or((&address, ""));
    (host.to_owned(), port.to_owned())
}

/// Lets the system notice within half a minute that the machine at the other end is gone.
pub(super) fn keep_alive(stream: &TcpStream) -> io::Result<()> {
    let alive = socket2::TcpKeepalive::new()
        .with_time(Duration::from_secs(10))
        .with_interval(Duration::from_secs(5))
        .with_retries(3);
    socket2::SockRef::from(stream).set_tcp_keepalive(&alive)
}

/// Connects to a host, and to this port if the name has none.
pub(super) fn connect(name: &str, port: u16) -> Result<TcpStream, String> {
    let addresses = with_port(name, port).to_socket_addrs().map_err(|error| error.to_string())?;
    let mut reason = "it has no address".to_owned();
    for address in addresses {
        match TcpStream::connect_timeout(&address, PATIENCE) {
            Ok(stream) => return Ok(stream),
            Err(error) => reason = error.to_string(),
        }
    }
    Err(format!("no connection: {reason}"))
}

/// How long a coordinator waits for a silent agent. Agents say something three times a second.
pub(super) const SILENCE: Duration = Duration::from_secs(if cfg!(test) { 2 } else { 6 });

/// How long a coordinator listens before it looks at the time.
pub(super) const LISTEN: Duration = Duration::from_millis(200);

/// For how long a coordinator has listened to an agent in vain.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Silence(Duration);

impl Silence {
    /// Adds the time since the coordinator began to listen. No more than [`LISTEN`] counts: if it was longer,
    /// the coordinator itself was stopped, and what the agent has said meanwhile is still to be read.
    pub(super) fn add(&mut self, time: Duration) {
        self.0 += time.min(LISTEN);
    }

    /// Whether the agent has to be given up.
    pub(super) fn is_too_long(self) -> bool {
        self.0 > SILENCE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_coordinator_that_was_stopped_does_not_blame_an_agent() {
        let mut silence = Silence::default();
        silence.add(Duration::from_secs(3600));
        assert!(!silence.is_too_long());
        (0..SILENCE.as_millis() / LISTEN.as_millis()).for_each(|_| silence.add(LISTEN));
        assert!(silence.is_too_long());
    }
}
