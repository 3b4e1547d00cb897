//! The records of a connection after its handshake. Each is encrypted, and proves its place among them.
//!
//! A message of the protocol is cut into records, as Noise allows no longer ones. A record is its length in 2
//! bytes, little-endian, and then the encrypted bytes. The number of a record is its nonce: one that was
//! changed, injected, left out, or sent twice cannot be decrypted, and ends the connection.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;

use snow::{HandshakeState, StatelessTransportState};

/// The bytes that encryption adds to a record.
const TAG: usize = 16;
/// The most bytes of a message in one record.
const MOST: usize = u16::MAX as usize - TAG;

/// Reads what the other side wrote to its [`Outgoing`].
pub(super) struct Incoming {
    stream: TcpStream,
    keys: Arc<StatelessTransportState>,
    /// The number of the next record.
    next: u64,
    /// The bytes of the last record, and how many of them have been read.
    plain: Vec<u8>,
    at: usize,
}

/// Writes records.
pub(super) struct Outgoing {
    stream: TcpStream,
    keys: Arc<StatelessTransportState>,
    /// The number of the next record.
    next: u64,
    record: Vec<u8>,
}

/// Both directions of a connection whose handshake is over. Reading from it may take any time.
pub(super) fn halves(
    stream: &TcpStream,
    noise: HandshakeState,
) -> Result<(Incoming, Outgoing), String> {
    let keys = noise.into_stateless_transport_mode().map_err(|error| error.to_string())?;
    let (keys, next) = (Arc::new(keys), 0);
    let clone = || stream.try_clone().map_err(|error| error.to_string());
    stream.set_read_timeout(None).map_err(|error| error.to_string())?;
    let incoming =
        Incoming { stream: clone()?, keys: Arc::clone(&keys), next, plain: Vec::new(), at: 0 };
    Ok((incoming, Outgoing { stream: clone()?, keys, next, record: Vec::new() }))
}

impl Outgoing {
    /// Ends the connection in both directions.
    pub(super) fn close(&self) {
        drop(self.stream.shutdown(Shutdown::Both));
    }
}

impl Write for Outgoing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let bytes = &bytes[..bytes.len().min(MOST)];
        if bytes.is_empty() {
            return Ok(0);
        }
        self.record.resize(2 + bytes.len() + TAG, 0);
        let length = self.keys.write_message(self.next, bytes, &mut self.record[2..]);
        let length = length.map_err(io::Error::other)?;
        let prefix = u16::try_from(length).map_err(io::Error::other)?;
        self.record[..2].copy_from_slice(&prefix.to_le_bytes());
        // No number is used twice, even if the record does not arrive.
        self.next += 1;
        self.stream.write_all(&self.record[..2 + length])?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

impl Incoming {
    /// Reads and decrypts a record.
    fn fetch(&mut self) -> io::Result<()> {
        let mut length = [0; 2];
        self.stream.read_exact(&mut length)?;
        let mut sealed = vec![0; usize::from(u16::from_le_bytes(length))];
        self.stream.read_exact(&mut sealed)?;
        self.plain.resize(sealed.len().saturating_sub(TAG), 0);
        self.at = 0;
        let read = self.keys.read_message(self.next, &sealed, &mut self.plain);
        self.next += 1;
        match read {
            Ok(1..) => Ok(()),
            Ok(0) | Err(_) => {
                self.plain.clear();
                let message = "a message was changed or injected on its way";
                Err(io::Error::new(io::ErrorKind::InvalidData, message))
            }
        }
    }
}

impl Read for Incoming {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        if self.at == self.plain.len() && !bytes.is_empty() {
            self.fetch()?;
        }
        let count = (&self.plain[self.at..]).read(bytes)?;
        self.at += count;
        Ok(count)
    }
}
