//! The processes of this host.

use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::frame::Frame;
use super::outlet::{Outlet, pump};
use super::{Inner, lock, spawn};

/// The first bytes of a connection between processes of a host. The place of the caller follows.
const GREETING: [u8; 6] = *b"litmus";

/// How long it is looked whether a process has ended.
const MOMENT: Duration = Duration::from_millis(1);

/// The connection to a process of this host, which hears, and says nothing there.
pub(super) struct Process {
    outlet: Arc<Outlet>,
    stream: UnixStream,
}

impl Process {
    /// Whether the process has not ended. If the connection to one that is there were closed, it would take
    /// all other hosts for gone.
    fn is_there(&self) -> bool {
        let silent = [ErrorKind::WouldBlock, ErrorKind::TimedOut];
        (&self.stream).read(&mut [0]).is_err_and(|error| silent.contains(&error.kind()))
    }
}

/// What the process at a place says first.
pub(super) fn greeting(place: u16) -> Vec<u8> {
    let mut greeting = GREETING.to_vec();
    greeting.extend(place.to_le_bytes());
    greeting
}

/// Waits for processes that have messages for other hosts.
pub(super) fn accept(inner: &Arc<Inner>, listener: &UnixListener) {
    loop {
        let Ok((stream, _)) = listener.accept() else {
            // For example, there are no free file descriptors. Some will be free soon.
            std::thread::sleep(Duration::from_millis(50));
            continue;
        };
        inner.open.fetch_add(1, Ordering::AcqRel);
        let own = Arc::clone(inner);
        let serve = move || {
            // What ends it, the process knows.
            drop(own.serve(stream));
            own.open.fetch_sub(1, Ordering::AcqRel);
        };
        if spawn("nic-process", serve).is_err() {
            inner.open.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

impl Inner {
    /// Passes on what a process says, until it ends.
    fn serve(&self, mut stream: UnixStream) -> io::Result<()> {
        let mut said = [0; GREETING.len() + 2];
        stream.read_exact(&mut said)?;
        let place = u16::from_le_bytes([said[6], said[7]]);
        if said[..6] != GREETING || place == 0 {
            return Err(ErrorKind::InvalidData.into());
        }
        *lock(&self.present).entry(place).or_default() += 1;
        // It may have been spoken to before, or another process may have been at this place.
        lock(&self.places).retain(|known, before| *known != place || before.is_there());
        let ended = pump(stream, |frame| {
            if frame.from() != (self.host, place) {
                return Err(ErrorKind::InvalidData.into());
            }
            // Only bridges speak to all processes of a host.
            let (host, to) = frame.to();
            Ok(self.link(host).filter(|_| to != 0))
        });
        let is_last = {
            let mut present = lock(&self.present);
            let count = present.get(&place).map_or(0, |count| count - 1);
            if count == 0 {
                present.remove(&place)
            } else {
                present.insert(place, count)
            };
            count == 0
        };
        if is_last {
            let links = lock(&self.links).clone();
            for link in links {
                link.outlet.say(&Frame::gone(link.host, self.host, place));
            }
        }
        ended
    }

    /// The socket of the process at a place.
    pub(super) fn place(&self, place: u16) -> Option<Arc<Outlet>> {
        let mut places = lock(&self.places);
        if let Some(known) = places.get(&place).filter(|known| !known.outlet.is_broken()) {
            return Some(Arc::clone(&known.outlet));
        }
        let mut stream = UnixStream::connect(self.options.folder.join(place.to_string())).ok()?;
        stream.write_all(&greeting(0)).ok()?;
        stream.set_read_timeout(Some(MOMENT)).ok()?;
        let outlet = Arc::new(Outlet::new(stream.try_clone().ok()?));
        places.insert(place, Process { outlet: Arc::clone(&outlet), stream });
        Some(outlet)
    }

    /// Says something to all processes that have sent anything.
    pub(super) fn tell_all(&self, frame: &Frame) {
        let present: Vec<u16> = lock(&self.present).keys().copied().collect();
        present.into_iter().filter_map(|place| self.place(place)).for_each(|to| to.say(frame));
    }
}
