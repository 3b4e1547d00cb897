//! The connections with other hosts.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::frame::Frame;
use super::outlet::{Outlet, pump};
use super::{BridgeEvent, Inner, PORT, lock, spawn};
use crate::nodes::handshake::{self, HOSTS, PATIENCE};
use crate::nodes::link::{connect, keep_alive};
use crate::nodes::records::{Incoming, Outgoing};

/// The most callers that may be in the handshake at once.
const MOST_GUESTS: usize = 16;
/// The time between two calls of a host that cannot be reached.
const AGAIN: Duration = Duration::from_millis(300);
/// The bytes that each side says of itself: the number of its host, and of devices and ports.
const INTRODUCTION: usize = 8;

/// A connection with another host.
pub(super) struct Link {
    /// The number of the other host.
    pub host: u32,
    /// Where messages for it go.
    pub outlet: Arc<Outlet>,
    stream: TcpStream,
}

impl Link {
    /// Ends it. What was sent before arrives.
    pub(super) fn close(&self) {
        drop(self.stream.shutdown(Shutdown::Both));
    }
}

/// A connection whose other end has said who it is, and its name for people.
struct Met {
    link: Arc<Link>,
    incoming: Incoming,
    name: String,
}

/// Waits for other hosts.
pub(super) fn accept(inner: &Arc<Inner>, listener: &TcpListener) {
    loop {
        let Ok((mut stream, peer)) = listener.accept() else {
            // For example, there are no free file descriptors. Some will be free soon.
            std::thread::sleep(Duration::from_millis(50));
            continue;
        };
        if inner.guests.load(Ordering::Acquire) >= MOST_GUESTS {
            continue;
        }
        inner.guests.fetch_add(1, Ordering::AcqRel);
        let own = Arc::clone(inner);
        let serve = move || {
            let greeted = handshake::accept(&mut stream, &own.options.secret, &HOSTS);
            let met = greeted.and_then(|halves| own.meet(stream, halves, peer.to_string(), false));
            own.guests.fetch_sub(1, Ordering::AcqRel);
            match met {
                Ok(met) => own.serve_link(met),
                Err(reason) => (own.log)(BridgeEvent::Refused(peer, reason)),
            }
        };
        if spawn("nic-guest", serve).is_err() {
            inner.guests.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

/// Calls a host, and then in a thread whenever the connection is lost.
///
/// # Errors
/// Fails if the host answers, and cannot be used.
pub(super) fn call(inner: &Arc<Inner>, peer: String) -> Result<(), String> {
    let mut first = match connect(&peer, PORT) {
        Ok(stream) => Some(inner.greet(stream, &peer).map_err(|why| format!("{peer}: {why}"))?),
        Err(reason) => {
            (inner.log)(BridgeEvent::Away(peer.clone(), reason));
            None
        }
    };
    let own = Arc::clone(inner);
    let mut told = String::new();
    spawn("nic-call", move || {
        loop {
            let met = match first.take() {
                Some(met) => Ok(met),
                None => connect(&peer, PORT).and_then(|stream| own.greet(stream, &peer)),
            };
            match met {
                Ok(met) => {
                    own.serve_link(met);
                    told.clear();
                }
                // That nobody is there was said, or follows from the loss.
                Err(reason) if reason.starts_with("no connection") || reason == told => {}
                Err(reason) => {
                    told.clone_from(&reason);
                    (own.log)(BridgeEvent::Away(peer.clone(), reason));
                }
            }
            std::thread::sleep(AGAIN);
        }
    })
}

impl Inner {
    /// The connection that messages for a host take.
    pub(super) fn link(&self, host: u32) -> Option<Arc<Outlet>> {
        let links = lock(&self.links);
        let mut usable = links.iter().filter(|link| !link.outlet.is_broken());
        usable.find(|link| link.host == host).map(|link| Arc::clone(&link.outlet))
    }

    fn greet(&self, mut stream: TcpStream, peer: &str) -> Result<Met, String> {
        let halves = handshake::greet(&mut stream, &self.options.secret, &HOSTS)?;
        self.meet(stream, halves, peer.to_owned(), true)
    }

    /// Says who this host is, and hears who the other is. The caller speaks first. When it has heard who the
    /// listener is, the listener can send to it.
    fn meet(
        &self,
        stream: TcpStream,
        (mut incoming, mut outgoing): (Incoming, Outgoing),
        name: String,
        calls: bool,
    ) -> Result<Met, String> {
        let (devices, ports) = self.options.ports;
        let mut said = [0; INTRODUCTION];
        said[..4].copy_from_slice(&self.host.to_le_bytes());
        said[4..6].copy_from_slice(&devices.to_le_bytes());
        said[6..].copy_from_slice(&ports.to_le_bytes());
        let mut heard = [0; INTRODUCTION];
        let gone = |error: io::Error| format!("it says nothing: {error}");
        stream.set_read_timeout(Some(PATIENCE)).map_err(gone)?;
        if calls {
            outgoing.write_all(&said).map_err(gone)?;
        }
        incoming.read_exact(&mut heard).map_err(gone)?;
        let [a, b, c, d, ..] = heard;
        let host = u32::from_le_bytes([a, b, c, d]);
        let there =
            (u16::from_le_bytes([heard[4], heard[5]]), u16::from_le_bytes([heard[6], heard[7]]));
        let trouble = self.trouble(host, there);
        if let Some(trouble) = trouble {
            // So the caller finds the same.
            if !calls {
                outgoing.write_all(&said).map_err(gone)?;
            }
            return Err(trouble);
        }
        // The far process may be stopped for any time. Whether its machine is there, TCP finds out.
        stream.set_read_timeout(None).map_err(gone)?;
        stream.set_write_timeout(None).map_err(gone)?;
        keep_alive(&stream).map_err(gone)?;
        let mut links = lock(&self.links);
        if !calls {
            outgoing.write_all(&said).map_err(gone)?;
        }
        let outlet = Arc::new(Outlet::new(outgoing));
        let link = Arc::new(Link { host, outlet, stream });
        links.push(Arc::clone(&link));
        drop(links);
        (self.log)(BridgeEvent::Met(name.clone()));
        Ok(Met { link, incoming, name })
    }

    /// Why a host cannot be used, which has these numbers of devices and ports.
    fn trouble(&self, host: u32, ports: (u16, u16)) -> Option<String> {
        let words = |(devices, ports)| format!("--devices {devices} --ports {ports}");
        if host == self.host {
            Some("it is this host itself".to_owned())
        } else if ports != self.options.ports {
            let (expected, found) = (words(self.options.ports), words(ports));
            Some(format!("expected {expected}, found {found}"))
        } else {
            None
        }
    }

    /// Passes on what another host says, until the connection ends.
    fn serve_link(&self, met: Met) {
        let Met { link, incoming, name } = met;
        let ended = pump(incoming, |frame| {
            let ((to, place), (from, _)) = (frame.to(), frame.from());
            if (to, from) != (self.host, link.host) {
                let message = "it speaks for another host";
                return Err(io::Error::new(ErrorKind::InvalidData, message));
            }
            if frame.is_for_all() {
                self.tell_all(frame);
            }
            Ok(if place == 0 { None } else { self.place(place) })
        });
        link.close();
        lock(&self.links).retain(|known| !Arc::ptr_eq(known, &link));
        self.tell_all(&Frame::gone(self.host, link.host, 0));
        let why = ended.err().filter(|error| error.kind() != ErrorKind::UnexpectedEof);
        let why = why.map_or(String::new(), |error| format!(": {error}"));
        (self.log)(BridgeEvent::Lost(format!("{name}{why}")));
    }
}
