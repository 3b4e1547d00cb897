//! Where messages go: to a process of this host, or to another host.

use std::io::{self, BufReader, BufWriter, Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use super::frame::{Frame, is_whole};
use super::lock;

/// The bytes that are read or written at once. They fit into a record of the link.
const CHUNK: usize = 65_000;

/// The writing end of a connection. Several threads write to it, each whole messages.
pub(super) struct Outlet {
    writer: Mutex<BufWriter<Box<dyn Write + Send>>>,
    broken: AtomicBool,
}

impl Outlet {
    pub(super) fn new(writer: impl Write + Send + 'static) -> Self {
        let writer = BufWriter::with_capacity(CHUNK, Box::new(writer) as Box<dyn Write + Send>);
        Self { writer: Mutex::new(writer), broken: AtomicBool::new(false) }
    }

    /// Whether nothing arrives there any more.
    pub(super) fn is_broken(&self) -> bool {
        self.broken.load(Ordering::Acquire)
    }

    fn act(&self, act: impl FnOnce(&mut dyn Write) -> io::Result<()>) {
        if !self.is_broken() && act(&mut *lock(&self.writer)).is_err() {
            self.broken.store(true, Ordering::Release);
        }
    }

    /// Writes a message and all before it.
    pub(super) fn say(&self, frame: &Frame) {
        self.act(|writer| writer.write_all(&frame.bytes).and_then(|()| writer.flush()));
    }
}

/// Passes on messages until there are no more. `route` says where one goes; `None`: nowhere. What is written
/// is sent as soon as nothing more is there to read.
///
/// # Errors
/// Fails if reading fails, or `route` does.
pub(super) fn pump(
    reader: impl Read,
    mut route: impl FnMut(&Frame) -> io::Result<Option<Arc<Outlet>>>,
) -> io::Result<()> {
    let mut reader = BufReader::with_capacity(CHUNK, reader);
    let (mut frame, mut used) = (Frame::default(), Vec::<Arc<Outlet>>::new());
    while frame.read(&mut reader)? {
        if let Some(outlet) = route(&frame)? {
            outlet.act(|writer| writer.write_all(&frame.bytes));
            if !used.iter().any(|known| Arc::ptr_eq(known, &outlet)) {
                used.push(outlet);
            }
        }
        if !is_whole(reader.buffer()) {
            used.drain(..).for_each(|outlet| outlet.act(|writer| writer.flush()));
        }
    }
    Ok(())
}
